// SPDX-License-Identifier: BSD-3-Clause
// What every posting call of the C ABI does around its own work.
#ifndef UFX_UCP_POST_H
#define UFX_UCP_POST_H

#include "ucp/ep.h"
#include "ucp/refuse.h"
#include "ucp/request_pool.h"
#include "ucp/wakeup.h"
#include "ucp/worker.h"
#include "ucs/entry.h"

#include <utility>

namespace ufx::ucp {

// A call that accepts nothing leaves NULL in `*request`.
inline void give_no_request(ufx_ucp_request_h *out)
{
    if (out != nullptr) {
        *out = nullptr;
    }
}

// Locks, checks the ep, runs `post`, wakes a waiting thread. `queues`: it needs room in the queue.
template <class F>
ufx_status_t on_ep(const char *call, ufx_ucp_ep_h handle, ufx_ucp_request_h *out, bool queues,
                   F &&post)
{
    give_no_request(out);
    if (handle == nullptr) {
        return refuse_null(call, "ep");
    }
    ep &e = ep::of(handle);
    auto guard = e.home().lock();
    if (const ufx_status_t status = e.accepts(); status != UFX_OK) {
        return status;
    }
    if (queues && e.tx.queued() >= e.home().cfg().pending_max) {
        return UFX_ERR_NO_RESOURCE;
    }
    const ufx_status_t status = ucs::guard([&] { return post(e); });
    e.home().wake().kick();
    return status;
}

// Accepts the request.
inline ufx_status_t launch(ep &e, request_pool::draft r, ufx_ucp_request_h *out)
{
    if (out != nullptr) {
        *out = r->handle();
    }
    e.tx.submit(*r.release());
    return UFX_INPROGRESS;
}

} // namespace ufx::ucp

#endif

// SPDX-License-Identifier: BSD-3-Clause
// How messages and transfers are cut into fragments; messages of ucp itself.
#include "ucp/proto.h"

#include "ucp/ep.h"
#include "ucp/request_pool.h"
#include "ucp/worker.h"

#include <algorithm>

namespace ufx::ucp {

ufx_status_t shape_am(ep &e, request &r)
{
    const ep_tx::am_limits &limits = e.tx.limits();
    const bool by_zcopy = limits.zcopy != 0 && r.head.size() <= limits.header &&
                          r.payload_length >= e.home().cfg().zcopy_thresh;
    r.fragment_size = std::min(by_zcopy ? limits.zcopy : limits.bcopy, max_am_fragment);
    if (r.payload_length > max_am_fragments * r.fragment_size) { // the sum below may overflow
        return UFX_ERR_INVALID_PARAM;
    }
    const std::size_t stream = r.stream_length();
    const std::size_t count =
        stream <= r.fragment_size ? 1 : (stream + r.fragment_size - 1) / r.fragment_size;
    if (count > max_am_fragments) {
        return UFX_ERR_INVALID_PARAM;
    }
    r.count = static_cast<std::uint32_t>(count);
    r.unposted = r.count;
    r.state = core::op_state(r.count + r.answers);
    return UFX_OK;
}

void shape_rma(ep &e, request &r)
{
    std::size_t total = 0;
    for (std::size_t i = 0; i < r.pieces.size(); ++i) {
        total += r.pieces[i].length;
    }
    r.chunk = e.tx.chunk_of(total, r.kind == op::PUT);
    std::size_t parts = 0;
    for (std::size_t i = 0; i < r.pieces.size(); ++i) {
        const std::size_t length = r.pieces[i].length;
        parts += length <= r.chunk ? 1 : (length + r.chunk - 1) / r.chunk;
    }
    r.unposted = static_cast<std::uint32_t>(parts);
    r.state = core::op_state(r.unposted + r.answers);
    r.length = total;
}

request_pool::draft start_internal(ep &e, am_type type, std::size_t size)
{
    request_pool::draft r = e.home().requests.start(e.home(), &e, nullptr, op::AM);
    r->internal = true;
    r->type = type;
    r->head.resize(size);
    return shape_am(e, *r) == UFX_OK ? std::move(r) : nullptr;
}

} // namespace ufx::ucp

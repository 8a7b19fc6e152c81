// SPDX-License-Identifier: BSD-3-Clause
// C entries of listeners and eps.
#include "ucp/ep.h"
#include "ucp/listener.h"
#include "ucp/post.h"
#include "ucp/refuse.h"
#include "ucp/worker.h"
#include "ucs/entry.h"

namespace ucp = ufx::ucp;
namespace ucs = ufx::ucs;

ufx_status_t ufx_ucp_listener_create(ufx_ucp_worker_h handle,
                                     const ufx_ucp_listener_params_t *params,
                                     ufx_ucp_listener_h *out) noexcept
{
    if (const auto bad =
            ucp::require(__func__, {{"worker", handle}, {"params", params}, {"listener", out}});
        bad != UFX_OK) {
        return bad;
    }
    return ucs::guard([&]() -> ufx_status_t {
        ucp::worker &w = ucp::worker::of(handle);
        const auto held = w.lock();
        const auto made = ucp::listener::create(w, *params);
        if (!made) {
            return made.error();
        }
        *out = *made;
        return UFX_OK;
    });
}

void ufx_ucp_listener_destroy(ufx_ucp_listener_h handle) noexcept
{
    if (handle != nullptr) {
        ucp::worker &w = ucp::listener::of(handle).home();
        const auto held = w.lock();
        const ucs::owner<ucp::listener> owned(&ucp::listener::of(handle));
    }
}

ufx_status_t ufx_ucp_listener_query(ufx_ucp_listener_h handle, sockaddr_storage *address) noexcept
{
    if (const auto bad = ucp::require(__func__, {{"listener", handle}, {"address", address}});
        bad != UFX_OK) {
        return bad;
    }
    *address = ucp::listener::of(handle).address();
    return UFX_OK;
}

ufx_status_t ufx_ucp_listener_reject(ufx_ucp_listener_h handle,
                                     ufx_ucp_conn_request_h request) noexcept
{
    if (const auto bad = ucp::require(__func__, {{"listener", handle}, {"request", request}});
        bad != UFX_OK) {
        return bad;
    }
    return ucs::guard([&] {
        ucp::listener &l = ucp::listener::of(handle);
        const auto held = l.home().lock();
        const ufx_status_t status = l.reject(*static_cast<ucp::conn_request *>(request));
        l.home().kick();
        return status;
    });
}

ufx_status_t ufx_ucp_ep_create(ufx_ucp_worker_h handle, const ufx_ucp_ep_params_t *params,
                               ufx_ucp_ep_h *out) noexcept
{
    if (const auto bad =
            ucp::require(__func__, {{"worker", handle}, {"params", params}, {"ep", out}});
        bad != UFX_OK) {
        return bad;
    }
    return ucs::guard([&]() -> ufx_status_t {
        ucp::worker &w = ucp::worker::of(handle);
        const auto held = w.lock();
        const auto made = ucp::ep::create(w, *params);
        if (!made) {
            return made.error();
        }
        *out = *made;
        w.kick();
        return UFX_OK;
    });
}

ufx_status_t ufx_ucp_ep_set_event_cb(ufx_ucp_ep_h handle, ufx_ucp_ep_event_cb_t cb,
                                     void *arg) noexcept
{
    if (handle == nullptr) {
        return ucp::refuse_null(__func__, "ep");
    }
    return ucs::guard([&] {
        ucp::ep &e = ucp::ep::of(handle);
        const auto held = e.home().lock();
        e.set_event_cb(cb, arg);
    });
}

ufx_status_t ufx_ucp_ep_query(ufx_ucp_ep_h handle, ufx_ucp_ep_attr_t *attr) noexcept
{
    if (const auto bad = ucp::require(__func__, {{"ep", handle}, {"attr", attr}}); bad != UFX_OK) {
        return bad;
    }
    return ucs::guard([&] {
        const ucp::ep &e = ucp::ep::of(handle);
        const auto held = e.home().lock();
        e.query(*attr);
    });
}

ufx_status_t ufx_ucp_ep_close(ufx_ucp_ep_h handle, ufx_ucp_close_mode_t mode,
                              const ufx_ucp_op_params_t *params,
                              ufx_ucp_request_h *request) noexcept
{
    ucp::give_no_request(request);
    if (handle == nullptr) {
        return ucp::refuse_null(__func__, "ep");
    }
    if (ucp::number_of(mode) > UFX_UCP_CLOSE_FORCE) {
        return ucp::refuse(__func__, "mode is no ufx_ucp_close_mode_t");
    }
    return ucs::guard([&] {
        ucp::ep &e = ucp::ep::of(handle);
        ucp::worker &w = e.home();
        const auto held = w.lock();
        const ufx_status_t status = e.close(mode, params, request);
        w.kick();
        return status;
    });
}

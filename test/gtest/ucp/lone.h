// SPDX-License-Identifier: BSD-3-Clause
// A worker alone, for tests of how workers find each other.
#ifndef UFX_TEST_UCP_LONE_H
#define UFX_TEST_UCP_LONE_H

#include <catch2/catch.hpp>

#include "ucp/address.h"
#include "ucp/worker.h"

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <vector>

namespace ufx::test {

using ucp::worker;

// A worker alone, with what its listener and eps were told.
struct lone {
    explicit lone(bool accepts = true, const char *devices = "lo:127.0.0.1,lo:127.0.0.2")
    {
        ufx_ucp_context_params_t cp{};
        cp.field_mask = UFX_UCP_CONTEXT_PARAM_DEVICES;
        cp.devices = devices;
        REQUIRE(ufx_ucp_context_create(&cp, &context) == UFX_OK);
        ufx_ucp_worker_params_t wp{};
        wp.field_mask = accepts ? std::uint64_t{UFX_UCP_WORKER_PARAM_EP_ACCEPT} : 0;
        wp.ep_accept_cb = [](void *arg, ufx_ucp_ep_h ep) noexcept {
            static_cast<lone *>(arg)->accepted.push_back(ep);
        };
        wp.ep_accept_arg = this;
        REQUIRE(ufx_ucp_worker_create(context, &wp, &handle) == UFX_OK);
    }
    ~lone()
    {
        ufx_ucp_worker_destroy(handle);
        ufx_ucp_context_destroy(context);
    }
    lone(const lone &) = delete;
    lone &operator=(const lone &) = delete;

    worker &w() { return worker::of(handle); }
    sockaddr_in listen()
    {
        sockaddr_in any{};
        any.sin_family = AF_INET;
        any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        ufx_ucp_listener_params_t lp{};
        lp.field_mask = UFX_UCP_LISTENER_PARAM_SOCKADDR | UFX_UCP_LISTENER_PARAM_CONN_CB;
        lp.sockaddr = reinterpret_cast<sockaddr *>(&any);
        lp.sockaddr_length = sizeof(any);
        lp.conn_cb = [](void *arg, ufx_ucp_conn_request_h request) noexcept {
            static_cast<lone *>(arg)->requests.push_back(request);
        };
        lp.conn_arg = this;
        REQUIRE(ufx_ucp_listener_create(handle, &lp, &listener) == UFX_OK);
        sockaddr_storage bound{};
        REQUIRE(ufx_ucp_listener_query(listener, &bound) == UFX_OK);
        return reinterpret_cast<sockaddr_in &>(bound);
    }
    ufx_ucp_ep_params_t ep_params()
    {
        ufx_ucp_ep_params_t p{};
        p.field_mask = UFX_UCP_EP_PARAM_EVENT_CB;
        p.event_cb = [](void *arg, ufx_ucp_ep_h, const ufx_ucp_ep_event_t *event) noexcept {
            auto &self = *static_cast<lone *>(arg);
            self.events.push_back(*event);
            self.texts.emplace_back(event->text);
        };
        p.event_arg = this;
        return p;
    }
    ufx_ucp_ep_h connect(const sockaddr_in &to)
    {
        ufx_ucp_ep_params_t p = ep_params();
        p.field_mask |= UFX_UCP_EP_PARAM_SOCKADDR;
        p.sockaddr = reinterpret_cast<const sockaddr *>(&to);
        p.sockaddr_length = sizeof(to);
        ufx_ucp_ep_h ep = nullptr;
        REQUIRE(ufx_ucp_ep_create(handle, &p, &ep) == UFX_OK);
        return ep;
    }
    ufx_ucp_ep_h connect(lone &to, ufx_ucp_error_mode_t mode = UFX_UCP_ERROR_MODE_FAILOVER)
    {
        const std::vector<std::uint8_t> address = encode(to.w().make_address());
        ufx_ucp_ep_params_t p = ep_params();
        p.field_mask |= UFX_UCP_EP_PARAM_ADDRESS | UFX_UCP_EP_PARAM_ERROR_MODE;
        p.error_mode = mode;
        p.address = address.data();
        p.address_length = address.size();
        ufx_ucp_ep_h ep = nullptr;
        REQUIRE(ufx_ucp_ep_create(handle, &p, &ep) == UFX_OK);
        return ep;
    }
    ufx_ucp_ep_h accept(ufx_ucp_error_mode_t mode = UFX_UCP_ERROR_MODE_FAILOVER)
    {
        ufx_ucp_ep_params_t p = ep_params();
        p.field_mask |= UFX_UCP_EP_PARAM_CONN_REQUEST | UFX_UCP_EP_PARAM_ERROR_MODE;
        p.conn_request = requests.back();
        p.error_mode = mode;
        requests.pop_back();
        ufx_ucp_ep_h ep = nullptr;
        (void)ufx_ucp_ep_create(handle, &p, &ep);
        return ep;
    }

    ufx_ucp_context_h context = nullptr;
    ufx_ucp_worker_h handle = nullptr;
    ufx_ucp_listener_h listener = nullptr;
    std::vector<ufx_ucp_conn_request_h> requests;
    std::vector<ufx_ucp_ep_h> accepted;
    std::vector<ufx_ucp_ep_event_t> events;
    std::vector<std::string> texts;
};

template <class F>
bool turn(std::initializer_list<lone *> all, F &&what)
{
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(120);
    while (!what()) {
        if (std::chrono::steady_clock::now() > end) {
            return false;
        }
        for (lone *one : all) {
            (void)ufx_ucp_worker_progress(one->handle);
        }
    }
    return true;
}

inline unsigned live_lanes(ufx_ucp_ep_h ep)
{
    ufx_ucp_ep_attr_t attr{};
    attr.field_mask = UFX_UCP_EP_ATTR_LANES;
    REQUIRE(ufx_ucp_ep_query(ep, &attr) == UFX_OK);
    return attr.lanes_live;
}

} // namespace ufx::test

#endif

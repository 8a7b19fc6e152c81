// SPDX-License-Identifier: BSD-3-Clause
// Listeners: a socket by which peers ask for eps, and the requests that wait for an answer.
#ifndef UFX_UCP_LISTENER_H
#define UFX_UCP_LISTENER_H

#include "ucp/core/control_msg.h"
#include "ucp/handles.h"
#include "ucs/owner.h"
#include "ucs/result.h"

#include <utility>
#include <vector>

namespace ufx::ucp {

class ep;
class listener;
class peer;
class worker;

// A peer's wish for an ep, until it is accepted or rejected.
class conn_request : public ufx_ucp_conn_request {
public:
    listener *home = nullptr;
    std::uint64_t peer_uuid = 0;
    core::ep_id src_ep = 0;
    std::uint64_t connection = 0;
    core::error_mode mode = core::error_mode::FAILOVER;
    core::control_msg msg; // fed to the core again once there is an ep
};

class listener : public ufx_ucp_listener {
public:
    static ucs::result<listener *> create(worker &w, const ufx_ucp_listener_params_t &params);
    static listener &of(ufx_ucp_listener_h handle) { return *static_cast<listener *>(handle); }
    listener(worker &w, ufx_ucp_conn_cb_t cb, void *arg);
    ~listener();
    listener(const listener &) = delete;
    listener &operator=(const listener &) = delete;

    worker &home() const { return worker_; }
    const sockaddr_storage &address() const { return address_; }
    std::uint16_t port() const;
    void set_address(const sockaddr_storage &address) { address_ = address; }
    ufx_status_t reject(conn_request &request);
    // NONE: wait. Else the refusal that the peer gets (again).
    core::refusal offer(peer &from, const core::control_msg &msg, core::ep_id src_ep,
                        std::uint64_t connection, core::error_mode mode);
    // Takes an answered request out.
    void forget(conn_request &request);

private:
    worker &worker_;
    ufx_ucp_conn_cb_t cb_;
    void *arg_;
    sockaddr_storage address_{};
    std::vector<ucs::owner<conn_request>> waiting_;
    std::vector<std::pair<std::uint64_t, core::ep_id>> rejected_;
};

// Gives a REQ or WANT whose connection number names a listener to it.
[[nodiscard]] core::refusal offer_to_listener(peer &from, const core::control_msg &msg,
                                              core::ep_id src_ep, std::uint64_t connection,
                                              core::error_mode mode);
// Consumes a request that an ep could not be made of.
void drop_request(conn_request &request);
// Makes `e` the local end of the ep that was asked for.
ufx_status_t accept_request(ep &e, conn_request &request);

} // namespace ufx::ucp

#endif

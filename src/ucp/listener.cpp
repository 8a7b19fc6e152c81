// SPDX-License-Identifier: BSD-3-Clause
// Listeners: offers, acceptance, rejection.
#include "ucp/listener.h"

#include "ucp/control_path.h"
#include "ucp/ep.h"
#include "ucp/peer.h"
#include "ucp/refuse.h"
#include "ucp/worker.h"

#include <algorithm>
#include <cstring>
#include <netinet/in.h>

namespace ufx::ucp {

namespace {

// A peer that was rejected long ago and asks again is asked about again.
constexpr std::size_t max_rejected = 1024;

void refuse(worker &w, const conn_request &request, core::refusal code)
{
    if (peer *p = w.find_peer(request.peer_uuid)) {
        p->event([&](core::peer &m, core::time_ns, core::action_list &out) {
            m.refuse_ep(request.msg, code, out);
        });
    }
}

} // namespace

listener::listener(worker &w, ufx_ucp_conn_cb_t cb, void *arg) : worker_(w), cb_(cb), arg_(arg)
{
    worker_.listeners.push_back(this);
}

listener::~listener()
{
    for (const auto &request : waiting_) {
        refuse(worker_, *request, core::refusal::BY_USER);
    }
    worker_.withdraw(this);
    worker_.control().remove_listener(*this);
    std::erase(worker_.listeners, this);
}

ucs::result<listener *> listener::create(worker &w, const ufx_ucp_listener_params_t &params)
{
    constexpr std::uint64_t needed =
        UFX_UCP_LISTENER_PARAM_SOCKADDR | UFX_UCP_LISTENER_PARAM_CONN_CB;
    constexpr const char *call = "ufx_ucp_listener_create";
    if ((params.field_mask & needed) != needed || params.sockaddr == nullptr ||
        params.conn_cb == nullptr) {
        return refuse(call, "params->sockaddr and params->conn_cb are both required");
    }
    const ucs::result<sockaddr_storage> address =
        copy_sockaddr(params.sockaddr, params.sockaddr_length);
    if (!address) {
        return refuse(call,
                      "params->sockaddr is neither IPv4 nor IPv6, or sockaddr_length is short");
    }
    ucs::owner<listener> made = ucs::make_owner<listener>(w, params.conn_cb, params.conn_arg);
    const auto opened = w.control().add_listener(*address, *made);
    if (!opened) {
        return opened.error();
    }
    return made.release();
}

std::uint16_t listener::port() const
{
    return port_of(address_);
}

void listener::forget(conn_request &request)
{
    std::erase_if(waiting_, [&](const auto &r) { return r.get() == &request; });
}

ufx_status_t listener::reject(conn_request &request)
{
    if (rejected_.size() == max_rejected) {
        rejected_.erase(rejected_.begin());
    }
    rejected_.emplace_back(request.peer_uuid, request.src_ep);
    refuse(worker_, request, core::refusal::BY_USER);
    forget(request);
    return UFX_OK;
}

core::refusal listener::offer(peer &from, const core::control_msg &msg, core::ep_id src_ep,
                              std::uint64_t connection, core::error_mode mode)
{
    if (std::find(rejected_.begin(), rejected_.end(), std::pair(from.uuid(), src_ep)) !=
        rejected_.end()) {
        return core::refusal::BY_USER;
    }
    for (const auto &r : waiting_) {
        if (r->peer_uuid == from.uuid() && r->src_ep == src_ep) {
            return core::refusal::NONE; // the user has not answered yet
        }
    }
    ucs::owner<conn_request> fresh = ucs::make_owner<conn_request>();
    fresh->home = this;
    fresh->peer_uuid = from.uuid();
    fresh->src_ep = src_ep;
    fresh->connection = connection;
    fresh->mode = mode;
    fresh->msg = msg;
    conn_request *request = fresh.get();
    waiting_.push_back(std::move(fresh));
    worker_.defer(
        [this, request] {
            const bool there = std::any_of(waiting_.begin(), waiting_.end(),
                                           [&](const auto &r) { return r.get() == request; });
            if (there) {
                cb_(arg_, request);
            }
        },
        this);
    return core::refusal::NONE;
}

core::refusal offer_to_listener(peer &from, const core::control_msg &msg, core::ep_id src_ep,
                                std::uint64_t connection, core::error_mode mode)
{
    constexpr std::uint64_t tag_bits = 0x7fffffffull << 32;
    const auto port = static_cast<std::uint16_t>(connection >> 32 & 0xffff);
    listener *found = nullptr; // any of that port: it may listen on all addresses
    for (listener *l : from.home().listeners) {
        if (l->port() != port) {
            continue;
        }
        if (found == nullptr || (connection & tag_bits) == connection_tag(l->address())) {
            found = l;
        }
    }
    return found != nullptr ? found->offer(from, msg, src_ep, connection, mode)
                            : core::refusal::EP_GONE;
}

void drop_request(conn_request &request)
{
    listener &from = *request.home;
    refuse(from.home(), request, core::refusal::BY_USER);
    from.forget(request);
}

ufx_status_t accept_request(ep &e, conn_request &request)
{
    worker &w = e.home();
    peer *p = w.find_peer(request.peer_uuid);
    listener &from = *request.home;
    if (p == nullptr || p->is_dead()) {
        from.forget(request);
        return UFX_ERR_UNREACHABLE;
    }
    if (e.mode() != request.mode) {
        refuse(w, request, core::refusal::MODE);
        from.forget(request);
        return UFX_ERR_REJECTED;
    }
    const core::control_msg msg = request.msg;
    const core::ep_id src_ep = request.src_ep;
    const std::uint64_t connection = request.connection;
    from.forget(request);
    e.join(*p, src_ep, connection);
    p->event([&](core::peer &m, core::time_ns now, core::action_list &out) {
        m.control(msg, now, out);
    });
    return UFX_OK;
}

} // namespace ufx::ucp

// SPDX-License-Identifier: BSD-3-Clause
// Carries out what the failover core asks for; decides nothing.
#include "ucp/causes.h"
#include "ucp/control_path.h"
#include "ucp/ep.h"
#include "ucp/listener.h"
#include "ucp/peer.h"
#include "ucp/rail.h"
#include "ucp/worker.h"
#include "ucs/log.h"
#include "ucs/trace_point.h"

#include <algorithm>

namespace ufx::ucp {

void peer::follow_gates(std::size_t from)
{
    for (std::size_t i = from; i < actions_.size(); ++i) {
        if (const auto *gate = std::get_if<core::act::gate_lane>(&actions_[i])) {
            if (lane *l = find_lane(gate->lane)) {
                l->set_open(gate->open);
            }
        }
    }
}

// The list may grow, and move, meanwhile. Nearly all of what is on it is fragments. Without memory
// the action stays on the list.
void peer::run_next()
{
    const std::size_t at = next_action_++;
    if (const auto *fragment = std::get_if<core::act::fragment_done>(&actions_[at])) {
        const core::act::fragment_done done = *fragment;
        act(done);
        return;
    }
    core::action a = std::move(actions_[at]);
    try {
        std::visit([&](const auto &what) { act(what); }, a);
    } catch (const std::bad_alloc &) {
        actions_[at] = std::move(a);
        throw;
    }
}

bool peer::run()
{
    for (const auto &p : probers_) {
        p->progress();
    }
    if (starved_) {
        starved_ = false; // or_die() sets it again
        if (is_dead()) {
            give_up();
        }
        declare_dead("there is no memory to go on with it");
    }
    if (actions_.empty()) {
        return false;
    }
    while (next_action_ < actions_.size()) {
        try {
            run_next();
        } catch (const std::bad_alloc &) {
            if (is_dead()) { // nothing but this action ends what it is about
                --next_action_;
                throw;
            }
            starved_ = true;
        }
    }
    actions_.clear();
    next_action_ = 0;
    return true;
}

void peer::act(const core::act::send &a)
{
    send(a.msg, a.attempt);
}

void peer::act(const core::act::arm_timer &a)
{
    timers_.arm(a.timer, a.at);
    rearm();
}

void peer::act(const core::act::disarm_timer &a)
{
    timers_.disarm(a.timer);
    rearm();
}

void peer::lane_failed(const core::lane_ref &ref, core::cause why)
{
    event([&](core::peer &m, core::time_ns at, core::action_list &out) {
        m.lane_failed(ref, why, at, out);
    });
}

// What is no fault of the device speaks neither against it nor against the rail.
void peer::lane_not_made(const core::lane_ref &ref, ufx_status_t status, core::cause otherwise)
{
    const auto refuse = [&](core::refusal code) {
        event([&](core::peer &m, core::time_ns at, core::action_list &out) {
            m.lane_not_made(ref, code, at, out);
        });
    };
    switch (status) {
    case UFX_ERR_BAD_MESSAGE:
        refuse(core::refusal::BAD_ADDRESS);
        break;
    case UFX_ERR_NO_MEMORY:
    case UFX_ERR_NO_RESOURCE:
        refuse(core::refusal::RESOURCE);
        break;
    case UFX_ERR_NO_ELEM:
        refuse(core::refusal::INTERNAL);
        break;
    case UFX_ERR_NET_UNREACHABLE:
        lane_failed(ref, core::cause::NET_UNREACHABLE);
        break;
    default:
        lane_failed(ref, otherwise);
        break;
    }
}

void peer::act(const core::act::create_lane &a)
{
    rail *port = local_port(a.lane.rail);
    ep *owner = a.lane.ep != 0 ? find_ep(a.lane.ep) : nullptr;
    if (port == nullptr || (owner == nullptr && a.lane.ep != 0)) {
        lane_not_made(a.lane, UFX_ERR_NO_ELEM, core::cause::OWN_QP_ERROR);
        return;
    }
    auto made = lane::create(*this, owner, *port, a.lane);
    ufx_status_t status = made.status();
    if (made && !a.starter) {
        status = (*made)->connect(a.address, a.tx);
    }
    if (status != UFX_OK) {
        ufx_info("%s: cannot make a lane to %016lx: %s", port->name().c_str(), uuid(),
                 ufx_ucs_status_string(status));
        lane_not_made(a.lane, status, core::cause::OWN_QP_ERROR);
        return;
    }
    const core::lane_address address = (*made)->address();
    const core::token tx = (*made)->tx_token();
    lane &placed = *lanes_.emplace(a.lane, std::move(*made)).first->second;
    if (owner != nullptr) {
        try {
            owner->add_lane(placed);
        } catch (const std::bad_alloc &) {
            lanes_.erase(a.lane);
            throw;
        }
    }
    event([&](core::peer &m, core::time_ns at, core::action_list &out) {
        m.lane_created(a.lane, address, tx, at, out);
    });
}

void peer::act(const core::act::connect_lane &a)
{
    lane *l = find_lane(a.lane);
    if (l == nullptr) {
        return;
    }
    const ufx_status_t status = l->connect(a.address, a.tx);
    if (status != UFX_OK) {
        ufx_info("%s: cannot connect a lane to %016lx: %s", l->port().name().c_str(), uuid(),
                 ufx_ucs_status_string(status));
        lane_not_made(a.lane, status, core::cause::NET_UNREACHABLE);
        return;
    }
    event([&](core::peer &m, core::time_ns at, core::action_list &out) {
        m.lane_connected(a.lane, at, out);
    });
}

void peer::act(const core::act::lane_live &a)
{
    if (ep *e = find_ep(a.lane.ep)) {
        e->lane_live();
    }
}

void peer::act(const core::act::gate_lane &a)
{
    if (ep *e = find_ep(a.lane.ep)) {
        e->tx.wake(); // also what was held back for a lane that is closed now
    }
}

void peer::act(const core::act::quiesce_lane &a)
{
    lane *l = find_lane(a.lane);
    if (l == nullptr) {
        event([&](core::peer &m, core::time_ns at, core::action_list &out) {
            m.lane_quiet(a.lane, false, at, out);
        });
        return;
    }
    ucs::trace_point("sealing");
    if (l->has_outstanding()) {
        stats().sealing(l->beat.seen, now());
    }
    l->quiesce();
}

// By the contract of invalidate() every received message was handed to its handler by now.
void peer::act(const core::act::drain_receives &a)
{
    event([&](core::peer &m, core::time_ns at, core::action_list &out) {
        m.receives_drained(a.lane, at, out);
    });
}

core::landed_position peer::token_of(const core::lane_ref &ref) const
{
    const lane *l = find_lane(ref);
    return l != nullptr ? l->read_token() : core::landed_position{};
}

void peer::act(const core::act::read_token &a)
{
    const core::landed_position landed = token_of(a.lane);
    event([&](core::peer &m, core::time_ns at, core::action_list &out) {
        m.token_read(a.lane, landed, at, out);
    });
}

void peer::act(const core::act::purge_lane &a)
{
    if (lane *l = find_lane(a.lane)) {
        l->purge(a.landed);
        return;
    }
    event([&](core::peer &m, core::time_ns at, core::action_list &out) {
        m.purged(a.lane, {}, at, out);
    });
}

void peer::act(const core::act::release_lane &a)
{
    std::erase_if(probers_, [&](const auto &p) { return p->over().ref() == a.lane; });
    const auto gone = lanes_.extract(a.lane);
    if (gone && gone.mapped()->owner() != nullptr) {
        gone.mapped()->owner()->remove_lane(*gone.mapped());
    }
}

void peer::act(const core::act::post_nop &a)
{
    if (lane *l = find_lane(a.lane)) {
        l->post_nop();
    }
}

void peer::act(const core::act::check_stuck &a)
{
    const lane *l = find_lane(a.lane);
    if (l != nullptr && l->stuck_since_port_up()) {
        lane_failed(a.lane, core::cause::STUCK_AFTER_FLAP);
    }
}

void peer::act(const core::act::await_idle &a)
{
    std::erase(awaiting_idle_, a.rail);
    awaiting_idle_.push_back(a.rail);
}

void peer::act(const core::act::refresh_address &a)
{
    publish_address(local_index(a.rail));
}

void peer::act(const core::act::run_probe &a)
{
    if (lane *l = find_lane({0, a.rail, a.epoch})) {
        ucs::trace_point("probing");
        probers_.push_back(ucs::make_owner<prober>(*l));
    }
}

void peer::act(const core::act::rail_changed &a)
{
    rail *port = local_port(a.rail);
    const unsigned index = local_index(a.rail);
    if (is_crossed(a.rail)) {
        ufx_debug("the pair %u of ports, which were not matched, towards %016lx: %s -> %s (%s)", a.rail,
                  uuid(), core::name_of(a.from), core::name_of(a.to), core::name_of(a.why));
        return;
    }
    const bool worse = a.to == core::rail_state::DRAINING && a.why != core::cause::ADMIN;
    if (port != nullptr) {
        port->count.failures += worse ? 1 : 0;
        port->count.recoveries +=
            a.to == core::rail_state::UP && a.from == core::rail_state::PROBING ? 1 : 0;
    }
    if (a.to == core::rail_state::SUSPECT) {
        ucs::trace_point("suspect");
    }
    worker_.rail_event(*this, index, static_cast<ufx_ucp_rail_state_t>(a.from),
                       static_cast<ufx_ucp_rail_state_t>(a.to), core::name_of(a.why));
}

void peer::act(const core::act::fragment_done &a)
{
    if (ep *e = find_ep(a.ep)) {
        e->tx.on_fragment_done(a);
    }
}

void peer::act(const core::act::replay_ready &a)
{
    if (ep *e = find_ep(a.ep)) {
        e->tx.wake();
    }
}

void peer::act(const core::act::incoming_ep &a)
{
    const auto *want = std::get_if<core::lane_want_msg>(&a.msg);
    const auto *req = std::get_if<core::lane_req_msg>(&a.msg);
    if (want != nullptr) {
        pair_or_accept(a, want->lane, want->connection, want->mode);
    } else if (req != nullptr) {
        pair_or_accept(a, req->lane, req->connection, req->mode);
    }
}

void peer::pair_or_accept(const core::act::incoming_ep &a, const core::lane_name &lane,
                          std::uint64_t connection, core::error_mode mode)
{
    core::control_msg again = a.msg;
    const auto feed = [&] {
        event([&](core::peer &m, core::time_ns at, core::action_list &out) {
            m.control(again, at, out);
        });
    };
    const auto known = std::find_if(eps_.begin(), eps_.end(), [&](const auto &e) {
        const core::ep *machine = e.second->failover();
        return machine != nullptr && machine->peer_id() == lane.src_ep;
    });
    if (known != eps_.end()) { // made meanwhile
        feed();
        return;
    }
    if (std::find(gone_.begin(), gone_.end(), lane.src_ep) != gone_.end()) {
        core_.refuse_ep(a.msg, core::refusal::EP_GONE, actions_);
        return;
    }
    // Both sides made an ep to each other at once: the connection number pairs them into one.
    for (const auto &known_ep : eps_) {
        const ep *e = known_ep.second; // a lambda of clang 14 captures no binding
        if (e->connection() == connection && e->failover() != nullptr &&
            e->failover()->peer_id() == 0 && (connection & listener_connection) == 0) {
            std::visit(
                [&](auto &m) {
                    if constexpr (requires { m.lane.dst_ep; }) {
                        m.lane.dst_ep = e->id();
                    }
                },
                again);
            feed();
            return;
        }
    }
    if ((connection & listener_connection) != 0) {
        const core::refusal code = offer_to_listener(*this, a.msg, lane.src_ep, connection, mode);
        if (code != core::refusal::NONE) {
            core_.refuse_ep(a.msg, code, actions_);
        }
        return;
    }
    worker_.accept_ep(*this, lane.src_ep, connection, mode);
    feed();
}

void peer::act(const core::act::ep_error &a)
{
    if (ep *e = find_ep(a.ep)) {
        e->on_error(a.status, a.why, a.code);
    }
}

void peer::act(const core::act::peer_transfers_dead &a)
{
    if (ep *e = find_ep(a.ep)) {
        e->on_transfers_dead();
    }
}

void peer::act(const core::act::ep_closed &a)
{
    if (ep *e = find_ep(a.ep)) {
        e->on_closed();
    }
}

void peer::act(const core::act::admin_done &a)
{
    ufx_info("%s: %s towards %016lx is finished",
             local_port(a.rail) != nullptr ? local_port(a.rail)->name().c_str() : "rail",
             a.action == core::admin_action::DRAIN ? "drain" : "resume", uuid());
}

} // namespace ufx::ucp

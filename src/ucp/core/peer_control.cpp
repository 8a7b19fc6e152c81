// SPDX-License-Identifier: BSD-3-Clause
// Control messages: whose they are, and what an unknown one is answered with.
#include "ucp/core/peer.h"
#include "ucp/core/peer_events.h"

#include <algorithm>

namespace ufx::ucp::core {

void peer::control(const control_msg &msg, time_ns now, action_list &out)
{
    const auto has_hole = [](const auto &e) {
        const window &seen = e.second.rx_.window();
        return seen.end() != seen.next();
    };
    if (mutated(mutant::CONTROL_IN_AM_ORDER) && std::any_of(eps_.begin(), eps_.end(), has_hole)) {
        return; // it comes again
    }
    if (!dead_) {
        std::visit([&](const auto &m) { on_msg(m, now, out); }, msg);
    }
}

void peer::refuse(const lane_name &theirs, refusal code, bool of_want, action_list &out)
{
    const lane_name ours{theirs.dst_ep, theirs.src_ep, theirs.rail, theirs.epoch};
    out.push_back(act::send{lane_refused_msg{ours, code, of_want, theirs.epoch, 0}, 0});
}

void peer::refuse_ep(const control_msg &msg, refusal code, action_list &out)
{
    if (const auto *want = std::get_if<lane_want_msg>(&msg)) {
        refuse(want->lane, code, true, out);
    } else if (const auto *req = std::get_if<lane_req_msg>(&msg)) {
        refuse(req->lane, code, false, out);
    }
}

// Gives a message to the slot that it names. False: there is no such slot.
template <class M, class F>
bool peer::to_lane(const M &msg, time_ns now, action_list &out, F event)
{
    const lane_name &lane = msg.lane;
    rail_entry *r = rail_of(lane.rail);
    if (r == nullptr) {
        return false;
    }
    if (lane.src_ep == 0 && lane.dst_ep == 0) {
        on_probe(*r, now, out, [&](lane_slot &l, lane_env &env) { event(l, env, msg); });
        return true;
    }
    ep *e = ep_of(lane.dst_ep, lane.src_ep);
    if (e == nullptr) {
        return false;
    }
    if (e->peer_id_ == 0) {
        e->peer_id_ = lane.src_ep;
    }
    on_lane(*e, e->slot(lane.rail), now, out,
            [&](lane_slot &l, lane_env &env) { event(l, env, msg); });
    return true;
}

void peer::on_msg(const lane_want_msg &msg, time_ns now, action_list &out)
{
    rail_entry *r = rail_of(msg.lane.rail);
    if (r != nullptr && msg.lane.src_ep == 0) {
        on_rail(*r, now, out, [](rail &h, const rail_env &env) { h.join_probe(env); });
    }
    if (to_lane(msg, now, out, [](auto &l, auto &env, auto &m) { l.on_want(env, m); })) {
        return;
    }
    if (r == nullptr) {
        refuse(msg.lane, refusal::NO_SUCH_RAIL, true, out);
    } else if (msg.lane.dst_ep != 0) {
        refuse(msg.lane, refusal::EP_GONE, true, out);
    } else {
        out.push_back(act::incoming_ep{msg});
    }
}

void peer::on_msg(const lane_req_msg &msg, time_ns now, action_list &out)
{
    rail_entry *r = rail_of(msg.lane.rail);
    if (r != nullptr && msg.lane.src_ep == 0) {
        on_rail(*r, now, out, [](rail &h, const rail_env &env) { h.join_probe(env); });
    }
    if (to_lane(msg, now, out, [](auto &l, auto &env, auto &m) { l.on_req(env, m); })) {
        return;
    }
    if (r == nullptr) {
        refuse(msg.lane, refusal::NO_SUCH_RAIL, false, out);
    } else if (msg.lane.dst_ep != 0) {
        refuse(msg.lane, refusal::EP_GONE, false, out);
    } else {
        out.push_back(act::incoming_ep{msg});
    }
}

void peer::on_msg(const lane_rep_msg &msg, time_ns now, action_list &out)
{
    if (!to_lane(msg, now, out, [](auto &l, auto &env, auto &m) { l.on_rep(env, m); })) {
        refuse(msg.lane, refusal::EP_GONE, false, out);
    }
}

void peer::on_msg(const lane_ready_msg &msg, time_ns now, action_list &out)
{
    to_lane(msg, now, out, [](auto &l, auto &env, auto &m) { l.on_ready(env, m); });
}

void peer::on_msg(const lane_refused_msg &msg, time_ns now, action_list &out)
{
    to_lane(msg, now, out, [](auto &l, auto &env, auto &m) { l.on_refused(env, m); });
}

void peer::on_msg(const seal_msg &msg, time_ns now, action_list &out)
{
    if (!book_.has_room() && is_unknown(msg)) {
        return; // it comes again, when the peer has acked what it asked for before
    }
    out.push_back(act::send{seal_ack_msg{msg.seal_id}, 0});
    if (!to_lane(msg, now, out, [](auto &l, auto &env, auto &m) { l.on_seal(env, m); })) {
        seal_unknown(msg, now, out);
        return;
    }
    ep *e = ep_of(msg.lane.dst_ep, msg.lane.src_ep);
    if (e != nullptr && msg.ep_gone) {
        fail_ep(*e, UFX_ERR_UNREACHABLE, cause::PEER_CLOSED, refusal::EP_GONE, now, out);
    }
}

// Of a lane that was never built here: the answer is a new record.
bool peer::is_unknown(const seal_msg &msg)
{
    const lane_name &lane = msg.lane;
    if (lane.src_ep == 0 && lane.dst_ep == 0) {
        const rail_entry *r = rail_of(lane.rail);
        return r == nullptr || lane.epoch > r->probe.highest();
    }
    const ep *e = ep_of(lane.dst_ep, lane.src_ep);
    const lane_slot *l = e != nullptr ? e->lane(lane.rail) : nullptr;
    return l == nullptr || lane.epoch > l->highest();
}

// An ack alone would strand the peer. An ep that was closed here: nothing can land, but how much
// did is not known any more. One that never existed here received nothing.
void peer::seal_unknown(const seal_msg &msg, time_ns now, action_list &out)
{
    const lane_name &theirs = msg.lane;
    if (mutated(mutant::UNKNOWN_EPOCH_IGNORED) ||
        book_.answer_again(theirs.dst_ep, theirs.src_ep, theirs.rail, theirs.epoch, now, out)) {
        return;
    }
    seal_msg seal;
    seal.lane = {theirs.dst_ep, theirs.src_ep, theirs.rail, theirs.epoch};
    seal.why = cause::PEER_SEAL;
    if (theirs.dst_ep != 0) {
        seal.ep_gone = true;
        seal.landed.grade = grade::BLIND;
        seal.landed.nothing = false;
    }
    book_.open(seal, false, now, out);
}

void peer::on_msg(const seal_ack_msg &msg, time_ns now, action_list &out)
{
    const ep_id own = book_.ack(msg.seal_id, out);
    for (rail_entry &r : rails_) {
        on_rail(r, now, out,
                [](rail &h, const rail_env &env) { h.try_probe(env, cause::HOLDOFF_OVER); });
    }
    if (ep *e = find_ep(own)) {
        check_closed(*e, out);
    }
}

void peer::on_msg(const suspect_hint_msg &msg, time_ns now, action_list &out)
{
    const auto live = [&](const auto &e) {
        const lane_slot *l = e.second.lane(msg.rail);
        return l != nullptr && l->is_live();
    };
    if (std::any_of(eps_.begin(), eps_.end(), live)) { // else no progress could ever clear it
        rail_soft(msg.rail, sign::HINT, cause::PEER_HINT, now, out);
    }
}

void peer::on_msg(const probe_ok_msg &msg, time_ns now, action_list &out)
{
    rail_entry *r = rail_of(msg.rail);
    if (r == nullptr) {
        return;
    }
    const bool same_lane = msg.epoch == r->probe.epoch();
    if (r->health.carries_lanes() && !msg.is_answer) {
        out.push_back(act::send{probe_ok_msg{msg.rail, msg.epoch, true}, 0});
        if (same_lane) {
            on_probe(*r, now, out, [](lane_slot &l, lane_env &env) { l.release_probe(env); });
        }
    } else if (same_lane) {
        on_rail(*r, now, out, [](rail &h, const rail_env &env) { h.probe_peer_done(env); });
    }
}

void peer::on_msg(const window_req_msg &msg, time_ns, action_list &out)
{
    if (ep *e = ep_of(msg.dst_ep, msg.src_ep)) {
        out.push_back(
            act::send{window_ack_msg{e->id_, msg.src_ep, e->rx_.window(), e->rx_.taken()}, 0});
    } else if (msg.dst_ep != 0) {
        // Forgotten here, when the peer was declared dead: it would ask for ever.
        out.push_back(act::send{ep_close_msg{msg.dst_ep, msg.src_ep, true, {}}, 0});
    }
}

void peer::on_msg(const window_ack_msg &msg, time_ns, action_list &out)
{
    ep *e = ep_of(msg.dst_ep, msg.src_ep);
    if (e == nullptr) {
        return;
    }
    e->tx_.covered(msg.window, out);
    for (const lane_taken &t : msg.taken) {
        e->tx_.taken(t.rail, t.epoch, t.count, out);
    }
    out.push_back(act::replay_ready{e->id_});
}

void peer::on_msg(const admin_msg &msg, time_ns now, action_list &out)
{
    rail_entry *r = rail_of(msg.rail);
    if (r == nullptr || msg.serial < r->peer_serial) {
        return; // an old one that was overtaken
    }
    const bool fresh = msg.serial > r->peer_serial;
    if (fresh) {
        r->peer_serial = msg.serial;
        on_rail(*r, now, out, [&](rail &h, const rail_env &env) {
            msg.action == admin_action::DRAIN ? h.admin_drain(env) : h.resume(env);
        });
    }
    r->peer_waits = true;
    finish_drain(*r, false, now, out);
}

void peer::on_msg(const admin_ack_msg &msg, time_ns now, action_list &out)
{
    rail_entry *r = rail_of(msg.rail);
    if (r == nullptr || r->admin_serial == 0 || r->admin_serial != msg.serial) {
        return;
    }
    r->admin_serial = 0;
    out.push_back(act::disarm_timer{{timer_kind::ADMIN, msg.rail, 0, 0}});
    finish_drain(*r, false, now, out);
    check_admin_done(*r, out);
}

void peer::on_msg(const ep_close_msg &msg, time_ns now, action_list &out)
{
    ep *e = ep_of(msg.dst_ep, msg.src_ep);
    const window final = e != nullptr ? e->rx_.window() : window();
    out.push_back(act::send{ep_close_ack_msg{msg.dst_ep, msg.src_ep, final}, 0});
    if (e != nullptr) {
        e->tx_.covered(msg.window, out);
        fail_ep(*e, UFX_ERR_UNREACHABLE, msg.is_cut ? cause::PEER_GAVE_UP : cause::PEER_CLOSED,
                refusal::NONE, now, out);
    }
}

void peer::on_msg(const ep_close_ack_msg &msg, time_ns, action_list &out)
{
    ep *e = ep_of(msg.dst_ep, msg.src_ep);
    if (e == nullptr || !e->closing_) {
        return;
    }
    e->tx_.covered(msg.window, out);
    e->close_acked_ = true;
    out.push_back(act::disarm_timer{{timer_kind::EP_CLOSE, 0, e->id_, 0}});
    check_closed(*e, out);
}

} // namespace ufx::ucp::core

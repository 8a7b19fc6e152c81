// SPDX-License-Identifier: BSD-3-Clause
// Set-up, executor's answers, timers, and the life of eps.
#include "ucp/core/peer.h"

#include "ucp/core/peer_events.h"

#include <algorithm>

namespace ufx::ucp::core {

ep *peer::find_ep(ep_id own)
{
    const auto e = eps_.find(own);
    return e == eps_.end() ? nullptr : &e->second;
}

const ep *peer::find_ep(ep_id own) const
{
    return const_cast<peer *>(this)->find_ep(own);
}

ep *peer::ep_of(ep_id own, ep_id theirs)
{
    if (own != 0) {
        return find_ep(own);
    }
    const auto e = std::find_if(eps_.begin(), eps_.end(), [&](const auto &x) {
        return theirs != 0 && x.second.peer_id_ == theirs;
    });
    return e == eps_.end() ? nullptr : &e->second;
}

peer::rail_entry *peer::rail_of(rail_id rail)
{
    for (rail_entry &r : rails_) {
        if (r.health.id() == rail) {
            return &r;
        }
    }
    return nullptr;
}

const rail *peer::find_rail(rail_id rail) const
{
    const rail_entry *r = const_cast<peer *>(this)->rail_of(rail);
    return r == nullptr ? nullptr : &r->health;
}

bool peer::up_beside(rail_id rail) const
{
    return std::any_of(rails_.begin(), rails_.end(), [&](const rail_entry &r) {
        return r.health.id() != rail && r.health.state() == rail_state::UP;
    });
}

bool peer::any_rail_up() const
{
    return up_beside(no_rail);
}

bool peer::may_post(ep_id own, rail_id rail) const
{
    const ep *e = find_ep(own);
    const lane_slot *l = e != nullptr ? e->lane(rail) : nullptr;
    return l != nullptr && l->gate_open();
}

rail_env peer::env_of(const rail_entry &r, time_ns now, action_list &out)
{
    const rail_id id = r.health.id();
    return {now, cfg_, up_beside(id), book_.holds_rail(id), out};
}

lane_env peer::env_of(ep &e, const lane_slot &lane, time_ns now, action_list &out)
{
    lane_env env{.now = now, .cfg = cfg_, .book = book_, .out = out};
    env.starter = starter_;
    env.own_ep = e.id_;
    env.peer_ep = e.peer_id_;
    env.connection = e.connection_;
    env.mode = e.mode_;
    env.dying = e.life_ != ep::life::ALIVE;
    env.peer_dead = dead_;
    env.rx_window = &e.rx_.window();
    const rail_entry *r = rail_of(lane.rail());
    if (r == nullptr) {
        env.barrier = refusal::NO_SUCH_RAIL;
    } else if (!r->health.carries_lanes()) {
        env.barrier = refusal::RAIL_NOT_UP;
    }
    return env;
}

void peer::add_rail(rail_id rail, time_ns now, action_list &out)
{
    if (rail_of(rail) != nullptr) {
        return;
    }
    rails_.emplace_back(rail, cfg_.seed + rail);
    rail_ids_.push_back(rail);
    for (auto &[id, e] : eps_) {
        e.slot(rail);
    }
    start_lanes(rail, now, out);
}

ep &peer::open_ep(ep_id own, ep_id peer_ep, std::uint64_t connection, error_mode mode, time_ns now,
                  action_list &out)
{
    ep &made = eps_.try_emplace(own, own, peer_ep, connection, mode, cfg_).first->second;
    for (const rail_id rail : rail_ids_) {
        made.slot(rail);
    }
    for (const rail_id rail : rail_ids_) {
        on_lane(made, made.slot(rail), now, out,
                [](lane_slot &l, lane_env &env) { l.start(env); });
    }
    return made;
}

void peer::forget_ep(ep_id own)
{
    eps_.erase(own);
}

void peer::update_gate(const ep &e, lane_slot &lane, action_list &out)
{
    const rail *r = find_rail(lane.rail());
    const bool open = lane.is_live() && r != nullptr && r->state() == rail_state::UP &&
                      e.life_ == ep::life::ALIVE;
    if (open != lane.gate_open()) {
        lane.set_gate(open);
        out.push_back(act::gate_lane{lane.ref(), open});
        if (open) {
            out.push_back(act::replay_ready{e.id_});
        }
    }
}

void peer::lane_created(const lane_ref &lane, const lane_address &address, const token &tx,
                        time_ns now, action_list &out)
{
    on_ref(lane, now, out,
           [&](lane_slot &l, lane_env &env) { l.created(env, lane.epoch, address, tx); });
}

void peer::lane_connected(const lane_ref &lane, time_ns now, action_list &out)
{
    on_ref(lane, now, out, [&](lane_slot &l, lane_env &env) { l.connected(env, lane.epoch); });
}

void peer::lane_failed(const lane_ref &lane, cause why, time_ns now, action_list &out)
{
    on_ref(lane, now, out, [&](lane_slot &l, lane_env &env) { l.failed(env, lane.epoch, why); });
}

void peer::lane_not_made(const lane_ref &lane, refusal code, time_ns now, action_list &out)
{
    on_ref(lane, now, out, [&](lane_slot &l, lane_env &env) { l.not_made(env, lane.epoch, code); });
}

void peer::lane_quiet(const lane_ref &lane, bool own_error, time_ns now, action_list &out)
{
    on_ref(lane, now, out,
           [&](lane_slot &l, lane_env &env) { l.quiet(env, lane.epoch, own_error); });
}

void peer::receives_drained(const lane_ref &lane, time_ns now, action_list &out)
{
    on_ref(lane, now, out,
           [&](lane_slot &l, lane_env &env) { l.receives_drained(env, lane.epoch); });
}

void peer::token_read(const lane_ref &lane, const landed_position &landed, time_ns now,
                      action_list &out)
{
    on_ref(lane, now, out,
           [&](lane_slot &l, lane_env &env) { l.token_read(env, lane.epoch, landed); });
}

void peer::purged(const lane_ref &lane, std::span<const purged_op> ops, time_ns now,
                  action_list &out)
{
    ep *e = find_ep(lane.ep);
    const lane_slot *l = e != nullptr ? e->lane(lane.rail) : nullptr;
    if (l == nullptr || l->epoch() != lane.epoch) {
        return;
    }
    const seal_msg *seal = l->peer_seal() ? &*l->peer_seal() : nullptr;
    if (l->state() == lane_state::JUDGING ||
        (mutated(mutant::COMPLETE_BEFORE_SEAL) && l->state() == lane_state::SEALING)) {
        e->judge(lane, l->state() == lane_state::JUDGING ? seal : nullptr, ops, out);
    }
    on_ref(lane, now, out, [&](lane_slot &s, lane_env &env) { s.purged(env, lane.epoch); });
}

void peer::timer(const timer_id &timer, time_ns now, action_list &out)
{
    if (dead_) {
        return;
    }
    switch (timer.kind) {
    case timer_kind::LANE_SHAKE:
    case timer_kind::LANE_RETRY:
    case timer_kind::LANE_ERROR: {
        const rail_entry *r = rail_of(timer.rail);
        const bool probing = r != nullptr && r->health.state() == rail_state::PROBING;
        if (timer.ep != 0 || probing || timer.kind != timer_kind::LANE_RETRY) {
            on_ref({timer.ep, timer.rail, 0}, now, out,
                   [&](lane_slot &l, lane_env &env) { l.timer(env, timer.kind); });
        }
        break;
    }
    case timer_kind::SEAL:
        book_.timer(timer.id, now, out);
        break;
    case timer_kind::WINDOW_REQ:
        if (ep *e = find_ep(timer.ep)) {
            window_timer(*e, now, out);
        }
        break;
    case timer_kind::EP_CLOSE:
        if (ep *e = find_ep(timer.ep)) {
            send_close(*e, now, out);
        }
        break;
    default:
        if (rail_entry *r = rail_of(timer.rail)) {
            rail_timer(*r, timer.kind, now, out);
        }
        break;
    }
}

void peer::window_timer(ep &e, time_ns now, action_list &out)
{
    e.window_req_armed_ = e.tx_.any_uncovered();
    if (e.window_req_armed_) {
        out.push_back(act::send{window_req_msg{e.id_, e.peer_id_}, e.window_req_.attempts()});
        out.push_back(
            act::arm_timer{{timer_kind::WINDOW_REQ, 0, e.id_, 0}, now + e.window_req_.next()});
    }
}

// No new lane; every lane is sealed; what is left ends with `status` once all are quiet.
void peer::fail_ep(ep &e, ufx_status_t status, cause why, refusal code, time_ns now,
                   action_list &out)
{
    if (e.life_ != ep::life::ALIVE) {
        return;
    }
    e.life_ = ep::life::DYING;
    e.end_status_ = status;
    e.end_why_ = why;
    e.end_code_ = code;
    if (mutated(mutant::EP_ERROR_BEFORE_QUIET)) {
        out.push_back(act::ep_error{e.id_, status, why, code});
    }
    const cause seal_why = why == cause::PEER_DEAD ? why : cause::EP_CLOSE;
    for (const rail_id rail : rail_ids_) {
        on_lane(e, e.slot(rail), now, out,
                [&](lane_slot &l, lane_env &env) { l.stop(env, seal_why); });
    }
    check_life(e, out);
}

void peer::check_life(ep &e, action_list &out)
{
    if (e.life_ == ep::life::DYING && e.lanes_free()) {
        e.abandon(out);
        if (!e.closing_) {
            out.push_back(act::ep_error{e.id_, e.end_status_, e.end_why_, e.end_code_});
            out.push_back(act::peer_transfers_dead{e.id_});
        }
    }
    check_closed(e, out);
}

void peer::check_closed(ep &e, action_list &out)
{
    if (e.closing_ && !e.closed_told_ && e.life_ == ep::life::DEAD &&
        (dead_ || (e.close_acked_ && !book_.holds_any_of(e.id_)))) {
        e.closed_told_ = true;
        out.push_back(act::ep_closed{e.id_});
    }
}

void peer::send_close(ep &e, time_ns now, action_list &out)
{
    if (e.closing_ && !e.close_acked_) {
        out.push_back(act::send{ep_close_msg{e.id_, e.peer_id_, e.is_cut_, e.rx_.window()},
                                e.close_.attempts()});
        out.push_back(act::arm_timer{{timer_kind::EP_CLOSE, 0, e.id_, 0}, now + e.close_.next()});
    }
}

void peer::close_ep(ep_id own, bool is_cut, time_ns now, action_list &out)
{
    ep *e = find_ep(own);
    if (e == nullptr || e->closing_) {
        return;
    }
    e->closing_ = true;
    e->is_cut_ = is_cut;
    if (!dead_) {
        send_close(*e, now, out);
    }
    fail_ep(*e, UFX_ERR_CANCELED, cause::EP_CLOSE, refusal::NONE, now, out);
    check_closed(*e, out);
}

void peer::peer_dead(time_ns now, action_list &out)
{
    dead_ = true;
    book_.forget_all(out);
    for (rail_entry &r : rails_) {
        on_probe(r, now, out, [](lane_slot &l, lane_env &env) { l.release_probe(env); });
    }
    for (auto &[id, e] : eps_) {
        if (e.life_ == ep::life::ALIVE) {
            fail_ep(e, UFX_ERR_UNREACHABLE, cause::PEER_DEAD, refusal::NONE, now, out);
            continue;
        }
        for (const rail_id rail : rail_ids_) { // sealing already: do not wait for the peer
            on_lane(e, e.slot(rail), now, out,
                    [](lane_slot &l, lane_env &env) { l.stop(env, cause::PEER_DEAD); });
        }
    }
}

} // namespace ufx::ucp::core

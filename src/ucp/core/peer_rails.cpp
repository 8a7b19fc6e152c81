// SPDX-License-Identifier: BSD-3-Clause
// What a change of a rail's state means for the lanes on it, for probes, and for drains.
#include "ucp/core/peer.h"
#include "ucp/core/peer_events.h"

#include <algorithm>

namespace ufx::ucp::core {

// May a probe lane be wired? (A DOWN rail has joined the peer's probe before this is asked.)
refusal peer::probe_barrier(const rail_entry &r, time_ns now) const
{
    switch (r.health.state()) {
    case rail_state::PROBING:
    case rail_state::UP:
    case rail_state::SUSPECT:
        return refusal::NONE;
    case rail_state::DOWN:
        return r.health.damped(now, cfg_) ? refusal::DAMPED : refusal::RAIL_NOT_UP;
    case rail_state::DRAINING:
        break;
    }
    return refusal::RAIL_NOT_UP;
}

lane_env peer::probe_env(rail_entry &r, time_ns now, action_list &out)
{
    lane_env env{.now = now, .cfg = cfg_, .book = book_, .out = out};
    env.starter = starter_;
    env.peer_dead = dead_;
    env.dying = dead_;
    env.barrier = probe_barrier(r, now);
    if (env.barrier == refusal::DAMPED) {
        env.damped_ms = r.health.holdoff_left_ms(now);
    }
    return env;
}

// A lane on that rail failed by RETRY_EXC, and the peer's SEAL has not explained it yet.
bool peer::retry_open(rail_id rail) const
{
    return std::any_of(eps_.begin(), eps_.end(), [&](const auto &e) {
        const lane_slot *l = e.second.lane(rail);
        return l != nullptr && !l->is_free() && l->why() == cause::RETRY_EXC && !l->peer_seal();
    });
}

void peer::signs_to_rail(rail_entry &r, const lane_env &found, time_ns now, action_list &out)
{
    if (found.hard_sign == cause::NONE && found.soft_sign == cause::NONE &&
        !found.retry_explained) {
        return;
    }
    on_rail(r, now, out, [&](rail &h, const rail_env &env) {
        if (found.hard_sign != cause::NONE) {
            h.hard(env, found.hard_sign);
        } else if (found.soft_sign != cause::NONE) {
            h.soft(env, sign::RETRY, found.soft_sign);
        } else if (!retry_open(h.id())) {
            h.clear(env, sign::RETRY, cause::PROGRESS);
        }
    });
}

void peer::stop_lanes(rail_entry &r, cause why, time_ns now, action_list &out)
{
    each_lane(r.health.id(), now, out, [&](lane_slot &l, lane_env &env) { l.stop(env, why); });
}

void peer::start_lanes(rail_id rail, time_ns now, action_list &out)
{
    each_lane(rail, now, out, [](lane_slot &l, lane_env &env) { l.start(env); });
}

void peer::nop_lanes(rail_id rail, action_list &out)
{
    for (const auto &[own, e] : eps_) {
        const lane_slot *l = e.lane(rail);
        if (l != nullptr && l->is_live()) {
            out.push_back(act::post_nop{l->ref()});
        }
    }
}

void peer::start_probe(rail_entry &r, time_ns now, action_list &out)
{
    on_probe(r, now, out, [](lane_slot &l, lane_env &env) {
        l.release_probe(env);
        l.start(env);
    });
}

void peer::after_rail(rail_entry &r, rail_state before, time_ns now, action_list &out)
{
    const rail_id id = r.health.id();
    each_lane(id, now, out, [](lane_slot &, lane_env &) {}); // gates
    switch (r.health.state()) {
    case rail_state::UP:
        r.asked_here = false;
        if (before == rail_state::PROBING) {
            out.push_back(act::disarm_timer{{timer_kind::PROBE_OK, id, 0, 0}});
            on_probe(r, now, out, [](lane_slot &l, lane_env &env) { l.release_probe(env); });
        }
        start_lanes(id, now, out);
        break;
    case rail_state::SUSPECT:
        nop_lanes(id, out);
        if (r.health.why() != cause::PEER_HINT && !dead_) {
            out.push_back(act::send{suspect_hint_msg{id}, 0});
        }
        break;
    case rail_state::DRAINING:
        r.idle = false;
        if (r.health.why() == cause::ADMIN) {
            out.push_back(act::await_idle{id});
            out.push_back(
                act::arm_timer{{timer_kind::ADMIN_LIMIT, id, 0, 0}, now + cfg_.admin_limit_ns});
        } else {
            stop_lanes(r, r.health.why(), now, out);
        }
        check_drained(r, now, out);
        break;
    case rail_state::DOWN:
        r.asked_here = false;
        out.push_back(act::disarm_timer{{timer_kind::PROBE_OK, id, 0, 0}});
        on_probe(r, now, out, [](lane_slot &l, lane_env &env) { l.release_probe(env); });
        finish_drain(r, false, now, out);
        check_admin_done(r, out);
        break;
    case rail_state::PROBING:
        start_probe(r, now, out);
        break;
    }
    if (before == rail_state::UP && !any_rail_up()) {
        for (rail_entry &other : rails_) {
            on_rail(other, now, out, [](rail &h, const rail_env &env) { h.shorten_holdoff(env); });
        }
    }
}

// Asked after each event of a lane: with many eps it must not look at all of them each time.
bool peer::has_lanes(rail_entry &r) const
{
    const auto holds = [&](const auto &e) {
        const lane_slot *l = e.second.lane(r.health.id());
        return l != nullptr && !l->is_free();
    };
    const auto from = eps_.lower_bound(r.held_by);
    auto found = std::find_if(from, eps_.end(), holds);
    if (found == eps_.end()) {
        found = std::find_if(eps_.begin(), from, holds);
        if (found == from) {
            return false;
        }
    }
    r.held_by = found->first;
    return true;
}

// A drain is over when no lane on the rail is left unjudged; an administrative one also waits until
// both sides' outstanding ops are finished.
void peer::check_drained(rail_entry &r, time_ns now, action_list &out)
{
    if (r.health.state() != rail_state::DRAINING || has_lanes(r)) {
        return;
    }
    on_rail(r, now, out, [](rail &h, const rail_env &env) { h.drained(env); });
}

void peer::rail_soft(rail_id rail, sign which, cause why, time_ns now, action_list &out)
{
    if (rail_entry *r = rail_of(rail)) {
        on_rail(*r, now, out, [&](core::rail &h, const rail_env &env) { h.soft(env, which, why); });
    }
}

void peer::rail_hard(rail_id rail, cause why, time_ns now, action_list &out)
{
    if (rail_entry *r = rail_of(rail)) {
        on_rail(*r, now, out, [&](core::rail &h, const rail_env &env) { h.hard(env, why); });
    }
}

void peer::rail_progress(rail_id rail, time_ns now, action_list &out)
{
    if (rail_entry *r = rail_of(rail)) {
        on_rail(*r, now, out, [](core::rail &h, const rail_env &env) { h.progress(env); });
    }
}

void peer::rail_port(rail_id rail, bool active, time_ns now, action_list &out)
{
    rail_entry *r = rail_of(rail);
    if (r == nullptr || r->health.port_active() == active) {
        return;
    }
    on_rail(*r, now, out, [&](core::rail &h, const rail_env &env) { h.port(env, active); });
    if (active && r->health.carries_lanes()) {
        if (r->health.state() == rail_state::SUSPECT) {
            nop_lanes(rail, out);
        }
        out.push_back(act::arm_timer{{timer_kind::RAIL_SETTLE, rail, 0, 0}, now + cfg_.settle_ns});
    }
}

void peer::send_probe_ok(rail_entry &r, time_ns now, action_list &out)
{
    if (r.health.state() != rail_state::PROBING || !r.health.probe_own_ok()) {
        return;
    }
    const rail_id id = r.health.id();
    out.push_back(act::send{probe_ok_msg{id, r.probe.epoch(), false}, r.probe_ok.attempts()});
    if (!mutated(mutant::PROBE_OK_ONCE)) {
        out.push_back(act::arm_timer{{timer_kind::PROBE_OK, id, 0, 0}, now + r.probe_ok.next()});
    }
}

void peer::probe_done(rail_id rail, epoch_t epoch, bool ok, time_ns now, action_list &out)
{
    rail_entry *r = rail_of(rail);
    if (r == nullptr || r->probe.epoch() != epoch || r->health.state() != rail_state::PROBING) {
        return;
    }
    if (!ok) {
        on_rail(*r, now, out, [](core::rail &h, const rail_env &env) {
            h.probe_failed(env, cause::PROBE_FAILED);
        });
        return;
    }
    // The peer must hear of it even if its own PROBE_OK, already here, makes this rail UP now.
    out.push_back(act::send{probe_ok_msg{rail, epoch, false}, 0});
    r->probe_ok.reset();
    if (!mutated(mutant::PROBE_OK_ONCE)) {
        out.push_back(act::arm_timer{{timer_kind::PROBE_OK, rail, 0, 0}, now + r->probe_ok.next()});
    }
    on_rail(*r, now, out, [](core::rail &h, const rail_env &env) { h.probe_own_done(env); });
}

void peer::rail_timer(rail_entry &r, timer_kind kind, time_ns now, action_list &out)
{
    const rail_id id = r.health.id();
    switch (kind) {
    case timer_kind::RAIL_GRACE:
        on_rail(r, now, out, [](rail &h, const rail_env &env) { h.grace_over(env); });
        break;
    case timer_kind::RAIL_HOLDOFF:
        on_rail(r, now, out, [](rail &h, const rail_env &env) { h.holdoff_over(env); });
        break;
    case timer_kind::RAIL_PROBE:
        on_rail(r, now, out,
                [](rail &h, const rail_env &env) { h.probe_failed(env, cause::PROBE_FAILED); });
        break;
    case timer_kind::RAIL_SETTLE:
        for (const auto &[own, e] : eps_) {
            const lane_slot *l = e.lane(id);
            if (l != nullptr && l->is_live()) {
                out.push_back(act::check_stuck{l->ref()});
            }
        }
        break;
    case timer_kind::PROBE_OK:
        send_probe_ok(r, now, out);
        break;
    case timer_kind::ADMIN:
        send_admin(r, r.admin_what, now, out);
        break;
    case timer_kind::ADMIN_LIMIT:
        finish_drain(r, true, now, out);
        break;
    default:
        break;
    }
}

void peer::send_admin(rail_entry &r, admin_action what, time_ns now, action_list &out)
{
    if (r.admin_serial != 0) {
        const rail_id id = r.health.id();
        out.push_back(act::send{admin_msg{r.admin_serial, id, what}, r.admin.attempts()});
        out.push_back(act::arm_timer{{timer_kind::ADMIN, id, 0, 0}, now + r.admin.next()});
    }
}

void peer::admin(rail_id rail, admin_action what, time_ns now, action_list &out)
{
    rail_entry *r = rail_of(rail);
    if (r == nullptr || dead_) {
        return;
    }
    r->admin_serial = ++serial_;
    r->admin_what = what;
    r->admin_open = true;
    r->asked_here = r->asked_here || what == admin_action::DRAIN; // a resume does not end a drain
    r->admin.reset();
    send_admin(*r, what, now, out);
    on_rail(*r, now, out, [&](core::rail &h, const rail_env &env) {
        what == admin_action::DRAIN ? h.admin_drain(env) : h.resume(env);
    });
}

void peer::rail_idle(rail_id rail, time_ns now, action_list &out)
{
    rail_entry *r = rail_of(rail);
    if (r != nullptr && r->health.state() == rail_state::DRAINING) {
        r->idle = true;
        finish_drain(*r, false, now, out);
    }
}

// The own ops are finished: tell a peer that waits for it. The side that asked for the drain seals
// once both are; `at_limit`, whether they are or not.
void peer::finish_drain(rail_entry &r, bool at_limit, time_ns now, action_list &out)
{
    const bool done_here = r.idle || r.health.state() != rail_state::DRAINING;
    if (r.peer_waits && done_here) {
        r.peer_waits = false;
        out.push_back(act::send{admin_ack_msg{r.peer_serial, r.health.id()}, 0});
    }
    const bool both = r.idle && r.asked_here && r.admin_serial == 0;
    if ((both || at_limit) && r.health.why() == cause::ADMIN) {
        stop_lanes(r, cause::ADMIN, now, out);
        check_drained(r, now, out);
    }
}

void peer::check_admin_done(rail_entry &r, action_list &out)
{
    const bool settled =
        r.admin_what == admin_action::RESUME || r.health.state() == rail_state::DOWN;
    if (r.admin_open && r.admin_serial == 0 && settled) {
        r.admin_open = false;
        out.push_back(act::admin_done{r.health.id(), r.admin_what});
    }
}

} // namespace ufx::ucp::core

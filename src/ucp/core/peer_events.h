// SPDX-License-Identifier: BSD-3-Clause
// How peer runs one event of a rail or lane and then acts on what it changed (private to
// peer*.cpp).
#ifndef UFX_UCP_CORE_PEER_EVENTS_H
#define UFX_UCP_CORE_PEER_EVENTS_H

#include "ucp/core/mutant.h"
#include "ucp/core/peer.h"

namespace ufx::ucp::core {

template <class F>
void peer::on_rail(rail_entry &r, time_ns now, action_list &out, F event)
{
    const rail_state before = r.health.state();
    const std::uint64_t changes = r.health.history().total();
    const rail_env env = env_of(r, now, out);
    event(r.health, env);
    if (r.health.history().total() != changes) {
        after_rail(r, before, now, out);
    }
}

template <class F>
void peer::on_lane(ep &e, lane_slot &lane, time_ns now, action_list &out, F event)
{
    lane_env env = env_of(e, lane, now, out);
    const epoch_t before = lane.epoch();
    const bool was_live = lane.is_live();
    event(lane, env);
    if (env.rebuild && env.hard_sign == cause::NONE) {
        lane.start(env);
    }
    if (lane.epoch() != before) {
        e.rx_.lane_started(lane.rail(), lane.epoch());
    }
    update_gate(e, lane, out);
    rail_entry *r = rail_of(lane.rail());
    if (r != nullptr) {
        signs_to_rail(*r, env, now, out);
        if (!was_live && lane.is_live()) {
            on_rail(*r, now, out, [](rail &h, const rail_env &re) { h.progress(re); });
        }
        check_drained(*r, now, out);
    }
    if (env.final_refusal != refusal::NONE) {
        fail_ep(e, UFX_ERR_UNREACHABLE, cause::REFUSED, env.final_refusal, now, out);
    }
    // Without failover the first lane that fails ends the ep; its SEAL ends it at the peer too.
    if (was_live && !lane.is_live() && e.mode_ != error_mode::FAILOVER &&
        lane.why() != cause::ADMIN) {
        fail_ep(e, UFX_ERR_UNREACHABLE, lane.why(), refusal::NONE, now, out);
    }
    check_life(e, out);
}

template <class F>
void peer::on_probe(rail_entry &r, time_ns now, action_list &out, F event)
{
    lane_env env = probe_env(r, now, out);
    const epoch_t before = r.probe.epoch();
    const bool was_live = r.probe.is_live();
    event(r.probe, env);
    if (env.rebuild && r.health.state() == rail_state::PROBING) {
        r.probe.start(env);
    }
    if (r.probe.epoch() != before) {
        r.health.probe_started();
    }
    if (!was_live && r.probe.is_live() && r.health.state() == rail_state::PROBING) {
        out.push_back(act::run_probe{r.health.id(), r.probe.epoch()});
    }
    if (env.damped_for_ms != 0) {
        on_rail(r, now, out,
                [&](rail &h, const rail_env &re) { h.peer_damped(re, env.damped_for_ms); });
    }
    if (env.hard_sign != cause::NONE && !r.health.probe_own_ok()) {
        on_rail(r, now, out,
                [&](rail &h, const rail_env &re) { h.probe_failed(re, env.hard_sign); });
    }
}

template <class F>
void peer::on_ref(const lane_ref &ref, time_ns now, action_list &out, F event)
{
    if (ref.ep == 0) {
        if (rail_entry *r = rail_of(ref.rail)) {
            on_probe(*r, now, out, event);
        }
        return;
    }
    ep *e = find_ep(ref.ep);
    if (e != nullptr && e->lane(ref.rail) != nullptr) {
        on_lane(*e, e->slot(ref.rail), now, out, event);
    }
}

template <class F>
void peer::each_lane(rail_id rail, time_ns now, action_list &out, F event)
{
    for (auto &[own, e] : eps_) {
        if (e.lane(rail) != nullptr) {
            on_lane(e, e.slot(rail), now, out, event);
        }
    }
}

} // namespace ufx::ucp::core

#endif

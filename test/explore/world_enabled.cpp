// SPDX-License-Identifier: BSD-3-Clause
// Which steps may come next.
#include "subject.h"
#include "world.h"

#include "ucp/core/mutant.h"

#include <algorithm>

namespace ufx::explore {

namespace {

bool still_receives(end_state s)
{
    return s == end_state::OPEN || s == end_state::WEDGED;
}

bool dead_end(end_state s)
{
    return s == end_state::ERROR || s == end_state::QUIET || s == end_state::WEDGED ||
           s == end_state::GONE;
}

event about(step kind, unsigned side, const link &l)
{
    return {kind, static_cast<std::uint8_t>(side), l.rail, l.epoch, l.probe ? 1U : 0U};
}

} // namespace

bool world::allowed(step kind) const
{
    return !settling_ && faults_left_ > 0 &&
           std::find(plan_->faults.begin(), plan_->faults.end(), kind) != plan_->faults.end();
}

bool world::retry_possible(const link &l, unsigned side) const
{
    const bool waits = !l.from[side].posted.empty() || l.nop[side];
    const bool silent = cut_[l.rail][0] || cut_[l.rail][1] ||
                        (plan_->wire == wire_kind::RC && dead_end(l.ends[1 - side]));
    return !l.probe && l.ends[side] == end_state::OPEN && waits && silent;
}

void world::add_link_steps(std::vector<event> &out, const link &l, unsigned side) const
{
    const pipe &in = l.from[1 - side];
    const pipe &mine = l.from[side];
    const end_state end = l.ends[side];
    if ((end == end_state::CREATING || l.connecting[side]) && plan_->slow_create && !l.probe) {
        out.push_back(about(step::CREATED, side, l));
    }
    if (still_receives(end) && !in.wire.empty() && !cut_towards(l.rail, side)) {
        out.push_back(about(step::ARRIVE, side, l));
    }
    if (!in.receive_cq.empty() && end != end_state::GONE) {
        out.push_back(about(step::POLL, side, l));
    }
    const bool late = core::mutated(core::mutant::GENERATION_IGNORED) && !mine.posted.empty();
    if (!mine.posted.empty() && (end == end_state::OPEN || late) && !cut_towards(l.rail, side)) {
        const record &r = mine.posted.front();
        if (r.start + r.packets <= mine.applied) {
            out.push_back(about(step::ACK, side, l));
        }
    }
    if (l.nop[side] && end == end_state::OPEN && l.ends[1 - side] == end_state::OPEN &&
        !cut_[l.rail][0] && !cut_[l.rail][1]) {
        out.push_back(about(step::NOP, side, l));
    }
    if (l.quiescing[side]) {
        out.push_back(about(step::QUIET, side, l));
    }
    if (retry_possible(l, side)) {
        out.push_back(about(step::RETRY_EXC, side, l));
    }
    if (plan_->wire == wire_kind::TCP && !l.probe && end == end_state::OPEN &&
        dead_end(l.ends[1 - side]) && !cut_towards(l.rail, side)) {
        out.push_back(about(step::RESET, side, l));
    }
}

void world::add_user_steps(std::vector<event> &out, unsigned side) const
{
    const auto s = static_cast<std::uint8_t>(side);
    if (ep_of(side) == nullptr) {
        return;
    }
    const core::ep &e = *ep_of(side);
    for (std::uint8_t rail = 0; rail < plan_->rails; ++rail) {
        const core::lane_slot *lane = e.lane(rail);
        if (!sides_[side].peer.may_post(1, rail)) {
            continue;
        }
        if (e.next_am(rail) != nullptr) {
            out.push_back({step::POST, s, rail, lane->epoch(), any_am});
        }
        for (std::uint8_t op = 0; op < ops_.size(); ++op) {
            const op_plan &plan = plan_->ops[op];
            const bool frozen = std::any_of(e.frozen().begin(), e.frozen().end(),
                                            [&](const auto &f) { return f.handle == op; });
            if (plan.side == side && plan.kind != plan_kind::AM && (ops_[op].unposted || frozen)) {
                out.push_back({step::POST, s, rail, lane->epoch(), op});
            }
        }
    }
}

void world::add_enabled(std::vector<event> &out, unsigned side) const
{
    const side_state &me = sides_[side];
    const auto s = static_cast<std::uint8_t>(side);
    for (const link &l : links_) {
        add_link_steps(out, l, side);
    }
    add_user_steps(out, side);
    for (std::uint8_t rail = 0; rail < plan_->rails; ++rail) {
        const core::rail &health = *me.peer.find_rail(rail);
        const bool cut = cut_[rail][0] && cut_[rail][1];
        if (me.probe_wanted[rail] != 0) {
            out.push_back({step::PROBE, s, rail, 0, 0});
        }
        const bool busy = std::any_of(links_.begin(), links_.end(), [&](const link &l) {
            return l.rail == rail && !l.from[side].posted.empty() &&
                   l.ends[side] != end_state::GONE;
        });
        if (me.idle_wanted[rail] && !busy) {
            out.push_back({step::IDLE, s, rail, 0, 0});
        }
        if (cut && health.port_active()) {
            out.push_back({step::PORT_DOWN, s, rail, 0, 0});
        }
        if (!cut && !health.port_active()) {
            out.push_back({step::PORT_UP, s, rail, 0, 0});
        }
        if (me.drained[rail] && settling_) {
            out.push_back({step::RESUME, s, rail, 0, 0});
        }
    }
    if (me.peer.is_dead() && !me.killed && ep_of(side) != nullptr && !sides_[1 - side].killed &&
        ep_of(side)->state() == core::ep::life::DEAD) {
        out.push_back({step::FORGET, s, 0, 0, 0});
    }
    if (sides_[1 - side].killed && !me.peer.is_dead()) {
        out.push_back({step::PEER_DEAD, s, 0, 0, 0});
    }
    for (const auto &t : me.timers) {
        out.push_back({step::TIMER, s, static_cast<std::uint8_t>(t.first.rail),
                       static_cast<std::uint32_t>(t.first.id),
                       static_cast<std::uint32_t>(t.first.kind)});
    }
}

void world::add_faults(std::vector<event> &out) const
{
    for (std::uint8_t side = 0; side < 2; ++side) {
        if (sides_[side].killed) {
            continue;
        }
        for (const link &l : links_) {
            const bool made =
                l.ends[side] != end_state::CREATING && l.ends[side] != end_state::CLOSED;
            if (!made && !l.probe && allowed(step::BROKEN)) {
                out.push_back(about(step::BROKEN, side, l));
            }
            const bool open = l.ends[side] == end_state::OPEN && !l.probe;
            if (open && allowed(step::QP_ERROR)) {
                out.push_back(about(step::QP_ERROR, side, l));
            }
            if (open && allowed(step::WEDGE) && !l.wedged[side]) {
                out.push_back(about(step::WEDGE, side, l));
            }
            if (open && allowed(step::RNR_EXC) && !l.from[side].posted.empty()) {
                out.push_back(about(step::RNR_EXC, side, l));
            }
        }
        for (std::uint8_t rail = 0; rail < plan_->rails; ++rail) {
            for (const step kind : {step::FATAL, step::STALL, step::DRAIN}) {
                if (allowed(kind)) {
                    out.push_back({kind, side, rail, 0, 0});
                }
            }
            if (sides_[side].drained[rail] && allowed(step::RESUME)) {
                out.push_back({step::RESUME, side, rail, 0, 0});
            }
        }
        if (allowed(step::CLOSE) && all_done() && !sides_[side].closing) {
            out.push_back({step::CLOSE, side, 0, 0, 0});
        }
    }
    for (std::uint8_t op = 0; op < ops_.size(); ++op) {
        for (const step kind : {step::CANCEL, step::DEADLINE}) {
            if (allowed(kind) && !ops_[op].state.is_claimed()) {
                out.push_back({kind, plan_->ops[op].side, 0, 0, op});
            }
        }
    }
    if (allowed(step::DISOWN) && lives(1) && !sides_[1].peer.is_dead()) {
        out.push_back({step::DISOWN, 1, 0, 0, 0});
    }
    if (allowed(step::DIE) && !sides_[1].killed) {
        out.push_back({step::DIE, 1, 0, 0, 0});
    }
    for (std::uint8_t rail = 0; rail < plan_->rails && allowed(step::CUT); ++rail) {
        for (std::uint32_t how = 0; how < 3; ++how) {
            if (!cut_[rail][0] && !cut_[rail][1]) {
                out.push_back({step::CUT, 0, rail, 0, how});
            }
        }
    }
}

std::vector<event> world::enabled() const
{
    std::vector<event> out;
    const auto add_message = [&](step kind, const message &m) {
        const subject about = subject_of(m.msg);
        const event e{kind, m.to, static_cast<std::uint8_t>(about.rail), about.epoch,
                      static_cast<std::uint32_t>(m.msg.index())};
        if (std::find(out.begin(), out.end(), e) == out.end()) {
            out.push_back(e);
        }
    };
    for (const message &m : net_) {
        const bool in_order = core::mutated(core::mutant::CONTROL_IN_AM_ORDER);
        if (in_order && ep_of(m.to) != nullptr && ep_of(m.to)->rx().window().next() < m.stamp) {
            continue;
        }
        add_message(step::DELIVER, m);
        if (!settling_ && messages_left_ > 0) {
            add_message(step::LOSE, m);
            add_message(step::DOUBLE, m);
        }
    }
    for (unsigned side = 0; side < 2; ++side) {
        if (!sides_[side].killed) {
            add_enabled(out, side);
        }
    }
    for (std::uint8_t rail = 0; rail < plan_->rails; ++rail) {
        if (cut_[rail][0] || cut_[rail][1]) {
            out.push_back({step::HEAL, 0, rail, 0, 0});
        }
    }
    add_faults(out);
    return out;
}

} // namespace ufx::explore

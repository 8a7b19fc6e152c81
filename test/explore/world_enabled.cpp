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

event about(step kind, unsigned side, const link &l, std::uint32_t a = 0)
{
    return {kind,
            static_cast<std::uint8_t>(side),
            static_cast<std::uint8_t>(l.ref.rail),
            l.ref.epoch,
            a,
            static_cast<std::uint8_t>(l.ref.ep)};
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
    const bool silent =
        is_cut(l.ref.rail) || (plan_->wire == wire_kind::RC && dead_end(l.ends[1 - side]));
    return !l.is_probe() && l.ends[side] == end_state::OPEN && waits && silent;
}

void world::add_link_steps(std::vector<event> &out, const link &l, unsigned side) const
{
    const pipe &in = l.from[1 - side];
    const pipe &mine = l.from[side];
    const end_state end = l.ends[side];
    if ((end == end_state::CREATING || l.connecting[side]) && plan_->slow_create && !l.is_probe()) {
        out.push_back(about(step::CREATED, side, l));
    }
    if (still_receives(end) && !in.wire.empty() && !cut_towards(l.ref.rail, side)) {
        out.push_back(about(step::ARRIVE, side, l));
    }
    if (!in.receive_cq.empty() && end != end_state::GONE) {
        out.push_back(about(step::POLL, side, l));
    }
    const bool late = core::mutated(core::mutant::GENERATION_IGNORED) && !mine.posted.empty();
    if (!mine.posted.empty() && (end == end_state::OPEN || late) &&
        !cut_towards(l.ref.rail, side)) {
        const record &r = mine.posted.front();
        if (r.start + r.packets <= mine.applied) {
            out.push_back(about(step::ACK, side, l));
        }
    }
    if (l.nop[side] && end == end_state::OPEN && l.ends[1 - side] == end_state::OPEN &&
        !is_cut(l.ref.rail)) {
        out.push_back(about(step::NOP, side, l));
    }
    if (l.quiescing[side]) {
        out.push_back(about(step::QUIET, side, l));
    }
    if (retry_possible(l, side)) {
        out.push_back(about(step::RETRY_EXC, side, l));
    }
    if (plan_->wire == wire_kind::TCP && !l.is_probe() && end == end_state::OPEN &&
        dead_end(l.ends[1 - side]) && !cut_towards(l.ref.rail, side)) {
        out.push_back(about(step::RESET, side, l));
    }
}

void world::add_posts(std::vector<event> &out, unsigned side, const core::ep &e) const
{
    const auto id = static_cast<std::uint8_t>(e.id());
    for (std::uint8_t rail = 0; rail < plan_->rails; ++rail) {
        if (!sides_[side].peer.may_post(e.id(), rail)) {
            continue;
        }
        const event post{
            step::POST, static_cast<std::uint8_t>(side), rail, e.lane(rail)->epoch(), any_am, id};
        if (e.next_am(rail) != nullptr) {
            out.push_back(post);
        }
        for (std::uint8_t op = 0; op < ops_.size(); ++op) {
            const op_plan &plan = plan_->ops[op];
            const bool frozen = std::any_of(e.frozen().begin(), e.frozen().end(),
                                            [&](const auto &f) { return f.handle == op; });
            if (plan.side == side && plan.ep == e.id() && plan.kind != plan_kind::AM &&
                (ops_[op].unposted || frozen)) {
                out.push_back(post);
                out.back().a = op;
            }
        }
    }
}

void world::add_rail_steps(std::vector<event> &out, std::uint8_t rail, unsigned side) const
{
    const side_state &me = sides_[side];
    const auto add = [&](step kind) {
        out.push_back({kind, static_cast<std::uint8_t>(side), rail, 0, 0, 0});
    };
    if (me.probe_wanted[rail] != 0) {
        add(step::PROBE);
    }
    const bool busy = std::any_of(links_.begin(), links_.end(), [&](const link &l) {
        return l.ref.rail == rail && !l.from[side].posted.empty() &&
               l.ends[side] != end_state::GONE;
    });
    if (me.idle_wanted[rail] && !busy) {
        add(step::IDLE);
    }
    const bool cut = cut_[rail][0] && cut_[rail][1];
    const bool active = me.peer.find_rail(rail)->port_active();
    if (cut && active) {
        add(step::PORT_DOWN);
    }
    if (!cut && !active) {
        add(step::PORT_UP);
    }
    if (me.drained[rail] && settling_) {
        add(step::RESUME);
    }
}

void world::add_enabled(std::vector<event> &out, unsigned side) const
{
    const side_state &me = sides_[side];
    const auto s = static_cast<std::uint8_t>(side);
    for (const link &l : links_) {
        add_link_steps(out, l, side);
    }
    for (const auto &[own, e] : me.peer.eps()) {
        add_posts(out, side, e);
    }
    for (std::uint8_t rail = 0; rail < plan_->rails; ++rail) {
        add_rail_steps(out, rail, side);
    }
    const bool over =
        std::all_of(me.peer.eps().begin(), me.peer.eps().end(),
                    [](const auto &e) { return e.second.state() == core::ep::life::DEAD; });
    if (me.peer.is_dead() && lives(side) && !sides_[1 - side].killed && over) {
        out.push_back({step::FORGET, s, 0, 0, 0, 0});
    }
    if (sides_[1 - side].killed && !me.peer.is_dead()) {
        out.push_back({step::PEER_DEAD, s, 0, 0, 0, 0});
    }
    for (const auto &[timer, at] : me.timers) {
        out.push_back({step::TIMER, s, static_cast<std::uint8_t>(timer.rail),
                       static_cast<std::uint32_t>(timer.id), static_cast<std::uint32_t>(timer.kind),
                       static_cast<std::uint8_t>(timer.ep)});
    }
}

void world::add_link_faults(std::vector<event> &out, const link &l, std::uint8_t side) const
{
    if (l.is_probe()) {
        return;
    }
    const bool made = l.ends[side] != end_state::CREATING && l.ends[side] != end_state::CLOSED;
    if (!made && allowed(step::BROKEN)) {
        out.push_back(about(step::BROKEN, side, l));
        if (l.ends[side] == end_state::CREATING || l.connecting[side]) {
            out.push_back(about(step::BROKEN, side, l));
            out.back().a = 1;
        }
    }
    const bool open = l.ends[side] == end_state::OPEN;
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

void world::add_side_faults(std::vector<event> &out, std::uint8_t side) const
{
    for (const link &l : links_) {
        add_link_faults(out, l, side);
    }
    for (std::uint8_t rail = 0; rail < plan_->rails; ++rail) {
        for (const step kind : {step::FATAL, step::STALL, step::DRAIN}) {
            if (allowed(kind)) {
                out.push_back({kind, side, rail, 0, 0, 0});
            }
        }
        if (sides_[side].drained[rail] && allowed(step::RESUME)) {
            out.push_back({step::RESUME, side, rail, 0, 0, 0});
        }
    }
    for (std::uint8_t id = 1; id <= plan_->eps; ++id) {
        if (allowed(step::CLOSE) && all_done() && !kept(side, id).closing) {
            out.push_back({step::CLOSE, side, 0, 0, 0, id});
        }
        if (allowed(step::FLUSH) && !kept(side, id).flush) {
            out.push_back({step::FLUSH, side, 0, 0, 0, id});
        }
    }
}

void world::add_faults(std::vector<event> &out) const
{
    for (std::uint8_t side = 0; side < 2; ++side) {
        if (!sides_[side].killed) {
            add_side_faults(out, side);
        }
    }
    for (std::uint8_t op = 0; op < ops_.size(); ++op) {
        for (const step kind : {step::CANCEL, step::DEADLINE}) {
            if (allowed(kind) && !ops_[op].state.is_claimed()) {
                out.push_back({kind, plan_->ops[op].side, 0, 0, op, plan_->ops[op].ep});
            }
        }
    }
    if (allowed(step::DISOWN) && lives(1) && !sides_[1].peer.is_dead()) {
        out.push_back({step::DISOWN, 1, 0, 0, 0, 0});
    }
    if (allowed(step::DIE) && !sides_[1].killed) {
        out.push_back({step::DIE, 1, 0, 0, 0, 0});
    }
    for (std::uint8_t rail = 0; rail < plan_->rails && allowed(step::CUT); ++rail) {
        for (std::uint32_t how = 0; how < 3 && !is_cut(rail); ++how) {
            out.push_back({step::CUT, 0, rail, 0, how, 0});
        }
    }
}

std::vector<event> world::enabled() const
{
    std::vector<event> out;
    const auto add_message = [&](step kind, const message &m) {
        const subject about = subject_of(m.msg);
        const event e{kind,
                      m.to,
                      static_cast<std::uint8_t>(about.rail),
                      about.epoch,
                      static_cast<std::uint32_t>(m.msg.index()),
                      static_cast<std::uint8_t>(about.ep)};
        if (std::find(out.begin(), out.end(), e) == out.end()) {
            out.push_back(e);
        }
    };
    for (const message &m : net_) {
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
        if (is_cut(rail)) {
            out.push_back({step::HEAL, 0, rail, 0, 0, 0});
        }
    }
    add_faults(out);
    return out;
}

} // namespace ufx::explore

// SPDX-License-Identifier: BSD-3-Clause
// The executor of the explored world: what ucp does with the core's actions, over model lanes.
#include "world.h"

#include "ucp/core/control_codec.h"
#include "ucp/core/mutant.h"

#include <algorithm>

namespace ufx::explore {

using core::mutant;
using core::mutated;

void world::run(unsigned side)
{
    while (!actions_.empty() || !answers_.empty()) {
        core::action_list batch;
        batch.swap(actions_);
        for (const core::action &a : batch) {
            std::visit([&](const auto &x) { act_on(side, x); }, a);
        }
        std::vector<std::function<void()>> answers;
        answers.swap(answers_);
        for (const auto &a : answers) {
            a();
        }
    }
}

link *world::find_link(const core::lane_ref &ref)
{
    for (link &l : links_) {
        if (l.ref == ref) {
            return &l;
        }
    }
    return nullptr;
}

void world::act_on(unsigned side, const core::act::send &a)
{
    const unsigned to = 1 - side;
    if (sides_[to].killed) {
        return;
    }
    std::array<std::byte, core::max_control_bytes> bytes;
    const auto size = core::encode({}, a.msg, bytes);
    if (!size) {
        fail("a message does not fit");
        return;
    }
    const auto *text = reinterpret_cast<const char *>(bytes.data());
    message m{static_cast<std::uint8_t>(to), a.msg, std::string(text, *size)};
    const auto at = std::lower_bound(net_.begin(), net_.end(), m, [](const auto &x, const auto &y) {
        return x.to != y.to ? x.to < y.to : x.key < y.key;
    });
    if (at == net_.end() || at->to != m.to || at->key != m.key) {
        net_.insert(at, std::move(m));
    }
}

void world::act_on(unsigned side, const core::act::arm_timer &a)
{
    auto &timers = sides_[side].timers;
    std::erase_if(timers, [&](const auto &t) { return t.first == a.timer; });
    timers.emplace_back(a.timer, a.at);
    std::sort(timers.begin(), timers.end());
}

void world::act_on(unsigned side, const core::act::disarm_timer &a)
{
    std::erase_if(sides_[side].timers, [&](const auto &t) { return t.first == a.timer; });
}

void world::act_on(unsigned side, const core::act::create_lane &a)
{
    if (find_link(a.lane) == nullptr) {
        links_.emplace_back().ref = a.lane;
    }
    link &l = *find_link(a.lane);
    l.ends[side] = end_state::CREATING;
    if (!plan_->slow_create || l.is_probe()) {
        answer([this, side, ref = a.lane] {
            if (link *made = find_link(ref)) {
                created(side, *made);
            }
        });
    }
}

// The starter's QP is not ready to receive before it has connected; the answerer's is.
void world::created(unsigned side, link &l)
{
    if (l.ends[side] != end_state::CREATING) {
        return;
    }
    l.ends[side] = side == 0 ? end_state::CLOSED : end_state::OPEN;
    sides_[side].peer.lane_created(l.ref, {}, {}, now_, actions_);
}

void world::act_on(unsigned side, const core::act::connect_lane &a)
{
    if (link *l = find_link(a.lane)) {
        l->connecting[side] = true;
    }
    if (!plan_->slow_create || a.lane.ep == 0) {
        answer([this, side, ref = a.lane] {
            if (link *l = find_link(ref)) {
                connected(side, *l);
            }
        });
    }
}

void world::connected(unsigned side, link &l)
{
    l.connecting[side] = false;
    if (l.ends[side] == end_state::CLOSED) {
        l.ends[side] = end_state::OPEN;
        sides_[side].peer.lane_connected(l.ref, now_, actions_);
    }
}

void world::act_on(unsigned side, const core::act::quiesce_lane &a)
{
    if (link *l = find_link(a.lane)) {
        l->quiescing[side] = true;
    }
}

void world::act_on(unsigned side, const core::act::drain_receives &a)
{
    answer([this, side, ref = a.lane] {
        if (link *l = find_link(ref)) {
            std::vector<packet> arrived;
            arrived.swap(l->from[1 - side].receive_cq);
            for (const packet &p : arrived) {
                enter(side, *l, p);
            }
        }
        sides_[side].peer.receives_drained(ref, now_, actions_);
    });
}

void world::act_on(unsigned side, const core::act::read_token &a)
{
    answer([this, side, ref = a.lane] {
        core::landed_position at;
        at.nothing = false;
        const link *l = find_link(ref);
        if (l != nullptr && l->wedged[side]) {
            at.grade = core::grade::OPEN;
        } else if (l == nullptr || l->blind[side]) {
            at.grade = core::grade::BLIND;
        } else {
            const pipe &in = l->from[1 - side];
            const bool early =
                mutated(mutant::TCP_COUNT_ON_RECEIPT) && plan_->wire == wire_kind::TCP;
            const std::size_t count = in.applied + (early ? in.wire.size() : 0);
            const std::uint8_t byte = static_cast<std::uint8_t>(count);
            at.rx.assign({&byte, 1});
        }
        sides_[side].peer.token_read(ref, at, now_, actions_);
    });
}

core::verdict world::verdict_of(const record &r, const core::landed_position &landed) const
{
    using core::verdict;
    if (landed.grade != core::grade::EXACT) {
        return verdict::UNKNOWN;
    }
    const unsigned upto = landed.nothing || landed.rx.size == 0 ? 0 : landed.rx.bytes[0];
    if (upto >= static_cast<unsigned>(r.start + r.packets)) {
        return r.kind == plan_kind::GET ? verdict::RESULT_LOST : verdict::LANDED;
    }
    return upto > r.start ? verdict::PARTIAL : verdict::NOT_LANDED;
}

core::purged_op world::purged_op_of(unsigned side, const record &r,
                                    const core::landed_position &landed) const
{
    const op_plan &plan = plan_->ops[r.op];
    core::purged_op op;
    op.verdict = verdict_of(r, landed);
    op.bytes = op.verdict == core::verdict::PARTIAL ? landed.rx.bytes[0] - r.start : 0;
    op.number = r.number;
    op.claimed = ops_[r.op].state.is_claimed();
    op.status = ops_[r.op].state.status();
    op.fragment.handle = op.fragment.op = r.op;
    op.fragment.from = r.from;
    op.fragment.replays = r.replays;
    op.fragment.polled = plan.polled;
    switch (r.kind) {
    case plan_kind::PUT:
        op.fragment.kind = core::op_kind::PUT;
        op.fragment.group = plan.group != 0 ? kept(side, plan.ep).group : 0;
        break;
    case plan_kind::GET:
        op.fragment.kind = core::op_kind::GET;
        break;
    case plan_kind::AM:
        op.fragment.kind = r.skip ? core::op_kind::SKIP : core::op_kind::AM;
        break;
    }
    return op;
}

void world::act_on(unsigned side, const core::act::purge_lane &a)
{
    answer([this, side, ref = a.lane, landed = a.landed] {
        std::vector<core::purged_op> ops;
        link *l = find_link(ref);
        for (const record &r : l != nullptr ? l->from[side].posted : std::vector<record>()) {
            op_watch &watch = ops_[r.op];
            watch.blind = watch.blind || landed.grade != core::grade::EXACT;
            watch.open = watch.open || landed.grade == core::grade::OPEN;
            ops.push_back(purged_op_of(side, r, landed));
        }
        if (l != nullptr && !mutated(mutant::GENERATION_IGNORED)) {
            l->from[side].posted.clear();
        }
        sides_[side].peer.purged(ref, ops, now_, actions_);
    });
}

void world::act_on(unsigned side, const core::act::release_lane &a)
{
    link *l = find_link(a.lane);
    if (l != nullptr) {
        l->released[side] = true;
    }
    if (l != nullptr && l->ends[side] != end_state::WEDGED) {
        l->ends[side] = end_state::GONE;
        l->connecting[side] = l->quiescing[side] = false;
        l->nop[side] = false;
        l->from[1 - side].receive_cq.clear();
    }
}

void world::act_on(unsigned side, const core::act::rail_changed &a)
{
    side_state &s = sides_[side];
    const auto rail = static_cast<std::uint8_t>(a.rail);
    if (a.to == core::rail_state::DRAINING && !s.blamed[rail]) {
        fail("a rail drains though nothing was wrong with it: " + std::string(name_of(a.why)));
    }
    if (a.to == core::rail_state::UP && !cut_[rail][0] && !cut_[rail][1] &&
        sides_[1 - side].peer.find_rail(rail)->state() == core::rail_state::UP) {
        s.blamed[rail] = false;
        sides_[1 - side].blamed[rail] = false;
    }
}

void world::act_on(unsigned side, const core::act::fragment_done &a)
{
    check_done(side, static_cast<unsigned>(a.handle), a);
}

void world::act_on(unsigned side, const core::act::ep_error &a)
{
    kept(side, a.ep).error = true;
    for (const link &l : links_) {
        if (l.ref.ep == a.ep &&
            (l.ends[side] == end_state::OPEN || l.ends[side] == end_state::ERROR)) {
            fail("the ep's error came before its lanes were quiet");
        }
    }
    for (std::uint8_t op = 0; op < ops_.size(); ++op) {
        const op_plan &plan = plan_->ops[op];
        if (plan.side == side && plan.ep == a.ep && plan.kind != plan_kind::AM &&
            ops_[op].unposted) {
            ops_[op].unposted = false;
            core::act::fragment_done done;
            done.handle = op;
            done.status = UFX_ERR_UNREACHABLE;
            check_done(side, op, done);
        }
    }
}

void world::act_on(unsigned side, const core::act::ep_closed &a)
{
    kept(side, a.ep).closed = true;
}

void world::act_on(unsigned side, const core::act::post_nop &a)
{
    link *l = find_link(a.lane);
    if (l != nullptr && l->ends[side] == end_state::OPEN) {
        l->nop[side] = true;
    }
}

void world::act_on(unsigned side, const core::act::check_stuck &a)
{
    const link *l = find_link(a.lane);
    if (l != nullptr && !l->from[side].posted.empty()) {
        answer([this, side, ref = a.lane] {
            sides_[side].peer.lane_failed(ref, core::cause::STUCK_AFTER_FLAP, now_, actions_);
        });
    }
}

void world::act_on(unsigned side, const core::act::await_idle &a)
{
    sides_[side].idle_wanted[a.rail] = true;
}

void world::act_on(unsigned side, const core::act::refresh_address &a)
{
    sides_[side].dead_device[a.rail] = false;
}

void world::act_on(unsigned side, const core::act::run_probe &a)
{
    sides_[side].probe_wanted[a.rail] = static_cast<std::uint8_t>(a.epoch);
}

} // namespace ufx::explore

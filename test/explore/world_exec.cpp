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

link *world::find_link(std::uint8_t rail, core::epoch_t epoch, bool probe)
{
    for (link &l : links_) {
        if (l.rail == rail && l.epoch == epoch && l.probe == probe) {
            return &l;
        }
    }
    return nullptr;
}

const link *world::find_link(std::uint8_t rail, core::epoch_t epoch, bool probe) const
{
    return const_cast<world *>(this)->find_link(rail, epoch, probe);
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
    const core::am_number stamp = ep_of(side) != nullptr ? ep_of(side)->tx().next_number() : 0;
    message m{static_cast<std::uint8_t>(to), a.msg, stamp, std::string(text, *size)};
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
    const auto rail = static_cast<std::uint8_t>(a.lane.rail);
    const bool probe = a.lane.ep == 0;
    if (find_link(rail, a.lane.epoch, probe) == nullptr) {
        links_.emplace_back();
        links_.back().rail = rail;
        links_.back().epoch = a.lane.epoch;
        links_.back().probe = probe;
    }
    link &l = *find_link(rail, a.lane.epoch, probe);
    l.ends[side] = end_state::CREATING;
    if (!plan_->slow_create || probe) {
        answer([this, side, rail, epoch = a.lane.epoch, probe] {
            if (link *made = find_link(rail, epoch, probe)) {
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
    const core::lane_ref ref = ref_of(l);
    sides_[side].peer.lane_created(ref, {}, {}, now_, actions_);
}

void world::act_on(unsigned side, const core::act::connect_lane &a)
{
    const auto rail = static_cast<std::uint8_t>(a.lane.rail);
    const bool probe = a.lane.ep == 0;
    if (link *l = find_link(rail, a.lane.epoch, probe)) {
        l->connecting[side] = true;
    }
    if (!plan_->slow_create || probe) {
        answer([this, side, rail, epoch = a.lane.epoch, probe] {
            if (link *l = find_link(rail, epoch, probe)) {
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
        sides_[side].peer.lane_connected(ref_of(l), now_, actions_);
    }
}

void world::act_on(unsigned side, const core::act::quiesce_lane &a)
{
    if (link *l = find_link(static_cast<std::uint8_t>(a.lane.rail), a.lane.epoch, false)) {
        l->quiescing[side] = true;
    }
}

void world::act_on(unsigned side, const core::act::drain_receives &a)
{
    answer([this, side, ref = a.lane] {
        link *l = find_link(static_cast<std::uint8_t>(ref.rail), ref.epoch, false);
        if (l != nullptr) {
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
        const link *l = find_link(static_cast<std::uint8_t>(ref.rail), ref.epoch, false);
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

void world::act_on(unsigned side, const core::act::purge_lane &a)
{
    answer([this, side, ref = a.lane, landed = a.landed] {
        std::vector<core::purged_op> ops;
        link *l = find_link(static_cast<std::uint8_t>(ref.rail), ref.epoch, false);
        for (const record &r : l != nullptr ? l->from[side].posted : std::vector<record>()) {
            core::purged_op op;
            op.verdict = verdict_of(r, landed);
            const unsigned upto = landed.rx.size == 0 ? 0 : landed.rx.bytes[0];
            op.bytes = op.verdict == core::verdict::PARTIAL ? upto - r.start : 0;
            op.number = r.number;
            op.fragment.handle = op.fragment.op = r.op;
            op.fragment.from = r.from;
            op.fragment.replays = r.replays;
            op.fragment.polled = plan_->ops[r.op].polled;
            switch (r.kind) {
            case plan_kind::PUT:
                op.fragment.kind = core::op_kind::PUT;
                op.fragment.group = plan_->ops[r.op].group != 0 ? sides_[side].group : 0;
                break;
            case plan_kind::GET:
                op.fragment.kind = core::op_kind::GET;
                break;
            case plan_kind::AM:
                op.fragment.kind = r.skip ? core::op_kind::SKIP : core::op_kind::AM;
                break;
            }
            op_watch &watch = ops_[r.op];
            watch.blind = watch.blind || landed.grade != core::grade::EXACT;
            watch.open = watch.open || landed.grade == core::grade::OPEN;
            op.claimed = watch.state.is_claimed();
            op.status = watch.state.status();
            ops.push_back(op);
        }
        if (l != nullptr && !mutated(mutant::GENERATION_IGNORED)) {
            l->from[side].posted.clear();
        }
        sides_[side].peer.purged(ref, ops, now_, actions_);
    });
}

void world::act_on(unsigned side, const core::act::release_lane &a)
{
    link *l = find_link(static_cast<std::uint8_t>(a.lane.rail), a.lane.epoch, a.lane.ep == 0);
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
    if (a.why == core::cause::GRACE_OVER) {
        blame(rail); // that depends on clocks, which are abstract here
    }
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

void world::act_on(unsigned side, const core::act::ep_error &)
{
    sides_[side].ep_error = true;
    for (const link &l : links_) {
        if (!l.probe && (l.ends[side] == end_state::OPEN || l.ends[side] == end_state::ERROR)) {
            fail("the ep's error came before its lanes were quiet");
        }
    }
    for (std::uint8_t op = 0; op < ops_.size(); ++op) {
        if (plan_->ops[op].side == side && plan_->ops[op].kind != plan_kind::AM &&
            ops_[op].unposted) {
            ops_[op].unposted = false;
            core::act::fragment_done done;
            done.handle = op;
            done.status = UFX_ERR_UNREACHABLE;
            check_done(side, op, done);
        }
    }
}

void world::act_on(unsigned side, const core::act::ep_closed &)
{
    sides_[side].ep_closed = true;
}

void world::act_on(unsigned side, const core::act::post_nop &a)
{
    link *l = find_link(static_cast<std::uint8_t>(a.lane.rail), a.lane.epoch, false);
    if (l != nullptr && l->ends[side] == end_state::OPEN) {
        l->nop[side] = true;
    }
}

void world::act_on(unsigned side, const core::act::check_stuck &a)
{
    const link *l = find_link(static_cast<std::uint8_t>(a.lane.rail), a.lane.epoch, false);
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

// Posts the next AM fragment (op = any_am), or a PUT or GET, new or from the frozen list.
void world::post(unsigned side, link &l, std::uint8_t op)
{
    core::ep &e = *ep_of(side);
    if (const core::am_tx::entry *am = e.next_am(l.rail); op == any_am) {
        if (am != nullptr) {
            post_am(side, l, *am);
        }
        return;
    }
    pipe &out = l.from[side];
    const op_plan &plan = plan_->ops[op];
    record r{.kind = plan.kind, .op = op, .start = out.sent, .serial = ++serial_};
    bool again = false;
    for (const core::fragment &f : e.frozen()) {
        if (f.handle == op) {
            again = true;
            r.from = static_cast<std::uint8_t>(f.from);
            r.replays = f.replays;
        }
    }
    r.packets = plan.kind == plan_kind::PUT ? static_cast<std::uint8_t>(plan.parts - r.from) : 1;
    for (std::uint8_t i = 0; i < r.packets; ++i) {
        packet p{.kind = plan.kind, .op = op, .part = static_cast<std::uint8_t>(r.from + i)};
        out.wire.push_back(p);
    }
    out.sent = static_cast<std::uint8_t>(out.sent + r.packets);
    out.posted.push_back(r);
    if (again) {
        e.replay_posted(op, l.rail);
    } else {
        ops_[op].unposted = false;
        if (plan.group != 0 && plan.kind == plan_kind::PUT) {
            e.put_posted(sides_[side].group, l.rail);
        }
    }
}

void world::post_am(unsigned side, link &l, const core::am_tx::entry &am)
{
    core::ep &e = *ep_of(side);
    pipe &out = l.from[side];
    packet p{.kind = plan_kind::AM,
             .op = static_cast<std::uint8_t>(am.handle),
             .part = static_cast<std::uint8_t>(am.number - am.first),
             .skip = am.skip,
             .number = am.number,
             .first = am.first,
             .count = am.count,
             .ack = e.rx().window().next()};
    record r{.kind = plan_kind::AM,
             .op = p.op,
             .part = p.part,
             .start = out.sent,
             .skip = am.skip,
             .number = am.number,
             .serial = ++serial_};
    out.wire.push_back(p);
    ++out.sent;
    out.posted.push_back(r);
    e.am_posted(am.number, l.rail, true, now_, actions_);
}

// A uct completion: the op is applied, its data is here, and its local buffer is free.
void world::complete(unsigned side, link &l, const record &r)
{
    core::ep &e = *ep_of(side);
    if (r.kind == plan_kind::AM) {
        e.am_local_done(r.number, actions_);
        if (plan_->wire == wire_kind::TCP) {
            e.am_delivered(r.number, actions_);
        }
        return;
    }
    const op_plan &plan = plan_->ops[r.op];
    ops_[r.op].data = ops_[r.op].data || plan.kind == plan_kind::GET;
    if (plan.group != 0 && plan.kind == plan_kind::PUT) {
        e.put_final(sides_[side].group, l.rail, l.epoch, UFX_OK, actions_);
    }
    core::act::fragment_done done;
    done.handle = r.op;
    check_done(side, r.op, done);
}

// An AM fragment is taken out of the receive CQ: it counts from now on; handlers run later.
void world::enter(unsigned side, link &l, const packet &p)
{
    if (ep_of(side) == nullptr) {
        return;
    }
    core::ep &e = *ep_of(side);
    e.am_acked(p.ack, actions_);
    op_watch &watch = ops_[p.op];
    if (mutated(mutant::BYTE_COUNT_REASSEMBLY) && !p.skip && ++watch.bytes == p.count) {
        watch.handled = 1;
        for (core::am_number n = p.first; n < p.first + p.count; ++n) {
            if (n != p.number && !e.rx().window().covers(n)) {
                fail("a message is handled though a fragment of it never arrived");
            }
        }
    }
    if (e.rx().arrived(l.rail, l.epoch, p.number, p.skip ? 0 : 1) == core::am_rx::verdict::KEEP) {
        sides_[side].inbox.push_back({p.number, p.first, p.count, p.op, p.skip});
    }
}

void world::run_handlers(unsigned side)
{
    side_state &s = sides_[side];
    if (ep_of(side) == nullptr) {
        return;
    }
    const core::am_number next = ep_of(side)->rx().window().next();
    while (true) {
        const auto entry = std::min_element(
            s.inbox.begin(), s.inbox.end(),
            [](const inbox_entry &a, const inbox_entry &b) { return a.number < b.number; });
        if (entry == s.inbox.end() || entry->number >= next) {
            return;
        }
        const inbox_entry m = *entry;
        s.inbox.erase(entry);
        if (!m.skip) {
            ep_of(side)->rx().handled(1);
        }
        s.ended_message = (m.number != m.first && s.ended_message) || m.skip;
        if (m.number + 1 == m.first + m.count) {
            handle(side, m, s.ended_message);
        }
        s.handled_next = std::max(s.handled_next, m.number + 1);
    }
}

} // namespace ufx::explore

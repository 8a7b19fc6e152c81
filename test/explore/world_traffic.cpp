// SPDX-License-Identifier: BSD-3-Clause
// The data path of the explored world: posts, completions, arrivals, handlers.
#include "world.h"

#include <algorithm>

namespace ufx::explore {

// Posts the next AM fragment (op = any_am), or a PUT or GET, new or from the frozen list.
void world::post(unsigned side, link &l, std::uint8_t op)
{
    core::ep &e = *ep_of(side, l.ref.ep);
    if (op == any_am) {
        if (const core::am_tx::entry *am = e.next_am(l.ref.rail)) {
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
        e.replay_posted(op, l.ref.rail);
    } else {
        ops_[op].unposted = false;
        if (plan.group != 0 && plan.kind == plan_kind::PUT) {
            e.put_posted(kept(side, plan.ep).group, l.ref.rail);
        }
    }
}

void world::post_am(unsigned side, link &l, const core::am_tx::entry &am)
{
    core::ep &e = *ep_of(side, l.ref.ep);
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
    e.am_posted(
        am.number, l.ref.rail, true, [&] { return now_; }, actions_);
}

// A uct completion: the op is applied, its data is here, and its local buffer is free.
void world::complete(unsigned side, link &l, const record &r)
{
    core::ep &e = *ep_of(side, l.ref.ep);
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
        e.put_final(kept(side, plan.ep).group, l.ref.rail, l.ref.epoch, UFX_OK, actions_);
    }
    core::act::fragment_done done;
    done.handle = r.op;
    check_done(side, r.op, done);
}

void world::arrive(unsigned side, link &l)
{
    pipe &in = l.from[1 - side];
    const packet p = in.wire.front();
    in.wire.erase(in.wire.begin());
    ++in.applied;
    if (p.kind == plan_kind::PUT) {
        wrote(p.op, p.part);
    } else if (p.kind == plan_kind::AM && plan_->wire == wire_kind::RC) {
        in.receive_cq.push_back(p);
    } else if (p.kind == plan_kind::AM) {
        enter(side, l, p);
    }
}

// An AM fragment is taken out of the receive CQ: it counts from now on; handlers run later.
void world::enter(unsigned side, link &l, const packet &p)
{
    core::ep *e = ep_of(side, l.ref.ep);
    if (e == nullptr) {
        return;
    }
    e->am_acked(p.ack, actions_);
    const std::uint8_t held = p.skip ? 0 : 1;
    if (e->rx().arrived(l.ref.rail, l.ref.epoch, p.number, held) != core::am_rx::verdict::KEEP) {
        return;
    }
    auto &inbox = kept(side, l.ref.ep).inbox;
    auto m = std::find_if(inbox.begin(), inbox.end(),
                          [&](const inbox_entry &x) { return x.first == p.first; });
    if (m == inbox.end()) {
        m = inbox.insert(m, {p.first, p.count, p.op, 0, false});
    }
    m->held = static_cast<std::uint8_t>(m->held + held);
    m->skip = m->skip || p.skip;
}

void world::run_handlers(unsigned side)
{
    for (const auto &[own, e] : sides_[side].peer.eps()) {
        run_handlers(side, *ep_of(side, own));
    }
}

// Messages in order of their numbers, as soon as all that is below their end has arrived.
void world::run_handlers(unsigned side, core::ep &e)
{
    ep_side &s = kept(side, e.id());
    while (!s.inbox.empty()) {
        const auto next = std::min_element(
            s.inbox.begin(), s.inbox.end(),
            [](const inbox_entry &a, const inbox_entry &b) { return a.first < b.first; });
        if (!e.rx().arrived_below(next->first + next->count)) {
            return;
        }
        const inbox_entry m = *next;
        s.inbox.erase(next);
        e.rx().handled(m.held);
        handle(side, e, m);
        s.handled_next = std::max(s.handled_next, m.first + m.count);
    }
}

} // namespace ufx::explore

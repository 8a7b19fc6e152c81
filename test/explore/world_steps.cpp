// SPDX-License-Identifier: BSD-3-Clause
// Which steps may come next, what each one does, and the fair run to the end.
#include "subject.h"
#include "world.h"

#include "ucp/core/mutant.h"

#include <algorithm>
#include <utility>

namespace ufx::explore {

world::world(const scenario &plan, coverage *seen) : plan_(&plan), seen_(seen)
{
    core::config cfg;
    cfg.hold_bytes = plan.hold_bytes;
    sides_.emplace_back(cfg, true, plan.eps);
    sides_.emplace_back(cfg, false, plan.eps);
    for (unsigned side = 0; side < 2; ++side) {
        core::peer &peer = sides_[side].peer;
        for (std::uint8_t rail = 0; rail < plan.rails; ++rail) {
            peer.add_rail(rail, now_, actions_);
        }
        for (core::ep_id id = 1; id <= plan.eps; ++id) {
            peer.open_ep(id, id, id, core::error_mode::FAILOVER, now_, actions_);
        }
        run(side);
    }
    ops_.resize(plan.ops.size());
    for (unsigned op = 0; op < ops_.size(); ++op) {
        submit(static_cast<std::uint8_t>(op));
    }
    if (!plan.slow_create) {
        connect_all();
    }
    faults_left_ = plan.fault_budget;
    messages_left_ = plan.message_budget;
}

void world::submit(std::uint8_t op)
{
    const op_plan &plan = plan_->ops[op];
    ep_side &s = kept(plan.side, plan.ep);
    core::ep &e = *ep_of(plan.side, plan.ep);
    ops_[op].generation = s.gate.enter();
    if (plan.group != 0 && !s.group_open) {
        s.group = e.open_group();
        s.group_open = true;
    }
    if (plan.kind == plan_kind::AM) {
        ops_[op].state = core::op_state(plan.parts);
        ops_[op].first = *e.admit_am(op, plan.parts, plan.group != 0 ? s.group : 0);
        return;
    }
    ops_[op].state = core::op_state(1);
    if (plan.group != 0) {
        e.put_added(s.group, 1);
    }
}

// Messages only, until every lane is LIVE.
void world::connect_all()
{
    for (unsigned guard = 0; guard < 100 && !net_.empty(); ++guard) {
        const message m = net_.front();
        const subject about = subject_of(m.msg);
        apply({step::DELIVER, m.to, static_cast<std::uint8_t>(about.rail), about.epoch,
               static_cast<std::uint32_t>(m.msg.index()), static_cast<std::uint8_t>(about.ep)});
    }
}

void world::cover_message(unsigned side, const core::control_msg &msg)
{
    std::visit(
        [&](const auto &m) {
            if constexpr (requires { m.lane; }) {
                if (const core::ep *e = ep_of(side, m.lane.src_ep)) {
                    seen_->lane(e->lane(m.lane.rail), name_of(msg));
                }
            }
        },
        msg);
    if (const auto *ok = std::get_if<core::probe_ok_msg>(&msg)) {
        seen_->rail(sides_[side].peer.find_rail(ok->rail), "PROBE_OK");
    }
}

void world::do_message(const event &e)
{
    const auto at = std::find_if(net_.begin(), net_.end(), [&](const message &m) {
        const subject about = subject_of(m.msg);
        return m.to == e.side && m.msg.index() == e.a && about.ep == e.ep && about.rail == e.rail &&
               about.epoch == e.epoch;
    });
    if (at == net_.end()) {
        return;
    }
    const core::control_msg msg = at->msg;
    if (e.kind != step::DOUBLE) {
        net_.erase(at);
    }
    if (e.kind != step::LOSE && !sides_[e.side].killed) {
        cover_message(e.side, msg);
        sides_[e.side].peer.control(msg, now_, actions_);
    }
}

// The timer that a TIMER step names, with its deadline.
const world::armed_timer *world::armed(const event &e) const
{
    const core::timer_id timer{static_cast<core::timer_kind>(e.a), e.rail, e.ep, e.epoch};
    const auto &all = sides_[e.side].timers;
    const auto at = std::find_if(all.begin(), all.end(),
                                 [&](const armed_timer &t) { return t.first == timer; });
    return at != all.end() ? &*at : nullptr;
}

void world::do_timer(const event &e)
{
    side_state &s = sides_[e.side];
    using core::timer_kind;
    const core::timer_id timer = armed(e)->first;
    const timer_kind kind = timer.kind;
    s.timers.erase(s.timers.begin() + (armed(e) - s.timers.data()));
    const core::rail *rail = s.peer.find_rail(timer.rail);
    if (kind == timer_kind::LANE_SHAKE || kind == timer_kind::LANE_RETRY) {
        const core::ep *owner = ep_of(e.side, timer.ep);
        seen_->lane(owner != nullptr ? owner->lane(timer.rail) : nullptr, "timer");
    } else if (kind == timer_kind::RAIL_GRACE || kind == timer_kind::RAIL_HOLDOFF) {
        seen_->rail(rail, kind == timer_kind::RAIL_GRACE ? "grace" : "hold-off");
    }
    if (!settling_) {
        now_ += core::seal_book::echo_gap_ns; // before it fired, time has passed
    }
    // A side that has read back and whose peer is UP waits for PROBE_OK only: it must go on to ask.
    const bool asks = std::any_of(s.timers.begin(), s.timers.end(), [&](const auto &t) {
        return t.first.kind == timer_kind::PROBE_OK && t.first.rail == timer.rail;
    });
    if (settling_ && kind == timer_kind::RAIL_PROBE && rail->state() == core::rail_state::PROBING &&
        rail->probe_own_ok() && !asks) {
        fail("a probe of a healthy rail never ends");
    }
    const bool only_retry =
        rail != nullptr && rail->signs() == static_cast<std::uint8_t>(core::sign::RETRY);
    s.peer.timer(timer, now_, actions_);
    // How long a grace is depends on clocks, which are abstract here; RETRY_EXC alone outlasts any.
    if (kind == timer_kind::RAIL_GRACE && !only_retry && !rail->carries_lanes()) {
        blame(e.rail);
    }
}

void world::lane_error(unsigned side, link &l, core::cause why)
{
    seen_->lane(ep_of(side, l.ref.ep)->lane(l.ref.rail), "failed");
    sides_[side].peer.lane_failed(l.ref, why, now_, actions_);
}

void world::blame(std::uint8_t rail)
{
    sides_[0].blamed[rail] = true;
    sides_[1].blamed[rail] = true;
}

void world::progress(unsigned side, std::uint8_t rail)
{
    seen_->rail(sides_[side].peer.find_rail(rail), "progress");
    sides_[side].peer.rail_progress(rail, now_, actions_);
}

void world::complete_oldest(unsigned side, link &l)
{
    pipe &mine = l.from[side];
    const record r = mine.posted.front();
    mine.posted.erase(mine.posted.begin());
    complete(side, l, r);
    progress(side, static_cast<std::uint8_t>(l.ref.rail));
}

void world::do_lane(const event &e)
{
    link *l = find_link({e.ep, e.rail, e.epoch});
    const unsigned side = e.side;
    if (l == nullptr) {
        return;
    }
    switch (e.kind) {
    case step::CREATED:
        if (l->ends[side] == end_state::CREATING) {
            created(side, *l);
        } else {
            connected(side, *l);
        }
        break;
    case step::QUIET:
        l->quiescing[side] = false;
        l->nop[side] = false;
        l->ends[side] = l->wedged[side] ? end_state::WEDGED : end_state::QUIET;
        sides_[side].peer.lane_quiet(l->ref, l->by_error[side], now_, actions_);
        break;
    case step::POST:
        post(side, *l, static_cast<std::uint8_t>(e.a));
        break;
    case step::ARRIVE:
        arrive(side, *l);
        break;
    case step::POLL:
        for (const packet &p : std::exchange(l->from[1 - side].receive_cq, {})) {
            enter(side, *l, p);
        }
        break;
    case step::ACK:
        complete_oldest(side, *l);
        break;
    case step::NOP:
        l->nop[side] = false;
        progress(side, e.rail);
        break;
    default:
        do_lane_fault(e, *l);
        break;
    }
}

// What a fault entails, and faults.
void world::do_lane_fault(const event &e, link &l)
{
    const bool tcp = plan_->wire == wire_kind::TCP;
    if (e.kind == step::WEDGE) {
        l.wedged[e.side] = true;
        return;
    }
    if (e.kind != step::BROKEN) {
        l.ends[e.side] = end_state::ERROR;
    }
    switch (e.kind) {
    case step::RETRY_EXC:
        lane_error(e.side, l, tcp ? core::cause::NET_TIMEOUT : core::cause::RETRY_EXC);
        break;
    case step::RNR_EXC:
        l.by_error[e.side] = true;
        lane_error(e.side, l, core::cause::RNR_EXC);
        break;
    case step::QP_ERROR:
        if (!tcp) {
            l.by_error[e.side] = true;
            if (kept(e.side, e.ep).lane_errors[e.rail]++ > 0) {
                blame(e.rail);
            }
            lane_error(e.side, l, core::cause::OWN_QP_ERROR);
            break;
        }
        [[fallthrough]];
    case step::BROKEN:
        if (e.a != 0) {
            sides_[e.side].peer.lane_not_made(l.ref, core::refusal::RESOURCE, now_, actions_);
            break;
        }
        [[fallthrough]];
    default: // RESET
        lane_error(e.side, l, core::cause::CONNECTION_RESET);
        break;
    }
}

void world::do_rail(const event &e)
{
    side_state &s = sides_[e.side];
    const core::rail *rail = s.peer.find_rail(e.rail);
    switch (e.kind) {
    case step::PROBE: {
        const core::epoch_t epoch = s.probe_wanted[e.rail];
        const link *l = find_link({0, e.rail, epoch});
        const bool ok = !is_cut(e.rail) && l != nullptr && l->ends[1 - e.side] == end_state::OPEN;
        s.probe_wanted[e.rail] = 0;
        seen_->rail(rail, "probe");
        s.peer.probe_done(e.rail, epoch, ok, now_, actions_);
        break;
    }
    case step::IDLE:
        s.idle_wanted[e.rail] = false;
        s.peer.rail_idle(e.rail, now_, actions_);
        break;
    case step::PORT_DOWN:
    case step::PORT_UP:
        seen_->rail(rail, "port");
        s.peer.rail_port(e.rail, e.kind == step::PORT_UP, now_, actions_);
        break;
    case step::HEAL:
        cut_[e.rail][0] = cut_[e.rail][1] = false;
        break;
    default:
        blame(e.rail);
        do_rail_fault(e);
        break;
    }
}

void world::do_rail_fault(const event &e)
{
    side_state &s = sides_[e.side];
    const core::rail *rail = s.peer.find_rail(e.rail);
    switch (e.kind) {
    case step::CUT:
        cut_[e.rail][0] = e.a != 2;
        cut_[e.rail][1] = e.a != 1;
        break;
    case step::FATAL:
        kill_device(e.side, e.rail);
        seen_->rail(rail, "hard");
        s.peer.rail_hard(e.rail, core::cause::DEVICE_FATAL, now_, actions_);
        break;
    case step::STALL:
        seen_->rail(rail, "soft");
        s.peer.rail_soft(e.rail, core::sign::STALL, core::cause::STALL, now_, actions_);
        break;
    case step::DRAIN:
    case step::RESUME: {
        const bool drain = e.kind == step::DRAIN;
        s.drained[e.rail] = drain;
        seen_->rail(rail, "admin");
        s.peer.admin(e.rail, drain ? core::admin_action::DRAIN : core::admin_action::RESUME, now_,
                     actions_);
        break;
    }
    default:
        break;
    }
}

void world::kill_device(unsigned side, std::uint8_t rail)
{
    sides_[side].dead_device[rail] = true;
    for (link &l : links_) {
        if (l.ref.rail == rail && l.ends[side] != end_state::GONE) {
            l.blind[side] = true;
            if (l.ends[side] != end_state::QUIET) {
                l.ends[side] = end_state::ERROR;
            }
        }
    }
}

// The user's op is terminal: what is not posted ends now, what is posted goes on.
void world::end_op(std::uint8_t op, ufx_status_t status)
{
    const op_plan &plan = plan_->ops[op];
    op_watch &watch = ops_[op];
    core::ep &e = *ep_of(plan.side, plan.ep);
    watch.wanted_end = true;
    watch.state.claim(status);
    if (plan.kind != plan_kind::AM && watch.unposted) {
        watch.unposted = false;
        if (plan.group != 0) {
            e.put_final(kept(plan.side, plan.ep).group, 0, 0, status, actions_);
        }
        core::act::fragment_done done;
        done.handle = op;
        done.status = status;
        check_done(plan.side, op, done);
        return;
    }
    e.end_op(op, status, core::cause::NONE, actions_);
    if (status != UFX_ERR_TIMEOUT) {
        return;
    }
    for (const link &l : links_) {
        const auto &posted = l.from[plan.side].posted;
        const bool on =
            std::any_of(posted.begin(), posted.end(), [&](const record &r) { return r.op == op; });
        if (on && l.ends[plan.side] == end_state::OPEN) {
            sides_[plan.side].peer.lane_failed(l.ref, core::cause::OP_DEADLINE, now_, actions_);
        }
    }
}

void world::do_user(const event &e)
{
    side_state &s = sides_[e.side];
    switch (e.kind) {
    case step::DISOWN:
    case step::PEER_DEAD:
        s.peer.peer_dead(now_, actions_);
        break;
    case step::FORGET:
        forget_peer(e.side);
        break;
    case step::CANCEL:
        end_op(static_cast<std::uint8_t>(e.a), UFX_ERR_CANCELED);
        break;
    case step::DEADLINE:
        end_op(static_cast<std::uint8_t>(e.a), UFX_ERR_TIMEOUT);
        break;
    case step::CLOSE:
        kept(e.side, e.ep).closing = true;
        s.peer.close_ep(e.ep, false, now_, actions_); // all is done
        break;
    case step::FLUSH:
        kept(e.side, e.ep).flush = kept(e.side, e.ep).gate.close();
        break;
    case step::DIE:
        kill_process(e.side);
        break;
    default:
        break;
    }
}

void world::kill_process(unsigned side)
{
    sides_[side].killed = true;
    sides_[side].timers.clear();
    for (link &l : links_) {
        l.ends[side] = l.ends[side] == end_state::NONE ? end_state::NONE : end_state::GONE;
        l.quiescing[side] = false;
    }
    std::erase_if(net_, [&](const message &m) { return m.to == side; });
}

// A new incarnation's worth of state: the peer, should it live, is a stranger.
void world::forget_peer(unsigned side)
{
    side_state &s = sides_[side];
    core::config cfg;
    cfg.hold_bytes = plan_->hold_bytes;
    s.peer = core::peer(cfg, side == 0);
    s.timers.clear();
    for (ep_side &e : s.eps) {
        e.inbox.clear();
    }
    s.disowned = true;
    for (std::uint8_t rail = 0; rail < plan_->rails; ++rail) {
        s.peer.add_rail(rail, now_, actions_);
    }
}

void world::drop_dead_links()
{
    std::erase_if(links_, [](const link &l) {
        const auto over = [](end_state s) {
            return s == end_state::GONE || s == end_state::NONE || s == end_state::WEDGED;
        };
        for (unsigned side = 0; side < 2; ++side) {
            if (l.ends[side] == end_state::WEDGED && !l.released[side]) {
                return false;
            }
            if (l.ends[side] == end_state::WEDGED &&
                !(l.from[1 - side].wire.empty() && l.from[1 - side].receive_cq.empty())) {
                return false;
            }
        }
        const bool late = core::mutated(core::mutant::GENERATION_IGNORED) &&
                          (!l.from[0].posted.empty() || !l.from[1].posted.empty());
        return over(l.ends[0]) && over(l.ends[1]) && !late;
    });
}

} // namespace ufx::explore

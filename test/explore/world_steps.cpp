// SPDX-License-Identifier: BSD-3-Clause
// Which steps may come next, what each one does, and the fair run to the end.
#include "subject.h"
#include "world.h"

#include "ucp/core/mutant.h"

#include <algorithm>

namespace ufx::explore {

world::world(const scenario &plan, coverage *seen) : plan_(&plan), seen_(seen)
{
    core::config cfg;
    cfg.hold_bytes = plan.hold_bytes;
    sides_.emplace_back(cfg, true);
    sides_.emplace_back(cfg, false);
    for (unsigned side = 0; side < 2; ++side) {
        core::peer &peer = sides_[side].peer;
        for (std::uint8_t rail = 0; rail < plan.rails; ++rail) {
            peer.add_rail(rail, now_, actions_);
        }
        peer.open_ep(1, 1, 1, core::error_mode::FAILOVER, now_, actions_);
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
    side_state &s = sides_[plan.side];
    core::ep &e = *ep_of(plan.side);
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
               static_cast<std::uint32_t>(m.msg.index())});
    }
}

void world::cover_message(unsigned side, const core::control_msg &msg)
{
    std::visit(
        [&](const auto &m) {
            if constexpr (requires { m.lane; }) {
                if (m.lane.src_ep != 0 && ep_of(side) != nullptr) {
                    seen_->lane(ep_of(side)->lane(m.lane.rail), name_of(msg));
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
        return m.to == e.side && m.msg.index() == e.a && about.rail == e.rail &&
               about.epoch == e.epoch;
    });
    if (at == net_.end()) {
        return;
    }
    const core::control_msg msg = at->msg;
    if (e.kind != step::DOUBLE) {
        net_.erase(at);
    }
    if (e.kind != step::DELIVER) {
        --messages_left_;
    }
    if (e.kind != step::LOSE && !sides_[e.side].killed) {
        cover_message(e.side, msg);
        sides_[e.side].peer.control(msg, now_, actions_);
    }
}

void world::do_timer(const event &e)
{
    side_state &s = sides_[e.side];
    const auto kind = static_cast<core::timer_kind>(e.a);
    const auto at = std::find_if(s.timers.begin(), s.timers.end(), [&](const auto &t) {
        return t.first.kind == kind && t.first.rail == e.rail && t.first.id == e.epoch;
    });
    if (at == s.timers.end()) {
        return;
    }
    const core::timer_id timer = at->first;
    s.timers.erase(at);
    using core::timer_kind;
    const core::rail *rail = s.peer.find_rail(timer.rail);
    if (kind == timer_kind::LANE_SHAKE || kind == timer_kind::LANE_RETRY) {
        const bool of_ep = timer.ep != 0 && ep_of(e.side) != nullptr;
        seen_->lane(of_ep ? ep_of(e.side)->lane(timer.rail) : nullptr, "timer");
    } else if (kind == timer_kind::RAIL_GRACE || kind == timer_kind::RAIL_HOLDOFF) {
        seen_->rail(rail, kind == timer_kind::RAIL_GRACE ? "grace" : "hold-off");
    }
    // A side that has read back and whose peer is UP waits for PROBE_OK only: it must go on to ask.
    const bool asks = std::any_of(s.timers.begin(), s.timers.end(), [&](const auto &t) {
        return t.first.kind == timer_kind::PROBE_OK && t.first.rail == timer.rail;
    });
    if (settling_ && kind == timer_kind::RAIL_PROBE && rail->state() == core::rail_state::PROBING &&
        rail->probe_own_ok() && !asks) {
        fail("a probe of a healthy rail never ends");
    }
    s.peer.timer(timer, now_, actions_);
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

void world::lane_error(unsigned side, link &l, core::cause why)
{
    seen_->lane(ep_of(side)->lane(l.rail), "failed");
    sides_[side].peer.lane_failed(ref_of(l), why, now_, actions_);
}

void world::blame(std::uint8_t rail)
{
    sides_[0].blamed[rail] = true;
    sides_[1].blamed[rail] = true;
}

void world::do_lane(const event &e)
{
    link *l = find_link(e.rail, e.epoch, e.a == 1);
    const unsigned side = e.side;
    side_state &s = sides_[side];
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
    case step::BROKEN:
        --faults_left_;
        lane_error(side, *l, core::cause::CONNECTION_RESET);
        break;
    case step::QUIET:
        l->quiescing[side] = false;
        l->nop[side] = false;
        l->ends[side] = l->wedged[side] ? end_state::WEDGED : end_state::QUIET;
        s.peer.lane_quiet(ref_of(*l), l->by_error[side], now_, actions_);
        break;
    case step::ARRIVE:
        arrive(side, *l);
        break;
    case step::POLL: {
        pipe &in = l->from[1 - side];
        std::vector<packet> arrived;
        arrived.swap(in.receive_cq);
        for (const packet &p : arrived) {
            enter(side, *l, p);
        }
        break;
    }
    case step::ACK: {
        pipe &mine = l->from[side];
        const record r = mine.posted.front();
        mine.posted.erase(mine.posted.begin());
        complete(side, *l, r);
        seen_->rail(s.peer.find_rail(l->rail), "progress");
        s.peer.rail_progress(l->rail, now_, actions_);
        break;
    }
    case step::NOP:
        l->nop[side] = false;
        seen_->rail(s.peer.find_rail(l->rail), "progress");
        s.peer.rail_progress(l->rail, now_, actions_);
        break;
    case step::RETRY_EXC:
        l->ends[side] = end_state::ERROR;
        lane_error(side, *l,
                   plan_->wire == wire_kind::RC ? core::cause::RETRY_EXC
                                                : core::cause::NET_TIMEOUT);
        break;
    case step::RESET:
        l->ends[side] = end_state::ERROR;
        lane_error(side, *l, core::cause::CONNECTION_RESET);
        break;
    case step::WEDGE:
        --faults_left_;
        l->wedged[side] = true;
        break;
    case step::QP_ERROR:
    case step::RNR_EXC: {
        --faults_left_;
        const bool rnr = e.kind == step::RNR_EXC;
        const bool tcp = plan_->wire == wire_kind::TCP;
        l->ends[side] = end_state::ERROR;
        l->by_error[side] = !tcp;
        if (!rnr && !tcp && s.lane_errors[l->rail]++ > 0) {
            blame(l->rail);
        }
        const core::cause own = tcp ? core::cause::CONNECTION_RESET : core::cause::OWN_QP_ERROR;
        lane_error(side, *l, rnr ? core::cause::RNR_EXC : own);
        break;
    }
    default:
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
        const link *l = find_link(e.rail, epoch, true);
        const bool ok = !cut_[e.rail][0] && !cut_[e.rail][1] && l != nullptr &&
                        l->ends[1 - e.side] == end_state::OPEN;
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
    case step::CUT:
        --faults_left_;
        blame(e.rail);
        cut_[e.rail][0] = e.a != 2;
        cut_[e.rail][1] = e.a != 1;
        break;
    case step::FATAL:
        --faults_left_;
        blame(e.rail);
        s.dead_device[e.rail] = true;
        for (link &l : links_) {
            if (l.rail == e.rail && l.ends[e.side] != end_state::GONE) {
                l.blind[e.side] = true;
                l.ends[e.side] =
                    l.ends[e.side] == end_state::QUIET ? end_state::QUIET : end_state::ERROR;
            }
        }
        seen_->rail(rail, "hard");
        s.peer.rail_hard(e.rail, core::cause::DEVICE_FATAL, now_, actions_);
        break;
    case step::STALL:
        --faults_left_;
        blame(e.rail);
        seen_->rail(rail, "soft");
        s.peer.rail_soft(e.rail, core::sign::STALL, core::cause::STALL, now_, actions_);
        break;
    case step::DRAIN:
    case step::RESUME: {
        const bool drain = e.kind == step::DRAIN;
        faults_left_ = static_cast<std::uint8_t>(faults_left_ - (settling_ ? 0 : 1));
        blame(e.rail);
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

// The user's op is terminal: what is not posted ends now, what is posted goes on.
void world::end_op(std::uint8_t op, ufx_status_t status)
{
    const op_plan &plan = plan_->ops[op];
    op_watch &watch = ops_[op];
    core::ep &e = *ep_of(plan.side);
    watch.wanted_end = true;
    watch.state.claim(status);
    if (plan.kind != plan_kind::AM && watch.unposted) {
        watch.unposted = false;
        if (plan.group != 0) {
            e.put_final(sides_[plan.side].group, 0, 0, status, actions_);
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
            sides_[plan.side].peer.lane_failed(ref_of(l), core::cause::OP_DEADLINE, now_, actions_);
        }
    }
}

void world::do_user(const event &e)
{
    side_state &s = sides_[e.side];
    switch (e.kind) {
    case step::POST:
        if (link *l = find_link(e.rail, e.epoch, false)) {
            post(e.side, *l, static_cast<std::uint8_t>(e.a));
        }
        break;
    case step::DISOWN:
        --faults_left_;
        s.peer.peer_dead(now_, actions_);
        break;
    case step::PEER_DEAD:
        s.peer.peer_dead(now_, actions_);
        break;
    case step::FORGET:
        forget_peer(e.side);
        break;
    case step::CANCEL:
    case step::DEADLINE:
        --faults_left_;
        end_op(static_cast<std::uint8_t>(e.a),
               e.kind == step::CANCEL ? UFX_ERR_CANCELED : UFX_ERR_TIMEOUT);
        break;
    case step::CLOSE:
        --faults_left_;
        s.closing = true;
        s.peer.close_ep(1, now_, actions_);
        break;
    case step::DIE:
        --faults_left_;
        s.killed = true;
        s.timers.clear();
        for (link &l : links_) {
            l.ends[e.side] = l.ends[e.side] == end_state::NONE ? end_state::NONE : end_state::GONE;
            l.quiescing[e.side] = false;
        }
        std::erase_if(net_, [&](const message &m) { return m.to == e.side; });
        break;
    default:
        break;
    }
}

// A new incarnation's worth of state: the peer, should it live, is a stranger.
void world::forget_peer(unsigned side)
{
    side_state &s = sides_[side];
    core::config cfg;
    cfg.hold_bytes = plan_->hold_bytes;
    s.peer = core::peer(cfg, side == 0);
    s.timers.clear();
    s.inbox.clear();
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

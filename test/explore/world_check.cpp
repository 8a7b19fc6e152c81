// SPDX-License-Identifier: BSD-3-Clause
// The promises that no interleaving may break (rows X of the requirements), and the state's hash.
//
//   X01 X02 X10  every AM is handled once, in order, and complete
//   X04          a flush is over when every op before it is
//   X03 X07      nothing is written for an op that ended and whose memory is final
//   X18          a GET ends OK only with its data
//   X19          a byte that landed is not written again (but under BLIND)
//   X20          an AM that ends early does not block those behind it
//   X22          a rail drains only if something was wrong with the rail
//   X23 X24      see settle(): from everywhere all ends well, a drain without its limit
//   X25          a notify runs after its PUTs, and they are not written again after it
//   X09          a dead peer ends every op, once
//   X11          an ep's error comes after its lanes are quiet
//   X13          RETRY_EXC alone, a peer that does not answer, drains no rail (part of X22)
//   X16 X26 X05  scenarios rc-single, tcp-single, rc-hold, and two faults anywhere
#include "world.h"

#include "ucp/core/mutant.h"

#include <algorithm>
#include <bit>

namespace ufx::explore {

void world::fail(const std::string &what)
{
    if (broken_.empty()) {
        broken_ = what;
    }
}

void world::wrote(unsigned op, unsigned byte)
{
    op_watch &watch = ops_[op];
    const std::string name = "op " + std::to_string(op);
    if (watch.consumed) {
        fail(name + ": written again after its notify was handled");
    }
    if (watch.memory_final) {
        fail(name + ": written after its completion said that remote memory is final");
    }
    if (kept(1 - plan_->ops[op].side, plan_->ops[op].ep).error) {
        fail(name + ": written after the target's ep got its error");
    }
    if (++watch.applied[byte] > 1 && !watch.blind) {
        fail(name + ": a byte that had landed is written again");
    }
}

bool world::locally_quiet(unsigned side, unsigned op, unsigned part) const
{
    for (const link &l : links_) {
        if (l.ends[side] != end_state::OPEN && l.ends[side] != end_state::ERROR) {
            continue;
        }
        for (const record &r : l.from[side].posted) {
            if (r.op == op && r.part == part && !r.skip) {
                return false;
            }
        }
        for (const packet &p : l.from[side].wire) {
            if (p.op == op && p.kind == plan_kind::PUT && l.ends[1 - side] == end_state::OPEN &&
                l.ends[side] == end_state::OPEN) {
                return false;
            }
        }
    }
    return true;
}

void world::check_done(unsigned side, unsigned op, const core::act::fragment_done &a)
{
    op_watch &watch = ops_[op];
    const op_plan &plan = plan_->ops[op];
    const std::string name = "op " + std::to_string(op);
    const auto bit = static_cast<std::uint8_t>(1U << a.part);
    if ((watch.final_parts & bit) != 0) {
        fail(name + ": a fragment ends twice");
        return;
    }
    watch.final_parts |= bit;
    const bool ok = a.status == UFX_OK;
    const bool peer_lives = lives(1 - side);
    if (ok && plan.kind == plan_kind::PUT && peer_lives &&
        std::count(watch.applied, watch.applied + plan.parts, 0) != 0) {
        fail(name + ": OK though it has not landed");
    }
    if (ok && plan.kind == plan_kind::GET && !watch.data) {
        fail(name + ": OK though its data did not come back");
    }
    if (ok && plan.kind == plan_kind::AM && peer_lives &&
        !ep_of(1 - side, plan.ep)->rx().window().covers(watch.first + a.part)) {
        fail(name + ": OK though the peer's window does not cover it");
    }
    if (!locally_quiet(side, op, static_cast<unsigned>(a.part))) {
        fail(name + ": ends while the local device may still use its buffer");
    }
    if (!ok && !excused(side, op)) {
        fail(name + ": ends with an error that nothing justifies");
    }
    if (watch.state.fragment_final(a.status, a.why, a.remote_final)) {
        watch.memory_final =
            watch.state.remote_final() && watch.state.status() != UFX_ERR_UNREACHABLE;
        kept(side, plan.ep).gate.leave(watch.generation);
    }
}

// May this op end with an error?
bool world::excused(unsigned side, unsigned op) const
{
    const op_watch &watch = ops_[op];
    const op_plan &plan = plan_->ops[op];
    if (watch.wanted_end || watch.open || (plan.polled && watch.blind) ||
        ep_of(side, plan.ep)->state() != core::ep::life::ALIVE) {
        return true;
    }
    for (unsigned other = 0; other < ops_.size(); ++other) { // a notify whose PUT failed
        if (plan.group != 0 && plan_->ops[other].group == plan.group &&
            ops_[other].state.status() != UFX_OK) {
            return true;
        }
    }
    return false;
}

// A flush that is over leaves no op behind that was submitted before it: here, all of its ep's.
void world::check_flush(unsigned side)
{
    for (unsigned op = 0; op < ops_.size(); ++op) {
        const op_plan &plan = plan_->ops[op];
        const ep_side &e = kept(side, plan.ep);
        if (plan.side == side && e.flush && e.gate.passed(*e.flush) &&
            !ops_[op].state.is_complete()) {
            fail("a flush is over before op " + std::to_string(op));
        }
    }
}

void world::handle(unsigned side, const core::ep &e, const inbox_entry &m)
{
    op_watch &watch = ops_[m.op];
    const std::string name = "op " + std::to_string(m.op);
    if (m.first < kept(side, e.id()).handled_next) {
        fail(name + ": handled twice or out of order");
    }
    for (core::am_number n = m.first; n < m.first + m.count; ++n) {
        if (!e.rx().window().covers(n)) {
            fail(name + ": handled though a fragment of it never arrived");
        }
    }
    if (m.skip) {
        return;
    }
    if (++watch.handled > 1) {
        fail(name + ": handled twice");
    }
    const std::uint8_t group = plan_->ops[m.op].group;
    for (unsigned op = 0; op < ops_.size(); ++op) {
        const op_plan &put = plan_->ops[op];
        if (group == 0 || put.group != group || put.kind != plan_kind::PUT) {
            continue;
        }
        for (unsigned i = 0; i < put.parts; ++i) {
            if (ops_[op].applied[i] == 0) {
                fail(name + ": the notify is handled before its PUT is in memory");
            }
        }
        ops_[op].consumed = true;
    }
}

bool world::all_done() const
{
    return std::all_of(ops_.begin(), ops_.end(), [&](const op_watch &w) {
        return w.state.is_complete() || sides_[plan_->ops[&w - ops_.data()].side].killed;
    });
}

std::string world::unfinished_op(unsigned op) const
{
    const op_plan &plan = plan_->ops[op];
    if (sides_[plan.side].killed) {
        return "";
    }
    if (!ops_[op].state.is_complete()) {
        return "op " + std::to_string(op) + " never ends";
    }
    if (plan.kind == plan_kind::AM && ops_[op].state.status() == UFX_OK && ops_[op].handled == 0 &&
        lives(1 - plan.side)) {
        return "op " + std::to_string(op) + ": OK and never handled";
    }
    return "";
}

std::string world::unfinished_ep(unsigned side, core::ep_id id) const
{
    const ep_side &e = kept(side, id);
    if (e.closing && !e.closed) {
        return "a close never ends";
    }
    if (e.flush && !e.gate.passed(*e.flush)) {
        return "a flush never ends";
    }
    if (!lives(side) || !lives(1 - side) || sides_[side].disowned) {
        return ""; // its ops have ended; it may still believe in a peer that forgot it
    }
    if (e.closing || kept(1 - side, id).closing) {
        return ep_of(side, id)->state() != core::ep::life::DEAD ? "the ep never dies" : "";
    }
    for (std::uint8_t rail = 0; rail < plan_->rails; ++rail) {
        const core::lane_slot *a = ep_of(side, id)->lane(rail);
        const core::lane_slot *b = ep_of(1 - side, id)->lane(rail);
        if (!a->is_live() || a->epoch() != b->epoch()) {
            return "a lane of rail " + std::to_string(rail) + " is never rebuilt";
        }
    }
    return "";
}

std::string world::unfinished() const
{
    std::string what;
    for (unsigned op = 0; op < ops_.size() && what.empty(); ++op) {
        what = unfinished_op(op);
    }
    for (unsigned side = 0; side < 2 && what.empty(); ++side) {
        const side_state &s = sides_[side];
        if (s.killed) {
            continue;
        }
        if (!s.peer.book().empty()) {
            return "a seal record is never released";
        }
        for (std::uint8_t rail = 0; rail < plan_->rails; ++rail) {
            if (!s.disowned && lives(1 - side) &&
                s.peer.find_rail(rail)->state() != core::rail_state::UP) {
                return "rail " + std::to_string(rail) + " never comes UP again";
            }
        }
        for (core::ep_id id = 1; id <= plan_->eps && what.empty(); ++id) {
            what = unfinished_ep(side, id);
        }
    }
    return what;
}

namespace {

// Two independent multiplicative hashes over a stream of words.
class hasher {
public:
    void operator()(std::uint64_t v)
    {
        a = (std::rotl(a, 5) ^ v) * 0x9E3779B97F4A7C15ULL;
        b = (std::rotl(b, 23) ^ (v + 0x632BE59BD9B4E019ULL)) * 0xD6E8FEB86659FD93ULL;
    }
    void operator()(const core::window &w)
    {
        (*this)(w.next());
        (*this)(w.bitmap()[0]);
    }
    void message(const core::seal_msg &m)
    {
        (*this)(m.seal_id);
        (*this)(m.lane.src_ep | m.lane.epoch << 8);
        (*this)(static_cast<std::uint64_t>(m.why));
        (*this)(m.own_error);
        (*this)(static_cast<std::uint64_t>(m.landed.grade));
        (*this)(m.landed.nothing);
        (*this)(m.landed.rx.bytes[0]);
        (*this)(m.window);
    }
    std::uint64_t a = 1;
    std::uint64_t b = 2;
};

void fold_packet(hasher &h, const packet &p)
{
    h(static_cast<unsigned>(p.kind) | p.op << 2 | p.part << 6 | p.skip << 10);
    h(p.number | p.ack << 32);
}

void fold_link(hasher &h, const link &l)
{
    h(l.ref.rail | l.ref.ep << 8 | std::uint64_t{l.ref.epoch} << 16);
    for (unsigned s = 0; s < 2; ++s) {
        h(static_cast<unsigned>(l.ends[s]) | l.quiescing[s] << 4 | l.nop[s] << 5 | l.blind[s] << 6 |
          l.by_error[s] << 7 | l.wedged[s] << 8 | l.connecting[s] << 9);
        const pipe &p = l.from[s];
        h(p.sent | p.applied << 8 | p.wire.size() << 16 | p.posted.size() << 24 |
          p.receive_cq.size() << 32);
        for (const packet &x : p.wire) {
            fold_packet(h, x);
        }
        for (const packet &x : p.receive_cq) {
            fold_packet(h, x);
        }
        for (const record &r : p.posted) {
            h(r.op | r.part << 8 | r.from << 16 | r.start << 24 | r.number << 32);
        }
    }
}

} // namespace

std::pair<std::uint64_t, std::uint64_t> world::hash() const
{
    hasher h;
    h(faults_left_ | messages_left_ << 8 | cut_[0][0] << 16 | cut_[0][1] << 17 | cut_[1][0] << 18 |
      cut_[1][1] << 19);
    for (const side_state &s : sides_) {
        s.peer.fold(h);
        for (const auto &[id, r] : s.peer.book().records()) {
            h(now_ - r.sent_at < core::seal_book::echo_gap_ns);
        }
        for (const auto &t : s.timers) {
            h(static_cast<unsigned>(t.first.kind) | t.first.rail << 8 | t.first.ep << 16 |
              t.first.id << 24);
        }
        for (const ep_side &e : s.eps) {
            for (const inbox_entry &m : e.inbox) {
                h(m.first | m.held << 16 | m.skip << 24);
            }
            h(e.handled_next | e.lane_errors[0] << 16 | e.lane_errors[1] << 20);
            h(e.error | e.closed << 1 | e.closing << 2 | e.flush.has_value() << 3);
        }
        for (unsigned r = 0; r < 2; ++r) {
            h(s.dead_device[r] | s.probe_wanted[r] << 1 | s.idle_wanted[r] << 10 |
              s.blamed[r] << 12 | s.drained[r] << 20);
        }
        h(s.killed | s.disowned << 1);
    }
    for (const link &l : links_) {
        fold_link(h, l);
    }
    for (const message &m : net_) {
        h(m.to);
        for (const char c : m.key) {
            h(static_cast<unsigned char>(c));
        }
    }
    for (const op_watch &w : ops_) {
        h(w.state.fragments_left() | w.state.is_claimed() << 8 | w.unposted << 9 | w.data << 10 |
          w.consumed << 11 | w.memory_final << 12 | w.blind << 13 | w.wanted_end << 14 |
          w.handled << 16 | w.final_parts << 20 | w.applied[0] << 24);
        h(w.applied[1]);
    }
    return {h.a, h.b};
}

core::epoch_t world::highest_epoch() const
{
    core::epoch_t highest = 0;
    for (const link &l : links_) {
        highest = std::max(highest, l.ref.epoch);
    }
    return highest;
}

} // namespace ufx::explore

// SPDX-License-Identifier: BSD-3-Clause
// The promises that no interleaving may break (rows X of the requirements), and the state's hash.
//
//   X01 X02 X10  every AM is handled once, in order, and complete
//   X03 X07      nothing is written for an op that ended and whose memory is final
//   X18          a GET ends OK only with its data
//   X19          a byte that landed is not written again (but under BLIND)
//   X20          an AM that ends early does not block those behind it
//   X22          a rail drains only if something was wrong with the rail
//   X23 X24      see settle(): from everywhere all ends well
//   X25          a notify runs after its PUTs, and they are not written again after it
//   X11          an ep's error comes after its lanes are quiet
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
    if (sides_[1 - plan_->ops[op].side].ep_error) {
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
    const bool peer_lives = lives(1 - side);
    if (a.status == UFX_OK && plan.kind == plan_kind::PUT) {
        for (unsigned i = 0; i < plan.parts; ++i) {
            if (watch.applied[i] == 0 && peer_lives) {
                fail(name + ": OK though it has not landed");
            }
        }
    }
    if (a.status == UFX_OK && plan.kind == plan_kind::GET && !watch.data) {
        fail(name + ": OK though its data did not come back");
    }
    if (a.status == UFX_OK && plan.kind == plan_kind::AM && peer_lives &&
        !ep_of(1 - side)->rx().window().covers(watch.first + a.part)) {
        fail(name + ": OK though the peer's window does not cover it");
    }
    if (!locally_quiet(side, op, static_cast<unsigned>(a.part))) {
        fail(name + ": ends while the local device may still use its buffer");
    }
    const bool ep_ends = ep_of(side)->state() != core::ep::life::ALIVE;
    bool excused = watch.wanted_end || ep_ends || watch.open || (plan.polled && watch.blind);
    for (unsigned other = 0; other < ops_.size(); ++other) { // a notify whose PUT failed
        excused = excused || (plan.group != 0 && plan_->ops[other].group == plan.group &&
                              ops_[other].state.status() != UFX_OK);
    }
    if (a.status != UFX_OK && !excused) {
        fail(name + ": ends with an error that nothing justifies");
    }
    if (watch.state.fragment_final(a.status, a.why, a.remote_final)) {
        watch.memory_final =
            watch.state.remote_final() && watch.state.status() != UFX_ERR_UNREACHABLE;
    }
}

void world::handle(unsigned side, const inbox_entry &m, bool ended)
{
    op_watch &watch = ops_[m.op];
    const std::string name = "op " + std::to_string(m.op);
    if (m.number < sides_[side].handled_next) {
        fail(name + ": handled twice or out of order");
    }
    if (ended || core::mutated(core::mutant::BYTE_COUNT_REASSEMBLY)) {
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

std::string world::unfinished() const
{
    for (unsigned op = 0; op < ops_.size(); ++op) {
        const op_plan &plan = plan_->ops[op];
        if (sides_[plan.side].killed) {
            continue;
        }
        if (!ops_[op].state.is_complete()) {
            return "op " + std::to_string(op) + " never ends";
        }
        if (plan.kind == plan_kind::AM && ops_[op].state.status() == UFX_OK &&
            ops_[op].handled == 0 && lives(1 - plan.side)) {
            return "op " + std::to_string(op) + ": OK and never handled";
        }
    }
    for (unsigned side = 0; side < 2; ++side) {
        const side_state &s = sides_[side];
        if (s.killed) {
            continue;
        }
        if (!s.peer.book().empty()) {
            return "a seal record is never released";
        }
        if (s.closing && !s.ep_closed) {
            return "a close never ends";
        }
        if (s.disowned || !lives(1 - side)) {
            continue; // its ops have ended; it may still believe in a peer that forgot it
        }
        if (sides_[1 - side].closing || s.closing) {
            if (ep_of(side)->state() != core::ep::life::DEAD) {
                return "the ep never dies";
            }
            continue;
        }
        for (std::uint8_t rail = 0; rail < plan_->rails; ++rail) {
            if (s.peer.find_rail(rail)->state() != core::rail_state::UP) {
                return "rail " + std::to_string(rail) + " never comes UP again";
            }
            const core::lane_slot *a = ep_of(side)->lane(rail);
            const core::lane_slot *b = ep_of(1 - side)->lane(rail);
            if (!a->is_live() || a->epoch() != b->epoch()) {
                return "a lane of rail " + std::to_string(rail) + " is never rebuilt";
            }
        }
    }
    return "";
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
        (*this)(m.lane.epoch);
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
    h(l.rail | l.probe << 8 | l.epoch << 16);
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
        for (const auto &t : s.timers) {
            h(static_cast<unsigned>(t.first.kind) | t.first.rail << 8 | t.first.ep << 16 |
              t.first.id << 24);
        }
        for (const inbox_entry &m : s.inbox) {
            h(m.number | m.skip << 16);
        }
        h(s.handled_next | s.ended_message << 16);
        for (unsigned r = 0; r < 2; ++r) {
            h(s.dead_device[r] | s.probe_wanted[r] << 1 | s.idle_wanted[r] << 10 |
              s.blamed[r] << 12 | s.lane_errors[r] << 13 | s.drained[r] << 20);
        }
        h(s.ep_error | s.ep_closed << 1 | s.closing << 2 | s.killed << 3 | s.disowned << 4);
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
        highest = std::max(highest, l.epoch);
    }
    return highest;
}

} // namespace ufx::explore

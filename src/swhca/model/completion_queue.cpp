// SPDX-License-Identifier: BSD-3-Clause
// The doorbell record of a CQ: word 0 is the consumer index, word 1 the arm word, both big-endian;
// bit 24 of the arm word asks for solicited completions only, its low 24 bits are the index.
#include "completion_queue.h"

#include "events.h"

#include "swhca/fabric/liveness.h"
#include "swhca/fabric/repair.h"
#include "swhca/fabric/wakeup.h"
#include "swhca/faults/faults.h"
#include "ucs/bytes.h"

#include <algorithm>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

namespace ufx::swhca {

namespace {

constexpr uint32_t index_mask = 0xffffff;
constexpr uint32_t arm_solicited_bit = 1u << 24;

uint32_t owner_of(core &world, const cq &one) noexcept
{
    return world.shared.contexts[one.context].process;
}

bool read_word(core &world, const cq &one, uint32_t word, uint32_t &out) noexcept
{
    uint32_t raw = 0;
    if (!world.memory.read(owner_of(world, one), one.doorbell + word * sizeof(raw), &raw,
                           sizeof(raw))) {
        return false;
    }
    out = ucs::load_be<uint32_t>(&raw);
    return true;
}

bool has_room(core &world, cq &one) noexcept
{
    uint32_t size = 1u << one.log_size;
    if (one.ignore_overrun || one.produced - one.consumed < size) {
        return true;
    }
    uint32_t index = 0;
    if (!read_word(world, one, cq_consumer_word, index)) {
        return false;
    }
    one.consumed = one.produced - ((one.produced - index) & index_mask);
    return one.produced - one.consumed < size;
}

// Whether the program has armed since the last look.
void look_at_arm(core &world, cq &one) noexcept
{
    uint32_t word = 0;
    if (one.channel == no_index || !read_word(world, one, cq_arm_word, word) ||
        word == one.arm_seen) {
        return;
    }
    one.armed_at = one.produced - ((one.produced - word) & index_mask);
    one.armed_solicited = (word & arm_solicited_bit) != 0;
    one.armed = true;
    in_this_order(); // else who is killed between takes the wish with him
    one.arm_seen = word;
}

void notify(core &world, cq &one) noexcept
{
    raise_completion_event(world, one);
    in_this_order(); // rather an event too many
    one.armed = false;
    one.unreported = 0;
    one.event_due_ns = 0;
}

// The event that is due for `count` completions more comes now, or waits.
void report(core &world, cq &one, uint32_t count) noexcept
{
    if (one.moderation.period_us == 0) {
        notify(world, one);
        return;
    }
    one.unreported += count;
    if (one.moderation.count != 0 && one.unreported >= one.moderation.count) {
        notify(world, one);
    } else if (one.event_due_ns == 0) {
        constexpr uint64_t ns_per_us = 1000;
        world.shared.moderated.add(static_cast<uint32_t>(&one - world.shared.cqs));
        in_this_order();
        one.event_due_ns = world.now_ns + one.moderation.period_us * ns_per_us;
        wake_process(world.shared, owner_of(world, one)); // this one may not live so long
    }
}

void fail_later(core &world, qp &one) noexcept
{
    if (one.state != IBV_QPS_RESET && one.state != IBV_QPS_ERR) {
        one.cq_failed = true;
        world.shared.pending.add(world.index_of(one));
    }
}

void overrun(core &world, cq &one) noexcept
{
    auto index = static_cast<uint32_t>(&one - world.shared.cqs);
    raise_cq_event(world, one, IBV_EVENT_CQ_ERR);
    for (qp &user : used_qps(world.shared)) {
        if (user.in_use && (user.send_cq == index || user.recv_cq == index)) {
            fail_later(world, user);
        }
    }
    in_this_order(); // rather an event too many than a QP that goes on
    one.overrun = true;
}

void keep(core &world, uint32_t cq_index, uint64_t due_ns, const completion &what) noexcept;

// The memory of the program could not be written. If it lives, one of its own engines writes.
void leave_to_owner(core &world, const cq &one, const completion &what) noexcept
{
    uint32_t owner = owner_of(world, one);
    if (!world.memory.reaches(owner) && lives(world.shared.processes[owner]) &&
        world.shared.held_cqe_count < max_held_cqes) {
        keep(world, static_cast<uint32_t>(&one - world.shared.cqs), 0, what);
        wake_process(world.shared, owner);
    }
}

void write_cqe(core &world, cq &one, const completion &what) noexcept
{
    if (one.overrun || world.shared.contexts[one.context].dead) {
        return;
    }
    if (!has_room(world, one)) {
        if (world.memory.reaches(owner_of(world, one))) {
            overrun(world, one);
        } else {
            leave_to_owner(world, one, what);
        }
        return;
    }
    uint32_t slot = one.produced & ((1u << one.log_size) - 1);
    uint64_t va =
        one.buffer + static_cast<uint64_t>(slot) * one.cqe_bytes + (one.cqe_bytes - cqe_bytes);
    cqe_image image = encode(what, (one.produced >> one.log_size & 1) != 0, one.cqe_bytes);
    if (what.inlined.bytes > 0 && one.cqe_bytes > cqe_bytes &&
        !world.memory.write(owner_of(world, one), va - cqe_bytes, what.inlined.data.data(),
                            what.inlined.data.size())) {
        return;
    }
    if (!world.memory.write(owner_of(world, one), va, image.data(), image.size())) {
        leave_to_owner(world, one, what);
        return;
    }
    one.produced++;
    bool error = is_error(what.opcode);
    if (what.solicited || error) {
        one.solicited_at = one.produced;
    }
    look_at_arm(world, one);
    if (one.armed && (!one.armed_solicited || what.solicited || error)) {
        report(world, one, 1);
    }
}

void keep(core &world, uint32_t cq_index, uint64_t due_ns, const completion &what) noexcept
{
    image &shared = world.shared;
    if (shared.held_cqe_count == max_held_cqes) {
        write_cqe(world, shared.cqs[cq_index], what);
        return;
    }
    shared.held_cqes[shared.held_cqe_count] = {cq_index, due_ns, what};
    in_this_order();
    shared.held_cqe_count++;
}

void make_error(completion &what, uint8_t syndrome) noexcept
{
    what.opcode = is_of_request(what.opcode) ? MLX5_CQE_REQ_ERR : MLX5_CQE_RESP_ERR;
    what.syndrome = syndrome;
}

void intend(core &world, qp &one, uint32_t cq_index, const completion &what) noexcept
{
    completing_cqe &to = one.completing;
    to.known = false;
    in_this_order();
    to.cq = cq_index;
    to.produced = world.shared.cqs[cq_index].produced;
    to.of_send = what.opcode == MLX5_CQE_REQ || what.opcode == MLX5_CQE_REQ_ERR;
    to.head = one.req.head;
    to.fetched = one.req.fetched;
    to.taken = one.resp.taken;
    to.what = what;
    in_this_order();
    to.known = true;
    in_this_order();
}

// CQEs of a queue stay in order: one behind a CQE that is kept back waits too.
bool waits(const image &shared, uint32_t cq_index) noexcept
{
    for (uint32_t i = 0; i < shared.held_cqe_count; i++) {
        if (shared.held_cqes[i].cq == cq_index) {
            return true;
        }
    }
    return shared.cqs[cq_index].stalled;
}

} // namespace

void complete(core &world, qp &one, uint32_t cq_index, completion what) noexcept
{
    uint64_t due_ns = 0;
    bool twice = false;
    if (one.cqe_failed && !is_error(what.opcode)) {
        make_error(what, MLX5_CQE_SYNDROME_WR_FLUSH_ERR); // behind one that failed
    }
    if (world.shared.rule_count > 0) {
        const fault_rule *rule = match_completion(world, one, what);
        if (rule != nullptr && rule->action == fault_action::ERROR_CQE) {
            make_error(what, static_cast<uint8_t>(rule->param));
            one.cqe_failed = one.state != IBV_QPS_ERR;
            world.shared.pending.add(world.index_of(one));
        }
        twice = rule != nullptr && rule->action == fault_action::DUPLICATE_CQE;
        if (rule != nullptr && rule->action == fault_action::HOLD_CQE) {
            due_ns = world.now_ns + rule->param;
        }
    }
    if (what.inlined.bytes > 0) {
        one.counters.inlined++;
        world.hca_of(one).counters.inlined++;
    }
    intend(world, one, cq_index, what);
    for (int copies = twice ? 2 : 1; copies > 0; copies--) {
        if (due_ns != 0 || waits(world.shared, cq_index)) {
            keep(world, cq_index, due_ns, what);
        } else {
            write_cqe(world, world.shared.cqs[cq_index], what);
        }
    }
    if (world.shared.cqs[cq_index].overrun) {
        fail_later(world, one);
    }
}

void check_arm(core &world, cq &one) noexcept
{
    look_at_arm(world, one);
    uint32_t newest = one.armed_solicited ? one.solicited_at : one.produced;
    auto before = static_cast<int32_t>(newest - one.armed_at); // completions that were there
    if (one.armed && one.event_due_ns == 0 && before > 0) {
        report(world, one, static_cast<uint32_t>(before));
    }
}

uint64_t raise_waiting_events(core &world) noexcept
{
    uint64_t next_ns = UINT64_MAX;
    shared_bitmap<max_cqs> &waiting = world.shared.moderated;
    for (uint32_t i = waiting.next(0); i != waiting.none; i = waiting.next(i + 1)) {
        cq &one = world.shared.cqs[i];
        if (one.in_use && one.event_due_ns > world.now_ns) {
            next_ns = std::min(next_ns, one.event_due_ns);
            continue;
        }
        if (one.in_use && one.event_due_ns != 0) {
            notify(world, one);
        }
        waiting.remove(i);
    }
    return next_ns;
}

void write_held_cqes(core &world, const qp &of) noexcept
{
    image &shared = world.shared;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < shared.held_cqe_count; i++) {
        held_cqe one = shared.held_cqes[i];
        if ((one.cq == of.send_cq || one.cq == of.recv_cq) && one.what.qpn == of.qpn) {
            write_cqe(world, shared.cqs[one.cq], one.what);
        } else {
            shared.held_cqes[kept++] = one;
        }
    }
    shared.held_cqe_count = kept;
}

uint64_t release_held_cqes(core &world) noexcept
{
    image &shared = world.shared;
    uint64_t next_ns = UINT64_MAX;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < shared.held_cqe_count; i++) {
        held_cqe one = shared.held_cqes[i];
        bool behind = false;
        for (uint32_t k = 0; k < kept; k++) {
            behind = behind || shared.held_cqes[k].cq == one.cq;
        }
        bool closed = !world.memory.reaches(owner_of(world, shared.cqs[one.cq]));
        if (shared.cqs[one.cq].stalled || behind || closed || one.due_ns > world.now_ns) {
            if (!shared.cqs[one.cq].stalled && !behind && !closed && one.due_ns < next_ns) {
                next_ns = one.due_ns;
            }
            shared.held_cqes[kept++] = one;
        } else {
            write_cqe(world, shared.cqs[one.cq], one.what);
        }
    }
    shared.held_cqe_count = kept;
    return next_ns;
}

void forget_held_cqes(core &world, uint32_t cq_index) noexcept
{
    image &shared = world.shared;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < shared.held_cqe_count; i++) {
        if (shared.held_cqes[i].cq != cq_index) {
            shared.held_cqes[kept++] = shared.held_cqes[i];
        }
    }
    shared.held_cqe_count = kept;
}

} // namespace ufx::swhca

// SPDX-License-Identifier: BSD-3-Clause
// A completion is three steps: the CQE is written, the CQ counts it, and the QP moves on.
// `completing` says what the first was to be, and where the QP was. A CQ of which a CQE is not
// counted takes no other one before it is: engine::mend_torn() has an eye on that. The rest of what
// a QP knows is put in order by the protocol itself: the requester goes back to the oldest packet
// without an answer, and the responder to the packet that it did not count.
#include "settle.h"

#include "swhca/fabric/repair.h"
#include "swhca/fabric/wakeup.h"
#include "swhca/model/payload.h"
#include "swhca/model/queue_pair.h"
#include "swhca/model/receive_queue.h"
#include "swhca/model/responder_reads.h"
#include "swhca/model/send_queue.h"
#include "swhca/model/send_ring.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <infiniband/verbs.h>

namespace ufx::swhca {

namespace {

// Whether the CQE is in the program's memory; the CQ has counted it then.
bool has_landed(core &world, const completing_cqe &what) noexcept
{
    cq &one = world.shared.cqs[what.cq];
    if (!one.in_use || one.produced != what.produced) {
        return one.in_use;
    }
    constexpr size_t tail_bytes = 8; // opcode, QPN, counter, owner
    cqe_image wanted = encode(what.what, (what.produced >> one.log_size & 1) != 0, one.cqe_bytes);
    std::array<std::byte, tail_bytes> found{};
    uint64_t end =
        one.buffer + (uint64_t{what.produced & ((1u << one.log_size) - 1)} + 1) * one.cqe_bytes;
    uint32_t owner = world.shared.contexts[one.context].process;
    if (!world.memory.read(owner, end - tail_bytes, found.data(), tail_bytes) ||
        std::memcmp(found.data(), wanted.data() + wanted.size() - tail_bytes, tail_bytes) != 0) {
        return false;
    }
    one.produced++;
    one.solicited_at = one.produced; // rather an event too many
    return true;
}

// Whether the CQE is the last of those that are kept back.
bool is_kept(const image &shared, const completing_cqe &what) noexcept
{
    for (uint32_t i = shared.held_cqe_count; i > 0; i--) {
        const held_cqe &each = shared.held_cqes[i - 1];
        if (each.cq == what.cq) {
            return each.what.qpn == what.what.qpn && each.what.opcode == what.what.opcode &&
                   each.what.wqe_counter == what.what.wqe_counter;
        }
    }
    return false;
}

void skip_posted(core &world, qp &one) noexcept
{
    fetched_wqe done;
    (void)fetch_wqe(world, one, one.req.fetched, done);
    auto posted = static_cast<uint16_t>(one.sq_doorbell.load(std::memory_order_acquire));
    uint32_t left = static_cast<uint16_t>(posted - one.req.fetched);
    one.req.fetched = static_cast<uint16_t>(one.req.fetched + std::min(done.blocks, left));
}

void skip_sent(core &world, qp &one) noexcept
{
    requester_state &req = one.req;
    if (req.head == req.tail) {
        skip_posted(world, one);
        return;
    }
    req.head++;
    req.next = std::max(req.next, req.head);
}

// What the last completion of a QP says.
struct last_step {
    bool received; // the receive that is held is complete
    bool failed;   // by an error, which the QP does not survive
};

last_step settle_completion(core &world, uint32_t qp_index) noexcept
{
    qp &one = world.shared.qps[qp_index];
    const completing_cqe &what = one.completing;
    if (!what.known || !(has_landed(world, what) || is_kept(world.shared, what))) {
        return {};
    }
    if (what.of_send && one.req.head == what.head && one.req.fetched == what.fetched) {
        skip_sent(world, one);
    }
    bool received = !what.of_send && one.resp.taken == what.taken && one.resp.receive.held;
    bool fatal = one.type == IBV_QPT_RC || what.of_send;
    return {received, is_error(what.what.opcode) && fatal};
}

bool refuses_for_good(const responder_state &resp) noexcept
{
    return resp.nak_pending && is_nak(resp.nak_syndrome) && resp.nak_syndrome != AETH_NAK_SEQUENCE;
}

// An atomic that is remembered is finished, if it was not done yet.
void finish_atomic(core &world, qp &one, const resource &slot) noexcept
{
    const mr *region = find_region(world, one.hca, one.pd, slot.rkey, slot.va, slot.length,
                                   IBV_ACCESS_REMOTE_ATOMIC);
    if (region == nullptr) {
        return;
    }
    memory_piece place = locate(world, *region, slot.va, slot.length);
    uint64_t now = 0;
    if (world.memory.read(place.process, place.va, &now, slot.length) && now == slot.found) {
        (void)world.memory.write(place.process, place.va, &slot.left, slot.length);
    }
}

// The packet that was being taken is counted if its message is complete or its atomic remembered;
// else all is as it was before, and the packet comes again.
void settle_responder(core &world, qp &one, bool completed) noexcept
{
    responder_state &resp = one.resp;
    const responder_place &before = resp.before;
    if (refuses_for_good(resp)) {
        resp.nak_pending = false; // it did not fail: what was refused is refused again
    }
    for (resource &each : resp.resources) {
        each.repeated = each.pending; // it may have been answered
    }
    if (resp.expected_psn != before.psn) {
        resp.receive.held = resp.receive.held && !completed;
        return;
    }
    bool atomic = false;
    if (resp.resource_tail != before.resource_tail) {
        resource &slot = newest_resource(one);
        atomic = slot.atomic;
        if (atomic) {
            finish_atomic(world, one, slot);
        } else {
            slot.in_use = false;
            resp.resource_tail = before.resource_tail;
        }
    }
    if (completed || atomic) {
        resp.in_message = resp.nak_sent = resp.nak_pending = false;
        resp.ack_pending = resp.ack_pending || completed;
        in_this_order();
        resp.expected_psn = psn_add(before.psn, before.packets);
        in_this_order();
        resp.receive.held = resp.receive.held && !completed;
        return;
    }
    resp.in_message = before.in_message;
    resp.message_kind = before.message_kind;
    resp.write_va = before.write_va;
    resp.write_rkey = before.write_rkey;
    resp.write_left = before.write_left;
    resp.receive.offset = before.offset;
}

// What has no answer is sent again: a responder knows a duplicate.
void settle_requester(core &world, qp &one) noexcept
{
    requester_state &req = one.req;
    if (req.head != req.tail) {
        const sent_wqe &last = at(one, req.tail - 1);
        req.next_psn = psn_add(last.psn, last.packets);
    }
    req.next = req.head;
    for (; req.next != req.tail; req.next++) {
        const sent_wqe &entry = at(one, req.next);
        uint32_t received = psn_add(entry.psn, entry.received);
        if (entry.read_like && psn_diff(received, req.unacked_psn) > 0) {
            req.unacked_psn = received;
        }
        if (entry.syndrome != 0 ||
            psn_diff(req.unacked_psn, psn_add(entry.psn, entry.packets)) < 0) {
            break;
        }
    }
    req.next_packet = 0;
    if (req.next != req.tail && !at(one, req.next).read_like) {
        int32_t done = psn_diff(req.unacked_psn, at(one, req.next).psn);
        req.next_packet = static_cast<uint32_t>(std::max(done, 0));
    }
    req.reads = 0;
    req.implied_nak = false;
    req.ack_deadline_ns = 0; // what is sent again starts it
    retire(world, one);
}

void settle_connection(core &world, qp &one, last_step last) noexcept
{
    bool receives =
        one.state == IBV_QPS_RTR || one.state == IBV_QPS_RTS || one.state == IBV_QPS_SQD;
    if (receives && !last.failed) {
        settle_responder(world, one, last.received);
        settle_requester(world, one);
    } else if (receives || one.state == IBV_QPS_ERR) { // to the end
        one.resp.receive.held = one.resp.receive.held && !last.received;
        enter_error(world, one);
        one.resp.closing = refuses_for_good(one.resp);
    }
}

void settle_datagrams(core &world, qp &one, last_step last) noexcept
{
    one.resp.receive.held = one.resp.receive.held && !last.received;
    one.resp.receive.offset = 0;
    if (one.state == IBV_QPS_ERR) {
        enter_error(world, one);
    } else if (one.state == IBV_QPS_RTS && last.failed) {
        one.state = IBV_QPS_SQE;
    }
}

} // namespace

bool is_completing(const image &shared, const qp &one) noexcept
{
    const completing_cqe &what = one.completing;
    return what.known && shared.cqs[what.cq].produced == what.produced;
}

void settle_torn(core &world, uint32_t qp_index) noexcept
{
    qp &one = world.shared.qps[qp_index];
    requester_state &req = one.req;
    if (req.tail - req.head > max_outstanding) {
        req.head = req.tail;
    }
    if (req.head != req.tail && at(one, req.tail - 1).index == req.fetched) {
        skip_posted(world, one);
    }
    settle_receive(world, one);
    last_step last = settle_completion(world, qp_index);
    if (one.type == IBV_QPT_RC) {
        settle_connection(world, one, last);
    } else {
        settle_datagrams(world, one, last);
    }
    world.shared.pending.add(qp_index);
    wake_process(world.shared, one.process); // it may be armed for what has landed
}

} // namespace ufx::swhca

// SPDX-License-Identifier: BSD-3-Clause
// Receiving requests in the order of their PSNs. A packet is
//     expected: checked, carried out, counted; its acknowledgement becomes pending
//     ahead:    dropped; the first one makes a sequence NAK pending
//     behind:   a duplicate; acknowledged again, or answered again from the resources
// Nothing is sent from here: run_responder() does, so that acknowledgements of a run are one. A QP
// that refuses for good is in ERR at once, and `closing` until its answers and its NAK are out.
#include "responder.h"

#include "completion_queue.h"
#include "events.h"
#include "queue_pair.h"
#include "receive_queue.h"

#include "swhca/engine/link.h"
#include "swhca/fabric/repair.h"
#include "ucs/bytes.h"

#include <algorithm>
#include <infiniband/mlx5dv.h>

namespace ufx::swhca {

namespace {

void wake(core &world, const qp &one) noexcept
{
    world.shared.pending.add(world.index_of(one));
}

void refuse(core &world, qp &one, uint32_t psn, uint8_t syndrome) noexcept
{
    if (!world.memory.reaches(one.process)) {
        return; // a host that is dead answers nothing
    }
    responder_state &resp = one.resp;
    int32_t behind = psn_diff(psn, resp.nak_psn);
    if (resp.nak_pending && (behind > 0 || (behind == 0 && syndrome == resp.nak_syndrome))) {
        return; // what comes first is refused first
    }
    resp.nak_pending = false;
    in_this_order();
    resp.nak_psn = psn;
    resp.nak_syndrome = syndrome;
    in_this_order();
    resp.nak_pending = true;
    wake(world, one);
}

// What follows is dropped, so the NAK must be due.
void refuse_once(core &world, qp &one, uint32_t psn, uint8_t syndrome) noexcept
{
    refuse(world, one, psn, syndrome);
    in_this_order();
    one.resp.nak_sent = true;
}

// There is no receive: the request may come again. Till then what follows it is dropped.
void refuse_not_ready(core &world, qp &one, const packet &what) noexcept
{
    refuse_once(world, one, what.psn,
                static_cast<uint8_t>(AETH_RNR_NAK | (one.attr.min_rnr_timer & 0x1f)));
}

// Refuses for good.
void fail(core &world, qp &one, uint32_t psn, uint8_t syndrome, uint32_t event) noexcept
{
    if (!world.memory.reaches(one.process)) {
        return;
    }
    refuse(world, one, psn, syndrome);
    if (event != 0 && one.state != IBV_QPS_ERR) {
        raise_qp_event(world, one, event);
    }
    enter_error(world, one);
    one.resp.closing = true;
}

void fail_invalid(core &world, qp &one, uint32_t psn) noexcept
{
    fail(world, one, psn, AETH_NAK_INVALID_REQUEST, IBV_EVENT_QP_REQ_ERR);
}

void fail_access(core &world, qp &one, uint32_t psn) noexcept
{
    fail(world, one, psn, AETH_NAK_REMOTE_ACCESS, IBV_EVENT_QP_ACCESS_ERR);
}

// Whether the QP grants `right`, and the key grants it for the whole range (IBA 1.4, 11.6.2). If
// not, the QP has failed.
bool is_granted(core &world, qp &one, const packet &what, uint32_t length, uint32_t right) noexcept
{
    if ((remote_rights(one) & right) == 0) {
        fail_invalid(world, one, what.psn);
        return false;
    }
    if (length > 0 &&
        find_region(world, one.hca, one.pd, what.rkey, what.va, length, right) == nullptr) {
        fail_access(world, one, what.psn);
        return false;
    }
    return true;
}

// The PSN is last: a packet that is not counted comes again, one that is counted is owed an answer.
void accept(core &world, qp &one, const packet &what, uint32_t psns) noexcept
{
    responder_state &resp = one.resp;
    resp.nak_sent = resp.nak_pending = false;
    if (what.ack_request) {
        resp.ack_pending = true;
        wake(world, one);
    }
    in_this_order();
    resp.expected_psn = psn_add(resp.expected_psn, psns);
    in_this_order();
}

void write_receive_cqe(core &world, qp &one, const packet &what, uint8_t opcode, uint32_t bytes,
                       uint8_t syndrome, const inline_payload &with = {}) noexcept
{
    completion done{};
    done.inlined = with;
    done.opcode = syndrome == 0 ? opcode : static_cast<uint8_t>(MLX5_CQE_RESP_ERR);
    done.syndrome = syndrome;
    done.solicited = what.solicited;
    done.wqe_counter = one.resp.receive.counter;
    done.qpn = one.qpn;
    done.uidx = one.uidx;
    done.byte_count = bytes;
    done.imm = what.imm;
    done.timestamp = world.now_ns;
    complete(world, one, one.recv_cq, done);
}

void note_place(qp &one, const packet &what) noexcept
{
    responder_state &resp = one.resp;
    uint32_t offset = resp.receive.held ? resp.receive.offset : 0;
    resp.before.psn = psn_mask + 1; // none
    in_this_order();
    resp.before = {psn_mask + 1,      what.packets,  resp.in_message,
                   resp.message_kind, resp.write_va, resp.write_rkey,
                   resp.write_left,   offset,        resp.resource_tail};
    in_this_order();
    resp.before.psn = resp.expected_psn;
    in_this_order();
}

// Completes a message, and counts its last packet: in this order, so that settle_torn() can do the
// latter.
void complete_message(core &world, qp &one, const packet &what, uint8_t opcode, uint32_t bytes,
                      const inline_payload &with = {}) noexcept
{
    write_receive_cqe(world, one, what, opcode, bytes, 0, with);
    in_this_order();
    accept(world, one, what, what.packets);
    in_this_order();
    one.resp.receive.held = false;
}

// A message is one FIRST, then MIDDLEs of the same kind, then one LAST.
bool in_sequence(const responder_state &resp, const packet &what) noexcept
{
    if (what.kind != packet_kind::SEND && what.kind != packet_kind::WRITE) {
        return !resp.in_message;
    }
    return what.first ? !resp.in_message : resp.in_message && resp.message_kind == what.kind;
}

// Every packet but the last of a message is as long as the path's MTU says, which both sides must
// have set alike (IBA 1.4, 9.7.5.2.8).
bool has_right_size(const qp &one, const packet &what) noexcept
{
    if (what.kind != packet_kind::SEND && what.kind != packet_kind::WRITE) {
        return true;
    }
    uint32_t mtu = mtu_bytes(one.attr.mtu);
    return packets_of(what.length, mtu) == what.packets &&
           (what.last || what.length == what.packets * mtu);
}

void receive_send(core &world, qp &one, const packet &what, const payload &data) noexcept
{
    if (!take_receive(world, one)) {
        refuse_not_ready(world, one, what);
        return;
    }
    inline_payload inlined{};
    bool small = what.first && what.last && what.length > 0 && what.length <= one.inline_receives;
    uint8_t syndrome = small ? receive_in_cqe(world, one, data, what.length, inlined)
                             : scatter_receive(world, one, data, what.length);
    if (syndrome != 0 && is_severed(world, one.process, data)) {
        return;
    }
    if (syndrome == MLX5_CQE_SYNDROME_LOCAL_PROT_ERR && !is_readable(world, data, what.length)) {
        one.resp.receive.offset = one.resp.before.offset;
        world.source_failed = true;
        return;
    }
    if (syndrome != 0) {
        uint8_t answer = syndrome == MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR ? AETH_NAK_INVALID_REQUEST
                                                                        : AETH_NAK_REMOTE_OPERATION;
        refuse(world, one, what.psn, answer); // first: after this CQE the packet is not looked at
        write_receive_cqe(world, one, what, MLX5_CQE_RESP_SEND, 0, syndrome);
        one.resp.receive.held = false;
        fail(world, one, what.psn, answer, 0);
        return;
    }
    one.resp.in_message = !what.last;
    one.resp.message_kind = what.kind;
    if (what.last) {
        complete_message(world, one, what,
                         what.has_imm ? MLX5_CQE_RESP_SEND_IMM : MLX5_CQE_RESP_SEND,
                         one.resp.receive.offset, inlined);
    } else {
        accept(world, one, what, what.packets);
    }
}

void receive_write(core &world, qp &one, const packet &what, const payload &data) noexcept
{
    responder_state &resp = one.resp;
    if (what.first) {
        if (!is_granted(world, one, what, what.dma_length, IBV_ACCESS_REMOTE_WRITE)) {
            return;
        }
        resp.write_va = what.va;
        resp.write_rkey = what.rkey;
        resp.write_left = what.dma_length;
    }
    if (what.length > resp.write_left || (what.last && what.length != resp.write_left)) {
        fail_invalid(world, one, what.psn);
        return;
    }
    if (what.has_imm && !take_receive(world, one)) {
        refuse_not_ready(world, one, what);
        return;
    }
    if (what.length > 0) {
        const mr *region = find_region(world, one.hca, one.pd, resp.write_rkey, resp.write_va,
                                       what.length, IBV_ACCESS_REMOTE_WRITE);
        bool landed =
            region != nullptr &&
            copy_payload(world, data, 0, locate(world, *region, resp.write_va, what.length));
        if (!landed && is_severed(world, one.process, data)) {
            return;
        }
        if (!landed && !is_readable(world, data, what.length)) {
            world.source_failed = true;
            return;
        }
        if (!landed) {
            fail_access(world, one, what.psn);
            return;
        }
    }
    resp.in_message = !what.last;
    resp.message_kind = what.kind;
    resp.write_va += what.length;
    resp.write_left -= what.length;
    if (what.has_imm) {
        complete_message(world, one, what, MLX5_CQE_RESP_WR_IMM, what.dma_length);
    } else {
        accept(world, one, what, what.packets);
    }
}

uint32_t resource_limit(const qp &one) noexcept
{
    return std::min(rd_atomic_depth(one.attr.max_dest_rd_atomic), max_rd_atomic);
}

// One of the resources, the newest being of age 1.
resource &resource_of_age(qp &one, uint32_t age) noexcept
{
    uint32_t limit = resource_limit(one);
    return one.resp.resources[(one.resp.resource_tail + limit - age) % limit];
}

// The resource for the next read or atomic; it takes the place of the oldest. nullptr if that one
// has not been answered: the requester sends more than was agreed. One that is being answered again
// is given up, since a requester that goes on has had its answer.
resource *next_resource(qp &one) noexcept
{
    resource &slot = resource_of_age(one, resource_limit(one));
    if (slot.in_use && slot.pending && !slot.repeated) {
        return nullptr;
    }
    slot.atomic = false; // whoever finishes this does not take it for the new one
    in_this_order();
    one.resp.resource_tail++;
    in_this_order();
    slot = {};
    slot.in_use = slot.pending = true;
    return &slot;
}

void receive_read(core &world, qp &one, const packet &what) noexcept
{
    if (!is_granted(world, one, what, what.dma_length, IBV_ACCESS_REMOTE_READ)) {
        return;
    }
    resource *slot = next_resource(one);
    if (slot == nullptr) {
        fail_invalid(world, one, what.psn);
        return;
    }
    slot->psn = what.psn;
    slot->packets = packets_of(what.dma_length, mtu_bytes(one.attr.mtu));
    slot->rkey = what.rkey;
    slot->va = what.va;
    slot->length = what.dma_length;
    accept(world, one, what, slot->packets);
    one.resp.ack_pending = false; // the data is the answer
    wake(world, one);
}

// Fields are added each for itself: what a highest bit carries is lost.
uint64_t added(const atomic_operands &with, uint64_t old_value) noexcept
{
    uint64_t tops = with.boundary;
    return ((old_value & ~tops) + (with.swap_add & ~tops)) ^ ((old_value ^ with.swap_add) & tops);
}

uint64_t swapped(const atomic_operands &with, uint64_t old_value) noexcept
{
    bool same = ((old_value ^ with.compare) & with.compare_mask) == 0;
    return same ? (old_value & ~with.swap_mask) | (with.swap_add & with.swap_mask) : old_value;
}

// The lock of the image makes it atomic to every device; to the processor it is not, which is what
// IBV_ATOMIC_HCA says. The word is in the byte order of the host, and so comes back; but one of 4
// bytes comes back big-endian, as from a device whose driver has set its requests of 8 bytes to the
// order of the host.
void receive_atomic(core &world, qp &one, const packet &what) noexcept
{
    uint32_t bytes = what.atomic.bytes;
    if (what.va % bytes != 0) {
        fail_invalid(world, one, what.psn);
        return;
    }
    if (!is_granted(world, one, what, bytes, IBV_ACCESS_REMOTE_ATOMIC)) {
        return;
    }
    const mr *region =
        find_region(world, one.hca, one.pd, what.rkey, what.va, bytes, IBV_ACCESS_REMOTE_ATOMIC);
    memory_piece place = locate(world, *region, what.va, bytes);
    uint64_t old_value = 0; // x86: the first bytes are the low ones
    if (!world.memory.read(place.process, place.va, &old_value, bytes)) {
        fail_access(world, one, what.psn);
        return;
    }
    resource *slot = next_resource(one);
    if (slot == nullptr) {
        fail_invalid(world, one, what.psn);
        return;
    }
    uint64_t value = what.kind == packet_kind::ATOMIC_FA ? added(what.atomic, old_value)
                                                         : swapped(what.atomic, old_value);
    slot->psn = what.psn;
    slot->packets = 1;
    slot->rkey = what.rkey;
    slot->va = what.va;
    slot->length = bytes;
    slot->found = slot->old_value = old_value;
    slot->left = value;
    if (bytes == sizeof(uint32_t)) {
        ucs::store_be<uint32_t>(&slot->old_value, static_cast<uint32_t>(old_value));
    }
    in_this_order();
    slot->atomic = true;
    in_this_order(); // it is remembered, so that settle_torn() can tell whether it was done
    (void)world.memory.write(place.process, place.va, &value, bytes);
    in_this_order();
    accept(world, one, what, 1);
    one.resp.ack_pending = false;
    wake(world, one);
}

// A read may ask again for the rest of what it had, so its range replaces the old one. PSNs come
// again, so the newest resource is the one that is meant.
void receive_duplicate(core &world, qp &one, const packet &what) noexcept
{
    responder_state &resp = one.resp;
    one.counters.duplicates += what.packets;
    if (what.kind == packet_kind::SEND || what.kind == packet_kind::WRITE) {
        resp.ack_pending = true;
        wake(world, one);
        return;
    }
    for (uint32_t age = 1; age <= resource_limit(one); age++) {
        resource &slot = resource_of_age(one, age);
        int32_t into = psn_diff(what.psn, slot.psn);
        if (!slot.in_use || into < 0 || into >= static_cast<int32_t>(slot.packets) ||
            slot.atomic != (what.kind != packet_kind::READ_REQUEST)) {
            continue;
        }
        if (!slot.atomic) {
            slot.next = static_cast<uint32_t>(into);
        }
        slot.pending = slot.repeated = true;
        wake(world, one);
        return;
    }
}

// One run of packets of a read; false if the link has no room or the memory has gone.
bool send_read_data(core &world, qp &one, resource &slot, uint32_t dst_hca, packet &what) noexcept
{
    uint32_t mtu = mtu_bytes(one.attr.mtu);
    bool direct = link_is_direct(world, one.hca, dst_hca, one.attr.dest_qpn);
    uint64_t offset = static_cast<uint64_t>(slot.next) * mtu;
    what.kind = packet_kind::READ_RESPONSE;
    what.psn = psn_add(slot.psn, slot.next);
    what.packets = direct ? std::min(slot.packets - slot.next, burst_bytes / mtu) : 1;
    what.length = static_cast<uint32_t>(
        std::min<uint64_t>(slot.length - offset, static_cast<uint64_t>(what.packets) * mtu));
    what.first = slot.next == 0;
    what.last = slot.next + what.packets == slot.packets;
    payload data;
    if (what.length > 0) {
        const mr *region = find_region(world, one.hca, one.pd, slot.rkey, slot.va + offset,
                                       what.length, IBV_ACCESS_REMOTE_READ);
        if (region == nullptr) {
            return false;
        }
        memory_piece piece = locate(world, *region, slot.va + offset, what.length);
        data.add(piece.process, piece.va, piece.length);
    }
    if (!transmit(world, what, data)) {
        return false;
    }
    // Afterwards, and in this order: who is killed between sends twice, but nothing beyond the end.
    slot.pending = slot.next + what.packets < slot.packets;
    in_this_order();
    slot.next += what.packets;
    return true;
}

packet answer_headers(core &world, const qp &one, uint32_t dst_hca) noexcept
{
    packet what{};
    what.src_hca = one.hca;
    what.dst_hca = static_cast<uint8_t>(dst_hca);
    what.dst_qpn = one.attr.dest_qpn;
    what.src_qpn = one.qpn;
    what.packets = 1;
    what.last = true;
    world.shared.hcas[one.hca].counters.acks++;
    return what;
}

void send_ack(core &world, qp &one, uint32_t dst_hca) noexcept
{
    responder_state &resp = one.resp;
    if (resp.ack_pending) {
        packet what = answer_headers(world, one, dst_hca);
        what.kind = packet_kind::ACK;
        what.syndrome = AETH_ACK;
        what.psn = psn_add(resp.expected_psn, psn_mask); // the last one that was expected
        transmit(world, what, {});
        resp.ack_pending = false;
    }
    if (resp.nak_pending) {
        packet what = answer_headers(world, one, dst_hca);
        what.kind = packet_kind::ACK;
        what.syndrome = resp.nak_syndrome;
        what.psn = resp.nak_psn;
        hca &from = world.shared.hcas[one.hca];
        (is_rnr(what.syndrome) ? from.counters.rnrs : from.counters.naks)++;
        transmit(world, what, {});
        resp.nak_pending = resp.closing = false;
    }
}

// Memory has gone in the middle of a read: its rest, and all that follows, is refused.
void refuse_rest(core &world, qp &one, const resource &slot) noexcept
{
    one.resp.ack_pending = false;
    fail_access(world, one, psn_add(slot.psn, slot.next));
    in_this_order();
    for (resource &each : one.resp.resources) {
        each.pending = false;
    }
}

// Answers in the order of PSNs: data of reads and atomics first, then the acknowledgement of what
// came after them.
bool run_response(core &world, qp &one) noexcept
{
    uint32_t dst_hca = route(world.shared, one.attr.path);
    uint32_t sent = 0;
    for (uint32_t age = resource_limit(one); age > 0; age--) {
        resource &slot = resource_of_age(one, age);
        while (slot.in_use && slot.pending) {
            if (!link_has_room(world, one)) {
                return false;
            }
            if (sent++ == turn_packets) {
                return true;
            }
            packet what = answer_headers(world, one, dst_hca);
            if (slot.atomic) {
                what.kind = packet_kind::ATOMIC_RESPONSE;
                what.psn = slot.psn;
                what.length = slot.length;
                payload data;
                data.add(world.memory.self(), reinterpret_cast<uintptr_t>(&slot.old_value),
                         slot.length);
                transmit(world, what, data);
                slot.pending = false;
            } else if (!send_read_data(world, one, slot, dst_hca, what)) {
                refuse_rest(world, one, slot);
            }
        }
    }
    send_ack(world, one, dst_hca);
    return false;
}

} // namespace

resource &newest_resource(qp &one) noexcept
{
    return resource_of_age(one, 1);
}

void receive_request(core &world, qp &one, const packet &what, const payload &data) noexcept
{
    responder_state &resp = one.resp;
    bool receives =
        one.state == IBV_QPS_RTR || one.state == IBV_QPS_RTS || one.state == IBV_QPS_SQD;
    if (one.type != IBV_QPT_RC || !receives || route(world.shared, one.attr.path) != what.src_hca) {
        world.hca_of(one).counters.dropped += what.packets;
        return;
    }
    int32_t ahead = psn_diff(what.psn, resp.expected_psn);
    if (ahead > 0) {
        if (!resp.nak_sent) {
            refuse_once(world, one, resp.expected_psn, AETH_NAK_SEQUENCE);
        }
        return;
    }
    if (ahead < 0) {
        receive_duplicate(world, one, what);
        return;
    }
    note_place(one, what);
    if (!in_sequence(resp, what) || !has_right_size(one, what)) {
        fail_invalid(world, one, what.psn);
        return;
    }
    switch (what.kind) {
    case packet_kind::SEND:
        receive_send(world, one, what, data);
        break;
    case packet_kind::WRITE:
        receive_write(world, one, what, data);
        break;
    case packet_kind::READ_REQUEST:
        receive_read(world, one, what);
        break;
    default:
        receive_atomic(world, one, what);
        break;
    }
}

bool run_responder(core &world, qp &one) noexcept
{
    bool answers = one.state == IBV_QPS_RTR || one.state == IBV_QPS_RTS ||
                   one.state == IBV_QPS_SQD || one.resp.closing;
    return answers && run_response(world, one);
}

} // namespace ufx::swhca

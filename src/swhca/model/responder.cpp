// SPDX-License-Identifier: BSD-3-Clause
// Receiving requests in the order of their PSNs. A packet is
//     expected: checked, carried out, counted; its acknowledgement becomes pending
//     ahead:    dropped; the first one makes a sequence NAK pending
//     behind:   a duplicate; acknowledged again, or answered again from the resources
// Nothing is sent from here: run_responder() does, so that acknowledgements of a run are one. A QP
// that refuses for good is in ERR at once, and `closing` until its answers and its NAK are out.
#include "responder.h"

#include "completion_queue.h"
#include "queue_pair.h"
#include "receive_queue.h"
#include "responder_reads.h"
#include "responder_verdict.h"

#include "swhca/engine/link.h"
#include "swhca/fabric/repair.h"

#include <infiniband/mlx5dv.h>

namespace ufx::swhca {

namespace {

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

void receive_duplicate(core &world, qp &one, const packet &what) noexcept
{
    one.counters.duplicates += what.packets;
    if (what.kind == packet_kind::SEND || what.kind == packet_kind::WRITE) {
        one.resp.ack_pending = true;
        world.shared.pending.add(world.index_of(one));
    } else {
        answer_again(world, one, what);
    }
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

} // namespace

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
    bool may_answer = one.state == IBV_QPS_RTR || one.state == IBV_QPS_RTS ||
                      one.state == IBV_QPS_SQD || one.resp.closing;
    if (!may_answer) {
        return false;
    }
    // Answers in the order of PSNs: data of reads and atomics first, then the acknowledgement of
    // what came after them.
    uint32_t dst_hca = route(world.shared, one.attr.path);
    answers sent = send_answers(world, one, dst_hca);
    if (sent == answers::ALL) {
        send_ack(world, one, dst_hca);
    }
    return sent == answers::MORE;
}

} // namespace ufx::swhca

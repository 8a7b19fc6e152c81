// SPDX-License-Identifier: BSD-3-Clause
// Sending: WQEs enter the ring when they are fetched, and packets are made from them.
#include "requester.h"

#include "queue_pair.h"
#include "send_queue.h"
#include "send_ring.h"

#include "swhca/engine/link.h"
#include "swhca/fabric/repair.h"
#include "swhca/faults/faults.h"

#include <algorithm>
#include <infiniband/mlx5dv.h>

namespace ufx::swhca {

namespace {

constexpr uint32_t turn_bytes = 1u << 20; // that a QP sends before others have their turn
constexpr uint32_t window_packets = 512;  // that are under way without an acknowledgement
constexpr uint32_t ack_every = 32;        // packets of a long message
constexpr uint32_t no_fetch = UINT32_MAX;

// Appends the next posted WQE to the ring; false if there is none or no room.
bool append_posted(core &world, qp &one, fetched_wqe &into) noexcept
{
    requester_state &req = one.req;
    auto posted = static_cast<uint16_t>(one.sq_doorbell.load(std::memory_order_acquire));
    if (req.fetched == posted || req.tail - req.head == max_outstanding || swallows(world, one)) {
        return false;
    }
    wqe_error error = fetch_wqe(world, one, req.fetched, into);
    if (error != wqe_error::NONE && !world.memory.reaches(one.process)) {
        return false; // its own engine goes on
    }
    const send_wqe &wqe = into.wqe;
    sent_wqe &entry = at(one, req.tail);
    entry = {};
    entry.index = req.fetched;
    entry.psn = req.next_psn;
    if (error != wqe_error::NONE) {
        entry.syndrome = MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
    } else {
        entry.opcode = wqe.opcode;
        entry.signaled = wqe.signaled || one.sq_signal_all;
        entry.read_like = wqe.opcode == MLX5_OPCODE_RDMA_READ || is_atomic(wqe.opcode);
        entry.length = static_cast<uint32_t>(wqe.length);
        constexpr uint64_t max_message = 1u << 30;
        if (wqe.length > max_message || (is_atomic(wqe.opcode) && wqe.length != wqe.atomic.bytes)) {
            entry.syndrome = MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR;
        } else if (wqe.opcode != MLX5_OPCODE_NOP) {
            entry.packets = packets_of(wqe.length, mtu_bytes(one.attr.mtu));
        }
    }
    in_this_order(); // from the ring, settle_torn() makes what is still to be done
    req.tail++;
    in_this_order();
    req.next_psn = psn_add(entry.psn, entry.packets);
    req.fetched = static_cast<uint16_t>(req.fetched + into.blocks);
    return true;
}

void fill_headers(const qp &one, const send_wqe &wqe, packet &what) noexcept
{
    what.src_hca = one.hca;
    what.dst_qpn = one.attr.dest_qpn;
    what.src_qpn = one.qpn;
    what.sl = one.attr.path.sl;
    what.packets = 1;
    what.rkey = wqe.rkey;
    what.va = wqe.remote_va;
    what.dma_length = static_cast<uint32_t>(wqe.length);
    what.imm = wqe.imm;
    if (is_atomic(wqe.opcode)) {
        what.atomic = wqe.atomic;
    }
}

packet_kind kind_of(uint8_t opcode) noexcept
{
    switch (opcode) {
    case MLX5_OPCODE_RDMA_READ:
        return packet_kind::READ_REQUEST;
    case MLX5_OPCODE_ATOMIC_CS:
    case MLX5_OPCODE_ATOMIC_MASKED_CS:
        return packet_kind::ATOMIC_CS;
    case MLX5_OPCODE_ATOMIC_FA:
    case MLX5_OPCODE_ATOMIC_MASKED_FA:
        return packet_kind::ATOMIC_FA;
    case MLX5_OPCODE_RDMA_WRITE:
    case MLX5_OPCODE_RDMA_WRITE_IMM:
        return packet_kind::WRITE;
    default:
        return packet_kind::SEND;
    }
}

void note_sent(core &world, qp &one, const packet &what, uint32_t end_psn) noexcept
{
    if (psn_diff(what.psn, one.req.highest_psn) < 0) {
        one.counters.retransmitted += what.packets;
        world.hca_of(one).counters.retransmitted += what.packets;
    }
    if (psn_diff(end_psn, one.req.highest_psn) > 0) {
        one.req.highest_psn = end_psn;
    }
    one.counters.sent += what.packets;
    if (one.req.ack_deadline_ns == 0) {
        start_ack_timer(world, one); // it runs from the oldest packet without an answer
    }
}

// PSNs before `end` that have no answer. They are compared on a circle, of which they may not fill
// half.
bool fits_circle(const qp &one, uint32_t end) noexcept
{
    return psn_diff(end, one.req.unacked_psn) >= 0;
}

// Packets of requests before `psn` that have no answer: a read is one, though it has the PSNs of
// its answer.
uint32_t packets_under_way(qp &one, uint32_t psn) noexcept
{
    auto count = static_cast<uint32_t>(psn_diff(psn, one.req.unacked_psn));
    if (count < window_packets) {
        return count;
    }
    for (uint32_t i = one.req.head; i != one.req.next; i++) {
        const sent_wqe &entry = at(one, i);
        int32_t left = psn_diff(psn_add(entry.psn, entry.packets), one.req.unacked_psn);
        if (entry.read_like && left > 0) {
            count -= std::min(static_cast<uint32_t>(left), entry.packets) - 1;
        }
    }
    return count;
}

// A read asks for what has not come yet; an atomic is one packet. 0 if it must wait.
uint32_t send_read_like(core &world, qp &one, sent_wqe &entry, const fetched_wqe &fetched,
                        uint32_t dst_hca) noexcept
{
    if (one.req.reads >= rd_atomic_depth(one.attr.max_rd_atomic) ||
        !fits_circle(one, psn_add(entry.psn, entry.packets))) {
        return 0;
    }
    payload landing;
    if (!gather(world, one, fetched, 0, entry.length, IBV_ACCESS_LOCAL_WRITE, landing)) {
        entry.syndrome = MLX5_CQE_SYNDROME_LOCAL_PROT_ERR;
        return 1;
    }
    packet what{};
    fill_headers(one, fetched.wqe, what);
    what.kind = kind_of(entry.opcode);
    what.dst_hca = static_cast<uint8_t>(dst_hca);
    what.first = what.last = what.ack_request = true;
    what.psn = psn_add(entry.psn, entry.received);
    uint64_t skip = static_cast<uint64_t>(entry.received) * mtu_bytes(one.attr.mtu);
    what.va += skip;
    what.dma_length -= static_cast<uint32_t>(skip);
    one.req.reads++;
    one.req.next++;
    one.req.next_packet = 0;
    note_sent(world, one, what, psn_add(entry.psn, entry.packets));
    transmit(world, what, {});
    return 1;
}

// Packets of a SEND or WRITE; returns how many were sent, 0 if they must wait.
uint32_t send_data(core &world, qp &one, sent_wqe &entry, const fetched_wqe &fetched,
                   uint32_t dst_hca) noexcept
{
    requester_state &req = one.req;
    uint32_t mtu = mtu_bytes(one.attr.mtu);
    bool direct = link_is_direct(world, one.hca, dst_hca, one.attr.dest_qpn);
    uint32_t psn = psn_add(entry.psn, req.next_packet);
    if (!fits_circle(one, psn_add(entry.psn, entry.packets)) ||
        packets_under_way(one, psn) >= window_packets) {
        return 0;
    }
    packet what{};
    fill_headers(one, fetched.wqe, what);
    what.kind = kind_of(entry.opcode);
    what.dst_hca = static_cast<uint8_t>(dst_hca);
    what.psn = psn;
    what.packets = direct ? std::min(entry.packets - req.next_packet, burst_bytes / mtu) : 1;
    uint64_t offset = static_cast<uint64_t>(req.next_packet) * mtu;
    what.length = static_cast<uint32_t>(
        std::min<uint64_t>(entry.length - offset, static_cast<uint64_t>(what.packets) * mtu));
    what.first = req.next_packet == 0;
    what.last = req.next_packet + what.packets == entry.packets;
    what.has_imm = what.last && (entry.opcode == MLX5_OPCODE_SEND_IMM ||
                                 entry.opcode == MLX5_OPCODE_RDMA_WRITE_IMM);
    what.solicited = what.last && fetched.wqe.solicited;
    what.ack_request =
        what.last || what.packets > 1 || req.next_packet % ack_every == ack_every - 1;
    what.va += offset;
    payload data;
    if (!gather(world, one, fetched, offset, what.length, 0, data)) {
        entry.syndrome = MLX5_CQE_SYNDROME_LOCAL_PROT_ERR;
        return 1;
    }
    uint32_t position = req.next;
    req.next_packet += what.packets;
    if (req.next_packet == entry.packets) {
        req.next++;
        req.next_packet = 0;
    }
    note_sent(world, one, what, psn_add(psn, what.packets));
    if (!transmit(world, what, data)) { // unmapped since it was registered
        entry.syndrome = MLX5_CQE_SYNDROME_LOCAL_PROT_ERR;
        req.next = position;
        req.next_packet = 0;
    }
    return what.packets;
}

bool waits_at_fence(qp &one, const fetched_wqe &fetched) noexcept
{
    return fetched.wqe.fence && one.req.reads > 0;
}

} // namespace

bool run_requester(core &world, qp &one) noexcept
{
    requester_state &req = one.req;
    bool drains = one.state == IBV_QPS_SQD;
    if ((one.state != IBV_QPS_RTS && !drains) || req.rnr_deadline_ns > world.now_ns) {
        return false;
    }
    req.rnr_deadline_ns = 0;
    fetched_wqe fetched;
    uint32_t have = no_fetch; // position in the ring of what `fetched` holds
    uint32_t dst_hca = route(world.shared, one.attr.path);
    uint32_t packets = 0;
    uint64_t bytes = 0;
    // An answer may come while a packet is sent: it may move `next`, and end the QP.
    while (packets < turn_packets && bytes < turn_bytes) {
        if (one.state != IBV_QPS_RTS && one.state != IBV_QPS_SQD) {
            return false;
        }
        if (req.next == req.tail) {
            if (drains || !append_posted(world, one, fetched)) {
                return false;
            }
            have = req.tail - 1;
        }
        sent_wqe &entry = at(one, req.next);
        if (entry.syndrome != 0) {
            (void)fail_head(world, one);
            return false;
        }
        if (entry.packets == 0) { // a NOP
            req.next++;
            retire(world, one);
            continue;
        }
        if (have != req.next && fetch_wqe(world, one, entry.index, fetched) != wqe_error::NONE) {
            if (!world.memory.reaches(one.process)) {
                return false;
            }
            entry.syndrome = MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR; // overwritten while in use
            continue;
        }
        have = req.next;
        if (!link_has_room(world, one) || (req.next_packet == 0 && waits_at_fence(one, fetched))) {
            return false;
        }
        uint32_t sent = entry.read_like ? send_read_like(world, one, entry, fetched, dst_hca)
                                        : send_data(world, one, entry, fetched, dst_hca);
        if (sent == 0) {
            return false;
        }
        packets++;
        bytes += static_cast<uint64_t>(sent) * mtu_bytes(one.attr.mtu);
    }
    return true;
}

void flush_send_queue(core &world, qp &one) noexcept
{
    requester_state &req = one.req;
    for (; req.head != req.tail; req.head++) {
        const sent_wqe &entry = at(one, req.head);
        complete_send(world, one, entry.opcode, entry.index, 0, MLX5_CQE_SYNDROME_WR_FLUSH_ERR);
    }
    req.next = req.tail;
    req.next_packet = 0;
    auto posted = static_cast<uint16_t>(one.sq_doorbell.load(std::memory_order_acquire));
    while (req.fetched != posted) {
        fetched_wqe fetched;
        fetched.wqe.opcode = 0;
        if (fetch_wqe(world, one, req.fetched, fetched) != wqe_error::NONE &&
            !world.memory.reaches(one.process)) {
            return;
        }
        complete_send(world, one, fetched.wqe.opcode, req.fetched, 0,
                      MLX5_CQE_SYNDROME_WR_FLUSH_ERR);
        auto left = static_cast<uint16_t>(posted - req.fetched);
        req.fetched = static_cast<uint16_t>(req.fetched + std::min<uint32_t>(fetched.blocks, left));
    }
}

} // namespace ufx::swhca

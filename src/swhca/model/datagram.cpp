// SPDX-License-Identifier: BSD-3-Clause
// Datagrams have no PSN that matters, no answer and no retry: a WQE is complete when it is sent,
// and one that finds no receive is lost. The first 40 bytes of a receive are the global route
// header, or for RoCE v2 over IPv4 20 bytes of nothing and the IPv4 header.
#include "datagram.h"

#include "completion_queue.h"
#include "receive_queue.h"
#include "requester.h"
#include "send_queue.h"

#include "swhca/engine/link.h"
#include "swhca/faults/faults.h"
#include "ucs/bytes.h"

#include <algorithm>
#include <array>
#include <infiniband/mlx5dv.h>

namespace ufx::swhca {

namespace {

constexpr uint32_t turn_datagrams = 64;
constexpr uint32_t grh_bytes = 40;
// flags_rqpn[31:24]: bits 29:28 say that there is a route header, and for RoCE v2 bits 25:24 of the
// CQE's packet type are 2 for UDP over IPv4 (libmlx5 and UCX take 0xA together with bit 27).
constexpr uint32_t flags_grh = 1u << 28;
constexpr uint32_t flags_udp_ipv4 = 0xau << 24;
constexpr uint32_t well_known_qkey_bit = 1u << 31; // such a key in a WQE means the QP's own

bool is_ipv4(const gid &one) noexcept
{
    const uint8_t prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    return std::equal(std::begin(prefix), std::end(prefix), one.raw);
}

// False if the data could not be read.
bool send_one(core &world, qp &one, const fetched_wqe &fetched, const payload &data) noexcept
{
    const send_wqe &wqe = fetched.wqe;
    const port &from = world.hca_of(one).port;
    path to{};
    to.global = wqe.global || from.link_layer == IBV_LINK_LAYER_ETHERNET;
    to.dgid = wqe.dgid;
    to.dlid = wqe.dlid;
    packet what{};
    what.kind = packet_kind::DATAGRAM;
    what.first = what.last = true;
    what.src_hca = one.hca;
    what.dst_hca = static_cast<uint8_t>(route(world.shared, to));
    what.src_qpn = one.qpn;
    what.dst_qpn = wqe.dest_qpn;
    what.psn = one.req.next_psn;
    what.packets = 1;
    what.length = static_cast<uint32_t>(wqe.length);
    what.qkey = (wqe.qkey & well_known_qkey_bit) != 0 ? one.attr.qkey : wqe.qkey;
    what.pkey = from.pkeys[one.attr.pkey_index % max_pkeys];
    what.imm = wqe.imm;
    what.has_imm = wqe.opcode == MLX5_OPCODE_SEND_IMM;
    what.solicited = wqe.solicited;
    what.sl = wqe.sl;
    what.slid = from.lid;
    what.global = to.global;
    what.sgid = from.gids[wqe.sgid_index % max_gids];
    what.dgid = wqe.dgid;
    what.traffic_class = wqe.traffic_class;
    what.hop_limit = wqe.hop_limit;
    what.flow_label = wqe.flow_label;
    one.req.next_psn = psn_add(one.req.next_psn, 1);
    one.counters.sent++;
    return transmit(world, what, data);
}

// A WQE that cannot be sent stops the send queue: SQE, in which the QP goes on receiving.
void stop_sending(core &world, qp &one, const fetched_wqe &fetched, uint8_t syndrome) noexcept
{
    complete_send(world, one, fetched.wqe.opcode, one.req.fetched, 0, syndrome);
    one.req.fetched = static_cast<uint16_t>(one.req.fetched + fetched.blocks);
    one.state = IBV_QPS_SQE;
}

uint8_t check(core &world, qp &one, const fetched_wqe &fetched, payload &data) noexcept
{
    const send_wqe &wqe = fetched.wqe;
    if (wqe.opcode == MLX5_OPCODE_NOP) {
        return 0;
    }
    if (wqe.length > mtu_bytes(world.hca_of(one).port.mtu)) {
        return MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR;
    }
    return gather(world, one, fetched, 0, wqe.length, 0, data)
               ? 0
               : static_cast<uint8_t>(MLX5_CQE_SYNDROME_LOCAL_PROT_ERR);
}

std::array<std::byte, grh_bytes> route_header(const packet &what) noexcept
{
    std::array<std::byte, grh_bytes> header{};
    ucs::byte_writer out(header);
    constexpr uint8_t next_udp = 17;
    constexpr uint8_t next_bth = 0x1b; // IBA 1.4, 8.3.6
    auto payload_bytes = static_cast<uint16_t>(what.length);
    if (is_ipv4(what.sgid) && is_ipv4(what.dgid)) {
        constexpr uint16_t headers = 20 + 8 + 12 + 8 + 4; // IP, UDP, BTH, DETH, ICRC
        (void)out.reserve(20);
        out.u8(0x45);
        out.u8(what.traffic_class);
        out.be16(static_cast<uint16_t>(payload_bytes + headers));
        out.be32(0x00004000); // do not fragment
        out.u8(what.hop_limit);
        out.u8(next_udp);
        out.be16(0);
        out.bytes(what.sgid.raw + 12, 4);
        out.bytes(what.dgid.raw + 12, 4);
        return header;
    }
    out.be32(0x60000000 | static_cast<uint32_t>(what.traffic_class) << 20 | what.flow_label);
    out.be16(payload_bytes);
    out.u8(next_bth);
    out.u8(what.hop_limit);
    out.bytes(what.sgid.raw, sizeof(what.sgid.raw));
    out.bytes(what.dgid.raw, sizeof(what.dgid.raw));
    return header;
}

} // namespace

bool run_datagrams(core &world, qp &one) noexcept
{
    if (one.state == IBV_QPS_SQE) {
        flush_send_queue(world, one);
        return false;
    }
    if (one.state != IBV_QPS_RTS) {
        return false;
    }
    auto posted = static_cast<uint16_t>(one.sq_doorbell.load(std::memory_order_acquire));
    for (uint32_t sent = 0; one.req.fetched != posted; sent++) {
        if (sent == turn_datagrams) {
            return true;
        }
        if (swallows(world, one) || !link_has_room(world, one)) {
            return false;
        }
        fetched_wqe fetched;
        payload data;
        wqe_error error = fetch_wqe(world, one, one.req.fetched, fetched);
        if (error != wqe_error::NONE && !world.memory.reaches(one.process)) {
            return false; // its own engine goes on
        }
        uint8_t syndrome = error != wqe_error::NONE
                               ? static_cast<uint8_t>(MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR)
                               : check(world, one, fetched, data);
        if (syndrome != 0) {
            stop_sending(world, one, fetched, syndrome);
            return true;
        }
        if (fetched.wqe.opcode != MLX5_OPCODE_NOP && !send_one(world, one, fetched, data)) {
            stop_sending(world, one, fetched, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR);
            return true;
        }
        if (fetched.wqe.signaled || one.sq_signal_all) {
            complete_send(world, one, fetched.wqe.opcode, one.req.fetched,
                          static_cast<uint32_t>(fetched.wqe.length), 0);
        }
        one.req.fetched = static_cast<uint16_t>(one.req.fetched + fetched.blocks);
    }
    return false;
}

void receive_datagram(core &world, qp &one, const packet &what, const payload &data) noexcept
{
    bool receives = one.state == IBV_QPS_RTR || one.state == IBV_QPS_RTS ||
                    one.state == IBV_QPS_SQD || one.state == IBV_QPS_SQE;
    if (one.type != IBV_QPT_UD || !receives || what.qkey != one.attr.qkey ||
        !take_receive(world, one)) {
        world.hca_of(one).counters.dropped++;
        return;
    }
    std::array<std::byte, grh_bytes> header = route_header(what);
    payload all;
    all.add(world.memory.self(), reinterpret_cast<uintptr_t>(header.data()), header.size());
    for (uint32_t i = 0; i < data.count; i++) {
        all.add(data.pieces[i].process, data.pieces[i].va, data.pieces[i].length);
    }
    completion done{};
    done.syndrome = scatter_receive(world, one, all, grh_bytes + what.length);
    if (done.syndrome == MLX5_CQE_SYNDROME_LOCAL_PROT_ERR &&
        !is_readable(world, data, what.length)) {
        one.resp.receive.offset = 0;
        world.source_failed = true;
        return;
    }
    done.opcode = done.syndrome != 0 ? MLX5_CQE_RESP_ERR
                  : what.has_imm     ? MLX5_CQE_RESP_SEND_IMM
                                     : MLX5_CQE_RESP_SEND;
    done.solicited = what.solicited;
    done.wqe_counter = one.resp.receive.counter;
    done.qpn = one.qpn;
    done.uidx = one.uidx;
    done.byte_count = grh_bytes + what.length;
    done.imm = what.imm;
    done.slid = what.slid;
    done.flags_rqpn = what.src_qpn | (what.global ? flags_grh : 0) |
                      (is_ipv4(what.sgid) ? flags_udp_ipv4 : static_cast<uint32_t>(what.sl) << 24);
    complete(world, one, one.recv_cq, done);
    one.resp.receive.held = false;
}

} // namespace ufx::swhca

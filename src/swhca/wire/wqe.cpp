// SPDX-License-Identifier: BSD-3-Clause
// Parsing WQEs. Layouts: struct mlx5_wqe_*_seg of <infiniband/mlx5dv.h>; all words are big-endian.
#include "wqe.h"

#include "ucs/bytes.h"

#include <cstring>
#include <infiniband/mlx5dv.h>

namespace ufx::swhca {

static_assert(sizeof(mlx5_wqe_ctrl_seg) == wqe_segment_bytes);
static_assert(sizeof(mlx5_wqe_raddr_seg) == wqe_segment_bytes);
static_assert(sizeof(mlx5_wqe_atomic_seg) == wqe_segment_bytes);
static_assert(sizeof(mlx5_wqe_data_seg) == wqe_segment_bytes);
static_assert(sizeof(mlx5_wqe_av) == 48);
static_assert(offsetof(mlx5_wqe_ctrl_seg, fm_ce_se) == 11);
static_assert(offsetof(mlx5_wqe_av, dqp_dct) == 8 && offsetof(mlx5_wqe_av, rlid) == 14);
static_assert(offsetof(mlx5_wqe_av, grh_gid_fl) == 28 && offsetof(mlx5_wqe_av, rgid) == 32);

namespace {

constexpr uint8_t fence_mask = 7 << 5;
constexpr uint8_t completion_mask = 3 << 2;

uint64_t be64(ucs::byte_reader &in) noexcept
{
    uint64_t high = in.be32();
    return high << 32 | in.be32();
}

bool is_masked(uint8_t opcode) noexcept
{
    return opcode == MLX5_OPCODE_ATOMIC_MASKED_CS || opcode == MLX5_OPCODE_ATOMIC_MASKED_FA;
}

// The modifier of an extended atomic: bit 3, and log2 of its size less 2. Devices have up to 32
// bytes; here are those that a processor's word has.
constexpr uint32_t extended_4 = 8;
constexpr uint32_t extended_8 = 9;

bool opcode_allowed(uint8_t opcode, uint32_t modifier, bool datagram) noexcept
{
    switch (opcode) {
    case MLX5_OPCODE_ATOMIC_MASKED_CS:
    case MLX5_OPCODE_ATOMIC_MASKED_FA:
        return !datagram && (modifier == extended_4 || modifier == extended_8);
    case MLX5_OPCODE_NOP:
    case MLX5_OPCODE_SEND:
    case MLX5_OPCODE_SEND_IMM:
        return true;
    case MLX5_OPCODE_RDMA_WRITE:
    case MLX5_OPCODE_RDMA_WRITE_IMM:
    case MLX5_OPCODE_RDMA_READ:
    case MLX5_OPCODE_ATOMIC_CS:
    case MLX5_OPCODE_ATOMIC_FA:
        return !datagram;
    default:
        return false;
    }
}

void parse_address_vector(ucs::byte_reader &in, send_wqe &out) noexcept
{
    out.qkey = in.be32();
    (void)in.be32();
    out.dest_qpn = in.be32() & psn_mask;
    out.sl = in.u8() & 0xf;
    (void)in.u8();
    out.dlid = in.be16();
    (void)in.bytes(4 + 6); // reserved, MAC
    out.traffic_class = in.u8();
    out.hop_limit = in.u8();
    uint32_t grh = in.be32();
    out.flow_label = grh & 0xfffff;
    out.sgid_index = static_cast<uint8_t>(grh >> 20);
    in.copy(out.dgid.raw, sizeof(out.dgid.raw));
    out.global = (grh >> 30 & 1) != 0;
}

void parse_remote(ucs::byte_reader &in, send_wqe &out) noexcept
{
    out.remote_va = be64(in);
    out.rkey = in.be32();
    (void)in.be32();
}

void parse_atomic(ucs::byte_reader &in, uint32_t modifier, send_wqe &out) noexcept
{
    atomic_operands &to = out.atomic;
    to = {8, 0, 0, UINT64_MAX, UINT64_MAX, 0};
    to.bytes = is_masked(out.opcode) && modifier == extended_4 ? 4 : 8;
    auto operand = [&in, &to] { return to.bytes == 4 ? uint64_t{in.be32()} : be64(in); };
    to.swap_add = operand();
    switch (out.opcode) {
    case MLX5_OPCODE_ATOMIC_MASKED_CS:
        to.compare = operand();
        to.swap_mask = operand();
        to.compare_mask = operand();
        break;
    case MLX5_OPCODE_ATOMIC_MASKED_FA:
        to.boundary = operand();
        (void)in.bytes(wqe_segment_bytes - 2u * to.bytes);
        break;
    default:
        to.compare = operand(); // a fetch-and-add has a hole there
        break;
    }
}

bool has_remote(uint8_t opcode) noexcept
{
    return opcode == MLX5_OPCODE_RDMA_WRITE || opcode == MLX5_OPCODE_RDMA_WRITE_IMM ||
           opcode == MLX5_OPCODE_RDMA_READ || is_atomic(opcode);
}

wqe_error parse_data(ucs::byte_reader &in, uint32_t total, send_wqe &out) noexcept
{
    while (in.remaining() >= wqe_segment_bytes) {
        uint32_t word = in.be32();
        // No provider writes inline data of no bytes: that word is the length of 2 GB as it is.
        if (word > MLX5_INLINE_SEG) {
            uint32_t length = word & ~static_cast<uint32_t>(MLX5_INLINE_SEG);
            if (length > in.remaining() || out.sge_count > 0 || out.is_inline) {
                return wqe_error::BAD_INLINE;
            }
            out.is_inline = true;
            out.inline_offset = total - static_cast<uint32_t>(in.remaining());
            out.length = length;
            (void)in.rest();
            return wqe_error::NONE;
        }
        data_segment &sge = out.sges[out.sge_count++];
        sge.length = word;
        sge.lkey = in.be32();
        sge.va = be64(in);
        out.length += sge.length;
    }
    return wqe_error::NONE;
}

} // namespace

bool is_atomic(uint8_t opcode) noexcept
{
    return opcode == MLX5_OPCODE_ATOMIC_CS || opcode == MLX5_OPCODE_ATOMIC_FA || is_masked(opcode);
}

uint32_t wqe_blocks(std::span<const std::byte> control) noexcept
{
    ucs::byte_reader in(control);
    (void)in.be32();
    uint32_t segments = in.be32() & 0x3f;
    if (!in.ok()) {
        return 0;
    }
    return (segments * wqe_segment_bytes + wqe_block_bytes - 1) / wqe_block_bytes;
}

wqe_error parse_send_wqe(std::span<const std::byte> wqe, bool datagram, send_wqe &out) noexcept
{
    ucs::byte_reader control(wqe);
    uint32_t opcode = control.be32();
    uint32_t qpn_segments = control.be32();
    uint32_t flags = control.be32() & 0xff;
    uint32_t imm = 0;
    control.copy(&imm, sizeof(imm));
    out.opcode = static_cast<uint8_t>(opcode);
    out.index = static_cast<uint16_t>(opcode >> 8);
    out.qpn = qpn_segments >> 8;
    out.segments = qpn_segments & 0x3f;
    out.signaled = (flags & completion_mask) == MLX5_WQE_CTRL_CQ_UPDATE;
    out.solicited = (flags & MLX5_WQE_CTRL_SOLICITED) != 0;
    out.fence = (flags & fence_mask) == MLX5_WQE_CTRL_FENCE;
    out.imm = imm;
    out.remote_va = out.length = 0;
    out.rkey = out.sge_count = out.inline_offset = 0;
    out.is_inline = out.global = false;
    uint32_t total = out.segments * wqe_segment_bytes;
    if (!control.ok() || out.segments == 0 || total > wqe.size()) {
        return wqe_error::TOO_SHORT;
    }
    uint32_t modifier = opcode >> 24;
    if (!opcode_allowed(out.opcode, modifier, datagram)) {
        return wqe_error::BAD_OPCODE;
    }
    if (out.opcode == MLX5_OPCODE_NOP) {
        return wqe_error::NONE;
    }
    ucs::byte_reader in(wqe.first(total));
    (void)in.bytes(wqe_segment_bytes);
    if (datagram) {
        parse_address_vector(in, out);
    } else if (has_remote(out.opcode)) {
        parse_remote(in, out);
    }
    if (is_atomic(out.opcode)) {
        parse_atomic(in, modifier, out);
    }
    if (!in.ok()) {
        return wqe_error::TOO_SHORT;
    }
    return parse_data(in, total, out);
}

bool parse_receive_segment(std::span<const std::byte> bytes, data_segment &out) noexcept
{
    ucs::byte_reader in(bytes);
    out.length = in.be32();
    out.lkey = in.be32();
    out.va = be64(in);
    return in.ok() && !(out.lkey == invalid_lkey && out.length == 0);
}

} // namespace ufx::swhca

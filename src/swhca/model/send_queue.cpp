// SPDX-License-Identifier: BSD-3-Clause
// The send queue is a ring of 64-byte blocks; a WQE that reaches its end goes on at its start.
#include "send_queue.h"

#include "completion_queue.h"

#include <algorithm>
#include <infiniband/mlx5dv.h>

namespace ufx::swhca {

wqe_error fetch_wqe(core &world, const qp &one, uint16_t index, fetched_wqe &out) noexcept
{
    out.blocks = 1;
    if (one.sq_blocks == 0) {
        return wqe_error::TOO_SHORT;
    }
    uint32_t slot = index & (one.sq_blocks - 1);
    std::span<std::byte> bytes(out.bytes);
    if (!world.memory.read(one.process, one.sq_buffer + slot * wqe_block_bytes, bytes.data(),
                           wqe_block_bytes)) {
        return wqe_error::TOO_SHORT;
    }
    uint32_t blocks = wqe_blocks(bytes.first(wqe_segment_bytes));
    if (blocks == 0 || blocks > one.sq_blocks) {
        return wqe_error::TOO_SHORT;
    }
    out.blocks = blocks;
    for (uint32_t i = 1; i < blocks; i++) {
        uint64_t from = one.sq_buffer + ((slot + i) & (one.sq_blocks - 1)) * wqe_block_bytes;
        size_t size = std::min<size_t>(wqe_block_bytes, bytes.size() - i * wqe_block_bytes);
        if (!world.memory.read(one.process, from, &bytes[i * wqe_block_bytes], size)) {
            return wqe_error::TOO_SHORT;
        }
    }
    size_t have = std::min<size_t>(blocks * wqe_block_bytes, bytes.size());
    wqe_error error = parse_send_wqe(bytes.first(have), one.type == IBV_QPT_UD, out.wqe);
    if (error == wqe_error::NONE && out.wqe.index != index) {
        return wqe_error::WRONG_INDEX;
    }
    return error == wqe_error::NONE && out.wqe.qpn != one.qpn ? wqe_error::WRONG_QPN : error;
}

bool gather(core &world, const qp &one, const fetched_wqe &from, uint64_t offset, uint64_t length,
            uint32_t access, payload &out) noexcept
{
    out.count = 0;
    const send_wqe &wqe = from.wqe;
    if (wqe.is_inline) {
        auto start = reinterpret_cast<uintptr_t>(from.bytes.data() + wqe.inline_offset);
        out.add(world.memory.self(), start + offset, length);
        return access == 0;
    }
    for (uint32_t i = 0; i < wqe.sge_count && length > 0; i++) {
        const data_segment &sge = wqe.sges[i];
        if (offset >= sge.length) {
            offset -= sge.length;
            continue;
        }
        uint64_t size = std::min<uint64_t>(sge.length - offset, length);
        const mr *region =
            find_region(world, one.hca, one.pd, sge.lkey, sge.va + offset, size, access);
        if (region == nullptr) {
            return false;
        }
        memory_piece piece = locate(world, *region, sge.va + offset, size);
        out.add(piece.process, piece.va, piece.length);
        length -= size;
        offset = 0;
    }
    return length == 0;
}

void complete_send(core &world, qp &one, uint8_t opcode, uint16_t index, uint32_t length,
                   uint8_t syndrome, const inline_payload &with) noexcept
{
    completion what{};
    what.inlined = with;
    what.opcode = syndrome == 0 ? MLX5_CQE_REQ : MLX5_CQE_REQ_ERR;
    what.syndrome = syndrome;
    what.sent_opcode = opcode;
    what.wqe_counter = index;
    what.qpn = one.qpn;
    what.uidx = one.uidx;
    what.byte_count = length;
    what.timestamp = world.now_ns;
    complete(world, one, one.send_cq, what);
}

} // namespace ufx::swhca

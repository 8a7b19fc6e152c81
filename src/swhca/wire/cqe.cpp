// SPDX-License-Identifier: BSD-3-Clause
// Laying out CQEs. Offsets: struct mlx5_cqe64 and mlx5_err_cqe of <infiniband/mlx5dv.h>.
#include "cqe.h"

#include "ucs/bytes.h"

#include <cstring>
#include <infiniband/mlx5dv.h>

namespace ufx::swhca {

static_assert(sizeof(mlx5_cqe64) == cqe_bytes && sizeof(mlx5_err_cqe) == cqe_bytes);
static_assert(offsetof(mlx5_cqe64, op_own) == 63 && offsetof(mlx5_err_cqe, op_own) == 63);
static_assert(offsetof(mlx5_cqe64, srqn_uidx) == offsetof(mlx5_err_cqe, srqn));

namespace {

void put32(cqe_image &to, size_t offset, uint32_t value) noexcept
{
    ucs::store_be<uint32_t>(to.data() + offset, value);
}

} // namespace

cqe_image encode(const completion &from, bool owner, uint32_t total) noexcept
{
    cqe_image to{};
    put32(to, offsetof(mlx5_cqe64, srqn_uidx), from.uidx & 0xffffff);
    uint32_t inlined = 0;
    if (is_error(from.opcode)) {
        to[offsetof(mlx5_err_cqe, vendor_err_synd)] = std::byte{from.vendor_syndrome};
        to[offsetof(mlx5_err_cqe, syndrome)] = std::byte{from.syndrome};
    } else {
        std::memcpy(to.data() + offsetof(mlx5_cqe64, imm_inval_pkey), &from.imm, sizeof(from.imm));
        put32(to, offsetof(mlx5_cqe64, byte_cnt), from.byte_count);
        put32(to, offsetof(mlx5_cqe64, flags_rqpn), from.flags_rqpn);
        ucs::store_be<uint16_t>(to.data() + offsetof(mlx5_cqe64, slid), from.slid);
        ucs::store_be<uint64_t>(to.data() + offsetof(mlx5_cqe64, timestamp), from.timestamp);
        if (from.inlined.bytes > 0 && total == cqe_bytes) {
            std::memcpy(to.data(), from.inlined.data.data(), inline_room(total));
            inlined = MLX5_INLINE_SCATTER_32;
        } else if (from.inlined.bytes > 0) {
            inlined = MLX5_INLINE_SCATTER_64;
        }
    }
    put32(to, offsetof(mlx5_cqe64, sop_drop_qpn),
          static_cast<uint32_t>(from.sent_opcode) << 24 | (from.qpn & 0xffffff));
    ucs::store_be<uint16_t>(to.data() + offsetof(mlx5_cqe64, wqe_counter), from.wqe_counter);
    uint32_t op_own = static_cast<uint32_t>(from.opcode) << 4 | inlined |
                      (from.solicited ? 2u : 0u) | (owner ? 1u : 0u);
    to[offsetof(mlx5_cqe64, op_own)] = static_cast<std::byte>(op_own);
    return to;
}

} // namespace ufx::swhca

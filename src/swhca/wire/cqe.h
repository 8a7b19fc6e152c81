// SPDX-License-Identifier: BSD-3-Clause
// A completion queue entry as the hardware lays it out: struct mlx5_cqe64 and struct mlx5_err_cqe.
#ifndef UFX_SWHCA_WIRE_CQE_H
#define UFX_SWHCA_WIRE_CQE_H

#include <array>
#include <cstddef>
#include <cstdint>

namespace ufx::swhca {

inline constexpr uint32_t cqe_bytes = 64;

// Small data that a CQE brings itself ("scatter to CQE").
struct inline_payload {
    uint8_t bytes; // 0: none
    std::array<std::byte, cqe_bytes> data;
};

// What a CQE of `total` bytes (64 or 128) has room for: its first half, or all before the last 64.
[[nodiscard]] constexpr uint8_t inline_room(uint32_t total) noexcept
{
    return static_cast<uint8_t>(total / 2);
}

struct completion {
    uint8_t opcode;   // MLX5_CQE_*
    uint8_t syndrome; // of an error
    uint8_t vendor_syndrome;
    uint8_t sent_opcode; // MLX5_OPCODE_* of the WQE; requester only
    bool solicited;
    uint16_t wqe_counter;
    uint32_t qpn;
    uint32_t uidx;
    uint32_t byte_count;
    uint32_t imm;        // as on the wire
    uint32_t flags_rqpn; // of a datagram: source QP and kind of packet
    uint16_t slid;
    uint64_t timestamp;
    inline_payload inlined;
};

// Whether a completion (MLX5_CQE_*) is one of a send queue.
[[nodiscard]] constexpr bool is_of_request(uint8_t opcode) noexcept
{
    return opcode == 0 || opcode == 13; // MLX5_CQE_REQ, MLX5_CQE_REQ_ERR
}

[[nodiscard]] constexpr bool is_error(uint8_t opcode) noexcept
{
    return opcode >= 13; // MLX5_CQE_REQ_ERR, MLX5_CQE_RESP_ERR
}

using cqe_image = std::array<std::byte, cqe_bytes>;

// The last 64 bytes of a CQE of `total` bytes. `owner` is the bit that tells this turn of the queue
// from the last one.
[[nodiscard]] cqe_image encode(const completion &from, bool owner,
                               uint32_t total = cqe_bytes) noexcept;

} // namespace ufx::swhca

#endif

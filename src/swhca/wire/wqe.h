// SPDX-License-Identifier: BSD-3-Clause
// A send WQE as a program wrote it, taken apart with every length checked. The bytes are not
// trusted.
#ifndef UFX_SWHCA_WIRE_WQE_H
#define UFX_SWHCA_WIRE_WQE_H

#include "packet.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace ufx::swhca {

inline constexpr uint32_t wqe_block_bytes = 64; // MLX5_SEND_WQE_BB
inline constexpr uint32_t wqe_segment_bytes = 16;
inline constexpr uint32_t max_wqe_bytes = 63 * wqe_segment_bytes; // ds has six bits
inline constexpr uint32_t max_sges = 62;
inline constexpr uint32_t invalid_lkey = 0x100; // ends a list of receive segments

struct data_segment {
    uint32_t length;
    uint32_t lkey;
    uint64_t va;
};

struct send_wqe {
    uint8_t opcode; // MLX5_OPCODE_*
    uint8_t segments;
    uint16_t index;
    uint32_t qpn;
    bool signaled;
    bool solicited;
    bool fence;
    uint32_t imm; // as written, big-endian
    uint64_t remote_va;
    uint32_t rkey;
    atomic_operands atomic;
    // Of a datagram.
    uint32_t qkey;
    uint32_t dest_qpn;
    uint16_t dlid;
    uint8_t sl;
    uint8_t sgid_index;
    uint8_t traffic_class;
    uint8_t hop_limit;
    uint32_t flow_label;
    bool global;
    gid dgid;
    // Its data: inline bytes of the WQE, or segments.
    bool is_inline;
    uint32_t inline_offset;
    uint32_t sge_count;
    std::array<data_segment, max_sges> sges;
    uint64_t length;
};

enum class wqe_error : uint8_t {
    NONE,
    TOO_SHORT,   // less than its segments need
    BAD_OPCODE,  // one that this QP type does not have
    BAD_INLINE,  // inline data leaves the WQE
    WRONG_INDEX, // not at the place that it names
    WRONG_QPN,
};

// Whether a request (MLX5_OPCODE_*) is an atomic, of whatever kind.
[[nodiscard]] bool is_atomic(uint8_t opcode) noexcept;

// The control segment alone: blocks that the WQE takes in the queue; 0 if it is no WQE.
[[nodiscard]] uint32_t wqe_blocks(std::span<const std::byte> control) noexcept;

// `wqe` begins at the control segment and has at least its segments in a row; `datagram` is whether
// the QP is of type UD.
[[nodiscard]] wqe_error parse_send_wqe(std::span<const std::byte> wqe, bool datagram,
                                       send_wqe &out) noexcept;

// One data segment of a receive WQE; false at the end of the list.
[[nodiscard]] bool parse_receive_segment(std::span<const std::byte> bytes,
                                         data_segment &out) noexcept;

} // namespace ufx::swhca

#endif

// SPDX-License-Identifier: BSD-3-Clause
// What requester, responder and commands share about a QP: its error state and its work.
#ifndef UFX_SWHCA_MODEL_QUEUE_PAIR_H
#define UFX_SWHCA_MODEL_QUEUE_PAIR_H

#include "core.h"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace ufx::swhca {

inline constexpr uint32_t turn_packets = 64;   // that a QP sends before others have their turn
inline constexpr uint32_t burst_bytes = 65536; // that travel as one where nobody could tell

// Reads and atomics that a QP may have under way, or answers again: a device has powers of two, and
// one at least.
[[nodiscard]] constexpr uint32_t rd_atomic_depth(uint8_t asked) noexcept
{
    return std::bit_ceil(std::max<uint32_t>(asked, 1));
}

// What the peer may do, IBV_ACCESS_REMOTE_*: neither reads nor atomics without resources for them.
[[nodiscard]] uint32_t remote_rights(const qp &one) noexcept;

// To ERR without a word, as in a device that is dead.
void stop_queue_pair(core &world, qp &one) noexcept;

// To ERR: flushes both queues. Nothing is sent or received any more, and PSNs stay as they are.
void enter_error(core &world, qp &one) noexcept;

// To RESET: forgets all.
void reset_queue_pair(qp &one) noexcept;

// Does what is to be done for a QP that is in `pending`. True if there is more.
[[nodiscard]] bool run_queue_pair(core &world, qp &one) noexcept;

} // namespace ufx::swhca

#endif

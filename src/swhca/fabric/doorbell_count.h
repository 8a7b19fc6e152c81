// SPDX-License-Identifier: BSD-3-Clause
// How many blocks were posted to a send queue, as somebody has read it from the doorbell record.
// Several threads read the record, each at its own time, and what was read late must not take the
// count back; nor may what was read before a reset count after it. So one word has all: the count
// (bits 0 to 15, as the record has it), the number of resets (16 to 30), and whether the QP is in
// RESET.
#ifndef UFX_SWHCA_FABRIC_DOORBELL_COUNT_H
#define UFX_SWHCA_FABRIC_DOORBELL_COUNT_H

#include <atomic>
#include <cstdint>

namespace ufx::swhca {

inline constexpr uint32_t doorbell_closed = 1u << 31;
inline constexpr uint32_t doorbell_count_bits = 0xffff;

// The QP enters RESET: its count is 0, and stays so.
inline void close_doorbell(std::atomic<uint32_t> &count) noexcept
{
    uint32_t resets = (count.load(std::memory_order_relaxed) & ~doorbell_count_bits) + 0x10000;
    count.store(resets | doorbell_closed, std::memory_order_relaxed); // under the lock
}

// The QP has left RESET, for which its owner has cleared the record.
inline void open_doorbell(std::atomic<uint32_t> &count) noexcept
{
    count.fetch_and(~doorbell_closed, std::memory_order_relaxed);
}

// `seen` is the word before the record was read, `posted` what was read, and `blocks` the size of
// the queue. True if the count has moved.
[[nodiscard]] inline bool advance_doorbell(std::atomic<uint32_t> &count, uint32_t seen,
                                           uint16_t posted, uint32_t blocks) noexcept
{
    uint32_t resets = seen & ~doorbell_count_bits;
    for (uint32_t now = seen;
         (now & ~doorbell_count_bits) == resets && (now & doorbell_closed) == 0;) {
        auto ahead = static_cast<uint16_t>(posted - now);
        if (ahead == 0 || ahead > blocks) {
            return false;
        }
        // Release: whoever takes the count sees the WQEs before it.
        if (count.compare_exchange_weak(now, resets | posted, std::memory_order_release,
                                        std::memory_order_relaxed)) {
            return true;
        }
    }
    return false;
}

} // namespace ufx::swhca

#endif

// SPDX-License-Identifier: BSD-3-Clause
// shared_bitmap: a set of small numbers in shared memory; any process adds, the lock holder takes.
#ifndef UFX_SWHCA_FABRIC_BITMAP_H
#define UFX_SWHCA_FABRIC_BITMAP_H

#include <atomic>
#include <bit>
#include <cstdint>

namespace ufx::swhca {

template <uint32_t Bits>
class shared_bitmap {
    static_assert(Bits % 64 == 0 && Bits <= 64 * 64);
    static constexpr uint32_t word_count = Bits / 64;

public:
    static constexpr uint32_t none = UINT32_MAX;

    // Release: what was written before is seen by whoever takes the number.
    void add(uint32_t number) noexcept
    {
        words_[number / 64].fetch_or(1ull << number % 64, std::memory_order_release);
        summary_.fetch_or(1ull << number / 64, std::memory_order_release);
    }

    void remove(uint32_t number) noexcept
    {
        words_[number / 64].fetch_and(~(1ull << number % 64), std::memory_order_acq_rel);
    }

    [[nodiscard]] bool has(uint32_t number) const noexcept
    {
        return (words_[number / 64].load(std::memory_order_acquire) >> number % 64 & 1) != 0;
    }

    // A word's summary bit is set after the bit itself, and cleared before the word is looked at,
    // so that a number that is added meanwhile is found by this call or by the next one.
    [[nodiscard]] bool empty() const noexcept
    {
        return summary_.load(std::memory_order_acquire) == 0;
    }

    // Smallest number >= `from` without removing it; `none` if there is none.
    [[nodiscard]] uint32_t next(uint32_t from) noexcept
    {
        for (uint32_t word = from / 64; word < word_count; word++) {
            if ((summary_.load(std::memory_order_acquire) >> word & 1) == 0) {
                continue;
            }
            uint64_t bits = words_[word].load(std::memory_order_acquire);
            if (bits == 0) {
                summary_.fetch_and(~(1ull << word), std::memory_order_acq_rel);
                bits = words_[word].load(std::memory_order_acquire);
                if (bits == 0) {
                    continue;
                }
                summary_.fetch_or(1ull << word, std::memory_order_release);
            }
            if (word == from / 64) {
                bits &= ~0ull << from % 64;
            }
            if (bits != 0) {
                return word * 64 + static_cast<uint32_t>(std::countr_zero(bits));
            }
        }
        return none;
    }

private:
    // Written by every process; acquire and release pair the adder with the taker.
    std::atomic<uint64_t> summary_;
    std::atomic<uint64_t> words_[word_count];
};

} // namespace ufx::swhca

#endif

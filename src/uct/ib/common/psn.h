// SPDX-License-Identifier: BSD-3-Clause
// 24-bit packet sequence numbers, and what a responder's position says about an operation.
#ifndef UFX_UCT_IB_COMMON_PSN_H
#define UFX_UCT_IB_COMMON_PSN_H

#include "uct/base/judge.h"

#include <cstddef>
#include <cstdint>

namespace ufx::uct::ib {

inline constexpr uint32_t psn_mask = 0xffffff;

[[nodiscard]] constexpr uint32_t psn_after(uint32_t psn, uint32_t packets) noexcept
{
    return (psn + packets) & psn_mask;
}

// How far `to` is after `from`, in [-2^23, 2^23).
[[nodiscard]] constexpr int32_t psn_distance(uint32_t from, uint32_t to) noexcept
{
    return static_cast<int32_t>((to - from) << 8) >> 8;
}

// Packets of a message, or of the response of a read: at least one. `mtu` is a power of two.
[[nodiscard]] constexpr uint32_t packets_of(uint64_t length, uint32_t mtu_shift) noexcept
{
    return length == 0
               ? 1
               : static_cast<uint32_t>((length + (uint64_t{1} << mtu_shift) - 1) >> mtu_shift);
}

// How much of an operation of `packets` packets from `first` on a responder has executed that
// expects `expected` next; `partial` is written for extent::partial: its bytes from the start.
[[nodiscard]] constexpr extent extent_of(uint32_t first, uint32_t packets, uint32_t expected,
                                         uint32_t mtu_shift, size_t &partial) noexcept
{
    const int32_t done = psn_distance(first, expected);
    if (done <= 0) {
        return extent::none;
    }
    if (static_cast<uint32_t>(done) >= packets) {
        return extent::whole;
    }
    partial = static_cast<size_t>(done) << mtu_shift;
    return extent::partial;
}

} // namespace ufx::uct::ib

#endif

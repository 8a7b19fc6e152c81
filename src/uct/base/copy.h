// SPDX-License-Identifier: BSD-3-Clause
// Copies a few bytes without a call.
#ifndef UFX_UCT_BASE_COPY_H
#define UFX_UCT_BASE_COPY_H

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ufx::uct {

inline constexpr size_t copy_small_max = 16;

// Two moves that may overlap cover every length of a class, so there is no loop.
template <class Word>
inline void copy_two(std::byte *to, const std::byte *from, size_t length) noexcept
{
    Word first;
    Word last;
    std::memcpy(&first, from, sizeof(Word));
    std::memcpy(&last, from + length - sizeof(Word), sizeof(Word));
    std::memcpy(to, &first, sizeof(Word));
    std::memcpy(to + length - sizeof(Word), &last, sizeof(Word));
}

// `length` is at most copy_small_max; the buffers do not overlap.
inline void copy_small(void *dest, const void *source, size_t length) noexcept
{
    auto *to = static_cast<std::byte *>(dest);
    const auto *from = static_cast<const std::byte *>(source);
    if (length >= sizeof(uint64_t)) [[likely]] {
        copy_two<uint64_t>(to, from, length);
    } else if (length >= sizeof(uint32_t)) {
        copy_two<uint32_t>(to, from, length);
    } else if (length >= sizeof(uint16_t)) {
        copy_two<uint16_t>(to, from, length);
    } else if (length != 0) {
        *to = *from;
    }
}

} // namespace ufx::uct

#endif

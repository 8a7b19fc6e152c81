// SPDX-License-Identifier: BSD-3-Clause
// Copies a few bytes without a call, also to two places at once.
#ifndef UFX_UCT_BASE_COPY_H
#define UFX_UCT_BASE_COPY_H

#include <array>
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

// `length` is below 8.
inline void copy_tiny(std::byte *to, const std::byte *from, size_t length) noexcept
{
    if (length >= sizeof(uint32_t)) {
        copy_two<uint32_t>(to, from, length);
    } else if (length >= sizeof(uint16_t)) {
        copy_two<uint16_t>(to, from, length);
    } else if (length != 0) {
        *to = *from;
    }
}

// `length` is at most copy_small_max; the buffers do not overlap.
inline void copy_small(void *dest, const void *source, size_t length) noexcept
{
    auto *to = static_cast<std::byte *>(dest);
    const auto *from = static_cast<const std::byte *>(source);
    if (length >= sizeof(uint64_t)) [[likely]] {
        copy_two<uint64_t>(to, from, length);
    } else {
        copy_tiny(to, from, length);
    }
}

inline constexpr size_t copy_short_max = 32;

// As copy_two, to two places.
template <class Word>
inline void copy_two_twice(std::byte *to, std::byte *too, const std::byte *from,
                           size_t length) noexcept
{
    Word first;
    Word last;
    std::memcpy(&first, from, sizeof(Word));
    std::memcpy(&last, from + length - sizeof(Word), sizeof(Word));
    std::memcpy(to, &first, sizeof(Word));
    std::memcpy(too, &first, sizeof(Word));
    std::memcpy(to + length - sizeof(Word), &last, sizeof(Word));
    std::memcpy(too + length - sizeof(Word), &last, sizeof(Word));
}

// `length` is at most copy_short_max; the buffers do not overlap.
inline void copy_short_twice(std::byte *to, std::byte *too, const void *source,
                             size_t length) noexcept
{
    const auto *from = static_cast<const std::byte *>(source);
    if (length - sizeof(uint64_t) <= sizeof(uint64_t)) [[likely]] {
        copy_two_twice<uint64_t>(to, too, from, length);
    } else if (length > 2 * sizeof(uint64_t)) {
        copy_two_twice<std::array<uint64_t, 2>>(to, too, from, length);
    } else {
        copy_tiny(to, from, length);
        copy_tiny(too, from, length);
    }
}

inline void copy_short(std::byte *to, const void *source, size_t length) noexcept
{
    if (length > 2 * sizeof(uint64_t)) {
        copy_two<std::array<uint64_t, 2>>(to, static_cast<const std::byte *>(source), length);
    } else {
        copy_small(to, source, length);
    }
}

} // namespace ufx::uct

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Which descriptors of the program are devices or channels of ours. Lock-free, because every
// close() of the program asks.
#ifndef UFX_SWHCA_SHIM_DESCRIPTORS_H
#define UFX_SWHCA_SHIM_DESCRIPTORS_H

#include <cstdint>

namespace ufx::swhca::shim {

inline constexpr int max_descriptors = 65536;

enum class descriptor : uint8_t {
    NONE,
    DEVICE,
    INHERITED, // a device of the process that this one was forked from: it answers no more
    CHANNEL,   // the read end of a completion channel
};

// NONE for a number that can be none of ours.
[[nodiscard]] descriptor kind_of(int number) noexcept;
void set_kind(int number, descriptor kind) noexcept;

// The lowest of ours in [first, last], or -1.
[[nodiscard]] int next_of_ours(int first, int last) noexcept;

// In a child after fork().
void inherit_descriptors() noexcept;

} // namespace ufx::swhca::shim

#endif

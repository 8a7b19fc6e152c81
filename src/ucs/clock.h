// SPDX-License-Identifier: BSD-3-Clause
// The clock of the process.
#ifndef UFX_UCS_CLOCK_H
#define UFX_UCS_CLOCK_H

#include <ufx/ucs.h>

#include <cstdint>

namespace ufx::ucs {

inline constexpr uint64_t ns_per_us = 1000;
inline constexpr uint64_t ns_per_ms = 1000 * ns_per_us;
inline constexpr uint64_t ns_per_sec = 1000 * ns_per_ms;

[[nodiscard]] inline uint64_t now_ns() noexcept
{
    return ufx_ucs_time_ns();
}

} // namespace ufx::ucs

#endif

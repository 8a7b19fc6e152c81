// SPDX-License-Identifier: BSD-3-Clause
// Waking and waiting of helper threads, by a futex in each process's slot.
#ifndef UFX_SWHCA_ENGINE_WAKEUP_H
#define UFX_SWHCA_ENGINE_WAKEUP_H

#include "swhca/fabric/image.h"

#include <cstdint>

namespace ufx::swhca {

inline constexpr uint64_t ns_per_s = 1'000'000'000;

// Lets the helper thread of `process` run now.
void wake_process(image &shared, uint32_t process) noexcept;

// Lets the helpers of those run whose QPs have work.
void wake_for_pending(image &shared) noexcept;

// The helper's side: sleeps until it is woken after `seen` was read, or until `until_ns` of the
// monotonic clock.
void sleep_until(process_slot &slot, uint32_t seen, uint64_t now_ns, uint64_t until_ns) noexcept;

[[nodiscard]] uint64_t monotonic_ns() noexcept;

// Relaxed: the time orders nothing.
[[nodiscard]] inline bool is_stepped(const image &shared) noexcept
{
    return shared.stepped_ns.load(std::memory_order_relaxed) != 0;
}

// What time it is in the fabric.
[[nodiscard]] inline uint64_t time_of(const image &shared) noexcept
{
    const uint64_t stepped = shared.stepped_ns.load(std::memory_order_relaxed);
    return stepped != 0 ? stepped : monotonic_ns();
}

} // namespace ufx::swhca

#endif

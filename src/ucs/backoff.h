// SPDX-License-Identifier: BSD-3-Clause
// backoff: delays that double up to a limit, with jitter.
#ifndef UFX_UCS_BACKOFF_H
#define UFX_UCS_BACKOFF_H

#include "prng.h"

#include <algorithm>
#include <cstdint>

namespace ufx::ucs {

class backoff {
public:
    // Each delay is drawn from [d - d * jitter / 100, d], d doubling from `first_ns` to `max_ns`.
    constexpr backoff(uint64_t first_ns, uint64_t max_ns, uint64_t seed,
                      unsigned jitter_percent = 25) noexcept
        : first_ns_(first_ns), max_ns_(std::max(first_ns, max_ns)), delay_ns_(first_ns),
          jitter_percent_(std::min(jitter_percent, 100u)), random_(seed)
    {
    }

    // Delay before the next attempt; doubles the one after.
    constexpr uint64_t next() noexcept
    {
        uint64_t delay = delay_ns_;
        delay_ns_ = delay_ns_ > max_ns_ / 2 ? max_ns_ : delay_ns_ * 2;
        return delay - random_.below(delay / 100 * jitter_percent_ + 1);
    }

    // After a success.
    constexpr void reset() noexcept { delay_ns_ = first_ns_; }

    // The next delay before jitter.
    [[nodiscard]] constexpr uint64_t current() const noexcept { return delay_ns_; }

private:
    uint64_t first_ns_;
    uint64_t max_ns_;
    uint64_t delay_ns_;
    unsigned jitter_percent_;
    prng random_;
};

} // namespace ufx::ucs

#endif

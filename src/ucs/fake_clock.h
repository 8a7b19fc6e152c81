// SPDX-License-Identifier: BSD-3-Clause
// fake_clock: a clock for tests, that only they move.
#ifndef UFX_UCS_FAKE_CLOCK_H
#define UFX_UCS_FAKE_CLOCK_H

#include "clock.h"

#include <atomic>
#include <chrono>
#include <cstdint>

namespace ufx::ucs {

// Replaces the clock of the process while it lives; time moves only by advance().
class fake_clock {
public:
    explicit fake_clock(uint64_t start_ns = ns_per_sec) noexcept : now_ns_(start_ns)
    {
        ufx_ucs_clock_set(&fake_clock::read, this);
    }

    ~fake_clock() { ufx_ucs_clock_set(nullptr, nullptr); }

    fake_clock(const fake_clock &) = delete;
    fake_clock &operator=(const fake_clock &) = delete;

    void advance(uint64_t step_ns) noexcept
    {
        now_ns_.fetch_add(step_ns, std::memory_order_relaxed);
    }

    void advance(std::chrono::nanoseconds step) noexcept
    {
        advance(static_cast<uint64_t>(step.count()));
    }

    [[nodiscard]] uint64_t now() const noexcept { return now_ns_.load(std::memory_order_relaxed); }

private:
    static uint64_t read(void *arg) noexcept { return static_cast<fake_clock *>(arg)->now(); }

    // Written by the test's thread, read by any; it orders nothing else.
    std::atomic<uint64_t> now_ns_;
};

} // namespace ufx::ucs

#endif

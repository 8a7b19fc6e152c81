// SPDX-License-Identifier: BSD-3-Clause
// The clock of the process: CLOCK_MONOTONIC, or the one that a test has set.
#include "clock.h"

#include <atomic>
#include <ctime>

namespace {

// `clock_arg` is written before the release store of `clock_fn` and read after its acquire load.
std::atomic<ufx_ucs_clock_fn_t> clock_fn{nullptr};
std::atomic<void *> clock_arg{nullptr};

} // namespace

uint64_t ufx_ucs_time_ns() noexcept
{
    ufx_ucs_clock_fn_t fn = clock_fn.load(std::memory_order_acquire);
    if (__builtin_expect(fn != nullptr, 0)) {
        return fn(clock_arg.load(std::memory_order_relaxed));
    }
    timespec now = {};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * ufx::ucs::ns_per_sec +
           static_cast<uint64_t>(now.tv_nsec);
}

void ufx_ucs_clock_set(ufx_ucs_clock_fn_t fn, void *arg) noexcept
{
    if (fn == nullptr) {
        clock_fn.store(nullptr, std::memory_order_release);
        clock_arg.store(nullptr, std::memory_order_relaxed);
        return;
    }
    clock_arg.store(arg, std::memory_order_relaxed);
    clock_fn.store(fn, std::memory_order_release);
}

// SPDX-License-Identifier: BSD-3-Clause
// Futexes that are shared between processes.
#include "wakeup.h"

#include <climits>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace ufx::swhca {

namespace {

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));

} // namespace

void wake_process(image &shared, uint32_t process) noexcept
{
    std::atomic<uint32_t> &word = shared.processes[process].wake;
    // Release: the sleeper sees what it is woken for; pairs with the acquire before it sleeps.
    word.fetch_add(1, std::memory_order_release);
    (void)::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void wake_for_pending(image &shared) noexcept
{
    uint64_t woken = 0;
    static_assert(max_processes <= 64);
    for (uint32_t i = shared.pending.next(0); i != shared.pending.none;
         i = shared.pending.next(i + 1)) {
        uint32_t process = shared.qps[i].process;
        if (process < max_processes && (woken >> process & 1) == 0) {
            woken |= 1ull << process;
            wake_process(shared, process);
        }
    }
}

void sleep_until(process_slot &slot, uint32_t seen, uint64_t now_ns, uint64_t until_ns) noexcept
{
    if (until_ns <= now_ns) {
        return;
    }
    uint64_t left = until_ns - now_ns;
    timespec wait{static_cast<time_t>(left / ns_per_s), static_cast<long>(left % ns_per_s)};
    (void)::syscall(SYS_futex, &slot.wake, FUTEX_WAIT, seen, &wait, nullptr, 0);
}

uint64_t monotonic_ns() noexcept
{
    timespec now{};
    (void)::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * ns_per_s + static_cast<uint64_t>(now.tv_nsec);
}

} // namespace ufx::swhca

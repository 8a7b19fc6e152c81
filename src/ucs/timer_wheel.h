// SPDX-License-Identifier: BSD-3-Clause
// timer_wheel: many timers, started and stopped in constant time, driven by a given time.
#ifndef UFX_UCS_TIMER_WHEEL_H
#define UFX_UCS_TIMER_WHEEL_H

#include "list.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace ufx::ucs {

struct timer_tag;

// Member of whatever waits. A timer that is destroyed stops by itself.
class timer : public list_node<timer_tag> {
public:
    using handler = void (*)(void *arg, uint64_t now_ns);

    timer(handler call, void *arg) noexcept : call_(call), arg_(arg) {}

    [[nodiscard]] bool active() const noexcept { return linked(); }

    // Stops it; does nothing if it does not run.
    void stop() noexcept { unlink(); }

    // When it expires, or last expired.
    [[nodiscard]] uint64_t expires_ns() const noexcept { return expires_ns_; }

private:
    friend class timer_wheel;

    handler call_;
    void *arg_;
    uint64_t expires_ns_ = 0;
};

// A hashed wheel (Varghese and Lauck 1987, scheme 6): the slot is the expiry in ticks modulo the
// number of slots; timers of later turns wait in the same slot. Timers are not owned. They never
// expire early, and advance() calls them in the order of their expiry. Single-threaded.
class timer_wheel {
public:
    static constexpr uint64_t never = UINT64_MAX;

    // `tick_ns` is the width of a slot; it does not round expiries.
    explicit timer_wheel(uint64_t now_ns, uint64_t tick_ns = 1000000) noexcept;

    // Starts or restarts a timer. One that is already over expires at the next advance().
    void start(timer &one, uint64_t expires_ns) noexcept;

    // Calls every timer with expires_ns <= now_ns; returns how many. Handlers may start, stop and
    // destroy timers; one that is started for a time already over is called by the next advance().
    size_t advance(uint64_t now_ns) { return now_ns < earliest_ns_ ? 0 : run(now_ns); }

    // Earliest expiry of all, or `never`.
    [[nodiscard]] uint64_t next_expiry() noexcept;

private:
    static constexpr size_t slot_count = 256;

    using timer_list = list<timer, timer_tag>;

    size_t run(uint64_t now_ns);
    void collect(timer_list &slot, uint64_t now_ns, timer_list &due) noexcept;

    [[nodiscard]] uint64_t tick_of(uint64_t time_ns) const noexcept { return time_ns / tick_ns_; }

    uint64_t tick_ns_;
    uint64_t done_tick_;           // no timer expires before this tick
    uint64_t earliest_ns_ = never; // no timer expires before this time
    std::array<timer_list, slot_count> slots_;
};

} // namespace ufx::ucs

#endif

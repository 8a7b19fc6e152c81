// SPDX-License-Identifier: BSD-3-Clause
// Expiry of the timers of a wheel.
#include "timer_wheel.h"

#include <algorithm>
#include <cassert>

namespace ufx::ucs {

timer_wheel::timer_wheel(uint64_t now_ns, uint64_t tick_ns) noexcept
    : tick_ns_(tick_ns), done_tick_(now_ns / tick_ns)
{
    assert(tick_ns > 0);
}

void timer_wheel::start(timer &one, uint64_t expires_ns) noexcept
{
    one.unlink();
    one.expires_ns_ = expires_ns;
    // What is over already goes into the slot that run() looks at first.
    uint64_t tick = std::max(tick_of(expires_ns), done_tick_);
    slots_[tick % slot_count].push_back(one);
    earliest_ns_ = std::min(earliest_ns_, expires_ns);
}

void timer_wheel::collect(timer_list &slot, uint64_t now_ns, timer_list &due) noexcept
{
    for (auto at = slot.begin(); at != slot.end();) {
        timer &one = *at;
        ++at;
        if (one.expires_ns_ > now_ns) {
            continue;
        }
        one.unlink();
        // Sorted by expiry, equal ones in the order of their start. Slots are visited in order,
        // so that the place is nearly always at the end.
        auto place = due.end();
        while (place != due.begin()) {
            auto before = place;
            --before;
            if (before->expires_ns_ <= one.expires_ns_) {
                break;
            }
            place = before;
        }
        if (place == due.end()) {
            due.push_back(one);
        } else {
            due.insert_before(*place, one);
        }
    }
}

size_t timer_wheel::run(uint64_t now_ns)
{
    timer_list due;
    uint64_t now_tick = std::max(tick_of(now_ns), done_tick_);
    uint64_t last = std::min(now_tick, done_tick_ + slot_count - 1);
    for (uint64_t tick = done_tick_; tick <= last; tick++) {
        collect(slots_[tick % slot_count], now_ns, due);
    }
    done_tick_ = now_tick;
    earliest_ns_ = next_expiry();

    size_t called = 0;
    while (timer *one = due.pop_front()) {
        called++;
        one->call_(one->arg_, now_ns); // may destroy any timer, also this one
    }
    return called;
}

uint64_t timer_wheel::next_expiry() noexcept
{
    uint64_t earliest = never;
    for (uint64_t turn = 0; turn < slot_count; turn++) {
        uint64_t tick = done_tick_ + turn;
        // Timers of this turn expire before all in later slots.
        if (earliest != never && tick_of(earliest) < tick) {
            break;
        }
        for (timer &one : slots_[tick % slot_count]) {
            earliest = std::min(earliest, one.expires_ns_);
        }
    }
    return earliest;
}

} // namespace ufx::ucs

// SPDX-License-Identifier: BSD-3-Clause
// A descriptor that becomes readable after a while.
#ifndef UFX_UCT_IB_COMMON_WAKE_TIMER_H
#define UFX_UCT_IB_COMMON_WAKE_TIMER_H

#include "ucs/clock.h"
#include "ucs/fd.h"

#include <sys/timerfd.h>

namespace ufx::uct::ib {

class wake_timer {
public:
    wake_timer() noexcept = default;

    [[nodiscard]] static ucs::result<wake_timer> create() noexcept
    {
        ucs::fd made(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
        if (!made) {
            return UFX_ERR_IO;
        }
        return wake_timer(std::move(made));
    }

    // Readable from then on, once; 0: never. What was set before does not count any more.
    void set_in(uint64_t delay_ns) const noexcept
    {
        const itimerspec when{{0, 0},
                              {static_cast<time_t>(delay_ns / ucs::ns_per_sec),
                               static_cast<long>(delay_ns % ucs::ns_per_sec)}};
        ::timerfd_settime(timer_.get(), 0, &when, nullptr);
    }

    [[nodiscard]] int get() const noexcept { return timer_.get(); }

private:
    explicit wake_timer(ucs::fd timer) noexcept : timer_(std::move(timer)) {}

    ucs::fd timer_;
};

} // namespace ufx::uct::ib

#endif

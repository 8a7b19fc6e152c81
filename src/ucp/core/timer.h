// SPDX-License-Identifier: BSD-3-Clause
// Names of the core's timers, and a small set of armed ones for whoever executes its actions.
#ifndef UFX_UCP_CORE_TIMER_H
#define UFX_UCP_CORE_TIMER_H

#include "ucp/core/types.h"

#include <algorithm>
#include <compare>
#include <optional>
#include <vector>

namespace ufx::ucp::core {

// A timer is named, not owned: arming a name again moves it; one that fires late or twice is
// harmless, the machines look at their own state first.
enum class timer_kind : std::uint8_t {
    LANE_SHAKE,   // resend REQ, REP or WANT of (ep, rail)
    LANE_RETRY,   // try (ep, rail) again after a refusal or a backed-off error
    LANE_ERROR,   // forget that (ep, rail) had an own QP error
    SEAL,         // resend SEAL record `id`
    RAIL_GRACE,   // SUSPECT for too long
    RAIL_HOLDOFF, // DOWN for long enough
    RAIL_SETTLE,  // 100 ms after the port came back: look for stuck fragments
    RAIL_PROBE,   // probing takes too long
    PROBE_OK,     // resend PROBE_OK
    ADMIN,        // resend ADMIN
    ADMIN_LIMIT,  // an administrative drain waits no longer for outstanding ops
    WINDOW_REQ,   // ep still holds an AM that no window covers
    EP_CLOSE,     // resend EP_CLOSE
};

struct timer_id {
    timer_kind kind{};
    rail_id rail = 0;
    ep_id ep = 0;
    std::uint64_t id = 0;
    auto operator<=>(const timer_id &) const = default;
};

// A flat set is right for the few timers that one peer arms.
class timer_set {
public:
    void arm(const timer_id &timer, time_ns at)
    {
        disarm(timer);
        const auto behind = [](time_ns t, const armed &a) { return t < a.at; };
        armed_.insert(std::upper_bound(armed_.begin(), armed_.end(), at, behind), {at, timer});
    }
    void disarm(const timer_id &timer)
    {
        std::erase_if(armed_, [&](const armed &a) { return a.timer == timer; });
    }
    // The earliest deadline, if any timer is armed.
    std::optional<time_ns> next() const
    {
        return armed_.empty() ? std::nullopt : std::optional(armed_.front().at);
    }
    // Takes one timer that is due at `now`.
    std::optional<timer_id> take_due(time_ns now)
    {
        if (armed_.empty() || armed_.front().at > now) {
            return std::nullopt;
        }
        const timer_id timer = armed_.front().timer;
        armed_.erase(armed_.begin());
        return timer;
    }

private:
    struct armed {
        time_ns at;
        timer_id timer;
    };
    std::vector<armed> armed_;
};

} // namespace ufx::ucp::core

#endif

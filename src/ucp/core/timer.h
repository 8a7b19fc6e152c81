// SPDX-License-Identifier: BSD-3-Clause
// Names of the core's timers, and a small set of armed ones for whoever executes its actions.
#ifndef UFX_UCP_CORE_TIMER_H
#define UFX_UCP_CORE_TIMER_H

#include "ucp/core/types.h"

#include <compare>
#include <map>
#include <optional>
#include <set>
#include <utility>

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

// The armed timers of a peer: a few, or one for each lane of many eps whose rail fails.
class timer_set {
public:
    void arm(const timer_id &timer, time_ns at)
    {
        disarm(timer);
        at_.emplace(timer, at);
        due_.emplace(at, timer);
    }
    void disarm(const timer_id &timer)
    {
        const auto found = at_.find(timer);
        if (found != at_.end()) {
            due_.erase({found->second, timer});
            at_.erase(found);
        }
    }
    // The earliest deadline, if any timer is armed.
    std::optional<time_ns> next() const
    {
        return due_.empty() ? std::nullopt : std::optional(due_.begin()->first);
    }
    // Takes one timer that is due at `now`.
    std::optional<timer_id> take_due(time_ns now)
    {
        if (due_.empty() || due_.begin()->first > now) {
            return std::nullopt;
        }
        const timer_id timer = due_.begin()->second;
        disarm(timer);
        return timer;
    }

private:
    std::map<timer_id, time_ns> at_;
    std::set<std::pair<time_ns, timer_id>> due_;
};

} // namespace ufx::ucp::core

#endif

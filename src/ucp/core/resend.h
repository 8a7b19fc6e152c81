// SPDX-License-Identifier: BSD-3-Clause
// The schedule of everything that is resent until it is answered: 20 ms, doubling to 1 s.
#ifndef UFX_UCP_CORE_RESEND_H
#define UFX_UCP_CORE_RESEND_H

#include "ucp/core/types.h"

#include <algorithm>

namespace ufx::ucp::core {

inline constexpr time_ns ms_ns = 1'000'000;
inline constexpr time_ns resend_first_ns = 20 * ms_ns;
inline constexpr time_ns resend_max_ns = 1000 * ms_ns;

// Counts the attempts; saturates, so that it is never a reason for a new state.
class resend {
public:
    // Delay until the next attempt, after the one that is being made now.
    time_ns next()
    {
        const time_ns delay = std::min(resend_first_ns << attempts_, resend_max_ns);
        if (attempts_ < 6) {
            ++attempts_;
        }
        return delay;
    }
    std::uint8_t attempts() const { return attempts_; }
    void reset() { attempts_ = 0; }

private:
    std::uint8_t attempts_ = 0;
};

} // namespace ufx::ucp::core

#endif

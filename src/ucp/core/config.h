// SPDX-License-Identifier: BSD-3-Clause
// The clocks and limits of the failover core; ucp fills them from UFX_* settings.
#ifndef UFX_UCP_CORE_CONFIG_H
#define UFX_UCP_CORE_CONFIG_H

#include "ucp/core/resend.h"

namespace ufx::ucp::core {

struct config {
    time_ns grace_ns = 300 * ms_ns;                // UFX_RAIL_GRACE
    time_ns holdoff_ns = 500 * ms_ns;              // UFX_RAIL_HOLDOFF, doubles
    time_ns holdoff_max_ns = 60'000 * ms_ns;       // UFX_RAIL_HOLDOFF_MAX
    time_ns penalty_half_life_ns = 30'000 * ms_ns; // UFX_RAIL_PENALTY_HALF_LIFE
    time_ns holdoff_alone_ns = 1000 * ms_ns;       // upper limit while no rail to the peer is UP
    time_ns settle_ns = 100 * ms_ns;               // after a port flap
    time_ns probe_limit_ns = 5000 * ms_ns;         // PROBING takes no longer
    time_ns admin_limit_ns = 30'000 * ms_ns;       // a drain waits no longer for outstanding ops
    time_ns ramp_ns = 1000 * ms_ns;                // a rail that came back ramps up for so long
    std::uint64_t hold_bytes = 16 << 20;           // UFX_AM_HOLD_BYTES per ep
    std::uint8_t replay_budget = 64;               // per fragment, then UNREACHABLE
    std::uint64_t seed = 1;                        // of the jitter
};

} // namespace ufx::ucp::core

#endif

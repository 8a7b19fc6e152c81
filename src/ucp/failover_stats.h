// SPDX-License-Identifier: BSD-3-Clause
// What failovers did to the fragments of a worker, and how long each phase of the last one took.
#ifndef UFX_UCP_FAILOVER_STATS_H
#define UFX_UCP_FAILOVER_STATS_H

#include "ucp/core/types.h"

#include <ufx/ucp.h>

#include <utility>

namespace ufx::ucp {

class failover_stats {
public:
    // A lane that carried fragments begins to be sealed; `alive` is its last sign of life.
    void sealing(core::time_ns alive, core::time_ns now)
    {
        now_.detect_ns = now > alive ? now - alive : 0;
        now_.last_start_ns = now;
        waits_completion_ = waits_purge_ = true;
    }
    void purged(core::time_ns now)
    {
        purged_at_ = now;
        if (std::exchange(waits_purge_, false)) { // else an idle lane
            now_.seal_ns = now - now_.last_start_ns;
        }
    }
    void frozen() { ++now_.frozen; }
    void landed() { ++now_.landed; }
    void partial() { ++now_.partial; }
    void switched() { ++now_.switches; }
    void replayed(core::time_ns now)
    {
        ++now_.replayed;
        now_.replay_ns = now > purged_at_ ? now - purged_at_ : 0;
    }
    // The data path tells each completion while this is true.
    bool waits_completion() const { return waits_completion_; }
    void completed(core::time_ns now)
    {
        waits_completion_ = false;
        now_.resume_ns = now - now_.last_start_ns;
    }
    const ufx_ucp_failover_stats_t &values() const { return now_; }

private:
    ufx_ucp_failover_stats_t now_{};
    core::time_ns purged_at_ = 0;
    bool waits_purge_ = false;
    bool waits_completion_ = false;
};

} // namespace ufx::ucp

#endif

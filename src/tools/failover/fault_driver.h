// SPDX-License-Identifier: BSD-3-Clause
// fault_driver: carries a schedule out while the traffic runs.
#ifndef UFX_TOOLS_FAILOVER_FAULT_DRIVER_H
#define UFX_TOOLS_FAILOVER_FAULT_DRIVER_H

#include "tools/common/channel.h"
#include "tools/common/ucp_session.h"
#include "tools/failover/netns.h"
#include "tools/failover/process.h"
#include "tools/failover/timeline.h"

#include <deque>

namespace ufx::tools::failover {

class fault_driver {
public:
    /** @param inside NULL: faults of RDMA rails on a software ConnectX are made there, others by a
     * ucp call in both processes */
    fault_driver(const std::vector<fault> &faults, const namespaces *inside, ucp_session &session,
                 channel &peer);
    ~fault_driver();

    /** Starts what is due and notes it in `story`; throws if a fault could not be made. */
    void tick(uint64_t now, timeline &story);

private:
    struct step {
        fault what;
        unsigned rail = 0;
    };
    struct running {
        pid_t pid;
        std::string text;
    };

    /** What makes the fault; empty: a ucp call does. */
    words command(const step &one) const;
    words namespace_command(const step &one) const;
    void check_possible(const fault &one, const ufx_ucp_rail_attr_t &rail) const;
    /** A rail that is between two fragments just now is cut a little later. */
    bool would_hit_nothing(const step &one, uint64_t since_start);
    void set_link(const step &one);
    void reap(bool wait);

    const namespaces *inside_;
    std::string fabric_; ///< of the software ConnectX; empty: none
    ucp_session &session_;
    channel &peer_;
    std::deque<step> left_;
    std::deque<running> running_;
};

} // namespace ufx::tools::failover

#endif

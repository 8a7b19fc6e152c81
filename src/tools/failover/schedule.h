// SPDX-License-Identifier: BSD-3-Clause
// The fault schedule: "1s:down:rail1,4s:up:rail1".
#ifndef UFX_TOOLS_FAILOVER_SCHEDULE_H
#define UFX_TOOLS_FAILOVER_SCHEDULE_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ufx::tools::failover {

enum class fault_action {
    DOWN,   ///< the link goes down, and says so; ends with UP
    UP,     ///< the link comes up
    DELETE, ///< the device is gone: for ever, or until RESET
    RESET,  ///< a device that was deleted is there again
    ONEWAY, ///< data arrives, nothing comes back; ends with HEAL
    HEAL,
    SILENT ///< the link goes down and nobody is told; ends with UP
};

struct fault {
    uint64_t at_ns = 0; ///< after the traffic started
    fault_action action = fault_action::DOWN;
    std::string rail; ///< a device name, or "railN" from 0
};

/** "down", "up", "del", "reset", "oneway", "heal", "silent" */
const char *fault_action_name(fault_action action);

/** True if the rail carries nothing usable after it. */
bool breaks(fault_action action);

/**
 * TIME:ACTION:RAIL, comma separated, TIME as 1s, 1.5s or 250ms. The result is sorted by time.
 * Throws a usage error that names the word which is wrong.
 */
std::vector<fault> parse_schedule(const std::string &text);

/** One step of a schedule whose rail is known. */
struct rail_step {
    fault_action action = fault_action::DOWN;
    unsigned rail = 0;
};

/** Which step cannot be done after those before it; "" if all can. */
std::string why_impossible(const std::vector<rail_step> &steps);

/** Why no run with this schedule can end well, whatever is sent; "" if one can. */
std::string why_hopeless(const std::vector<rail_step> &steps, size_t rails);

} // namespace ufx::tools::failover

#endif

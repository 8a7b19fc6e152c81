// SPDX-License-Identifier: BSD-3-Clause
// report: the numbers of a run, and the verdict.
#ifndef UFX_TOOLS_FAILOVER_REPORT_H
#define UFX_TOOLS_FAILOVER_REPORT_H

#include "tools/failover/options.h"
#include "tools/failover/sender.h"
#include "tools/failover/timeline.h"

#include <string>
#include <vector>

namespace ufx::tools::failover {

/** All that a run knows at its end. */
struct outcome {
    const options *wanted = nullptr;
    const timeline *story = nullptr;
    fields received; ///< the receiver's result
    ufx_ucp_failover_stats_t stats = {};
    std::vector<ufx_ucp_rail_attr_t> rails;
    uint64_t chunks = 0;
    uint64_t bytes = 0;
    uint64_t longest_silence_ns = 0;
    std::string network; ///< in words
};

enum class verdict {
    OK,          ///< nothing is wrong, and each fault hit and was survived
    FAILED,      ///< data was lost, doubled or changed
    INCONCLUSIVE ///< nothing is wrong, but no failover was seen that the schedule was to cause
};

struct report {
    std::string json; ///< for programs
    std::string text; ///< for people
    verdict judged = verdict::FAILED;
};

report make_report(const outcome &run);

} // namespace ufx::tools::failover

#endif

// SPDX-License-Identifier: BSD-3-Clause
// What a run of the explorer starts from: lanes, ops, and which faults may hit.
#ifndef UFX_EXPLORE_SCENARIO_H
#define UFX_EXPLORE_SCENARIO_H

#include "event.h"

#include "ucp/core/types.h"

#include <span>
#include <string_view>

namespace ufx::explore {

enum class wire_kind : std::uint8_t { RC, TCP };
enum class plan_kind : std::uint8_t { PUT, GET, AM };

struct op_plan {
    std::uint8_t side = 0;
    plan_kind kind{};
    std::uint8_t parts = 1; // PUT: packets of its one fragment; AM: fragments
    std::uint8_t group = 0; // PUT: member of that group; AM: a notify after it
    bool polled = false;    // PUT: TARGET_POLLS_MEMORY
    std::uint8_t ep = 1;
};

struct scenario {
    const char *name;
    wire_kind wire;
    std::uint8_t rails;
    std::vector<op_plan> ops;
    std::vector<step> faults; // kinds that may hit
    std::uint8_t fault_budget;
    std::uint8_t message_budget; // LOSE and DOUBLE together
    std::uint64_t hold_bytes = 1024;
    bool slow_create = false; // uct eps take time to come into being
    std::uint8_t eps = 1;     // between the two peers
};

std::span<const scenario> all_scenarios();
const scenario *find_scenario(std::string_view name);

} // namespace ufx::explore

#endif

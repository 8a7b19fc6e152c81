// SPDX-License-Identifier: BSD-3-Clause
// `ufx_swhca ctl`: faults while programs run, and rules of a schedule.
#ifndef UFX_SWHCA_TOOL_CONTROL_H
#define UFX_SWHCA_TOOL_CONTROL_H

#include "fabric_directory.h"

#include <string>
#include <vector>

namespace ufx::swhca::tool {

// Adds rules, whose times count from now. Throws std::runtime_error.
void add_rules(fabric_directory &where, const std::vector<fault_rule> &rules);

// The rules in a file. Throws std::runtime_error.
[[nodiscard]] std::vector<fault_rule> read_schedule(const std::string &file);

// One rule a string; the single word "clear" takes all rules back.
void control(fabric_directory &where, const std::vector<std::string> &rules);

} // namespace ufx::swhca::tool

#endif

// SPDX-License-Identifier: BSD-3-Clause
// `ufx_swhca ctl`: faults while programs run, and rules of a schedule.
#ifndef UFX_SWHCA_TOOL_CONTROL_H
#define UFX_SWHCA_TOOL_CONTROL_H

#include "fabric_directory.h"

#include <string>
#include <vector>

namespace ufx::swhca::tool {

// Where a rule stands: its file and line, or itself between quotes.
struct located_rule {
    std::string where;
    fault_rule rule;
};

// The rules in a file. Throws failure.
[[nodiscard]] std::vector<located_rule> read_schedule(const std::string &file);

// The rules in these words, one a string. Throws failure.
[[nodiscard]] std::vector<located_rule> read_rules(const std::vector<std::string> &words);

// Adds rules, whose times count from now: all of them, or none and throws failure.
void add_rules(fabric_directory &where, const std::vector<located_rule> &rules);

// Takes all rules back.
void clear(fabric_directory &where);

} // namespace ufx::swhca::tool

#endif

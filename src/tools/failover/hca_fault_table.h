// SPDX-License-Identifier: BSD-3-Clause
// What may happen to devices of the software ConnectX while an endpoint uses them, and what mends it.
#ifndef UFX_TOOLS_FAILOVER_HCA_FAULT_TABLE_H
#define UFX_TOOLS_FAILOVER_HCA_FAULT_TABLE_H

#include <span>
#include <string>
#include <vector>

namespace ufx::tools::failover {

/**
 * Rules of `ufx_swhca ctl`, up to a nullptr: %d is the number of the device that is hit, %o that of a
 * device at the other end, %a the address of the device that is hit. A rule without a mend ends by
 * itself, or by `clear`.
 */
struct hca_fault {
    const char *name;
    const char *rules[3];
    const char *mends[2];
};

std::span<const hca_fault> hca_faults();

/** The rule for these devices. */
std::string fill_rule(const char *rule, int hit, int other);

/** N of each device mlx5_N in a list of rails. */
std::vector<int> hca_numbers(const std::string &rails);

/** The rules that mend whatever of the table happened to these devices. */
std::vector<std::string> mend_rules(const std::vector<int> &devices);

} // namespace ufx::tools::failover

#endif

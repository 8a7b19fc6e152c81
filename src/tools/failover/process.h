// SPDX-License-Identifier: BSD-3-Clause
// Running other programs: `ip`, `tc`, gnuplot.
#ifndef UFX_TOOLS_FAILOVER_PROCESS_H
#define UFX_TOOLS_FAILOVER_PROCESS_H

#include <string>
#include <sys/types.h>
#include <vector>

namespace ufx::tools::failover {

using words = std::vector<std::string>;

/** Starts a program; throws if it is not there. Its output goes to ours. */
pid_t start_program(const words &command);

/** True if it has ended; throws if it ended with an error. @param text the command, for the error
 */
bool program_ended(pid_t pid, const std::string &text, bool wait);

/** Runs it to its end; throws if it ended with an error. */
void run_program(const words &command);

/** Its words with spaces between. */
std::string show(const words &command);

} // namespace ufx::tools::failover

#endif

// SPDX-License-Identifier: BSD-3-Clause
// SIGINT and SIGTERM as a flag that loops look at.
#ifndef UFX_TOOLS_COMMON_SIGNALS_H
#define UFX_TOOLS_COMMON_SIGNALS_H

namespace ufx::tools {

/** From now on SIGINT and SIGTERM only set the flag, a second one ends the process; SIGPIPE is
 *  ignored. */
void catch_signals();

/** True once a signal came. */
bool interrupted();

/** Throws "interrupted" once a signal came. */
void throw_if_interrupted();

} // namespace ufx::tools

#endif

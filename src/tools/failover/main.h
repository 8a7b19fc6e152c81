// SPDX-License-Identifier: BSD-3-Clause
// `ufx_perftest failover`.
#ifndef UFX_TOOLS_FAILOVER_MAIN_H
#define UFX_TOOLS_FAILOVER_MAIN_H

namespace ufx::tools::failover {

/** @param argc, argv  the words from `failover` on; @return exit status; throws tool_error */
int failover_main(int argc, char **argv);

} // namespace ufx::tools::failover

#endif

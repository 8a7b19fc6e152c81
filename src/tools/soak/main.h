// SPDX-License-Identifier: BSD-3-Clause
// `ufx_perftest soak`.
#ifndef UFX_TOOLS_SOAK_MAIN_H
#define UFX_TOOLS_SOAK_MAIN_H

namespace ufx::tools::soak {

/** @param argc, argv  the words from `soak` on; @return exit status; throws tool_error */
int soak_main(int argc, char **argv);

} // namespace ufx::tools::soak

#endif

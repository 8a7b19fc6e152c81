// SPDX-License-Identifier: BSD-3-Clause
// The command that does a run of `ufx_perftest soak` again.
#ifndef UFX_TOOLS_SOAK_REPEAT_H
#define UFX_TOOLS_SOAK_REPEAT_H

#include <cstdint>
#include <string>

namespace ufx::tools::soak {

/** @param argc, argv  the words from `soak` on; @param seed  that was used; for a shell */
std::string repeat_command(int argc, char **argv, uint64_t seed);

} // namespace ufx::tools::soak

#endif

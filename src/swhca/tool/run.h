// SPDX-License-Identifier: BSD-3-Clause
// `ufx_swhca run`: a program with the shim preloaded.
#ifndef UFX_SWHCA_TOOL_RUN_H
#define UFX_SWHCA_TOOL_RUN_H

#include "swhca/fabric/fabric.h"

#include <string>
#include <vector>

namespace ufx::swhca::tool {

struct run_options {
    std::string directory; // empty: one of its own
    std::string engine = "trap";
    std::string faults; // a schedule file, or empty
    fabric_options fabric;
    std::vector<std::string> command;
    std::string launcher; // the words before the command, for who tells how to do it again
};

// The program's exit status, or 128 + its signal. Throws failure if it cannot be run.
[[nodiscard]] int run(const run_options &options);

} // namespace ufx::swhca::tool

#endif

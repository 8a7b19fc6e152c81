// SPDX-License-Identifier: BSD-3-Clause
// A `ufx_swhca ctl` that takes a rule a line, for the fabric that this process runs on.
#ifndef UFX_TOOLS_FAILOVER_FAULT_LINE_H
#define UFX_TOOLS_FAILOVER_FAULT_LINE_H

#include <cstdio>
#include <string>
#include <sys/types.h>

namespace ufx::tools::failover {

class fault_line {
public:
    /** Throws: this process was not started by `ufx_swhca run`, or `ctl` does not start. */
    fault_line();
    ~fault_line();
    fault_line(const fault_line &) = delete;
    fault_line &operator=(const fault_line &) = delete;

    /** The rule, or "clear", is in effect when this returns. Throws if it was refused. */
    void apply(const std::string &rule);

private:
    pid_t child_ = -1;
    std::FILE *to_ = nullptr;
    std::FILE *from_ = nullptr;
};

} // namespace ufx::tools::failover

#endif

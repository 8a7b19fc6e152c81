// SPDX-License-Identifier: BSD-3-Clause
// Faults of the fabric that this process runs on, by a `ufx_swhca ctl` that takes a rule a line.
#ifndef UFX_TEST_MATRIX_FAULT_LINE_H
#define UFX_TEST_MATRIX_FAULT_LINE_H

#include <cstdio>
#include <string>
#include <sys/types.h>

namespace ufx::matrix {

class fault_line {
public:
    // Throws std::runtime_error: not under `ufx_swhca run`, or `ctl` does not start.
    explicit fault_line(const std::string &ufx_swhca);
    ~fault_line();
    fault_line(const fault_line &) = delete;
    fault_line &operator=(const fault_line &) = delete;

    // The rule is in effect when this returns. Throws std::runtime_error if it was refused.
    void apply(const std::string &rule);

private:
    pid_t child_ = -1;
    std::FILE *to_ = nullptr;
    std::FILE *from_ = nullptr;
};

} // namespace ufx::matrix

#endif

// SPDX-License-Identifier: BSD-3-Clause
// failure: why ufx_swhca cannot do what it was asked, and the exit status that says so.
#ifndef UFX_SWHCA_TOOL_FAILURE_H
#define UFX_SWHCA_TOOL_FAILURE_H

#include <stdexcept>
#include <string>

namespace ufx::swhca::tool {

inline constexpr int usage_status = 2;        // what was asked is wrong: an option, a rule, a file
inline constexpr int fabric_status = 3;       // the fabric, or what it needs, cannot be used
inline constexpr int cannot_run_status = 126; // the program is there but cannot be run, as a
                                              // shell says it
inline constexpr int no_program_status = 127; // there is no such program

class failure : public std::runtime_error {
public:
    failure(int status, const std::string &sentence) : std::runtime_error(sentence), status_(status)
    {
    }

    [[nodiscard]] int status() const noexcept { return status_; }

private:
    int status_;
};

} // namespace ufx::swhca::tool

#endif

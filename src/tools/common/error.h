// SPDX-License-Identifier: BSD-3-Clause
// tool_error: what stops a tool, as one sentence for its user and an exit status.
#ifndef UFX_TOOLS_COMMON_ERROR_H
#define UFX_TOOLS_COMMON_ERROR_H

#include <ufx/status.h>

#include <stdexcept>
#include <string>

namespace ufx::tools {

/** Exit statuses of all tools, as their manuals say. */
enum exit_status {
    EXIT_FINE = 0,
    EXIT_VERDICT = 1,     ///< it ran, and what it found is not as it must be
    EXIT_USAGE = 2,       ///< what the user gave is wrong: option, value, file, device, transport
    EXIT_RUN = 3,         ///< the machine, the network or another process stopped it
    EXIT_INCONCLUSIVE = 4 ///< it ran, nothing is wrong, and what was to be shown did not happen
};

class tool_error : public std::runtime_error {
public:
    explicit tool_error(const std::string &text, int exit_status = EXIT_RUN)
        : std::runtime_error(text), exit_status_(exit_status)
    {
    }

    int exit_status() const noexcept { return exit_status_; }

private:
    int exit_status_;
};

/** The error for a wrong option or input. */
inline tool_error usage_error(const std::string &text)
{
    return tool_error(text, EXIT_USAGE);
}

/** "what: NAME (sentence)" */
inline std::string describe(ufx_status_t status, const std::string &what)
{
    return what + ": " + ufx_ucs_status_name(status) + " (" + ufx_ucs_status_string(status) + ")";
}

/** Throws it unless `status` is a success. */
inline void check(ufx_status_t status, const std::string &what)
{
    if (status < 0) {
        throw tool_error(describe(status, what));
    }
}

/** The error of a system call, with the text of errno. */
tool_error system_error(const std::string &what, int error_number);

/** One line on stderr of ufx_perftest, which goes on. */
void warn(const std::string &text);

/** Thrown when all is done before its time, such as by --help; no error. */
struct finished {};

/**
 * Runs `body`; an exception becomes one line on stderr, "NAME: text", and an exit status, and so
 * does output that could not be written.
 */
int guarded_main(const char *name, int (*body)(int argc, char **argv), int argc, char **argv);

} // namespace ufx::tools

#endif

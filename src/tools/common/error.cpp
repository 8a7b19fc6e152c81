// SPDX-License-Identifier: BSD-3-Clause
// How a tool ends by an error.
#include "tools/common/error.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>

namespace ufx::tools {

tool_error system_error(const std::string &what, int error_number)
{
    return tool_error(what + ": " + std::strerror(error_number));
}

namespace {

/** What is opened later must not get the number of a stream that was closed, and its output. */
void keep_standard_streams()
{
    for (int number = 0; number < 3; number++) {
        if (::fcntl(number, F_GETFD) < 0) {
            // For reading only, so that writing to it fails. The lowest free number is this one.
            static_cast<void>(::open("/dev/null", O_RDONLY));
        }
    }
}

/** `status`, unless what was printed did not all go out. */
int after_output(const char *name, int status)
{
    const int error = std::fflush(stdout) != 0 ? errno : 0;
    if (error == 0 && std::ferror(stdout) == 0) {
        return status;
    }
    std::fprintf(stderr, "%s: cannot write to stdout: %s\n", name,
                 error != 0 ? std::strerror(error) : "a part is missing");
    return status == EXIT_FINE ? EXIT_RUN : status;
}

} // namespace

void warn(const std::string &text)
{
    std::fprintf(stderr, "ufx_perftest: %s\n", text.c_str());
}

int guarded_main(const char *name, int (*body)(int argc, char **argv), int argc, char **argv)
{
    keep_standard_streams();
    try {
        return after_output(name, body(argc, argv));
    } catch (const finished &) {
        return after_output(name, EXIT_FINE);
    } catch (const tool_error &error) {
        std::fflush(stdout);
        std::fprintf(stderr, "%s: %s\n", name, error.what());
        return error.exit_status();
    } catch (const std::exception &error) {
        std::fflush(stdout);
        std::fprintf(stderr, "%s: %s\n", name, error.what());
        return EXIT_RUN;
    }
}

} // namespace ufx::tools

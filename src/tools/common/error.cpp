// SPDX-License-Identifier: BSD-3-Clause
// How a tool ends by an error.
#include "tools/common/error.h"

#include <cstdio>
#include <cstring>

namespace ufx::tools {

tool_error system_error(const std::string &what, int error_number)
{
    return tool_error(what + ": " + std::strerror(error_number));
}

int guarded_main(const char *name, int (*body)(int argc, char **argv), int argc, char **argv)
{
    try {
        return body(argc, argv);
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

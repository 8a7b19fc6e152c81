// SPDX-License-Identifier: BSD-3-Clause
// Child processes.
#include "tools/failover/process.h"

#include "tools/common/error.h"

#include <cerrno>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ufx::tools::failover {

pid_t start_program(const words &command)
{
    std::vector<char *> argv;
    for (const std::string &word : command) {
        argv.push_back(const_cast<char *>(word.c_str()));
    }
    argv.push_back(nullptr);
    pid_t pid = -1;
    const int error =
        ::posix_spawnp(&pid, command[0].c_str(), nullptr, nullptr, argv.data(), environ);
    if (error != 0) {
        throw system_error("cannot run " + command[0], error);
    }
    return pid;
}

bool program_ended(pid_t pid, const std::string &text, bool wait)
{
    int status = 0;
    pid_t ended = -1;
    do {
        ended = ::waitpid(pid, &status, wait ? 0 : WNOHANG);
    } while (ended < 0 && errno == EINTR);
    if (ended == 0) {
        return false;
    }
    if (ended != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        throw tool_error("`" + text + "` failed");
    }
    return true;
}

void run_program(const words &command)
{
    program_ended(start_program(command), show(command), true);
}

std::string show(const words &command)
{
    std::string text;
    for (const std::string &word : command) {
        text += (text.empty() ? "" : " ") + word;
    }
    return text;
}

} // namespace ufx::tools::failover

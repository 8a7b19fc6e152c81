// SPDX-License-Identifier: BSD-3-Clause
// Two pipes and a child.
#include "tools/failover/fault_line.h"

#include "tools/common/error.h"
#include "tools/failover/hca_faults.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>

namespace ufx::tools::failover {

fault_line::fault_line()
{
    const std::string fabric = own_fabric();
    if (fabric.empty()) {
        throw usage_error("faults of RDMA devices need those of `ufx_swhca run --hca 4 -- ...`");
    }
    const std::string program = find_ufx_swhca();
    std::array<int, 2> down{}, up{};
    if (::pipe(down.data()) != 0 || ::pipe(up.data()) != 0 || (child_ = ::fork()) < 0) {
        throw system_error("cannot start `ufx_swhca ctl`", errno);
    }
    if (child_ == 0) {
        ::dup2(down[0], STDIN_FILENO);
        ::dup2(up[1], STDOUT_FILENO);
        for (const int each : {down[0], down[1], up[0], up[1]}) {
            ::close(each);
        }
        ::unsetenv("LD_PRELOAD"); // it is no program of the fabric
        ::execlp(program.c_str(), "ufx_swhca", "ctl", "--dir", fabric.c_str(), "-", nullptr);
        ::_exit(127);
    }
    ::close(down[0]);
    ::close(up[1]);
    to_ = ::fdopen(down[1], "w");
    from_ = ::fdopen(up[0], "r");
}

fault_line::~fault_line()
{
    std::fclose(to_);
    std::fclose(from_);
    (void)::waitpid(child_, nullptr, 0);
}

void fault_line::apply(const std::string &rule)
{
    std::array<char, 512> answer{};
    if (std::fputs((rule + "\n").c_str(), to_) < 0 || std::fflush(to_) != 0 ||
        std::fgets(answer.data(), static_cast<int>(answer.size()), from_) == nullptr) {
        throw tool_error("`ufx_swhca ctl` does not answer to: " + rule);
    }
    if (std::string(answer.data()) != "ok\n") {
        throw tool_error(rule + ": " + answer.data());
    }
}

} // namespace ufx::tools::failover

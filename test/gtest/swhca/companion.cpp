// SPDX-License-Identifier: BSD-3-Clause
// A fork, and a pair of sockets.
#include "companion.h"

#include <catch2/catch.hpp>
#include <csignal>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace ufx::test {

namespace {

[[noreturn]] void be_child(rig &of, line own, const std::function<void(rig &, line &)> &live,
                           const std::function<void()> &prepare)
{
    int status = 0;
    try {
        if (prepare) {
            prepare();
        }
        ::prctl(PR_SET_PDEATHSIG, SIGKILL); // a change of user clears it
        rig mine(of);
        own.say(mine.self() + 1);
        live(mine, own);
    } catch (...) {
        status = 2;
    }
    ::_exit(status);
}

} // namespace

void line::say(uint64_t word) const noexcept
{
    (void)::send(socket_.get(), &word, sizeof(word), MSG_NOSIGNAL);
}

uint64_t line::hear() const noexcept
{
    uint64_t word = 0;
    return ::recv(socket_.get(), &word, sizeof(word), MSG_WAITALL) == sizeof(word) ? word : 0;
}

companion::companion(rig &of, const std::function<void(rig &, line &)> &live,
                     const std::function<void()> &prepare)
{
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    pid_ = ::fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
        ::close(ends[0]);
        be_child(of, line(ends[1]), live, prepare);
    }
    ::close(ends[1]);
    line_ = line(ends[0]);
    slot_ = static_cast<uint32_t>(line_.hear()) - 1;
    REQUIRE(slot_ < swhca::max_processes);
}

companion::~companion()
{
    (void)kill();
}

void open_second_device(rig &mine, line &to)
{
    uint32_t context = 0;
    int error = mine.command(
        [&](swhca::core &world) { return swhca::open_context(world, 1, -1, context); });
    to.say(error == 0 ? 1 : 2);
    (void)to.hear();
}

int companion::wait()
{
    int status = 0;
    if (pid_ > 0) {
        (void)::waitpid(std::exchange(pid_, 0), &status, 0);
    }
    return status;
}

int companion::kill()
{
    if (pid_ > 0) {
        (void)::kill(pid_, SIGKILL);
    }
    return wait();
}

} // namespace ufx::test

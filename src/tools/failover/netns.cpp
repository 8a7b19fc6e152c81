// SPDX-License-Identifier: BSD-3-Clause
// Network namespaces of a run.
#include "tools/failover/netns.h"

#include "tools/common/error.h"
#include "tools/failover/process.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

namespace ufx::tools::failover {

namespace {

constexpr const char *NETNS_FOLDER = "/run/netns";
constexpr const char *NAME_PREFIX = "ufx-";
constexpr const char *DEFAULT_RATE = "1gbit";
constexpr unsigned CARRIER_POLLS = 400;
constexpr int CARRIER_POLL_MS = 5;

std::string rail_name(unsigned rail)
{
    return "rail" + std::to_string(rail);
}

std::string rail_address(unsigned rail, unsigned host)
{
    return "10.77." + std::to_string(rail) + "." + std::to_string(host);
}

/** Removes namespaces of runs whose process is gone, guardian and all. */
void sweep()
{
    const std::unique_ptr<DIR, int (*)(DIR *)> folder(::opendir(NETNS_FOLDER), ::closedir);
    while (folder) {
        const dirent *entry = ::readdir(folder.get());
        if (entry == nullptr) {
            return;
        }
        const std::string name = entry->d_name;
        const size_t digits = std::string(NAME_PREFIX).size();
        const pid_t pid = name.rfind(NAME_PREFIX, 0) == 0 ? std::atoi(name.c_str() + digits) : 0;
        const std::string made = NAME_PREFIX + std::to_string(pid);
        if (pid > 0 && (name == made + "-a" || name == made + "-b") && ::kill(pid, 0) != 0 &&
            errno == ESRCH) {
            run_program({"ip", "netns", "del", name});
        }
    }
}

/** Without a limit the rails are faster than the processes, and idle when they are cut. */
void limit(const std::string &side, const std::string &rail, const std::string &rate)
{
    if (rate == "none") {
        return;
    }
    try {
        run_program({"tc", "-n", side, "qdisc", "add", "dev", rail, "root", "tbf", "rate",
                     rate.empty() ? DEFAULT_RATE : rate, "burst", "256k", "latency", "20ms"});
    } catch (const tool_error &error) {
        if (!rate.empty()) {
            throw;
        }
        std::fprintf(stderr, "ufx_perftest: %s of %s is not limited: %s\n", rail.c_str(),
                     side.c_str(), error.what());
    }
}

bool has_carrier(const fd &socket, const std::string &rail)
{
    ifreq request{};
    rail.copy(request.ifr_name, IFNAMSIZ - 1);
    return ::ioctl(socket.get(), SIOCGIFFLAGS, &request) == 0 &&
           (request.ifr_flags & IFF_RUNNING) != 0;
}

/** The kernel tells late that a new link carries; a rail that starts as down is held off. */
void wait_for_carriers()
{
    const fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    for (unsigned rail = 0; rail < NETNS_RAILS; rail++) {
        for (unsigned i = 0; i < CARRIER_POLLS && !has_carrier(socket, rail_name(rail)); i++) {
            ::poll(nullptr, 0, CARRIER_POLL_MS);
        }
    }
}

/** Lives until the pipe's other end closes, then removes the namespaces. Never returns. */
[[noreturn]] void guard(int pipe_end, const std::string &a, const std::string &b)
{
    ::setsid();
    ::prctl(PR_SET_NAME, "ufx-guardian");
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
        std::signal(number, SIG_IGN);
    }
    ::dup2(pipe_end, 3);
    ::close_range(4, ~0u, 0);
    const int nothing = ::open("/dev/null", O_RDWR);
    for (int number = 0; number < 3; number++) {
        ::dup2(nothing, number);
    }
    char byte = 0;
    while (::read(3, &byte, 1) < 0 && errno == EINTR) {
    }
    for (const std::string &name : {a, b}) {
        try {
            run_program({"ip", "netns", "del", name});
        } catch (const tool_error &) {
            // It was never made, or somebody was faster.
        }
    }
    ::_exit(0);
}

} // namespace

namespaces::namespaces(const std::string &prefix, const std::string &rate)
{
    const std::string stem = prefix.empty() ? NAME_PREFIX + std::to_string(::getpid()) : prefix;
    a_ = stem + "-a";
    b_ = stem + "-b";
    sweep();
    for (const std::string &name : {a_, b_}) {
        if (::access((std::string(NETNS_FOLDER) + "/" + name).c_str(), F_OK) == 0) {
            throw tool_error("the network namespace " + name + " exists already");
        }
    }
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0) {
        throw system_error("cannot make a pipe", errno);
    }
    const fd read_end(ends[0]);
    guard_pipe_ = fd(ends[1]);
    guardian_ = ::fork();
    if (guardian_ < 0) {
        throw system_error("cannot fork", errno);
    }
    if (guardian_ == 0) {
        guard_pipe_.reset();
        guard(read_end.get(), a_, b_);
    }
    try {
        build(rate);
    } catch (...) {
        guard_pipe_.reset();
        ::waitpid(guardian_, nullptr, 0);
        throw;
    }
}

namespaces::~namespaces()
{
    guard_pipe_.reset();
    ::waitpid(guardian_, nullptr, 0);
}

void namespaces::build(const std::string &rate)
{
    run_program({"ip", "netns", "add", a_});
    run_program({"ip", "netns", "add", b_});
    for (unsigned rail = 0; rail < NETNS_RAILS; rail++) {
        const std::string name = rail_name(rail);
        run_program({"ip", "link", "add", name, "netns", a_, "type", "veth", "peer", "name", name,
                     "netns", b_});
        unsigned host = 1;
        for (const std::string &side : {a_, b_}) {
            run_program(
                {"ip", "-n", side, "addr", "add", rail_address(rail, host++) + "/24", "dev", name});
            run_program({"ip", "-n", side, "link", "set", name, "up"});
            limit(side, name, rate);
        }
    }
    run_program({"ip", "-n", a_, "link", "set", "lo", "up"});
    run_program({"ip", "-n", b_, "link", "set", "lo", "up"});
}

std::string namespaces::devices()
{
    std::string list;
    for (unsigned rail = 0; rail < NETNS_RAILS; rail++) {
        list += (rail == 0 ? "" : ",") + rail_name(rail);
    }
    return list;
}

std::string namespaces::sender_address(unsigned rail)
{
    return rail_address(rail, 1);
}

void namespaces::enter(const std::string &name)
{
    const fd handle(::open((std::string(NETNS_FOLDER) + "/" + name).c_str(), O_RDONLY | O_CLOEXEC));
    if (!handle || ::setns(handle.get(), CLONE_NEWNET) != 0) {
        throw system_error("cannot enter the network namespace " + name, errno);
    }
    wait_for_carriers();
}

} // namespace ufx::tools::failover

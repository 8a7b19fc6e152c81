// SPDX-License-Identifier: BSD-3-Clause
// A pair of processes, and what is done to it.
#include "kill_pair.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ufx::test {

namespace {

constexpr uint64_t STOP_MS = 5000;
constexpr uint64_t REACH_MS = 30000;       // until the trace point is reached
constexpr uint64_t END_MS = 70000;         // until both have ended after a stop
constexpr uint64_t PEER_TIMEOUT_MS = 3000; // UFX_PEER_TIMEOUT of the cases with a kill
constexpr uint64_t SLACK_MS = 9000;        // of a loaded machine, and the survivor's own checks
constexpr int SURVIVED = 3;                // exit status of a child whose partner died

} // namespace

uint64_t clock_ms()
{
    timespec now = {};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1000 + static_cast<uint64_t>(now.tv_nsec) / 1000000;
}

std::string kill_case::name() const
{
    return std::string(phase) + " " + (kill ? "kill" : "stop") + " " +
           (near ? "there" : "at the partner");
}

kill_pair::kill_pair(const kill_case &what, const std::string &child) : what_(what)
{
    int ends[2] = {-1, -1};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        complain("cannot make sockets");
        stage_ = stage::OVER;
        return;
    }
    for (int i = 0; i < 2; i++) {
        start(processes_[i], child, ends[i], i == 0);
    }
    ::close(ends[0]);
    ::close(ends[1]);
    since_ms_ = clock_ms();
}

kill_pair::~kill_pair()
{
    for (process &one : processes_) {
        if (one.pid > 0 && !one.ended) {
            ::kill(one.pid, SIGKILL);
            ::waitpid(one.pid, nullptr, 0);
        }
        if (one.output >= 0) {
            ::close(one.output);
        }
    }
}

void kill_pair::start(process &to, const std::string &child, int socket, bool starts)
{
    int output[2] = {-1, -1};
    if (::pipe2(output, O_CLOEXEC | O_NONBLOCK) != 0) {
        return;
    }
    to.pid = ::fork();
    if (to.pid == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        ::dup2(output[1], STDOUT_FILENO);
        ::dup2(output[1], STDERR_FILENO);
        if (what_.kill) {
            ::setenv("UFX_PEER_TIMEOUT", (std::to_string(PEER_TIMEOUT_MS) + "ms").c_str(), 1);
        }
        ::setenv("UFX_TRACE_STOP", what_.phase, 1);
        ::execl(child.c_str(), "kill_child", std::to_string(::dup(socket)).c_str(),
                starts ? "starts" : "waits",
                std::strcmp(what_.phase, "idle") == 0 ? "rests" : "works", nullptr);
        ::_exit(127);
    }
    ::close(output[1]);
    to.output = output[0];
}

bool kill_pair::advance()
{
    const uint64_t now = clock_ms();
    for (process &one : processes_) {
        if (collect(one)) {
            stopped(one, now);
        }
    }
    switch (stage_) {
    case stage::RUNNING:
        if (processes_[0].ended && processes_[1].ended) {
            missed_ = processes_[0].status == 0 && processes_[1].status == 0;
            complain("both ended without reaching the point");
            stage_ = stage::OVER;
        } else if (now - since_ms_ > REACH_MS) {
            complain("the point was not reached within 30 s");
            stage_ = stage::OVER;
        }
        break;
    case stage::HELD:
        if (now - since_ms_ >= STOP_MS) {
            ::kill(victim_->pid, SIGCONT);
            stage_ = stage::ENDING;
            since_ms_ = now;
        }
        break;
    case stage::ENDING:
        judge(now);
        break;
    case stage::OVER:
        break;
    }
    return stage_ == stage::OVER;
}

/** The first process that holds itself at the point makes the case; the other one goes on. */
void kill_pair::stopped(process &one, uint64_t now)
{
    if (stage_ == stage::RUNNING) {
        strike(one, now);
    } else if (stage_ != stage::HELD || &one != victim_) {
        ::kill(one.pid, SIGCONT);
    }
}

void kill_pair::strike(process &at_point, uint64_t now)
{
    victim_ = what_.near ? &at_point : &partner_of(at_point);
    since_ms_ = now;
    if (what_.kill) {
        ::kill(victim_->pid, SIGKILL);
        ::kill(partner_of(*victim_).pid, SIGCONT);
        stage_ = stage::ENDING;
        return;
    }
    if (!what_.near) {
        ::kill(victim_->pid, SIGSTOP);
        ::kill(at_point.pid, SIGCONT);
    }
    stage_ = stage::HELD;
}

/** Takes output and the end. True: the process has stopped; only then does SIGCONT reach it. */
bool kill_pair::collect(process &one)
{
    char buffer[4096];
    for (ssize_t n = 1; n > 0;) {
        n = ::read(one.output, buffer, sizeof(buffer));
        one.text.append(buffer, n > 0 ? static_cast<size_t>(n) : 0);
    }
    int status = 0;
    if (one.ended || one.pid <= 0 ||
        ::waitpid(one.pid, &status, WNOHANG | WUNTRACED) != one.pid) {
        return false;
    }
    if (WIFSTOPPED(status)) {
        return true;
    }
    one.ended = true;
    one.status = status;
    return collect(one);
}

void kill_pair::judge(uint64_t now)
{
    const uint64_t limit = what_.kill ? PEER_TIMEOUT_MS + SLACK_MS : END_MS;
    const bool ended =
        what_.kill ? partner_of(*victim_).ended : processes_[0].ended && processes_[1].ended;
    if (!ended && now - since_ms_ < limit) {
        return;
    }
    stage_ = stage::OVER;
    if (!ended) {
        complain("no end within " + std::to_string(limit) + " ms");
    }
    if (what_.kill) {
        const int status = partner_of(*victim_).status;
        if (ended && (!WIFEXITED(status) || WEXITSTATUS(status) != SURVIVED)) {
            complain("the survivor ended with status " + std::to_string(status));
        }
        return;
    }
    for (const process &one : processes_) {
        if (one.ended && (!WIFEXITED(one.status) || WEXITSTATUS(one.status) != 0)) {
            complain("a side ended with status " + std::to_string(one.status));
        }
    }
}

void kill_pair::complain(const std::string &text)
{
    complaint_ += text + "\n";
    for (const process &one : processes_) {
        complaint_ += "  | " + one.text + "\n";
    }
}

} // namespace ufx::test

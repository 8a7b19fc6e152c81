// SPDX-License-Identifier: BSD-3-Clause
// Signals as a flag.
#include "tools/common/signals.h"

#include "tools/common/error.h"

#include <atomic>
#include <csignal>

namespace ufx::tools {

namespace {

// Written by the handler, read by loops; lock-free, nothing else is ordered by it.
std::atomic<int> caught{0};

void on_signal(int number)
{
    caught.store(number, std::memory_order_relaxed);
}

} // namespace

void catch_signals()
{
    struct sigaction action = {};
    action.sa_handler = on_signal;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    ::sigaction(SIGINT, &action, nullptr);
    ::sigaction(SIGTERM, &action, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
}

bool interrupted()
{
    return caught.load(std::memory_order_relaxed) != 0;
}

void throw_if_interrupted()
{
    if (interrupted()) {
        throw tool_error("interrupted", 128 + caught.load(std::memory_order_relaxed));
    }
}

} // namespace ufx::tools

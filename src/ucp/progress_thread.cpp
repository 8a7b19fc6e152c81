// SPDX-License-Identifier: BSD-3-Clause
// The progress thread of a worker.
#include "ucp/progress_thread.h"

#include "ucp/wakeup.h"
#include "ucp/worker.h"
#include "ucs/entry.h"

#include <poll.h>

namespace ufx::ucp {

namespace {

constexpr int wait_ms = 10;
// It steps in when the user did not call for so long.
constexpr int idle_ms = 2;
constexpr core::time_ns idle_ns = idle_ms * core::ms_ns;

} // namespace

progress_thread::progress_thread(worker &w) : worker_(w), thread_([this] { run(); }) {}

progress_thread::~progress_thread()
{
    stop_.store(true, std::memory_order_relaxed);
    worker_.wake().signal();
    thread_.join();
}

void progress_thread::run()
{
    while (!stop_.load(std::memory_order_relaxed)) {
        pollfd one{worker_.loop().event_fd(), POLLIN, 0};
        (void)::poll(&one, 1, wait_ms);
        if (worker_.now() - worker_.last_user_progress() < idle_ns) {
            (void)::poll(nullptr, 0, idle_ms); // what is readable is the user's to read
            continue;
        }
        if (step()) {
            (void)::poll(nullptr, 0, idle_ms); // time for the user to see it
        }
    }
}

// @return whether the user has to come
bool progress_thread::step()
{
    const auto held = worker_.lock();
    unsigned handled = 1; // also if it ends early
    (void)ucs::guard([&] { handled = worker_.progress_inner(); });
    return (handled != 0 || worker_.has_work()) && worker_.wake().hand_over();
}

} // namespace ufx::ucp

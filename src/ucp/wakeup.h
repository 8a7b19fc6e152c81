// SPDX-License-Identifier: BSD-3-Clause
// Waiting for a worker: its event loop as one descriptor, with a timer and a signal in it.
#pragma once

#include "ucs/fd.h"
#include "ucs/result.h"

#include <ufx/status.h>

#include <atomic>

namespace ufx::ucp {

class worker;

class wakeup {
public:
    explicit wakeup(worker &w) : worker_(w) {}
    ~wakeup();
    wakeup(const wakeup &) = delete;
    wakeup &operator=(const wakeup &) = delete;

    ufx_status_t open();
    int event_fd() const;
    // BUSY: progress first.
    ufx_status_t arm();
    // Waits without the worker's lock.
    ufx_status_t wait(int timeout_ms);
    // Any thread.
    void signal();
    // Any thread: only if somebody waits.
    void kick();
    // The progress thread has handled events that the user may wait for: whoever waits is woken, again
    // at each call until the user comes, as the thread also reads the signal itself. Under the
    // worker's lock. @return whether somebody has to come
    bool hand_over();
    // The user makes progress or looks whether to wait. Under the worker's lock.
    void user_came() { owed_ = false; }

private:
    static void on_uct(void *arg, std::uint32_t events);
    static void on_timer(void *arg, std::uint32_t events);
    static void on_signal(void *arg, std::uint32_t events);

    worker &worker_;
    int uct_fd_ = -1;
    ucs::fd timer_;
    ucs::fd signal_;
    // Set by arm(), taken by kick(): whoever takes it writes the eventfd. acq_rel with itself.
    std::atomic<bool> armed_{false};
    bool owed_ = false; // an event or a signal was taken, and the user has not come since
};

} // namespace ufx::ucp

// SPDX-License-Identifier: BSD-3-Clause
// Waiting for a worker: its event loop as one descriptor, with a timer and a signal in it.
#ifndef UFX_UCP_WAKEUP_H
#define UFX_UCP_WAKEUP_H

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
    void kick()
    {
        if (armed_.load(std::memory_order_relaxed)) {
            kick_armed();
        }
    }
    // What the progress thread has handled may be what the user waits for: wakes whoever waits,
    // again at each call until user_came(), and makes arm() BUSY until then. @return whether
    // somebody waits
    bool hand_over();
    // The user makes progress. Both under the worker's lock.
    void user_came() { owed_ = called_ = false; }
    // How often the loop has found uct's descriptor readable since the last call.
    unsigned take_uct_calls() { return std::exchange(uct_calls_, 0); }

private:
    void kick_armed();
    static void on_uct(void *arg, std::uint32_t events);
    static void on_timer(void *arg, std::uint32_t events);
    static void on_signal(void *arg, std::uint32_t events);

    worker &worker_;
    int uct_fd_ = -1;
    unsigned uct_calls_ = 0;
    ucs::fd timer_;
    ucs::fd signal_;
    // Set by arm(), taken by kick(): whoever takes it writes the eventfd. acq_rel with itself.
    std::atomic<bool> armed_{false};
    bool owed_ = false;   // an event or a signal was taken, and the user has not come since
    bool called_ = false; // and is being woken
};

} // namespace ufx::ucp

#endif

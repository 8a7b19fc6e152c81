// SPDX-License-Identifier: BSD-3-Clause
// Reads a device's asynchronous events and posts copies of them to the ifaces: a thread, or who
// calls.
#ifndef UFX_UCT_IB_COMMON_ASYNC_MONITOR_H
#define UFX_UCT_IB_COMMON_ASYNC_MONITOR_H

#include "ucs/fd.h"
#include "ucs/mailbox.h"
#include "ucs/owner.h"
#include "ucs/result.h"

#include <infiniband/verbs.h>

#include <array>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

namespace ufx::uct::ib {

// What an event is about, copied before it is acknowledged: afterwards the object may be gone.
struct async_event : ucs::mpsc_node {
    ibv_event_type type;
    uint32_t qpn = 0;             // of QP events
    const void *object = nullptr; // of CQ_ERR and SRQ_ERR: compared only
    uint8_t port = 0;             // of port events
};

using event_mailbox = ucs::mailbox<async_event>;

// It never touches an ep, an iface or an operation; it only posts to mailboxes. It looks at the
// ports once a second as well, so that an event that was lost is made up for.
class async_monitor {
public:
    // `each_second` runs on the thread. Without one, ifaces look().
    using timer = void (*)(void *arg) noexcept;
    [[nodiscard]] static ucs::result<ucs::owner<async_monitor>>
    start(ibv_context *context, bool threaded, timer each_second, void *arg);

    ~async_monitor();

    async_monitor(const async_monitor &) = delete;
    async_monitor &operator=(const async_monitor &) = delete;

    // Every event goes to every mailbox; the reader knows which are its own. Throws bad_alloc.
    void add(event_mailbox &mailbox);
    // When it returns nothing is posted any more.
    void remove(event_mailbox &mailbox) noexcept;

    [[nodiscard]] bool is_threaded() const noexcept { return thread_.joinable(); }

    // What the thread would do now; does not wait. For ifaces, of any worker.
    void look() noexcept;

    // The addresses of that port could not be read: posts GID_CHANGE when it looks at the ports
    // next.
    void read_again(uint8_t port) noexcept
    {
        read_again_[port].store(true, std::memory_order_relaxed);
    }

private:
    friend struct ucs::owner_access;

    async_monitor(ibv_context *context, ucs::fd stop, bool threaded, timer each_second, void *arg);

    void take_events() noexcept;
    void look_each_second() noexcept;
    void run() noexcept;
    [[nodiscard]] bool read_events() noexcept;
    void look_at_ports() noexcept;
    void post(const async_event &event) noexcept;

    ibv_context *context_;
    ucs::fd stop_;
    timer each_second_;
    void *arg_;
    std::mutex mutex_; // of mailboxes_
    std::vector<event_mailbox *> mailboxes_;
    std::mutex looking_;
    // Of the thread, or guarded by looking_:
    std::vector<bool> active_; // ports as last seen, by number
    bool gone_ = false;        // the device: it gives no events any more
    uint64_t look_at_ns_;      // at the ports
    std::array<std::atomic<bool>, UINT8_MAX + 1>
        read_again_{}; // set by readers, cleared by thread_
    std::thread thread_;
};

} // namespace ufx::uct::ib

#endif

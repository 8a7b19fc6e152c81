// SPDX-License-Identifier: BSD-3-Clause
// mailbox: messages from any thread to the one that progresses a worker, with an eventfd.
#ifndef UFX_UCS_MAILBOX_H
#define UFX_UCS_MAILBOX_H

#include "fd.h"
#include "mpsc_queue.h"
#include "owner.h"

namespace ufx::ucs {

// T derives from mpsc_node. The reader calls drain() from every progress, which costs one load
// while nothing has come. Before it sleeps on event_fd() it calls acknowledge() and then drain()
// again: a post after acknowledge() makes event_fd() readable.
template <class T>
class mailbox {
public:
    [[nodiscard]] static result<owner<mailbox>> create()
    {
        result<fd> event = make_eventfd();
        if (!event) {
            return event.error();
        }
        return owner_access::make<mailbox>(std::move(*event));
    }

    // Messages that were not drained are destroyed. No thread may post any more.
    ~mailbox()
    {
        while (T *message = queue_.pop()) {
            owner<T> destroyed(message);
        }
    }

    mailbox(const mailbox &) = delete;
    mailbox &operator=(const mailbox &) = delete;

    // Any thread.
    void post(owner<T> message) noexcept
    {
        if (queue_.push(*message.release())) {
            eventfd_signal(event_);
        }
    }

    // Reader: calls handle(owner<T>) for each message, oldest first; returns how many.
    template <class F>
    size_t drain(F &&handle)
    {
        size_t count = 0;
        while (T *message = queue_.pop()) {
            handle(owner<T>(message));
            count++;
        }
        return count;
    }

    // Reader: makes event_fd() unreadable until the next post.
    void acknowledge() noexcept { eventfd_clear(event_); }

    [[nodiscard]] bool empty() const noexcept { return queue_.empty(); }

    // Reader, outside of drain(): as !empty(), by one load.
    [[nodiscard]] bool has_new() const noexcept { return queue_.has_new(); }

    [[nodiscard]] int event_fd() const noexcept { return event_.get(); }

private:
    friend struct owner_access;

    explicit mailbox(fd event) noexcept : event_(std::move(event)) {}

    fd event_;
    mpsc_queue<T> queue_;
};

} // namespace ufx::ucs

#endif

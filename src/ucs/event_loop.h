// SPDX-License-Identifier: BSD-3-Clause
// event_loop: owner of an epoll set, calls a handler for each descriptor that is ready.
#ifndef UFX_UCS_EVENT_LOOP_H
#define UFX_UCS_EVENT_LOOP_H

#include "fd.h"
#include "handle_table.h"
#include "owner.h"

#include <cstdint>
#include <unordered_map>

namespace ufx::ucs {

// Single-threaded. Descriptors are not owned: remove() them before they are closed. Handlers may
// add and remove descriptors, also their own; after remove() a handler is not called again, not
// even for an event that the running wait() has already fetched.
class event_loop {
public:
    // `events` are EPOLLIN, EPOLLOUT, EPOLLERR, EPOLLHUP ... that are ready.
    using handler = void (*)(void *arg, uint32_t events);

    [[nodiscard]] static result<owner<event_loop>> create();

    // `events` as for epoll_ctl(). ALREADY_EXISTS if `fd` is in.
    [[nodiscard]] result<void> add(int fd, uint32_t events, handler call, void *arg);

    // Other events for the same handler.
    [[nodiscard]] result<void> modify(int fd, uint32_t events);

    // NO_ELEM if `fd` is not in.
    result<void> remove(int fd);

    // Calls handlers of what is ready; returns how many were called. Waits up to `timeout_ns`
    // (rounded up to ms) if nothing is: 0 returns at once, -1 waits for ever.
    [[nodiscard]] result<unsigned> wait(int64_t timeout_ns);

    // Readable while a descriptor of the set is ready; for the poll() of somebody else.
    [[nodiscard]] int event_fd() const noexcept { return epoll_.get(); }

private:
    friend struct owner_access;

    struct entry {
        handler call;
        void *arg;
        handle id = 0;
    };

    explicit event_loop(fd epoll) noexcept : epoll_(std::move(epoll)) {}

    fd epoll_;
    std::unordered_map<int, entry> entries_; // by descriptor; entries do not move
    handle_table<entry> ids_;
};

} // namespace ufx::ucs

#endif

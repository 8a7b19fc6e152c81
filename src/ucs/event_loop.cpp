// SPDX-License-Identifier: BSD-3-Clause
// epoll behind event_loop.
#include "event_loop.h"

#include "log.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <sys/epoll.h>

namespace ufx::ucs {
namespace {

constexpr int batch = 64; // events fetched by one wait(); the rest stays ready

int to_milliseconds(int64_t timeout_ns) noexcept
{
    constexpr int64_t ns_per_ms = 1000000;
    if (timeout_ns < 0) {
        return -1;
    }
    int64_t whole = timeout_ns / ns_per_ms + (timeout_ns % ns_per_ms != 0 ? 1 : 0);
    return static_cast<int>(std::min<int64_t>(whole, INT_MAX));
}

} // namespace

result<owner<event_loop>> event_loop::create()
{
    fd epoll(::epoll_create1(EPOLL_CLOEXEC));
    if (!epoll) {
        int error = errno;
        ufx_error("epoll_create1() failed: %s", std::strerror(error));
        return status_from_errno(error);
    }
    return owner_access::make<event_loop>(std::move(epoll));
}

result<void> event_loop::add(int fd, uint32_t events, handler call, void *arg)
{
    auto [at, added] = entries_.try_emplace(fd, entry{call, arg});
    if (!added) {
        return UFX_ERR_ALREADY_EXISTS;
    }
    try {
        at->second.id = ids_.insert(at->second);
    } catch (...) {
        entries_.erase(at);
        throw;
    }
    epoll_event wanted = {};
    wanted.events = events;
    wanted.data.u64 = at->second.id;
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &wanted) != 0) {
        int error = errno;
        ids_.erase(at->second.id);
        entries_.erase(at);
        ufx_error("epoll_ctl(ADD, fd %d) failed: %s", fd, std::strerror(error));
        return status_from_errno(error);
    }
    return {};
}

result<void> event_loop::modify(int fd, uint32_t events)
{
    auto at = entries_.find(fd);
    if (at == entries_.end()) {
        return UFX_ERR_NO_ELEM;
    }
    epoll_event wanted = {};
    wanted.events = events;
    wanted.data.u64 = at->second.id;
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &wanted) != 0) {
        int error = errno;
        ufx_error("epoll_ctl(MOD, fd %d) failed: %s", fd, std::strerror(error));
        return status_from_errno(error);
    }
    return {};
}

result<void> event_loop::remove(int fd)
{
    auto at = entries_.find(fd);
    if (at == entries_.end()) {
        return UFX_ERR_NO_ELEM;
    }
    ids_.erase(at->second.id);
    entries_.erase(at);
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr) != 0) {
        ufx_error("epoll_ctl(DEL, fd %d) failed: %s", fd, std::strerror(errno));
        return UFX_ERR_IO;
    }
    return {};
}

result<unsigned> event_loop::wait(int64_t timeout_ns)
{
    epoll_event ready[batch];
    int count = ::epoll_wait(epoll_.get(), ready, batch, to_milliseconds(timeout_ns));
    if (count < 0) {
        if (errno == EINTR) {
            return 0u;
        }
        int error = errno;
        ufx_error("epoll_wait() failed: %s", std::strerror(error));
        return status_from_errno(error);
    }
    unsigned called = 0;
    for (int i = 0; i < count; i++) {
        // An entry that an earlier handler removed is not found.
        if (entry *found = ids_.find(ready[i].data.u64)) {
            entry now = *found; // the handler may remove itself
            now.call(now.arg, ready[i].events);
            called++;
        }
    }
    return called;
}

} // namespace ufx::ucs

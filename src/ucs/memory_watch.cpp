// SPDX-License-Identifier: BSD-3-Clause
// Watches memory by userfaultfd: pages are armed for write protection, which is never switched on,
// so that only the events about their mapping come.
#include "memory_watch.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace ufx::ucs {

namespace {

constexpr uint64_t wanted_events =
    UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMOVE | UFFD_FEATURE_EVENT_REMAP;

fd open_events() noexcept
{
#ifdef UFFD_USER_MODE_ONLY // needs no privilege
    constexpr int flags = O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY;
#else
    constexpr int flags = O_CLOEXEC | O_NONBLOCK;
#endif
    fd made(static_cast<int>(::syscall(SYS_userfaultfd, flags)));
    uffdio_api api{};
    api.api = UFFD_API;
    api.features = wanted_events;
    if (made.valid() && (::ioctl(made.get(), UFFDIO_API, &api) != 0 ||
                         (api.features & UFFD_FEATURE_PAGEFAULT_FLAG_WP) == 0)) {
        made.reset();
    }
    return made;
}

// A handler that runs on the watching thread and takes pages away would wait for itself.
owner<std::thread> start_without_signals(auto &&run)
{
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    owner<std::thread> made;
    try {
        made = std::make_unique<std::thread>(run);
    } catch (...) {
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
        throw;
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return made;
}

} // namespace

result<std::shared_ptr<memory_watch>> memory_watch::share()
{
    static std::mutex lock;
    static std::weak_ptr<memory_watch> shared;
    const std::lock_guard guard(lock);
    if (auto there = shared.lock(); there != nullptr) {
        return there;
    }
    fd events = open_events();
    if (!events) {
        return UFX_ERR_UNSUPPORTED;
    }
    auto stop = make_eventfd();
    if (!stop) {
        return stop.error();
    }
    std::shared_ptr<memory_watch> made =
        make_owner<memory_watch>(std::move(events), *std::move(stop));
    shared = made;
    return made;
}

memory_watch::memory_watch(fd events, fd stop)
    : events_(std::move(events)), stop_(std::move(stop)), process_(::getpid())
{
    thread_ = start_without_signals([this] { run(); });
}

// Who waits for an event goes on when the descriptor is closed.
memory_watch::~memory_watch()
{
    if (!is_own_process()) {
        static_cast<void>(thread_.release()); // it was not copied by fork
        return;
    }
    eventfd_signal(stop_);
    thread_->join();
}

bool memory_watch::is_own_process() const noexcept
{
    return ::getpid() == process_;
}

bool memory_watch::add(range &pages) noexcept
{
    if (!is_own_process()) {
        return false;
    }
    const std::lock_guard guard(lock_);
    uffdio_register wanted{};
    wanted.range = {pages.start_, pages.end_ - pages.start_};
    wanted.mode = UFFDIO_REGISTER_MODE_WP;
    if (::ioctl(events_.get(), UFFDIO_REGISTER, &wanted) != 0) {
        return false;
    }
    // Huge pages have no zero page. Of those that are a SysV segment shmdt tells nothing.
    if ((wanted.ioctls >> _UFFDIO_ZEROPAGE & 1) == 0) {
        disarm(pages.start_, pages.end_);
        return false;
    }
    pages.gone_ = false;
    ranges_.push_back(pages);
    return true;
}

void memory_watch::remove(range &pages) noexcept
{
    if (!is_own_process()) { // the lock may have been held when it was forked
        pages.unlink();
        return;
    }
    const std::lock_guard guard(lock_);
    pages.unlink();
    if (!pages.gone_) {
        disarm(pages.start_, pages.end_);
    }
}

bool memory_watch::is_there(const range &pages) noexcept
{
    if (!is_own_process()) {
        return false;
    }
    const std::lock_guard guard(lock_);
    return !pages.gone_ && !is_changing();
}

bool memory_watch::has_gone(const range &pages) noexcept
{
    if (!is_own_process()) {
        return true;
    }
    const std::lock_guard guard(lock_);
    return pages.gone_;
}

// From before the first page goes until the event was read, the kernel lets nobody write through
// the descriptor. Without this a thread could be given the address before the event comes.
bool memory_watch::is_changing() const noexcept
{
    uffdio_writeprotect nothing{};
    return ::ioctl(events_.get(), UFFDIO_WRITEPROTECT, &nothing) != 0 && errno == EAGAIN;
}

void memory_watch::run() noexcept
{
    for (;;) {
        std::array<pollfd, 2> fds = {{{events_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}}};
        if (::poll(fds.data(), fds.size(), -1) < 0) {
            continue; // EINTR or ENOMEM
        }
        if (fds[1].revents != 0) {
            return;
        }
        read_events();
    }
}

// Whoever waits for an event goes on when it is read; so it is read with the lock held, and what it
// is about has gone before anybody can ask.
void memory_watch::read_events() noexcept
{
    const std::lock_guard guard(lock_);
    std::array<uffd_msg, 16> events;
    for (;;) {
        // Before it: who goes on because of the reading already sees that there is something new,
        // and has to wait for the lock to learn what.
        changes_.fetch_add(1, std::memory_order_relaxed);
        const ssize_t length = ::read(events_.get(), events.data(), sizeof(events));
        if (length <= 0) {
            return;
        }
        for (size_t i = 0; i < static_cast<size_t>(length) / sizeof(uffd_msg); i++) {
            const uffd_msg &event = events[i];
            if (event.event == UFFD_EVENT_REMAP) {
                take_away(event.arg.remap.from, event.arg.remap.from + event.arg.remap.len);
            } else if (event.event == UFFD_EVENT_UNMAP || event.event == UFFD_EVENT_REMOVE) {
                take_away(event.arg.remove.start, event.arg.remove.end);
            }
        }
    }
}

// With the lock held. The rest of a range of which something has gone needs no watching.
void memory_watch::take_away(uintptr_t start, uintptr_t end) noexcept
{
    for (range &pages : ranges_) {
        if (!pages.gone_ && pages.meets(start, end)) {
            pages.gone_ = true;
            disarm(pages.start_, std::max(pages.start_, start));
            disarm(std::min(pages.end_, end), pages.end_);
        }
    }
}

// With the lock held. Leaves alone what other ranges need.
void memory_watch::disarm(uintptr_t start, uintptr_t end) noexcept
{
    while (start < end) {
        uintptr_t stop = end;
        uintptr_t needed_until = start;
        for (const range &pages : ranges_) {
            if (pages.gone_ || !pages.meets(start, stop)) {
                continue;
            }
            if (pages.start_ <= start) {
                needed_until = std::max(needed_until, pages.end_);
            } else {
                stop = pages.start_;
            }
        }
        if (needed_until == start) {
            uffdio_range pages{start, stop - start};
            static_cast<void>(::ioctl(events_.get(), UFFDIO_UNREGISTER, &pages));
            start = stop;
        } else {
            start = needed_until;
        }
    }
}

} // namespace ufx::ucs

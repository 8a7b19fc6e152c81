// SPDX-License-Identifier: BSD-3-Clause
// Progress of an iface: events of the kernel, turns of the eps, deadlines, sleep and wake-up.
#include "iface.h"

#include "ucs/clock.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <cerrno>
#include <unistd.h>

namespace ufx::uct::tcp {

namespace {

constexpr int max_events = 64;
constexpr int accepts_per_poll = 16;

// The kernel is asked for events in every so-many-th poll; active eps read and write without it.
constexpr unsigned event_stride = 4;

// Tags from here on are places in the lobby; larger than 32 bits are ids of eps, whose
// generations start at 1.
constexpr uint64_t first_guest = 0x10000;

} // namespace

bool iface::add_to_epoll(const ucs::fd &what, uint32_t events, uint64_t tag) noexcept
{
    epoll_event event{.events = events, .data = {.u64 = tag}};
    return epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, what.get(), &event) == 0;
}

// Edge-triggered: an ep remembers what is readable and writable until the kernel says no.
bool iface::watch(const ucs::fd &socket, uint64_t ep_id) noexcept
{
    return add_to_epoll(socket, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, ep_id);
}

bool iface::watch_guest(const ucs::fd &socket, size_t place) noexcept
{
    return add_to_epoll(socket, EPOLLIN | EPOLLRDHUP, first_guest + place);
}

void iface::unwatch(const ucs::fd &socket) noexcept
{
    (void)epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, socket.get(), nullptr);
}

unsigned iface::poll() noexcept
{
    unsigned count = 0;
    if (armed_ || ++polls_ % event_stride == 0) {
        count += poll_events();
    }
    count += tell_link();
    for (size_t left = active_.count(); left > 0 && !active_.empty(); left--) {
        ep &one = *active_.pop_front();
        count += one.turn();
        if (one.busy()) {
            activate(one);
        }
    }
    return count;
}

unsigned iface::poll_events() noexcept
{
    armed_ = false;
    epoll_event events[max_events];
    int got = epoll_wait(epoll_.get(), events, max_events, 0);
    for (int i = 0; i < got; i++) {
        dispatch(events[i].data.u64, events[i].events);
    }
    if (!connecting_.empty() || lobby_.count() > 0) {
        expire();
    }
    return got > 0 ? static_cast<unsigned>(got) : 0;
}

void iface::dispatch(uint64_t tag, uint32_t events) noexcept
{
    if (tag > UINT32_MAX) {
        if (ep *one = find(tag); one != nullptr && one->phase() != phase::closed) {
            one->on_event(events);
        }
    } else if (tag >= first_guest) {
        lobby_.on_event(tag - first_guest);
    } else if (tag == tag_listener) {
        accept_some();
    } else if (tag == tag_port) {
        port_->dispatch();
    } else {
        uint64_t expirations = 0;
        (void)!read(timer_.get(), &expirations, sizeof(expirations));
    }
}

void iface::accept_some() noexcept
{
    for (int i = 0; i < accepts_per_poll && listener_.socket; i++) {
        ucs::fd socket = accept_on(listener_.socket, acceptor_, settings_);
        if (!socket) {
            return;
        }
        lobby_.admit(std::move(socket));
    }
}

void iface::expire() noexcept
{
    uint64_t now = ucs::now_ns();
    lobby_.expire(now);
    for (size_t left = connecting_.count(); left > 0 && !connecting_.empty(); left--) {
        ep &one = *connecting_.pop_front();
        if (one.deadline_ns() <= now) {
            one.time_out();
        } else {
            connecting_.push_back(one);
            if (one.retry_ns() <= now) {
                one.dial();
            }
        }
    }
}

// ---- Sleeping --------------------------------------------------------------------------------

ufx_status_t iface::event_fd_get(int *fd) noexcept
{
    *fd = epoll_.get();
    return UFX_OK;
}

ufx_status_t iface::event_arm(unsigned) noexcept
{
    armed_ = true; // the next poll asks the kernel
    bool idle = !link_news();
    for (size_t left = active_.count(); left > 0; left--) {
        ep &one = *active_.pop_front();
        if (!one.settle()) {
            idle = false;
        }
        if (one.busy()) {
            activate(one);
        }
    }
    if (!idle || must_progress()) {
        return UFX_ERR_BUSY;
    }
    set_timer();
    return UFX_OK;
}

// The fake clock of a test does not drive the timer; it only has to wake a sleeper.
void iface::set_timer() noexcept
{
    uint64_t next = lobby_.next_deadline_ns();
    for (const ep &one : connecting_) {
        next = std::min({next, one.deadline_ns(), one.retry_ns()});
    }
    uint64_t now = ucs::now_ns();
    uint64_t delay = !link_news() && next > now ? next - now : 1;
    if (next == UINT64_MAX && !link_news()) {
        delay = 0; // stops the timer
    }
    itimerspec when{};
    when.it_value.tv_sec = static_cast<time_t>(delay / ucs::ns_per_sec);
    when.it_value.tv_nsec = static_cast<long>(delay % ucs::ns_per_sec);
    (void)timerfd_settime(timer_.get(), 0, &when, nullptr);
}

} // namespace ufx::uct::tcp

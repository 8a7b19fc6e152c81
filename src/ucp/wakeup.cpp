// SPDX-License-Identifier: BSD-3-Clause
// Waiting for a worker.
#include "ucp/wakeup.h"

#include "ucp/worker.h"

#include <cerrno>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

namespace ufx::ucp {

wakeup::~wakeup()
{
    for (const int fd : {uct_fd_, timer_.get(), signal_.get()}) {
        if (fd >= 0) {
            (void)worker_.loop().remove(fd);
        }
    }
}

ufx_status_t wakeup::open()
{
    auto signal = ucs::make_eventfd();
    if (!signal) {
        return signal.error();
    }
    signal_ = std::move(*signal);
    timer_.reset(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
    if (!timer_) {
        return ucs::status_from_errno(errno);
    }
    ufx_status_t status = ufx_uct_worker_event_fd(worker_.uct(), &uct_fd_);
    if (status != UFX_OK) {
        uct_fd_ = -1;
        return status;
    }
    status = worker_.loop().add(uct_fd_, EPOLLIN, &on_uct, this).status();
    if (status == UFX_OK) {
        status = worker_.loop().add(timer_.get(), EPOLLIN, &on_timer, this).status();
    }
    if (status == UFX_OK) {
        status = worker_.loop().add(signal_.get(), EPOLLIN, &on_signal, this).status();
    }
    return status;
}

// uct reads its own descriptors when it is progressed, or not before it is armed again.
void wakeup::on_uct(void *arg, std::uint32_t)
{
    ++static_cast<wakeup *>(arg)->uct_calls_;
}

void wakeup::on_timer(void *arg, std::uint32_t)
{
    std::uint64_t expired = 0;
    (void)!::read(static_cast<wakeup *>(arg)->timer_.get(), &expired, sizeof(expired));
}

void wakeup::on_signal(void *arg, std::uint32_t)
{
    auto &self = *static_cast<wakeup *>(arg);
    ucs::eventfd_clear(self.signal_);
    self.owed_ = true;
}

int wakeup::event_fd() const
{
    return worker_.loop().event_fd();
}

ufx_status_t wakeup::arm()
{
    if (owed_ || worker_.has_work()) {
        return UFX_ERR_BUSY;
    }
    const ufx_status_t status = ufx_uct_worker_arm(worker_.uct());
    if (status != UFX_OK) {
        return status;
    }
    const core::time_ns now = worker_.now();
    const core::time_ns next = worker_.next_deadline();
    if (next <= now) {
        return UFX_ERR_BUSY;
    }
    const core::time_ns left = next - now;
    itimerspec at{};
    at.it_value.tv_sec = static_cast<time_t>(left / ucs::ns_per_sec);
    at.it_value.tv_nsec = static_cast<long>(left % ucs::ns_per_sec);
    (void)::timerfd_settime(timer_.get(), 0, &at, nullptr);
    armed_.store(true, std::memory_order_release);
    return UFX_OK;
}

ufx_status_t wakeup::wait(int timeout_ms)
{
    {
        auto guard = worker_.lock();
        const ufx_status_t status = arm();
        if (status != UFX_OK) {
            return status == UFX_ERR_BUSY ? UFX_OK : status;
        }
    }
    pollfd one{event_fd(), POLLIN, 0};
    if (::poll(&one, 1, timeout_ms) < 0 && errno != EINTR) {
        return ucs::status_from_errno(errno);
    }
    armed_.store(false, std::memory_order_relaxed);
    return UFX_OK;
}

void wakeup::signal()
{
    ucs::eventfd_signal(signal_);
}

void wakeup::kick_armed()
{
    if (armed_.exchange(false, std::memory_order_acq_rel)) {
        signal();
    }
}

bool wakeup::hand_over()
{
    const bool waits = armed_.exchange(false, std::memory_order_acq_rel) || called_;
    owed_ = true;
    called_ = waits;
    if (waits) {
        signal();
    }
    return waits;
}

} // namespace ufx::ucp

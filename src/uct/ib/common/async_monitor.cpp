// SPDX-License-Identifier: BSD-3-Clause
// Waits for events, copies them, acknowledges them, posts them.
#include "async_monitor.h"

#include "kernel_order.h"

#include "ucs/clock.h"
#include "ucs/log.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>

namespace ufx::uct::ib {

namespace {

constexpr uint64_t look_at_ports_ns = ucs::ns_per_sec;

int milliseconds_until(uint64_t deadline_ns)
{
    const uint64_t now = ucs::now_ns();
    constexpr uint64_t ns_per_ms = 1'000'000;
    return deadline_ns <= now ? 0 : static_cast<int>((deadline_ns - now) / ns_per_ms) + 1;
}

async_event copy_of(const ibv_async_event &event)
{
    async_event copy{};
    copy.type = event.event_type;
    switch (event.event_type) {
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
        copy.qpn = event.element.qp->qp_num;
        break;
    case IBV_EVENT_CQ_ERR:
        copy.object = event.element.cq;
        break;
    case IBV_EVENT_SRQ_ERR:
        copy.object = event.element.srq;
        break;
    case IBV_EVENT_PORT_ACTIVE:
    case IBV_EVENT_PORT_ERR:
    case IBV_EVENT_LID_CHANGE:
    case IBV_EVENT_PKEY_CHANGE:
    case IBV_EVENT_GID_CHANGE:
    case IBV_EVENT_SM_CHANGE:
    case IBV_EVENT_CLIENT_REREGISTER:
        copy.port = static_cast<uint8_t>(event.element.port_num);
        break;
    default:
        break;
    }
    return copy;
}

} // namespace

ucs::result<ucs::owner<async_monitor>> async_monitor::start(ibv_context *context, bool threaded,
                                                            timer each_second, void *arg)
{
    const int flags = ::fcntl(context->async_fd, F_GETFL);
    if (flags < 0 || ::fcntl(context->async_fd, F_SETFL, flags | O_NONBLOCK) != 0) {
        return UFX_ERR_IO;
    }
    auto stop = ucs::make_eventfd();
    if (!stop) {
        return stop.error();
    }
    return ucs::make_owner<async_monitor>(context, *std::move(stop), threaded, each_second, arg);
}

async_monitor::async_monitor(ibv_context *context, ucs::fd stop, bool threaded, timer each_second,
                             void *arg)
    : context_(context), stop_(std::move(stop)), each_second_(each_second), arg_(arg),
      active_(UINT8_MAX + 1, true), look_at_ns_(ucs::now_ns() + look_at_ports_ns)
{
    if (threaded) {
        thread_ = std::thread([this] { run(); });
    }
}

async_monitor::~async_monitor()
{
    ucs::eventfd_signal(stop_);
    if (thread_.joinable()) {
        thread_.join();
    }
}

void async_monitor::add(event_mailbox &mailbox)
{
    object_made(context_); // the iface's queues
    const std::lock_guard lock(mutex_);
    mailboxes_.push_back(&mailbox);
}

void async_monitor::remove(event_mailbox &mailbox) noexcept
{
    const std::lock_guard lock(mutex_);
    std::erase(mailboxes_, &mailbox);
}

void async_monitor::run() noexcept
{
    for (;;) {
        pollfd fds[] = {{gone_ ? -1 : context_->async_fd, POLLIN, 0}, {stop_.get(), POLLIN, 0}};
        const int ready = ::poll(fds, 2, milliseconds_until(look_at_ns_));
        if (ready < 0 && errno != EINTR) {
            ufx_error("events of %s are not read any more: %s",
                      ibv_get_device_name(context_->device), std::strerror(errno));
            return;
        }
        if (fds[1].revents != 0 && ready > 0) {
            return;
        }
        if (ready > 0) {
            take_events();
        }
        look_each_second();
    }
}

void async_monitor::look() noexcept
{
    const std::unique_lock lock(looking_, std::try_to_lock);
    if (lock.owns_lock()) {
        take_events();
        look_each_second();
    }
}

void async_monitor::take_events() noexcept
{
    if (gone_ || read_events()) {
        return;
    }
    gone_ = true; // the device was taken away: its descriptor is ready for ever
    ufx_warn("%s gives no events any more: %s", ibv_get_device_name(context_->device),
             std::strerror(errno));
    async_event fatal{};
    fatal.type = IBV_EVENT_DEVICE_FATAL;
    post(fatal);
}

void async_monitor::look_each_second() noexcept
{
    if (ucs::now_ns() >= look_at_ns_) {
        look_at_ns_ = ucs::now_ns() + look_at_ports_ns;
        look_at_ports();
        each_second_(arg_);
    }
}

// Until there are no more; false: there never will be. The event is acknowledged when it is posted:
// a destroy call waits for that, so what is in a mailbox when a number is used again is about the
// object that had it before. No lock is held over the acknowledgement.
bool async_monitor::read_events() noexcept
{
    for (;;) {
        ibv_async_event event{};
        errno = 0;
        if (ibv_get_async_event(context_, &event) != 0) {
            if (errno == EINTR) {
                continue;
            }
            return errno == EAGAIN || errno == EWOULDBLOCK;
        }
        event_read(context_);
        const async_event copy = copy_of(event);
        if (copy.type == IBV_EVENT_PORT_ERR || copy.type == IBV_EVENT_PORT_ACTIVE) {
            active_[copy.port] = copy.type == IBV_EVENT_PORT_ACTIVE;
        }
        post(copy);
        ibv_ack_async_event(&event);
    }
}

void async_monitor::look_at_ports() noexcept
{
    ibv_device_attr device{};
    if (ibv_query_device(context_, &device) != 0) {
        return; // the device's own event says more
    }
    for (unsigned port = 1; port <= device.phys_port_cnt; port++) {
        if (read_again_[port].exchange(false, std::memory_order_relaxed)) {
            async_event made{};
            made.type = IBV_EVENT_GID_CHANGE;
            made.port = static_cast<uint8_t>(port);
            post(made);
        }
        ibv_port_attr attr{};
        if (ibv_query_port(context_, static_cast<uint8_t>(port), &attr) != 0) {
            continue;
        }
        const bool active = attr.state == IBV_PORT_ACTIVE;
        if (active != active_[port]) {
            active_[port] = active;
            async_event made{};
            made.type = active ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR;
            made.port = static_cast<uint8_t>(port);
            post(made);
        }
    }
}

void async_monitor::post(const async_event &event) noexcept
{
    const std::lock_guard lock(mutex_);
    for (event_mailbox *mailbox : mailboxes_) {
        try {
            mailbox->post(std::make_unique<async_event>(event));
        } catch (const std::bad_alloc &) {
            ufx_error("an event of %s is lost: no memory", ibv_get_device_name(context_->device));
        }
    }
}

} // namespace ufx::uct::ib

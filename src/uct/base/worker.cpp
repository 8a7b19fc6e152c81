// SPDX-License-Identifier: BSD-3-Clause
// The worker and its C entry points.
#include "worker.h"

#include "ucs/entry.h"

#include <algorithm>
#include <sys/epoll.h>

namespace ufx::uct {

namespace {

constexpr ufx_uct_worker_ops_t worker_ops = {
    .size = sizeof(ufx_uct_worker_ops_t),
    .attach = [](ufx_uct_worker_h handle, ufx_uct_iface_h iface) noexcept -> ufx_status_t {
        return ucs::guard([&] { return static_cast<worker *>(handle)->attach(iface); });
    },
    .detach = [](ufx_uct_worker_h handle,
                 ufx_uct_iface_h iface) noexcept { static_cast<worker *>(handle)->detach(iface); },
    .post = [](ufx_uct_worker_h handle, void (*fn)(void *), void *arg) noexcept -> ufx_status_t {
        return ucs::guard([&] { return static_cast<worker *>(handle)->post(fn, arg); });
    },
};

// The event fd only wakes; what happened is found by progress.
void nothing(void *, uint32_t) {}

} // namespace

worker::worker(ucs::owner<ucs::event_loop> loop, ucs::owner<ucs::mailbox<letter>> mail) noexcept
    : ufx_uct_worker{&worker_ops}, loop_(std::move(loop)), mail_(std::move(mail))
{
}

ucs::result<ucs::owner<worker>> worker::create()
{
    auto loop = ucs::event_loop::create();
    if (!loop) {
        return loop.error();
    }
    auto mail = ucs::mailbox<letter>::create();
    if (!mail) {
        return mail.error();
    }
    auto added = (*loop)->add((*mail)->event_fd(), EPOLLIN, nothing, nullptr);
    if (!added) {
        return added.error();
    }
    return ucs::owner_access::make<worker>(std::move(loop).value(), std::move(mail).value());
}

unsigned worker::progress_all() noexcept
{
    if (in_progress_) {
        return 0;
    }
    in_progress_ = true;
    only_ = nullptr;
    unsigned count = 0;
    if (!mail_->empty()) [[unlikely]] {
        count += static_cast<unsigned>(
            mail_->drain([](ucs::owner<letter> mail) { mail->fn(mail->arg); }));
    }
    // By index: an iface may be attached or detached meanwhile.
    for (size_t i = 0; i < ifaces_.size(); ++i) {
        if (ifaces_[i] != nullptr) [[likely]] {
            count += ufx_uct_iface_progress(ifaces_[i]);
        }
    }
    in_progress_ = false;
    if (holes_) [[unlikely]] {
        holes_ = false;
        std::erase(ifaces_, nullptr);
    }
    find_only();
    return count;
}

// An iface that is alone is progressed without the list. It may be detached meanwhile: nothing of
// this worker is used after it. It refuses to be progressed by its own handlers.
void worker::find_only() noexcept
{
    only_ = ifaces_.size() == 1 && !in_progress_ ? ifaces_.front() : nullptr;
}

ufx_status_t worker::arm()
{
    mail_->acknowledge();
    if (!mail_->empty()) {
        return UFX_ERR_BUSY;
    }
    for (ufx_uct_iface_h iface : ifaces_) {
        if (iface == nullptr) {
            continue;
        }
        ufx_status_t status =
            ufx_uct_iface_event_arm(iface, UFX_UCT_EVENT_SEND_COMP | UFX_UCT_EVENT_RECV);
        if (status != UFX_OK) {
            return UFX_ERR_BUSY; // also an iface that cannot wake: it must be polled
        }
    }
    return UFX_OK;
}

ufx_status_t worker::attach(ufx_uct_iface_h iface)
{
    ifaces_.reserve(ifaces_.size() + 1); // what fails comes first: an iface is kept whole or not
    int fd = -1;
    if (ufx_uct_iface_event_fd_get(iface, &fd) == UFX_OK) { // else it answers to event_arm alone
        auto added = loop_->add(fd, EPOLLIN, nothing, nullptr);
        if (!added) {
            return added.error();
        }
    }
    ifaces_.push_back(iface);
    find_only();
    return UFX_OK;
}

void worker::detach(ufx_uct_iface_h iface) noexcept
{
    auto found = std::find(ifaces_.begin(), ifaces_.end(), iface);
    if (found == ifaces_.end()) {
        return;
    }
    int fd = -1;
    if (ufx_uct_iface_event_fd_get(iface, &fd) == UFX_OK) {
        static_cast<void>(ucs::guard([&] { return loop_->remove(fd); }));
    }
    if (in_progress_) {
        *found = nullptr;
        holes_ = true;
    } else {
        ifaces_.erase(found);
        find_only();
    }
}

ufx_status_t worker::post(void (*fn)(void *arg), void *arg)
{
    mail_->post(ucs::make_owner<letter>(fn, arg));
    return UFX_OK;
}

} // namespace ufx::uct

using ufx::uct::worker;

extern "C" ufx_status_t ufx_uct_worker_create(ufx_uct_worker_h *handle) noexcept
{
    return ufx::ucs::guard([&]() -> ufx_status_t {
        auto created = worker::create();
        if (!created) {
            return created.error();
        }
        *handle = std::move(created).value().release();
        return UFX_OK;
    });
}

extern "C" void ufx_uct_worker_destroy(ufx_uct_worker_h handle) noexcept
{
    delete static_cast<worker *>(handle);
}

extern "C" unsigned ufx_uct_worker_progress(ufx_uct_worker_h handle) noexcept
{
    return static_cast<worker *>(handle)->progress();
}

extern "C" ufx_status_t ufx_uct_worker_event_fd(ufx_uct_worker_h handle, int *fd) noexcept
{
    *fd = static_cast<worker *>(handle)->event_fd();
    return UFX_OK;
}

extern "C" ufx_status_t ufx_uct_worker_arm(ufx_uct_worker_h handle) noexcept
{
    return ufx::ucs::guard([&] { return static_cast<worker *>(handle)->arm(); });
}

// SPDX-License-Identifier: BSD-3-Clause
// A worker: several ifaces that one thread progresses, a mailbox for other threads, one event fd.
#ifndef UFX_UCT_BASE_WORKER_H
#define UFX_UCT_BASE_WORKER_H

#include "ucs/event_loop.h"
#include "ucs/mailbox.h"
#include "ucs/owner.h"
#include "ucs/result.h"

#include <ufx/uct.h>

#include <vector>

namespace ufx::uct {

class worker : public ufx_uct_worker {
public:
    [[nodiscard]] static ucs::result<ucs::owner<worker>> create();

    unsigned progress() noexcept
    {
        if (only_ != nullptr && !mail_->has_new()) [[likely]] {
            return ufx_uct_iface_progress(only_);
        }
        return progress_all();
    }

    [[nodiscard]] ufx_status_t arm();

    [[nodiscard]] int event_fd() const noexcept { return loop_->event_fd(); }

    [[nodiscard]] ufx_status_t attach(ufx_uct_iface_h iface);
    void detach(ufx_uct_iface_h iface) noexcept;
    [[nodiscard]] ufx_status_t post(void (*fn)(void *arg), void *arg);

private:
    friend struct ucs::owner_access;

    struct letter : ucs::mpsc_node {
        letter(void (*call)(void *), void *with) noexcept : fn(call), arg(with) {}

        void (*fn)(void *);
        void *arg;
    };

    unsigned progress_all() noexcept;
    void find_only() noexcept;

    worker(ucs::owner<ucs::event_loop> loop, ucs::owner<ucs::mailbox<letter>> mail) noexcept;

    ucs::owner<ucs::event_loop> loop_; // of the mailbox and of ifaces that have an event fd
    ucs::owner<ucs::mailbox<letter>> mail_;
    std::vector<ufx_uct_iface_h> ifaces_; // NULL where one was detached during progress
    ufx_uct_iface_h only_ = nullptr; // the one iface, while there is just one, outside of progress
    bool in_progress_ = false;
    bool holes_ = false;
};

} // namespace ufx::uct

#endif

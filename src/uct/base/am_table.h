// SPDX-License-Identifier: BSD-3-Clause
// Handlers of active messages of one iface.
#ifndef UFX_UCT_BASE_AM_TABLE_H
#define UFX_UCT_BASE_AM_TABLE_H

#include <ufx/uct_types.h>

#include <array>
#include <cstdint>

namespace ufx::uct {

// Every id has a handler: without one of the user, one that drops the message.
class am_table {
public:
    am_table() noexcept { handlers_.fill({drop, nullptr}); }

    [[nodiscard]] ufx_status_t set(uint8_t id, ufx_uct_am_cb_t cb, void *arg) noexcept
    {
        if (id >= UFX_UCT_AM_ID_MAX) {
            return UFX_ERR_INVALID_PARAM;
        }
        handlers_[id] = cb == nullptr ? handler{drop, nullptr} : handler{cb, arg};
        return UFX_OK;
    }

    // `id` is below UFX_UCT_AM_ID_MAX: what comes from a peer is checked before.
    ufx_status_t call(uint8_t id, void *data, size_t length, unsigned flags) noexcept
    {
        ++count_;
        const handler &target = handlers_[id];
        return target.cb(target.arg, data, length, flags);
    }

    // Messages handed to handlers.
    [[nodiscard]] uint64_t count() const noexcept { return count_; }

private:
    struct handler {
        ufx_uct_am_cb_t cb;
        void *arg;
    };

    static ufx_status_t drop(void *, void *, size_t, unsigned) noexcept { return UFX_OK; }

    std::array<handler, UFX_UCT_AM_ID_MAX> handlers_;
    uint64_t count_ = 0;
};

} // namespace ufx::uct

#endif

// SPDX-License-Identifier: BSD-3-Clause
// The user's handlers of a worker, and the memory of the messages that it receives.
#ifndef UFX_UCP_AM_HANDLERS_H
#define UFX_UCP_AM_HANDLERS_H

#include "ucp/recv_message.h"
#include "ucs/pool.h"

#include <ufx/ucp.h>

#include <array>
#include <memory>
#include <vector>

namespace ufx::ucp {

class am_handlers {
public:
    struct am_handler {
        ufx_ucp_am_cb_t cb = nullptr;
        void *arg = nullptr;
    };
    struct notify_handler {
        ufx_ucp_notify_cb_t cb = nullptr;
        void *arg = nullptr;
    };

    am_handlers();
    ~am_handlers();
    am_handlers(const am_handlers &) = delete;
    am_handlers &operator=(const am_handlers &) = delete;

    void set_am(std::uint16_t id, am_handler handler) { table_[id] = handler; }
    const am_handler &am(std::uint16_t id) const { return table_[id]; }
    void set_notify(notify_handler handler) { notify_ = handler; }
    const notify_handler &notify() const { return notify_; }

    // nullptr: no memory.
    recv_message *take(const am_header &header);
    void give_back(recv_message &message);
    // The user keeps it; what he does not give back goes with the worker.
    void keep(recv_message &message) { kept_.push_back(message); }

private:
    void give_back_block(void *block, std::size_t block_class);
    // Blocks of 256 bytes, 1 KB ... 64 KB come from pools; longer ones from malloc.
    static constexpr std::size_t classes = 5;
    static constexpr std::size_t from_malloc = classes;
    static constexpr std::size_t class_bytes(std::size_t index)
    {
        return std::size_t{256} << (2 * index);
    }

    std::vector<am_handler> table_;
    notify_handler notify_;
    ucs::pool<recv_message> messages_;
    std::array<std::unique_ptr<ucs::block_pool>, classes> blocks_;
    ucs::list<recv_message> kept_;
};

} // namespace ufx::ucp

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Buffers for active messages that a handler may keep.
#ifndef UFX_UCT_TCP_RX_DESC_H
#define UFX_UCT_TCP_RX_DESC_H

#include "ucs/pool.h"

#include <cstddef>
#include <cstdint>

namespace ufx::uct::tcp {

// Lies in front of the user's headroom and the data.
struct alignas(16) rx_desc {
    ucs::block_pool *from;
};

// Two sizes: up to the segment size, and up to the longest am.
class rx_desc_pool {
public:
    // Throws bad_alloc.
    rx_desc_pool(size_t small, size_t large, size_t headroom)
        : headroom_((headroom + alignof(rx_desc) - 1) & ~(alignof(rx_desc) - 1)),
          small_limit_(small), small_({"tcp receive descriptors", block_size(small), 64, 8, 0}),
          large_({"tcp long receive descriptors", block_size(large), 64, 1, 0})
    {
    }

    // nullptr if memory is out. `length` is at most the large size.
    [[nodiscard]] rx_desc *take(size_t length) noexcept
    {
        ucs::block_pool &from = length <= small_limit_ ? small_ : large_;
        void *made = from.take();
        return made == nullptr ? nullptr : ::new (made) rx_desc{&from};
    }

    [[nodiscard]] std::byte *data(rx_desc *desc) const noexcept
    {
        return reinterpret_cast<std::byte *>(desc + 1) + headroom_;
    }

    [[nodiscard]] rx_desc *of_data(void *data) const noexcept
    {
        return reinterpret_cast<rx_desc *>(static_cast<std::byte *>(data) - headroom_) - 1;
    }

    void give_back(rx_desc *desc) noexcept { desc->from->give_back(desc); }

private:
    [[nodiscard]] size_t block_size(size_t data) const noexcept
    {
        return sizeof(rx_desc) + headroom_ + data;
    }

    size_t headroom_;
    size_t small_limit_;
    ucs::block_pool small_;
    ucs::block_pool large_;
};

} // namespace ufx::uct::tcp

#endif

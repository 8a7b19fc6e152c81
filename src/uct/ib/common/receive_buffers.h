// SPDX-License-Identifier: BSD-3-Clause
// Registered buffers for messages that arrive; a handler may keep one.
#ifndef UFX_UCT_IB_COMMON_RECEIVE_BUFFERS_H
#define UFX_UCT_IB_COMMON_RECEIVE_BUFFERS_H

#include "am_header.h"
#include "md.h"

#include <cstddef>
#include <memory>
#include <vector>

namespace ufx::uct::ib {

// Lies in front of the user's headroom. What is received starts 8 bytes, those of the am header,
// before the data; once that is read they are part of the headroom.
struct alignas(16) receive_buffer {
    uint32_t lkey;
    receive_buffer *next; // while it is free
};

// Grows by chunks; a chunk is registered as a whole.
class receive_buffers {
public:
    // `size`: of what is received, with the am header.
    receive_buffers(const md &domain, size_t size, size_t headroom) noexcept
        : domain_(domain), size_(size),
          offset_(sizeof(receive_buffer) +
                  ((headroom + sizeof(am_header) + alignof(receive_buffer) - 1) &
                   ~(alignof(receive_buffer) - 1)))
    {
    }

    // nullptr: no memory, or it cannot be registered.
    [[nodiscard]] receive_buffer *take() noexcept
    {
        if (free_ == nullptr && !grow()) {
            return nullptr;
        }
        receive_buffer *taken = free_;
        free_ = taken->next;
        return taken;
    }

    void give_back(receive_buffer *buffer) noexcept
    {
        buffer->next = free_;
        free_ = buffer;
    }

    [[nodiscard]] size_t size() const noexcept { return size_; }

    // Where the device writes: the am header.
    [[nodiscard]] std::byte *start(receive_buffer *buffer) const noexcept
    {
        return data(buffer) - sizeof(am_header);
    }

    [[nodiscard]] std::byte *data(receive_buffer *buffer) const noexcept
    {
        return reinterpret_cast<std::byte *>(buffer) + offset_;
    }

    [[nodiscard]] receive_buffer *of_data(void *data) const noexcept
    {
        return reinterpret_cast<receive_buffer *>(static_cast<std::byte *>(data) - offset_);
    }

private:
    struct chunk {
        std::unique_ptr<std::byte[]> memory;
        mr_owner mr; // goes first
    };

    [[gnu::cold]] bool grow() noexcept;

    const md &domain_;
    size_t size_;
    size_t offset_; // of the data in a buffer
    receive_buffer *free_ = nullptr;
    std::vector<chunk> chunks_;
    bool warned_ = false; // since a chunk was made
};

} // namespace ufx::uct::ib

#endif

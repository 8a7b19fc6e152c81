// SPDX-License-Identifier: BSD-3-Clause
// How far a send queue was posted and how far it is over; room is what lies between.
#ifndef UFX_UCT_IB_COMMON_SEND_CREDITS_H
#define UFX_UCT_IB_COMMON_SEND_CREDITS_H

#include <cstdint>

namespace ufx::uct::ib {

// Positions count since the queue was made, in the queue's own unit: its blocks, or requests.
class send_credits {
public:
    // Kept free by the user's requests, for those that the transport makes itself.
    static constexpr uint32_t reserved = 4;

    explicit send_credits(uint32_t size) noexcept : size_(size) {}

    [[nodiscard]] uint64_t posted() const noexcept { return posted_; }

    // The oldest that is not over.
    [[nodiscard]] uint64_t done() const noexcept { return done_; }

    [[nodiscard]] uint32_t under_way() const noexcept
    {
        return static_cast<uint32_t>(posted_ - done_);
    }

    // Is there room for a request of the user that takes so much?
    [[nodiscard]] bool has_room(uint32_t count) const noexcept
    {
        return size_ - under_way() >= count + reserved;
    }

    // For one of the transport itself. One place stays for the request that ends an unsignaled
    // tail.
    [[nodiscard]] bool has_room_for_own() const noexcept { return size_ - under_way() >= 2; }

    void advance(uint32_t count) noexcept { posted_ += count; }

    // All before `position` is over; gives what it freed.
    uint32_t release(uint64_t position) noexcept
    {
        const auto freed = static_cast<uint32_t>(position - done_);
        done_ = position;
        return freed;
    }

private:
    uint32_t size_;
    uint64_t posted_ = 0;
    uint64_t done_ = 0;
};

} // namespace ufx::uct::ib

#endif

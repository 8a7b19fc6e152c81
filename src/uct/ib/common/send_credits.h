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

    // `largest`: what a request of the user takes at most. Both are below `size`.
    send_credits(uint32_t size, uint32_t largest) noexcept
        : size_(size), user_room_(size - reserved - largest)
    {
    }

    [[nodiscard]] uint32_t size() const noexcept { return size_; }

    [[nodiscard]] uint64_t posted() const noexcept { return posted_; }

    // The oldest that is not over.
    [[nodiscard]] uint64_t done() const noexcept { return done_; }

    [[nodiscard]] uint32_t under_way() const noexcept
    {
        return static_cast<uint32_t>(posted_ - done_);
    }

    // Is there room for any request of the user?
    [[nodiscard]] bool has_room() const noexcept { return under_way() <= user_room_; }

    // How many requests of one place the user may post before has_room() is false.
    [[nodiscard]] uint32_t room_for_small() const noexcept
    {
        return has_room() ? user_room_ - under_way() + 1 : 0;
    }

    // For one of the transport itself. One place stays for the request that ends an unsignaled
    // tail.
    [[nodiscard]] bool has_room_for_own() const noexcept { return size_ - under_way() >= 2; }

    void advance(uint32_t count) noexcept { posted_ += count; }

    void advance_to(uint64_t position) noexcept { posted_ = position; }

    // All before `position` is over; gives what it freed.
    uint32_t release(uint64_t position) noexcept
    {
        const auto freed = static_cast<uint32_t>(position - done_);
        done_ = position;
        return freed;
    }

private:
    uint32_t size_;
    uint32_t user_room_; // under way at most before a request of the user
    uint64_t posted_ = 0;
    uint64_t done_ = 0;
};

} // namespace ufx::uct::ib

#endif

// SPDX-License-Identifier: BSD-3-Clause
// A completion queue of an mlx5 device, read without libmlx5.
#ifndef UFX_UCT_IB_MLX5_COMPLETION_QUEUE_H
#define UFX_UCT_IB_MLX5_COMPLETION_QUEUE_H

#include "barriers.h"

#include "ucs/result.h"

#include <infiniband/mlx5dv.h>

#include <bit>

namespace ufx::uct::ib::mlx5 {

inline constexpr uint32_t number_mask = 0xffffff; // of QPNs and consumer indices

// Does not own the verbs object. One thread.
class completion_queue {
public:
    [[nodiscard]] static ucs::result<completion_queue> take(ibv_cq *cq) noexcept;

    [[nodiscard]] bool has_next() const noexcept { return is_ours(*next_, lap_); }

    // The next completion, of which has_next() was told; it stays where it is.
    [[nodiscard]] const mlx5_cqe64 &next() const noexcept
    {
        after_device_wrote();
        return *next_;
    }

    void pop() noexcept
    {
        if (next_ == last_) [[unlikely]] {
            go_to(position() + 1);
        } else {
            next_ = reinterpret_cast<const mlx5_cqe64 *>(
                reinterpret_cast<const std::byte *>(next_) + stride_);
        }
    }

    // How many were popped, and how many will have been when all that are there now are; they wrap.
    [[nodiscard]] uint32_t position() const noexcept
    {
        const auto distance = reinterpret_cast<const std::byte *>(next_) - buffer_ - upper_half_;
        return lap_start_ + static_cast<uint32_t>(static_cast<size_t>(distance) >> shift_);
    }

    [[nodiscard]] uint32_t end() const noexcept
    {
        const uint32_t first = position();
        uint32_t end = first;
        while (end - first < count_ && is_ours(*at(end), lap_of(end))) {
            ++end;
        }
        return end;
    }

    // Tells the device how far the queue was read, so that it may write further.
    void publish() noexcept
    {
        before_device_reads();
        record_[0] = htobe32(position() & number_mask);
    }

    // The device signals the completion channel when it writes beyond what was read.
    void arm() noexcept;

    // The channel was signaled for this queue.
    void count_event() noexcept { ++events_; }

    // Takes all completions of a queue pair out; `dropped(cqe)` is called for each, oldest first.
    template <class F>
    void remove_of(uint32_t qpn, F &&dropped) noexcept;

private:
    completion_queue(const mlx5dv_cq &dv) noexcept;

    [[nodiscard]] mlx5_cqe64 *at(uint32_t index) const noexcept
    {
        std::byte *slot = buffer_ + (size_t{index & (count_ - 1)} << shift_);
        return reinterpret_cast<mlx5_cqe64 *>(slot + upper_half_);
    }

    // The owner bit of what the device writes at that index.
    [[nodiscard]] uint8_t lap_of(uint32_t index) const noexcept
    {
        return (index & count_) != 0 ? MLX5_CQE_OWNER_MASK : 0;
    }

    // Written in this lap, and not invalid, which is the highest opcode: by one comparison, with
    // the owner bit, the lowest, on top.
    [[nodiscard]] static bool is_ours(const mlx5_cqe64 &cqe, uint8_t lap) noexcept
    {
        const uint8_t own = *const_cast<const volatile uint8_t *>(&cqe.op_own);
        return std::rotr(static_cast<uint8_t>(own ^ lap), 1) < MLX5_CQE_INVALID << 3;
    }

    void go_to(uint32_t index) noexcept
    {
        lap_start_ = index & ~(count_ - 1);
        next_ = at(index);
        lap_ = lap_of(index);
    }

    std::byte *buffer_;
    volatile __be32 *record_; // [0] consumer index, [1] arm
    void *uar_;
    uint32_t number_;
    uint32_t count_;    // power of two
    uint32_t shift_;    // of the distance of entries
    size_t upper_half_; // an entry of 128 bytes ends with the 64 that are read
    uint32_t lap_start_ = 0; // position of the first entry of this lap
    uint64_t stride_;        // distance of entries
    const mlx5_cqe64 *last_; // of a lap
    const mlx5_cqe64 *next_; // at(position())
    uint8_t lap_ = 0;        // lap_of(position())
    uint32_t events_ = 0;
};

[[nodiscard]] inline uint32_t qpn_of(const mlx5_cqe64 &cqe) noexcept
{
    return be32toh(cqe.sop_drop_qpn) & number_mask;
}

// The opcode is above the owner's bits, and this one is the lowest.
[[nodiscard]] inline bool is_request_done(const mlx5_cqe64 &cqe) noexcept
{
    static_assert(MLX5_CQE_REQ == 0);
    return cqe.op_own < 1 << 4;
}

// Entries of others are moved up in place of those that go, youngest first, so that what is left is
// contiguous; each keeps the owner bit of the place it moves to.
template <class F>
void completion_queue::remove_of(uint32_t qpn, F &&dropped) noexcept
{
    const uint32_t first = position();
    const uint32_t end = this->end();
    after_device_wrote();
    for (uint32_t i = first; i != end; ++i) {
        if (qpn_of(*at(i)) == qpn) {
            dropped(*at(i));
        }
    }
    uint32_t gone = 0;
    for (uint32_t i = end; i-- != first;) {
        const mlx5_cqe64 *from = at(i);
        if (qpn_of(*from) == qpn) {
            ++gone;
        } else if (gone != 0) {
            mlx5_cqe64 *to = at(i + gone);
            const uint8_t owner = to->op_own & MLX5_CQE_OWNER_MASK;
            *to = *from;
            to->op_own = static_cast<uint8_t>((from->op_own & ~MLX5_CQE_OWNER_MASK) | owner);
        }
    }
    if (gone != 0) {
        go_to(first + gone);
        publish();
    }
}

} // namespace ufx::uct::ib::mlx5

#endif

// SPDX-License-Identifier: BSD-3-Clause
// A shared receive queue of an mlx5 device, posted without libmlx5.
#ifndef UFX_UCT_IB_MLX5_SHARED_RECEIVE_QUEUE_H
#define UFX_UCT_IB_MLX5_SHARED_RECEIVE_QUEUE_H

#include "barriers.h"

#include "ucs/result.h"

#include <infiniband/mlx5dv.h>

#include <memory>

namespace ufx::uct::ib::mlx5 {

// Slots in a chain: the device takes them in order; one that was handled goes to the chain's end.
// The last slot of the chain is never taken, so that there is always one to link to.
class shared_receive_queue {
public:
    [[nodiscard]] static ucs::result<shared_receive_queue> take(ibv_srq *srq);

    [[nodiscard]] uint32_t slots() const noexcept { return slots_; }

    // What is received into the slot goes there; for a slot that the device does not hold.
    void set_buffer(uint32_t slot, void *address, uint32_t length, uint32_t lkey) noexcept;

    // The slot's buffer may be received into again, once that is published.
    void give(uint32_t slot) noexcept
    {
        next_seg(tail_)->next_wqe_index = htobe16(static_cast<uint16_t>(slot));
        tail_ = slot;
        ++given_;
        unpublished_ = true;
    }

    // Tells the device of what was given.
    void publish() noexcept
    {
        if (!unpublished_) {
            return;
        }
        unpublished_ = false;
        before_device_reads();
        *record_ = htobe32(given_ & 0xffff);
    }

    // All slots but the last are the device's; called once, after each has its buffer.
    void give_all() noexcept
    {
        given_ = slots_ - 1;
        unpublished_ = true;
        publish();
    }

private:
    shared_receive_queue(const mlx5dv_srq &dv) noexcept;

    [[nodiscard]] mlx5_wqe_srq_next_seg *next_seg(uint32_t slot) const noexcept
    {
        return reinterpret_cast<mlx5_wqe_srq_next_seg *>(buffer_ + size_t{slot} * stride_);
    }

    std::byte *buffer_;
    volatile __be32 *record_;
    uint32_t stride_;
    uint32_t slots_;
    uint32_t tail_;
    uint32_t given_ = 0;
    bool unpublished_ = false;
};

} // namespace ufx::uct::ib::mlx5

#endif

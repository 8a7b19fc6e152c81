// SPDX-License-Identifier: BSD-3-Clause
// A send queue of an mlx5 device: requests are written as WQEs, and the doorbell is rung here.
#ifndef UFX_UCT_IB_MLX5_SEND_QUEUE_H
#define UFX_UCT_IB_MLX5_SEND_QUEUE_H

#include "barriers.h"

#include "uct/ib/common/config.h"
#include "uct/ib/common/rc_resources.h"
#include "uct/ib/common/send_credits.h"
#include "uct/ib/common/send_request.h"

#include "ucs/result.h"

#include <infiniband/mlx5dv.h>

namespace ufx::uct::ib::mlx5 {

// A ring of basic blocks of 64 bytes. Positions count blocks. A request takes its blocks until a
// completion at or behind it is seen.
class send_queue : public send_credits {
public:
    static constexpr uint32_t max_blocks = 5; // of the longest WQE
    static constexpr size_t max_pieces = 16;
    // Control and remote segment, and the header of the inline one, in four blocks.
    static constexpr size_t max_copied = 4 * size_t{MLX5_SEND_WQE_BB} - 2 * 16 - 4;
    static constexpr uint32_t nop_packets = 0;

    using completion_id = uint16_t; // the WQE counter

    // Small messages are to lie in their buffers: nothing reads them from completions.
    [[nodiscard]] static ibv_qp *make_qp(ibv_context *context, ibv_qp_init_attr_ex &init) noexcept;

    [[nodiscard]] static ucs::result<send_queue> take(ibv_qp *qp, const rc_config &config,
                                                      const rc_resources &resources) noexcept;

    // A post was refused: never here.
    [[nodiscard]] static constexpr bool is_broken() noexcept { return false; }

    // There is room. Gives the position behind the request.
    uint64_t post(const send_request &request) noexcept;

    // Position behind the request whose completion carries this counter.
    [[nodiscard]] uint64_t position_after(completion_id wqe_counter) const noexcept
    {
        if (under_way() == 0) [[unlikely]] {
            return done(); // nothing is under way
        }
        const uint64_t first = position_before(wqe_counter);
        const auto *ctrl = reinterpret_cast<const mlx5_wqe_ctrl_seg *>(block(first));
        return first + ((be32toh(ctrl->qpn_ds) & 0x3f) + 3) / 4;
    }

    // Position of that request; of one that is not under way, the first that is.
    [[nodiscard]] uint64_t position_before(completion_id wqe_counter) const noexcept
    {
        const uint64_t first = done() + static_cast<uint16_t>(wqe_counter - done());
        return first < posted() ? first : done();
    }

private:
    send_queue(const mlx5dv_qp &dv, uint32_t qpn, uint32_t *blueflame_offset) noexcept;

    [[nodiscard]] std::byte *block(uint64_t position) const noexcept
    {
        return buffer_ + (position & (blocks_ - 1)) * MLX5_SEND_WQE_BB;
    }

    std::byte *buffer_;
    std::byte *end_;
    volatile __be32 *record_;
    std::byte *doorbell_;
    uint32_t qpn_;
    uint32_t blocks_; // power of two
    uint32_t blueflame_size_;    // 0: none
    uint32_t *blueflame_offset_; // of the register: its queues write to two places of it in turn

    friend class wqe_writer;
    void ring(uint64_t first, uint32_t count) noexcept;
};

} // namespace ufx::uct::ib::mlx5

#endif

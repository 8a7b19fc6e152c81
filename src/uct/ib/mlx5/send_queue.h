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

#include <cstring>

namespace ufx::uct::ib::mlx5 {

inline constexpr size_t segment = 16; // of which a WQE is made

// A ring of basic blocks of 64 bytes. Positions count blocks. A request takes its blocks until a
// completion at or behind it is seen.
class send_queue : public send_credits {
public:
    static constexpr uint32_t max_blocks = 5; // of the longest WQE
    static constexpr size_t max_pieces = 16;
    // Control and remote segment, and the header of the inline one, in four blocks.
    static constexpr size_t max_copied = 4 * size_t{MLX5_SEND_WQE_BB} - 2 * 16 - 4;
    // The same in one block, for post_copied().
    static constexpr size_t max_short = size_t{MLX5_SEND_WQE_BB} - 2 * 16 - 4;
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

    // The same for requests of one block, which need no loop and no turn of the ring. `flags` are
    // control_flags(). `copy(at)` writes the `length` bytes to send, at most max_short behind
    // `head_size`. `first` is posted(), which the caller has at hand.
    template <size_t head_size, class Copy>
    void post_send(uint64_t first, size_t length, uint32_t flags, Copy &&copy) noexcept
    {
        static_assert(head_size <= segment);
        std::byte *wqe = block(first);
        write_copied(wqe + segment, head_size + length, copy);
        finish_block(wqe, first, start_of_send_ + segments_with(1, head_size + length), flags);
    }

    template <class Copy>
    void post_write(uint64_t first, const remote_place &to, size_t length, uint32_t flags,
                    Copy &&copy) noexcept
    {
        std::byte *wqe = block(first);
        write_remote(wqe + segment, to);
        write_copied(wqe + 2 * segment, length, copy);
        finish_block(wqe, first, start_of_write_ + segments_with(2, length), flags);
    }

    // A write or read of a piece that is not empty.
    template <send_op op>
    void post_piece(uint64_t first, const remote_place &to, const ibv_sge &piece,
                    uint32_t flags) noexcept
    {
        static_assert(op == send_op::write || op == send_op::read);
        std::byte *wqe = block(first);
        write_remote(wqe + segment, to);
        write_pointer(wqe + 2 * segment, piece);
        finish_block(wqe, first, (op == send_op::write ? start_of_write_ : start_of_read_) + 3,
                     flags);
    }

    // One without masks; what was there before it comes to `answer`.
    void post_atomic(uint64_t first, send_op op, const remote_place &to, uint64_t operand,
                     uint64_t compare, const ibv_sge &answer, uint32_t flags) noexcept
    {
        std::byte *wqe = block(first);
        write_remote(wqe + segment, to);
        auto *seg = reinterpret_cast<mlx5_wqe_atomic_seg *>(wqe + 2 * segment);
        seg->swap_add = htobe64(operand);
        seg->compare = htobe64(compare);
        write_pointer(wqe + 3 * segment, answer);
        const uint8_t opcode =
            op == send_op::fetch_add ? MLX5_OPCODE_ATOMIC_FA : MLX5_OPCODE_ATOMIC_CS;
        finish_block(wqe, first, start_of(opcode, qpn_) + 4, flags);
    }

    // A message or write of up to max_copied bytes, the transport's header of a message with them,
    // in blocks that do not wrap: from a position to a position.
    template <send_op op>
    [[nodiscard]] static uint64_t end_of_long(uint64_t first, size_t length) noexcept
    {
        return first + (segments_of_long<op>(length) + 3) / 4;
    }

    [[nodiscard]] bool wraps(uint64_t first, uint64_t end) const noexcept
    {
        return (first & block_mask_) + (end - first) > block_mask_ + 1;
    }

    template <send_op op>
    void post_long(uint64_t first, const remote_place &to, uint64_t head, const std::byte *bytes,
                   size_t length, uint32_t flags) noexcept
    {
        std::byte *wqe = block(first);
        if constexpr (op == send_op::send) {
            write_copied(wqe + segment, sizeof(head) + length, [&](std::byte *at) {
                std::memcpy(at, &head, sizeof(head));
                std::memcpy(at + sizeof(head), bytes, length);
            });
        } else {
            write_remote(wqe + segment, to);
            write_copied(wqe + 2 * segment, length,
                         [&](std::byte *at) { std::memcpy(at, bytes, length); });
        }
        finish(wqe, first, end_of_long<op>(first, length),
               (op == send_op::send ? start_of_send_ : start_of_write_) +
                   segments_of_long<op>(length),
               flags);
    }

    // The word of a control segment that asks for a completion, or waits for reads before it.
    [[nodiscard]] static uint32_t control_flags(bool signaled, bool fenced) noexcept
    {
        return htobe32((signaled ? uint32_t{MLX5_WQE_CTRL_CQ_UPDATE} : 0) |
                       (fenced ? uint32_t{MLX5_WQE_CTRL_FENCE} : 0));
    }

    // Where the completion with this counter is in what is kept by first position.
    [[nodiscard]] static uint64_t key_of(completion_id wqe_counter) noexcept { return wqe_counter; }

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

    // Those before, and the one with so many copied bytes.
    [[nodiscard]] static constexpr size_t segments_with(size_t before, size_t length) noexcept
    {
        return (length + sizeof(mlx5_wqe_inl_data_seg) + (before + 1) * segment - 1) / segment;
    }

    template <send_op op>
    [[nodiscard]] static constexpr size_t segments_of_long(size_t length) noexcept
    {
        static_assert(op == send_op::send || op == send_op::write);
        return op == send_op::send ? segments_with(1, sizeof(uint64_t) + length)
                                   : segments_with(2, length);
    }

    static void write_pointer(std::byte *at, const ibv_sge &piece) noexcept
    {
        auto *seg = reinterpret_cast<mlx5_wqe_data_seg *>(at);
        seg->byte_count = htobe32(piece.length);
        seg->lkey = htobe32(piece.lkey);
        seg->addr = htobe64(piece.addr);
    }

    static void write_remote(std::byte *at, const remote_place &to) noexcept
    {
        auto *seg = reinterpret_cast<mlx5_wqe_raddr_seg *>(at);
        seg->raddr = htobe64(to.addr);
        seg->rkey = htobe32(to.rkey);
    }

    // The length is at least 1 and below 256.
    template <class Copy>
    static void write_copied(std::byte *at, size_t length, Copy &&copy) noexcept
    {
        auto *seg = reinterpret_cast<mlx5_wqe_inl_data_seg *>(at);
        seg->byte_count = htobe32(static_cast<uint32_t>(length) | MLX5_INLINE_SEG);
        copy(at + sizeof(*seg));
    }

    // The start of a control segment as one number: the counter and the opcode in the upper half,
    // the queue pair's number and the count of segments in the lower one. Here without counter and
    // count.
    [[nodiscard]] static constexpr uint64_t start_of(uint8_t opcode, uint32_t qpn) noexcept
    {
        return uint64_t{opcode} << 32 | uint64_t{qpn} << 8;
    }

    void finish_block(std::byte *wqe, uint64_t first, uint64_t kind, uint32_t flags) noexcept
    {
        finish(wqe, first, first + 1, kind, flags);
    }

    // The control segment last, then the doorbell. `kind` is one of start_of(), and the count.
    void finish(std::byte *wqe, uint64_t first, uint64_t end, uint64_t kind,
                uint32_t flags) noexcept
    {
        const uint64_t start = htobe64((first << 48 >> 8) + kind);
        std::memcpy(wqe, &start, sizeof(start));
        std::memcpy(wqe + sizeof(start), &flags, sizeof(flags));
        advance_to(end);
        ring(wqe, start, end);
    }

    [[nodiscard]] std::byte *block(uint64_t position) const noexcept
    {
        return buffer_ + (position & block_mask_) * MLX5_SEND_WQE_BB;
    }

    std::byte *buffer_;
    std::byte *end_;
    volatile __be32 *record_;
    std::byte *doorbell_;
    uint64_t block_mask_; // their number, a power of two, less 1
    uint64_t start_of_send_;
    uint64_t start_of_write_;
    uint64_t start_of_read_;
    uint32_t qpn_;
    bool has_blueflame_;
    uint32_t blueflame_size_;
    uint32_t *blueflame_offset_; // of the register: its queues write to two places of it in turn

    friend class wqe_writer;

    // `start`: of the first block, at `wqe`. The record first: the device may fetch from memory
    // what the doorbell announces.
    void ring(const std::byte *wqe, uint64_t start, uint64_t end) noexcept
    {
        before_device_reads();
        record_[MLX5_SND_DBR] = htobe32(static_cast<uint16_t>(end));
        flush_write_combining();
        if (!has_blueflame_) [[likely]] {
            store_doorbell(reinterpret_cast<volatile uint64_t *>(doorbell_), start);
        } else {
            write_blueflame(wqe, start);
        }
        flush_write_combining();
    }

    void write_blueflame(const std::byte *wqe, uint64_t start) noexcept;
};

} // namespace ufx::uct::ib::mlx5

#endif

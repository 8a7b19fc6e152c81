// SPDX-License-Identifier: BSD-3-Clause
// Writes WQEs.
#include "send_queue.h"

#include "ucs/bytes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace ufx::uct::ib::mlx5 {

namespace {

uint8_t opcode_of(send_op op) noexcept
{
    switch (op) {
    case send_op::send:
        return MLX5_OPCODE_SEND;
    case send_op::write:
        return MLX5_OPCODE_RDMA_WRITE;
    case send_op::read:
        return MLX5_OPCODE_RDMA_READ;
    case send_op::fetch_add:
        return MLX5_OPCODE_ATOMIC_FA;
    case send_op::compare_swap:
        return MLX5_OPCODE_ATOMIC_CS;
    case send_op::masked_add:
        return MLX5_OPCODE_ATOMIC_MASKED_FA;
    case send_op::masked_swap:
        return MLX5_OPCODE_ATOMIC_MASKED_CS;
    case send_op::nop:
        break;
    }
    return MLX5_OPCODE_NOP;
}

// An extended atomic has its size there.
uint32_t modifier_of(const send_request &request) noexcept
{
    const bool is_masked = request.op == send_op::masked_add || request.op == send_op::masked_swap;
    return !is_masked ? 0 : request.atomic->bytes == sizeof(uint32_t) ? 8u : 9u;
}

// Swap, compare and their masks, or what is added and the ends of its fields; big-endian words.
[[gnu::noinline]] std::array<std::byte, 2 * segment>
masked_atomic(send_op op, const atomic_operands &with) noexcept
{
    const bool swaps = op == send_op::masked_swap;
    const std::array<uint64_t, 4> words = {with.operand, swaps ? with.compare : with.operand_mask,
                                           with.operand_mask, with.compare_mask};
    std::array<std::byte, 2 * segment> bytes{};
    for (size_t i = 0; i < (swaps ? words.size() : 2); i++) {
        if (with.bytes == sizeof(uint32_t)) {
            ucs::store_be(bytes.data() + i * sizeof(uint32_t), static_cast<uint32_t>(words[i]));
        } else {
            ucs::store_be(bytes.data() + i * sizeof(uint64_t), words[i]);
        }
    }
    return bytes;
}

} // namespace

// Segments of one WQE, which may go on at the ring's start.
class wqe_writer {
public:
    explicit wqe_writer(const send_queue &queue) noexcept
        : queue_(queue), start_(queue.block(queue.posted())), at_(start_ + segment)
    {
    }

    void remote(uint64_t address, uint32_t rkey) noexcept
    {
        mlx5_wqe_raddr_seg seg{};
        seg.raddr = htobe64(address);
        seg.rkey = htobe32(rkey);
        add(&seg);
    }

    void atomic(send_op op, const atomic_operands &with) noexcept
    {
        if (op == send_op::masked_add || op == send_op::masked_swap) [[unlikely]] {
            const auto segments = masked_atomic(op, with);
            add(segments.data());
            if (op == send_op::masked_swap && with.bytes == sizeof(uint64_t)) {
                add(segments.data() + segment);
            }
            return;
        }
        mlx5_wqe_atomic_seg seg{};
        seg.swap_add = htobe64(with.operand);
        seg.compare = htobe64(with.compare);
        add(&seg);
    }

    void pointers(std::span<const ibv_sge> pieces) noexcept
    {
        for (const ibv_sge &piece : pieces) {
            if (piece.length == 0) {
                continue; // would mean 2 GB
            }
            mlx5_wqe_data_seg seg{};
            seg.byte_count = htobe32(piece.length);
            seg.lkey = htobe32(piece.lkey);
            seg.addr = htobe64(piece.addr);
            add(&seg);
        }
    }

    void copies(std::span<const ibv_sge> pieces) noexcept
    {
        const auto length = static_cast<uint32_t>(pieces_length(pieces));
        if (length == 0) {
            return;
        }
        const uint32_t head = htobe32(length | MLX5_INLINE_SEG);
        bytes(&head, sizeof(head));
        for (const ibv_sge &piece : pieces) {
            bytes(reinterpret_cast<const void *>(piece.addr), piece.length);
        }
        // The next segment would start behind the padding; there is none.
        segments_ += (sizeof(head) + length + segment - 1) / segment;
    }

    // Segments, with the one of control.
    [[nodiscard]] uint32_t segments() const noexcept { return segments_; }

    void control(const send_request &request, uint64_t position) noexcept
    {
        mlx5_wqe_ctrl_seg seg{};
        seg.opmod_idx_opcode =
            htobe32(modifier_of(request) << 24 | static_cast<uint32_t>(position & 0xffff) << 8 |
                    opcode_of(request.op));
        seg.qpn_ds = htobe32(queue_.qpn_ << 8 | segments_);
        seg.fm_ce_se = static_cast<uint8_t>((request.signaled ? MLX5_WQE_CTRL_CQ_UPDATE : 0) |
                                            (request.fenced ? MLX5_WQE_CTRL_FENCE : 0));
        std::memcpy(start_, &seg, sizeof(seg));
    }

private:
    void add(const void *seg) noexcept
    {
        if (at_ == queue_.end_) {
            at_ = queue_.buffer_;
        }
        std::memcpy(at_, seg, segment);
        at_ += segment;
        segments_++;
    }

    void bytes(const void *from, size_t length) noexcept
    {
        const auto *source = static_cast<const std::byte *>(from);
        while (length > 0) {
            if (at_ == queue_.end_) {
                at_ = queue_.buffer_;
            }
            const size_t part = std::min(length, static_cast<size_t>(queue_.end_ - at_));
            std::memcpy(at_, source, part);
            at_ += part;
            source += part;
            length -= part;
        }
    }

    const send_queue &queue_;
    std::byte *start_;
    std::byte *at_;
    uint32_t segments_ = 1;
};

ibv_qp *send_queue::make_qp(ibv_context *context, ibv_qp_init_attr_ex &init) noexcept
{
    mlx5dv_qp_init_attr device{};
    device.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS;
    device.create_flags = MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE;
    return mlx5dv_create_qp(context, &init, &device);
}

ucs::result<send_queue> send_queue::take(ibv_qp *qp, const rc_config &,
                                         const rc_resources &resources) noexcept
{
    mlx5dv_qp dv{};
    mlx5dv_obj object{};
    object.qp.in = qp;
    object.qp.out = &dv;
    if (mlx5dv_init_obj(&object, MLX5DV_OBJ_QP) != 0 || dv.sq.stride != MLX5_SEND_WQE_BB ||
        !std::has_single_bit(dv.sq.wqe_cnt) || dv.sq.wqe_cnt < max_blocks + reserved) {
        return UFX_ERR_IO;
    }
    return send_queue(dv, qp->qp_num, resources.blueflame_offset.get());
}

send_queue::send_queue(const mlx5dv_qp &dv, uint32_t qpn, uint32_t *blueflame_offset) noexcept
    : send_credits(dv.sq.wqe_cnt, max_blocks), buffer_(static_cast<std::byte *>(dv.sq.buf)),
      end_(buffer_ + size_t{dv.sq.wqe_cnt} * dv.sq.stride), record_(dv.dbrec),
      doorbell_(static_cast<std::byte *>(dv.bf.reg)), block_mask_(dv.sq.wqe_cnt - 1),
      start_of_send_(start_of(MLX5_OPCODE_SEND, qpn)),
      start_of_write_(start_of(MLX5_OPCODE_RDMA_WRITE, qpn)),
      start_of_read_(start_of(MLX5_OPCODE_RDMA_READ, qpn)), qpn_(qpn),
      has_blueflame_(blueflame_offset != nullptr && dv.bf.size != 0), blueflame_size_(dv.bf.size),
      blueflame_offset_(blueflame_offset)
{
}

uint64_t send_queue::post(const send_request &request) noexcept
{
    wqe_writer writer(*this);
    if (request.op != send_op::send && request.op != send_op::nop) {
        writer.remote(request.remote_addr, request.rkey);
    }
    if (request.atomic != nullptr) {
        writer.atomic(request.op, *request.atomic);
    }
    if (request.copied) {
        writer.copies(request.pieces);
    } else {
        writer.pointers(request.pieces);
    }
    writer.control(request, posted());
    const std::byte *wqe = block(posted());
    uint64_t start = 0;
    std::memcpy(&start, wqe, sizeof(start));
    advance((writer.segments() + 3) / 4);
    ring(wqe, start, posted());
    return posted();
}

// A WQE that fits goes with the doorbell, whole blocks of it; its length is in `start`.
void send_queue::write_blueflame(const std::byte *wqe, uint64_t start) noexcept
{
    const auto *from = reinterpret_cast<const uint64_t *>(wqe);
    const auto *end = reinterpret_cast<const uint64_t *>(end_);
    auto *to = reinterpret_cast<volatile uint64_t *>(doorbell_ + *blueflame_offset_);
    const size_t blocks = ((be64toh(start) & 0x3f) + 3) / 4;
    if (blocks * MLX5_SEND_WQE_BB <= blueflame_size_) {
        for (size_t words = blocks * MLX5_SEND_WQE_BB / sizeof(uint64_t); words > 0; words--) {
            store_doorbell(to++, *from++);
            from = from == end ? reinterpret_cast<const uint64_t *>(buffer_) : from;
        }
    } else {
        store_doorbell(to, start);
    }
    *blueflame_offset_ ^= blueflame_size_;
}

} // namespace ufx::uct::ib::mlx5

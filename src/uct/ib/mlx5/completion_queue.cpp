// SPDX-License-Identifier: BSD-3-Clause
// Takes a completion queue over from libmlx5, and arms it.
#include "completion_queue.h"

#include <bit>

namespace ufx::uct::ib::mlx5 {

namespace {

constexpr uint32_t arm_any = 0; // the command: any completion, not only solicited ones

} // namespace

ucs::result<completion_queue> completion_queue::take(ibv_cq *cq) noexcept
{
    mlx5dv_cq dv{};
    mlx5dv_obj object{};
    object.cq.in = cq;
    object.cq.out = &dv;
    if (mlx5dv_init_obj(&object, MLX5DV_OBJ_CQ) != 0 || !std::has_single_bit(dv.cqe_cnt) ||
        (dv.cqe_size != 64 && dv.cqe_size != 128)) {
        return UFX_ERR_IO;
    }
    return completion_queue(dv);
}

completion_queue::completion_queue(const mlx5dv_cq &dv) noexcept
    : buffer_(static_cast<std::byte *>(dv.buf)), record_(dv.dbrec), uar_(dv.cq_uar),
      number_(dv.cqn), count_(dv.cqe_cnt),
      shift_(static_cast<uint32_t>(std::countr_zero(dv.cqe_size))),
      upper_half_(dv.cqe_size - sizeof(mlx5_cqe64)), stride_(dv.cqe_size), last_(at(count_ - 1)),
      next_(at(0))
{
}

void completion_queue::arm() noexcept
{
    const uint32_t word = (events_ & 3) << 28 | arm_any | (position() & number_mask);
    record_[1] = htobe32(word);
    before_device_reads();
    flush_write_combining();
    const uint64_t doorbell = uint64_t{htobe32(number_)} << 32 | htobe32(word);
    auto *at =
        reinterpret_cast<volatile uint64_t *>(static_cast<std::byte *>(uar_) + MLX5_CQ_DOORBELL);
    store_doorbell(at, doorbell);
    flush_write_combining();
}

} // namespace ufx::uct::ib::mlx5

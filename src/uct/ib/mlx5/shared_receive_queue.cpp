// SPDX-License-Identifier: BSD-3-Clause
// Takes a shared receive queue over from libmlx5.
#include "shared_receive_queue.h"

namespace ufx::uct::ib::mlx5 {

ucs::result<shared_receive_queue> shared_receive_queue::take(ibv_srq *srq)
{
    mlx5dv_srq dv{};
    mlx5dv_obj object{};
    object.srq.in = srq;
    object.srq.out = &dv;
    if (mlx5dv_init_obj(&object, MLX5DV_OBJ_SRQ) != 0 || dv.head != 0 || dv.tail == 0) {
        return UFX_ERR_IO;
    }
    return shared_receive_queue(dv);
}

shared_receive_queue::shared_receive_queue(const mlx5dv_srq &dv) noexcept
    : buffer_(static_cast<std::byte *>(dv.buf)), record_(dv.dbrec), stride_(dv.stride),
      slots_(dv.tail + 1), tail_(dv.tail)
{
}

void shared_receive_queue::set_buffer(uint32_t slot, void *address, uint32_t length,
                                      uint32_t lkey) noexcept
{
    auto *data = reinterpret_cast<mlx5_wqe_data_seg *>(next_seg(slot) + 1);
    data->addr = htobe64(reinterpret_cast<uint64_t>(address));
    data->byte_count = htobe32(length);
    data->lkey = htobe32(lkey);
    if (stride_ >= 3 * sizeof(*data)) { // ends the list where there is room for more
        data[1].byte_count = 0;
        data[1].lkey = htobe32(MLX5_INVALID_LKEY);
        data[1].addr = 0;
    }
}

} // namespace ufx::uct::ib::mlx5

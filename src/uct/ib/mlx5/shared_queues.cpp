// SPDX-License-Identifier: BSD-3-Clause
// Takes the queues over, and reads error completions.
#include "shared_queues.h"

namespace ufx::uct::ib::mlx5 {

namespace {

ibv_wc_status status_of(uint8_t syndrome) noexcept
{
    switch (syndrome) {
    case MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR:
        return IBV_WC_LOC_LEN_ERR;
    case MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR:
        return IBV_WC_LOC_QP_OP_ERR;
    case MLX5_CQE_SYNDROME_LOCAL_PROT_ERR:
        return IBV_WC_LOC_PROT_ERR;
    case MLX5_CQE_SYNDROME_WR_FLUSH_ERR:
        return IBV_WC_WR_FLUSH_ERR;
    case MLX5_CQE_SYNDROME_MW_BIND_ERR:
        return IBV_WC_MW_BIND_ERR;
    case MLX5_CQE_SYNDROME_BAD_RESP_ERR:
        return IBV_WC_BAD_RESP_ERR;
    case MLX5_CQE_SYNDROME_LOCAL_ACCESS_ERR:
        return IBV_WC_LOC_ACCESS_ERR;
    case MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR:
        return IBV_WC_REM_INV_REQ_ERR;
    case MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR:
        return IBV_WC_REM_ACCESS_ERR;
    case MLX5_CQE_SYNDROME_REMOTE_OP_ERR:
        return IBV_WC_REM_OP_ERR;
    case MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR:
        return IBV_WC_RETRY_EXC_ERR;
    case MLX5_CQE_SYNDROME_RNR_RETRY_EXC_ERR:
        return IBV_WC_RNR_RETRY_EXC_ERR;
    case MLX5_CQE_SYNDROME_REMOTE_ABORTED_ERR:
        return IBV_WC_REM_ABORT_ERR;
    default:
        return IBV_WC_GENERAL_ERR;
    }
}

} // namespace

ucs::result<shared_queues> shared_queues::take(const rc_resources &resources)
{
    auto sends = completion_queue::take(resources.send_cq.get());
    auto receives = completion_queue::take(resources.receive_cq.get());
    auto slots = shared_receive_queue::take(resources.srq.get());
    if (!sends || !receives || !slots) {
        return UFX_ERR_IO;
    }
    return shared_queues(resources.send_cq.get(), *sends, *receives, *slots);
}

send_error shared_queues::error_of(const mlx5_cqe64 &cqe) noexcept
{
    const auto &error = reinterpret_cast<const mlx5_err_cqe &>(cqe);
    return {status_of(error.syndrome), error.vendor_err_synd};
}

} // namespace ufx::uct::ib::mlx5

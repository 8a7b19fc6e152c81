// SPDX-License-Identifier: BSD-3-Clause
// rc_mlx5: the RC transport whose queues are written and read directly.
#include "rc_mlx5.h"

#include "send_queue.h"
#include "shared_queues.h"

#include "uct/ib/common/rc_iface_impl.h"

namespace ufx::uct::ib {

namespace {

struct mlx5_hw {
    static constexpr rc_kind kind = rc_kind::mlx5;
    static constexpr const char *name = "rc_mlx5";

    using send_queue = mlx5::send_queue;
    using shared_queues = mlx5::shared_queues;
};

} // namespace

static_assert(method_caps<rc_ep<mlx5_hw>, rc_iface<mlx5_hw>>() ==
              (UFX_UCT_CAP_AM_SHORT | UFX_UCT_CAP_AM_BCOPY | UFX_UCT_CAP_AM_ZCOPY |
               UFX_UCT_CAP_PUT_SHORT | UFX_UCT_CAP_PUT_BCOPY | UFX_UCT_CAP_PUT_ZCOPY |
               UFX_UCT_CAP_GET_SHORT | UFX_UCT_CAP_GET_BCOPY | UFX_UCT_CAP_GET_ZCOPY |
               UFX_UCT_CAP_ATOMIC64_POST | UFX_UCT_CAP_ATOMIC64_FETCH | UFX_UCT_CAP_ATOMIC64_CSWAP |
               UFX_UCT_CAP_PENDING | UFX_UCT_CAP_FLUSH | UFX_UCT_CAP_FENCE | UFX_UCT_CAP_CHECK |
               UFX_UCT_CAP_CONNECT_TO_EP | UFX_UCT_CAP_INVALIDATE | UFX_UCT_CAP_PURGE |
               UFX_UCT_CAP_EVENT_FD | UFX_UCT_CAP_TOKENS | UFX_UCT_CAP_SET_LINK));

bool serves_rc_mlx5(const device &on) noexcept
{
    return on.is_mlx5();
}

ufx_status_t open_rc_mlx5(md &domain, const ufx_uct_iface_params_t &params, ufx_uct_iface_h *iface)
{
    auto opened = rc_iface<mlx5_hw>::open(domain, params);
    if (!opened) {
        return opened.error();
    }
    *iface = (*std::move(opened)).release();
    return UFX_OK;
}

} // namespace ufx::uct::ib

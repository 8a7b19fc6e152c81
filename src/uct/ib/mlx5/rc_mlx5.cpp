// SPDX-License-Identifier: BSD-3-Clause
// rc_mlx5: the RC transport whose queues are written and read directly.
#include "atomic_caps.h"
#include "send_queue.h"
#include "shared_queues.h"

#include "uct/ib/common/rc_transport.h"

namespace ufx::uct::ib {

namespace {

struct mlx5_hw {
    static constexpr rc_kind kind = rc_kind::mlx5;
    static constexpr const char *name = "rc_mlx5";

    static bool serves(const device &on) noexcept { return on.is_mlx5(); }

    static bool has_extended_atomics(const device &on, wish wanted) noexcept
    {
        return wanted == wish::automatic ? mlx5::has_extended_atomics(on.context())
                                         : wanted == wish::yes;
    }

    using send_queue = mlx5::send_queue;
    using shared_queues = mlx5::shared_queues;
};

} // namespace

constinit const transport rc_mlx5 = rc_transport<mlx5_hw>();

} // namespace ufx::uct::ib

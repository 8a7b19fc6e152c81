// SPDX-License-Identifier: BSD-3-Clause
// Asks an mlx5 device for its extended atomics.
#ifndef UFX_UCT_IB_MLX5_ATOMIC_CAPS_H
#define UFX_UCT_IB_MLX5_ATOMIC_CAPS_H

#include <infiniband/verbs.h>

namespace ufx::uct::ib::mlx5 {

// Whether queue pairs have compare-and-swap and fetch-and-add with masks, on 4 and on 8 bytes.
// False too if the device cannot be asked: that needs a context with DEVX.
[[nodiscard]] bool has_extended_atomics(ibv_context *context) noexcept;

} // namespace ufx::uct::ib::mlx5

#endif

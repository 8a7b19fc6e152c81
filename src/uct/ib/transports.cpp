// SPDX-License-Identifier: BSD-3-Clause
// What the module offers.
#include "uct/ib/common/transports.h"

#include "uct/ib/mlx5/rc_mlx5.h"
#include "uct/ib/verbs/rc_verbs.h"

namespace ufx::uct::ib {

namespace {

constexpr transport all[] = {{"rc_mlx5", serves_rc_mlx5, open_rc_mlx5},
                             {"rc_verbs", serves_rc_verbs, open_rc_verbs}};

} // namespace

constinit const std::span<const transport> transports(all);

} // namespace ufx::uct::ib

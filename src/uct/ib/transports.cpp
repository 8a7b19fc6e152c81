// SPDX-License-Identifier: BSD-3-Clause
// What the module offers.
#include "uct/ib/common/transports.h"

namespace ufx::uct::ib {

namespace {

constexpr const transport *all[] = {&rc_mlx5, &rc_verbs};

} // namespace

constinit const std::span<const transport *const> transports(all);

} // namespace ufx::uct::ib

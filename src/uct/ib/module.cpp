// SPDX-License-Identifier: BSD-3-Clause
// The module of the InfiniBand transports: its one function, and the list of what is in it.
#include "common/md.h"
#include "common/transports.h"
#include "mlx5/rc_mlx5.h"
#include "verbs/rc_verbs.h"

#include "uct/base/module_entry.h"

namespace ufx::uct::ib {

namespace {

constexpr transport all[] = {{"rc_mlx5", serves_rc_mlx5, open_rc_mlx5},
                             {"rc_verbs", serves_rc_verbs, open_rc_verbs}};

} // namespace

const std::span<const transport> transports(all);

} // namespace ufx::uct::ib

extern "C" UFX_API ufx_status_t ufx_uct_module_init(uint32_t abi, const ufx_uct_host_t *,
                                                    const ufx_uct_component_t **out);

ufx_status_t ufx_uct_module_init(uint32_t abi, const ufx_uct_host_t *,
                                 const ufx_uct_component_t **out)
{
    return ufx::uct::enter_module(abi, ufx::uct::ib::ib_component, out);
}

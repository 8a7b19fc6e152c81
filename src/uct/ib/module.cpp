// SPDX-License-Identifier: BSD-3-Clause
// The one function that the module of the InfiniBand transports exports.
#include "uct/ib/common/md.h"

#include "uct/base/module_entry.h"

extern "C" UFX_API ufx_status_t ufx_uct_module_init(uint32_t abi, const ufx_uct_host_t *,
                                                    const ufx_uct_component_t **out);

ufx_status_t ufx_uct_module_init(uint32_t abi, const ufx_uct_host_t *,
                                 const ufx_uct_component_t **out)
{
    return ufx::uct::enter_module(abi, ufx::uct::ib::ib_component, out);
}

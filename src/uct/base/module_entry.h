// SPDX-License-Identifier: BSD-3-Clause
// The body of ufx_uct_module_init() of our own modules.
#ifndef UFX_UCT_BASE_MODULE_ENTRY_H
#define UFX_UCT_BASE_MODULE_ENTRY_H

#include <ufx/uct_ops.h>

namespace ufx::uct {

// Our modules link libufx_ucs, so they log and read settings there and need nothing of the host.
inline ufx_status_t enter_module(uint32_t abi, const ufx_uct_component_t &component,
                                 const ufx_uct_component_t **out) noexcept
{
    if (abi != UFX_UCT_ABI_VERSION) {
        return UFX_ERR_VERSION;
    }
    if (out == nullptr) {
        return UFX_ERR_INVALID_PARAM;
    }
    *out = &component;
    return UFX_OK;
}

} // namespace ufx::uct

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A module that serves no ABI version.
 */
#include <ufx/uct_ops.h>

UFX_API ufx_status_t ufx_uct_module_init(uint32_t abi, const ufx_uct_host_t *host,
                                         const ufx_uct_component_t **out);

ufx_status_t ufx_uct_module_init(uint32_t abi, const ufx_uct_host_t *host,
                                 const ufx_uct_component_t **out)
{
    (void)abi, (void)host, (void)out;
    return UFX_ERR_VERSION;
}

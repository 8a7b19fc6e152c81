/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A module whose component was built against other headers: it is too small.
 */
#include <ufx/uct_ops.h>

static const ufx_uct_component_t small = {.size = 8, .name = "small"};

UFX_API ufx_status_t ufx_uct_module_init(uint32_t abi, const ufx_uct_host_t *host,
                                         const ufx_uct_component_t **out);

ufx_status_t ufx_uct_module_init(uint32_t abi, const ufx_uct_host_t *host,
                                 const ufx_uct_component_t **out)
{
    (void)abi, (void)host;
    *out = &small;
    return UFX_OK;
}

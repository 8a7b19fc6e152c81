// SPDX-License-Identifier: BSD-3-Clause
// Reads the common fields of the iface parameters.
#include "iface_base.h"

namespace ufx::uct {

iface_callbacks::iface_callbacks(const ufx_uct_iface_params_t &params) noexcept
{
    if ((params.field_mask & UFX_UCT_IFACE_PARAM_WORKER) != 0) {
        worker = params.worker;
    }
    if ((params.field_mask & UFX_UCT_IFACE_PARAM_ERR_HANDLER) != 0) {
        err_handler = params.err_handler;
        err_handler_arg = params.err_handler_arg;
    }
    if ((params.field_mask & UFX_UCT_IFACE_PARAM_EVENT_CB) != 0) {
        event_cb = params.event_cb;
        event_cb_arg = params.event_cb_arg;
    }
}

} // namespace ufx::uct

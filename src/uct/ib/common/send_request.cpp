// SPDX-License-Identifier: BSD-3-Clause
// What completion statuses mean.
#include "send_request.h"

namespace ufx::uct::ib {

failure failure_of(ibv_wc_status status) noexcept
{
    switch (status) {
    case IBV_WC_LOC_PROT_ERR:
    case IBV_WC_LOC_ACCESS_ERR:
    case IBV_WC_LOC_LEN_ERR:
        return {UFX_ERR_LOCAL_PROT, UFX_UCT_CAUSE_LOCAL_PROT};
    case IBV_WC_REM_ACCESS_ERR:
        return {UFX_ERR_REMOTE_ACCESS, UFX_UCT_CAUSE_REMOTE_ACCESS};
    case IBV_WC_RETRY_EXC_ERR:
        return {UFX_ERR_ENDPOINT_TIMEOUT, UFX_UCT_CAUSE_RETRY_EXCEEDED};
    case IBV_WC_RNR_RETRY_EXC_ERR:
        return {UFX_ERR_ENDPOINT_TIMEOUT, UFX_UCT_CAUSE_RNR_EXCEEDED};
    case IBV_WC_FATAL_ERR:
        return {UFX_ERR_IO, UFX_UCT_CAUSE_DEVICE_FATAL};
    default:
        return {UFX_ERR_CONNECTION_RESET, UFX_UCT_CAUSE_OWN_QP};
    }
}

} // namespace ufx::uct::ib

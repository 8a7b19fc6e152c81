// SPDX-License-Identifier: BSD-3-Clause
// From uct's reasons to the core's, and from the core's names to the public ones.
#ifndef UFX_UCP_CAUSES_H
#define UFX_UCP_CAUSES_H

#include "ucp/core/action.h"

#include <ufx/ucp.h>
#include <ufx/uct.h>

namespace ufx::ucp {

// Why a uct ep failed, as the core weighs it.
[[nodiscard]] constexpr core::cause cause_of(ufx_uct_error_cause_t cause)
{
    switch (cause) {
    case UFX_UCT_CAUSE_LOCAL_PROT:
    case UFX_UCT_CAUSE_REMOTE_ACCESS:
        return core::cause::PROTECTION;
    case UFX_UCT_CAUSE_RNR_EXCEEDED:
        return core::cause::RNR_EXC;
    case UFX_UCT_CAUSE_RETRY_EXCEEDED:
        return core::cause::RETRY_EXC;
    case UFX_UCT_CAUSE_CONN_RESET:
        return core::cause::CONNECTION_RESET;
    case UFX_UCT_CAUSE_CONN_REFUSED:
        return core::cause::CONNECT_REFUSED;
    case UFX_UCT_CAUSE_TIMED_OUT:
        return core::cause::NET_TIMEOUT;
    case UFX_UCT_CAUSE_UNREACHABLE:
        return core::cause::NET_UNREACHABLE;
    case UFX_UCT_CAUSE_ADDR_REMOVED:
        return core::cause::ADDRESS_GONE;
    case UFX_UCT_CAUSE_PORT_DOWN:
    case UFX_UCT_CAUSE_INJECTED:
        return core::cause::PORT_DOWN;
    case UFX_UCT_CAUSE_DEVICE_FATAL:
        return core::cause::DEVICE_FATAL;
    default:
        return core::cause::OWN_QP_ERROR;
    }
}

static_assert(static_cast<int>(core::rail_state::UP) == UFX_UCP_RAIL_UP &&
              static_cast<int>(core::rail_state::SUSPECT) == UFX_UCP_RAIL_SUSPECT &&
              static_cast<int>(core::rail_state::DRAINING) == UFX_UCP_RAIL_DRAINING &&
              static_cast<int>(core::rail_state::DOWN) == UFX_UCP_RAIL_DOWN &&
              static_cast<int>(core::rail_state::PROBING) == UFX_UCP_RAIL_PROBING);
static_assert(static_cast<int>(core::grade::OPEN) == UFX_UCT_GRADE_OPEN &&
              static_cast<int>(core::verdict::UNKNOWN) == UFX_UCT_VERDICT_UNKNOWN &&
              static_cast<int>(core::verdict::PARTIAL) == UFX_UCT_VERDICT_PARTIAL);

} // namespace ufx::ucp

#endif

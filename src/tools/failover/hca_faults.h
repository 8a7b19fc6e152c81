// SPDX-License-Identifier: BSD-3-Clause
// Faults of rails that are ports of the software ConnectX: `ufx_swhca ctl` makes them.
#ifndef UFX_TOOLS_FAILOVER_HCA_FAULTS_H
#define UFX_TOOLS_FAILOVER_HCA_FAULTS_H

#include "tools/failover/process.h"
#include "tools/failover/schedule.h"

#include <string>
#include <ufx/ucp.h>

namespace ufx::tools::failover {

/** Directory of the fabric that this process was started on by `ufx_swhca run`; "" if it was not.
 */
std::string own_fabric();

/** The ufx_swhca of this installation, or of this build; else whichever is in the path. */
std::string find_ufx_swhca();

/** Whether the rail is a port of a device of that fabric. */
bool is_on_fabric(const std::string &fabric, const ufx_ucp_rail_attr_t &rail);

/** The command that makes the fault at that port. */
words hca_command(const std::string &fabric, fault_action action, const std::string &port);

} // namespace ufx::tools::failover

#endif

// SPDX-License-Identifier: BSD-3-Clause
// conductor: runs the sending side from the first handshake to the report.
#ifndef UFX_TOOLS_FAILOVER_CONDUCTOR_H
#define UFX_TOOLS_FAILOVER_CONDUCTOR_H

#include "tools/common/channel.h"
#include "tools/failover/netns.h"
#include "tools/failover/options.h"
#include "tools/failover/sender.h"

#include <string>

namespace ufx::tools::failover {

/**
 * Sends, breaks rails, measures, reports; returns an exit status.
 *
 * @param inside   NULL if the run has no namespaces of its own
 * @param network  for the report
 */
int conduct(const options &wanted, const input_file &input, channel &peer, const namespaces *inside,
            const std::string &network);

} // namespace ufx::tools::failover

#endif

// SPDX-License-Identifier: BSD-3-Clause
// The receiving side: checks that every chunk arrives once, whole and in order; writes the file.
#ifndef UFX_TOOLS_FAILOVER_RECEIVER_H
#define UFX_TOOLS_FAILOVER_RECEIVER_H

#include "tools/common/channel.h"
#include "tools/failover/options.h"

namespace ufx::tools::failover {

/** Runs the receiving side for a sender that said hello; returns an exit status. */
int run_receiver(const options &wanted, channel &peer, const fields &hello);

} // namespace ufx::tools::failover

#endif

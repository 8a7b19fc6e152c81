// SPDX-License-Identifier: BSD-3-Clause
// What the two ends of a measurement do with their ports.
#ifndef UFX_TOOLS_PERFTEST_MEASURE_H
#define UFX_TOOLS_PERFTEST_MEASURE_H

#include "tools/common/channel.h"
#include "tools/perftest/port.h"

namespace ufx::tools::perftest {

/** The end that measures. @param peer NULL: both ends are this port */
void measure(const options &wanted, port &mine, channel *peer);

/** The end that answers, until the other one is done. */
void answer(const options &wanted, port &mine, channel &peer);

/** The next message of the peer, which must be of this type; progresses meanwhile. */
fields expect(port &mine, channel &peer, frame_type type, int timeout_ms);

/** Throws if a port saw wrong data. */
void judge(const options &wanted, port &mine);

} // namespace ufx::tools::perftest

#endif

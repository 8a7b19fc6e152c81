// SPDX-License-Identifier: BSD-3-Clause
// What `ufx_perftest failover` was asked to do.
#ifndef UFX_TOOLS_FAILOVER_OPTIONS_H
#define UFX_TOOLS_FAILOVER_OPTIONS_H

#include "tools/failover/schedule.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ufx::tools::failover {

/** Deliberate damage in the sender's own path, to see that the report shows it. */
enum class tamper { NONE, DUPLICATE, LOSE, CORRUPT };

/** "dup", "lose", "corrupt", or "" for none */
const char *tamper_name(tamper how);

/** How a chunk travels. */
enum class chunk_kind : uint32_t {
    AM = 0,  ///< an active message with the payload
    PUT = 1, ///< a put into the receiver's landing zone, then an active message that announces it
    LIST = 2 ///< put_list with a notification
};

/** Which network the two sides run in. */
enum class network { AUTO, NAMESPACES, HERE };

struct options {
    std::string host; ///< empty: no peer was named
    uint16_t port = 13338;
    std::string input, output, json, plot, log;
    std::string devices;
    network net = network::AUTO;
    std::string netns_prefix; ///< names of the namespaces are PREFIX-a and PREFIX-b
    std::string
        rate; ///< of each rail in namespaces, for tc; "none": no limit; empty: 1gbit if it can be
    std::vector<fault> faults;
    double seconds = 0;
    uint32_t chunk = 64 * 1024;
    uint32_t window = 256; ///< chunks in flight
    std::vector<chunk_kind> mix;
    tamper broken = tamper::NONE;
    bool quiet = false;
    int channel_fd = -1; ///< set in the child that a local run starts as its receiver
};

/** Parses the words after `failover`; --help prints and exits. Throws usage errors. */
options parse_options(int argc, char **argv);

} // namespace ufx::tools::failover

#endif

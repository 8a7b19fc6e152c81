// SPDX-License-Identifier: BSD-3-Clause
// What ufx_perftest was asked to measure.
#ifndef UFX_TOOLS_PERFTEST_OPTIONS_H
#define UFX_TOOLS_PERFTEST_OPTIONS_H

#include "tools/common/fields.h"

#include <cstdint>
#include <string>

namespace ufx::tools::perftest {

enum class api { UCT, UCP };
enum class operation { AM, PUT, GET, FADD, CSWAP };
enum class layout { AUTO, SHORT, BCOPY, ZCOPY };

/** How operations follow each other. */
enum class pattern {
    PING_PONG,  ///< each answers the other's; latency is half of a round trip
    ONE_BY_ONE, ///< the next when the last has completed; latency is the whole time
    STREAM      ///< as many as the window allows
};

struct test {
    const char *name;
    api layer;
    operation op;
    pattern how;
    const char *help;
};

/** NULL if there is no such test. */
const test *find_test(const std::string &name);

/** One line a test. */
std::string list_tests();

struct options {
    std::string host; ///< empty: server
    uint16_t port = 13337;
    const test *what = nullptr;    ///< the server learns it from the client
    std::string transport, device; ///< empty: to be chosen
    std::string near;              ///< interface that leads to the peer, as far as it is known
    uint64_t size = 8;
    uint64_t iterations = 0; ///< 0: by the test
    uint64_t warmup = 10000;
    uint32_t window = 0; ///< of each thread; 0: by the test
    uint32_t threads = 1;
    layout how = layout::AUTO;
    int cpu = -1;
    bool csv = false, final_only = false, thousands = false;
    bool loopback = false, validate = false;
    std::string json;
};

/** Parses the command line; --help and `-t list` print and exit. Throws usage errors. */
options parse_options(int argc, char **argv);

/** What the client tells the server, and back. */
void write_options(const options &from, fields &to);
void read_options(const fields &from, options &to);

} // namespace ufx::tools::perftest

#endif

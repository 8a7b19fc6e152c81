// SPDX-License-Identifier: BSD-3-Clause
// The command line of ufx_perftest.
#include "tools/perftest/options.h"

#include "tools/common/command_line.h"
#include "tools/common/error.h"
#include "tools/common/nearest.h"
#include "tools/common/units.h"

#include <algorithm>
#include <array>
#include <climits>
#include <cstdio>
#include <cstdlib>

namespace ufx::tools::perftest {

namespace {

constexpr std::array<test, 14> TESTS = {{
    {"am_lat", api::UCT, operation::AM, pattern::PING_PONG, "active message, latency"},
    {"am_bw", api::UCT, operation::AM, pattern::STREAM, "active message, bandwidth"},
    {"put_lat", api::UCT, operation::PUT, pattern::PING_PONG, "put, latency"},
    {"put_bw", api::UCT, operation::PUT, pattern::STREAM, "put, bandwidth"},
    {"get_lat", api::UCT, operation::GET, pattern::ONE_BY_ONE, "get, latency"},
    {"get_bw", api::UCT, operation::GET, pattern::STREAM, "get, bandwidth"},
    {"fadd", api::UCT, operation::FADD, pattern::STREAM, "atomic fetch-and-add, rate"},
    {"cswap", api::UCT, operation::CSWAP, pattern::STREAM, "atomic compare-and-swap, rate"},
    {"ucp_put_lat", api::UCP, operation::PUT, pattern::PING_PONG, "put, latency"},
    {"ucp_put_bw", api::UCP, operation::PUT, pattern::STREAM, "put, bandwidth"},
    {"ucp_get_bw", api::UCP, operation::GET, pattern::STREAM, "get, bandwidth"},
    {"ucp_am_lat", api::UCP, operation::AM, pattern::PING_PONG, "active message, latency"},
    {"ucp_am_bw", api::UCP, operation::AM, pattern::STREAM, "active message, bandwidth"},
    {"ucp_fadd", api::UCP, operation::FADD, pattern::STREAM, "atomic fetch-and-add, rate"},
}};

constexpr uint64_t SIZE_MAX_BYTES = uint64_t{1} << 30;
constexpr uint64_t LARGE = 64 * 1024; // from here on fewer iterations do
constexpr uint64_t MANY = 100000, FEW = 1000;
constexpr uint32_t STREAM_WINDOW = 32;
constexpr uint32_t WINDOW_MAX = 65536;
constexpr uint32_t THREADS_MAX = 64;

constexpr const char *FOOTER = R"(
Start `ufx_perftest` on one host, it waits for one client; then `ufx_perftest HOST -t TEST` on the
other. The server needs no other option: it takes the client's transport, and devices that reach
the client's. `ufx_perftest failover --help` tells of the test that breaks rails while a file crosses.

  ufx_perftest                                        server; of options it takes -p -d -x -c
  ufx_perftest localhost -t am_lat -x tcp -d lo       one transport on one device (uct)
  ufx_perftest localhost -t ucp_put_bw -s 1M -d lo    endpoints over rails (ucp)
  ufx_perftest -l -t put_lat -x self -s 64            both ends in this process

Columns: latency is half a round trip for ping-pong tests, else the time of one operation (with
several in flight: their total time by their number). "average" is since the last line, "overall"
since the start; MB are 2^20 bytes.)";

struct raw_words {
    std::string test, size = "8", layout;
};

void add_options(command_line &line, options &o, raw_words &raw)
{
    line.text("host", o.host, "where the server waits; none: be the server");
    line.text("-t,--test", raw.test, "what to measure; 'list' shows what there is", "TEST");
    line.text("-x,--transport", o.transport,
              "transport, for uct tests (the first that reaches the peer)", "NAME");
    line.list("-d,--dev", o.device,
              "of a uct test: a device (the one towards HOST); of a ucp test: rails, comma "
              "separated (UFX_NET_DEVICES, else all network devices but loopback)",
              "DEVICE");
    line.text("-s,--size", raw.size, "bytes of a message (8)", "SIZE");
    line.number("-n,--iterations", o.iterations, {1, UINT64_MAX},
                "how many (100000, large messages 1000)");
    line.number("-w,--warmup", o.warmup, {0, UINT64_MAX},
                "how many before the clock starts (10000)");
    line.number("-O,--outstanding", o.window, {1, WINDOW_MAX},
                "operations in flight (1, bandwidth tests 32)");
    line.number("-T,--threads", o.threads, {1, THREADS_MAX},
                "threads that share the work, for ucp bandwidth and atomic tests (1)");
    line.text("-D,--layout", raw.layout, "short, bcopy or zcopy (by size)", "LAYOUT");
    line.number("-p,--port", o.port, PORTS, "TCP port of the server (13337)");
    line.number("-c,--cpu", o.cpu, {0, INT_MAX}, "CPU to run on");
    line.flag("-l,--loopback", o.loopback,
              "both ends in this process, over -x self: uct tests, one thread, no host");
    line.flag("--validate", o.validate, "check the data that arrives");
    line.flag("-f,--final", o.final_only, "only the last line");
    line.flag("-v,--csv", o.csv, "comma separated values");
    line.flag("-N,--numeric", o.thousands, "thousands separators");
    line.text("--json", o.json, "write the result there too, '-' is stdout", "FILE");
    line.footer(FOOTER);
}

layout parse_layout(const std::string &word)
{
    if (word == "short") {
        return layout::SHORT;
    }
    if (word == "bcopy") {
        return layout::BCOPY;
    }
    if (word == "zcopy") {
        return layout::ZCOPY;
    }
    throw usage_error("-D: " + none_of(word, {"short", "bcopy", "zcopy"}));
}

void fill_defaults(options &o)
{
    const bool atomic = o.what->op == operation::FADD || o.what->op == operation::CSWAP;
    if (atomic && o.size != 8) {
        throw usage_error("-s: an atomic is of 8 bytes");
    }
    if (o.iterations == 0) {
        o.iterations = o.size < LARGE ? MANY : FEW;
    }
    if (o.size >= LARGE && o.warmup > o.iterations / 10) {
        o.warmup = o.iterations / 10;
    }
    if (o.window == 0) {
        o.window = o.what->how == pattern::STREAM && !atomic ? STREAM_WINDOW : 1;
    }
    if (o.what->how != pattern::STREAM) {
        o.window = 1;
    }
}

void validate(const options &o)
{
    if (o.size < 1 || o.size > SIZE_MAX_BYTES) {
        throw usage_error("-s: must be from 1 to 1G");
    }
    if (o.what == nullptr && (!o.host.empty() || o.loopback)) {
        throw usage_error("-t: say what to measure; there are\n" + list_tests());
    }
    if (o.threads > 1 &&
        (o.what == nullptr || o.what->layer != api::UCP || o.what->how != pattern::STREAM)) {
        throw usage_error("-T: is for the client of a ucp bandwidth or atomic test");
    }
    if (o.loopback && (!o.host.empty() || o.what->layer != api::UCT)) {
        throw usage_error("-l: is for uct tests, without a host");
    }
}

/** No option is taken that would do nothing. */
void check_role(const command_line &line, const options &o)
{
    const auto refuse = [&](const word_list &names, const std::string &why) {
        for (const std::string &name : names) {
            if (line.given(name)) {
                throw usage_error(name + ": " + why);
            }
        }
    };
    if (o.loopback) {
        refuse({"--port"}, "is for two processes: with -l both ends are in this one");
    } else if (o.host.empty()) {
        refuse({"--test", "--size", "--iterations", "--warmup", "--outstanding", "--threads",
                "--layout", "--validate", "--final", "--csv", "--numeric", "--json"},
               "is for the client, which names the host of its server; without a host this is the "
               "server, which does what its client asks for");
        return;
    }
    const bool is_uct = o.what->layer == api::UCT;
    if (!is_uct) {
        refuse({"--transport", "--layout"}, "is for uct tests; a ucp test takes rails by -d");
    } else if (o.what->op == operation::FADD || o.what->op == operation::CSWAP) {
        refuse({"--layout"}, "an atomic has none");
    }
    if (o.what->how != pattern::STREAM) {
        refuse({"--outstanding"}, "is for bandwidth and atomic tests: a latency test has one "
                                  "operation in flight");
    }
    if (o.csv) {
        refuse({"--numeric"}, "is not for the values of -v");
    }
}

/** Nobody measures a host of such a name without saying what. */
void refuse_misspelt_command(int argc, char **argv)
{
    const word_list words(argv + 1, argv + argc);
    const bool measures = std::any_of(words.begin(), words.end(), [](const std::string &word) {
        return word.rfind("-t", 0) == 0 || word.rfind("--test", 0) == 0;
    });
    if (!words.empty() && !measures && !nearest(words[0], {"failover"}).empty()) {
        throw usage_error("there is no command '" + words[0] + "'" +
                          did_you_mean(words[0], {"failover"}));
    }
}

word_list test_names()
{
    word_list names;
    for (const test &one : TESTS) {
        names.emplace_back(one.name);
    }
    return names;
}

} // namespace

const test *find_test(const std::string &name)
{
    for (const test &one : TESTS) {
        if (name == one.name) {
            return &one;
        }
    }
    return nullptr;
}

std::string list_tests()
{
    std::string text;
    for (const test &one : TESTS) {
        char line[96];
        std::snprintf(line, sizeof(line), "  %-12s %s, %s\n", one.name,
                      one.layer == api::UCT ? "uct" : "ucp", one.help);
        text += line;
    }
    return text;
}

options parse_options(int argc, char **argv)
{
    options o;
    raw_words raw;
    command_line line("ufx_perftest", "Measure latency and bandwidth of transports and endpoints.");
    add_options(line, o, raw);
    refuse_misspelt_command(argc, argv);
    line.parse(argc, argv);
    if (raw.test == "list") {
        std::fputs(list_tests().c_str(), stdout);
        throw finished();
    }
    if (!raw.test.empty()) {
        o.what = find_test(raw.test);
        if (o.what == nullptr) {
            const std::string guess = did_you_mean(raw.test, test_names());
            throw usage_error(
                "-t: there is no test '" + raw.test + "'" +
                (guess.empty() ? "; there are\n" + list_tests() : guess + " (-t list shows all)"));
        }
    }
    o.size = parse_size(raw.size, "-s");
    if (!raw.layout.empty()) {
        o.how = parse_layout(raw.layout);
    }
    validate(o);
    check_role(line, o);
    if (o.what != nullptr) {
        fill_defaults(o);
    }
    return o;
}

void write_options(const options &from, fields &to)
{
    to.set("test", from.what->name);
    to.set("size", from.size);
    to.set("iterations", from.iterations);
    to.set("warmup", from.warmup);
    to.set("window", from.window);
    to.set("layout", static_cast<uint32_t>(from.how));
    to.set("validate", from.validate);
}

void read_options(const fields &from, options &to)
{
    to.what = find_test(from.text("test"));
    if (to.what == nullptr) {
        throw tool_error("the peer asks for a test that is not known here: " + from.text("test"));
    }
    to.size = from.number("size", SIZE_MAX_BYTES);
    to.iterations = from.number("iterations");
    to.warmup = from.number("warmup");
    to.window = static_cast<uint32_t>(from.number("window", WINDOW_MAX));
    to.how = static_cast<layout>(from.number("layout", 3));
    to.validate = from.flag("validate");
    if (to.size == 0 || to.window == 0) {
        throw tool_error("the peer asks for messages of no bytes");
    }
}

} // namespace ufx::tools::perftest

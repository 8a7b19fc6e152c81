// SPDX-License-Identifier: BSD-3-Clause
// The command line of `ufx_perftest failover`.
#include "tools/failover/options.h"

#include "tools/common/command_line.h"
#include "tools/common/error.h"
#include "tools/common/nearest.h"
#include "tools/common/units.h"
#include "tools/failover/plot.h"

#include <climits>
#include <map>
#include <sstream>
#include <sys/stat.h>
#include <utility>

namespace ufx::tools::failover {

namespace {

constexpr const char *FOOTER = R"(
A run sends FILE, again and again until the time is over, from one process to another over all
rails, while the schedule takes rails down and up; the receiver writes the file. At the end the
report says what was lost, doubled or corrupted (nothing may be), and how long it took to notice
and to go on.

  ufx_perftest failover --input big.iso --output copy.iso --fault 1s:down:rail1,4s:up:rail1
      both sides here: as root in two network namespaces joined by two veth pairs, which are made
      for the run; else over lo:127.0.0.1 and lo:127.0.0.2
  ufx_perftest failover --output copy.iso                  on the receiving host, then
  ufx_perftest failover --input big.iso -d eth0,eth1 HOST  on the sending one; without -d over every
      network device but loopback; the receiver takes its devices in the same subnets

Faults: TIME:ACTION:RAIL, comma separated
  down, up      ip link set RAIL down, up; without namespaces: the rail's sockets break and new ones
                are refused, in both processes
  del           ip link del RAIL: for ever (namespaces only)
  oneway, heal  data arrives, nothing comes back: a wrong neighbour at the receiver (namespaces only)
  silent        the link goes down, and nobody is told (software ConnectX only)
  reset         what was deleted is there again (software ConnectX only)
  Under `ufx_swhca run`, with -d mlx5_0:1,mlx5_1:1, they are made by `ufx_swhca ctl`: port-down,
  port-up, device-fatal, device-reset, drop responses, clear.
  RAIL is rail0, rail1, ... in the order of the devices, or a device name.

Exit status: 0 nothing was lost, doubled or corrupted, and every fault hit and was survived;
1 something was; 2 what was given is wrong: option, value, file, device; 3 the machine, the network
or the peer stopped it; 4 inconclusive: nothing was, but no fault led to a failover.)";

constexpr const char *FORMS =
    "  ufx_perftest failover --input FILE --output COPY    both sides here\n"
    "  ufx_perftest failover --output COPY                 receive on this host, and then\n"
    "  ufx_perftest failover --input FILE HOST             send from another one\n";

constexpr double SECONDS_MAX = 86400;
constexpr uint64_t IN_FLIGHT_MAX = uint64_t{1} << 29; // bytes; each side keeps as many

struct raw_words {
    std::string fault, chunk = "64k", broken, netns = "auto", mix = "put,am,list";
};

void add_options(command_line &line, options &o, raw_words &raw)
{
    line.text("host", o.host, "where `ufx_perftest failover` waits; none: both sides here");
    line.text("--input", o.input, "file to send", "FILE");
    line.text("--output", o.output, "where the receiver writes it", "FILE");
    line.text("--fault", raw.fault, "what happens to rails, and when", "SCHEDULE");
    line.seconds("--seconds", o.seconds, SECONDS_MAX,
                 "how long (default: 3 s after the last fault, or 5)");
    line.text("--json", o.json, "write the report there too, '-' is stdout", "FILE");
    line.text("--plot", o.plot, "draw throughput over time: FILE.png or FILE.svg", "FILE");
    line.text("--log", o.log, "write a line a chunk that arrived", "FILE");
    line.text("--break", raw.broken, "tamper with what is sent: dup, lose or corrupt", "HOW");
    line.list("-d,--dev", o.devices, "rails, comma separated, as interface[:address]", "LIST");
    line.number("-p,--port", o.port, PORTS, "port of the receiver (13338)");
    line.text("--netns", raw.netns,
              "auto, yes, no, or the prefix of the namespaces' names (PREFIX-a sends)", "HOW");
    line.text("--rate", o.rate, "limit of each rail in namespaces, as tc takes it (1gbit), or none",
              "RATE");
    line.text("-s,--chunk", raw.chunk, "bytes of a chunk (64k)", "SIZE");
    line.number("-O,--outstanding", o.window, {1, 4096}, "chunks in flight (256)");
    line.text("--mix", raw.mix, "how chunks travel, in turn (put,am,list)", "LIST");
    line.flag("-q,--quiet", o.quiet, "no running commentary");
    line.number("--channel-fd", o.channel_fd, {0, INT_MAX}, "");
    line.footer(FOOTER);
}

std::vector<chunk_kind> parse_mix(const std::string &text)
{
    const std::map<std::string, chunk_kind> names = {
        {"am", chunk_kind::AM}, {"put", chunk_kind::PUT}, {"list", chunk_kind::LIST}};
    std::vector<chunk_kind> mix;
    std::istringstream words(text);
    for (std::string word; std::getline(words, word, ',');) {
        const auto found = names.find(word);
        if (found == names.end()) {
            throw usage_error("--mix: " + none_of(word, {"put", "am", "list"}));
        }
        mix.push_back(found->second);
    }
    if (mix.empty()) {
        throw usage_error("--mix: is empty");
    }
    return mix;
}

tamper parse_tamper(const std::string &word)
{
    word_list known;
    for (const tamper how : {tamper::NONE, tamper::DUPLICATE, tamper::LOSE, tamper::CORRUPT}) {
        if (word == tamper_name(how)) {
            return how;
        }
        if (how != tamper::NONE) {
            known.emplace_back(tamper_name(how));
        }
    }
    throw usage_error("--break: " + none_of(word, known));
}

void choose_network(options &o, const std::string &word)
{
    if (word == "auto") {
        o.net = network::AUTO;
    } else if (word == "no") {
        o.net = network::HERE;
    } else {
        o.net = network::NAMESPACES;
        o.netns_prefix = word == "yes" ? "" : word;
    }
    if (word.find_first_of("/ ") != std::string::npos || word.empty()) {
        throw usage_error("--netns: '" + word + "' cannot be part of a name");
    }
}

void choose_seconds(options &o, bool given)
{
    const double last = o.faults.empty() ? 0 : static_cast<double>(o.faults.back().at_ns) / 1e9;
    if (!given) {
        o.seconds = o.faults.empty() ? 5 : last + 3;
    }
    if (!o.faults.empty() && last >= o.seconds) {
        std::ostringstream text; // as short as they were given
        text << "--fault: the last fault is at " << last << " s, the run ends after " << o.seconds
             << " s";
        throw usage_error(text.str());
    }
}

/** The same file, by whatever names; files that do not exist yet are told apart by name only. */
bool is_same_file(const std::string &a, const std::string &b)
{
    struct stat of_a = {}, of_b = {};
    const bool both =
        ::stat(a.c_str(), &of_a) == 0 && ::stat(b.c_str(), &of_b) == 0 && S_ISREG(of_a.st_mode);
    return a == b || (both && of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino);
}

/** No file is named twice: what is written later would replace what was written before. */
void check_files(const options &o)
{
    const std::pair<const char *, const std::string &> files[] = {{"--input", o.input},
                                                                  {"--output", o.output},
                                                                  {"--json", o.json},
                                                                  {"--plot", o.plot},
                                                                  {"--log", o.log}};
    for (const auto &one : files) {
        for (const auto &other : files) {
            if (&one < &other && !one.second.empty() && is_same_file(one.second, other.second)) {
                throw usage_error(std::string(other.first) + ": is the file of " + one.first);
            }
        }
    }
}

/** Each end takes what is its own business; what the other one must be told is not ignored. */
void check_role(const command_line &line, const options &o)
{
    const bool sends = !o.input.empty() || !o.host.empty();
    if (!sends && o.output.empty()) {
        throw usage_error(std::string("say what to do:\n") + FORMS + "(try --help)");
    }
    if (o.input.empty() && sends) {
        throw usage_error("--input: the file to send is missing");
    }
    if (sends && o.host.empty() && o.output.empty()) {
        throw usage_error("--output: is missing (or name the host that receives)");
    }
    const word_list of_receiver = {"--output", "--log"};
    const word_list of_sender = {"--fault",       "--seconds", "--json", "--plot",
                                 "--break",       "--netns",   "--rate", "--chunk",
                                 "--outstanding", "--mix",     "--quiet"};
    const word_list of_one_host = {"--netns", "--rate"};
    const word_list of_two_hosts = {"--port"};
    const auto refuse = [&](const word_list &names, const std::string &why) {
        for (const std::string &name : names) {
            if (line.given(name)) {
                throw usage_error(name + ": " + why);
            }
        }
    };
    if (!sends) {
        refuse(of_sender, "is for the sender, which has --input (try --help)");
    } else if (!o.host.empty()) {
        refuse(of_receiver, "is for the receiver: give it to `ufx_perftest failover --output FILE` "
                            "on " +
                                o.host);
        refuse(of_one_host, "is for a run with both sides here, without a host");
    } else {
        refuse(of_two_hosts, "is for two hosts: both sides are here, and need none");
    }
    if (o.net == network::NAMESPACES) {
        refuse({"--dev"}, "is not for a run in network namespaces, which has rail0 and rail1");
    }
}

void validate(const options &o)
{
    if (!o.rate.empty() && o.rate != "none") {
        static_cast<void>(parse_tc_rate(o.rate, "--rate"));
    }
    if (o.chunk < 256 || o.chunk > 64u << 20) {
        throw usage_error("--chunk: must be from 256 to 64M");
    }
    if (uint64_t{o.chunk} * o.window > IN_FLIGHT_MAX) {
        throw usage_error("--chunk: times --outstanding must be at most 512M");
    }
    if (o.channel_fd >= 0) {
        return;
    }
    check_files(o);
    if (!o.plot.empty()) {
        plot_terminal(o.plot);
    }
}

} // namespace

const char *tamper_name(tamper how)
{
    static constexpr const char *NAMES[] = {"", "dup", "lose", "corrupt"};
    return NAMES[static_cast<size_t>(how)];
}

options parse_options(int argc, char **argv)
{
    options o;
    raw_words raw;
    command_line line("ufx_perftest failover",
                      "Send a file over several rails while rails die: the proof of failover.");
    add_options(line, o, raw);
    line.parse(argc, argv);
    o.chunk =
        static_cast<uint32_t>(std::min<uint64_t>(parse_size(raw.chunk, "--chunk"), UINT32_MAX));
    o.mix = parse_mix(raw.mix);
    o.broken = parse_tamper(raw.broken);
    choose_network(o, raw.netns);
    if (!raw.fault.empty()) {
        o.faults = parse_schedule(raw.fault);
    }
    if (o.channel_fd < 0) {
        check_role(line, o);
    }
    choose_seconds(o, line.given("--seconds"));
    validate(o);
    return o;
}

} // namespace ufx::tools::failover

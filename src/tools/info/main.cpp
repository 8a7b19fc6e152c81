// SPDX-License-Identifier: BSD-3-Clause
// ufx_info: what UFX finds on this machine, its settings, and a look into live processes.
#include "tools/common/command_line.h"
#include "tools/common/error.h"
#include "tools/common/nearest.h"
#include "tools/common/ucp_session.h"
#include "tools/info/listing.h"
#include "tools/info/live.h"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <ufx/ucp.h>
#include <ufx/ucs.h>

namespace ufx::tools::info {

namespace {

constexpr const char *FOOTER = R"(
  ufx_info -d                     transports and devices
  ufx_info -d -v                  and what each can do
  ufx_info -c                     settings as NAME=value, in a form that ufx.conf takes
  ufx_info -f                     the same with what each means, its range and its default
  ufx_info -C                     opens a context and a worker on all rails, and shows them
  ufx_info --ep-dump              processes that may be looked into
  ufx_info --ep-dump PID          rails, endpoints, lanes and the last transitions of one
  ufx_info --rail eth1 drain PID  takes a rail of a live process out of service; resume puts it back

A process can be looked into if it runs with UFX_DEBUG_SOCKET=y, by its user and by root.)";

struct options {
    bool details = false, devices = false, config = false, full = false, context = false;
    bool json = false;
    bool dump = false;
    std::string dump_pid, rail, rails;
    std::vector<std::string> words; ///< after --rail NAME: drain or resume, and the process
    std::string folder;
};

std::string where_it_is()
{
    return std::string("headers       ") + UFX_VERSION_STRING + "\nuct abi       " +
           std::to_string(UFX_UCT_ABI_VERSION) + "\nlibraries     " + UFX_LIBDIR +
           "\nconfiguration " + UFX_SYSCONFDIR + "/ufx.conf\n";
}

std::string system_listing()
{
    char *text = nullptr;
    check(ufx_ucp_system_dump(UFX_UCP_DUMP_JSON, &text), "cannot list the devices");
    std::string copy = text;
    ufx_ucp_dump_release(text);
    return copy;
}

void print_devices(bool details, bool json)
{
    const nlohmann::ordered_json system = parse_listing(system_listing());
    if (!details && !json) {
        std::fputs(device_table(system).c_str(), stdout);
        std::puts("\nWith -v all that each can do.");
        return;
    }
    print_listing(system, json);
}

void print_config(bool full)
{
    check(ufx_ucp_config_declare(), "cannot list the settings");
    // Transports read their settings when they are opened, and refuse then what they cannot use.
    static_cast<void>(system_listing());
    static_cast<void>(ufx_ucs_log_get_level()); // reads its own
    static_cast<void>(ufx_ucs_config_check_unknown());
    ufx_ucs_config_print(stdout, full ? UFX_UCS_CONFIG_PRINT_HELP : 0);
}

void print_context(const std::string &rails, bool json)
{
    const ucp_session session(rails, "ufx_info");
    char *text = nullptr;
    check(
        ufx_ucp_worker_dump(session.worker(), json ? UFX_UCP_DUMP_JSON : UFX_UCP_DUMP_TEXT, &text),
        "cannot show the worker");
    std::fputs(text, stdout);
    ufx_ucp_dump_release(text);
}

void check_request(const options &o)
{
    if (o.rail.empty() && !o.words.empty()) {
        throw usage_error(
            "'" + o.words[0] + "' is no option" +
            did_you_mean("--" + o.words[0], {"--devices", "--config", "--full", "--context",
                                             "--ep-dump", "--rail", "--version"}) +
            " (try --help)");
    }
    const int listings = o.devices + o.context + o.dump;
    const bool others = o.config || o.full || !o.rail.empty();
    if (listings == 0 && !others && !o.details) {
        throw usage_error("say what to show, by -d, -c, -f, -C, --ep-dump, --rail or -V "
                          "(try --help)");
    }
    if (o.json && (listings != 1 || others)) {
        throw usage_error("--json: is for one of -d, -C and --ep-dump");
    }
    if (o.details && !o.devices && (listings != 0 || others)) {
        throw usage_error("-v: is for -d, or alone");
    }
    if (!o.rails.empty() && !o.context) {
        throw usage_error("--dev: is for -C");
    }
    if (!o.folder.empty() && !o.dump && o.rail.empty()) {
        throw usage_error("--socket-dir: is for --ep-dump and --rail");
    }
}

options parse(int argc, char **argv)
{
    options o;
    command_line line("ufx_info", "Show what UFX finds, its settings, and live processes.");
    line.version_details(where_it_is());
    line.flag("-d,--devices", o.devices, "transports and devices");
    line.flag("-v,--verbose", o.details, "with -d: all that each can do; alone: as -V");
    line.flag("-c,--config", o.config, "settings and their values");
    line.flag("-f,--full", o.full, "settings with their meaning");
    line.flag("-C,--context", o.context, "a context and a worker as they would be");
    line.list("--dev", o.rails, "for -C: rails, comma separated", "LIST");
    line.optional_text("--ep-dump", o.dump_pid, o.dump, "state of a live process", "PID");
    line.text("--rail", o.rail, "a rail of a live process: then drain or resume, and its PID",
              "NAME");
    line.flag("--json", o.json, "for programs (-d, -C, --ep-dump)");
    line.text("--socket-dir", o.folder, "where the sockets are, if UFX_DEBUG_SOCKET names a folder",
              "DIR");
    line.texts("words", o.words, "");
    line.footer(FOOTER);
    line.parse(argc, argv);
    check_request(o);
    return o;
}

int run(int argc, char **argv)
{
    const options o = parse(argc, argv);
    if (o.devices) {
        print_devices(o.details, o.json);
    } else if (o.details) {
        std::printf("ufx_info %s\n%s", ufx_ucs_version_string(), where_it_is().c_str());
    }
    if (o.config || o.full) {
        print_config(o.full);
    }
    if (o.context) {
        print_context(o.rails, o.json);
    }
    if (o.dump) {
        dump_process(o.folder, o.dump_pid, o.json);
    }
    if (!o.rail.empty()) {
        change_rail(o.folder, o.rail, o.words);
    }
    return EXIT_FINE;
}

} // namespace

} // namespace ufx::tools::info

int main(int argc, char **argv)
{
    return ufx::tools::guarded_main("ufx_info", ufx::tools::info::run, argc, argv);
}

// SPDX-License-Identifier: BSD-3-Clause
// ufx_info: what UFX finds on this machine, its settings, and a look into live processes.
#include "tools/common/command_line.h"
#include "tools/common/error.h"
#include "tools/common/ucp_session.h"
#include "tools/info/live.h"

#include <cstdio>
#include <string>
#include <ufx/ucp.h>
#include <ufx/ucs.h>

namespace ufx::tools::info {

namespace {

constexpr const char *FOOTER = R"(
  ufx_info -d                     transports, devices and what they can do
  ufx_info -c                     settings as NAME=value, in a form that ufx.conf takes
  ufx_info -f                     the same with what each means, its range and its default
  ufx_info -C                     opens a context and a worker on all rails, and shows them
  ufx_info --ep-dump              processes that may be looked into
  ufx_info --ep-dump PID          rails, endpoints, lanes and the last transitions of one
  ufx_info --rail eth1 drain PID  takes a rail of a live process out of service; resume puts it back

A process can be looked into if it runs with UFX_DEBUG_SOCKET=y, by its user and by root.)";

struct options {
    bool version = false, devices = false, config = false, full = false, context = false;
    bool json = false;
    bool dump = false;
    std::string dump_pid, rail, rails;
    std::vector<std::string> words; ///< after --rail NAME: drain or resume, and the process
    std::string folder;
};

void print_version()
{
    std::printf("UFX %s\nheaders      %s\nuct abi      %u\nlibraries    %s\nconfiguration %s\n",
                ufx_ucs_version_string(), UFX_VERSION_STRING, UFX_UCT_ABI_VERSION, UFX_LIBDIR,
                UFX_SYSCONFDIR "/ufx.conf");
}

void print_devices(bool json)
{
    char *text = nullptr;
    check(ufx_ucp_system_dump(json ? UFX_UCP_DUMP_JSON : UFX_UCP_DUMP_TEXT, &text),
          "cannot list the devices");
    std::fputs(text, stdout);
    ufx_ucp_dump_release(text);
}

void print_config(bool full)
{
    check(ufx_ucp_config_declare(), "cannot list the settings");
    // Transports read their settings when they are opened, and refuse then what they cannot use.
    char *devices = nullptr;
    check(ufx_ucp_system_dump(UFX_UCP_DUMP_TEXT, &devices), "cannot list the devices");
    ufx_ucp_dump_release(devices);
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

options parse(int argc, char **argv)
{
    options o;
    command_line line("ufx_info", "Show what UFX finds, its settings, and live processes.");
    line.flag("-v,--version", o.version, "version and where it is installed");
    line.flag("-d,--devices", o.devices, "transports, devices, capabilities");
    line.flag("-c,--config", o.config, "settings and their values");
    line.flag("-f,--full", o.full, "settings with their meaning");
    line.flag("-C,--context", o.context, "a context and a worker as they would be");
    line.text("--dev", o.rails, "for -C: rails, comma separated", "LIST");
    line.optional_text("--ep-dump", o.dump_pid, o.dump, "state of a live process");
    line.text("--rail", o.rail, "a rail of a live process: then drain or resume, and its PID",
              "NAME");
    line.flag("--json", o.json, "for programs (-d, -C, --ep-dump)");
    line.text("--socket-dir", o.folder, "where the sockets are, if UFX_DEBUG_SOCKET names a folder",
              "DIR");
    line.texts("words", o.words, "");
    line.footer(FOOTER);
    line.parse(argc, argv);
    if (!(o.version || o.devices || o.config || o.full || o.context || o.dump || !o.rail.empty())) {
        throw usage_error("say what to show, by -v, -d, -c, -f, -C, --ep-dump or --rail "
                          "(try --help)");
    }
    if (o.rail.empty() && !o.words.empty()) {
        throw usage_error("'" + o.words[0] + "' is no option (try --help)");
    }
    return o;
}

int run(int argc, char **argv)
{
    const options o = parse(argc, argv);
    if (o.version) {
        print_version();
    }
    if (o.devices) {
        print_devices(o.json);
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

// SPDX-License-Identifier: BSD-3-Clause
// ufx_swhca: starts programs on a software ConnectX, injects faults, and shows what is there.
#include "control.h"
#include "failure.h"
#include "run.h"
#include "show.h"

#include "ucs/config_parse.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <iostream>
#include <sstream>
#include <string>
#include <ufx/version.h>
#include <utility>
#include <vector>

namespace {

namespace tool = ufx::swhca::tool;

struct arguments {
    tool::run_options run;
    std::string rate;
    std::string latency;
    std::string link_layer = "eth";
    std::string directory; // of ctl and show
    std::string schedule;
    std::vector<std::string> rules;
    bool json = false;
};

CLI::Validator with_unit(const char *name, bool (*parse)(std::string_view, int64_t &) noexcept)
{
    return CLI::Validator(
        [parse](const std::string &text) {
            int64_t ignored = 0;
            return parse(text, ignored) ? std::string() : "'" + text + "' is no value with a unit";
        },
        name);
}

CLI::Validator not_empty()
{
    return CLI::Validator(
        [](const std::string &text) {
            return text.empty() ? std::string("an empty name") : std::string();
        },
        "DIR");
}

constexpr const char *rule_help =
    "A rule: [at T] [every T] [until T] [hca N] [qpn N] ACTION [PARAM] [to STATE]\n"
    "        [requests|responses] [skip N] [count N] [probability P] [silent]\n"
    "Times are such as 5us, 10ms, 2s. ERRNO is a number or a name such as ENOMEM; SYNDROME is a\n"
    "number of the hardware, 1 to 255, or a status such as RETRY_EXC_ERR. ufx_swhca(1) lists the "
    "actions.\n";

constexpr const char *run_examples =
    "The program and its arguments stand behind '--'.\n\nExamples:\n"
    "  ufx_swhca run --hca 2 -- ibv_devinfo\n"
    "  ufx_swhca run --dir /dev/shm/lab -- ibv_rc_pingpong -g 1 &\n"
    "  ufx_swhca run --dir /dev/shm/lab -- ibv_rc_pingpong -g 1 127.0.0.1\n";

constexpr const char *ctl_examples =
    "\nExamples:\n"
    "  ufx_swhca ctl --dir /dev/shm/lab port-down 'at 100ms port-up'\n"
    "  ufx_swhca ctl --dir /dev/shm/lab 'drop requests hca mlx5_1 probability 0.01'\n"
    "  ufx_swhca ctl --dir /dev/shm/lab 'error-cqe RETRY_EXC_ERR count 1' 'fail-reg-mr ENOMEM'\n"
    "  ufx_swhca ctl --dir /dev/shm/lab clear\n";

CLI::App *add_run(CLI::App &app, arguments &to)
{
    CLI::App *run = app.add_subcommand("run", "run a program on the devices of a fabric");
    ufx::swhca::fabric_options &fabric = to.run.fabric;
    run->add_option("--dir", to.run.directory, "directory of the fabric, made if it is not there")
        ->check(not_empty());
    run->add_option("--hca", fabric.hcas, "devices of a new fabric")->check(CLI::Range(1, 8));
    run->add_option("--rate", to.rate, "payload of each port, such as 10Gb/s")
        ->check(with_unit("RATE", ufx::ucs::parse_rate));
    run->add_option("--latency", to.latency, "of each packet, such as 2us")
        ->check(with_unit("TIME", ufx::ucs::parse_time));
    run->add_option("--mtu", fabric.mtu_bytes, "of each port")
        ->check(CLI::IsMember({256, 512, 1024, 2048, 4096}));
    run->add_option("--link-layer", to.link_layer, "eth or ib")
        ->check(CLI::IsMember({"eth", "ib"}));
    run->add_option("--seed", fabric.seed, "of faults with a probability");
    run->add_option("--faults", to.run.faults, "schedule file")->check(not_empty());
    run->add_option("--engine", to.run.engine,
                    "who runs the devices: trap, hook, thread, or step: the program itself")
        ->check(CLI::IsMember({"trap", "hook", "thread", "step"}));
    run->prefix_command(); // the words of the program are not ours to read
    run->footer(run_examples);
    return run;
}

CLI::App *add_ctl(CLI::App &app, arguments &to)
{
    CLI::App *ctl = app.add_subcommand("ctl", "inject faults");
    ctl->add_option("--dir", to.directory, "directory of the fabric")
        ->required()
        ->check(not_empty());
    ctl->add_option("--faults", to.schedule, "schedule file")->check(not_empty());
    ctl->add_option("rule", to.rules, "rules, each one argument, or 'clear'; '-': from stdin, a line each, answered by a line");
    ctl->footer(std::string(rule_help) + ctl_examples);
    return ctl;
}

CLI::App *add_show(CLI::App &app, arguments &to)
{
    CLI::App *show = app.add_subcommand("show", "print devices, QPs and counters");
    show->add_option("--dir", to.directory, "directory of the fabric")
        ->required()
        ->check(not_empty());
    show->add_flag("--json", to.json, "as JSON");
    return show;
}

// The program's words: those behind "--", else from the first that is not ours to read. `rest`
// starts with the "--", if there is one.
std::vector<std::string> words_of_command(const CLI::App &run, std::vector<std::string> rest)
{
    std::vector<std::string> words = run.remaining();
    if (!words.empty() && words.front().starts_with('-')) {
        throw CLI::ExtrasError("run", {words.front()});
    }
    if (words.empty() && !rest.empty()) {
        rest.erase(rest.begin());
    }
    words.insert(words.end(), rest.begin(), rest.end());
    if (words.empty()) {
        throw CLI::RequiredError("a program (ufx_swhca run [OPTIONS] -- command...)");
    }
    return words;
}

int run_program(arguments &with)
{
    if (!with.rate.empty()) {
        int64_t rate = 0;
        (void)ufx::ucs::parse_rate(with.rate, rate);
        with.run.fabric.rate_bps = static_cast<uint64_t>(rate);
    }
    if (!with.latency.empty()) {
        int64_t latency = 0;
        (void)ufx::ucs::parse_time(with.latency, latency);
        with.run.fabric.latency_ns = static_cast<uint64_t>(latency);
    }
    with.run.fabric.infiniband = with.link_layer == "ib";
    with.run.fabric.stepped = with.run.engine == "step";
    return tool::run(with.run);
}

// A rule, or `clear`, a line, each answered by a line when it is in effect.
int inject_lines(tool::fabric_directory &where)
{
    for (std::string line; std::getline(std::cin, line);) {
        std::string answer = "ok";
        try {
            if (line == "clear") {
                tool::clear(where);
            } else {
                tool::add_rules(where, tool::read_rules({line}));
            }
        } catch (const tool::failure &why) {
            answer = std::string("error: ") + why.what();
        }
        if (std::puts(answer.c_str()) < 0 || std::fflush(stdout) != 0) {
            return tool::fabric_status; // nobody listens
        }
    }
    return 0;
}

int inject(arguments &with)
{
    if (with.schedule.empty() && with.rules.empty()) {
        throw tool::failure(tool::usage_status, "ctl needs a rule or --faults");
    }
    if (with.schedule.empty() && with.rules == std::vector<std::string>{"-"}) {
        tool::fabric_directory where = tool::fabric_directory::look_at(with.directory);
        return inject_lines(where);
    }
    bool clears = with.rules.size() == 1 && with.rules.front() == "clear";
    std::vector<tool::located_rule> rules;
    if (!with.schedule.empty()) {
        rules = tool::read_schedule(with.schedule);
    }
    if (!clears) {
        for (tool::located_rule &each : tool::read_rules(with.rules)) {
            rules.push_back(std::move(each));
        }
    }
    tool::fabric_directory where = tool::fabric_directory::look_at(with.directory);
    if (clears) {
        tool::clear(where);
    }
    tool::add_rules(where, rules);
    return 0;
}

// What is opened later must not get the number of a stream that was closed, and its output.
void keep_standard_streams()
{
    for (int number = 0; number < 3; ++number) {
        if (::fcntl(number, F_GETFD) < 0) {
            // For reading only, so that writing to it fails. The lowest free number is this one.
            (void)::open("/dev/null", O_RDONLY);
        }
    }
}

// 0, unless what was printed did not all go out.
int after_output()
{
    const int error = std::fflush(stdout) != 0 ? errno : 0;
    if (error == 0 && std::ferror(stdout) == 0) {
        return 0;
    }
    std::fprintf(stderr, "ufx_swhca: cannot write to stdout: %s\n",
                 error != 0 ? std::strerror(error) : "a part is missing");
    return tool::fabric_status;
}

} // namespace

int main(int argc, char **argv)
{
    keep_standard_streams();
    CLI::App app("A ConnectX in software");
    app.require_subcommand(1);
    app.set_version_flag("-V,--version", "ufx_swhca " UFX_VERSION_STRING);
    app.footer("`ufx_swhca COMMAND --help` tells more, with examples; docs: man ufx_swhca.");
    arguments given;
    CLI::App *run = add_run(app, given);
    CLI::App *ctl = add_ctl(app, given);
    CLI::App *show = add_show(app, given);
    try {
        // CLI11 would read brackets in words behind "--" as a list.
        char **split = std::find_if(argv, argv + argc,
                                    [](const char *word) { return std::strcmp(word, "--") == 0; });
        app.parse(static_cast<int>(split - argv), argv);
        if (run->parsed()) {
            given.run.command = words_of_command(*run, {split, argv + argc});
            for (const std::string &word : std::vector<std::string>{argv + 1, split}) {
                given.run.launcher += word + " ";
            }
            given.run.launcher = "ufx_swhca " + given.run.launcher + "-- ";
        }
    } catch (const CLI::Success &asked) { // for help, or for the version
        std::ostringstream text;
        (void)app.exit(asked, text, text);
        std::fputs(text.str().c_str(), stdout);
        return after_output();
    } catch (const CLI::ParseError &error) {
        std::fprintf(stderr, "ufx_swhca: %s\n", error.what());
        return tool::usage_status;
    }
    try {
        if (run->parsed()) {
            return run_program(given);
        }
        if (ctl->parsed()) {
            return inject(given);
        }
        if (show->parsed()) {
            tool::fabric_directory where = tool::fabric_directory::look_at(given.directory);
            std::fputs(tool::show(where, given.json).c_str(), stdout);
        }
        return after_output();
    } catch (const tool::failure &why) {
        std::fprintf(stderr, "ufx_swhca: %s\n", why.what());
        return why.status();
    } catch (const std::exception &error) {
        std::fprintf(stderr, "ufx_swhca: %s\n", error.what());
        return tool::fabric_status;
    }
}

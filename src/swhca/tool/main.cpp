// SPDX-License-Identifier: BSD-3-Clause
// ufx_swhca: starts programs on a software ConnectX, injects faults, and shows what is there.
#include "control.h"
#include "run.h"
#include "show.h"

#include "ucs/config_parse.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

namespace tool = ufx::swhca::tool;

constexpr int usage_error = 2;
constexpr int run_error = 3;

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

CLI::App *add_run(CLI::App &app, arguments &to)
{
    CLI::App *run = app.add_subcommand("run", "run a program on the devices of a fabric");
    ufx::swhca::fabric_options &fabric = to.run.fabric;
    run->add_option("--dir", to.run.directory, "directory of the fabric, made if it is not there");
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
    run->add_option("--faults", to.run.faults, "schedule file");
    run->add_option("--engine", to.run.engine, "who runs the devices: trap, hook or thread")
        ->check(CLI::IsMember({"trap", "hook", "thread"}));
    run->prefix_command(); // the words of the program are not ours to read
    run->footer("The program and its arguments stand behind '--'.");
    return run;
}

CLI::App *add_ctl(CLI::App &app, arguments &to)
{
    CLI::App *ctl = app.add_subcommand("ctl", "inject faults");
    ctl->add_option("--dir", to.directory, "directory of the fabric")->required();
    ctl->add_option("--faults", to.schedule, "schedule file");
    ctl->add_option("rule", to.rules, "rules, each one argument, or 'clear'");
    return ctl;
}

CLI::App *add_show(CLI::App &app, arguments &to)
{
    CLI::App *show = app.add_subcommand("show", "print devices, QPs and counters");
    show->add_option("--dir", to.directory, "directory of the fabric")->required();
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
    return tool::run(with.run);
}

int inject(arguments &with)
{
    tool::fabric_directory where = tool::fabric_directory::look_at(with.directory);
    if (with.schedule.empty() && with.rules.empty()) {
        throw std::runtime_error("ctl needs a rule or --faults");
    }
    if (!with.schedule.empty()) {
        tool::add_rules(where, tool::read_schedule(with.schedule));
    }
    if (!with.rules.empty()) {
        tool::control(where, with.rules);
    }
    return 0;
}

} // namespace

int main(int argc, char **argv)
{
    CLI::App app("A ConnectX in software");
    app.require_subcommand(1);
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
        }
    } catch (const CLI::CallForHelp &help) {
        return app.exit(help);
    } catch (const CLI::ParseError &error) {
        std::fprintf(stderr, "ufx_swhca: %s\n", error.what());
        return usage_error;
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
        return 0;
    } catch (const std::exception &error) {
        std::fprintf(stderr, "ufx_swhca: %s\n", error.what());
        return run_error;
    }
}

// SPDX-License-Identifier: BSD-3-Clause
// explore: runs the failover core through interleavings and says which promise one of them breaks.
#include "search.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>

namespace ufx::explore {

namespace {

struct options {
    limits bounds;
    std::string scenario;
    std::string replay;
    std::string unreached;
    std::string out;
    bool shortest = false;
};

constexpr const char *usage =
    "usage: explore [--scenario NAME] [--states N] [--walks N] [--length N] [--seed N] [--epochs "
    "N]\n"
    "               [--unreached FILE] [--out FILE] [--replay FILE] [--shortest]\n"
    "Explores every scenario (or one) breadth first up to N states and by N random walks, each "
    "run\n"
    "to its end. FILE of --unreached lists the (state, event) pairs that need not be reached.\n";

constexpr const char *rows =
    "checks X01 X02 X03 X04 X05 X07 X09 X10 X11 X13 X16 X17 X18 X19 X20 X22 X23 X24 X25 X26 "
    "(needing no\n"
    "clock, device or process; X06 is AM exactly once; see world_check.cpp)\n";

void write_trace(std::ostream &to, const scenario &plan, const finding &found)
{
    to << "# breaks: " << found.broken << "\n"
       << "scenario " << plan.name << "\n";
    for (const event &e : found.steps) {
        to << to_text(e) << "\n";
    }
}

int report(const options &how, const scenario &plan, const finding &found)
{
    const finding best = how.shortest ? found : shrink(plan, found);
    std::cout << "BROKEN in " << plan.name << " after " << best.steps.size()
              << " steps: " << best.broken << "\n";
    write_trace(std::cout, plan, best);
    if (!how.out.empty()) {
        std::ofstream file(how.out);
        write_trace(file, plan, best);
    }
    return 1;
}

int replay_file(const options &how)
{
    std::ifstream file(how.replay);
    std::string line;
    const scenario *plan = nullptr;
    trace steps;
    while (std::getline(file, line)) {
        std::istringstream words(line);
        std::string word;
        std::string name;
        words >> word >> name;
        if (word == "scenario") {
            plan = find_scenario(name);
        } else if (const auto e = from_text(line)) {
            steps.push_back(*e);
        }
    }
    if (plan == nullptr) {
        std::cerr << "explore: " << how.replay << " names no scenario that exists\n";
        return 2;
    }
    coverage seen;
    const finding found = replay(*plan, steps, seen);
    std::cout << how.replay << ": " << found.steps.size() << " of " << steps.size() << " steps, "
              << (found.broken.empty() ? "all promises hold" : found.broken) << "\n";
    return found.broken.empty() ? 0 : 1;
}

bool can_be_read(const std::string &path)
{
    std::ifstream file(path);
    return file.peek() != std::ifstream::traits_type::eof() || file.eof();
}

int check_unreached(const options &how, const coverage &seen)
{
    std::ifstream file(how.unreached); // run() has seen that it can be read
    std::vector<std::string> excused;
    std::vector<std::string> impossible;
    std::string line;
    while (std::getline(file, line)) {
        const auto reason = line.find(':');
        if (!line.empty() && line[0] != '#' && reason != std::string::npos) {
            excused.push_back(line.substr(0, reason));
            if (line.compare(reason, 6, ": rare") != 0) {
                impossible.push_back(excused.back());
            }
        }
    }
    const std::vector<std::string> unreached = seen.unreached();
    const auto has = [](const std::vector<std::string> &list, const std::string &pair) {
        return std::find(list.begin(), list.end(), pair) != list.end();
    };
    int bad = 0;
    for (const std::string &pair : unreached) {
        const bool known = has(excused, pair);
        std::cout << (known ? "unreached, with a reason: " : "UNREACHED: ") << pair << "\n";
        bad += known ? 0 : 1;
    }
    for (const std::string &pair : impossible) {
        if (!has(unreached, pair)) {
            std::cout << "REACHED, its reason is wrong: " << pair << "\n";
            ++bad;
        }
    }
    std::cout << seen.reached() << " (state, event) pairs reached\n";
    return bad == 0 || how.unreached.empty() ? 0 : 1;
}

int explore_all(const options &how)
{
    coverage seen;
    std::cout << rows;
    for (const scenario &plan : all_scenarios()) {
        if (!how.scenario.empty() && how.scenario != plan.name) {
            continue;
        }
        const auto start = std::chrono::steady_clock::now();
        tally sum;
        finding found;
        if (how.bounds.walks > 0) {
            found = random_walks(plan, how.bounds, seen, sum);
        }
        if (found.broken.empty() && how.bounds.states > 0) {
            found = breadth_first(plan, how.bounds, seen, sum);
        }
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
        std::cout << plan.name << ": " << sum.states << " states" << (sum.complete ? " (all)" : "")
                  << ", " << sum.steps << " steps, " << sum.settled << " runs to the end, "
                  << took.count() << " s" << std::endl;
        if (!found.broken.empty()) {
            return report(how, plan, found);
        }
    }
    return how.scenario.empty() ? check_unreached(how, seen) : 0;
}

bool parse(int argc, char **argv, options &how)
{
    for (int i = 1; i < argc; ++i) {
        const std::string name = argv[i];
        if (name == "--shortest") {
            how.shortest = true;
            how.bounds.walks = 0;
            continue;
        }
        if (i + 1 >= argc) {
            return false;
        }
        const char *value = argv[++i];
        if (name == "--scenario") {
            how.scenario = value;
        } else if (name == "--states") {
            how.bounds.states = std::strtoull(value, nullptr, 10);
        } else if (name == "--walks") {
            how.bounds.walks = std::strtoull(value, nullptr, 10);
        } else if (name == "--length") {
            how.bounds.walk_length = static_cast<unsigned>(std::strtoul(value, nullptr, 10));
        } else if (name == "--seed") {
            how.bounds.seed = std::strtoull(value, nullptr, 10);
        } else if (name == "--epochs") {
            how.bounds.epochs = static_cast<core::epoch_t>(std::strtoul(value, nullptr, 10));
        } else if (name == "--unreached") {
            how.unreached = value;
        } else if (name == "--out") {
            how.out = value;
        } else if (name == "--replay") {
            how.replay = value;
        } else {
            return false;
        }
    }
    return how.bounds.walk_length > 0;
}

int run(int argc, char **argv)
{
    options how;
    if (!parse(argc, argv, how)) {
        std::cerr << usage;
        return 2;
    }
    if (!how.scenario.empty() && find_scenario(how.scenario) == nullptr) {
        std::cerr << "explore: no scenario is called " << how.scenario << "\n";
        return 2;
    }
    if (!how.unreached.empty() && !can_be_read(how.unreached)) {
        std::cerr << "explore: cannot read " << how.unreached << " of --unreached\n";
        return 2;
    }
    return how.replay.empty() ? explore_all(how) : replay_file(how);
}

} // namespace

} // namespace ufx::explore

int main(int argc, char **argv)
{
    return ufx::explore::run(argc, argv);
}

// SPDX-License-Identifier: BSD-3-Clause
// Parser of fault schedules.
#include "tools/failover/schedule.h"

#include "tools/common/error.h"
#include "tools/common/nearest.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <set>

namespace ufx::tools::failover {

namespace {

struct action_name {
    fault_action action;
    const char *name;
};

constexpr std::array<action_name, 7> ACTIONS = {{{fault_action::DOWN, "down"},
                                                 {fault_action::UP, "up"},
                                                 {fault_action::DELETE, "del"},
                                                 {fault_action::RESET, "reset"},
                                                 {fault_action::ONEWAY, "oneway"},
                                                 {fault_action::HEAL, "heal"},
                                                 {fault_action::SILENT, "silent"}}};
constexpr double LONGEST_S = 3600;

std::vector<std::string> split(const std::string &text, char by)
{
    std::vector<std::string> parts;
    size_t begin = 0;
    for (size_t end = text.find(by); end != std::string::npos; end = text.find(by, begin)) {
        parts.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    parts.push_back(text.substr(begin));
    return parts;
}

uint64_t parse_time(const std::string &word, const std::string &entry)
{
    char *rest = nullptr;
    const double value = word.empty() ? NAN : std::strtod(word.c_str(), &rest);
    const bool number = rest != nullptr && rest != word.c_str();
    const std::string unit = number ? rest : "";
    const double seconds = unit == "ms" ? value / 1000 : value;
    if ((unit != "s" && unit != "ms") || !(seconds >= 0 && seconds <= LONGEST_S)) {
        throw usage_error("--fault: '" + word + "' in '" + entry +
                          "' is no time (write 1s, 1.5s or 250ms)");
    }
    return static_cast<uint64_t>(seconds * 1e9);
}

fault_action parse_action(const std::string &word, const std::string &entry)
{
    for (const action_name &known : ACTIONS) {
        if (word == known.name) {
            return known.action;
        }
    }
    word_list known;
    for (const action_name &one : ACTIONS) {
        known.emplace_back(one.name);
    }
    throw usage_error("--fault: in '" + entry + "' " + none_of(word, known));
}

} // namespace

const char *fault_action_name(fault_action action)
{
    return ACTIONS[static_cast<size_t>(action)].name;
}

bool breaks(fault_action action)
{
    return action != fault_action::UP && action != fault_action::HEAL &&
           action != fault_action::RESET;
}

std::vector<fault> parse_schedule(const std::string &text)
{
    std::vector<fault> faults;
    for (const std::string &entry : split(text, ',')) {
        const std::vector<std::string> words = split(entry, ':');
        if (words.size() < 3 || words[2].empty()) {
            throw usage_error("--fault: '" + entry +
                              "' is not TIME:ACTION:RAIL, as in 1s:down:rail1");
        }
        fault one;
        one.at_ns = parse_time(words[0], entry);
        one.action = parse_action(words[1], entry);
        // A device name may hold a colon itself: lo:127.0.0.2.
        one.rail = entry.substr(words[0].size() + words[1].size() + 2);
        faults.push_back(one);
    }
    std::stable_sort(faults.begin(), faults.end(),
                     [](const fault &a, const fault &b) { return a.at_ns < b.at_ns; });
    return faults;
}

std::string why_impossible(const std::vector<rail_step> &steps)
{
    std::set<unsigned> gone, one_way;
    for (const rail_step &one : steps) {
        const std::string what =
            std::string(fault_action_name(one.action)) + " of rail" + std::to_string(one.rail);
        const bool is_reset = one.action == fault_action::RESET;
        if (is_reset != (gone.count(one.rail) != 0)) {
            return what + (is_reset ? " has no del before it"
                                    : " comes after its del, and the rail was not reset");
        }
        if (one.action == fault_action::HEAL && one_way.count(one.rail) == 0) {
            return what + " has no oneway before it";
        }
        if (one.action == fault_action::DELETE) {
            gone.insert(one.rail);
        } else if (is_reset) {
            gone.erase(one.rail);
        } else if (one.action == fault_action::ONEWAY) {
            one_way.insert(one.rail);
        } else if (one.action == fault_action::HEAL) {
            one_way.erase(one.rail);
        }
    }
    return "";
}

std::string why_hopeless(const std::vector<rail_step> &steps, size_t rails)
{
    struct damage {
        bool gone = false, down = false, one_way = false;
        bool none() const { return !gone && !down && !one_way; }
    };
    std::vector<damage> after(rails);
    bool broken = false;
    for (const rail_step &one : steps) {
        broken = broken || breaks(one.action);
        damage &rail = after[one.rail];
        if (one.action == fault_action::DELETE || one.action == fault_action::RESET) {
            rail.gone = breaks(one.action);
        }
        if (one.action == fault_action::DOWN || one.action == fault_action::SILENT ||
            one.action == fault_action::UP) {
            rail.down = breaks(one.action);
        }
        if (one.action == fault_action::ONEWAY || one.action == fault_action::HEAL) {
            rail.one_way = breaks(one.action);
        }
    }
    if (!broken) {
        return "it breaks no rail";
    }
    if (rails < 2) {
        return "there is only one rail, and none to go on by; name two or more by -d";
    }
    return std::any_of(after.begin(), after.end(), [](const damage &one) { return one.none(); })
               ? ""
               : "it leaves no rail; bring one back by up or heal";
}

} // namespace ufx::tools::failover

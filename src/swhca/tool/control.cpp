// SPDX-License-Identifier: BSD-3-Clause
// Rules are put into the image; those of ports and devices that are due are carried out at once.
#include "control.h"

#include "failure.h"

#include "swhca/engine/process_memory.h"
#include "swhca/fabric/wakeup.h"
#include "swhca/faults/faults.h"
#include "swhca/faults/schedule.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace ufx::swhca::tool {

namespace {

// Programs take up what has changed.
void publish(fabric_directory &where)
{
    image &shared = where.shared();
    shared.next_due_ns.store(0, std::memory_order_release);
    for (uint32_t i = 0; i < max_processes; i++) {
        if (shared.processes[i].in_use) {
            wake_process(shared, i);
        }
    }
}

template <class Work>
void change(fabric_directory &where, Work work)
{
    image &shared = where.shared();
    {
        image_lock lock(shared);
        process_memory memory(shared, no_index);
        core world{shared, memory, time_of(shared)};
        work(world);
        (void)run_timed_rules(world);
    }
    publish(where);
}

bool is_on(const image &shared, const fault_rule &rule, uint32_t hca) noexcept
{
    return hca < shared.hca_count && (rule.hca < 0 || static_cast<uint32_t>(rule.hca) == hca);
}

bool has_cq(const image &shared, const fault_rule &rule) noexcept
{
    const cq &one = shared.cqs[rule.param - 1];
    return one.in_use && is_on(shared, rule, shared.contexts[one.context].hca);
}

bool has_qp(const image &shared, const fault_rule &rule) noexcept
{
    auto qps = used_qps(shared);
    return std::any_of(qps.begin(), qps.end(), [&](const qp &each) {
        return each.in_use && each.qpn == rule.qpn && is_on(shared, rule, each.hca);
    });
}

// What this fabric does not have; empty if all is well. What a rule waits for may still come.
std::string missing(const image &shared, const fault_rule &rule)
{
    if (rule.hca >= 0 && static_cast<uint32_t>(rule.hca) >= shared.hca_count) {
        return "there is no device mlx5_" + std::to_string(rule.hca) +
               ", this fabric has mlx5_0 to mlx5_" + std::to_string(shared.hca_count - 1);
    }
    if (!is_timed(rule.action) || rule.from_ns > 0) {
        return "";
    }
    bool of_cq = rule.action == fault_action::STALL_CQ || rule.action == fault_action::UNSTALL_CQ;
    if (of_cq && rule.param != 0 && !has_cq(shared, rule)) {
        return "there is no CQ " + std::to_string(rule.param) + " now";
    }
    if (rule.qpn != 0 && !has_qp(shared, rule)) {
        return "there is no QP " + std::to_string(rule.qpn) + " now";
    }
    return "";
}

void check(const image &shared, const std::vector<located_rule> &rules)
{
    for (const located_rule &each : rules) {
        std::string why = missing(shared, each.rule);
        if (!why.empty()) {
            throw failure(usage_status, each.where + ": " + why);
        }
    }
    auto taken = std::count_if(std::begin(shared.rules), std::end(shared.rules),
                               [](const fault_rule &each) { return each.in_use; });
    if (static_cast<size_t>(taken) + rules.size() > max_rules) {
        throw failure(fabric_status, "a fabric has room for " + std::to_string(max_rules) +
                                         " rules, and this would make " +
                                         std::to_string(static_cast<size_t>(taken) + rules.size()));
    }
}

std::string text_of(const std::string &file)
{
    std::error_code ignored;
    std::ifstream in(file);
    std::stringstream text;
    text << in.rdbuf();
    if (!in || std::filesystem::is_directory(file, ignored)) {
        throw failure(usage_status, "cannot read " + file);
    }
    return text.str();
}

} // namespace

std::vector<located_rule> read_schedule(const std::string &file)
{
    std::vector<scheduled_rule> rules;
    std::string why;
    if (!parse_schedule(text_of(file), rules, why)) {
        throw failure(usage_status, file + ":" + why);
    }
    std::vector<located_rule> located;
    for (const scheduled_rule &each : rules) {
        located.push_back({file + ":" + std::to_string(each.line), each.rule});
    }
    return located;
}

std::vector<located_rule> read_rules(const std::vector<std::string> &words)
{
    std::vector<located_rule> located;
    for (const std::string &line : words) {
        located.push_back({"'" + line + "'", {}});
        std::string why;
        if (!parse_rule(line, located.back().rule, why)) {
            throw failure(usage_status, located.back().where + ": " + why);
        }
    }
    return located;
}

void add_rules(fabric_directory &where, const std::vector<located_rule> &rules)
{
    change(where, [&](core &world) {
        check(world.shared, rules);
        uint64_t since_ns = world.now_ns - world.shared.epoch_ns;
        for (const located_rule &each : rules) {
            fault_rule rule = each.rule;
            rule.from_ns += since_ns;
            rule.until_ns += rule.until_ns != 0 ? since_ns : 0;
            (void)add_rule(world, rule); // there is room
        }
    });
}

void clear(fabric_directory &where)
{
    change(where, [](core &world) { clear_rules(world); });
}

} // namespace ufx::swhca::tool

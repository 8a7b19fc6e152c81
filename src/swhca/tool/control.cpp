// SPDX-License-Identifier: BSD-3-Clause
// Rules are put into the image; those of ports and devices that are due are carried out at once.
#include "control.h"

#include "swhca/engine/process_memory.h"
#include "swhca/fabric/wakeup.h"
#include "swhca/faults/faults.h"
#include "swhca/faults/schedule.h"

#include <fstream>
#include <sstream>
#include <stdexcept>

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
        core world{shared, memory, monotonic_ns()};
        work(world);
        (void)run_timed_rules(world);
    }
    publish(where);
}

} // namespace

void add_rules(fabric_directory &where, const std::vector<fault_rule> &rules)
{
    change(where, [&](core &world) {
        uint64_t since_ns = world.now_ns - world.shared.epoch_ns;
        for (fault_rule rule : rules) {
            rule.from_ns += since_ns;
            rule.until_ns += rule.until_ns != 0 ? since_ns : 0;
            if (add_rule(world, rule) != 0) {
                throw std::runtime_error("a fabric has room for " + std::to_string(max_rules) +
                                         " rules");
            }
        }
    });
}

std::vector<fault_rule> read_schedule(const std::string &file)
{
    std::ifstream in(file);
    std::stringstream text;
    text << in.rdbuf();
    if (!in) {
        throw std::runtime_error("cannot read " + file);
    }
    std::vector<fault_rule> rules;
    std::string why;
    if (!parse_schedule(text.str(), rules, why)) {
        throw std::runtime_error(file + ": " + why);
    }
    return rules;
}

void control(fabric_directory &where, const std::vector<std::string> &rules)
{
    if (rules.size() == 1 && rules.front() == "clear") {
        change(where, [](core &world) { clear_rules(world); });
        return;
    }
    std::vector<fault_rule> parsed;
    for (const std::string &line : rules) {
        std::string why;
        parsed.emplace_back();
        if (!parse_rule(line, parsed.back(), why)) {
            throw std::runtime_error("'" + line + "': " + why);
        }
        int8_t hca = parsed.back().hca;
        if (hca >= 0 && static_cast<uint32_t>(hca) >= where.shared().hca_count) {
            throw std::runtime_error("'" + line + "': there are only " +
                                     std::to_string(where.shared().hca_count) + " devices");
        }
    }
    add_rules(where, parsed);
}

} // namespace ufx::swhca::tool

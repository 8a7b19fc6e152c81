// SPDX-License-Identifier: BSD-3-Clause
// The table.
#include "tools/failover/hca_fault_table.h"

#include <cstdlib>

namespace ufx::tools::failover {

namespace {

constexpr const char *BROKEN_PAIRS = "hca %d qp-error";

constexpr hca_fault FAULTS[] = {
    {"requests lost", {"until 60ms hca %d drop requests"}, {}},
    {"answers lost", {"until 60ms hca %d drop responses"}, {}},
    {"request swallowed", {"hca %d swallow count 1"}, {"hca %d release"}},
    {"error completion", {"hca %d error-cqe RETRY_EXC_ERR count 1"}, {}},
    {"queue pairs broken", {BROKEN_PAIRS}, {}},
    {"completions stalled", {"hca %d stall-cq"}, {"hca %d unstall-cq"}},
    {"completion queue broken", {"hca %d event CQ_ERR"}, {}},
    {"device dead", {"hca %d device-fatal"}, {"hca %d device-reset"}},
    {"port down silently", {"hca %d port-down silent"}, {"hca %d port-up"}},
    {"port down", {"hca %d port-down"}, {"hca %d port-up"}},
    {"address gone", {"hca %d clear-gid 1"}, {"hca %d gid 1 %a"}},
    {"every port down", {"port-down"}, {"port-up"}},
    {"both ends broken", {BROKEN_PAIRS, "hca %o qp-error"}, {}},
    {"packets late", {"until 30ms hca %d delay 10ms count 3", BROKEN_PAIRS}, {}},
    {"position not told", {"hca %d fail-query-qp EIO count 4", BROKEN_PAIRS}, {}},
    {"no new queue pair", {"until 60ms hca %d fail-create-qp ENOMEM", BROKEN_PAIRS}, {}},
    {"bad cable",
     {"until 60ms hca %d drop probability 0.05", "until 60ms hca %d corrupt probability 0.05",
      "until 60ms hca %d reorder 50us probability 0.05"},
     {}},
};

} // namespace

std::span<const hca_fault> hca_faults()
{
    return FAULTS;
}

std::string fill_rule(const char *rule, int hit, int other)
{
    std::string filled;
    for (const char *c = rule; *c != '\0'; ++c) {
        if (*c != '%') {
            filled += *c;
            continue;
        }
        ++c;
        filled += *c == 'a'   ? "10.77.0." + std::to_string(hit + 1)
                  : *c == 'o' ? std::to_string(other)
                              : std::to_string(hit);
    }
    return filled;
}

std::vector<int> hca_numbers(const std::string &rails)
{
    static const std::string prefix = "mlx5_";
    std::vector<int> found;
    for (size_t at = rails.find(prefix); at != std::string::npos; at = rails.find(prefix, at + 1)) {
        found.push_back(std::atoi(rails.c_str() + at + prefix.size()));
    }
    return found;
}

std::vector<std::string> mend_rules(const std::vector<int> &devices)
{
    std::vector<std::string> rules = {"release", "unstall-cq", "device-reset", "clear", "port-up"};
    for (const int device : devices) {
        rules.push_back(fill_rule("hca %d gid 1 %a", device, device));
    }
    return rules;
}

} // namespace ufx::tools::failover

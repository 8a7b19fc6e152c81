// SPDX-License-Identifier: BSD-3-Clause
// Rules for `ufx_swhca ctl`.
#include "tools/failover/hca_faults.h"

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace ufx::tools::failover {

namespace {

const char *rule_of(fault_action action)
{
    switch (action) {
    case fault_action::DOWN:
        return "port-down";
    case fault_action::UP:
        return "port-up";
    case fault_action::DELETE:
        return "device-fatal";
    case fault_action::RESET:
        return "device-reset";
    case fault_action::ONEWAY:
        return "drop responses";
    case fault_action::HEAL:
        return "clear";
    case fault_action::SILENT:
        return "port-down silent";
    }
    return "";
}

} // namespace

std::string find_ufx_swhca()
{
    std::error_code unknown;
    const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", unknown);
    for (const std::filesystem::path &folder :
         {own.parent_path(), own.parent_path().parent_path()}) {
        const std::filesystem::path there = folder / "ufx_swhca";
        if (std::filesystem::exists(there, unknown)) {
            return there;
        }
    }
    return "ufx_swhca";
}

std::string own_fabric()
{
    const char *directory = std::getenv("UFX_SWHCA_DIR");
    return directory != nullptr ? directory : "";
}

bool is_on_fabric(const std::string &fabric, const ufx_ucp_rail_attr_t &rail)
{
    return !fabric.empty() && std::string_view(rail.transport).substr(0, 3) == "rc_";
}

words hca_command(const std::string &fabric, fault_action action, const std::string &port)
{
    const std::string rule = action == fault_action::HEAL
                                 ? rule_of(action) // of all rules: this tool makes one at a time
                                 : "hca " + port.substr(0, port.find(':')) + " " + rule_of(action);
    // The command is no program of the fabric.
    return {"env", "-u", "LD_PRELOAD", find_ufx_swhca(), "ctl", "--dir", fabric, rule};
}

} // namespace ufx::tools::failover

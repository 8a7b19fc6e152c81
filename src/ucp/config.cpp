// SPDX-License-Identifier: BSD-3-Clause
// The settings of ucp.
#include "ucp/config.h"

#include "ucs/config_parse.h"
#include "ucs/log.h"

#include <algorithm>
#include <cstring>

namespace ufx::ucp {

namespace {

using namespace std::chrono_literals;

constexpr ucs::config_enum error_modes[] = {{"none", UFX_UCP_ERROR_MODE_NONE},
                                            {"peer", UFX_UCP_ERROR_MODE_PEER},
                                            {"failover", UFX_UCP_ERROR_MODE_FAILOVER}};

constexpr ucs::config_option<config> rows[] = {
    ucs::option<&config::net_devices>(
        "NET_DEVICES", "all",
        "Devices that are rails, in order; `all`: every RDMA port, and every network interface but "
        "loopback and those of such ports, by its first address."),
    ucs::option<&config::tls>("TLS", "all", "Transports that rails may use; `all`: any."),
    ucs::option<&config::error_mode>("ERROR_MODE", "failover",
                                     "What an ep does when a lane fails, unless it says so itself.")
        .names(error_modes),
    ucs::option<&config::rail_grace>(
        "RAIL_GRACE", "300ms", "How long a rail may stay SUSPECT before its lanes are sealed.")
        .range(1ms, 60s),
    ucs::option<&config::rail_holdoff>("RAIL_HOLDOFF", "500ms",
                                       "Pause before a rail that went down is probed; doubles.")
        .range(10ms, 3600s),
    ucs::option<&config::rail_holdoff_max>("RAIL_HOLDOFF_MAX", "60s",
                                           "Longest pause between two probes of a rail.")
        .range(10ms, 3600s),
    ucs::option<&config::rail_penalty_half_life>(
        "RAIL_PENALTY_HALF_LIFE", "30s", "Time in which the penalty of a flapping rail halves.")
        .range(100ms, 3600s),
    ucs::option<&config::peer_timeout>("PEER_TIMEOUT", "30s",
                                       "A peer that was silent for so long is dead.")
        .range(100ms, 24h),
    ucs::option<&config::stall_min>("STALL_MIN", "50ms",
                                    "Least time without a sign of life that makes a lane stalled.")
        .range(1ms, 60s),
    ucs::option<&config::port_poll>("PORT_POLL", "500ms",
                                    "How often ports are queried beside their events.")
        .range(1ms, 1s),
    ucs::option<&config::silence_warn>(
        "SILENCE_WARN", "1s",
        "Operations that stand still for so long are told in the log, as often.")
        .range(10ms, 1h),
    ucs::option<&config::am_hold_bytes>("AM_HOLD_BYTES", "16mb",
                                        "Most bytes of early messages that an ep holds.")
        .range(65536, std::int64_t{1} << 40),
    ucs::option<&config::pending_max>("PENDING_MAX", "8192",
                                      "Most operations of an ep that wait to be posted.")
        .range(1, 1 << 24),
    ucs::option<&config::rndv_thresh>("RNDV_THRESH", "256kb",
                                      "Messages from this size on are fetched by the receiver."),
    ucs::option<&config::zcopy_thresh>("ZCOPY_THRESH", "16kb",
                                       "Payloads from this size on are sent without a copy."),
    ucs::option<&config::fragment_time>("FRAGMENT_TIME", "10ms",
                                        "Longest fragment of a transfer, as time at line rate.")
        .range(100us, 1s),
    ucs::option<&config::progress_thread>(
        "PROGRESS_THREAD", "n",
        "A thread of the worker answers peers while the program does not call progress."),
    ucs::option<&config::debug_socket>("DEBUG_SOCKET", "n",
                                       "Let ufx_info look into this process: y, n, or a folder."),
};

constexpr ucs::config_table<config> table{"ucp", "", rows};

// False if ucp has no such row.
bool apply(config &to, const ufx_ucp_config_entry_t &entry)
{
    for (const auto &option : table.rows()) {
        if (std::strcmp(option.row.name, entry.name) != 0) {
            continue;
        }
        ucs::config_value value;
        std::string why;
        if (ucs::parse_config_value(option.row, entry.value, value, why)) {
            option.row.store(&to, std::move(value));
        } else {
            ufx_warn("UFX_%s=%s, given by the program, is not used: %s", entry.name, entry.value,
                     why.c_str());
        }
        return true;
    }
    return false;
}

// Names that an entry may have, without UFX_.
std::vector<std::string> names_of(std::span<const ufx_uct_component_t *const> components)
{
    std::vector<std::string> names;
    for (const auto &option : table.rows()) {
        names.emplace_back(option.row.name);
    }
    for (const ufx_uct_component_t *component : components) {
        std::size_t count = 0;
        const ufx_uct_config_row_t *its =
            component->config_rows != nullptr ? component->config_rows(&count) : nullptr;
        for (std::size_t i = 0; i < count; ++i) {
            names.emplace_back(its[i].name);
        }
    }
    return names;
}

void refuse_name(const std::string &name, const std::vector<std::string> &names)
{
    const auto distance = [&](const std::string &other) {
        return std::min(ucs::edit_distance(name, other),
                        ucs::edit_distance(name, "UFX_" + other)); // the prefix is not given here
    };
    const auto nearest =
        std::min_element(names.begin(), names.end(),
                         [&](const auto &a, const auto &b) { return distance(a) < distance(b); });
    // Farther away it is another word, not a slip of the finger.
    const bool is_near = distance(*nearest) <= std::max<std::size_t>(2, name.size() / 4);
    ufx_error("context_create: config names %s, which is no setting of a context%s%s%s",
              name.c_str(), is_near ? "; did you mean " : "", is_near ? nearest->c_str() : "",
              is_near ? "?" : "");
}

} // namespace

ufx_status_t check_entries(std::span<const ufx_ucp_config_entry_t> entries,
                           std::span<const ufx_uct_component_t *const> components)
{
    const std::vector<std::string> names =
        entries.empty() ? std::vector<std::string>{} : names_of(components);
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const ufx_ucp_config_entry_t &entry = entries[i];
        if (entry.name == nullptr || entry.value == nullptr) {
            ufx_error("context_create: config[%zu] has no %s", i,
                      entry.name == nullptr ? "name" : "value");
            return UFX_ERR_INVALID_PARAM;
        }
        if (std::find(names.begin(), names.end(), entry.name) == names.end()) {
            refuse_name(entry.name, names);
            return UFX_ERR_INVALID_PARAM;
        }
    }
    return UFX_OK;
}

config load_config(std::span<const ufx_ucp_config_entry_t> entries)
{
    config loaded = table.load();
    for (const ufx_ucp_config_entry_t &entry : entries) {
        (void)apply(loaded, entry);
    }
    return loaded;
}

void declare_config()
{
    table.register_rows();
}

core::config core_config(const config &from, std::uint64_t seed)
{
    core::config to;
    to.grace_ns = static_cast<core::time_ns>(from.rail_grace.count());
    to.holdoff_ns = static_cast<core::time_ns>(from.rail_holdoff.count());
    to.holdoff_max_ns = static_cast<core::time_ns>(from.rail_holdoff_max.count());
    to.penalty_half_life_ns = static_cast<core::time_ns>(from.rail_penalty_half_life.count());
    to.hold_bytes = from.am_hold_bytes;
    to.seed = seed;
    return to;
}

} // namespace ufx::ucp

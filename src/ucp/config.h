// SPDX-License-Identifier: BSD-3-Clause
// The settings of ucp: one struct, filled from UFX_* rows and from what the user's code gives.
#ifndef UFX_UCP_CONFIG_H
#define UFX_UCP_CONFIG_H

#include "ucp/core/config.h"
#include "ucs/config.h"

#include <ufx/ucp.h>
#include <ufx/uct.h>

#include <chrono>
#include <span>
#include <string>
#include <vector>

namespace ufx::ucp {

struct config {
    std::vector<std::string> net_devices;
    std::vector<std::string> tls;
    ufx_ucp_error_mode_t error_mode = UFX_UCP_ERROR_MODE_FAILOVER;
    std::chrono::nanoseconds rail_grace{};
    std::chrono::nanoseconds rail_holdoff{};
    std::chrono::nanoseconds rail_holdoff_max{};
    std::chrono::nanoseconds rail_penalty_half_life{};
    std::chrono::nanoseconds peer_timeout{};
    std::chrono::nanoseconds stall_min{};
    std::chrono::nanoseconds port_poll{};
    std::chrono::nanoseconds silence_warn{};
    std::uint64_t am_hold_bytes = 0;
    std::uint32_t pending_max = 0;
    std::uint64_t rndv_thresh = 0;
    std::uint64_t zcopy_thresh = 0;
    std::chrono::nanoseconds fragment_time{};
    bool progress_thread = false;
    std::string debug_socket;
};

// The rows in effect now, overruled by `entries` (a name that ucp has no row for is left to uct).
[[nodiscard]] config load_config(std::span<const ufx_ucp_config_entry_t> entries);

// INVALID_PARAM, with an error that names it, for an entry that is no setting of ucp or of one of
// the components, or that lacks its name or value.
[[nodiscard]] ufx_status_t check_entries(std::span<const ufx_ucp_config_entry_t> entries,
                                         std::span<const ufx_uct_component_t *const> components);

// Makes every row of ucp known to ufx_ucs_config_print().
void declare_config();

// What of it the failover core needs.
[[nodiscard]] core::config core_config(const config &from, std::uint64_t seed);

} // namespace ufx::ucp

#endif

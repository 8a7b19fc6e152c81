// SPDX-License-Identifier: BSD-3-Clause
// Settings of the tcp transport: UFX_TCP_*.
#ifndef UFX_UCT_TCP_CONFIG_H
#define UFX_UCT_TCP_CONFIG_H

#include "ucs/result.h"

#include <ufx/uct_types.h>

#include <chrono>
#include <cstddef>
#include <span>
#include <string>

namespace ufx::uct::tcp {

struct config {
    size_t seg_size;   // short and bcopy limit, receive buffer
    size_t am_max;     // longest am with its header, at least seg_size
    unsigned tx_queue; // ops outstanding per ep
    size_t tx_buffer;  // bytes of copied payload and headers per ep
    std::string port_range;
    size_t sndbuf; // 0: the system's
    size_t rcvbuf; // 0: the system's
    bool nodelay;
    bool bind_device;
    std::chrono::nanoseconds connect_timeout;
    std::chrono::nanoseconds user_timeout; // 0: off
    std::chrono::nanoseconds keepalive;    // idle time before the first probe; 0: off
    unsigned max_strangers;
};

// Environment and file, overruled by what the caller of iface_open gave.
[[nodiscard]] ucs::result<config> read_config(std::span<const ufx_uct_config_entry_t> given);

// All settings, for ufx_uct_component::config_rows.
[[nodiscard]] const ufx_uct_config_row_t *config_rows(size_t *count);

struct port_range {
    uint16_t first = 0; // 0: the system chooses
    uint16_t last = 0;
};

// "0", "5000" or "5000-5100"; anything else warns and lets the system choose.
[[nodiscard]] port_range parse_port_range(const std::string &text);

} // namespace ufx::uct::tcp

#endif

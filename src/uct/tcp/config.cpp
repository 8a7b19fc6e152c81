// SPDX-License-Identifier: BSD-3-Clause
// The rows UFX_TCP_* and how they are read.
#include "config.h"

#include "ucs/log.h"
#include "uct/base/config.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace ufx::uct::tcp {

namespace {

using namespace std::chrono_literals;

constexpr std::string_view prefix = "TCP_";

constexpr ucs::config_option<config> rows[] = {
    ucs::option<&config::seg_size>("SEG_SIZE", "64kb",
                                   "Longest bcopy operation, and size of a receive buffer.")
        .range(1024, 1 << 20),
    ucs::option<&config::am_max>("AM_MAX", "1mb",
                                 "Longest zcopy active message, the same on "
                                 "both sides; at least SEG_SIZE is used.")
        .range(1024, 64 << 20),
    ucs::option<&config::tx_queue>("TX_QUEUE", "512",
                                   "Operations that an endpoint may have outstanding.")
        .range(4, 65536),
    ucs::option<&config::tx_buffer>("TX_BUFFER", "512kb",
                                    "Bytes of copied payload that an endpoint may have "
                                    "outstanding; at least four times SEG_SIZE is used.")
        .range(4096, 256 << 20),
    ucs::option<&config::port_range>("PORT_RANGE", "0",
                                     "Ports to listen on, such as 5000-5100; 0 lets the "
                                     "system choose."),
    ucs::option<&config::sndbuf>("SNDBUF", "0", "Socket send buffer; 0 leaves it to the system.")
        .range(0, 1 << 30),
    ucs::option<&config::rcvbuf>("RCVBUF", "0", "Socket receive buffer; 0 leaves it to the system.")
        .range(0, 1 << 30),
    ucs::option<&config::nodelay>("NODELAY", "y", "Send small segments at once (TCP_NODELAY)."),
    ucs::option<&config::bind_device>("BIND_DEVICE", "y",
                                      "Bind sockets to the interface (SO_BINDTODEVICE) where "
                                      "that is permitted, besides to its address."),
    ucs::option<&config::connect_timeout>("CONNECT_TIMEOUT", "10s",
                                          "Time that a connection may take, from "
                                          "connect_to_ep until both sides know each other.")
        .range(10ms, 600s),
    ucs::option<&config::user_timeout>("USER_TIMEOUT", "0",
                                       "Time that sent data may stay unacknowledged before "
                                       "the connection fails (TCP_USER_TIMEOUT); 0: off.")
        .range(0ms, 3600s),
    ucs::option<&config::keepalive>("KEEPALIVE", "0",
                                    "Idle time before the first keepalive probe; 0: off.")
        .range(0s, 3600s),
    ucs::option<&config::max_strangers>("MAX_STRANGERS", "256",
                                        "Accepted sockets that have not yet said who they "
                                        "are; further ones are closed.")
        .range(1, 4096),
};

constexpr ucs::config_table<config> table{"tcp", "TCP_", rows};

std::optional<uint16_t> parse_port(std::string_view text)
{
    uint16_t value = 0;
    auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (ec != std::errc() || end != text.data() + text.size()) {
        return std::nullopt;
    }
    return value;
}

} // namespace

ucs::result<config> read_config(std::span<const ufx_uct_config_entry_t> given)
{
    ucs::result<config> made = load_config(table, prefix, given);
    if (made) {
        made->am_max = std::max(made->am_max, made->seg_size); // a bcopy is an am, too
    }
    return made;
}

const ufx_uct_config_row_t *config_rows(size_t *count)
{
    static const config_row_list list(table, prefix);
    return list.give(count);
}

port_range parse_port_range(const std::string &text)
{
    size_t dash = text.find('-');
    std::optional<uint16_t> first = parse_port(std::string_view(text).substr(0, dash));
    std::optional<uint16_t> last =
        dash == std::string::npos ? first : parse_port(std::string_view(text).substr(dash + 1));
    if (!first || !last || *last < *first || (*first == 0 && *last != 0)) {
        ufx_warn("UFX_TCP_PORT_RANGE='%s' is not used: not a port or a range of ports",
                 text.c_str());
        return {};
    }
    return {*first, *last};
}

} // namespace ufx::uct::tcp

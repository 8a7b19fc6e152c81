// SPDX-License-Identifier: BSD-3-Clause
// A worker's address: its uuid, and for each rail how to reach it by uct and by control sockets.
//
// Wire layout (little endian): magic "UFXW" u32, version u8, rails u8, reserved u16, uuid u64, then
// per rail: index u8, prefix bits u8, family u8 (0 none, 4, 6), transport length u8, transport,
// control port u16, IP (4 or 16), bandwidth in MB/s u32, device address length u8 + bytes, iface
// address length u8 + bytes.
#ifndef UFX_UCP_ADDRESS_H
#define UFX_UCP_ADDRESS_H

#include "ucs/result.h"

#include <cstdint>
#include <span>
#include <string>
#include <sys/socket.h>
#include <vector>

namespace ufx::ucp {

// One port of a worker as its peers know it.
struct rail_address {
    std::uint8_t index = 0;
    std::string transport;
    sockaddr_storage control{}; // family AF_UNSPEC: none
    std::uint8_t prefix_bits = 0;
    std::uint32_t mbytes_per_s = 0;
    std::vector<std::uint8_t> device_addr;
    std::vector<std::uint8_t> iface_addr;
};

struct worker_address {
    std::uint64_t uuid = 0;
    std::vector<rail_address> rails;
};

[[nodiscard]] std::vector<std::uint8_t> encode(const worker_address &address);
// BAD_MESSAGE, or VERSION if another version wrote it.
[[nodiscard]] ucs::result<worker_address> decode_worker_address(std::span<const std::uint8_t> from);

// One port of it alone, as it crosses in ADDR.
[[nodiscard]] std::vector<std::uint8_t> encode(const rail_address &rail);
[[nodiscard]] ucs::result<rail_address> decode_rail_address(std::span<const std::uint8_t> from);

// A pair of ports that may become a rail: index at the smaller uuid, index at the larger one.
struct port_pair {
    std::uint8_t small = 0;
    std::uint8_t large = 0;
    bool operator==(const port_pair &) const = default;
};
// In one subnet, by the narrower of both prefixes.
[[nodiscard]] bool same_subnet(const rail_address &a, const rail_address &b);
// The rails of two workers, the same at both: by subnet, then by index; a port without a partner
// of its own joins one of the other side.
[[nodiscard]] std::vector<port_pair> match_rails(const worker_address &small,
                                                 const worker_address &large);

// The same pair's number at both sides.
[[nodiscard]] constexpr std::uint16_t rail_id_of(port_pair p)
{
    return static_cast<std::uint16_t>(p.small << 8 | p.large);
}

// "10.0.0.1:4711" for logs.
[[nodiscard]] std::string text_of(const sockaddr_storage &address);
// 0 without an address.
[[nodiscard]] std::uint16_t port_of(const sockaddr_storage &address);
// Bits 32 to 62 of the number of a connection to a listener: its port, and 15 bits of its address,
// by which listeners of one port are told apart.
[[nodiscard]] std::uint64_t connection_tag(const sockaddr_storage &listener);
// INVALID_PARAM: neither IPv4 nor IPv6, or too short for that.
[[nodiscard]] ucs::result<sockaddr_storage> copy_sockaddr(const sockaddr *from, socklen_t length);
[[nodiscard]] socklen_t length_of(const sockaddr_storage &address);
[[nodiscard]] bool same_address(const sockaddr_storage &a, const sockaddr_storage &b);
// The same IP with port 0.
[[nodiscard]] sockaddr_storage without_port(sockaddr_storage address);

// Address of a device `interface[:address]` with port 0 and its prefix; AF_UNSPEC if it has none.
struct device_address {
    sockaddr_storage address{};
    std::uint8_t prefix_bits = 0;
    std::string interface;
};
[[nodiscard]] device_address find_device_address(const std::string &device_name);

} // namespace ufx::ucp

#endif

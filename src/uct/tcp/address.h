// SPDX-License-Identifier: BSD-3-Clause
// An IP address with what a device knows about it, and the address blobs that peers exchange.
#ifndef UFX_UCT_TCP_ADDRESS_H
#define UFX_UCT_TCP_ADDRESS_H

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace ufx::uct::tcp {

struct ip_address {
    std::array<uint8_t, 16> bytes{}; // IPv4: the first 4
    sa_family_t family = AF_UNSPEC;
    uint8_t prefix = 0; // length of the subnet in bits
    uint32_t scope = 0; // local interface index of a link-local IPv6 address

    [[nodiscard]] bool loopback() const noexcept;
    [[nodiscard]] bool link_local() const noexcept;
    [[nodiscard]] bool same_ip(const ip_address &other) const noexcept;
    [[nodiscard]] std::string text() const;

    [[nodiscard]] static std::optional<ip_address> parse(const std::string &text);
    [[nodiscard]] static std::optional<ip_address> from(const sockaddr *address) noexcept;
};

// True if a socket bound to `own` may reach `peer` as far as the addresses tell.
[[nodiscard]] bool can_reach(const ip_address &own, const ip_address &peer) noexcept;

// A sockaddr of either family, with its length.
struct socket_address {
    sockaddr_storage storage{};
    socklen_t length = 0;

    [[nodiscard]] static socket_address make(const ip_address &ip, uint16_t port) noexcept;
    [[nodiscard]] uint16_t port() const noexcept;

    [[nodiscard]] const sockaddr *get() const noexcept
    {
        return reinterpret_cast<const sockaddr *>(&storage);
    }
};

// Device address: family 1 (4 or 6), prefix 1, zero 2, ip 16. Iface address: port 2 (le), zero 2.
inline constexpr size_t device_address_size = 20;
inline constexpr size_t iface_address_size = 4;

void encode_device_address(const ip_address &from, std::byte *to) noexcept;
[[nodiscard]] std::optional<ip_address>
decode_device_address(std::span<const std::byte, device_address_size> from) noexcept;

void encode_iface_address(uint16_t port, std::byte *to) noexcept;
[[nodiscard]] std::optional<uint16_t>
decode_iface_address(std::span<const std::byte, iface_address_size> from) noexcept;

} // namespace ufx::uct::tcp

#endif

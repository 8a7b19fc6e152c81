// SPDX-License-Identifier: BSD-3-Clause
// getifaddrs, in the project's types.
#include "interface_addresses.h"

#include "owner.h"

#include <bit>
#include <cstring>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <optional>
#include <span>
#include <string_view>

namespace ufx::ucs {

namespace {

using list_owner = c_owner<ifaddrs, &::freeifaddrs>;

unsigned bits_of(std::span<const unsigned char> mask) noexcept
{
    unsigned bits = 0;
    for (const unsigned char byte : mask) {
        bits += static_cast<unsigned>(std::popcount(byte));
    }
    return bits;
}

template <class Socket, class Address>
void take(const ifaddrs &entry, Address Socket::*part, interface_address &to) noexcept
{
    std::memcpy(&to.address, entry.ifa_addr, sizeof(Socket));
    if (entry.ifa_netmask != nullptr) {
        Socket mask{};
        std::memcpy(&mask, entry.ifa_netmask, sizeof(mask));
        to.prefix_length =
            bits_of({reinterpret_cast<const unsigned char *>(&(mask.*part)), sizeof(mask.*part)});
    }
}

std::optional<interface_address> address_of(const ifaddrs &entry)
{
    interface_address made{};
    if (entry.ifa_addr == nullptr) {
        return std::nullopt;
    }
    switch (entry.ifa_addr->sa_family) {
    case AF_INET:
        take(entry, &sockaddr_in::sin_addr, made);
        break;
    case AF_INET6:
        take(entry, &sockaddr_in6::sin6_addr, made);
        break;
    default:
        return std::nullopt;
    }
    const std::string_view label = entry.ifa_name;
    made.interface = label.substr(0, label.find(':'));
    made.up = (entry.ifa_flags & IFF_UP) != 0;
    made.loopback = (entry.ifa_flags & IFF_LOOPBACK) != 0;
    return made;
}

} // namespace

result<std::vector<interface_address>> list_interface_addresses()
{
    ifaddrs *raw = nullptr;
    if (::getifaddrs(&raw) != 0) {
        return UFX_ERR_IO;
    }
    const list_owner all(raw);
    std::vector<interface_address> found;
    for (const ifaddrs *entry = raw; entry != nullptr; entry = entry->ifa_next) {
        if (auto one = address_of(*entry)) {
            found.push_back(*std::move(one));
        }
    }
    return found;
}

} // namespace ufx::ucs

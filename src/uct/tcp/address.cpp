// SPDX-License-Identifier: BSD-3-Clause
// IP addresses as text, as sockaddr and as the blobs that peers exchange.
#include "address.h"

#include "ucs/bytes.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

namespace ufx::uct::tcp {

namespace {

size_t ip_size(sa_family_t family) noexcept
{
    return family == AF_INET ? 4 : 16;
}

bool same_prefix(const ip_address &a, const ip_address &b, unsigned bits) noexcept
{
    unsigned whole = bits / 8;
    if (!std::equal(a.bytes.begin(), a.bytes.begin() + whole, b.bytes.begin())) {
        return false;
    }
    unsigned rest = bits % 8;
    return rest == 0 || ((a.bytes[whole] ^ b.bytes[whole]) >> (8 - rest)) == 0;
}

} // namespace

bool ip_address::loopback() const noexcept
{
    if (family == AF_INET) {
        return bytes[0] == 127;
    }
    return std::all_of(bytes.begin(), bytes.end() - 1, [](uint8_t b) { return b == 0; }) &&
           bytes[15] == 1;
}

bool ip_address::link_local() const noexcept
{
    return family == AF_INET6 && bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80;
}

bool ip_address::same_ip(const ip_address &other) const noexcept
{
    return family == other.family && bytes == other.bytes;
}

std::string ip_address::text() const
{
    char buffer[INET6_ADDRSTRLEN] = "?";
    inet_ntop(family, bytes.data(), buffer, sizeof(buffer));
    return buffer;
}

std::optional<ip_address> ip_address::parse(const std::string &text)
{
    ip_address out;
    for (sa_family_t family : {AF_INET, AF_INET6}) {
        if (inet_pton(family, text.c_str(), out.bytes.data()) == 1) {
            out.family = family;
            out.prefix = static_cast<uint8_t>(ip_size(family) * 8);
            return out;
        }
    }
    return std::nullopt;
}

std::optional<ip_address> ip_address::from(const sockaddr *address) noexcept
{
    ip_address out;
    out.family = address->sa_family;
    if (address->sa_family == AF_INET) {
        sockaddr_in in;
        std::memcpy(&in, address, sizeof(in));
        std::memcpy(out.bytes.data(), &in.sin_addr, 4);
    } else if (address->sa_family == AF_INET6) {
        sockaddr_in6 in;
        std::memcpy(&in, address, sizeof(in));
        std::memcpy(out.bytes.data(), &in.sin6_addr, 16);
        out.scope = in.sin6_scope_id;
    } else {
        return std::nullopt;
    }
    out.prefix = static_cast<uint8_t>(ip_size(out.family) * 8);
    return out;
}

bool can_reach(const ip_address &own, const ip_address &peer) noexcept
{
    if (own.family != peer.family || own.loopback() != peer.loopback() ||
        own.link_local() != peer.link_local()) {
        return false;
    }
    // A loopback address answers on the own host only, where its whole subnet is local.
    return !own.loopback() || own.family != AF_INET || same_prefix(own, peer, 8);
}

socket_address socket_address::make(const ip_address &ip, uint16_t port) noexcept
{
    socket_address out;
    if (ip.family == AF_INET) {
        sockaddr_in in{};
        in.sin_family = AF_INET;
        in.sin_port = htons(port);
        std::memcpy(&in.sin_addr, ip.bytes.data(), 4);
        std::memcpy(&out.storage, &in, sizeof(in));
        out.length = sizeof(in);
    } else {
        sockaddr_in6 in{};
        in.sin6_family = AF_INET6;
        in.sin6_port = htons(port);
        in.sin6_scope_id = ip.scope;
        std::memcpy(&in.sin6_addr, ip.bytes.data(), 16);
        std::memcpy(&out.storage, &in, sizeof(in));
        out.length = sizeof(in);
    }
    return out;
}

uint16_t socket_address::port() const noexcept
{
    // sin_port and sin6_port lie at the same place: RFC 3493, section 3.3.
    sockaddr_in in;
    std::memcpy(&in, &storage, sizeof(in));
    return ntohs(in.sin_port);
}

void encode_device_address(const ip_address &from, std::byte *to) noexcept
{
    ucs::byte_writer writer(to, device_address_size);
    writer.u8(from.family == AF_INET ? 4 : 6);
    writer.u8(from.prefix);
    writer.le16(0);
    writer.bytes(from.bytes.data(), from.bytes.size());
}

std::optional<ip_address>
decode_device_address(std::span<const std::byte, device_address_size> from) noexcept
{
    ucs::byte_reader reader(from);
    ip_address out;
    uint8_t version = reader.u8();
    out.prefix = reader.u8();
    (void)reader.le16();
    reader.copy(out.bytes.data(), out.bytes.size());
    out.family = version == 4 ? AF_INET : AF_INET6;
    if ((version != 4 && version != 6) || out.prefix > ip_size(out.family) * 8) {
        return std::nullopt;
    }
    return out;
}

void encode_iface_address(uint16_t port, std::byte *to) noexcept
{
    ucs::store_le16(to, port);
    ucs::store_le16(to + 2, 0);
}

std::optional<uint16_t>
decode_iface_address(std::span<const std::byte, iface_address_size> from) noexcept
{
    uint16_t port = ucs::load_le16(from.data());
    if (port == 0) {
        return std::nullopt;
    }
    return port;
}

} // namespace ufx::uct::tcp

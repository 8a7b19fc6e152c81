// SPDX-License-Identifier: BSD-3-Clause
// Worker addresses as bytes, and which ports of two workers make a rail.
#include "ucp/address.h"

#include "ucs/bytes.h"
#include "ucs/interface_addresses.h"

#include <ufx/ucp.h>

#include <algorithm>
#include <arpa/inet.h>
#include <cstring>
#include <memory>
#include <netinet/in.h>
#include <string_view>

namespace ufx::ucp {

namespace {

constexpr std::uint32_t magic = 0x57584655; // "UFXW"
constexpr std::uint8_t version = 1;
constexpr std::size_t max_address_bytes = 4000; // must fit into a HELLO
constexpr unsigned max_rails = UFX_UCP_RAILS_MAX;

const sockaddr_in &v4(const sockaddr_storage &a)
{
    return reinterpret_cast<const sockaddr_in &>(a);
}
const sockaddr_in6 &v6(const sockaddr_storage &a)
{
    return reinterpret_cast<const sockaddr_in6 &>(a);
}

void write_rail(ucs::byte_writer &w, const rail_address &rail)
{
    w.u8(rail.index);
    w.u8(rail.prefix_bits);
    const bool is4 = rail.control.ss_family == AF_INET;
    const bool is6 = rail.control.ss_family == AF_INET6;
    w.u8(is4 ? 4 : (is6 ? 6 : 0));
    w.u8(static_cast<std::uint8_t>(rail.transport.size()));
    w.bytes(rail.transport.data(), rail.transport.size());
    w.be16(port_of(rail.control));
    if (is4) {
        w.bytes(&v4(rail.control).sin_addr, 4);
    } else if (is6) {
        w.bytes(&v6(rail.control).sin6_addr, 16);
    }
    w.le32(rail.mbytes_per_s);
    w.u8(static_cast<std::uint8_t>(rail.device_addr.size()));
    w.bytes(rail.device_addr.data(), rail.device_addr.size());
    w.u8(static_cast<std::uint8_t>(rail.iface_addr.size()));
    w.bytes(rail.iface_addr.data(), rail.iface_addr.size());
}

std::vector<std::uint8_t> read_blob(ucs::byte_reader &r)
{
    const auto bytes = r.bytes(r.u8());
    std::vector<std::uint8_t> out(bytes.size());
    if (!out.empty()) {
        std::memcpy(out.data(), bytes.data(), bytes.size());
    }
    return out;
}

rail_address read_rail(ucs::byte_reader &r)
{
    rail_address rail;
    rail.index = r.u8();
    rail.prefix_bits = r.u8();
    const std::uint8_t family = r.u8();
    const std::vector<std::uint8_t> name = read_blob(r);
    rail.transport.assign(name.begin(), name.end());
    const std::uint16_t port = r.be16();
    if (family == 4) {
        auto &to = reinterpret_cast<sockaddr_in &>(rail.control);
        to.sin_family = AF_INET;
        to.sin_port = htons(port);
        r.copy(&to.sin_addr, 4);
    } else if (family == 6) {
        auto &to = reinterpret_cast<sockaddr_in6 &>(rail.control);
        to.sin6_family = AF_INET6;
        to.sin6_port = htons(port);
        r.copy(&to.sin6_addr, 16);
    } else if (family != 0) {
        r.fail();
    }
    rail.mbytes_per_s = r.le32();
    rail.device_addr = read_blob(r);
    rail.iface_addr = read_blob(r);
    if (rail.index >= max_rails || rail.transport.empty() || rail.prefix_bits > 128) {
        r.fail();
    }
    return rail;
}

bool bits_equal(const std::uint8_t *a, const std::uint8_t *b, unsigned bits)
{
    const unsigned whole = bits / 8;
    if (std::memcmp(a, b, whole) != 0) {
        return false;
    }
    const unsigned rest = bits % 8;
    const auto mask = static_cast<std::uint8_t>(0xff00u >> rest);
    return rest == 0 || ((a[whole] ^ b[whole]) & mask) == 0;
}

} // namespace

bool same_subnet(const rail_address &a, const rail_address &b)
{
    const unsigned bits = std::max(a.prefix_bits, b.prefix_bits);
    if (a.control.ss_family != b.control.ss_family || bits == 0) {
        return false;
    }
    if (a.control.ss_family == AF_INET && bits <= 32) {
        return bits_equal(reinterpret_cast<const std::uint8_t *>(&v4(a.control).sin_addr),
                          reinterpret_cast<const std::uint8_t *>(&v4(b.control).sin_addr), bits);
    }
    if (a.control.ss_family == AF_INET6) {
        return bits_equal(v6(a.control).sin6_addr.s6_addr, v6(b.control).sin6_addr.s6_addr, bits);
    }
    return false;
}

std::vector<std::uint8_t> encode(const worker_address &address)
{
    std::vector<std::uint8_t> bytes(max_address_bytes);
    ucs::byte_writer w(bytes.data(), bytes.size());
    w.le32(magic);
    w.u8(version);
    w.u8(static_cast<std::uint8_t>(address.rails.size()));
    w.le16(0);
    w.le64(address.uuid);
    for (const rail_address &rail : address.rails) {
        write_rail(w, rail);
    }
    bytes.resize(w.size());
    return bytes;
}

ucs::result<worker_address> decode_worker_address(std::span<const std::uint8_t> from)
{
    ucs::byte_reader r(from.data(), from.size());
    worker_address address;
    const std::uint32_t read_magic = r.le32();
    const std::uint8_t read_version = r.u8();
    const std::uint8_t rails = r.u8();
    r.le16();
    address.uuid = r.le64();
    if (!r.ok() || from.size() > max_address_bytes || read_magic != magic || address.uuid == 0 ||
        rails > max_rails) {
        return UFX_ERR_BAD_MESSAGE;
    }
    if (read_version != version) {
        return UFX_ERR_VERSION;
    }
    for (unsigned i = 0; i < rails && r.ok(); ++i) {
        address.rails.push_back(read_rail(r));
    }
    if (!r.at_end()) {
        return UFX_ERR_BAD_MESSAGE;
    }
    return address;
}

std::vector<std::uint8_t> encode(const rail_address &rail)
{
    std::vector<std::uint8_t> bytes(max_address_bytes);
    ucs::byte_writer w(bytes.data(), bytes.size());
    write_rail(w, rail);
    bytes.resize(w.size());
    return bytes;
}

ucs::result<rail_address> decode_rail_address(std::span<const std::uint8_t> from)
{
    ucs::byte_reader r(from.data(), from.size());
    rail_address rail = read_rail(r);
    if (!r.at_end()) {
        return UFX_ERR_BAD_MESSAGE;
    }
    return rail;
}

std::vector<port_pair> match_rails(const worker_address &small, const worker_address &large)
{
    std::vector<port_pair> pairs;
    std::vector<bool> used_small(small.rails.size());
    std::vector<bool> used_large(large.rails.size());
    const auto pair_up = [&](auto &&fits) {
        for (std::size_t i = 0; i < small.rails.size(); ++i) {
            for (std::size_t k = 0; k < large.rails.size() && !used_small[i]; ++k) {
                if (!used_large[k] && small.rails[i].transport == large.rails[k].transport &&
                    fits(i, k)) {
                    used_small[i] = used_large[k] = true;
                    pairs.push_back({small.rails[i].index, large.rails[k].index});
                }
            }
        }
    };
    const auto subnet = [&](std::size_t i, std::size_t k) {
        return same_subnet(small.rails[i], large.rails[k]);
    };
    pair_up([&](std::size_t i, std::size_t k) {
        return small.rails[i].index == large.rails[k].index && subnet(i, k);
    });
    pair_up(subnet);
    pair_up([](std::size_t, std::size_t) { return true; });
    // A port that is left over shares a port of the other side.
    for (std::size_t i = 0; i < small.rails.size(); ++i) {
        for (std::size_t k = 0; k < large.rails.size() && !used_small[i]; ++k) {
            if (small.rails[i].transport == large.rails[k].transport) {
                used_small[i] = true;
                pairs.push_back({small.rails[i].index, large.rails[k].index});
            }
        }
    }
    for (std::size_t k = 0; k < large.rails.size(); ++k) {
        for (std::size_t i = 0; i < small.rails.size() && !used_large[k]; ++i) {
            if (small.rails[i].transport == large.rails[k].transport) {
                used_large[k] = true;
                pairs.push_back({small.rails[i].index, large.rails[k].index});
            }
        }
    }
    return pairs;
}

std::string text_of(const sockaddr_storage &address)
{
    char text[INET6_ADDRSTRLEN] = "";
    if (address.ss_family == AF_INET) {
        (void)inet_ntop(AF_INET, &v4(address).sin_addr, text, sizeof(text));
        return std::string(text) + ":" + std::to_string(port_of(address));
    }
    if (address.ss_family == AF_INET6) {
        (void)inet_ntop(AF_INET6, &v6(address).sin6_addr, text, sizeof(text));
        return "[" + std::string(text) + "]:" + std::to_string(port_of(address));
    }
    return "(no address)";
}

std::uint16_t port_of(const sockaddr_storage &address)
{
    if (address.ss_family == AF_INET) {
        return ntohs(v4(address).sin_port);
    }
    return address.ss_family == AF_INET6 ? ntohs(v6(address).sin6_port) : std::uint16_t{0};
}

std::uint64_t connection_tag(const sockaddr_storage &listener)
{
    std::uint32_t sum = 0;
    const auto add = [&](const void *bytes, std::size_t size) {
        for (std::size_t i = 0; i < size; ++i) {
            sum = sum * 31 + static_cast<const std::uint8_t *>(bytes)[i];
        }
    };
    if (listener.ss_family == AF_INET) {
        add(&v4(listener).sin_addr, sizeof(in_addr));
    } else {
        add(&v6(listener).sin6_addr, sizeof(in6_addr));
    }
    return static_cast<std::uint64_t>(sum % 0x8000) << 48 |
           static_cast<std::uint64_t>(port_of(listener)) << 32;
}

ucs::result<sockaddr_storage> copy_sockaddr(const sockaddr *from, socklen_t length)
{
    if (from == nullptr || length < sizeof(sockaddr_in) ||
        (from->sa_family != AF_INET && from->sa_family != AF_INET6)) {
        return UFX_ERR_INVALID_PARAM;
    }
    sockaddr_storage to{};
    to.ss_family = from->sa_family;
    if (length < length_of(to)) {
        return UFX_ERR_INVALID_PARAM;
    }
    std::memcpy(&to, from, length_of(to));
    return to;
}

socklen_t length_of(const sockaddr_storage &address)
{
    return address.ss_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
}

bool same_address(const sockaddr_storage &a, const sockaddr_storage &b)
{
    if (a.ss_family != b.ss_family) {
        return false;
    }
    if (a.ss_family == AF_INET) {
        return v4(a).sin_port == v4(b).sin_port && v4(a).sin_addr.s_addr == v4(b).sin_addr.s_addr;
    }
    return a.ss_family == AF_INET6 && v6(a).sin6_port == v6(b).sin6_port &&
           std::memcmp(&v6(a).sin6_addr, &v6(b).sin6_addr, 16) == 0;
}

sockaddr_storage without_port(sockaddr_storage address)
{
    if (address.ss_family == AF_INET) {
        reinterpret_cast<sockaddr_in &>(address).sin_port = 0;
    } else if (address.ss_family == AF_INET6) {
        reinterpret_cast<sockaddr_in6 &>(address).sin6_port = 0;
    }
    return address;
}

namespace {

// Fills `found` if that entry is the wanted address, or without one a better address than before.
void take_address(const ucs::interface_address &entry, const std::string &wanted,
                  device_address &found)
{
    char text[INET6_ADDRSTRLEN] = "";
    const int family = entry.address.ss_family;
    if (family == AF_INET) {
        (void)inet_ntop(AF_INET, &v4(entry.address).sin_addr, text, sizeof(text));
    } else {
        (void)inet_ntop(AF_INET6, &v6(entry.address).sin6_addr, text, sizeof(text));
        if (wanted.empty() && IN6_IS_ADDR_LINKLOCAL(&v6(entry.address).sin6_addr)) {
            return;
        }
    }
    const bool better = wanted.empty()
                            ? found.address.ss_family == AF_UNSPEC ||
                                  (family == AF_INET && found.address.ss_family == AF_INET6)
                            : wanted == text;
    if (better) {
        found.address = entry.address;
        found.prefix_bits = static_cast<std::uint8_t>(entry.prefix_length);
    }
}

} // namespace

device_address find_device_address(const std::string &device_name)
{
    const std::size_t colon = device_name.find(':');
    device_address found;
    found.interface = device_name.substr(0, colon);
    const std::string wanted = colon == std::string::npos ? "" : device_name.substr(colon + 1);
    // 127/8 belongs to lo as a whole, but is listed once.
    in_addr loopback{};
    if (!wanted.empty() && inet_pton(AF_INET, wanted.c_str(), &loopback) == 1 &&
        ntohl(loopback.s_addr) >> 24 == IN_LOOPBACKNET) {
        auto &to = reinterpret_cast<sockaddr_in &>(found.address);
        to.sin_family = AF_INET;
        to.sin_addr = loopback;
        found.prefix_bits = 8;
        return found;
    }
    const auto entries = ucs::list_interface_addresses();
    for (std::size_t i = 0; entries && i < entries->size(); ++i) {
        const ucs::interface_address &entry = (*entries)[i];
        if (found.interface == entry.interface) {
            take_address(entry, wanted, found);
        }
    }
    return found;
}

} // namespace ufx::ucp

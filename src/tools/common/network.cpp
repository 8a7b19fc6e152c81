// SPDX-License-Identifier: BSD-3-Clause
// The host's addresses, by getifaddrs().
#include "tools/common/network.h"

#include "tools/common/error.h"
#include "tools/common/fd.h"

#include <algorithm>
#include <arpa/inet.h>
#include <bit>
#include <charconv>
#include <cstring>
#include <ifaddrs.h>
#include <memory>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>

namespace ufx::tools {

namespace {

net_address address_from(const sockaddr *from)
{
    net_address result;
    if (from == nullptr) {
        return result;
    }
    if (from->sa_family == AF_INET) {
        std::memcpy(result.bytes.data(), &reinterpret_cast<const sockaddr_in *>(from)->sin_addr, 4);
    } else if (from->sa_family == AF_INET6) {
        const auto *in6 = reinterpret_cast<const sockaddr_in6 *>(from);
        std::memcpy(result.bytes.data(), &in6->sin6_addr, 16);
        if (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)) {
            std::copy(result.bytes.begin() + 12, result.bytes.end(), result.bytes.begin());
            std::fill(result.bytes.begin() + 4, result.bytes.end(), uint8_t{0});
            result.family = AF_INET;
            result.prefix = 32;
            return result;
        }
    } else {
        return result;
    }
    result.family = from->sa_family;
    result.prefix = result.family == AF_INET ? 32 : 128;
    return result;
}

bool is_link_local(const net_address &of)
{
    return of.family == AF_INET6 && of.bytes[0] == 0xfe && (of.bytes[1] & 0xc0) == 0x80;
}

std::string ip_text(const net_address &of)
{
    char text[INET6_ADDRSTRLEN] = "";
    ::inet_ntop(of.family, of.bytes.data(), text, sizeof(text));
    return text;
}

/** Without a prefix of its own it is all of the address. */
net_address parse_ip(const std::string &text)
{
    net_address result;
    for (const sa_family_t family : {AF_INET, AF_INET6}) {
        if (::inet_pton(family, text.c_str(), result.bytes.data()) == 1) {
            result.family = family;
            result.prefix = family == AF_INET ? 32 : 128;
            return result;
        }
    }
    return result;
}

std::string interface_with(const sockaddr_storage &address)
{
    const net_address wanted = address_from(reinterpret_cast<const sockaddr *>(&address));
    for (const net_device &one : list_net_devices()) {
        const bool all_of_loopback = wanted.loopback() && one.address.loopback();
        if (one.address == wanted || all_of_loopback) {
            return one.interface;
        }
    }
    return "";
}

std::string own_interface(int socket)
{
    sockaddr_storage address = {};
    socklen_t length = sizeof(address);
    if (::getsockname(socket, reinterpret_cast<sockaddr *>(&address), &length) != 0) {
        return "";
    }
    return interface_with(address);
}

} // namespace

bool net_address::loopback() const
{
    return family == AF_INET ? bytes[0] == 127 : family == AF_INET6 && ip_text(*this) == "::1";
}

bool net_address::same_subnet(const net_address &other) const
{
    if (family != other.family || family == AF_UNSPEC) {
        return false;
    }
    for (unsigned bit = 0; bit < prefix && bit < 8 * bytes.size(); bit++) {
        if (((bytes[bit / 8] ^ other.bytes[bit / 8]) & (0x80 >> (bit % 8))) != 0) {
            return false;
        }
    }
    return true;
}

bool net_address::may_reach(const net_address &other) const
{
    return family == other.family && loopback() == other.loopback() &&
           is_link_local(*this) == is_link_local(other);
}

std::string net_address::text() const
{
    return family == AF_UNSPEC ? "" : ip_text(*this) + "/" + std::to_string(prefix);
}

net_address net_address::parse(const std::string &text)
{
    if (text.empty()) {
        return {};
    }
    const size_t slash = std::min(text.find('/'), text.size());
    net_address result = parse_ip(text.substr(0, slash));
    const unsigned longest = result.prefix;
    const char *end = text.data() + text.size();
    const char *from = std::min(text.data() + slash + 1, end);
    const auto [rest, error] = std::from_chars(from, end, result.prefix);
    if (result.family == AF_UNSPEC || error != std::errc() || rest != end ||
        result.prefix > longest) {
        throw tool_error("the peer sent a network address that does not parse");
    }
    return result;
}

std::vector<net_device> list_net_devices()
{
    ifaddrs *raw = nullptr;
    if (::getifaddrs(&raw) != 0) {
        return {};
    }
    const std::unique_ptr<ifaddrs, void (*)(ifaddrs *)> owner(raw, ::freeifaddrs);
    std::vector<net_device> found;
    for (const ifaddrs *entry = raw; entry != nullptr; entry = entry->ifa_next) {
        net_device one;
        one.address = address_from(entry->ifa_addr);
        if (one.address.family == AF_UNSPEC || (entry->ifa_flags & IFF_UP) == 0) {
            continue;
        }
        const std::string label = entry->ifa_name; // of an alias "eth0:1"
        one.interface = label.substr(0, label.find(':'));
        const net_address mask = address_from(entry->ifa_netmask);
        one.address.prefix = 0;
        for (const uint8_t byte : mask.bytes) {
            one.address.prefix += static_cast<unsigned>(std::popcount(byte));
        }
        found.push_back(std::move(one));
    }
    std::stable_sort(found.begin(), found.end(), [](const net_device &a, const net_device &b) {
        const unsigned left = ::if_nametoindex(a.interface.c_str());
        const unsigned right = ::if_nametoindex(b.interface.c_str());
        return left != right ? left < right
                             : a.address.family == AF_INET && b.address.family != AF_INET;
    });
    for (size_t i = 0; i < found.size(); i++) {
        const bool first = i == 0 || found[i - 1].interface != found[i].interface;
        found[i].name =
            first ? found[i].interface : found[i].interface + ":" + ip_text(found[i].address);
    }
    return found;
}

net_address address_of_device(const std::vector<net_device> &all, const std::string &device)
{
    const size_t colon = std::min(device.find(':'), device.size());
    const std::string interface = device.substr(0, colon);
    const std::string text = device.substr(std::min(colon + 1, device.size()));
    const net_address wanted = parse_ip(text);
    for (const net_device &one : all) {
        if (one.interface != interface) {
            continue;
        }
        if (text.empty() || one.address == wanted) {
            return one.address;
        }
        // 127/8 belongs to the loopback interface as a whole, but is listed once.
        if (wanted.family == AF_INET && wanted.loopback() && one.address.same_subnet(wanted)) {
            net_address extra = wanted;
            extra.prefix = one.address.prefix;
            return extra;
        }
    }
    return {};
}

std::string interface_towards(const std::string &host)
{
    addrinfo hints = {};
    hints.ai_socktype = SOCK_DGRAM;
    addrinfo *list = nullptr;
    if (::getaddrinfo(host.c_str(), "9", &hints, &list) != 0) {
        return "";
    }
    const std::unique_ptr<addrinfo, void (*)(addrinfo *)> owner(list, ::freeaddrinfo);
    for (const addrinfo *address = list; address != nullptr; address = address->ai_next) {
        // Connecting a datagram socket only asks for the route: nothing is sent.
        const fd socket(::socket(address->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
        if (socket && ::connect(socket.get(), address->ai_addr, address->ai_addrlen) == 0) {
            return own_interface(socket.get());
        }
    }
    return "";
}

std::string interface_of_socket(int socket)
{
    return own_interface(socket);
}

} // namespace ufx::tools

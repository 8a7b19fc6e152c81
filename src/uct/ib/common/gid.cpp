// SPDX-License-Identifier: BSD-3-Clause
// Ranks GID table entries.
#include "gid.h"

#include <algorithm>
#include <arpa/inet.h>
#include <string_view>
#include <utility>

namespace ufx::uct::ib {

namespace {

// Smaller is better.
enum class rank : uint8_t {
    netdev_routable,
    routable,
    netdev_private,
    netdev_degraded,
    private_address,
    degraded,
    last_resort, // RoCE v1
    unusable,
};

uint8_t byte_at(const gid_entry &entry, size_t at)
{
    return std::to_integer<uint8_t>(entry.gid[at]);
}

bool is_null(const gid_entry &entry)
{
    // The lower half alone is zero too if the port has no address: only a prefix is left.
    return std::all_of(entry.gid.begin() + 8, entry.gid.end(),
                       [](std::byte one) { return one == std::byte{0}; });
}

bool is_mapped_ipv4(const std::array<std::byte, 16> &gid)
{
    const bool zeros = std::all_of(gid.begin(), gid.begin() + 10,
                                   [](std::byte one) { return one == std::byte{0}; });
    return zeros && gid[10] == std::byte{0xff} && gid[11] == std::byte{0xff};
}

bool is_private_ipv4(const gid_entry &entry)
{
    const uint8_t first = byte_at(entry, 12);
    const uint8_t second = byte_at(entry, 13);
    return is_mapped_ipv4(entry.gid) &&
           (first == 10 || (first == 172 && (second & 0xf0) == 16) ||
            (first == 192 && second == 168) || (first == 100 && (second & 0xc0) == 64));
}

bool is_link_local(const gid_entry &entry)
{
    return byte_at(entry, 0) == 0xfe && (byte_at(entry, 1) & 0xc0) == 0x80;
}

bool is_overlay(std::string_view netdev)
{
    static constexpr std::string_view prefixes[] = {"flannel", "cni", "calico", "vxlan", "docker"};
    return netdev == "tunl0" ||
           std::any_of(std::begin(prefixes), std::end(prefixes),
                       [netdev](std::string_view prefix) { return netdev.starts_with(prefix); });
}

rank rank_of(const gid_entry &entry)
{
    const bool netdev = !entry.netdev.empty();
    if (is_null(entry)) {
        return rank::unusable;
    }
    if (entry.type == gid_type::roce_v1) {
        return rank::last_resort;
    }
    if (entry.type == gid_type::infiniband) {
        return rank::netdev_routable; // a subnet's own prefix is as good as any
    }
    if (is_link_local(entry) || is_overlay(entry.netdev)) {
        return netdev ? rank::netdev_degraded : rank::degraded;
    }
    if (is_private_ipv4(entry)) {
        return netdev ? rank::netdev_private : rank::private_address;
    }
    return netdev ? rank::netdev_routable : rank::routable;
}

} // namespace

std::vector<unsigned> rank_gids(std::span<const gid_entry> table)
{
    std::vector<std::pair<rank, unsigned>> ranked;
    for (const gid_entry &entry : table) {
        if (rank_of(entry) != rank::unusable) {
            ranked.emplace_back(rank_of(entry), entry.index);
        }
    }
    std::sort(ranked.begin(), ranked.end());
    std::vector<unsigned> indices;
    for (const auto &[how, index] : ranked) {
        if (how != rank::last_resort || ranked.front().first == rank::last_resort) {
            indices.push_back(index);
        }
    }
    return indices;
}

std::array<char, 48> gid_text(const std::array<std::byte, 16> &gid) noexcept
{
    std::array<char, 48> text{};
    static_assert(text.size() >= INET6_ADDRSTRLEN);
    if (is_mapped_ipv4(gid)) {
        ::inet_ntop(AF_INET, gid.data() + 12, text.data(), text.size());
    } else {
        ::inet_ntop(AF_INET6, gid.data(), text.data(), text.size());
    }
    return text;
}

} // namespace ufx::uct::ib

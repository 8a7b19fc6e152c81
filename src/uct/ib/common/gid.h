// SPDX-License-Identifier: BSD-3-Clause
// Which entry of a port's GID table a connection uses.
#ifndef UFX_UCT_IB_COMMON_GID_H
#define UFX_UCT_IB_COMMON_GID_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ufx::uct::ib {

enum class gid_type : uint8_t { infiniband, roce_v1, roce_v2 };

struct gid_entry {
    unsigned index;
    gid_type type;
    std::array<std::byte, 16> gid;
    std::string netdev; // empty: the kernel names none

    // Names the same address of the port.
    [[nodiscard]] bool is_same_as(const gid_entry &other) const noexcept
    {
        return index == other.index && gid == other.gid;
    }

    bool operator==(const gid_entry &) const = default;
};

// Indices from the best to the worst; those that must never be used (a null GID, and RoCE v1 while
// there is another one) are left out. Order: with a netdev and routable; routable; netdev and
// private IPv4; netdev and degraded (an overlay's netdev, or link-local); private IPv4; degraded.
// Ties go to the lowest index.
[[nodiscard]] std::vector<unsigned> rank_gids(std::span<const gid_entry> table);

// For logs: IPv4 if it is one that is mapped, else IPv6.
[[nodiscard]] std::array<char, 48> gid_text(const std::array<std::byte, 16> &gid) noexcept;

} // namespace ufx::uct::ib

#endif

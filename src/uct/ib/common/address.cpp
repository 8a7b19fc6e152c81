// SPDX-License-Identifier: BSD-3-Clause
// Little-endian layouts of the addresses.
#include "address.h"

#include "psn.h"

#include "ucs/bytes.h"

#include <cstring>

namespace ufx::uct::ib {

namespace {

constexpr uint8_t ethernet_flag = 1;
constexpr uint8_t mtu_shift_min = 8;  // 256
constexpr uint8_t mtu_shift_max = 12; // 4096

// Offsets.
constexpr size_t port_flags = 0;
constexpr size_t port_mtu = 1;
constexpr size_t port_lid = 2;
constexpr size_t port_gid = 8;
constexpr size_t qp_qpn = 0;
constexpr size_t qp_psn = 4;
constexpr size_t qp_flush_addr = 8;
constexpr size_t qp_flush_rkey = 16;
constexpr size_t qp_max_reads = 20;
constexpr size_t qp_tag = 24;
constexpr size_t qp_seg_size = 32;

} // namespace

void pack(const port_address &address, void *to) noexcept
{
    auto *bytes = static_cast<std::byte *>(to);
    std::memset(bytes, 0, port_address::packed_size);
    bytes[port_flags] = std::byte{address.ethernet ? ethernet_flag : uint8_t{0}};
    bytes[port_mtu] = std::byte{address.mtu_shift};
    ucs::store_le16(bytes + port_lid, address.lid);
    std::memcpy(bytes + port_gid, address.gid.data(), address.gid.size());
}

void pack(const qp_address &address, void *to) noexcept
{
    auto *bytes = static_cast<std::byte *>(to);
    ucs::store_le32(bytes + qp_qpn, address.qpn);
    ucs::store_le32(bytes + qp_psn, address.psn);
    ucs::store_le64(bytes + qp_flush_addr, address.flush_addr);
    ucs::store_le32(bytes + qp_flush_rkey, address.flush_rkey);
    ucs::store_le32(bytes + qp_max_reads, address.max_reads);
    ucs::store_le64(bytes + qp_tag, address.tag);
    ucs::store_le32(bytes + qp_seg_size, address.seg_size);
}

std::optional<port_address> unpack_port(const void *from) noexcept
{
    const auto *bytes = static_cast<const std::byte *>(from);
    port_address address{};
    const auto flags = std::to_integer<uint8_t>(bytes[port_flags]);
    address.ethernet = (flags & ethernet_flag) != 0;
    address.mtu_shift = std::to_integer<uint8_t>(bytes[port_mtu]);
    address.lid = ucs::load_le16(bytes + port_lid);
    std::memcpy(address.gid.data(), bytes + port_gid, address.gid.size());
    if ((flags & ~ethernet_flag) != 0 || address.mtu_shift < mtu_shift_min ||
        address.mtu_shift > mtu_shift_max) {
        return std::nullopt;
    }
    return address;
}

std::optional<qp_address> unpack_qp(const void *from) noexcept
{
    const auto *bytes = static_cast<const std::byte *>(from);
    const qp_address address{.tag = ucs::load_le64(bytes + qp_tag),
                             .qpn = ucs::load_le32(bytes + qp_qpn),
                             .psn = ucs::load_le32(bytes + qp_psn),
                             .flush_addr = ucs::load_le64(bytes + qp_flush_addr),
                             .flush_rkey = ucs::load_le32(bytes + qp_flush_rkey),
                             .max_reads = ucs::load_le32(bytes + qp_max_reads),
                             .seg_size = ucs::load_le32(bytes + qp_seg_size)};
    if (address.qpn > psn_mask || address.psn > psn_mask || address.max_reads == 0 ||
        address.max_reads > UINT8_MAX) {
        return std::nullopt;
    }
    return address;
}

} // namespace ufx::uct::ib

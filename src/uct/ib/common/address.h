// SPDX-License-Identifier: BSD-3-Clause
// What two sides tell each other to connect: the port's address, and the queue pair's.
#ifndef UFX_UCT_IB_COMMON_ADDRESS_H
#define UFX_UCT_IB_COMMON_ADDRESS_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace ufx::uct::ib {

struct port_address {
    static constexpr size_t packed_size = 24;

    bool ethernet;
    uint8_t mtu_shift; // of the port's active MTU
    uint16_t lid;      // InfiniBand only
    std::array<std::byte, 16> gid;
};

struct qp_address {
    static constexpr size_t packed_size = 36;

    uint64_t tag; // random: what tokens call the connection
    uint32_t qpn;
    uint32_t psn;        // of its first packet
    uint64_t flush_addr; // some bytes that a flush may read
    uint32_t flush_rkey;
    uint32_t max_reads; // that its responder takes at a time
    uint32_t seg_size;  // of its receive buffers, without the transport's header
};

void pack(const port_address &address, void *to) noexcept;
void pack(const qp_address &address, void *to) noexcept;

// From a peer's bytes; nothing if they cannot be such an address.
[[nodiscard]] std::optional<port_address> unpack_port(const void *from) noexcept;
[[nodiscard]] std::optional<qp_address> unpack_qp(const void *from) noexcept;

} // namespace ufx::uct::ib

#endif

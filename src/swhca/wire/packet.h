// SPDX-License-Identifier: BSD-3-Clause
// What travels between two devices: the transport headers of one packet, and the arithmetic of
// PSNs.
#ifndef UFX_SWHCA_WIRE_PACKET_H
#define UFX_SWHCA_WIRE_PACKET_H

#include <cstdint>

namespace ufx::swhca {

// IBA 1.4, table 38, with FIRST/MIDDLE/LAST/ONLY taken apart into packet::first and packet::last.
enum class packet_kind : uint8_t {
    SEND,
    WRITE,
    READ_REQUEST,
    READ_RESPONSE,
    ATOMIC_CS,
    ATOMIC_FA,
    ATOMIC_RESPONSE,
    ACK, // or NAK: see packet::syndrome
    DATAGRAM,
};

// Requests go from the requester to the responder, all else comes back.
[[nodiscard]] constexpr bool is_request(packet_kind kind) noexcept
{
    return kind == packet_kind::SEND || kind == packet_kind::WRITE ||
           kind == packet_kind::READ_REQUEST || kind == packet_kind::ATOMIC_CS ||
           kind == packet_kind::ATOMIC_FA || kind == packet_kind::DATAGRAM;
}

// AETH syndromes, IBA 1.4, tables 46 and 47. RNR_NAK carries the timer in its low five bits.
enum aeth_syndrome : uint8_t {
    AETH_ACK = 0x1f, // without credits
    AETH_RNR_NAK = 0x20,
    AETH_NAK_SEQUENCE = 0x60,
    AETH_NAK_INVALID_REQUEST = 0x61,
    AETH_NAK_REMOTE_ACCESS = 0x62,
    AETH_NAK_REMOTE_OPERATION = 0x63,
};

[[nodiscard]] constexpr bool is_rnr(uint8_t syndrome) noexcept
{
    return (syndrome & 0xe0) == AETH_RNR_NAK;
}

[[nodiscard]] constexpr bool is_nak(uint8_t syndrome) noexcept
{
    return (syndrome & 0xe0) == 0x60;
}

struct gid {
    uint8_t raw[16];

    friend bool operator==(const gid &, const gid &) = default;
};

// Of a compare-and-swap or a fetch-and-add, masked or not. Words of 4 bytes have the low halves.
struct atomic_operands {
    uint8_t bytes; // 8, or 4 of an extended atomic
    uint64_t swap_add;
    uint64_t compare;
    uint64_t swap_mask;    // bits that are swapped; all, if it is not masked
    uint64_t compare_mask; // bits that are compared; all, if it is not masked
    uint64_t boundary;     // the highest bits of fields that are added each for itself
};

struct packet {
    packet_kind kind;
    bool first;
    bool last;
    bool ack_request;
    bool solicited;
    bool has_imm;
    uint8_t syndrome; // of an ACK
    uint8_t src_hca;
    uint8_t dst_hca;
    uint8_t sl;
    uint16_t pkey;
    uint32_t dst_qpn;
    uint32_t
        src_qpn; // of a datagram; a connected packet has none on the wire, so it is not checked
    uint32_t psn;
    uint32_t packets; // PSNs that it covers: 1, or more when a burst travels as one
    uint32_t length;  // bytes of payload
    uint32_t imm;     // as it is in the WQE, big-endian
    uint32_t rkey;
    uint32_t dma_length;
    uint32_t qkey;
    uint64_t va;
    atomic_operands atomic;
    gid sgid; // of a datagram with a global route
    gid dgid;
    uint8_t traffic_class;
    uint8_t hop_limit;
    uint32_t flow_label;
    uint16_t slid;
    bool global;
};

inline constexpr uint32_t psn_mask = 0xffffff;

[[nodiscard]] constexpr uint32_t psn_add(uint32_t psn, uint32_t count) noexcept
{
    return (psn + count) & psn_mask;
}

// Distance from `from` to `to`, negative if `to` is in the half of the circle behind it.
[[nodiscard]] constexpr int32_t psn_diff(uint32_t to, uint32_t from) noexcept
{
    return static_cast<int32_t>((to - from) << 8) >> 8;
}

// Packets of a message of `length` bytes; an empty one takes one.
[[nodiscard]] constexpr uint32_t packets_of(uint64_t length, uint32_t mtu) noexcept
{
    return length == 0 ? 1 : static_cast<uint32_t>((length + mtu - 1) / mtu);
}

} // namespace ufx::swhca

#endif

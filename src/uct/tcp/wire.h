// SPDX-License-Identifier: BSD-3-Clause
// The bytes of the tcp transport on the wire: the hello of a connection and its frames.
//
// A connection starts with one hello in each direction; after that each direction is a run of
// frames: a header, an extension whose size the type fixes, `length` bytes of payload, and zeros up
// to a multiple of 8, so that payloads lie aligned in a receive buffer. Everything is
// little-endian.
#ifndef UFX_UCT_TCP_WIRE_H
#define UFX_UCT_TCP_WIRE_H

#include "ucs/bytes.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace ufx::uct::tcp::wire {

// ---- Hello -----------------------------------------------------------------------------------

inline constexpr uint64_t hello_magic = 0x3130504354584655; // "UFXTCP01"
inline constexpr uint16_t hello_version = 2;

enum class hello_kind : uint16_t {
    hello = 1,   // the connecting side: names both eps
    welcome = 2, // the listening side: frames may follow
    refusal = 3, // the listening side: `reason` says why, then it closes
};

enum class refusal : uint32_t {
    none = 0,
    version = 1,      // the versions do not match
    no_such_ep = 2,   // no ep has that connection id
    wrong_peer = 3,   // the ep with that id was told another peer
    already_used = 4, // the ep with that id has or had its connection
    not_in_time = 5,  // the ep with that id was not connected from its side in time
    // 6 was given once
    am_max = 7, // the longest am of the two sides differs
};

[[nodiscard]] const char *refusal_text(refusal reason) noexcept;

// Names one ep for the life of a connection.
struct conn_id {
    uint64_t id = 0;
    uint64_t nonce = 0;

    bool operator==(const conn_id &) const = default;
};

// The side whose pair is smaller connects, so that one ep pair makes one connection.
[[nodiscard]] inline bool connects(const conn_id &own, const conn_id &peer) noexcept
{
    return own.nonce != peer.nonce ? own.nonce < peer.nonce : own.id < peer.id;
}

struct hello {
    uint16_t version = hello_version;
    hello_kind kind = hello_kind::hello;
    refusal reason = refusal::none; // of a refusal
    uint32_t am_max = 0;            // of a hello: the longest am that its side sends and takes
    conn_id from;
    conn_id to;
};

// magic 8, version 2, kind 2, reason or am_max 4, from 16, to 16
inline constexpr size_t hello_size = 48;

void encode(const hello &from, std::span<std::byte, hello_size> to) noexcept;

// Nothing if the magic or the kind is wrong; a foreign version is left to the caller.
[[nodiscard]] std::optional<hello>
decode_hello(std::span<const std::byte, hello_size> from) noexcept;

// ---- Frames ----------------------------------------------------------------------------------

enum class frame_type : uint8_t {
    // Frames that carry an op: counted, acknowledged, in the order of their sequence numbers.
    am = 1, // aux: am id
    put = 2,
    get = 3,
    atomic = 4, // aux: 1 if an atomic_reply is wanted
    check = 5,

    // Answers: not counted. `seq` is that of the op they answer.
    ack = 16,      // only the ack field matters
    get_data = 17, // all the bytes of one get
    atomic_reply = 18,
    error = 19, // the op `seq` was refused; nothing after it is applied
};

struct header {
    frame_type type = frame_type::ack;
    uint8_t aux = 0;
    uint32_t length = 0; // payload bytes behind the extension
    uint32_t seq = 0;    // low half of the op's number, from 0
    uint32_t ack = 0;    // low half of how many of the receiver's ops were applied here
};

inline constexpr size_t header_size = 16; // type 1, aux 1, zero 2, length 4, seq 4, ack 4
inline constexpr size_t ack_offset = 12;
inline constexpr size_t key_size = 16;                       // slot 4, generation 4, secret 8
inline constexpr size_t put_ext_size = 8 + key_size;         // address
inline constexpr size_t get_ext_size = 8 + key_size + 8;     // address, length
inline constexpr size_t atomic_ext_size = 8 + key_size + 24; // address, op 1, size 1, 0, 2 x 8
inline constexpr size_t reply_ext_size = 8;
inline constexpr size_t error_ext_size = 8; // status 4, zero 4
inline constexpr size_t max_ext_size = atomic_ext_size;

[[nodiscard]] constexpr size_t padding(size_t length) noexcept
{
    return -length & 7;
}

// Longest payload that `length` may announce.
inline constexpr uint32_t max_payload = 1u << 30;

// What a remote key says about the memory it opens.
struct remote_key {
    uint32_t slot = 0;
    uint32_t generation = 0;
    uint64_t secret = 0;
};

struct put_ext {
    uint64_t address = 0;
    remote_key key;
};

struct get_ext {
    uint64_t address = 0;
    remote_key key;
    uint64_t length = 0;
};

struct atomic_ext {
    uint64_t address = 0;
    remote_key key;
    uint8_t op = 0;   // ufx_uct_atomic_op_t
    uint8_t size = 0; // 4 or 8
    uint64_t operand = 0;
    uint64_t compare = 0;
};

// Size of the extension of a type; nothing for a type that does not exist.
[[nodiscard]] std::optional<size_t> ext_size(uint8_t type) noexcept;

void encode(const header &from, std::byte *to) noexcept;

// Nothing if the type is unknown, a reserved byte is set or a length is beyond its type's limit.
[[nodiscard]] std::optional<header>
decode_header(std::span<const std::byte, header_size> from) noexcept;

void encode(const remote_key &from, std::byte *to) noexcept;
[[nodiscard]] remote_key decode_key(ucs::byte_reader &from) noexcept;

void encode(const put_ext &from, std::byte *to) noexcept;
void encode(const get_ext &from, std::byte *to) noexcept;
void encode(const atomic_ext &from, std::byte *to) noexcept;

// `from` holds exactly the extension of that type. Nothing if a value is out of range.
[[nodiscard]] put_ext decode_put(std::span<const std::byte> from) noexcept;
[[nodiscard]] std::optional<get_ext> decode_get(std::span<const std::byte> from) noexcept;
[[nodiscard]] std::optional<atomic_ext> decode_atomic(std::span<const std::byte> from) noexcept;

// ---- Tokens ----------------------------------------------------------------------------------

// tx token: the conn_id of the ep. rx token: what was applied for that ep's peer.
struct rx_position {
    uint64_t applied = 0; // frames that carry an op
    uint64_t partial = 0; // payload bytes of the next one, a put, already in target memory
};

inline constexpr size_t token_size = 16;

void encode(const conn_id &from, std::byte *to) noexcept;
void encode(const rx_position &from, std::byte *to) noexcept;
[[nodiscard]] std::optional<conn_id> decode_conn_id(std::span<const std::byte> from) noexcept;
[[nodiscard]] std::optional<rx_position> decode_position(std::span<const std::byte> from) noexcept;

} // namespace ufx::uct::tcp::wire

#endif

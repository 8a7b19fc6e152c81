// SPDX-License-Identifier: BSD-3-Clause
// Encoding of the tcp transport's wire bytes, and the checked decoding of what a peer sent.
#include "wire.h"

#include <ufx/uct_types.h>

namespace ufx::uct::tcp::wire {

namespace {

void put_key(ucs::byte_writer &to, const remote_key &key) noexcept
{
    to.le32(key.slot);
    to.le32(key.generation);
    to.le64(key.secret);
}

} // namespace

const char *refusal_text(refusal reason) noexcept
{
    switch (reason) {
    case refusal::none:
        return "no reason";
    case refusal::version:
        return "the peer speaks another version of the tcp transport";
    case refusal::no_such_ep:
        return "the peer has no ep with that connection id";
    case refusal::wrong_peer:
        return "the peer's ep is to be connected to another ep";
    case refusal::already_used:
        return "the peer's ep has or had its connection";
    case refusal::not_in_time:
        return "the peer's ep was not connected from its side in time";
    case refusal::am_max:
        return "the longest active message differs: UFX_TCP_AM_MAX must be the same on both sides";
    }
    return "an unknown reason";
}

void encode(const hello &from, std::span<std::byte, hello_size> to) noexcept
{
    ucs::byte_writer writer(to);
    writer.le64(hello_magic);
    writer.le16(from.version);
    writer.le16(static_cast<uint16_t>(from.kind));
    writer.le32(from.kind == hello_kind::refusal ? static_cast<uint32_t>(from.reason)
                                                 : from.am_max);
    writer.le64(from.from.id);
    writer.le64(from.from.nonce);
    writer.le64(from.to.id);
    writer.le64(from.to.nonce);
}

std::optional<hello> decode_hello(std::span<const std::byte, hello_size> from) noexcept
{
    ucs::byte_reader reader(from);
    uint64_t magic = reader.le64();
    hello out;
    out.version = reader.le16();
    uint16_t kind = reader.le16();
    uint32_t reason_or_am_max = reader.le32();
    out.from.id = reader.le64();
    out.from.nonce = reader.le64();
    out.to.id = reader.le64();
    out.to.nonce = reader.le64();
    if (magic != hello_magic || kind < static_cast<uint16_t>(hello_kind::hello) ||
        kind > static_cast<uint16_t>(hello_kind::refusal)) {
        return std::nullopt;
    }
    out.kind = static_cast<hello_kind>(kind);
    if (out.kind == hello_kind::refusal) {
        out.reason = static_cast<refusal>(reason_or_am_max);
    } else {
        out.am_max = reason_or_am_max;
    }
    return out;
}

std::optional<size_t> ext_size(uint8_t type) noexcept
{
    switch (static_cast<frame_type>(type)) {
    case frame_type::am:
    case frame_type::check:
    case frame_type::ack:
    case frame_type::get_data:
        return 0;
    case frame_type::put:
        return put_ext_size;
    case frame_type::get:
        return get_ext_size;
    case frame_type::atomic:
        return atomic_ext_size;
    case frame_type::atomic_reply:
        return reply_ext_size;
    case frame_type::error:
        return error_ext_size;
    }
    return std::nullopt;
}

void encode(const header &from, std::byte *to) noexcept
{
    ucs::store_le16(to, static_cast<uint16_t>(static_cast<unsigned>(from.type) |
                                              static_cast<unsigned>(from.aux) << 8));
    ucs::store_le16(to + 2, 0);
    ucs::store_le32(to + 4, from.length);
    ucs::store_le32(to + 8, from.seq);
    ucs::store_le32(to + ack_offset, from.ack);
}

std::optional<header> decode_header(std::span<const std::byte, header_size> from) noexcept
{
    ucs::byte_reader reader(from);
    uint8_t type = reader.u8();
    header out;
    out.aux = reader.u8();
    uint16_t reserved = reader.le16();
    out.length = reader.le32();
    out.seq = reader.le32();
    out.ack = reader.le32();
    if (reserved != 0 || !ext_size(type)) {
        return std::nullopt;
    }
    out.type = static_cast<frame_type>(type);
    bool with_payload = out.type == frame_type::am || out.type == frame_type::put ||
                        out.type == frame_type::get_data;
    if (out.length > (with_payload ? max_payload : 0) ||
        (out.type == frame_type::am && out.aux >= UFX_UCT_AM_ID_MAX)) {
        return std::nullopt;
    }
    return out;
}

void encode(const remote_key &from, std::byte *to) noexcept
{
    ucs::byte_writer writer(to, key_size);
    put_key(writer, from);
}

remote_key decode_key(ucs::byte_reader &from) noexcept
{
    remote_key key;
    key.slot = from.le32();
    key.generation = from.le32();
    key.secret = from.le64();
    return key;
}

void encode(const put_ext &from, std::byte *to) noexcept
{
    ucs::byte_writer writer(to, put_ext_size);
    writer.le64(from.address);
    put_key(writer, from.key);
}

void encode(const get_ext &from, std::byte *to) noexcept
{
    ucs::byte_writer writer(to, get_ext_size);
    writer.le64(from.address);
    put_key(writer, from.key);
    writer.le64(from.length);
}

void encode(const atomic_ext &from, std::byte *to) noexcept
{
    ucs::byte_writer writer(to, atomic_ext_size);
    writer.le64(from.address);
    put_key(writer, from.key);
    writer.u8(from.op);
    writer.u8(from.size);
    writer.le16(0);
    writer.le32(0);
    writer.le64(from.operand);
    writer.le64(from.compare);
}

put_ext decode_put(std::span<const std::byte> from) noexcept
{
    ucs::byte_reader reader(from);
    put_ext out;
    out.address = reader.le64();
    out.key = decode_key(reader);
    return out;
}

std::optional<get_ext> decode_get(std::span<const std::byte> from) noexcept
{
    ucs::byte_reader reader(from);
    get_ext out;
    out.address = reader.le64();
    out.key = decode_key(reader);
    out.length = reader.le64();
    if (!reader.at_end() || out.length > max_payload) {
        return std::nullopt;
    }
    return out;
}

std::optional<atomic_ext> decode_atomic(std::span<const std::byte> from) noexcept
{
    ucs::byte_reader reader(from);
    atomic_ext out;
    out.address = reader.le64();
    out.key = decode_key(reader);
    out.op = reader.u8();
    out.size = reader.u8();
    (void)reader.le16();
    (void)reader.le32();
    out.operand = reader.le64();
    out.compare = reader.le64();
    if (!reader.at_end() || out.op > UFX_UCT_ATOMIC_CSWAP || (out.size != 4 && out.size != 8)) {
        return std::nullopt;
    }
    return out;
}

void encode(const conn_id &from, std::byte *to) noexcept
{
    ucs::store_le64(to, from.id);
    ucs::store_le64(to + 8, from.nonce);
}

void encode(const rx_position &from, std::byte *to) noexcept
{
    ucs::store_le64(to, from.applied);
    ucs::store_le64(to + 8, from.partial);
}

std::optional<conn_id> decode_conn_id(std::span<const std::byte> from) noexcept
{
    if (from.size() != token_size) {
        return std::nullopt;
    }
    return conn_id{ucs::load_le64(from.data()), ucs::load_le64(from.data() + 8)};
}

std::optional<rx_position> decode_position(std::span<const std::byte> from) noexcept
{
    if (from.size() != token_size) {
        return std::nullopt;
    }
    return rx_position{ucs::load_le64(from.data()), ucs::load_le64(from.data() + 8)};
}

} // namespace ufx::uct::tcp::wire

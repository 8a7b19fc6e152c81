// SPDX-License-Identifier: BSD-3-Clause
// Encoding and checked decoding of data-path frames.
#include "ucp/am_wire.h"

namespace ufx::ucp {

void encode(const am_header &header, std::byte *to) noexcept
{
    to[0] = static_cast<std::byte>(header.type);
    to[1] = static_cast<std::byte>(header.flags);
    ucs::store_le16(to + 2, header.rail);
    ucs::store_le32(to + 4, header.epoch);
    ucs::store_le64(to + 8, header.dst_ep);
    ucs::store_le64(to + 16, header.number);
    ucs::store_le64(to + 24, header.ack);
    ucs::store_le32(to + 32, header.index);
    ucs::store_le32(to + 36, header.count);
    ucs::store_le64(to + 40, header.total);
    ucs::store_le64(to + 48, header.offset);
    ucs::store_le16(to + 56, header.id);
    ucs::store_le16(to + 58, header.user_header);
    ucs::store_le32(to + 60, 0);
}

namespace {

bool is_sane(const am_header &h, std::size_t payload) noexcept
{
    if (h.type >= am_type::COUNT) {
        return false;
    }
    if (h.type == am_type::ACK) {
        return payload == 0;
    }
    if (h.count == 0 || h.count > max_am_fragments || h.index >= h.count || h.number < h.index) {
        return false;
    }
    if (h.type == am_type::SKIP) {
        return payload == 0;
    }
    if (h.total > max_am_stream || h.offset > h.total || payload > h.total - h.offset) {
        return false;
    }
    // Only an empty stream has an empty fragment, so that range sets tell the end.
    return h.user_header <= max_user_header && h.user_header <= h.total &&
           (payload != 0 || (h.total == 0 && h.count == 1));
}

} // namespace

bool decode(std::span<const std::byte> frame, am_header &header,
            std::span<const std::byte> &payload) noexcept
{
    if (frame.size() < am_header_size) {
        return false;
    }
    const std::byte *from = frame.data();
    am_header h;
    h.type = static_cast<am_type>(from[0]);
    h.flags = static_cast<std::uint8_t>(from[1]);
    h.rail = ucs::load_le16(from + 2);
    h.epoch = ucs::load_le32(from + 4);
    h.dst_ep = ucs::load_le64(from + 8);
    h.number = ucs::load_le64(from + 16);
    h.ack = ucs::load_le64(from + 24);
    h.index = ucs::load_le32(from + 32);
    h.count = ucs::load_le32(from + 36);
    h.total = ucs::load_le64(from + 40);
    h.offset = ucs::load_le64(from + 48);
    h.id = ucs::load_le16(from + 56);
    h.user_header = ucs::load_le16(from + 58);
    const std::span<const std::byte> rest = frame.subspan(am_header_size);
    if (!is_sane(h, rest.size())) {
        return false;
    }
    header = h;
    payload = rest;
    return true;
}

void encode(const rts_body &body, std::byte *to) noexcept
{
    ucs::byte_writer out(to, rts_fixed_size + body.rkey.size());
    out.le64(body.request);
    out.le64(body.address);
    out.le64(body.length);
    out.bytes(body.rkey);
}

bool decode(std::span<const std::byte> bytes, rts_body &body) noexcept
{
    ucs::byte_reader in(bytes);
    rts_body b;
    b.request = in.le64();
    b.address = in.le64();
    b.length = in.le64();
    b.rkey = in.rest();
    if (!in.ok()) {
        return false;
    }
    body = b;
    return true;
}

void encode(const ats_body &body, std::byte *to) noexcept
{
    ucs::byte_writer out(to, ats_size);
    out.le64(body.request);
    out.le32(static_cast<std::uint32_t>(body.status));
}

bool decode(std::span<const std::byte> bytes, ats_body &body) noexcept
{
    ucs::byte_reader in(bytes);
    ats_body b;
    b.request = in.le64();
    b.status = static_cast<std::int32_t>(in.le32());
    if (!in.at_end()) {
        return false;
    }
    body = b;
    return true;
}

void encode(const atomic_req_body &body, std::byte *to) noexcept
{
    ucs::byte_writer out(to, atomic_req_size);
    out.le64(body.request);
    out.le64(body.memory);
    out.le64(body.address);
    out.le64(body.operand);
    out.le64(body.compare);
    out.u8(body.op);
    out.u8(body.size);
}

bool decode(std::span<const std::byte> bytes, atomic_req_body &body) noexcept
{
    ucs::byte_reader in(bytes);
    atomic_req_body b;
    b.request = in.le64();
    b.memory = in.le64();
    b.address = in.le64();
    b.operand = in.le64();
    b.compare = in.le64();
    b.op = in.u8();
    b.size = in.u8();
    if (!in.at_end()) {
        return false;
    }
    body = b;
    return true;
}

void encode(const atomic_rep_body &body, std::byte *to) noexcept
{
    ucs::byte_writer out(to, atomic_rep_size);
    out.le64(body.request);
    out.le64(body.value);
    out.le32(static_cast<std::uint32_t>(body.status));
}

bool decode(std::span<const std::byte> bytes, atomic_rep_body &body) noexcept
{
    ucs::byte_reader in(bytes);
    atomic_rep_body b;
    b.request = in.le64();
    b.value = in.le64();
    b.status = static_cast<std::int32_t>(in.le32());
    if (!in.at_end()) {
        return false;
    }
    body = b;
    return true;
}

} // namespace ufx::ucp

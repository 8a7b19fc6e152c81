// SPDX-License-Identifier: BSD-3-Clause
// Encoding and checked decoding of data-path frames.
#include "ucp/am_wire.h"

namespace ufx::ucp {

void encode(const am_header &header, std::byte *to) noexcept
{
    ucs::byte_writer out(to, am_header_size);
    out.u8(static_cast<std::uint8_t>(header.type));
    out.u8(header.flags);
    out.le16(header.rail);
    out.le32(header.epoch);
    out.le64(header.dst_ep);
    out.le64(header.number);
    out.le64(header.ack);
    out.le32(header.index);
    out.le32(header.count);
    out.le64(header.total);
    out.le64(header.offset);
    out.le16(header.id);
    out.le16(header.user_header);
    out.le32(0);
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
    ucs::byte_reader in(frame);
    am_header h;
    h.type = static_cast<am_type>(in.u8());
    h.flags = in.u8();
    h.rail = in.le16();
    h.epoch = in.le32();
    h.dst_ep = in.le64();
    h.number = in.le64();
    h.ack = in.le64();
    h.index = in.le32();
    h.count = in.le32();
    h.total = in.le64();
    h.offset = in.le64();
    h.id = in.le16();
    h.user_header = in.le16();
    (void)in.le32();
    if (!in.ok() || !is_sane(h, in.remaining())) {
        return false;
    }
    header = h;
    payload = in.rest();
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

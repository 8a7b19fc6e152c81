// SPDX-License-Identifier: BSD-3-Clause
// Making frames from op records, and the cursor over them.
#include "tx_stream.h"

#include "md.h"

#include <algorithm>

namespace ufx::uct::tcp {

namespace {

wire::frame_type type_of(const op_record &record) noexcept
{
    switch (record.kind) {
    case UFX_UCT_OP_AM:
        return wire::frame_type::am;
    case UFX_UCT_OP_PUT:
        return wire::frame_type::put;
    case UFX_UCT_OP_GET:
        return wire::frame_type::get;
    case UFX_UCT_OP_CHECK:
        return wire::frame_type::check;
    default:
        return wire::frame_type::atomic;
    }
}

size_t ext_bytes(const op_record &record) noexcept
{
    switch (type_of(record)) {
    case wire::frame_type::put:
        return wire::put_ext_size;
    case wire::frame_type::get:
        return wire::get_ext_size;
    case wire::frame_type::atomic:
        return wire::atomic_ext_size;
    default:
        return 0;
    }
}

uint8_t aux_of(const op_record &record) noexcept
{
    if (record.kind == UFX_UCT_OP_AM) {
        return record.am_id;
    }
    return record.kind == UFX_UCT_OP_ATOMIC_FETCH ? 1 : 0;
}

} // namespace

size_t tx_stream::wire_bytes(const op_record &record) noexcept
{
    size_t payload = payload_bytes(record);
    return wire::header_size + ext_bytes(record) + payload + wire::padding(payload);
}

void tx_stream::stage_head(batch &to, const op_record &record, uint32_t ack) noexcept
{
    wire::header head;
    head.type = type_of(record);
    head.aux = aux_of(record);
    head.length = static_cast<uint32_t>(payload_bytes(record));
    head.seq = static_cast<uint32_t>(record.transport[0]);
    head.ack = ack;
    std::byte *at = to.stage(wire::header_size + ext_bytes(record));
    wire::encode(head, at);
    at += wire::header_size;
    switch (head.type) {
    case wire::frame_type::put:
        wire::encode(wire::put_ext{record.remote_addr, key_of(record.rkey)}, at);
        break;
    case wire::frame_type::get:
        wire::encode(wire::get_ext{record.remote_addr, key_of(record.rkey), record.length}, at);
        break;
    case wire::frame_type::atomic:
        wire::encode(wire::atomic_ext{record.remote_addr, key_of(record.rkey), record.atomic_op,
                                      record.atomic_size, record.atomic.operand,
                                      record.atomic.compare},
                     at);
        break;
    default:
        break;
    }
}

bool tx_stream::add_frame(batch &to, const op_record &record, uint32_t ack) noexcept
{
    // Head, am header, padding and a short payload of ours are staged.
    size_t payload = payload_bytes(record);
    bool zcopy = record.form == UFX_UCT_FORM_ZCOPY && record.kind != UFX_UCT_OP_GET;
    size_t pieces = zcopy ? record.iov_count + 3 : 3;
    size_t staged = wire::header_size + wire::max_ext_size + record.header_length + 8 +
                    (zcopy ? 0 : batch::copy_limit);
    if (!to.has_room(pieces, staged)) {
        return false;
    }
    stage_head(to, record, ack);
    if (payload == 0) {
        return true;
    }
    if (!zcopy) {
        to.add(record.data(), payload);
    } else {
        to.add(record.data(), record.header_length);
        const ufx_uct_iov_t *iov = record.iov();
        for (uint32_t i = 0; i < record.iov_count; i++) {
            to.refer(iov[i].buffer, iov[i].length);
        }
    }
    to.pad(payload);
    return true;
}

size_t tx_stream::gather(batch &to, size_t limit, uint32_t ack) noexcept
{
    gathered_ack_ = ack;
    size_t fresh = 0;
    for (uint64_t at = sent_; at != queue_.next() && to.bytes() < limit; at++) {
        const op_record &record = queue_.at(at);
        if (record.is_flush()) {
            continue;
        }
        bool begun = at == sent_ && offset_ > 0;
        if (!add_frame(to, record, begun ? offset_ack_ : ack)) {
            break;
        }
        if (begun) {
            to.skip(offset_);
            fresh = to.bytes();
        }
    }
    return fresh;
}

size_t tx_stream::advance(size_t bytes) noexcept
{
    size_t payload = 0;
    unsent_bytes_ -= bytes;
    bytes += offset_;
    bool same_frame = offset_ > 0;
    for (; sent_ != queue_.next(); sent_++) {
        const op_record &record = queue_.at(sent_);
        if (record.is_flush()) {
            continue;
        }
        size_t size = wire_bytes(record);
        if (bytes < size) {
            break;
        }
        bytes -= size;
        sent_seq_++;
        payload += payload_bytes(record);
        same_frame = false;
    }
    offset_ = bytes;
    if (!same_frame) {
        offset_ack_ = gathered_ack_;
    }
    return payload;
}

uint64_t tx_stream::index_of(uint32_t low) noexcept
{
    uint64_t at = queue_.first();
    while (at != sent_ &&
           (queue_.at(at).is_flush() || static_cast<uint32_t>(queue_.at(at).transport[0]) != low)) {
        at++;
    }
    return at;
}

op_record *tx_stream::expects_answer(uint32_t low) noexcept
{
    answer_ = std::max(answer_, queue_.first());
    for (; answer_ < sent_; answer_++) {
        op_record &record = queue_.at(answer_);
        if (!record.is_flush() && wants_answer(record) && record.transport[1] == 0) {
            return static_cast<uint32_t>(record.transport[0]) == low ? &record : nullptr;
        }
    }
    return nullptr;
}

bool tx_stream::plausible(const wire::rx_position &position) noexcept
{
    if (position.applied < acked_ || position.applied > sent_seq_) {
        return false;
    }
    // The op that is partly there must be a put; it may have been handed out already.
    for (uint64_t at = queue_.first(); position.partial > 0 && at != queue_.next(); at++) {
        const op_record &record = queue_.at(at);
        if (!record.is_flush() && record.transport[0] >= position.applied) {
            return record.transport[0] > position.applied ||
                   (record.kind == UFX_UCT_OP_PUT && position.partial < record.length);
        }
    }
    return true;
}

extent tx_stream::judge(const op_record &record, const wire::rx_position &position,
                        size_t &partial) noexcept
{
    if (record.is_flush()) {
        return judged_seq_ <= position.applied ? extent::whole : extent::none;
    }
    judged_seq_ = record.transport[0] + 1;
    if (record.transport[0] < position.applied) {
        return extent::whole;
    }
    if (record.transport[0] == position.applied && position.partial > 0) {
        partial = position.partial;
        return extent::partial;
    }
    return extent::none;
}

} // namespace ufx::uct::tcp

// SPDX-License-Identifier: BSD-3-Clause
// Queue of answers, sent in order, that reads target memory as late as it can.
#include "reply_queue.h"

#include "ucs/guarded_copy.h"

#include <algorithm>
#include <new>

namespace ufx::uct::tcp {

namespace {

// No honest peer has more ops outstanding: the largest UFX_TCP_TX_QUEUE.
constexpr size_t max_replies = 65536;

// Bytes of copies that a peer's puts over its own pending gets may cost.
constexpr size_t max_protected = size_t{256} << 20;

} // namespace

void reply::take_copy(region_user &self) noexcept
{
    auto &me = static_cast<reply &>(self);
    me.source = nullptr;
    if (me.copy != nullptr || me.length == 0) {
        return;
    }
    me.copy.reset(new (std::nothrow) std::byte[me.length]);
    if (me.copy == nullptr) {
        me.broken = true;
        return;
    }
    size_t done = me.sent > me.head_size ? std::min(me.sent - me.head_size, me.length) : 0;
    me.broken = !ucs::guarded_read(me.copy.get() + done, me.data + done, me.length - done);
    me.data = me.copy.get();
}

reply *reply_queue::add(wire::frame_type type, uint32_t seq, uint32_t length) noexcept
{
    reply *made = count_ < max_replies ? pool_.take() : nullptr;
    if (made == nullptr) {
        return nullptr;
    }
    wire::header head;
    head.type = type;
    head.length = length;
    head.seq = seq;
    wire::encode(head, made->head);
    made->head_size = wire::header_size;
    made->length = length;
    replies_.push_back(*made);
    count_++;
    return made;
}

bool reply_queue::add_data(uint32_t seq, region &from, const std::byte *data,
                           size_t length) noexcept
{
    reply *made = add(wire::frame_type::get_data, seq, static_cast<uint32_t>(length));
    if (made == nullptr) {
        return false;
    }
    made->data = data;
    regions_.add_user(*made, from);
    return true;
}

bool reply_queue::add_value(uint32_t seq, uint64_t value) noexcept
{
    reply *made = add(wire::frame_type::atomic_reply, seq, 0);
    if (made == nullptr) {
        return false;
    }
    ucs::store_le64(made->head + wire::header_size, value);
    made->head_size += wire::reply_ext_size;
    return true;
}

bool reply_queue::add_error(uint32_t seq, ufx_status_t status) noexcept
{
    reply *made = add(wire::frame_type::error, seq, 0);
    if (made == nullptr) {
        return false;
    }
    ucs::store_le64(made->head + wire::header_size, static_cast<uint32_t>(status));
    made->head_size += wire::error_ext_size;
    return true;
}

void reply_queue::protect(const std::byte *start, size_t length) noexcept
{
    for (reply &one : replies_) {
        bool overlaps = one.data < start + length && start < one.data + one.length;
        if (one.data == nullptr || one.copy != nullptr || !overlaps) {
            continue;
        }
        if (one.length > max_protected - protected_bytes_) {
            one.broken = true;
            continue;
        }
        one.protected_bytes = one.length;
        protected_bytes_ += one.length;
        reply::take_copy(one);
    }
}

void reply_queue::unreadable() noexcept
{
    const region_reader::section access(regions_);
    if (!replies_.empty() && replies_.front().source != nullptr) {
        replies_.front().source->access.store(0, std::memory_order_relaxed);
    }
}

size_t reply_queue::gather(batch &to, size_t limit, uint32_t ack) noexcept
{
    size_t fresh = 0;
    for (reply &one : replies_) {
        if (to.bytes() >= limit || one.broken || !to.has_room(3, sizeof(one.head) + 8)) {
            break;
        }
        if (one.sent == 0) {
            ucs::store_le32(one.head + wire::ack_offset, ack);
        }
        to.add(one.head, one.head_size);
        to.refer(one.data, one.length);
        to.pad(one.length);
        if (one.sent > 0) {
            to.skip(one.sent);
            fresh = to.bytes();
        }
    }
    return fresh;
}

void reply_queue::advance(size_t bytes) noexcept
{
    while (bytes > 0) {
        reply &front = replies_.front();
        size_t rest = front.wire_bytes() - front.sent;
        if (bytes < rest) {
            front.sent += bytes;
            return;
        }
        bytes -= rest;
        replies_.pop_front();
        count_--;
        protected_bytes_ -= front.protected_bytes;
        pool_.give_back(&front);
    }
}

void reply_queue::clear() noexcept
{
    const region_reader::section access(regions_, !replies_.empty());
    while (reply *one = replies_.pop_front()) {
        pool_.give_back(one);
    }
    count_ = 0;
    protected_bytes_ = 0;
}

} // namespace ufx::uct::tcp

// SPDX-License-Identifier: BSD-3-Clause
// Posting calls of rc_ep whose request lies in one block of the send queue: the hot path. Included
// where a transport is instantiated. Room was checked; nothing here can fail. What is inlined by
// force is so since constants of its callers, and values that they have at hand, are half of it.
#ifndef UFX_UCT_IB_COMMON_RC_EP_SHORT_IMPL_H
#define UFX_UCT_IB_COMMON_RC_EP_SHORT_IMPL_H

#include "rc_ep_post_impl.h"

#include "uct/base/copy.h"

#include <algorithm>

namespace ufx::uct::ib {

// Packets of a put or get that is posted without counting what is under way: a queue that is full
// of them has half of max_packets_under_way.
[[nodiscard]] constexpr uint64_t quick_packets(size_t queue_capacity) noexcept
{
    return max_packets_under_way / 2 / queue_capacity;
}

// The record of the request that ends at that position, and has so many packets: for a purge alone.
template <class Hw>
void rc_ep<Hw>::note_request(op_record &record, uint64_t end, uint32_t more_packets) noexcept
{
    const uint32_t psn = psn_;
    psn_ = psn + more_packets + 1;
    record.transport[0] = end;
    record.transport[1] = psn;
}

// Room in the send queue and for records was counted; that for completions other eps take, too.
template <class Hw>
bool rc_ep<Hw>::has_block_room() const noexcept
{
    return room_left_ != 0 && this->iface().has_cq_room(user_cq_room<Hw>);
}

template <class Hw>
void rc_ep<Hw>::count_room() noexcept
{
    const op_queue &queue = this->queue_;
    room_left_ = static_cast<uint32_t>(
        std::min<size_t>(sends_.room_for_small(), queue.capacity() - queue.size()));
}

template <class Hw>
[[gnu::always_inline]] inline void rc_ep<Hw>::take_block(iface_type &iface) noexcept
{
    --room_left_;
    iface.take_cq_room(1);
}

// Flags of the request between those positions, without a completion of its own. Its record is
// complete.
template <class Hw>
template <pace how>
[[gnu::always_inline]] inline uint32_t rc_ep<Hw>::flags_by_turn(uint64_t request,
                                                                uint64_t end) noexcept
{
    --plain_left_;
    if (how == pace::plain || plain_left_ != 0) [[likely]] {
        return send_queue::control_flags(false, false);
    }
    return special_flags(request, end);
}

template <class Hw>
[[gnu::noinline]] uint32_t rc_ep<Hw>::special_flags(uint64_t request, uint64_t end) noexcept
{
    const bool signaled = signal_by_turn();
    if (signaled) {
        note_run(request, end, nullptr);
    }
    return send_queue::control_flags(signaled, take_fence());
}

template <class Hw>
template <pace how>
[[gnu::always_inline]] inline void
rc_ep<Hw>::put_quickly(ufx_uct_op_form_t form, const void *buffer, size_t length,
                       uint64_t remote_addr, ufx_uct_rkey_t rkey) noexcept
{
    iface_type &iface = this->iface();
    expect_block<how>();
    const uint64_t first = sends_.posted();
    op_record &record = this->queue_.add_short(UFX_UCT_OP_PUT, form, 0, 0, length);
    record.remote_addr = remote_addr;
    record.rkey = rkey;
    note_request(record, first + 1, 0);
    iface.count_sent(length);
    take_block(iface);
    const uint32_t flags = flags_by_turn<how>(first, first + 1);
    sends_.post_write(
        first, {remote_addr, static_cast<uint32_t>(rkey)}, length, flags,
        [&](std::byte *at) { copy_short_twice(at, record.inline_data, buffer, length); });
}

// `copy(at, kept)` writes what follows the transport's header, and the same into the record.
template <class Hw>
template <pace how, size_t head_size, class Copy>
[[gnu::always_inline]] inline void rc_ep<Hw>::am_quickly(ufx_uct_op_form_t form, uint8_t id,
                                                         size_t length, Copy &&copy) noexcept
{
    uint64_t head = header_word(id, false);
    if (how != pace::plain && flow_.send()) {
        head = header_word(id, true);
    }
    iface_type &iface = this->iface();
    expect_block<how>();
    const uint64_t first = sends_.posted();
    op_record &record = this->queue_.add_short(UFX_UCT_OP_AM, form, id, head_size, length);
    note_request(record, first + 1, 0);
    iface.count_sent(length);
    if constexpr (how == pace::plain) {
        flow_.send_plain();
    }
    take_block(iface);
    const uint32_t flags = flags_by_turn<how>(first, first + 1);
    sends_.template post_send<sizeof(head) + head_size>(first, length, flags, [&](std::byte *at) {
        std::memcpy(at, &head, sizeof(head));
        copy(at + sizeof(head), record.inline_data);
    });
}

template <class Hw>
template <pace how>
void rc_ep<Hw>::am_short_quickly(uint8_t id, uint64_t header, const void *payload,
                                 size_t length) noexcept
{
    am_quickly<how, sizeof(header)>(
        UFX_UCT_FORM_SHORT, id, length, [&](std::byte *at, std::byte *kept) {
            std::memcpy(at, &header, sizeof(header));
            std::memcpy(kept, &header, sizeof(header));
            copy_short_twice(at + sizeof(header), kept + sizeof(header), payload, length);
        });
}

template <class Hw>
template <pace how>
void rc_ep<Hw>::am_bcopy_quickly(uint8_t id, const std::byte *packed, size_t length) noexcept
{
    am_quickly<how, 0>(UFX_UCT_FORM_BCOPY, id, length, [&](std::byte *at, std::byte *kept) {
        copy_short_twice(at, kept, packed, length);
    });
}

template <class Hw>
template <pace how, send_op op>
[[gnu::always_inline]] inline void rc_ep<Hw>::rma_quickly(const ufx_uct_iov_t &from,
                                                          uint64_t remote_addr, ufx_uct_rkey_t rkey,
                                                          ufx_uct_completion_t *comp) noexcept
{
    constexpr bool put = op == send_op::write;
    // The user's does not change with what is written here.
    const ufx_uct_iov_t piece{from.buffer, from.length, from.memh};
    iface_type &iface = this->iface();
    expect_block<how>();
    const uint64_t first = sends_.posted();
    const ibv_sge local{reinterpret_cast<uint64_t>(piece.buffer),
                        static_cast<uint32_t>(piece.length), lkey_of(piece.memh)};
    op_record &record = this->queue_.add_zcopy(put ? UFX_UCT_OP_PUT : UFX_UCT_OP_GET, piece,
                                               remote_addr, rkey, comp);
    note_request(record, first + 1, static_cast<uint32_t>((piece.length - 1) >> mtu_shift_));
    if (put) {
        iface.count_sent(piece.length);
    }
    take_block(iface);
    uint32_t flags = send_queue::control_flags(true, false);
    if (how != pace::plain && put && comp == nullptr) {
        flags = flags_by_turn<how>(first, first + 1);
    } else {
        if (how != pace::plain) {
            end_tail();
            flags = send_queue::control_flags(true, take_fence());
        }
        note_run(first, first + 1, comp);
    }
    sends_.template post_piece<op>(first, {remote_addr, static_cast<uint32_t>(rkey)}, local, flags);
}

// What the record holds, copied into as many blocks as it takes. False, and nothing is done: they
// would wrap.
template <class Hw>
template <send_op op>
bool rc_ep<Hw>::post_long(op_record &record) noexcept
{
    const size_t length = record.header_length + record.length;
    const uint64_t first = sends_.posted();
    const uint64_t end = send_queue::template end_of_long<op>(first, length);
    if (sends_.wraps(first, end)) {
        return false;
    }
    const uint64_t head = op == send_op::send ? header_word(record.am_id, flow_.send()) : 0;
    note_request(record, end, 0); // no path has packets as short
    iface_type &iface = this->iface();
    iface.count_sent(record.length);
    iface.take_cq_room(static_cast<uint32_t>(end - first));
    room_left_ = 0;
    const uint32_t flags = flags_by_turn<pace::by_turn>(first, end);
    sends_.template post_long<op>(first, {record.remote_addr, static_cast<uint32_t>(record.rkey)},
                                  head, record.data(), length, flags);
    return true;
}

// A standard atomic; its record is in the queue.
template <class Hw>
void rc_ep<Hw>::atomic_quickly(op_record &record) noexcept
{
    iface_type &iface = this->iface();
    const uint64_t first = sends_.posted();
    note_request(record, first + 1, 0);
    iface.take_cq_room(1);
    room_left_ = 0;
    uint32_t flags = 0;
    if (record.result != nullptr) {
        end_tail();
        flags = send_queue::control_flags(true, take_fence());
        note_run(first, first + 1, answer_of(record));
    } else {
        flags = flags_by_turn<pace::by_turn>(first, first + 1);
    }
    const bool adds = record.atomic_op == UFX_UCT_ATOMIC_ADD;
    sends_.post_atomic(first, adds ? send_op::fetch_add : send_op::compare_swap,
                       {record.remote_addr, static_cast<uint32_t>(record.rkey)},
                       record.atomic.operand, record.atomic.compare,
                       own_piece(record.data(), sizeof(uint64_t)), flags);
}

// Ends with the request of an atomic, in place of the user's: what has come into the record goes
// where it was asked for. Beside it in the record.
struct atomic_answer : ufx_uct_completion_t {
    static constexpr size_t at = 16;

    const op_record *record;

    static void take(ufx_uct_completion_t *self) noexcept
    {
        const op_record &record = *static_cast<atomic_answer *>(self)->record;
        ufx_uct_completion_t *comp = record.comp;
        take_value(record);
        finish(comp, UFX_OK);
    }
};
static_assert(atomic_answer::at + sizeof(atomic_answer) <= op_record::inline_size);

template <class Hw>
ufx_uct_completion_t *rc_ep<Hw>::answer_of(op_record &record) noexcept
{
    return ::new (record.inline_data + atomic_answer::at)
        atomic_answer{{&atomic_answer::take, 1, UFX_OK}, &record};
}

} // namespace ufx::uct::ib

#endif

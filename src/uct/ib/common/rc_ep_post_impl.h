// SPDX-License-Identifier: BSD-3-Clause
// Posting calls of rc_ep. Included where a transport is instantiated.
#ifndef UFX_UCT_IB_COMMON_RC_EP_POST_IMPL_H
#define UFX_UCT_IB_COMMON_RC_EP_POST_IMPL_H

#include "rc_ep_completion_impl.h"

#include <array>
#include <cstring>

namespace ufx::uct::ib {

// A message or read of more packets is refused, so that what is under way stays far below half of
// the sequence space together with everything short.
inline constexpr uint32_t max_packets_under_way = 1u << 22;

// A completion for each part of any request, and one for the tail that it may begin.
template <class Hw>
inline constexpr uint32_t user_cq_room = Hw::send_queue::max_blocks + 1;

template <class Hw>
bool rc_ep<Hw>::has_room() const noexcept
{
    return sends_.has_room() && !this->queue_.full() && this->iface().has_cq_room(user_cq_room<Hw>);
}

template <class Hw>
bool rc_ep<Hw>::has_psn_room(uint32_t packets) const noexcept
{
    const op_queue &queue = this->queue_;
    uint32_t under_way = 0;
    if (!queue.empty()) {
        const auto &front = const_cast<op_queue &>(queue).front();
        under_way = (psn_ - static_cast<uint32_t>(front.transport[1])) & psn_mask;
    }
    return under_way + packets <= max_packets_under_way;
}

template <class Hw>
void rc_ep<Hw>::post(op_record &record, send_request request, uint64_t length) noexcept
{
    const uint32_t packets = packets_of(length, mtu_shift_);
    request.signaled = signal_next(request.signaled || record.comp != nullptr);
    request.fenced = take_fence();
    room_left_ = 0;
    const uint64_t before = sends_.posted();
    record.transport[1] = psn_;
    psn_ += packets;
    record.transport[0] = sends_.post(request);
    this->iface().take_cq_room(static_cast<uint32_t>(sends_.posted() - before));
    if (request.signaled) {
        note_run(before, sends_.posted(), record.comp);
        if (has_answer(record)) {
            last_run_->first = signaled_run::never;
        }
    }
    if (sends_.is_broken()) [[unlikely]] {
        broke({UFX_ERR_IO, UFX_UCT_CAUSE_OWN_QP}, 0, "the device refuses a request");
    }
}

template <class Hw>
void rc_ep<Hw>::post_own(send_request request, uint32_t packets) noexcept
{
    request.signaled = signal_next(request.signaled);
    room_left_ = 0;
    const uint64_t before = sends_.posted();
    psn_ += packets;
    sends_.post(request);
    this->iface().take_cq_room(static_cast<uint32_t>(sends_.posted() - before));
    if (request.signaled) {
        const bool alone = this->queue_.next() == run_first_;
        note_run(before, sends_.posted(), nullptr);
        last_run_->first = alone ? signaled_run::never : last_run_->first;
    }
    if (fence_next()) {
        think_next(); // the fence is for the user's next one
    }
}

template <class Hw>
am_header rc_ep<Hw>::next_header(uint8_t id) noexcept
{
    return {.id = id, .wants_grant = flow_.send() ? uint8_t{1} : uint8_t{0}, .spare = {}};
}

// A write or read of what lies in `pieces`.
template <class Hw>
void rc_ep<Hw>::post_remote(op_record &record, send_op op,
                            std::span<const ibv_sge> pieces) noexcept
{
    const bool put = record.kind == UFX_UCT_OP_PUT;
    const send_request request{.op = op,
                               .signaled = !put,
                               .copied = put && record.form != UFX_UCT_FORM_ZCOPY &&
                                         record.length <= send_queue::max_copied,
                               .pieces = pieces,
                               .remote_addr = record.remote_addr,
                               .rkey = static_cast<uint32_t>(record.rkey)};
    this->iface().count_sent(put ? record.length : 0);
    post(record, request, pieces_length(pieces));
}

// The bytes lie in the record.
template <class Hw>
[[gnu::noinline]] void rc_ep<Hw>::post_remote(op_record &record, send_op op, size_t length) noexcept
{
    const ibv_sge piece = own_piece(record.data(), length);
    post_remote(record, op, {&piece, 1});
}

template <class Hw>
ibv_sge rc_ep<Hw>::own_piece(const std::byte *at, size_t length) const noexcept
{
    return {reinterpret_cast<uint64_t>(at), static_cast<uint32_t>(length), records_mr_->lkey};
}

// False: a piece is not registered.
template <class Hw>
bool rc_ep<Hw>::gather(const ufx_uct_iov_t *iov, size_t count, ibv_sge *pieces) const noexcept
{
    for (size_t i = 0; i < count; i++) {
        if (iov[i].memh == nullptr && iov[i].length != 0) {
            return false;
        }
        pieces[i] = {reinterpret_cast<uint64_t>(iov[i].buffer),
                     static_cast<uint32_t>(iov[i].length),
                     iov[i].length == 0 ? 0 : lkey_of(iov[i].memh)};
    }
    return true;
}

// ---- Active messages --------------------------------------------------------------------------

template <class Hw>
ufx_status_t rc_ep<Hw>::am_short(uint8_t id, uint64_t header, const void *payload,
                                 size_t length) noexcept
{
    if constexpr (send_queue::max_short != 0) {
        if (id < UFX_UCT_AM_ID_MAX && length <= send_queue::max_short && flow_.is_plain() &&
            is_plain()) [[likely]] {
            am_short_quickly<pace::plain>(id, header, payload, length);
            return UFX_OK;
        }
    }
    return am_short_by_turn(id, header, payload, length);
}

template <class Hw>
[[gnu::noinline]] ufx_status_t rc_ep<Hw>::am_short_by_turn(uint8_t id, uint64_t header,
                                                           const void *payload,
                                                           size_t length) noexcept
{
    if constexpr (send_queue::max_short != 0) {
        if (id < UFX_UCT_AM_ID_MAX && length <= send_queue::max_short && can_send()) {
            am_short_quickly<pace::by_turn>(id, header, payload, length);
            return UFX_OK;
        }
    }
    if (id >= UFX_UCT_AM_ID_MAX ||
        length > send_queue::max_copied - sizeof(am_header) - sizeof(header)) {
        return UFX_ERR_INVALID_PARAM;
    }
    op_record *record =
        can_send() ? push_am_short(this->queue_, id, header, payload, length) : nullptr;
    if (record == nullptr) {
        return no_room_for_am();
    }
    if constexpr (send_queue::max_short != 0) {
        if (post_long<send_op::send>(*record)) {
            return UFX_OK;
        }
    }
    const am_header head = next_header(id);
    const std::array pieces = {own_piece(reinterpret_cast<const std::byte *>(&head), sizeof(head)),
                               own_piece(record->data(), sizeof(header) + length)};
    post_am(*record, true, pieces);
    return UFX_OK;
}

template <class Hw>
ssize_t rc_ep<Hw>::am_bcopy(uint8_t id, ufx_uct_pack_cb_t pack, void *arg, unsigned) noexcept
{
    if (id >= UFX_UCT_AM_ID_MAX) {
        return UFX_ERR_INVALID_PARAM;
    }
    if (flow_.is_plain() && is_plain()) [[likely]] {
        return am_bcopy_at<pace::plain>(id, pack, arg);
    }
    return am_bcopy_at<pace::by_turn>(id, pack, arg);
}

template <class Hw>
template <pace how>
[[gnu::noinline]] ssize_t rc_ep<Hw>::am_bcopy_at(uint8_t id, ufx_uct_pack_cb_t pack,
                                                 void *arg) noexcept
{
    const size_t prefix = sizeof(am_header);
    op_record *record = how == pace::plain || can_send()
                            ? this->queue_.reserve_data(prefix + this->iface().config().seg_size)
                            : nullptr;
    if (record == nullptr) {
        return no_room_for_am();
    }
    const size_t length = pack(record->data() + prefix, arg);
    if constexpr (send_queue::max_short != 0) {
        if (length <= send_queue::max_short) {
            am_bcopy_quickly<how>(id, record->data() + prefix, length);
            return static_cast<ssize_t>(length);
        }
    }
    fill_am_bcopy(this->queue_, *record, id, length, prefix);
    if constexpr (send_queue::max_short != 0) {
        if (prefix + length <= send_queue::max_copied && post_long<send_op::send>(*record)) {
            return static_cast<ssize_t>(length);
        }
    }
    const ibv_sge piece = prefixed_piece(*record, length);
    post_am(*record, piece.length <= send_queue::max_copied, {&piece, 1});
    return static_cast<ssize_t>(length);
}

template <class Hw>
ufx_status_t rc_ep<Hw>::am_zcopy(uint8_t id, const void *header, size_t header_length,
                                 const ufx_uct_iov_t *iov, size_t iov_count, unsigned,
                                 ufx_uct_completion_t *comp) noexcept
{
    std::array<ibv_sge, send_queue::max_pieces> pieces;
    if (id >= UFX_UCT_AM_ID_MAX || header_length > max_user_header || iov_count >= pieces.size() ||
        iov_bytes(iov, iov_count) > this->iface().max_am_zcopy() ||
        !gather(iov, iov_count, pieces.data() + 1)) {
        return UFX_ERR_INVALID_PARAM;
    }
    op_record *record = can_send() ? push_am_zcopy(this->queue_, id, header, header_length, iov,
                                                   iov_count, comp, sizeof(am_header))
                                   : nullptr;
    if (record == nullptr) {
        return no_room_for_am();
    }
    pieces[0] = prefixed_piece(*record, header_length);
    post_am(*record, false, {pieces.data(), iov_count + 1});
    return UFX_INPROGRESS;
}

// The transport's header, which goes in front of what the record points to, and `length` of that.
template <class Hw>
ibv_sge rc_ep<Hw>::prefixed_piece(op_record &record, size_t length) noexcept
{
    const am_header head = next_header(record.am_id);
    std::byte *start = record.data() - sizeof(head);
    std::memcpy(start, &head, sizeof(head));
    return own_piece(start, sizeof(head) + length);
}

template <class Hw>
[[gnu::noinline]] void rc_ep<Hw>::post_am(op_record &record, bool copied,
                                          std::span<const ibv_sge> pieces) noexcept
{
    this->iface().count_sent(record.length);
    post(record, {.op = send_op::send, .copied = copied, .pieces = pieces}, pieces_length(pieces));
}

// ---- Remote memory ----------------------------------------------------------------------------

template <class Hw>
ufx_status_t rc_ep<Hw>::put_short(const void *buffer, size_t length, uint64_t remote_addr,
                                  ufx_uct_rkey_t rkey) noexcept
{
    if constexpr (send_queue::max_short != 0) {
        if (length - 1 < send_queue::max_short && is_plain()) [[likely]] {
            put_quickly<pace::plain>(UFX_UCT_FORM_SHORT, buffer, length, remote_addr, rkey);
            return UFX_OK;
        }
    }
    return put_short_by_turn(buffer, length, remote_addr, rkey);
}

template <class Hw>
[[gnu::noinline]] ufx_status_t rc_ep<Hw>::put_short_by_turn(const void *buffer, size_t length,
                                                            uint64_t remote_addr,
                                                            ufx_uct_rkey_t rkey) noexcept
{
    if constexpr (send_queue::max_short != 0) {
        if (length - 1 < send_queue::max_short && has_room()) {
            put_quickly<pace::by_turn>(UFX_UCT_FORM_SHORT, buffer, length, remote_addr, rkey);
            return UFX_OK;
        }
    }
    if (length > send_queue::max_copied) {
        return UFX_ERR_INVALID_PARAM;
    }
    op_record *record =
        has_room() ? push_put_short(this->queue_, buffer, length, remote_addr, rkey) : nullptr;
    if (record == nullptr) {
        return no_room();
    }
    if constexpr (send_queue::max_short != 0) {
        if (length != 0 && post_long<send_op::write>(*record)) {
            return UFX_OK;
        }
    }
    post_remote(*record, send_op::write, length);
    return UFX_OK;
}

template <class Hw>
ssize_t rc_ep<Hw>::put_bcopy(ufx_uct_pack_cb_t pack, void *arg, uint64_t remote_addr,
                             ufx_uct_rkey_t rkey) noexcept
{
    if (is_plain()) [[likely]] {
        return put_bcopy_at<pace::plain>(pack, arg, remote_addr, rkey);
    }
    return put_bcopy_at<pace::by_turn>(pack, arg, remote_addr, rkey);
}

template <class Hw>
template <pace how>
[[gnu::noinline]] ssize_t rc_ep<Hw>::put_bcopy_at(ufx_uct_pack_cb_t pack, void *arg,
                                                  uint64_t remote_addr,
                                                  ufx_uct_rkey_t rkey) noexcept
{
    op_record *record = how == pace::plain || has_room()
                            ? this->queue_.reserve_data(this->iface().config().seg_size)
                            : nullptr;
    if (record == nullptr) {
        return no_room();
    }
    const size_t length = pack(record->data(), arg);
    if constexpr (send_queue::max_short != 0) {
        if (length - 1 < send_queue::max_short) {
            put_quickly<how>(UFX_UCT_FORM_BCOPY, record->data(), length, remote_addr, rkey);
            return static_cast<ssize_t>(length);
        }
    }
    fill_put_bcopy(this->queue_, *record, length, remote_addr, rkey);
    if constexpr (send_queue::max_short != 0) {
        if (length - 1 < send_queue::max_copied && post_long<send_op::write>(*record)) {
            return static_cast<ssize_t>(length);
        }
    }
    post_remote(*record, send_op::write, length);
    return static_cast<ssize_t>(length);
}

template <class Hw>
template <send_op op>
[[gnu::noinline]] ufx_status_t rc_ep<Hw>::post_rma(const ufx_uct_iov_t *iov, size_t iov_count,
                                                   uint64_t remote_addr, ufx_uct_rkey_t rkey,
                                                   ufx_uct_completion_t *comp) noexcept
{
    constexpr ufx_uct_op_kind_t kind = op == send_op::write ? UFX_UCT_OP_PUT : UFX_UCT_OP_GET;
    if constexpr (send_queue::max_short != 0) {
        if (is_quick(iov, iov_count) && has_room()) {
            rma_quickly<pace::by_turn, op>(*iov, remote_addr, rkey, comp);
            return UFX_INPROGRESS;
        }
    }
    std::array<ibv_sge, send_queue::max_pieces> pieces;
    const size_t length = iov_bytes(iov, iov_count);
    if (iov_count > pieces.size() || !gather(iov, iov_count, pieces.data()) ||
        length > this->iface().max_zcopy()) {
        return UFX_ERR_INVALID_PARAM;
    }
    op_record *record =
        has_room() && has_psn_room(packets_of(length, mtu_shift_))
            ? push_rma_zcopy(this->queue_, kind, iov, iov_count, remote_addr, rkey, comp)
            : nullptr;
    if (record == nullptr) {
        return no_room();
    }
    post_remote(*record, op, {pieces.data(), iov_count});
    return UFX_INPROGRESS;
}

template <class Hw>
ufx_status_t rc_ep<Hw>::put_zcopy(const ufx_uct_iov_t *iov, size_t iov_count, uint64_t remote_addr,
                                  ufx_uct_rkey_t rkey, ufx_uct_completion_t *comp) noexcept
{
    if constexpr (send_queue::max_short != 0) {
        if (is_quick(iov, iov_count) && comp != nullptr && is_plain_signaled()) [[likely]] {
            rma_quickly<pace::plain, send_op::write>(*iov, remote_addr, rkey, comp);
            return UFX_INPROGRESS;
        }
    }
    return post_rma<send_op::write>(iov, iov_count, remote_addr, rkey, comp);
}

template <class Hw>
ufx_status_t rc_ep<Hw>::get_zcopy(const ufx_uct_iov_t *iov, size_t iov_count, uint64_t remote_addr,
                                  ufx_uct_rkey_t rkey, ufx_uct_completion_t *comp) noexcept
{
    if constexpr (send_queue::max_short != 0) {
        if (is_quick(iov, iov_count) && is_plain_signaled()) [[likely]] {
            rma_quickly<pace::plain, send_op::read>(*iov, remote_addr, rkey, comp);
            return UFX_INPROGRESS;
        }
    }
    return post_rma<send_op::read>(iov, iov_count, remote_addr, rkey, comp);
}

// The data comes into the record, which is registered, and goes on from there when it is complete.
template <class Hw>
ufx_status_t rc_ep<Hw>::get_short(void *buffer, size_t length, uint64_t remote_addr,
                                  ufx_uct_rkey_t rkey, ufx_uct_completion_t *comp) noexcept
{
    if (length > op_record::inline_size) {
        return UFX_ERR_INVALID_PARAM;
    }
    op_record *record = has_room()
                            ? push_get_short(this->queue_, buffer, length, remote_addr, rkey, comp)
                            : nullptr;
    if (record == nullptr) {
        return no_room();
    }
    post_remote(*record, send_op::read, length);
    return UFX_INPROGRESS;
}

template <class Hw>
ufx_status_t rc_ep<Hw>::get_bcopy(ufx_uct_unpack_cb_t unpack, void *arg, size_t length,
                                  uint64_t remote_addr, ufx_uct_rkey_t rkey,
                                  ufx_uct_completion_t *comp) noexcept
{
    if (length > this->iface().config().seg_size) {
        return UFX_ERR_INVALID_PARAM;
    }
    op_record *record = has_room() ? push_get_bcopy(this->queue_, unpack, arg, length, length,
                                                    remote_addr, rkey, comp)
                                   : nullptr;
    if (record == nullptr) {
        return no_room();
    }
    post_remote(*record, send_op::read, length);
    return UFX_INPROGRESS;
}

// ---- Order -----------------------------------------------------------------------------------

// The responder executes requests in the order in which they were posted; but the answer of a read
// may come after a later request has left.
template <class Hw>
ufx_status_t rc_ep<Hw>::fence() noexcept
{
    special_ |= fence_asked;
    think_next();
    return UFX_OK;
}

template <class Hw>
ufx_status_t rc_ep<Hw>::check(ufx_uct_completion_t *comp) noexcept
{
    op_record *record = has_room() ? push_check(this->queue_, comp) : nullptr;
    if (record == nullptr) {
        return no_room();
    }
    record->remote_addr = 0;
    record->rkey = 0;
    post_remote(*record, send_op::write, {});
    return UFX_INPROGRESS;
}

// A remote flush is a small read: its answer comes after all before it was applied.
template <class Hw>
ufx_status_t rc_ep<Hw>::flush(unsigned flags, ufx_uct_completion_t *comp)
{
    room_left_ = 0; // a marker takes a record
    const bool remote = flags == UFX_UCT_FLUSH_REMOTE;
    if (!remote || this->is_failed() || this->queue_.empty() || comp == nullptr) {
        const ufx_status_t status = base::flush(flags, comp);
        if (status == UFX_INPROGRESS && !this->is_failed()) {
            // There may be a marker behind the newest run or in the next one.
            run_first_ = last_run_->first = signaled_run::never;
            signal_tail();
        }
        return status;
    }
    op_record *record = has_room() ? this->queue_.push_marker(true, comp) : nullptr;
    if (record == nullptr) {
        return no_room();
    }
    record->marker = false; // ends by its own completion
    record->remote_addr = flush_addr_;
    record->rkey = flush_rkey_;
    post_remote(*record, send_op::read, sizeof(uint64_t));
    return UFX_INPROGRESS;
}

// What is under way and has no completion of its own would never make room.
template <class Hw>
void rc_ep<Hw>::make_room() noexcept
{
    signal_tail();
    if (!this->iface().has_cq_room(user_cq_room<Hw>)) {
        this->iface().signal_tails();
    }
}

template <class Hw>
ufx_status_t rc_ep<Hw>::no_room() noexcept
{
    waits_for_credit_ = false;
    make_room();
    return UFX_ERR_NO_RESOURCE;
}

// For a message: it may also be the peer's turn.
template <class Hw>
ufx_status_t rc_ep<Hw>::no_room_for_am() noexcept
{
    const ufx_status_t status = no_room();
    waits_for_credit_ = !flow_.may_send();
    return status;
}

} // namespace ufx::uct::ib

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Which requests of rc_ep have completions, and what ends with each. Included where a transport is
// instantiated.
#ifndef UFX_UCT_IB_COMMON_RC_EP_COMPLETION_IMPL_H
#define UFX_UCT_IB_COMMON_RC_EP_COMPLETION_IMPL_H

#include "rc_iface.h"

#include "ucs/bytes.h"

#include <cstring>
#include <utility>

namespace ufx::uct::ib {

// ---- Before: who has one ----------------------------------------------------------------------

// Whether the next request has a completion. Most have none, and only a counter goes down: it is at
// 1 before a request that begins a tail, or that moderation has signaled, or that is fenced.
template <class Hw>
bool rc_ep<Hw>::signal_next(bool wanted) noexcept
{
    if (wanted) {
        end_tail();
        return true;
    }
    return --plain_left_ == 0 && signal_by_turn();
}

// Room for the completion that will end an unsignaled tail is taken when the tail begins, so that
// it can be ended at any time.
template <class Hw>
[[gnu::noinline]] bool rc_ep<Hw>::signal_by_turn() noexcept
{
    plain_left_ = std::exchange(after_fence_, 0);
    if (plain_left_ > 1) {
        plain_left_--;
        return false; // only the fence was special
    }
    plain_left_ = 1;
    const unsigned moderation = this->iface().config().tx_moderation;
    if (has_tail() || moderation <= 1) {
        end_tail();
        return true;
    }
    this->iface().take_cq_room(1);
    special_ |= tail_begun;
    plain_left_ = moderation - 1;
    return false;
}

// Whether the next request is fenced; said once.
template <class Hw>
bool rc_ep<Hw>::take_fence() noexcept
{
    const bool fenced = fence_next();
    special_ &= static_cast<uint8_t>(~fence_asked);
    return fenced;
}

// The next request is none of those that need no thought.
template <class Hw>
void rc_ep<Hw>::think_next() noexcept
{
    if (plain_left_ != 1) {
        after_fence_ = std::exchange(plain_left_, 1);
    }
}

template <class Hw>
void rc_ep<Hw>::end_tail() noexcept
{
    if (has_tail()) {
        special_ &= static_cast<uint8_t>(~tail_begun);
        plain_left_ = 1;
        after_fence_ = 0;
        this->iface().give_cq_room(1);
    }
}

// A signaled request lies between these positions; its record, if it has one, is in the queue.
template <class Hw>
void rc_ep<Hw>::note_run(uint64_t request, uint64_t end, ufx_uct_completion_t *comp) noexcept
{
    const uint64_t next = this->queue_.next();
    signaled_run &run = runs_[request & run_mask_];
    last_run_ = &run;
    run.first = std::exchange(run_first_, next);
    run.end = next;
    run.position = end;
    run.comp = comp;
}

template <class Hw>
void rc_ep<Hw>::signal_tail() noexcept
{
    if (has_tail()) { // so there is room: send_credits
        post_own({.op = send_op::nop, .signaled = true}, send_queue::nop_packets);
    }
}

// ---- After: what is over -----------------------------------------------------------------------

template <class Hw>
void rc_ep<Hw>::release(uint64_t position) noexcept
{
    this->iface().give_cq_room(sends_.release(position));
}

template <class Hw>
void rc_ep<Hw>::sent(typename send_queue::completion_id id) noexcept
{
    const signaled_run &run = runs_[send_queue::key_of(id) & run_mask_];
    if (run.first != this->queue_.first()) [[unlikely]] {
        sent_after_all(id);
        return;
    }
    release(run.position);
    this->queue_.end_quietly(run.end);
    if (run.comp != nullptr) {
        finish(run.comp, UFX_OK);
    }
}

// A failed ep keeps its records for whoever judges them: a late completion changes nothing.
template <class Hw>
void rc_ep<Hw>::sent_after_all(typename send_queue::completion_id id) noexcept
{
    const uint64_t position = sends_.position_after(id);
    release(position);
    if (!this->is_failed()) [[likely]] {
        end_until(position);
    } else {
        silence_.start(ucs::now_ns());
    }
}

template <class Hw>
void rc_ep<Hw>::end_until(uint64_t position) noexcept
{
    op_queue &queue = this->queue_;
    while (!queue.empty() && static_cast<int64_t>(queue.front().transport[0] - position) <= 0) {
        end_front();
    }
}

// The value before comes in the host's order if it has 8 bytes, and big-endian if it has 4: only
// an extended atomic has.
inline void take_value(const op_record &record) noexcept
{
    if (record.atomic_size == sizeof(uint32_t)) {
        const auto value = ucs::load_be<uint32_t>(record.data());
        std::memcpy(record.result, &value, sizeof(value));
    } else {
        std::memcpy(record.result, record.data(), sizeof(uint64_t));
    }
}

// Answers go where they were asked for.
template <class Hw>
void rc_ep<Hw>::end_front() noexcept
{
    op_record &record = this->queue_.front();
    if (record.kind == UFX_UCT_OP_GET && record.form != UFX_UCT_FORM_ZCOPY) {
        this->iface().count_received(record.length);
        if (record.form == UFX_UCT_FORM_BCOPY) {
            record.unpack.cb(record.unpack.arg, record.data(), record.length);
            if (this->queue_.empty()) {
                return; // the callback destroyed the ep
            }
        } else if (record.length != 0) {
            std::memcpy(record.result, record.data(), record.length);
        }
    } else if (record.kind == UFX_UCT_OP_ATOMIC_FETCH) {
        take_value(record);
    }
    this->queue_.complete_front(UFX_OK);
}

} // namespace ufx::uct::ib

#endif

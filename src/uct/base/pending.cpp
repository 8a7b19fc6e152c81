// SPDX-License-Identifier: BSD-3-Clause
// The ring of groups and the lists of requests behind the pending queue.
#include "pending.h"

namespace ufx::uct {

namespace {

ufx_uct_pending_req_t *successor(const ufx_uct_pending_req_t *req) noexcept
{
    return static_cast<ufx_uct_pending_req_t *>(req->priv[0]);
}

} // namespace

void pending_arbiter::add(pending_group &group, ufx_uct_pending_req_t *req) noexcept
{
    req->priv[0] = nullptr;
    if (group.head_ == nullptr) {
        group.head_ = req;
        link(group);
    } else {
        group.tail_->priv[0] = req;
    }
    group.tail_ = req;
    ++group.size_;
    ++size_;
}

ufx_uct_pending_req_t *pending_arbiter::take(pending_group &group) noexcept
{
    ufx_uct_pending_req_t *req = group.head_;
    group.head_ = successor(req);
    --group.size_;
    --size_;
    if (group.head_ == nullptr) {
        group.tail_ = nullptr;
        unlink(group);
    } else if (turn_ == &group) {
        turn_ = group.next_;
    }
    return req;
}

void pending_arbiter::clear(pending_group &group) noexcept
{
    while (!group.empty()) {
        take(group);
    }
}

void pending_arbiter::put_back(pending_group &group, ufx_uct_pending_req_t *req) noexcept
{
    req->priv[0] = group.head_;
    if (group.head_ == nullptr) {
        group.tail_ = req;
        group.head_ = req;
        link(group);
    } else {
        group.head_ = req;
    }
    ++group.size_;
    ++size_;
}

// As the last one of the round.
void pending_arbiter::link(pending_group &group) noexcept
{
    if (turn_ == nullptr) {
        group.prev_ = &group;
        group.next_ = &group;
        turn_ = &group;
        return;
    }
    group.prev_ = turn_->prev_;
    group.next_ = turn_;
    turn_->prev_->next_ = &group;
    turn_->prev_ = &group;
}

void pending_arbiter::unlink(pending_group &group) noexcept
{
    if (group.next_ == &group) {
        turn_ = nullptr;
    } else {
        group.prev_->next_ = group.next_;
        group.next_->prev_ = group.prev_;
        if (turn_ == &group) {
            turn_ = group.next_;
        }
    }
    group.prev_ = nullptr;
    group.next_ = nullptr;
}

} // namespace ufx::uct

// SPDX-License-Identifier: BSD-3-Clause
// Acknowledging, going back and failing; see the head of send_ring.h.
#include "send_ring.h"

#include "queue_pair.h"
#include "send_queue.h"

#include <algorithm>
#include <infiniband/mlx5dv.h>

namespace ufx::swhca {

namespace {

// Positions are counters that go round.
bool is_before(uint32_t position, uint32_t other) noexcept
{
    return static_cast<int32_t>(position - other) < 0;
}

} // namespace

void start_ack_timer(core &world, qp &one) noexcept
{
    if (one.attr.timeout != 0) {
        // IBA 1.4, 9.7.6.1.3: 4.096 us * 2^timeout
        one.req.ack_deadline_ns = world.now_ns + (4096ull << one.attr.timeout);
        world.shared.timers.add(world.index_of(one));
    }
}

void retire(core &world, qp &one) noexcept
{
    requester_state &req = one.req;
    while (req.head != req.next) {
        sent_wqe &entry = at(one, req.head);
        if (psn_diff(req.unacked_psn, psn_add(entry.psn, entry.packets)) < 0) {
            return;
        }
        if (entry.signaled) {
            complete_send(world, one, entry.opcode, entry.index, entry.length, 0,
                          lands_in_cqe(one, entry) ? req.inlined : inline_payload{});
        }
        req.head++;
    }
}

bool fail_head(core &world, qp &one) noexcept
{
    requester_state &req = one.req;
    sent_wqe &entry = at(one, req.head);
    if (req.head == req.tail || entry.syndrome == 0 || req.head != req.next) {
        return false;
    }
    complete_send(world, one, entry.opcode, entry.index, 0, entry.syndrome);
    req.head++;
    req.next = req.head;
    enter_error(world, one);
    return true;
}

void fail_oldest(core &world, qp &one, uint8_t syndrome) noexcept
{
    requester_state &req = one.req;
    if (req.head != req.tail) {
        sent_wqe &entry = at(one, req.head);
        complete_send(world, one, entry.opcode, entry.index, 0, syndrome);
        req.head++;
    }
    if (is_before(req.next, req.head)) {
        req.next = req.head;
    }
    enter_error(world, one);
}

bool acknowledge(core &world, qp &one, uint32_t psn) noexcept
{
    requester_state &req = one.req;
    if (psn_diff(psn, req.unacked_psn) <= 0) {
        return false;
    }
    req.unacked_psn = psn;
    req.implied_nak = false;
    req.retries_left = one.attr.retry_count;
    req.rnr_left = one.attr.rnr_retry;
    if (req.unacked_psn == req.highest_psn) {
        req.ack_deadline_ns = 0;
    } else {
        start_ack_timer(world, one);
    }
    // An answer may come for what is about to be sent again.
    while (req.next != req.tail) {
        const sent_wqe &entry = at(one, req.next);
        int32_t beyond = psn_diff(psn, entry.psn);
        if (entry.packets == 0 || beyond <= 0) {
            break;
        }
        if (static_cast<uint32_t>(beyond) < entry.packets) {
            if (!entry.read_like) {
                req.next_packet = std::max(req.next_packet, static_cast<uint32_t>(beyond));
            }
            break;
        }
        req.next++;
        req.next_packet = 0;
    }
    retire(world, one);
    world.shared.pending.add(world.index_of(one));
    return true;
}

void go_back(core &world, qp &one, uint32_t psn) noexcept
{
    requester_state &req = one.req;
    req.implied_nak = false;
    req.ack_deadline_ns = 0; // what is sent again starts it
    uint32_t reads = 0;
    for (uint32_t i = req.head; i != req.tail; i++) {
        const sent_wqe &entry = at(one, i);
        int32_t beyond = psn_diff(psn, entry.psn);
        if (beyond < static_cast<int32_t>(entry.packets) && entry.packets > 0) {
            if (is_before(i, req.next) || (i == req.next && req.next_packet > 0)) {
                req.next = i;
                req.next_packet = entry.read_like || beyond < 0 ? 0 : static_cast<uint32_t>(beyond);
            }
            break;
        }
        reads += entry.read_like && entry.received < entry.packets ? 1 : 0;
    }
    req.reads = reads;
    world.shared.pending.add(world.index_of(one));
}

sent_wqe *oldest_read(qp &one) noexcept
{
    for (uint32_t i = one.req.head; i != one.req.tail; i++) {
        sent_wqe &entry = at(one, i);
        if (entry.read_like && entry.received < entry.packets && entry.syndrome == 0) {
            return &entry;
        }
    }
    return nullptr;
}

} // namespace ufx::swhca

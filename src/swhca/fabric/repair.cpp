// SPDX-License-Identifier: BSD-3-Clause
// Nothing here is allocated, because a handler of a signal may be the next holder.
#include "repair.h"

#include <algorithm>
#include <span>

namespace ufx::swhca {

namespace {

void note_torn(image &shared) noexcept
{
    for (uint32_t i = 0; i < std::min(shared.working_depth, max_nesting); i++) {
        shared.torn.add(shared.working[i]);
    }
    in_this_order();
    shared.working_depth = 0;
}

void link_packets(image &shared) noexcept
{
    uint32_t queued = 0;
    shared.wire_free = no_index;
    for (uint32_t i = 0; i < shared.wire_fresh; i++) {
        packet_slot &slot = shared.packets[i];
        if (slot.queued) {
            shared.sorted[queued++] = static_cast<uint16_t>(i);
        } else {
            slot.next = shared.wire_free;
            shared.wire_free = i;
        }
    }
    std::span<uint16_t> order(shared.sorted, queued);
    std::sort(order.begin(), order.end(), [&shared](uint16_t one, uint16_t other) {
        const packet_slot &a = shared.packets[one];
        const packet_slot &b = shared.packets[other];
        return a.due_ns != b.due_ns ? a.due_ns < b.due_ns : a.order < b.order;
    });
    shared.wire_head = queued == 0 ? no_index : order.front();
    shared.wire_tail = queued == 0 ? no_index : order.back();
    for (uint32_t k = 0; k < queued; k++) {
        packet_slot &slot = shared.packets[order[k]];
        slot.prev = k == 0 ? no_index : order[k - 1];
        slot.next = k + 1 == queued ? no_index : order[k + 1];
    }
    shared.wire_used = queued;
}

void name_queue_pairs(image &shared) noexcept
{
    for (hca &one : shared.hcas) {
        std::fill(std::begin(one.qp_of), std::end(one.qp_of), uint16_t{0});
    }
    for (uint32_t i = 0; i < shared.qps_used; i++) {
        const qp &one = shared.qps[i];
        for (process_slot &each : shared.processes) {
            each.qps.remove(i);
        }
        if (!one.in_use) {
            shared.pending.remove(i);
            shared.timers.remove(i);
            continue;
        }
        shared.hcas[one.hca].qp_of[one.qpn % max_qps] = static_cast<uint16_t>(i + 1);
        shared.processes[one.process].qps.add(i);
        shared.pending.add(i);
        shared.timers.add(i);
    }
}

void name_completion_queues(image &shared) noexcept
{
    for (uint32_t i = 0; i < max_cqs; i++) {
        const cq &one = shared.cqs[i];
        for (process_slot &each : shared.processes) {
            each.cqs.remove(i);
        }
        if (one.in_use && one.channel != no_index) {
            shared.processes[shared.contexts[one.context].process].cqs.add(i);
        }
    }
}

void count_users(image &shared) noexcept
{
    auto clear = [](auto &table) {
        for (auto &each : table) {
            each.users = 0;
        }
    };
    clear(shared.pds);
    clear(shared.cqs);
    clear(shared.srqs);
    for (const mr &each : shared.mrs) {
        shared.pds[each.pd].users += each.in_use ? 1 : 0;
    }
    for (const srq &each : shared.srqs) {
        shared.pds[each.pd].users += each.in_use ? 1 : 0;
    }
    for (const qp &each : used_qps(shared)) {
        if (each.in_use) {
            shared.pds[each.pd].users++;
            shared.cqs[each.send_cq].users++;
            shared.cqs[each.recv_cq].users++;
            if (each.srq != no_index) {
                shared.srqs[each.srq].users++;
            }
        }
    }
}

} // namespace

void repair_image(image &shared) noexcept
{
    note_torn(shared);
    link_packets(shared);
    name_queue_pairs(shared);
    name_completion_queues(shared);
    count_users(shared);
    shared.next_due_ns.store(0, std::memory_order_release);
}

} // namespace ufx::swhca

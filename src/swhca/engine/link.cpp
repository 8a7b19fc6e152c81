// SPDX-License-Identifier: BSD-3-Clause
// Routing, faults, pacing and delivery. A port's rate counts payload, so that it is what a program
// measures; a packet leaves when the one before it has left, and arrives `latency` later.
#include "link.h"

#include "swhca/fabric/fabric.h"
#include "swhca/fabric/repair.h"
#include "swhca/fabric/wakeup.h"
#include "swhca/faults/faults.h"
#include "swhca/model/datagram.h"
#include "swhca/model/requester.h"
#include "swhca/model/responder.h"

#include <algorithm>
#include <cstring>
#include <infiniband/verbs.h>

namespace ufx::swhca {

namespace {

constexpr uint64_t horizon_ns = 1000000;   // a sender stays at most this far ahead of a slow port
constexpr uint64_t max_late_ns = 50000000; // that a port with traffic waiting catches up
constexpr uint32_t spare_packets = 512;    // kept for acknowledgements
constexpr uint64_t reorder_ns = 20000;     // if the rule does not say
constexpr uint32_t min_packet_bytes = 1;   // an acknowledgement takes next to nothing

bool port_up(const hca &one) noexcept
{
    return one.in_use && !one.dead && one.port.state == IBV_PORT_ACTIVE;
}

uint32_t owner_of(image &shared, uint32_t hca, uint32_t qpn) noexcept
{
    const qp *one = find_qp(shared, hca, qpn);
    return one == nullptr ? no_index : one->process;
}

void deliver(core &world, const packet &what, const payload &data) noexcept
{
    hca &to = world.shared.hcas[what.dst_hca];
    qp *one = find_qp(world.shared, what.dst_hca, what.dst_qpn);
    if (!port_up(to) || one == nullptr) {
        to.counters.dropped += what.packets;
        return;
    }
    to.counters.received += what.packets;
    one->counters.received += what.packets;
    works_on torn_if_killed(world.shared, world.index_of(*one));
    if (what.kind == packet_kind::DATAGRAM) {
        receive_datagram(world, *one, what, data);
    } else if (is_request(what.kind)) {
        receive_request(world, *one, what, data);
    } else {
        receive_response(world, *one, what, data);
    }
}

void unlink(image &shared, uint32_t index) noexcept
{
    packet_slot &slot = shared.packets[index];
    slot.queued = false;
    in_this_order();
    (slot.prev == no_index ? shared.wire_head : shared.packets[slot.prev].next) = slot.next;
    (slot.next == no_index ? shared.wire_tail : shared.packets[slot.next].prev) = slot.prev;
    slot.next = shared.wire_free;
    shared.wire_free = index;
    shared.wire_used--;
}

void insert_by_due_time(image &shared, uint32_t index) noexcept
{
    packet_slot &slot = shared.packets[index];
    uint32_t before = shared.wire_tail;
    while (before != no_index && shared.packets[before].due_ns > slot.due_ns) {
        before = shared.packets[before].prev;
    }
    slot.prev = before;
    slot.next = before == no_index ? shared.wire_head : shared.packets[before].next;
    (before == no_index ? shared.wire_head : shared.packets[before].next) = index;
    (slot.next == no_index ? shared.wire_tail : shared.packets[slot.next].prev) = index;
}

// False if the image is full: a packet lost to congestion.
bool enqueue(core &world, const packet &what, const payload &data, uint64_t due_ns) noexcept
{
    image &shared = world.shared;
    // Slots that were never used are no part of the list, so that a new image stays small.
    bool fresh = shared.wire_free == no_index && shared.wire_fresh < max_packets;
    uint32_t index = fresh ? shared.wire_fresh : shared.wire_free;
    if (index == no_index || what.length > max_mtu_bytes) {
        return false;
    }
    packet_slot &slot = shared.packets[index];
    if (fresh && !reserve_memory(&slot, sizeof(slot))) {
        return false;
    }
    memory_piece room{world.memory.self(), reinterpret_cast<uintptr_t>(slot.payload), what.length};
    if (!copy_payload(world, data, 0, room)) {
        world.source_failed =
            !is_severed(world, world.memory.self(), data) && !is_readable(world, data, what.length);
        return false;
    }
    if (fresh) {
        shared.wire_fresh++;
    } else {
        shared.wire_free = slot.next;
    }
    shared.wire_used++;
    slot.due_ns = due_ns;
    slot.order = shared.next_order++;
    slot.header = what;
    in_this_order();
    slot.queued = true;
    in_this_order();
    insert_by_due_time(shared, index);
    return true;
}

// When the packet arrives, if it leaves as soon as the port is free.
uint64_t arrival(core &world, port &from, uint64_t bytes) noexcept
{
    if (from.rate_bps == 0) {
        return world.now_ns + from.latency_ns;
    }
    // A port that has traffic waiting was busy all the time, even if no engine ran: a machine that
    // is short of processors gives late packets, not a slow port.
    uint64_t earliest = from.backlogged ? world.now_ns - max_late_ns : world.now_ns;
    uint64_t leaves = std::max(earliest, from.tx_free_ns) +
                      std::max<uint64_t>(bytes, min_packet_bytes) * 8 * ns_per_s / from.rate_bps;
    from.tx_free_ns = leaves;
    from.backlogged = from.backlogged && leaves < world.now_ns;
    return leaves + from.latency_ns;
}

bool link_is_free(core &world, const hca &from) noexcept
{
    return from.port.rate_bps == 0 && from.port.latency_ns == 0 &&
           world.shared.wire_head == no_index;
}

// What a fault does with a packet that is not dropped.
struct verdict {
    bool drop = false;
    bool twice = false;
    uint64_t delay_ns = 0;
};

// A write that lands although its receiver does not count it.
void stray_write(core &world, const packet &what, const payload &data) noexcept
{
    const qp *one = find_qp(world.shared, what.dst_hca, what.dst_qpn);
    if (one == nullptr || what.kind != packet_kind::WRITE) {
        return;
    }
    const mr *region = find_region(world, what.dst_hca, one->pd, what.rkey, what.va, what.length,
                                   IBV_ACCESS_REMOTE_WRITE);
    if (region != nullptr) {
        (void)copy_payload(world, data, 0, locate(world, *region, what.va, what.length));
    }
}

verdict judge(core &world, const packet &what, const payload &data) noexcept
{
    verdict answer;
    const fault_rule *rule = world.shared.rule_count > 0 ? match_packet(world, what) : nullptr;
    if (rule == nullptr) {
        return answer;
    }
    switch (rule->action) {
    case fault_action::STRAY_WRITE:
        stray_write(world, what, data);
        answer.drop = true;
        break;
    case fault_action::DELAY:
        answer.delay_ns = rule->param;
        break;
    case fault_action::REORDER:
        answer.delay_ns = rule->param > 0 ? rule->param : reorder_ns;
        break;
    case fault_action::DUPLICATE:
        answer.twice = true;
        break;
    case fault_action::HOLD:
        answer.delay_ns = held_for_ever;
        break;
    default: // DROP, and CORRUPT, which the receiver's ICRC check drops
        answer.drop = true;
        break;
    }
    return answer;
}

// Lets held packets go for which `chosen` says so.
template <class Chosen>
void release_if(core &world, Chosen chosen) noexcept
{
    image &shared = world.shared;
    for (uint32_t index = shared.wire_head; index != no_index;) {
        packet_slot &slot = shared.packets[index];
        uint32_t next = slot.next;
        if (slot.due_ns == held_for_ever && chosen(slot.header)) {
            packet_slot *before = slot.prev == no_index ? nullptr : &shared.packets[slot.prev];
            (before == nullptr ? shared.wire_head : before->next) = slot.next;
            (next == no_index ? shared.wire_tail : shared.packets[next].prev) = slot.prev;
            slot.due_ns = world.now_ns;
            insert_by_due_time(shared, index);
        }
        index = next;
    }
}

} // namespace

qp *find_qp(image &shared, uint32_t hca, uint32_t qpn) noexcept
{
    uint32_t index = shared.hcas[hca].qp_of[qpn % max_qps];
    if (index == 0 || shared.qps[index - 1].qpn != qpn || !shared.qps[index - 1].in_use) {
        return nullptr;
    }
    return &shared.qps[index - 1];
}

uint32_t route(const image &shared, const path &to) noexcept
{
    for (uint32_t i = 0; i < shared.hca_count; i++) {
        const port &one = shared.hcas[i].port;
        if (to.global) {
            for (const gid &entry : one.gids) {
                if (entry == to.dgid && entry != gid{}) {
                    return i;
                }
            }
        } else if (one.lid != 0 && one.lid == to.dlid) {
            return i;
        }
    }
    return no_hca;
}

bool transmit(core &world, packet &what, const payload &data) noexcept
{
    image &shared = world.shared;
    hca &from = shared.hcas[what.src_hca];
    from.counters.sent += what.packets;
    if (!port_up(from) || what.dst_hca >= shared.hca_count) {
        from.counters.dropped += what.packets;
        return true;
    }
    bool free = link_is_free(world, from);
    uint64_t due_ns = arrival(world, from.port, what.length);
    verdict fate = judge(world, what, data);
    if (fate.drop) {
        from.counters.dropped += what.packets;
        return true;
    }
    world.source_failed = false;
    bool now = free && fate.delay_ns == 0 &&
               world.memory.reaches(owner_of(shared, what.dst_hca, what.dst_qpn));
    if (now) {
        deliver(world, what, data);
    }
    due_ns = fate.delay_ns == held_for_ever ? held_for_ever : due_ns + fate.delay_ns;
    if ((!now && !enqueue(world, what, data, due_ns)) ||
        (fate.twice && !enqueue(world, what, data, due_ns))) {
        from.counters.dropped += what.packets;
    }
    return !world.source_failed;
}

bool link_has_room(core &world, qp &sender) noexcept
{
    port &from = world.hca_of(sender).port;
    uint64_t horizon = world.now_ns + horizon_ns;
    if (from.rate_bps > 0 && from.tx_free_ns > horizon) {
        sender.req.resume_ns = from.tx_free_ns - horizon_ns / 2;
        from.backlogged = true;
    } else if (world.shared.wire_used + spare_packets > max_packets) {
        sender.req.resume_ns = world.now_ns + horizon_ns / 10;
    } else {
        return true;
    }
    world.shared.timers.add(world.index_of(sender));
    return false;
}

bool link_is_direct(core &world, uint32_t src_hca, uint32_t dst_hca, uint32_t dst_qpn) noexcept
{
    return world.shared.rule_count == 0 && dst_hca < world.shared.hca_count &&
           link_is_free(world, world.shared.hcas[src_hca]) &&
           world.memory.reaches(owner_of(world.shared, dst_hca, dst_qpn));
}

uint64_t deliver_due(core &world) noexcept
{
    image &shared = world.shared;
    uint32_t index = shared.wire_head;
    while (index != no_index) {
        packet_slot &slot = shared.packets[index];
        if (slot.due_ns > world.now_ns) {
            return slot.due_ns == held_for_ever ? UINT64_MAX : slot.due_ns;
        }
        uint32_t owner = owner_of(shared, slot.header.dst_hca, slot.header.dst_qpn);
        uint32_t next = slot.next;
        if (owner == no_index || world.memory.reaches(owner)) {
            payload data;
            data.add(world.memory.self(), reinterpret_cast<uintptr_t>(slot.payload),
                     slot.header.length);
            deliver(world, slot.header, data);
            next = slot.next;
            unlink(shared, index);
        } else {
            wake_process(shared, owner);
        }
        index = next;
    }
    return UINT64_MAX;
}

void release_held_packets(core &world, int hca) noexcept
{
    release_if(world, [hca](const packet &what) { return hca < 0 || what.src_hca == hca; });
}

void release_packets_to(core &world, uint32_t hca, uint32_t qpn) noexcept
{
    release_if(world, [hca, qpn](const packet &what) {
        return what.dst_hca == hca && what.dst_qpn == qpn;
    });
}

} // namespace ufx::swhca

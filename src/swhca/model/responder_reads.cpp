// SPDX-License-Identifier: BSD-3-Clause
// The resources are a ring: a new read or atomic takes the place of the oldest.
#include "responder_reads.h"

#include "payload.h"
#include "queue_pair.h"
#include "responder_verdict.h"

#include "swhca/engine/link.h"
#include "swhca/fabric/repair.h"
#include "ucs/bytes.h"

#include <algorithm>
#include <infiniband/verbs.h>

namespace ufx::swhca {

namespace {

uint32_t resource_limit(const qp &one) noexcept
{
    return std::min(rd_atomic_depth(one.attr.max_dest_rd_atomic), max_rd_atomic);
}

// One of the resources, the newest being of age 1.
resource &resource_of_age(qp &one, uint32_t age) noexcept
{
    uint32_t limit = resource_limit(one);
    return one.resp.resources[(one.resp.resource_tail + limit - age) % limit];
}

// The resource for the next read or atomic; it takes the place of the oldest. nullptr if that one
// has not been answered: the requester sends more than was agreed. One that is being answered again
// is given up, since a requester that goes on has had its answer.
resource *next_resource(qp &one) noexcept
{
    resource &slot = resource_of_age(one, resource_limit(one));
    if (slot.in_use && slot.pending && !slot.repeated) {
        return nullptr;
    }
    slot.atomic = false; // whoever finishes this does not take it for the new one
    in_this_order();
    one.resp.resource_tail++;
    in_this_order();
    slot = {};
    slot.in_use = slot.pending = true;
    return &slot;
}

// Fields are added each for itself: what a highest bit carries is lost.
uint64_t added(const atomic_operands &with, uint64_t old_value) noexcept
{
    uint64_t tops = with.boundary;
    return ((old_value & ~tops) + (with.swap_add & ~tops)) ^ ((old_value ^ with.swap_add) & tops);
}

uint64_t swapped(const atomic_operands &with, uint64_t old_value) noexcept
{
    bool same = ((old_value ^ with.compare) & with.compare_mask) == 0;
    return same ? (old_value & ~with.swap_mask) | (with.swap_add & with.swap_mask) : old_value;
}

// One run of packets of a read; false if the link has no room or the memory has gone.
bool send_read_data(core &world, qp &one, resource &slot, uint32_t dst_hca, packet &what) noexcept
{
    uint32_t mtu = mtu_bytes(one.attr.mtu);
    bool direct = link_is_direct(world, one.hca, dst_hca, one.attr.dest_qpn);
    uint64_t offset = static_cast<uint64_t>(slot.next) * mtu;
    what.kind = packet_kind::READ_RESPONSE;
    what.psn = psn_add(slot.psn, slot.next);
    what.packets = direct ? std::min(slot.packets - slot.next, burst_bytes / mtu) : 1;
    what.length = static_cast<uint32_t>(
        std::min<uint64_t>(slot.length - offset, static_cast<uint64_t>(what.packets) * mtu));
    what.first = slot.next == 0;
    what.last = slot.next + what.packets == slot.packets;
    payload data;
    if (what.length > 0) {
        const mr *region = find_region(world, one.hca, one.pd, slot.rkey, slot.va + offset,
                                       what.length, IBV_ACCESS_REMOTE_READ);
        if (region == nullptr) {
            return false;
        }
        memory_piece piece = locate(world, *region, slot.va + offset, what.length);
        data.add(piece.process, piece.va, piece.length);
    }
    if (!transmit(world, what, data)) {
        return false;
    }
    // Afterwards, and in this order: who is killed between sends twice, but nothing beyond the end.
    slot.pending = slot.next + what.packets < slot.packets;
    in_this_order();
    slot.next += what.packets;
    return true;
}

// Memory has gone in the middle of a read: its rest, and all that follows, is refused.
void refuse_rest(core &world, qp &one, const resource &slot) noexcept
{
    one.resp.ack_pending = false;
    fail_access(world, one, psn_add(slot.psn, slot.next));
    in_this_order();
    for (resource &each : one.resp.resources) {
        each.pending = false;
    }
}

} // namespace

void receive_read(core &world, qp &one, const packet &what) noexcept
{
    if (!is_granted(world, one, what, what.dma_length, IBV_ACCESS_REMOTE_READ)) {
        return;
    }
    resource *slot = next_resource(one);
    if (slot == nullptr) {
        fail_invalid(world, one, what.psn);
        return;
    }
    slot->psn = what.psn;
    slot->packets = packets_of(what.dma_length, mtu_bytes(one.attr.mtu));
    slot->rkey = what.rkey;
    slot->va = what.va;
    slot->length = what.dma_length;
    accept(world, one, what, slot->packets);
    one.resp.ack_pending = false; // the data is the answer
    world.shared.pending.add(world.index_of(one));
}

// The lock of the image makes it atomic to every device; to the processor it is not, which is what
// IBV_ATOMIC_HCA says. The word is in the byte order of the host, and so comes back; but one of 4
// bytes comes back big-endian, as from a device whose driver has set its requests of 8 bytes to the
// order of the host.
void receive_atomic(core &world, qp &one, const packet &what) noexcept
{
    uint32_t bytes = what.atomic.bytes;
    if (what.va % bytes != 0) {
        fail_invalid(world, one, what.psn);
        return;
    }
    if (!is_granted(world, one, what, bytes, IBV_ACCESS_REMOTE_ATOMIC)) {
        return;
    }
    const mr *region =
        find_region(world, one.hca, one.pd, what.rkey, what.va, bytes, IBV_ACCESS_REMOTE_ATOMIC);
    memory_piece place = locate(world, *region, what.va, bytes);
    uint64_t old_value = 0; // x86: the first bytes are the low ones
    if (!world.memory.read(place.process, place.va, &old_value, bytes)) {
        fail_access(world, one, what.psn);
        return;
    }
    resource *slot = next_resource(one);
    if (slot == nullptr) {
        fail_invalid(world, one, what.psn);
        return;
    }
    uint64_t value = what.kind == packet_kind::ATOMIC_FA ? added(what.atomic, old_value)
                                                         : swapped(what.atomic, old_value);
    slot->psn = what.psn;
    slot->packets = 1;
    slot->rkey = what.rkey;
    slot->va = what.va;
    slot->length = bytes;
    slot->found = slot->old_value = old_value;
    slot->left = value;
    if (bytes == sizeof(uint32_t)) {
        ucs::store_be<uint32_t>(&slot->old_value, static_cast<uint32_t>(old_value));
    }
    in_this_order();
    slot->atomic = true;
    in_this_order(); // it is remembered, so that settle_torn() can tell whether it was done
    (void)world.memory.write(place.process, place.va, &value, bytes);
    in_this_order();
    accept(world, one, what, 1);
    one.resp.ack_pending = false;
    world.shared.pending.add(world.index_of(one));
}

void answer_again(core &world, qp &one, const packet &what) noexcept
{
    for (uint32_t age = 1; age <= resource_limit(one); age++) {
        resource &slot = resource_of_age(one, age);
        int32_t into = psn_diff(what.psn, slot.psn);
        if (!slot.in_use || into < 0 || into >= static_cast<int32_t>(slot.packets) ||
            slot.atomic != (what.kind != packet_kind::READ_REQUEST)) {
            continue;
        }
        if (!slot.atomic) {
            slot.next = static_cast<uint32_t>(into);
        }
        slot.pending = slot.repeated = true;
        world.shared.pending.add(world.index_of(one));
        return;
    }
}

resource &newest_resource(qp &one) noexcept
{
    return resource_of_age(one, 1);
}

packet answer_headers(core &world, const qp &one, uint32_t dst_hca) noexcept
{
    packet what{};
    what.src_hca = one.hca;
    what.dst_hca = static_cast<uint8_t>(dst_hca);
    what.dst_qpn = one.attr.dest_qpn;
    what.src_qpn = one.qpn;
    what.packets = 1;
    what.last = true;
    world.shared.hcas[one.hca].counters.acks++;
    return what;
}

answers send_answers(core &world, qp &one, uint32_t dst_hca) noexcept
{
    uint32_t sent = 0;
    for (uint32_t age = resource_limit(one); age > 0; age--) {
        resource &slot = resource_of_age(one, age);
        while (slot.in_use && slot.pending) {
            if (!link_has_room(world, one)) {
                return answers::NO_ROOM;
            }
            if (sent++ == turn_packets) {
                return answers::MORE;
            }
            packet what = answer_headers(world, one, dst_hca);
            if (slot.atomic) {
                what.kind = packet_kind::ATOMIC_RESPONSE;
                what.psn = slot.psn;
                what.length = slot.length;
                payload data;
                data.add(world.memory.self(), reinterpret_cast<uintptr_t>(&slot.old_value),
                         slot.length);
                transmit(world, what, data);
                slot.pending = false;
            } else if (!send_read_data(world, one, slot, dst_hca, what)) {
                refuse_rest(world, one, slot);
            }
        }
    }
    return answers::ALL;
}

} // namespace ufx::swhca

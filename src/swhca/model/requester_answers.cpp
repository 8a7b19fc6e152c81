// SPDX-License-Identifier: BSD-3-Clause
// Answers to what was sent, and timers that run out without one.
#include "requester.h"

#include "send_queue.h"
#include "send_ring.h"

#include <algorithm>
#include <infiniband/mlx5dv.h>

namespace ufx::swhca {

namespace {

// Sends again from `psn` on, which costs one of the retries (IBA 1.4, 9.9.2.1.1): after a timeout,
// a sequence NAK, or an implied NAK. Without any left the QP fails.
void retry(core &world, qp &one, uint32_t psn) noexcept
{
    if (one.req.retries_left == 0) {
        fail_oldest(world, one, MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR);
        return;
    }
    one.req.retries_left--;
    go_back(world, one, psn);
}

// An implied NAK: an answer that comes shows that data before it, at `psn`, was lost. However many
// show it, it is asked for once; if that is lost too, the timer finds out.
void retry_lost_data(core &world, qp &one, uint32_t psn) noexcept
{
    if (one.req.implied_nak || psn_diff(psn, one.req.highest_psn) >= 0) {
        return;
    }
    retry(world, one, psn);
    one.req.implied_nak = true;
}

// The responder has all before `end`. False: the data of a read or atomic before it was lost on the
// way, so that this is asked for again; whatever else the answer says will be said again too.
bool settle(core &world, qp &one, uint32_t end) noexcept
{
    sent_wqe *read = oldest_read(one);
    uint32_t missing = read != nullptr ? psn_add(read->psn, read->received) : end;
    if (psn_diff(end, missing) <= 0) {
        (void)acknowledge(world, one, end);
        return true;
    }
    (void)acknowledge(world, one, missing);
    retry_lost_data(world, one, missing);
    return false;
}

void receive_ack(core &world, qp &one, const packet &what) noexcept
{
    one.counters.acks++;
    (void)settle(world, one, psn_add(what.psn, 1));
}

uint8_t syndrome_of_nak(uint8_t nak) noexcept
{
    switch (nak) {
    case AETH_NAK_INVALID_REQUEST:
        return MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR;
    case AETH_NAK_REMOTE_ACCESS:
        return MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR;
    default:
        return MLX5_CQE_SYNDROME_REMOTE_OP_ERR;
    }
}

void receive_rnr_nak(core &world, qp &one, const packet &what) noexcept
{
    requester_state &req = one.req;
    one.counters.rnrs++;
    if (!settle(world, one, what.psn)) {
        return;
    }
    if (req.rnr_left == 0) {
        fail_oldest(world, one, MLX5_CQE_SYNDROME_RNR_RETRY_EXC_ERR);
        return;
    }
    if (req.rnr_left != 7) { // 7 is for ever
        req.rnr_left--;
    }
    // IBA 1.4, table 45, in units of 10 us.
    constexpr uint32_t timers[32] = {65536, 1,    2,    3,     4,     6,     8,     12,
                                     16,    24,   32,   48,    64,    96,    128,   192,
                                     256,   384,  512,  768,   1024,  1536,  2048,  3072,
                                     4096,  6144, 8192, 12288, 16384, 24576, 32768, 49152};
    req.rnr_deadline_ns = world.now_ns + timers[what.syndrome & 0x1f] * 10000ull;
    world.shared.timers.add(world.index_of(one));
    go_back(world, one, what.psn);
}

void receive_nak(core &world, qp &one, const packet &what) noexcept
{
    one.counters.naks++;
    if (!settle(world, one, what.psn)) {
        return;
    }
    if (what.syndrome != AETH_NAK_SEQUENCE) {
        fail_oldest(world, one, syndrome_of_nak(what.syndrome));
        return;
    }
    retry(world, one, what.psn);
}

bool land_in_cqe(core &world, qp &one, const packet &what, const payload &data) noexcept
{
    inline_payload &into = one.req.inlined;
    into.bytes = static_cast<uint8_t>(what.length);
    return copy_payload(
        world, data, 0,
        {world.memory.self(), reinterpret_cast<uintptr_t>(into.data.data()), what.length});
}

// Data of a read, or the old value of an atomic, which lands where the WQE says.
bool land(core &world, qp &one, const sent_wqe &entry, const packet &what,
          const payload &data) noexcept
{
    fetched_wqe fetched;
    payload landing;
    uint64_t offset = static_cast<uint64_t>(entry.received) * mtu_bytes(one.attr.mtu);
    if (fetch_wqe(world, one, entry.index, fetched) != wqe_error::NONE ||
        offset + what.length > entry.length ||
        !gather(world, one, fetched, offset, what.length, IBV_ACCESS_LOCAL_WRITE, landing)) {
        return false;
    }
    if (lands_in_cqe(one, entry)) {
        return land_in_cqe(world, one, what, data);
    }
    uint64_t done = 0;
    for (uint32_t i = 0; i < landing.count; i++) {
        if (!copy_payload(world, data, done, landing.pieces[i])) {
            return false;
        }
        done += landing.pieces[i].length;
    }
    return true;
}

void receive_data(core &world, qp &one, const packet &what, const payload &data) noexcept
{
    requester_state &req = one.req;
    sent_wqe *entry = oldest_read(one);
    if (entry == nullptr) {
        one.counters.duplicates += what.packets;
        return;
    }
    uint32_t awaited = psn_add(entry->psn, entry->received);
    int32_t ahead = psn_diff(what.psn, awaited);
    if (ahead < 0) {
        one.counters.duplicates += what.packets;
        return;
    }
    // All that came before the read is answered by it.
    (void)acknowledge(world, one, awaited);
    if (ahead > 0) {
        retry_lost_data(world, one, awaited);
        return;
    }
    if (!land(world, one, *entry, what, data)) {
        if (is_severed(world, one.process, data)) {
            return;
        }
        if (!is_readable(world, data, what.length)) {
            world.source_failed = true; // the responder refuses
            return;
        }
        fail_oldest(world, one, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR);
        return;
    }
    entry->received += what.packets;
    if (entry->received >= entry->packets && req.reads > 0) {
        req.reads--;
    }
    (void)acknowledge(world, one, psn_add(awaited, what.packets));
}

} // namespace

void receive_response(core &world, qp &one, const packet &what, const payload &data) noexcept
{
    if (one.state != IBV_QPS_RTS && one.state != IBV_QPS_SQD) {
        return;
    }
    // An answer to what was never sent is a ghost, for instance of a QP that had this number
    // before.
    if (psn_diff(what.psn, one.req.highest_psn) >= 0 ||
        psn_diff(what.psn, one.req.unacked_psn) < -1) {
        one.counters.duplicates += what.packets;
        return;
    }
    bool refused = is_rnr(what.syndrome) || is_nak(what.syndrome);
    if (what.kind != packet_kind::ACK) {
        receive_data(world, one, what, data);
    } else if (refused && psn_diff(what.psn, one.req.unacked_psn) < 0) {
        one.counters.duplicates++; // it was accepted meanwhile
    } else if (is_rnr(what.syndrome)) {
        receive_rnr_nak(world, one, what);
    } else if (is_nak(what.syndrome)) {
        receive_nak(world, one, what);
    } else {
        receive_ack(world, one, what);
    }
    if (one.state == IBV_QPS_RTS) {
        (void)fail_head(world, one);
    }
}

uint64_t run_timers(core &world, qp &one) noexcept
{
    requester_state &req = one.req;
    uint32_t index = world.index_of(one);
    if (req.ack_deadline_ns != 0 && req.ack_deadline_ns <= world.now_ns) {
        req.ack_deadline_ns = 0;
        one.counters.timeouts++;
        world.hca_of(one).counters.timeouts++;
        retry(world, one, req.unacked_psn);
    }
    for (uint64_t *wait : {&req.rnr_deadline_ns, &req.resume_ns}) {
        if (*wait != 0 && *wait <= world.now_ns) {
            *wait = 0;
            world.shared.pending.add(index);
        }
    }
    uint64_t next_ns = UINT64_MAX;
    for (uint64_t wait : {req.ack_deadline_ns, req.rnr_deadline_ns, req.resume_ns}) {
        next_ns = wait != 0 ? std::min(next_ns, wait) : next_ns;
    }
    if (next_ns == UINT64_MAX) {
        world.shared.timers.remove(index);
    }
    return next_ns;
}

} // namespace ufx::swhca

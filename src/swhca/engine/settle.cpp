// SPDX-License-Identifier: BSD-3-Clause
// A completion is three steps: the CQE is written, the CQ counts it, and the QP moves on.
// `completing` says what the first was to be, and where the QP was.
#include "settle.h"

#include "swhca/model/receive_queue.h"
#include "swhca/model/send_queue.h"
#include "swhca/model/send_ring.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace ufx::swhca {

namespace {

// Whether the CQE is in the program's memory; the CQ has counted it then.
bool has_landed(core &world, const completing_cqe &what) noexcept
{
    cq &one = world.shared.cqs[what.cq];
    if (!one.in_use || one.produced != what.produced) {
        return one.in_use;
    }
    constexpr size_t tail_bytes = 8; // opcode, QPN, counter, owner
    cqe_image wanted = encode(what.what, (what.produced >> one.log_size & 1) != 0, one.cqe_bytes);
    std::array<std::byte, tail_bytes> found{};
    uint64_t end =
        one.buffer + (uint64_t{what.produced & ((1u << one.log_size) - 1)} + 1) * one.cqe_bytes;
    uint32_t owner = world.shared.contexts[one.context].process;
    if (!world.memory.read(owner, end - tail_bytes, found.data(), tail_bytes) ||
        std::memcmp(found.data(), wanted.data() + wanted.size() - tail_bytes, tail_bytes) != 0) {
        return false;
    }
    one.produced++;
    one.solicited_at = one.produced; // rather an event too many
    return true;
}

void skip_posted(core &world, qp &one) noexcept
{
    fetched_wqe done;
    (void)fetch_wqe(world, one, one.req.fetched, done);
    auto posted = static_cast<uint16_t>(one.sq_doorbell.load(std::memory_order_acquire));
    uint32_t left = static_cast<uint16_t>(posted - one.req.fetched);
    one.req.fetched = static_cast<uint16_t>(one.req.fetched + std::min(done.blocks, left));
}

void skip_sent(core &world, qp &one) noexcept
{
    requester_state &req = one.req;
    if (req.head == req.tail) {
        skip_posted(world, one);
        return;
    }
    req.head++;
    req.next = std::max(req.next, req.head);
}

void settle_completion(core &world, uint32_t qp_index) noexcept
{
    completing_cqe &what = world.shared.completing;
    if (what.qp != qp_index) {
        return;
    }
    qp &one = world.shared.qps[qp_index];
    bool landed = has_landed(world, what);
    if (landed && what.of_send && one.req.head == what.head && one.req.fetched == what.fetched) {
        skip_sent(world, one);
    }
    if (landed && !what.of_send && one.resp.taken == what.taken) {
        one.resp.receive.held = false;
    }
    what.qp = no_index;
}

} // namespace

void settle_torn(core &world, uint32_t qp_index) noexcept
{
    qp &one = world.shared.qps[qp_index];
    requester_state &req = one.req;
    if (req.tail - req.head > max_outstanding) {
        req.head = req.tail;
    }
    if (req.head != req.tail && at(one, req.tail - 1).index == req.fetched) {
        skip_posted(world, one);
    }
    settle_receive(world, one);
    settle_completion(world, qp_index);
}

} // namespace ufx::swhca

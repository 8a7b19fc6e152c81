// SPDX-License-Identifier: BSD-3-Clause
// A receive queue is a ring of WQEs, counted by word 0 of the doorbell record. A SRQ is a list:
// each WQE begins with struct mlx5_wqe_srq_next_seg, which names the one that is consumed after it.
#include "receive_queue.h"

#include "completion_queue.h"
#include "events.h"

#include "swhca/fabric/repair.h"
#include "swhca/wire/wqe.h"
#include "ucs/bytes.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

namespace ufx::swhca {

static_assert(sizeof(mlx5_wqe_srq_next_seg) == wqe_segment_bytes);
static_assert(offsetof(mlx5_wqe_srq_next_seg, next_wqe_index) == 2);

namespace {

bool read_counter(core &world, uint32_t process, uint64_t doorbell, uint16_t &out) noexcept
{
    uint32_t raw = 0;
    if (!world.memory.read(process, doorbell + MLX5_RCV_DBR * sizeof(raw), &raw, sizeof(raw))) {
        return false;
    }
    out = static_cast<uint16_t>(ucs::load_be<uint32_t>(&raw));
    return true;
}

// `held` last: a WQE that is held was taken.
void hold(qp &one, const receive &what) noexcept
{
    one.resp.receive = what;
    one.resp.taken++;
    in_this_order();
    one.resp.receive.held = true;
    in_this_order();
}

// Past the WQE at the head; false if the program's memory is gone.
bool step(core &world, srq &from) noexcept
{
    uint64_t wqe = from.buffer + (static_cast<uint64_t>(from.place.head) << from.wqe_shift);
    uint16_t next = 0;
    if (!world.memory.read(world.shared.contexts[from.context].process,
                           wqe + offsetof(mlx5_wqe_srq_next_seg, next_wqe_index), &next,
                           sizeof(next))) {
        return false;
    }
    next = ucs::load_be<uint16_t>(&next);
    std::atomic_ref<srq_place>(from.place)
        .store({static_cast<uint16_t>(next % from.size),
                static_cast<uint16_t>(from.place.consumed + 1)},
               std::memory_order_relaxed); // under the lock
    return true;
}

bool take_from_srq(core &world, qp &one) noexcept
{
    srq &from = world.shared.srqs[one.srq];
    uint32_t process = world.shared.contexts[from.context].process;
    uint16_t posted = 0;
    if (!read_counter(world, process, from.doorbell, posted) || posted == from.place.consumed) {
        return false;
    }
    uint64_t wqe = from.buffer + (static_cast<uint64_t>(from.place.head) << from.wqe_shift);
    uint16_t head = from.place.head;
    hold(one, {false, true, head, (1u << from.wqe_shift) / wqe_segment_bytes - 1, 0,
               wqe + wqe_segment_bytes});
    if (!step(world, from)) {
        one.resp.receive.held = false;
        return false;
    }
    check_srq_limit(world, from);
    return true;
}

bool take_from_queue(core &world, qp &one) noexcept
{
    uint16_t posted = 0;
    if (one.rq_size == 0 || !read_counter(world, one.process, one.doorbell, posted) ||
        posted == one.resp.rq_consumed) {
        return false;
    }
    uint32_t slot = one.resp.rq_consumed & (one.rq_size - 1);
    hold(one, {false, false, one.resp.rq_consumed, (1u << one.rq_shift) / wqe_segment_bytes, 0,
               one.buffer + (static_cast<uint64_t>(slot) << one.rq_shift)});
    one.resp.rq_consumed++;
    return true;
}

// The data segments of the held WQE, one after the other.
class segment_list {
public:
    [[nodiscard]] bool read(core &world, const qp &one) noexcept
    {
        const receive &from = one.resp.receive;
        count_ = std::min<uint32_t>(from.sges, max_sges);
        return world.memory.read(one.process, from.wqe, bytes_.data(), count_ * wqe_segment_bytes);
    }

    [[nodiscard]] bool next(data_segment &out) noexcept
    {
        if (at_ == count_) {
            return false;
        }
        auto segment = std::span(bytes_).subspan(at_++ * wqe_segment_bytes, wqe_segment_bytes);
        return parse_receive_segment(segment, out);
    }

private:
    std::array<std::byte, max_wqe_bytes> bytes_;
    uint32_t count_ = 0;
    uint32_t at_ = 0;
};

} // namespace

bool take_receive(core &world, qp &one) noexcept
{
    if (one.resp.receive.held) {
        return true;
    }
    return one.srq == no_index ? take_from_queue(world, one) : take_from_srq(world, one);
}

uint8_t scatter_receive(core &world, qp &one, const payload &data, uint64_t length,
                        uint64_t offset) noexcept
{
    receive &into = one.resp.receive;
    uint32_t key_pd = one.srq == no_index ? one.pd : world.shared.srqs[one.srq].pd;
    segment_list list;
    if (!list.read(world, one)) {
        return MLX5_CQE_SYNDROME_LOCAL_PROT_ERR;
    }
    uint64_t skip = into.offset;
    data_segment sge{};
    while (length > 0 && list.next(sge)) {
        if (skip >= sge.length) {
            skip -= sge.length;
            continue;
        }
        uint64_t size = std::min<uint64_t>(sge.length - skip, length);
        const mr *region = find_region(world, one.hca, key_pd, sge.lkey, sge.va + skip, size,
                                       IBV_ACCESS_LOCAL_WRITE);
        if (region == nullptr ||
            !copy_payload(world, data, offset, locate(world, *region, sge.va + skip, size))) {
            return MLX5_CQE_SYNDROME_LOCAL_PROT_ERR;
        }
        offset += size;
        length -= size;
        into.offset += static_cast<uint32_t>(size);
        skip = 0;
    }
    return length == 0 ? 0 : static_cast<uint8_t>(MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR);
}

uint8_t receive_in_cqe(core &world, qp &one, const payload &data, uint32_t length,
                       inline_payload &into) noexcept
{
    segment_list list;
    if (!list.read(world, one)) {
        return MLX5_CQE_SYNDROME_LOCAL_PROT_ERR;
    }
    uint64_t room = 0;
    data_segment sge{};
    while (list.next(sge)) {
        room += sge.length;
    }
    if (length > room) {
        return MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR;
    }
    into.bytes = static_cast<uint8_t>(length);
    one.resp.receive.offset = length;
    bool copied =
        copy_payload(world, data, 0,
                     {world.memory.self(), reinterpret_cast<uintptr_t>(into.data.data()), length});
    return copied ? 0 : static_cast<uint8_t>(MLX5_CQE_SYNDROME_LOCAL_PROT_ERR);
}

void settle_receive(core &world, qp &one) noexcept
{
    const receive &held = one.resp.receive;
    if (held.held && held.from_srq && one.srq != no_index) {
        srq &from = world.shared.srqs[one.srq];
        if (held.counter == from.place.head) {
            (void)step(world, from);
        }
    } else if (held.held && held.counter == one.resp.rq_consumed) {
        one.resp.rq_consumed++;
    }
}

void flush_receive_queue(core &world, qp &one) noexcept
{
    receive &held = one.resp.receive;
    while (held.held || (one.srq == no_index && take_receive(world, one))) {
        completion what{};
        what.opcode = MLX5_CQE_RESP_ERR;
        what.syndrome = MLX5_CQE_SYNDROME_WR_FLUSH_ERR;
        what.wqe_counter = held.counter;
        what.qpn = one.qpn;
        what.uidx = one.uidx;
        complete(world, one, one.recv_cq, what);
        held.held = false;
    }
    if (one.srq != no_index && !one.last_wqe_reported) {
        raise_qp_event(world, one, IBV_EVENT_QP_LAST_WQE_REACHED);
        in_this_order(); // rather an event too many
        one.last_wqe_reported = true;
    }
}

void check_srq_limit(core &world, srq &one) noexcept
{
    uint16_t posted = 0;
    if (one.limit == 0 ||
        !read_counter(world, world.shared.contexts[one.context].process, one.doorbell, posted)) {
        return;
    }
    if (static_cast<uint16_t>(posted - one.place.consumed) < one.limit) {
        raise_srq_event(world, one, IBV_EVENT_SRQ_LIMIT_REACHED);
        in_this_order(); // rather an event too many
        one.limit = 0;
    }
}

} // namespace ufx::swhca

// SPDX-License-Identifier: BSD-3-Clause
// Completions and receive buffers through libibverbs.
#include "shared_queues.h"

#include "ucs/log.h"

#include <cstring>
#include <numeric>

namespace ufx::uct::ib::verbs {

ucs::result<shared_queues> shared_queues::take(const rc_resources &resources)
{
    return shared_queues(resources);
}

shared_queues::shared_queues(const rc_resources &resources)
    : sends_{resources.send_cq.get(), {}, 0}, receives_{resources.receive_cq.get(), {}, 0},
      srq_(resources.srq.get()), buffers_(resources.srq_size)
{
    sends_.waiting.reserve(static_cast<size_t>(sends_.cq->cqe) + 1);
    receives_.waiting.reserve(static_cast<size_t>(receives_.cq->cqe) + 1);
    given_.reserve(buffers_.size());
}

ufx_status_t shared_queues::give_all() noexcept
{
    given_.resize(buffers_.size());
    std::iota(given_.begin(), given_.end(), 0u);
    post_given();
    return given_.empty() ? UFX_OK : UFX_ERR_IO;
}

void shared_queues::post_given() noexcept
{
    size_t done = 0;
    for (; done < given_.size(); done++) {
        const uint32_t slot = given_[done];
        ibv_recv_wr wr{};
        wr.wr_id = slot;
        wr.sg_list = &buffers_[slot];
        wr.num_sge = 1;
        ibv_recv_wr *bad = nullptr;
        if (const int error = ibv_post_srq_recv(srq_, &wr, &bad); error != 0) {
            ufx_warn("a receive buffer is refused and tried again: %s", std::strerror(error));
            break;
        }
    }
    given_.erase(given_.begin(), given_.begin() + static_cast<std::ptrdiff_t>(done));
}

ufx_status_t shared_queues::arm() noexcept
{
    return ibv_req_notify_cq(sends_.cq, 0) == 0 && ibv_req_notify_cq(receives_.cq, 0) == 0
               ? UFX_OK
               : UFX_ERR_IO;
}

bool shared_queues::has_completion() noexcept
{
    take_in(sends_);
    take_in(receives_);
    return !sends_.waiting.empty() || !receives_.waiting.empty();
}

void shared_queues::take_in(queue &from) noexcept
{
    ibv_wc wc{};
    while (from.waiting.size() < from.waiting.capacity() && ibv_poll_cq(from.cq, 1, &wc) == 1) {
        from.waiting.push_back(wc);
    }
}

size_t shared_queues::next_of(queue &from, std::span<ibv_wc> room) noexcept
{
    const size_t count = std::min(from.waiting.size(), room.size());
    if (count != 0) [[unlikely]] {
        const auto end = from.waiting.begin() + static_cast<std::ptrdiff_t>(count);
        std::copy(from.waiting.begin(), end, room.begin());
        from.waiting.erase(from.waiting.begin(), end);
    }
    room = room.subspan(count);
    const int found =
        room.empty() ? 0 : ibv_poll_cq(from.cq, static_cast<int>(room.size()), room.data());
    return count + static_cast<size_t>(std::max(found, 0));
}

} // namespace ufx::uct::ib::verbs

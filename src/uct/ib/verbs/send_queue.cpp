// SPDX-License-Identifier: BSD-3-Clause
// Posts requests through libibverbs.
#include "send_queue.h"

#include "ucs/log.h"

#include <cstring>

namespace ufx::uct::ib::verbs {

namespace {

ibv_wr_opcode opcode_of(send_op op) noexcept
{
    switch (op) {
    case send_op::send:
        return IBV_WR_SEND;
    case send_op::read:
        return IBV_WR_RDMA_READ;
    case send_op::fetch_add:
        return IBV_WR_ATOMIC_FETCH_AND_ADD;
    case send_op::compare_swap:
        return IBV_WR_ATOMIC_CMP_AND_SWP;
    case send_op::masked_add: // verbs have no call for these, so none comes here
    case send_op::masked_swap:
    case send_op::write:
    case send_op::nop: // a write of nothing
        break;
    }
    return IBV_WR_RDMA_WRITE;
}

} // namespace

ucs::result<send_queue> send_queue::take(ibv_qp *qp, const rc_config &config,
                                         const rc_resources &) noexcept
{
    return send_queue(qp, config.tx_queue + reserved);
}

uint64_t send_queue::post(const send_request &request) noexcept
{
    ibv_send_wr wr{};
    wr.wr_id = posted() + 1;
    wr.opcode = opcode_of(request.op);
    wr.sg_list = const_cast<ibv_sge *>(request.pieces.data());
    wr.num_sge = static_cast<int>(request.pieces.size());
    wr.send_flags = (request.signaled ? unsigned{IBV_SEND_SIGNALED} : 0u) |
                    (request.copied ? unsigned{IBV_SEND_INLINE} : 0u) |
                    (request.fenced ? unsigned{IBV_SEND_FENCE} : 0u);
    if (request.atomic != nullptr) {
        const bool add = request.op == send_op::fetch_add;
        wr.wr.atomic.remote_addr = request.remote_addr;
        wr.wr.atomic.rkey = request.rkey;
        wr.wr.atomic.compare_add = add ? request.atomic->operand : request.atomic->compare;
        wr.wr.atomic.swap = add ? 0 : request.atomic->operand;
    } else {
        wr.wr.rdma.remote_addr = request.remote_addr;
        wr.wr.rdma.rkey = request.rkey;
    }
    ibv_send_wr *bad = nullptr;
    const int error = ibv_post_send(qp_, &wr, &bad);
    if (error != 0) [[unlikely]] {
        ufx_warn("queue pair 0x%06x: a request is refused: %s", qp_->qp_num, std::strerror(error));
        broken_ = true;
        return posted() + 1; // never completed: behind all that is
    }
    advance(1);
    return posted();
}

} // namespace ufx::uct::ib::verbs

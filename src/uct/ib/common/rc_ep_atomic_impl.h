// SPDX-License-Identifier: BSD-3-Clause
// Atomics of rc_ep. Included where a transport is instantiated.
#ifndef UFX_UCT_IB_COMMON_RC_EP_ATOMIC_IMPL_H
#define UFX_UCT_IB_COMMON_RC_EP_ATOMIC_IMPL_H

#include "atomic_request.h"
#include "rc_ep_post_impl.h"

namespace ufx::uct::ib {

// Where a value comes back, it comes into the record.
template <class Hw>
ufx_status_t rc_ep<Hw>::post_atomic(ufx_uct_atomic_op_t op, unsigned size, uint64_t operand,
                                    uint64_t compare, void *result, uint64_t remote_addr,
                                    ufx_uct_rkey_t rkey, ufx_uct_completion_t *comp) noexcept
{
    if constexpr (send_queue::max_short != 0) {
        if (is_standard(op, size) && this->iface().atomics() != atomic_level::none &&
            remote_addr % sizeof(uint64_t) == 0 && has_room()) [[likely]] {
            atomic_quickly(*push_atomic(this->queue_, op, size, operand, compare, result,
                                        remote_addr, rkey, comp));
            return result == nullptr ? UFX_OK : UFX_INPROGRESS;
        }
    }
    const uint64_t offered = atomic_ops(this->iface().atomics(), size);
    if (offered == 0) {
        return UFX_ERR_UNSUPPORTED;
    }
    if (!in_mask(offered, op) || remote_addr % size != 0) {
        return UFX_ERR_INVALID_PARAM;
    }
    op_record *record = has_room() ? push_atomic(this->queue_, op, size, operand, compare, result,
                                                 remote_addr, rkey, comp)
                                   : nullptr;
    if (record == nullptr) {
        return no_room();
    }
    const atomic_request made = atomic_request_of(op, size, operand, compare);
    const ibv_sge piece = own_piece(record->data(), size);
    post(*record,
         {.op = made.op,
          .signaled = result != nullptr,
          .pieces = {&piece, 1},
          .remote_addr = remote_addr,
          .rkey = static_cast<uint32_t>(rkey),
          .atomic = &made.operands},
         size);
    return result == nullptr ? UFX_OK : UFX_INPROGRESS;
}

// Only what gives nothing back.
template <class Hw>
ufx_status_t rc_ep<Hw>::post_atomic_only(ufx_uct_atomic_op_t op, unsigned size, uint64_t operand,
                                         uint64_t remote_addr, ufx_uct_rkey_t rkey) noexcept
{
    return in_mask(atomic_post_mask, op)
               ? post_atomic(op, size, operand, 0, nullptr, remote_addr, rkey, nullptr)
               : UFX_ERR_INVALID_PARAM;
}

template <class Hw>
ufx_status_t rc_ep<Hw>::fetch_atomic(ufx_uct_atomic_op_t op, unsigned size, uint64_t operand,
                                     void *result, uint64_t remote_addr, ufx_uct_rkey_t rkey,
                                     ufx_uct_completion_t *comp) noexcept
{
    return in_mask(atomic_fetch_mask, op)
               ? post_atomic(op, size, operand, 0, result, remote_addr, rkey, comp)
               : UFX_ERR_INVALID_PARAM;
}

template <class Hw>
ufx_status_t rc_ep<Hw>::atomic32_post(ufx_uct_atomic_op_t op, uint32_t operand,
                                      uint64_t remote_addr, ufx_uct_rkey_t rkey) noexcept
{
    return post_atomic_only(op, sizeof(operand), operand, remote_addr, rkey);
}

template <class Hw>
ufx_status_t rc_ep<Hw>::atomic32_fetch(ufx_uct_atomic_op_t op, uint32_t operand, uint32_t *result,
                                       uint64_t remote_addr, ufx_uct_rkey_t rkey,
                                       ufx_uct_completion_t *comp) noexcept
{
    return fetch_atomic(op, sizeof(operand), operand, result, remote_addr, rkey, comp);
}

template <class Hw>
ufx_status_t rc_ep<Hw>::atomic32_cswap(uint32_t compare, uint32_t swap, uint32_t *result,
                                       uint64_t remote_addr, ufx_uct_rkey_t rkey,
                                       ufx_uct_completion_t *comp) noexcept
{
    return post_atomic(UFX_UCT_ATOMIC_CSWAP, sizeof(swap), swap, compare, result, remote_addr, rkey,
                       comp);
}

template <class Hw>
ufx_status_t rc_ep<Hw>::atomic64_post(ufx_uct_atomic_op_t op, uint64_t operand,
                                      uint64_t remote_addr, ufx_uct_rkey_t rkey) noexcept
{
    return post_atomic_only(op, sizeof(operand), operand, remote_addr, rkey);
}

template <class Hw>
ufx_status_t rc_ep<Hw>::atomic64_fetch(ufx_uct_atomic_op_t op, uint64_t operand, uint64_t *result,
                                       uint64_t remote_addr, ufx_uct_rkey_t rkey,
                                       ufx_uct_completion_t *comp) noexcept
{
    return fetch_atomic(op, sizeof(operand), operand, result, remote_addr, rkey, comp);
}

template <class Hw>
ufx_status_t rc_ep<Hw>::atomic64_cswap(uint64_t compare, uint64_t swap, uint64_t *result,
                                       uint64_t remote_addr, ufx_uct_rkey_t rkey,
                                       ufx_uct_completion_t *comp) noexcept
{
    return post_atomic(UFX_UCT_ATOMIC_CSWAP, sizeof(swap), swap, compare, result, remote_addr, rkey,
                       comp);
}

} // namespace ufx::uct::ib

#endif

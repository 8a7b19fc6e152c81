// SPDX-License-Identifier: BSD-3-Clause
// Executes an atomic operation on host memory.
#ifndef UFX_UCT_BASE_ATOMICS_H
#define UFX_UCT_BASE_ATOMICS_H

#include <ufx/uct_types.h>

#include <atomic>
#include <cstdint>

namespace ufx::uct {

inline constexpr uint64_t atomic_post_mask = (1u << UFX_UCT_ATOMIC_ADD) |
                                             (1u << UFX_UCT_ATOMIC_AND) |
                                             (1u << UFX_UCT_ATOMIC_OR) | (1u << UFX_UCT_ATOMIC_XOR);
inline constexpr uint64_t atomic_fetch_mask = atomic_post_mask | (1u << UFX_UCT_ATOMIC_SWAP);

[[nodiscard]] constexpr bool in_mask(uint64_t mask, ufx_uct_atomic_op_t op) noexcept
{
    auto value = static_cast<unsigned>(op);
    return value < 64 && ((mask >> value) & 1) != 0;
}

// `target` is aligned. Sequentially consistent: it pairs with any atomic access of the target's
// program. Returns the value before.
template <class T>
T apply_atomic(ufx_uct_atomic_op_t op, T *target, T operand, T compare) noexcept
{
    std::atomic_ref<T> ref(*target);
    switch (op) {
    case UFX_UCT_ATOMIC_ADD:
        return ref.fetch_add(operand, std::memory_order_seq_cst);
    case UFX_UCT_ATOMIC_AND:
        return ref.fetch_and(operand, std::memory_order_seq_cst);
    case UFX_UCT_ATOMIC_OR:
        return ref.fetch_or(operand, std::memory_order_seq_cst);
    case UFX_UCT_ATOMIC_XOR:
        return ref.fetch_xor(operand, std::memory_order_seq_cst);
    case UFX_UCT_ATOMIC_SWAP:
        return ref.exchange(operand, std::memory_order_seq_cst);
    case UFX_UCT_ATOMIC_CSWAP:
        ref.compare_exchange_strong(compare, operand, std::memory_order_seq_cst,
                                    std::memory_order_seq_cst);
        return compare;
    }
    return T{};
}

// `size` is 4 or 8; the value before is returned in the low bytes.
inline uint64_t apply_atomic(ufx_uct_atomic_op_t op, unsigned size, void *target, uint64_t operand,
                             uint64_t compare) noexcept
{
    if (size == sizeof(uint32_t)) {
        return apply_atomic(op, static_cast<uint32_t *>(target), static_cast<uint32_t>(operand),
                            static_cast<uint32_t>(compare));
    }
    return apply_atomic(op, static_cast<uint64_t *>(target), operand, compare);
}

} // namespace ufx::uct

#endif

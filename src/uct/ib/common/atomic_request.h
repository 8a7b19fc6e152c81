// SPDX-License-Identifier: BSD-3-Clause
// Which request of a device does what an atomic of this library asks for.
#ifndef UFX_UCT_IB_COMMON_ATOMIC_REQUEST_H
#define UFX_UCT_IB_COMMON_ATOMIC_REQUEST_H

#include "send_request.h"

#include "uct/base/atomics.h"

namespace ufx::uct::ib {

// What a device can do: nothing; adding and compare-and-swap on 8 bytes; both with masks and on 4
// bytes too, from which all others are made.
enum class atomic_level : uint8_t { none, standard, extended };

// Bits of the operations, with that of CSWAP.
[[nodiscard]] constexpr uint64_t atomic_ops(atomic_level level, unsigned size) noexcept
{
    constexpr uint64_t cswap = 1u << UFX_UCT_ATOMIC_CSWAP;
    if (level == atomic_level::extended) {
        return atomic_fetch_mask | cswap;
    }
    return level == atomic_level::standard && size == sizeof(uint64_t)
               ? 1u << UFX_UCT_ATOMIC_ADD | cswap
               : 0;
}

// Every device that has any has these.
[[nodiscard]] constexpr bool is_standard(ufx_uct_atomic_op_t op, unsigned size) noexcept
{
    return size == sizeof(uint64_t) && (op == UFX_UCT_ATOMIC_ADD || op == UFX_UCT_ATOMIC_CSWAP);
}

struct atomic_request {
    send_op op;
    atomic_operands operands;
};

// The operation is one of atomic_ops(). An adding without carry between bits is XOR; a swap of some
// bits, whatever the others are, is AND, OR and SWAP.
[[nodiscard]] constexpr atomic_request atomic_request_of(ufx_uct_atomic_op_t op, unsigned size,
                                                         uint64_t operand,
                                                         uint64_t compare) noexcept
{
    const auto bytes = static_cast<uint8_t>(size);
    const uint64_t all = size == sizeof(uint32_t) ? UINT32_MAX : UINT64_MAX;
    const bool has_no_mask = size == sizeof(uint64_t);
    const auto swap_bits = [&](uint64_t mask) -> atomic_request {
        return {send_op::masked_swap,
                {.bytes = bytes, .operand = operand, .operand_mask = mask & all}};
    };
    switch (op) {
    case UFX_UCT_ATOMIC_AND:
        return swap_bits(~operand);
    case UFX_UCT_ATOMIC_OR:
        return swap_bits(operand);
    case UFX_UCT_ATOMIC_SWAP:
        return swap_bits(all);
    case UFX_UCT_ATOMIC_XOR:
        return {send_op::masked_add, {.bytes = bytes, .operand = operand, .operand_mask = all}};
    case UFX_UCT_ATOMIC_CSWAP:
        return {has_no_mask ? send_op::compare_swap : send_op::masked_swap,
                {.bytes = bytes,
                 .operand = operand,
                 .compare = compare,
                 .operand_mask = all,
                 .compare_mask = all}};
    case UFX_UCT_ATOMIC_ADD:
        break;
    }
    return {has_no_mask ? send_op::fetch_add : send_op::masked_add,
            {.bytes = bytes, .operand = operand}};
}

} // namespace ufx::uct::ib

#endif

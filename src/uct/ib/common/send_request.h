// SPDX-License-Identifier: BSD-3-Clause
// One request to a send queue, and how it ended: what the queues of all devices understand.
#ifndef UFX_UCT_IB_COMMON_SEND_REQUEST_H
#define UFX_UCT_IB_COMMON_SEND_REQUEST_H

#include <ufx/uct_types.h>

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace ufx::uct::ib {

// The masked ones are extended atomics, which not all queues have.
enum class send_op : uint8_t {
    nop,
    send,
    write,
    read,
    fetch_add,
    compare_swap,
    masked_add,
    masked_swap
};

struct atomic_operands {
    uint8_t bytes;    // 8, or 4 of a masked one
    uint64_t operand; // what is added or swapped in
    uint64_t compare = 0;
    uint64_t operand_mask = 0; // masked_swap: bits that are swapped; masked_add: highest bits of
                               // the fields that are added each for itself
    uint64_t compare_mask = 0; // masked_swap: bits that are compared
};

struct remote_place {
    uint64_t addr;
    uint32_t rkey;
};

struct send_request {
    send_op op = send_op::nop;
    bool signaled = false; // a completion of its own; without, one that comes later covers it
    bool copied = false;   // the bytes of the pieces go into the queue; their lkeys do not count
    bool fenced = false;   // starts when all reads and atomics before it have ended
    std::span<const ibv_sge> pieces{};
    uint64_t remote_addr = 0; // of all but send and nop
    uint32_t rkey = 0;
    const atomic_operands *atomic = nullptr; // of atomics
};

[[nodiscard]] inline uint64_t pieces_length(std::span<const ibv_sge> pieces) noexcept
{
    uint64_t length = 0;
    for (const ibv_sge &piece : pieces) {
        length += piece.length;
    }
    return length;
}

// Why a request failed.
struct send_error {
    ibv_wc_status status;
    uint32_t vendor_syndrome;
};

struct failure {
    ufx_status_t status;
    ufx_uct_error_cause_t cause;
};

// What the layer above needs to know of an error. A flush without an error before it: somebody else
// broke the queue pair.
[[nodiscard]] failure failure_of(ibv_wc_status status) noexcept;

} // namespace ufx::uct::ib

#endif

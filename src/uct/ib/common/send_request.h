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

enum class send_op : uint8_t { nop, send, write, read, fetch_add, compare_swap };

struct send_request {
    send_op op = send_op::nop;
    bool signaled = false; // a completion of its own; without, one that comes later covers it
    bool copied = false;   // the bytes of the pieces go into the queue; their lkeys do not count
    bool fenced = false;   // starts when all reads and atomics before it have ended
    std::span<const ibv_sge> pieces{};
    uint64_t remote_addr = 0; // of all but send and nop
    uint32_t rkey = 0;
    uint64_t operand = 0; // of atomics: what is added or swapped in
    uint64_t compare = 0;
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

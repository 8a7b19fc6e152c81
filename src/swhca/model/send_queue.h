// SPDX-License-Identifier: BSD-3-Clause
// Fetching send WQEs from a program's queue, and where their data lies.
#ifndef UFX_SWHCA_MODEL_SEND_QUEUE_H
#define UFX_SWHCA_MODEL_SEND_QUEUE_H

#include "core.h"
#include "payload.h"

#include "swhca/wire/wqe.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace ufx::swhca {

// A WQE out of the queue: its bytes in a row, and what they say.
struct fetched_wqe {
    alignas(8) std::array<std::byte, max_wqe_bytes> bytes;
    send_wqe wqe;
    uint32_t blocks;
};

// Reads the WQE at `index` (in basic blocks). An error in `why` leaves `out.blocks` at 1 at least,
// so that a walk over the queue goes on.
[[nodiscard]] wqe_error fetch_wqe(core &world, const qp &one, uint16_t index,
                                  fetched_wqe &out) noexcept;

// [offset, offset + length) of the WQE's data, with the rights of its local keys checked; `access`
// is IBV_ACCESS_LOCAL_WRITE where the data will be written. False: local protection error.
[[nodiscard]] bool gather(core &world, const qp &one, const fetched_wqe &from, uint64_t offset,
                          uint64_t length, uint32_t access, payload &out) noexcept;

// Reports that the WQE at `index` is complete: `syndrome` 0 is success. `with` is data that came.
void complete_send(core &world, qp &one, uint8_t opcode, uint16_t index, uint32_t length,
                   uint8_t syndrome, const inline_payload &with = {}) noexcept;

} // namespace ufx::swhca

#endif

// SPDX-License-Identifier: BSD-3-Clause
// payload: the data of a packet, still where it lies, and the checks of local and remote keys.
#ifndef UFX_SWHCA_MODEL_PAYLOAD_H
#define UFX_SWHCA_MODEL_PAYLOAD_H

#include "core.h"

#include "swhca/wire/wqe.h"

#include <array>
#include <cstdint>

namespace ufx::swhca {

struct payload {
    std::array<memory_piece, max_sges + 1> pieces; // one for a route header
    uint32_t count = 0;

    void add(uint32_t process, uint64_t va, uint64_t length) noexcept
    {
        if (length > 0) {
            pieces[count++] = {process, va, length};
        }
    }
};

// The region that `key` names if it belongs to `pd` on `context`'s device, grants `access`
// (IBV_ACCESS_*), and holds all of [va, va + length); nullptr otherwise.
[[nodiscard]] const mr *find_region(core &world, uint32_t hca, uint32_t pd, uint32_t key,
                                    uint64_t va, uint64_t length, uint32_t access) noexcept;

// Where in its process a region's address lies.
[[nodiscard]] memory_piece locate(core &world, const mr &region, uint64_t va,
                                  uint64_t length) noexcept;

// Whether a process that holds the data, or `process`, is gone: then a packet is lost, not refused.
[[nodiscard]] bool is_severed(core &world, uint32_t process, const payload &data) noexcept;

// Whether all of it can be read: after a copy that failed, which end it was.
[[nodiscard]] bool is_readable(core &world, const payload &data, uint64_t length) noexcept;

// Copies [offset, offset + length) of `from` to one place; false if memory is missing.
[[nodiscard]] bool copy_payload(core &world, const payload &from, uint64_t offset,
                                const memory_piece &to) noexcept;

} // namespace ufx::swhca

#endif

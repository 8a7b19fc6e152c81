// SPDX-License-Identifier: BSD-3-Clause
// core: what every part of the device model works with. Its user holds the lock of the image.
#ifndef UFX_SWHCA_MODEL_CORE_H
#define UFX_SWHCA_MODEL_CORE_H

#include "swhca/engine/process_memory.h"
#include "swhca/fabric/image.h"

#include <cstdint>

namespace ufx::swhca {

struct core {
    image &shared;
    process_memory &memory;
    uint64_t now_ns; // the time of this pass
    bool source_failed = false; // the data of the packet that travels could not be read

    [[nodiscard]] hca &hca_of(const qp &one) const noexcept { return shared.hcas[one.hca]; }

    [[nodiscard]] uint32_t index_of(const qp &one) const noexcept
    {
        return static_cast<uint32_t>(&one - shared.qps);
    }
};

// A range of a process's memory.
struct memory_piece {
    uint32_t process;
    uint64_t va;
    uint64_t length;
};

[[nodiscard]] constexpr uint32_t mtu_bytes(uint8_t code) noexcept
{
    return 128u << code; // IBV_MTU_256 is 1
}

} // namespace ufx::swhca

#endif

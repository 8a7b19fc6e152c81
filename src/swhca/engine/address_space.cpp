// SPDX-License-Identifier: BSD-3-Clause
// mincore() says ENOMEM for a range with a hole, and touches nothing.
#include "address_space.h"

#include <algorithm>
#include <array>
#include <sys/mman.h>

namespace ufx::swhca {

bool is_mapped(uint64_t start, uint64_t length) noexcept
{
    constexpr uint64_t page = 4096;
    constexpr uint64_t pages_at_once = 4096;
    std::array<unsigned char, pages_at_once> state;
    uint64_t at = start & ~(page - 1);
    uint64_t end = start + length;
    while (at < end) {
        uint64_t size = std::min(end - at, pages_at_once * page);
        if (::mincore(reinterpret_cast<void *>(static_cast<uintptr_t>(at)), size, state.data()) !=
            0) {
            return false;
        }
        at += size;
    }
    return true;
}

} // namespace ufx::swhca

// SPDX-License-Identifier: BSD-3-Clause
// Keys, and copies from where data lies to where it belongs.
#include "payload.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace ufx::swhca {

const mr *find_region(core &world, uint32_t hca, uint32_t pd, uint32_t key, uint64_t va,
                      uint64_t length, uint32_t access) noexcept
{
    const mr &region = world.shared.mrs[(key >> 8) % max_mrs];
    if (!region.in_use || region.key != key || region.pd != pd ||
        (region.access & access) != access || world.shared.contexts[region.context].hca != hca) {
        return nullptr;
    }
    if (va < region.iova || length > region.length || va - region.iova > region.length - length) {
        return nullptr;
    }
    return &region;
}

memory_piece locate(core &world, const mr &region, uint64_t va, uint64_t length) noexcept
{
    return {world.shared.contexts[region.context].process, region.start + (va - region.iova),
            length};
}

bool is_severed(core &world, uint32_t process, const payload &data) noexcept
{
    bool severed = !world.memory.reaches(process);
    for (uint32_t i = 0; i < data.count; i++) {
        severed = severed || !world.memory.reaches(data.pieces[i].process);
    }
    return severed;
}

bool is_readable(core &world, const payload &data, uint64_t length) noexcept
{
    std::array<std::byte, 1024> room;
    for (uint64_t at = 0; at < length; at += room.size()) {
        memory_piece to{world.memory.self(), reinterpret_cast<uintptr_t>(room.data()),
                        std::min<uint64_t>(room.size(), length - at)};
        if (!copy_payload(world, data, at, to)) {
            return false;
        }
    }
    return true;
}

bool copy_payload(core &world, const payload &from, uint64_t offset,
                  const memory_piece &to) noexcept
{
    uint64_t done = 0;
    for (uint32_t i = 0; i < from.count && done < to.length; i++) {
        const memory_piece &piece = from.pieces[i];
        if (offset >= piece.length) {
            offset -= piece.length;
            continue;
        }
        uint64_t size = std::min(piece.length - offset, to.length - done);
        if (!world.memory.copy(to.process, to.va + done, piece.process, piece.va + offset, size)) {
            return false;
        }
        done += size;
        offset = 0;
    }
    return done == to.length;
}

} // namespace ufx::swhca

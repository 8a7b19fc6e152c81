// SPDX-License-Identifier: BSD-3-Clause
// Growth and leak report of pools.
#include "pool.h"

#include "log.h"

#include <algorithm>
#include <cassert>
#include <cstdint>

namespace ufx::ucs {

block_pool::block_pool(const params &wanted) : wanted_(wanted)
{
    assert(wanted.block_size > 0 && wanted.chunk > 0);
    assert((wanted.alignment & (wanted.alignment - 1)) == 0);
    wanted_.alignment = std::max(wanted.alignment, alignof(free_block));
    size_t size = std::max(wanted.block_size, sizeof(free_block));
    stride_ = (size + wanted_.alignment - 1) & ~(wanted_.alignment - 1);
}

block_pool::~block_pool()
{
    if (in_use_ > 0) {
        ufx_warn("pool %s: %zu of %zu blocks were not returned", wanted_.name, in_use_, capacity_);
    }
    for (void *chunk : chunks_) {
        ::operator delete(chunk, std::align_val_t(wanted_.alignment));
    }
}

bool block_pool::reserve(size_t count) noexcept
{
    while (capacity_ < count) {
        if (!grow()) {
            return false;
        }
    }
    return true;
}

bool block_pool::grow() noexcept
{
    size_t count = wanted_.chunk;
    if (wanted_.limit != 0) {
        count = std::min(count, wanted_.limit - capacity_);
    }
    if (count == 0 || count > SIZE_MAX / stride_) {
        return false;
    }
    void *chunk = ::operator new(count *stride_, std::align_val_t(wanted_.alignment), std::nothrow);
    if (chunk == nullptr) {
        return false;
    }
    try {
        chunks_.push_back(chunk);
    } catch (const std::bad_alloc &) {
        ::operator delete(chunk, std::align_val_t(wanted_.alignment));
        return false;
    }
    // From the last to the first, so that blocks are taken in the order of their addresses.
    for (size_t i = count; i-- > 0;) {
        void *memory = static_cast<std::byte *>(chunk) + i * stride_;
        free_ = ::new (memory) free_block{free_};
    }
    capacity_ += count;
    return true;
}

} // namespace ufx::ucs

// SPDX-License-Identifier: BSD-3-Clause
// Allocates and registers chunks.
#include "receive_buffers.h"

#include "ucs/log.h"

#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

namespace ufx::uct::ib {

namespace {

constexpr size_t chunk_buffers = 256;
constexpr size_t alignment = 64;

} // namespace

bool receive_buffers::grow() noexcept
{
    const size_t stride = (offset_ - sizeof(am_header) + size_ + alignment - 1) & ~(alignment - 1);
    const size_t bytes = chunk_buffers * stride + alignment;
    try {
        chunks_.reserve(chunks_.size() + 1);
    } catch (const std::bad_alloc &) {
        return false;
    }
    std::unique_ptr<std::byte[]> memory(new (std::nothrow) std::byte[bytes]);
    if (memory == nullptr) {
        return false;
    }
    mr_owner mr = domain_.register_memory(memory.get(), bytes, IBV_ACCESS_LOCAL_WRITE);
    if (mr == nullptr) {
        if (!std::exchange(warned_, true)) {
            ufx_warn("%s: receive buffers cannot be registered: %s", domain_.dev().name().c_str(),
                     std::strerror(errno));
        }
        return false;
    }
    warned_ = false;
    const size_t skip = -reinterpret_cast<uintptr_t>(memory.get()) & (alignment - 1);
    for (size_t i = chunk_buffers; i-- > 0;) {
        give_back(::new (memory.get() + skip + i * stride) receive_buffer{mr->lkey, nullptr});
    }
    chunks_.push_back({std::move(memory), std::move(mr)});
    return true;
}

} // namespace ufx::uct::ib

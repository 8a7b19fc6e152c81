// SPDX-License-Identifier: BSD-3-Clause
// Table of registered memory with slots, generations and random secrets.
#include "regions.h"

#include "ucs/uuid.h"

namespace ufx::uct::tcp {

region *region_table::add(void *start, size_t length, uint64_t access)
{
    if (free_.empty()) {
        free_.reserve(slots_.size() + 1); // so that remove() never allocates
        slots_.emplace_back();
        free_.push_back(static_cast<uint32_t>(slots_.size() - 1));
    }
    auto made = std::make_unique<region>();
    uint32_t at = free_.back();
    made->start = static_cast<std::byte *>(start);
    made->length = length;
    made->access = access;
    made->key = {at, ++slots_[at].generation, ucs::random_uuid()};
    free_.pop_back();
    slots_[at].owned = std::move(made);
    count_++;
    return slots_[at].owned.get();
}

void region_table::remove(region *old) noexcept
{
    while (region_user *user = old->users.pop_front()) {
        user->leave();
    }
    uint32_t at = old->key.slot;
    slots_[at].owned.reset();
    count_--;
    if (slots_[at].generation != UINT32_MAX) {
        free_.push_back(at);
    }
}

region *region_table::check(const wire::remote_key &key, uint64_t address, uint64_t length,
                            uint64_t access) const noexcept
{
    if (!valid(key)) {
        return nullptr;
    }
    region *found = slots_[key.slot].owned.get();
    auto start = reinterpret_cast<uintptr_t>(found->start);
    bool inside =
        address >= start && length <= found->length && address - start <= found->length - length;
    if (found->key.secret != key.secret || !inside || (found->access & access) != access) {
        return nullptr;
    }
    return found;
}

} // namespace ufx::uct::tcp

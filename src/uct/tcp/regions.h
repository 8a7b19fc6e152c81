// SPDX-License-Identifier: BSD-3-Clause
// The registered memory of an md: what remote keys are checked against.
#ifndef UFX_UCT_TCP_REGIONS_H
#define UFX_UCT_TCP_REGIONS_H

#include "wire.h"

#include "ucs/list.h"
#include "ucs/result.h"

#include <ufx/uct_types.h>

#include <memory>
#include <vector>

namespace ufx::uct::tcp {

// Something that still reads a region after its check, for instance an answer to a get that waits
// to be sent. It must let go when the region is deregistered.
class region_user : public ucs::list_node<> {
public:
    using leave_fn = void (*)(region_user &self) noexcept;

    explicit region_user(leave_fn leave) noexcept : leave_(leave) {}

    void leave() noexcept { leave_(*this); }

private:
    leave_fn leave_;
};

struct region {
    std::byte *start = nullptr;
    size_t length = 0;
    uint64_t access = 0; // of ufx_uct_mem_flags; 0: nobody is let in any more
    wire::remote_key key;
    ucs::list<region_user> users;
};

// A slot is used again with the next generation, so a key of a region that is gone never opens
// another one. Lookups take any bytes from a peer.
class region_table {
public:
    region_table() = default;
    region_table(const region_table &) = delete;
    region_table &operator=(const region_table &) = delete;

    [[nodiscard]] region *add(void *start, size_t length, uint64_t access);

    // Every user of the region leaves it first.
    void remove(region *old) noexcept;

    // nullptr if the key is not valid now, lacks the right, or does not cover the range.
    [[nodiscard]] region *check(const wire::remote_key &key, uint64_t address, uint64_t length,
                                uint64_t access) const noexcept;

    // True if a region that check() gave earlier, with that key, is still registered.
    [[nodiscard]] bool valid(const wire::remote_key &key) const noexcept
    {
        return key.slot < slots_.size() && slots_[key.slot].owned != nullptr &&
               slots_[key.slot].generation == key.generation;
    }

    [[nodiscard]] size_t count() const noexcept { return count_; }

private:
    struct slot {
        std::unique_ptr<region> owned;
        uint32_t generation = 0;
    };

    std::vector<slot> slots_;
    std::vector<uint32_t> free_;
    size_t count_ = 0;
};

} // namespace ufx::uct::tcp

#endif

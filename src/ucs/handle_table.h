// SPDX-License-Identifier: BSD-3-Clause
// handle_table: 64-bit handles for objects, of which stale ones are found out.
#ifndef UFX_UCS_HANDLE_TABLE_H
#define UFX_UCS_HANDLE_TABLE_H

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ufx::ucs {

// generation << 32 | slot; 0 is never a valid handle.
using handle = uint64_t;

// Objects are not owned. Lookup of any 64-bit value is safe, so handles may come from the wire or
// from a completion. A slot whose generations are used up is never used again. Single-threaded.
template <class T>
class handle_table {
public:
    // Makes room, so that insert() up to `count` objects allocates nothing.
    void reserve(size_t count) { slots_.reserve(count); }

    [[nodiscard]] handle insert(T &object)
    {
        uint32_t at = first_free_;
        if (at == none) {
            assert(slots_.size() < none);
            at = static_cast<uint32_t>(slots_.size());
            slots_.push_back(slot{});
        } else {
            first_free_ = slots_[at].next_free;
        }
        slots_[at].object = &object;
        count_++;
        return static_cast<uint64_t>(slots_[at].generation) << 32 | at;
    }

    // nullptr if the handle was never given out or its object was erased.
    [[nodiscard]] T *find(handle wanted) const noexcept
    {
        auto at = static_cast<uint32_t>(wanted);
        if (at >= slots_.size() || slots_[at].generation != wanted >> 32) {
            return nullptr;
        }
        return slots_[at].object;
    }

    // The object that was there, or nullptr.
    T *erase(handle wanted) noexcept
    {
        T *object = find(wanted);
        if (object == nullptr) {
            return nullptr;
        }
        auto at = static_cast<uint32_t>(wanted);
        slots_[at].object = nullptr;
        count_--;
        if (++slots_[at].generation != 0) {
            slots_[at].next_free = first_free_;
            first_free_ = at;
        }
        return object;
    }

    // The object gets another handle in place of that one. 0: its slot is worn out, and it was
    // erased.
    [[nodiscard]] handle renew(handle old) noexcept
    {
        slot &one = slots_[static_cast<uint32_t>(old)];
        if (++one.generation == 0) [[unlikely]] {
            one.object = nullptr;
            count_--;
            return 0;
        }
        return static_cast<uint64_t>(one.generation) << 32 | static_cast<uint32_t>(old);
    }

    [[nodiscard]] size_t size() const noexcept { return count_; }

    // Calls f(handle, T &) for each object, by slot; f may erase.
    template <class F>
    void for_each(F &&f)
    {
        for (size_t at = 0; at < slots_.size(); at++) {
            if (slots_[at].object != nullptr) {
                f(static_cast<uint64_t>(slots_[at].generation) << 32 | at, *slots_[at].object);
            }
        }
    }

private:
    static constexpr uint32_t none = UINT32_MAX;

    struct slot {
        T *object = nullptr;
        uint32_t generation = 1;
        uint32_t next_free = none;
    };

    std::vector<slot> slots_;
    uint32_t first_free_ = none;
    size_t count_ = 0;
};

} // namespace ufx::ucs

#endif

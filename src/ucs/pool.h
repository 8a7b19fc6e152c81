// SPDX-License-Identifier: BSD-3-Clause
// Pools that grow by chunks: block_pool for raw blocks of one size, pool<T> for objects.
#ifndef UFX_UCS_POOL_H
#define UFX_UCS_POOL_H

#include <cstddef>
#include <new>
#include <utility>
#include <vector>

namespace ufx::ucs {

// Blocks of one size. Taking and returning touch only a free list; memory is allocated a chunk
// at a time, when the list is empty, and freed with the pool. Single-threaded.
class block_pool {
public:
    struct params {
        const char *name;      // static; for the leak report
        size_t block_size;     // bytes, at least 1
        size_t alignment = 64; // power of two
        size_t chunk = 64;     // blocks per allocation
        size_t limit = 0;      // blocks at most; 0: no limit
    };

    explicit block_pool(const params &wanted);
    block_pool(block_pool &&) = delete;
    block_pool &operator=(block_pool &&) = delete;

    // Warns about blocks that were not returned.
    ~block_pool();

    // nullptr if the limit is reached or memory is out.
    [[nodiscard]] void *take() noexcept
    {
        if (free_ == nullptr && !grow()) {
            return nullptr;
        }
        free_block *block = free_;
        free_ = block->next;
        in_use_++;
        return block;
    }

    void give_back(void *memory) noexcept
    {
        free_block *block = ::new (memory) free_block{free_};
        free_ = block;
        in_use_--;
    }

    // Makes `count` blocks available in all; false if limit or memory forbid it.
    [[nodiscard]] bool reserve(size_t count) noexcept;

    [[nodiscard]] size_t in_use() const noexcept { return in_use_; }

    [[nodiscard]] size_t capacity() const noexcept { return capacity_; }

    [[nodiscard]] size_t block_size() const noexcept { return wanted_.block_size; }

private:
    struct free_block {
        free_block *next;
    };

    [[gnu::cold]] bool grow() noexcept;

    params wanted_;
    size_t stride_;
    free_block *free_ = nullptr;
    size_t in_use_ = 0;
    size_t capacity_ = 0;
    std::vector<void *> chunks_;
};

// Objects of one type, constructed at take() and destroyed at give_back().
template <class T>
class pool {
public:
    explicit pool(const char *name, size_t chunk = 64, size_t limit = 0)
        : blocks_({name, sizeof(T), alignof(T), chunk, limit})
    {
    }

    // nullptr if the limit is reached or memory is out.
    template <class... Args>
    [[nodiscard]] T *take(Args &&...args)
    {
        void *memory = blocks_.take();
        return memory == nullptr ? nullptr : ::new (memory) T(std::forward<Args>(args)...);
    }

    void give_back(T *object) noexcept
    {
        object->~T();
        blocks_.give_back(object);
    }

    [[nodiscard]] bool reserve(size_t count) noexcept { return blocks_.reserve(count); }

    [[nodiscard]] size_t in_use() const noexcept { return blocks_.in_use(); }

    [[nodiscard]] size_t capacity() const noexcept { return blocks_.capacity(); }

private:
    block_pool blocks_;
};

} // namespace ufx::ucs

#endif

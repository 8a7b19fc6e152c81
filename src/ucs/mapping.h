// SPDX-License-Identifier: BSD-3-Clause
// mapping: owner of a range of memory from mmap().
#ifndef UFX_UCS_MAPPING_H
#define UFX_UCS_MAPPING_H

#include "result.h"

#include <cstddef>
#include <utility>

namespace ufx::ucs {

class mapping {
public:
    mapping() noexcept = default;

    mapping(mapping &&other) noexcept
        : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0))
    {
    }

    mapping &operator=(mapping &&other) noexcept
    {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        return *this;
    }

    ~mapping();

    // Private zeroed memory, readable and writable; `size` is rounded up to pages.
    [[nodiscard]] static result<mapping> anonymous(size_t size);

    // Shared view of a file from its start.
    [[nodiscard]] static result<mapping> file(int fd, size_t size, bool writable);

    [[nodiscard]] void *data() const noexcept { return data_; }

    [[nodiscard]] size_t size() const noexcept { return size_; }

private:
    mapping(void *data, size_t size) noexcept : data_(data), size_(size) {}

    void *data_ = nullptr;
    size_t size_ = 0;
};

} // namespace ufx::ucs

#endif

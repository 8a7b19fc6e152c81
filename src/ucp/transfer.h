// SPDX-License-Identifier: BSD-3-Clause
// What a put or get moves: contiguous pieces.
#ifndef UFX_UCP_TRANSFER_H
#define UFX_UCP_TRANSFER_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ufx::ucp {

class mem;
class rkey;

// One contiguous piece of a put or get.
struct transfer {
    std::byte *local = nullptr;
    std::uint64_t remote = 0;
    std::size_t length = 0;
    rkey *key = nullptr;
    mem *memory = nullptr;
};

// The pieces of a put or get. The first is kept in place: most have no other.
class transfer_list {
public:
    void push_back(const transfer &t)
    {
        if (size_++ == 0) {
            first_ = t;
        } else {
            rest_.push_back(t);
        }
    }
    void clear()
    {
        if (size_ > 1) {
            rest_ = {};
        }
        size_ = 0;
    }
    bool empty() const { return size_ == 0; }
    std::size_t size() const { return size_; }
    const transfer &operator[](std::size_t i) const { return i == 0 ? first_ : rest_[i - 1]; }
    transfer &operator[](std::size_t i) { return i == 0 ? first_ : rest_[i - 1]; }

private:
    std::size_t size_ = 0;
    transfer first_;
    std::vector<transfer> rest_;
};

} // namespace ufx::ucp

#endif

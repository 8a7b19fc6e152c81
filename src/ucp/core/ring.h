// SPDX-License-Identifier: BSD-3-Clause
// A queue in a ring that doubles when full: no allocation once it has reached its high-water mark.
#ifndef UFX_UCP_CORE_RING_H
#define UFX_UCP_CORE_RING_H

#include <cstddef>
#include <vector>

namespace ufx::ucp::core {

template <class T>
class ring {
public:
    bool empty() const { return size_ == 0; }
    std::size_t size() const { return size_; }
    T &operator[](std::size_t i) { return slots_[(head_ + i) & (slots_.size() - 1)]; }
    const T &operator[](std::size_t i) const { return slots_[(head_ + i) & (slots_.size() - 1)]; }
    T &front() { return (*this)[0]; }
    const T &front() const { return (*this)[0]; }

    void push_back(const T &value)
    {
        if (size_ == slots_.size()) {
            grow();
        }
        (*this)[size_++] = value;
    }
    // A new one at the end, as T makes it.
    T &add()
    {
        if (size_ == slots_.size()) {
            grow();
        }
        T &slot = (*this)[size_++];
        slot = T();
        return slot;
    }
    void pop_front()
    {
        head_ = (head_ + 1) & (slots_.size() - 1);
        --size_;
    }

private:
    void grow()
    {
        std::vector<T> bigger(slots_.empty() ? 4 : slots_.size() * 2);
        for (std::size_t i = 0; i < size_; ++i) {
            bigger[i] = (*this)[i];
        }
        slots_.swap(bigger);
        head_ = 0;
    }

    std::vector<T> slots_; // its size is a power of two
    std::size_t head_ = 0;
    std::size_t size_ = 0;
};

} // namespace ufx::ucp::core

#endif

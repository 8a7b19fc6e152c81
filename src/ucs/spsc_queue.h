// SPDX-License-Identifier: BSD-3-Clause
// Bounded queue from one producer thread to one consumer thread, without locks.
#ifndef UFX_UCS_SPSC_QUEUE_H
#define UFX_UCS_SPSC_QUEUE_H

#include <atomic>
#include <bit>
#include <cstddef>
#include <memory>
#include <utility>

namespace ufx::ucs {

template <class T>
class spsc_queue {
public:
    // `capacity` is rounded up to a power of two.
    explicit spsc_queue(size_t capacity)
        : mask_(std::bit_ceil(capacity < 1 ? size_t{1} : capacity) - 1),
          slots_(std::make_unique<T[]>(mask_ + 1))
    {
    }

    [[nodiscard]] size_t capacity() const noexcept { return mask_ + 1; }

    // Producer. False if full; then `value` is untouched.
    template <class U>
    [[nodiscard]] bool push(U &&value)
    {
        size_t tail = tail_.load(std::memory_order_relaxed);
        if (tail - head_seen_ > mask_) {
            head_seen_ = head_.load(std::memory_order_acquire); // partner: store in pop()
            if (tail - head_seen_ > mask_) {
                return false;
            }
        }
        slots_[tail & mask_] = std::forward<U>(value);
        tail_.store(tail + 1, std::memory_order_release); // partner: load in pop()
        return true;
    }

    // Consumer. False if empty; then `value` is untouched.
    [[nodiscard]] bool pop(T &value)
    {
        size_t head = head_.load(std::memory_order_relaxed);
        if (head == tail_seen_) {
            tail_seen_ = tail_.load(std::memory_order_acquire); // partner: store in push()
            if (head == tail_seen_) {
                return false;
            }
        }
        value = std::move(slots_[head & mask_]);
        head_.store(head + 1, std::memory_order_release); // partner: load in push()
        return true;
    }

private:
    static constexpr size_t cache_line = 64;

    const size_t mask_;
    std::unique_ptr<T[]> slots_;

    alignas(cache_line) std::atomic<size_t> tail_{0}; // written by the producer
    size_t head_seen_ = 0;                            // the producer's copy of head_
    alignas(cache_line) std::atomic<size_t> head_{0}; // written by the consumer
    size_t tail_seen_ = 0;                            // the consumer's copy of tail_
};

} // namespace ufx::ucs

#endif

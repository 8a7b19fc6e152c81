// SPDX-License-Identifier: BSD-3-Clause
// Intrusive unbounded queue from many producer threads to one consumer thread, without locks.
#ifndef UFX_UCS_MPSC_QUEUE_H
#define UFX_UCS_MPSC_QUEUE_H

#include <atomic>

namespace ufx::ucs {

// Base of the elements. An element is in at most one queue at a time.
class mpsc_node {
    template <class T>
    friend class mpsc_queue;

    mpsc_node *next_ = nullptr; // written by whoever holds the element, see mpsc_queue
};

// Producers push onto a stack by compare and swap; the consumer takes the whole stack at once and
// reverses it. Elements of one producer keep their order. Elements are not owned.
template <class T>
class mpsc_queue {
public:
    // Any thread. True if the queue of untaken elements was empty, so that the consumer may have
    // to be woken.
    bool push(T &element) noexcept
    {
        mpsc_node &node = element;
        mpsc_node *top = top_.load(std::memory_order_relaxed);
        do {
            node.next_ = top;
            // Release: the element's content and link; partner: exchange in pop().
        } while (!top_.compare_exchange_weak(top, &node, std::memory_order_release,
                                             std::memory_order_relaxed));
        // From here on the consumer may have destroyed the element.
        return top == nullptr;
    }

    // Consumer. Oldest element, or nullptr.
    [[nodiscard]] T *pop() noexcept
    {
        if (taken_ == nullptr) {
            if (top_.load(std::memory_order_relaxed) == nullptr) {
                return nullptr;
            }
            // Acquire: partner of the release in push().
            mpsc_node *stack = top_.exchange(nullptr, std::memory_order_acquire);
            while (stack != nullptr) {
                mpsc_node *next = stack->next_;
                stack->next_ = taken_;
                taken_ = stack;
                stack = next;
            }
        }
        mpsc_node *node = taken_;
        taken_ = node->next_;
        return static_cast<T *>(node);
    }

    // Consumer. May miss an element that is pushed at the same time.
    [[nodiscard]] bool empty() const noexcept
    {
        return taken_ == nullptr && top_.load(std::memory_order_relaxed) == nullptr;
    }

    // Consumer, which leaves nothing behind that it took: as !empty(), by one load.
    [[nodiscard]] bool has_new() const noexcept
    {
        return top_.load(std::memory_order_relaxed) != nullptr;
    }

private:
    std::atomic<mpsc_node *> top_{nullptr}; // written by producers and consumer
    mpsc_node *taken_ = nullptr;            // the consumer's own, oldest first
};

} // namespace ufx::ucs

#endif

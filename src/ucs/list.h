// SPDX-License-Identifier: BSD-3-Clause
// Intrusive doubly linked list; elements derive from list_node and are not owned.
#ifndef UFX_UCS_LIST_H
#define UFX_UCS_LIST_H

#include <cassert>
#include <cstddef>
#include <iterator>

namespace ufx::ucs {

// Links of one element. `Tag` tells apart the lists that one object may be in at the same time.
// A node that is destroyed leaves its list by itself.
template <class Tag = void>
class list_node {
public:
    list_node() noexcept : prev_(this), next_(this) {}

    ~list_node() { unlink(); }

    list_node(const list_node &) = delete;
    list_node &operator=(const list_node &) = delete;

    [[nodiscard]] bool linked() const noexcept { return next_ != this; }

    // Takes the element out of its list; does nothing if it is in none.
    void unlink() noexcept
    {
        prev_->next_ = next_;
        next_->prev_ = prev_;
        prev_ = next_ = this;
    }

private:
    template <class T, class U>
    friend class list;

    void link_before(list_node &next) noexcept
    {
        assert(!linked());
        prev_ = next.prev_;
        next_ = &next;
        prev_->next_ = this;
        next.prev_ = this;
    }

    list_node *prev_;
    list_node *next_;
};

template <class T, class Tag = void>
class list {
    using node = list_node<Tag>;

public:
    class iterator {
    public:
        using iterator_category = std::bidirectional_iterator_tag;
        using value_type = T;
        using difference_type = std::ptrdiff_t;
        using pointer = T *;
        using reference = T &;

        iterator() noexcept = default;

        explicit iterator(node *at) noexcept : at_(at) {}

        T &operator*() const noexcept { return static_cast<T &>(*at_); }

        T *operator->() const noexcept { return static_cast<T *>(at_); }

        iterator &operator++() noexcept
        {
            at_ = at_->next_;
            return *this;
        }

        iterator operator++(int) noexcept
        {
            iterator before = *this;
            at_ = at_->next_;
            return before;
        }

        iterator &operator--() noexcept
        {
            at_ = at_->prev_;
            return *this;
        }

        bool operator==(const iterator &other) const noexcept = default;

    private:
        node *at_ = nullptr;
    };

    list() noexcept = default;

    // Leaves the elements unlinked.
    ~list() { clear(); }

    [[nodiscard]] bool empty() const noexcept { return !head_.linked(); }

    // Counts; for tests and reports.
    [[nodiscard]] size_t count() const noexcept
    {
        size_t found = 0;
        for (const node *at = head_.next_; at != &head_; at = at->next_) {
            found++;
        }
        return found;
    }

    [[nodiscard]] T &front() noexcept
    {
        assert(!empty());
        return static_cast<T &>(*head_.next_);
    }

    [[nodiscard]] T &back() noexcept
    {
        assert(!empty());
        return static_cast<T &>(*head_.prev_);
    }

    void push_back(T &element) noexcept { as_node(element).link_before(head_); }

    void push_front(T &element) noexcept { as_node(element).link_before(*head_.next_); }

    // `next` must be in this list.
    void insert_before(T &next, T &element) noexcept
    {
        as_node(element).link_before(as_node(next));
    }

    // nullptr if empty.
    T *pop_front() noexcept
    {
        if (empty()) {
            return nullptr;
        }
        T &element = front();
        as_node(element).unlink();
        return &element;
    }

    // The element must be in this list.
    void erase(T &element) noexcept
    {
        assert(as_node(element).linked());
        as_node(element).unlink();
    }

    void clear() noexcept
    {
        while (pop_front() != nullptr) {
        }
    }

    // Moves all elements of `other` to the end of this one, in order.
    void splice_back(list &other) noexcept
    {
        if (&other == this || other.empty()) {
            return;
        }
        node *first = other.head_.next_;
        node *last = other.head_.prev_;
        other.head_.next_ = &other.head_;
        other.head_.prev_ = &other.head_;
        first->prev_ = head_.prev_;
        head_.prev_->next_ = first;
        last->next_ = &head_;
        head_.prev_ = last;
    }

    // An element may be erased while iterating if the iterator was advanced before.
    iterator begin() noexcept { return iterator(head_.next_); }

    iterator end() noexcept { return iterator(&head_); }

private:
    static node &as_node(T &element) noexcept { return static_cast<node &>(element); }

    node head_;
};

} // namespace ufx::ucs

#endif

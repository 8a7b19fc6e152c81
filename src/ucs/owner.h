// SPDX-License-Identifier: BSD-3-Clause
// Owners: owner<T> for C++ objects made by create(), c_owner for handles of C libraries.
#ifndef UFX_UCS_OWNER_H
#define UFX_UCS_OWNER_H

#include <memory>
#include <utility>

namespace ufx::ucs {

// Sole owner of a T on the heap; empty after a move.
template <class T>
using owner = std::unique_ptr<T>;

// Calls constructors; a class whose constructor is private names it as friend.
struct owner_access {
    template <class T, class... Args>
    [[nodiscard]] static owner<T> make(Args &&...args)
    {
        return owner<T>(new T(std::forward<Args>(args)...));
    }
};

template <class T, class... Args>
[[nodiscard]] owner<T> make_owner(Args &&...args)
{
    return owner_access::make<T>(std::forward<Args>(args)...);
}

template <auto Destroy>
struct call_destroy {
    template <class T>
    void operator()(T *object) const noexcept
    {
        Destroy(object);
    }
};

// Owner of a handle that a C library made: c_owner<nl_sock, nl_socket_free>.
template <class T, auto Destroy>
using c_owner = std::unique_ptr<T, call_destroy<Destroy>>;

} // namespace ufx::ucs

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Feature test: does a class have the method of a slot, and with the slot's signature?
#ifndef UFX_UCT_BASE_METHOD_H
#define UFX_UCT_BASE_METHOD_H

#include <concepts>
#include <type_traits>

namespace ufx::uct {

// A type for each method name. `named` is true if T has any member of that name, also an
// overloaded or private one: it then makes the name ambiguous in a class that inherits it twice.
// So a method that exists and does not fit its slot is a compile error and not a lost capability.
#define UFX_UCT_METHOD(_name)                                                                      \
    struct _name {                                                                                 \
        struct holder {                                                                            \
            int _name;                                                                             \
        };                                                                                         \
        template <class T>                                                                         \
        struct both : T, holder {                                                                  \
        };                                                                                         \
        template <class T>                                                                         \
        static constexpr bool named = !requires                                                    \
        {                                                                                          \
            &both<T>::_name;                                                                       \
        };                                                                                         \
        template <class T, class... Args>                                                          \
        static constexpr auto call(T &object,                                                      \
                                   Args... args) noexcept(noexcept(object._name(args...)))         \
            -> decltype(object._name(args...))                                                     \
        {                                                                                          \
            return object._name(args...);                                                          \
        }                                                                                          \
    };

namespace method {
// Ep, posting.
UFX_UCT_METHOD(am_short)
UFX_UCT_METHOD(am_bcopy)
UFX_UCT_METHOD(am_zcopy)
UFX_UCT_METHOD(put_short)
UFX_UCT_METHOD(put_bcopy)
UFX_UCT_METHOD(put_zcopy)
UFX_UCT_METHOD(get_short)
UFX_UCT_METHOD(get_bcopy)
UFX_UCT_METHOD(get_zcopy)
UFX_UCT_METHOD(atomic32_post)
UFX_UCT_METHOD(atomic64_post)
UFX_UCT_METHOD(atomic32_fetch)
UFX_UCT_METHOD(atomic64_fetch)
UFX_UCT_METHOD(atomic32_cswap)
UFX_UCT_METHOD(atomic64_cswap)
UFX_UCT_METHOD(check)
// Ep, control.
UFX_UCT_METHOD(pending_add)
UFX_UCT_METHOD(pending_purge)
UFX_UCT_METHOD(flush)
UFX_UCT_METHOD(fence)
UFX_UCT_METHOD(get_address)
UFX_UCT_METHOD(connect_to_ep)
UFX_UCT_METHOD(connect_to_iface)
UFX_UCT_METHOD(query)
UFX_UCT_METHOD(invalidate)
UFX_UCT_METHOD(outstanding_purge)
UFX_UCT_METHOD(destroy)
// Iface.
UFX_UCT_METHOD(close)
UFX_UCT_METHOD(query_stats)
UFX_UCT_METHOD(get_device_address)
UFX_UCT_METHOD(is_reachable)
UFX_UCT_METHOD(progress)
UFX_UCT_METHOD(event_fd_get)
UFX_UCT_METHOD(event_arm)
UFX_UCT_METHOD(set_am_handler)
UFX_UCT_METHOD(release_desc)
UFX_UCT_METHOD(query_token)
UFX_UCT_METHOD(set_link)
UFX_UCT_METHOD(ep_create)
// Md.
UFX_UCT_METHOD(query_resources)
UFX_UCT_METHOD(mem_reg)
UFX_UCT_METHOD(mem_dereg)
UFX_UCT_METHOD(mem_alloc)
UFX_UCT_METHOD(mem_free)
UFX_UCT_METHOD(mkey_pack)
UFX_UCT_METHOD(rkey_unpack)
UFX_UCT_METHOD(rkey_release)
UFX_UCT_METHOD(iface_open)
UFX_UCT_METHOD(query_netdevs)
} // namespace method

#undef UFX_UCT_METHOD

template <class T, class Method>
inline constexpr bool has = Method::template named<T>;

} // namespace ufx::uct

#endif

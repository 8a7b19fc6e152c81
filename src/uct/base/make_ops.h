// SPDX-License-Identifier: BSD-3-Clause
// Tables of operations made from classes: a method that exists gets a thunk, one that does not a
// correctly typed UNSUPPORTED, and the capability bits come from the same test.
#ifndef UFX_UCT_BASE_MAKE_OPS_H
#define UFX_UCT_BASE_MAKE_OPS_H

#include "method.h"

#include "ucs/entry.h"

#include <ufx/uct_ops.h>

#include <sys/types.h>

namespace ufx::uct {

using ep_ops = ufx_uct_ep_ops_t;

// Declares a method by the slot of the C table that it fills, without the handle:
//   method_of<&ep_ops::check> check;
template <class Slot>
struct slot_method;

template <class Ops, class Handle, class R, class... Args>
struct slot_method<R (*Ops::*)(Handle, Args...) noexcept> {
    using type = R(Args...) noexcept;
};

template <auto Slot>
using method_of = typename slot_method<decltype(Slot)>::type;

// A status as the answer of a slot of any type.
template <class R>
[[nodiscard]] constexpr R answer([[maybe_unused]] ufx_status_t status) noexcept
{
    if constexpr (std::is_same_v<R, ufx_status_t>) {
        return status;
    } else if constexpr (std::is_same_v<R, ssize_t>) {
        return static_cast<ssize_t>(status);
    } else {
        return R(); // a count or a truth value: none, false
    }
}

// How posts of an ep that is not open answer; each has `status(ep)`.
struct refuse_unsupported {
    template <class Object>
    static constexpr ufx_status_t status(const Object &) noexcept
    {
        return UFX_ERR_UNSUPPORTED;
    }
};
struct refuse_busy {
    template <class Object>
    static constexpr ufx_status_t status(const Object &) noexcept
    {
        return UFX_ERR_NO_RESOURCE;
    }
};
struct refuse_failed {
    template <class Object>
    static ufx_status_t status(const Object &object) noexcept
    {
        return object.failed_status();
    }
};

template <class Slot>
struct slot_type;

template <class Handle, class R, class... Args>
struct slot_type<R (*)(Handle, Args...) noexcept> {
    template <class Object, class Method>
    static R run(Handle handle, Args... args) noexcept
    {
        auto &object = *static_cast<Object *>(handle);
        if constexpr (noexcept(Method::call(object, args...))) {
            return Method::call(object, args...);
        } else if constexpr (std::is_void_v<R>) {
            static_cast<void>(ucs::guard([&] { Method::call(object, args...); }));
        } else {
            R value = answer<R>(UFX_ERR_IO);
            ufx_status_t status = ucs::guard([&] { value = Method::call(object, args...); });
            return status == UFX_OK ? value : answer<R>(status);
        }
    }

    template <class Object, class Policy>
    static R refuse(Handle handle, Args...) noexcept
    {
        if constexpr (!std::is_void_v<R>) {
            return answer<R>(Policy::status(*static_cast<Object *>(handle)));
        } else {
            static_cast<void>(handle);
        }
    }

    template <class Object, class Method>
    static constexpr bool fits = requires(Object &object, Args... args)
    {
        {
            Method::call(object, args...)
            } -> std::same_as<R>;
    };
};

template <class Object, class Method, class Ops, class Slot>
consteval Slot make_slot(Slot Ops::*) noexcept
{
    using type = slot_type<Slot>;
    if constexpr (has<Object, Method>) {
        static_assert(type::template fits<Object, Method>,
                      "a method exists, but is overloaded away, private, or does not fit its slot");
        return &type::template run<Object, Method>;
    } else {
        return &type::template refuse<Object, refuse_unsupported>;
    }
}

// What the class lacks stays UNSUPPORTED, what it has answers by the policy.
template <class Object, class Method, class Policy, class Ops, class Slot>
consteval void refuse_slot(Ops &ops, Slot Ops::*slot) noexcept
{
    if constexpr (has<Object, Method>) {
        ops.*slot = &slot_type<Slot>::template refuse<Object, Policy>;
    }
}

template <class Ep>
consteval ufx_uct_ep_ops_t make_ep_ops() noexcept
{
    using ops = ufx_uct_ep_ops_t;
    static_assert(has<Ep, method::destroy> && has<Ep, method::query>);
    return {
        .size = sizeof(ops),
        .am_short = make_slot<Ep, method::am_short>(&ops::am_short),
        .am_bcopy = make_slot<Ep, method::am_bcopy>(&ops::am_bcopy),
        .am_zcopy = make_slot<Ep, method::am_zcopy>(&ops::am_zcopy),
        .put_short = make_slot<Ep, method::put_short>(&ops::put_short),
        .put_bcopy = make_slot<Ep, method::put_bcopy>(&ops::put_bcopy),
        .put_zcopy = make_slot<Ep, method::put_zcopy>(&ops::put_zcopy),
        .get_short = make_slot<Ep, method::get_short>(&ops::get_short),
        .get_bcopy = make_slot<Ep, method::get_bcopy>(&ops::get_bcopy),
        .get_zcopy = make_slot<Ep, method::get_zcopy>(&ops::get_zcopy),
        .atomic32_post = make_slot<Ep, method::atomic32_post>(&ops::atomic32_post),
        .atomic64_post = make_slot<Ep, method::atomic64_post>(&ops::atomic64_post),
        .atomic32_fetch = make_slot<Ep, method::atomic32_fetch>(&ops::atomic32_fetch),
        .atomic64_fetch = make_slot<Ep, method::atomic64_fetch>(&ops::atomic64_fetch),
        .atomic32_cswap = make_slot<Ep, method::atomic32_cswap>(&ops::atomic32_cswap),
        .atomic64_cswap = make_slot<Ep, method::atomic64_cswap>(&ops::atomic64_cswap),
        .pending_add = make_slot<Ep, method::pending_add>(&ops::pending_add),
        .pending_purge = make_slot<Ep, method::pending_purge>(&ops::pending_purge),
        .flush = make_slot<Ep, method::flush>(&ops::flush),
        .fence = make_slot<Ep, method::fence>(&ops::fence),
        .check = make_slot<Ep, method::check>(&ops::check),
        .get_address = make_slot<Ep, method::get_address>(&ops::get_address),
        .connect_to_ep = make_slot<Ep, method::connect_to_ep>(&ops::connect_to_ep),
        .query = make_slot<Ep, method::query>(&ops::query),
        .invalidate = make_slot<Ep, method::invalidate>(&ops::invalidate),
        .outstanding_purge = make_slot<Ep, method::outstanding_purge>(&ops::outstanding_purge),
        .destroy = make_slot<Ep, method::destroy>(&ops::destroy),
    };
}

// The table of an ep that takes no posts now: everything else works as in the live table.
template <class Ep, class Policy>
consteval ufx_uct_ep_ops_t make_refusing_ep_ops() noexcept
{
    using ops = ufx_uct_ep_ops_t;
    ops table = make_ep_ops<Ep>();
    refuse_slot<Ep, method::am_short, Policy>(table, &ops::am_short);
    refuse_slot<Ep, method::am_bcopy, Policy>(table, &ops::am_bcopy);
    refuse_slot<Ep, method::am_zcopy, Policy>(table, &ops::am_zcopy);
    refuse_slot<Ep, method::put_short, Policy>(table, &ops::put_short);
    refuse_slot<Ep, method::put_bcopy, Policy>(table, &ops::put_bcopy);
    refuse_slot<Ep, method::put_zcopy, Policy>(table, &ops::put_zcopy);
    refuse_slot<Ep, method::get_short, Policy>(table, &ops::get_short);
    refuse_slot<Ep, method::get_bcopy, Policy>(table, &ops::get_bcopy);
    refuse_slot<Ep, method::get_zcopy, Policy>(table, &ops::get_zcopy);
    refuse_slot<Ep, method::atomic32_post, Policy>(table, &ops::atomic32_post);
    refuse_slot<Ep, method::atomic64_post, Policy>(table, &ops::atomic64_post);
    refuse_slot<Ep, method::atomic32_fetch, Policy>(table, &ops::atomic32_fetch);
    refuse_slot<Ep, method::atomic64_fetch, Policy>(table, &ops::atomic64_fetch);
    refuse_slot<Ep, method::atomic32_cswap, Policy>(table, &ops::atomic32_cswap);
    refuse_slot<Ep, method::atomic64_cswap, Policy>(table, &ops::atomic64_cswap);
    refuse_slot<Ep, method::check, Policy>(table, &ops::check);
    return table;
}

template <class Iface>
consteval ufx_uct_iface_ops_t make_iface_ops() noexcept
{
    using ops = ufx_uct_iface_ops_t;
    static_assert(has<Iface, method::close> && has<Iface, method::query> &&
                  has<Iface, method::progress> && has<Iface, method::ep_create>);
    return {
        .size = sizeof(ops),
        .close = make_slot<Iface, method::close>(&ops::close),
        .query = make_slot<Iface, method::query>(&ops::query),
        .query_stats = make_slot<Iface, method::query_stats>(&ops::query_stats),
        .get_device_address =
            make_slot<Iface, method::get_device_address>(&ops::get_device_address),
        .get_address = make_slot<Iface, method::get_address>(&ops::get_address),
        .is_reachable = make_slot<Iface, method::is_reachable>(&ops::is_reachable),
        .progress = make_slot<Iface, method::progress>(&ops::progress),
        .event_fd_get = make_slot<Iface, method::event_fd_get>(&ops::event_fd_get),
        .event_arm = make_slot<Iface, method::event_arm>(&ops::event_arm),
        .flush = make_slot<Iface, method::flush>(&ops::flush),
        .fence = make_slot<Iface, method::fence>(&ops::fence),
        .set_am_handler = make_slot<Iface, method::set_am_handler>(&ops::set_am_handler),
        .release_desc = make_slot<Iface, method::release_desc>(&ops::release_desc),
        .query_token = make_slot<Iface, method::query_token>(&ops::query_token),
        .set_link = make_slot<Iface, method::set_link>(&ops::set_link),
        .ep_create = make_slot<Iface, method::ep_create>(&ops::ep_create),
    };
}

template <class Md>
consteval ufx_uct_md_ops_t make_md_ops() noexcept
{
    using ops = ufx_uct_md_ops_t;
    static_assert(has<Md, method::close> && has<Md, method::query> &&
                  has<Md, method::query_resources> && has<Md, method::iface_open>);
    return {
        .size = sizeof(ops),
        .close = make_slot<Md, method::close>(&ops::close),
        .query = make_slot<Md, method::query>(&ops::query),
        .query_resources = make_slot<Md, method::query_resources>(&ops::query_resources),
        .mem_reg = make_slot<Md, method::mem_reg>(&ops::mem_reg),
        .mem_dereg = make_slot<Md, method::mem_dereg>(&ops::mem_dereg),
        .mem_alloc = make_slot<Md, method::mem_alloc>(&ops::mem_alloc),
        .mem_free = make_slot<Md, method::mem_free>(&ops::mem_free),
        .mkey_pack = make_slot<Md, method::mkey_pack>(&ops::mkey_pack),
        .rkey_unpack = make_slot<Md, method::rkey_unpack>(&ops::rkey_unpack),
        .rkey_release = make_slot<Md, method::rkey_release>(&ops::rkey_release),
        .iface_open = make_slot<Md, method::iface_open>(&ops::iface_open),
        .query_netdevs = make_slot<Md, method::query_netdevs>(&ops::query_netdevs),
    };
}

template <class T, class Method>
consteval uint64_t cap_if(uint64_t bit) noexcept
{
    return has<T, Method> ? bit : 0;
}

// Capability bits of what the two classes implement. A transport pins its set:
//   static_assert(method_caps<tcp_ep, tcp_iface>() == (UFX_UCT_CAP_AM_SHORT | ...));
template <class Ep, class Iface>
consteval uint64_t method_caps() noexcept
{
    return cap_if<Ep, method::am_short>(UFX_UCT_CAP_AM_SHORT) |
           cap_if<Ep, method::am_bcopy>(UFX_UCT_CAP_AM_BCOPY) |
           cap_if<Ep, method::am_zcopy>(UFX_UCT_CAP_AM_ZCOPY) |
           cap_if<Ep, method::put_short>(UFX_UCT_CAP_PUT_SHORT) |
           cap_if<Ep, method::put_bcopy>(UFX_UCT_CAP_PUT_BCOPY) |
           cap_if<Ep, method::put_zcopy>(UFX_UCT_CAP_PUT_ZCOPY) |
           cap_if<Ep, method::get_short>(UFX_UCT_CAP_GET_SHORT) |
           cap_if<Ep, method::get_bcopy>(UFX_UCT_CAP_GET_BCOPY) |
           cap_if<Ep, method::get_zcopy>(UFX_UCT_CAP_GET_ZCOPY) |
           cap_if<Ep, method::atomic32_post>(UFX_UCT_CAP_ATOMIC32_POST) |
           cap_if<Ep, method::atomic64_post>(UFX_UCT_CAP_ATOMIC64_POST) |
           cap_if<Ep, method::atomic32_fetch>(UFX_UCT_CAP_ATOMIC32_FETCH) |
           cap_if<Ep, method::atomic64_fetch>(UFX_UCT_CAP_ATOMIC64_FETCH) |
           cap_if<Ep, method::atomic32_cswap>(UFX_UCT_CAP_ATOMIC32_CSWAP) |
           cap_if<Ep, method::atomic64_cswap>(UFX_UCT_CAP_ATOMIC64_CSWAP) |
           cap_if<Ep, method::pending_add>(UFX_UCT_CAP_PENDING) |
           cap_if<Ep, method::flush>(UFX_UCT_CAP_FLUSH) |
           cap_if<Ep, method::fence>(UFX_UCT_CAP_FENCE) |
           cap_if<Ep, method::check>(UFX_UCT_CAP_CHECK) |
           cap_if<Ep, method::connect_to_ep>(UFX_UCT_CAP_CONNECT_TO_EP) |
           cap_if<Ep, method::connect_to_iface>(UFX_UCT_CAP_CONNECT_TO_IFACE) |
           cap_if<Ep, method::invalidate>(UFX_UCT_CAP_INVALIDATE) |
           cap_if<Ep, method::outstanding_purge>(UFX_UCT_CAP_PURGE) |
           cap_if<Iface, method::event_fd_get>(UFX_UCT_CAP_EVENT_FD) |
           cap_if<Iface, method::query_token>(UFX_UCT_CAP_TOKENS) |
           cap_if<Iface, method::set_link>(UFX_UCT_CAP_SET_LINK);
}

} // namespace ufx::uct

#endif

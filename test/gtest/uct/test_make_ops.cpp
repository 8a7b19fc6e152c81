// SPDX-License-Identifier: BSD-3-Clause
// Tables of operations made from classes.
#include "uct/base/make_ops.h"

#include <catch2/catch.hpp>
#include <new>
#include <stdexcept>

using namespace ufx;
using namespace ufx::uct;

namespace {

struct small_ep : ufx_uct_ep {
    ufx_status_t put_short(const void *, size_t length, uint64_t, ufx_uct_rkey_t) noexcept
    {
        return length == 0 ? UFX_ERR_INVALID_PARAM : UFX_OK;
    }
    ssize_t am_bcopy(uint8_t, ufx_uct_pack_cb_t, void *, unsigned) { throw std::bad_alloc(); }
    ufx_status_t flush(unsigned, ufx_uct_completion_t *) { throw std::runtime_error("test"); }
    ufx_status_t query(ufx_uct_ep_attr_t *) noexcept { return UFX_OK; }
    void destroy() noexcept { destroyed = true; }
    [[nodiscard]] ufx_status_t failed_status() const noexcept { return UFX_ERR_CONNECTION_RESET; }

    bool destroyed = false;
};

struct overloaded_ep : small_ep {
    using small_ep::flush;
    ufx_status_t flush(int) noexcept { return UFX_OK; }
};

class private_ep : public ufx_uct_ep {
    [[maybe_unused]] ufx_status_t check(ufx_uct_completion_t *) noexcept { return UFX_OK; }
};

struct small_iface : ufx_uct_iface {};

} // namespace

TEST_CASE("make_ops: a method that exists is called, one that does not is UNSUPPORTED")
{
    static constexpr ufx_uct_ep_ops_t ops = make_ep_ops<small_ep>();
    small_ep ep;
    ep.ops = &ops;
    CHECK(ops.size == sizeof(ufx_uct_ep_ops_t));
    CHECK(ops.put_short(&ep, nullptr, 0, 0, 0) == UFX_ERR_INVALID_PARAM);
    CHECK(ops.put_short(&ep, nullptr, 1, 0, 0) == UFX_OK);
    CHECK(ops.put_zcopy(&ep, nullptr, 0, 0, 0, nullptr) == UFX_ERR_UNSUPPORTED);
    CHECK(ops.put_bcopy(&ep, nullptr, nullptr, 0, 0) == UFX_ERR_UNSUPPORTED);
    ops.pending_purge(&ep, nullptr, nullptr);
    ops.destroy(&ep);
    CHECK(ep.destroyed);
}

TEST_CASE("make_ops: no slot is empty")
{
    static constexpr ufx_uct_ep_ops_t ops = make_ep_ops<small_ep>();
    void *const *slots = reinterpret_cast<void *const *>(&ops);
    for (size_t i = 1; i < sizeof(ops) / sizeof(void *); ++i) {
        CHECK(slots[i] != nullptr);
    }
}

TEST_CASE("make_ops: exceptions become statuses")
{
    static constexpr ufx_uct_ep_ops_t ops = make_ep_ops<small_ep>();
    small_ep ep;
    CHECK(ops.am_bcopy(&ep, 0, nullptr, nullptr, 0) == UFX_ERR_NO_MEMORY);
    CHECK(ops.flush(&ep, 0, nullptr) == UFX_ERR_IO);
}

TEST_CASE("make_ops: a class that cannot purge says UNSUPPORTED in every state", "[U06]")
{
    static constexpr ufx_uct_ep_ops_t live = make_ep_ops<small_ep>();
    static constexpr ufx_uct_ep_ops_t failed = make_refusing_ep_ops<small_ep, refuse_failed>();
    small_ep ep;
    for (const ufx_uct_ep_ops_t *ops : {&live, &failed}) {
        CHECK(ops->outstanding_purge(&ep, UFX_UCT_GRADE_BLIND, nullptr, 0, nullptr, nullptr) ==
              UFX_ERR_UNSUPPORTED);
        CHECK(ops->invalidate(&ep, nullptr) == UFX_ERR_UNSUPPORTED);
    }
}

TEST_CASE("make_ops: capability bits come from the methods")
{
    CHECK(method_caps<small_ep, small_iface>() ==
          (UFX_UCT_CAP_PUT_SHORT | UFX_UCT_CAP_AM_BCOPY | UFX_UCT_CAP_FLUSH));
}

TEST_CASE("make_ops: an overloaded or private method does not vanish silently")
{
    // The name is seen, so make_slot() would not give UNSUPPORTED: it calls, or does not compile.
    CHECK(has<overloaded_ep, method::flush>);
    CHECK(has<private_ep, method::check>);
    CHECK_FALSE(has<private_ep, method::flush>);
    using check_slot = slot_type<decltype(ufx_uct_ep_ops_t::check)>;
    CHECK_FALSE(check_slot::fits<private_ep, method::check>);
}

TEST_CASE("make_ops: an ep that takes no posts refuses those that it has, and only those")
{
    static constexpr ufx_uct_ep_ops_t busy = make_refusing_ep_ops<small_ep, refuse_busy>();
    static constexpr ufx_uct_ep_ops_t failed = make_refusing_ep_ops<small_ep, refuse_failed>();
    small_ep ep;
    CHECK(busy.put_short(&ep, nullptr, 1, 0, 0) == UFX_ERR_NO_RESOURCE);
    CHECK(busy.am_bcopy(&ep, 0, nullptr, nullptr, 0) == UFX_ERR_NO_RESOURCE);
    CHECK(failed.put_short(&ep, nullptr, 1, 0, 0) == UFX_ERR_CONNECTION_RESET);
    CHECK(failed.put_zcopy(&ep, nullptr, 0, 0, 0, nullptr) == UFX_ERR_UNSUPPORTED);
    CHECK(failed.query(&ep, nullptr) == UFX_OK);
}

// SPDX-License-Identifier: BSD-3-Clause
// Connecting RC eps: refused GIDs, steps that fail, limits of devices, addresses that change.
#include "rc_rig.h"
#include "verbs_calls.h"

#include "ucs/log_capture.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstring>

using namespace ufx::test;

namespace {

// Two eps that are not connected yet, with the addresses to do it.
struct unconnected {
    explicit unconnected(const uct_resource &resource)
        : pair(resource, nullptr, false), a_device(pair.a().device_address()),
          b_device(pair.b().device_address()), a_ep(pair.a().attr.ep_addr_len),
          b_ep(pair.b().attr.ep_addr_len)
    {
        ufx_uct_ep_params_t params{};
        REQUIRE(ufx_uct_ep_create(pair.a().iface, &params, &a) == UFX_OK);
        REQUIRE(ufx_uct_ep_create(pair.b().iface, &params, &b) == UFX_OK);
        REQUIRE(ufx_uct_ep_get_address(a, a_ep.data()) == UFX_OK);
        REQUIRE(ufx_uct_ep_get_address(b, b_ep.data()) == UFX_OK);
    }

    ~unconnected()
    {
        ufx_uct_ep_destroy(a);
        ufx_uct_ep_destroy(b);
    }

    unconnected(const unconnected &) = delete;
    unconnected &operator=(const unconnected &) = delete;

    ufx_status_t connect_a()
    {
        return ufx_uct_ep_connect_to_ep(a, b_device.data(), nullptr, b_ep.data());
    }

    ufx_status_t connect_b()
    {
        return ufx_uct_ep_connect_to_ep(b, a_device.data(), nullptr, a_ep.data());
    }

    // Both are connected: does a message get there?
    void check_works()
    {
        inbox received(pair.b().iface, 5);
        REQUIRE(pair.wait(
            [&] { return ufx_uct_ep_am_short(a, 5, 1, nullptr, 0) != UFX_ERR_NO_RESOURCE; }));
        REQUIRE(pair.wait([&] { return received.messages.size() == 1; }));
    }

    uct_pair pair;
    std::vector<std::byte> a_device;
    std::vector<std::byte> b_device;
    std::vector<std::byte> a_ep;
    std::vector<std::byte> b_ep;
    ufx_uct_ep_h a = nullptr;
    ufx_uct_ep_h b = nullptr;
};

} // namespace

TEST_CASE("rc: a GID that the device refuses gives way to the next one, each once; what fails "
          "altogether wears none out",
          "[.][hca][G08]")
{
    for_each_rc([](const uct_resource &resource) {
        unconnected two(resource);
        int tried = 0;
        {
            const failing_call all("ibv_modify_qp", EINVAL, 0, 100);
            CHECK(two.connect_a() == UFX_ERR_IO);
            tried = all.hits();
            CHECK(tried >= 2);
            CHECK(two.connect_a() == UFX_ERR_IO);
            CHECK(all.hits() == 2 * tried);
        }
        two.pair.turn(1);
        CHECK(two.pair.a().events.empty());
        CHECK(two.pair.a().device_address() == two.a_device);
        {
            const failing_call first("ibv_modify_qp", EINVAL);
            REQUIRE(two.connect_a() == UFX_OK);
        }
        two.pair.turn(1);
        REQUIRE(two.pair.a().events.size() == 1);
        CHECK(two.pair.a().events.front() == UFX_UCT_IFACE_ADDR_CHANGED);
        CHECK(two.pair.a().device_address() != two.a_device);
        // It stays so until the table changes.
        CHECK(two.pair.a().device_address() == two.pair.a().device_address());
        two.pair.turn(1);
        CHECK(two.pair.a().events.size() == 1);
    });
}

TEST_CASE("rc: a connection that fails half-way receives nothing and can be tried again",
          "[.][hca]")
{
    for_each_rc([](const uct_resource &resource) {
        for (const int error : {EINVAL, EIO, ENOMEM}) {
            for (const int step : {0, 1}) { // RTR, RTS
                if (error == EINVAL && step == 0) {
                    continue; // goes on with another GID
                }
                INFO("errno " << error << " at step " << step);
                unconnected two(resource);
                {
                    const failing_call call("ibv_modify_qp", error, step);
                    CHECK(two.connect_a() == UFX_ERR_IO);
                    CHECK(call.hits() == 1);
                }
                REQUIRE(two.connect_a() == UFX_OK);
                REQUIRE(two.connect_b() == UFX_OK);
                two.check_works();
            }
        }
    });
}

TEST_CASE("rc: settings beyond what the device can do are cut to that", "[.][hca]")
{
    for_each_rc([](const uct_resource &resource) {
        const rc_setting queue(resource, "TX_QUEUE", "4096");
        const rc_setting reads(resource, "MAX_READS", "128");
        SECTION("of this device")
        {
            unconnected two(resource);
            REQUIRE(two.connect_a() == UFX_OK);
            REQUIRE(two.connect_b() == UFX_OK);
            two.check_works();
        }
        SECTION("of a smaller one")
        {
            const changed_device small([](ibv_device_attr &attr) {
                attr.max_qp_wr = 64;
                attr.max_srq_wr = 100;
                attr.max_cqe = 500;
                attr.max_qp_rd_atom = 2;
                attr.max_qp_init_rd_atom = 1;
                attr.atomic_cap = IBV_ATOMIC_NONE;
            });
            unconnected two(resource);
            CHECK(two.pair.a().attr.max_outstanding <= 64);
            constexpr uint64_t atomics = UFX_UCT_CAP_ATOMIC64_POST | UFX_UCT_CAP_ATOMIC64_FETCH |
                                         UFX_UCT_CAP_ATOMIC64_CSWAP | UFX_UCT_CAP_ATOMIC_DEVICE;
            CHECK((two.pair.a().attr.caps & atomics) == 0);
            CHECK(two.pair.a().attr.atomic64_post_ops == 0);
            CHECK(two.pair.a().attr.atomic64_fetch_ops == 0);
            REQUIRE(two.connect_a() == UFX_OK);
            REQUIRE(two.connect_b() == UFX_OK);
            two.check_works();
        }
    });
}

TEST_CASE("rc: a peer whose receive buffers are too small is refused before anything is lost",
          "[.][hca]")
{
    for_each_rc([](const uct_resource &resource) {
        unconnected large(resource);
        const rc_setting half(resource, "SEG_SIZE", "4kb");
        unconnected small(resource);
        CHECK(ufx_uct_ep_connect_to_ep(large.a, small.b_device.data(), nullptr,
                                       small.b_ep.data()) == UFX_ERR_UNSUPPORTED);
        CHECK(ufx_uct_ep_connect_to_ep(small.b, large.a_device.data(), nullptr,
                                       large.a_ep.data()) == UFX_OK);
        // Nothing was begun.
        CHECK(large.connect_a() == UFX_OK);
    });
}

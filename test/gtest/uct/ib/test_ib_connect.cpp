// SPDX-License-Identifier: BSD-3-Clause
// Connecting RC eps: refused GIDs, steps that fail, limits of devices, addresses that change.
#include "rc_rig.h"
#include "verbs_calls.h"

#include "ucs/log_capture.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

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

// G09: an address is adopted only when a queue pair works with it, and told from then on.
TEST_CASE("rc: a GID that the device refuses gives way to the next one, each once; what fails "
          "altogether wears none out",
          "[.][hca][G08][G09]")
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

TEST_CASE("rc: retry settings reach the queue pair, the default where they are wrong",
          "[.][hca][M17]")
{
    for_each_rc([](const uct_resource &resource) {
        struct {
            const char *values[4];
            uint8_t expected[4];
        } const cases[] = {{{"17", "3", "5", "20"}, {17, 3, 5, 20}},
                           {{"0", "0", "0", "0"}, {0, 0, 0, 0}},
                           {{"31", "7", "7", "31"}, {31, 7, 7, 31}},
                           {{"32", "8", "-1", "x"}, {14, 7, 7, 12}}};
        for (const auto &[values, expected] : cases) {
            const rc_setting timeout(resource, "TIMEOUT", values[0]);
            const rc_setting retries(resource, "RETRY_COUNT", values[1]);
            const rc_setting rnr_retries(resource, "RNR_RETRY_COUNT", values[2]);
            const rc_setting rnr_timer(resource, "MIN_RNR_TIMER", values[3]);
            unconnected two(resource);
            REQUIRE(two.connect_a() == UFX_OK);
            ibv_qp_attr attr{};
            ibv_qp_init_attr init{};
            REQUIRE(ibv_query_qp(last_connected(), &attr,
                                 IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                     IBV_QP_MIN_RNR_TIMER,
                                 &init) == 0);
            CHECK(attr.timeout == expected[0]);
            CHECK(attr.retry_cnt == expected[1]);
            CHECK(attr.rnr_retry == expected[2]);
            CHECK(attr.min_rnr_timer == expected[3]);
        }
    });
}

TEST_CASE("rc: how long a sender waits for a receive buffer is set at the receiver",
          "[.][hca][M21]")
{
    for_each_rc([](const uct_resource &resource) {
        const auto time_to_give_up = [&](const char *at_receiver, const char *at_sender) {
            const rc_setting few(resource, "RX_QUEUE", "64");
            const rc_setting once(resource, "RNR_RETRY_COUNT", "1");
            std::optional<rc_setting> timer(std::in_place, resource, "MIN_RNR_TIMER", at_sender);
            uct_side sender(resource, nullptr);
            timer.emplace(resource, "MIN_RNR_TIMER", at_receiver);
            uct_side receiver(resource, nullptr);
            ufx_uct_ep_h from = nullptr;
            ufx_uct_ep_h to = nullptr;
            REQUIRE(ufx_uct_ep_create(sender.iface, nullptr, &from) == UFX_OK);
            REQUIRE(ufx_uct_ep_create(receiver.iface, nullptr, &to) == UFX_OK);
            uint8_t addresses[2][64];
            REQUIRE(ufx_uct_ep_get_address(from, addresses[0]) == UFX_OK);
            REQUIRE(ufx_uct_ep_get_address(to, addresses[1]) == UFX_OK);
            const auto there = receiver.device_address();
            REQUIRE(ufx_uct_ep_connect_to_ep(from, there.data(), nullptr, addresses[1]) == UFX_OK);
            REQUIRE(ufx_uct_ep_connect_to_ep(to, there.data(), nullptr, addresses[0]) == UFX_OK);
            // The receiver keeps each buffer, and at last has no other one to give.
            std::vector<void *> kept;
            REQUIRE(ufx_uct_iface_set_am_handler(
                        receiver.iface, 5,
                        [](void *arg, void *data, size_t, unsigned) noexcept -> ufx_status_t {
                            static_cast<std::vector<void *> *>(arg)->push_back(data);
                            return UFX_INPROGRESS;
                        },
                        &kept) == UFX_OK);
            const failing_call none("ibv_reg_mr_iova2", ENOMEM, 0, INT_MAX);
            auto posted = std::chrono::steady_clock::now();
            const auto end = posted + std::chrono::seconds(10);
            for (size_t sent = 0; sender.errors == 0 && std::chrono::steady_clock::now() < end;) {
                if (sent == kept.size()) { // one at a time: the last one is the refused one
                    posted = std::chrono::steady_clock::now();
                    sent += ufx_uct_ep_am_short(from, 5, 1, nullptr, 0) == UFX_OK ? 1 : 0;
                }
                ufx_uct_iface_progress(sender.iface);
                ufx_uct_iface_progress(receiver.iface);
            }
            CHECK(sender.error_cause == UFX_UCT_CAUSE_RNR_EXCEEDED);
            const auto took = std::chrono::steady_clock::now() - posted;
            for (void *buffer : kept) {
                ufx_uct_iface_release_desc(receiver.iface, buffer);
            }
            ufx_uct_ep_destroy(from);
            ufx_uct_ep_destroy(to);
            return took;
        };
        // Two tries with one wait between them: 491.52 ms by code 31, and 10 us by code 1.
        CHECK(time_to_give_up("31", "1") >= std::chrono::microseconds(491520));
        CHECK(time_to_give_up("1", "31") < std::chrono::microseconds(491520));
    });
}

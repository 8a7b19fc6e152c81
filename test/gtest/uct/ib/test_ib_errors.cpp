// SPDX-License-Identifier: BSD-3-Clause
// Errors of RC eps: what they say, which settings ignore them, and that they reach only the one
// that they are about.
#include "rc_rig.h"
#include "verbs_calls.h"

#include "common/skip.h"
#include "ucs/log_capture.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>

using namespace ufx::test;

namespace {

std::string number_of(ufx_uct_ep_h ep)
{
    ufx_uct_ep_attr_t attr{};
    attr.field_mask = UFX_UCT_EP_ATTR_LOCAL_NAME;
    REQUIRE(ufx_uct_ep_query(ep, &attr) == UFX_OK);
    const char *number = std::strstr(attr.name, "qp 0x");
    REQUIRE(number != nullptr);
    return {number, std::strlen("qp 0x000000")};
}

bool works(rc_pair &pair)
{
    counted done;
    return pair.put(0, 64, done) == UFX_INPROGRESS && pair.wait([&] { return done.done(); }) &&
           done.result == UFX_OK;
}

} // namespace

TEST_CASE("rc: the settings in effect are logged when an iface is opened; an error names the ones "
          "to look at, and the peer",
          "[.][hca][M20]")
{
    for_each_rc([](const uct_resource &resource) {
        ::setenv("UFX_IB_SL", "3", 1);
        ::setenv("UFX_IB_TRAFFIC_CLASS", "105", 1);
        {
            const ufx::ucs::log_capture log;
            ufx::ucs::log_capture const *seen = &log;
            const uct_side one(resource, nullptr);
            CHECK(seen->count(UFX_UCS_LOG_INFO, "service level 3, traffic class 105") == 1);
            CHECK(seen->count(UFX_UCS_LOG_INFO, "536.9 ms") == 1);
        }
        ::unsetenv("UFX_IB_SL");
        ::unsetenv("UFX_IB_TRAFFIC_CLASS");
        struct {
            const char *syndrome;
            const char *knobs[2];
        } const errors[] = {{"RETRY_EXC_ERR", {"UFX_IB_TIMEOUT", "_RETRY_COUNT"}},
                            {"RNR_RETRY_EXC_ERR", {"UFX_IB_RNR_RETRY_COUNT", "_MIN_RNR_TIMER"}}};
        for (const auto &each : errors) {
            rc_pair pair(resource);
            command(rc_pair::sent_by(pair.ep) + "error-cqe " + each.syndrome + " count 1");
            counted done;
            REQUIRE(pair.put(0, 64, done) == UFX_INPROGRESS);
            REQUIRE(pair.wait([&] { return pair.a().errors == 1; }));
            const std::string &text = pair.a().error_text;
            INFO(text);
            CHECK(text.find(each.knobs[0]) != std::string::npos);
            CHECK(text.find(each.knobs[1]) != std::string::npos);
            CHECK(text.find(number_of(pair.ep)) != std::string::npos);
            CHECK(text.find(number_of(pair.peer)) != std::string::npos);
            CHECK(text.find("10.77.0.1") != std::string::npos);
        }
    });
}

TEST_CASE("rc: events fail eps unless that is turned off, or events altogether", "[.][hca][M15]")
{
    for_each_rc([](const uct_resource &resource) {
        for (const char *events : {"y", "n"}) {
            for (const char *fail : {"y", "n"}) {
                INFO("events " << events << ", fail " << fail);
                ::setenv("UFX_IB_ASYNC_EVENTS", events, 1);
                ::setenv("UFX_IB_FAIL_ON_EVENT", fail, 1);
                rc_pair pair(resource);
                ::unsetenv("UFX_IB_ASYNC_EVENTS");
                ::unsetenv("UFX_IB_FAIL_ON_EVENT");
                const ufx::ucs::log_capture log;
                const bool heard = *events == 'y' && *fail == 'y';
                command(rc_pair::sent_by(pair.ep) + "event QP_FATAL");
                REQUIRE(pair.wait([&] {
                    return pair.a().errors != 0 || log.count(UFX_UCS_LOG_WARN, "ignored") != 0;
                }));
                CHECK(pair.a().errors == (heard ? 1 : 0));
                if (!heard) {
                    CHECK(works(pair));
                }
                command("hca mlx5_0 port-down");
                command("hca mlx5_0 port-up");
                if (*events == 'y') {
                    REQUIRE(pair.wait([&] { return pair.a().events.size() == 2; }));
                } else {
                    REQUIRE(pair.wait([&] { return log.count("port") >= 4; })); // on both sides
                    CHECK(pair.a().events.empty());
                }
                pair.close_source(); // becomes quiet also without events
            }
        }
    });
}

TEST_CASE("rc: the error of a shared receive queue is the end of all its eps", "[.][hca]")
{
    for_each_rc([](const uct_resource &resource) {
        rc_pair pair(resource);
        static_cast<void>(pair.connect());
        command("hca mlx5_0 event SRQ_ERR");
        REQUIRE(pair.wait([&] { return pair.a().errors == 2; }));
        CHECK(pair.a().error_cause == UFX_UCT_CAUSE_DEVICE_FATAL);
        CHECK(pair.a().events.back() == UFX_UCT_IFACE_DEVICE_FATAL);
    });
}

TEST_CASE("rc: an event of a queue pair that is gone does not reach one that has its number now",
          "[.][hca]")
{
    for_each_rc([](const uct_resource &resource) {
        rc_pair pair(resource);
        ufx_uct_ep_h old = nullptr;
        REQUIRE(ufx_uct_ep_create(pair.a().iface, nullptr, &old) == UFX_OK);
        const std::string number = number_of(old);
        const int before = count_event_reads().acknowledged;
        command(rc_pair::sent_by(old) + "event QP_FATAL");
        // The thread that reads events has posted it; this iface is not progressed.
        uct_pair other(resource);
        REQUIRE(other.wait([&] { return count_event_reads().acknowledged != before; }));
        ufx_uct_ep_destroy(old);
        command("hca mlx5_0 reuse-qpn count 1");
        ufx_uct_ep_h young = nullptr;
        REQUIRE(ufx_uct_ep_create(pair.a().iface, nullptr, &young) == UFX_OK);
        REQUIRE(number_of(young) == number);
        pair.turn(10);
        CHECK(pair.a().errors == 0);
        CHECK(state_of(young) == UFX_UCT_EP_INIT);
        ufx_uct_ep_destroy(young);
    });
}

TEST_CASE("rc: equal numbers of queue pairs on two devices are told apart", "[.][hca][M05]")
{
    for_each_rc([](const uct_resource &resource) {
        const uct_resource elsewhere = on_device(resource, "mlx5_3");
        ufx_uct_md_h md = nullptr;
        if (ufx_uct_md_open(elsewhere.component, elsewhere.md.c_str(), nullptr, &md) != UFX_OK) {
            skip("the fabric has no mlx5_3");
            return;
        }
        ufx_uct_md_close(md);
        rc_pair here(resource);
        rc_pair there(elsewhere);
        // Numbers go up: the lower one is made again until they are equal.
        uct_pair::connection a{nullptr, nullptr};
        uct_pair::connection b{nullptr, nullptr};
        REQUIRE(ufx_uct_ep_create(here.a().iface, nullptr, &a.a) == UFX_OK);
        REQUIRE(ufx_uct_ep_create(there.a().iface, nullptr, &b.a) == UFX_OK);
        for (int i = 0; i < 20000 && number_of(a.a) != number_of(b.a); ++i) {
            const bool lower = number_of(a.a) < number_of(b.a);
            ufx_uct_ep_h &again = lower ? a.a : b.a;
            ufx_uct_ep_destroy(again);
            REQUIRE(ufx_uct_ep_create((lower ? here : there).a().iface, nullptr, &again) == UFX_OK);
        }
        REQUIRE(number_of(a.a) == number_of(b.a));
        REQUIRE(ufx_uct_ep_create(here.b().iface, nullptr, &a.b) == UFX_OK);
        REQUIRE(ufx_uct_ep_create(there.b().iface, nullptr, &b.b) == UFX_OK);
        connect_eps(here, a);
        connect_eps(there, b);
        command("hca mlx5_0 " + rc_pair::sent_by(a.a) + "event QP_FATAL");
        REQUIRE(here.wait([&] { return here.a().errors == 1; }));
        CHECK(here.a().failed_ep == a.a);
        there.turn(10);
        CHECK(there.a().errors == 0);
        counted done;
        REQUIRE(there.put_on(b.a, 0, 64, done) == UFX_INPROGRESS);
        REQUIRE(there.wait([&] { return done.done(); }));
        CHECK(done.result == UFX_OK);
        for (ufx_uct_ep_h each : {a.a, a.b, b.a, b.b}) {
            ufx_uct_ep_destroy(each);
        }
    });
}

TEST_CASE(
    "rc: a GID that is given keeps its index and takes the new value; else the best is chosen "
    "again",
    "[.][hca][G04]")
{
    for_each_rc([](const uct_resource &resource) {
        constexpr size_t last_byte = 23; // of the GID in the address
        const ufx::ucs::log_capture log;
        command("hca mlx5_0 gid 6 10.77.0.6 silent");
        ::setenv("UFX_IB_GID_INDEX", "6", 1);
        hide_netdevs(true);
        uct_side given(resource, nullptr);
        hide_netdevs(false);
        ::unsetenv("UFX_IB_GID_INDEX");
        uct_side chosen(resource, nullptr);
        CHECK(log.count(UFX_UCS_LOG_WARN, "has no network interface") == 1);
        const auto first = chosen.device_address();
        CHECK(given.device_address()[last_byte] == std::byte{6});
        command("hca mlx5_0 gid 6 10.77.0.9 silent");
        command("hca mlx5_0 gid 4 9.9.9.8 silent"); // not private
        CHECK(given.device_address()[last_byte] == std::byte{9});
        CHECK(chosen.device_address() != first);
        command("hca mlx5_0 clear-gid 6 silent");
        command("hca mlx5_0 clear-gid 4 silent");
        CHECK(chosen.device_address() == first);
    });
}

TEST_CASE("rc: the name of an ep tells its queue pair, and the state that has now", "[.][hca][T06]")
{
    for_each_rc([](const uct_resource &resource) {
        rc_pair pair(resource);
        const auto name = [&] {
            ufx_uct_ep_attr_t attr{};
            attr.field_mask = UFX_UCT_EP_ATTR_LOCAL_NAME;
            REQUIRE(ufx_uct_ep_query(pair.ep, &attr) == UFX_OK);
            return std::string(attr.name);
        };
        const std::string alive = name();
        CHECK(alive.starts_with("mlx5_0:1 qp 0x"));
        CHECK(alive.ends_with(" RTS"));
        command(rc_pair::sent_by(pair.ep) + "qp-error");
        CHECK(name() == alive.substr(0, alive.size() - 3) + "ERR");
        REQUIRE(pair.wait([&] { return pair.a().errors != 0; }));
        {
            const failing_call call("ibv_query_qp", EIO);
            CHECK(name().ends_with("in an unknown state"));
        }
        pair.close_source();
    });
}

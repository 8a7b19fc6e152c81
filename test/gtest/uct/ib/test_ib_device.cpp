// SPDX-License-Identifier: BSD-3-Clause
// The RC transports on a device whose faults can be commanded: what landed, what failed, and what
// did not. Without the software ConnectX these cases are skipped.
#include "rc_rig.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <string>

using namespace ufx::test;

TEST_CASE("rc: with all answers lost, the token tells puts that landed from reads without data",
          "[.][hca][U01][U10][M23]")
{
    for_each_rc([](const uct_resource &resource) {
        rc_pair pair(resource);
        command(rc_pair::sent_by(pair.peer) + "drop responses");
        counted first;
        counted second;
        counted got;
        local_memory into(pair, 100);
        const ufx_uct_iov_t iov = into.iov(0, 100);
        REQUIRE(pair.put(0, 4 * MTU, first) == UFX_INPROGRESS);
        REQUIRE(ufx_uct_ep_get_zcopy(pair.ep, &iov, 1, pair.target.addr(), pair.target.rkey,
                                     &got) == UFX_INPROGRESS);
        REQUIRE(pair.put(4 * MTU, 10, second) == UFX_INPROGRESS);
        REQUIRE(pair.wait([&] { return pair.a().errors != 0; }));
        CHECK(pair.a().error_cause == UFX_UCT_CAUSE_RETRY_EXCEEDED);
        CHECK(state_of(pair.ep) == UFX_UCT_EP_DEFERRED);
        CHECK(pair.landed(0, 4 * MTU + 10));
        const auto token = pair.close_target();
        CHECK(token.grade == UFX_UCT_GRADE_EXACT);
        pair.close_source();
        const auto all = pair.purge(token);
        REQUIRE(all.size() == 3);
        CHECK(all[0].verdict == UFX_UCT_VERDICT_LANDED);
        CHECK(all[1].verdict == UFX_UCT_VERDICT_RESULT_LOST);
        CHECK(all[2].verdict == UFX_UCT_VERDICT_LANDED);
        CHECK(first.calls + second.calls + got.calls == 0);
    });
}

TEST_CASE("rc: a put that stops in its middle is PARTIAL at a packet, what follows has not landed",
          "[.][hca][U10]")
{
    for_each_rc([](const uct_resource &resource) {
        rc_pair pair(resource);
        command(rc_pair::sent_by(pair.ep) +
                "drop requests skip 3"); // three packets pass, and no other one ever
        counted first;
        counted second;
        REQUIRE(pair.put(0, 8 * MTU, first) == UFX_INPROGRESS);
        REQUIRE(pair.put(8 * MTU, 10, second) == UFX_INPROGRESS);
        REQUIRE(pair.wait([&] { return pair.a().errors != 0; }));
        const auto token = pair.close_target();
        pair.close_source();
        const auto all = pair.purge(token);
        REQUIRE(all.size() == 2);
        CHECK(all[0].verdict == UFX_UCT_VERDICT_PARTIAL);
        CHECK(all[0].bytes == 3 * MTU);
        CHECK(pair.landed(0, 3 * MTU));
        CHECK(all[1].verdict == UFX_UCT_VERDICT_NOT_LANDED);
    });
}

TEST_CASE("rc: an event of one queue pair fails its ep alone, without a completion",
          "[.][hca]")
{
    for_each_rc([](const uct_resource &resource) {
        rc_pair pair(resource);
        const auto sibling = pair.connect();
        command(rc_pair::sent_by(pair.ep) + "event QP_FATAL");
        REQUIRE(pair.wait([&] { return pair.a().errors != 0; }));
        CHECK(pair.a().failed_ep == pair.ep);
        CHECK(pair.a().error_cause == UFX_UCT_CAUSE_OWN_QP);
        CHECK(state_of(sibling.a) == UFX_UCT_EP_LIVE);
        counted done;
        REQUIRE(pair.put_on(sibling.a, 0, 64, done) == UFX_INPROGRESS);
        REQUIRE(pair.wait([&] { return done.done(); }));
        CHECK(done.result == UFX_OK);
    });
}

TEST_CASE("rc: a port that goes and comes is an event and fails nothing", "[.][hca][M04]")
{
    for_each_rc([](const uct_resource &resource) {
        rc_pair pair(resource);
        counted done;
        command("port-down");
        REQUIRE(pair.put(0, 2 * MTU, done) == UFX_INPROGRESS);
        REQUIRE(pair.wait([&] { return !pair.a().events.empty(); }));
        CHECK(pair.a().events.front() == UFX_UCT_IFACE_PORT_DOWN);
        CHECK(done.calls == 0);
        command("port-up");
        REQUIRE(pair.wait([&] { return done.done(); }));
        CHECK(done.result == UFX_OK);
        CHECK(pair.landed(0, 2 * MTU));
        REQUIRE(pair.wait([&] { return pair.a().events.size() >= 2; }));
        CHECK(pair.a().events.back() == UFX_UCT_IFACE_PORT_UP);
        CHECK(pair.a().errors == 0);
    });
}

TEST_CASE("rc: queues and positions wrap, and the order stays", "[.][hca]")
{
    for_each_rc([](const uct_resource &resource) {
        rc_pair pair(resource, 4096);
        // More than 2^16 requests, so the queue's 16-bit counters go round.
        constexpr uint64_t rounds = 70000;
        for (uint64_t i = 0; i < rounds; ++i) {
            ufx_status_t status = UFX_ERR_NO_RESOURCE;
            REQUIRE(pair.wait([&] {
                status = ufx_uct_ep_put_short(pair.ep, &i, sizeof(i), pair.target.addr(),
                                              pair.target.rkey);
                return status != UFX_ERR_NO_RESOURCE;
            }));
            REQUIRE(status == UFX_OK);
        }
        pair.flush();
        uint64_t last = 0;
        std::memcpy(&last, pair.target.bytes, sizeof(last));
        CHECK(last == rounds - 1);
        CHECK(pair.a().errors == 0);
        CHECK(outstanding(pair.ep) == 0);
    });
}

TEST_CASE("rc: copies that fill the buffer before any has a completion make room again",
          "[.][hca][L05]")
{
    for_each_rc([](const uct_resource &resource) {
        rc_pair pair(resource, 8192);
        for (const size_t length : {size_t{300}, size_t{4096}, size_t{8192}}) {
            for (int i = 0; i < 100; ++i) {
                pack_source source{pair.data.bytes.data(), length};
                REQUIRE(pair.wait([&] {
                    const ssize_t done = ufx_uct_ep_put_bcopy(pair.ep, pack_source::pack, &source,
                                                              pair.target.addr(), pair.target.rkey);
                    return done == static_cast<ssize_t>(length);
                }));
            }
        }
        pair.flush();
        CHECK(pair.landed(0, 8192));
    });
}

TEST_CASE("rc: a put to a key that is gone is the user's error, and is the one that failed",
          "[.][hca]")
{
    for_each_rc([](const uct_resource &resource) {
        rc_pair pair(resource);
        pair.a().error_answer = UFX_OK;
        remote_memory fine(pair, 64);
        pair.target.dereg();
        counted first;
        counted done;
        const ufx_uct_iov_t iov = pair.data.iov(0, 64);
        REQUIRE(ufx_uct_ep_put_zcopy(pair.ep, &iov, 1, fine.addr(), fine.rkey, &first) ==
                UFX_INPROGRESS);
        REQUIRE(pair.put(0, 64, done) == UFX_INPROGRESS);
        REQUIRE(pair.wait([&] { return done.done(); }));
        CHECK(first.done());
        CHECK(first.result == UFX_OK);
        CHECK(done.result == UFX_ERR_REMOTE_ACCESS);
        CHECK(pair.a().error_cause == UFX_UCT_CAUSE_REMOTE_ACCESS);
        CHECK(state_of(pair.ep) == UFX_UCT_EP_DEAD);
    });
}

TEST_CASE("rc: the death of a device fails all its eps at once, nobody else's, and says so",
          "[.][hca][M03][L12]")
{
    for_each_rc([](const uct_resource &resource) {
        // A device of its own, which is dead afterwards.
        const std::string name = resource.tl == "rc_mlx5" ? "mlx5_1" : "mlx5_2";
        rc_pair other(resource);
        rc_pair pair(on_device(resource, name));
        const auto second = pair.connect();
        pair.a().error_answer = UFX_OK;
        counted done;
        command("hca " + name + " stall-cq");
        REQUIRE(pair.put(0, 64, done) == UFX_INPROGRESS);
        command("hca " + name + " device-fatal");
        REQUIRE(pair.wait([&] { return pair.a().errors == 2; }));
        CHECK(pair.a().error_cause == UFX_UCT_CAUSE_DEVICE_FATAL);
        const auto start = std::chrono::steady_clock::now();
        REQUIRE(pair.wait([&] { return done.done(); }));
        CHECK(done.result < 0);
        // No drain was waited for, which gives up after a second.
        CHECK(std::chrono::steady_clock::now() - start < std::chrono::milliseconds(500));
        INFO(pair.a().error_text);
        CHECK(pair.a().error_text.find(" to 10.77.0.") != std::string::npos); // the peer
        CHECK(state_of(second.a) != UFX_UCT_EP_LIVE);
        REQUIRE(pair.wait([&] { return !pair.a().events.empty(); }));
        CHECK(pair.a().events.back() == UFX_UCT_IFACE_DEVICE_FATAL);
        // Nothing of another device.
        counted fine;
        REQUIRE(other.put(0, 64, fine) == UFX_INPROGRESS);
        REQUIRE(other.wait([&] { return fine.done(); }));
        CHECK(fine.result == UFX_OK);
        CHECK(other.a().errors == 0);
        CHECK(other.a().events.empty());
    });
}

TEST_CASE("rc: a port names the network interfaces that share its cable", "[.][hca]")
{
    for_each_rc([](const uct_resource &resource) {
        const uct_side side(resource, nullptr);
        ufx_uct_netdev_t names[4];
        size_t count = 4;
        REQUIRE(ufx_uct_md_query_netdevs(side.md, "mlx5_0:1", names, &count) == UFX_OK);
        REQUIRE(count == 1);
        CHECK(std::string(names[0].name) == "lo"); // that of the software ConnectX
        count = 0;
        CHECK(ufx_uct_md_query_netdevs(side.md, "mlx5_0:1", names, &count) ==
              UFX_ERR_BUFFER_TOO_SMALL);
        CHECK(count == 1);
        CHECK(ufx_uct_md_query_netdevs(side.md, "mlx5_7:1", names, &count) == UFX_ERR_NO_DEVICE);
        CHECK(ufx_uct_md_query_netdevs(side.md, "lo", names, &count) == UFX_ERR_NO_DEVICE);
    });
}

TEST_CASE(
    "rc: a queue that stops at any place, its tail without a completion, tells what has landed",
    "[.][hca][U10][U11]")
{
    for_each_rc([](const uct_resource &resource) {
        const rc_setting few(resource, "RETRY_COUNT", "1");
        const rc_setting moderation(resource, "TX_MODERATION", "3");
        constexpr size_t puts = 8;
        const auto stop_at = [&](size_t place, uint64_t before) {
            INFO("at " << place << " after " << before);
            rc_pair pair(resource, 4096);
            const auto put = [&](uint64_t value) {
                REQUIRE(pair.wait([&] {
                    return ufx_uct_ep_put_short(pair.ep, &value, sizeof(value),
                                                pair.target.addr(value % puts * sizeof(value)),
                                                pair.target.rkey) == UFX_OK;
                }));
            };
            for (uint64_t i = 0; i < before; ++i) {
                put(i);
            }
            pair.flush();
            command(rc_pair::sent_by(pair.ep) + "drop requests skip " + std::to_string(place));
            for (uint64_t i = 0; i < puts; ++i) {
                put(i);
            }
            REQUIRE(pair.wait([&] { return pair.a().errors != 0; }));
            const auto token = pair.close_target();
            CHECK(token.grade == UFX_UCT_GRADE_EXACT);
            pair.close_source();
            const auto all = pair.purge(token);
            const size_t completed = puts - all.size();
            CHECK(completed <= place);
            for (size_t i = completed; i < puts; ++i) {
                CHECK(all[i - completed].verdict ==
                      (i < place ? UFX_UCT_VERDICT_LANDED : UFX_UCT_VERDICT_NOT_LANDED));
            }
        };
        for (size_t place = 0; place < puts; ++place) {
            stop_at(place, 0);
        }
        // Where the queue's 16 bits wrap: with the flush, six of the puts are before that.
        for (const size_t place : {5, 6, 7}) {
            stop_at(place, (1u << 16) - 7);
        }
    });
}

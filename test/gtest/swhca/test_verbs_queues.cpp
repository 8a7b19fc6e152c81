// SPDX-License-Identifier: BSD-3-Clause
// Completion queues that are full, of a dead device, or of a QP that is gone.
#include "rig.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <vector>

namespace ufx::test {

namespace {

constexpr uint32_t cq_err = 0, qp_fatal = 1, device_fatal = 8, last_wqe = 16; // IBV_EVENT_*

std::vector<uint32_t> events_of(device &of)
{
    std::vector<uint32_t> all;
    while (auto told = of.next_event()) {
        all.push_back(told->type);
    }
    std::sort(all.begin(), all.end());
    return all;
}

// A QP of the second device that receives from a SRQ, another one that does not, and their peers.
struct shared_receives {
    shared_receives()
    {
        connect_both(left, right);
        connect_both(second, peer);
    }

    rig on;
    device a{on, 0};
    device b{on, 1};
    shared_queue srq{b, 8};
    endpoint left{a};
    endpoint right{b, 2, &srq};
    endpoint second{b};
    endpoint peer{a};
    region from = a.make_region(64, all_access);
    region to = b.make_region(64, all_access);
};

} // namespace

TEST_CASE("swhca: a CQ that overruns fails every QP that completes on it, and no other")
{
    rig on;
    device a(on, 0, 4);
    device other(on, 0);
    device b(on, 1);
    endpoint left(a);
    endpoint idle(a);
    endpoint fresh(a); // in RESET
    endpoint apart(other);
    endpoint right(b);
    connect_both(left, right);
    idle.connect(right);
    apart.connect(right);
    region from = a.make_region(64, all_access);
    region to = b.make_region(64, all_access);
    for (int i = 0; i < 4; i++) {
        left.write(from, 8, to);
    }
    on.step();
    CHECK(events_of(a).empty());
    CHECK(left.state() == rts);
    left.write(from, 8, to);
    on.step();
    auto told = a.next_event();
    REQUIRE(told);
    CHECK(told->type == cq_err);
    CHECK(told->element == 0xc0);
    CHECK(events_of(a) == std::vector<uint32_t>{qp_fatal, qp_fatal});
    CHECK(left.state() == err);
    CHECK(idle.state() == err);
    CHECK(fresh.state() == reset);
    CHECK(apart.state() == rts);
    CHECK(right.state() == rts);
    for (int i = 0; i < 4; i++) {
        CHECK(a.poll());
    }
    CHECK_FALSE(a.poll());
    // It does not come back to life, and fails whoever tries.
    endpoint peer(b);
    connect_both(fresh, peer);
    fresh.write(from, 8, to);
    on.step();
    CHECK(fresh.state() == err);
    CHECK(peer.query().rq_psn == 101);
    CHECK(events_of(a) == std::vector<uint32_t>{qp_fatal});
    CHECK_FALSE(a.poll());
}

TEST_CASE("swhca: a dead device writes no completion and tells of nothing but its death")
{
    shared_receives all;
    auto &[on, a, b, srq, left, right, second, peer, from, to] = all;
    on.fault("hold-cqe 1ms hca 1 count 1");
    srq.post(to, 0, 64);
    left.send(from, 8);
    on.step();
    REQUIRE(a.poll()); // the receive's own CQE is held back
    on.fault("delay 1ms hca 1");
    second.receive(to, 0, 64);
    second.write(to, 8, from); // under way
    b.arm();
    on.step();
    on.fault("device-fatal hca 1");
    on.step();
    second.write(to, 8, from);
    second.receive(to, 0, 64);
    for (int i = 0; i < 10; i++) {
        on.step(1'000'000);
    }
    CHECK_FALSE(b.poll());
    CHECK_FALSE(b.next_completion_event());
    CHECK(events_of(b) == std::vector<uint32_t>{device_fatal});
    CHECK(std::count(from.bytes.begin(), from.bytes.end(), 0) == 64);
}

TEST_CASE("swhca: no completion of a QP comes after it was reset or destroyed")
{
    // What was kept back is there when the command returns, because the provider then sweeps the
    // queue and gives the receives of a SRQ back by what it finds.
    shared_receives all;
    auto &[on, a, b, srq, left, right, second, peer, from, to] = all;
    on.fault(GENERATE(as<std::string>(), "hold-cqe 1ms hca 1", "stall-cq hca 1"));
    on.step();
    srq.post(to, 0, 64);
    left.send(from, 8);
    second.write(to, 8, from);
    on.step();
    REQUIRE_FALSE(b.poll());
    if (GENERATE(true, false)) {
        REQUIRE(right.destroy() == 0);
    } else {
        REQUIRE(right.to_state(reset) == 0);
    }
    auto swept = b.poll();
    REQUIRE(swept);
    CHECK(swept->qpn == right.qpn);
    CHECK_FALSE(b.poll()); // that of the other QP still waits
    on.fault("unstall-cq hca 1");
    on.step(2'000'000);
    auto late = b.poll();
    REQUIRE(late);
    CHECK(late->qpn == second.qpn);
    CHECK_FALSE(b.poll());
}

TEST_CASE("swhca: QPs with an SRQ that go to ERR tell of their last WQE")
{
    rig on;
    device b(on, 1);
    shared_queue srq(b, 8);
    endpoint right(b, 2, &srq);
    endpoint peer(b);
    right.connect(peer);
    REQUIRE(right.to_state(err) == 0);
    CHECK(events_of(b) == std::vector<uint32_t>{last_wqe});
}

TEST_CASE(
    "swhca: an event that is moderated waits for its count or for its period, then comes once")
{
    constexpr uint32_t count = 3;
    constexpr uint32_t period_us = 100;
    constexpr uint64_t ns_per_us = 1000;
    pair on;
    auto moderate = [&](uint32_t of, uint32_t us) {
        return on.fabric.command([&](swhca::core &world) {
            return swhca::moderate_cq(world, on.a.context, on.a.cq, of, us);
        });
    };
    auto write = [&](uint32_t times) {
        for (uint32_t i = 0; i < times; i++) {
            on.left.write(on.from, 8, on.to);
        }
        on.fabric.step();
        while (on.a.poll()) {
        }
    };
    REQUIRE(moderate(count, period_us) == 0);
    on.a.arm();
    write(count - 1);
    CHECK_FALSE(on.a.next_completion_event());
    on.fabric.step((period_us - 1) * ns_per_us);
    CHECK_FALSE(on.a.next_completion_event());

    SECTION("its period is over")
    {
        on.fabric.step(ns_per_us);
    }
    SECTION("its count is there")
    {
        write(1);
    }
    CHECK(on.a.next_completion_event());
    on.fabric.step(period_us * ns_per_us);
    write(count);
    CHECK_FALSE(on.a.next_completion_event()); // it was not asked for

    on.a.arm();
    write(count);
    CHECK(on.a.next_completion_event());
    REQUIRE(moderate(count, 0) == 0);
    on.a.arm();
    write(1);
    CHECK(on.a.next_completion_event());
    CHECK(moderate(swhca::max_cq_count + 1, 0) == EINVAL);
    CHECK(moderate(0, swhca::max_cq_period_us + 1) == EINVAL);
}

TEST_CASE("swhca: an engine knows when a moderated event is due, and a CQ that is gone raises none")
{
    pair on;
    REQUIRE(on.fabric.command([&](swhca::core &world) {
        return swhca::moderate_cq(world, on.a.context, on.a.cq, 0, 50);
    }) == 0);
    on.a.arm();
    on.left.write(on.from, 8, on.to);
    on.fabric.step();
    CHECK(on.fabric.shared().next_due_ns.load() == on.fabric.now_ns + 50'000);
    REQUIRE(on.left.destroy() == 0);
    swhca::event_count ignored{};
    REQUIRE(on.fabric.command([&](swhca::core &world) {
        return swhca::destroy_cq(world, on.a.context, on.a.cq, ignored, ignored);
    }) == 0);
    on.fabric.step(100'000);
    CHECK_FALSE(on.a.next_completion_event());
}

} // namespace ufx::test

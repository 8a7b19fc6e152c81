// SPDX-License-Identifier: BSD-3-Clause
// The responder: which NAK goes out, with which PSN, and behind which answers.
#include "rig.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <utility>

namespace ufx::test {

namespace {

constexpr uint8_t remote_access = 0x13;

struct slow_pair : pair {
    slow_pair() : pair(patient(), slow())
    {
        std::iota(to.bytes.begin(), to.bytes.end(), uint8_t{5});
    }

    static qp_settings patient()
    {
        qp_settings with;
        with.timeout = 18; // 1 s: a timeout would be seen
        return with;
    }

    static swhca::fabric_options slow()
    {
        swhca::fabric_options options = rig::two_devices();
        options.rate_bps = 100'000'000;
        return options;
    }

    region back = a.make_region(1 << 20, all_access);
};

} // namespace

TEST_CASE("swhca: what follows a request without a receive does not hide that NAK")
{
    pair on;
    on.left.send(on.from, 100);
    on.left.write(on.from, 100, on.to);
    on.left.write(on.from, 100, on.to);
    on.fabric.step();
    CHECK(on.left.inside().counters.rnrs == 1);
    CHECK(on.left.inside().counters.naks == 0);
    on.right.receive(on.to, 0, 100);
    for (int i = 0; i < 3; i++) {
        CHECK(on.wait(on.a).syndrome == 0);
    }
}

TEST_CASE("swhca: a request that is refused for good lets the answers before it go out first")
{
    slow_pair on;
    region bad = on.to;
    bad.key++;
    on.left.read(on.back, 40'000, on.to);
    on.left.write(on.from, 64, bad);
    cqe read = on.wait(on.a);
    CHECK(read.syndrome == 0);
    CHECK(std::memcmp(on.back.bytes.data(), on.to.bytes.data(), 40'000) == 0);
    CHECK(on.wait(on.a).syndrome == remote_access);
    CHECK(on.left.inside().counters.timeouts == 0);
    CHECK(on.right.state() == err);
}

TEST_CASE("swhca: memory that goes away in the middle of a read refuses the rest of it")
{
    slow_pair on;
    on.left.read(on.back, 400'000, on.to);
    on.left.read(on.back, 400'000, on.to);
    for (int i = 0; i < 100; i++) {
        on.fabric.step(100'000);
    }
    CHECK(on.back.bytes[50'000] == on.to.bytes[50'000]);
    uint32_t handle = (on.to.key >> 8) % swhca::max_mrs;
    REQUIRE(on.fabric.command([&](swhca::core &world) {
        return swhca::deregister_mr(world, on.b.context, handle);
    }) == 0);
    uint64_t before = on.fabric.now_ns;
    cqe failed = on.wait(on.a);
    CHECK(failed.sent_opcode == 0x10);
    CHECK(failed.counter == 0);
    CHECK(failed.syndrome == remote_access);
    CHECK(on.fabric.now_ns - before < 10'000'000);
    CHECK(on.wait(on.a).syndrome == 0x05);
    CHECK(on.left.inside().counters.timeouts == 0);
    CHECK(on.right.state() == err);
    auto told = on.b.next_event();
    REQUIRE(told);
    CHECK(told->type == 3); // IBV_EVENT_QP_ACCESS_ERR
    CHECK_FALSE(on.b.next_event());
}

TEST_CASE("swhca: a QP that its owner moves to ERR answers nothing more")
{
    slow_pair on;
    on.left.read(on.back, 400'000, on.to);
    for (int i = 0; i < 10; i++) {
        on.fabric.step(100'000);
    }
    uint64_t sent = on.fabric.shared().hcas[1].counters.sent;
    CHECK(sent > 0);
    REQUIRE(on.right.to_state(err) == 0);
    for (int i = 0; i < 100; i++) {
        on.fabric.step(100'000);
    }
    CHECK(on.fabric.shared().hcas[1].counters.sent == sent);
}

TEST_CASE("swhca: a packet that does not fit the responder's MTU is an invalid request")
{
    rig on;
    device a(on, 0);
    device b(on, 1);
    endpoint left(a);
    endpoint right(b);
    auto [ours, theirs] =
        GENERATE(std::pair<uint8_t, uint8_t>{5, 1}, std::pair<uint8_t, uint8_t>{1, 5});
    left.connect(right, 100, {.mtu = ours});
    right.connect(left, 100, {.mtu = theirs});
    region from = a.make_region(4096, all_access);
    region to = b.make_region(4096, all_access);
    left.write(from, 200, to); // one packet for both
    on.step();
    auto done = a.poll();
    REQUIRE(done);
    CHECK(done->syndrome == 0);
    left.write(from, 4000, to);
    on.step();
    done = a.poll();
    REQUIRE(done);
    CHECK(int{done->syndrome} == 0x12);
    CHECK(right.state() == err);
}

} // namespace ufx::test

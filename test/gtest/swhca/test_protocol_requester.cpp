// SPDX-License-Identifier: BSD-3-Clause
// The requester: its timer, its retries, its window, its PSNs, and how many reads it may have.
#include "rig.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <numeric>

namespace ufx::test {

namespace {

constexpr uint8_t retry_exceeded = 0x15;
constexpr uint8_t invalid_request = 0x12;

// A key for a range that begins in `of` and goes on far behind it.
region long_region(device &of, uint64_t length)
{
    region made = of.make_region(4096, all_access);
    uint32_t handle = 0;
    swhca::mr_request want{of.pd, all_access, made.at(), length, made.at()};
    REQUIRE(of.on.command([&](swhca::core &world) {
        return swhca::register_mr(world, of.context, want, handle, made.key);
    }) == 0);
    return made;
}

swhca::fabric_options with_rate(uint64_t bits_per_s)
{
    swhca::fabric_options options = rig::two_devices();
    options.rate_bps = bits_per_s;
    return options;
}

} // namespace

TEST_CASE("swhca: the ACK timer runs from the oldest packet without an answer, whatever is sent "
          "after it")
{
    pair on; // the timer is 4.2 ms
    on.fabric.fault("drop requests");
    for (int i = 0; i < 6; i++) {
        on.left.write(on.from, 8, on.to);
        on.fabric.step(1'000'000);
    }
    CHECK(on.left.inside().counters.timeouts == 1);
}

TEST_CASE("swhca: a message that lasts longer than the ACK timer has no timeout while answers come")
{
    pair on({}, with_rate(1'000'000'000)); // 8.4 ms
    on.left.write(on.from, 1 << 20, on.to);
    CHECK(on.wait(on.a).syndrome == 0);
    CHECK(on.left.inside().counters.timeouts == 0);
    CHECK(on.left.inside().counters.retransmitted == 0);
    CHECK(on.same(1 << 20));
}

TEST_CASE("swhca: sq_psn is the PSN that is sent next, also in the middle of a message and in ERR")
{
    pair on({}, with_rate(1'000'000'000));
    on.left.write(on.from, 1 << 20, on.to);
    for (int i = 0; i < 20; i++) {
        on.fabric.step(100'000);
    }
    uint32_t sent = on.left.query().sq_psn - 100;
    CHECK(sent > 100);
    CHECK(sent < 1000);
    CHECK(sent == on.left.inside().counters.sent);
    CHECK(sent >= on.right.query().rq_psn - 100);
    REQUIRE(on.left.to_state(err) == 0);
    CHECK(on.left.query().sq_psn - 100 == sent);
}

TEST_CASE("swhca: PSNs under way are less than half of their circle, those of reads included")
{
    qp_settings small;
    small.mtu = 1; // 256: a read of 1 GB has 2^22 PSNs
    pair on(small);
    region far = long_region(on.b, 1ull << 30);
    region near = long_region(on.a, 1ull << 30);
    on.fabric.fault("drop requests");
    for (int i = 0; i < 3; i++) {
        on.left.read(near, 1u << 30, far);
    }
    on.fabric.step();
    CHECK(on.left.inside().req.reads == 1);
}

TEST_CASE("swhca: writes go on behind a read that is longer than the window")
{
    pair on;
    region back = on.a.make_region(1 << 20, all_access);
    on.fabric.fault("delay 50us responses");
    on.left.read(back, 800 * 1024, on.to);
    on.left.write(on.from, 64, on.to);
    on.fabric.step();
    CHECK(on.right.query().rq_psn == 100 + 800 + 1);
    CHECK(on.wait(on.a).syndrome == 0);
    CHECK(on.wait(on.a).syndrome == 0);
}

TEST_CASE("swhca: no more packets of writes are under way than the window has")
{
    pair on;
    on.fabric.fault("drop responses");
    on.left.write(on.from, 1 << 20, on.to);
    on.fabric.step();
    CHECK(on.left.inside().counters.sent == 512);
}

TEST_CASE("swhca: depths of reads and atomics are powers of two, as the device has them")
{
    uint32_t asked = GENERATE(0u, 1u, 3u, 4u);
    CAPTURE(asked);
    qp_settings with;
    with.max_rd_atomic = static_cast<uint8_t>(asked);
    pair on(with);
    uint32_t granted = asked == 0 ? 1 : asked == 3 ? 4 : asked;
    CHECK(on.left.query().max_rd_atomic == granted);
    on.fabric.fault("delay 50us responses");
    region back = on.a.make_region(4096, all_access);
    for (int i = 0; i < 6; i++) {
        on.left.read(back, 64, on.to);
    }
    on.fabric.step();
    CHECK(on.left.inside().req.reads == granted);
    for (int i = 0; i < 6; i++) {
        CHECK(on.wait(on.a).syndrome == 0);
    }
}

TEST_CASE("swhca: a QP without resources for reads takes writes, but neither reads nor atomics")
{
    qp_settings none;
    none.max_dest_rd_atomic = 0;
    pair on(none);
    CHECK(on.right.query().max_dest_rd_atomic == 1);
    CHECK(on.right.query().access == 0x2); // remote write
    on.left.write(on.from, 64, on.to);
    CHECK(on.wait(on.a).syndrome == 0);
    region back = on.a.make_region(4096, all_access);
    if (GENERATE(true, false)) {
        on.left.read(back, 64, on.to);
    } else {
        on.left.fetch_add(back, on.to, 1);
    }
    CHECK(on.wait(on.a).syndrome == invalid_request);
    CHECK(on.right.state() == err);
}

TEST_CASE("swhca: a right that the QP does not grant is an invalid request")
{
    qp_settings with;
    with.access = GENERATE(0x1u, 0x7u);
    pair on(with);
    if (with.access == 0x1) {
        on.left.write(on.from, 64, on.to);
    } else {
        on.left.fetch_add(on.from, on.to, 1);
    }
    CHECK(on.wait(on.a).syndrome == invalid_request);
    auto told = on.b.next_event();
    REQUIRE(told);
    CHECK(told->type == 2); // IBV_EVENT_QP_REQ_ERR
}

TEST_CASE("swhca: a read that is asked for again is answered by the newest resource of its PSN")
{
    pair on;
    region back = on.a.make_region(4096, all_access);
    std::iota(on.to.bytes.begin(), on.to.bytes.end(), static_cast<uint8_t>(3));
    on.left.read(back, 64, on.to);
    CHECK(on.wait(on.a).syndrome == 0);
    // What a turn of the circle of PSNs leaves: an old read that had the number of the next one.
    swhca::resource &old = on.right.inside().resp.resources[0];
    old.psn = 101;
    old.va += 100;
    on.fabric.fault("drop responses count 1");
    on.left.read(back, 64, on.to);
    CHECK(on.wait(on.a).syndrome == 0);
    CHECK(on.left.inside().counters.timeouts == 1);
    CHECK(std::memcmp(back.bytes.data(), on.to.bytes.data(), 64) == 0);
}

TEST_CASE("swhca: the ring of WQEs goes round the end of its counters")
{
    pair on;
    swhca::requester_state &req = on.left.inside().req;
    req.head = req.next = req.tail = UINT32_MAX - 2;
    SECTION("with losses")
    {
        on.fabric.fault("drop requests skip 2 count 1");
        for (uint32_t i = 0; i < 8; i++) {
            on.left.write(on.from, 3000, on.to);
        }
        for (int i = 0; i < 8; i++) {
            CHECK(on.wait(on.a).syndrome == 0);
        }
        CHECK(on.left.inside().counters.retransmitted > 0);
    }
    SECTION("to its failure")
    {
        on.fabric.fault("drop requests");
        for (uint32_t i = 0; i < 8; i++) {
            on.left.write(on.from, 64, on.to);
        }
        CHECK(on.wait(on.a).syndrome == retry_exceeded);
        for (int i = 0; i < 7; i++) {
            CHECK(on.wait(on.a).syndrome == 0x05);
        }
        CHECK_FALSE(on.a.poll());
    }
}

TEST_CASE("swhca: an answer that shows that data of a read was lost counts as a retry")
{
    uint8_t retries = GENERATE(as<uint8_t>(), 0, 1);
    CAPTURE(int{retries});
    qp_settings with;
    with.retry_count = retries;
    pair on(with);
    region back = on.a.make_region(1 << 16, all_access);
    SECTION("data that follows")
    {
        on.fabric.fault("drop responses skip 2 count 1");
        on.left.read(back, 16 * 1024, on.to);
    }
    SECTION("an acknowledgement")
    {
        on.fabric.fault("drop responses count 1");
        on.left.read(back, 64, on.to);
        on.left.write(on.from, 64, on.to);
    }
    cqe done = on.wait(on.a);
    CHECK(done.sent_opcode == 0x10);
    CHECK(done.syndrome == (retries == 0 ? retry_exceeded : 0));
    CHECK(on.left.inside().counters.timeouts == 0);
}

TEST_CASE("swhca: one loss of data is asked for once, however many answers show it")
{
    qp_settings patient;
    patient.timeout = 18;
    pair on(patient, with_rate(100'000'000));
    region back = on.a.make_region(1 << 16, all_access);
    on.fabric.fault("drop responses skip 2 count 1");
    on.left.read(back, 32 * 1024, on.to);
    CHECK(on.wait(on.a).syndrome == 0);
    CHECK(on.left.inside().counters.retransmitted == 1);
    CHECK(on.left.inside().counters.timeouts == 0);
    CHECK(std::memcmp(back.bytes.data(), on.to.bytes.data(), 32 * 1024) == 0);
}

} // namespace ufx::test

// SPDX-License-Identifier: BSD-3-Clause
// The RC protocol: what lands, what PSNs say, what is sent again, and how it fails.
#include "rig.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <numeric>

namespace ufx::test {

namespace {

constexpr uint8_t flushed = 0x05;

} // namespace

TEST_CASE("swhca: a write of many packets lands and completes once")
{
    pair on;
    on.left.write(on.from, 100'001, on.to);
    cqe done = on.wait(on.a);
    CHECK(done.opcode == 0);
    CHECK(done.sent_opcode == 0x08);
    CHECK(done.qpn == on.left.qpn);
    CHECK(on.same(100'001));
    CHECK(on.to.bytes[100'001] == 0);
    CHECK_FALSE(on.a.poll());
    CHECK_FALSE(on.b.poll());
}

TEST_CASE("swhca: 4 writes of 4 KB, a read of 8 KB, a fadd and an empty write move the PSN by "
          "16, 8, 1 and 1")
{
    pair on;
    auto moved = [&, before = 100u]() mutable {
        on.fabric.step();
        REQUIRE(on.left.query().sq_psn == on.right.query().rq_psn);
        uint32_t now = on.left.query().sq_psn;
        return now - std::exchange(before, now);
    };
    for (int i = 0; i < 4; i++) {
        on.left.write(on.from, 4096, on.to);
    }
    CHECK(moved() == 16);
    on.left.read(on.from, 8192, on.to);
    CHECK(moved() == 8);
    on.left.fetch_add(on.from, on.to, 1);
    CHECK(moved() == 1);
    on.left.write(on.from, 0, on.to);
    CHECK(moved() == 1);
    for (int i = 0; i < 7; i++) {
        CHECK(on.wait(on.a).syndrome == 0);
    }
}

TEST_CASE("swhca: PSNs go around the end of their circle")
{
    pair on;
    endpoint left(on.a);
    endpoint right(on.b);
    left.connect(right, 0xfffffe);
    right.connect(left, 0xfffffe);
    left.write(on.from, 10 * 1024, on.to);
    CHECK(on.wait(on.a).opcode == 0);
    CHECK(left.query().sq_psn == 8);
    CHECK(right.query().rq_psn == 8);
    CHECK(on.same(10 * 1024));
}

TEST_CASE("swhca: a send fills its receive, with immediate data or without")
{
    pair on;
    on.right.receive(on.to, 0, 3000);
    on.right.receive(on.to, 4096, 64);
    on.right.receive(on.to, 8192, 64);
    on.left.send(on.from, 3000);
    cqe received = on.wait(on.b);
    CHECK(received.opcode == 2);
    CHECK(received.bytes == 3000);
    CHECK(received.counter == 0);
    CHECK(on.same(3000));
    on.left.send_inline("inline data of a send");
    CHECK(on.wait(on.b).bytes == 21);
    CHECK(std::memcmp(&on.to.bytes[4096], "inline data of a send", 21) == 0);
    on.left.write_imm(on.from, 100, on.to, 0x12345678);
    cqe with_imm = on.wait(on.b);
    CHECK(with_imm.opcode == 1);
    CHECK(with_imm.imm == 0x12345678);
    CHECK(with_imm.bytes == 100);
}

TEST_CASE("swhca: a read and atomics bring back what was there")
{
    pair on;
    std::iota(on.to.bytes.begin(), on.to.bytes.end(), static_cast<uint8_t>(77));
    on.left.read(on.from, 70'000, on.to);
    CHECK(on.wait(on.a).sent_opcode == 0x10);
    CHECK(on.same(70'000));
    uint64_t value = 40;
    std::memcpy(on.to.bytes.data(), &value, 8);
    on.left.fetch_add(on.from, on.to, 2);
    CHECK(on.wait(on.a).sent_opcode == 0x12);
    std::memcpy(&value, on.from.bytes.data(), 8);
    CHECK(value == 40);
    on.left.compare_swap(on.from, on.to, 42, 7);
    (void)on.wait(on.a);
    on.left.compare_swap(on.from, on.to, 42, 9);
    (void)on.wait(on.a);
    std::memcpy(&value, on.from.bytes.data(), 8);
    CHECK(value == 7); // the second did not match
    std::memcpy(&value, on.to.bytes.data(), 8);
    CHECK(value == 7);
}

TEST_CASE("swhca: a lost packet in the middle is asked for by a NAK, and all lands")
{
    pair on;
    on.fabric.fault("drop requests skip 3 count 1");
    on.left.write(on.from, 20'000, on.to);
    uint64_t before = on.fabric.now_ns;
    CHECK(on.wait(on.a).syndrome == 0);
    CHECK(on.fabric.now_ns - before < 1'000'000); // no timeout was needed
    CHECK(on.same(20'000));
    CHECK(on.left.inside().counters.naks == 1);
    CHECK(on.left.inside().counters.retransmitted > 0);
    CHECK(on.left.inside().counters.timeouts == 0);
}

TEST_CASE("swhca: a lost last packet is sent again after the timeout")
{
    pair on;
    on.fabric.fault("drop requests count 1");
    on.left.write(on.from, 100, on.to);
    uint64_t before = on.fabric.now_ns;
    CHECK(on.wait(on.a).syndrome == 0);
    uint64_t took = on.fabric.now_ns - before;
    CHECK(took >= 4096u << 10);
    CHECK(took < (4096u << 10) + 100'000);
    CHECK(on.same(100));
    CHECK(on.left.inside().counters.timeouts == 1);
}

TEST_CASE("swhca: without any answer a QP fails after retry count + 1 timeouts")
{
    pair on;
    on.fabric.fault("drop requests");
    on.left.write(on.from, 100, on.to);
    on.left.write(on.from, 100, on.to);
    uint64_t before = on.fabric.now_ns;
    cqe failed = on.wait(on.a);
    CHECK(failed.opcode == 13);
    CHECK(failed.syndrome == 0x15);
    double expected = 4.0 * (4096u << 10);
    CHECK(static_cast<double>(on.fabric.now_ns - before) == Approx(expected).epsilon(0.01));
    CHECK(on.wait(on.a).syndrome == flushed);
    CHECK(on.left.state() == err);
    on.left.write(on.from, 100, on.to); // also what is posted later is flushed
    CHECK(on.wait(on.a).syndrome == flushed);
}

TEST_CASE("swhca: with all responses dropped the expected PSN passes a read whose data never came")
{
    pair on;
    on.fabric.fault("drop responses");
    on.left.write(on.from, 1024, on.to);
    on.left.read(on.from, 8192, on.to);
    on.fabric.step();
    CHECK(on.right.query().rq_psn == 109);
    CHECK(on.left.query().sq_psn == 109);
    CHECK(on.wait(on.a).syndrome == 0x15);
    CHECK(on.right.query().rq_psn == 109);
}

TEST_CASE("swhca: an atomic whose answer was lost is not executed again")
{
    pair on;
    on.fabric.fault("drop responses count 2");
    on.left.fetch_add(on.from, on.to, 5);
    CHECK(on.wait(on.a).syndrome == 0);
    uint64_t value = 0;
    std::memcpy(&value, on.to.bytes.data(), 8);
    CHECK(value == 5);
    std::memcpy(&value, on.from.bytes.data(), 8);
    CHECK(value == 0);
    CHECK(on.right.inside().counters.duplicates == 2);
}

TEST_CASE("swhca: a read goes on behind the part that came")
{
    pair on;
    std::iota(on.to.bytes.begin(), on.to.bytes.end(), static_cast<uint8_t>(9));
    on.fabric.fault("drop responses skip 4 count 1");
    on.left.read(on.from, 16 * 1024, on.to);
    CHECK(on.wait(on.a).syndrome == 0);
    CHECK(on.same(16 * 1024));
}

TEST_CASE("swhca: a responder in ERR in the middle of a write keeps its PSN, and exactly that many "
          "packets are in memory")
{
    swhca::fabric_options slow = rig::two_devices();
    slow.rate_bps = 1'000'000'000;
    rig fabric(slow);
    device a(fabric, 0);
    device b(fabric, 1);
    endpoint left(a);
    endpoint right(b);
    connect_both(left, right);
    region from = a.make_region(1 << 20, all_access);
    region to = b.make_region(1 << 20, all_access);
    std::fill(from.bytes.begin(), from.bytes.end(), uint8_t{1});
    left.write(from, 1 << 20, to);
    for (int i = 0; i < 40; i++) {
        fabric.step(100'000);
    }
    REQUIRE(right.to_state(err) == 0);
    uint32_t arrived = right.query().rq_psn - 100;
    CHECK(arrived > 100);
    CHECK(arrived < 1000);
    for (int i = 0; i < 200; i++) {
        fabric.step(100'000);
    }
    CHECK(right.query().rq_psn - 100 == arrived);
    size_t written = std::accumulate(to.bytes.begin(), to.bytes.end(), size_t{0});
    CHECK(written == arrived * 1024);
}

TEST_CASE("swhca: without a receive the sender waits the time that the RNR NAK says")
{
    pair on;
    on.left.send(on.from, 100);
    on.fabric.step();
    CHECK(on.left.inside().counters.rnrs == 1);
    on.right.receive(on.to, 0, 100);
    uint64_t before = on.fabric.now_ns;
    CHECK(on.wait(on.b).bytes == 100);
    CHECK(on.fabric.now_ns - before >= 10'000);
    CHECK(on.fabric.now_ns - before <= 20'000);
    CHECK(on.left.inside().counters.rnrs == 1);
    CHECK(on.wait(on.a).syndrome == 0);
}

TEST_CASE("swhca: no NAK of what comes after it completes a read whose data was lost")
{
    pair on;
    region back = on.a.make_region(1 << 16, all_access);
    std::iota(on.to.bytes.begin(), on.to.bytes.end(), static_cast<uint8_t>(7));
    on.fabric.fault("drop responses count 1");
    on.left.read(back, 1000, on.to);
    SECTION("RNR")
    {
        on.left.send(on.from, 100);
        on.fabric.step();
        on.right.receive(on.to, 8192, 100);
    }
    SECTION("sequence error")
    {
        on.fabric.fault("drop requests skip 1 count 1");
        on.left.write(on.from, 4000, on.to, 8192);
    }
    CHECK(on.wait(on.a).syndrome == 0);
    CHECK(std::memcmp(back.bytes.data(), on.to.bytes.data(), 1000) == 0);
}

TEST_CASE("swhca: too many RNR NAKs end the QP with their own syndrome")
{
    pair on;
    on.left.send(on.from, 100);
    cqe failed = on.wait(on.a);
    CHECK(failed.syndrome == 0x16);
    CHECK(on.left.inside().counters.rnrs == 4);
    CHECK(on.left.state() == err);
    CHECK(on.right.state() == rts);
}

TEST_CASE("swhca: RNR retry 7 goes on for ever")
{
    qp_settings patient;
    patient.rnr_retry = 7;
    pair on(patient);
    on.left.send(on.from, 100);
    for (int i = 0; i < 100; i++) {
        on.fabric.step(20'000);
    }
    CHECK(on.left.inside().counters.rnrs > 50);
    CHECK(on.left.state() == rts);
}

TEST_CASE("swhca: a bad key, range or right is a remote access error on both sides")
{
    pair on;
    device other(on.fabric, 1);
    auto kind = GENERATE(as<std::string>(), "key", "range", "right", "pd");
    CAPTURE(kind);
    region target = kind == "pd" ? other.make_region(4096, all_access)
                                 : on.b.make_region(4096, kind == "right" ? 1 : all_access);
    target.key += kind == "key" ? 1 : 0;
    on.left.write(on.from, 64, target, kind == "range" ? 4033 : 0);
    cqe failed = on.wait(on.a);
    CHECK(failed.syndrome == 0x13);
    CHECK(on.left.state() == err);
    CHECK(on.right.state() == err);
    auto told = on.b.next_event();
    REQUIRE(told);
    CHECK(told->type == 3); // IBV_EVENT_QP_ACCESS_ERR
}

TEST_CASE("swhca: a send longer than its receive is an error of length on both sides")
{
    pair on;
    on.right.receive(on.to, 0, 50);
    on.left.send(on.from, 100);
    CHECK(on.wait(on.b).syndrome == 0x01);
    CHECK(on.wait(on.a).syndrome == 0x12);
    CHECK(on.right.state() == err);
}

TEST_CASE("swhca: a bad local key is a local protection error, after what came before it is done")
{
    pair on;
    region unknown = on.from;
    unknown.key += 2;
    on.left.write(on.from, 5000, on.to);
    on.left.write(unknown, 64, on.to);
    on.left.write(on.from, 64, on.to);
    CHECK(on.wait(on.a).syndrome == 0);
    CHECK(on.wait(on.a).syndrome == 0x04);
    CHECK(on.wait(on.a).syndrome == flushed);
    CHECK(on.right.state() == rts);
}

TEST_CASE("swhca: a WQE of nonsense is a QP operation error")
{
    pair on;
    on.left.raw(std::vector<uint8_t>(64, 0xee));
    CHECK(on.wait(on.a).syndrome == 0x02);
    CHECK(on.left.state() == err);
}

TEST_CASE("swhca: receives are flushed by ERR, and those that are posted later too")
{
    pair on;
    on.right.receive(on.to, 0, 64);
    on.right.receive(on.to, 64, 64);
    on.fabric.step();
    REQUIRE(on.right.to_state(err) == 0);
    CHECK(on.wait(on.b).syndrome == flushed);
    CHECK(on.wait(on.b).syndrome == flushed);
    on.right.receive(on.to, 0, 64);
    CHECK(on.wait(on.b).syndrome == flushed);
}

TEST_CASE("swhca: no more reads are under way than was agreed, and a fence waits for them")
{
    qp_settings few;
    few.max_rd_atomic = 1;
    pair on(few);
    on.fabric.fault("delay 50us responses");
    on.left.read(on.from, 64, on.to);
    on.left.read(on.from, 64, on.to);
    on.left.write(on.from, 64, on.to, 512, true);
    on.fabric.step();
    CHECK(on.left.inside().req.reads == 1);
    CHECK(on.right.query().rq_psn == 101);
    on.fabric.step(60'000);
    CHECK(on.right.query().rq_psn == 102); // the second read; the write still waits
    on.fabric.step(60'000);
    CHECK(on.right.query().rq_psn == 103);
    for (int i = 0; i < 3; i++) {
        CHECK(on.wait(on.a).syndrome == 0);
    }
}

TEST_CASE("swhca: packets that are late, double or out of order do no harm")
{
    auto rule =
        GENERATE(as<std::string>(), "delay 30us probability 0.3", "duplicate probability 0.3",
                 "reorder probability 0.2", "corrupt probability 0.1");
    CAPTURE(rule);
    qp_settings patient;
    patient.retry_count = 7;
    pair on(patient);
    region back = on.a.make_region(1 << 16, all_access);
    region counter = on.b.make_region(8, all_access);
    on.fabric.fault(rule);
    for (uint32_t i = 0; i < 8; i++) {
        on.left.write(on.from, 30'000, on.to);
        on.left.fetch_add(back, counter, 1);
        on.left.read(back, 30'000, on.to);
    }
    for (int i = 0; i < 24; i++) {
        CHECK(on.wait(on.a).syndrome == 0);
    }
    CHECK(on.same(30'000));
    CHECK(std::memcmp(back.bytes.data(), on.from.bytes.data(), 30'000) == 0);
    CHECK(counter.bytes[0] == 8);
    CHECK(on.left.query().sq_psn == on.right.query().rq_psn);
}

TEST_CASE("swhca: a queue that goes round many times keeps its count")
{
    pair on;
    for (uint32_t i = 0; i < 70'000; i++) {
        on.left.write(on.from, 8, on.to);
        if (i % 64 == 63) {
            on.fabric.step();
            while (auto done = on.a.poll()) {
                REQUIRE(done->syndrome == 0);
            }
        }
    }
    CHECK(on.left.state() == rts);
    CHECK(on.right.query().rq_psn == 100 + 70'000 - (70'000 % 64));
}

} // namespace ufx::test

// SPDX-License-Identifier: BSD-3-Clause
// What a program sees of each fault. The protocol's own faults are in test_protocol.cpp.
#include "rig.h"

#include "swhca/faults/schedule.h"

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstring>
#include <string>

namespace ufx::test {

TEST_CASE("swhca: a rule is one line of words, and what is wrong is named")
{
    swhca::fault_rule rule{};
    std::string why;
    REQUIRE(swhca::parse_rule("at 10ms until 20ms hca mlx5_1 qpn 0x48 drop requests skip 3 count 2 "
                              "probability 0.5 # twice",
                              rule, why));
    CHECK(rule.action == swhca::fault_action::DROP);
    CHECK(rule.target == swhca::fault_target::REQUESTS);
    CHECK(rule.from_ns == 10'000'000);
    CHECK(rule.until_ns == 20'000'000);
    CHECK(rule.hca == 1);
    CHECK(rule.qpn == 0x48);
    CHECK(rule.skip == 3);
    CHECK(rule.count == 2);
    CHECK(refusal("explode") == "'explode' is no word of a rule");
    CHECK(refusal("at 10ms") == "a rule needs an action, such as 'drop'");
    CHECK(refusal("drop delay 5us") == "a rule has one action, not 'drop' and 'delay'");
    CHECK(refusal("delay") == "'delay' needs a value: it takes a time such as 5us, 10ms or 2s");
    CHECK(refusal("delay 5") ==
          "'5' is no value for 'delay': it takes a time such as 5us, 10ms or 2s");
    CHECK(refusal("drop probability 2") == "'2' is no value for 'probability': it takes 0 to 1");
    CHECK(refusal("event PORT_EXPLODED") ==
          "'PORT_EXPLODED' is no value for 'event': it takes a name such as PORT_ERR");
    CHECK(refusal("at 2s until 1s drop") == "the rule is over before it begins");
    std::vector<swhca::scheduled_rule> rules;
    CHECK(swhca::parse_schedule("# a comment\n\ndrop\nat 1s port-down\n", rules, why));
    REQUIRE(rules.size() == 2);
    CHECK(rules[1].line == 4);
    CHECK_FALSE(swhca::parse_schedule("drop\nbad\n", rules, why));
    CHECK(why == "2: 'bad' is no word of a rule");
}

TEST_CASE("swhca: a number that is out of range is refused with the range")
{
    struct {
        const char *most;
        const char *beyond;
        const char *range;
    } cases[] = {
        {"lid 65535", "lid 65536", "0 to 65535"},
        {"gid 15 fe80::1", "gid 16 fe80::1", "0 to 15"},
        {"clear-gid 15", "clear-gid 16", "0 to 15"},
        {"pkey 7 65535", "pkey 8 65535", "0 to 7"},
        {"pkey 0 65535", "pkey 0 65536", "0 to 65535"},
        {"error-cqe 255", "error-cqe 256", "1 to 255 or a name such as RETRY_EXC_ERR"},
        {"error-cqe 1", "error-cqe 0", "1 to 255 or a name such as RETRY_EXC_ERR"},
        {"fail-reg-mr 133", "fail-reg-mr 134", "1 to 133 or a name such as ENOMEM"},
        {"fail-modify-qp 1", "fail-modify-qp 0", "1 to 133 or a name such as ENOMEM"},
        {"stall-cq 4096", "stall-cq 4097", "1 to 4096"},
        {"unstall-cq 1", "unstall-cq 0", "1 to 4096"},
        {"drop hca mlx5_7", "drop hca mlx5_8", "0 to 7"},
        {"drop qpn 0xffffff", "drop qpn 0x1000000", "1 to 16777215"},
        {"drop count 4294967295", "drop count 4294967296", "1 to 4294967295"},
        {"drop count 1", "drop count 0", "1 to 4294967295"},
        {"drop skip 0", "drop skip 4294967296", "0 to 4294967295"},
    };
    for (const auto &each : cases) {
        CHECK(refusal(each.most) == "");
        std::string why = refusal(each.beyond);
        INFO(each.beyond << ": " << why);
        CHECK(why.ends_with(std::string(": it takes ") + each.range));
    }
}

TEST_CASE("swhca: errnos and syndromes have names")
{
    auto param = [](std::string_view line) {
        swhca::fault_rule rule{};
        std::string why;
        return swhca::parse_rule(line, rule, why) ? rule.param : 0;
    };
    CHECK(param("fail-reg-mr ENOMEM") == ENOMEM);
    CHECK(param("fail-modify-qp EIO to RTS") == EIO);
    CHECK(param("error-cqe RETRY_EXC_ERR") == 0x15);
    CHECK(param("error-cqe LOC_LEN_ERR") == 1);
    CHECK(param("fail-reg-mr ENOSUCH") == 0);
    CHECK(param("error-cqe SUCCESS") == 0);
}

TEST_CASE("swhca: a rule is told in the words that make it")
{
    for (const char *line :
         {"drop",
          "at 10ms until 20ms hca mlx5_1 qpn 72 drop requests skip 3 count 2 probability 0.5",
          "delay 5us responses",
          "reorder",
          "reorder 7ms",
          "hold-cqe 3s",
          "error-cqe RNR_RETRY_EXC_ERR",
          "error-cqe 119",
          "fail-modify-qp EIO to ERR",
          "at 2s every 1ms until 3s event SM_CHANGE",
          "rate 10Gb/s",
          "rate 1500kb/s",
          "rate 0b/s",
          "latency 2us",
          "scatter-to-cqe on",
          "lid 77",
          "pkey 3 32769",
          "gid 4 fe80::77 silent",
          "clear-gid 4",
          "stall-cq",
          "stall-cq 9"}) {
        swhca::fault_rule rule{};
        std::string why;
        REQUIRE(swhca::parse_rule(line, rule, why));
        CHECK(swhca::rule_text(rule) == line);
    }
}

TEST_CASE("swhca: the same seed gives the same faults, another gives others")
{
    auto drops = [](uint64_t seed) {
        swhca::fabric_options options = rig::two_devices();
        options.seed = seed;
        pair on({}, options);
        on.fabric.fault("drop requests probability 0.2");
        std::vector<uint64_t> counts;
        for (int i = 0; i < 50; i++) {
            on.left.write(on.from, 10'000, on.to);
            on.fabric.step(1'000'000);
            counts.push_back(on.left.inside().counters.retransmitted);
        }
        return counts;
    };
    CHECK(drops(1) == drops(1));
    CHECK(drops(1) != drops(2));
}

TEST_CASE("swhca: a rule works in its time only")
{
    pair on;
    on.fabric.fault("at 1ms until 2ms drop");
    on.left.write(on.from, 8, on.to);
    on.fabric.step();
    CHECK(on.a.poll());
    on.fabric.step(1'500'000);
    on.left.write(on.from, 8, on.to);
    on.fabric.step();
    CHECK_FALSE(on.a.poll());
    CHECK(on.fabric.until([&] { return on.a.poll().has_value(); }, 100'000));
}

TEST_CASE("swhca: data above the expected PSN is in memory though it was never acknowledged")
{
    pair on;
    on.fabric.fault("stray-write requests");
    on.left.write(on.from, 3000, on.to);
    on.fabric.step();
    CHECK(on.right.query().rq_psn == 100);
    CHECK(on.same(3000));
    CHECK_FALSE(on.a.poll());
}

TEST_CASE("swhca: a request that was held is taken by a new QP with the old number")
{
    pair on;
    on.fabric.fault("hold requests count 1");
    on.left.write(on.from, 64, on.to);
    on.fabric.step();
    uint32_t number = on.right.qpn;
    REQUIRE(on.right.destroy() == 0);
    on.fabric.shared().hcas[1].next_qpn = number;
    endpoint heir(on.b);
    REQUIRE(heir.qpn == number);
    heir.connect(on.left);
    CHECK(on.to.bytes[0] == 0);
    on.fabric.fault("release");
    on.fabric.step();
    CHECK(on.same(64));
    CHECK(heir.query().rq_psn == 101);
}

TEST_CASE("swhca: a swallowed work request comes alive when it is released")
{
    pair on;
    on.fabric.fault("swallow qpn " + std::to_string(on.left.qpn) + " hca 0");
    on.left.write(on.from, 64, on.to);
    for (int i = 0; i < 100; i++) {
        on.fabric.step(10'000'000);
    }
    CHECK(on.to.bytes[0] == 0);
    CHECK(on.left.state() == rts);
    on.fabric.fault("release");
    on.fabric.step();
    CHECK(on.same(64));
    CHECK(on.a.poll());
}

TEST_CASE("swhca: a CQE is held back, doubled, or turned into an error")
{
    pair on;
    SECTION("held, also a receive whose sender has its acknowledgement")
    {
        on.fabric.fault("hold-cqe 5ms hca 1");
        on.right.receive(on.to, 0, 64);
        on.left.send(on.from, 64);
        on.fabric.step();
        CHECK(on.a.poll());
        CHECK(on.same(64));
        CHECK_FALSE(on.b.poll());
        on.fabric.step(5'000'000);
        CHECK(on.b.poll());
    }
    SECTION("doubled")
    {
        on.fabric.fault("duplicate-cqe count 1");
        on.left.write(on.from, 8, on.to);
        on.fabric.step();
        auto first = on.a.poll();
        auto second = on.a.poll();
        REQUIRE(first);
        REQUIRE(second);
        CHECK(first->counter == second->counter);
        CHECK_FALSE(on.a.poll());
    }
    SECTION("an error")
    {
        on.fabric.fault("error-cqe 0x11 count 1");
        on.left.write(on.from, 8, on.to);
        on.fabric.step();
        CHECK(on.a.poll()->syndrome == 0x11);
    }
    SECTION("a stalled CQ keeps all in order")
    {
        on.fabric.fault("stall-cq hca 0");
        on.left.write(on.from, 8, on.to);
        on.fabric.step();
        on.left.write(on.from, 8, on.to);
        on.fabric.step();
        CHECK_FALSE(on.a.poll());
        on.fabric.fault("unstall-cq hca 0");
        on.fabric.step();
        CHECK(on.a.poll()->counter == 0);
        CHECK(on.a.poll()->counter == 1);
    }
}

TEST_CASE(
    "swhca: a port that is down loses packets, tells of it unless it is silent, and comes back")
{
    pair on;
    SECTION("with its events")
    {
        on.fabric.fault("port-down hca 1");
        on.fabric.step();
        CHECK(on.b.next_event()->type == 10); // IBV_EVENT_PORT_ERR
        on.fabric.fault("port-up hca 1");
        on.fabric.step();
        CHECK(on.b.next_event()->type == 9); // IBV_EVENT_PORT_ACTIVE
    }
    SECTION("silent")
    {
        on.fabric.fault("port-down hca 1 silent");
        on.fabric.step();
        CHECK_FALSE(on.b.next_event());
        on.left.write(on.from, 8, on.to);
        on.fabric.step();
        on.fabric.step(6'000'000);
        CHECK(on.left.inside().counters.timeouts == 1);
        CHECK(on.to.bytes[0] == 0);
        on.fabric.fault("port-up hca 1 silent");
        CHECK(on.fabric.until([&] { return on.a.poll().has_value(); }, 100'000));
        CHECK(on.left.state() == rts);
    }
}

TEST_CASE("swhca: LID and P_Keys change, with their event or without")
{
    pair on;
    on.fabric.fault("lid 7 hca 0");
    on.fabric.fault("pkey 1 0x8001 hca 0");
    on.fabric.fault("pkey 2 0x8002 hca 0 silent");
    on.fabric.step();
    const swhca::port &port = on.fabric.shared().hcas[0].port;
    CHECK(port.lid == 7);
    CHECK(port.pkeys[1] == 0x8001);
    CHECK(port.pkeys[2] == 0x8002);
    CHECK(on.a.next_event()->type == 11); // IBV_EVENT_LID_CHANGE
    CHECK(on.a.next_event()->type == 12); // IBV_EVENT_PKEY_CHANGE
    CHECK_FALSE(on.a.next_event());
    CHECK_FALSE(on.b.next_event());
}

TEST_CASE("swhca: a dead device says so, flushes its QPs, and its peer times out")
{
    pair on;
    on.fabric.fault("device-fatal hca 1");
    on.left.write(on.from, 8, on.to);
    on.fabric.step();
    CHECK(on.b.next_event()->type == 8); // IBV_EVENT_DEVICE_FATAL
    CHECK(on.right.state() == err);
    uint64_t before = on.fabric.now_ns;
    CHECK(on.fabric.until([&] { return on.left.state() == err; }, 100'000));
    CHECK(on.fabric.now_ns - before >= 4 * (4096ull << 10) - 100'000);
    CHECK(on.left.inside().counters.timeouts == 4);
    CHECK(on.a.poll()->syndrome == 0x15);
    uint32_t context = 0;
    CHECK(on.fabric.command(
              [&](swhca::core &w) { return swhca::open_context(w, 1, -1, context); }) == EIO);
}

TEST_CASE("swhca: a dead device that was reset works for who opens it then, and for nobody else")
{
    pair on;
    on.fabric.fault("device-fatal hca 1");
    on.fabric.step();
    REQUIRE(on.b.next_event()->type == 8);
    on.fabric.fault("device-reset hca 1");
    on.fabric.step();
    device again(on.fabric, 1);
    endpoint left(on.a);
    endpoint right(again);
    connect_both(left, right);
    region there = again.make_region(4096, all_access);
    right.write(there, 4096, on.from);
    on.right.write(on.to, 8, on.from);
    on.right.receive(on.to, 0, 64);
    std::optional<cqe> done;
    REQUIRE(on.fabric.until([&] { return (done = again.poll()).has_value(); }));
    CHECK(done->opcode == 0); // MLX5_CQE_REQ: no error
    on.fabric.fault("port-down hca 1");
    on.fabric.step();
    CHECK(again.next_event()->type == 10); // IBV_EVENT_PORT_ERR
    CHECK_FALSE(on.b.poll());
    CHECK_FALSE(on.b.next_event());
}

TEST_CASE("swhca: a port's rate is what a program measures, and two ports give twice as much")
{
    swhca::fabric_options options = rig::two_devices();
    options.rate_bps = 1'000'000'000;
    options.latency_ns = 2000;
    pair on({}, options);
    auto ports = GENERATE(1, 2);
    endpoint back(on.b);
    endpoint there(on.a);
    connect_both(back, there);
    uint64_t before = on.fabric.now_ns;
    constexpr int messages = 100;
    int done = 0;
    for (int i = 0; i < messages; i++) {
        on.left.write(on.from, 50'000, on.to);
        if (ports == 2) {
            back.write(on.to, 50'000, on.from);
        }
    }
    REQUIRE(on.fabric.until(
        [&] {
            while (on.a.poll()) {
                done++;
            }
            while (on.b.poll()) {
                done++;
            }
            return done == messages * ports;
        },
        50'000));
    double seconds = static_cast<double>(on.fabric.now_ns - before) * 1e-9;
    double rate = 8.0 * 50'000 * messages * ports / seconds;
    CHECK(rate == Approx(ports * 1e9).epsilon(0.03));
}

} // namespace ufx::test

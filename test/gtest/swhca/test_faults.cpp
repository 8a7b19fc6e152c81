// SPDX-License-Identifier: BSD-3-Clause
// What a program sees of each fault. The protocol's own faults are in test_protocol.cpp.
#include "rig.h"

#include "swhca/faults/schedule.h"
#include "swhca/faults/units.h"

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstring>
#include <string>

namespace ufx::test {

namespace {

constexpr uint32_t all_access = 0xf;
constexpr uint8_t rts = 3, err = 6;

struct linked {
    rig on;
    device a{on, 0};
    device b{on, 1};
    endpoint left{a};
    endpoint right{b};
    region from = a.make_region(1 << 16, all_access);
    region to = b.make_region(1 << 16, all_access);

    explicit linked(const swhca::fabric_options &options = rig::two_devices()) : on(options)
    {
        left.connect(right);
        right.connect(left);
        std::memset(from.bytes.data(), 7, from.bytes.size());
    }
};

std::string parse(std::string_view line)
{
    swhca::fault_rule rule{};
    std::string why;
    return swhca::parse_rule(line, rule, why) ? "" : why;
}

} // namespace

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
    CHECK(parse("explode") == "'explode' is no word of a rule");
    CHECK(parse("at 10ms") == "a rule needs an action, such as 'drop'");
    CHECK(parse("drop delay 5us") == "a rule has one action, not 'drop' and 'delay'");
    CHECK(parse("delay") == "'delay' needs a value");
    CHECK(parse("delay 5") == "'5' is no value for 'delay'");
    CHECK(parse("drop probability 2") == "'2' is no value for 'probability'");
    CHECK(parse("event PORT_EXPLODED") == "'PORT_EXPLODED' is no value for 'event'");
    std::vector<swhca::fault_rule> rules;
    CHECK(swhca::parse_schedule("# a comment\n\ndrop\nat 1s port-down\n", rules, why));
    CHECK(rules.size() == 2);
    CHECK_FALSE(swhca::parse_schedule("drop\nbad\n", rules, why));
    CHECK(why == "line 2: 'bad' is no word of a rule");
}

TEST_CASE("swhca: durations and rates have units")
{
    uint64_t value = 0;
    CHECK(swhca::parse_duration("1.5us", value));
    CHECK(value == 1500);
    CHECK(swhca::parse_rate("10Gb/s", value));
    CHECK(value == 10'000'000'000);
    CHECK_FALSE(swhca::parse_duration("5", value));
    CHECK_FALSE(swhca::parse_duration("-1us", value));
    CHECK_FALSE(swhca::parse_duration("", value));
    CHECK_FALSE(swhca::parse_rate("nanGb/s", value));
    CHECK_FALSE(swhca::parse_rate("10GB/s", value));
}

TEST_CASE("swhca: the same seed gives the same faults, another gives others")
{
    auto drops = [](uint64_t seed) {
        swhca::fabric_options options = rig::two_devices();
        options.seed = seed;
        linked pair(options);
        pair.on.fault("drop requests probability 0.2");
        std::vector<uint64_t> counts;
        for (int i = 0; i < 50; i++) {
            pair.left.write(pair.from, 10'000, pair.to);
            pair.on.step(1'000'000);
            counts.push_back(pair.left.inside().counters.retransmitted);
        }
        return counts;
    };
    CHECK(drops(1) == drops(1));
    CHECK(drops(1) != drops(2));
}

TEST_CASE("swhca: a rule works in its time only")
{
    linked pair;
    pair.on.fault("at 1ms until 2ms drop");
    pair.left.write(pair.from, 8, pair.to);
    pair.on.step();
    CHECK(pair.a.poll());
    pair.on.step(1'500'000);
    pair.left.write(pair.from, 8, pair.to);
    pair.on.step();
    CHECK_FALSE(pair.a.poll());
    CHECK(pair.on.until([&] { return pair.a.poll().has_value(); }, 100'000));
}

TEST_CASE("swhca: data above the expected PSN is in memory though it was never acknowledged")
{
    linked pair;
    pair.on.fault("stray-write requests");
    pair.left.write(pair.from, 3000, pair.to);
    pair.on.step();
    CHECK(pair.right.query().rq_psn == 100);
    CHECK(pair.to.bytes[2999] == 7);
    CHECK_FALSE(pair.a.poll());
}

TEST_CASE("swhca: a request that was held is taken by a new QP with the old number")
{
    linked pair;
    pair.on.fault("hold requests count 1");
    pair.left.write(pair.from, 64, pair.to);
    pair.on.step();
    uint32_t number = pair.right.qpn;
    REQUIRE(pair.right.destroy() == 0);
    pair.on.shared().hcas[1].next_qpn = number;
    endpoint heir(pair.b);
    REQUIRE(heir.qpn == number);
    heir.connect(pair.left);
    CHECK(pair.to.bytes[0] == 0);
    pair.on.fault("release");
    pair.on.step();
    CHECK(pair.to.bytes[63] == 7);
    CHECK(heir.query().rq_psn == 101);
}

TEST_CASE("swhca: a swallowed work request comes alive when it is released")
{
    linked pair;
    pair.on.fault("swallow qpn " + std::to_string(pair.left.qpn) + " hca 0");
    pair.left.write(pair.from, 64, pair.to);
    for (int i = 0; i < 100; i++) {
        pair.on.step(10'000'000);
    }
    CHECK(pair.to.bytes[0] == 0);
    CHECK(pair.left.state() == rts);
    pair.on.fault("release");
    pair.on.step();
    CHECK(pair.to.bytes[63] == 7);
    CHECK(pair.a.poll());
}

TEST_CASE("swhca: a CQE is held back, doubled, or turned into an error")
{
    linked pair;
    SECTION("held, also a receive whose sender has its acknowledgement")
    {
        pair.on.fault("hold-cqe 5ms hca 1");
        pair.right.receive(pair.to, 0, 64);
        pair.left.send(pair.from, 64);
        pair.on.step();
        CHECK(pair.a.poll());
        CHECK(pair.to.bytes[63] == 7);
        CHECK_FALSE(pair.b.poll());
        pair.on.step(5'000'000);
        CHECK(pair.b.poll());
    }
    SECTION("doubled")
    {
        pair.on.fault("duplicate-cqe count 1");
        pair.left.write(pair.from, 8, pair.to);
        pair.on.step();
        auto first = pair.a.poll();
        auto second = pair.a.poll();
        REQUIRE(first);
        REQUIRE(second);
        CHECK(first->counter == second->counter);
        CHECK_FALSE(pair.a.poll());
    }
    SECTION("an error")
    {
        pair.on.fault("error-cqe 0x11 count 1");
        pair.left.write(pair.from, 8, pair.to);
        pair.on.step();
        CHECK(pair.a.poll()->syndrome == 0x11);
    }
    SECTION("a stalled CQ keeps all in order")
    {
        pair.on.fault("stall-cq hca 0");
        pair.left.write(pair.from, 8, pair.to);
        pair.on.step();
        pair.left.write(pair.from, 8, pair.to);
        pair.on.step();
        CHECK_FALSE(pair.a.poll());
        pair.on.fault("unstall-cq hca 0");
        pair.on.step();
        CHECK(pair.a.poll()->counter == 0);
        CHECK(pair.a.poll()->counter == 1);
    }
}

TEST_CASE("swhca: commands fail with the errno that a rule gives")
{
    linked pair;
    auto fails = [&](const char *rule, auto run) {
        pair.on.fault(std::string(rule) + " count 1");
        int first = pair.on.command(run);
        return std::pair(first, pair.on.command(run));
    };
    uint32_t handle = 0;
    uint32_t key = 0;
    swhca::mr_request want{pair.a.pd, 1, 0x1000, 64, 0x1000};
    CHECK(fails("fail-reg-mr 12", [&](swhca::core &w) {
              return swhca::register_mr(w, pair.a.context, want, handle, key);
          }) == std::pair(12, 0));
    CHECK(fails("fail-alloc-pd 12", [&](swhca::core &w) {
              return swhca::alloc_pd(w, pair.a.context, handle);
          }) == std::pair(12, 0));
    CHECK(fails("fail-modify-qp 5", [&](swhca::core &w) {
              return swhca::modify_qp(w, pair.a.context, pair.left.handle, 1, rts, {});
          }) == std::pair(5, 0));
    uint8_t state = 0;
    swhca::qp_attributes out{};
    CHECK(fails("fail-query-qp 110", [&](swhca::core &w) {
              return swhca::query_qp(w, pair.b.context, pair.right.handle, state, out);
          }) == std::pair(110, 0));
    pair.on.fault("stale-query-qp count 1");
    CHECK(pair.right.query().rq_psn == 99);
    CHECK(pair.right.query().rq_psn == 100);
}

TEST_CASE(
    "swhca: a port that is down loses packets, tells of it unless it is silent, and comes back")
{
    linked pair;
    SECTION("with its events")
    {
        pair.on.fault("port-down hca 1");
        pair.on.step();
        CHECK(pair.b.next_event()->type == 10); // IBV_EVENT_PORT_ERR
        pair.on.fault("port-up hca 1");
        pair.on.step();
        CHECK(pair.b.next_event()->type == 9); // IBV_EVENT_PORT_ACTIVE
    }
    SECTION("silent")
    {
        pair.on.fault("port-down hca 1 silent");
        pair.on.step();
        CHECK_FALSE(pair.b.next_event());
        pair.left.write(pair.from, 8, pair.to);
        pair.on.step();
        pair.on.step(6'000'000);
        CHECK(pair.left.inside().counters.timeouts == 1);
        CHECK(pair.to.bytes[0] == 0);
        pair.on.fault("port-up hca 1 silent");
        CHECK(pair.on.until([&] { return pair.a.poll().has_value(); }, 100'000));
        CHECK(pair.left.state() == rts);
    }
}

TEST_CASE("swhca: every event can be raised, and a table can change with its event")
{
    linked pair;
    struct {
        const char *rule;
        uint32_t type;
    } cases[] = {{"event CLIENT_REREGISTER hca 0", 17},
                 {"event QP_FATAL hca 0", 1},
                 {"event SRQ_ERR hca 0", 0},
                 {"event CQ_ERR hca 0", 0},
                 {"lid 7 hca 0", 11},
                 {"pkey 1 0x8001 hca 0", 12},
                 {"clear-gid 1 hca 0", 18}};
    for (const auto &each : cases) {
        CAPTURE(each.rule);
        pair.on.fault(each.rule);
        pair.on.step();
        auto told = pair.a.next_event();
        if (std::string(each.rule).starts_with("event SRQ")) {
            CHECK_FALSE(told); // there is no SRQ
        } else {
            REQUIRE(told);
            CHECK(told->type == each.type);
        }
        CHECK_FALSE(pair.a.next_event());
    }
    CHECK(pair.on.shared().hcas[0].port.pkeys[1] == 0x8001);
    CHECK(pair.on.shared().hcas[0].port.lid == 7);
}

TEST_CASE("swhca: a dead device says so, flushes its QPs, and its peer times out")
{
    linked pair;
    pair.on.fault("device-fatal hca 1");
    pair.left.write(pair.from, 8, pair.to);
    pair.on.step();
    CHECK(pair.b.next_event()->type == 8); // IBV_EVENT_DEVICE_FATAL
    CHECK(pair.right.state() == err);
    CHECK(pair.on.until([&] { return pair.left.state() == err; }, 100'000));
    CHECK(pair.a.poll()->syndrome == 0x15);
    uint32_t context = 0;
    CHECK(pair.on.command([&](swhca::core &w) { return swhca::open_context(w, 1, -1, context); }) ==
          EIO);
}

TEST_CASE("swhca: a QP moved to ERR behind its owner's back is flushed")
{
    linked pair;
    pair.on.fault("delay 1ms");
    pair.left.write(pair.from, 8, pair.to);
    pair.on.step();
    pair.on.fault("qp-error hca 0");
    pair.on.step();
    CHECK(pair.a.poll()->syndrome == 0x05);
}

TEST_CASE("swhca: a port's rate is what a program measures, and two ports give twice as much")
{
    swhca::fabric_options options = rig::two_devices();
    options.rate_bps = 1'000'000'000;
    options.latency_ns = 2000;
    linked pair(options);
    auto ports = GENERATE(1, 2);
    endpoint back(pair.b);
    endpoint there(pair.a);
    back.connect(there);
    there.connect(back);
    uint64_t before = pair.on.now_ns;
    constexpr int messages = 100;
    int done = 0;
    for (int i = 0; i < messages; i++) {
        pair.left.write(pair.from, 50'000, pair.to);
        if (ports == 2) {
            back.write(pair.to, 50'000, pair.from);
        }
    }
    REQUIRE(pair.on.until(
        [&] {
            while (pair.a.poll()) {
                done++;
            }
            while (pair.b.poll()) {
                done++;
            }
            return done == messages * ports;
        },
        50'000));
    double seconds = static_cast<double>(pair.on.now_ns - before) * 1e-9;
    double rate = 8.0 * 50'000 * messages * ports / seconds;
    CHECK(rate == Approx(ports * 1e9).epsilon(0.03));
}

} // namespace ufx::test

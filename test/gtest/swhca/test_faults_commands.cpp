// SPDX-License-Identifier: BSD-3-Clause
// Rules as such: when they happen, how often, and what is left of them; and commands that fail.
#include "rig.h"

#include "swhca/faults/faults.h"
#include "swhca/faults/schedule.h"

#include <catch2/catch.hpp>
#include <cerrno>
#include <string>

namespace ufx::test {

namespace {

// 0 or an errno of each command that makes something, on `on`.
int try_all(device &on, swhca::fault_action action)
{
    uint32_t handle = 0;
    uint32_t number = 0;
    return on.on.command([&](swhca::core &world) {
        switch (action) {
        case swhca::fault_action::FAIL_OPEN_DEVICE:
            return swhca::open_context(world, world.shared.contexts[on.context].hca, -1, handle);
        case swhca::fault_action::FAIL_ALLOC_PD:
            return swhca::alloc_pd(world, on.context, handle);
        case swhca::fault_action::FAIL_REG_MR: {
            swhca::mr_request want{on.pd, 1, 0x1000, 64, 0x1000};
            return swhca::register_mr(world, on.context, want, handle, number);
        }
        case swhca::fault_action::FAIL_CREATE_CHANNEL:
            return swhca::create_channel(world, on.context, -1, handle);
        case swhca::fault_action::FAIL_CREATE_CQ: {
            alignas(8) static uint32_t record[2];
            swhca::cq_request want{};
            want.entries = 8;
            want.cqe_bytes = 64;
            want.channel = swhca::no_index;
            want.doorbell = reinterpret_cast<uintptr_t>(record);
            return swhca::create_cq(world, on.context, want, handle);
        }
        case swhca::fault_action::FAIL_CREATE_SRQ: {
            swhca::srq_request want{};
            want.pd = on.pd;
            want.max_wr = 8;
            want.max_sge = 1;
            return swhca::create_srq(world, on.context, want, handle);
        }
        case swhca::fault_action::FAIL_CREATE_QP: {
            swhca::qp_request want{};
            want.type = 2;
            want.pd = on.pd;
            want.send_cq = want.recv_cq = on.cq;
            want.srq = swhca::no_index;
            return swhca::create_qp(world, on.context, want, handle, number);
        }
        default:
            swhca::path to{};
            to.global = true;
            to.port_num = 1;
            to.dgid = world.shared.hcas[1].port.gids[0];
            return swhca::create_ah(world, on.context, to, handle);
        }
    });
}

} // namespace

TEST_CASE("swhca: each command that makes something fails with the errno that a rule gives, on its "
          "device, as often as it says")
{
    for (const char *name :
         {"fail-open-device", "fail-alloc-pd", "fail-reg-mr", "fail-create-channel",
          "fail-create-cq", "fail-create-srq", "fail-create-qp", "fail-create-ah"}) {
        CAPTURE(name);
        rig on;
        device a(on, 0);
        device b(on, 1);
        swhca::fault_rule rule{};
        std::string why;
        REQUIRE(swhca::parse_rule(std::string(name) + " 12", rule, why));
        on.fault(std::string("hca mlx5_1 skip 1 count 2 ") + name + " 12");
        CHECK(try_all(a, rule.action) == 0);
        CHECK(try_all(b, rule.action) == 0);
        CHECK(try_all(b, rule.action) == 12);
        CHECK(try_all(b, rule.action) == 12);
        CHECK(try_all(b, rule.action) == 0);
        CHECK(try_all(a, rule.action) == 0);
    }
}

TEST_CASE("swhca: modify_qp fails to every state, or to one of them")
{
    pair on;
    on.fabric.fault("fail-modify-qp 5 to ERR count 1");
    CHECK(on.left.to_state(rts) == 0);
    CHECK(on.left.to_state(sqd) == 0);
    CHECK(on.left.to_state(err) == 5);
    CHECK(on.left.state() == sqd);
    CHECK(on.left.to_state(err) == 0);
    on.fabric.fault("fail-modify-qp 11 count 1 qpn " + std::to_string(on.left.qpn));
    CHECK(on.left.to_state(reset) == 11);
    CHECK(on.left.to_state(reset) == 0);
    CHECK(refusal("drop to ERR") == "'to' is for fail-modify-qp, not for 'drop'");
    CHECK(refusal("fail-modify-qp 5 to MARS") ==
          "'MARS' is no value for 'to': it takes a state such as RTS or ERR");
}

TEST_CASE("swhca: query_qp fails or is stale, for one QP only")
{
    pair on;
    endpoint other(on.b);
    other.connect(on.left);
    on.left.write(on.from, 3000, on.to);
    REQUIRE(on.wait(on.a).syndrome == 0);
    REQUIRE(on.right.to_state(err) == 0);
    swhca::qp_attributes out{};
    uint8_t state = 0;
    auto query = [&](endpoint &of) {
        return on.fabric.command([&](swhca::core &world) {
            return swhca::query_qp(world, on.b.context, of.handle, state, out);
        });
    };
    on.fabric.fault("fail-query-qp 110 hca 1 count 1 qpn " + std::to_string(on.right.qpn));
    CHECK(query(other) == 0);
    CHECK(query(on.right) == 110);
    CHECK(query(on.right) == 0);
    CHECK(state == err);
    on.fabric.fault("stale-query-qp hca 1 count 1 qpn " + std::to_string(on.right.qpn));
    CHECK(other.query().rq_psn == 100);
    CHECK(on.right.query().rq_psn == 102);
    CHECK(on.right.query().rq_psn == 103);
}

TEST_CASE("swhca: a QP takes the number of the last one, and what was held for that one")
{
    pair on;
    on.fabric.fault("hold requests count 1");
    on.fabric.fault("reuse-qpn hca 1 count 1");
    on.left.write(on.from, 64, on.to);
    on.fabric.step();
    REQUIRE(on.right.destroy() == 0);
    endpoint heir(on.b);
    CHECK(heir.qpn == on.right.qpn);
    on.fabric.step();
    CHECK(on.to.bytes[0] == 0);
    heir.connect(on.left);
    on.fabric.step();
    CHECK(on.same(64));
    CHECK(heir.query().rq_psn == 101);
    endpoint next(on.b); // the rule is spent
    CHECK(next.qpn != on.right.qpn);
}

TEST_CASE("swhca: a rule that is spent or over costs nothing, counts no more, and is still shown")
{
    pair on;
    SECTION("by its count")
    {
        on.fabric.fault("drop requests count 1");
        on.left.write(on.from, 64, on.to);
        REQUIRE(on.wait(on.a).syndrome == 0);
    }
    SECTION("by its time")
    {
        on.fabric.fault("until 1ms drop requests");
        on.left.write(on.from, 64, on.to);
        REQUIRE(on.wait(on.a).syndrome == 0);
    }
    on.left.write(on.from, 64, on.to);
    REQUIRE(on.wait(on.a).syndrome == 0);
    CHECK(on.fabric.shared().rule_count == 0);
    const swhca::fault_rule &rule = on.fabric.shared().rules[0];
    CHECK_FALSE(rule.in_use);
    CHECK(rule.action == swhca::fault_action::DROP);
    CHECK(rule.seen == 1);
    CHECK(rule.hits == 1);
    for (uint32_t i = 0; i < 2 * swhca::max_rules; i++) { // its room is used again
        on.fabric.fault("port-up");
        on.fabric.step();
    }
    on.fabric.clear_faults();
    CHECK(rule.action == swhca::fault_action::NONE);
}

TEST_CASE("swhca: what happens at a time may happen again and again")
{
    rig on;
    device a(on, 0);
    auto told = [&] {
        uint32_t count = 0;
        while (a.next_event()) {
            count++;
        }
        return count;
    };
    SECTION("until its time is over")
    {
        on.fault("at 2ms every 1ms until 5ms event SM_CHANGE hca 0");
        on.step(1'999'999);
        CHECK(told() == 0);
        on.step(1);
        CHECK(told() == 1);
        on.step(1'000'000);
        CHECK(told() == 1);
        on.step(10'000'000);
        CHECK(told() == 1);
    }
    SECTION("so often")
    {
        on.fault("every 1ms count 3 skip 1 event SM_CHANGE hca 0");
        on.step(20'000'000);
        CHECK(told() == 3);
    }
    SECTION("by chance")
    {
        on.fault("every 1ms probability 0.5 until 200ms event SM_CHANGE hca 0");
        on.step(300'000'000);
        uint32_t count = told();
        CHECK(count > 60);
        CHECK(count < 140);
    }
    CHECK(on.shared().rule_count == 0);
    CHECK(refusal("every 1ms drop") ==
          "'every' is for what happens at a time, and 'drop' does not");
}

TEST_CASE("swhca: work requests are swallowed from one on, and only so many QPs")
{
    pair on;
    endpoint second(on.a);
    endpoint peer(on.b);
    connect_both(second, peer);
    SECTION("till they are released")
    {
        on.fabric.fault("swallow skip 2 count 1 hca 0");
        for (int i = 0; i < 4; i++) {
            on.left.write(on.from, 8, on.to);
        }
        second.write(on.from, 8, on.to);
        on.fabric.step();
        CHECK(on.right.query().rq_psn == 102);
        CHECK(peer.query().rq_psn == 101);
        on.fabric.step(1'000'000'000);
        CHECK(on.right.query().rq_psn == 102);
        on.fabric.fault("release");
    }
    SECTION("till the time of the rule is over, also if its count is reached before")
    {
        on.fabric.fault(GENERATE(as<std::string>(), "swallow until 1ms hca 0",
                                 "swallow until 1ms count 1 hca 0"));
        for (int i = 0; i < 4; i++) {
            on.left.write(on.from, 8, on.to);
        }
        second.write(on.from, 8, on.to);
        on.fabric.step(900'000);
        CHECK(on.right.query().rq_psn == 100);
        on.fabric.step(200'000);
    }
    on.fabric.step();
    CHECK(on.right.query().rq_psn == 104);
    CHECK(peer.query().rq_psn == 101);
    for (int i = 0; i < 5; i++) {
        CHECK(on.wait(on.a).syndrome == 0);
    }
}

TEST_CASE("swhca: datagrams are swallowed too")
{
    datagram_pair on;
    on.right.receive(on.to, 0, 4096);
    on.fabric.fault("swallow hca 0");
    on.left.send_to(on.from, 64, on.right, datagram_pair::qkey);
    on.fabric.step();
    CHECK_FALSE(on.a.poll());
    on.fabric.fault("release");
    on.fabric.step();
    CHECK(on.a.poll());
    CHECK(on.b.poll());
}

} // namespace ufx::test

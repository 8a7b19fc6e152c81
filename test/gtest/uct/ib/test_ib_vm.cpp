// SPDX-License-Identifier: BSD-3-Clause
// rc_verbs between two devices of the kernel's soft-RoCE, in the guest of test/vm: what its rq_psn
// says, links that go and come, loss by netem, addresses that change. Elsewhere these cases are
// skipped.
#include "rc_rig.h"

#include "common/skip.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <thread>

using namespace ufx::test;

namespace {

// From 10.0.0.1 on a0 to 10.0.0.2 on b0 and back.
constexpr const char *own_end = "a0";
constexpr const char *far_end = "b0";

void shell(const std::string &line)
{
    INFO(line);
    REQUIRE(std::system(line.c_str()) == 0); // NOLINT: the words are ours
}

// Everything that leaves this end is lost.
void lose(const char *end)
{
    shell(std::string("tc qdisc replace dev ") + end + " root netem loss 100%");
}

void lose_nothing(const char *end)
{
    shell(std::string("tc qdisc del dev ") + end + " root");
}

// A link that was down has lost its routes.
void mend_routes()
{
    shell("ip route replace 10.0.0.2 dev a0 table 100");
    shell("ip route replace 10.0.0.1 dev b0 table 200");
}

std::vector<uct_resource> rails()
{
    for (const uct_resource &each : conformance_resources()) {
        if (each.dev == "rxa0:1" && std::getenv("UFX_TEST_VM") != nullptr) {
            return {each, on_device(each, "rxb0")};
        }
    }
    skip("not in the guest of test/vm");
    return {};
}

bool has(const uct_side &side, ufx_uct_iface_event_type_t type)
{
    return std::find(side.events.begin(), side.events.end(), type) != side.events.end();
}

bool works(rc_pair &pair)
{
    counted done;
    return pair.put(0, 64, done) == UFX_INPROGRESS && pair.wait([&] { return done.done(); }) &&
           done.result == UFX_OK;
}

// Eps that are made when a link is up again may be too early for the neighbour's entry.
bool comes_back(const std::vector<uct_resource> &ends)
{
    for (int i = 0; i < 20; ++i) {
        try {
            rc_pair again(ends[0], ends[1]);
            if (works(again)) {
                return true;
            }
        } catch (const Catch::TestFailureException &) {
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return false;
}

} // namespace

TEST_CASE("vm: the kernel's position counts packets as this transport does", "[.][vm]")
{
    const auto ends = rails();
    if (ends.empty()) {
        return;
    }
    rc_pair pair(ends[0], ends[1]);
    for (const size_t length : {size_t{0}, size_t{1}, size_t{1024}, size_t{1025}, size_t{100000}}) {
        counted done;
        counted got;
        local_memory into(pair, 1 << 17);
        const ufx_uct_iov_t iov = into.iov(0, length);
        REQUIRE(pair.put(0, length, done) == UFX_INPROGRESS);
        REQUIRE(ufx_uct_ep_get_zcopy(pair.ep, &iov, 1, pair.target.addr(), pair.target.rkey,
                                     &got) == UFX_INPROGRESS);
        REQUIRE(pair.wait([&] { return done.done() && got.done(); }));
        CHECK(done.result == UFX_OK);
        CHECK(got.result == UFX_OK);
    }
    // All before has landed: what is lost from here on is told apart to the packet.
    lose(own_end);
    counted first;
    counted second;
    REQUIRE(pair.put(0, 5000, first) == UFX_INPROGRESS);
    REQUIRE(pair.put(8192, 10, second) == UFX_INPROGRESS);
    const auto token = pair.close_target();
    CHECK(token.grade == UFX_UCT_GRADE_EXACT);
    pair.close_source();
    const auto all = pair.purge(token);
    lose_nothing(own_end);
    REQUIRE(all.size() == 2);
    CHECK(all[0].verdict == UFX_UCT_VERDICT_NOT_LANDED);
    CHECK(all[1].verdict == UFX_UCT_VERDICT_NOT_LANDED);
}

TEST_CASE(
    "vm: with all answers lost, the kernel's position tells puts that landed from reads without "
    "data",
    "[.][vm]")
{
    const auto ends = rails();
    if (ends.empty()) {
        return;
    }
    const rc_setting few(ends[0], "RETRY_COUNT", "3"); // 7 is for ever on soft-RoCE
    rc_pair pair(ends[0], ends[1]);
    REQUIRE(works(pair));
    lose(far_end);
    counted first;
    counted second;
    counted got;
    local_memory into(pair, 100);
    const ufx_uct_iov_t iov = into.iov(0, 100);
    REQUIRE(pair.put(0, 20000, first) == UFX_INPROGRESS);
    REQUIRE(ufx_uct_ep_get_zcopy(pair.ep, &iov, 1, pair.target.addr(), pair.target.rkey, &got) ==
            UFX_INPROGRESS);
    REQUIRE(pair.put(20480, 10, second) == UFX_INPROGRESS);
    REQUIRE(pair.wait([&] { return pair.a().errors != 0; }));
    CHECK(pair.a().error_cause == UFX_UCT_CAUSE_RETRY_EXCEEDED);
    CHECK(pair.landed(0, 20000));
    CHECK(pair.landed(20480, 10));
    const auto token = pair.close_target();
    CHECK(token.grade == UFX_UCT_GRADE_EXACT);
    pair.close_source();
    const auto all = pair.purge(token);
    lose_nothing(far_end);
    REQUIRE(all.size() == 3);
    CHECK(all[0].verdict == UFX_UCT_VERDICT_LANDED);
    CHECK(all[1].verdict == UFX_UCT_VERDICT_RESULT_LOST);
    CHECK(all[2].verdict == UFX_UCT_VERDICT_LANDED);
    CHECK(first.calls + second.calls + got.calls == 0);
}

TEST_CASE("vm: loss that ends within the retries fails nothing", "[.][vm]")
{
    const auto ends = rails();
    if (ends.empty()) {
        return;
    }
    rc_pair pair(ends[0], ends[1]);
    shell("tc qdisc replace dev a0 root netem loss 3%");
    counted done;
    REQUIRE(pair.put(0, 20000, done) == UFX_INPROGRESS);
    const auto start = std::chrono::steady_clock::now();
    while (!done.done() && std::chrono::steady_clock::now() - start < std::chrono::seconds(60)) {
        pair.progress();
    }
    lose_nothing(own_end);
    REQUIRE(done.done());
    CHECK(done.result == UFX_OK);
    CHECK(pair.landed(0, 20000));
    CHECK(pair.a().errors == 0);
}

TEST_CASE("vm: a link that goes down is an event and an error; up again, new eps carry", "[.][vm]")
{
    const auto ends = rails();
    if (ends.empty()) {
        return;
    }
    for (const char *end : {own_end, far_end}) {
        INFO(end);
        const rc_setting few(ends[0], "RETRY_COUNT", "3");
        rc_pair pair(ends[0], ends[1]);
        REQUIRE(works(pair));
        shell(std::string("ip link set ") + end + " down");
        REQUIRE(pair.wait([&] { return has(pair.a(), UFX_UCT_IFACE_PORT_DOWN); }));
        counted done;
        REQUIRE(pair.put(0, 64, done) == UFX_INPROGRESS);
        REQUIRE(pair.wait([&] { return pair.a().errors != 0; }));
        CHECK(state_of(pair.ep) == UFX_UCT_EP_DEFERRED);
        CHECK(done.calls == 0);
        shell(std::string("ip link set ") + end + " up");
        mend_routes();
        REQUIRE(pair.wait([&] { return has(pair.a(), UFX_UCT_IFACE_PORT_UP); }));
        pair.close_source();
        const auto all = pair.purge(pair.close_target());
        REQUIRE(all.size() == 1);
        CHECK(all[0].verdict == UFX_UCT_VERDICT_NOT_LANDED);
        CHECK(comes_back(ends));
    }
}

TEST_CASE("vm: an address that others add changes nothing; the own one that goes is told",
          "[.][vm]")
{
    const auto ends = rails();
    if (ends.empty()) {
        return;
    }
    rc_pair pair(ends[0], ends[1]);
    const auto before = pair.a().device_address();
    shell("ip addr add 10.0.0.77/24 dev a0 noprefixroute");
    pair.turn(1000);
    CHECK(pair.a().device_address() == before);
    CHECK(works(pair));
    shell("ip addr del 10.0.0.77/24 dev a0");
    shell("ip addr del 10.0.0.1/24 dev a0");
    REQUIRE(pair.wait([&] { return has(pair.a(), UFX_UCT_IFACE_ADDR_CHANGED); }));
    shell("ip addr add 10.0.0.1/24 dev a0 noprefixroute");
    mend_routes();
    CHECK(comes_back(ends));
    CHECK(pair.a().device_address() == before);
}

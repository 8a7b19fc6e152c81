// SPDX-License-Identifier: BSD-3-Clause
// How an RC ep becomes quiet: when a device gives no completion, when others never stop, when it
// cannot be destroyed; and what its token is then.
#include "rc_rig.h"
#include "verbs_calls.h"

#include "ucs/fake_clock.h"
#include "uct/ib/common/silence.h"

#include <catch2/catch.hpp>
#include <cerrno>
#include <functional>
#include <poll.h>

using namespace ufx::test;
using ufx::uct::ib::silence;

namespace {

constexpr uint64_t ms = 1'000'000;

// Progress while nothing but the clock moves, until `done`; gives the time that it took.
uint64_t silence_until(rc_pair &pair, ufx::ucs::fake_clock &clock,
                       const std::function<bool()> &done)
{
    uint64_t passed = 0;
    for (; !done() && passed < 10'000 * ms; passed += ms) {
        clock.advance(ms);
        pair.turn(1);
    }
    return passed;
}

} // namespace

TEST_CASE("ib: silence counts only while somebody listens", "[ib]")
{
    silence nothing;
    nothing.start(1000 * ms);
    CHECK(nothing.look(1010 * ms) == 10 * ms);
    CHECK(nothing.look(1050 * ms) == 50 * ms);
    CHECK(nothing.look(9050 * ms) == 150 * ms); // was away
    nothing.skip(9150 * ms);                    // something of others was there
    CHECK(nothing.look(9160 * ms) == 160 * ms);
    nothing.start(9170 * ms); // was heard
    CHECK(nothing.look(9180 * ms) == 10 * ms);
}

TEST_CASE("rc: the event of a queue pair ends its operations without a completion, at once, and "
          "nobody else's",
          "[.][hca][M01]")
{
    for_each_rc([](const uct_resource &resource) {
        for (const char *event : {"QP_FATAL", "QP_REQ_ERR", "QP_ACCESS_ERR"}) {
            INFO(event);
            ufx::ucs::fake_clock clock(ufx_ucs_time_ns());
            rc_pair pair(resource);
            pair.a().error_answer = UFX_OK;
            const auto sibling = pair.connect();
            counted done;
            counted of_sibling;
            command("hca mlx5_0 stall-cq");
            REQUIRE(pair.put(0, 64, done) == UFX_INPROGRESS);
            REQUIRE(pair.put_on(sibling.a, 64, 64, of_sibling) == UFX_INPROGRESS);
            command(rc_pair::sent_by(pair.ep) + "event " + event);
            REQUIRE(pair.wait([&] { return pair.a().errors != 0; }));
            CHECK_FALSE(done.done());
            // Not the whole second that others wait.
            CHECK(silence_until(pair, clock, [&] { return done.done(); }) <= 20 * ms + 2 * ms);
            CHECK(done.result < 0);
            CHECK(pair.a().failed_ep == pair.ep);
            CHECK(pair.a().errors == 1);
            CHECK(state_of(sibling.a) == UFX_UCT_EP_LIVE);
            CHECK(of_sibling.calls == 0);
            command("hca mlx5_0 unstall-cq");
            REQUIRE(pair.wait([&] { return of_sibling.done(); }));
            CHECK(of_sibling.result == UFX_OK);
        }
    });
}

TEST_CASE("rc: a queue pair of which an event says that it broke still tells how far it got",
          "[.][hca]")
{
    for_each_rc([](const uct_resource &resource) {
        // On a busy machine the end of receiving may be told only when nobody waits for it any
        // more.
        for (const bool is_told : {true, false}) {
            INFO("told " << is_told);
            rc_pair pair(resource);
            counted done;
            hide_last_wqe(!is_told);
            REQUIRE(pair.put(0, 64, done) == UFX_INPROGRESS);
            REQUIRE(pair.wait([&] { return done.done(); }));
            command(rc_pair::sent_by(pair.peer) + "event QP_FATAL");
            REQUIRE(pair.wait([&] { return pair.b().errors != 0; }));
            CHECK(pair.close_target().grade == UFX_UCT_GRADE_EXACT);
            hide_last_wqe(false);
        }
    });
}

TEST_CASE("rc: a queue pair that breaks behind its owner's back fails its ep, also an idle one",
          "[.][hca]")
{
    for_each_rc([](const uct_resource &resource) {
        rc_pair pair(resource);
        command(rc_pair::sent_by(pair.ep) + "qp-error");
        REQUIRE(pair.wait([&] { return pair.a().errors != 0; }));
        CHECK(pair.a().error_cause == UFX_UCT_CAUSE_OWN_QP);
        pair.close_source();
    });
}

TEST_CASE("rc: a device that does not tell that receiving has ended still tells how far it got",
          "[.][hca]")
{
    for_each_rc([](const uct_resource &resource) {
        rc_pair pair(resource);
        hide_last_wqe(true);
        command(rc_pair::sent_by(pair.ep) + "drop requests skip 3");
        counted first;
        counted second;
        REQUIRE(pair.put(0, 8 * MTU, first) == UFX_INPROGRESS);
        REQUIRE(pair.put(8 * MTU, 10, second) == UFX_INPROGRESS);
        REQUIRE(pair.wait([&] { return pair.a().errors != 0; }));
        const auto token = pair.close_target();
        pair.close_source();
        hide_last_wqe(false);
        CHECK(token.grade == UFX_UCT_GRADE_EXACT);
        const auto all = pair.purge(token);
        REQUIRE(all.size() == 2);
        CHECK(all[0].verdict == UFX_UCT_VERDICT_PARTIAL);
        CHECK(all[0].bytes == 3 * MTU);
        CHECK(all[1].verdict == UFX_UCT_VERDICT_NOT_LANDED);
    });
}

TEST_CASE("rc: a device that does not tell that receiving has ended, and not how far it got",
          "[.][hca]")
{
    for_each_rc([](const uct_resource &resource) {
        rc_pair pair(resource);
        hide_last_wqe(true);
        counted quiet;
        REQUIRE(ufx_uct_ep_invalidate(pair.peer, &quiet) == UFX_INPROGRESS);
        const failing_call call("ibv_query_qp", EIO, 0, 10);
        REQUIRE(pair.wait([&] { return quiet.done(); }));
        hide_last_wqe(false);
        CHECK(quiet.result == UFX_ERR_IO);
        CHECK(pair.ask_target().grade == UFX_UCT_GRADE_BLIND);
    });
}

TEST_CASE("rc: everybody who waits for an ep to become quiet hears of it, once", "[.][hca]")
{
    for_each_rc([](const uct_resource &resource) {
        rc_pair pair(resource);
        counted first;
        counted second;
        REQUIRE(ufx_uct_ep_invalidate(pair.ep, &first) == UFX_INPROGRESS);
        REQUIRE(ufx_uct_ep_invalidate(pair.ep, &second) == UFX_INPROGRESS);
        REQUIRE(pair.wait([&] { return first.done() && second.done(); }));
        pair.turn(10);
        CHECK(first.calls == 1);
        CHECK(second.calls == 1);
    });
}

TEST_CASE("rc: an ep becomes quiet though messages of others never stop", "[.][hca]")
{
    for_each_rc([](const uct_resource &resource) {
        const rc_setting one_at_a_time(resource, "CQ_POLL", "1");
        rc_pair pair(resource);
        const auto busy = pair.connect();
        inbox received(pair.b().iface, 5);
        const auto send = [&] {
            // Ahead of what is polled, so that no poll ever finds the queue empty.
            while (ufx_uct_ep_am_short(busy.a, 5, 1, nullptr, 0) == UFX_OK) {
            }
        };
        received.on_message = send;
        send();
        counted quiet;
        REQUIRE(ufx_uct_ep_invalidate(pair.peer, &quiet) == UFX_INPROGRESS);
        REQUIRE(pair.wait([&] {
            send();
            return quiet.done();
        }));
        CHECK(quiet.result == UFX_OK);
        CHECK(pair.ask_target().grade == UFX_UCT_GRADE_EXACT);
        received.on_message = nullptr;
        pair.turn(1000);
    });
}

TEST_CASE("rc: what a token is worth when the queue pair cannot be asked, closed or destroyed",
          "[.][hca]")
{
    for_each_rc([](const uct_resource &resource) {
        SECTION("not asked, though quiet: nothing lands any more")
        {
            rc_pair pair(resource);
            static_cast<void>(pair.close_target());
            const failing_call call("ibv_query_qp", EIO);
            CHECK(pair.ask_target().grade == UFX_UCT_GRADE_BLIND);
            CHECK(call.hits() == 1);
        }
        SECTION("not closed, but destroyed: nothing lands any more")
        {
            rc_pair pair(resource);
            counted quiet;
            {
                const failing_call call("ibv_modify_qp", EIO);
                REQUIRE(ufx_uct_ep_invalidate(pair.peer, &quiet) == UFX_INPROGRESS);
            }
            REQUIRE(pair.wait([&] { return quiet.done(); }));
            CHECK(quiet.result == UFX_ERR_IO);
            CHECK(pair.ask_target().grade == UFX_UCT_GRADE_BLIND);
        }
        SECTION("neither closed nor destroyed: it may go on")
        {
            rc_pair pair(resource);
            counted quiet;
            {
                const failing_call call("ibv_modify_qp", EIO);
                REQUIRE(ufx_uct_ep_invalidate(pair.peer, &quiet) == UFX_INPROGRESS);
            }
            const failing_call call("ibv_destroy_qp", EIO);
            REQUIRE(pair.wait([&] { return quiet.done(); }));
            CHECK(call.hits() == 1);
            uint8_t bytes[UFX_UCT_TOKEN_MAX];
            size_t length = 0;
            ufx_uct_token_grade_t grade = UFX_UCT_GRADE_EXACT;
            ufx_uct_ep_attr_t attr{};
            attr.field_mask = UFX_UCT_EP_ATTR_TX_TOKEN;
            REQUIRE(ufx_uct_ep_query(pair.ep, &attr) == UFX_OK);
            CHECK(ufx_uct_iface_query_token(pair.b().iface, attr.tx_token, attr.tx_token_len, bytes,
                                            &length, &grade) == UFX_ERR_IO);
            CHECK(grade == UFX_UCT_GRADE_OPEN);
        }
    });
}

TEST_CASE("rc: who waits for an ep to become quiet can sleep, and wakes when time is over",
          "[.][hca]")
{
    for_each_rc([](const uct_resource &resource) {
        rc_pair pair(resource);
        int fd = -1;
        REQUIRE(ufx_uct_iface_event_fd_get(pair.a().iface, &fd) == UFX_OK);
        const auto sleep = [&] {
            while (ufx_uct_iface_event_arm(pair.a().iface, UFX_UCT_EVENT_SEND_COMP |
                                                               UFX_UCT_EVENT_RECV) != UFX_OK) {
                ufx_uct_iface_progress(pair.a().iface);
            }
            pollfd one{fd, POLLIN, 0};
            return ::poll(&one, 1, 10000) == 1;
        };
        command("hca mlx5_0 stall-cq");
        counted done;
        counted quiet;
        REQUIRE(pair.put(0, 64, done) == UFX_INPROGRESS);
        REQUIRE(ufx_uct_ep_invalidate(pair.ep, &quiet) == UFX_INPROGRESS);
        int sleeps = 0;
        while (!quiet.done() && sleeps < 100) {
            ufx_uct_iface_progress(pair.a().iface);
            if (!quiet.done()) {
                REQUIRE(sleep());
                ++sleeps;
            }
        }
        CHECK(quiet.done());
        CHECK(quiet.result == UFX_ERR_IO); // a second of silence, and then it was destroyed
        CHECK(sleeps >= 10);
        CHECK(sleeps < 50);
        command("hca mlx5_0 unstall-cq");
    });
}

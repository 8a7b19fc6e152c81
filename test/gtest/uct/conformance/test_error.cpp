// SPDX-License-Identifier: BSD-3-Clause
// Conformance: an ep fails; handler, refusal, completion of what was outstanding.
#include "harness.h"

#include <catch2/catch.hpp>

using namespace ufx::test;

namespace {

constexpr uint64_t basic = UFX_UCT_CAP_SET_LINK | UFX_UCT_CAP_PUT_ZCOPY;

// Three puts that share a completion, then the link of the peer's side goes.
void post_and_cut(uct_pair &pair, remote_memory &target, local_memory &data, counted &puts)
{
    ufx_uct_iov_t iov = data.iov(0, 64);
    for (int i = 0; i < 3; ++i) {
        REQUIRE(ufx_uct_ep_put_zcopy(pair.ep, &iov, 1, target.addr(), target.rkey, &puts) ==
                UFX_INPROGRESS);
    }
    REQUIRE(ufx_uct_iface_set_link(pair.b().iface, 0) == UFX_OK);
}

} // namespace

TEST_CASE("uct: without IN_PROGRESS everything outstanding fails exactly once",
          "[conformance][error][M07]")
{
    for_each_transport(basic, [](const uct_resource &resource) {
        uct_pair pair(resource);
        remote_memory target(pair, 64);
        local_memory data(pair, 64);
        counted puts(3);
        ufx_status_t post_in_handler = UFX_OK;
        int calls_before_handler = -1;
        pair.a().on_error = [&](ufx_uct_ep_h ep) {
            ufx_uct_iov_t iov = data.iov(0, 64);
            post_in_handler =
                ufx_uct_ep_put_zcopy(ep, &iov, 1, target.addr(), target.rkey, nullptr);
            calls_before_handler = puts.calls;
        };
        post_and_cut(pair, target, data, puts);
        REQUIRE(pair.wait([&] { return pair.a().errors != 0; }));
        REQUIRE(pair.wait([&] { return puts.done(); }));
        CHECK(pair.a().failed_ep == pair.ep);
        CHECK(pair.a().error_status < 0);
        CHECK(pair.a().error_cause != UFX_UCT_CAUSE_NONE);
        // Order: posts were refused first, then the user was told, then the ledger failed.
        CHECK(post_in_handler < 0);
        CHECK(post_in_handler != UFX_ERR_NO_RESOURCE);
        CHECK(calls_before_handler == 0);
        CHECK(puts.result == pair.a().error_status);
        CHECK(state_of(pair.ep) == UFX_UCT_EP_DEAD);
        CHECK(outstanding(pair.ep) == 0);
        pair.turn(50);
        CHECK(puts.calls == 1);
        CHECK(pair.a().errors == 1);
        ufx_uct_iov_t iov = data.iov(0, 64);
        CHECK(ufx_uct_ep_put_zcopy(pair.ep, &iov, 1, target.addr(), target.rkey, &puts) ==
              pair.a().error_status);
        CHECK(ufx_uct_ep_flush(pair.ep, UFX_UCT_FLUSH_LOCAL, &puts) == pair.a().error_status);
        CHECK(pair.a().stats().failed == 3);
    });
}

TEST_CASE("uct: with IN_PROGRESS everything outstanding is kept", "[conformance][error]")
{
    for_each_transport(basic | UFX_UCT_CAP_PURGE, [](const uct_resource &resource) {
        uct_pair pair(resource);
        remote_memory target(pair, 64);
        local_memory data(pair, 64);
        counted puts(3);
        pair.a().error_answer = UFX_INPROGRESS;
        post_and_cut(pair, target, data, puts);
        REQUIRE(pair.wait([&] { return pair.a().errors != 0; }));
        pair.turn(50);
        CHECK(puts.calls == 0);
        CHECK(state_of(pair.ep) == UFX_UCT_EP_DEFERRED);
        CHECK(outstanding(pair.ep) == 3);
        ufx_uct_iov_t iov = data.iov(0, 64);
        CHECK(ufx_uct_ep_put_zcopy(pair.ep, &iov, 1, target.addr(), target.rkey, &puts) ==
              pair.a().error_status);

        // U03: CANCEL ends what no completion will ever come for.
        counted canceled;
        REQUIRE(ufx_uct_ep_flush(pair.ep, UFX_UCT_FLUSH_CANCEL, &canceled) == UFX_INPROGRESS);
        REQUIRE(pair.wait([&] { return canceled.done(); }));
        CHECK(puts.calls == 1);
        CHECK(puts.result == UFX_ERR_CANCELED);
        CHECK(state_of(pair.ep) == UFX_UCT_EP_DEAD);
    });
}

TEST_CASE("uct: a cancel that waits when the error comes still ends", "[conformance][error][U03]")
{
    for_each_transport(basic, [](const uct_resource &resource) {
        uct_pair pair(resource);
        remote_memory target(pair, 64);
        local_memory data(pair, 64);
        counted puts(3);
        counted canceled;
        pair.a().error_answer = UFX_INPROGRESS;
        post_and_cut(pair, target, data, puts);
        REQUIRE(ufx_uct_ep_flush(pair.ep, UFX_UCT_FLUSH_CANCEL, &canceled) == UFX_INPROGRESS);
        REQUIRE(pair.wait([&] { return canceled.done(); }));
        CHECK(puts.calls == 1);
        CHECK(state_of(pair.ep) == UFX_UCT_EP_DEAD); // deferral did not start
    });
}

TEST_CASE("uct: an ep may be destroyed in its own error handler", "[conformance][error]")
{
    for_each_transport(basic, [](const uct_resource &resource) {
        uct_pair pair(resource);
        remote_memory target(pair, 64);
        local_memory data(pair, 64);
        counted puts(3);
        pair.a().on_error = [&](ufx_uct_ep_h) { pair.destroy_eps(); };
        post_and_cut(pair, target, data, puts);
        REQUIRE(pair.wait([&] { return pair.a().errors != 0; }));
        pair.turn(20);
        CHECK(puts.calls == 0); // dropped
        CHECK(pair.a().stats().eps == 0);
    });
}

TEST_CASE("uct: destroying a deferred ep releases everything", "[conformance][error][U04][U12]")
{
    for_each_transport(basic | UFX_UCT_CAP_PURGE, [](const uct_resource &resource) {
        uct_pair pair(resource);
        remote_memory target(pair, 64);
        local_memory data(pair, 64);
        counted puts(3);
        pair.a().error_answer = UFX_INPROGRESS;
        post_and_cut(pair, target, data, puts);
        REQUIRE(pair.wait([&] { return pair.a().errors != 0; }));
        REQUIRE(state_of(pair.ep) == UFX_UCT_EP_DEFERRED);
        pair.destroy_eps();
        pair.turn(20);
        const ufx_uct_iface_stats_t stats = pair.a().stats();
        CHECK(stats.eps == 0);
        CHECK(stats.outstanding_ops == 0);
        CHECK(puts.calls == 0);
    });
}

TEST_CASE("uct: the link goes and comes, and new eps work", "[conformance][error]")
{
    for_each_transport(basic, [](const uct_resource &resource) {
        uct_pair pair(resource);
        REQUIRE(ufx_uct_iface_set_link(pair.b().iface, 0) == UFX_OK);
        REQUIRE(pair.wait([&] { return pair.a().errors != 0 && !pair.b().events.empty(); }));
        CHECK(pair.b().events.front() == UFX_UCT_IFACE_PORT_DOWN);
        ufx_uct_iface_attr_t attr{};
        REQUIRE(ufx_uct_iface_query(pair.b().iface, &attr) == UFX_OK);
        CHECK(attr.port_active == 0);
        pair.destroy_eps();
        REQUIRE(ufx_uct_iface_set_link(pair.b().iface, 1) == UFX_OK);
        REQUIRE(pair.wait([&] { return pair.b().events.size() == 2; }));
        CHECK(pair.b().events.back() == UFX_UCT_IFACE_PORT_UP);
        const auto fresh = pair.connect();
        remote_memory target(pair, 64);
        local_memory data(pair, 64);
        ufx_uct_iov_t iov = data.iov(0, 64);
        counted put;
        REQUIRE(ufx_uct_ep_put_zcopy(fresh.a, &iov, 1, target.addr(), target.rkey, &put) ==
                UFX_INPROGRESS);
        REQUIRE(pair.wait([&] { return put.done(); }));
        CHECK(put.result == UFX_OK);
    });
}

TEST_CASE("uct: a failure of one ep leaves its siblings alone", "[conformance][error]")
{
    for_each_transport(basic, [](const uct_resource &resource) {
        uct_pair pair(resource);
        const auto second = pair.connect();
        counted canceled;
        ufx_status_t status = ufx_uct_ep_flush(pair.ep, UFX_UCT_FLUSH_CANCEL, &canceled);
        REQUIRE(status == UFX_INPROGRESS);
        REQUIRE(pair.wait([&] { return canceled.done(); }));
        pair.turn(20);
        CHECK(state_of(second.a) == UFX_UCT_EP_LIVE);
        remote_memory target(pair, 64);
        local_memory data(pair, 64);
        ufx_uct_iov_t iov = data.iov(0, 64);
        counted put;
        REQUIRE(ufx_uct_ep_put_zcopy(second.a, &iov, 1, target.addr(), target.rkey, &put) ==
                UFX_INPROGRESS);
        REQUIRE(pair.wait([&] { return put.done(); }));
        CHECK(put.result == UFX_OK);
    });
}

// SPDX-License-Identifier: BSD-3-Clause
// Conformance: an ep fails; handler, refusal, completion of what was outstanding.
#include "harness.h"

#include <catch2/catch.hpp>
#include <cstring>

using namespace ufx::test;

namespace {

constexpr uint64_t basic = UFX_UCT_CAP_SET_LINK | UFX_UCT_CAP_PUT_ZCOPY;

// Three puts that share a completion; then the link of the peer's side goes.
struct cut_pair : uct_pair {
    explicit cut_pair(const uct_resource &resource) : uct_pair(resource) {}

    ufx_status_t put(ufx_uct_ep_h over, ufx_uct_completion_t *comp)
    {
        ufx_uct_iov_t iov = data.iov(0, 64);
        return ufx_uct_ep_put_zcopy(over, &iov, 1, target.addr(), target.rkey, comp);
    }

    // Three puts that do not end well. A device that applies them while they are posted has to be
    // cut before; where the other side is told of a cut at once, that would refuse them.
    void post_and_cut()
    {
        const bool cut_first = applies_while_posting();
        if (cut_first) {
            REQUIRE(ufx_uct_iface_set_link(b().iface, 0) == UFX_OK);
        }
        for (int i = 0; i < 3; ++i) {
            REQUIRE(put(ep, &puts) == UFX_INPROGRESS);
        }
        if (!cut_first) {
            REQUIRE(ufx_uct_iface_set_link(b().iface, 0) == UFX_OK);
        }
    }

    bool applies_while_posting()
    {
        data.fill(7);
        counted probe;
        REQUIRE(put(ep, &probe) == UFX_INPROGRESS);
        const bool applied = std::memcmp(target.bytes, data.bytes.data(), 64) == 0;
        REQUIRE(wait([&] { return probe.done(); }));
        return applied;
    }

    void check_works(ufx_uct_ep_h over)
    {
        counted done;
        REQUIRE(put(over, &done) == UFX_INPROGRESS);
        REQUIRE(wait([&] { return done.done(); }));
        CHECK(done.result == UFX_OK);
    }

    remote_memory target{*this, 64};
    local_memory data{*this, 64};
    counted puts{3};
};

} // namespace

TEST_CASE("uct: without IN_PROGRESS everything outstanding fails exactly once",
          "[conformance][error][M07]")
{
    for_each_transport(basic, [](const uct_resource &resource) {
        cut_pair pair(resource);
        ufx_status_t post_in_handler = UFX_OK;
        int calls_before_handler = -1;
        pair.a().on_error = [&](ufx_uct_ep_h ep) {
            post_in_handler = pair.put(ep, nullptr);
            calls_before_handler = pair.puts.calls;
        };
        pair.post_and_cut();
        REQUIRE(pair.wait([&] { return pair.a().errors != 0; }));
        REQUIRE(pair.wait([&] { return pair.puts.done(); }));
        CHECK(pair.a().failed_ep == pair.ep);
        CHECK(pair.a().error_status < 0);
        CHECK(pair.a().error_cause != UFX_UCT_CAUSE_NONE);
        // Order: posts were refused first, then the user was told, then the ledger failed.
        CHECK(post_in_handler < 0);
        CHECK(post_in_handler != UFX_ERR_NO_RESOURCE);
        CHECK(calls_before_handler == 0);
        CHECK(pair.puts.result == pair.a().error_status);
        CHECK(state_of(pair.ep) == UFX_UCT_EP_DEAD);
        CHECK(outstanding(pair.ep) == 0);
        pair.turn(50);
        CHECK(pair.puts.calls == 1);
        CHECK(pair.a().errors == 1);
        CHECK(pair.put(pair.ep, &pair.puts) == pair.a().error_status);
        CHECK(ufx_uct_ep_flush(pair.ep, UFX_UCT_FLUSH_LOCAL, &pair.puts) == pair.a().error_status);
        CHECK(pair.a().stats().failed == 3);
    });
}

TEST_CASE("uct: with IN_PROGRESS everything outstanding is kept", "[conformance][error]")
{
    for_each_transport(basic | UFX_UCT_CAP_PURGE, [](const uct_resource &resource) {
        cut_pair pair(resource);
        pair.a().error_answer = UFX_INPROGRESS;
        pair.post_and_cut();
        REQUIRE(pair.wait([&] { return pair.a().errors != 0; }));
        pair.turn(50);
        CHECK(pair.puts.calls == 0);
        CHECK(state_of(pair.ep) == UFX_UCT_EP_DEFERRED);
        CHECK(outstanding(pair.ep) == 3);
        CHECK(pair.put(pair.ep, &pair.puts) == pair.a().error_status);

        // U03: CANCEL ends what no completion will ever come for.
        counted canceled;
        REQUIRE(ufx_uct_ep_flush(pair.ep, UFX_UCT_FLUSH_CANCEL, &canceled) == UFX_INPROGRESS);
        REQUIRE(pair.wait([&] { return canceled.done(); }));
        CHECK(pair.puts.calls == 1);
        CHECK(pair.puts.result == UFX_ERR_CANCELED);
        CHECK(state_of(pair.ep) == UFX_UCT_EP_DEAD);
    });
}

TEST_CASE("uct: a cancel that waits when the error comes still ends", "[conformance][error][U03]")
{
    for_each_transport(basic, [](const uct_resource &resource) {
        cut_pair pair(resource);
        counted canceled;
        pair.a().error_answer = UFX_INPROGRESS;
        pair.post_and_cut();
        REQUIRE(ufx_uct_ep_flush(pair.ep, UFX_UCT_FLUSH_CANCEL, &canceled) == UFX_INPROGRESS);
        REQUIRE(pair.wait([&] { return canceled.done(); }));
        CHECK(pair.puts.calls == 1);
        CHECK(state_of(pair.ep) == UFX_UCT_EP_DEAD); // deferral did not start
    });
}

TEST_CASE("uct: a cancel ends what a failed ep has kept, once", "[conformance][error][U03]")
{
    for_each_transport(basic | UFX_UCT_CAP_PURGE, [](const uct_resource &resource) {
        cut_pair pair(resource);
        pair.a().error_answer = UFX_INPROGRESS;
        pair.post_and_cut();
        REQUIRE(pair.wait([&] { return pair.a().errors != 0; }));
        REQUIRE(state_of(pair.ep) == UFX_UCT_EP_DEFERRED);
        counted canceled;
        if (ufx_uct_ep_flush(pair.ep, UFX_UCT_FLUSH_CANCEL, &canceled) == UFX_INPROGRESS) {
            REQUIRE(pair.wait([&] { return canceled.done(); }));
        }
        pair.turn(20);
        CHECK(pair.puts.calls == 1);
        CHECK(pair.puts.result < 0);
        CHECK(outstanding(pair.ep) == 0);
        CHECK(state_of(pair.ep) == UFX_UCT_EP_DEAD);
    });
}

TEST_CASE("uct: an ep may be destroyed in its own error handler", "[conformance][error]")
{
    for_each_transport(basic, [](const uct_resource &resource) {
        cut_pair pair(resource);
        pair.a().on_error = [&](ufx_uct_ep_h) { pair.destroy_eps(); };
        pair.post_and_cut();
        REQUIRE(pair.wait([&] { return pair.a().errors != 0; }));
        pair.turn(20);
        CHECK(pair.puts.calls == 0); // dropped
        CHECK(pair.a().stats().eps == 0);
    });
}

TEST_CASE("uct: destroying a deferred ep releases everything", "[conformance][error][U04][U12]")
{
    for_each_transport(basic | UFX_UCT_CAP_PURGE, [](const uct_resource &resource) {
        cut_pair pair(resource);
        pair.a().error_answer = UFX_INPROGRESS;
        pair.post_and_cut();
        REQUIRE(pair.wait([&] { return pair.a().errors != 0; }));
        REQUIRE(state_of(pair.ep) == UFX_UCT_EP_DEFERRED);
        pair.destroy_eps();
        pair.turn(20);
        const ufx_uct_iface_stats_t stats = pair.a().stats();
        CHECK(stats.eps == 0);
        CHECK(stats.outstanding_ops == 0);
        CHECK(pair.puts.calls == 0);
    });
}

TEST_CASE("uct: the link goes and comes, and new eps work", "[conformance][error]")
{
    for_each_transport(basic, [](const uct_resource &resource) {
        cut_pair pair(resource);
        REQUIRE(ufx_uct_iface_set_link(pair.b().iface, 0) == UFX_OK);
        // Some transports learn of it by what they send only.
        static_cast<void>(ufx_uct_ep_check(pair.ep, nullptr));
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
        pair.check_works(fresh.a);
    });
}

TEST_CASE("uct: a failure of one ep leaves its siblings alone", "[conformance][error]")
{
    for_each_transport(basic, [](const uct_resource &resource) {
        cut_pair pair(resource);
        const auto second = pair.connect();
        counted canceled;
        ufx_status_t status = ufx_uct_ep_flush(pair.ep, UFX_UCT_FLUSH_CANCEL, &canceled);
        REQUIRE(status == UFX_INPROGRESS);
        REQUIRE(pair.wait([&] { return canceled.done(); }));
        pair.turn(20);
        CHECK(state_of(second.a) == UFX_UCT_EP_LIVE);
        pair.check_works(second.a);
    });
}

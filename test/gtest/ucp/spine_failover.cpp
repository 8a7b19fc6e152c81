// SPDX-License-Identifier: BSD-3-Clause
// Rails that die and come back under traffic, over tcp on loopback.
#include "spine_traffic.h"

#include "ucp/control_path.h"
#include "ucp/core/control_msg.h"

#include "ucs/bytes.h"
#include "ucs/fake_clock.h"
#include "ucs/fd.h"

#include <netinet/in.h>
#include <sys/socket.h>

namespace ufx::test {

TEST_CASE("ucp: a rail is cut under traffic: sealed, purged, replayed, nothing lost or doubled",
          "[rails][spine][tcp][X05]")
{
    pair p(quick_rails());
    traffic t(p);
    REQUIRE(t.run_until([&] { return t.completed() > 200 && rail_of(p.a, 0).outstanding > 0; }));
    p.set_link(p.a, "rail0", false);
    p.set_link(p.b, "rail0", false);
    const std::uint64_t at_cut = t.completed();
    REQUIRE(t.run_until([&] { return t.completed() > at_cut + 500; }));
    REQUIRE(t.finish());
    CHECK(t.verify());
    const ufx_ucp_failover_stats_t stats = p.failover(p.a);
    CHECK(stats.switches > 0);
    CHECK(stats.last_start_ns != 0);
    CHECK(state_of(p.a, 0) != UFX_UCP_RAIL_UP);
    CHECK(state_of(p.a, 1) == UFX_UCP_RAIL_UP);

    p.set_link(p.a, "rail0", true);
    p.set_link(p.b, "rail0", true);
    REQUIRE(p.until([&] { return state_of(p.a, 0) == UFX_UCP_RAIL_UP && p.all_lanes_live(); }));
    const std::uint64_t before = posted_on(p.a, 0);
    REQUIRE(t.run_until([&] { return posted_on(p.a, 0) > before + 50; }));
    REQUIRE(t.finish());
    CHECK(t.verify());
    CHECK(settled(p));
}

TEST_CASE("tcp: a lane that dies idle is no switch of traffic", "[spine][tcp]")
{
    pair p(quick_rails());
    REQUIRE(p.until([&] { return settled(p); }));
    p.set_link(p.a, "rail0", false);
    p.set_link(p.b, "rail0", false);
    REQUIRE(p.until([&] {
        return state_of(p.a, 0) == UFX_UCP_RAIL_DOWN && state_of(p.b, 0) == UFX_UCP_RAIL_DOWN;
    }));
    for (const auto *side : {&p.a, &p.b}) {
        CHECK(p.failover(*side).switches == 0);
        CHECK(p.failover(*side).frozen == 0);
    }
}

TEST_CASE("ucp: all rails die and one comes back: everything queued is done",
          "[rails][spine][tcp][X05]")
{
    pair p(quick_rails());
    traffic t(p);
    REQUIRE(t.run_until([&] { return t.completed() > 100; }));
    for (const char *rail : {"rail0", "rail1"}) {
        p.set_link(p.a, rail, false);
        p.set_link(p.b, rail, false);
    }
    REQUIRE(p.until([&] {
        return state_of(p.a, 0) != UFX_UCP_RAIL_UP && state_of(p.a, 1) != UFX_UCP_RAIL_UP;
    }));
    t.post_some();
    CHECK(p.a.events.empty());
    p.set_link(p.a, "rail1", true);
    p.set_link(p.b, "rail1", true);
    REQUIRE(t.finish());
    CHECK(t.verify());
    CHECK(p.a.events.empty());
    CHECK(p.b.events.empty());
}

TEST_CASE("ucp: the second rail dies while the first one's fragments are replayed",
          "[rails][spine][tcp][X05]")
{
    pair p(quick_rails());
    traffic t(p);
    REQUIRE(t.run_until([&] { return t.completed() > 100; }));
    p.set_link(p.a, "rail0", false);
    t.post_some();
    p.progress();
    p.set_link(p.b, "rail1", false);
    REQUIRE(p.until([&] { return !ucp::ep::of(p.a.ep).has_open_lane(); }));
    p.set_link(p.a, "rail0", true);
    p.set_link(p.b, "rail1", true);
    REQUIRE(t.finish());
    CHECK(t.verify());
    REQUIRE(p.until([&] { return settled(p); }));
}

TEST_CASE("ucp: local 0 and remote 1 are left: that crossed pair is wired",
          "[rails][spine][tcp][X05]")
{
    pair p(quick_rails());
    traffic t(p);
    REQUIRE(t.run_until([&] { return t.completed() > 100; }));
    p.set_link(p.a, "rail1", false);
    p.set_link(p.b, "rail0", false);
    const std::uint64_t before = t.completed();
    REQUIRE(t.run_until([&] { return t.completed() > before + 500; }));
    CHECK(p.a.events.empty());
    p.set_link(p.a, "rail1", true);
    p.set_link(p.b, "rail0", true);
    REQUIRE(t.finish());
    CHECK(t.verify());
    REQUIRE(p.until([&] { return settled(p); }));
}

TEST_CASE("tcp: the control connection's own rail dies: seals arrive by another address",
          "[spine][tcp][X21]")
{
    pair p(quick_rails());
    auto &control = ucp::worker::of(p.a.worker).control();
    const std::uint64_t b = ufx_ucp_worker_uuid(p.b.worker);
    REQUIRE(p.until([&] { return control.open_connections(b) == 1; }));
    traffic t(p);
    REQUIRE(t.run_until([&] { return t.completed() > 100; }));
    // Both ends of one rail, and with it whichever connection used its addresses.
    for (const unsigned index : {0U, 1U}) {
        const char *rail = index == 0 ? "rail0" : "rail1";
        const std::uint64_t before = t.completed();
        p.set_link(p.a, rail, false);
        p.set_link(p.b, rail, false);
        REQUIRE(t.run_until([&] { return t.completed() > before + 100; }));
        // Drained: each side has the other's SEAL.
        REQUIRE(t.run_until([&] {
            return state_of(p.a, index) == UFX_UCP_RAIL_DOWN &&
                   state_of(p.b, index) == UFX_UCP_RAIL_DOWN;
        }));
        p.set_link(p.a, rail, true);
        p.set_link(p.b, rail, true);
        REQUIRE(t.run_until([&] { return p.all_lanes_live(); }));
    }
    REQUIRE(t.finish());
    CHECK(t.verify());
    REQUIRE(p.until([&] { return settled(p) && control.open_connections(b) == 1; }));
}

TEST_CASE("tcp: a rail that comes back on another port is used there, and the peer is told",
          "[spine][tcp]")
{
    pair p(quick_rails());
    traffic t(p);
    REQUIRE(t.run_until([&] { return t.completed() > 100; }));
    auto &b = ucp::worker::of(p.b.worker);
    const auto address_at_a = [&] {
        return ucp::worker::of(p.a.worker).peers().at(0)->address().rails.at(0).iface_addr;
    };
    const std::vector<std::uint8_t> old = b.rails()[0]->read_address().iface_addr;
    CHECK(address_at_a() == old);
    p.set_link(p.b, "rail0", false);
    REQUIRE(t.run_until([&] { return state_of(p.a, 0) == UFX_UCP_RAIL_DOWN; }));
    sockaddr_in taken{}; // by another process
    taken.sin_family = AF_INET;
    taken.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    taken.sin_port = htons(ucs::load_le16(old.data()));
    const ucs::fd thief(::socket(AF_INET, SOCK_STREAM, 0));
    const int one = 1;
    (void)::setsockopt(thief.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    REQUIRE(::bind(thief.get(), reinterpret_cast<sockaddr *>(&taken), sizeof(taken)) == 0);
    REQUIRE(::listen(thief.get(), 1) == 0);
    p.set_link(p.b, "rail0", true);
    REQUIRE(t.run_until([&] { return address_at_a() != old; }));
    CHECK(address_at_a() == b.rails()[0]->read_address().iface_addr);
    REQUIRE(t.run_until([&] { return state_of(p.a, 0) == UFX_UCP_RAIL_UP && p.all_lanes_live(); }));
    const std::uint64_t before = posted_on(p.a, 0);
    REQUIRE(t.run_until([&] { return posted_on(p.a, 0) > before + 50; }));
    REQUIRE(t.finish());
    CHECK(t.verify());
}

TEST_CASE("ucp: an administrative drain fails nothing, and resume brings the rail back",
          "[rails][spine][tcp]")
{
    pair p(quick_rails());
    traffic t(p);
    REQUIRE(t.run_until([&] { return t.completed() > 100; }));
    REQUIRE(ufx_ucp_rail_drain(p.a.worker, "rail1") == UFX_OK);
    REQUIRE(t.run_until([&] {
        return state_of(p.a, 1) == UFX_UCP_RAIL_DOWN && state_of(p.b, 1) == UFX_UCP_RAIL_DOWN;
    }));
    CHECK(p.failover(p.a).replayed == 0);
    for (side *each : {&p.a, &p.b}) {
        ufx_ucp_rail_attr_t rails[UFX_UCP_RAILS_MAX] = {};
        size_t count = UFX_UCP_RAILS_MAX;
        REQUIRE(ufx_ucp_worker_query_rails(each->worker, rails, &count) == UFX_OK);
        CHECK(rails[1].failures == 0);
        CHECK(rails[1].drained == 1);
        CHECK(rails[1].cause == std::string("ADMIN"));
        CHECK((rails[0].drained == 0 && rails[0].peers == 1));
        CHECK(rails[0].cause == std::string("WIRED"));
    }
    const std::uint64_t posted = posted_on(p.a, 1);
    const std::uint64_t before = t.completed();
    REQUIRE(t.run_until([&] { return t.completed() > before + 200; }));
    CHECK(posted_on(p.a, 1) == posted);
    REQUIRE(ufx_ucp_rail_resume(p.a.worker, "rail1") == UFX_OK);
    REQUIRE(t.run_until([&] {
        return state_of(p.a, 1) == UFX_UCP_RAIL_UP && state_of(p.b, 1) == UFX_UCP_RAIL_UP;
    }));
    CHECK((rail_of(p.a, 1).drained == 0 && rail_of(p.b, 1).drained == 0));
    REQUIRE(t.run_until([&] { return posted_on(p.a, 1) > posted; }));
    REQUIRE(t.finish());
    CHECK(t.verify());
    CHECK(ufx_ucp_rail_drain(p.a.worker, "rail7") == UFX_ERR_NO_ELEM);
}

TEST_CASE("tcp: with all rails down nothing spins", "[spine][tcp][T14]")
{
    pair p(quick_rails());
    traffic t(p);
    REQUIRE(t.run_until([&] { return t.completed() > 50; }));
    for (const char *rail : {"rail0", "rail1"}) {
        p.set_link(p.a, rail, false);
        p.set_link(p.b, rail, false);
    }
    t.post_some();
    REQUIRE(p.until([&] {
        return state_of(p.a, 0) != UFX_UCP_RAIL_UP && state_of(p.a, 1) != UFX_UCP_RAIL_UP;
    }));
    std::uint64_t messages = 0;
    ucp::worker::of(p.a.worker).control().filter.copies = [&](std::uint64_t,
                                                              const ucp::core::control_msg &) {
        ++messages;
        return 1;
    };
    const std::uint64_t posted = posted_on(p.a, 0) + posted_on(p.a, 1);
    // 2 s, in which each side progresses every millisecond, as one that sleeps in between.
    ucs::fake_clock clock(ufx_ucs_time_ns());
    unsigned awake = 0;
    for (unsigned ms = 0; ms < 2000; ++ms) {
        clock.advance(ucs::ns_per_ms);
        for (unsigned turn = 0; turn < 10; ++turn) {
            p.progress();
        }
        awake += ufx_ucp_worker_arm(p.a.worker) == UFX_ERR_BUSY ? 1 : 0;
    }
    CHECK(posted_on(p.a, 0) + posted_on(p.a, 1) == posted);
    CHECK(messages < 200);
    CHECK(awake < 100);
    ucp::worker::of(p.a.worker).control().filter.copies = nullptr;
    for (const char *rail : {"rail0", "rail1"}) {
        p.set_link(p.a, rail, true);
        p.set_link(p.b, rail, true);
    }
    REQUIRE(p.until([&] {
        clock.advance(ucs::ns_per_ms / 10);
        return t.over();
    }));
    CHECK(t.verify());
}

TEST_CASE("ucp: each control message lost once, or doubled once: all ends well",
          "[rails][spine][tcp][X24]")
{
    const std::size_t kinds = std::variant_size_v<ucp::core::control_variant>;
    for (std::size_t kind = 0; kind < kinds; ++kind) {
        for (const int copies : {0, 2}) {
            CAPTURE(kind, copies);
            pair p(quick_rails());
            for (side *s : {&p.a, &p.b}) {
                ucp::worker::of(s->worker).control().filter.copies =
                    [kind, copies, hits = 0](std::uint64_t,
                                             const ucp::core::control_msg &msg) mutable {
                        return msg.index() == kind && hits++ == 0 ? copies : 1;
                    };
            }
            traffic t(p);
            REQUIRE(t.run_until([&] { return t.completed() > 20; }));
            p.set_link(p.b, "rail0", false);
            const std::uint64_t before = t.completed();
            REQUIRE(t.run_until([&] { return t.completed() > before + 20; }));
            p.set_link(p.b, "rail0", true);
            REQUIRE(t.run_until([&] { return p.all_lanes_live(); }));
            REQUIRE(ufx_ucp_rail_drain(p.a.worker, "rail1") == UFX_OK);
            REQUIRE(t.run_until([&] { return state_of(p.b, 1) == UFX_UCP_RAIL_DOWN; }));
            REQUIRE(ufx_ucp_rail_resume(p.a.worker, "rail1") == UFX_OK);
            REQUIRE(t.run_until([&] { return p.all_lanes_live(); }));
            REQUIRE(t.finish());
            CHECK(t.verify());
            REQUIRE(p.until([&] { return settled(p); }));
        }
    }
}

TEST_CASE("ucp: an ep closes in order; the peer is told after everything was delivered",
          "[rails][spine][tcp]")
{
    pair p(quick_rails());
    traffic t(p);
    REQUIRE(t.run_until([&] { return t.completed() > 50; }));
    t.post_some();
    waiter closed;
    closed.posted(ufx_ucp_ep_close(p.a.ep, UFX_UCP_CLOSE_FLUSH, &closed.params, nullptr));
    REQUIRE(p.until([&] { return closed.is_done() && !p.b.events.empty(); }));
    CHECK(closed.status == UFX_OK);
    CHECK(t.all_ok());
    CHECK(t.verify());
    CHECK(p.b.events[0].type == UFX_UCP_EP_EVENT_CLOSED_BY_PEER);
    CHECK(p.b.events.size() == 1);
}

TEST_CASE("ucp: a rail dies while an ep is closed by force: the close ends",
          "[rails][spine][tcp][X05]")
{
    pair p(quick_rails());
    traffic t(p);
    REQUIRE(t.run_until([&] { return t.completed() > 50; }));
    t.post_some();
    p.set_link(p.a, "rail0", false);
    waiter closed;
    closed.posted(ufx_ucp_ep_close(p.a.ep, UFX_UCP_CLOSE_FORCE, &closed.params, nullptr));
    REQUIRE(p.until([&] { return closed.is_done() && !p.b.events.empty(); }));
    CHECK(closed.status == UFX_OK);
    CHECK(t.each_completed_once());
}

} // namespace ufx::test

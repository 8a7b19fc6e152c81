// SPDX-License-Identifier: BSD-3-Clause
// Which pairs of ports become rails, drains that both sides ask for, and what failovers count.
#include "lone.h"
#include "spine_traffic.h"

#include "ucp/ep.h"
#include "ucp/failover_stats.h"
#include "ucp/peer.h"
#include "ucs/fake_clock.h"

#include <arpa/inet.h>

namespace ufx::test {

TEST_CASE("ports that were not matched are paired within a subnet, and only there", "[spine]")
{
    ucs::fake_clock clock(ufx_ucs_time_ns());
    lone a;
    ucp::worker_address other = a.w().make_address();
    other.uuid += GENERATE(1, -1); // either side of the pair
    auto &far = reinterpret_cast<sockaddr_in &>(other.rails.at(1).control);
    REQUIRE(inet_pton(AF_INET, "10.77.0.2", &far.sin_addr) == 1);
    other.rails[1].prefix_bits = 24;
    ucp::peer &p = **a.w().get_peer(other); // nobody is there: only its rails are looked at
    const auto pair_of = [&](unsigned own, unsigned theirs) {
        const auto near = static_cast<std::uint8_t>(own);
        const auto there = static_cast<std::uint8_t>(theirs);
        const bool starts = a.w().uuid() < other.uuid;
        return p.machine().find_rail(
            ucp::rail_id_of(starts ? ucp::port_pair{near, there} : ucp::port_pair{there, near}));
    };
    REQUIRE(pair_of(0, 0) != nullptr);
    REQUIRE(pair_of(1, 1) != nullptr); // left over, by index
    for (const unsigned own : {0u, 1u}) {
        p.port_hard(own, ucp::core::cause::PORT_DOWN);
    }
    REQUIRE_FALSE(p.machine().any_rail_up());
    p.tick();
    CHECK(pair_of(1, 0) == nullptr); // not at once
    clock.advance(p.core_cfg().holdoff_ns + 1);
    p.tick();
    CHECK(pair_of(1, 0) != nullptr);
    CHECK(pair_of(0, 1) == nullptr); // another subnet
}

TEST_CASE("a rail tells a drain, a failure and the lack of a peer apart", "[spine]")
{
    lone alone;
    const auto rail = [](ufx_ucp_worker_h worker) {
        ufx_ucp_rail_attr_t rails[2];
        std::size_t count = 2;
        REQUIRE(ufx_ucp_worker_query_rails(worker, rails, &count) == UFX_OK);
        return rails[1];
    };
    CHECK(rail(alone.handle).peers == 0);
    CHECK(rail(alone.handle).cause == std::string());
    CHECK(rail(alone.handle).state == UFX_UCP_RAIL_UP);
    REQUIRE(ufx_ucp_rail_drain(alone.handle, "rail1") == UFX_OK);
    CHECK(rail(alone.handle).drained == 1);
    CHECK(rail(alone.handle).cause == std::string("ADMIN"));
    CHECK(rail(alone.handle).state == UFX_UCP_RAIL_DOWN);
    REQUIRE(ufx_ucp_rail_resume(alone.handle, "rail1") == UFX_OK);
    CHECK(rail(alone.handle).state == UFX_UCP_RAIL_UP);

    pair p(quick_rails());
    traffic t(p);
    REQUIRE(t.run_until([&] { return t.completed() > 100; }));
    REQUIRE(ufx_ucp_rail_set_link(p.a.worker, "rail1", 0) == UFX_OK);
    REQUIRE(t.run_until([&] { return state_of(p.a, 1) == UFX_UCP_RAIL_DOWN; }));
    CHECK(rail(p.a.worker).cause == std::string("PORT_DOWN"));
    CHECK(rail(p.a.worker).drained == 0);
    CHECK(rail(p.a.worker).peers == 1);
    REQUIRE(ufx_ucp_rail_set_link(p.a.worker, "rail1", 1) == UFX_OK);
    REQUIRE(t.finish());
}

TEST_CASE("ucp: both sides drain a rail at once: nothing fails, and both have to resume it",
          "[rails][spine][tcp]")
{
    pair p(quick_rails());
    traffic t(p);
    REQUIRE(t.run_until([&] { return t.completed() > 100; }));
    for (const side *s : {&p.a, &p.b}) {
        REQUIRE(ufx_ucp_rail_drain(s->worker, "rail1") == UFX_OK);
    }
    const auto both = [&](ufx_ucp_rail_state_t state) {
        return state_of(p.a, 1) == state && state_of(p.b, 1) == state;
    };
    REQUIRE(t.run_until([&] { return both(UFX_UCP_RAIL_DOWN); }));
    CHECK(p.failover(p.a).replayed + p.failover(p.b).replayed == 0);
    for (const side *s : {&p.a, &p.b}) {
        REQUIRE(ufx_ucp_rail_resume(s->worker, "rail1") == UFX_OK);
    }
    REQUIRE(t.run_until([&] { return both(UFX_UCP_RAIL_UP); }));
    const std::uint64_t before = posted_on(p.a, 1);
    REQUIRE(t.run_until([&] { return posted_on(p.a, 1) > before; }));
    REQUIRE(t.finish());
    CHECK(t.verify());
}

TEST_CASE("failover counters: an idle lane that is sealed later, as by a drain, changes no time",
          "[spine]")
{
    ucp::failover_stats stats;
    stats.purged(50); // of an idle lane
    CHECK(stats.values().seal_ns == 0);
    stats.sealing(90, 100);
    stats.purged(130);
    stats.purged(1000); // of an idle lane
    CHECK(stats.values().detect_ns == 10);
    CHECK(stats.values().seal_ns == 30);
    stats.sealing(1990, 2000);
    stats.purged(2005);
    CHECK(stats.values().seal_ns == 5);
}

} // namespace ufx::test

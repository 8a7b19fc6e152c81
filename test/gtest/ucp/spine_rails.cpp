// SPDX-License-Identifier: BSD-3-Clause
// Which pairs of ports become rails, drains that both sides ask for, and what failovers count.
#include "lone.h"
#include "spine_traffic.h"

#include "ucp/am_wire.h"
#include "ucp/ep.h"
#include "ucp/failover_stats.h"
#include "ucp/peer.h"
#include "ucp/rail_needs.h"
#include "ucs/fake_clock.h"
#include "ucs/log_capture.h"
#include "uct/fake/fake.h"

#include <arpa/inet.h>
#include <set>

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

TEST_CASE("a transport without what failover needs is no rail, and the log names what is missing",
          "[spine]")
{
    lone a;
    const ufx_uct_iface_attr_t good = a.w().rails().at(0)->attr();
    REQUIRE(ucp::check_rail("tcp", good, 24, 100) == UFX_OK);
    const struct {
        std::uint64_t caps;
        const char *line;
    } missing[] = {
        {UFX_UCT_CAP_PURGE, "has no outstanding_purge"},
        {UFX_UCT_CAP_INVALIDATE | UFX_UCT_CAP_TOKENS, "no invalidate, iface_query_token"},
        {UFX_UCT_CAP_AM_BCOPY, "has no am_bcopy"},
        {UFX_UCT_CAP_PUT_ZCOPY | UFX_UCT_CAP_GET_ZCOPY, "no put_zcopy, get_zcopy"}};
    for (const auto &one : missing) {
        const ucs::log_capture log;
        ufx_uct_iface_attr_t attr = good;
        attr.caps &= ~one.caps;
        CHECK(ucp::check_rail("eth7", attr, 24, 100) == UFX_ERR_UNSUPPORTED);
        INFO(log.text());
        CHECK(log.count(UFX_UCS_LOG_ERROR, one.line) == 1);
    }
    const ucs::log_capture log;
    ufx_uct_iface_attr_t attr = good;
    attr.am.max_bcopy = ucp::am_header_size;
    CHECK(ucp::check_rail("eth7", attr, 24, 100) == UFX_ERR_UNSUPPORTED);
    CHECK(log.count(UFX_UCS_LOG_ERROR, "takes 64 bytes in am_bcopy") == 1);
    CHECK(ucp::check_rail("eth7", good, 24, 129) == UFX_ERR_UNSUPPORTED);
    CHECK(log.count(UFX_UCS_LOG_ERROR, "129 published; at most 128 fit") == 1);
    CHECK(ucp::check_rail("eth7", good, 129, 100) == UFX_ERR_UNSUPPORTED);
}

TEST_CASE("a worker on a device that is no rail is refused", "[spine][fake]")
{
    uct::fake::install();
    uct::fake::reset();
    uct::fake::device_options options;
    options.without_caps = UFX_UCT_CAP_PURGE;
    uct::fake::add_device("fake0", options);
    ufx_ucp_context_params_t params{};
    params.field_mask = UFX_UCP_CONTEXT_PARAM_DEVICES;
    params.devices = "fake0";
    ufx_ucp_context_h context = nullptr;
    REQUIRE(ufx_ucp_context_create(&params, &context) == UFX_OK);
    const ucs::log_capture log;
    ufx_ucp_worker_h worker = nullptr;
    CHECK(ufx_ucp_worker_create(context, nullptr, &worker) == UFX_ERR_UNSUPPORTED);
    CHECK(log.count("fake0 cannot be a rail: its transport has no outstanding_purge") == 1);
    ufx_ucp_context_destroy(context);
    uct::fake::reset();
}

TEST_CASE("every probe has a place of its own, however many peers are probed at a time", "[spine]")
{
    lone a;
    ucp::probe_memory &probes = a.w().rails().at(0)->probes();
    constexpr unsigned many = 3 * ucp::probe_memory::places_per_block;
    std::set<const std::uint8_t *> seen;
    for (unsigned i = 0; i < many; ++i) {
        const auto place = probes.take();
        REQUIRE(place);
        CHECK(*place == i);
        CHECK(seen.insert(probes.target(i)).second);
        CHECK(seen.insert(probes.scratch(i)).second);
        CHECK(probes.memh(i) != nullptr);
    }
    const std::uint8_t *before = nullptr;
    for (const std::uint8_t *at : seen) {
        CHECK((before == nullptr ||
               at - before >= static_cast<std::ptrdiff_t>(ucp::probe_memory::place_bytes)));
        before = at;
    }
    probes.give_back(70);
    probes.give_back(5);
    CHECK(probes.take().value() == 5);
    CHECK(probes.take().value() == 70);
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

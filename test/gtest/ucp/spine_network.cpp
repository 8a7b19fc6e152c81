// SPDX-License-Identifier: BSD-3-Clause
// Rails on interfaces of a network namespace, whose addresses change under traffic.
#include "spine_traffic.h"

#include "common/skip.h"
#include "ucp/address.h"
#include "ucp/context.h"
#include "ucp/worker.h"
#include "ucs/netlink_watch.h"
#include "uct/fake/fake.h"
#include "uct/tcp/own_network.h"

#include <algorithm>

namespace ufx::test {

TEST_CASE("tcp: a rail whose interface gets another address is used there", "[spine][tcp]")
{
    test_tcp::own_network network;
    if (!network.add_rail()) {
        return skip("no network namespace with a veth pair");
    }
    const auto watched = ucs::list_interfaces();
    if (!watched && watched.error() == UFX_ERR_UNSUPPORTED) {
        return skip("built without libnl");
    }
    pair_options options = quick_rails();
    options.devices = "v0,lo:127.0.0.1";
    pair p(options);
    traffic t(p);
    REQUIRE(t.run_until([&] { return t.completed() > 100; }));
    REQUIRE(network.run({"ip addr del 10.9.0.1/24 dev v0"}));
    REQUIRE(t.run_until([&] { return state_of(p.a, 0) == UFX_UCP_RAIL_DOWN; }));
    REQUIRE(network.run({"ip addr add 10.9.0.7/24 dev v0"}));
    const auto moved = [](const side &s) {
        const auto &known = ucp::worker::of(s.worker).peers().at(0)->address().rails.at(0);
        return ucp::text_of(known.control).starts_with("10.9.0.7:");
    };
    REQUIRE(t.run_until([&] { return moved(p.a) && moved(p.b); }));
    REQUIRE(t.run_until([&] { return state_of(p.a, 0) == UFX_UCP_RAIL_UP && p.all_lanes_live(); }));
    const std::uint64_t before = posted_on(p.a, 0);
    REQUIRE(t.run_until([&] { return posted_on(p.a, 0) > before + 50; }));
    REQUIRE(t.finish());
    CHECK(t.verify());
}

TEST_CASE("an address that carries a label is one of its interface", "[spine]")
{
    test_tcp::own_network network;
    if (!network.run({"ip link add v0 type veth peer name v1",
                      "ip addr add 10.9.0.1/24 dev v0 label v0:1", "ip link set v0 up"})) {
        return skip("no network namespace with a veth pair");
    }
    for (const char *name : {"v0", "v0:10.9.0.1"}) {
        const ucp::device_address found = ucp::find_device_address(name);
        CHECK(ucp::text_of(found.address) == "10.9.0.1:0");
        CHECK(found.prefix_bits == 24);
    }
}

TEST_CASE("tcp: of all devices, an interface with several addresses is one rail", "[spine][tcp]")
{
    test_tcp::own_network network;
    if (!network.add_rail() || !network.run({"ip addr add 10.9.1.1/24 dev v0"})) {
        return skip("no network namespace with a veth pair");
    }
    ufx_ucp_context_params_t params{};
    params.field_mask = UFX_UCP_CONTEXT_PARAM_DEVICES;
    const auto rails = [&](const char *devices) {
        params.devices = devices;
        ufx_ucp_context_h context = nullptr;
        REQUIRE(ufx_ucp_context_create(&params, &context) == UFX_OK);
        std::vector<std::string> names;
        for (const ucp::device &d : ucp::context::of(context).devices()) {
            if (d.transport == "tcp") {
                names.push_back(d.name);
            }
        }
        ufx_ucp_context_destroy(context);
        std::sort(names.begin(), names.end());
        return names;
    };
    CHECK(rails("all") == std::vector<std::string>{"v0", "v1"});
    CHECK(rails("v0:10.9.0.1,v0:10.9.1.1").size() == 2); // each is one if it is named
}

// Both would be a rail each, and large transfers would be cut for two cables.
TEST_CASE("ucp: of all devices, an RDMA port and its network interface are one rail", "[spine]")
{
    namespace fake = uct::fake;
    test_tcp::own_network network;
    if (!network.add_rail()) {
        return skip("no network namespace with a veth pair");
    }
    fake::install();
    fake::add_device("port0", {.netdev = "v0"});
    ufx_ucp_context_params_t params{};
    params.field_mask = UFX_UCP_CONTEXT_PARAM_DEVICES;
    const auto rails = [&](const char *devices) {
        params.devices = devices;
        ufx_ucp_context_h context = nullptr;
        REQUIRE(ufx_ucp_context_create(&params, &context) == UFX_OK);
        std::vector<std::string> names;
        for (const ucp::device &d : ucp::context::of(context).devices()) {
            names.push_back(d.name);
        }
        ufx_ucp_context_destroy(context);
        return names;
    };
    const auto has = [](const std::vector<std::string> &names, const char *name) {
        return std::find(names.begin(), names.end(), name) != names.end();
    };
    const auto by_default = rails("all");
    CHECK(has(by_default, "port0"));
    CHECK(has(by_default, "v1"));
    CHECK(!has(by_default, "v0"));
    CHECK(rails("v0,port0") == std::vector<std::string>{"v0", "port0"});
    fake::reset();
}

TEST_CASE("ucp: an RDMA port has its control connections by its network interface", "[spine]")
{
    namespace fake = uct::fake;
    test_tcp::own_network network;
    if (!network.add_rail()) {
        return skip("no network namespace with a veth pair");
    }
    fake::install();
    fake::add_device("port0", {.netdev = "v0"});
    fake::add_device("port1", {});
    ufx_ucp_context_params_t params{};
    params.field_mask = UFX_UCP_CONTEXT_PARAM_DEVICES;
    params.devices = "port0,port1";
    ufx_ucp_context_h context = nullptr;
    REQUIRE(ufx_ucp_context_create(&params, &context) == UFX_OK);
    ufx_ucp_worker_h worker = nullptr;
    REQUIRE(ufx_ucp_worker_create(context, nullptr, &worker) == UFX_OK);
    const ucp::worker_address address = ucp::worker::of(worker).make_address();
    REQUIRE(address.rails.size() == 2);
    CHECK(ucp::text_of(address.rails[0].control).starts_with("10.9.0.1:"));
    CHECK(address.rails[0].prefix_bits == 24);
    CHECK(ucp::text_of(address.rails[1].control).starts_with("127.0.0.1:"));
    CHECK(address.rails[1].prefix_bits == 0);
    ufx_ucp_worker_destroy(worker);
    ufx_ucp_context_destroy(context);
    fake::reset();
}

} // namespace ufx::test

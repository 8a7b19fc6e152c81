// SPDX-License-Identifier: BSD-3-Clause
// Routes of the kernel, in a network namespace of the test's own.
#include "ucs/route.h"

#include "common/skip.h"
#include "ucs/netlink_watch.h"
#include "uct/tcp/own_network.h"

#include <arpa/inet.h>
#include <array>
#include <catch2/catch.hpp>
#include <string>

using namespace ufx;
using ucs::route_state;

namespace {

route_state ask(const char *interface, const char *from, const char *to)
{
    const bool is_6 = std::string(to).find(':') != std::string::npos;
    const size_t size = is_6 ? 16 : 4;
    std::array<std::byte, 16> bytes[2] = {};
    REQUIRE(::inet_pton(is_6 ? AF_INET6 : AF_INET, from, &bytes[0]) == 1);
    REQUIRE(::inet_pton(is_6 ? AF_INET6 : AF_INET, to, &bytes[1]) == 1);
    return ucs::find_route(interface, std::span(bytes[0]).first(size),
                           std::span(bytes[1]).first(size));
}

} // namespace

TEST_CASE("a route is there if the tables lead to an address by that interface")
{
    if (const auto all = ucs::list_interfaces(); !all && all.error() == UFX_ERR_UNSUPPORTED) {
        return test::skip("built without libnl");
    }
    test_tcp::own_network network;
    if (!network.run({"ip link set lo up", "ip link add v0 type veth peer name w0",
                      "ip link add v1 type veth peer name w1", "ip addr add 10.9.0.1/24 dev v0",
                      "ip addr add 10.9.1.1/24 dev v1", "ip link set v0 up", "ip link set w0 up",
                      "ip link set v1 up", "ip link set w1 up"})) {
        return test::skip("no network namespace with veth pairs");
    }
    CHECK(ask("v0", "10.9.0.1", "10.9.0.77") == route_state::there);
    CHECK(ask("v1", "10.9.1.1", "10.9.0.77") == route_state::none);
    CHECK(ask("v0", "10.9.0.1", "10.20.0.1") == route_state::none);
    CHECK(ask("v0", "10.9.0.1", "10.9.0.1") == route_state::there); // itself
    CHECK(ask("v7", "10.9.0.1", "10.9.0.77") == route_state::unknown);
    REQUIRE(network.run({"ip route add 10.20.0.0/16 via 10.9.0.254"}));
    CHECK(ask("v0", "10.9.0.1", "10.20.0.1") == route_state::there);
    CHECK(ask("v1", "10.9.1.1", "10.20.0.1") == route_state::none);
    REQUIRE(network.run({"ip route add unreachable 10.20.7.0/24"}));
    CHECK(ask("v0", "10.9.0.1", "10.20.7.1") == route_state::none);
    // By the own address.
    REQUIRE(network.run(
        {"ip route add 10.30.0.0/16 via 10.9.1.254 table 7", "ip rule add from 10.9.1.1 table 7"}));
    CHECK(ask("v1", "10.9.1.1", "10.30.0.1") == route_state::there);
    CHECK(ask("v0", "10.9.0.1", "10.30.0.1") == route_state::none);
    if (network.run({"ip -6 addr add fd00:1::1/64 dev v0 nodad"})) {
        CHECK(ask("v0", "fd00:1::1", "fd00:1::7") == route_state::there);
        CHECK(ask("v0", "fd00:1::1", "fd00:2::7") == route_state::none);
    }
}

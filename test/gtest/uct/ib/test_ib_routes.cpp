// SPDX-License-Identifier: BSD-3-Clause
// A RoCE peer is reachable if the kernel has a route to it by the port's network interface.
#include "rc_rig.h"
#include "verbs_calls.h"

#include "common/skip.h"
#include "ucs/fake_clock.h"
#include "ucs/netlink_watch.h"
#include "uct/ib/common/address.h"
#include "uct/ib/common/known_routes.h"
#include "uct/tcp/own_network.h"

#include <array>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <net/if.h>
#include <string>

using namespace ufx::test;
namespace ib = ufx::uct::ib;
using ufx::test_tcp::own_network;

namespace {

using gid = ib::known_routes::gid;

gid ipv4(uint8_t a, uint8_t b, uint8_t c, uint8_t d)
{
    gid made{};
    made[10] = made[11] = std::byte{0xff};
    made[12] = std::byte{a};
    made[13] = std::byte{b};
    made[14] = std::byte{c};
    made[15] = std::byte{d};
    return made;
}

bool has_libnl()
{
    const auto all = ufx::ucs::list_interfaces();
    return all || all.error() != UFX_ERR_UNSUPPORTED;
}

} // namespace

TEST_CASE("ib: a RoCE peer is reachable by a route; the kernel is asked again after a second")
{
    own_network network;
    if (!has_libnl() || !network.add_rail()) {
        return skip("no libnl, or no network namespace with a veth pair");
    }
    ufx::ucs::fake_clock clock;
    ib::known_routes routes;
    ib::gid_entry from{
        .index = 0, .type = ib::gid_type::roce_v2, .gid = ipv4(10, 9, 0, 1), .netdev = "v0"};
    const gid neighbour = ipv4(10, 9, 0, 7);
    const gid remote = ipv4(10, 20, 0, 1);
    CHECK(routes.has(from, neighbour));
    CHECK(!routes.has(from, remote));
    REQUIRE(network.run({"ip route add 10.20.0.0/16 via 10.9.0.7", "ip link set v1 up"}));
    CHECK(!routes.has(from, remote)); // nobody was asked
    clock.advance(ufx::ucs::ns_per_sec);
    CHECK(routes.has(from, remote));
    REQUIRE(network.run({"ip route del 10.20.0.0/16"}));
    CHECK(routes.has(from, remote));
    from.gid = ipv4(10, 9, 0, 2); // another own address: asked for itself
    CHECK(!routes.has(from, remote));
    gid link_local{};
    link_local[0] = std::byte{0xfe};
    link_local[1] = std::byte{0x80};
    CHECK(routes.has(from, link_local));
    for (const char *netdev : {"", "lo", "gone"}) {
        from.netdev = netdev;
        from.gid = ipv4(10, 9, 0, 3);
        CHECK(ib::known_routes().has(from, remote));
    }
}

TEST_CASE("rc: a port connects to no peer to which its network interface has no route", "[.][hca]")
{
    own_network network;
    if (!has_libnl() || !network.add_rail()) {
        return skip("no libnl, or no network namespace with a veth pair");
    }
    for_each_rc([&](const uct_resource &resource) {
        set_netdev(::if_nametoindex("v0"));
        for (const char *asks : {"y", "n"}) {
            ::setenv("UFX_IB_ROCE_ROUTES", asks, 1);
            uct_pair pair(resource, nullptr, false);
            const auto own = ib::unpack_port(pair.a().device_address().data());
            REQUIRE(own);
            const std::string add =
                "ip addr replace " + std::string(ib::gid_text(own->gid).data()) + "/24 dev v0";
            REQUIRE(network.run({add.c_str()}));
            ib::port_address peer = *own;
            peer.gid = ipv4(203, 0, 113, 7);
            std::vector<std::byte> there(ib::port_address::packed_size);
            ib::pack(peer, there.data());
            const bool is_reachable =
                ufx_uct_iface_is_reachable(pair.a().iface, there.data(), nullptr) != 0;
            CHECK(is_reachable == (*asks == 'n'));
            ufx_uct_ep_h ep = nullptr;
            REQUIRE(ufx_uct_ep_create(pair.a().iface, nullptr, &ep) == UFX_OK);
            std::vector<std::byte> ep_address(pair.a().attr.ep_addr_len);
            REQUIRE(ufx_uct_ep_get_address(ep, ep_address.data()) == UFX_OK);
            if (*asks == 'y') {
                CHECK(ufx_uct_ep_connect_to_ep(ep, there.data(), nullptr, ep_address.data()) ==
                      UFX_ERR_NET_UNREACHABLE);
            }
            ufx_uct_ep_destroy(ep);
            const auto neighbour = pair.b().device_address();
            CHECK(ufx_uct_iface_is_reachable(pair.a().iface, neighbour.data(), nullptr) != 0);
        }
        ::unsetenv("UFX_IB_ROCE_ROUTES");
        set_netdev(0);
    });
}

// SPDX-License-Identifier: BSD-3-Clause
// Devices: what is listed, how opening fails, and what happens to a link in a network namespace.
#include "own_network.h"
#include "raw_peer.h"

#include "common/skip.h"
#include "ucs/fd.h"
#include "ucs/log_capture.h"
#include "ucs/netlink_watch.h"
#include "uct/tcp/device.h"
#include "uct/tcp/socket.h"

#include <netinet/tcp.h>

#include <algorithm>

using namespace ufx::test_tcp;
namespace tcp = ufx::uct::tcp;

namespace {

ufx_status_t open_status(const char *dev, const tcp_settings &settings = {})
{
    const ufx_uct_component_t *component = nullptr;
    REQUIRE(ufx_uct_find_component("tcp", &component) == UFX_OK);
    ufx_uct_md_h md = nullptr;
    REQUIRE(ufx_uct_md_open(component, "tcp", nullptr, &md) == UFX_OK);
    ufx_uct_iface_params_t params{};
    params.field_mask =
        UFX_UCT_IFACE_PARAM_TL_NAME | UFX_UCT_IFACE_PARAM_DEV_NAME | UFX_UCT_IFACE_PARAM_CONFIG;
    params.tl_name = "tcp";
    params.dev_name = dev;
    params.config = settings.data();
    params.config_count = settings.size();
    ufx_uct_iface_h iface = nullptr;
    ufx_status_t status = ufx_uct_iface_open(md, &params, &iface);
    if (status == UFX_OK) {
        ufx_uct_iface_close(iface);
    }
    ufx_uct_md_close(md);
    return status;
}

uint16_t port_of(tcp_side &side)
{
    std::array<uint8_t, 4> address = side.iface_address();
    return static_cast<uint16_t>(address[0] | address[1] << 8);
}

} // namespace

TEST_CASE("tcp: every address of an interface that is up is a device", "[tcp]")
{
    auto devices = tcp::list_devices();
    REQUIRE(devices);
    REQUIRE(!devices->empty());
    bool loopback = false;
    for (const tcp::device &one : *devices) {
        CHECK(one.index > 0);
        CHECK((one.name == one.interface || one.name == one.interface + ":" + one.ip.text()));
        CHECK(tcp::find_device(one.name));
        loopback = loopback || (one.loopback && one.name == "lo");
    }
    CHECK(loopback);
}

TEST_CASE("tcp: a device that cannot be opened is named in one clear message", "[tcp]")
{
    ufx::ucs::log_capture log;
    CHECK(open_status("nosuch0") == UFX_ERR_NO_DEVICE);
    CHECK(log.count(UFX_UCS_LOG_ERROR, "no interface 'nosuch0'") == 1);
    CHECK(open_status("lo:10.1.2.3") == UFX_ERR_NO_DEVICE);
    CHECK(log.count(UFX_UCS_LOG_ERROR, "does not have the address 10.1.2.3") == 1);
    CHECK(open_status("lo:banana") == UFX_ERR_NO_DEVICE);
    CHECK(log.count(UFX_UCS_LOG_ERROR, "'banana' is no IP address") == 1);
    CHECK(log.count(UFX_UCS_LOG_ERROR) == 3);
}

TEST_CASE("tcp: the listener takes a free port of its range, and says when there is none", "[tcp]")
{
    tcp_side first("lo:127.0.0.1");
    std::string port = std::to_string(port_of(first));
    ufx::ucs::log_capture log;
    CHECK(open_status("lo:127.0.0.1", {{"TCP_PORT_RANGE", port.c_str()}}) == UFX_ERR_BUSY);
    CHECK(log.count(UFX_UCS_LOG_ERROR, "no free port to listen on in " + port) == 1);
    if (port_of(first) < 65500) {
        std::string range = port + "-" + std::to_string(port_of(first) + 20);
        tcp_side second("lo:127.0.0.1", {{"TCP_PORT_RANGE", range.c_str()}});
        CHECK(port_of(second) > port_of(first));
        CHECK(port_of(second) <= port_of(first) + 20);
    }
    CHECK(open_status("lo:127.0.0.1", {{"TCP_PORT_RANGE", "5-x"}}) == UFX_OK);
    CHECK(log.count(UFX_UCS_LOG_WARN, "UFX_TCP_PORT_RANGE='5-x'") == 1);
    CHECK(open_status("lo:127.0.0.1", {{"TCP_SEG_SIZE", "1"}}) == UFX_ERR_INVALID_PARAM);
    CHECK(open_status("lo:127.0.0.1", {{"TCP_NO_SUCH", "1"}}) == UFX_ERR_INVALID_PARAM);
}

TEST_CASE("tcp: a restored link listens on another port if its own was taken, and says so", "[tcp]")
{
    tcp_pair pair;
    uint16_t old = port_of(pair.b);
    REQUIRE(ufx_uct_iface_set_link(pair.b.iface, 0) == UFX_OK);
    pair.until([&] { return pair.b.events.size() == 1 && !pair.a.errors.empty(); });
    auto device = tcp::find_device("lo:127.0.0.2");
    REQUIRE(device);
    auto thief = tcp::listen_on(*device, tcp::config{}, {old, old});
    REQUIRE(thief);

    ufx::ucs::log_capture log;
    REQUIRE(ufx_uct_iface_set_link(pair.b.iface, 1) == UFX_OK);
    CHECK(log.count(UFX_UCS_LOG_ERROR) == 0);
    CHECK(port_of(pair.b) != old);
    CHECK(pair.b.events.size() == 1); // callbacks run from progress
    pair.until([&] { return pair.b.events.size() == 3; });
    CHECK(pair.b.events[1].type == UFX_UCT_IFACE_ADDR_CHANGED);
    CHECK(pair.b.events[1].cause == UFX_UCT_CAUSE_NONE);
    CHECK(pair.b.events[2].type == UFX_UCT_IFACE_PORT_UP);
    for (int i = 0; i < 8; i++) { // whichever side connects
        ufx_uct_ep_h to_b = nullptr;
        ufx_uct_ep_h to_a = nullptr;
        pair.connect(to_b, to_a);
    }

    // From now on the new port is its own.
    uint16_t fresh = port_of(pair.b);
    REQUIRE(ufx_uct_iface_set_link(pair.b.iface, 0) == UFX_OK);
    REQUIRE(ufx_uct_iface_set_link(pair.b.iface, 1) == UFX_OK);
    CHECK(port_of(pair.b) == fresh);
    pair.settle();
    CHECK(pair.b.events.size() == 3);
}

TEST_CASE("tcp: a link whose ports are all taken stays down until one is free", "[tcp]")
{
    auto device = tcp::find_device("lo:127.0.0.1");
    REQUIRE(device);
    auto thief = tcp::listen_on(*device, tcp::config{}, {});
    REQUIRE(thief);
    std::string port = std::to_string(thief->port);
    thief->socket.reset();
    tcp_side side("lo:127.0.0.1", {{"TCP_PORT_RANGE", port.c_str()}});
    REQUIRE(ufx_uct_iface_set_link(side.iface, 0) == UFX_OK);
    thief = tcp::listen_on(*device, tcp::config{}, {port_of(side), port_of(side)});
    REQUIRE(thief);
    ufx::ucs::log_capture log;
    CHECK(ufx_uct_iface_set_link(side.iface, 1) == UFX_ERR_BUSY);
    CHECK(log.count(UFX_UCS_LOG_ERROR, "no free port to listen on in " + port) == 1);
    thief->socket.reset();
    CHECK(ufx_uct_iface_set_link(side.iface, 1) == UFX_OK);
    CHECK(port_of(side) == std::stoi(port));
}

TEST_CASE("tcp: addresses of one family reach each other, loopback only loopback", "[tcp]")
{
    auto ip = [](const char *text) { return *tcp::ip_address::parse(text); };
    CHECK(tcp::can_reach(ip("10.0.0.1"), ip("10.1.0.1")));
    CHECK(tcp::can_reach(ip("127.0.0.1"), ip("127.0.0.2")));
    CHECK_FALSE(tcp::can_reach(ip("10.0.0.1"), ip("127.0.0.1")));
    CHECK_FALSE(tcp::can_reach(ip("127.0.0.1"), ip("10.0.0.1")));
    CHECK_FALSE(tcp::can_reach(ip("10.0.0.1"), ip("fd00::1")));
    CHECK(tcp::can_reach(ip("fd00::1"), ip("fd00::2")));
    CHECK_FALSE(tcp::can_reach(ip("fe80::1"), ip("fd00::2")));
    tcp_side a("lo:127.0.0.1");
    tcp_side b("lo:127.0.0.2");
    CHECK(ufx_uct_iface_is_reachable(a.iface, b.device_address().data(),
                                     b.iface_address().data()) == 1);
    uint8_t garbage[20] = {9};
    CHECK(ufx_uct_iface_is_reachable(a.iface, garbage, b.iface_address().data()) == 0);
}

TEST_CASE("tcp: connections work over IPv6", "[tcp]")
{
    auto devices = tcp::list_devices();
    REQUIRE(devices);
    if (std::none_of(devices->begin(), devices->end(), [](const tcp::device &one) {
            return one.name == "lo:::1" || (one.loopback && one.ip.family == AF_INET6);
        })) {
        return ufx::test::skip("no IPv6 address on lo");
    }
    tcp_side a("lo:::1");
    tcp_side b("lo:::1");
    ufx_uct_ep_h to_b = a.new_ep();
    ufx_uct_ep_h to_a = b.new_ep();
    REQUIRE(ufx_uct_ep_connect_to_ep(to_b, b.device_address().data(), b.iface_address().data(),
                                     ep_address(to_a).data()) == UFX_OK);
    REQUIRE(ufx_uct_ep_connect_to_ep(to_a, a.device_address().data(), a.iface_address().data(),
                                     ep_address(to_b).data()) == UFX_OK);
    until(a, [&] {
        ufx_uct_iface_progress(b.iface);
        return state_of(to_b) == UFX_UCT_EP_LIVE && state_of(to_a) == UFX_UCT_EP_LIVE;
    });
    REQUIRE(ufx_uct_ep_am_short(to_b, 1, 1, nullptr, 0) == UFX_OK);
    until(a, [&] {
        ufx_uct_iface_progress(b.iface);
        return b.ams.size() == 1;
    });
}

TEST_CASE("tcp: link and address of a device are followed", "[tcp]")
{
    own_network network;
    if (!network.add_rail()) {
        return ufx::test::skip("no network namespace with a veth pair");
    }
    auto watched = ufx::ucs::list_interfaces();
    if (!watched && watched.error() == UFX_ERR_UNSUPPORTED) {
        return ufx::test::skip("built without libnl");
    }
    tcp_side side("v0");
    tcp_side peer("v1");
    ufx_uct_ep_h ep = side.new_ep();
    std::array<uint8_t, 16> nobody;
    nobody.fill(0);
    REQUIRE(ufx_uct_ep_connect_to_ep(ep, peer.device_address().data(), peer.iface_address().data(),
                                     nobody.data()) == UFX_OK);
    auto saw = [&](ufx_uct_iface_event_type_t type) {
        return [&side, type] { return !side.events.empty() && side.events.back().type == type; };
    };
    REQUIRE(network.run({"ip link set v1 down"}));
    until(side, saw(UFX_UCT_IFACE_PORT_DOWN));
    CHECK(side.events.back().cause == UFX_UCT_CAUSE_PORT_DOWN);
    ufx_uct_iface_attr_t attr{};
    REQUIRE(ufx_uct_iface_query(side.iface, &attr) == UFX_OK);
    CHECK(attr.port_active == 0);
    CHECK(side.errors.empty()); // a port that is down fails nothing by itself
    REQUIRE(network.run({"ip link set v1 up"}));
    until(side, saw(UFX_UCT_IFACE_PORT_UP));
    REQUIRE(ufx_uct_iface_query(side.iface, &attr) == UFX_OK);
    CHECK(attr.port_active == 1);
    REQUIRE(network.run({"ip addr del 10.9.0.1/24 dev v0"}));
    until(side, saw(UFX_UCT_IFACE_ADDR_CHANGED));
    CHECK(side.events.back().cause == UFX_UCT_CAUSE_ADDR_REMOVED);
    until(side, [&] { return !side.errors.empty(); });
    CHECK(side.errors[0].cause == UFX_UCT_CAUSE_ADDR_REMOVED);
    CHECK(side.errors[0].status == UFX_ERR_NET_UNREACHABLE);
    REQUIRE(network.run({"ip addr add 10.9.0.1/24 dev v0"}));
    until(side, [&] {
        return saw(UFX_UCT_IFACE_ADDR_CHANGED)() && side.events.back().cause == UFX_UCT_CAUSE_NONE;
    });
}

TEST_CASE("tcp: a device named by its interface goes on with another address of it", "[tcp]")
{
    own_network network;
    if (!network.add_rail()) {
        return ufx::test::skip("no network namespace with a veth pair");
    }
    auto watched = ufx::ucs::list_interfaces();
    if (!watched && watched.error() == UFX_ERR_UNSUPPORTED) {
        return ufx::test::skip("built without libnl");
    }
    tcp_side free("v0");
    tcp_side fixed("v0:10.9.0.1");
    const auto old = free.device_address();
    CHECK(fixed.device_address() == old);
    REQUIRE(network.run({"ip addr del 10.9.0.1/24 dev v0", "ip addr add 10.9.0.7/24 dev v0"}));
    until(free, [&] { return free.device_address() != old; });
    CHECK(free.events.back().type == UFX_UCT_IFACE_ADDR_CHANGED);
    CHECK(free.events.back().cause == UFX_UCT_CAUSE_NONE);
    until(fixed, [&] { return !fixed.events.empty(); });
    CHECK(fixed.device_address() == old);
}

TEST_CASE("tcp: sockets are bound to the device as well as to its address", "[tcp]")
{
    own_network network;
    if (!network.add_rail()) {
        return ufx::test::skip("no network namespace with a veth pair");
    }
    tcp::config with{};
    with.bind_device = true;
    auto device = tcp::find_device("v0");
    REQUIRE(device);
    auto listening = tcp::listen_on(*device, with, {});
    auto connecting = tcp::start_connect(*device, with, *tcp::ip_address::parse("10.9.0.77"), 9);
    REQUIRE(listening);
    REQUIRE(connecting);
    for (int socket : {listening->socket.get(), connecting->get()}) {
        char bound[16] = {};
        socklen_t length = sizeof(bound);
        REQUIRE(getsockopt(socket, SOL_SOCKET, SO_BINDTODEVICE, bound, &length) == 0);
        CHECK(std::string(bound) == "v0");
        sockaddr_in own{};
        length = sizeof(own);
        REQUIRE(getsockname(socket, reinterpret_cast<sockaddr *>(&own), &length) == 0);
        CHECK(own.sin_addr.s_addr == htonl(0x0a090001));
    }
}

TEST_CASE("tcp: connections over lo are not paced", "[tcp]")
{
    tcp::config with{};
    auto device = tcp::find_device("lo:127.0.0.1");
    REQUIRE(device);
    auto listening = tcp::listen_on(*device, with, {});
    REQUIRE(listening);
    auto connecting = tcp::start_connect(*device, with, device->ip, listening->port);
    REQUIRE(connecting);
    ufx::ucs::acceptor by;
    ufx::ucs::fd accepted = tcp::accept_on(listening->socket, by, with);
    REQUIRE(accepted);
    for (int socket : {connecting->get(), accepted.get()}) {
        char name[16] = {};
        socklen_t length = sizeof(name);
        REQUIRE(getsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, name, &length) == 0);
        CHECK(std::string(name) == "reno");
    }
}

TEST_CASE("tcp: a network without a way to the peer is told as such", "[tcp]")
{
    own_network network;
    if (!network.run({"ip link set lo up"})) {
        return ufx::test::skip("no network namespace");
    }
    tcp_side side("lo:127.0.0.1");
    ufx_uct_ep_h ep = side.new_ep();
    uint8_t far[20] = {4, 32, 0, 0, 10, 77, 0, 1};
    uint8_t port[4] = {9, 0, 0, 0};
    std::array<uint8_t, 16> peer;
    peer.fill(0xff); // the larger one: this side connects
    REQUIRE(ufx_uct_ep_connect_to_ep(ep, far, port, peer.data()) == UFX_OK);
    CHECK(side.errors.empty());
    until(side, [&] { return !side.errors.empty(); });
    CHECK(side.errors[0].cause == UFX_UCT_CAUSE_UNREACHABLE);
    CHECK(side.errors[0].status == UFX_ERR_NET_UNREACHABLE);
}

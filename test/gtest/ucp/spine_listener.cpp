// SPDX-License-Identifier: BSD-3-Clause
// Listeners: requests, refusals, addresses.
#include "lone.h"

#include "ucp/ep.h"

#include <netinet/in.h>
#include <sys/socket.h>

namespace ufx::test {

TEST_CASE("an ep to the worker's own listener fails at once, and says what to do", "[spine]")
{
    lone one;
    const ufx_ucp_ep_h ep = one.connect(one.listen());
    REQUIRE(turn({&one}, [&] { return !one.events.empty(); }));
    CHECK(one.events[0].status == UFX_ERR_UNREACHABLE);
    CHECK(one.texts[0].find("by its address") != std::string::npos);
    CHECK(one.requests.empty());
    (void)ufx_ucp_ep_close(ep, UFX_UCP_CLOSE_FORCE, nullptr, nullptr);
}

TEST_CASE("two listeners on one port are told apart by their addresses", "[spine]")
{
    lone server;
    lone client;
    struct asked {
        std::vector<ufx_ucp_conn_request_h> requests;
    };
    asked heard[2];
    ufx_ucp_listener_h listeners[2] = {};
    sockaddr_in at[2] = {};
    for (unsigned i = 0; i < 2; ++i) {
        at[i].sin_family = AF_INET;
        at[i].sin_addr.s_addr = htonl(INADDR_LOOPBACK + i);
        at[i].sin_port = i == 0 ? std::uint16_t{0} : at[0].sin_port;
        ufx_ucp_listener_params_t lp{};
        lp.field_mask = UFX_UCP_LISTENER_PARAM_SOCKADDR | UFX_UCP_LISTENER_PARAM_CONN_CB;
        lp.sockaddr = reinterpret_cast<sockaddr *>(&at[i]);
        lp.sockaddr_length = sizeof(at[i]);
        lp.conn_cb = [](void *arg, ufx_ucp_conn_request_h request) noexcept {
            static_cast<asked *>(arg)->requests.push_back(request);
        };
        lp.conn_arg = &heard[i];
        REQUIRE(ufx_ucp_listener_create(server.handle, &lp, &listeners[i]) == UFX_OK);
        sockaddr_storage bound{};
        REQUIRE(ufx_ucp_listener_query(listeners[i], &bound) == UFX_OK);
        at[i] = reinterpret_cast<sockaddr_in &>(bound);
    }
    (void)client.connect(at[1]);
    REQUIRE(turn({&server, &client},
                 [&] { return heard[0].requests.size() + heard[1].requests.size() == 1; }));
    CHECK(heard[1].requests.size() == 1);
    for (ufx_ucp_listener_h one : listeners) {
        ufx_ucp_listener_destroy(one);
    }
}

TEST_CASE("a connection request is consumed also by an ep that cannot be made", "[spine]")
{
    lone server;
    lone client;
    (void)client.connect(server.listen());
    REQUIRE(turn({&server, &client}, [&] { return server.requests.size() == 1; }));
    ufx_ucp_ep_params_t two_ways = server.ep_params();
    two_ways.field_mask |= UFX_UCP_EP_PARAM_CONN_REQUEST | UFX_UCP_EP_PARAM_SOCKADDR;
    two_ways.conn_request = server.requests.back();
    ufx_ucp_ep_h ep = nullptr;
    CHECK(ufx_ucp_ep_create(server.handle, &two_ways, &ep) == UFX_ERR_INVALID_PARAM);
    REQUIRE(turn({&server, &client}, [&] { return !client.events.empty(); }));
    CHECK(client.events[0].status == UFX_ERR_REJECTED);
    ufx_ucp_listener_destroy(server.listener);
}

TEST_CASE("a listener's owner accepts, rejects, and refuses another error mode", "[spine][T08]")
{
    lone server;
    lone client;
    const sockaddr_in at = server.listen();
    const ufx_ucp_ep_h ep = client.connect(at);
    REQUIRE(turn({&server, &client}, [&] { return server.requests.size() == 1; }));
    SECTION("accepted")
    {
        const ufx_ucp_ep_h there = server.accept();
        REQUIRE(there != nullptr);
        REQUIRE(turn({&server, &client},
                     [&] { return live_lanes(ep) == 2 && live_lanes(there) == 2; }));
        CHECK(server.accepted.empty());
    }
    SECTION("rejected")
    {
        REQUIRE(ufx_ucp_listener_reject(server.listener, server.requests[0]) == UFX_OK);
        REQUIRE(turn({&server, &client}, [&] { return !client.events.empty(); }));
        CHECK(client.events[0].type == UFX_UCP_EP_EVENT_ERROR);
        CHECK(client.events[0].status == UFX_ERR_REJECTED);
        CHECK(client.events[0].refusal == UFX_UCP_REFUSED_BY_USER);
        CHECK(!client.texts[0].empty());
    }
    SECTION("another error mode")
    {
        CHECK(server.accept(UFX_UCP_ERROR_MODE_PEER) == nullptr);
        REQUIRE(turn({&server, &client}, [&] { return !client.events.empty(); }));
        CHECK(client.events[0].refusal == UFX_UCP_REFUSED_MODE);
    }
}

TEST_CASE("a listener that goes while a request waits for its owner refuses it", "[spine]")
{
    lone server;
    lone client;
    (void)client.connect(server.listen());
    REQUIRE(turn({&client}, [&] {
        (void)server.w().progress_inner(); // the owner is told in the other half
        return server.w().has_deferred();
    }));
    ufx_ucp_listener_destroy(server.listener);
    REQUIRE(turn({&server, &client}, [&] { return !client.events.empty(); }));
    CHECK(client.events[0].status == UFX_ERR_REJECTED);
    CHECK(server.requests.empty());
}

TEST_CASE("an ep to an address where nobody listens fails with one clear error", "[spine]")
{
    lone client;
    sockaddr_in at{};
    {
        lone server;
        at = server.listen();
    }
    (void)client.connect(at);
    REQUIRE(turn({&client}, [&] { return !client.events.empty(); }));
    CHECK(client.events[0].status == UFX_ERR_UNREACHABLE);
    CHECK(client.texts[0].find("nobody listens at 127.0.0.1:") == 0);
    CHECK(client.events.size() == 1);
}

TEST_CASE("a port in use is BUSY", "[spine]")
{
    lone server;
    const sockaddr_in at = server.listen();
    ufx_ucp_listener_params_t lp{};
    lp.field_mask = UFX_UCP_LISTENER_PARAM_SOCKADDR | UFX_UCP_LISTENER_PARAM_CONN_CB;
    lp.sockaddr = reinterpret_cast<const sockaddr *>(&at);
    lp.sockaddr_length = sizeof(at);
    lp.conn_cb = [](void *, ufx_ucp_conn_request_h) noexcept {};
    ufx_ucp_listener_h second = nullptr;
    CHECK(ufx_ucp_listener_create(server.handle, &lp, &second) == UFX_ERR_BUSY);
}

} // namespace ufx::test

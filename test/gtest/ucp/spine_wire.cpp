// SPDX-License-Identifier: BSD-3-Clause
// How two workers find each other: addresses, lanes, eps.
#include "lone.h"

#include "ucp/address.h"
#include "ucp/control_path.h"
#include "ucp/ep.h"
#include "ucp/peer.h"
#include "ucs/fd.h"
#include "ucs/log_capture.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ufx::test {

TEST_CASE("worker address: what is written is read back; every cut of it is refused", "[spine]")
{
    lone one;
    const std::vector<std::uint8_t> bytes = encode(one.w().make_address());
    const auto back = ucp::decode_worker_address(bytes);
    REQUIRE(back.ok());
    CHECK(back->uuid == one.w().uuid());
    REQUIRE(back->rails.size() == 2);
    CHECK(ucp::text_of(back->rails[1].control).starts_with("127.0.0.2:"));
    for (std::size_t n = 0; n < bytes.size(); ++n) {
        CHECK(ucp::decode_worker_address(std::span(bytes).first(n)).status() ==
              UFX_ERR_BAD_MESSAGE);
    }
    std::vector<std::uint8_t> other = bytes;
    other[4] = 99;
    CHECK(ucp::decode_worker_address(other).status() == UFX_ERR_VERSION);
}

TEST_CASE("rails are matched by subnet, then by index, the same at both sides", "[spine]")
{
    const auto rail = [](unsigned index, const char *ip) {
        ucp::rail_address r;
        r.index = static_cast<std::uint8_t>(index);
        r.transport = "tcp";
        r.prefix_bits = 24;
        auto &v4 = reinterpret_cast<sockaddr_in &>(r.control);
        v4.sin_family = AF_INET;
        inet_pton(AF_INET, ip, &v4.sin_addr);
        return r;
    };
    const ucp::worker_address x{1, {rail(0, "10.0.0.1"), rail(1, "10.0.1.1")}};
    const ucp::worker_address crossed{2, {rail(0, "10.0.1.2"), rail(1, "10.0.0.2")}};
    CHECK(ucp::match_rails(x, crossed) == std::vector<ucp::port_pair>{{0, 1}, {1, 0}});
    const ucp::worker_address strange{2, {rail(0, "10.9.1.2"), rail(1, "10.8.0.2")}};
    CHECK(ucp::match_rails(x, strange) == std::vector<ucp::port_pair>{{0, 0}, {1, 1}});
    const ucp::worker_address single{2, {rail(0, "10.0.1.2")}};
    CHECK(ucp::match_rails(x, single) == std::vector<ucp::port_pair>{{1, 0}, {0, 0}});
}

TEST_CASE("an ep by address wires a lane on every rail and is accepted at the target", "[spine]")
{
    lone a;
    lone b;
    const ufx_ucp_ep_h ep = a.connect(b);
    REQUIRE(turn({&a, &b}, [&] { return live_lanes(ep) == 2 && b.accepted.size() == 1; }));
    REQUIRE(turn({&a, &b}, [&] { return live_lanes(b.accepted[0]) == 2; }));
    CHECK(a.w().control().open_connections(b.w().uuid()) == 1);
    CHECK(ucp::ep::of(ep).remote().machine().book().empty());
}

TEST_CASE("a control connection that is accepted in a worker's first turn is kept", "[spine]")
{
    lone a;
    lone b;
    ucs::log_capture log(UFX_UCS_LOG_DEBUG);
    const ufx_ucp_ep_h ep = a.connect(b);
    (void)ufx_ucp_worker_progress(a.handle); // connects; b has not made a turn yet
    REQUIRE(turn({&a, &b}, [&] { return live_lanes(ep) == 2; }));
    CHECK(log.count("control: connecting") == 1);
}

TEST_CASE("a rail that was drained carries for no peer, until it is resumed", "[spine]")
{
    lone a;
    lone b;
    lone c;
    REQUIRE(ufx_ucp_rail_drain(a.handle, "rail1") == UFX_OK); // before any peer is known
    const ufx_ucp_ep_h to_b = a.connect(b);
    REQUIRE(turn({&a, &b}, [&] { return live_lanes(to_b) >= 1; }));
    const ufx_ucp_ep_h to_c = a.connect(c);
    REQUIRE(turn({&a, &c}, [&] { return live_lanes(to_c) >= 1; }));
    const auto settled = [&](const lone &peer) {
        const auto *book = &ucp::ep::of(&peer == &b ? to_b : to_c).remote().machine();
        return book->book().empty();
    };
    REQUIRE(turn({&a, &b, &c}, [&] {
        return settled(b) && settled(c) && live_lanes(to_b) == 1 && live_lanes(to_c) == 1;
    }));
    REQUIRE(ufx_ucp_rail_resume(a.handle, "rail1") == UFX_OK);
    REQUIRE(turn({&a, &b, &c}, [&] { return live_lanes(to_b) == 2 && live_lanes(to_c) == 2; }));
}

TEST_CASE("a worker that moves to another address says so until it is acked, and is reached there",
          "[spine][G09]")
{
    lone a;
    lone b;
    const ufx_ucp_ep_h ep = a.connect(b);
    REQUIRE(turn({&a, &b}, [&] { return live_lanes(ep) == 2 && b.accepted.size() == 1; }));
    ucp::peer &b_at_a = *a.w().peers().at(0);
    ucp::peer &a_at_b = *b.w().peers().at(0);
    unsigned lost = 0;
    b.w().control().filter.copies = [&](std::uint64_t, const ucp::core::control_msg &msg) {
        const bool is_addr = std::holds_alternative<ucp::core::addr_msg>(msg);
        return is_addr && lost++ < 2 ? 0 : 1;
    };
    const sockaddr_storage old = b.w().control().address_of(0);
    const sockaddr_storage elsewhere = ucp::find_device_address("lo:127.0.0.3").address;
    b.w().control().move_gate(0, elsewhere);
    a_at_b.publish_address(0);
    a_at_b.publish_address(0); // nothing new
    const auto control_of_b = [&] { return b_at_a.address().rails.at(0).control; };
    REQUIRE(turn({&a, &b},
                 [&] { return ucp::same_address(control_of_b(), b.w().control().address_of(0)); }));
    CHECK(lost == 3);
    CHECK(ucp::text_of(control_of_b()).starts_with("127.0.0.3:"));

    // The old gate is closed, and the other rail is cut: only the new address is left.
    const ucs::fd probe(::socket(AF_INET, SOCK_STREAM, 0));
    CHECK(::connect(probe.get(), reinterpret_cast<const sockaddr *>(&old), sizeof(sockaddr_in)) !=
          0);
    REQUIRE(ufx_ucp_rail_set_link(b.handle, "rail1", 0) == UFX_OK);
    b.w().control().set_link(0, false); // resets what is open
    REQUIRE(turn({&a, &b}, [&] { return a.w().control().open_connections(b.w().uuid()) == 0; }));
    REQUIRE(turn({&a, &b}, [&] { return a.w().control().open_connections(b.w().uuid()) != 0; }));
    CHECK_FALSE(b_at_a.is_dead());
}

TEST_CASE("an ep of which nobody was told goes when its peer closes it or dies", "[spine]")
{
    lone b(false);
    const auto eps = [&] { return b.w().eps().size(); };
    {
        lone a;
        const ufx_ucp_ep_h first = a.connect(b);
        const ufx_ucp_ep_h second = a.connect(b);
        REQUIRE(turn({&a, &b}, [&] { return live_lanes(first) == 2 && live_lanes(second) == 2; }));
        CHECK(eps() == 2);
        (void)ufx_ucp_ep_close(first, UFX_UCP_CLOSE_FLUSH, nullptr, nullptr);
        REQUIRE(turn({&a, &b}, [&] { return eps() == 1 && a.w().eps().size() == 1; }));
        CHECK(live_lanes(second) == 2);
    }
    REQUIRE(turn({&b}, [&] { return eps() == 0 && b.w().peers().empty(); }));
}

TEST_CASE("a late message of an ep whose peer was closed makes no other ep", "[spine]")
{
    lone a;
    lone b;
    const ufx_ucp_ep_h ep = a.connect(b);
    REQUIRE(turn({&a, &b}, [&] { return live_lanes(ep) == 2 && b.accepted.size() == 1; }));
    ucp::peer &a_at_b = *b.w().peers().at(0);
    const ucp::core::lane_name late{ucp::ep::of(ep).id(), 0, a_at_b.machine().rail_ids().at(0), 9};
    const std::uint64_t connection = ucp::ep::of(ep).connection();
    const ufx_ucp_ep_h other = a.connect(b); // so that the two workers stay joined
    REQUIRE(turn({&a, &b}, [&] { return live_lanes(other) == 2 && b.accepted.size() == 2; }));
    (void)ufx_ucp_ep_close(b.accepted[0], UFX_UCP_CLOSE_FLUSH, nullptr, nullptr);
    (void)ufx_ucp_ep_close(ep, UFX_UCP_CLOSE_FLUSH, nullptr, nullptr);
    REQUIRE(turn({&a, &b}, [&] { return b.w().eps().size() == 1 && a.w().eps().size() == 1; }));
    a_at_b.event([&](ucp::core::peer &m, ucp::core::time_ns now, ucp::core::action_list &out) {
        m.control(ucp::core::lane_want_msg{late, connection, {}}, now, out);
        m.control(ucp::core::lane_req_msg{late, connection, {}, {}, {}}, now, out);
    });
    for (int i = 0; i < 100; ++i) {
        (void)ufx_ucp_worker_progress(b.handle);
        (void)ufx_ucp_worker_progress(a.handle);
    }
    CHECK(b.accepted.size() == 2);
    CHECK(b.w().eps().size() == 1);
}

TEST_CASE("two eps that are made to each other at once become one", "[spine]")
{
    lone a;
    lone b;
    const ufx_ucp_ep_h x = a.connect(b);
    const ufx_ucp_ep_h y = b.connect(a);
    REQUIRE(turn({&a, &b}, [&] { return live_lanes(x) == 2 && live_lanes(y) == 2; }));
    CHECK(a.accepted.empty());
    CHECK(b.accepted.empty());
    CHECK(ucp::ep::of(x).failover()->peer_id() == ucp::ep::of(y).id());
    CHECK(ucp::ep::of(y).failover()->peer_id() == ucp::ep::of(x).id());
    REQUIRE(turn({&a, &b}, [&] { return a.w().control().open_connections(b.w().uuid()) == 1; }));
}

TEST_CASE("two eps that are made to each other with different modes fail, both for that",
          "[spine][T08]")
{
    lone a;
    lone b;
    const bool a_fails_over = GENERATE(true, false); // the side with the smaller uuid starts
    const bool lose_one = GENERATE(false, true);
    unsigned refusals = 0;
    for (lone *one : {&a, &b}) {
        one->w().control().filter.copies = [&](std::uint64_t, const ucp::core::control_msg &msg) {
            const bool refuses = std::holds_alternative<ucp::core::lane_refused_msg>(msg);
            return refuses && lose_one && refusals++ == 0 ? 0 : 1;
        };
    }
    const auto mode_if = [](bool yes) {
        return yes ? UFX_UCP_ERROR_MODE_FAILOVER : UFX_UCP_ERROR_MODE_PEER;
    };
    const ufx_ucp_ep_h x = a.connect(b, mode_if(a_fails_over));
    const ufx_ucp_ep_h y = b.connect(a, mode_if(!a_fails_over));
    REQUIRE(turn({&a, &b}, [&] { return !a.events.empty() && !b.events.empty(); }));
    for (const lone *one : {&a, &b}) {
        CHECK(one->events[0].type == UFX_UCP_EP_EVENT_ERROR);
        CHECK(one->events[0].status == UFX_ERR_REJECTED);
        CHECK(one->events[0].refusal == UFX_UCP_REFUSED_MODE);
        CHECK(one->texts[0].find("different error modes") != std::string::npos);
    }
    CHECK(a.accepted.empty());
    CHECK(b.accepted.empty());
    (void)ufx_ucp_ep_close(x, UFX_UCP_CLOSE_FLUSH, nullptr, nullptr);
    (void)ufx_ucp_ep_close(y, UFX_UCP_CLOSE_FLUSH, nullptr, nullptr);
    REQUIRE(turn({&a, &b}, [&] { return a.w().eps().empty() && b.w().eps().empty(); }));
}

TEST_CASE("an ep to the own worker uses self and has no seal", "[spine]")
{
    lone a;
    const ufx_ucp_ep_h ep = a.connect(a);
    REQUIRE(turn({&a}, [&] { return live_lanes(ep) == 1; }));
    CHECK(ucp::ep::of(ep).remote().is_self());
    CHECK(ucp::ep::of(ep).lanes()[0]->port().transport() == "self");
}

TEST_CASE("a callback is not dropped because its owner has the address of one that went", "[spine]")
{
    lone a;
    unsigned calls = 0;
    a.w().withdraw(&calls);
    a.w().defer([&] { ++calls; }, &calls);
    (void)ufx_ucp_worker_progress(a.handle);
    CHECK(calls == 1);
}

TEST_CASE("no link and no connection outlives its peer, or a connection by sockaddr", "[spine]")
{
    lone a;
    lone b;
    ucp::control_path &control = a.w().control();
    SECTION("a peer that died")
    {
        const ufx_ucp_ep_h ep = a.connect(b);
        REQUIRE(turn({&a, &b}, [&] { return live_lanes(ep) == 2; }));
        control.find_link(b.w().uuid())->another_uuid();
        REQUIRE(turn({&a}, [&] { return !a.events.empty(); }));
        (void)ufx_ucp_ep_close(ep, UFX_UCP_CLOSE_FORCE, nullptr, nullptr);
        REQUIRE(turn({&a}, [&] { return a.w().peers().empty() && control.link_count() == 0; }));
    }
    SECTION("a listener that answers late: several connections are under way")
    {
        const ufx_ucp_ep_h ep = a.connect(b.listen());
        REQUIRE(turn({&a}, [&] { return control.connection_count() >= 3; }));
        REQUIRE(turn({&a, &b}, [&] { return !b.requests.empty(); }));
        (void)b.accept();
        REQUIRE(turn({&a, &b}, [&] { return live_lanes(ep) == 2; }));
        REQUIRE(turn({&a, &b}, [&] { return control.connection_count() == 1; }));
        CHECK(control.link_count() == 1);
    }
}

TEST_CASE("a forked child draws another uuid, and leaves the parent's worker alone", "[spine]")
{
    lone a;
    lone b;
    const ufx_ucp_ep_h ep = a.connect(b);
    REQUIRE(turn({&a, &b}, [&] { return live_lanes(ep) == 2; }));
    int report[2];
    REQUIRE(::pipe(report) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
        std::uint64_t uuid = 0;
        ufx_ucp_worker_h own = nullptr;
        if (ufx_ucp_worker_create(a.context, nullptr, &own) == UFX_OK) {
            uuid = ufx_ucp_worker_uuid(own);
            ufx_ucp_worker_destroy(own);
        }
        ufx_ucp_worker_destroy(a.handle); // inherited: must not touch what is shared
        const bool told = ::write(report[1], &uuid, sizeof(uuid)) == sizeof(uuid);
        ::_exit(told ? 0 : 1);
    }
    std::uint64_t uuid = 0;
    REQUIRE(::read(report[0], &uuid, sizeof(uuid)) == sizeof(uuid));
    int status = 1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    CHECK(uuid != 0);
    CHECK(uuid != a.w().uuid());
    for (int i = 0; i < 1000; ++i) {
        (void)ufx_ucp_worker_progress(a.handle);
        (void)ufx_ucp_worker_progress(b.handle);
    }
    CHECK(live_lanes(ep) == 2);
    CHECK(a.events.empty());
}

} // namespace ufx::test

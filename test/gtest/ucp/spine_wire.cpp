// SPDX-License-Identifier: BSD-3-Clause
// How two workers find each other: addresses, listeners, refusals, hostile bytes.
#include "data_pair.h"

#include "ucp/address.h"
#include "ucp/control_path.h"
#include "ucp/ep.h"
#include "ucp/peer.h"
#include "ucp/worker.h"
#include "ucs/fd.h"
#include "ucs/log_capture.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ufx::test {

namespace {

using ucp::worker;

// A worker alone, with what its listener and eps were told.
struct lone {
    explicit lone(bool accepts = true, const char *devices = "lo:127.0.0.1,lo:127.0.0.2")
    {
        ufx_ucp_context_params_t cp{};
        cp.field_mask = UFX_UCP_CONTEXT_PARAM_DEVICES;
        cp.devices = devices;
        REQUIRE(ufx_ucp_context_create(&cp, &context) == UFX_OK);
        ufx_ucp_worker_params_t wp{};
        wp.field_mask = accepts ? std::uint64_t{UFX_UCP_WORKER_PARAM_EP_ACCEPT} : 0;
        wp.ep_accept_cb = [](void *arg, ufx_ucp_ep_h ep) noexcept {
            static_cast<lone *>(arg)->accepted.push_back(ep);
        };
        wp.ep_accept_arg = this;
        REQUIRE(ufx_ucp_worker_create(context, &wp, &handle) == UFX_OK);
    }
    ~lone()
    {
        ufx_ucp_worker_destroy(handle);
        ufx_ucp_context_destroy(context);
    }
    lone(const lone &) = delete;
    lone &operator=(const lone &) = delete;

    worker &w() { return worker::of(handle); }
    sockaddr_in listen()
    {
        sockaddr_in any{};
        any.sin_family = AF_INET;
        any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        ufx_ucp_listener_params_t lp{};
        lp.field_mask = UFX_UCP_LISTENER_PARAM_SOCKADDR | UFX_UCP_LISTENER_PARAM_CONN_CB;
        lp.sockaddr = reinterpret_cast<sockaddr *>(&any);
        lp.sockaddr_length = sizeof(any);
        lp.conn_cb = [](void *arg, ufx_ucp_conn_request_h request) noexcept {
            static_cast<lone *>(arg)->requests.push_back(request);
        };
        lp.conn_arg = this;
        REQUIRE(ufx_ucp_listener_create(handle, &lp, &listener) == UFX_OK);
        sockaddr_storage bound{};
        REQUIRE(ufx_ucp_listener_query(listener, &bound) == UFX_OK);
        return reinterpret_cast<sockaddr_in &>(bound);
    }
    ufx_ucp_ep_params_t ep_params()
    {
        ufx_ucp_ep_params_t p{};
        p.field_mask = UFX_UCP_EP_PARAM_EVENT_CB;
        p.event_cb = [](void *arg, ufx_ucp_ep_h, const ufx_ucp_ep_event_t *event) noexcept {
            auto &self = *static_cast<lone *>(arg);
            self.events.push_back(*event);
            self.texts.emplace_back(event->text);
        };
        p.event_arg = this;
        return p;
    }
    ufx_ucp_ep_h connect(const sockaddr_in &to)
    {
        ufx_ucp_ep_params_t p = ep_params();
        p.field_mask |= UFX_UCP_EP_PARAM_SOCKADDR;
        p.sockaddr = reinterpret_cast<const sockaddr *>(&to);
        p.sockaddr_length = sizeof(to);
        ufx_ucp_ep_h ep = nullptr;
        REQUIRE(ufx_ucp_ep_create(handle, &p, &ep) == UFX_OK);
        return ep;
    }
    ufx_ucp_ep_h connect(lone &to)
    {
        const std::vector<std::uint8_t> address = encode(to.w().make_address());
        ufx_ucp_ep_params_t p = ep_params();
        p.field_mask |= UFX_UCP_EP_PARAM_ADDRESS;
        p.address = address.data();
        p.address_length = address.size();
        ufx_ucp_ep_h ep = nullptr;
        REQUIRE(ufx_ucp_ep_create(handle, &p, &ep) == UFX_OK);
        return ep;
    }
    ufx_ucp_ep_h accept(ufx_ucp_error_mode_t mode = UFX_UCP_ERROR_MODE_FAILOVER)
    {
        ufx_ucp_ep_params_t p = ep_params();
        p.field_mask |= UFX_UCP_EP_PARAM_CONN_REQUEST | UFX_UCP_EP_PARAM_ERROR_MODE;
        p.conn_request = requests.back();
        p.error_mode = mode;
        requests.pop_back();
        ufx_ucp_ep_h ep = nullptr;
        (void)ufx_ucp_ep_create(handle, &p, &ep);
        return ep;
    }

    ufx_ucp_context_h context = nullptr;
    ufx_ucp_worker_h handle = nullptr;
    ufx_ucp_listener_h listener = nullptr;
    std::vector<ufx_ucp_conn_request_h> requests;
    std::vector<ufx_ucp_ep_h> accepted;
    std::vector<ufx_ucp_ep_event_t> events;
    std::vector<std::string> texts;
};

template <class F>
bool turn(std::initializer_list<lone *> all, F &&what)
{
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(120);
    while (!what()) {
        if (std::chrono::steady_clock::now() > end) {
            return false;
        }
        for (lone *one : all) {
            (void)ufx_ucp_worker_progress(one->handle);
        }
    }
    return true;
}

unsigned live_lanes(ufx_ucp_ep_h ep)
{
    ufx_ucp_ep_attr_t attr{};
    attr.field_mask = UFX_UCP_EP_ATTR_LANES;
    REQUIRE(ufx_ucp_ep_query(ep, &attr) == UFX_OK);
    return attr.lanes_live;
}

} // namespace

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

// No descriptor is left from construction to destruction.
class no_descriptors {
public:
    no_descriptors()
    {
        REQUIRE(::getrlimit(RLIMIT_NOFILE, &before_) == 0);
        const int lowest_free = ::dup(0);
        REQUIRE(lowest_free >= 0);
        ::close(lowest_free);
        rlimit tight = before_;
        tight.rlim_cur = static_cast<rlim_t>(lowest_free);
        REQUIRE(::setrlimit(RLIMIT_NOFILE, &tight) == 0);
    }
    ~no_descriptors() { (void)::setrlimit(RLIMIT_NOFILE, &before_); }
    no_descriptors(const no_descriptors &) = delete;
    no_descriptors &operator=(const no_descriptors &) = delete;

private:
    rlimit before_{};
};

TEST_CASE("without descriptors a connection is closed at once, and keeps nobody awake", "[spine]")
{
    lone one;
    const sockaddr_storage gate = one.w().control().address_of(0);
    const ucs::fd stranger(::socket(AF_INET, SOCK_STREAM, 0));
    REQUIRE(::connect(stranger.get(), reinterpret_cast<const sockaddr *>(&gate),
                      sizeof(sockaddr_in)) == 0);
    ucs::log_capture log;
    {
        const no_descriptors scarce;
        REQUIRE(turn({&one}, [&] { return log.count("no descriptor left") == 1; }));
        REQUIRE(turn({&one}, [&] { return ufx_ucp_worker_arm(one.handle) == UFX_OK; }));
    }
    char byte = 0;
    CHECK(::recv(stranger.get(), &byte, 1, 0) <= 0);
    CHECK(log.count("no descriptor left") == 1);
}

TEST_CASE("a worker that moves to another address says so until it is acked, and is reached there",
          "[spine]")
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

TEST_CASE("an ep to the own worker uses self and has no seal", "[spine]")
{
    lone a;
    const ufx_ucp_ep_h ep = a.connect(a);
    REQUIRE(turn({&a}, [&] { return live_lanes(ep) == 1; }));
    CHECK(ucp::ep::of(ep).remote().is_self());
    CHECK(ucp::ep::of(ep).lanes()[0]->port().transport() == "self");
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

TEST_CASE("hostile bytes on the control port end that connection and nothing else", "[spine][T09]")
{
    lone a;
    lone b;
    const ufx_ucp_ep_h ep = a.connect(b);
    REQUIRE(turn({&a, &b}, [&] { return live_lanes(ep) == 2; }));
    const sockaddr_storage at = b.w().control().address_of(0);
    std::vector<std::vector<std::uint8_t>> attacks;
    attacks.push_back(std::vector<std::uint8_t>(64, 0));
    attacks.push_back({'U', 'F', 'X', 'C', 0xff, 0xff, 0xff, 0x7f});
    attacks.push_back({'U', 'F', 'X', 'C', 4, 0, 0, 0, 1, 200, 3, 4});
    attacks.push_back({'G', 'E', 'T', ' ', '/', '\r', '\n', '\r', '\n'});
    for (const auto &bytes : attacks) {
        const ucs::fd socket(::socket(AF_INET, SOCK_STREAM, 0));
        REQUIRE(::connect(socket.get(), reinterpret_cast<const sockaddr *>(&at),
                          sizeof(sockaddr_in)) == 0);
        REQUIRE(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
                static_cast<ssize_t>(bytes.size()));
        REQUIRE(::fcntl(socket.get(), F_SETFL, O_NONBLOCK) == 0);
        char byte = 0;
        REQUIRE(turn({&a, &b}, [&] {
            const ssize_t got = ::recv(socket.get(), &byte, 1, 0);
            return got == 0 || (got < 0 && errno == ECONNRESET);
        }));
    }
    CHECK(live_lanes(ep) == 2);
    CHECK(b.w().control().open_connections(a.w().uuid()) == 1);
}

TEST_CASE("a peer of another version is told so and fails with VERSION", "[spine][T08]")
{
    lone a;
    const ucs::fd gate(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::bind(gate.get(), reinterpret_cast<sockaddr *>(&at), sizeof(at)) == 0);
    REQUIRE(::listen(gate.get(), 4) == 0);
    socklen_t size = sizeof(at);
    REQUIRE(::getsockname(gate.get(), reinterpret_cast<sockaddr *>(&at), &size) == 0);
    (void)a.connect(at);
    ucs::fd conn;
    REQUIRE(turn({&a}, [&] {
        conn.reset(::accept(gate.get(), nullptr, nullptr));
        return conn.valid();
    }));
    ucp::core::hello_msg hello;
    hello.min_version = 7;
    hello.max_version = 9;
    hello.is_reply = true;
    auto bytes = ucp::frame_control({42, a.w().uuid()}, hello);
    SECTION("in its HELLO") {}
    SECTION("in every message")
    {
        bytes[ucp::control_frame_size] = 9;
    }
    REQUIRE(::send(conn.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(bytes.size()));
    REQUIRE(turn({&a}, [&] { return !a.events.empty(); }));
    CHECK(a.events[0].status == UFX_ERR_VERSION);
    CHECK(a.events[0].refusal == UFX_UCP_REFUSED_VERSION);
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

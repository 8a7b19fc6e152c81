// SPDX-License-Identifier: BSD-3-Clause
// UFX_TCP_USER_TIMEOUT and UFX_TCP_KEEPALIVE against a peer whose network swallows everything.
#include "own_network.h"
#include "tcp_pair.h"

#include "common/skip.h"
#include "uct/tcp/device.h"

#include <poll.h>

#include <memory>

using namespace ufx::test_tcp;

namespace {

using seconds = std::chrono::duration<double>;

// Two sides in a network namespace each, joined by a veth pair. Their sockets stay there.
class far_pair {
public:
    explicit far_pair(const tcp_settings &settings)
    {
        own_network here;
        own_network there;
        std::string join = "ip link add v1 type veth peer name v0 netns " + here.path();
        if (!there.run({join.c_str(), "ip addr add 10.9.0.2/24 dev v1", "ip link set v1 up"})) {
            return;
        }
        here.enter();
        REQUIRE(here.run({"ip addr add 10.9.0.1/24 dev v0", "ip link set v0 up"}));
        a = std::make_unique<tcp_side>("v0", settings);
        there.enter();
        auto device = ufx::uct::tcp::find_device("v1");
        REQUIRE(device);
        b = std::make_unique<tcp_side>("v1");
        // The kernel drops what v1 sends until it has worked off that v0 came up.
        until([&] { return ufx::uct::tcp::port_active(*device); });
        here.enter();
        ep = a->new_ep();
        ufx_uct_ep_h peer = b->new_ep();
        REQUIRE(ufx_uct_ep_connect_to_ep(ep, b->device_address().data(), b->iface_address().data(),
                                         ep_address(peer).data()) == UFX_OK);
        there.enter(); // the side that connects makes its socket now
        REQUIRE(ufx_uct_ep_connect_to_ep(peer, a->device_address().data(),
                                         a->iface_address().data(),
                                         ep_address(ep).data()) == UFX_OK);
        until([&] { return state_of(ep) == UFX_UCT_EP_LIVE && state_of(peer) == UFX_UCT_EP_LIVE; });
        // Whatever a sends from now on goes to a station that is not there.
        here.enter();
        REQUIRE(
            here.run({"ip neigh replace 10.9.0.2 lladdr 02:00:00:00:00:99 dev v0 nud permanent"}));
        usable = true;
    }

    void progress()
    {
        ufx_uct_iface_progress(a->iface);
        ufx_uct_iface_progress(b->iface);
    }

    // Progresses until the condition holds; says what failed if it does not in 20 s.
    template <class Condition>
    void until(Condition &&condition)
    {
        auto end = std::chrono::steady_clock::now() + seconds(20);
        while (!condition()) {
            if (std::chrono::steady_clock::now() > end) {
                FAIL("a: " << text_of(*a) << "; b: " << text_of(*b));
            }
            progress();
        }
    }

    static std::string text_of(const tcp_side &side)
    {
        return side.error_texts.empty() ? "no error" : side.error_texts[0];
    }

    // Waits on a's event fd for its ep to fail. @return how long that took
    double seconds_to_failure()
    {
        int fd = -1;
        REQUIRE(ufx_uct_iface_event_fd_get(a->iface, &fd) == UFX_OK);
        auto start = std::chrono::steady_clock::now();
        until([&] {
            if (ufx_uct_iface_event_arm(a->iface, UFX_UCT_EVENT_SEND_COMP) == UFX_OK) {
                pollfd entry{fd, POLLIN, 0};
                (void)poll(&entry, 1, 100);
            }
            return !a->errors.empty();
        });
        return seconds(std::chrono::steady_clock::now() - start).count();
    }

    std::unique_ptr<tcp_side> a;
    std::unique_ptr<tcp_side> b;
    ufx_uct_ep_h ep = nullptr;
    bool usable = false;
};

} // namespace

TEST_CASE("tcp: data that nobody acknowledges fails the ep after UFX_TCP_USER_TIMEOUT", "[tcp]")
{
    far_pair pair(tcp_settings{{"TCP_USER_TIMEOUT", "500ms"}});
    if (!pair.usable) {
        return ufx::test::skip("no network namespaces with a veth pair");
    }
    counted done;
    REQUIRE(ufx_uct_ep_check(pair.ep, &done) == UFX_INPROGRESS);
    double took = pair.seconds_to_failure();
    CHECK(took >= 0.4);
    CHECK(took < 5); // without it about 15 minutes
    CHECK(pair.a->errors[0].cause == UFX_UCT_CAUSE_TIMED_OUT);
    CHECK(pair.a->errors[0].status == UFX_ERR_ENDPOINT_TIMEOUT);
    CHECK(pair.b->errors.empty());
}

TEST_CASE("tcp: an idle connection to a peer that is gone fails by UFX_TCP_KEEPALIVE", "[tcp]")
{
    far_pair pair(tcp_settings{{"TCP_KEEPALIVE", "1s"}, {"TCP_USER_TIMEOUT", "500ms"}});
    if (!pair.usable) {
        return ufx::test::skip("no network namespaces with a veth pair");
    }
    double took = pair.seconds_to_failure();
    CHECK(took >= 0.9);
    CHECK(took < 10);
    CHECK(pair.a->errors[0].cause == UFX_UCT_CAUSE_TIMED_OUT);
}

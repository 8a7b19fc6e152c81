// SPDX-License-Identifier: BSD-3-Clause
// What stands still: after a port flap, for too long, for ever; and a long transfer that only looks
// so.
#include "spine_traffic.h"

#include "ucp/ep.h"
#include "ucp/fragment.h"
#include "ucp/lane.h"
#include "ucp/rail.h"
#include "ucs/fake_clock.h"
#include "ucs/log_capture.h"
#include "uct/fake/fake.h"

#include <algorithm>
#include <cstdio>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ufx::test {

namespace {

namespace fake = uct::fake;
using ucp::core::epoch_t;

constexpr std::uint64_t ms = ucs::ns_per_ms;

pair_options silent_rails(unsigned count, const char *stall_min, double bandwidth = 1e9)
{
    fake::install();
    fake::reset();
    fake::device_options device;
    device.bandwidth = bandwidth;
    pair_options options = quick_rails();
    options.config.push_back({"STALL_MIN", stall_min});
    options.devices.clear();
    for (unsigned i = 0; i < count; ++i) {
        const std::string name = "quiet" + std::to_string(i);
        fake::add_device(name, device);
        options.devices += (i == 0 ? "" : ",") + name;
    }
    return options;
}

fake::side &own(unsigned rail)
{
    return *fake::sides("quiet" + std::to_string(rail)).at(0);
}

std::string line_with(const ucs::log_capture &log, std::string_view words)
{
    for (const ucs::log_capture::line &each : log.lines()) {
        if (each.text.find(words) != std::string::npos) {
            return each.text;
        }
    }
    return "";
}

bool has(const std::string &text, std::string_view words)
{
    return text.find(words) != std::string::npos;
}

// A pair that is connected and has nothing under way, on a clock that only the test moves.
struct silent_pair {
    explicit silent_pair(const pair_options &options) : p(options)
    {
        REQUIRE(p.until([&] { return p.all_lanes_live(); }));
        go_on(50); // what is said while lanes are wired may go over them
    }
    void go_on(unsigned times_ms)
    {
        for (unsigned i = 0; i < times_ms; ++i) {
            for (int turn = 0; turn < 4; ++turn) {
                p.progress();
            }
            clock.advance(ms);
        }
    }
    waiter &put(std::size_t length)
    {
        local.resize(std::max(local.size(), length));
        waiter &w = waiters.emplace_back();
        w.posted(ufx_ucp_put(p.a.ep, local.data(), length, p.a.peer_addr, p.a.peer_key, &w.params,
                             nullptr));
        return w;
    }
    bool all_done() const
    {
        return std::all_of(waiters.begin(), waiters.end(),
                           [](const waiter &w) { return w.is_done() && w.status == UFX_OK; });
    }
    epoch_t epoch(unsigned rail) const
    {
        epoch_t newest = 0;
        for (const ucp::lane *l : ucp::ep::of(p.a.ep).lanes()) {
            newest = l->port().index() == rail ? std::max(newest, l->ref().epoch) : newest;
        }
        return newest;
    }
    std::string dump() const
    {
        char *text = nullptr;
        REQUIRE(ufx_ucp_worker_dump(p.a.worker, UFX_UCP_DUMP_JSON, &text) == UFX_OK);
        std::string all = text;
        ufx_ucp_dump_release(text);
        return all;
    }

    ucs::fake_clock clock;
    pair p;
    std::vector<std::byte> local;
    std::deque<waiter> waiters;
};

} // namespace

TEST_CASE("fake: a lane that still holds what it held before its port was away is replaced after "
          "100 ms, and no other",
          "[spine][fake][T04]")
{
    silent_pair s(silent_rails(2, "60s")); // nothing but the flap makes anybody look
    own(0).data.hold();
    own(1).data.hold();
    for (int i = 0; i < 8; ++i) {
        s.put(512);
    }
    s.go_on(1);
    REQUIRE(rail_of(s.p.a, 0).outstanding > 0);
    REQUIRE(rail_of(s.p.a, 1).outstanding > 0);
    const std::pair before(s.epoch(0), s.epoch(1));
    for (const unsigned rail : {0U, 1U}) {
        own(rail).tell(UFX_UCT_IFACE_PORT_DOWN);
    }
    s.go_on(10);
    for (const unsigned rail : {0U, 1U}) {
        own(rail).tell(UFX_UCT_IFACE_PORT_UP);
    }
    own(1).data.open(); // one lane completes all that it had
    s.go_on(95);
    CHECK(std::pair(s.epoch(0), s.epoch(1)) == before);
    CHECK(rail_of(s.p.a, 1).outstanding == 0);
    CHECK_FALSE(s.all_done());
    own(0).data.lose();
    s.go_on(10);
    own(0).data.open();
    s.go_on(50);
    CHECK(s.epoch(0) > before.first);
    CHECK(s.epoch(1) == before.second);
    CHECK(s.all_done());
    CHECK(state_of(s.p.a, 0) == UFX_UCP_RAIL_UP);
    CHECK(state_of(s.p.a, 1) == UFX_UCP_RAIL_UP);
}

TEST_CASE(
    "fake: operations that stand still are told in the log, once an interval, with all that is "
    "known of them",
    "[spine][fake][T06]")
{
    silent_pair s(silent_rails(1, "50ms"));
    const ucs::log_capture log;
    own(0).network_unacked = true;
    own(0).data.hold();
    for (int i = 0; i < 3; ++i) {
        s.put(512);
    }
    s.go_on(950);
    CHECK(log.count("stand still") == 0);
    s.go_on(200);
    REQUIRE(log.count("stand still") == 1);
    const std::string line = line_with(log, "stand still");
    INFO(line);
    char ep[32];
    std::snprintf(ep, sizeof(ep), "ep 0x%lx", ucp::ep::of(s.p.a.ep).id());
    CHECK(has(line, ep));
    CHECK(has(line, "quiet0: "));
    CHECK(has(line, "of 1536 bytes stand still on fake#"));
    CHECK(has(line, "for at least 1"));
    CHECK(has(line, "held up by the device"));
    s.go_on(2000);
    CHECK(log.count("stand still") == 3);
    own(0).data.open();
    s.go_on(20);
    CHECK(s.all_done());
    s.go_on(3000);
    CHECK(log.count("stand still") == 3);
}

TEST_CASE("fake: a lane that waits for its peer's token is told of as long as it holds operations",
          "[spine][fake][T06]")
{
    silent_pair s(silent_rails(2, "60s"));
    const ucs::log_capture log;
    own(0).data.hold();
    own(1).data.hold();
    for (int i = 0; i < 4; ++i) {
        s.put(512);
    }
    s.go_on(20);
    REQUIRE(rail_of(s.p.a, 0).outstanding > 0);
    own(0).hold_quiet = true; // its device does not let go
    own(0).fail_eps({});
    own(1).data.open();
    s.go_on(1200);
    CHECK(log.count("quiet0: ep") == 1);
    CHECK(log.count("quiet1: ep") == 0);
    own(0).hold_quiet = false;
    own(0).data.lose();
    s.go_on(20);
    own(0).data.open();
    s.go_on(3000);
    CHECK(s.all_done());
    CHECK(log.count("quiet0: ep") == 1);
}

TEST_CASE("fake: operations that no rail can take are told in the log too", "[spine][fake][T06]")
{
    silent_pair s(silent_rails(2, "50ms"));
    const ucs::log_capture log;
    for (const char *rail : {"rail0", "rail1"}) {
        s.p.set_link(s.p.a, rail, false);
    }
    s.go_on(20);
    s.put(512);
    s.put(512);
    s.go_on(950);
    CHECK(log.count("wait for a rail") == 0);
    s.go_on(200);
    REQUIRE(log.count("wait for a rail") == 1);
    const std::string line = line_with(log, "wait for a rail");
    INFO(line);
    CHECK(has(line, ": 2 operations wait for a rail, since 1"));
    CHECK(has(line, " ms: quiet0 DRAINING by PORT_DOWN, quiet1 DRAINING by PORT_DOWN"));
    CHECK(line.ends_with(" by PORT_DOWN")); // no other rail
    for (const char *rail : {"rail0", "rail1"}) {
        s.p.set_link(s.p.a, rail, true);
    }
    s.go_on(1000);
    CHECK(s.all_done());
    CHECK(log.count("wait for a rail") == 1);
}

TEST_CASE("fake: a dump shows what is posted on each rail, and who holds it up",
          "[spine][fake][T07]")
{
    silent_pair s(silent_rails(2, "50ms"));
    CHECK(has(s.dump(), R"("posted_by":[])"));
    own(0).data.hold();
    own(1).data.hold();
    for (int i = 0; i < 4; ++i) {
        s.put(512);
    }
    s.go_on(2);
    const std::string posted = s.dump();
    const std::size_t second = posted.find("quiet1");
    REQUIRE(second != std::string::npos);
    for (const std::string &rail : {posted.substr(0, second), posted.substr(second)}) {
        CHECK(has(rail, R"("queue":"fake#)"));
        CHECK(has(rail, R"({"kind":"PUT","bytes":512,"remote":)"));
    }
    CHECK(has(posted, R"("held_up_by":"nobody")"));
    s.clock.advance(1000 * ms); // nobody calls progress
    CHECK(has(s.dump(), R"("held_up_by":"poller")"));
    CHECK(has(s.dump(), R"("not_polled_ns":1)"));
    CHECK_FALSE(has(s.dump(), R"("held_up_by":"device")"));
    for (const unsigned rail : {0U, 1U}) {
        own(rail).network_unacked = true;
    }
    s.go_on(80); // somebody does, and the device tells of nothing
    CHECK(has(s.dump(), R"("held_up_by":"device")"));
    CHECK_FALSE(has(s.dump(), R"("held_up_by":"poller")"));
    for (const unsigned rail : {0U, 1U}) {
        own(rail).network_unacked = false;
    }
    s.go_on(20); // the peer has it, and does nothing with it
    CHECK(has(s.dump(), R"("held_up_by":"peer")"));
    own(0).data.open();
    own(1).data.open();
    s.go_on(20);
    CHECK(s.all_done());
    CHECK_FALSE(has(s.dump(), R"("held_up_by")"));
}

// 64 MB at a sixteenth of 1 Gb/s: as long as 1 GB at 1 Gb/s, and as long in each fragment, which
// are cut by time. As with RC nothing is heard of a fragment before its end.
TEST_CASE("fake: a put that takes 8 s at its rail's rate makes no rail SUSPECT",
          "[spine][fake][X14]")
{
    constexpr std::size_t size = std::size_t{64} << 20;
    constexpr double rate = 125e6 / 16;
    constexpr std::uint64_t fragment_ms = 10;
    const double mtu = static_cast<double>(fake::device_options().mtu);
    pair_options options = silent_rails(1, "50ms", rate);
    options.memory_size = size;
    silent_pair s(options);
    own(0).network_unacked = true;
    own(0).data.hold();
    fake::side &peer = *fake::sides("quiet0").at(1);
    const waiter &w = s.put(size);
    std::size_t longest = 0; // fragment
    double may_pass = 0;     // packets
    std::uint64_t took_ms = 0;
    bool suspect = false;
    for (; !w.is_done() && took_ms < 20000; ++took_ms) {
        may_pass += rate / 1e3 / mtu;
        own(0).data.allow(static_cast<std::uint64_t>(may_pass));
        may_pass -= static_cast<double>(static_cast<std::uint64_t>(may_pass));
        if (took_ms % fragment_ms == 0) {
            peer.acks.open();
        } else {
            peer.acks.hold();
        }
        s.go_on(1);
        for (ucp::lane *l : ucp::ep::of(s.p.a.ep).lanes()) {
            l->owner()->tx.each_posted(l->ref(), [&](const ucp::fragment &each) {
                longest = std::max(longest, each.part.length);
            });
        }
        for (const side *each : {&s.p.a, &s.p.b}) {
            suspect = suspect || state_of(*each, 0) != UFX_UCP_RAIL_UP;
        }
    }
    CHECK(w.status == UFX_OK);
    CHECK(took_ms > 8000);
    CHECK(took_ms < 10000);
    CHECK_FALSE(suspect);
    CHECK(longest > 0);
    CHECK(static_cast<double>(longest) < rate / 1e3 * (fragment_ms + 1));
    own(0).data.open();
    peer.acks.open();
    s.go_on(10);
}

} // namespace ufx::test

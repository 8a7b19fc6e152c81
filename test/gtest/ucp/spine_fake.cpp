// SPDX-License-Identifier: BSD-3-Clause
// Lanes and rails on the scripted transport and a fake clock: what costs a lane, and what a rail.
#include "spine_traffic.h"

#include "ucp/control_path.h"
#include "ucp/core/control_msg.h"
#include "ucs/fake_clock.h"
#include "uct/fake/fake.h"

#include <string>
#include <utility>
#include <vector>

namespace ufx::test {

namespace {

namespace fake = uct::fake;
using ucp::core::rail_id;

pair_options fake_rails(unsigned count, const fake::device_options &device = {})
{
    fake::install();
    fake::reset();
    pair_options options = quick_rails();
    options.devices.clear();
    for (unsigned i = 0; i < count; ++i) {
        const std::string name = "wire" + std::to_string(i);
        fake::add_device(name, device);
        options.devices += (i == 0 ? "" : ",") + name;
    }
    return options;
}

// Turns both workers, 1 ms of fake time a turn, until `what` holds.
template <class F>
bool step(traffic &t, pair &p, ucs::fake_clock &clock, std::uint64_t limit_ms, bool posting,
          F &&what)
{
    for (std::uint64_t ms = 0; ms < limit_ms; ++ms) {
        for (int i = 0; i < 4; ++i) {
            if (posting) {
                t.post_some();
            }
            p.progress();
        }
        t.reap();
        if (what()) {
            return true;
        }
        clock.advance(ucs::ns_per_ms);
    }
    return false;
}

// Changes of all rails' states so far, both sides.
std::uint64_t transitions(const pair &p)
{
    std::uint64_t total = 0;
    for (const side *s : {&p.a, &p.b}) {
        for (const auto &other : ucp::worker::of(s->worker).peers()) {
            for (const rail_id id : other->machine().rail_ids()) {
                total += other->machine().find_rail(id)->history().total();
            }
        }
    }
    return total;
}

ucp::core::epoch_t epoch_of(const side &s, unsigned index)
{
    const auto &machine = *ucp::ep::of(s.ep).failover();
    return machine.lanes()[index].epoch();
}

const fake::error own_error{UFX_ERR_CONNECTION_RESET, UFX_UCT_CAUSE_OWN_QP};
const fake::error retry_error{UFX_ERR_ENDPOINT_TIMEOUT, UFX_UCT_CAUSE_RETRY_EXCEEDED};

} // namespace

TEST_CASE("fake: a single rail whose lane errors recovers by a new lane, nothing is lost",
          "[spine][fake][X16]")
{
    ucs::fake_clock clock;
    pair p(fake_rails(1));
    traffic t(p);
    REQUIRE(step(t, p, clock, 2000, true, [&] { return t.completed() > 100; }));
    fake::side &a = *fake::sides("wire0").at(0);
    a.data.allow(3);
    p.progress();
    a.fail_eps(own_error);
    a.data.open();
    REQUIRE(step(t, p, clock, 5000, true, [&] { return epoch_of(p.a, 0) == 2; }));
    REQUIRE(step(t, p, clock, 5000, false, [&] { return t.over(); }));
    CHECK(t.verify());
    CHECK(transitions(p) == 0);
}

TEST_CASE("fake: one QP error costs one lane and no rail, though the other side sees RETRY_EXC",
          "[spine][fake][X22]")
{
    ucs::fake_clock clock;
    pair p(fake_rails(2));
    traffic t(p);
    REQUIRE(step(t, p, clock, 2000, true, [&] { return t.completed() > 100; }));
    fake::sides("wire0").at(0)->fail_eps(own_error);
    fake::sides("wire0").at(1)->fail_eps(retry_error);
    REQUIRE(
        step(t, p, clock, 5000, true, [&] { return epoch_of(p.a, 0) == 2 && p.all_lanes_live(); }));
    REQUIRE(step(t, p, clock, 5000, false, [&] { return t.over() && settled(p); }));
    CHECK(t.verify());
    CHECK(rail_of(p.a, 0).failures == 0);
    CHECK(rail_of(p.b, 0).failures == 0);
}

TEST_CASE("fake: a lane that dies between LANE_REP and READY: what was posted lands once",
          "[spine][fake][X23]")
{
    ucs::fake_clock clock;
    pair p(fake_rails(2));
    traffic t(p);
    REQUIRE(step(t, p, clock, 2000, true, [&] { return t.completed() > 100; }));
    for (side *s : {&p.a, &p.b}) {
        ucp::worker::of(s->worker).control().filter.copies = [](std::uint64_t,
                                                                const ucp::core::control_msg &msg) {
            return std::holds_alternative<ucp::core::lane_ready_msg>(msg) ? 0 : 1;
        };
    }
    const bool a_starts = ufx_ucp_worker_uuid(p.a.worker) < ufx_ucp_worker_uuid(p.b.worker);
    side &starter = a_starts ? p.a : p.b;
    fake::side &wire = *fake::sides("wire0").at(a_starts ? 0 : 1);
    wire.fail_eps(own_error);
    REQUIRE(step(t, p, clock, 5000, true, [&] { return epoch_of(starter, 0) == 2; }));
    REQUIRE(step(t, p, clock, 5000, true,
                 [&] { return ucp::ep::of(starter.ep).failover()->lanes()[0].is_live(); }));
    const std::uint64_t before = t.completed();
    REQUIRE(step(t, p, clock, 5000, true, [&] { return t.completed() > before + 100; }));
    wire.data.allow(5);
    p.progress();
    wire.fail_eps(own_error);
    wire.data.open();
    for (side *s : {&p.a, &p.b}) {
        ucp::worker::of(s->worker).control().filter.copies = nullptr;
    }
    REQUIRE(step(t, p, clock, 10000, false,
                 [&] { return t.over() && settled(p) && p.all_lanes_live(); }));
    CHECK(t.verify());
}

TEST_CASE("fake: lanes with small messages and no room carry the control path in parts",
          "[spine][fake][X21]")
{
    ucs::fake_clock clock;
    fake::device_options device;
    device.seg_size = 104; // below the size of a SEAL or LANE_REQ
    device.max_outstanding = 4;
    pair p(fake_rails(2, device));
    traffic t(p);
    REQUIRE(step(t, p, clock, 5000, true, [&] { return t.completed() > 50; }));
    for (side *s : {&p.a, &p.b}) {
        ucp::worker::of(s->worker).control().filter.only_lanes = true;
    }
    fake::side &busy = *fake::sides("wire1").at(0);
    busy.no_resource = true;
    fake::sides("wire0").at(0)->fail_eps(own_error);
    REQUIRE_FALSE(step(t, p, clock, 100, true, [&] { return epoch_of(p.a, 0) == 2; }));
    busy.no_resource = false;
    REQUIRE(
        step(t, p, clock, 5000, true, [&] { return epoch_of(p.a, 0) == 2 && p.all_lanes_live(); }));
    REQUIRE(step(t, p, clock, 5000, false, [&] { return t.over() && settled(p); }));
    CHECK(t.verify());
}

TEST_CASE("control frames over lanes: what is cut is put together; a frame with a gap is dropped",
          "[spine][T09]")
{
    const std::vector<std::uint8_t> bytes(20 + 3, 7);
    std::vector<std::uint8_t> wire(ucp::control_part::header_size + bytes.size());
    CHECK_FALSE(ucp::parse_control_part(std::span(wire).first(15)));
    CHECK_FALSE(ucp::parse_control_part(wire)); // part 0 of 0
    wire[14] = 1;
    REQUIRE(ucp::parse_control_part(wire));
    CHECK(ucp::parse_control_part(wire)->bytes.size() == bytes.size());

    const auto part = [&](unsigned frame, unsigned index, unsigned count) {
        return ucp::control_part{1,
                                 0,
                                 static_cast<std::uint16_t>(frame),
                                 static_cast<std::uint16_t>(index),
                                 static_cast<std::uint16_t>(count),
                                 bytes};
    };
    ucp::control_receiver receiver;
    CHECK(receiver.take(part(1, 0, 1)).size() == bytes.size());
    CHECK(receiver.take(part(2, 0, 3)).empty());
    CHECK(receiver.take(part(2, 1, 3)).empty());
    CHECK(receiver.take(part(2, 2, 3)).size() == 3 * bytes.size());
    CHECK(receiver.take(part(2, 2, 3)).empty()); // again
    CHECK(receiver.take(part(3, 0, 3)).empty());
    CHECK(receiver.take(part(3, 2, 3)).empty()); // the one between is missing
    CHECK(receiver.take(part(3, 1, 3)).empty());
    CHECK(receiver.take(part(4, 1, 2)).empty()); // its begin is missing
    for (unsigned i = 0; i < 1000; ++i) {        // what is longer than any message is not kept
        CHECK(receiver.take(part(5, i, 1001)).empty());
    }
    CHECK(receiver.take(part(5, 1000, 1001)).empty());
}

TEST_CASE("fake: 10 s of idleness after a put make no rail SUSPECT", "[spine][fake][X15]")
{
    ucs::fake_clock clock;
    pair p(fake_rails(2));
    traffic t(p);
    t.post_some();
    REQUIRE(step(t, p, clock, 2000, false, [&] { return t.over(); }));
    const auto sent = [] {
        std::uint64_t packets = 0;
        for (const char *wire : {"wire0", "wire1"}) {
            for (const fake::side *each : fake::sides(wire)) {
                packets += each->data.passed();
            }
        }
        return packets;
    };
    REQUIRE_FALSE(step(t, p, clock, 1000, false, [&] { return transitions(p) != 0; }));
    const std::uint64_t before = sent();
    REQUIRE_FALSE(step(t, p, clock, 10000, false, [&] { return transitions(p) != 0; }));
    CHECK(sent() == before); // and nobody is asked whether anything moves
    CHECK(t.verify());
}

TEST_CASE("fake: a device that moderates completions makes no rail SUSPECT", "[spine][fake][X15]")
{
    ucs::fake_clock clock;
    fake::device_options device;
    device.moderated = true;
    pair p(fake_rails(2, device));
    for (const char *wire : {"wire0", "wire1"}) {
        for (fake::side *each : fake::sides(wire)) {
            each->network_unacked = true;
        }
    }
    traffic t(p);
    REQUIRE(step(t, p, clock, 2000, true, [&] { return t.completed() > 100; }));
    REQUIRE(step(t, p, clock, 2000, false, [&] { return t.over(); }));
    REQUIRE_FALSE(step(t, p, clock, 1000, false, [&] { return transitions(p) != 0; }));
    CHECK(t.verify());
}

TEST_CASE("fake: a stalled rail becomes SUSPECT, is drained, and comes back after a probe",
          "[spine][fake]")
{
    ucs::fake_clock clock;
    pair p(fake_rails(2));
    traffic t(p);
    REQUIRE(step(t, p, clock, 2000, true, [&] { return t.completed() > 100; }));
    for (fake::side *s : fake::sides("wire0")) {
        s->network_unacked = true;
    }
    fake::cut("wire0");
    const std::uint64_t cut_at = clock.now();
    REQUIRE(
        step(t, p, clock, 1000, true, [&] { return state_of(p.a, 0) == UFX_UCP_RAIL_SUSPECT; }));
    CHECK(clock.now() - cut_at <= 120 * ucs::ns_per_ms);
    REQUIRE(step(t, p, clock, 1000, true, [&] { return state_of(p.a, 0) == UFX_UCP_RAIL_DOWN; }));
    const std::uint64_t before = t.completed();
    REQUIRE(step(t, p, clock, 1000, true, [&] { return t.completed() > before + 100; }));
    CHECK(p.failover(p.a).frozen > 0);
    CHECK(p.failover(p.a).replayed > 0);
    for (fake::side *s : fake::sides("wire0")) {
        s->network_unacked = false;
    }
    fake::restore("wire0");
    REQUIRE(step(t, p, clock, 20000, true,
                 [&] { return state_of(p.a, 0) == UFX_UCP_RAIL_UP && p.all_lanes_live(); }));
    REQUIRE(step(t, p, clock, 5000, false, [&] { return t.over() && settled(p); }));
    CHECK(t.verify());
    CHECK(rail_of(p.a, 0).recoveries == 1);
}

TEST_CASE("fake: a short stall that ends within the grace fails nothing", "[spine][fake]")
{
    ucs::fake_clock clock;
    pair p(fake_rails(2));
    traffic t(p);
    REQUIRE(step(t, p, clock, 2000, true, [&] { return t.completed() > 100; }));
    const auto sides = fake::sides("wire0");
    for (fake::side *s : sides) {
        s->network_unacked = true;
        s->data.hold();
    }
    REQUIRE(
        step(t, p, clock, 1000, true, [&] { return state_of(p.a, 0) == UFX_UCP_RAIL_SUSPECT; }));
    for (fake::side *s : sides) {
        s->data.open();
    }
    REQUIRE(step(t, p, clock, 1000, true, [&] {
        return state_of(p.a, 0) == UFX_UCP_RAIL_UP && state_of(p.b, 0) == UFX_UCP_RAIL_UP;
    }));
    REQUIRE(step(t, p, clock, 2000, false, [&] { return t.over(); }));
    CHECK(t.verify());
    CHECK(p.failover(p.a).frozen == 0);
    CHECK(epoch_of(p.a, 0) == 1);
}

TEST_CASE("fake: a port query catches a port event that was lost", "[spine][fake]")
{
    ucs::fake_clock clock;
    pair p(fake_rails(2));
    traffic t(p);
    fake::side &a = *fake::sides("wire0").at(0);
    a.tell(UFX_UCT_IFACE_PORT_DOWN);
    REQUIRE(step(t, p, clock, 1500, false, [&] { return state_of(p.a, 0) != UFX_UCP_RAIL_UP; }));
    a.tell(UFX_UCT_IFACE_PORT_UP);
    REQUIRE(step(t, p, clock, 20000, false,
                 [&] { return state_of(p.a, 0) == UFX_UCP_RAIL_UP && p.all_lanes_live(); }));
}

TEST_CASE("fake: without failover the first failure of a lane fails the ep, on both sides",
          "[spine][fake]")
{
    ucs::fake_clock clock;
    pair_options options = fake_rails(2);
    options.error_mode = UFX_UCP_ERROR_MODE_PEER;
    pair p(options);
    traffic t(p);
    REQUIRE(step(t, p, clock, 2000, true, [&] { return t.completed() > 10; }));
    fake::sides("wire1").at(0)->fail_eps(own_error);
    REQUIRE(
        step(t, p, clock, 2000, false, [&] { return !p.a.events.empty() && !p.b.events.empty(); }));
    CHECK(p.a.events[0].type == UFX_UCP_EP_EVENT_ERROR);
    CHECK(p.b.events[0].type == UFX_UCP_EP_EVENT_ERROR);
    CHECK(t.each_completed_once());
    CHECK(ufx_ucp_put(p.a.ep, p.a.memory, 8, p.a.peer_addr, p.a.peer_key, nullptr, nullptr) ==
          UFX_ERR_SHUTDOWN);
}

TEST_CASE("fake: towards a silent peer there is at most one attempt a hold-off",
          "[spine][fake][T17]")
{
    ucs::fake_clock clock;
    pair p(fake_rails(1));
    traffic t(p);
    REQUIRE(step(t, p, clock, 2000, true, [&] { return t.completed() > 10; }));
    unsigned attempts = 0;
    ucp::worker::of(p.a.worker).control().filter.copies = [&](std::uint64_t,
                                                              const ucp::core::control_msg &msg) {
        const bool asks = std::holds_alternative<ucp::core::lane_req_msg>(msg) ||
                          std::holds_alternative<ucp::core::lane_want_msg>(msg);
        attempts += asks ? 1 : 0;
        return 1;
    };
    // The peer's process stands still; its rail is dead too.
    fake::cut("wire0");
    fake::sides("wire0").at(0)->fail_eps({UFX_ERR_NET_UNREACHABLE, UFX_UCT_CAUSE_UNREACHABLE});
    for (unsigned ms = 0; ms < 20000; ++ms) {
        (void)ufx_ucp_worker_progress(p.a.worker);
        clock.advance(ucs::ns_per_ms);
    }
    CHECK(attempts <= 60);
    CHECK(p.a.events.empty());
    for (unsigned ms = 0; ms < 15000 && p.a.events.empty(); ++ms) {
        (void)ufx_ucp_worker_progress(p.a.worker);
        clock.advance(ucs::ns_per_ms);
    }
    REQUIRE(!p.a.events.empty());
    CHECK(p.a.event_texts[0] == "the peer is dead: it was silent for UFX_PEER_TIMEOUT");
    fake::restore("wire0");
}

TEST_CASE("fake: while a lane is sealed its dump, its transport and the verdicts tell of the same "
          "operations",
          "[spine][fake][U13]")
{
    constexpr unsigned puts = 6;
    auto options = fake_rails(1);
    options.config.push_back({"STALL_MIN", "60s"}); // nobody asks on a slow machine what holds it up
    pair p(options);
    REQUIRE(p.until([&] { return p.all_lanes_live(); }));
    for (unsigned i = 0; i < 300; ++i) {
        p.progress(); // what is said while lanes are wired may go over them
    }
    fake::side &own = *fake::sides("wire0").at(0);
    const std::uint64_t frozen = p.failover(p.a).frozen;
    own.data.hold();
    std::vector<std::byte> local(puts * 512);
    waiter done[puts];
    for (unsigned i = 0; i < puts; ++i) {
        done[i].posted(ufx_ucp_put(p.a.ep, local.data() + i * 512, 512, p.a.peer_addr + i * 512,
                                   p.a.peer_key, &done[i].params, nullptr));
    }
    own.hold_quiet = true;
    p.progress();
    const ucp::lane &lane = *ucp::ep::of(p.a.ep).lanes().at(0);
    const auto by_transport = [&] {
        ufx_uct_ep_attr_t attr{};
        attr.field_mask = UFX_UCT_EP_ATTR_OUTSTANDING | UFX_UCT_EP_ATTR_STATE;
        REQUIRE(ufx_uct_ep_query(lane.uct(), &attr) == UFX_OK);
        return std::pair(attr.outstanding_ops, attr.state);
    };
    // What the dump says of the ep's lane.
    const auto of_dump = [&](const std::string &key) {
        char *text = nullptr;
        REQUIRE(ufx_ucp_worker_dump(p.a.worker, UFX_UCP_DUMP_JSON, &text) == UFX_OK);
        const std::string all = text;
        ufx_ucp_dump_release(text);
        const std::size_t lanes = all.find("\"lanes\"");
        const std::size_t name = all.find("\"" + key + "\":", lanes);
        REQUIRE(lanes < name);
        REQUIRE(name != std::string::npos);
        const std::size_t from = all.find_first_not_of(" \"", name + key.size() + 3);
        return all.substr(from, all.find_first_of("\",}\n", from) - from);
    };
    CHECK(of_dump("state") == "LIVE");
    own.fail_eps({});
    for (unsigned i = 0; i < 10; ++i) {
        p.progress();
    }
    CHECK(of_dump("state") == "SEALING");
    CHECK(of_dump("open") == "false");
    const auto [outstanding, state] = by_transport();
    CHECK(state == UFX_UCT_EP_DEFERRED);
    CHECK(outstanding == puts);
    CHECK(of_dump("outstanding") == std::to_string(outstanding));
    own.hold_quiet = false;
    own.data.lose(); // what is held
    p.progress();
    own.data.open();
    for (waiter &w : done) {
        REQUIRE(p.until_done(w));
        CHECK(w.status == UFX_OK);
    }
    CHECK(p.failover(p.a).frozen - frozen == outstanding);
    CHECK(of_dump("state") == "LIVE");
    CHECK(of_dump("outstanding") == "0");
}

} // namespace ufx::test

// SPDX-License-Identifier: BSD-3-Clause
// A device that fails and is opened again: rails, registrations, keys.
#include "data_fake_pair.h"

#include "ucp/control_path.h"
#include "ucp/core/control_msg.h"
#include "ucp/peer.h"
#include "ucp/proto.h"
#include "ucp/rail.h"
#include "ucp/worker.h"

#include <deque>
#include <optional>

using ufx::test::fake_pair;
using ufx::test::fill;
using ufx::test::first_difference;
using ufx::test::pair;
using ufx::test::waiter;

namespace {

constexpr std::size_t mtu = fake_pair::mtu;

void put(pair &p, waiter &w, const std::vector<std::byte> &from)
{
    w.posted(ufx_ucp_put(p.a.ep, from.data(), from.size(), p.a.peer_addr, p.a.peer_key, &w.params,
                         nullptr));
}

void get(pair &p, waiter &w, std::vector<std::byte> &into)
{
    w.posted(ufx_ucp_get(p.a.ep, into.data(), into.size(), p.a.peer_addr, p.a.peer_key, &w.params,
                         nullptr));
}

// Rails of that side that came back, and carry lanes to the other one.
bool are_back(const ufx::test::side &on, std::uint64_t recoveries)
{
    const ufx::ucp::worker &w = ufx::ucp::worker::of(on.worker);
    for (const auto &rail : w.rails()) {
        if (rail->count.recoveries < recoveries || rail->lanes().empty()) {
            return false;
        }
    }
    return true;
}

} // namespace

TEST_CASE("ucp: a device that failed is opened again, and its rails carry traffic again",
          "[data][fake][G11][M04][T01]")
{
    fake_pair p("RAIL_HOLDOFF", "50ms");
    const bool is_own = GENERATE(true, false);
    CAPTURE(is_own);
    std::vector<std::byte> local(64 * mtu), back(64 * mtu);
    for (std::uint64_t time = 1; time <= 2; ++time) {
        const auto seed = static_cast<unsigned>(time);
        std::deque<waiter> puts(4), gets(4);
        fill(local.data(), local.size(), seed);
        for (waiter &w : puts) {
            put(p, w, local);
        }
        p.rounds(3);
        is_own ? p.lose_own_device() : p.lose_peers_device();
        for (waiter &w : puts) {
            REQUIRE(p.until_done(w));
            CHECK(w.status == UFX_OK);
        }
        REQUIRE(p.until([&] { return are_back(p.a, time) && are_back(p.b, time); }));
        const auto before = p.failover(p.a);
        for (waiter &w : gets) {
            get(p, w, back);
        }
        for (waiter &w : gets) {
            REQUIRE(p.until_done(w));
            CHECK(w.status == UFX_OK);
        }
        CHECK(first_difference(p.b.memory, local.size(), seed) == local.size());
        CHECK(first_difference(back.data(), back.size(), seed) == back.size());
        CHECK(p.failover(p.a).frozen == before.frozen); // no key was refused
    }
    CHECK(p.a.events.empty());
}

TEST_CASE("ucp: memory that was unmapped while its device was away is refused", "[data][fake]")
{
    fake_pair p("RAIL_HOLDOFF", "50ms");
    std::vector<std::byte> local(4 * mtu);
    const bool is_replay = GENERATE(true, false);
    CAPTURE(is_replay);
    waiter w;
    if (is_replay) {
        p.own(0).data.hold();
        p.own(1).data.hold();
        put(p, w, local);
        p.rounds(3);
    }
    p.lose_peers_device();
    REQUIRE(ufx_ucp_mem_unmap(p.b.context, p.b.mem) == UFX_OK);
    p.b.mem = nullptr;
    if (is_replay) {
        p.own(0).data.lose();
        p.own(1).data.lose();
        p.own(0).data.open();
        p.own(1).data.open();
    } else {
        put(p, w, local);
    }
    REQUIRE(p.until_done(w));
    CHECK(w.status == UFX_ERR_REMOTE_ACCESS);
    waiter later;
    put(p, later, local);
    REQUIRE(p.until_done(later));
    CHECK(later.status == UFX_ERR_REMOTE_ACCESS);
    CHECK(p.a.events.empty());
}

TEST_CASE("ucp: memory that could not be registered again ends its operations, and no others",
          "[data][fake]")
{
    fake_pair p("RAIL_HOLDOFF", "50ms");
    std::vector<std::byte> local(4 * mtu);
    p.own(0).data.hold();
    p.own(1).data.hold();
    waiter frozen, behind;
    put(p, frozen, local);
    p.rounds(3);
    ufx::uct::fake::refuse_registration(true);
    p.lose_peers_device();
    const ufx::ucp::worker &loser = ufx::ucp::worker::of(p.b.worker);
    REQUIRE(p.until([&] {
        return loser.rails()[0]->generation() == 2 && loser.rails()[1]->generation() == 2;
    }));
    ufx::uct::fake::refuse_registration(false);
    for (const unsigned rail : {0, 1}) {
        p.own(rail).data.lose();
        p.own(rail).data.open();
    }
    ufx_ucp_mem_params_t params{};
    params.field_mask = UFX_UCP_MEM_PARAM_LENGTH | UFX_UCP_MEM_PARAM_FLAGS;
    params.length = local.size();
    params.flags = UFX_UCP_MEM_ALLOCATE | UFX_UCP_MEM_REMOTE_WRITE;
    ufx_ucp_mem_h fresh = nullptr;
    REQUIRE(ufx_ucp_mem_map(p.b.context, &params, &fresh) == UFX_OK);
    void *address = nullptr, *packed = nullptr;
    std::size_t length = 0;
    REQUIRE(ufx_ucp_mem_query(fresh, &address, &length) == UFX_OK);
    REQUIRE(ufx_ucp_rkey_pack(p.b.context, fresh, &packed, &length) == UFX_OK);
    ufx_ucp_rkey_h key = nullptr;
    REQUIRE(ufx_ucp_ep_rkey_unpack(p.a.ep, packed, length, &key) == UFX_OK);
    ufx_ucp_rkey_buffer_release(packed);
    behind.posted(ufx_ucp_put(p.a.ep, local.data(), local.size(),
                              reinterpret_cast<std::uintptr_t>(address), key, &behind.params,
                              nullptr));
    REQUIRE(p.until_done(frozen));
    CHECK(frozen.status == UFX_ERR_UNREACHABLE);
    REQUIRE(p.until_done(behind));
    CHECK(behind.status == UFX_OK);
    CHECK(p.a.events.empty());
    ufx_ucp_rkey_destroy(key);
    REQUIRE(ufx_ucp_mem_unmap(p.b.context, fresh) == UFX_OK);
}

TEST_CASE("ucp: a key that is older than the target's device is refreshed, and the put goes on",
          "[data][fake]")
{
    fake_pair p("RAIL_HOLDOFF", "50ms");
    std::vector<std::byte> local(8 * mtu);
    unsigned asked = 0;
    ufx::ucp::worker::of(p.a.worker).control().filter.copies =
        [&](std::uint64_t, const ufx::ucp::core::control_msg &msg) {
            const bool is_req = std::holds_alternative<ufx::ucp::core::rkey_req_msg>(msg);
            return is_req && ++asked == 1 ? 0 : 1; // the first one is lost
        };
    p.lose_peers_device();
    std::deque<waiter> waiters(3);
    SECTION("puts")
    {
        fill(local.data(), local.size(), 6);
        for (waiter &w : waiters) {
            put(p, w, local);
        }
    }
    SECTION("gets")
    {
        fill(p.b.memory, local.size(), 6);
        for (waiter &w : waiters) {
            w.posted(ufx_ucp_get(p.a.ep, local.data(), local.size(), p.a.peer_addr, p.a.peer_key,
                                 &w.params, nullptr));
        }
    }
    for (waiter &w : waiters) {
        REQUIRE(p.until_done(w));
        CHECK(w.status == UFX_OK);
        CHECK(w.calls == 1);
    }
    CHECK(first_difference(local.data(), local.size(), 6) == local.size());
    CHECK(first_difference(p.b.memory, local.size(), 6) == local.size());
    CHECK(asked >= 2);
    const unsigned so_far = asked;
    waiter fresh;
    put(p, fresh, local);
    REQUIRE(p.until_done(fresh));
    CHECK(fresh.status == UFX_OK);
    CHECK(asked == so_far);
}

TEST_CASE("ucp: a late answer about an older key condemns no operation", "[data][fake]")
{
    using ufx::ucp::core::control_msg;
    using ufx::ucp::core::rkey_rep_msg;
    using ufx::ucp::core::rkey_req_msg;
    fake_pair p("RAIL_HOLDOFF", "50ms");
    std::vector<std::byte> local(mtu);
    fill(local.data(), local.size(), 7);
    std::optional<rkey_rep_msg> late;
    auto &target = ufx::ucp::worker::of(p.b.worker).control();
    target.filter.copies = [&](std::uint64_t, const control_msg &msg) {
        if (const auto *reply = std::get_if<rkey_rep_msg>(&msg); reply != nullptr && !late) {
            late = *reply;
        }
        return 1;
    };
    p.lose_peers_device();
    waiter first;
    put(p, first, local);
    REQUIRE(p.until_done(first));
    REQUIRE(late.has_value());
    target.filter.copies = nullptr;

    ufx::ucp::worker &origin = ufx::ucp::worker::of(p.a.worker);
    bool asked = false;
    origin.control().filter.copies = [&](std::uint64_t, const control_msg &msg) {
        const bool is_req = std::holds_alternative<rkey_req_msg>(msg);
        const bool is_first = is_req && !asked;
        asked = asked || is_req;
        return is_first ? 0 : 1; // the question is under way for a while
    };
    p.lose_peers_device();
    waiter second;
    put(p, second, local);
    REQUIRE(p.until([&] { return asked; }));
    ufx::ucp::on_rkey_rep(*origin.peers().front(), *late);
    REQUIRE(p.until_done(second));
    CHECK(second.status == UFX_OK);
    CHECK(first_difference(p.b.memory, local.size(), 7) == local.size());
}

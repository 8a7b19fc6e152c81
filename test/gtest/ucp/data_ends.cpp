// SPDX-License-Identifier: BSD-3-Clause
// How operations end: cancel, deadlines, the user's errors, tokens that say little, a dead peer.
#include "data_fake_pair.h"

#include "ucp/control_path.h"
#include "ucp/core/op_state.h"
#include "ucp/peer.h"
#include "ucp/proto.h"
#include "ucp/worker.h"
#include "ucs/log_capture.h"

#include <deque>
#include <optional>
#include <utility>

using ufx::test::fake_pair;
using ufx::test::fill;
using ufx::test::first_difference;
using ufx::test::pair;
using ufx::test::waiter;

namespace {

constexpr std::size_t mtu = fake_pair::mtu;
constexpr std::uint64_t ms = 1'000'000;

void put(pair &p, waiter &w, const std::vector<std::byte> &from,
         ufx_ucp_request_h *request = nullptr)
{
    w.posted(ufx_ucp_put(p.a.ep, from.data(), from.size(), p.a.peer_addr, p.a.peer_key, &w.params,
                         request));
}

} // namespace

TEST_CASE("ucp: a put that times out while posted does not touch either memory afterwards",
          "[data][fake][T02][X07]")
{
    fake_pair p;
    std::vector<std::byte> local(4 * mtu);
    fill(local.data(), local.size(), 1);
    fill(p.b.memory, local.size(), 2);
    p.own(0).data.hold();
    p.own(1).data.hold();
    waiter w;
    w.with_deadline(50 * ms);
    put(p, w, local);
    REQUIRE(p.until_done(w));
    CHECK(w.status == UFX_ERR_TIMEOUT);
    CHECK(w.flags == UFX_UCP_COMPLETION_REMOTE_FINAL);
    fill(local.data(), local.size(), 3); // the owner uses it again
    p.own(0).data.open();                // and the late packets may leave
    p.own(1).data.open();
    p.rounds(200);
    CHECK(first_difference(p.b.memory, local.size(), 2) == local.size());
    waiter next;
    put(p, next, local);
    REQUIRE(p.until_done(next));
    CHECK(next.status == UFX_OK);
}

TEST_CASE("ucp: a cancel drops what is not posted; what is posted finishes", "[data][fake]")
{
    fake_pair p;
    std::vector<std::byte> local(4 * mtu);
    ufx_ucp_request_h request = nullptr;
    waiter w;
    SECTION("nothing was posted")
    {
        p.own(0).no_resource = true;
        p.own(1).no_resource = true;
        put(p, w, local, &request);
        p.rounds(3);
        REQUIRE(ufx_ucp_request_cancel(request) == UFX_OK);
        REQUIRE(p.until_done(w));
        CHECK(w.status == UFX_ERR_CANCELED);
        p.own(0).no_resource = false;
        p.own(1).no_resource = false;
    }
    SECTION("all was posted")
    {
        p.own(0).data.hold();
        p.own(1).data.hold();
        put(p, w, local, &request);
        p.rounds(3);
        REQUIRE(ufx_ucp_request_cancel(request) == UFX_OK);
        p.rounds(20);
        CHECK_FALSE(w.is_done());
        p.own(0).data.open();
        p.own(1).data.open();
        REQUIRE(p.until_done(w));
        CHECK(w.status == UFX_OK);
    }
    CHECK(w.calls == 1);
    CHECK(ufx_ucp_request_check(request) == w.status);
    ufx_ucp_request_free(request);
}

TEST_CASE("ucp: a request without a callback is polled and given back", "[data][fake]")
{
    fake_pair p;
    std::vector<std::byte> local(mtu);
    ufx_ucp_request_h request = nullptr;
    const ufx_status_t posted = ufx_ucp_put(p.a.ep, local.data(), local.size(), p.a.peer_addr,
                                            p.a.peer_key, nullptr, &request);
    REQUIRE(posted == UFX_INPROGRESS);
    REQUIRE(p.until([&] { return ufx_ucp_request_check(request) != UFX_INPROGRESS; }));
    CHECK(ufx_ucp_request_check(request) == UFX_OK);
    ufx_ucp_request_free(request);
}

TEST_CASE("ucp: without a position a put is repeated, or AMBIGUOUS if its target polls memory",
          "[data][fake]")
{
    const bool polls = GENERATE(false, true);
    const std::uint64_t flags = polls ? std::uint64_t{UFX_UCP_EP_TARGET_POLLS_MEMORY} : 0;
    fake_pair p(flags);
    std::vector<std::byte> local(2 * mtu);
    fill(local.data(), local.size(), 4);
    for (unsigned rail : {0u, 1u}) {
        p.peers(rail).acks.lose();
        p.peers(rail).token_grade = UFX_UCT_GRADE_BLIND;
    }
    waiter w;
    put(p, w, local);
    p.rounds(20);
    p.break_lane(0);
    p.break_lane(1);
    p.peers(0).acks.open();
    p.peers(1).acks.open();
    REQUIRE(p.until_done(w));
    if (polls) {
        CHECK(w.status == UFX_ERR_AMBIGUOUS);
        CHECK(w.flags == UFX_UCP_COMPLETION_REMOTE_FINAL);
    } else {
        CHECK(w.status == UFX_OK);
        CHECK(first_difference(p.b.memory, local.size(), 4) == local.size());
    }
}

TEST_CASE("ucp: a put whose side could not be closed is AMBIGUOUS, and its memory not final",
          "[data][fake]")
{
    fake_pair p;
    std::vector<std::byte> local(2 * mtu);
    for (unsigned rail : {0u, 1u}) {
        p.peers(rail).acks.lose();
        p.peers(rail).token_grade = UFX_UCT_GRADE_OPEN;
    }
    waiter w;
    put(p, w, local);
    p.rounds(20);
    p.break_lane(0);
    p.break_lane(1);
    REQUIRE(p.until_done(w));
    CHECK(w.status == UFX_ERR_AMBIGUOUS);
    CHECK(w.flags == 0);
}

TEST_CASE("ucp: one wrong key costs only the guilty operation", "[data][tcp]")
{
    pair p;
    ufx_ucp_mem_params_t mp{};
    mp.field_mask = UFX_UCP_MEM_PARAM_LENGTH | UFX_UCP_MEM_PARAM_FLAGS;
    mp.length = 65536;
    mp.flags = UFX_UCP_MEM_ALLOCATE | UFX_UCP_MEM_REMOTE_WRITE;
    ufx_ucp_mem_h mem = nullptr;
    REQUIRE(ufx_ucp_mem_map(p.b.context, &mp, &mem) == UFX_OK);
    void *address = nullptr;
    std::size_t length = 0;
    REQUIRE(ufx_ucp_mem_query(mem, &address, &length) == UFX_OK);
    void *packed = nullptr;
    std::size_t packed_length = 0;
    REQUIRE(ufx_ucp_rkey_pack(p.b.context, mem, &packed, &packed_length) == UFX_OK);
    ufx_ucp_rkey_h stale = nullptr;
    REQUIRE(ufx_ucp_ep_rkey_unpack(p.a.ep, packed, packed_length, &stale) == UFX_OK);
    ufx_ucp_rkey_buffer_release(packed);
    REQUIRE(ufx_ucp_mem_unmap(p.b.context, mem) == UFX_OK);

    std::vector<std::byte> local(1 << 20);
    fill(local.data(), local.size(), 6);
    std::deque<waiter> good(8);
    waiter bad;
    for (std::size_t i = 0; i < good.size(); ++i) {
        if (i == 4) {
            bad.posted(ufx_ucp_put(p.a.ep, local.data(), 100,
                                   reinterpret_cast<std::uintptr_t>(address), stale, &bad.params,
                                   nullptr));
        }
        put(p, good[i], local);
    }
    REQUIRE(p.until_done(bad));
    CHECK(bad.status == UFX_ERR_REMOTE_ACCESS);
    for (waiter &w : good) {
        REQUIRE(p.until_done(w));
        CHECK(w.status == UFX_OK);
        CHECK(w.calls == 1);
    }
    CHECK(p.a.events.empty());
    CHECK(first_difference(p.b.memory, local.size(), 6) == local.size());
    ufx_ucp_rkey_destroy(stale);
}

TEST_CASE("ucp: an atomic on memory without that right is refused", "[data][tcp]")
{
    pair p;
    ufx_ucp_mem_params_t mp{};
    mp.field_mask = UFX_UCP_MEM_PARAM_LENGTH | UFX_UCP_MEM_PARAM_FLAGS;
    mp.length = 4096;
    mp.flags = UFX_UCP_MEM_ALLOCATE | UFX_UCP_MEM_REMOTE_WRITE;
    ufx_ucp_mem_h mem = nullptr;
    REQUIRE(ufx_ucp_mem_map(p.b.context, &mp, &mem) == UFX_OK);
    void *address = nullptr;
    REQUIRE(ufx_ucp_mem_query(mem, &address, nullptr) == UFX_OK);
    void *packed = nullptr;
    std::size_t length = 0;
    REQUIRE(ufx_ucp_rkey_pack(p.b.context, mem, &packed, &length) == UFX_OK);
    ufx_ucp_rkey_h key = nullptr;
    REQUIRE(ufx_ucp_ep_rkey_unpack(p.a.ep, packed, length, &key) == UFX_OK);
    ufx_ucp_rkey_buffer_release(packed);
    waiter w;
    w.posted(ufx_ucp_atomic(p.a.ep, UFX_UCP_ATOMIC_ADD, 1, 0, 8, nullptr,
                            reinterpret_cast<std::uintptr_t>(address), key, &w.params, nullptr));
    REQUIRE(p.until_done(w));
    CHECK(w.status == UFX_ERR_REMOTE_ACCESS);
    ufx_ucp_rkey_destroy(key);
    REQUIRE(ufx_ucp_mem_unmap(p.b.context, mem) == UFX_OK);
}

TEST_CASE("ucp: when the peer is gone every operation ends once, and the error comes after",
          "[data][tcp][X09][M07]")
{
    pair p;
    std::vector<std::byte> local(1 << 20);
    std::deque<waiter> waiters(12);
    std::size_t done_at_error = 0;
    for (std::size_t i = 0; i < waiters.size(); ++i) {
        waiter &w = waiters[i];
        switch (i % 4) {
        case 0:
            put(p, w, local);
            break;
        case 1:
            w.posted(ufx_ucp_get(p.a.ep, local.data(), local.size(), p.a.peer_addr, p.a.peer_key,
                                 &w.params, nullptr));
            break;
        case 2:
            w.posted(
                ufx_ucp_am_send(p.a.ep, 1, nullptr, 0, local.data(), 5000, &w.params, nullptr));
            break;
        default:
            w.posted(ufx_ucp_am_send(p.a.ep, 1, nullptr, 0, local.data(), local.size(),
                                     w.with_flags(UFX_UCP_OP_AM_RNDV), nullptr));
            break;
        }
    }
    waiter flush;
    flush.posted(ufx_ucp_ep_flush(p.a.ep, &flush.params, nullptr));
    ufx_ucp_worker_destroy(p.b.worker); // without a word, as a process that dies
    p.b.worker = nullptr;
    const auto all_done = [&] {
        for (const waiter &w : waiters) {
            if (!w.is_done()) {
                return false;
            }
        }
        return flush.is_done();
    };
    REQUIRE(p.until([&] {
        if (done_at_error == 0 && !p.a.events.empty()) {
            done_at_error = all_done() ? 2 : 1;
        }
        return all_done() && !p.a.events.empty();
    }));
    CHECK(done_at_error == 2);
    unsigned unreachable = 0;
    for (const waiter &w : waiters) {
        CHECK(w.calls == 1);
        CHECK((w.status == UFX_OK || w.status == UFX_ERR_UNREACHABLE));
        unreachable += w.status == UFX_ERR_UNREACHABLE ? 1 : 0;
    }
    CHECK(unreachable > 0);
    CHECK(flush.calls == 1);
    CHECK(p.a.events.front().type == UFX_UCP_EP_EVENT_ERROR);
    CHECK(ufx_ucp_put(p.a.ep, local.data(), 1, p.a.peer_addr, p.a.peer_key, nullptr, nullptr) ==
          UFX_ERR_SHUTDOWN);
}

TEST_CASE("ucp: an ep's error and the death of the peer's transfers wait until lanes are quiet",
          "[data][fake][X11][M23]")
{
    fake_pair p;
    std::vector<std::byte> local(4 * mtu);
    std::vector<ufx::uct::fake::side *> target = {&p.peers(0), &p.peers(1)};
    for (ufx::uct::fake::side *s : target) {
        s->hold_quiet = true;
    }
    fill(p.b.memory, local.size(), 7);
    waiter w;
    put(p, w, local);
    ufx_ucp_worker_destroy(p.a.worker); // the initiator dies in the middle
    p.a.worker = nullptr;
    // Long enough for the death to be noticed.
    (void)p.until([&] { return !p.b.events.empty(); }, std::chrono::seconds(1));
    CHECK(p.b.events.empty());
    for (ufx::uct::fake::side *s : target) {
        s->hold_quiet = false;
    }
    const auto is_told = [&] {
        for (const ufx_ucp_ep_event_t &event : p.b.events) {
            if (event.type == UFX_UCP_EP_EVENT_PEER_TRANSFERS_DEAD) {
                return true;
            }
        }
        return false;
    };
    REQUIRE(p.until(is_told));
    std::vector<std::byte> now(p.b.memory, p.b.memory + local.size());
    p.rounds(100);
    CHECK(std::memcmp(now.data(), p.b.memory, local.size()) == 0);
}

TEST_CASE("tcp: a forced close that cuts operations short is an error for the peer", "[data][tcp]")
{
    pair p;
    const bool is_cut = GENERATE(false, true);
    const std::vector<std::byte> local(4 << 20);
    waiter put;
    put.posted(ufx_ucp_put(p.a.ep, local.data(), local.size(), p.a.peer_addr, p.a.peer_key,
                           &put.params, nullptr));
    if (!is_cut) {
        REQUIRE(p.until_done(put));
    }
    waiter close;
    close.posted(ufx_ucp_ep_close(p.a.ep, UFX_UCP_CLOSE_FORCE, &close.params, nullptr));
    ufx_ucp_rkey_destroy(std::exchange(p.a.peer_key, nullptr));
    REQUIRE(p.until([&] { return close.is_done() && p.b.events.size() >= (is_cut ? 2 : 1); }));
    CHECK(put.status == (is_cut ? UFX_ERR_CANCELED : UFX_OK));
    if (is_cut) {
        CHECK(p.b.events[0].type == UFX_UCP_EP_EVENT_ERROR);
        CHECK(p.b.events[0].status == UFX_ERR_UNREACHABLE);
        CHECK(p.b.events[1].type == UFX_UCP_EP_EVENT_PEER_TRANSFERS_DEAD);
    } else {
        CHECK(p.b.events[0].type == UFX_UCP_EP_EVENT_CLOSED_BY_PEER);
    }
}

TEST_CASE("ucp: a peer that goes after its eps were closed is no error", "[data][tcp]")
{
    pair p;
    const ufx::ucs::log_capture log;
    ufx_ucp_rkey_destroy(p.a.peer_key);
    p.a.peer_key = nullptr;
    waiter close;
    close.posted(ufx_ucp_ep_close(p.a.ep, UFX_UCP_CLOSE_FLUSH, &close.params, nullptr));
    REQUIRE(p.until([&] { return close.is_done() && !p.b.events.empty(); }));
    CHECK(p.b.events.front().type == UFX_UCP_EP_EVENT_CLOSED_BY_PEER);
    ufx_ucp_worker_destroy(p.a.worker); // as its process ends
    p.a.worker = nullptr;
    REQUIRE(p.until([&] { return log.count("its process has gone") != 0; }));
    INFO(log.text());
    CHECK(log.count(UFX_UCS_LOG_ERROR) == 0);
    CHECK(log.count(UFX_UCS_LOG_WARN) == 0);
    CHECK(log.count(UFX_UCS_LOG_INFO, "has gone, after its eps") == 1);
}

TEST_CASE("ucp: what a worker's open operations had registered goes with it", "[data][tcp]")
{
    pair p;
    const std::size_t mapped = ufx::ucp::context::of(p.a.context).memory.size();
    std::vector<std::byte> local(1 << 20);
    waiter w;
    w.params.field_mask |= UFX_UCP_OP_PARAM_FLAGS;
    w.params.flags = UFX_UCP_OP_AM_RNDV;
    w.posted(ufx_ucp_am_send(p.a.ep, 1, nullptr, 0, local.data(), local.size(), &w.params, nullptr));
    (void)ufx_ucp_worker_progress(p.a.worker);
    CHECK(ufx::ucp::context::of(p.a.context).memory.size() == mapped + 1);
    ufx_ucp_rkey_destroy(p.a.peer_key);
    p.a.peer_key = nullptr;
    ufx_ucp_worker_destroy(p.a.worker);
    p.a.worker = nullptr;
    CHECK(ufx::ucp::context::of(p.a.context).memory.size() == mapped);
}

TEST_CASE("op_state: what comes after the first terminal event changes nothing", "[data][M12]")
{
    ufx::ucp::core::op_state state(2);
    CHECK_FALSE(state.fragment_final(UFX_OK));
    CHECK(state.fragment_final(UFX_OK));
    CHECK(state.status() == UFX_OK);
    CHECK_FALSE(state.claim(UFX_ERR_UNREACHABLE)); // a late flush CQE
    CHECK_FALSE(state.fragment_final(UFX_ERR_UNREACHABLE));
    CHECK(state.status() == UFX_OK);
}

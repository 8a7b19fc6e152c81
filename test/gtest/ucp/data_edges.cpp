// SPDX-License-Identifier: BSD-3-Clause
// What is rare and must hold all the same: keys for nothing, unreadable buffers, closes that are in
// a hurry, lengths and deadlines at the end of their range.
#include "data_fake_pair.h"

#include "ucp/worker.h"
#include "ucs/fake_clock.h"
#include "ucs/fd.h"
#include "ucs/log_capture.h"

#include <ufx/ucs.h>

#include <deque>
#include <optional>
#include <sys/mman.h>

using ufx::test::fake_pair;
using ufx::test::fill;
using ufx::test::first_difference;
using ufx::test::pair;
using ufx::test::pair_options;
using ufx::test::waiter;

namespace {

constexpr std::uint16_t am_id = 3;

// The first byte of each message, in the order of arrival.
ufx_status_t note_first(void *arg, const ufx_ucp_am_t *am) noexcept
{
    static_cast<std::vector<int> *>(arg)->push_back(*static_cast<const char *>(am->data));
    return UFX_OK;
}

// Operations reach the peer, and do not end.
void hold_answers(fake_pair &p)
{
    for (const unsigned rail : {0u, 1u}) {
        p.peers(rail).acks.hold();
    }
}

} // namespace

TEST_CASE("ucp: what is posted when a fence opens does not overtake what waited at it",
          "[data][tcp]")
{
    pair p;
    std::vector<int> order;
    REQUIRE(ufx_ucp_worker_set_am_handler(p.b.worker, am_id, note_first, &order) == UFX_OK);
    struct late {
        pair &p;
        waiter done;
        static void on_atomic(void *arg, ufx_ucp_request_h, const ufx_ucp_completion_t *) noexcept
        {
            auto &self = *static_cast<late *>(arg);
            self.done.posted(ufx_ucp_am_send(self.p.a.ep, am_id, nullptr, 0, "\2", 1,
                                             &self.done.params, nullptr));
        }
    } second{p, {}};
    ufx_ucp_op_params_t params{};
    params.field_mask = UFX_UCP_OP_PARAM_CB;
    params.cb = &late::on_atomic;
    params.cb_arg = &second;
    REQUIRE(ufx_ucp_atomic(p.a.ep, UFX_UCP_ATOMIC_ADD, 1, 0, 8, nullptr, p.a.peer_addr,
                           p.a.peer_key, &params, nullptr) == UFX_INPROGRESS);
    REQUIRE(ufx_ucp_ep_fence(p.a.ep) == UFX_OK);
    waiter first;
    first.posted(ufx_ucp_am_send(p.a.ep, am_id, nullptr, 0, "\1", 1, &first.params, nullptr));
    REQUIRE(p.until_done(first));
    REQUIRE(p.until_done(second.done));
    REQUIRE(p.until([&] { return order.size() == 2; }));
    CHECK(order == std::vector<int>{1, 2});
}

TEST_CASE("tcp: a peer whose kernel acks, but which does nothing, is dead after UFX_PEER_TIMEOUT",
          "[data][tcp]")
{
    pair_options options;
    options.config.push_back({"PEER_TIMEOUT", "1s"});
    pair p(options);
    ufx::ucs::fake_clock clock(ufx_ucs_time_ns());
    waiter w;
    SECTION("with a message under way")
    {
        w.posted(ufx_ucp_am_send(p.a.ep, am_id, nullptr, 0, "x", 1, &w.params, nullptr));
    }
    SECTION("with an atomic under way")
    {
        w.posted(ufx_ucp_atomic(p.a.ep, UFX_UCP_ATOMIC_ADD, 1, 0, 8, nullptr, p.a.peer_addr,
                                p.a.peer_key, &w.params, nullptr));
    }
    for (unsigned ms = 0; p.a.events.empty() && ms < 60'000; ++ms) {
        clock.advance(ufx::ucs::ns_per_ms);
        (void)ufx_ucp_worker_progress(p.a.worker);
    }
    REQUIRE_FALSE(p.a.events.empty());
    CHECK(p.a.events[0].type == UFX_UCP_EP_EVENT_ERROR);
    CHECK(p.a.event_texts[0].find("UFX_PEER_TIMEOUT") != std::string::npos);
    CHECK(w.calls == 1);
    CHECK(w.status == UFX_ERR_UNREACHABLE);
}

TEST_CASE("ucp: a key for no rail ends its own operation and blocks no other", "[data][tcp]")
{
    pair p;
    void *packed = nullptr;
    std::size_t length = 0;
    REQUIRE(ufx_ucp_rkey_pack(p.b.context, p.b.mem, &packed, &length) == UFX_OK);
    std::vector<std::byte> bytes(static_cast<std::byte *>(packed),
                                 static_cast<std::byte *>(packed) + length);
    ufx_ucp_rkey_buffer_release(packed);
    ufx_ucp_rkey_h key = nullptr;

    std::vector<std::byte> empty(bytes.begin(), bytes.begin() + ufx::ucp::rkey_fixed_size);
    empty[1] = std::byte{0};
    CHECK(ufx_ucp_ep_rkey_unpack(p.a.ep, empty.data(), empty.size(), &key) == UFX_ERR_BAD_MESSAGE);

    // One entry, for a device that the peer has not.
    const auto entry = static_cast<std::size_t>(bytes[ufx::ucp::rkey_fixed_size + 1]);
    std::vector<std::byte> strange(bytes.begin(), bytes.begin() + ufx::ucp::rkey_fixed_size +
                                                      ufx::ucp::rkey_entry_size +
                                                      static_cast<std::ptrdiff_t>(entry));
    strange[1] = std::byte{1};
    strange[ufx::ucp::rkey_fixed_size] = std::byte{99};
    REQUIRE(ufx_ucp_ep_rkey_unpack(p.a.ep, strange.data(), strange.size(), &key) == UFX_OK);
    std::vector<std::byte> local(4096);
    fill(local.data(), local.size(), 4);
    waiter bad;
    waiter good;
    bad.posted(
        ufx_ucp_put(p.a.ep, local.data(), local.size(), p.a.peer_addr, key, &bad.params, nullptr));
    good.posted(ufx_ucp_put(p.a.ep, local.data(), local.size(), p.a.peer_addr, p.a.peer_key,
                            &good.params, nullptr));
    REQUIRE(p.until_done(bad));
    REQUIRE(p.until_done(good));
    CHECK(bad.status == UFX_ERR_UNREACHABLE);
    CHECK(good.status == UFX_OK);
    CHECK(first_difference(p.b.memory, local.size(), 4) == local.size());
    ufx_ucp_rkey_destroy(key);
}

TEST_CASE("ucp: a message of impossible length is refused", "[data][tcp]")
{
    pair p;
    waiter w;
    for (const std::size_t less : {0u, 7u, 4096u}) {
        CHECK(ufx_ucp_am_send(p.a.ep, am_id, "header", 6, "x", SIZE_MAX - less,
                              w.with_flags(UFX_UCP_OP_AM_EAGER), nullptr) == UFX_ERR_INVALID_PARAM);
    }
    std::vector<int> order;
    REQUIRE(ufx_ucp_worker_set_am_handler(p.b.worker, am_id, note_first, &order) == UFX_OK);
    waiter next;
    next.posted(ufx_ucp_am_send(p.a.ep, am_id, nullptr, 0, "x", 1, &next.params, nullptr));
    REQUIRE(p.until_done(next));
    CHECK(next.status == UFX_OK);
}

TEST_CASE("tcp: a message from memory that cannot be read costs only itself", "[data][tcp]")
{
    pair p;
    constexpr std::size_t size = 128 * 1024;
    void *nowhere = ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(nowhere != MAP_FAILED);
    waiter bad;
    bad.posted(ufx_ucp_am_send(p.a.ep, am_id, nullptr, 0, nowhere, size,
                               bad.with_flags(UFX_UCP_OP_AM_EAGER), nullptr));
    std::vector<std::byte> local(4096);
    fill(local.data(), local.size(), 5);
    waiter good;
    good.posted(ufx_ucp_put(p.a.ep, local.data(), local.size(), p.a.peer_addr, p.a.peer_key,
                            &good.params, nullptr));
    REQUIRE(p.until_done(bad));
    CHECK(bad.status == UFX_ERR_LOCAL_PROT);
    REQUIRE(p.until_done(good));
    CHECK(good.status == UFX_OK);
    CHECK(first_difference(p.b.memory, local.size(), 5) == local.size());
    ::munmap(nowhere, size);
}

TEST_CASE("ucp: a deadline beyond the end of time is none", "[data][tcp]")
{
    pair p;
    std::vector<std::byte> local(4096);
    for (const std::uint64_t deadline : {UINT64_MAX, UINT64_MAX - 1000000000u, UINT64_MAX / 2}) {
        waiter w;
        w.posted(ufx_ucp_put(p.a.ep, local.data(), local.size(), p.a.peer_addr, p.a.peer_key,
                             w.with_deadline(deadline), nullptr));
        REQUIRE(p.until_done(w));
        CHECK(w.status == UFX_OK);
    }
}

TEST_CASE("ucp: a flushing close ends its operations by its deadline, or when it is forced",
          "[data][fake]")
{
    fake_pair p;
    std::vector<std::byte> local(fake_pair::mtu);
    waiter held;
    hold_answers(p);
    held.posted(ufx_ucp_put(p.a.ep, local.data(), local.size(), p.a.peer_addr, p.a.peer_key,
                            &held.params, nullptr));
    p.rounds(20);
    REQUIRE_FALSE(held.is_done());
    waiter closed;
    SECTION("deadline")
    {
        closed.posted(
            ufx_ucp_ep_close(p.a.ep, UFX_UCP_CLOSE_FLUSH, closed.with_deadline(20000000), nullptr));
        REQUIRE(p.until_done(closed));
        CHECK(closed.status == UFX_ERR_TIMEOUT);
    }
    SECTION("force")
    {
        closed.posted(ufx_ucp_ep_close(p.a.ep, UFX_UCP_CLOSE_FLUSH, &closed.params, nullptr));
        p.rounds(20);
        REQUIRE_FALSE(closed.is_done());
        CHECK(ufx_ucp_ep_close(p.a.ep, UFX_UCP_CLOSE_FORCE, nullptr, nullptr) == UFX_OK);
        REQUIRE(p.until_done(closed));
        CHECK(closed.status == UFX_OK);
    }
    CHECK(held.calls == 1);
}

TEST_CASE("ucp: a flush of a worker is canceled", "[data][fake]")
{
    fake_pair p;
    std::vector<std::byte> local(fake_pair::mtu);
    waiter held;
    hold_answers(p);
    held.posted(ufx_ucp_put(p.a.ep, local.data(), local.size(), p.a.peer_addr, p.a.peer_key,
                            &held.params, nullptr));
    waiter flushed;
    ufx_ucp_request_h request = nullptr;
    flushed.posted(ufx_ucp_worker_flush(p.a.worker, &flushed.params, &request));
    REQUIRE(request != nullptr);
    CHECK(ufx_ucp_request_cancel(request) == UFX_OK);
    REQUIRE(p.until_done(flushed));
    CHECK(flushed.status == UFX_ERR_CANCELED);
    ufx_ucp_request_free(request);
    CHECK_FALSE(held.is_done());
    for (const unsigned rail : {0u, 1u}) {
        p.peers(rail).acks.open();
    }
    REQUIRE(p.until_done(held));
}

TEST_CASE("ucp: messages that the user kept go with their worker", "[data][tcp]")
{
    const ufx::ucs::log_capture log;
    std::optional<pair> both(std::in_place);
    pair &p = *both;
    std::vector<std::byte> local(200 * 1024);
    unsigned kept = 0;
    const auto keep = [](void *arg, const ufx_ucp_am_t *) noexcept -> ufx_status_t {
        ++*static_cast<unsigned *>(arg);
        return UFX_INPROGRESS;
    };
    REQUIRE(ufx_ucp_worker_set_am_handler(p.b.worker, am_id, keep, &kept) == UFX_OK);
    for (const std::uint64_t flag : {UFX_UCP_OP_AM_EAGER, UFX_UCP_OP_AM_RNDV}) {
        waiter w;
        REQUIRE(ufx_ucp_am_send(p.a.ep, am_id, nullptr, 0, local.data(), local.size(),
                                w.with_flags(flag), nullptr) == UFX_INPROGRESS);
        REQUIRE(p.until([&] { return kept == (flag == UFX_UCP_OP_AM_EAGER ? 1u : 2u); }));
        if (flag == UFX_UCP_OP_AM_EAGER) {
            REQUIRE(p.until_done(w));
        } else {
            w.params.cb = nullptr; // it ends with its worker
        }
    }
    both.reset();
    CHECK(log.count("were not returned") == 0); // as a pool would say
}

TEST_CASE("ucp: the counters of an idle worker's rails add up", "[data][tcp]")
{
    pair p;
    std::vector<int> order;
    REQUIRE(ufx_ucp_worker_set_am_handler(p.b.worker, am_id, note_first, &order) == UFX_OK);
    std::vector<std::byte> local(4096);
    std::deque<waiter> all(40);
    for (std::size_t i = 0; i < all.size(); ++i) {
        waiter &w = all[i];
        w.posted(i % 2 == 0 ? ufx_ucp_put(p.a.ep, local.data(), local.size(), p.a.peer_addr,
                                          p.a.peer_key, &w.params, nullptr)
                            : ufx_ucp_am_send(p.a.ep, am_id, nullptr, 0, local.data(), 100,
                                              &w.params, nullptr));
    }
    for (waiter &w : all) {
        REQUIRE(p.until_done(w));
    }
    ufx_ucp_rail_attr_t rails[UFX_UCP_RAILS_MAX];
    std::size_t count = UFX_UCP_RAILS_MAX;
    REQUIRE(ufx_ucp_worker_query_rails(p.a.worker, rails, &count) == UFX_OK);
    for (std::size_t i = 0; i < count; ++i) {
        CHECK(rails[i].posted == rails[i].completed);
        CHECK(rails[i].outstanding == 0);
    }
}

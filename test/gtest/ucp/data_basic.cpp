// SPDX-License-Identifier: BSD-3-Clause
// Every operation once over two TCP rails, without a fault.
#include "data_pair.h"

#include "ucs/fake_clock.h"

#include <deque>

using ufx::test::fill;
using ufx::test::first_difference;
using ufx::test::pair;
using ufx::test::waiter;

namespace {

struct received {
    std::uint16_t id;
    std::vector<std::byte> header;
    std::vector<std::byte> data;
};

struct inbox {
    std::vector<received> messages;

    static ufx_status_t on_am(void *arg, const ufx_ucp_am_t *am) noexcept
    {
        auto &self = *static_cast<inbox *>(arg);
        const auto *h = static_cast<const std::byte *>(am->header);
        const auto *d = static_cast<const std::byte *>(am->data);
        self.messages.push_back({am->id, {h, h + am->header_length}, {d, d + am->length}});
        return UFX_OK;
    }
};

} // namespace

TEST_CASE("ucp: a put of any size is in the peer's memory when it completes", "[data][tcp]")
{
    pair p;
    std::vector<std::byte> local(4 << 20);
    unsigned seed = 0;
    for (const std::size_t size :
         {std::size_t{1}, std::size_t{100}, std::size_t{65537}, std::size_t{4 << 20}}) {
        fill(local.data(), size, ++seed);
        waiter w;
        w.posted(ufx_ucp_put(p.a.ep, local.data(), size, p.a.peer_addr + 3, p.a.peer_key, &w.params,
                             nullptr));
        REQUIRE(p.until_done(w));
        CHECK(w.status == UFX_OK);
        CHECK(w.calls == 1);
        CHECK(w.length == size);
        CHECK(first_difference(p.b.memory + 3, size, seed) == size);
    }
}

TEST_CASE("ucp: a get of any size is in the local buffer when it completes", "[data][tcp]")
{
    pair p;
    std::vector<std::byte> local(4 << 20);
    unsigned seed = 10;
    for (const std::size_t size :
         {std::size_t{1}, std::size_t{100}, std::size_t{65537}, std::size_t{4 << 20}}) {
        fill(p.b.memory, size, ++seed);
        waiter w;
        w.posted(ufx_ucp_get(p.a.ep, local.data(), size, p.a.peer_addr, p.a.peer_key, &w.params,
                             nullptr));
        REQUIRE(p.until_done(w));
        CHECK(w.status == UFX_OK);
        CHECK(first_difference(local.data(), size, seed) == size);
    }
}

TEST_CASE("ucp: messages of any size arrive once, in order, with their header", "[data][tcp]")
{
    pair p;
    inbox in;
    REQUIRE(ufx_ucp_worker_set_am_handler(p.b.worker, 7, inbox::on_am, &in) == UFX_OK);
    const std::string header = "a header";
    std::vector<std::byte> payload(300000);
    std::deque<waiter> waiters(40);
    unsigned posted = 0;
    for (waiter &w : waiters) {
        const std::size_t size = (posted * 7919) % payload.size();
        fill(payload.data(), size, 0);
        w.with_flags(UFX_UCP_OP_AM_EAGER);
        w.posted(ufx_ucp_am_send(p.a.ep, 7, header.data(), header.size(), payload.data(), size,
                                 &w.params, nullptr));
        ++posted;
        REQUIRE(p.until_done(w));
        CHECK(w.status == UFX_OK);
        CHECK(w.calls == 1);
    }
    REQUIRE(p.until([&] { return in.messages.size() == waiters.size(); }));
    for (std::size_t i = 0; i < in.messages.size(); ++i) {
        const std::size_t size = (i * 7919) % payload.size();
        CHECK(in.messages[i].data.size() == size);
        CHECK(in.messages[i].header.size() == header.size());
        CHECK(std::memcmp(in.messages[i].header.data(), header.data(), header.size()) == 0);
        CHECK(first_difference(in.messages[i].data.data(), size, 0) == size);
    }
}

namespace {

// Fetches rendezvous messages as they come.
struct fetcher {
    ufx_ucp_worker_h worker = nullptr;
    std::deque<std::vector<std::byte>> buffers;
    std::deque<waiter> waiters;
    bool keep = false;
    bool drop = false;
    void *kept = nullptr;

    static ufx_status_t on_am(void *arg, const ufx_ucp_am_t *am) noexcept
    {
        auto &self = *static_cast<fetcher *>(arg);
        if ((am->flags & UFX_UCP_AM_RNDV) == 0) {
            return UFX_OK;
        }
        if (self.drop) {
            return UFX_OK;
        }
        if (self.keep) {
            self.kept = am->data;
            return UFX_INPROGRESS;
        }
        self.fetch(am->data, am->length);
        return UFX_INPROGRESS;
    }
    void fetch(void *data, std::size_t length)
    {
        buffers.emplace_back(length);
        waiters.emplace_back();
        waiters.back().posted(ufx_ucp_am_recv_data(worker, data, buffers.back().data(), length,
                                                   &waiters.back().params, nullptr));
    }
};

} // namespace

TEST_CASE("ucp: a rendezvous is fetched at once, later, or dropped", "[data][tcp]")
{
    pair p;
    fetcher in;
    in.worker = p.b.worker;
    REQUIRE(ufx_ucp_worker_set_am_handler(p.b.worker, 9, fetcher::on_am, &in) == UFX_OK);
    std::vector<std::byte> payload(2 << 20);
    fill(payload.data(), payload.size(), 3);
    waiter w;
    w.with_flags(UFX_UCP_OP_AM_RNDV);
    SECTION("at once")
    {
        w.posted(
            ufx_ucp_am_send(p.a.ep, 9, "h", 1, payload.data(), payload.size(), &w.params, nullptr));
        REQUIRE(p.until_done(w));
        REQUIRE(in.waiters.size() == 1);
        REQUIRE(p.until_done(in.waiters.front()));
        CHECK(in.waiters.front().status == UFX_OK);
        CHECK(first_difference(in.buffers.front().data(), payload.size(), 3) == payload.size());
    }
    SECTION("later")
    {
        in.keep = true;
        w.posted(ufx_ucp_am_send(p.a.ep, 9, nullptr, 0, payload.data(), payload.size(), &w.params,
                                 nullptr));
        REQUIRE(p.until([&] { return in.kept != nullptr; }));
        for (int i = 0; i < 1000; ++i) {
            p.progress();
        }
        CHECK_FALSE(w.is_done());
        in.fetch(in.kept, payload.size());
        REQUIRE(p.until_done(w));
        CHECK(first_difference(in.buffers.front().data(), payload.size(), 3) == payload.size());
    }
    SECTION("dropped by the handler")
    {
        in.drop = true;
        w.posted(ufx_ucp_am_send(p.a.ep, 9, nullptr, 0, payload.data(), payload.size(), &w.params,
                                 nullptr));
        REQUIRE(p.until_done(w));
    }
    SECTION("kept and released")
    {
        in.keep = true;
        w.posted(ufx_ucp_am_send(p.a.ep, 9, nullptr, 0, payload.data(), payload.size(), &w.params,
                                 nullptr));
        REQUIRE(p.until([&] { return in.kept != nullptr; }));
        ufx_ucp_am_data_release(p.b.worker, in.kept);
        REQUIRE(p.until_done(w));
    }
    CHECK(w.status == UFX_OK);
    CHECK(w.calls == 1);
}

TEST_CASE("ucp: a rendezvous that was kept until its ep closes does not hold the close",
          "[data][tcp]")
{
    const unsigned turns = GENERATE(0U, 1U, 2U, 3U); // of the close, before the message is used
    const bool fetches = GENERATE(true, false);
    INFO(turns << " turns, " << (fetches ? "fetched" : "released"));
    pair p;
    fetcher in;
    in.worker = p.b.worker;
    in.keep = true;
    REQUIRE(ufx_ucp_worker_set_am_handler(p.b.worker, 9, fetcher::on_am, &in) == UFX_OK);
    const std::vector<std::byte> payload(100000);
    waiter sent, closed;
    sent.posted(ufx_ucp_am_send(p.a.ep, 9, nullptr, 0, payload.data(), payload.size(),
                                sent.with_flags(UFX_UCP_OP_AM_RNDV), nullptr));
    REQUIRE(p.until([&] { return in.kept != nullptr; }));
    closed.posted(ufx_ucp_ep_close(p.b.ep, UFX_UCP_CLOSE_FLUSH, &closed.params, nullptr));
    p.b.ep = nullptr;
    for (unsigned i = 0; i < turns; ++i) {
        (void)ufx_ucp_worker_progress(p.b.worker);
    }
    if (fetches) {
        in.fetch(in.kept, payload.size());
        REQUIRE(p.until_done(in.waiters.front()));
        CHECK(in.waiters.front().calls == 1);
        if (in.waiters.front().status == UFX_ERR_SHUTDOWN) {
            ufx_ucp_am_data_release(p.b.worker, in.kept);
        }
    } else {
        ufx_ucp_am_data_release(p.b.worker, in.kept);
    }
    REQUIRE(p.until([&] { return closed.is_done(); }, std::chrono::seconds(20)));
    REQUIRE(p.until_done(sent));
    CHECK(sent.calls == 1);
}

TEST_CASE("ucp: messages from RNDV_THRESH on go by rendezvous, shorter ones do not", "[data][tcp]")
{
    ufx::test::pair_options options;
    options.config = {{"RNDV_THRESH", "10000"}};
    pair p(options);
    fetcher in;
    in.worker = p.b.worker;
    REQUIRE(ufx_ucp_worker_set_am_handler(p.b.worker, 9, fetcher::on_am, &in) == UFX_OK);
    const std::vector<std::byte> payload(10000);
    for (const std::size_t length : {payload.size() - 1, payload.size()}) {
        waiter w;
        w.posted(
            ufx_ucp_am_send(p.a.ep, 9, nullptr, 0, payload.data(), length, &w.params, nullptr));
        REQUIRE(p.until_done(w));
        CHECK(in.waiters.size() == (length == payload.size() ? 1 : 0));
    }
}

TEST_CASE("ucp: a canceled rendezvous is not read any more", "[data][tcp]")
{
    pair p;
    fetcher in;
    in.worker = p.b.worker;
    in.keep = true;
    REQUIRE(ufx_ucp_worker_set_am_handler(p.b.worker, 9, fetcher::on_am, &in) == UFX_OK);
    std::vector<std::byte> payload(1 << 20);
    waiter w;
    w.with_flags(UFX_UCP_OP_AM_RNDV);
    ufx_ucp_request_h request = nullptr;
    w.posted(ufx_ucp_am_send(p.a.ep, 9, nullptr, 0, payload.data(), payload.size(), &w.params,
                             &request));
    REQUIRE(p.until([&] { return in.kept != nullptr; }));
    REQUIRE(ufx_ucp_request_cancel(request) == UFX_OK);
    REQUIRE(p.until_done(w));
    CHECK(w.status == UFX_ERR_CANCELED);
    ufx_ucp_request_free(request);
    in.fetch(in.kept, payload.size());
    REQUIRE(p.until_done(in.waiters.front()));
    CHECK(in.waiters.front().status == UFX_ERR_CANCELED);
}

TEST_CASE("ucp: a rendezvous has a deadline until it waits for the peer's application only",
          "[data][tcp][T02]")
{
    constexpr std::uint64_t deadline_ns = 50'000'000;
    pair p;
    ufx::ucs::fake_clock clock(ufx_ucs_time_ns());
    fetcher in;
    in.worker = p.b.worker;
    in.keep = true;
    REQUIRE(ufx_ucp_worker_set_am_handler(p.b.worker, 9, fetcher::on_am, &in) == UFX_OK);
    std::vector<std::byte> payload(1 << 20);
    fill(payload.data(), payload.size(), 3);
    waiter w;
    w.with_flags(UFX_UCP_OP_AM_RNDV);
    w.with_deadline(deadline_ns);
    const auto send = [&] {
        w.posted(ufx_ucp_am_send(p.a.ep, 9, nullptr, 0, payload.data(), payload.size(), &w.params,
                                 nullptr));
    };
    SECTION("the application takes its time")
    {
        send();
        REQUIRE(p.until([&] { return in.kept != nullptr; }));
        for (unsigned i = 0; i < 20; ++i) {
            p.progress(); // the sender hears that it was delivered
        }
        for (unsigned i = 0; i < 100; ++i) {
            clock.advance(deadline_ns);
            p.progress();
        }
        CHECK_FALSE(w.is_done());
        in.fetch(in.kept, payload.size());
        REQUIRE(p.until_done(w));
        CHECK(w.status == UFX_OK);
        CHECK(first_difference(in.buffers.front().data(), payload.size(), 3) == payload.size());
    }
    SECTION("no rail takes it there")
    {
        for (const char *rail : {"rail0", "rail1"}) {
            p.set_link(p.a, rail, false);
            p.set_link(p.b, rail, false);
        }
        send();
        for (unsigned i = 0; i < 20; ++i) {
            p.progress();
        }
        CHECK_FALSE(w.is_done());
        clock.advance(deadline_ns + 1);
        REQUIRE(p.until_done(w));
        CHECK(w.status == UFX_ERR_TIMEOUT);
        for (const char *rail : {"rail0", "rail1"}) {
            p.set_link(p.a, rail, true);
            p.set_link(p.b, rail, true);
        }
        waiter next; // what follows is not blocked by it
        next.posted(
            ufx_ucp_am_send(p.a.ep, 9, nullptr, 0, payload.data(), 100, &next.params, nullptr));
        REQUIRE(p.until([&] {
            clock.advance(ufx::ucs::ns_per_ms / 10); // rails come back after a hold-off
            return next.is_done();
        }));
        CHECK(next.status == UFX_OK);
        CHECK(in.kept == nullptr);
    }
    CHECK(w.calls == 1);
}

namespace {

struct notified {
    std::vector<std::uint64_t> tags;
    std::vector<std::string> texts;
    std::function<void()> check;

    static void on_notify(void *arg, ufx_ucp_ep_h, std::uint64_t tag, const void *data,
                          std::size_t length) noexcept
    {
        auto &self = *static_cast<notified *>(arg);
        self.tags.push_back(tag);
        self.texts.emplace_back(static_cast<const char *>(data), length);
        if (self.check) {
            self.check();
        }
    }
};

} // namespace

TEST_CASE("ucp: a list is in memory when its notification is handled", "[data][tcp]")
{
    pair p;
    notified in;
    REQUIRE(ufx_ucp_worker_set_notify_handler(p.b.worker, notified::on_notify, &in) == UFX_OK);
    constexpr std::size_t pieces = 16;
    constexpr std::size_t size = 100000;
    std::vector<std::byte> local(pieces * size);
    fill(local.data(), local.size(), 5);
    std::vector<ufx_ucp_transfer_t> list;
    for (std::size_t i = 0; i < pieces; ++i) {
        list.push_back(
            {local.data() + i * size, p.a.peer_addr + i * size, size, p.a.peer_key, nullptr});
    }
    ufx_ucp_notify_t notify{42, "done", 4};
    std::size_t good = 0;
    waiter w;
    SECTION("put_list")
    {
        in.check = [&] { good = first_difference(p.b.memory, local.size(), 5); };
        w.posted(ufx_ucp_put_list(p.a.ep, list.data(), list.size(), &notify, &w.params, nullptr));
        REQUIRE(p.until_done(w));
    }
    SECTION("get_list")
    {
        std::memset(local.data(), 0, local.size());
        fill(p.b.memory, local.size(), 6);
        in.check = [&] { good = first_difference(local.data(), local.size(), 6); };
        w.posted(ufx_ucp_get_list(p.a.ep, list.data(), list.size(), &notify, &w.params, nullptr));
        REQUIRE(p.until_done(w));
    }
    CHECK(w.status == UFX_OK);
    CHECK(w.calls == 1);
    REQUIRE(in.tags.size() == 1);
    CHECK(in.tags[0] == 42);
    CHECK(in.texts[0] == "done");
    CHECK(good == local.size());
}

TEST_CASE("ucp: an empty list still notifies, and without a notification is done at once",
          "[data][tcp]")
{
    pair p;
    notified in;
    REQUIRE(ufx_ucp_worker_set_notify_handler(p.b.worker, notified::on_notify, &in) == UFX_OK);
    CHECK(ufx_ucp_put_list(p.a.ep, nullptr, 0, nullptr, nullptr, nullptr) == UFX_OK);
    ufx_ucp_notify_t notify{7, nullptr, 0};
    waiter put;
    put.posted(ufx_ucp_put_list(p.a.ep, nullptr, 0, &notify, &put.params, nullptr));
    waiter get;
    get.posted(ufx_ucp_get_list(p.a.ep, nullptr, 0, &notify, &get.params, nullptr));
    REQUIRE(p.until([&] { return put.is_done() && get.is_done(); }));
    CHECK(in.tags.size() == 2);
}

TEST_CASE("ucp: atomics return the value before and are applied once", "[data][tcp]")
{
    pair p;
    auto *word = reinterpret_cast<std::uint64_t *>(p.b.memory);
    *word = 5;
    const auto run = [&](ufx_ucp_atomic_op_t op, std::uint64_t operand, std::uint64_t compare) {
        std::uint64_t before = 0;
        waiter w;
        w.posted(ufx_ucp_atomic(p.a.ep, op, operand, compare, 8, &before, p.a.peer_addr,
                                p.a.peer_key, &w.params, nullptr));
        REQUIRE(p.until_done(w));
        CHECK(w.status == UFX_OK);
        return before;
    };
    CHECK(run(UFX_UCP_ATOMIC_ADD, 3, 0) == 5);
    CHECK(run(UFX_UCP_ATOMIC_SWAP, 0xff, 0) == 8);
    CHECK(run(UFX_UCP_ATOMIC_AND, 0x0f, 0) == 0xff);
    CHECK(run(UFX_UCP_ATOMIC_XOR, 0x01, 0) == 0x0f);
    CHECK(run(UFX_UCP_ATOMIC_OR, 0x10, 0) == 0x0e);
    CHECK(run(UFX_UCP_ATOMIC_CSWAP, 1, 2) == 0x1e);
    CHECK(run(UFX_UCP_ATOMIC_CSWAP, 1, 0x1e) == 0x1e);
    CHECK(*word == 1);
    waiter w;
    w.posted(ufx_ucp_atomic(p.a.ep, UFX_UCP_ATOMIC_ADD, 1, 0, 4, nullptr, p.a.peer_addr,
                            p.a.peer_key, &w.params, nullptr));
    REQUIRE(p.until_done(w));
    CHECK(*word == 2);
}

TEST_CASE("ucp: a flush completes after what was posted before it", "[data][tcp]")
{
    pair p;
    std::vector<std::byte> local(1 << 20);
    std::deque<waiter> puts(8);
    for (waiter &w : puts) {
        w.posted(ufx_ucp_put(p.a.ep, local.data(), local.size(), p.a.peer_addr, p.a.peer_key,
                             &w.params, nullptr));
    }
    waiter one;
    one.posted(ufx_ucp_ep_flush(p.a.ep, &one.params, nullptr));
    waiter all;
    all.posted(ufx_ucp_worker_flush(p.a.worker, &all.params, nullptr));
    REQUIRE(p.until([&] { return one.is_done() && all.is_done(); }));
    for (const waiter &w : puts) {
        CHECK(w.is_done());
    }
    CHECK(ufx_ucp_ep_flush(p.a.ep, nullptr, nullptr) == UFX_OK);
    CHECK(ufx_ucp_worker_flush(p.a.worker, nullptr, nullptr) == UFX_OK);
}

TEST_CASE("ucp: what follows a fence takes effect after what is before it", "[data][tcp]")
{
    pair p;
    inbox in;
    REQUIRE(ufx_ucp_worker_set_am_handler(p.b.worker, 1, inbox::on_am, &in) == UFX_OK);
    std::vector<std::byte> local(4 << 20);
    fill(local.data(), local.size(), 8);
    waiter put;
    put.posted(ufx_ucp_put(p.a.ep, local.data(), local.size(), p.a.peer_addr, p.a.peer_key,
                           &put.params, nullptr));
    REQUIRE(ufx_ucp_ep_fence(p.a.ep) == UFX_OK);
    waiter am;
    am.posted(ufx_ucp_am_send(p.a.ep, 1, nullptr, 0, nullptr, 0, &am.params, nullptr));
    REQUIRE(p.until([&] { return !in.messages.empty(); }));
    CHECK(first_difference(p.b.memory, local.size(), 8) == local.size());
    REQUIRE(p.until_done(am));
}

TEST_CASE("ucp: wrong arguments are refused without a side effect", "[data][tcp]")
{
    pair p;
    std::byte byte{};
    CHECK(ufx_ucp_put(p.a.ep, &byte, 1, p.a.peer_addr + p.b.memory_size, p.a.peer_key, nullptr,
                      nullptr) == UFX_ERR_INVALID_PARAM);
    CHECK(ufx_ucp_get(p.a.ep, nullptr, 1, p.a.peer_addr, p.a.peer_key, nullptr, nullptr) ==
          UFX_ERR_INVALID_PARAM);
    CHECK(ufx_ucp_am_send(p.a.ep, 1024, nullptr, 0, nullptr, 0, nullptr, nullptr) ==
          UFX_ERR_INVALID_PARAM);
    CHECK(ufx_ucp_atomic(p.a.ep, UFX_UCP_ATOMIC_ADD, 1, 0, 8, nullptr, p.a.peer_addr + 4,
                         p.a.peer_key, nullptr, nullptr) == UFX_ERR_INVALID_PARAM);
    ufx_ucp_rkey_h key = nullptr;
    CHECK(ufx_ucp_ep_rkey_unpack(p.a.ep, "nonsense", 8, &key) == UFX_ERR_BAD_MESSAGE);
}

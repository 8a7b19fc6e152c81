// SPDX-License-Identifier: BSD-3-Clause
// Many threads submit to one MULTI worker while its lanes break: every accepted operation ends
// once.
#include "data_pair.h"

#include "ucp/context.h"
#include "ucp/worker.h"

#include <array>
#include <atomic>
#include <memory>
#include <thread>

using ufx::test::pair;
using ufx::test::pair_options;
using ufx::test::side;
using ufx::test::waiter;

namespace {

constexpr unsigned submitters = 4;
constexpr unsigned fault_rounds = 400; // M08
constexpr std::size_t size = 16 * 1024;

// Written by the callbacks and the submitters; read by the main thread when all have stopped.
struct tally {
    std::atomic<std::uint64_t> attempted{0};
    std::atomic<std::uint64_t> accepted{0};
    std::atomic<std::uint64_t> refused{0};
    std::atomic<std::uint64_t> completed{0};
    std::atomic<std::uint64_t> failed{0};

    static void on_done(void *arg, ufx_ucp_request_h, const ufx_ucp_completion_t *c) noexcept
    {
        auto &self = *static_cast<tally *>(arg);
        self.completed.fetch_add(1, std::memory_order_relaxed);
        self.failed.fetch_add(c->status == UFX_OK ? 0 : 1, std::memory_order_relaxed);
    }
};

void submit(pair &p, tally &t, unsigned lane, const std::atomic<bool> &stop,
            const std::vector<std::byte> &local)
{
    ufx_ucp_op_params_t params{};
    params.field_mask = UFX_UCP_OP_PARAM_CB;
    params.cb = &tally::on_done;
    params.cb_arg = &t;
    unsigned turn = 0;
    while (!stop.load(std::memory_order_relaxed)) {
        t.attempted.fetch_add(1, std::memory_order_relaxed);
        const std::uint64_t to = p.a.peer_addr + lane * size;
        const ufx_status_t status =
            ++turn % 2 == 0
                ? ufx_ucp_put(p.a.ep, local.data(), size, to, p.a.peer_key, &params, nullptr)
                : ufx_ucp_am_send(p.a.ep, 5, nullptr, 0, local.data(), 256, &params, nullptr);
        if (status == UFX_INPROGRESS) {
            t.accepted.fetch_add(1, std::memory_order_relaxed);
        } else {
            t.refused.fetch_add(1, std::memory_order_relaxed);
            std::this_thread::yield();
        }
    }
}

} // namespace

TEST_CASE("ucp: threads that submit while lanes break get every answer once",
          "[data][threads][failover][tcp][M08][M13]")
{
    pair_options options;
    options.threads = UFX_UCP_THREAD_MULTI;
    options.config.push_back({"PENDING_MAX", "64"});
    options.config.push_back({"RAIL_HOLDOFF", "20ms"});
    pair p(options);
    tally t;
    std::atomic<bool> stop{false};
    const std::vector<std::byte> local(size);
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < submitters; ++i) {
        threads.emplace_back([&, i] { submit(p, t, i, stop, local); });
    }
    for (unsigned round = 0; round < fault_rounds; ++round) {
        const char *rail = round % 2 == 0 ? "rail0" : "rail1";
        (void)ufx_ucp_rail_set_link(p.a.worker, rail, 0);
        for (unsigned i = 0; i < 20; ++i) {
            p.progress();
        }
        (void)ufx_ucp_rail_set_link(p.a.worker, rail, 1);
        for (unsigned i = 0; i < 20; ++i) {
            p.progress();
        }
    }
    stop.store(true, std::memory_order_relaxed);
    for (std::thread &thread : threads) {
        thread.join();
    }
    REQUIRE(p.until([&] { return t.completed.load() >= t.accepted.load(); }));
    for (unsigned i = 0; i < 100; ++i) {
        p.progress();
    }
    CHECK(t.accepted.load() + t.refused.load() == t.attempted.load());
    CHECK(t.completed.load() == t.accepted.load());
    CHECK(t.failed.load() == 0);
    CHECK(t.accepted.load() > 0);
}

namespace {

constexpr unsigned rounds = 200;

// One worker's thread: puts, gets and messages to the other, then progress until all are through.
// @return how many operations ended otherwise than OK
unsigned trade(const side &s, std::atomic<unsigned> &running)
{
    std::vector<std::byte> local(size);
    unsigned bad = 0;
    for (unsigned i = 0; i < rounds; ++i) {
        waiter put;
        waiter get;
        waiter am;
        put.posted(ufx_ucp_put(s.ep, local.data(), size, s.peer_addr, s.peer_key, &put.params, {}));
        get.posted(ufx_ucp_get(s.ep, local.data(), size, s.peer_addr + size, s.peer_key,
                               &get.params, nullptr));
        am.posted(ufx_ucp_am_send(s.ep, 5, nullptr, 0, local.data(), size,
                                  am.with_flags(UFX_UCP_OP_AM_RNDV), nullptr));
        while (!put.is_done() || !get.is_done() || !am.is_done()) {
            (void)ufx_ucp_worker_progress(s.worker);
        }
        for (const waiter *w : {&put, &get, &am}) {
            bad += w->status == UFX_OK ? 0 : 1;
        }
    }
    running.fetch_sub(1, std::memory_order_relaxed);
    while (running.load(std::memory_order_relaxed) != 0) {
        (void)ufx_ucp_worker_progress(s.worker);
    }
    return bad;
}

} // namespace

TEST_CASE("ucp: workers of one context have a thread each, and a third thread maps memory",
          "[data][threads][tcp]")
{
    pair_options options;
    options.one_context = true;
    pair p(options);
    std::atomic<unsigned> running{2};
    std::array<unsigned, 2> bad{};
    std::thread first([&] { bad[0] = trade(p.a, running); });
    std::thread second([&] { bad[1] = trade(p.b, running); });
    unsigned refused = 0;
    std::thread mapper([&] {
        ufx_ucp_mem_params_t params{};
        params.field_mask = UFX_UCP_MEM_PARAM_LENGTH | UFX_UCP_MEM_PARAM_FLAGS;
        params.length = size;
        params.flags = UFX_UCP_MEM_ALLOCATE;
        for (unsigned i = 0; i < rounds || running.load(std::memory_order_relaxed) != 0; ++i) {
            std::array<ufx_ucp_mem_h, 3> mems{};
            for (ufx_ucp_mem_h &mem : mems) {
                refused += ufx_ucp_mem_map(p.a.context, &params, &mem) == UFX_OK ? 0 : 1;
            }
            for (ufx_ucp_mem_h mem : mems) {
                refused += ufx_ucp_mem_unmap(p.a.context, mem) == UFX_OK ? 0 : 1;
            }
        }
    });
    first.join();
    second.join();
    mapper.join();
    CHECK(bad[0] + bad[1] == 0);
    CHECK(refused == 0);
}

TEST_CASE("ucp: memory that is registered anew has a registration at every moment",
          "[data][threads][tcp]")
{
    pair p;
    std::atomic<bool> stop{false};
    ufx_status_t status = UFX_OK;
    std::thread device([&] {
        while (!stop.load(std::memory_order_relaxed)) {
            const ufx_status_t again = ufx::ucp::context::of(p.a.context).memory.reregister(0);
            status = again == UFX_OK ? status : again;
        }
    });
    const ufx::ucp::mem &memory = ufx::ucp::mem::of(p.a.mem);
    unsigned missing = 0;
    for (unsigned i = 0; i < 20; ++i) {
        waiter put;
        put.params.field_mask |= UFX_UCP_OP_PARAM_MEM;
        put.params.mem = p.a.mem;
        put.posted(ufx_ucp_put(p.a.ep, p.a.memory, size, p.a.peer_addr, p.a.peer_key, &put.params,
                               nullptr));
        while (!put.is_done()) {
            p.progress();
            missing += memory.handle(0) == nullptr ? 1 : 0;
        }
    }
    stop.store(true, std::memory_order_relaxed);
    device.join();
    CHECK(missing == 0);
    CHECK(status == UFX_OK);
}

TEST_CASE("ucp: progress gives way to a thread that waits to post, and only then",
          "[data][threads]")
{
    pair_options options;
    options.threads = UFX_UCP_THREAD_MULTI;
    pair p(options);
    ufx::ucp::worker &w = ufx::ucp::worker::of(p.a.worker);
    for (unsigned i = 0; i < 100; ++i) {
        p.progress();
    }
    CHECK(w.gave_way() == 0);
    std::thread poster;
    {
        const auto held = w.lock();
        poster = std::thread(
            [&] { (void)ufx_ucp_am_send(p.a.ep, 5, nullptr, 0, nullptr, 0, nullptr, nullptr); });
        CHECK(p.until([&] { return w.gave_way() != 0; }));
    }
    poster.join();
    const std::uint64_t before = w.gave_way();
    p.progress();
    CHECK(w.gave_way() == before);
}

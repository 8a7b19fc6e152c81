// SPDX-License-Identifier: BSD-3-Clause
// What only devices of the software ConnectX can do to an endpoint: run by test/swhca/rdma_transports.py
// on a fabric of two, rails mlx5_0:1 and mlx5_1:1.
#include "data_pair.h"

#include "ucp/ep.h"
#include "ucp/lane.h"
#include "ucp/rail.h"
#include "ucp/worker.h"
#include "ucs/log_capture.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <set>
#include <string>

using ufx::test::fill;
using ufx::test::first_difference;
using ufx::test::pair;
using ufx::test::pair_options;
using ufx::test::waiter;

namespace {

constexpr std::size_t kb = 1024;
constexpr std::uint64_t ms = 1'000'000;
constexpr const char *both = "mlx5_0:1,mlx5_1:1";
constexpr const char *one = "mlx5_0:1";

void command(const std::string &rule)
{
    const char *fabric = std::getenv("UFX_SWHCA_DIR");
    REQUIRE(fabric != nullptr); // [fabric] is for `ufx_swhca run` alone
    const std::string line = std::string("env -u LD_PRELOAD ") + UFX_TOP_BUILDDIR +
                             "/ufx_swhca ctl --dir " + fabric + " '" + rule + "'";
    REQUIRE(std::system(line.c_str()) == 0); // NOLINT: the words are ours
}

pair_options quick(const char *devices)
{
    pair_options o;
    o.devices = devices;
    o.config = {{"RAIL_GRACE", "50ms"}, {"RAIL_HOLDOFF", "20ms"}, {"IB_TIMEOUT", "8"},
                {"IB_RETRY_COUNT", "2"}, {"PEER_TIMEOUT", "600s"}};
    return o;
}

void put(pair &p, waiter &w, const std::vector<std::byte> &from, std::uint64_t offset = 0)
{
    w.posted(ufx_ucp_put(p.a.ep, from.data(), from.size(), p.a.peer_addr + offset, p.a.peer_key,
                         &w.params, nullptr));
}

bool all_up(const pair &p)
{
    for (const ufx::test::side *s : {&p.a, &p.b}) {
        ufx_ucp_rail_attr_t rails[UFX_UCP_RAILS_MAX];
        std::size_t count = UFX_UCP_RAILS_MAX;
        (void)ufx_ucp_worker_query_rails(s->worker, rails, &count);
        if (std::any_of(rails, rails + count,
                        [](const auto &r) { return r.state != UFX_UCP_RAIL_UP; })) {
            return false;
        }
    }
    return true;
}

// Goes on for a while in which something late may come.
void go_on(pair &p, std::chrono::milliseconds time)
{
    const auto end = std::chrono::steady_clock::now() + time;
    REQUIRE(p.until([&] { return std::chrono::steady_clock::now() > end; }));
}

// Another initiator, over rail 0 alone: it does not fail over.
struct third {
    explicit third(pair &p)
    {
        ufx_ucp_context_params_t cp{};
        cp.field_mask = UFX_UCP_CONTEXT_PARAM_DEVICES;
        cp.devices = one;
        REQUIRE(ufx_ucp_context_create(&cp, &context) == UFX_OK);
        REQUIRE(ufx_ucp_worker_create(context, nullptr, &worker) == UFX_OK);
        void *bytes = nullptr;
        std::size_t length = 0;
        REQUIRE(ufx_ucp_worker_get_address(p.b.worker, &bytes, &length) == UFX_OK);
        ufx_ucp_ep_params_t params{};
        params.field_mask = UFX_UCP_EP_PARAM_ADDRESS;
        params.address = bytes;
        params.address_length = length;
        REQUIRE(ufx_ucp_ep_create(worker, &params, &ep) == UFX_OK);
        ufx_ucp_worker_release_address(p.b.worker, bytes);
        REQUIRE(ufx_ucp_rkey_pack(p.b.context, p.b.mem, &bytes, &length) == UFX_OK);
        REQUIRE(ufx_ucp_ep_rkey_unpack(ep, bytes, length, &key) == UFX_OK);
        ufx_ucp_rkey_buffer_release(bytes);
    }
    ~third()
    {
        ufx_ucp_rkey_destroy(key);
        ufx_ucp_worker_destroy(worker);
        ufx_ucp_context_destroy(context);
    }
    third(const third &) = delete;
    third &operator=(const third &) = delete;
    void progress() { (void)ufx_ucp_worker_progress(worker); }

    ufx_ucp_context_h context = nullptr;
    ufx_ucp_worker_h worker = nullptr;
    ufx_ucp_ep_h ep = nullptr;
    ufx_ucp_rkey_h key = nullptr;
};

struct counter {
    static ufx_status_t on_am(void *arg, const ufx_ucp_am_t *am) noexcept
    {
        std::uint32_t number = 0;
        std::memcpy(&number, am->header, sizeof(number));
        static_cast<counter *>(arg)->numbers.push_back(number);
        return UFX_OK;
    }
    std::vector<std::uint32_t> numbers;
};

} // namespace

TEST_CASE("rdma: packets of the old rail that come after the replay change nothing",
          "[.][fabric][X03]")
{
    pair p(quick(both));
    std::vector<std::byte> local(256 * kb);
    fill(local.data(), local.size(), 1);
    command("until 300ms hca 1 delay 100ms requests");
    waiter w;
    put(p, w, local);
    p.progress();
    command("hca 1 qp-error");
    REQUIRE(p.until_done(w));
    CHECK(w.status == UFX_OK);
    CHECK(first_difference(p.b.memory, local.size(), 1) == local.size());
    fill(p.b.memory, local.size(), 2); // the target uses it again
    fill(local.data(), local.size(), 3);
    go_on(p, std::chrono::milliseconds(200));
    CHECK(first_difference(p.b.memory, local.size(), 2) == local.size());
    command("clear");
    CHECK(p.failover(p.a).replayed > 0);
}

TEST_CASE("rdma: a request that the device swallowed ends at its deadline, and does nothing when it "
          "comes alive",
          "[.][fabric][T01][T03]")
{
    pair p(quick(one));
    std::vector<std::byte> local(4 * kb);
    fill(local.data(), local.size(), 1);
    fill(p.b.memory, local.size(), 2);
    command("hca 0 swallow");
    waiter w;
    w.with_deadline(100 * ms);
    put(p, w, local);
    REQUIRE(p.until_done(w));
    CHECK(w.status == UFX_ERR_TIMEOUT);
    CHECK(w.flags == UFX_UCP_COMPLETION_REMOTE_FINAL); // the queue pair is gone
    fill(local.data(), local.size(), 3);
    command("release");
    command("clear");
    go_on(p, std::chrono::milliseconds(50));
    CHECK(first_difference(p.b.memory, local.size(), 2) == local.size());
    waiter next;
    put(p, next, local);
    REQUIRE(p.until_done(next));
    CHECK(next.status == UFX_OK);
    CHECK(first_difference(p.b.memory, local.size(), 3) == local.size());
}

TEST_CASE("rdma: a completion queue that broke is made anew, and its rail carries again",
          "[.][fabric][T16]")
{
    pair p(quick(one)); // no other rail would help
    std::vector<std::byte> local(64 * kb);
    for (unsigned round = 1; round <= 2; ++round) {
        fill(local.data(), local.size(), round);
        waiter before;
        put(p, before, local);
        command("hca 0 event CQ_ERR");
        REQUIRE(p.until_done(before));
        CHECK(before.status == UFX_OK);
        REQUIRE(p.until([&] { return all_up(p); }));
        waiter after;
        put(p, after, local, 64 * kb);
        REQUIRE(p.until_done(after));
        CHECK(after.status == UFX_OK);
        CHECK(first_difference(p.b.memory, local.size(), round) == local.size());
        CHECK(first_difference(p.b.memory + 64 * kb, local.size(), round) == local.size());
    }
    CHECK(p.a.events.empty());
}

TEST_CASE("rdma: two initiators add to one target while one of them fails over: each value once",
          "[.][fabric][X12]")
{
    pair p(quick(both));
    third c(p);
    const std::uint64_t zero = 0;
    std::memcpy(p.b.memory, &zero, sizeof(zero));
    constexpr unsigned adds = 400; // even ones by a, odd ones by c
    std::deque<waiter> waiters(adds);
    std::vector<std::uint64_t> results(adds);
    for (unsigned i = 0; i < adds; ++i) {
        const ufx_ucp_ep_h ep = i % 2 == 0 ? p.a.ep : c.ep;
        const ufx_ucp_rkey_h key = i % 2 == 0 ? p.a.peer_key : c.key;
        waiters[i].posted(ufx_ucp_atomic(ep, UFX_UCP_ATOMIC_ADD, 1, 0, sizeof(std::uint64_t),
                                         &results[i], p.a.peer_addr, key, &waiters[i].params,
                                         nullptr));
        if (i == adds / 2) {
            command("hca 1 qp-error");
        }
        p.progress();
        c.progress();
    }
    for (waiter &w : waiters) {
        REQUIRE(p.until([&] {
            c.progress();
            return w.is_done();
        }));
        CHECK(w.status == UFX_OK);
    }
    const std::set<std::uint64_t> values(results.begin(), results.end());
    CHECK(values.size() == adds);
    CHECK(*values.rbegin() == adds - 1);
    std::uint64_t sum = 0;
    std::memcpy(&sum, p.b.memory, sizeof(sum));
    CHECK(sum == adds);
}

TEST_CASE("rdma: messages to a peer whose device is dead and tells no position come once, in order",
          "[.][fabric][X17]")
{
    pair p(quick(both));
    counter seen;
    REQUIRE(ufx_ucp_worker_set_am_handler(p.b.worker, 3, counter::on_am, &seen) == UFX_OK);
    std::vector<std::byte> payload(8 * kb);
    std::deque<waiter> waiters(100);
    const std::string fault = GENERATE("hca 1 device-fatal", "hca 1 fail-query-qp EIO");
    for (std::uint32_t i = 0; i < waiters.size(); ++i) {
        if (i == 50) {
            command(fault);
            command("hca 1 qp-error");
        }
        waiters[i].posted(ufx_ucp_am_send(p.a.ep, 3, &i, sizeof(i), payload.data(), payload.size(),
                                          waiters[i].with_flags(UFX_UCP_OP_AM_EAGER), nullptr));
    }
    for (waiter &w : waiters) {
        REQUIRE(p.until_done(w));
        CHECK(w.status == UFX_OK);
    }
    command("clear");
    command("device-reset");
    REQUIRE(p.until([&] { return all_up(p); }));
    REQUIRE(seen.numbers.size() == waiters.size());
    for (std::uint32_t i = 0; i < seen.numbers.size(); ++i) {
        CHECK(seen.numbers[i] == i);
    }
}

TEST_CASE("rdma: a read whose answer is lost is done again, and never taken for done",
          "[.][fabric][X18]")
{
    pair p(quick(both));
    std::vector<std::byte> local(64 * kb);
    fill(p.b.memory, local.size(), 5);
    command("until 100ms drop responses");
    std::deque<waiter> waiters(4);
    for (waiter &w : waiters) {
        w.posted(ufx_ucp_get(p.a.ep, local.data(), local.size(), p.a.peer_addr, p.a.peer_key,
                             &w.params, nullptr));
        p.progress();
        CHECK_FALSE(w.is_done());
    }
    command("qp-error");
    for (waiter &w : waiters) {
        REQUIRE(p.until_done(w));
        CHECK(w.status == UFX_OK);
        CHECK(first_difference(local.data(), local.size(), 5) == local.size());
    }
    command("clear");
}

TEST_CASE("rdma: a device that gives no completions is told from a program that does not poll",
          "[.][fabric][T06][T07]")
{
    pair_options options = quick(one);
    options.config.push_back({"SILENCE_WARN", "100ms"});
    pair p(options);
    const auto says = [&p](const char *words) {
        char *text = nullptr;
        REQUIRE(ufx_ucp_worker_dump(p.a.worker, UFX_UCP_DUMP_JSON, &text) == UFX_OK);
        const bool found = std::strstr(text, words) != nullptr;
        ufx_ucp_dump_release(text);
        return found;
    };
    REQUIRE(p.until([&] { return p.all_lanes_live(); }));
    const ufx::ucs::log_capture log;
    std::vector<std::byte> local(4 * kb);
    fill(local.data(), local.size(), 1);
    waiter w;
    command("hca 0 stall-cq");
    put(p, w, local);
    p.progress();
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!says("\"held_up_by\":\"poller\"") && std::chrono::steady_clock::now() < end) {
    }
    CHECK(says("\"held_up_by\":\"poller\""));
    CHECK(log.count("stand still on") == 0);
    CHECK(p.until([&] {
        return says("\"held_up_by\":\"device\"") && log.count("stand still on mlx5_0:1 qp 0x") != 0;
    }));
    CHECK(log.count(" RTS, the oldest for") != 0);
    CHECK(says("{\"kind\":\"PUT\",\"bytes\":4096"));
    command("hca 0 unstall-cq");
    REQUIRE(p.until_done(w));
    CHECK(w.status == UFX_OK);
}

TEST_CASE("rdma: a lane that still holds what its device swallowed before a port flap is replaced",
          "[.][fabric][T04]")
{
    pair_options options; // the retries outlast the flap, and nothing else makes anybody look
    options.devices = both;
    options.config = {{"RAIL_GRACE", "60s"}, {"STALL_MIN", "60s"}, {"PEER_TIMEOUT", "600s"}};
    pair p(options);
    const auto epoch = [&p](unsigned rail) {
        ufx::ucp::core::epoch_t newest = 0;
        for (const ufx::ucp::lane *l : ufx::ucp::ep::of(p.a.ep).lanes()) {
            newest = l->port().index() == rail ? std::max(newest, l->ref().epoch) : newest;
        }
        return newest;
    };
    REQUIRE(p.until([&] { return p.all_lanes_live(); }));
    const auto first = epoch(0), second = epoch(1);
    std::vector<std::byte> local(256 * kb);
    fill(local.data(), local.size(), 1);
    command("hca 1 swallow");
    waiter w;
    put(p, w, local);
    command("hca 0 port-down' 'hca 1 port-down' 'at 10ms hca 0 port-up' 'at 10ms hca 1 port-up");
    REQUIRE(p.until_done(w));
    CHECK(w.status == UFX_OK);
    CHECK(first_difference(p.b.memory, local.size(), 1) == local.size());
    REQUIRE(p.until([&] { return all_up(p) && p.all_lanes_live(); }));
    CHECK(epoch(0) == first);
    CHECK(epoch(1) > second);
    command("clear");
}

// Not by the clock: rail 0 is never away and always full, so that what rail 1 carries beside it
// says how fast both are.
TEST_CASE("rdma: after its port was away a pair does all that it is given, and as fast as before",
          "[.][fabric][T15]")
{
    pair p(quick(both));
    command("rate 1Gb/s");
    std::vector<std::byte> local(256 * kb);
    fill(local.data(), local.size(), 1);
    std::deque<waiter> waiters;
    const auto give = [&] {
        while (!waiters.empty() && waiters.front().is_done()) {
            CHECK(waiters.front().status == UFX_OK);
            CHECK(waiters.front().calls == 1);
            waiters.pop_front();
        }
        while (waiters.size() < 32) {
            put(p, waiters.emplace_back(), local);
        }
    };
    const auto carried = [&p](unsigned rail) {
        return ufx::ucp::worker::of(p.a.worker).rails()[rail]->count.tx_bytes;
    };
    // How much faster both rails are than rail 0 alone.
    const auto speed = [&](std::uint64_t megabytes) {
        const std::uint64_t before[] = {carried(0), carried(1)};
        REQUIRE(p.until([&] {
            give();
            return carried(0) + carried(1) >= before[0] + before[1] + (megabytes << 20);
        }));
        return static_cast<double>(carried(0) + carried(1) - before[0] - before[1]) /
               static_cast<double>(carried(0) - before[0]);
    };
    speed(16);                                       // until the queues are full
    const double before = std::min(speed(200), 2.0); // the rails are of the same rate
    CHECK(before > 1.9);
    command("hca 1 port-down");
    REQUIRE(p.until([&] {
        give();
        return !all_up(p);
    }));
    speed(16);
    command("hca 1 port-up");
    REQUIRE(p.until([&] {
        give();
        return all_up(p);
    }));
    double after = 0;
    for (int i = 0; i < 10 && after < 0.98 * before; ++i) {
        speed(16); // queues fill, and it comes back step by step
        after = speed(200);
    }
    CHECK(after >= 0.98 * before);
    for (waiter &w : waiters) {
        REQUIRE(p.until_done(w));
        CHECK(w.status == UFX_OK);
    }
    CHECK(first_difference(p.b.memory, local.size(), 1) == local.size());
    command("rate 0b/s");
}

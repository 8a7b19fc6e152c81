// SPDX-License-Identifier: BSD-3-Clause
// Commands, completion queues, SRQs, datagrams and events.
#include "companion.h"
#include "rig.h"

#include "swhca/engine/membership.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <set>
#include <sys/wait.h>
#include <unistd.h>

namespace ufx::test {

TEST_CASE("swhca: what is in use is not destroyed, and handles of others are unknown")
{
    rig on;
    device a(on, 0);
    device b(on, 0);
    endpoint one(a);
    swhca::event_count ignored{};
    auto run = [&](auto what) { return on.command(what); };
    CHECK(run([&](swhca::core &w) { return swhca::dealloc_pd(w, a.context, a.pd); }) == EBUSY);
    CHECK(run([&](swhca::core &w) {
              return swhca::destroy_cq(w, a.context, a.cq, ignored, ignored);
          }) == EBUSY);
    CHECK(run([&](swhca::core &w) {
              return swhca::destroy_qp(w, b.context, one.handle, ignored);
          }) == ENOENT);
    CHECK(run([&](swhca::core &w) { return swhca::dealloc_pd(w, b.context, a.pd); }) == ENOENT);
    CHECK(run([&](swhca::core &w) { return swhca::dealloc_pd(w, a.context, 1u << 30); }) == ENOENT);
    CHECK(one.destroy() == 0);
    CHECK(run([&](swhca::core &w) {
              return swhca::destroy_cq(w, a.context, a.cq, ignored, ignored);
          }) == 0);
    CHECK(run([&](swhca::core &w) { return swhca::dealloc_pd(w, a.context, a.pd); }) == 0);
}

TEST_CASE("swhca: a region with remote rights needs the local one")
{
    rig on;
    device a(on, 0);
    uint32_t handle = 0;
    uint32_t key = 0;
    auto with = [&](uint32_t access, uint64_t length) {
        swhca::mr_request want{a.pd, access, 0x10000, length, 0x10000};
        return on.command(
            [&](swhca::core &w) { return swhca::register_mr(w, a.context, want, handle, key); });
    };
    CHECK(with(0x2, 4096) == EINVAL);
    CHECK(with(0x8, 4096) == EINVAL);
    CHECK(with(0x4, 4096) == 0);
    CHECK(with(0x3, 4096) == 0);
    CHECK(with(0x40, 4096) == EOPNOTSUPP); // on demand paging
    CHECK(with(0x3, UINT64_MAX) == EINVAL);
}

TEST_CASE("swhca: keys do not come again")
{
    rig on;
    device a(on, 0);
    std::set<uint32_t> seen;
    for (int i = 0; i < 50'000; i++) {
        uint32_t handle = 0;
        uint32_t key = 0;
        swhca::mr_request want{a.pd, 1, 0x10000, 64, 0x10000};
        REQUIRE(on.command([&](swhca::core &w) {
            int error = swhca::register_mr(w, a.context, want, handle, key);
            return error != 0 ? error : swhca::deregister_mr(w, a.context, handle);
        }) == 0);
        REQUIRE(seen.insert(key).second);
    }
}

TEST_CASE("swhca: two devices have equal QP numbers")
{
    rig on;
    device a(on, 0);
    device b(on, 1);
    endpoint left(a);
    endpoint right(b);
    CHECK(left.qpn == right.qpn);
}

TEST_CASE(
    "swhca: a CQ tells once after it was armed, also of what came before that it did not tell")
{
    pair on;
    on.left.write(on.from, 8, on.to);
    on.fabric.step();
    CHECK_FALSE(on.a.next_completion_event()); // not armed
    on.a.arm();
    on.fabric.step();
    CHECK(on.a.next_completion_event()); // a completion was there that nobody was told of
    on.left.write(on.from, 8, on.to);
    on.fabric.step();
    CHECK_FALSE(on.a.next_completion_event());
    REQUIRE(on.a.poll());
    REQUIRE(on.a.poll());
    on.a.arm();
    on.fabric.step();
    CHECK_FALSE(on.a.next_completion_event()); // all was seen
    on.left.write(on.from, 8, on.to);
    on.fabric.step();
    CHECK(on.a.next_completion_event());
    CHECK_FALSE(on.a.next_completion_event());
}

TEST_CASE("swhca: a CQ that is armed while completions wait tells at once, though it told of them")
{
    pair on;
    for (int i = 0; i < 3; i++) {
        on.right.receive(on.to, 0, 64);
        on.left.send(on.from, 8, i == 1);
    }
    on.fabric.step();
    bool solicited = GENERATE(false, true);
    CAPTURE(solicited);
    on.b.arm(solicited);
    on.fabric.step();
    CHECK(on.b.next_completion_event());
    REQUIRE(on.b.poll()); // as a program that arms first and polls a few only
    on.b.arm(solicited);
    on.fabric.step();
    CHECK(on.b.next_completion_event());
    on.fabric.step();
    CHECK_FALSE(on.b.next_completion_event());
    REQUIRE(on.b.poll());
    on.b.arm(solicited);
    on.fabric.step();
    CHECK(on.b.next_completion_event() == !solicited); // one waits that was not solicited
    REQUIRE(on.b.poll());
    on.b.arm(solicited);
    on.fabric.step();
    CHECK_FALSE(on.b.next_completion_event());
}

TEST_CASE("swhca: a CQ that is armed for solicited completions tells of no other")
{
    pair on;
    on.right.receive(on.to, 0, 64);
    on.right.receive(on.to, 0, 64);
    on.b.arm(true);
    on.fabric.step();
    on.left.send(on.from, 8);
    on.fabric.step();
    CHECK_FALSE(on.b.next_completion_event());
    on.left.send(on.from, 8, true);
    on.fabric.step();
    CHECK(on.b.next_completion_event());
}

TEST_CASE("swhca: a SRQ serves several QPs, tells of its limit once, and of the last WQE of a QP")
{
    rig on;
    device a(on, 0);
    device b(on, 1);
    shared_queue srq(b, 8, 2);
    endpoint left[2] = {endpoint(a), endpoint(a)};
    endpoint right[2] = {endpoint(b, 2, &srq), endpoint(b, 2, &srq)};
    for (int i = 0; i < 2; i++) {
        left[i].connect(right[i]);
        right[i].connect(left[i]);
    }
    region from = a.make_region(64, all_access);
    region to = b.make_region(4096, all_access);
    for (uint32_t i = 0; i < 3; i++) {
        srq.post(to, i * 64, 64);
    }
    for (uint32_t i = 0; i < 3; i++) {
        std::memset(from.bytes.data(), static_cast<int>(i + 1), 64);
        left[i % 2].send(from, 64);
        on.step();
        auto done = b.poll();
        REQUIRE(done);
        CHECK(done->counter == i);
        CHECK(done->qpn == right[i % 2].qpn);
        CHECK(to.bytes[i * 64 + 63] == i + 1);
    }
    auto told = b.next_event();
    REQUIRE(told);
    CHECK(told->type == 15); // IBV_EVENT_SRQ_LIMIT_REACHED
    CHECK(told->element == 0x50);
    CHECK_FALSE(b.next_event());
    REQUIRE(right[0].to_state(err) == 0);
    told = b.next_event();
    REQUIRE(told);
    CHECK(told->type == 16); // IBV_EVENT_QP_LAST_WQE_REACHED
    CHECK_FALSE(b.poll());
}

TEST_CASE("swhca: a datagram comes behind its route header, to the right Q_Key only")
{
    datagram_pair on;
    std::memset(on.from.bytes.data(), 0x5a, 2048);
    on.right.receive(on.to, 0, 4096);
    on.left.send_to(on.from, 2000, on.right, 0x12);
    on.fabric.step();
    CHECK(on.a.poll());
    CHECK_FALSE(on.b.poll());
    on.left.send_to(on.from, 2000, on.right, 0x11);
    on.fabric.step();
    auto done = on.b.poll();
    REQUIRE(done);
    CHECK(done->bytes == 2040);
    CHECK(on.to.bytes[20] == 0x45); // an IPv4 header
    CHECK(on.to.bytes[21] == 0x60); // with the traffic class and the hop limit of the address
    CHECK(on.to.bytes[28] == 7);
    CHECK(on.to.bytes[39] == 2);    // to 10.77.0.2
    CHECK(on.to.bytes[40] == 0x5a);
    CHECK(on.to.bytes[2040] == 0);
    on.left.send_to(on.from, 64, on.right, 0x11); // no receive: lost
    on.fabric.step();
    CHECK(on.fabric.shared().hcas[1].counters.dropped == 2);
}

TEST_CASE("swhca: who dies with the lock in hand leaves QPs that go on, and nobody waits")
{
    pair on;
    pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        ::pthread_mutex_lock(&on.fabric.shared().lock);
        on.fabric.shared().working[0] = on.right.handle;
        on.fabric.shared().working_depth = 1;
        ::_exit(0);
    }
    REQUIRE(::waitpid(child, nullptr, 0) == child);
    on.left.write(on.from, 64, on.to);
    CHECK(on.wait(on.a).syndrome == 0);
    CHECK(on.right.state() == rts);
    CHECK_FALSE(on.b.next_event());
}

TEST_CASE("swhca: what a dead process made is cleared away, though it is not yet waited for")
{
    rig on;
    companion child(on, open_second_device);
    REQUIRE(child.talk().hear() == 1);
    auto contexts = [&] {
        auto &all = on.shared().contexts;
        return std::count_if(std::begin(all), std::end(all),
                             [](const swhca::context &one) { return one.in_use; });
    };
    CHECK(swhca::reap_dead(on.shared(), 0, on.now_ns) == 0);
    CHECK(contexts() == 1);
    ::kill(child.pid(), SIGKILL);
    siginfo_t info{};
    REQUIRE(::waitid(P_PID, static_cast<id_t>(child.pid()), &info, WEXITED | WNOWAIT) == 0);
    CHECK(swhca::reap_dead(on.shared(), 0, on.now_ns) == 1);
    CHECK(contexts() == 0);
}

TEST_CASE("swhca: a process that leaves takes all with it, and its peer times out")
{
    rig on;
    device a(on, 0);
    endpoint left(a);
    region from = a.make_region(64, all_access);
    {
        device b(on, 1);
        endpoint right(b);
        region to = b.make_region(64, all_access);
        connect_both(left, right);
        left.write(from, 8, to);
        on.step();
        REQUIRE(a.poll());
        left.write(from, 8, to);
    }
    uint64_t before = on.now_ns;
    CHECK(on.until([&] { return left.state() == err; }, 100'000));
    CHECK(on.now_ns - before >= 4 * (4096ull << 10)); // it was silent, so all retries were made
    CHECK(left.inside().counters.timeouts == 4);
    auto failed = a.poll();
    REQUIRE(failed);
    CHECK(failed->syndrome == 0x15);
}

} // namespace ufx::test

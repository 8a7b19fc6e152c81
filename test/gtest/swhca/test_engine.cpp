// SPDX-License-Identifier: BSD-3-Clause
// The engine's own: copies that fail or are not torn, doorbells that several threads read, and the
// lock.
#include "companion.h"
#include "guard_faults.h"
#include "rig.h"

#include "swhca/engine/guarded_copy.h"
#include "swhca/engine/process_memory.h"
#include "swhca/engine/spinner.h"
#include "swhca/fabric/doorbell_count.h"

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace ufx::test {

namespace {

using namespace swhca;

// Two values of a counter whose bytes all differ.
constexpr uint32_t one_value = 0x000000ff;
constexpr uint32_t other_value = 0x11223300;

// Counts what is neither.
template <class Read>
int torn_reads(Read read)
{
    constexpr int reads = 200000;
    int torn = 0;
    for (int i = 0; i < reads; i++) {
        uint32_t value = read();
        torn += value != one_value && value != other_value ? 1 : 0;
    }
    return torn;
}

void keep_writing(std::atomic<uint32_t> &word, const std::atomic<bool> &stop)
{
    while (!stop.load(std::memory_order_relaxed)) {
        word.store(other_value, std::memory_order_relaxed);
        word.store(one_value, std::memory_order_relaxed);
    }
}

} // namespace

TEST_CASE("swhca: a copy that meets a page that is not there says so")
{
    guard_faults guard;
    constexpr size_t page = 4096;
    void *pages =
        ::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(pages != MAP_FAILED);
    auto *bytes = static_cast<unsigned char *>(pages);
    REQUIRE(::mprotect(bytes + page, page, PROT_NONE) == 0);
    std::array<unsigned char, 64> other{};
    other[4] = 7;
    for (size_t size : {1u, 4u, 8u, 13u, 64u}) {
        CHECK(guarded_copy(bytes, other.data(), size));
        CHECK(std::memcmp(bytes, other.data(), size) == 0);
        CHECK(guarded_copy(bytes + page - size, other.data(), size));
        CHECK_FALSE(guarded_copy(bytes + page, other.data(), size));
        CHECK_FALSE(guarded_copy(other.data(), bytes + page, size));
        if (size > 1) {
            CHECK_FALSE(guarded_copy(bytes + page - 1, other.data(), size));
        }
        CHECK_FALSE(guarded_copy(nullptr, other.data(), size));
    }
    CHECK(guarded_copy(nullptr, nullptr, 0));
    ::munmap(pages, 2 * page);
}

TEST_CASE("swhca: a doorbell record is not read torn while its owner writes it", "[threads]")
{
    rig world;
    process_memory memory(world.shared(), 0);
    std::atomic<uint32_t> word{one_value};
    std::atomic<bool> stop{false};
    std::thread writer([&] { keep_writing(word, stop); });
    int torn = torn_reads([&] {
        uint32_t value = 0;
        return memory.read(0, reinterpret_cast<uintptr_t>(&word), &value, sizeof(value)) ? value
                                                                                         : 0;
    });
    stop.store(true);
    writer.join();
    CHECK(torn == 0);
}

TEST_CASE("swhca: a doorbell record of another process is not read torn")
{
    rig world;
    void *page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(page != MAP_FAILED);
    auto &word = *new (page) std::atomic<uint32_t>(one_value);
    companion child(world, [&](rig &, line &) {
        std::atomic<bool> never{false};
        keep_writing(word, never);
    });
    process_memory memory(world.shared(), 0);
    int torn = torn_reads([&] {
        uint32_t value = 0;
        return memory.read(1, reinterpret_cast<uintptr_t>(page), &value, sizeof(value)) ? value : 0;
    });
    child.kill();
    ::munmap(page, 4096);
    CHECK(torn == 0);
}

TEST_CASE("swhca: a doorbell that was read late takes nothing back")
{
    std::atomic<uint32_t> count{0};
    constexpr uint32_t blocks = 256;
    uint32_t late = count.load(); // a thread looks, reads 5, and is put off
    CHECK(advance_doorbell(count, count.load(), 6, blocks));
    CHECK_FALSE(advance_doorbell(count, late, 5, blocks));
    CHECK((count.load() & doorbell_count_bits) == 6);
    CHECK_FALSE(advance_doorbell(count, count.load(), 6, blocks));
    // Both looked before either: the later count wins in either order.
    uint32_t seen = count.load();
    CHECK(advance_doorbell(count, seen, 7, blocks));
    CHECK(advance_doorbell(count, seen, 9, blocks));
    CHECK((count.load() & doorbell_count_bits) == 9);
    // Around the circle, with the largest queue there is.
    count.store(0xfff0);
    CHECK(advance_doorbell(count, count.load(), 0x7ff0, 32768));
    CHECK_FALSE(advance_doorbell(count, count.load(), 0x7fef, 32768));
}

TEST_CASE("swhca: a doorbell from before a reset does not count after it")
{
    std::atomic<uint32_t> count{0};
    constexpr uint32_t blocks = 256;
    CHECK(advance_doorbell(count, count.load(), 40, blocks));
    uint32_t late = count.load();
    close_doorbell(count);
    CHECK((count.load() & doorbell_count_bits) == 0);
    // The record still has the old count until its owner clears it.
    CHECK_FALSE(advance_doorbell(count, count.load(), 40, blocks));
    open_doorbell(count);
    CHECK_FALSE(advance_doorbell(count, late, 41, blocks));
    CHECK(advance_doorbell(count, count.load(), 1, blocks));
    CHECK((count.load() & doorbell_count_bits) == 1);
}

TEST_CASE("swhca: what several threads post through one engine arrives once", "[threads]")
{
    rig world;
    device left(world, 0);
    device right(world, 1);
    region source = left.make_region(64, 1);
    region target = right.make_region(64, 7);
    constexpr int pairs = 3;
    constexpr int writes = 60;
    std::vector<std::unique_ptr<endpoint>> senders;
    std::vector<std::unique_ptr<endpoint>> receivers;
    for (int i = 0; i < pairs; i++) {
        senders.push_back(std::make_unique<endpoint>(left));
        receivers.push_back(std::make_unique<endpoint>(right));
        senders.back()->connect(*receivers.back());
        receivers.back()->connect(*senders.back());
    }
    engine runs(world.shared(), 0);
    std::atomic<int> posting{pairs};
    std::vector<std::thread> threads;
    for (int i = 0; i < pairs; i++) {
        threads.emplace_back([&, i] {
            for (int k = 0; k < writes; k++) {
                senders[static_cast<size_t>(i)]->write(source, 8, target);
                if (runs.scan_doorbells()) {
                    (void)runs.pass(world.now_ns);
                } else {
                    runs.try_pass(world.now_ns);
                }
            }
            posting.fetch_sub(1);
        });
    }
    int done = 0;
    int bad = 0;
    uint64_t spins = 0;
    while (done < pairs * writes && spins < 100'000'000) {
        if (auto one = left.poll()) {
            done++;
            bad += one->opcode != 0 ? 1 : 0;
        } else if (posting.load() == 0) {
            (void)runs.scan_doorbells();
            (void)runs.pass(world.now_ns);
        }
        spins++;
    }
    for (std::thread &each : threads) {
        each.join();
    }
    CHECK(done == pairs * writes);
    CHECK(bad == 0);
    for (const auto &each : senders) {
        CHECK(each->state() == 3);
    }
}

TEST_CASE("swhca: work that is left to the holder of the lock wakes a helper")
{
    pair on;
    on.fabric.step();
    engine other(on.fabric.shared(), 0);
    std::atomic<uint32_t> &wake = on.fabric.shared().processes[0].wake;
    uint32_t before = wake.load();
    {
        image_lock lock(on.fabric.shared()); // as `show` and `ctl` hold it
        std::thread poster([&] {
            on.left.write(on.from, 8, on.to);
            (void)other.scan_doorbells();
            other.try_pass(on.fabric.now_ns);
        });
        poster.join();
        CHECK(wake.load() == before);
    }
    CHECK(wake.load() != before);
    on.fabric.step();
    CHECK(on.a.poll());
}

TEST_CASE("swhca: no work is lost between a poster and the end of another's pass", "[threads]")
{
    rig world;
    device left(world, 0);
    device right(world, 1);
    region source = left.make_region(64, 1);
    region target = right.make_region(64, 7);
    endpoint a(left);
    endpoint b(left);
    endpoint a_peer(right);
    endpoint b_peer(right);
    for (auto [one, peer] : {std::pair(&a, &a_peer), std::pair(&b, &b_peer)}) {
        one->connect(*peer);
        peer->connect(*one);
    }
    world.step();
    engine runs(world.shared(), 0);
    std::atomic<uint32_t> &wake = world.shared().processes[0].wake;
    constexpr int rounds = 2000;
    std::atomic<int> round{0};
    std::atomic<int> done{0};
    auto post = [&](endpoint &one, bool waits) {
        one.write(source, 8, target);
        (void)runs.scan_doorbells();
        if (waits) {
            (void)runs.pass(world.now_ns);
        } else {
            runs.try_pass(world.now_ns);
        }
        done.fetch_add(1);
    };
    std::thread other([&] {
        for (int i = 1; i <= rounds; i++) {
            while (round.load() < i) {
                std::this_thread::yield();
            }
            post(b, false);
        }
    });
    int lost = 0;
    for (int i = 1; i <= rounds; i++) {
        uint32_t before = wake.load();
        round.store(i);
        post(a, true);
        while (done.load() < 2 * i) {
            std::this_thread::yield();
        }
        int arrived = 0;
        while (left.poll()) {
            arrived++;
        }
        if (arrived < 2) {
            lost += wake.load() == before ? 1 : 0;
            world.step();
            while (left.poll()) {
            }
        }
    }
    other.join();
    CHECK(lost == 0);
}

TEST_CASE("swhca: a helper does not wake itself for timers that it knows of")
{
    pair on;
    on.fabric.fault("drop responses");
    on.left.write(on.from, 8, on.to);
    on.fabric.step(); // now the timer runs
    process_slot &slot = on.fabric.shared().processes[0];
    slot.sleeps_until.store(UINT64_MAX); // it is awake
    engine helper(on.fabric.shared(), 0);
    uint32_t before = slot.wake.load();
    uint64_t next_ns = helper.pass(on.fabric.now_ns, engine_caller::HELPER);
    CHECK(next_ns > on.fabric.now_ns);
    CHECK(next_ns != UINT64_MAX);
    CHECK(slot.wake.load() == before);
    // Another thread's pass tells it, once.
    (void)helper.pass(on.fabric.now_ns);
    CHECK(slot.wake.load() == before + 1);
    (void)helper.pass(on.fabric.now_ns);
    CHECK(slot.wake.load() == before + 1);
}

TEST_CASE("swhca: a thread that runs devices spins again after each sleep")
{
    spinner spin;
    auto looks = [&spin](bool found) {
        uint32_t count = 0;
        for (bool work = found; spin.goes_on(work); work = false) {
            count++;
        }
        return count;
    };
    CHECK(looks(true) == spinner::looks);
    CHECK(looks(false) == 0); // it has slept, and there was nothing
    CHECK(looks(true) == spinner::looks);
}

} // namespace ufx::test

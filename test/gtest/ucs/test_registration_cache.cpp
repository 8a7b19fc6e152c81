// SPDX-License-Identifier: BSD-3-Clause
// Registrations are found again as long as their pages are the same, and dropped when they are idle
// and in the way.
#include "ucs/registration_cache.h"

#include "common/skip.h"
#include "ucs/prng.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <set>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace ufx;
using cache = ucs::registration_cache;

namespace {

constexpr size_t page = 4096;
constexpr uint64_t reads = 1;
constexpr uint64_t writes = 2;

// Registers a number of ranges at most. A handle knows what the first word of the pages was when
// they were registered, so that a test can tell whether they are still those.
struct fake_device {
    struct handle {
        uint64_t first_word;
    };

    std::atomic<int> entered = 0;
    std::atomic<int> there = 0;
    std::atomic<int> room = 1000;

    [[nodiscard]] cache::device calls()
    {
        return {this,
                [](void *arg, void *address, size_t, uint64_t,
                   cache::entry &) noexcept -> ucs::result<void *> {
                    auto &self = *static_cast<fake_device *>(arg);
                    if (self.there.load() >= self.room.load()) {
                        return UFX_ERR_NO_MEMORY;
                    }
                    ++self.entered;
                    ++self.there;
                    auto made = std::make_unique<handle>();
                    std::memcpy(&made->first_word, address, sizeof(made->first_word));
                    return static_cast<void *>(made.release());
                },
                [](void *arg, void *one) noexcept {
                    --static_cast<fake_device *>(arg)->there;
                    delete static_cast<handle *>(one);
                }};
    }
};

char *map_pages(size_t count, void *wanted = nullptr)
{
    const int flags = wanted == nullptr ? 0 : MAP_FIXED_NOREPLACE;
    void *at = ::mmap(wanted, count * page, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    return at == MAP_FAILED ? nullptr : static_cast<char *>(at);
}

struct rig {
    explicit rig(cache::limits most = {1000, SIZE_MAX})
    {
        auto made = cache::create(device.calls(), most);
        if (!made) {
            test::skip("the kernel allows no userfaultfd");
            return;
        }
        on = *std::move(made);
        at = map_pages(64);
        REQUIRE(at != nullptr);
    }

    ~rig()
    {
        on.reset();
        CHECK(device.there == 0); // nothing is forgotten
        if (at != nullptr) {
            ::munmap(at, 64 * page);
        }
    }

    rig(const rig &) = delete;
    rig &operator=(const rig &) = delete;

    cache::entry &get(size_t first, size_t length, uint64_t access = reads)
    {
        auto found = on->get(at + first, length, access);
        REQUIRE(found);
        return **found;
    }

    void use(size_t first, size_t length, uint64_t access = reads)
    {
        on->put(get(first, length, access));
    }

    fake_device device;
    ucs::owner<cache> on;
    char *at = nullptr;
};

} // namespace

TEST_CASE(
    "registration cache: what lies in registered pages with enough rights is not registered again")
{
    rig one;
    if (one.on == nullptr) {
        return;
    }
    cache::entry &first = one.get(100, 3 * page, reads | writes); // pages 0 to 3
    CHECK(&one.get(0, 4 * page) == &first);
    CHECK(&one.get(2 * page, 1, writes) == &first);
    CHECK(one.device.entered == 1);
    for (int i = 0; i < 3; i++) {
        one.on->put(first);
    }
    one.use(page, page);
    CHECK(one.device.entered == 1);
    one.use(3 * page, page + 1); // a page more
    CHECK(one.device.entered == 2);
    one.use(10 * page, 1);
    one.use(10 * page, 1, writes); // a right more
    CHECK(one.device.entered == 4);
    one.use(10 * page, 1, reads);
    one.use(4 * page, 5);
    CHECK(one.device.entered == 4);
    CHECK(one.on->size() == 4);
}

TEST_CASE("registration cache: the one that is idle for longest makes room, never one in use")
{
    SECTION("by number")
    {
        rig one({2, SIZE_MAX});
        if (one.on == nullptr) {
            return;
        }
        cache::entry &used = one.get(0, 1);
        one.use(page, 1);
        one.use(2 * page, 1); // in place of page 1
        CHECK(one.on->size() == 2);
        CHECK(one.device.there == 2);
        cache::entry &used_too = one.get(2 * page, 1);
        CHECK(one.device.entered == 3);
        one.use(3 * page, 1); // all others are in use: not kept
        CHECK(one.device.there == 2);
        one.use(3 * page, 1);
        CHECK(one.device.entered == 5);
        one.on->put(used);
        one.on->put(used_too);
        one.use(0, 1); // so page 2 is idle for longest
        one.use(3 * page, 1);
        CHECK(one.device.entered == 6);
        one.use(0, 1);
        CHECK(one.device.entered == 6);
    }
    SECTION("by size")
    {
        rig one({100, 4 * page});
        if (one.on == nullptr) {
            return;
        }
        one.use(0, 2 * page);
        one.use(10 * page, 2 * page);
        CHECK(one.on->size() == 2);
        one.use(20 * page, page);
        CHECK(one.on->size() == 2);
        one.use(30 * page, 5 * page); // larger than all: drops none
        CHECK(one.on->size() == 2);
        CHECK(one.device.there == 2);
    }
}

TEST_CASE(
    "registration cache: a device that is full gets what is idle back, else the status says so",
    "[L09]")
{
    rig one;
    if (one.on == nullptr) {
        return;
    }
    one.device.room = 2;
    one.use(0, 1);
    cache::entry &second = one.get(page, 1);
    cache::entry &third = one.get(2 * page, 1); // the first one goes
    CHECK(one.device.there == 2);
    const auto refused = one.on->get(one.at + 3 * page, 1, reads);
    CHECK(refused.status() == UFX_ERR_NO_MEMORY);
    CHECK(one.on->size() == 2);
    one.on->put(second);
    one.use(3 * page, 1);
    one.on->put(third);
    CHECK(one.device.there == 2);
    CHECK(one.on->evict());
    CHECK(one.on->evict());
    CHECK(!one.on->evict());
}

TEST_CASE(
    "registration cache: pages that went are registered again, and given back after their use")
{
    rig one;
    if (one.on == nullptr) {
        return;
    }
    one.use(0, 4 * page);
    cache::entry &used = one.get(8 * page, page);
    ::madvise(one.at + page, page, MADV_DONTNEED);
    ::madvise(one.at + 8 * page, page, MADV_DONTNEED);
    CHECK(one.device.there == 2);
    one.on->collect();
    CHECK(one.device.there == 1); // the other one is in use
    CHECK(one.on->size() == 0);
    cache::entry &fresh = one.get(8 * page, page);
    CHECK(&fresh != &used);
    one.on->put(used);
    CHECK(one.device.there == 1);
    one.on->put(fresh);
    one.use(8 * page, page);
    CHECK(one.device.entered == 3);
}

TEST_CASE("registration cache: memory that cannot be watched is registered for each use")
{
    rig one;
    if (one.on == nullptr) {
        return;
    }
    const int file = ::open("/proc/self/exe", O_RDONLY);
    void *mapped = ::mmap(nullptr, page, PROT_READ, MAP_PRIVATE, file, 0);
    ::close(file);
    REQUIRE(mapped != MAP_FAILED);
    for (int i = 1; i < 4; i++) {
        auto found = one.on->get(mapped, page, reads);
        REQUIRE(found);
        CHECK(one.device.there == 1);
        one.on->put(**found);
        CHECK(one.device.there == 0);
        CHECK(one.device.entered == i);
    }
    ::munmap(mapped, page);
}

TEST_CASE("registration cache: several devices keep the same pages")
{
    rig one;
    rig two;
    if (one.on == nullptr) {
        return;
    }
    for (int i = 0; i < 2; i++) {
        for (rig *each : {&one, &two}) {
            auto found = each->on->get(one.at, page, reads);
            REQUIRE(found);
            each->on->put(**found);
            CHECK(each->device.entered == 1);
        }
    }
    CHECK(one.on->evict()); // the other one needs its pages watched
    ::madvise(one.at, page, MADV_DONTNEED);
    two.on->collect();
    CHECK(two.on->size() == 0);
}

// A thread takes memory away while another one waits for nothing but its address, and is given it
// before the first one's call has returned.
TEST_CASE("registration cache: an address that is mapped anew is never found with its old pages")
{
    rig one;
    if (one.on == nullptr) {
        return;
    }
    char *const place = map_pages(1);
    REQUIRE(place != nullptr);
    constexpr int rounds = 2000;
    constexpr int most_tries = 50'000'000;
    bool is_lost = false;
    std::atomic<int> taken = 0; // rounds in which the page may go
    std::atomic<bool> ended = false;
    std::thread taker([&] {
        for (int round = 1; round < rounds;) {
            if (taken.load(std::memory_order_acquire) >= round) {
                ::munmap(place, page);
                ++round;
            } else if (ended.load(std::memory_order_relaxed)) {
                return;
            } else {
                std::this_thread::yield();
            }
        }
    });
    uint64_t stale = 0;
    uint64_t lost = 0;
    for (int round = 1; round < rounds; round++) {
        const auto number = static_cast<uint64_t>(round);
        std::memcpy(place, &number, sizeof(number));
        const auto found = one.on->get(place, page, reads);
        if (found) {
            stale += static_cast<fake_device::handle *>((*found)->handle())->first_word != number;
            one.on->put(**found);
        }
        lost += found ? 0 : 1;
        taken.store(round, std::memory_order_release);
        char *again = nullptr;
        for (int tries = 0; again == nullptr && tries < most_tries; tries++) {
            again = map_pages(1, place); // when the page has gone
        }
        if (again == nullptr) {
            is_lost = true; // somebody else was given the address
            break;
        }
    }
    ended = true;
    taker.join();
    if (is_lost) {
        return test::skip("the address went to somebody else");
    }
    CHECK(stale == 0);
    CHECK(lost == 0);
    ::munmap(place, page);
}

TEST_CASE("registration cache: threads use, unmap and map again what they share the cache for")
{
    rig one({8, SIZE_MAX});
    if (one.on == nullptr) {
        return;
    }
    std::atomic<int> wrong = 0;
    const auto work = [&](unsigned seed) {
        ucs::prng random(seed);
        std::vector<char *> blocks(6);
        uint64_t number = uint64_t{seed} << 32;
        for (int round = 0; round < 600; round++) {
            char *&at = blocks[random.below(blocks.size())];
            if (at == nullptr) {
                at = map_pages(2);
                ++number;
                std::memcpy(at, &number, sizeof(number));
            }
            uint64_t expected = 0;
            std::memcpy(&expected, at, sizeof(expected));
            auto found = one.on->get(at, 2 * page, reads);
            if (!found ||
                static_cast<fake_device::handle *>((*found)->handle())->first_word != expected) {
                ++wrong;
            }
            if (found) {
                one.on->put(**found);
            }
            if (random.below(3) == 0) {
                ::munmap(std::exchange(at, nullptr), 2 * page);
            }
        }
        for (char *at : blocks) {
            if (at != nullptr) {
                ::munmap(at, 2 * page);
            }
        }
    };
    std::vector<std::thread> threads;
    for (unsigned i = 1; i <= 4; i++) {
        threads.emplace_back(work, i);
    }
    for (std::thread &each : threads) {
        each.join();
    }
    CHECK(wrong == 0);
    CHECK(one.on->size() <= 8);
}

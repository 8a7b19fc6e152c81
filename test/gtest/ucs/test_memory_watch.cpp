// SPDX-License-Identifier: BSD-3-Clause
// Pages that go are noticed before the call that took them returns.
#include "ucs/memory_watch.h"

#include "common/skip.h"

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <memory>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace ufx;

namespace {

constexpr size_t page = 4096;
constexpr size_t pages = 16;

struct block {
    explicit block(size_t count = pages)
        : length(count * page),
          at(static_cast<char *>(
              ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)))
    {
        REQUIRE(at != MAP_FAILED);
        std::memset(at, 1, length);
    }

    ~block() { ::munmap(at, length); }

    block(const block &) = delete;
    block &operator=(const block &) = delete;

    [[nodiscard]] ucs::memory_watch::range part(size_t first, size_t count) const
    {
        const auto start = reinterpret_cast<uintptr_t>(at) + first * page;
        return {start, start + count * page};
    }

    size_t length;
    char *at;
};

// nullptr: the case is skipped.
std::shared_ptr<ucs::memory_watch> watch()
{
    auto made = ucs::memory_watch::share();
    if (!made) {
        test::skip("the kernel allows no userfaultfd");
        return nullptr;
    }
    return *made;
}

} // namespace

TEST_CASE("memory watch: pages are gone when the call that took them returns")
{
    const auto on = watch();
    if (on == nullptr) {
        return;
    }
    struct way {
        const char *name;
        std::function<void(char *)> take; // something of pages 4 to 7
    };
    const way ways[] = {
        {"munmap", [](char *at) { REQUIRE(::munmap(at + 5 * page, page) == 0); }},
        {"mmap over it",
         [](char *at) {
             REQUIRE(::mmap(at + 7 * page, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
                            -1, 0) != MAP_FAILED);
         }},
        {"mremap to another place",
         [](char *at) {
             void *moved = ::mremap(at + 4 * page, 4 * page, 1024 * page, MREMAP_MAYMOVE);
             REQUIRE(moved != MAP_FAILED);
             REQUIRE(::munmap(moved, 1024 * page) == 0);
         }},
        {"mremap to less",
         [](char *at) { REQUIRE(::mremap(at + 4 * page, 12 * page, 2 * page, 0) != MAP_FAILED); }},
        {"MADV_DONTNEED", [](char *at) { REQUIRE(::madvise(at, 5 * page, MADV_DONTNEED) == 0); }},
        {"MADV_FREE", [](char *at) { REQUIRE(::madvise(at + 6 * page, page, MADV_FREE) == 0); }},
    };
    for (const way &each : ways) {
        INFO(each.name);
        const block memory;
        auto other = memory.part(0, 4);
        auto here = memory.part(4, 4);
        const bool is_first_page = std::strcmp(each.name, "MADV_DONTNEED") == 0;
        REQUIRE(on->add(other));
        REQUIRE(on->add(here));
        CHECK(on->is_there(here));
        const uint64_t before = on->changes();
        each.take(memory.at);
        CHECK(!on->is_there(here));
        CHECK(on->has_gone(here));
        CHECK(on->changes() != before);
        CHECK(on->is_there(other) == !is_first_page);
        on->remove(here);
        on->remove(other);
    }
}

TEST_CASE("memory watch: the heap that shrinks is gone")
{
    const auto on = watch();
    if (on == nullptr) {
        return;
    }
    const long grown = 16 * page;
    char *end = static_cast<char *>(::sbrk(grown));
    if (end == reinterpret_cast<char *>(-1)) {
        test::skip("sbrk gives nothing here");
        return;
    }
    const uintptr_t start = (reinterpret_cast<uintptr_t>(end) + page - 1) & ~(page - 1);
    ucs::memory_watch::range here(start, start + 4 * page);
    REQUIRE(on->add(here));
    CHECK(on->is_there(here));
    if (::sbrk(0) == end + grown) { // else somebody else has grown it, too
        REQUIRE(::sbrk(-grown) != reinterpret_cast<void *>(-1));
        CHECK(!on->is_there(here));
    }
    on->remove(here);
}

TEST_CASE("memory watch: what the kernel would not tell of is refused")
{
    const auto on = watch();
    if (on == nullptr) {
        return;
    }
    const auto is_refused = [&](void *at) {
        const auto start = reinterpret_cast<uintptr_t>(at);
        ucs::memory_watch::range here(start, start + page);
        const bool added = on->add(here);
        if (added) {
            on->remove(here);
        }
        return !added;
    };
    const int segment = ::shmget(IPC_PRIVATE, page, IPC_CREAT | 0600);
    REQUIRE(segment >= 0);
    void *attached = ::shmat(segment, nullptr, 0);
    ::shmctl(segment, IPC_RMID, nullptr);
    REQUIRE(attached != reinterpret_cast<void *>(-1));
    CHECK(is_refused(attached));
    ::shmdt(attached);
    const int file = ::open("/proc/self/exe", O_RDONLY);
    void *mapped = ::mmap(nullptr, page, PROT_READ, MAP_PRIVATE, file, 0);
    ::close(file);
    REQUIRE(mapped != MAP_FAILED);
    CHECK(is_refused(mapped));
    ::munmap(mapped, page);
    CHECK(is_refused(reinterpret_cast<void *>(page)));
    constexpr size_t huge = size_t{2} << 20;
    void *large = ::mmap(nullptr, huge, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
    if (large != MAP_FAILED) {
        const auto start = reinterpret_cast<uintptr_t>(large);
        ucs::memory_watch::range here(start, start + huge);
        CHECK(!on->add(here));
        ::munmap(large, huge);
    }
    const block memory;
    CHECK(!is_refused(memory.at));
}

TEST_CASE("memory watch: pages are watched as long as one range has them, and no longer")
{
    const auto on = watch();
    if (on == nullptr) {
        return;
    }
    const block memory;
    auto left = memory.part(0, 6);
    auto right = memory.part(4, 6);
    auto middle = memory.part(2, 1);
    for (auto *each : {&left, &right, &middle}) {
        REQUIRE(on->add(*each));
    }
    on->remove(left);
    uint64_t before = on->changes();
    ::madvise(memory.at, page, MADV_DONTNEED); // of left alone
    CHECK(on->changes() == before);
    CHECK(on->is_there(middle));
    ::madvise(memory.at + 2 * page, page, MADV_DONTNEED);
    CHECK(!on->is_there(middle));
    CHECK(on->is_there(right));
    before = on->changes();
    ::madvise(memory.at + 4 * page, page, MADV_DONTNEED); // of both
    CHECK(!on->is_there(right));
    CHECK(on->changes() != before);
    // The rest of what has gone is let go of, too.
    before = on->changes();
    ::madvise(memory.at + 5 * page, 4 * page, MADV_DONTNEED);
    CHECK(on->changes() == before);
    on->remove(right);
    on->remove(middle);
    auto again = memory.part(0, pages);
    REQUIRE(on->add(again));
    CHECK(on->is_there(again));
    on->remove(again);
}

TEST_CASE("memory watch: there is one in a process, while somebody has it")
{
    auto one = watch();
    if (one == nullptr) {
        return;
    }
    auto two = ucs::memory_watch::share();
    REQUIRE(two);
    CHECK(one == *two);
    const block memory;
    {
        auto here = memory.part(0, 1);
        REQUIRE(one->add(here));
        one->remove(here);
    }
    one.reset();
    two->reset();
    const auto three = ucs::memory_watch::share();
    REQUIRE(three);
    auto here = memory.part(0, 1);
    CHECK((*three)->add(here)); // the one before has let go of it
    (*three)->remove(here);
}

TEST_CASE("memory watch: a child neither watches nor disturbs its parent")
{
    auto on = watch();
    if (on == nullptr) {
        return;
    }
    const block memory;
    auto here = memory.part(0, 4);
    auto more = memory.part(8, 4);
    REQUIRE(on->add(here));
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        const bool is_unwatched = !on->is_there(here) && !on->add(more);
        ::munmap(memory.at, memory.length); // nobody is there to hear it
        on->remove(here);
        on.reset(); // nor to be waited for
        ::_exit(is_unwatched ? 0 : 1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    CHECK(on->is_there(here));
    ::madvise(memory.at, page, MADV_DONTNEED);
    CHECK(!on->is_there(here));
    on->remove(here);
}

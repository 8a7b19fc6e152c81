// SPDX-License-Identifier: BSD-3-Clause
// Lists, pools, handle tables, range sets.
#include "ucs/handle_table.h"
#include "ucs/list.h"
#include "ucs/log_capture.h"
#include "ucs/pool.h"
#include "ucs/prng.h"
#include "ucs/range_set.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <set>
#include <vector>

using namespace ufx;

namespace {

struct all_tag;
struct ready_tag;

struct item : ucs::list_node<all_tag>, ucs::list_node<ready_tag> {
    explicit item(int number) : value(number) {}

    int value;
};

using all_list = ucs::list<item, all_tag>;
using ready_list = ucs::list<item, ready_tag>;

template <class List>
std::vector<int> values(List &list)
{
    std::vector<int> found;
    for (item &one : list) {
        found.push_back(one.value);
    }
    return found;
}

struct counted {
    explicit counted(int &alive) : alive_(alive) { alive_++; }

    ~counted() { alive_--; }

    int &alive_;
};

} // namespace

TEST_CASE("list: keeps order, and one object may be in two lists", "[ucs][list]")
{
    item a(1), b(2), c(3), d(4);
    all_list all;
    ready_list ready;
    all.push_back(b);
    all.push_back(c);
    all.push_front(a);
    all.insert_before(c, d);
    ready.push_back(c);
    ready.push_back(a);
    CHECK(values(all) == std::vector<int>{1, 2, 4, 3});
    CHECK(values(ready) == std::vector<int>{3, 1});
    all.erase(c);
    CHECK(values(all) == std::vector<int>{1, 2, 4});
    CHECK(values(ready) == std::vector<int>{3, 1});
    CHECK(all.pop_front() == &a);
    CHECK(&all.front() == &b);
    CHECK(&all.back() == &d);
    CHECK(all.count() == 2);
}

TEST_CASE("list: a destroyed element leaves, a destroyed list lets go", "[ucs][list]")
{
    item a(1);
    {
        all_list all;
        all.push_back(a);
        {
            item b(2);
            all.push_back(b);
            CHECK(all.count() == 2);
        }
        CHECK(values(all) == std::vector<int>{1});
    }
    CHECK_FALSE(static_cast<ucs::list_node<all_tag> &>(a).linked());
}

TEST_CASE("list: splice moves all in order and leaves the other empty", "[ucs][list]")
{
    item a(1), b(2), c(3);
    all_list first, second;
    first.splice_back(second);
    CHECK(first.empty());
    first.push_back(a);
    second.push_back(b);
    second.push_back(c);
    first.splice_back(second);
    CHECK(values(first) == std::vector<int>{1, 2, 3});
    CHECK(second.empty());
    second.push_back(first.front().value == 1 ? *first.pop_front() : a);
    CHECK(values(second) == std::vector<int>{1});
    CHECK(second.pop_front() == &a);
    CHECK(second.pop_front() == nullptr);
}

TEST_CASE("pool: blocks come back, the limit holds, nothing is allocated in between", "[ucs][pool]")
{
    ucs::block_pool pool(
        {.name = "test", .block_size = 100, .alignment = 64, .chunk = 4, .limit = 6});
    CHECK(pool.reserve(6));
    CHECK_FALSE(pool.reserve(7));
    CHECK(pool.capacity() == 6);
    std::set<void *> taken;
    for (int i = 0; i < 6; i++) {
        void *block = pool.take();
        REQUIRE(block != nullptr);
        CHECK(reinterpret_cast<uintptr_t>(block) % 64 == 0);
        CHECK(taken.insert(block).second);
    }
    CHECK(pool.take() == nullptr);
    CHECK(pool.in_use() == 6);
    void *one = *taken.begin();
    pool.give_back(one);
    CHECK(pool.take() == one);
    for (void *block : taken) {
        pool.give_back(block);
    }
    CHECK(pool.in_use() == 0);
    CHECK(pool.capacity() == 6);
}

TEST_CASE("pool: objects live from take to give_back", "[ucs][pool]")
{
    int alive = 0;
    ucs::pool<counted> pool("objects", 2);
    counted *a = pool.take(alive);
    counted *b = pool.take(alive);
    counted *c = pool.take(alive);
    CHECK(alive == 3);
    CHECK(pool.capacity() == 4);
    pool.give_back(b);
    pool.give_back(a);
    pool.give_back(c);
    CHECK(alive == 0);
}

TEST_CASE("pool: what was not returned is reported", "[ucs][pool]")
{
    ucs::log_capture log;
    {
        ucs::block_pool pool({.name = "leaky", .block_size = 8});
        static_cast<void>(pool.take());
    }
    CHECK(log.count(UFX_UCS_LOG_WARN, "pool leaky: 1 of 64") == 1);
}

TEST_CASE("handle table: a stale handle finds nothing, though its slot is used again",
          "[ucs][handle]")
{
    ucs::handle_table<int> table;
    int a = 1, b = 2;
    ucs::handle first = table.insert(a);
    CHECK(first != 0);
    CHECK(table.find(first) == &a);
    CHECK(table.erase(first) == &a);
    CHECK(table.erase(first) == nullptr);
    ucs::handle second = table.insert(b);
    CHECK(static_cast<uint32_t>(second) == static_cast<uint32_t>(first));
    CHECK(table.find(first) == nullptr);
    CHECK(table.find(second) == &b);
    CHECK(table.size() == 1);
}

TEST_CASE("handle table: any 64-bit value may be looked up", "[ucs][handle]")
{
    ucs::handle_table<int> table;
    int a = 1;
    ucs::handle real = table.insert(a);
    ucs::prng random(1);
    CHECK(table.find(0) == nullptr);
    CHECK(table.find(UINT64_MAX) == nullptr);
    for (int i = 0; i < 1000; i++) {
        uint64_t guess = random.next() & 0x0000000700000003;
        CHECK((table.find(guess) == &a) == (guess == real));
    }
}

TEST_CASE("handle table: an object that is renewed is found by its new handle, not by the old one",
          "[ucs][handle]")
{
    ucs::handle_table<int> table;
    int a = 1, b = 2;
    const ucs::handle other = table.insert(a);
    const ucs::handle first = table.insert(b);
    const ucs::handle second = table.renew(first);
    CHECK(second != first);
    CHECK(table.find(first) == nullptr);
    CHECK(table.find(second) == &b);
    CHECK(table.find(other) == &a);
    CHECK(table.size() == 2);
    CHECK(table.erase(second) == &b);
}

TEST_CASE("handle table: objects may be erased while they are visited", "[ucs][handle]")
{
    ucs::handle_table<int> table;
    int numbers[5] = {0, 1, 2, 3, 4};
    for (int &one : numbers) {
        static_cast<void>(table.insert(one));
    }
    int visited = 0;
    table.for_each([&](ucs::handle at, int &) {
        visited++;
        table.erase(at);
    });
    CHECK(visited == 5);
    CHECK(table.size() == 0);
}

TEST_CASE("range set: touching and overlapping ranges become one", "[ucs][range]")
{
    ucs::range_set set;
    CHECK(set.add(10, 20) == 10);
    CHECK(set.add(30, 40) == 10);
    CHECK(set.add(10, 20) == 0);
    CHECK(set.ranges().size() == 2);
    CHECK(set.add(20, 30) == 10);
    CHECK(set.ranges().size() == 1);
    CHECK(set.add(5, 45) == 10);
    CHECK(set.total() == 40);
    CHECK(set.covers(5, 45));
    CHECK_FALSE(set.covers(4, 10));
    CHECK_FALSE(set.covers(44, 46));
    CHECK(set.covers(7, 7));
    CHECK(set.first_gap(0) == 0);
    CHECK(set.first_gap(5) == 45);
    CHECK(set.first_gap(45) == 45);
    CHECK(set.add(50, 50) == 0);
    CHECK(set.add(60, 50) == 0);
}

TEST_CASE("range set: agrees with a bitmap under random additions", "[ucs][range]")
{
    for (uint64_t seed = 0; seed < 50; seed++) {
        CAPTURE(seed);
        ucs::prng random(seed);
        ucs::range_set set;
        std::vector<bool> model(200);
        for (int step = 0; step < 60; step++) {
            uint64_t begin = random.below(200);
            uint64_t end = begin + random.below(200 - begin + 1);
            uint64_t fresh = 0;
            for (uint64_t at = begin; at < end; at++) {
                fresh += model[at] ? 0 : 1;
                model[at] = true;
            }
            REQUIRE(set.add(begin, end) == fresh);
        }
        uint64_t total = 0;
        for (uint64_t at = 0; at < 200; at++) {
            total += model[at] ? 1 : 0;
            REQUIRE(set.covers(at, at + 1) == model[at]);
        }
        REQUIRE(set.total() == total);
        for (size_t i = 1; i < set.ranges().size(); i++) {
            REQUIRE(set.ranges()[i - 1].end < set.ranges()[i].begin);
        }
    }
}

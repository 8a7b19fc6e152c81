// SPDX-License-Identifier: BSD-3-Clause
// Queues between threads, and the mailbox.
#include "ucs/mailbox.h"
#include "ucs/mpsc_queue.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <poll.h>
#include <thread>
#include <vector>

using namespace ufx;

namespace {

struct message : ucs::mpsc_node {
    message(int from, int number) : producer(from), value(number) {}

    int producer;
    int value;
};

struct watched : ucs::mpsc_node {
    explicit watched(std::atomic<int> &alive) : alive_(alive) { alive_++; }

    ~watched() { alive_--; }

    std::atomic<int> &alive_;
};

bool is_readable(int number)
{
    pollfd one = {number, POLLIN, 0};
    return ::poll(&one, 1, 0) == 1;
}

constexpr int rounds = 20000;

} // namespace

TEST_CASE("mpsc queue: says when it was empty and keeps order", "[ucs][queue]")
{
    ucs::mpsc_queue<message> queue;
    message a(0, 1), b(0, 2), c(0, 3);
    CHECK(queue.empty());
    CHECK(queue.push(a));
    CHECK_FALSE(queue.push(b));
    CHECK(queue.pop() == &a);
    CHECK(queue.push(c));
    CHECK(queue.pop() == &b);
    CHECK(queue.pop() == &c);
    CHECK(queue.pop() == nullptr);
    CHECK(queue.empty());
}

TEST_CASE("mpsc queue: each producer's elements arrive once and in order", "[ucs][queue][threads]")
{
    constexpr int producers = 3;
    ucs::mpsc_queue<message> queue;
    std::vector<std::thread> threads;
    for (int p = 0; p < producers; p++) {
        threads.emplace_back([&queue, p] {
            for (int i = 0; i < rounds; i++) {
                queue.push(*ucs::make_owner<message>(p, i).release());
            }
        });
    }
    std::vector<int> next(producers, 0);
    bool in_order = true;
    for (int count = 0; count < producers * rounds;) {
        ucs::owner<message> one(queue.pop());
        if (one == nullptr) {
            std::this_thread::yield();
            continue;
        }
        in_order = in_order && one->value == next[static_cast<size_t>(one->producer)]++;
        count++;
    }
    for (std::thread &one : threads) {
        one.join();
    }
    CHECK(in_order);
    CHECK(queue.pop() == nullptr);
}

TEST_CASE("mailbox: a post makes the descriptor readable until it is acknowledged",
          "[ucs][mailbox]")
{
    auto made = ucs::mailbox<message>::create();
    REQUIRE(made);
    auto &box = **made;
    CHECK_FALSE(is_readable(box.event_fd()));
    box.post(ucs::make_owner<message>(0, 1));
    box.post(ucs::make_owner<message>(0, 2));
    CHECK(is_readable(box.event_fd()));
    std::vector<int> got;
    auto take = [&](ucs::owner<message> one) { got.push_back(one->value); };
    CHECK(box.drain(take) == 2);
    CHECK(got == std::vector<int>{1, 2});
    box.acknowledge();
    CHECK_FALSE(is_readable(box.event_fd()));
    CHECK(box.drain(take) == 0);
    box.post(ucs::make_owner<message>(0, 3));
    CHECK(is_readable(box.event_fd()));
}

TEST_CASE("mailbox: a sleeping reader misses nothing", "[ucs][mailbox][threads]")
{
    auto made = ucs::mailbox<message>::create();
    REQUIRE(made);
    auto &box = **made;
    constexpr int posts = 5000;
    std::vector<std::thread> threads;
    for (int p = 0; p < 2; p++) {
        threads.emplace_back([&box, p] {
            for (int i = 0; i < posts; i++) {
                box.post(ucs::make_owner<message>(p, i));
            }
        });
    }
    size_t got = 0;
    bool slept_too_long = false;
    while (got < 2 * posts && !slept_too_long) {
        box.acknowledge();
        size_t now = box.drain([](ucs::owner<message>) {});
        got += now;
        if (now == 0 && got < 2 * posts) {
            pollfd one = {box.event_fd(), POLLIN, 0};
            slept_too_long = ::poll(&one, 1, 20000) != 1;
        }
    }
    for (std::thread &one : threads) {
        one.join();
    }
    CHECK_FALSE(slept_too_long);
    CHECK(got == 2 * posts);
}

TEST_CASE("mailbox: messages that nobody took are destroyed with it", "[ucs][mailbox]")
{
    std::atomic<int> alive{0};
    {
        auto box = ucs::mailbox<watched>::create();
        REQUIRE(box);
        (*box)->post(ucs::make_owner<watched>(alive));
        (*box)->post(ucs::make_owner<watched>(alive));
        CHECK(alive == 2);
    }
    CHECK(alive == 0);
}

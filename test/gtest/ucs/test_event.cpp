// SPDX-License-Identifier: BSD-3-Clause
// Event loop and timer wheel.
#include "ucs/event_loop.h"
#include "ucs/log_capture.h"
#include "ucs/prng.h"
#include "ucs/timer_wheel.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <vector>

using namespace ufx;

namespace {

constexpr uint64_t ms = 1000000;

struct watcher {
    ucs::event_loop *loop = nullptr;
    ucs::fd event;
    std::vector<int> remove_on_call;
    int calls = 0;
    uint32_t last_events = 0;

    watcher() : event(*ucs::make_eventfd()) {}

    static void on_ready(void *arg, uint32_t events)
    {
        auto *self = static_cast<watcher *>(arg);
        self->calls++;
        self->last_events = events;
        for (int one : self->remove_on_call) {
            static_cast<void>(self->loop->remove(one));
        }
    }
};

ucs::owner<ucs::event_loop> make_loop()
{
    auto loop = ucs::event_loop::create();
    REQUIRE(loop);
    return std::move(*loop);
}

struct bell {
    explicit bell(std::vector<int> &order, int name)
        : one(&bell::on_expiry, this), fired(order), id(name)
    {
    }

    static void on_expiry(void *arg, uint64_t)
    {
        auto *self = static_cast<bell *>(arg);
        self->fired.push_back(self->id);
        if (self->then) {
            self->then();
        }
    }

    ucs::timer one;
    std::vector<int> &fired;
    int id;
    std::function<void()> then;
};

} // namespace

TEST_CASE("event loop: calls the handler of what is ready and nothing else", "[ucs][event]")
{
    auto loop = make_loop();
    watcher a, b;
    REQUIRE(loop->add(a.event.get(), EPOLLIN, &watcher::on_ready, &a));
    REQUIRE(loop->add(b.event.get(), EPOLLIN, &watcher::on_ready, &b));
    CHECK(loop->add(a.event.get(), EPOLLIN, &watcher::on_ready, &a).error() ==
          UFX_ERR_ALREADY_EXISTS);
    CHECK(*loop->wait(0) == 0);
    ucs::eventfd_signal(a.event);
    CHECK(*loop->wait(-1) == 1);
    CHECK(a.calls == 1);
    CHECK(a.last_events == EPOLLIN);
    CHECK(b.calls == 0);
    ucs::eventfd_clear(a.event);
    CHECK(*loop->wait(0) == 0);
}

TEST_CASE("event loop: its descriptor is readable while something is ready", "[ucs][event]")
{
    auto loop = make_loop();
    watcher a;
    REQUIRE(loop->add(a.event.get(), EPOLLIN, &watcher::on_ready, &a));
    pollfd one = {loop->event_fd(), POLLIN, 0};
    CHECK(::poll(&one, 1, 0) == 0);
    ucs::eventfd_signal(a.event);
    CHECK(::poll(&one, 1, 0) == 1);
}

TEST_CASE("event loop: a handler may remove itself and others that are ready too", "[ucs][event]")
{
    auto loop = make_loop();
    watcher a, b;
    for (watcher *one : {&a, &b}) {
        one->loop = loop.get();
        one->remove_on_call = {a.event.get(), b.event.get()};
        REQUIRE(loop->add(one->event.get(), EPOLLIN, &watcher::on_ready, one));
        ucs::eventfd_signal(one->event);
    }
    CHECK(*loop->wait(0) == 1);
    CHECK(a.calls + b.calls == 1);
    CHECK(*loop->wait(0) == 0);
    CHECK(loop->remove(a.event.get()).error() == UFX_ERR_NO_ELEM);
}

TEST_CASE("event loop: modify changes the events that count", "[ucs][event]")
{
    auto loop = make_loop();
    watcher a;
    REQUIRE(loop->add(a.event.get(), 0, &watcher::on_ready, &a));
    ucs::eventfd_signal(a.event);
    CHECK(*loop->wait(0) == 0);
    REQUIRE(loop->modify(a.event.get(), EPOLLIN | EPOLLOUT));
    CHECK(*loop->wait(0) == 1);
    CHECK(a.last_events == (EPOLLIN | EPOLLOUT));
    CHECK(loop->modify(-1, EPOLLIN).error() == UFX_ERR_NO_ELEM);
}

TEST_CASE("event loop: a descriptor that cannot be watched is an error and leaves no trace",
          "[ucs][event]")
{
    auto loop = make_loop();
    ucs::log_capture log;
    CHECK_FALSE(loop->add(-1, EPOLLIN, &watcher::on_ready, nullptr));
    CHECK(log.count(UFX_UCS_LOG_ERROR, "epoll_ctl(ADD") == 1);
    CHECK(loop->remove(-1).error() == UFX_ERR_NO_ELEM);
}

TEST_CASE("timer wheel: fires at its time, never before, in order of expiry", "[ucs][timer]")
{
    std::vector<int> fired;
    ucs::timer_wheel wheel(1000 * ms);
    bell a(fired, 1), b(fired, 2), c(fired, 3);
    wheel.start(b.one, 1010 * ms + 500);
    wheel.start(a.one, 1010 * ms + 100);
    wheel.start(c.one, 1400 * ms);
    CHECK(wheel.next_expiry() == 1010 * ms + 100);
    CHECK(wheel.advance(1010 * ms + 99) == 0);
    CHECK(wheel.advance(1010 * ms + 100) == 1);
    CHECK(wheel.next_expiry() == 1010 * ms + 500);
    CHECK(wheel.advance(1399 * ms) == 1);
    CHECK(fired == std::vector<int>{1, 2});
    CHECK(wheel.next_expiry() == 1400 * ms);
    CHECK(wheel.advance(9000 * ms) == 1);
    CHECK(fired == std::vector<int>{1, 2, 3});
    CHECK(wheel.next_expiry() == ucs::timer_wheel::never);
    CHECK(wheel.advance(99999 * ms) == 0);
}

TEST_CASE("timer wheel: stop, restart and destruction", "[ucs][timer]")
{
    std::vector<int> fired;
    ucs::timer_wheel wheel(0);
    bell a(fired, 1), b(fired, 2);
    wheel.start(a.one, 10 * ms);
    wheel.start(b.one, 10 * ms);
    {
        bell gone(fired, 3);
        wheel.start(gone.one, 5 * ms);
    }
    a.one.stop();
    CHECK_FALSE(a.one.active());
    wheel.start(b.one, 20 * ms);
    CHECK(wheel.advance(15 * ms) == 0);
    CHECK(wheel.advance(20 * ms) == 1);
    CHECK(fired == std::vector<int>{2});
}

TEST_CASE("timer wheel: handlers may restart themselves and stop others", "[ucs][timer]")
{
    std::vector<int> fired;
    ucs::timer_wheel wheel(0);
    bell a(fired, 1), b(fired, 2), c(fired, 3);
    a.then = [&] {
        b.one.stop();
        wheel.start(a.one, 0); // over already: not again in this call
    };
    wheel.start(a.one, 1 * ms);
    wheel.start(b.one, 2 * ms);
    wheel.start(c.one, 3 * ms);
    CHECK(wheel.advance(5 * ms) == 2);
    CHECK(fired == std::vector<int>{1, 3});
    CHECK(wheel.next_expiry() == 0);
    CHECK(wheel.advance(5 * ms) == 1);
    CHECK(fired == std::vector<int>{1, 3, 1});
}

TEST_CASE("timer wheel: a handler may destroy its own timer", "[ucs][timer]")
{
    ucs::timer_wheel wheel(0);
    struct context {
        std::unique_ptr<ucs::timer> one;
    } held;
    held.one = std::make_unique<ucs::timer>(
        [](void *arg, uint64_t) { static_cast<context *>(arg)->one.reset(); }, &held);
    wheel.start(*held.one, 1);
    CHECK(wheel.advance(1) == 1);
    CHECK(held.one == nullptr);
    CHECK(wheel.next_expiry() == ucs::timer_wheel::never);
}

TEST_CASE("timer wheel: agrees with a sorted list under random use", "[ucs][timer]")
{
    for (uint64_t seed = 0; seed < 20; seed++) {
        CAPTURE(seed);
        ucs::prng random(seed);
        std::vector<int> fired;
        uint64_t now = random.below(1000000) * ms;
        ucs::timer_wheel wheel(now);
        std::vector<std::unique_ptr<bell>> bells;
        for (int i = 0; i < 40; i++) {
            bells.push_back(std::make_unique<bell>(fired, i));
        }
        for (int step = 0; step < 200; step++) {
            bell &one = *bells[random.below(bells.size())];
            if (random.below(4) == 0) {
                one.one.stop();
            } else {
                wheel.start(one.one, now + random.below(3) * random.below(400 * ms));
            }
            uint64_t earliest = ucs::timer_wheel::never;
            std::vector<uint64_t> due;
            uint64_t later = now + random.below(2) * random.below(300 * ms);
            for (const auto &at : bells) {
                if (at->one.active()) {
                    earliest = std::min(earliest, at->one.expires_ns());
                    if (at->one.expires_ns() <= later) {
                        due.push_back(at->one.expires_ns());
                    }
                }
            }
            std::sort(due.begin(), due.end());
            REQUIRE(wheel.next_expiry() == earliest);
            fired.clear();
            now = later;
            REQUIRE(wheel.advance(now) == due.size());
            for (size_t i = 0; i < due.size(); i++) {
                REQUIRE(bells[static_cast<size_t>(fired[i])]->one.expires_ns() == due[i]);
            }
        }
    }
}

// SPDX-License-Identifier: BSD-3-Clause
// Conformance: the event fd of an iface, and of a worker over it.
#include "harness.h"

#include <catch2/catch.hpp>
#include <poll.h>

using namespace ufx::test;

namespace {

bool readable(int fd, int timeout_ms)
{
    pollfd entry{fd, POLLIN, 0};
    return ::poll(&entry, 1, timeout_ms) == 1;
}

constexpr unsigned all_events = UFX_UCT_EVENT_SEND_COMP | UFX_UCT_EVENT_RECV;

// Progress until the iface can be armed.
bool arm(ufx_uct_iface_h iface)
{
    for (int i = 0; i < 10000; ++i) {
        if (ufx_uct_iface_event_arm(iface, all_events) == UFX_OK) {
            return true;
        }
        ufx_uct_iface_progress(iface);
    }
    return false;
}

// Progress of this side alone until it is armed and nothing wakes it.
bool falls_asleep(ufx_uct_iface_h iface)
{
    int fd = -1;
    const bool wakes = ufx_uct_iface_event_fd_get(iface, &fd) == UFX_OK;
    for (int i = 0; i < 10000; ++i) {
        if (arm(iface) && !(wakes && readable(fd, 0))) {
            return true;
        }
        ufx_uct_iface_progress(iface);
    }
    return false;
}

bool can_arm(uct_side &side)
{
    return ufx_uct_iface_event_arm(side.iface, all_events) != UFX_ERR_UNSUPPORTED;
}

// A request that posts one message as soon as there is room.
struct parked_am : ufx_uct_pending_req_t {
    explicit parked_am(ufx_uct_ep_h over) : ufx_uct_pending_req_t{&run, {}}, ep(over) {}

    static ufx_status_t run(ufx_uct_pending_req_t *req) noexcept
    {
        auto *self = static_cast<parked_am *>(req);
        const ufx_status_t status = ufx_uct_ep_am_short(self->ep, 1, 1, nullptr, 0);
        self->posted = self->posted || status == UFX_OK;
        return status;
    }

    ufx_uct_ep_h ep;
    bool posted = false;
};

void post_until_full(ufx_uct_ep_h ep)
{
    ufx_status_t status = UFX_OK;
    while (status == UFX_OK) {
        status = ufx_uct_ep_am_short(ep, 1, 1, nullptr, 0);
    }
    REQUIRE(status == UFX_ERR_NO_RESOURCE);
}

} // namespace

TEST_CASE("uct: an armed iface wakes for a message", "[conformance][wakeup]")
{
    for_each_transport(UFX_UCT_CAP_EVENT_FD | UFX_UCT_CAP_AM_SHORT,
                       [](const uct_resource &resource) {
                           uct_pair pair(resource);
                           inbox received(pair.b().iface, 1);
                           int fd = -1;
                           REQUIRE(ufx_uct_iface_event_fd_get(pair.b().iface, &fd) == UFX_OK);
                           pair.turn(50);
                           REQUIRE(arm(pair.b().iface));
                           CHECK_FALSE(readable(fd, 0));
                           REQUIRE(ufx_uct_ep_am_short(pair.ep, 1, 1, nullptr, 0) == UFX_OK);
                           // The peer's program makes progress while we sleep in poll().
                           bool woke = false;
                           for (int i = 0; i < 1000 && !woke; ++i) {
                               ufx_uct_iface_progress(pair.a().iface);
                               woke = readable(fd, 5);
                           }
                           REQUIRE(woke);
                           REQUIRE(pair.wait([&] { return received.messages.size() == 1; }));
                       });
}

TEST_CASE("uct: a worker progresses its ifaces and wakes for them", "[conformance][wakeup]")
{
    for_each_transport(UFX_UCT_CAP_EVENT_FD | UFX_UCT_CAP_AM_SHORT,
                       [](const uct_resource &resource) {
                           ufx_uct_worker_h worker = nullptr;
                           REQUIRE(ufx_uct_worker_create(&worker) == UFX_OK);
                           {
                               uct_pair pair(resource, worker);
                               inbox received(pair.b().iface, 1);
                               int fd = -1;
                               REQUIRE(ufx_uct_worker_event_fd(worker, &fd) == UFX_OK);
                               pair.turn(50);
                               bool armed = false;
                               for (int i = 0; i < 10000 && !armed; ++i) {
                                   armed = ufx_uct_worker_arm(worker) == UFX_OK;
                                   if (!armed) {
                                       ufx_uct_worker_progress(worker);
                                   }
                               }
                               REQUIRE(armed);
                               REQUIRE(ufx_uct_ep_am_short(pair.ep, 1, 1, nullptr, 0) == UFX_OK);
                               while (received.messages.empty()) {
                                   if (ufx_uct_worker_arm(worker) == UFX_OK) {
                                       REQUIRE(readable(fd, 10000));
                                   }
                                   ufx_uct_worker_progress(worker);
                               }
                           }
                           ufx_uct_worker_destroy(worker);
                       });
}

TEST_CASE("uct: an iface with work to do cannot be armed", "[conformance][wakeup]")
{
    for_each_transport(UFX_UCT_CAP_AM_SHORT, [](const uct_resource &resource) {
        uct_pair pair(resource);
        inbox received(pair.b().iface, 1);
        pair.turn(50);
        if (ufx_uct_iface_event_arm(pair.a().iface, all_events) == UFX_ERR_UNSUPPORTED) {
            return;
        }
        REQUIRE(arm(pair.a().iface));
        counted canceled;
        REQUIRE(ufx_uct_ep_flush(pair.ep, UFX_UCT_FLUSH_CANCEL, &canceled) == UFX_INPROGRESS);
        CHECK(ufx_uct_iface_event_arm(pair.a().iface, all_events) == UFX_ERR_BUSY);
        REQUIRE(pair.wait([&] { return canceled.done(); }));
    });
}

TEST_CASE(
    "uct: an iface that only waits for its peer sleeps, also with parked requests and flushes",
    "[conformance][wakeup][T14]")
{
    for_each_transport(
        UFX_UCT_CAP_AM_SHORT | UFX_UCT_CAP_PENDING, [](const uct_resource &resource) {
            uct_pair pair(resource);
            inbox received(pair.b().iface, 1);
            if (pair.loopback() || !can_arm(pair.a())) {
                return; // it is its own peer
            }
            parked_am parked(pair.ep);
            counted flushed;
            post_until_full(pair.ep);
            REQUIRE(ufx_uct_ep_pending_add(pair.ep, &parked) == UFX_OK);
            REQUIRE(ufx_uct_iface_flush(pair.a().iface, 0, &flushed) == UFX_INPROGRESS);
            CHECK(falls_asleep(pair.a().iface));
            CHECK_FALSE(parked.posted);
            REQUIRE(pair.wait([&] { return parked.posted && flushed.done(); }));
            CHECK(falls_asleep(pair.a().iface));
            pair.flush();
        });
}

TEST_CASE("uct: an iface whose link is cut sleeps, also with parked requests on a failed ep",
          "[conformance][wakeup][T14]")
{
    constexpr uint64_t caps = UFX_UCT_CAP_AM_SHORT | UFX_UCT_CAP_PENDING | UFX_UCT_CAP_SET_LINK;
    for_each_transport(caps, [](const uct_resource &resource) {
        uct_pair pair(resource);
        inbox received(pair.b().iface, 1);
        if (!can_arm(pair.a())) {
            return;
        }
        pair.a().error_answer = UFX_INPROGRESS;
        parked_am parked(pair.ep);
        counted flushed;
        post_until_full(pair.ep);
        REQUIRE(ufx_uct_ep_pending_add(pair.ep, &parked) == UFX_OK);
        REQUIRE(ufx_uct_iface_flush(pair.a().iface, 0, &flushed) == UFX_INPROGRESS);
        REQUIRE(ufx_uct_iface_set_link(pair.a().iface, 0) == UFX_OK);
        CHECK(falls_asleep(pair.a().iface));
        CHECK(pair.a().errors == 1);
        CHECK(flushed.done());
        CHECK_FALSE(parked.posted);
        CHECK(falls_asleep(pair.b().iface));
        ufx_uct_ep_pending_purge(pair.ep, nullptr, nullptr);
    });
}

TEST_CASE("uct: a flush that an invalidated ep ends keeps its iface from sleeping until it is told",
          "[conformance][wakeup]")
{
    constexpr uint64_t caps = UFX_UCT_CAP_AM_SHORT | UFX_UCT_CAP_FLUSH | UFX_UCT_CAP_INVALIDATE;
    for_each_transport(caps, [](const uct_resource &resource) {
        uct_pair pair(resource);
        inbox received(pair.b().iface, 1);
        if (!can_arm(pair.a())) {
            return;
        }
        counted flushed;
        REQUIRE(ufx_uct_ep_am_short(pair.ep, 1, 1, nullptr, 0) == UFX_OK);
        REQUIRE(ufx_uct_iface_flush(pair.a().iface, 0, &flushed) == UFX_INPROGRESS);
        REQUIRE(ufx_uct_ep_invalidate(pair.ep, nullptr) >= UFX_OK);
        CHECK(falls_asleep(pair.a().iface));
        CHECK(flushed.done());
    });
}

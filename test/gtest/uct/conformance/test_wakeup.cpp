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

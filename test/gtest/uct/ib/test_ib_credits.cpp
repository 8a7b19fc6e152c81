// SPDX-License-Identifier: BSD-3-Clause
// Room and order of the RC transports: completion queues that are small, credit that is out,
// fences, receive buffers that are kept.
#include "rc_rig.h"
#include "verbs_calls.h"

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstring>

using namespace ufx::test;

namespace {

// A request that puts, or sends a message, when its turn comes.
struct queued : ufx_uct_pending_req_t {
    queued(ufx_uct_ep_h on, std::function<ufx_status_t(ufx_uct_ep_h)> what)
        : ufx_uct_pending_req_t{}, ep(on), post(std::move(what))
    {
        func = [](ufx_uct_pending_req_t *self) noexcept {
            auto *request = static_cast<queued *>(self);
            const ufx_status_t status = request->post(request->ep);
            request->done = status == UFX_OK;
            return status;
        };
    }

    ufx_uct_ep_h ep;
    std::function<ufx_status_t(ufx_uct_ep_h)> post;
    bool done = false;
};

} // namespace

TEST_CASE(
    "rc: many eps that are idle after a few operations leave room of a small completion queue "
    "to the others",
    "[.][hca][L04]")
{
    for_each_rc([](const uct_resource &resource) {
        const rc_setting small(resource, "TX_CQ", "64");
        rc_pair pair(resource, 4096);
        std::vector<ufx_uct_ep_h> eps = {pair.ep};
        while (eps.size() < 40) {
            eps.push_back(pair.connect().a);
        }
        for (uint64_t round = 0; round < 20; ++round) {
            for (size_t i = 0; i < eps.size(); ++i) {
                const uint64_t value = round << 8 | i;
                REQUIRE(pair.wait([&] {
                    return ufx_uct_ep_put_short(eps[i], &value, sizeof(value),
                                                pair.target.addr(i * sizeof(value)),
                                                pair.target.rkey) == UFX_OK;
                }));
            }
        }
        counted done;
        if (ufx_uct_iface_flush(pair.a().iface, 0, &done) == UFX_INPROGRESS) {
            REQUIRE(pair.wait([&] { return done.done(); }));
        }
        for (size_t i = 0; i < eps.size(); ++i) {
            uint64_t value = 0;
            std::memcpy(&value, pair.target.bytes + i * sizeof(value), sizeof(value));
            CHECK(value == (uint64_t{19} << 8 | i));
        }
        CHECK(pair.a().errors == 0);
    });
}

TEST_CASE("rc: requests that wait for room of a small completion queue all get it", "[.][hca][L04]")
{
    for_each_rc([](const uct_resource &resource) {
        const rc_setting small(resource, "TX_CQ", "64");
        rc_pair pair(resource, 4096);
        const uint64_t value = 77;
        const auto put = [&](ufx_uct_ep_h ep) {
            return ufx_uct_ep_put_short(ep, &value, sizeof(value), pair.target.addr(),
                                        pair.target.rkey);
        };
        while (put(pair.ep) == UFX_OK) {
        }
        std::vector<std::unique_ptr<queued>> waiting;
        for (int i = 0; i < 200; ++i) {
            waiting.push_back(std::make_unique<queued>(pair.ep, put));
            REQUIRE(ufx_uct_ep_pending_add(pair.ep, waiting.back().get()) == UFX_OK);
        }
        REQUIRE(pair.wait([&] { return waiting.back()->done; }));
    });
}

TEST_CASE("rc: a fence holds a put back until the read before it has its answer", "[.][hca]")
{
    for_each_rc([](const uct_resource &resource) {
        // Plainly: behind an operation without a completion, and without one itself.
        for (const auto &[of_iface, plainly] :
             {std::pair(false, false), std::pair(true, false), std::pair(false, true)}) {
            rc_pair pair(resource, 4096);
            local_memory between(pair, 64);
            between.fill(9);
            std::memcpy(pair.target.bytes, pair.data.bytes.data(), 64);
            command(rc_pair::sent_by(pair.peer) + "delay 20ms responses count 1");
            counted got;
            counted put;
            const uint64_t value = 1;
            const ufx_uct_iov_t iov = between.iov(0, 64);
            REQUIRE(ufx_uct_ep_get_zcopy(pair.ep, &iov, 1, pair.target.addr(), pair.target.rkey,
                                         &got) == UFX_INPROGRESS);
            for (int i = 0; plainly && i < 3; ++i) {
                REQUIRE(ufx_uct_ep_put_short(pair.ep, &value, sizeof(value), pair.target.addr(2048),
                                             pair.target.rkey) == UFX_OK);
            }
            REQUIRE((of_iface ? ufx_uct_iface_fence(pair.a().iface) : ufx_uct_ep_fence(pair.ep)) ==
                    UFX_OK);
            REQUIRE(ufx_uct_ep_put_zcopy(pair.ep, &iov, 1, pair.target.addr(1024), pair.target.rkey,
                                         plainly ? nullptr : &put) == UFX_INPROGRESS);
            if (plainly) {
                REQUIRE(ufx_uct_ep_flush(pair.ep, 0, &put) == UFX_INPROGRESS);
            }
            REQUIRE(pair.wait([&] { return got.done() && put.done(); }));
            CHECK(std::memcmp(pair.target.bytes + 1024, pair.data.bytes.data(), 64) == 0);
        }
    });
}

TEST_CASE("rc: a put that waits for room needs no credit of messages; a message waits for it",
          "[.][hca][L07]")
{
    for_each_rc([](const uct_resource &resource) {
        const rc_setting window(resource, "FC_WINDOW", "2");
        const rc_setting queue(resource, "TX_QUEUE", "16");
        rc_pair pair(resource, 4096);
        inbox received(pair.b().iface, 5);
        const auto message = [](ufx_uct_ep_h ep) {
            return ufx_uct_ep_am_short(ep, 5, 1, nullptr, 0);
        };
        const uint64_t value = 77;
        const auto put = [&](ufx_uct_ep_h ep) {
            return ufx_uct_ep_put_short(ep, &value, sizeof(value), pair.target.addr(),
                                        pair.target.rkey);
        };
        // The receiver is not moved, so it handles nothing and grants nothing.
        int messages = 0;
        while (message(pair.ep) == UFX_OK) {
            ++messages;
        }
        CHECK(messages == 2);
        int puts = 0;
        while (put(pair.ep) == UFX_OK) {
            ++puts;
        }
        CHECK(puts > 2);
        queued waiting(pair.ep, put);
        REQUIRE(ufx_uct_ep_pending_add(pair.ep, &waiting) == UFX_OK);
        for (int i = 0; i < 100000 && !waiting.done; ++i) {
            ufx_uct_iface_progress(pair.a().iface);
        }
        CHECK(waiting.done);
        // A message that waits is not asked in vain, so that a sleeper can sleep.
        REQUIRE(message(pair.ep) == UFX_ERR_NO_RESOURCE);
        queued late(pair.ep, message);
        REQUIRE(ufx_uct_ep_pending_add(pair.ep, &late) == UFX_OK);
        CHECK_FALSE(late.done);
        REQUIRE(pair.wait([&] { return late.done && received.messages.size() == 3; }));
    });
}

TEST_CASE("rc: receive buffers that are given back while nothing is polled are received into",
          "[.][hca]")
{
    for_each_rc([](const uct_resource &resource) {
        const rc_setting few(resource, "RX_QUEUE", "64");
        rc_pair pair(resource, 4096);
        std::vector<void *> kept;
        REQUIRE(ufx_uct_iface_set_am_handler(
                    pair.b().iface, 5,
                    [](void *arg, void *data, size_t, unsigned flags) noexcept -> ufx_status_t {
                        CHECK((flags & UFX_UCT_AM_CB_DESC) != 0);
                        static_cast<std::vector<void *> *>(arg)->push_back(data);
                        return UFX_INPROGRESS;
                    },
                    &kept) == UFX_OK);
        // No buffer can be registered any more, so each one that is kept leaves a hole.
        const failing_call none("ibv_reg_mr_iova2", ENOMEM, 0, 1 << 20);
        REQUIRE(pair.wait([&] {
            static_cast<void>(ufx_uct_ep_am_short(pair.ep, 5, 1, nullptr, 0));
            return kept.size() >= 255;
        }));
        pair.turn(100);
        CHECK(none.hits() != 0);
        for (void *data : std::exchange(kept, {})) {
            ufx_uct_iface_release_desc(pair.b().iface, data);
        }
        REQUIRE(pair.wait([&] {
            static_cast<void>(ufx_uct_ep_am_short(pair.ep, 5, 1, nullptr, 0));
            return !kept.empty();
        }));
        for (void *data : kept) {
            ufx_uct_iface_release_desc(pair.b().iface, data);
        }
    });
}

TEST_CASE("rc: one progress handles what the arming found and what came after it", "[.][hca]")
{
    for_each_rc([](const uct_resource &resource) {
        rc_pair pair(resource, 4096);
        inbox received(pair.b().iface, 5);
        for (int i = 0; i < 6; ++i) {
            REQUIRE(ufx_uct_ep_am_short(pair.ep, 5, 1, nullptr, 0) == UFX_OK);
            if (i == 0) {
                CHECK(ufx_uct_iface_event_arm(pair.b().iface, UFX_UCT_EVENT_RECV) == UFX_ERR_BUSY);
            }
        }
        ufx_uct_iface_progress(pair.b().iface);
        CHECK(received.messages.size() == 6);
    });
}

TEST_CASE("rc: with BlueFlame the queue pairs of an iface share a register and write to it in turn",
          "[.][hca]")
{
    for_each_rc([](const uct_resource &resource) {
        const rc_setting on(resource, "BLUEFLAME", "y");
        rc_pair pair(resource, 4096);
        const auto second = pair.connect();
        const size_t longest = pair.a().attr.put.max_short;
        for (uint64_t i = 0; i < 2 * longest; ++i) {
            for (ufx_uct_ep_h ep : {pair.ep, second.a}) {
                const uint64_t at = ep == pair.ep ? 0 : 256;
                // Lengths that fit into the register, and lengths that do not.
                const size_t length = 1 + i % longest;
                REQUIRE(pair.wait([&] {
                    return ufx_uct_ep_put_short(ep, pair.data.bytes.data(), length,
                                                pair.target.addr(at), pair.target.rkey) == UFX_OK;
                }));
            }
        }
        pair.flush();
        counted done;
        if (ufx_uct_iface_flush(pair.a().iface, 0, &done) == UFX_INPROGRESS) {
            REQUIRE(pair.wait([&] { return done.done(); }));
        }
        CHECK(std::memcmp(pair.target.bytes, pair.data.bytes.data(), longest) == 0);
        CHECK(std::memcmp(pair.target.bytes + 256, pair.data.bytes.data(), longest) == 0);
        CHECK(pair.a().errors == 0);
    });
}

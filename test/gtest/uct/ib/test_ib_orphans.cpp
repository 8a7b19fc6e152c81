// SPDX-License-Identifier: BSD-3-Clause
// Room of the queues when eps fail, go, or refuse in the middle of an operation over several of
// them: all of it comes back, and who waits for it is told.
#include "rc_rig.h"
#include "verbs_calls.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <poll.h>

using namespace ufx::test;

namespace {

constexpr size_t siblings = 4;

// Short queues, so that all their room is used up at once.
struct short_queues {
    explicit short_queues(const uct_resource &resource)
        : completions(resource, "TX_CQ", "64"), requests(resource, "TX_QUEUE", "16")
    {
    }

    rc_setting completions;
    rc_setting requests;
};

struct group {
    explicit group(rc_pair &pair) : pair_(pair)
    {
        for (auto &one : eps) {
            REQUIRE(ufx_uct_ep_create(pair.a().iface, nullptr, &one.a) == UFX_OK);
            REQUIRE(ufx_uct_ep_create(pair.b().iface, nullptr, &one.b) == UFX_OK);
            connect_eps(pair, one);
        }
    }

    ~group()
    {
        for (size_t i = 0; i < siblings; ++i) {
            drop(i);
        }
        pair_.turn(20); // what still comes for them
    }

    group(const group &) = delete;
    group &operator=(const group &) = delete;

    void drop(size_t which)
    {
        auto &[a, b] = eps[which];
        if (a != nullptr) {
            ufx_uct_ep_destroy(a);
            ufx_uct_ep_destroy(b);
            a = b = nullptr;
        }
    }

    std::array<uct_pair::connection, siblings> eps{};

private:
    rc_pair &pair_;
};

// How many operations fresh eps can have under way: all the room that there is.
size_t room_of(rc_pair &pair)
{
    group fresh(pair);
    std::vector<std::unique_ptr<counted>> taken;
    command("hca mlx5_0 stall-cq");
    for (size_t refused = 0; refused < siblings;) {
        refused = 0;
        for (const auto &one : fresh.eps) {
            auto done = std::make_unique<counted>();
            if (pair.put_on(one.a, 0, 64, *done) == UFX_INPROGRESS) {
                taken.push_back(std::move(done));
            } else {
                ++refused;
            }
        }
    }
    command("hca mlx5_0 unstall-cq");
    for (const auto &each : taken) {
        REQUIRE(pair.wait([&] { return each->done(); }));
        CHECK(each->result == UFX_OK);
    }
    return taken.size();
}

} // namespace

TEST_CASE("rc: an operation over several eps is refused by one of them: what was posted ends once, "
          "and all room comes back",
          "[.][hca][M09]")
{
    for_each_rc([](const uct_resource &resource) {
        const short_queues set(resource);
        rc_pair pair(resource, 4096);
        const size_t room = room_of(pair);
        CHECK(room > siblings);
        for (const bool by_failure : {false, true}) {
            for (size_t k = 0; k < siblings; ++k) {
                INFO((by_failure ? "it has failed" : "it is full") << ", sibling " << k);
                group those(pair);
                std::vector<std::unique_ptr<counted>> filling;
                if (by_failure) {
                    command(rc_pair::sent_by(those.eps[k].a) + "event QP_FATAL");
                    const int before = pair.a().errors;
                    REQUIRE(pair.wait([&] { return pair.a().errors != before; }));
                } else {
                    command(rc_pair::sent_by(those.eps[k].a) + "hold-cqe 30ms");
                    for (ufx_status_t status = UFX_INPROGRESS; status == UFX_INPROGRESS;) {
                        filling.push_back(std::make_unique<counted>());
                        status = pair.put_on(those.eps[k].a, 0, 64, *filling.back());
                    }
                    filling.pop_back(); // refused
                }
                const uint64_t before = outstanding(those.eps[k].a);
                counted all(siblings);
                size_t posted = 0;
                ufx_status_t status = UFX_INPROGRESS;
                while (posted < siblings && status == UFX_INPROGRESS) {
                    status = pair.put_on(those.eps[posted].a, 64 * posted, 64, all);
                    posted += status == UFX_INPROGRESS ? 1 : 0;
                }
                CHECK(posted == k);
                CHECK(status == (by_failure ? pair.a().error_status : UFX_ERR_NO_RESOURCE));
                CHECK(outstanding(those.eps[k].a) == before); // nothing of the refused one
                all.count -= static_cast<int>(siblings - posted);
                if (posted != 0) {
                    REQUIRE(pair.wait([&] { return all.done(); }));
                    CHECK(all.result == UFX_OK);
                }
                for (const auto &each : filling) {
                    REQUIRE(pair.wait([&] { return each->done(); }));
                }
                pair.turn(10);
                CHECK(all.calls == (posted != 0 ? 1 : 0));
            }
        }
        CHECK(room_of(pair) == room);
    });
}

TEST_CASE(
    "rc: the failure of all eps gives back exactly what they had, also of those that are gone",
    "[.][hca][M10][T05]")
{
    for_each_rc([](const uct_resource &resource) {
        const short_queues set(resource);
        for (const ufx_status_t answer : {UFX_OK, UFX_INPROGRESS}) {
            rc_pair pair(resource, 4096);
            pair.a().error_answer = answer;
            const size_t room = room_of(pair);
            {
                group doomed(pair);
                counted done[siblings];
                command("hca mlx5_0 stall-cq");
                for (size_t i = 0; i < siblings; ++i) {
                    // A tail without a completion, a request with one, and again a tail.
                    const uint64_t value = i;
                    for (const bool signaled : {false, true, false}) {
                        if (signaled) {
                            REQUIRE(pair.put_on(doomed.eps[i].a, 0, 64, done[i]) == UFX_INPROGRESS);
                        } else {
                            REQUIRE(ufx_uct_ep_put_short(doomed.eps[i].a, &value, sizeof(value),
                                                         pair.target.addr(),
                                                         pair.target.rkey) == UFX_OK);
                        }
                    }
                }
                doomed.drop(1); // its requests belong to nobody any more
                REQUIRE(ufx_uct_iface_set_link(pair.a().iface, 0) == UFX_OK);
                command("hca mlx5_0 unstall-cq");
                REQUIRE(pair.wait([&] { return pair.a().errors == siblings; })); // pair.ep too
                if (answer == UFX_OK) {
                    for (const size_t i : {0, 2, 3}) {
                        REQUIRE(pair.wait([&] { return done[i].done(); }));
                        CHECK(done[i].calls == 1);
                        CHECK(outstanding(doomed.eps[i].a) == 0);
                    }
                }
                CHECK(done[1].calls == 0); // destroyed, so dropped
            }
            REQUIRE(ufx_uct_iface_set_link(pair.a().iface, 1) == UFX_OK);
            pair.turn(20);
            CHECK(room_of(pair) == room);
        }
    });
}

TEST_CASE("rc: who waits for room of a queue wakes when the device dies, and hears why",
          "[.][hca][M14]")
{
    for_each_rc([](const uct_resource &resource) {
        const short_queues set(resource);
        rc_pair pair(resource, 4096);
        pair.a().error_answer = UFX_OK;
        command("hca mlx5_0 stall-cq");
        std::vector<std::unique_ptr<counted>> accepted;
        for (ufx_status_t status = UFX_INPROGRESS; status == UFX_INPROGRESS;) {
            accepted.push_back(std::make_unique<counted>());
            status = pair.put(0, 64, *accepted.back());
        }
        accepted.pop_back();
        struct : ufx_uct_pending_req_t {
            rc_pair *pair = nullptr;
            int runs = 0;
            ufx_status_t heard = UFX_OK;
            counted done;
        } waiting;
        waiting.pair = &pair;
        waiting.func = [](ufx_uct_pending_req_t *self) noexcept {
            auto *mine = static_cast<decltype(waiting) *>(self);
            ++mine->runs;
            mine->heard = mine->pair->put(0, 64, mine->done);
            return mine->heard == UFX_ERR_NO_RESOURCE ? UFX_ERR_NO_RESOURCE : UFX_OK;
        };
        REQUIRE(ufx_uct_ep_pending_add(pair.ep, &waiting) == UFX_OK);
        int fd = -1;
        REQUIRE(ufx_uct_iface_event_fd_get(pair.a().iface, &fd) == UFX_OK);
        while (ufx_uct_iface_event_arm(pair.a().iface, UFX_UCT_EVENT_SEND_COMP) != UFX_OK) {
            ufx_uct_iface_progress(pair.a().iface);
        }
        // As if the device had died, which would be for good: for the reader of each side.
        change_next_event(
            2, [](ibv_async_event &event) { event.event_type = IBV_EVENT_DEVICE_FATAL; });
        command("hca mlx5_0 event CLIENT_REREGISTER");
        pollfd one{fd, POLLIN, 0};
        REQUIRE(::poll(&one, 1, 10000) == 1);
        const auto start = std::chrono::steady_clock::now();
        REQUIRE(pair.wait([&] { return accepted.back()->done(); }));
        // 50 ms, and room for a busy machine; never the second of silence.
        CHECK(std::chrono::steady_clock::now() - start < std::chrono::milliseconds(500));
        for (const auto &each : accepted) {
            CHECK(each->calls == 1);
            CHECK(each->result == pair.a().error_status);
        }
        CHECK(pair.a().error_text.find("catastrophic") != std::string::npos);
        counted late;
        CHECK(pair.put(0, 64, late) == pair.a().error_status);
        REQUIRE(pair.wait([&] { return waiting.runs != 0; }));
        CHECK(waiting.runs == 1);
        CHECK(waiting.heard == pair.a().error_status);
        command("hca mlx5_0 unstall-cq");
    });
}

TEST_CASE("rc: a queue that is full of the user's requests still takes those of the transport",
          "[.][hca][L03]")
{
    for_each_rc([](const uct_resource &resource) {
        // No power of two: else the records of operations are out before the queue is full.
        const rc_setting requests(resource, "TX_QUEUE", "20");
        const rc_setting window(resource, "FC_WINDOW", "8");
        rc_pair pair(resource, 4096);
        inbox received(pair.a().iface, 5);
        command(rc_pair::sent_by(pair.ep) + "hold-cqe 60s requests"); // longer than any patience
        const uint64_t value = 1;
        const auto put = [&] {
            return ufx_uct_ep_put_short(pair.ep, &value, sizeof(value), pair.target.addr(),
                                        pair.target.rkey);
        };
        size_t puts = 0;
        while (put() == UFX_OK) {
            ++puts;
        }
        if (resource.tl == "rc_verbs") { // elsewhere the queue is rounded up
            CHECK(puts <= 20);
        }
        // More than the window: the receiver of the messages had to grant by its full queue.
        REQUIRE(pair.wait([&] {
            static_cast<void>(ufx_uct_ep_am_short(pair.peer, 5, 1, nullptr, 0));
            return received.messages.size() > 8;
        }));
        CHECK(put() == UFX_ERR_NO_RESOURCE);
    });
}

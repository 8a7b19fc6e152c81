// SPDX-License-Identifier: BSD-3-Clause
// The journal of outstanding operations.
#include "uct/base/judge.h"
#include "uct/base/op_push.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <deque>
#include <random>
#include <vector>

using namespace ufx::uct;

namespace {

struct tracked : ufx_uct_completion_t {
    tracked() : ufx_uct_completion_t{}
    {
        func = [](ufx_uct_completion_t *self) noexcept { ++static_cast<tracked *>(self)->calls; };
        count = 1;
        status = UFX_OK;
    }
    int calls = 0;
};

op_record *put(op_queue &queue, ufx_uct_completion_t *comp, uint64_t addr = 0)
{
    static char memory[8];
    ufx_uct_iov_t iov{memory, sizeof(memory), nullptr};
    return push_rma_zcopy(queue, UFX_UCT_OP_PUT, &iov, 1, addr, 0, comp);
}

} // namespace

TEST_CASE("op_queue: a full queue refuses and has no side effect")
{
    op_queue queue(4, 1024);
    tracked comps[5];
    for (int i = 0; i < 4; ++i) {
        REQUIRE(put(queue, &comps[i]) != nullptr);
    }
    CHECK(put(queue, &comps[4]) == nullptr);
    CHECK(queue.size() == 4);
    CHECK(queue.bytes() == 32);
    queue.complete_front(UFX_OK);
    CHECK(put(queue, &comps[4]) != nullptr);
}

TEST_CASE("op_queue: operations that end without a word leave room for as many, and their payloads")
{
    op_queue queue(4, 256);
    char payload[100] = {};
    for (int lap = 0; lap < 10; ++lap) {
        REQUIRE(push_put_short(queue, payload, 8, 0, 0) != nullptr);
        REQUIRE(push_put_short(queue, payload, sizeof(payload), 0, 0) != nullptr);
        REQUIRE(push_put_short(queue, payload, sizeof(payload), 0, 0) != nullptr);
        REQUIRE(push_put_short(queue, payload, 8, 0, 0) != nullptr);
        CHECK(queue.full());
        CHECK(queue.bytes() == 2 * (8 + sizeof(payload)));
        queue.end_quietly(queue.first() + 2);
        CHECK(queue.size() == 2);
        CHECK(queue.bytes() == 8 + sizeof(payload));
        CHECK(push_put_short(queue, payload, sizeof(payload), 0, 0) != nullptr);
        queue.end_quietly(queue.next());
        CHECK(queue.empty());
    }
    CHECK(queue.completed() == 50);
    CHECK(queue.failed() == 0);
}

TEST_CASE("op_queue: operations end in any order, each once, and leave from the front")
{
    op_queue queue(8, 1024);
    tracked comps[4];
    for (tracked &comp : comps) {
        REQUIRE(put(queue, &comp) != nullptr);
    }
    CHECK(queue.complete(2, UFX_OK));
    CHECK(queue.complete(1, UFX_OK));
    CHECK(queue.size() == 4);
    CHECK(queue.complete(0, UFX_OK));
    CHECK(queue.first() == 3);
    CHECK(queue.complete(3, UFX_OK));
    CHECK(queue.empty());
    for (const tracked &comp : comps) {
        CHECK(comp.calls == 1);
    }
    CHECK(queue.completed() == 4);
    CHECK(queue.failed() == 0);
}

TEST_CASE("op_queue: a late answer cannot change how an operation ended", "[M12]")
{
    op_queue queue(8, 1024);
    tracked first;
    tracked second;
    REQUIRE(put(queue, &first) != nullptr);
    REQUIRE(put(queue, &second) != nullptr);
    REQUIRE(queue.complete(1, UFX_OK)); // claimed
    CHECK_FALSE(queue.complete(1, UFX_ERR_CONNECTION_RESET));
    queue.complete_all(UFX_ERR_CONNECTION_RESET); // the flush of a dead queue pair
    CHECK(first.status == UFX_ERR_CONNECTION_RESET);
    CHECK(second.status == UFX_OK);
    CHECK(first.calls == 1);
    CHECK(second.calls == 1);
    CHECK_FALSE(queue.complete(0, UFX_OK));
    CHECK_FALSE(queue.complete(7, UFX_OK)); // never posted
    CHECK(queue.failed() == 1);
    CHECK(queue.completed() == 1);
}

TEST_CASE("op_queue: a completion that several operations share fails once", "[M07]")
{
    op_queue queue(8, 1024);
    tracked shared;
    shared.count = 3;
    for (int i = 0; i < 3; ++i) {
        REQUIRE(put(queue, &shared) != nullptr);
    }
    queue.complete_front(UFX_OK);
    queue.complete_all(UFX_ERR_ENDPOINT_TIMEOUT);
    queue.complete_all(UFX_ERR_CONNECTION_RESET);
    CHECK(shared.calls == 1);
    CHECK(shared.count == 0);
    CHECK(shared.status == UFX_ERR_ENDPOINT_TIMEOUT); // the first error stays
}

TEST_CASE("op_queue: a flush marker ends when all before it have")
{
    op_queue queue(8, 1024);
    tracked one;
    tracked two;
    tracked flush;
    tracked behind;
    REQUIRE(put(queue, &one) != nullptr);
    REQUIRE(put(queue, &two) != nullptr);
    REQUIRE(queue.push_marker(true, &flush) != nullptr);
    REQUIRE(put(queue, &behind) != nullptr);
    queue.complete(1, UFX_OK);
    CHECK(flush.calls == 0);
    queue.complete(0, UFX_OK);
    CHECK(flush.calls == 1);
    CHECK(flush.status == UFX_OK);
    CHECK(behind.calls == 0);
    CHECK(queue.size() == 1);
}

TEST_CASE("op_queue: a completion may post again, or drop everything")
{
    op_queue queue(2, 1024);
    struct poster : ufx_uct_completion_t {
        op_queue *queue;
        bool drop;
        bool posted;
    };
    for (bool drop : {false, true}) {
        poster comp{};
        comp.func = [](ufx_uct_completion_t *self) noexcept {
            auto *me = static_cast<poster *>(self);
            if (me->drop) {
                me->queue->drop();
            } else {
                me->posted = put(*me->queue, nullptr) != nullptr;
            }
        };
        comp.count = 1;
        comp.queue = &queue;
        comp.drop = drop;
        REQUIRE(put(queue, &comp) != nullptr);
        REQUIRE(put(queue, nullptr) != nullptr);
        queue.complete_front(UFX_OK);
        CHECK(comp.posted == !drop);
        CHECK(queue.size() == (drop ? 0 : 2));
        queue.drop();
    }
}

TEST_CASE("op_queue: payloads stay intact through many laps of the ring")
{
    op_queue queue(32, 8192);
    std::mt19937 random(7);
    std::deque<std::vector<std::byte>> model;
    for (int step = 0; step < 20000; ++step) {
        if (random() % 2 == 0) {
            std::vector<std::byte> data(random() % 1500);
            for (std::byte &byte : data) {
                byte = static_cast<std::byte>(random());
            }
            const uint64_t header = random();
            op_record *record = push_am_short(queue, 1, header, data.data(), data.size());
            if (record == nullptr) {
                REQUIRE_FALSE(model.empty()); // an empty queue always has room
                continue;
            }
            model.push_back(std::move(data));
        } else if (!model.empty()) {
            const op_record &record = queue.front();
            REQUIRE(record.length == model.front().size());
            REQUIRE((record.length == 0 ||
                     std::memcmp(record.payload(), model.front().data(), record.length) == 0));
            queue.complete_front(UFX_OK);
            model.pop_front();
        }
    }
}

TEST_CASE("op_queue: an empty queue has room for half of its ring, whatever was asked before")
{
    op_queue queue(32, 4096);
    std::mt19937 random(11);
    const std::vector<std::byte> data(2048 - sizeof(uint64_t));
    for (int step = 0; step < 20000; ++step) {
        switch (random() % 6) {
        case 0: // who asks for room need not take it
            static_cast<void>(queue.reserve(random() % 2048));
            break;
        case 1:
            static_cast<void>(put(queue, nullptr)); // stores nothing in the ring
            break;
        case 2:
            static_cast<void>(push_am_short(queue, 1, 0, data.data(), random() % data.size()));
            break;
        default:
            if (!queue.empty()) {
                queue.complete_front(UFX_OK);
            }
        }
        REQUIRE((!queue.empty() || queue.reserve(2048) != nullptr));
    }
}

TEST_CASE("op_queue: what bcopy does not use is given back")
{
    op_queue queue(64, 4096);
    struct source {
        size_t length;
    } small{100};
    auto pack = [](void *dest, void *arg) noexcept {
        std::memset(dest, 1, static_cast<source *>(arg)->length);
        return static_cast<source *>(arg)->length;
    };
    int posted = 0;
    while (push_am_bcopy(queue, 1, pack, &small, 2048) != nullptr) {
        ++posted;
    }
    CHECK(posted >= 10); // not just the two that fit if each kept its room
}

TEST_CASE("op_queue: a purge resumes at the operation that was refused", "[U07]")
{
    for (size_t k = 0; k <= 5; ++k) {
        op_queue queue(8, 1024);
        tracked comps[5];
        for (size_t i = 0; i < 5; ++i) {
            REQUIRE(put(queue, &comps[i], i) != nullptr);
        }
        struct seen {
            std::vector<uint64_t> addrs;
            size_t stop;
        } got{{}, k};
        auto take = [](void *arg, const ufx_uct_op_desc_t *op, ufx_uct_verdict_t,
                       size_t) noexcept -> ufx_status_t {
            auto *to = static_cast<seen *>(arg);
            if (to->addrs.size() == to->stop) {
                return UFX_ERR_NO_MEMORY;
            }
            to->addrs.push_back(op->remote_addr);
            return UFX_OK;
        };
        auto judge = [](const op_record &, uint64_t, size_t &) { return UFX_UCT_VERDICT_UNKNOWN; };
        CHECK(queue.purge(judge, take, &got) == (k == 5 ? UFX_OK : UFX_ERR_NO_MEMORY));
        CHECK(queue.size() == 5 - k);
        got.stop = 100;
        CHECK(queue.purge(judge, take, &got) == UFX_OK);
        CHECK(got.addrs == std::vector<uint64_t>{0, 1, 2, 3, 4});
        CHECK(queue.failed() == 5);
        for (const tracked &comp : comps) {
            CHECK(comp.calls == 0);
        }
    }
}

TEST_CASE("op_queue: what has ended is not purged")
{
    op_queue queue(8, 1024);
    tracked comps[3];
    for (tracked &comp : comps) {
        REQUIRE(put(queue, &comp) != nullptr);
    }
    queue.complete(1, UFX_OK);
    int handed = 0;
    auto take = [](void *arg, const ufx_uct_op_desc_t *op, ufx_uct_verdict_t,
                   size_t) noexcept -> ufx_status_t {
        CHECK(op->index != 1);
        ++*static_cast<int *>(arg);
        return UFX_OK;
    };
    auto judge = [](const op_record &, uint64_t, size_t &) { return UFX_UCT_VERDICT_UNKNOWN; };
    CHECK(queue.purge(judge, take, &handed) == UFX_OK);
    CHECK(handed == 2);
    CHECK(queue.completed() == 1);
    CHECK(queue.failed() == 2);
}

TEST_CASE("judge: a read below the token has no data, a partial am has not landed")
{
    op_record record{};
    struct {
        ufx_uct_op_kind_t kind;
        ufx_uct_verdict_t whole;
        ufx_uct_verdict_t partial;
    } table[] = {
        {UFX_UCT_OP_AM, UFX_UCT_VERDICT_LANDED, UFX_UCT_VERDICT_NOT_LANDED},
        {UFX_UCT_OP_PUT, UFX_UCT_VERDICT_LANDED, UFX_UCT_VERDICT_PARTIAL},
        {UFX_UCT_OP_GET, UFX_UCT_VERDICT_RESULT_LOST, UFX_UCT_VERDICT_NOT_LANDED},
        {UFX_UCT_OP_ATOMIC_POST, UFX_UCT_VERDICT_LANDED, UFX_UCT_VERDICT_NOT_LANDED},
        {UFX_UCT_OP_ATOMIC_FETCH, UFX_UCT_VERDICT_RESULT_LOST, UFX_UCT_VERDICT_NOT_LANDED},
        {UFX_UCT_OP_FLUSH_LOCAL, UFX_UCT_VERDICT_LANDED, UFX_UCT_VERDICT_NOT_LANDED},
        {UFX_UCT_OP_FLUSH_REMOTE, UFX_UCT_VERDICT_RESULT_LOST, UFX_UCT_VERDICT_NOT_LANDED},
        {UFX_UCT_OP_CHECK, UFX_UCT_VERDICT_RESULT_LOST, UFX_UCT_VERDICT_NOT_LANDED},
    };
    for (const auto &row : table) {
        record.kind = static_cast<uint8_t>(row.kind);
        CHECK(verdict_of(record, extent::whole) == row.whole);
        CHECK(verdict_of(record, extent::partial) == row.partial);
        CHECK(verdict_of(record, extent::none) == UFX_UCT_VERDICT_NOT_LANDED);
    }
}

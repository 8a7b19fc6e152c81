// SPDX-License-Identifier: BSD-3-Clause
// What failover builds on: errors that keep the outstanding ops, quiet sides, tokens, verdicts.
#include "raw_peer.h"

#include "ucs/clock.h"

#include <sys/mman.h>

#include <algorithm>

using namespace ufx::test_tcp;

namespace {

std::vector<ufx_uct_verdict_t> verdicts(const std::vector<purged_op> &ops)
{
    std::vector<ufx_uct_verdict_t> out;
    for (const purged_op &one : ops) {
        out.push_back(one.verdict);
    }
    return out;
}

// a sends all it has, b applies it; a does not read the answers.
void until_sent(tcp_pair &pair)
{
    ufx_uct_iface_progress(pair.a.iface);
    until(pair.b, [&, turns = 0]() mutable { return ++turns > 100; });
}

ufx_status_t quiet_now(ufx_uct_ep_h ep)
{
    counted quiet;
    return ufx_uct_ep_invalidate(ep, &quiet);
}

} // namespace

TEST_CASE("tcp: purge of an ep that never failed is refused and changes nothing", "[tcp][U05]")
{
    tcp_pair pair;
    REQUIRE(ufx_uct_ep_am_short(pair.ep_a, 1, 1, nullptr, 0) == UFX_OK);
    auto cb = [](void *, const ufx_uct_op_desc_t *, ufx_uct_verdict_t, size_t) noexcept {
        return UFX_OK;
    };
    CHECK(ufx_uct_ep_outstanding_purge(pair.ep_a, UFX_UCT_GRADE_EXACT, nullptr, 0, cb, nullptr) ==
          UFX_ERR_INVALID_PARAM);
    CHECK(state_of(pair.ep_a) == UFX_UCT_EP_LIVE);
    pair.until([&] { return pair.b.ams.size() == 1; });
    pair.flush_a();
}

TEST_CASE("tcp: what the peer closed on is kept, judged and handed out in posting order",
          "[tcp][U09][U12][X02]")
{
    tcp_pair pair;
    remote_memory memory = pair.b.memory(4096, pair.a);
    ufx_uct_rkey_t rkey = memory.rkey.rkey;
    std::string text = pattern(64);
    uint64_t fetched = 77;
    char near[8] = {};
    ufx_uct_iov_t iov{text.data(), 32, nullptr};
    counted done(5);
    // Landed at the target, but its acknowledgement is never read.
    REQUIRE(ufx_uct_ep_put_short(pair.ep_a, "0123", 4, memory.at(), rkey) == UFX_OK);
    REQUIRE(ufx_uct_ep_atomic64_fetch(pair.ep_a, UFX_UCT_ATOMIC_ADD, 5, &fetched, memory.at(8),
                                      rkey, &done) == UFX_INPROGRESS);
    REQUIRE(ufx_uct_ep_get_short(pair.ep_a, near, 8, memory.at(), rkey, &done) == UFX_INPROGRESS);
    REQUIRE(ufx_uct_ep_am_short(pair.ep_a, 1, 42, "am", 2) == UFX_OK);
    REQUIRE(ufx_uct_ep_flush(pair.ep_a, UFX_UCT_FLUSH_REMOTE, &done) == UFX_INPROGRESS);
    until_sent(pair);
    // Posted after the last progress of a: never sent.
    REQUIRE(ufx_uct_ep_invalidate(pair.ep_b, nullptr) == UFX_OK);
    REQUIRE(ufx_uct_ep_put_zcopy(pair.ep_a, &iov, 1, memory.at(100), rkey, &done) ==
            UFX_INPROGRESS);
    REQUIRE(ufx_uct_ep_am_zcopy(pair.ep_a, 2, "head", 4, &iov, 1, 0, &done) == UFX_INPROGRESS);
    REQUIRE(ufx_uct_ep_atomic32_post(pair.ep_a, UFX_UCT_ATOMIC_XOR, 9, memory.at(16), rkey) ==
            UFX_OK);
    REQUIRE(quiet_now(pair.ep_a) == UFX_OK);
    CHECK(state_of(pair.ep_a) == UFX_UCT_EP_DEFERRED);
    CHECK(pair.a.errors.empty()); // invalidate does not run the handler
    CHECK(ufx_uct_ep_am_short(pair.ep_a, 1, 1, nullptr, 0) == UFX_ERR_SHUTDOWN);

    rx_token token = rx_token_for(pair.b, pair.ep_a);
    REQUIRE(token.status == UFX_OK);
    CHECK(token.grade == UFX_UCT_GRADE_EXACT);
    CHECK(token.applied == 4);
    std::vector<purged_op> ops = purge(pair.ep_a, token.grade, token.bytes);
    CHECK(verdicts(ops) ==
          std::vector<ufx_uct_verdict_t>{UFX_UCT_VERDICT_LANDED, UFX_UCT_VERDICT_RESULT_LOST,
                                         UFX_UCT_VERDICT_RESULT_LOST, UFX_UCT_VERDICT_LANDED,
                                         UFX_UCT_VERDICT_RESULT_LOST, UFX_UCT_VERDICT_NOT_LANDED,
                                         UFX_UCT_VERDICT_NOT_LANDED, UFX_UCT_VERDICT_NOT_LANDED});
    REQUIRE(ops.size() == 8);
    CHECK(ops[0].op.kind == UFX_UCT_OP_PUT);
    CHECK(ops[0].op.remote_addr == memory.at());
    CHECK(ops[0].op.rkey == rkey);
    CHECK(ops[0].payload == "0123");
    CHECK(ops[1].op.result == &fetched);
    CHECK(ops[1].op.operand == 5);
    CHECK(ops[1].op.comp == &done);
    CHECK(ops[2].op.length == 8);
    CHECK(ops[3].header == std::string("\x2a\0\0\0\0\0\0\0", 8));
    CHECK(ops[3].payload == "am");
    CHECK(ops[4].op.kind == UFX_UCT_OP_FLUSH_REMOTE);
    CHECK(ops[5].op.iov_count == 1);
    CHECK(ops[5].op.length == 32);
    CHECK(ops[6].header == "head");
    CHECK(ops[6].op.am_id == 2);
    CHECK(ops[7].op.atomic_size == 4);
    CHECK(state_of(pair.ep_a) == UFX_UCT_EP_PURGED);
    CHECK(done.calls == 0);
    CHECK(done.count == 5); // the purge completes nothing
    CHECK(fetched == 77);
    pair.settle();
    CHECK(pair.b.ams.size() == 1); // the answers were lost, the effects happened once
    CHECK(memory.bytes[8] == 5);
    CHECK(std::count(memory.bytes.begin() + 100, memory.bytes.end(), 0) == 4096 - 100);
    pair.b.release(memory, pair.a);
}

TEST_CASE("tcp: a put that was cut off resumes at the landed byte", "[tcp][X19]")
{
    tcp_settings small = {{"TCP_SNDBUF", "16kb"}, {"TCP_RCVBUF", "16kb"}};
    for (unsigned rounds : {1u, 3u, 10u, 40u}) {
        tcp_pair pair(small, small);
        constexpr size_t size = 4 << 20;
        remote_memory memory = pair.b.memory(size, pair.a);
        std::string text = pattern(size);
        ufx_uct_iov_t iov[2] = {{text.data(), 1000, nullptr},
                                {text.data() + 1000, size - 1000, nullptr}};
        counted done;
        REQUIRE(ufx_uct_ep_put_short(pair.ep_a, "x", 1, memory.at(), memory.rkey.rkey) == UFX_OK);
        REQUIRE(ufx_uct_ep_put_zcopy(pair.ep_a, iov, 2, memory.at(), memory.rkey.rkey, &done) ==
                UFX_INPROGRESS);
        REQUIRE(ufx_uct_ep_put_short(pair.ep_a, "y", 1, memory.at(), memory.rkey.rkey) == UFX_OK);
        for (unsigned i = 0; i < rounds * 8; i++) {
            pair.progress();
        }
        REQUIRE(quiet_now(pair.ep_b) == UFX_OK);
        REQUIRE(quiet_now(pair.ep_a) == UFX_OK);
        pair.settle();
        rx_token token = rx_token_for(pair.b, pair.ep_a);
        REQUIRE(token.status == UFX_OK);
        REQUIRE(token.applied == 1);
        REQUIRE(token.partial > 0);
        REQUIRE(token.partial < size);
        std::vector<purged_op> ops = purge(pair.ep_a, token.grade, token.bytes);
        size_t at = ops.size() - 2; // the first put may have completed
        CHECK(ops[at].verdict == UFX_UCT_VERDICT_PARTIAL);
        CHECK(ops[at].bytes == token.partial);
        CHECK(ops[at].op.comp == &done);
        CHECK(ops[at + 1].verdict == UFX_UCT_VERDICT_NOT_LANDED);
        CHECK(std::memcmp(memory.bytes.data(), text.data(), token.partial) == 0);
        CHECK(std::count(memory.bytes.begin() + static_cast<ptrdiff_t>(token.partial),
                         memory.bytes.end(), 0) == static_cast<ptrdiff_t>(size - token.partial));
        // The rest over a new connection makes it whole.
        ufx_uct_ep_h again = nullptr;
        ufx_uct_ep_h other = nullptr;
        pair.connect(again, other);
        iov[0] = {text.data() + token.partial, size - token.partial, nullptr};
        counted rest;
        REQUIRE(ufx_uct_ep_put_zcopy(again, iov, 1, memory.at(token.partial), memory.rkey.rkey,
                                     &rest) == UFX_INPROGRESS);
        pair.until([&] { return rest.calls == 1; });
        CHECK(std::memcmp(memory.bytes.data(), text.data(), size) == 0);
        CHECK(done.calls == 0);
        pair.b.release(memory, pair.a);
    }
}

TEST_CASE("tcp: grades other than EXACT give UNKNOWN, the token nothing gives NOT_LANDED", "[tcp]")
{
    tcp_pair pair;
    REQUIRE(ufx_uct_ep_am_short(pair.ep_a, 1, 1, nullptr, 0) == UFX_OK);
    REQUIRE(quiet_now(pair.ep_a) == UFX_OK);
    ufx_uct_verdict_t expected = UFX_UCT_VERDICT_UNKNOWN;
    ufx_uct_token_grade_t grade = UFX_UCT_GRADE_BLIND;
    SECTION("blind") {}
    SECTION("open")
    {
        grade = UFX_UCT_GRADE_OPEN;
    }
    SECTION("nothing")
    {
        grade = UFX_UCT_GRADE_EXACT;
        expected = UFX_UCT_VERDICT_NOT_LANDED;
    }
    std::vector<purged_op> ops = purge(pair.ep_a, grade, {});
    REQUIRE(ops.size() == 1);
    CHECK(ops[0].verdict == expected);
}

TEST_CASE("tcp: tokens that cannot be true are refused and change nothing", "[tcp]")
{
    tcp_pair pair;
    REQUIRE(ufx_uct_ep_am_short(pair.ep_a, 1, 1, nullptr, 0) == UFX_OK);
    pair.flush_a();
    REQUIRE(ufx_uct_ep_am_short(pair.ep_a, 1, 2, nullptr, 0) == UFX_OK);
    REQUIRE(quiet_now(pair.ep_a) == UFX_OK);
    auto cb = [](void *, const ufx_uct_op_desc_t *, ufx_uct_verdict_t, size_t) noexcept {
        return UFX_OK;
    };
    auto purge_with = [&](uint64_t applied, uint64_t partial, size_t length) {
        uint64_t token[3] = {applied, partial, 0};
        return ufx_uct_ep_outstanding_purge(pair.ep_a, UFX_UCT_GRADE_EXACT, token, length, cb,
                                            nullptr);
    };
    CHECK(purge_with(1, 0, 15) == UFX_ERR_BAD_MESSAGE);
    CHECK(purge_with(1, 0, 24) == UFX_ERR_BAD_MESSAGE);
    CHECK(purge_with(0, 0, 16) == UFX_ERR_BAD_MESSAGE); // less than was acknowledged
    CHECK(purge_with(2, 0, 16) == UFX_ERR_BAD_MESSAGE); // more than was sent
    CHECK(purge_with(1, 1, 16) == UFX_ERR_BAD_MESSAGE); // part of what is no put
    CHECK(state_of(pair.ep_a) == UFX_UCT_EP_DEFERRED);
    CHECK(purge_with(1, 0, 16) == UFX_OK);
    CHECK(state_of(pair.ep_a) == UFX_UCT_EP_PURGED);
}

TEST_CASE("tcp: a purge that its callback stops goes on where it stopped", "[tcp][U07]")
{
    for (unsigned stop = 0; stop < 6; stop++) {
        tcp_pair pair;
        for (uint64_t i = 0; i < 5; i++) {
            REQUIRE(ufx_uct_ep_am_short(pair.ep_a, 1, i, nullptr, 0) == UFX_OK);
        }
        REQUIRE(quiet_now(pair.ep_a) == UFX_OK);
        struct state {
            unsigned left;
            std::vector<uint64_t> seen;
        } seen{stop, {}};
        auto cb = [](void *arg, const ufx_uct_op_desc_t *op, ufx_uct_verdict_t,
                     size_t) noexcept -> ufx_status_t {
            auto &me = *static_cast<state *>(arg);
            if (me.left == 0) {
                me.left = 100;
                return UFX_ERR_NO_MEMORY;
            }
            me.left--;
            uint64_t number = 0;
            std::memcpy(&number, op->header, 8);
            me.seen.push_back(number);
            return UFX_OK;
        };
        ufx_status_t first =
            ufx_uct_ep_outstanding_purge(pair.ep_a, UFX_UCT_GRADE_EXACT, nullptr, 0, cb, &seen);
        CHECK(first == (stop < 5 ? UFX_ERR_NO_MEMORY : UFX_OK));
        if (stop < 5) {
            CHECK(seen.seen.size() == stop);
            CHECK(state_of(pair.ep_a) == UFX_UCT_EP_DEFERRED);
            CHECK(ufx_uct_ep_outstanding_purge(pair.ep_a, UFX_UCT_GRADE_EXACT, nullptr, 0, cb,
                                               &seen) == UFX_OK);
        }
        CHECK(seen.seen == std::vector<uint64_t>{0, 1, 2, 3, 4});
        CHECK(state_of(pair.ep_a) == UFX_UCT_EP_PURGED);
    }
}

TEST_CASE("tcp: a refused op fails the ep with REMOTE_ACCESS and is the oldest outstanding",
          "[tcp]")
{
    tcp_pair pair;
    remote_memory memory = pair.b.memory(4096, pair.a);
    std::string text = pattern(2000);
    ufx_uct_iov_t iov{text.data(), text.size(), nullptr};
    counted good;
    counted guilty;
    counted later;
    REQUIRE(ufx_uct_ep_put_zcopy(pair.ep_a, &iov, 1, memory.at(), memory.rkey.rkey, &good) ==
            UFX_INPROGRESS);
    SECTION("out of range")
    {
        REQUIRE(ufx_uct_ep_put_zcopy(pair.ep_a, &iov, 1, memory.at(3000), memory.rkey.rkey,
                                     &guilty) == UFX_INPROGRESS);
    }
    SECTION("deregistered")
    {
        pair.until([&] { return good.calls == 1; });
        REQUIRE(ufx_uct_md_mem_dereg(pair.b.md, memory.memh) == UFX_OK);
        memory.memh = nullptr;
        REQUIRE(ufx_uct_ep_put_zcopy(pair.ep_a, &iov, 1, memory.at(), memory.rkey.rkey, &guilty) ==
                UFX_INPROGRESS);
    }
    REQUIRE(ufx_uct_ep_put_zcopy(pair.ep_a, &iov, 1, memory.at(), memory.rkey.rkey, &later) ==
            UFX_INPROGRESS);
    pair.until([&] { return !pair.a.errors.empty(); });
    CHECK(pair.a.errors[0].cause == UFX_UCT_CAUSE_REMOTE_ACCESS);
    CHECK(pair.a.errors[0].status == UFX_ERR_REMOTE_ACCESS);
    CHECK(good.calls == 1);
    CHECK(good.status == UFX_OK);
    rx_token token = rx_token_for(pair.b, pair.ep_a);
    std::vector<purged_op> ops = purge(pair.ep_a, token.grade, token.bytes);
    REQUIRE(ops.size() == 2);
    CHECK(ops[0].op.comp == &guilty);
    CHECK(ops[0].verdict == UFX_UCT_VERDICT_NOT_LANDED);
    CHECK(ops[1].verdict == UFX_UCT_VERDICT_NOT_LANDED);
    CHECK(guilty.calls + later.calls == 0);
    pair.b.release(memory, pair.a);
}

TEST_CASE("tcp: memory deregistered in the middle of a put is not touched any more", "[tcp][X07]")
{
    tcp_settings small = {{"TCP_SNDBUF", "16kb"}, {"TCP_RCVBUF", "16kb"}};
    tcp_pair pair(small, small);
    constexpr size_t size = 4 << 20;
    remote_memory memory = pair.b.memory(size, pair.a);
    std::string text = pattern(size);
    ufx_uct_iov_t iov{text.data(), size, nullptr};
    counted done;
    REQUIRE(ufx_uct_ep_put_zcopy(pair.ep_a, &iov, 1, memory.at(), memory.rkey.rkey, &done) ==
            UFX_INPROGRESS);
    pair.until([&] { return rx_token_for(pair.b, pair.ep_a).partial > 0; });
    rx_token token = rx_token_for(pair.b, pair.ep_a);
    REQUIRE(token.partial < size);
    REQUIRE(ufx_uct_md_mem_dereg(pair.b.md, memory.memh) == UFX_OK);
    memory.memh = nullptr;
    std::fill(memory.bytes.begin(), memory.bytes.end(), uint8_t{0xee});
    pair.until([&] { return !pair.a.errors.empty(); });
    CHECK(pair.a.errors[0].cause == UFX_UCT_CAUSE_REMOTE_ACCESS);
    CHECK(std::count(memory.bytes.begin(), memory.bytes.end(), 0xee) ==
          static_cast<ptrdiff_t>(size));
    pair.b.release(memory, pair.a);
}

TEST_CASE("tcp: memory deregistered in the middle of a get still gives what it held", "[tcp]")
{
    tcp_settings small = {{"TCP_SNDBUF", "16kb"}, {"TCP_RCVBUF", "16kb"}};
    tcp_pair pair(small, small);
    constexpr size_t size = 4 << 20;
    remote_memory memory = pair.b.memory(size, pair.a);
    std::string text = pattern(size);
    std::memcpy(memory.bytes.data(), text.data(), size);
    std::string near(size, '\0');
    ufx_uct_iov_t iov{near.data(), size, nullptr};
    counted done;
    REQUIRE(ufx_uct_ep_get_zcopy(pair.ep_a, &iov, 1, memory.at(), memory.rkey.rkey, &done) ==
            UFX_INPROGRESS);
    pair.until([&] { return near[0] == text[0] && near[100] == text[100]; });
    REQUIRE(done.calls == 0);
    REQUIRE(ufx_uct_md_mem_dereg(pair.b.md, memory.memh) == UFX_OK);
    memory.memh = nullptr;
    std::vector<uint8_t>().swap(memory.bytes); // gone: ASan sees any read
    pair.until([&] { return done.calls == 1; });
    CHECK(near == text);
    ufx_uct_md_rkey_release(pair.a.md, &memory.rkey);
}

TEST_CASE("tcp: a local buffer that cannot be read fails the ep with LOCAL_PROT", "[tcp]")
{
    tcp_pair pair;
    void *none = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(none != MAP_FAILED);
    ufx_uct_iov_t iov{none, 4096, nullptr}; // too long to be copied behind its header
    counted done;
    REQUIRE(ufx_uct_ep_am_zcopy(pair.ep_a, 1, nullptr, 0, &iov, 1, 0, &done) == UFX_INPROGRESS);
    pair.until([&] { return !pair.a.errors.empty(); });
    CHECK(pair.a.errors[0].cause == UFX_UCT_CAUSE_LOCAL_PROT);
    CHECK(pair.a.errors[0].status == UFX_ERR_LOCAL_PROT);
    CHECK(done.calls == 0);
    CHECK(state_of(pair.ep_a) == UFX_UCT_EP_DEFERRED);
    munmap(none, 4096);
}

TEST_CASE("tcp: without IN_PROGRESS outstanding ops complete with the error, once", "[tcp][M07]")
{
    tcp_pair pair;
    pair.a.error_answer = UFX_OK;
    counted done(3);
    std::string text = "text";
    ufx_uct_iov_t iov{text.data(), text.size(), nullptr};
    pair.settle();
    pair.b.close_ep(pair.ep_b);
    REQUIRE(ufx_uct_ep_am_zcopy(pair.ep_a, 1, nullptr, 0, &iov, 1, 0, &done) == UFX_INPROGRESS);
    REQUIRE(ufx_uct_ep_check(pair.ep_a, &done) == UFX_INPROGRESS);
    REQUIRE(ufx_uct_ep_flush(pair.ep_a, UFX_UCT_FLUSH_REMOTE, &done) == UFX_INPROGRESS);
    pair.until([&] { return done.calls == 1; });
    CHECK(done.status == UFX_ERR_CONNECTION_RESET);
    CHECK(state_of(pair.ep_a) == UFX_UCT_EP_DEAD);
    CHECK(pair.a.errors.size() == 1);
    CHECK(ufx_uct_ep_am_short(pair.ep_a, 1, 1, nullptr, 0) == UFX_ERR_CONNECTION_RESET);
    pair.settle();
    CHECK(done.calls == 1);
}

TEST_CASE("tcp: flush with CANCEL ends what is outstanding, on a live and a deferred ep", "[tcp]")
{
    tcp_pair pair;
    counted done;
    counted flushed;
    std::string text = "text";
    ufx_uct_iov_t iov{text.data(), text.size(), nullptr};
    REQUIRE(ufx_uct_ep_am_zcopy(pair.ep_a, 1, nullptr, 0, &iov, 1, 0, &done) == UFX_INPROGRESS);
    SECTION("deferred")
    {
        REQUIRE(quiet_now(pair.ep_a) == UFX_OK);
    }
    SECTION("live") {}
    REQUIRE(ufx_uct_ep_flush(pair.ep_a, UFX_UCT_FLUSH_CANCEL, &flushed) == UFX_INPROGRESS);
    CHECK(done.calls == 0);
    pair.until([&] { return flushed.calls == 1; });
    CHECK(done.calls == 1);
    CHECK(done.status == UFX_ERR_CANCELED);
    CHECK(flushed.status == UFX_OK);
    CHECK(state_of(pair.ep_a) == UFX_UCT_EP_DEAD);
}

TEST_CASE("tcp: an ep invalidated in its own handler is quiet after the frames behind it", "[tcp]")
{
    tcp_pair pair;
    struct context {
        ufx_uct_ep_h ep;
        counted quiet;
        ufx_status_t status = UFX_OK;
        bool early = false;
    } inside{pair.ep_b, counted{}};
    pair.b.user = &inside;
    pair.b.on_am = [](tcp_side &self) {
        auto &me = *static_cast<context *>(self.user);
        if (self.ams.size() == 1) {
            me.status = ufx_uct_ep_invalidate(me.ep, &me.quiet);
        }
        me.early = me.early || me.quiet.calls > 0;
    };
    for (uint64_t i = 0; i < 5; i++) {
        REQUIRE(ufx_uct_ep_am_short(pair.ep_a, 1, i, nullptr, 0) == UFX_OK);
    }
    pair.until([&] { return inside.quiet.calls == 1; });
    CHECK(inside.status == UFX_INPROGRESS);
    CHECK_FALSE(inside.early);
    CHECK(pair.b.ams.size() == 5);
    CHECK(rx_token_for(pair.b, pair.ep_a).applied == 5);
    CHECK(state_of(pair.ep_b) == UFX_UCT_EP_DEFERRED);
}

TEST_CASE("tcp: an ep may be destroyed in its own message and error handlers", "[tcp]")
{
    tcp_pair pair;
    struct context {
        ufx_uct_ep_h ep;
        bool done = false;
    } inside{pair.ep_b};
    pair.b.user = &inside;
    pair.b.on_am = [](tcp_side &self) {
        auto &me = *static_cast<context *>(self.user);
        if (!me.done) {
            me.done = true;
            self.close_ep(me.ep);
        }
    };
    for (uint64_t i = 0; i < 5; i++) {
        REQUIRE(ufx_uct_ep_am_short(pair.ep_a, 1, i, nullptr, 0) == UFX_OK);
    }
    std::vector<uint8_t> tx = tx_token(pair.ep_a);
    pair.until([&] { return !pair.a.errors.empty(); });
    CHECK(pair.b.ams.size() == 1);
    CHECK(rx_token_for(pair.b, pair.ep_a).status == UFX_ERR_NO_ELEM);
    std::vector<purged_op> ops = purge(pair.ep_a, UFX_UCT_GRADE_BLIND, {});
    CHECK(ops.size() == 5);
}

TEST_CASE("tcp: both sides may connect in any order, and one connection comes of it", "[tcp]")
{
    tcp_side a("lo:127.0.0.1");
    tcp_side b("lo:127.0.0.2");
    for (int round = 0; round < 8; round++) {
        ufx_uct_ep_h ep_a = a.new_ep();
        ufx_uct_ep_h ep_b = b.new_ep();
        auto connect = [](tcp_side &to, ufx_uct_ep_h from, ufx_uct_ep_h peer) {
            return ufx_uct_ep_connect_to_ep(from, to.device_address().data(),
                                            to.iface_address().data(), ep_address(peer).data());
        };
        auto run = [&](unsigned turns) {
            for (unsigned i = 0; i < turns; i++) {
                ufx_uct_iface_progress(a.iface);
                ufx_uct_iface_progress(b.iface);
            }
        };
        REQUIRE(connect(b, ep_a, ep_b) == UFX_OK);
        CHECK(connect(b, ep_a, ep_b) == UFX_ERR_ALREADY_EXISTS);
        CHECK(ufx_uct_ep_am_short(ep_a, 1, 1, nullptr, 0) == UFX_ERR_NO_RESOURCE);
        run(round % 2 == 0 ? 0 : 100);
        REQUIRE(connect(a, ep_b, ep_a) == UFX_OK);
        for (int i = 0;
             i < 100000 && (state_of(ep_a) != UFX_UCT_EP_LIVE || state_of(ep_b) != UFX_UCT_EP_LIVE);
             i++) {
            run(1);
        }
        REQUIRE(state_of(ep_a) == UFX_UCT_EP_LIVE);
        REQUIRE(state_of(ep_b) == UFX_UCT_EP_LIVE);
        CHECK(connect(a, ep_a, ep_a) == UFX_ERR_INVALID_PARAM);
    }
    CHECK(a.errors.empty());
    CHECK(b.errors.empty());
}

TEST_CASE("tcp: a cut link breaks its eps, refuses new ones, and can be restored", "[tcp]")
{
    tcp_pair pair;
    counted done;
    REQUIRE(ufx_uct_ep_check(pair.ep_a, &done) == UFX_INPROGRESS);
    REQUIRE(ufx_uct_iface_set_link(pair.b.iface, 0) == UFX_OK);
    CHECK(pair.b.errors.empty()); // callbacks run from progress
    pair.until([&] { return !pair.a.errors.empty() && !pair.b.errors.empty(); });
    CHECK(pair.b.errors[0].cause == UFX_UCT_CAUSE_INJECTED);
    CHECK(pair.a.errors[0].cause == UFX_UCT_CAUSE_CONN_RESET);
    REQUIRE(pair.b.events.size() == 1);
    CHECK(pair.b.events[0].type == UFX_UCT_IFACE_PORT_DOWN);
    CHECK(pair.b.events[0].cause == UFX_UCT_CAUSE_INJECTED);
    ufx_uct_iface_attr_t attr{};
    REQUIRE(ufx_uct_iface_query(pair.b.iface, &attr) == UFX_OK);
    CHECK(attr.port_active == 0);

    // Whichever side connects: a is refused, b fails with the injected cause.
    ufx_uct_ep_h to_b = pair.a.new_ep();
    ufx_uct_ep_h to_a = pair.b.new_ep();
    REQUIRE(ufx_uct_ep_connect_to_ep(to_a, pair.a.device_address().data(),
                                     pair.a.iface_address().data(),
                                     ep_address(to_b).data()) == UFX_OK);
    pair.until([&] { return pair.b.errors.size() == 2; });
    CHECK(pair.b.errors[1].cause == UFX_UCT_CAUSE_INJECTED);

    REQUIRE(ufx_uct_iface_set_link(pair.b.iface, 1) == UFX_OK);
    pair.until([&] { return pair.b.events.size() == 2; });
    CHECK(pair.b.events[1].type == UFX_UCT_IFACE_PORT_UP);
    ufx_uct_ep_h again = nullptr;
    ufx_uct_ep_h other = nullptr;
    pair.connect(again, other);
    REQUIRE(ufx_uct_ep_am_short(again, 1, 3, nullptr, 0) == UFX_OK);
    pair.until([&] { return pair.b.ams.size() == 1; });
}

TEST_CASE("tcp: a connection to a port where nobody listens is refused", "[tcp]")
{
    tcp_side side("lo:127.0.0.1");
    unsigned refused = 0;
    for (int i = 0; i < 64 && refused == 0; i++) { // until this side is the one that connects
        ufx_uct_ep_h ep = side.new_ep();
        uint8_t nobody[4] = {1, 0, 0, 0};
        std::array<uint8_t, 16> peer;
        peer.fill(0xff);
        REQUIRE(ufx_uct_ep_connect_to_ep(ep, side.device_address().data(), nobody, peer.data()) ==
                UFX_OK);
        for (int turn = 0; turn < 200; turn++) {
            ufx_uct_iface_progress(side.iface);
        }
        refused = static_cast<unsigned>(side.errors.size());
    }
    REQUIRE(refused == 1);
    CHECK(side.errors[0].cause == UFX_UCT_CAUSE_CONN_REFUSED);
}

TEST_CASE("tcp: progress tells acknowledged bytes and whether the network owes an ack", "[tcp]")
{
    tcp_pair pair;
    REQUIRE(ufx_uct_ep_am_short(pair.ep_a, 1, 1, "x", 1) == UFX_OK);
    pair.flush_a();
    ufx_uct_ep_attr_t attr{};
    attr.field_mask =
        UFX_UCT_EP_ATTR_PROGRESS | UFX_UCT_EP_ATTR_OUTSTANDING | UFX_UCT_EP_ATTR_LOCAL_NAME;
    pair.until([&] {
        REQUIRE(ufx_uct_ep_query(pair.ep_a, &attr) == UFX_OK);
        return attr.acked_bytes > 0 && attr.network_unacked == 0;
    });
    CHECK(attr.completed_ops >= 1);
    CHECK(attr.outstanding_ops == 0);
    CHECK(attr.srtt_ns > 0);
    CHECK(std::string(attr.name).find("127.0.0.1") != std::string::npos);
}

TEST_CASE(
    "tcp: a peer that does not read keeps its window shut, which is no sign of a dead network",
    "[tcp]")
{
    tcp_settings small = {{"TCP_SNDBUF", "8kb"}, {"TCP_RCVBUF", "8kb"}};
    tcp_pair pair(small, small);
    remote_memory memory = pair.b.memory(1 << 20, pair.a);
    std::string text = pattern(1 << 20);
    ufx_uct_iov_t iov{text.data(), text.size(), nullptr};
    counted done;
    REQUIRE(ufx_uct_ep_put_zcopy(pair.ep_a, &iov, 1, memory.at(), memory.rkey.rkey, &done) ==
            UFX_INPROGRESS);
    ufx_uct_ep_attr_t attr{};
    attr.field_mask = UFX_UCT_EP_ATTR_PROGRESS;
    until(pair.a, [&, quiet = 0]() mutable {
        REQUIRE(ufx_uct_ep_query(pair.ep_a, &attr) == UFX_OK);
        quiet = attr.network_unacked == 0 ? quiet + 1 : 0;
        return quiet > 1000;
    });
    CHECK(done.calls == 0);
    pair.until([&] { return done.calls == 1; });
    pair.b.release(memory, pair.a);
}

// SPDX-License-Identifier: BSD-3-Clause
// Conformance: handing out what is outstanding, with verdicts.
#include "harness.h"

#include "common/skip.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>

using namespace ufx::test;

namespace {

constexpr uint64_t basic = UFX_UCT_CAP_PURGE | UFX_UCT_CAP_TOKENS | UFX_UCT_CAP_INVALIDATE |
                           UFX_UCT_CAP_PUT_ZCOPY | UFX_UCT_CAP_PUT_SHORT | UFX_UCT_CAP_AM_SHORT |
                           UFX_UCT_CAP_FLUSH;

struct handed {
    ufx_uct_op_desc_t op;
    ufx_uct_verdict_t verdict;
    size_t bytes;
    std::vector<std::byte> header;
    std::vector<std::byte> payload;
    std::vector<ufx_uct_iov_t> iov;
};

// Collects, and refuses before the `stop`-th operation.
struct collector {
    std::vector<handed> all;
    size_t stop = SIZE_MAX;

    static ufx_status_t take(void *arg, const ufx_uct_op_desc_t *op, ufx_uct_verdict_t verdict,
                             size_t bytes) noexcept
    {
        auto *self = static_cast<collector *>(arg);
        if (self->all.size() == self->stop) {
            return UFX_ERR_BUSY;
        }
        handed one{*op, verdict, bytes, {}, {}, {}};
        if (op->header != nullptr) {
            const auto *from = static_cast<const std::byte *>(op->header);
            one.header.assign(from, from + op->header_length);
        }
        if (op->payload != nullptr) {
            const auto *from = static_cast<const std::byte *>(op->payload);
            one.payload.assign(from, from + op->length);
        }
        if (op->iov != nullptr) {
            one.iov.assign(op->iov, op->iov + op->iov_count);
        }
        self->all.push_back(std::move(one));
        return UFX_OK;
    }
};

void close_side(uct_pair &pair, ufx_uct_ep_h ep)
{
    counted quiet;
    ufx_status_t status = ufx_uct_ep_invalidate(ep, &quiet);
    if (status == UFX_INPROGRESS) {
        REQUIRE(pair.wait([&] { return quiet.done(); }));
        status = quiet.result;
    }
    REQUIRE(status == UFX_OK);
}

struct rx {
    uint8_t token[UFX_UCT_TOKEN_MAX];
    size_t length = 0;
    ufx_uct_token_grade_t grade = UFX_UCT_GRADE_OPEN;
};

rx query(uct_pair &pair)
{
    ufx_uct_ep_attr_t attr{};
    attr.field_mask = UFX_UCT_EP_ATTR_TX_TOKEN;
    REQUIRE(ufx_uct_ep_query(pair.ep, &attr) == UFX_OK);
    rx found{};
    REQUIRE(ufx_uct_iface_query_token(pair.b().iface, attr.tx_token, attr.tx_token_len, found.token,
                                      &found.length, &found.grade) == UFX_OK);
    return found;
}

} // namespace

TEST_CASE("uct: purging an ep that never failed is a clear error and changes nothing",
          "[conformance][purge][U05]")
{
    for_each_transport(basic, [](const uct_resource &resource) {
        uct_pair pair(resource);
        remote_memory target(pair, 64);
        local_memory data(pair, 64);
        ufx_uct_iov_t iov = data.iov(0, 64);
        counted put;
        REQUIRE(ufx_uct_ep_put_zcopy(pair.ep, &iov, 1, target.addr(), target.rkey, &put) ==
                UFX_INPROGRESS);
        collector got;
        CHECK(ufx_uct_ep_outstanding_purge(pair.ep, UFX_UCT_GRADE_EXACT, nullptr, 0,
                                           collector::take, &got) == UFX_ERR_INVALID_PARAM);
        CHECK(got.all.empty());
        CHECK(state_of(pair.ep) == UFX_UCT_EP_LIVE);
        REQUIRE(pair.wait([&] { return put.done(); }));
        CHECK(put.result == UFX_OK);
    });
}

TEST_CASE("uct: a transport that cannot purge says UNSUPPORTED", "[conformance][purge]")
{
    int checked = 0;
    for (const uct_resource &resource : conformance_resources()) {
        INFO("transport " << resource.name());
        uct_pair pair(resource);
        if (pair.has(UFX_UCT_CAP_PURGE)) {
            continue;
        }
        const ufx_uct_iface_stats_t before = pair.a().stats();
        collector got;
        CHECK(ufx_uct_ep_outstanding_purge(pair.ep, UFX_UCT_GRADE_EXACT, nullptr, 0,
                                           collector::take, &got) == UFX_ERR_UNSUPPORTED);
        CHECK(pair.a().stats().outstanding_ops == before.outstanding_ops);
        ++checked;
    }
    if (checked == 0) {
        skip("every transport can purge");
    }
}

TEST_CASE("uct: a descriptor has all that a replay needs, in posting order",
          "[conformance][purge][U09]")
{
    for_each_transport(
        basic | UFX_UCT_CAP_AM_ZCOPY | UFX_UCT_CAP_PUT_BCOPY | UFX_UCT_CAP_GET_ZCOPY |
            UFX_UCT_CAP_GET_BCOPY | UFX_UCT_CAP_ATOMIC64_POST | UFX_UCT_CAP_ATOMIC64_CSWAP |
            UFX_UCT_CAP_CHECK,
        [](const uct_resource &resource) {
            uct_pair pair(resource);
            remote_memory target(pair, 4096);
            local_memory data(pair, 4096);
            data.fill(1);
            const std::vector<std::byte> before = data.bytes; // a get may have changed it
            counted comps[6];
            uint64_t result = 0;
            const uint64_t header = 77;
            const char am_header[8] = "seven c";
            pack_source source{data.bytes.data() + 10, 300};
            auto unpack = +[](void *, const void *, size_t) noexcept {};
            ufx_uct_iov_t iov[2] = {data.iov(0, 5), data.iov(100, 50)};
            ufx_uct_ep_h ep = pair.ep;
            // The first one is an am, so a transport that runs short puts at once keeps the rest.
            REQUIRE(ufx_uct_ep_am_short(ep, 9, header, data.bytes.data(), 13) == UFX_OK);
            REQUIRE(ufx_uct_ep_put_short(ep, data.bytes.data() + 1, 21, target.addr(1),
                                         target.rkey) == UFX_OK);
            REQUIRE(ufx_uct_ep_put_bcopy(ep, pack_source::pack, &source, target.addr(2),
                                         target.rkey) == 300);
            REQUIRE(ufx_uct_ep_am_zcopy(ep, 10, am_header, 8, iov, 2, 0, &comps[0]) ==
                    UFX_INPROGRESS);
            REQUIRE(ufx_uct_ep_put_zcopy(ep, iov, 2, target.addr(3), target.rkey, &comps[1]) ==
                    UFX_INPROGRESS);
            REQUIRE(ufx_uct_ep_get_zcopy(ep, iov, 1, target.addr(4), target.rkey, &comps[2]) ==
                    UFX_INPROGRESS);
            REQUIRE(ufx_uct_ep_get_bcopy(ep, unpack, &result, 33, target.addr(5), target.rkey,
                                         &comps[3]) == UFX_INPROGRESS);
            const bool has_xor =
                (pair.a().attr.atomic64_post_ops & (1u << UFX_UCT_ATOMIC_XOR)) != 0;
            const ufx_uct_atomic_op_t posted = has_xor ? UFX_UCT_ATOMIC_XOR : UFX_UCT_ATOMIC_ADD;
            REQUIRE(ufx_uct_ep_atomic64_post(ep, posted, 99, target.addr(8), target.rkey) ==
                    UFX_OK);
            REQUIRE(ufx_uct_ep_atomic64_cswap(ep, 5, 6, &result, target.addr(16), target.rkey,
                                              &comps[4]) == UFX_INPROGRESS);
            REQUIRE(ufx_uct_ep_flush(ep, UFX_UCT_FLUSH_REMOTE, &comps[5]) == UFX_INPROGRESS);
            close_side(pair, ep);
            collector got;
            REQUIRE(ufx_uct_ep_outstanding_purge(ep, UFX_UCT_GRADE_EXACT, nullptr, 0,
                                                 collector::take, &got) == UFX_OK);
            REQUIRE(got.all.size() == 10);
            for (size_t i = 0; i < 10; ++i) {
                CHECK(got.all[i].op.index == got.all[0].op.index + i);
                CHECK(got.all[i].verdict == UFX_UCT_VERDICT_NOT_LANDED);
            }
            const std::byte *bytes = before.data();
            const auto &am = got.all[0];
            CHECK(am.op.kind == UFX_UCT_OP_AM);
            CHECK(am.op.form == UFX_UCT_FORM_SHORT);
            CHECK(am.op.am_id == 9);
            CHECK(std::memcmp(am.header.data(), &header, 8) == 0);
            CHECK(am.payload == std::vector<std::byte>(bytes, bytes + 13));
            const auto &put_short = got.all[1];
            CHECK(put_short.op.kind == UFX_UCT_OP_PUT);
            CHECK(put_short.op.remote_addr == target.addr(1));
            CHECK(put_short.op.rkey == target.rkey);
            CHECK(put_short.payload == std::vector<std::byte>(bytes + 1, bytes + 22));
            const auto &put_bcopy = got.all[2];
            CHECK(put_bcopy.op.form == UFX_UCT_FORM_BCOPY);
            CHECK(put_bcopy.op.length == 300);
            CHECK(put_bcopy.payload == std::vector<std::byte>(bytes + 10, bytes + 310));
            const auto &am_zcopy = got.all[3];
            CHECK(am_zcopy.op.form == UFX_UCT_FORM_ZCOPY);
            CHECK(am_zcopy.op.comp == &comps[0]);
            CHECK(am_zcopy.header.size() == 8);
            CHECK(std::memcmp(am_zcopy.header.data(), am_header, 8) == 0);
            REQUIRE(am_zcopy.iov.size() == 2);
            CHECK(am_zcopy.iov[1].buffer == iov[1].buffer);
            CHECK(am_zcopy.iov[1].length == 50);
            const auto &put_zcopy = got.all[4];
            CHECK(put_zcopy.op.comp == &comps[1]);
            CHECK(put_zcopy.op.length == 55);
            CHECK(put_zcopy.iov[0].buffer == iov[0].buffer);
            const auto &get = got.all[5];
            CHECK(get.op.kind == UFX_UCT_OP_GET);
            CHECK(get.op.remote_addr == target.addr(4));
            CHECK(get.iov.size() == 1);
            CHECK(got.all[6].op.unpack_cb == unpack);
            CHECK(got.all[6].op.unpack_arg == &result);
            CHECK(got.all[6].op.length == 33);
            const auto &post = got.all[7];
            CHECK(post.op.kind == UFX_UCT_OP_ATOMIC_POST);
            CHECK(post.op.atomic_op == posted);
            CHECK(post.op.operand == 99);
            CHECK(post.op.atomic_size == 8);
            const auto &cswap = got.all[8];
            CHECK(cswap.op.kind == UFX_UCT_OP_ATOMIC_FETCH);
            CHECK(cswap.op.atomic_op == UFX_UCT_ATOMIC_CSWAP);
            CHECK(cswap.op.compare == 5);
            CHECK(cswap.op.operand == 6);
            CHECK(cswap.op.result == &result);
            CHECK(got.all[9].op.kind == UFX_UCT_OP_FLUSH_REMOTE);
            CHECK(got.all[9].op.comp == &comps[5]);
            for (const counted &comp : comps) {
                CHECK(comp.calls == 0); // the purge completes nothing
            }
            CHECK(state_of(ep) == UFX_UCT_EP_PURGED);
            CHECK(outstanding(ep) == 0);
        });
}

TEST_CASE("uct: a purge that stops resumes behind what was handed out",
          "[conformance][purge][U07][U12]")
{
    for_each_transport(basic, [](const uct_resource &resource) {
        constexpr size_t count = 6;
        for (size_t stop = 0; stop <= count; ++stop) {
            uct_pair pair(resource);
            remote_memory target(pair, 64);
            local_memory data(pair, 64);
            counted puts(count);
            ufx_uct_iov_t iov = data.iov(0, 8);
            for (size_t i = 0; i < count; ++i) {
                REQUIRE(ufx_uct_ep_put_zcopy(pair.ep, &iov, 1, target.addr(8 * i), target.rkey,
                                             &puts) == UFX_INPROGRESS);
            }
            close_side(pair, pair.ep);
            collector got;
            got.stop = stop;
            ufx_status_t status = ufx_uct_ep_outstanding_purge(pair.ep, UFX_UCT_GRADE_BLIND,
                                                               nullptr, 0, collector::take, &got);
            CHECK(status == (stop == count ? UFX_OK : UFX_ERR_BUSY));
            CHECK(got.all.size() == stop);
            CHECK(outstanding(pair.ep) == count - stop);
            CHECK(state_of(pair.ep) == (stop == count ? UFX_UCT_EP_PURGED : UFX_UCT_EP_DEFERRED));
            if (stop < count) {
                got.stop = SIZE_MAX;
                REQUIRE(ufx_uct_ep_outstanding_purge(pair.ep, UFX_UCT_GRADE_BLIND, nullptr, 0,
                                                     collector::take, &got) == UFX_OK);
            }
            REQUIRE(got.all.size() == count);
            for (size_t i = 0; i < count; ++i) {
                CHECK(got.all[i].op.remote_addr == target.addr(8 * i));
                CHECK(got.all[i].verdict == UFX_UCT_VERDICT_UNKNOWN);
            }
            CHECK(state_of(pair.ep) == UFX_UCT_EP_PURGED);
            CHECK(ufx_uct_ep_outstanding_purge(pair.ep, UFX_UCT_GRADE_BLIND, nullptr, 0,
                                               collector::take, &got) == UFX_ERR_INVALID_PARAM);
            pair.turn(20);
            CHECK(puts.calls == 0);
            CHECK(pair.a().stats().outstanding_ops == 0);
        }
    });
}

TEST_CASE("uct: a token that does not parse changes nothing", "[conformance][purge]")
{
    for_each_transport(basic, [](const uct_resource &resource) {
        uct_pair pair(resource);
        remote_memory target(pair, 64);
        local_memory data(pair, 64);
        counted put;
        ufx_uct_iov_t iov = data.iov(0, 8);
        REQUIRE(ufx_uct_ep_put_zcopy(pair.ep, &iov, 1, target.addr(), target.rkey, &put) ==
                UFX_INPROGRESS);
        close_side(pair, pair.ep);
        std::vector<uint8_t> junk(UFX_UCT_TOKEN_MAX, 0xff);
        collector got;
        CHECK(ufx_uct_ep_outstanding_purge(pair.ep, UFX_UCT_GRADE_EXACT, junk.data(),
                                           pair.a().attr.token_len, collector::take,
                                           &got) == UFX_ERR_BAD_MESSAGE);
        CHECK(ufx_uct_ep_outstanding_purge(pair.ep, UFX_UCT_GRADE_EXACT, junk.data(), 1,
                                           collector::take, &got) == UFX_ERR_BAD_MESSAGE);
        CHECK(got.all.empty());
        CHECK(state_of(pair.ep) == UFX_UCT_EP_DEFERRED);
        CHECK(outstanding(pair.ep) == 1);
    });
}

// The verdicts of puts against the memory, wherever the connection was cut.
TEST_CASE("uct: verdicts say what is in the target's memory", "[conformance][purge][tokens]")
{
    for_each_transport(basic, [](const uct_resource &resource) {
        for (int rounds = 0; rounds < 12; ++rounds) {
            uct_pair pair(resource);
            constexpr size_t count = 5;
            constexpr size_t size = 150 * 1000;
            remote_memory target(pair, count * size);
            std::memset(target.bytes, 0, count * size);
            local_memory data(pair, size);
            std::fill(data.bytes.begin(), data.bytes.end(), std::byte{0xa5});
            std::vector<std::unique_ptr<counted>> comps;
            ufx_uct_iov_t iov = data.iov(0, size);
            for (size_t i = 0; i < count; ++i) {
                comps.push_back(std::make_unique<counted>());
                REQUIRE(ufx_uct_ep_put_zcopy(pair.ep, &iov, 1, target.addr(i * size), target.rkey,
                                             comps.back().get()) == UFX_INPROGRESS);
            }
            pair.turn(rounds);
            close_side(pair, pair.peer);
            const rx found = query(pair);
            REQUIRE(found.grade == UFX_UCT_GRADE_EXACT);
            close_side(pair, pair.ep);
            const auto completed = static_cast<size_t>(
                std::count_if(comps.begin(), comps.end(), [](const auto &c) { return c->done(); }));
            collector got;
            REQUIRE(ufx_uct_ep_outstanding_purge(pair.ep, found.grade, found.token, found.length,
                                                 collector::take, &got) == UFX_OK);
            CHECK(got.all.size() + completed == count);
            for (const handed &op : got.all) {
                const auto *at = reinterpret_cast<const std::byte *>(op.op.remote_addr);
                const auto written =
                    static_cast<size_t>(std::count(at, at + size, std::byte{0xa5}));
                switch (op.verdict) {
                case UFX_UCT_VERDICT_LANDED:
                    CHECK(written == size);
                    break;
                case UFX_UCT_VERDICT_PARTIAL:
                    CHECK(op.bytes > 0);
                    CHECK(op.bytes < size);
                    CHECK(written == op.bytes);
                    CHECK(std::count(at, at + op.bytes, std::byte{0xa5}) ==
                          static_cast<ptrdiff_t>(op.bytes));
                    break;
                case UFX_UCT_VERDICT_NOT_LANDED:
                    CHECK(written == 0);
                    break;
                default:
                    FAIL("a put with an exact token has another verdict");
                }
            }
        }
    });
}

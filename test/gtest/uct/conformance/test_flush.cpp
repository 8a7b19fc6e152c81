// SPDX-License-Identifier: BSD-3-Clause
// Conformance: flush of an ep and of an iface, fence, check.
#include "harness.h"

#include <catch2/catch.hpp>
#include <cstring>

using namespace ufx::test;

namespace {

constexpr uint64_t basic = UFX_UCT_CAP_PUT_ZCOPY | UFX_UCT_CAP_FLUSH;

} // namespace

TEST_CASE("uct: a flush with nothing outstanding is done at once", "[conformance][flush]")
{
    for_each_transport(basic, [](const uct_resource &resource) {
        uct_pair pair(resource);
        counted unused;
        CHECK(ufx_uct_ep_flush(pair.ep, UFX_UCT_FLUSH_LOCAL, &unused) == UFX_OK);
        CHECK(ufx_uct_ep_flush(pair.ep, UFX_UCT_FLUSH_REMOTE, nullptr) == UFX_OK);
        CHECK(ufx_uct_iface_flush(pair.a().iface, UFX_UCT_FLUSH_LOCAL, &unused) == UFX_OK);
        CHECK(ufx_uct_ep_flush(pair.ep, 1u << 30, &unused) == UFX_ERR_INVALID_PARAM);
        CHECK(ufx_uct_iface_flush(pair.a().iface, UFX_UCT_FLUSH_CANCEL, &unused) ==
              UFX_ERR_INVALID_PARAM);
        pair.turn(20);
        CHECK(unused.calls == 0);
    });
}

TEST_CASE("uct: a remote flush ends after all before it is applied", "[conformance][flush]")
{
    for_each_transport(basic, [](const uct_resource &resource) {
        uct_pair pair(resource);
        constexpr size_t size = 200 * 1000;
        remote_memory target(pair, size);
        local_memory data(pair, size);
        data.fill(9);
        ufx_uct_iov_t iov = data.iov(0, size);
        counted put;
        counted flushed;
        REQUIRE(ufx_uct_ep_put_zcopy(pair.ep, &iov, 1, target.addr(), target.rkey, &put) ==
                UFX_INPROGRESS);
        CHECK(ufx_uct_ep_flush(pair.ep, UFX_UCT_FLUSH_REMOTE, nullptr) == UFX_INPROGRESS);
        REQUIRE(ufx_uct_ep_flush(pair.ep, UFX_UCT_FLUSH_REMOTE, &flushed) == UFX_INPROGRESS);
        CHECK(flushed.calls == 0);
        REQUIRE(pair.wait([&] { return flushed.done(); }));
        CHECK(flushed.result == UFX_OK);
        CHECK(put.calls == 1);
        CHECK(std::memcmp(target.bytes, data.bytes.data(), size) == 0);
        pair.turn(20);
        CHECK(flushed.calls == 1);
    });
}

TEST_CASE("uct: an iface flush waits for all its eps", "[conformance][flush]")
{
    for_each_transport(basic, [](const uct_resource &resource) {
        uct_pair pair(resource);
        const auto second = pair.connect();
        remote_memory target(pair, 8192);
        local_memory data(pair, 8192);
        data.fill(9);
        counted first_put;
        counted second_put;
        counted flushed;
        ufx_uct_iov_t iov = data.iov(0, 4096);
        REQUIRE(ufx_uct_ep_put_zcopy(pair.ep, &iov, 1, target.addr(), target.rkey, &first_put) ==
                UFX_INPROGRESS);
        iov = data.iov(4096, 4096);
        REQUIRE(ufx_uct_ep_put_zcopy(second.a, &iov, 1, target.addr(4096), target.rkey,
                                     &second_put) == UFX_INPROGRESS);
        REQUIRE(ufx_uct_iface_flush(pair.a().iface, UFX_UCT_FLUSH_REMOTE, &flushed) ==
                UFX_INPROGRESS);
        REQUIRE(pair.wait([&] { return flushed.done(); }));
        CHECK(first_put.calls == 1);
        CHECK(second_put.calls == 1);
        CHECK(std::memcmp(target.bytes, data.bytes.data(), 8192) == 0);
    });
}

TEST_CASE("uct: flush with CANCEL ends everything once and the ep is dead", "[conformance][flush]")
{
    for_each_transport(basic, [](const uct_resource &resource) {
        uct_pair pair(resource);
        remote_memory target(pair, 64);
        local_memory data(pair, 64);
        counted puts(3);
        ufx_uct_iov_t iov = data.iov(0, 64);
        for (int i = 0; i < 3; ++i) {
            REQUIRE(ufx_uct_ep_put_zcopy(pair.ep, &iov, 1, target.addr(), target.rkey, &puts) ==
                    UFX_INPROGRESS);
        }
        counted canceled;
        counted again;
        REQUIRE(ufx_uct_ep_flush(pair.ep, UFX_UCT_FLUSH_CANCEL, &canceled) == UFX_INPROGRESS);
        REQUIRE(ufx_uct_ep_flush(pair.ep, UFX_UCT_FLUSH_CANCEL, &again) == UFX_INPROGRESS);
        CHECK(puts.calls == 0); // callbacks come from progress
        CHECK(ufx_uct_ep_put_zcopy(pair.ep, &iov, 1, target.addr(), target.rkey, &puts) ==
              UFX_ERR_CANCELED);
        REQUIRE(pair.wait([&] { return canceled.done() && again.done(); }));
        CHECK(puts.calls == 1);
        CHECK(puts.result == UFX_ERR_CANCELED);
        CHECK(canceled.result == UFX_OK);
        CHECK(state_of(pair.ep) == UFX_UCT_EP_DEAD);
        CHECK(pair.a().errors == (pair.loopback() ? 0 : pair.a().errors));
        CHECK(ufx_uct_ep_flush(pair.ep, UFX_UCT_FLUSH_CANCEL, &canceled) == UFX_OK);
        CHECK(outstanding(pair.ep) == 0);
    });
}

TEST_CASE("uct: check ends OK while the peer is there", "[conformance][check]")
{
    for_each_transport(UFX_UCT_CAP_CHECK, [](const uct_resource &resource) {
        uct_pair pair(resource);
        counted done;
        REQUIRE(ufx_uct_ep_check(pair.ep, &done) == UFX_INPROGRESS);
        CHECK(done.calls == 0);
        REQUIRE(pair.wait([&] { return done.done(); }));
        CHECK(done.result == UFX_OK);
    });
}

TEST_CASE("uct: after a fence later puts are applied after earlier ones", "[conformance][fence]")
{
    for_each_transport(UFX_UCT_CAP_FENCE | UFX_UCT_CAP_PUT_SHORT | UFX_UCT_CAP_PUT_ZCOPY,
                       [](const uct_resource &resource) {
                           uct_pair pair(resource);
                           remote_memory target(pair, 70000);
                           local_memory data(pair, 70000);
                           for (unsigned round = 1; round < 20; ++round) {
                               data.fill(round);
                               ufx_uct_iov_t iov = data.iov(0, 70000);
                               counted put;
                               const uint64_t flag = round;
                               REQUIRE(ufx_uct_ep_put_zcopy(pair.ep, &iov, 1, target.addr(),
                                                            target.rkey, &put) == UFX_INPROGRESS);
                               REQUIRE(ufx_uct_ep_fence(pair.ep) == UFX_OK);
                               REQUIRE(ufx_uct_ep_put_short(pair.ep, &flag, 8, target.addr(),
                                                            target.rkey) == UFX_OK);
                               pair.flush();
                               uint64_t seen = 0;
                               std::memcpy(&seen, target.bytes, 8);
                               CHECK(seen == flag);
                           }
                       });
}

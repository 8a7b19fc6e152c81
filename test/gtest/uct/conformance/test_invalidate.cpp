// SPDX-License-Identifier: BSD-3-Clause
// Conformance: closing one side for good.
#include "harness.h"

#include <catch2/catch.hpp>
#include <cstring>

using namespace ufx::test;

namespace {

constexpr uint64_t basic = UFX_UCT_CAP_INVALIDATE | UFX_UCT_CAP_PUT_ZCOPY | UFX_UCT_CAP_AM_SHORT;

// Invalidates and waits until the side is quiet.
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

} // namespace

TEST_CASE("uct: invalidate refuses posts, keeps what is outstanding, runs no handler",
          "[conformance][invalidate]")
{
    for_each_transport(basic, [](const uct_resource &resource) {
        uct_pair pair(resource);
        remote_memory target(pair, 64);
        local_memory data(pair, 64);
        counted puts(2);
        ufx_uct_iov_t iov = data.iov(0, 64);
        for (int i = 0; i < 2; ++i) {
            REQUIRE(ufx_uct_ep_put_zcopy(pair.ep, &iov, 1, target.addr(), target.rkey, &puts) ==
                    UFX_INPROGRESS);
        }
        close_side(pair, pair.ep);
        CHECK(state_of(pair.ep) == UFX_UCT_EP_DEFERRED);
        CHECK(outstanding(pair.ep) == 2);
        CHECK(ufx_uct_ep_am_short(pair.ep, 1, 1, nullptr, 0) == UFX_ERR_SHUTDOWN);
        CHECK(ufx_uct_ep_put_zcopy(pair.ep, &iov, 1, target.addr(), target.rkey, &puts) ==
              UFX_ERR_SHUTDOWN);
        pair.turn(50);
        CHECK(puts.calls == 0);
        CHECK(pair.a().errors == 0);
        close_side(pair, pair.ep); // again: still quiet
    });
}

TEST_CASE("uct: nothing of the peer lands on a side that is quiet", "[conformance][invalidate]")
{
    for_each_transport(basic, [](const uct_resource &resource) {
        uct_pair pair(resource);
        inbox received(pair.b().iface, 1);
        remote_memory target(pair, 300000);
        local_memory data(pair, 300000);
        data.fill(3);
        counted put;
        ufx_uct_iov_t iov = data.iov(0, 300000);
        REQUIRE(ufx_uct_ep_put_zcopy(pair.ep, &iov, 1, target.addr(), target.rkey, &put) ==
                UFX_INPROGRESS);
        REQUIRE(ufx_uct_ep_am_short(pair.ep, 1, 1, nullptr, 0) == UFX_OK);
        ufx_uct_iface_progress(pair.a().iface);
        close_side(pair, pair.peer);
        const std::vector<std::byte> before(target.bytes, target.bytes + 300000);
        const size_t messages = received.messages.size();
        pair.turn(200);
        CHECK(std::memcmp(before.data(), target.bytes, before.size()) == 0);
        CHECK(received.messages.size() == messages);
    });
}

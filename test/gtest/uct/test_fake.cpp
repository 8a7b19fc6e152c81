// SPDX-License-Identifier: BSD-3-Clause
// The scripted transport does what the script says: loss, delay, partial puts, grades.
#include "conformance/harness.h"
#include "uct/fake/fake.h"

#include <catch2/catch.hpp>
#include <cstring>

using namespace ufx::test;
namespace fake = ufx::uct::fake;

namespace {

// A pair on a device of its own, RC-like, with packets of 100 bytes.
struct rail {
    rail() : pair(make()), a(*fake::sides("script").at(0)), b(*fake::sides("script").at(1)) {}

    static uct_resource make()
    {
        for (const uct_resource &resource : conformance_resources()) {
            if (resource.tl == "fake") {
                static bool added = false;
                if (!added) {
                    fake::add_device("script", {.mtu = 100, .max_outstanding = 8});
                    added = true;
                }
                uct_resource mine = resource;
                mine.dev = "script";
                return mine;
            }
        }
        FAIL("fake is not registered");
        return {};
    }

    uct_pair pair;
    fake::side &a;
    fake::side &b;
};

struct verdicts {
    std::vector<ufx_uct_verdict_t> all;
    std::vector<size_t> bytes;

    static ufx_status_t take(void *arg, const ufx_uct_op_desc_t *, ufx_uct_verdict_t verdict,
                             size_t landed) noexcept
    {
        auto *self = static_cast<verdicts *>(arg);
        self->all.push_back(verdict);
        self->bytes.push_back(landed);
        return UFX_OK;
    }
};

// Seals both sides and purges by the peer's token.
verdicts seal(rail &on)
{
    uct_pair &pair = on.pair;
    ufx_uct_ep_attr_t attr{};
    attr.field_mask = UFX_UCT_EP_ATTR_TX_TOKEN;
    REQUIRE(ufx_uct_ep_query(pair.ep, &attr) == UFX_OK);
    REQUIRE(ufx_uct_ep_invalidate(pair.peer, nullptr) == UFX_OK);
    REQUIRE(ufx_uct_ep_invalidate(pair.ep, nullptr) == UFX_OK);
    uint8_t token[UFX_UCT_TOKEN_MAX];
    size_t length = 0;
    ufx_uct_token_grade_t grade{};
    REQUIRE(ufx_uct_iface_query_token(pair.b().iface, attr.tx_token, attr.tx_token_len, token,
                                      &length, &grade) == UFX_OK);
    verdicts got;
    REQUIRE(ufx_uct_ep_outstanding_purge(pair.ep, grade, token, length, verdicts::take, &got) ==
            UFX_OK);
    return got;
}

} // namespace

TEST_CASE("fake: a put is PARTIAL by the packets that were let through")
{
    for (uint64_t packets = 0; packets <= 3; ++packets) {
        rail on;
        remote_memory target(on.pair, 256);
        std::memset(target.bytes, 0, 256);
        local_memory data(on.pair, 250);
        data.fill(1);
        ufx_uct_iov_t iov = data.iov(0, 250); // packets of 100, 100, 50
        counted put;
        on.a.data.allow(packets);
        on.b.acks.lose();
        REQUIRE(ufx_uct_ep_put_zcopy(on.pair.ep, &iov, 1, target.addr(), target.rkey, &put) ==
                UFX_INPROGRESS);
        on.pair.turn(10);
        CHECK(on.a.held_packets() == 3 - packets);
        const size_t landed = packets == 3 ? 250 : packets * 100;
        CHECK(std::memcmp(target.bytes, data.bytes.data(), landed) == 0);
        CHECK((landed == 250 || target.bytes[landed] == std::byte{0}));
        const verdicts got = seal(on);
        REQUIRE(got.all.size() == 1);
        CHECK(got.all[0] == (packets == 0   ? UFX_UCT_VERDICT_NOT_LANDED
                             : packets == 3 ? UFX_UCT_VERDICT_LANDED
                                            : UFX_UCT_VERDICT_PARTIAL));
        CHECK(got.bytes[0] == (packets == 3 ? 0 : landed));
        CHECK(put.calls == 0);
    }
}

TEST_CASE("fake: a read whose answer is lost is RESULT_LOST, and counts its responses")
{
    rail on;
    remote_memory target(on.pair, 512);
    local_memory data(on.pair, 512);
    ufx_uct_iov_t read = data.iov(0, 350); // four responses
    ufx_uct_iov_t write = data.iov(0, 50);
    counted get;
    counted put;
    on.b.acks.lose();
    REQUIRE(ufx_uct_ep_get_zcopy(on.pair.ep, &read, 1, target.addr(), target.rkey, &get) ==
            UFX_INPROGRESS);
    REQUIRE(ufx_uct_ep_put_zcopy(on.pair.ep, &write, 1, target.addr(), target.rkey, &put) ==
            UFX_INPROGRESS);
    counted flushed;
    REQUIRE(ufx_uct_ep_flush(on.pair.ep, UFX_UCT_FLUSH_REMOTE, &flushed) == UFX_INPROGRESS);
    on.pair.turn(10);
    const verdicts got = seal(on);
    CHECK(got.all == std::vector<ufx_uct_verdict_t>{UFX_UCT_VERDICT_RESULT_LOST,
                                                    UFX_UCT_VERDICT_LANDED,
                                                    UFX_UCT_VERDICT_RESULT_LOST});
}

TEST_CASE("fake: a held packet may arrive after its sender is gone, unless the target is sealed")
{
    for (bool sealed : {false, true}) {
        rail on;
        remote_memory target(on.pair, 64);
        std::memset(target.bytes, 0, 64);
        const uint64_t value = 0x0102030405060708;
        on.a.data.hold();
        REQUIRE(ufx_uct_ep_put_short(on.pair.ep, &value, 8, target.addr(), target.rkey) == UFX_OK);
        on.pair.turn(5);
        REQUIRE(ufx_uct_ep_invalidate(on.pair.ep, nullptr) == UFX_OK);
        if (sealed) {
            REQUIRE(ufx_uct_ep_invalidate(on.pair.peer, nullptr) == UFX_OK);
        }
        on.a.data.open();
        on.pair.turn(5);
        uint64_t seen = 0;
        std::memcpy(&seen, target.bytes, 8);
        CHECK(seen == (sealed ? 0 : value));
    }
}

TEST_CASE("fake: errors, events, grades and quiet come when the script says")
{
    rail on;
    CHECK(on.pair.a().errors == 0);
    on.a.tell(UFX_UCT_IFACE_DEVICE_FATAL, UFX_UCT_CAUSE_DEVICE_FATAL);
    on.a.no_resource = true;
    CHECK(ufx_uct_ep_am_short(on.pair.ep, 1, 1, nullptr, 0) == UFX_ERR_NO_RESOURCE);
    on.a.no_resource = false;
    CHECK(on.pair.a().events.empty());
    on.pair.turn(1);
    CHECK(on.pair.a().events ==
          std::vector<ufx_uct_iface_event_type_t>{UFX_UCT_IFACE_DEVICE_FATAL});

    on.pair.a().error_answer = UFX_INPROGRESS;
    on.a.fail_eps({UFX_ERR_ENDPOINT_TIMEOUT, UFX_UCT_CAUSE_RETRY_EXCEEDED});
    CHECK(on.pair.a().errors == 0);
    on.pair.turn(1);
    CHECK(on.pair.a().errors == 1);
    CHECK(on.pair.a().error_cause == UFX_UCT_CAUSE_RETRY_EXCEEDED);
    CHECK(on.pair.b().errors == 0); // its peer notices nothing by itself

    on.a.hold_quiet = true;
    counted quiet;
    CHECK(ufx_uct_ep_invalidate(on.pair.ep, &quiet) == UFX_INPROGRESS);
    on.pair.turn(5);
    CHECK(quiet.calls == 0);
    on.a.hold_quiet = false;
    on.pair.turn(1);
    CHECK(quiet.calls == 1);

    ufx_uct_ep_attr_t attr{};
    attr.field_mask = UFX_UCT_EP_ATTR_TX_TOKEN;
    REQUIRE(ufx_uct_ep_query(on.pair.ep, &attr) == UFX_OK);
    uint8_t token[UFX_UCT_TOKEN_MAX];
    size_t length = 0;
    ufx_uct_token_grade_t grade = UFX_UCT_GRADE_EXACT;
    on.b.token_grade = UFX_UCT_GRADE_BLIND;
    CHECK(ufx_uct_iface_query_token(on.pair.b().iface, attr.tx_token, attr.tx_token_len, token,
                                    &length, &grade) == UFX_OK);
    CHECK(grade == UFX_UCT_GRADE_BLIND);
    on.b.token_grade = UFX_UCT_GRADE_OPEN;
    CHECK(ufx_uct_iface_query_token(on.pair.b().iface, attr.tx_token, attr.tx_token_len, token,
                                    &length, &grade) == UFX_ERR_IO);
    CHECK(grade == UFX_UCT_GRADE_OPEN);
}

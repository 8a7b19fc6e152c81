// SPDX-License-Identifier: BSD-3-Clause
// Rendezvous over the scripted transport: what is sent while nothing can be posted.
#include "data_fake_pair.h"

#include "ucp/control_path.h"
#include "ucp/worker.h"

#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

using ufx::test::fake_pair;
using ufx::test::fill;
using ufx::test::pair;
using ufx::test::waiter;

TEST_CASE(
    "ucp: the answer of a rendezvous that cannot be posted waits, and nothing of it is done twice",
    "[data][fake][L08]")
{
    const bool fetches = GENERATE(false, true);
    INFO((fetches ? "fetched" : "dropped by the handler"));
    fake_pair p;
    struct {
        pair *both;
        bool fetches;
        int calls;
        std::vector<std::byte> into;
        waiter got;
    } receiver{&p, fetches, 0, std::vector<std::byte>(20 * fake_pair::mtu), {}};
    REQUIRE(ufx_ucp_worker_set_am_handler(
                p.b.worker, 9,
                [](void *arg, const ufx_ucp_am_t *am) noexcept -> ufx_status_t {
                    auto *self = static_cast<decltype(receiver) *>(arg);
                    if (++self->calls == 1 && self->fetches) {
                        self->got.posted(ufx_ucp_am_recv_data(
                            self->both->b.worker, const_cast<void *>(am->data), self->into.data(),
                            self->into.size(), &self->got.params, nullptr));
                    }
                    return UFX_OK;
                },
                &receiver) == UFX_OK);
    std::vector<std::byte> payload(receiver.into.size());
    fill(payload.data(), payload.size(), 3);
    waiter sent;
    for (const unsigned rail : {0U, 1U}) {
        p.own(rail).acks.hold(); // the data that the receiver gets
        p.peers(rail).no_resource = !fetches;
    }
    sent.posted(ufx_ucp_am_send(p.a.ep, 9, nullptr, 0, payload.data(), payload.size(),
                                sent.with_flags(UFX_UCP_OP_AM_RNDV), nullptr));
    REQUIRE(p.until([&] { return receiver.calls == 1; }));
    p.rounds(50); // the gets are posted
    for (const unsigned rail : {0U, 1U}) {
        p.peers(rail).no_resource = true; // so nothing can be answered
        p.own(rail).acks.open();
    }
    REQUIRE(p.until([&] { return !fetches || receiver.got.is_done(); }));
    p.rounds(200);
    CHECK(receiver.calls == 1);
    CHECK_FALSE(sent.is_done());
    const auto read = [&] { return p.own(0).acks.passed() + p.own(1).acks.passed(); };
    const std::uint64_t answered = read();
    for (const unsigned rail : {0U, 1U}) {
        p.peers(rail).no_resource = false;
    }
    REQUIRE(p.until_done(sent));
    CHECK(sent.status == UFX_OK);
    p.rounds(100);
    CHECK(sent.calls == 1);
    CHECK(receiver.calls == 1);
    CHECK(read() < answered + 10); // not fetched again: acks of the answer alone
    if (fetches) {
        CHECK(receiver.got.calls == 1);
        CHECK(receiver.got.status == UFX_OK);
        CHECK(receiver.into == payload);
    }
}

TEST_CASE("ucp: a rendezvous that was taken back before it arrived ends as that, whatever comes first",
          "[data][fake]")
{
    using ufx::ucp::core::revoke_ack_msg;
    fake_pair p;
    int calls = 0;
    REQUIRE(ufx_ucp_worker_set_am_handler(
                p.b.worker, 9,
                [](void *arg, const ufx_ucp_am_t *) noexcept -> ufx_status_t {
                    ++*static_cast<int *>(arg);
                    return UFX_OK;
                },
                &calls) == UFX_OK);
    bool revoked = false;
    ufx::ucp::worker::of(p.b.worker).control().filter.copies = [&](auto, const auto &msg) {
        revoked = revoked || std::holds_alternative<revoke_ack_msg>(msg);
        return std::holds_alternative<revoke_ack_msg>(msg) ? 0 : 1; // the answer comes first
    };
    for (unsigned rail : {0U, 1U}) {
        p.own(rail).data.hold();
    }
    const std::vector<std::byte> payload(20 * fake_pair::mtu);
    waiter w;
    w.params.field_mask |= UFX_UCP_OP_PARAM_FLAGS;
    w.params.flags = UFX_UCP_OP_AM_RNDV;
    ufx_ucp_request_h request = nullptr;
    w.posted(ufx_ucp_am_send(p.a.ep, 9, nullptr, 0, payload.data(), payload.size(), &w.params, &request));
    p.rounds(5);
    REQUIRE(ufx_ucp_request_cancel(request) == UFX_OK);
    REQUIRE(p.until([&] { return revoked; }));
    for (unsigned rail : {0U, 1U}) {
        p.own(rail).data.open();
    }
    REQUIRE(p.until_done(w));
    CHECK(w.status == UFX_ERR_CANCELED);
    CHECK(calls == 0);
    ufx::ucp::worker::of(p.b.worker).control().filter.copies = nullptr;
    ufx_ucp_request_free(request);
}

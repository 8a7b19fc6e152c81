// SPDX-License-Identifier: BSD-3-Clause
// Every operation on an ep to the own worker.
#include "data_pair.h"

using ufx::test::fill;
using ufx::test::first_difference;
using ufx::test::pair;
using ufx::test::waiter;

namespace {

// Side `a` of a pair with an ep to itself and a key of its own memory.
struct own_ep {
    pair p;
    ufx_ucp_ep_h ep = nullptr;
    ufx_ucp_rkey_h key = nullptr;
    std::uint64_t address = 0;
    std::vector<std::string> texts;
    unsigned notices = 0;

    own_ep()
    {
        void *bytes = nullptr;
        std::size_t length = 0;
        REQUIRE(ufx_ucp_worker_get_address(p.a.worker, &bytes, &length) == UFX_OK);
        ufx_ucp_ep_params_t params{};
        params.field_mask = UFX_UCP_EP_PARAM_ADDRESS;
        params.address = bytes;
        params.address_length = length;
        REQUIRE(ufx_ucp_ep_create(p.a.worker, &params, &ep) == UFX_OK);
        ufx_ucp_worker_release_address(p.a.worker, bytes);
        REQUIRE(ufx_ucp_rkey_pack(p.a.context, p.a.mem, &bytes, &length) == UFX_OK);
        REQUIRE(ufx_ucp_ep_rkey_unpack(ep, bytes, length, &key) == UFX_OK);
        ufx_ucp_rkey_buffer_release(bytes);
        address = reinterpret_cast<std::uintptr_t>(p.a.memory);
        REQUIRE(ufx_ucp_worker_set_am_handler(p.a.worker, 2, on_am, this) == UFX_OK);
        REQUIRE(ufx_ucp_worker_set_notify_handler(p.a.worker, on_notify, this) == UFX_OK);
    }
    ~own_ep() { ufx_ucp_rkey_destroy(key); }

    static ufx_status_t on_am(void *arg, const ufx_ucp_am_t *am) noexcept
    {
        auto &self = *static_cast<own_ep *>(arg);
        if (self.keep) {
            self.kept = am->data;
            return UFX_INPROGRESS;
        }
        if ((am->flags & UFX_UCP_AM_RNDV) != 0) {
            self.fetched.resize(am->length);
            self.fetch.posted(ufx_ucp_am_recv_data(self.p.a.worker, am->data, self.fetched.data(),
                                                   am->length, &self.fetch.params, nullptr));
            return UFX_INPROGRESS;
        }
        self.texts.emplace_back(static_cast<const char *>(am->data), am->length);
        return UFX_OK;
    }
    static void on_notify(void *arg, ufx_ucp_ep_h, std::uint64_t, const void *,
                          std::size_t) noexcept
    {
        ++static_cast<own_ep *>(arg)->notices;
    }

    bool keep = false;
    void *kept = nullptr;
    std::vector<std::byte> fetched;
    waiter fetch;
};

} // namespace

TEST_CASE("ucp: every operation works on an ep to the own worker", "[data][self]")
{
    own_ep self;
    std::vector<std::byte> local(300000);
    waiter w;
    SECTION("put and get")
    {
        fill(local.data(), local.size(), 1);
        w.posted(ufx_ucp_put(self.ep, local.data(), local.size(), self.address, self.key, &w.params,
                             nullptr));
        REQUIRE(self.p.until_done(w));
        CHECK(first_difference(self.p.a.memory, local.size(), 1) == local.size());
        fill(self.p.a.memory, local.size(), 2);
        waiter get;
        get.posted(ufx_ucp_get(self.ep, local.data(), local.size(), self.address, self.key,
                               &get.params, nullptr));
        REQUIRE(self.p.until_done(get));
        CHECK(first_difference(local.data(), local.size(), 2) == local.size());
    }
    SECTION("messages")
    {
        w.posted(ufx_ucp_am_send(self.ep, 2, nullptr, 0, "hello", 5, &w.params, nullptr));
        REQUIRE(self.p.until_done(w));
        REQUIRE(self.p.until([&] { return self.texts.size() == 1; }));
        CHECK(self.texts[0] == "hello");
    }
    SECTION("rendezvous")
    {
        fill(local.data(), local.size(), 3);
        w.posted(ufx_ucp_am_send(self.ep, 2, nullptr, 0, local.data(), local.size(),
                                 w.with_flags(UFX_UCP_OP_AM_RNDV), nullptr));
        REQUIRE(self.p.until_done(w));
        REQUIRE(self.p.until_done(self.fetch));
        CHECK(first_difference(self.fetched.data(), local.size(), 3) == local.size());
    }
    SECTION("a list with a notification")
    {
        const ufx_ucp_transfer_t one{local.data(), self.address, local.size(), self.key, nullptr};
        const ufx_ucp_notify_t notify{1, nullptr, 0};
        w.posted(ufx_ucp_put_list(self.ep, &one, 1, &notify, &w.params, nullptr));
        REQUIRE(self.p.until_done(w));
        CHECK(self.notices == 1);
    }
    SECTION("atomics")
    {
        std::memset(self.p.a.memory, 0, 8);
        std::uint64_t before = 7;
        w.posted(ufx_ucp_atomic(self.ep, UFX_UCP_ATOMIC_ADD, 5, 0, 8, &before, self.address,
                                self.key, &w.params, nullptr));
        REQUIRE(self.p.until_done(w));
        CHECK(before == 0);
        CHECK(*reinterpret_cast<std::uint64_t *>(self.p.a.memory) == 5);
    }
    CHECK(w.status == UFX_OK);
    CHECK(w.calls == 1);
    waiter flush;
    flush.posted(ufx_ucp_ep_flush(self.ep, &flush.params, nullptr));
    REQUIRE(self.p.until_done(flush));
}

TEST_CASE("ucp: a rendezvous to the own worker can be canceled", "[data][self]")
{
    own_ep self;
    self.keep = true;
    std::vector<std::byte> local(300000);
    waiter w;
    w.with_flags(UFX_UCP_OP_AM_RNDV);
    ufx_ucp_request_h request = nullptr;
    w.posted(
        ufx_ucp_am_send(self.ep, 2, nullptr, 0, local.data(), local.size(), &w.params, &request));
    REQUIRE(self.p.until([&] { return self.kept != nullptr; }));
    REQUIRE(ufx_ucp_request_cancel(request) == UFX_OK); // the peer's answer comes inside the call
    REQUIRE(self.p.until_done(w));
    CHECK(w.status == UFX_ERR_CANCELED);
    CHECK(w.calls == 1);
    ufx_ucp_request_free(request);
    ufx_ucp_am_data_release(self.p.a.worker, self.kept);
    waiter flush;
    flush.posted(ufx_ucp_ep_flush(self.ep, &flush.params, nullptr));
    REQUIRE(self.p.until_done(flush));
}

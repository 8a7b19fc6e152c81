// SPDX-License-Identifier: BSD-3-Clause
// Conformance: active messages.
#include "harness.h"

#include <catch2/catch.hpp>
#include <cstring>

using namespace ufx::test;

namespace {

std::vector<std::byte> message(const void *header, size_t header_length, const std::byte *payload,
                               size_t length)
{
    const auto *from = static_cast<const std::byte *>(header);
    std::vector<std::byte> all(from, from + header_length);
    all.insert(all.end(), payload, payload + length);
    return all;
}

// Posts until accepted; the peer is progressed meanwhile.
template <class Post>
auto must_post(uct_pair &pair, Post post)
{
    auto status = post();
    REQUIRE(pair.wait([&] {
        if (static_cast<int>(status) == UFX_ERR_NO_RESOURCE) {
            status = post();
        }
        return static_cast<int>(status) != UFX_ERR_NO_RESOURCE;
    }));
    return status;
}

} // namespace

TEST_CASE("uct: am_short delivers header and payload of every length", "[conformance][am]")
{
    for_each_transport(UFX_UCT_CAP_AM_SHORT, [](const uct_resource &resource) {
        uct_pair pair(resource);
        inbox received(pair.b().iface, 3);
        const size_t limit = pair.a().attr.am.max_short - 8;
        local_memory data(pair, limit);
        data.fill(1);
        std::vector<size_t> lengths = {0, 1, 7, 8, limit / 2, limit};
        uint64_t header = 0x1122334455667788;
        for (size_t length : lengths) {
            ++header;
            REQUIRE(must_post(pair, [&] {
                        return ufx_uct_ep_am_short(pair.ep, 3, header, data.bytes.data(), length);
                    }) == UFX_OK);
        }
        REQUIRE(pair.wait([&] { return received.messages.size() == lengths.size(); }));
        header = 0x1122334455667788;
        for (size_t i = 0; i < lengths.size(); ++i) {
            ++header;
            CHECK(received.messages[i] == message(&header, 8, data.bytes.data(), lengths[i]));
        }
        CHECK(pair.b().stats().rx_ams == lengths.size());
    });
}

TEST_CASE("uct: am_short beyond the limit or with a bad id is refused", "[conformance][am]")
{
    for_each_transport(UFX_UCT_CAP_AM_SHORT, [](const uct_resource &resource) {
        uct_pair pair(resource);
        inbox received(pair.b().iface, 3);
        local_memory data(pair, pair.a().attr.am.max_short + 1);
        const size_t limit = pair.a().attr.am.max_short - 8;
        CHECK(ufx_uct_ep_am_short(pair.ep, 3, 0, data.bytes.data(), limit + 1) ==
              UFX_ERR_INVALID_PARAM);
        CHECK(ufx_uct_ep_am_short(pair.ep, UFX_UCT_AM_ID_MAX, 0, data.bytes.data(), 8) ==
              UFX_ERR_INVALID_PARAM);
        CHECK(ufx_uct_iface_set_am_handler(pair.a().iface, UFX_UCT_AM_ID_MAX, nullptr, nullptr) ==
              UFX_ERR_INVALID_PARAM);
        CHECK(outstanding(pair.ep) == 0);
        pair.turn(50);
        CHECK(received.messages.empty());
    });
}

TEST_CASE("uct: am_bcopy packs once and delivers", "[conformance][am]")
{
    for_each_transport(UFX_UCT_CAP_AM_BCOPY, [](const uct_resource &resource) {
        uct_pair pair(resource);
        inbox received(pair.b().iface, 31);
        const size_t limit = pair.a().attr.am.max_bcopy;
        local_memory data(pair, limit);
        data.fill(2);
        std::vector<size_t> lengths = {0, 1, 100, limit / 2, limit};
        for (size_t length : lengths) {
            pack_source source{data.bytes.data(), length};
            REQUIRE(must_post(pair, [&] {
                        return ufx_uct_ep_am_bcopy(pair.ep, 31, pack_source::pack, &source, 0);
                    }) == static_cast<ssize_t>(length));
            CHECK(source.calls == 1);
        }
        REQUIRE(pair.wait([&] { return received.messages.size() == lengths.size(); }));
        for (size_t i = 0; i < lengths.size(); ++i) {
            CHECK(received.messages[i] == message(nullptr, 0, data.bytes.data(), lengths[i]));
        }
    });
}

TEST_CASE("uct: am_zcopy gathers header and iov and completes from progress", "[conformance][am]")
{
    for_each_transport(UFX_UCT_CAP_AM_ZCOPY, [](const uct_resource &resource) {
        uct_pair pair(resource);
        inbox received(pair.b().iface, 5);
        const auto &limits = pair.a().attr.am;
        local_memory data(pair, 600);
        data.fill(3);
        char header[16] = "fifteen letters";
        ufx_uct_iov_t iov[3] = {data.iov(0, 100), data.iov(100, 0), data.iov(100, 500)};
        REQUIRE(limits.max_iov >= 3);
        REQUIRE(limits.max_hdr >= sizeof(header));
        counted done;
        REQUIRE(must_post(pair, [&] {
                    return ufx_uct_ep_am_zcopy(pair.ep, 5, header, sizeof(header), iov, 3, 0,
                                               &done);
                }) == UFX_INPROGRESS);
        CHECK(done.calls == 0);
        std::memset(header, 0, sizeof(header)); // copied before the call returned
        REQUIRE(pair.wait([&] { return done.done() && !received.messages.empty(); }));
        CHECK(done.result == UFX_OK);
        CHECK(received.messages[0] == message("fifteen letters", 16, data.bytes.data(), 600));
        counted refused;
        std::vector<ufx_uct_iov_t> many(limits.max_iov + 1, data.iov(0, 1));
        CHECK(ufx_uct_ep_am_zcopy(pair.ep, 5, nullptr, 0, many.data(), many.size(), 0, &refused) ==
              UFX_ERR_INVALID_PARAM);
        pair.turn(20);
        CHECK(refused.calls == 0);
    });
}

TEST_CASE("uct: am_zcopy takes its longest header with its longest payload", "[conformance][am]")
{
    for_each_transport(UFX_UCT_CAP_AM_ZCOPY, [](const uct_resource &resource) {
        uct_pair pair(resource);
        inbox received(pair.b().iface, 5);
        const auto &limits = pair.a().attr.am;
        local_memory data(pair, limits.max_zcopy);
        data.fill(4);
        const std::string header(limits.max_hdr, 'h');
        const ufx_uct_iov_t iov = data.iov(0, limits.max_zcopy);
        counted done;
        REQUIRE(must_post(pair, [&] {
                    return ufx_uct_ep_am_zcopy(pair.ep, 5, header.data(), header.size(), &iov, 1, 0,
                                               &done);
                }) == UFX_INPROGRESS);
        REQUIRE(pair.wait([&] { return done.done() && !received.messages.empty(); }));
        CHECK(done.result == UFX_OK);
        CHECK(received.messages[0] ==
              message(header.data(), header.size(), data.bytes.data(), limits.max_zcopy));
    });
}

TEST_CASE("uct: messages of one ep arrive in order, each once", "[conformance][am]")
{
    for_each_transport(UFX_UCT_CAP_AM_SHORT, [](const uct_resource &resource) {
        uct_pair pair(resource);
        inbox received(pair.b().iface, 0);
        constexpr uint64_t count = 5000;
        for (uint64_t i = 0; i < count; ++i) {
            REQUIRE(must_post(pair, [&] {
                        return ufx_uct_ep_am_short(pair.ep, 0, i, nullptr, 0);
                    }) == UFX_OK);
        }
        REQUIRE(pair.wait([&] { return received.messages.size() >= count; }));
        pair.flush();
        REQUIRE(received.messages.size() == count);
        for (uint64_t i = 0; i < count; ++i) {
            uint64_t got = 0;
            std::memcpy(&got, received.messages[i].data(), 8);
            REQUIRE(got == i);
        }
    });
}

TEST_CASE("uct: a handler may answer, and calling progress there does nothing", "[conformance][am]")
{
    for_each_transport(UFX_UCT_CAP_AM_SHORT, [](const uct_resource &resource) {
        uct_pair pair(resource);
        inbox there(pair.b().iface, 1);
        inbox back(pair.a().iface, 2);
        ufx_status_t answered = UFX_ERR_IO;
        unsigned nested = 1;
        there.on_message = [&] {
            answered = ufx_uct_ep_am_short(pair.peer, 2, 42, nullptr, 0);
            nested = ufx_uct_iface_progress(pair.b().iface);
        };
        REQUIRE(ufx_uct_ep_am_short(pair.ep, 1, 41, nullptr, 0) == UFX_OK);
        REQUIRE(pair.wait([&] { return !back.messages.empty(); }));
        CHECK(answered == UFX_OK);
        CHECK(nested == 0);
        CHECK(there.messages.size() == 1);
    });
}

TEST_CASE("uct: a message without a handler is dropped, the ep lives on", "[conformance][am]")
{
    for_each_transport(UFX_UCT_CAP_AM_SHORT, [](const uct_resource &resource) {
        uct_pair pair(resource);
        inbox received(pair.b().iface, 1);
        REQUIRE(ufx_uct_iface_set_am_handler(pair.b().iface, 1, nullptr, nullptr) == UFX_OK);
        REQUIRE(ufx_uct_ep_am_short(pair.ep, 1, 1, nullptr, 0) == UFX_OK);
        REQUIRE(ufx_uct_ep_am_short(pair.ep, 2, 1, nullptr, 0) == UFX_OK);
        pair.flush();
        CHECK(received.messages.empty());
        CHECK(state_of(pair.ep) == UFX_UCT_EP_LIVE);
        CHECK(pair.a().errors == 0);
    });
}

TEST_CASE("uct: a handler may destroy its own ep", "[conformance][am]")
{
    for_each_transport(UFX_UCT_CAP_AM_SHORT, [](const uct_resource &resource) {
        uct_pair pair(resource);
        inbox received(pair.b().iface, 1);
        received.on_message = [&] { pair.destroy_eps(); };
        for (int i = 0; i < 3; ++i) {
            REQUIRE(ufx_uct_ep_am_short(pair.ep, 1, 1, nullptr, 0) == UFX_OK);
        }
        REQUIRE(pair.wait([&] { return !received.messages.empty(); }));
        pair.turn(20);
        CHECK(received.messages.size() == 1);
        CHECK(pair.a().stats().eps == 0);
        CHECK(pair.b().stats().eps == 0);
    });
}

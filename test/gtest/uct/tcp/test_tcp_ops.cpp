// SPDX-License-Identifier: BSD-3-Clause
// Operations over a tcp connection when nothing fails.
#include "tcp_pair.h"

#include <poll.h>

#include <algorithm>

using namespace ufx::test_tcp;

namespace {

struct pack_arg {
    const std::string &text;
};

size_t pack_text(void *dest, void *arg) noexcept
{
    const std::string &text = static_cast<pack_arg *>(arg)->text;
    std::memcpy(dest, text.data(), text.size());
    return text.size();
}

std::string short_am(uint64_t header, const std::string &payload)
{
    return std::string(reinterpret_cast<char *>(&header), 8) + payload;
}

} // namespace

TEST_CASE("tcp: active messages of every form arrive whole and in order", "[tcp]")
{
    tcp_pair pair;
    std::string small = "hello";
    std::string middle = pattern(5000);
    std::string large = pattern(300000, 2);
    counted done;

    REQUIRE(ufx_uct_ep_am_short(pair.ep_a, 1, 7, small.data(), small.size()) == UFX_OK);
    pack_arg arg{middle};
    REQUIRE(ufx_uct_ep_am_bcopy(pair.ep_a, 2, pack_text, &arg, 0) == 5000);
    ufx_uct_iov_t iov[3] = {{large.data(), 100, nullptr},
                            {large.data() + 100, 0, nullptr},
                            {large.data() + 100, large.size() - 100, nullptr}};
    REQUIRE(ufx_uct_ep_am_zcopy(pair.ep_a, 1, "head!", 5, iov, 3, 0, &done) == UFX_INPROGRESS);
    REQUIRE(ufx_uct_ep_am_short(pair.ep_a, 1, 8, nullptr, 0) == UFX_OK);

    CHECK(done.calls == 0);
    pair.until([&] { return done.calls == 1; });
    pair.flush_a();
    REQUIRE(pair.b.ams.size() == 4);
    CHECK(pair.b.ams[0].data == short_am(7, small));
    CHECK(pair.b.ams[1].id == 2);
    CHECK(pair.b.ams[1].data == middle);
    CHECK(pair.b.ams[2].data == "head!" + large);
    CHECK(pair.b.ams[2].desc);
    CHECK(pair.b.ams[3].data == short_am(8, ""));
    CHECK(done.status == UFX_OK);
}

TEST_CASE("tcp: a kept message stays valid until it is released", "[tcp]")
{
    tcp_pair pair;
    pair.b.keep_ams = true;
    std::string large = pattern(200000);
    for (int i = 0; i < 3; i++) {
        ufx_uct_iov_t iov{large.data(), large.size(), nullptr};
        counted done;
        REQUIRE(ufx_uct_ep_am_zcopy(pair.ep_a, 1, nullptr, 0, &iov, 1, 0, &done) == UFX_INPROGRESS);
        pair.until([&] { return done.calls == 1; });
        large = pattern(200000, static_cast<unsigned>(i + 2));
    }
    REQUIRE(pair.b.kept.size() == 3);
    CHECK(std::memcmp(pair.b.kept[0], pattern(200000, 1).data(), 200000) == 0);
    CHECK(std::memcmp(pair.b.kept[2], pattern(200000, 3).data(), 200000) == 0);
}

TEST_CASE("tcp: puts of every form land, and their completion means that they landed", "[tcp][X07]")
{
    tcp_pair pair;
    remote_memory memory = pair.b.memory(4 << 20, pair.a);
    std::string text = pattern(3000);
    REQUIRE(ufx_uct_ep_put_short(pair.ep_a, text.data(), 100, memory.at(), memory.rkey.rkey) ==
            UFX_OK);
    pack_arg arg{text};
    REQUIRE(ufx_uct_ep_put_bcopy(pair.ep_a, pack_text, &arg, memory.at(1000), memory.rkey.rkey) ==
            3000);
    std::string large = pattern(3 << 20, 3);
    ufx_uct_iov_t iov[2] = {{large.data(), 1, nullptr},
                            {large.data() + 1, large.size() - 1, nullptr}};
    counted done;
    REQUIRE(ufx_uct_ep_put_zcopy(pair.ep_a, iov, 2, memory.at(5001), memory.rkey.rkey, &done) ==
            UFX_INPROGRESS);
    pair.until([&] { return done.calls == 1; });
    CHECK(std::memcmp(memory.bytes.data(), text.data(), 100) == 0);
    CHECK(std::memcmp(memory.bytes.data() + 1000, text.data(), 3000) == 0);
    CHECK(std::memcmp(memory.bytes.data() + 5001, large.data(), large.size()) == 0);
    CHECK(memory.bytes[100] == 0);
    CHECK(memory.bytes[5001 + large.size()] == 0);
    // What was completed is not touched by it any more.
    std::fill(memory.bytes.begin(), memory.bytes.end(), uint8_t{0xee});
    pair.settle();
    CHECK(std::count(memory.bytes.begin(), memory.bytes.end(), 0xee) == 4 << 20);
    pair.b.release(memory, pair.a);
}

TEST_CASE("tcp: gets of every form bring the data before their completion", "[tcp]")
{
    tcp_pair pair;
    remote_memory memory = pair.b.memory(3 << 20, pair.a);
    std::string text = pattern(3 << 20);
    std::memcpy(memory.bytes.data(), text.data(), text.size());

    std::string near(100, '\0');
    counted one;
    REQUIRE(ufx_uct_ep_get_short(pair.ep_a, near.data(), 100, memory.at(3), memory.rkey.rkey,
                                 &one) == UFX_INPROGRESS);
    struct unpacked {
        std::string data;
        counted *comp;
        bool before = false;
    };
    counted two;
    unpacked result{{}, &two};
    auto unpack = [](void *arg, const void *data, size_t length) noexcept {
        auto &to = *static_cast<unpacked *>(arg);
        to.data.assign(static_cast<const char *>(data), length);
        to.before = to.comp->calls == 0;
    };
    REQUIRE(ufx_uct_ep_get_bcopy(pair.ep_a, unpack, &result, 9000, memory.at(11), memory.rkey.rkey,
                                 &two) == UFX_INPROGRESS);
    std::string far(text.size(), '\0');
    ufx_uct_iov_t iov[3] = {{far.data(), 5, nullptr},
                            {far.data() + 5, 0, nullptr},
                            {far.data() + 5, far.size() - 5, nullptr}};
    counted three;
    REQUIRE(ufx_uct_ep_get_zcopy(pair.ep_a, iov, 3, memory.at(), memory.rkey.rkey, &three) ==
            UFX_INPROGRESS);
    pair.until([&] { return one.calls == 1; });
    CHECK(near == text.substr(3, 100));
    pair.until([&] { return two.calls == 1; });
    CHECK(result.data == text.substr(11, 9000));
    CHECK(result.before);
    pair.until([&] { return three.calls == 1; });
    CHECK(far == text);
    pair.b.release(memory, pair.a);
}

TEST_CASE("tcp: a get reads what was there before a later put of the same ep", "[tcp]")
{
    tcp_settings small{{"TCP_SNDBUF", "16kb"}};
    tcp_pair pair(small, small);
    remote_memory memory = pair.b.memory(2 << 20, pair.a);
    std::fill(memory.bytes.begin(), memory.bytes.end(), uint8_t{1});
    std::vector<uint8_t> near(memory.bytes.size());
    std::vector<uint8_t> twos(memory.bytes.size(), 2);
    ufx_uct_iov_t to{near.data(), near.size(), nullptr};
    ufx_uct_iov_t from{twos.data(), twos.size(), nullptr};
    counted done(2);
    REQUIRE(ufx_uct_ep_get_zcopy(pair.ep_a, &to, 1, memory.at(), memory.rkey.rkey, &done) ==
            UFX_INPROGRESS);
    REQUIRE(ufx_uct_ep_put_zcopy(pair.ep_a, &from, 1, memory.at(), memory.rkey.rkey, &done) ==
            UFX_INPROGRESS);
    pair.until([&] { return done.calls == 1; });
    CHECK(std::count(near.begin(), near.end(), 1) == 2 << 20);
    CHECK(memory.bytes == twos);
    pair.b.release(memory, pair.a);
}

TEST_CASE("tcp: atomics of both sizes change remote memory and bring the value before", "[tcp]")
{
    tcp_pair pair;
    remote_memory memory = pair.b.memory(64, pair.a);
    auto at64 = [&](size_t i) { return reinterpret_cast<uint64_t *>(memory.bytes.data())[i]; };
    auto at32 = [&](size_t i) { return reinterpret_cast<uint32_t *>(memory.bytes.data())[i]; };
    ufx_uct_rkey_t rkey = memory.rkey.rkey;
    REQUIRE(ufx_uct_ep_atomic64_post(pair.ep_a, UFX_UCT_ATOMIC_ADD, 40, memory.at(), rkey) ==
            UFX_OK);
    REQUIRE(ufx_uct_ep_atomic32_post(pair.ep_a, UFX_UCT_ATOMIC_OR, 0xf0, memory.at(8), rkey) ==
            UFX_OK);
    uint64_t before64 = 0;
    uint64_t swapped = 0;
    uint32_t before32 = 0;
    uint32_t failed32 = 0;
    counted done(4);
    CHECK(ufx_uct_ep_atomic64_fetch(pair.ep_a, UFX_UCT_ATOMIC_ADD, 2, &before64, memory.at(), rkey,
                                    &done) == UFX_INPROGRESS);
    CHECK(ufx_uct_ep_atomic32_fetch(pair.ep_a, UFX_UCT_ATOMIC_XOR, 0xff, &before32, memory.at(8),
                                    rkey, &done) == UFX_INPROGRESS);
    CHECK(ufx_uct_ep_atomic64_cswap(pair.ep_a, 42, 99, &swapped, memory.at(), rkey, &done) ==
          UFX_INPROGRESS);
    CHECK(ufx_uct_ep_atomic32_cswap(pair.ep_a, 1, 2, &failed32, memory.at(8), rkey, &done) ==
          UFX_INPROGRESS);
    pair.until([&] { return done.calls == 1; });
    CHECK(before64 == 40);
    CHECK(before32 == 0xf0);
    CHECK(swapped == 42);
    CHECK(failed32 == 0x0f);
    CHECK(at64(0) == 99);
    CHECK(at32(2) == 0x0f);
    CHECK(ufx_uct_ep_atomic64_post(pair.ep_a, UFX_UCT_ATOMIC_SWAP, 1, memory.at(), rkey) ==
          UFX_ERR_INVALID_PARAM);
    CHECK(ufx_uct_ep_atomic64_post(pair.ep_a, UFX_UCT_ATOMIC_ADD, 1, memory.at(4), rkey) ==
          UFX_ERR_INVALID_PARAM);
    pair.b.release(memory, pair.a);
}

TEST_CASE("tcp: short writes resume at the right byte in both directions", "[tcp]")
{
    tcp_settings tiny = {{"TCP_SNDBUF", "4kb"}, {"TCP_RCVBUF", "4kb"}};
    tcp_pair pair(tiny, tiny);
    remote_memory at_b = pair.b.memory(1 << 20, pair.a);
    remote_memory at_a = pair.a.memory(1 << 20, pair.b);
    std::string text = pattern(1 << 20);
    std::string back(1 << 20, '\0');
    std::memcpy(at_a.bytes.data(), text.data(), text.size());
    counted done(3);
    ufx_uct_iov_t out{text.data(), text.size(), nullptr};
    ufx_uct_iov_t in{back.data(), back.size(), nullptr};
    REQUIRE(ufx_uct_ep_put_zcopy(pair.ep_a, &out, 1, at_b.at(), at_b.rkey.rkey, &done) ==
            UFX_INPROGRESS);
    REQUIRE(ufx_uct_ep_get_zcopy(pair.ep_b, &in, 1, at_a.at(), at_a.rkey.rkey, &done) ==
            UFX_INPROGRESS);
    REQUIRE(ufx_uct_ep_am_zcopy(pair.ep_b, 1, "h", 1, &in, 0, 0, &done) == UFX_INPROGRESS);
    for (uint64_t i = 0; i < 200; i++) {
        REQUIRE(ufx_uct_ep_am_short(pair.ep_a, 2, i, text.data() + i, i) == UFX_OK);
    }
    pair.until([&] { return done.calls == 1; });
    pair.flush_a();
    CHECK(std::memcmp(at_b.bytes.data(), text.data(), text.size()) == 0);
    CHECK(back == text);
    REQUIRE(pair.b.ams.size() == 200);
    for (uint64_t i = 0; i < 200; i++) {
        CHECK(pair.b.ams[i].data == short_am(i, text.substr(i, i)));
    }
    pair.b.release(at_b, pair.a);
    pair.a.release(at_a, pair.b);
}

TEST_CASE("tcp: a full queue gives NO_RESOURCE without a side effect and recovers", "[tcp][L13]")
{
    tcp_pair pair(tcp_settings{{"TCP_TX_QUEUE", "8"}});
    ufx_uct_iface_attr_t attr{};
    REQUIRE(ufx_uct_iface_query(pair.a.iface, &attr) == UFX_OK);
    REQUIRE(attr.max_outstanding == 8);
    unsigned accepted = 0;
    ufx_status_t status = UFX_OK;
    while ((status = ufx_uct_ep_am_short(pair.ep_a, 1, accepted, nullptr, 0)) == UFX_OK) {
        accepted++;
        REQUIRE(accepted <= 8);
    }
    CHECK(status == UFX_ERR_NO_RESOURCE);
    CHECK(accepted == 8);
    counted done;
    CHECK(ufx_uct_ep_check(pair.ep_a, &done) == UFX_ERR_NO_RESOURCE);
    pair.until([&] { return pair.b.ams.size() == 8; });
    pair.until([&] { return ufx_uct_ep_check(pair.ep_a, &done) == UFX_INPROGRESS; });
    pair.until([&] { return done.calls == 1; });
    CHECK(pair.b.ams.size() == 8);
}

TEST_CASE("tcp: pending requests keep their order and nothing overtakes them", "[tcp][L05][L07]")
{
    tcp_pair pair(tcp_settings{{"TCP_TX_QUEUE", "4"}});
    struct request : ufx_uct_pending_req_t {
        ufx_uct_ep_h ep;
        uint64_t number;
        unsigned tries;
    };
    auto run = [](ufx_uct_pending_req_t *self) noexcept -> ufx_status_t {
        auto &me = *static_cast<request *>(self);
        me.tries++;
        return ufx_uct_ep_am_short(me.ep, 1, me.number, nullptr, 0);
    };
    uint64_t number = 0;
    while (ufx_uct_ep_am_short(pair.ep_a, 1, number, nullptr, 0) == UFX_OK) {
        number++;
    }
    std::vector<request> requests(40);
    for (request &one : requests) {
        one.func = run;
        one.ep = pair.ep_a;
        one.number = number++;
        one.tries = 0;
        REQUIRE(ufx_uct_ep_pending_add(pair.ep_a, &one) == UFX_OK);
    }
    CHECK(ufx_uct_ep_am_short(pair.ep_a, 1, 999, nullptr, 0) == UFX_ERR_NO_RESOURCE);
    pair.until([&] { return pair.b.ams.size() == number; });
    for (uint64_t i = 0; i < number; i++) {
        uint64_t got = 0;
        std::memcpy(&got, pair.b.ams[i].data.data(), 8);
        CHECK(got == i);
    }
}

TEST_CASE("tcp: a sleeper is woken by a message and by its acknowledgement", "[tcp]")
{
    tcp_pair pair;
    auto arm = [&](tcp_side &side) {
        for (int i = 0; i < 1000; i++) {
            if (ufx_uct_iface_event_arm(side.iface, UFX_UCT_EVENT_RECV) == UFX_OK) {
                return true;
            }
            ufx_uct_iface_progress(side.iface);
        }
        return false;
    };
    auto readable = [](tcp_side &side) {
        int fd = -1;
        REQUIRE(ufx_uct_iface_event_fd_get(side.iface, &fd) == UFX_OK);
        pollfd wait{fd, POLLIN, 0};
        return poll(&wait, 1, 5000) == 1;
    };
    pair.settle();
    REQUIRE(arm(pair.b));
    REQUIRE(ufx_uct_ep_am_short(pair.ep_a, 1, 1, nullptr, 0) == UFX_OK);
    REQUIRE(arm(pair.a)); // sends it
    REQUIRE(readable(pair.b));
    ufx_uct_iface_progress(pair.b.iface);
    CHECK(pair.b.ams.size() == 1);
    CHECK(ufx_uct_ep_flush(pair.ep_a, UFX_UCT_FLUSH_LOCAL, nullptr) == UFX_INPROGRESS);
    REQUIRE(arm(pair.b)); // sends the ack
    REQUIRE(readable(pair.a));
    ufx_uct_iface_progress(pair.a.iface);
    CHECK(ufx_uct_ep_flush(pair.ep_a, UFX_UCT_FLUSH_LOCAL, nullptr) == UFX_OK);
}

TEST_CASE("tcp: many eps share an iface fairly", "[tcp]")
{
    tcp_pair pair;
    std::vector<ufx_uct_ep_h> eps(8);
    for (ufx_uct_ep_h &ep : eps) {
        ufx_uct_ep_h other = nullptr;
        pair.connect(ep, other);
    }
    for (uint64_t round = 0; round < 50; round++) {
        for (uint64_t i = 0; i < eps.size(); i++) {
            REQUIRE(ufx_uct_ep_am_short(eps[i], 1, i, nullptr, 0) == UFX_OK);
        }
    }
    pair.until([&] { return pair.b.ams.size() == 400; });
    ufx_uct_iface_stats_t stats{};
    counted done;
    ufx_status_t status = ufx_uct_iface_flush(pair.a.iface, UFX_UCT_FLUSH_LOCAL, &done);
    pair.until([&] { return status == UFX_OK || done.calls == 1; });
    REQUIRE(ufx_uct_iface_query_stats(pair.a.iface, &stats) == UFX_OK);
    CHECK(stats.outstanding_ops == 0);
    CHECK(stats.completed == 400);
    CHECK(stats.eps == 9);
}

TEST_CASE("tcp: an iface whose socket is full sleeps until the peer reads", "[tcp][T14]")
{
    tcp_settings small = {{"TCP_SNDBUF", "8kb"}, {"TCP_RCVBUF", "8kb"}};
    tcp_pair pair(small, small);
    remote_memory memory = pair.b.memory(1 << 20, pair.a);
    std::string text = pattern(1 << 20);
    ufx_uct_iov_t iov{text.data(), text.size(), nullptr};
    counted done;
    REQUIRE(ufx_uct_ep_put_zcopy(pair.ep_a, &iov, 1, memory.at(), memory.rkey.rkey, &done) ==
            UFX_INPROGRESS);
    int fd = -1;
    REQUIRE(ufx_uct_iface_event_fd_get(pair.a.iface, &fd) == UFX_OK);
    auto awake = [&] {
        pollfd entry{fd, POLLIN, 0};
        return ufx_uct_iface_event_arm(pair.a.iface, UFX_UCT_EVENT_SEND_COMP) != UFX_OK ||
               poll(&entry, 1, 0) != 0;
    };
    unsigned sleeps = 0;
    pair.until([&] {
        for (unsigned turns = 0; done.calls == 0 && awake(); turns++) {
            REQUIRE(turns < 10000);
            ufx_uct_iface_progress(pair.a.iface);
        }
        sleeps++;
        return done.calls == 1;
    });
    CHECK(sleeps > 10); // it does not fit into the buffers of the sockets
    CHECK(std::memcmp(memory.bytes.data(), text.data(), text.size()) == 0);
    pair.b.release(memory, pair.a);
}

TEST_CASE("tcp: the two sides may have different segment sizes", "[tcp]")
{
    tcp_pair pair({{"TCP_SEG_SIZE", "1kb"}}, {{"TCP_SEG_SIZE", "256kb"}});
    std::string small = pattern(1024, 1);
    std::string large = pattern(256 * 1024, 2);
    pack_arg small_arg{small};
    pack_arg large_arg{large};
    REQUIRE(ufx_uct_ep_am_bcopy(pair.ep_a, 1, pack_text, &small_arg, 0) == 1024);
    REQUIRE(ufx_uct_ep_am_bcopy(pair.ep_b, 1, pack_text, &large_arg, 0) == 256 * 1024);
    pair.until([&] { return pair.a.ams.size() == 1 && pair.b.ams.size() == 1; });
    CHECK(pair.b.ams[0].data == small);
    CHECK(pair.a.ams[0].data == large);
}

TEST_CASE("tcp: sides that differ in the longest active message refuse each other and say why",
          "[tcp]")
{
    tcp_side a("lo:127.0.0.1", {{"TCP_AM_MAX", "64kb"}});
    tcp_side b("lo:127.0.0.2", {{"TCP_AM_MAX", "128kb"}});
    ufx_uct_ep_h to_b = a.new_ep();
    ufx_uct_ep_h to_a = b.new_ep();
    REQUIRE(ufx_uct_ep_connect_to_ep(to_b, b.device_address().data(), b.iface_address().data(),
                                     ep_address(to_a).data()) == UFX_OK);
    REQUIRE(ufx_uct_ep_connect_to_ep(to_a, a.device_address().data(), a.iface_address().data(),
                                     ep_address(to_b).data()) == UFX_OK);
    auto end = std::chrono::steady_clock::now() + std::chrono::seconds(9); // before a time-out
    while (a.errors.empty() || b.errors.empty()) {
        REQUIRE(std::chrono::steady_clock::now() < end);
        ufx_uct_iface_progress(a.iface);
        ufx_uct_iface_progress(b.iface);
    }
    for (tcp_side *side : {&a, &b}) {
        REQUIRE(side->errors.size() == 1);
        CHECK(side->errors[0].status == UFX_ERR_REJECTED);
        CHECK(side->errors[0].cause == UFX_UCT_CAUSE_CONN_REFUSED);
        CHECK(side->error_texts[0].find("UFX_TCP_AM_MAX") != std::string::npos);
    }
    // A bcopy is an am, too, so a longer segment counts.
    tcp_pair same({{"TCP_AM_MAX", "64kb"}, {"TCP_SEG_SIZE", "128kb"}}, {{"TCP_AM_MAX", "128kb"}});
}

// SPDX-License-Identifier: BSD-3-Clause
// Peers that break off, lie, or are strangers.
#include "raw_peer.h"

#include "ucs/fake_clock.h"

#include <algorithm>

using namespace ufx::test_tcp;

namespace {

wire::remote_key key_of(const remote_memory &memory)
{
    // Of uct/tcp/md.h: an rkey is the address of its key.
    return *reinterpret_cast<const wire::remote_key *>(memory.rkey.rkey);
}

std::string ext_of_get(uint64_t address, wire::remote_key key, uint64_t length)
{
    std::string ext(wire::get_ext_size, '\0');
    wire::encode(wire::get_ext{address, key, length}, reinterpret_cast<std::byte *>(ext.data()));
    return ext;
}

std::string ext_of_atomic(wire::atomic_ext what)
{
    std::string ext(wire::atomic_ext_size, '\0');
    wire::encode(what, reinterpret_cast<std::byte *>(ext.data()));
    return ext;
}

} // namespace

TEST_CASE("tcp: a stream that ends after any byte of a put counts exactly what landed",
          "[tcp][X19]")
{
    std::string payload = pattern(24);
    for (size_t sent = 0; sent <= 40 + payload.size(); sent++) {
        tcp_side side("lo:127.0.0.1");
        remote_memory memory = side.memory(64, side);
        raw_peer peer(side);
        raw_frames frames;
        frames.am(0, "x");
        size_t before = frames.text.size();
        frames.put(1, memory.at(8), key_of(memory), payload);
        peer.send(frames.text.substr(0, before + sent));
        peer.close();
        until(side, [&] { return !side.errors.empty(); });
        CHECK(side.errors[0].cause == UFX_UCT_CAUSE_CONN_RESET);
        CHECK(side.errors[0].status == UFX_ERR_CONNECTION_RESET);
        CHECK(state_of(peer.ep) == UFX_UCT_EP_DEFERRED);
        rx_token token = token_of_raw_peer(side);
        REQUIRE(token.status == UFX_OK);
        size_t landed = sent > 40 ? sent - 40 : 0;
        bool whole = landed == payload.size();
        INFO("sent " << sent);
        CHECK(token.applied == (whole ? 2 : 1));
        CHECK(token.partial == (whole ? 0 : landed));
        CHECK(std::memcmp(memory.bytes.data() + 8, payload.data(), landed) == 0);
        CHECK(std::count(memory.bytes.begin() + 8 + static_cast<ptrdiff_t>(landed),
                         memory.bytes.end(), 0) == static_cast<ptrdiff_t>(56 - landed));
        CHECK(side.ams.size() == 1);
        side.release(memory, side);
    }
}

TEST_CASE("tcp: a reset after any byte of a put fails the ep, and the token tells the memory",
          "[tcp][X19]")
{
    std::string payload = pattern(24);
    for (size_t sent = 0; sent <= 40 + payload.size(); sent += 3) {
        tcp_side side("lo:127.0.0.1");
        remote_memory memory = side.memory(64, side);
        raw_peer peer(side);
        raw_frames frames;
        frames.put(0, memory.at(), key_of(memory), payload);
        peer.send(frames.text.substr(0, sent));
        peer.reset();
        until(side, [&] { return !side.errors.empty(); });
        CHECK(side.errors[0].cause == UFX_UCT_CAUSE_CONN_RESET);
        rx_token token = token_of_raw_peer(side);
        size_t landed = token.applied == 1 ? payload.size() : token.partial;
        CHECK(landed <= sent);
        CHECK(std::memcmp(memory.bytes.data(), payload.data(), landed) == 0);
        CHECK(std::count(memory.bytes.begin() + static_cast<ptrdiff_t>(landed), memory.bytes.end(),
                         0) == static_cast<ptrdiff_t>(64 - landed));
        side.release(memory, side);
    }
}

TEST_CASE("tcp: the end of a stream loses nothing that came before it", "[tcp]")
{
    tcp_side side("lo:127.0.0.1");
    raw_peer peer(side);
    raw_frames frames;
    std::string large = pattern(200000);
    for (uint32_t i = 0; i < 100; i++) {
        frames.am(i, pattern(i * 13, i));
    }
    frames.am(100, large, 2);
    peer.send(frames.text);
    REQUIRE(shutdown(peer.socket, SHUT_WR) == 0);
    until(side, [&] { return !side.errors.empty(); });
    REQUIRE(side.ams.size() == 101);
    CHECK(side.ams[99].data == pattern(99 * 13, 99));
    CHECK(side.ams[100].data == large);
    CHECK(token_of_raw_peer(side).applied == 101);
}

TEST_CASE("tcp: a frame may come in any pieces", "[tcp]")
{
    tcp_side side("lo:127.0.0.1");
    remote_memory memory = side.memory(64, side);
    raw_peer peer(side);
    raw_frames frames;
    frames.am(0, "first").put(1, memory.at(), key_of(memory), "0123456789").am(2, "third");
    for (char byte : frames.text) {
        peer.send(std::string(1, byte));
        for (int i = 0; i < 8; i++) {
            ufx_uct_iface_progress(side.iface);
        }
    }
    until(side, [&] { return side.ams.size() == 2; });
    CHECK(side.ams[0].data == "first");
    CHECK(side.ams[1].data == "third");
    CHECK(std::memcmp(memory.bytes.data(), "0123456789", 10) == 0);
    CHECK(memory.bytes[10] == 0);
    CHECK(side.errors.empty());
    side.release(memory, side);
}

TEST_CASE("tcp: frames that do not parse fail their ep and no other", "[tcp]")
{
    using wire::frame_type;
    struct hostile {
        const char *what;
        std::string bytes;
    };
    tcp_side side("lo:127.0.0.1");
    remote_memory memory = side.memory(64, side);
    wire::remote_key key = key_of(memory);
    std::string reserved = raw_frames().am(0, "").text;
    reserved[2] = 1;
    wire::atomic_ext bad_op{memory.at(), key, 9, 8, 1, 0};
    wire::atomic_ext bad_size{memory.at(), key, 0, 5, 1, 0};
    std::vector<hostile> all = {
        {"type 0", raw_frames().frame({static_cast<frame_type>(0), 0, 0, 0, 0}).text},
        {"type 77", raw_frames().frame({static_cast<frame_type>(77), 0, 0, 0, 0}).text},
        {"reserved bytes", reserved},
        {"am id", raw_frames().am(0, "x", 32).text},
        {"sequence", raw_frames().am(1, "x").text},
        {"sequence again", raw_frames().am(0, "x").am(0, "y").text},
        {"am too long", raw_frames().frame({frame_type::am, 1, 64u << 20, 0, 0}).text},
        {"length", raw_frames().frame({frame_type::put, 0, (1u << 30) + 1, 0, 0}).text},
        {"ack of nothing", raw_frames().frame({frame_type::ack, 0, 0, 0, 1}).text},
        {"ack far ahead", raw_frames().frame({frame_type::ack, 0, 0, 0, 0xffffffff}).text},
        {"ack with payload", raw_frames().frame({frame_type::ack, 0, 8, 0, 0}).text},
        {"data unasked", raw_frames().frame({frame_type::get_data, 0, 0, 0, 0}).text},
        {"value unasked",
         raw_frames().frame({frame_type::atomic_reply, 0, 0, 0, 0}, std::string(8, 'x')).text},
        {"refusal unasked",
         raw_frames().frame({frame_type::error, 0, 0, 0, 0}, std::string(8, 'x')).text},
        {"get too long",
         raw_frames()
             .frame({frame_type::get, 0, 0, 0, 0}, ext_of_get(memory.at(), key, 1ull << 40))
             .text},
        {"atomic op",
         raw_frames().frame({frame_type::atomic, 0, 0, 0, 0}, ext_of_atomic(bad_op)).text},
        {"atomic size",
         raw_frames().frame({frame_type::atomic, 0, 0, 0, 0}, ext_of_atomic(bad_size)).text},
    };
    for (const hostile &one : all) {
        INFO(one.what);
        side.errors.clear();
        raw_peer peer(side);
        peer.send(one.bytes);
        until(side, [&] { return !side.errors.empty(); });
        CHECK(side.errors.size() == 1);
        CHECK(side.errors[0].cause == UFX_UCT_CAUSE_BAD_MESSAGE);
        CHECK(side.errors[0].status == UFX_ERR_BAD_MESSAGE);
        CHECK(peer.read(1).empty()); // closed
        side.close_ep(peer.ep);
    }
    CHECK(std::count(memory.bytes.begin(), memory.bytes.end(), 0) == 64);
    side.release(memory, side);
}

TEST_CASE("tcp: an op with a bad key is answered by a refusal, and nothing after it is applied",
          "[tcp]")
{
    using wire::frame_type;
    tcp_side side("lo:127.0.0.1");
    remote_memory memory = side.memory(64, side);
    remote_memory read_only = side.memory(64, side, UFX_UCT_MEM_ACCESS_REMOTE_GET);
    wire::remote_key key = key_of(memory);
    wire::remote_key wrong_secret = key;
    wrong_secret.secret ^= 1;
    wire::remote_key wrong_generation = key;
    wrong_generation.generation++;
    wire::remote_key wrong_slot = key;
    wrong_slot.slot = 1000;
    wire::atomic_ext misaligned{memory.at(4), key, 0, 8, 1, 0};
    std::vector<std::string> all = {
        raw_frames().put(0, memory.at(), wrong_secret, "12345678").text,
        raw_frames().put(0, memory.at(), wrong_generation, "12345678").text,
        raw_frames().put(0, memory.at(), wrong_slot, "12345678").text,
        raw_frames().put(0, memory.at(57), key, "12345678").text,
        raw_frames().put(0, memory.at() - 1, key, "12345678").text,
        raw_frames().put(0, ~0ull - 3, key, "12345678").text,
        raw_frames().put(0, read_only.at(), key_of(read_only), "12345678").text,
        raw_frames().frame({frame_type::get, 0, 0, 0, 0}, ext_of_get(memory.at(8), key, 57)).text,
        raw_frames().frame({frame_type::atomic, 1, 0, 0, 0}, ext_of_atomic(misaligned)).text,
    };
    for (const std::string &bytes : all) {
        raw_peer peer(side);
        size_t ams = side.ams.size();
        raw_frames after;
        after.put(1, memory.at(), key, "notthis!").am(2, "nor this");
        peer.send(bytes + after.text);
        std::string answer = peer.read(wire::header_size + wire::error_ext_size);
        REQUIRE(answer.size() == wire::header_size + wire::error_ext_size);
        CHECK(answer[0] == static_cast<char>(frame_type::error));
        until(side, [&, turns = 0]() mutable { return ++turns > 100; });
        CHECK(side.ams.size() == ams);
        CHECK(token_of_raw_peer(side).applied == 0);
        CHECK(state_of(peer.ep) == UFX_UCT_EP_LIVE);
        side.close_ep(peer.ep);
    }
    CHECK(std::count(memory.bytes.begin(), memory.bytes.end(), 0) == 64);
    side.release(memory, side);
    side.release(read_only, side);
}

TEST_CASE("tcp: hellos that do not fit are refused with the reason", "[tcp]")
{
    tcp_side side("lo:127.0.0.1");
    ufx_uct_ep_h ep = side.new_ep();
    std::array<uint8_t, 16> own = raw_peer::bytes_of(raw_peer::id);
    REQUIRE(ufx_uct_ep_connect_to_ep(ep, side.device_address().data(), side.iface_address().data(),
                                     own.data()) == UFX_OK);
    auto ask = [&](wire::hello hello) {
        int socket = raw_peer::connect_to(side);
        raw_peer::send_on(socket, raw_peer::text_of(hello));
        wire::hello answer = raw_peer::read_hello_on(socket, side);
        if (answer.kind == wire::hello_kind::refusal) {
            CHECK(raw_peer::read_on(socket, side, 1).empty());
        }
        ::close(socket);
        return answer;
    };
    wire::hello good = raw_peer::good_hello(ep);
    wire::hello hello = good;
    hello.version = 99;
    CHECK(ask(hello).reason == wire::refusal::version);
    hello = good;
    hello.to.id += 1;
    CHECK(ask(hello).reason == wire::refusal::no_such_ep);
    hello = good;
    hello.to.nonce ^= 1;
    CHECK(ask(hello).reason == wire::refusal::no_such_ep);
    hello = good;
    hello.from.id = 2;
    CHECK(ask(hello).reason == wire::refusal::wrong_peer);
    CHECK(state_of(ep) == UFX_UCT_EP_INIT);
    int first = raw_peer::connect_to(side);
    raw_peer::send_on(first, raw_peer::text_of(good));
    CHECK(raw_peer::read_hello_on(first, side).kind == wire::hello_kind::welcome);
    CHECK(ask(good).reason == wire::refusal::already_used);
    CHECK(state_of(ep) == UFX_UCT_EP_LIVE);
    CHECK(side.errors.empty());
    ::close(first);
}

TEST_CASE("tcp: strangers are bounded, disturb nobody and are gone in time", "[tcp]")
{
    ufx::ucs::fake_clock clock;
    tcp_side side("lo:127.0.0.1", {{"TCP_MAX_STRANGERS", "4"}, {"TCP_CONNECT_TIMEOUT", "1s"}});
    std::vector<int> strangers;
    for (int i = 0; i < 20; i++) {
        strangers.push_back(raw_peer::connect_to(side));
        if (i % 3 == 0) {
            raw_peer::send_on(strangers.back(), "GET / HTTP/1.1\r\n\r\n");
        }
        if (i % 3 == 1) {
            raw_peer::send_on(strangers.back(), std::string(100, 'x'));
        }
    }
    raw_peer peer(side); // one of ours gets in all the same
    peer.send(raw_frames().am(0, "hello").text);
    until(side, [&] { return side.ams.size() == 1; });
    clock.advance(std::chrono::seconds(2));
    for (int stranger : strangers) {
        CHECK(raw_peer::read_on(stranger, side, 1).empty()); // each is closed by now
        ::close(stranger);
    }
    CHECK(side.errors.empty());
    CHECK(state_of(peer.ep) == UFX_UCT_EP_LIVE);
}

TEST_CASE("tcp: a connection that comes early waits for its ep, but not for ever", "[tcp]")
{
    ufx::ucs::fake_clock clock;
    tcp_side side("lo:127.0.0.1", {{"TCP_CONNECT_TIMEOUT", "1s"}});
    ufx_uct_ep_h ep = side.new_ep();
    std::array<uint8_t, 16> own = raw_peer::bytes_of(raw_peer::id);
    int early = raw_peer::connect_to(side);
    raw_peer::send_on(early, raw_peer::hello_to(ep));
    until(side, [turns = 0]() mutable { return ++turns > 100; });
    SECTION("its ep is connected in time")
    {
        REQUIRE(ufx_uct_ep_connect_to_ep(ep, side.device_address().data(),
                                         side.iface_address().data(), own.data()) == UFX_OK);
        CHECK(raw_peer::read_hello_on(early, side).kind == wire::hello_kind::welcome);
        CHECK(state_of(ep) == UFX_UCT_EP_LIVE);
    }
    SECTION("its ep is not connected")
    {
        clock.advance(std::chrono::seconds(2));
        wire::hello answer = raw_peer::read_hello_on(early, side);
        CHECK(answer.kind == wire::hello_kind::refusal);
        CHECK(answer.reason == wire::refusal::not_in_time);
        // The side that waits for a connection gives up, too.
        REQUIRE(ufx_uct_ep_connect_to_ep(ep, side.device_address().data(),
                                         side.iface_address().data(), own.data()) == UFX_OK);
        clock.advance(std::chrono::seconds(2));
        until(side, [&] { return !side.errors.empty(); });
        CHECK(side.errors[0].cause == UFX_UCT_CAUSE_TIMED_OUT);
        CHECK(side.errors[0].status == UFX_ERR_ENDPOINT_TIMEOUT);
    }
    ::close(early);
}

namespace {

// Listens with no room for another connection: SYNs get no answer, as on a dead link.
class silent_listener {
public:
    silent_listener()
    {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t length = sizeof(address);
        auto *raw = reinterpret_cast<sockaddr *>(&address);
        REQUIRE(::bind(socket_, raw, length) == 0);
        REQUIRE(::listen(socket_, 0) == 0);
        REQUIRE(::getsockname(socket_, raw, &length) == 0);
        REQUIRE(::connect(filler_, raw, length) == 0);
        port = ntohs(address.sin_port);
    }

    ~silent_listener()
    {
        ::close(socket_);
        ::close(filler_);
    }

    int accept() const { return ::accept4(socket_, nullptr, nullptr, SOCK_NONBLOCK); }

    uint16_t port = 0;

private:
    int socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int filler_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
};

std::string local_name(ufx_uct_ep_h ep)
{
    ufx_uct_ep_attr_t attr{};
    attr.field_mask = UFX_UCT_EP_ATTR_LOCAL_NAME;
    REQUIRE(ufx_uct_ep_query(ep, &attr) == UFX_OK);
    return attr.name;
}

} // namespace

TEST_CASE("tcp: a connect that gets no answer is soon tried again by another socket", "[tcp]")
{
    ufx::ucs::fake_clock clock;
    tcp_side side("lo:127.0.0.1");
    silent_listener silent;
    ufx_uct_ep_h ep = side.new_ep();
    const uint8_t port[4] = {static_cast<uint8_t>(silent.port & 0xff),
                             static_cast<uint8_t>(silent.port >> 8), 0, 0};
    std::array<uint8_t, 16> peer;
    peer.fill(0xff); // larger than any real one: this side connects
    REQUIRE(ufx_uct_ep_connect_to_ep(ep, side.device_address().data(), port, peer.data()) ==
            UFX_OK);
    const std::string first = local_name(ep);
    clock.advance(std::chrono::milliseconds(200)); // not yet
    until(side, [turns = 0]() mutable { return ++turns > 100; });
    CHECK(local_name(ep) == first);
    clock.advance(std::chrono::milliseconds(100));
    until(side, [&] { return local_name(ep) != first; });

    int filler = silent.accept();
    REQUIRE(filler >= 0);
    clock.advance(std::chrono::milliseconds(500));
    int accepted = -1;
    until(side, [&] { return (accepted = silent.accept()) >= 0; });
    CHECK(side.errors.empty());
    ::close(filler);
    ::close(accepted);
}

// SPDX-License-Identifier: BSD-3-Clause
// A hand-driven peer of one tcp ep: it says exactly the bytes that a test gives it.
#ifndef UFX_TEST_UCT_TCP_RAW_PEER_H
#define UFX_TEST_UCT_TCP_RAW_PEER_H

#include "tcp_pair.h"

#include "uct/tcp/wire.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace ufx::test_tcp {

namespace wire = ufx::uct::tcp::wire;

// Bytes of frames, in sequence.
class raw_frames {
public:
    // `length` may lie about the payload.
    raw_frames &frame(wire::header head, const std::string &ext = {},
                      const std::string &payload = {})
    {
        std::string bytes(wire::header_size, '\0');
        wire::encode(head, reinterpret_cast<std::byte *>(bytes.data()));
        text += bytes + ext + payload + std::string(wire::padding(payload.size()), '\0');
        return *this;
    }

    raw_frames &am(uint32_t seq, const std::string &payload, uint8_t id = 1)
    {
        return frame({wire::frame_type::am, id, static_cast<uint32_t>(payload.size()), seq, 0}, {},
                     payload);
    }

    raw_frames &put(uint32_t seq, uint64_t address, wire::remote_key key,
                    const std::string &payload)
    {
        std::string ext(wire::put_ext_size, '\0');
        wire::encode(wire::put_ext{address, key}, reinterpret_cast<std::byte *>(ext.data()));
        return frame({wire::frame_type::put, 0, static_cast<uint32_t>(payload.size()), seq, 0}, ext,
                     payload);
    }

    std::string text;
};

class raw_peer {
public:
    static constexpr wire::conn_id id{1, 0}; // smaller than any real one: this side connects

    // Creates an ep at `side` and connects to it.
    explicit raw_peer(tcp_side &side) : side_(side)
    {
        ep = side.new_ep();
        own_id = bytes_of(id);
        REQUIRE(ufx_uct_ep_connect_to_ep(ep, side.device_address().data(),
                                         side.iface_address().data(), own_id.data()) == UFX_OK);
        socket = connect_to(side);
        send(hello_to(ep));
        wire::hello answer = read_hello();
        REQUIRE(answer.kind == wire::hello_kind::welcome);
        REQUIRE(state_of(ep) == UFX_UCT_EP_LIVE);
    }

    ~raw_peer()
    {
        if (socket >= 0) {
            ::close(socket);
        }
    }

    static int connect_to(tcp_side &side)
    {
        std::array<uint8_t, 20> device = side.device_address();
        std::array<uint8_t, 4> port = side.iface_address();
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(static_cast<uint16_t>(port[0] | port[1] << 8));
        std::memcpy(&to.sin_addr, device.data() + 4, 4);
        int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        REQUIRE(made >= 0);
        REQUIRE(::connect(made, reinterpret_cast<sockaddr *>(&to), sizeof(to)) == 0);
        return made;
    }

    static std::array<uint8_t, 16> bytes_of(const wire::conn_id &from)
    {
        std::array<uint8_t, 16> out{};
        wire::encode(from, reinterpret_cast<std::byte *>(out.data()));
        return out;
    }

    static wire::conn_id id_of(ufx_uct_ep_h ep)
    {
        std::array<uint8_t, 16> address = ep_address(ep);
        return *wire::decode_conn_id(
            {reinterpret_cast<const std::byte *>(address.data()), address.size()});
    }

    static std::string text_of(const wire::hello &hello)
    {
        std::string out(wire::hello_size, '\0');
        wire::encode(hello, std::span<std::byte, wire::hello_size>(
                                reinterpret_cast<std::byte *>(out.data()), wire::hello_size));
        return out;
    }

    static wire::hello good_hello(ufx_uct_ep_h ep)
    {
        return {.am_max = 1 << 20, .from = id, .to = id_of(ep)}; // the default of UFX_TCP_AM_MAX
    }

    static std::string hello_to(ufx_uct_ep_h ep) { return text_of(good_hello(ep)); }

    void send(const std::string &bytes) { send_on(socket, bytes); }

    static void send_on(int to, const std::string &bytes)
    {
        REQUIRE(::send(to, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
                static_cast<ssize_t>(bytes.size()));
    }

    wire::hello read_hello() { return read_hello_on(socket, side_); }

    static wire::hello read_hello_on(int from, tcp_side &side)
    {
        std::string got = read_on(from, side, wire::hello_size);
        REQUIRE(got.size() == wire::hello_size);
        auto hello = wire::decode_hello(std::span<const std::byte, wire::hello_size>(
            reinterpret_cast<const std::byte *>(got.data()), wire::hello_size));
        REQUIRE(hello);
        return *hello;
    }

    // Progresses `side` until `size` bytes or the end of the stream are there.
    static std::string read_on(int from, tcp_side &side, size_t size)
    {
        std::string out;
        auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        while (out.size() < size) {
            REQUIRE(std::chrono::steady_clock::now() < end);
            ufx_uct_iface_progress(side.iface);
            char bytes[4096];
            ssize_t got =
                recv(from, bytes, std::min(sizeof(bytes), size - out.size()), MSG_DONTWAIT);
            if (got == 0 || (got < 0 && errno != EAGAIN)) {
                break;
            }
            out.append(bytes, got > 0 ? static_cast<size_t>(got) : 0);
        }
        return out;
    }

    std::string read(size_t size) { return read_on(socket, side_, size); }

    // Nothing more to read; what was sent before arrives first.
    void close()
    {
        ::close(socket);
        socket = -1;
    }

    void reset()
    {
        linger now{1, 0};
        REQUIRE(setsockopt(socket, SOL_SOCKET, SO_LINGER, &now, sizeof(now)) == 0);
        close();
    }

    ufx_uct_ep_h ep = nullptr;
    int socket = -1;
    std::array<uint8_t, 16> own_id{};

private:
    tcp_side &side_;
};

// Progresses one side until the condition holds.
template <class Condition>
void until(tcp_side &side, Condition &&condition)
{
    auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!condition()) {
        REQUIRE(std::chrono::steady_clock::now() < end);
        ufx_uct_iface_progress(side.iface);
    }
}

inline rx_token token_of_raw_peer(tcp_side &side)
{
    std::array<uint8_t, 16> tx = raw_peer::bytes_of(raw_peer::id);
    std::array<uint8_t, UFX_UCT_TOKEN_MAX> bytes{};
    size_t length = 0;
    rx_token out{};
    out.status = ufx_uct_iface_query_token(side.iface, tx.data(), tx.size(), bytes.data(), &length,
                                           &out.grade);
    std::memcpy(&out.applied, bytes.data(), 8);
    std::memcpy(&out.partial, bytes.data() + 8, 8);
    return out;
}

} // namespace ufx::test_tcp

#endif

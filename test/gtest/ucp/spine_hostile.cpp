// SPDX-License-Identifier: BSD-3-Clause
// What strangers send to the control port, and a process that is out of descriptors.
#include "lone.h"

#include "ucp/control_path.h"
#include "ucs/fd.h"
#include "ucs/log_capture.h"

#include <cerrno>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

namespace ufx::test {

namespace {

// No descriptor is left from construction to destruction.
class no_descriptors {
public:
    no_descriptors()
    {
        REQUIRE(::getrlimit(RLIMIT_NOFILE, &before_) == 0);
        const int lowest_free = ::dup(0);
        REQUIRE(lowest_free >= 0);
        ::close(lowest_free);
        rlimit tight = before_;
        tight.rlim_cur = static_cast<rlim_t>(lowest_free);
        REQUIRE(::setrlimit(RLIMIT_NOFILE, &tight) == 0);
    }
    ~no_descriptors() { (void)::setrlimit(RLIMIT_NOFILE, &before_); }
    no_descriptors(const no_descriptors &) = delete;
    no_descriptors &operator=(const no_descriptors &) = delete;

private:
    rlimit before_{};
};

} // namespace

TEST_CASE("without descriptors a connection is closed at once, and keeps nobody awake", "[spine]")
{
    lone one;
    const sockaddr_storage gate = one.w().control().address_of(0);
    const ucs::fd stranger(::socket(AF_INET, SOCK_STREAM, 0));
    REQUIRE(::connect(stranger.get(), reinterpret_cast<const sockaddr *>(&gate),
                      sizeof(sockaddr_in)) == 0);
    ucs::log_capture log;
    {
        const no_descriptors scarce;
        REQUIRE(turn({&one}, [&] { return log.count("no descriptor left") == 1; }));
        REQUIRE(turn({&one}, [&] { return ufx_ucp_worker_arm(one.handle) == UFX_OK; }));
    }
    char byte = 0;
    CHECK(::recv(stranger.get(), &byte, 1, 0) <= 0);
    CHECK(log.count("no descriptor left") == 1);
}

TEST_CASE("hostile bytes on the control port end that connection and nothing else", "[spine][T09]")
{
    lone a;
    lone b;
    const ufx_ucp_ep_h ep = a.connect(b);
    REQUIRE(turn({&a, &b}, [&] { return live_lanes(ep) == 2; }));
    const sockaddr_storage at = b.w().control().address_of(0);
    std::vector<std::vector<std::uint8_t>> attacks;
    attacks.push_back(std::vector<std::uint8_t>(64, 0));
    attacks.push_back({'U', 'F', 'X', 'C', 0xff, 0xff, 0xff, 0x7f});
    attacks.push_back({'U', 'F', 'X', 'C', 4, 0, 0, 0, 1, 200, 3, 4});
    attacks.push_back({'G', 'E', 'T', ' ', '/', '\r', '\n', '\r', '\n'});
    for (const auto &bytes : attacks) {
        const ucs::fd socket(::socket(AF_INET, SOCK_STREAM, 0));
        REQUIRE(::connect(socket.get(), reinterpret_cast<const sockaddr *>(&at),
                          sizeof(sockaddr_in)) == 0);
        REQUIRE(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
                static_cast<ssize_t>(bytes.size()));
        REQUIRE(::fcntl(socket.get(), F_SETFL, O_NONBLOCK) == 0);
        char byte = 0;
        REQUIRE(turn({&a, &b}, [&] {
            const ssize_t got = ::recv(socket.get(), &byte, 1, 0);
            return got == 0 || (got < 0 && errno == ECONNRESET);
        }));
    }
    CHECK(live_lanes(ep) == 2);
    CHECK(b.w().control().open_connections(a.w().uuid()) == 1);
}

TEST_CASE("workers that connect and make no ep are sent away when they are too many", "[spine]")
{
    lone one;
    const ucs::log_capture log;
    one.w().control().max_guests = 2;
    const sockaddr_storage at = one.w().control().address_of(0);
    std::vector<ucs::fd> guests;
    for (std::uint64_t uuid = 1; uuid <= 4; ++uuid) {
        ucs::fd socket(::socket(AF_INET, SOCK_STREAM, 0));
        REQUIRE(::connect(socket.get(), reinterpret_cast<const sockaddr *>(&at),
                          sizeof(sockaddr_in)) == 0);
        ucp::worker_address address = one.w().make_address();
        address.uuid = uuid;
        ucp::core::hello_msg hello;
        hello.address = ucp::encode(address);
        const auto bytes = ucp::frame_control({uuid, one.w().uuid()}, hello);
        REQUIRE(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
                static_cast<ssize_t>(bytes.size()));
        REQUIRE(::fcntl(socket.get(), F_SETFL, O_NONBLOCK) == 0);
        char byte = 0;
        ssize_t got = -1;
        REQUIRE(turn({&one}, [&] {
            got = ::recv(socket.get(), &byte, 1, 0); // an answer, or the end
            return got >= 0 || errno == ECONNRESET;
        }));
        CHECK((got > 0) == (uuid <= 2));
        guests.push_back(std::move(socket));
    }
    CHECK(one.w().peers().size() == 2);
    CHECK(log.count("further ones are sent away") == 1);
    lone other; // who is asked for is no guest
    const ufx_ucp_ep_h ep = one.connect(other);
    CHECK(turn({&one, &other}, [&] { return live_lanes(ep) == 2; }));
}

TEST_CASE("a peer of another version is told so and fails with VERSION", "[spine][T08]")
{
    lone a;
    const ucs::fd gate(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::bind(gate.get(), reinterpret_cast<sockaddr *>(&at), sizeof(at)) == 0);
    REQUIRE(::listen(gate.get(), 4) == 0);
    socklen_t size = sizeof(at);
    REQUIRE(::getsockname(gate.get(), reinterpret_cast<sockaddr *>(&at), &size) == 0);
    (void)a.connect(at);
    ucs::fd conn;
    REQUIRE(turn({&a}, [&] {
        conn.reset(::accept(gate.get(), nullptr, nullptr));
        return conn.valid();
    }));
    ucp::core::hello_msg hello;
    hello.min_version = 7;
    hello.max_version = 9;
    hello.is_reply = true;
    auto bytes = ucp::frame_control({42, a.w().uuid()}, hello);
    SECTION("in its HELLO") {}
    SECTION("in every message")
    {
        bytes[ucp::control_frame_size] = 9;
    }
    REQUIRE(::send(conn.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(bytes.size()));
    REQUIRE(turn({&a}, [&] { return !a.events.empty(); }));
    CHECK(a.events[0].status == UFX_ERR_VERSION);
    CHECK(a.events[0].refusal == UFX_UCP_REFUSED_VERSION);
}

} // namespace ufx::test

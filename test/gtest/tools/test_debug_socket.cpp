// SPDX-License-Identifier: BSD-3-Clause
// The socket by which ufx_info asks a live process.
#include <catch2/catch.hpp>

#include "ucp/debug_socket.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

namespace {

unsigned umask_calls = 0;

} // namespace

// The umask belongs to the whole process: nobody here may change it, not even for a moment.
extern "C" mode_t umask(mode_t mask) noexcept
{
    ++umask_calls;
    return static_cast<mode_t>(::syscall(SYS_umask, mask));
}

using ufx::ucp::debug_socket;
using ufx::ucs::fd;

namespace {

struct place {
    place()
    {
        char name[] = "/tmp/ufx-test-XXXXXX";
        REQUIRE(::mkdtemp(name) != nullptr);
        root = name;
        path = root + "/sockets/1.sock";
    }
    ~place() { std::system(("rm -rf " + root).c_str()); }
    std::string root, path;
};

fd connect_to(const std::string &path)
{
    fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0));
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, path.c_str());
    REQUIRE(::connect(socket.get(), reinterpret_cast<sockaddr *>(&address), sizeof(address)) == 0);
    return socket;
}

void say(const fd &client, const std::string &text)
{
    REQUIRE(::send(client.get(), text.data(), text.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(text.size()));
}

/** Progress until EOF, or for a while. */
std::string hear(const fd &client, debug_socket &server, bool *eof = nullptr)
{
    std::string text;
    char buffer[4096];
    for (int i = 0; i < 10000; i++) {
        server.progress();
        const ssize_t n = ::recv(client.get(), buffer, sizeof(buffer), 0);
        if (n == 0) {
            if (eof != nullptr) {
                *eof = true;
            }
            return text;
        }
        text.append(buffer, n > 0 ? static_cast<size_t>(n) : 0);
    }
    return text;
}

std::string echo(std::string_view request)
{
    return "you said " + std::string(request) + "\n";
}

} // namespace

TEST_CASE("debug socket: answers a line and closes", "[tools]")
{
    const place here;
    auto server = debug_socket::create(here.path, echo);
    REQUIRE(server);
    CHECK(umask_calls == 0);
    struct stat info = {};
    REQUIRE(::stat(here.path.c_str(), &info) == 0);
    CHECK((info.st_mode & 0777) == 0600);
    REQUIRE(::stat((here.root + "/sockets").c_str(), &info) == 0);
    CHECK((info.st_mode & 0777) == 0700);

    const fd client = connect_to(here.path);
    say(client, "dump ");
    (*server)->progress();
    (*server)->progress();
    say(client, "text\n");
    bool eof = false;
    CHECK(hear(client, **server, &eof) == "you said dump text\n");
    CHECK(eof);
    server->reset();
    CHECK(::stat(here.path.c_str(), &info) != 0);
}

TEST_CASE("debug socket: a long answer comes whole, without blocking", "[tools]")
{
    const place here;
    const std::string much(3 << 20, 'x');
    auto server = debug_socket::create(here.path, [&](std::string_view) { return much; });
    REQUIRE(server);
    const fd client = connect_to(here.path);
    say(client, "dump json\n");
    bool eof = false;
    CHECK(hear(client, **server, &eof) == much);
    CHECK(eof);
}

TEST_CASE("debug socket: a client whose answer cannot be made is dropped, others are served",
          "[tools]")
{
    const place here;
    bool has_memory = false;
    auto server = debug_socket::create(here.path, [&](std::string_view request) {
        return has_memory ? echo(request) : throw std::bad_alloc();
    });
    REQUIRE(server);
    const fd unlucky = connect_to(here.path);
    say(unlucky, "dump\n");
    bool eof = false;
    CHECK(hear(unlucky, **server, &eof).empty());
    CHECK(eof);
    has_memory = true;
    const fd client = connect_to(here.path);
    say(client, "dump\n");
    CHECK(hear(client, **server) == "you said dump\n");
}

TEST_CASE("debug socket: hostile clients are dropped, others are served", "[tools]")
{
    const place here;
    auto server = debug_socket::create(here.path, echo);
    REQUIRE(server);
    fd gone = connect_to(here.path);
    say(gone, "du");
    gone.reset();
    const fd talker = connect_to(here.path);
    say(talker, std::string(debug_socket::request_max, 'a'));
    CHECK_THAT(hear(talker, **server), Catch::StartsWith("error: "));
    std::vector<fd> silent;
    for (size_t i = 0; i < debug_socket::clients_max; i++) {
        silent.push_back(connect_to(here.path));
        (*server)->progress();
    }
    bool eof = false;
    const fd surplus = connect_to(here.path);
    CHECK(hear(surplus, **server, &eof).empty());
    CHECK(eof);
    silent.clear();
    (*server)->progress();
    const fd client = connect_to(here.path);
    say(client, "dump\n");
    CHECK(hear(client, **server) == "you said dump\n");
}

TEST_CASE("debug socket: replaces a dead one, spares a live one, refuses an open folder", "[tools]")
{
    const place here;
    auto first = debug_socket::create(here.path, echo);
    REQUIRE(first);
    CHECK(debug_socket::create(here.path, echo).status() == UFX_ERR_ALREADY_EXISTS);
    CHECK(debug_socket::create("name", echo).status() == UFX_ERR_INVALID_PARAM);
    CHECK(debug_socket::create("/" + std::string(200, 'a'), echo).status() ==
          UFX_ERR_INVALID_PARAM);
    first->reset();
    // A socket file without anybody behind it.
    const fd dead(::socket(AF_UNIX, SOCK_STREAM, 0));
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, here.path.c_str());
    REQUIRE(::bind(dead.get(), reinterpret_cast<sockaddr *>(&address), sizeof(address)) == 0);
    CHECK(debug_socket::create(here.path, echo));
    REQUIRE(::chmod((here.root + "/sockets").c_str(), 0777) == 0);
    CHECK(debug_socket::create(here.path, echo).status() == UFX_ERR_IO);
}

TEST_CASE("debug socket: is found by the process id", "[tools]")
{
    CHECK(debug_socket::path_of("/run/x", 12) == "/run/x/12.sock");
    CHECK_THAT(debug_socket::path_of("", 12),
               Catch::EndsWith("/ufx-" + std::to_string(::geteuid()) + "/12.sock"));
}

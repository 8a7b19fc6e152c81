// SPDX-License-Identifier: BSD-3-Clause
// The addresses of sockets, and who listens where.
#include "stepped_sockets.h"

#include "next.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <netinet/in.h>
#include <string_view>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

namespace ufx::swhca::shim {

namespace {

constexpr uint16_t first_free_port = 20000;
constexpr int buffer_bytes = 8192; // the kernel doubles it; small, so that much waits for its turn

using address = sockaddr_storage;

constinit next_function<int (*)(int, int, int)> real_socket("socket");
constinit next_function<int (*)(int, const sockaddr *, socklen_t)> real_bind("bind");
constinit next_function<int (*)(int, int)> real_listen("listen");
constinit next_function<int (*)(int, const sockaddr *, socklen_t)> real_connect("connect");
constinit next_function<int (*)(int, sockaddr *, socklen_t *, int)> real_accept4("accept4");

struct connection {
    address from{}, to{};
};

struct endpoint {
    address own{}, peer{};
    bool listens = false;
    std::deque<connection> coming; // of one that listens, in their order
};

struct network {
    std::mutex lock; // of all below
    std::map<int, endpoint> endpoints;
    uint16_t next_port = first_free_port;
};

network &all()
{
    static auto *const made = new network; // never destroyed: sockets are closed at exit
    return *made;
}

in_port_t &port_of(address &of) noexcept
{
    return of.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6 &>(of).sin6_port
                                    : reinterpret_cast<sockaddr_in &>(of).sin_port;
}

std::string_view ip_of(const address &of) noexcept
{
    const auto &four = reinterpret_cast<const sockaddr_in &>(of).sin_addr;
    const auto &six = reinterpret_cast<const sockaddr_in6 &>(of).sin6_addr;
    return of.ss_family == AF_INET6
               ? std::string_view(reinterpret_cast<const char *>(&six), sizeof(six))
               : std::string_view(reinterpret_cast<const char *>(&four), sizeof(four));
}

bool is_any(const address &of) noexcept
{
    const std::string_view ip = ip_of(of);
    return std::all_of(ip.begin(), ip.end(), [](char each) { return each == 0; });
}

socklen_t size_of(const address &of) noexcept
{
    return of.ss_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
}

bool read(const sockaddr *from, socklen_t length, address &to) noexcept
{
    to = {};
    if (from == nullptr || (from->sa_family != AF_INET && from->sa_family != AF_INET6) ||
        length < (from->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6))) {
        return false;
    }
    std::memcpy(&to, from, std::min<size_t>(length, sizeof(to)));
    return true;
}

void give(const address &from, sockaddr *to, socklen_t *length) noexcept
{
    if (to != nullptr && length != nullptr) {
        std::memcpy(to, &from, std::min(*length, size_of(from)));
        *length = size_of(from);
    }
}

// A descriptor is the name: it is the listener's alone as long as it listens.
sockaddr_un name_of(int listener, socklen_t &length) noexcept
{
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    const int size = std::snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "ufx_swhca.%d.%d",
                                   ::getpid(), listener);
    length =
        static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<size_t>(size));
    return name;
}

// Under the lock: the one that listens there, or end().
auto find_listener(network &in, address &at)
{
    return std::find_if(in.endpoints.begin(), in.endpoints.end(), [&](auto &each) {
        endpoint &one = each.second;
        return one.listens && one.own.ss_family == at.ss_family &&
               port_of(one.own) == port_of(at) && (is_any(one.own) || ip_of(one.own) == ip_of(at));
    });
}

void limit_buffer(int number) noexcept
{
    (void)::syscall(SYS_setsockopt, number, SOL_SOCKET, SO_SNDBUF, &buffer_bytes,
                    sizeof(buffer_bytes));
}

int fail(int error) noexcept
{
    errno = error;
    return -1;
}

} // namespace

bool is_stepped_program() noexcept
{
    static const bool answer = [] {
        const char *name = ::secure_getenv("UFX_SWHCA_ENGINE");
        return name != nullptr && std::string_view(name) == "step";
    }();
    return answer;
}

bool is_stepped_socket(int number) noexcept
{
    if (!is_stepped_program()) {
        return false;
    }
    network &in = all();
    const std::lock_guard guard(in.lock);
    return in.endpoints.count(number) != 0;
}

int open_stepped(int family, int type)
{
    const int number = real_socket.get()(AF_UNIX, type, 0);
    if (number >= 0) {
        limit_buffer(number);
        network &in = all();
        const std::lock_guard guard(in.lock);
        in.endpoints[number] = {};
        in.endpoints[number].own.ss_family = static_cast<sa_family_t>(family);
    }
    return number;
}

int bind_stepped(int number, const sockaddr *to, socklen_t length)
{
    address wanted;
    if (!read(to, length, wanted)) {
        return fail(EINVAL);
    }
    network &in = all();
    const std::lock_guard guard(in.lock);
    if (port_of(wanted) == 0) {
        port_of(wanted) = htons(in.next_port++);
    } else if (find_listener(in, wanted) != in.endpoints.end()) {
        return fail(EADDRINUSE);
    }
    in.endpoints[number].own = wanted;
    return 0;
}

int listen_stepped(int number, int backlog)
{
    socklen_t length = 0;
    const sockaddr_un name = name_of(number, length);
    if (real_bind.get()(number, reinterpret_cast<const sockaddr *>(&name), length) != 0 ||
        real_listen.get()(number, backlog) != 0) {
        return -1;
    }
    network &in = all();
    const std::lock_guard guard(in.lock);
    in.endpoints[number].listens = true;
    return 0;
}

int connect_stepped(int number, const sockaddr *to, socklen_t length)
{
    address wanted;
    if (!read(to, length, wanted)) {
        return fail(EINVAL);
    }
    network &in = all();
    const std::lock_guard guard(in.lock);
    const auto found = find_listener(in, wanted);
    if (found == in.endpoints.end()) {
        return fail(ECONNREFUSED);
    }
    socklen_t size = 0;
    const sockaddr_un name = name_of(found->first, size);
    if (real_connect.get()(number, reinterpret_cast<const sockaddr *>(&name), size) != 0) {
        return fail(ECONNREFUSED); // its backlog is full
    }
    endpoint &one = in.endpoints[number];
    if (port_of(one.own) == 0) {
        one.own = wanted;
        port_of(one.own) = htons(in.next_port++);
    }
    one.peer = wanted;
    found->second.coming.push_back({one.own, wanted});
    return 0;
}

int accept_stepped(int number, sockaddr *from, socklen_t *length, int flags)
{
    const int made = real_accept4.get()(number, nullptr, nullptr, flags);
    if (made < 0) {
        return made;
    }
    limit_buffer(made);
    network &in = all();
    const std::lock_guard guard(in.lock);
    std::deque<connection> &coming = in.endpoints[number].coming;
    endpoint &one = in.endpoints[made] = {};
    if (!coming.empty()) {
        one.own = coming.front().to;
        one.peer = coming.front().from;
        coming.pop_front();
    }
    give(one.peer, from, length);
    return made;
}

int name_stepped(int number, bool of_peer, sockaddr *name, socklen_t *length)
{
    network &in = all();
    const std::lock_guard guard(in.lock);
    const endpoint &one = in.endpoints[number];
    if (of_peer && one.peer.ss_family == 0) {
        return fail(ENOTCONN);
    }
    give(of_peer ? one.peer : one.own, name, length);
    return 0;
}

void forget_stepped(int number) noexcept
{
    if (is_stepped_program()) {
        network &in = all();
        const std::lock_guard guard(in.lock);
        in.endpoints.erase(number);
    }
}

} // namespace ufx::swhca::shim

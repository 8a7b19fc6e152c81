// SPDX-License-Identifier: BSD-3-Clause
// What a program that steps its fabric calls, and what of the world around is shut out so that the
// same seed does the same: its network, its randomness, and news of the machine's interfaces.
#include "next.h"
#include "process.h"
#include "step.h"
#include "stepped_sockets.h"

#include "ucs/prng.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <linux/netlink.h>
#include <linux/tcp.h>
#include <mutex>
#include <netinet/in.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/types.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

namespace shim = ufx::swhca::shim;

constinit shim::next_function<int (*)(int, int, int)> next_socket("socket");
constinit shim::next_function<int (*)(int, const sockaddr *, socklen_t)> next_bind("bind");
constinit shim::next_function<int (*)(int, int)> next_listen("listen");
constinit shim::next_function<int (*)(int, const sockaddr *, socklen_t)> next_connect("connect");
constinit shim::next_function<int (*)(int, sockaddr *, socklen_t *)> next_accept("accept");
constinit shim::next_function<int (*)(int, sockaddr *, socklen_t *, int)> next_accept4("accept4");
constinit shim::next_function<int (*)(int, sockaddr *, socklen_t *)> next_sockname("getsockname");
constinit shim::next_function<int (*)(int, sockaddr *, socklen_t *)> next_peername("getpeername");
constinit shim::next_function<int (*)(int, int, int, const void *, socklen_t)>
    next_setsockopt("setsockopt");
constinit shim::next_function<int (*)(int, int, int, void *, socklen_t *)>
    next_getsockopt("getsockopt");
constinit shim::next_function<ssize_t (*)(void *, size_t, unsigned)> next_getrandom("getrandom");

constinit shim::next_function<ssize_t (*)(int, const void *, size_t, int)> next_send("send");
constinit shim::next_function<ssize_t (*)(int, const msghdr *, int)> next_sendmsg("sendmsg");

constinit std::atomic<uint64_t> sent{0}; // relaxed: it orders nothing

ssize_t count(int number, ssize_t result) noexcept
{
    if (result > 0 && shim::is_stepped_socket(number)) {
        sent.fetch_add(static_cast<uint64_t>(result), std::memory_order_relaxed);
    }
    return result;
}

constinit std::mutex drawing;
constinit ufx::ucs::prng chance(1); // guarded by `drawing`

} // namespace

uint64_t ufx_swhca_step(uint64_t by_ns) noexcept
{
    return shim::step(by_ns);
}

uint64_t ufx_swhca_sent() noexcept
{
    return sent.exchange(0, std::memory_order_relaxed);
}

void ufx_swhca_seed(uint64_t seed) noexcept
{
    const std::lock_guard guard(drawing);
    chance = ufx::ucs::prng(seed);
    shim::seed_faults(chance.next());
}

EXPORT ssize_t getrandom(void *to, size_t size, unsigned flags)
{
    if (!shim::is_stepped_program()) {
        return next_getrandom.get()(to, size, flags);
    }
    const std::lock_guard guard(drawing);
    for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
        const uint64_t drawn = chance.next();
        std::memcpy(static_cast<char *>(to) + at, &drawn, std::min(sizeof(drawn), size - at));
    }
    return static_cast<ssize_t>(size);
}

// Without a netlink for RDMA, libibverbs looks into the sysfs.
EXPORT int socket(int domain, int type, int protocol) noexcept
{
    if (domain == AF_NETLINK && protocol == NETLINK_RDMA) {
        errno = EPROTONOSUPPORT;
        return -1;
    }
    const int kind = type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC);
    return (domain == AF_INET || domain == AF_INET6) && kind == SOCK_STREAM &&
                   shim::is_stepped_program()
               ? shim::open_stepped(domain, type)
               : next_socket.get()(domain, type, protocol);
}

EXPORT int bind(int number, const sockaddr *to, socklen_t length) noexcept
{
    return shim::is_stepped_socket(number) ? shim::bind_stepped(number, to, length)
                                           : next_bind.get()(number, to, length);
}

EXPORT int listen(int number, int backlog) noexcept
{
    return shim::is_stepped_socket(number) ? shim::listen_stepped(number, backlog)
                                           : next_listen.get()(number, backlog);
}

EXPORT int connect(int number, const sockaddr *to, socklen_t length)
{
    return shim::is_stepped_socket(number) ? shim::connect_stepped(number, to, length)
                                           : next_connect.get()(number, to, length);
}

EXPORT int accept(int number, sockaddr *from, socklen_t *length)
{
    return shim::is_stepped_socket(number) ? shim::accept_stepped(number, from, length, 0)
                                           : next_accept.get()(number, from, length);
}

EXPORT int accept4(int number, sockaddr *from, socklen_t *length, int flags)
{
    return shim::is_stepped_socket(number) ? shim::accept_stepped(number, from, length, flags)
                                           : next_accept4.get()(number, from, length, flags);
}

EXPORT int getsockname(int number, sockaddr *name, socklen_t *length) noexcept
{
    return shim::is_stepped_socket(number) ? shim::name_stepped(number, false, name, length)
                                           : next_sockname.get()(number, name, length);
}

EXPORT int getpeername(int number, sockaddr *name, socklen_t *length) noexcept
{
    return shim::is_stepped_socket(number) ? shim::name_stepped(number, true, name, length)
                                           : next_peername.get()(number, name, length);
}

EXPORT ssize_t send(int number, const void *data, size_t size, int flags)
{
    return count(number, next_send.get()(number, data, size, flags));
}

EXPORT ssize_t sendmsg(int number, const msghdr *message, int flags)
{
    return count(number, next_sendmsg.get()(number, message, flags));
}

// Options of TCP and IP have no meaning between two sockets of one process.
EXPORT int setsockopt(int number, int level, int name, const void *value, socklen_t size) noexcept
{
    const bool is_news =
        shim::is_stepped_program() && level == SOL_NETLINK && name == NETLINK_ADD_MEMBERSHIP;
    const bool is_of_network =
        shim::is_stepped_socket(number) &&
        (level != SOL_SOCKET || name == SO_BINDTODEVICE || name == SO_SNDBUF);
    return is_news || is_of_network ? 0 : next_setsockopt.get()(number, level, name, value, size);
}

EXPORT int getsockopt(int number, int level, int name, void *value, socklen_t *size) noexcept
{
    if (level == SOL_SOCKET || !shim::is_stepped_socket(number)) {
        return next_getsockopt.get()(number, level, name, value, size);
    }
    if (level != IPPROTO_TCP || name != TCP_INFO) {
        errno = ENOPROTOOPT;
        return -1;
    }
    tcp_info info{};     // nothing is under way: what was sent is there
    info.tcpi_state = 1; // ESTABLISHED
    *size = std::min<socklen_t>(*size, sizeof(info));
    std::memcpy(value, &info, *size);
    return 0;
}

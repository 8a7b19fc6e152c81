// SPDX-License-Identifier: BSD-3-Clause
// Socket calls of the tcp transport: open, bind to a device, connect, accept, TCP_INFO.
#include "socket.h"

#include "ucs/log.h"

#include <linux/tcp.h> // TCP_INFO with tcpi_bytes_acked and tcpi_notsent_bytes
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace ufx::uct::tcp {

namespace {

constexpr int listen_backlog = 128;
constexpr int keepalive_interval_s = 1;
constexpr int keepalive_probes = 3;

void set(const ucs::fd &socket, int level, int name, int value) noexcept
{
    if (setsockopt(socket.get(), level, name, &value, sizeof(value)) != 0) {
        ufx_debug("tcp: setsockopt(%d, %d, %d): %s", level, name, value, std::strerror(errno));
    }
}

// Options of every connection.
void set_options(const ucs::fd &socket, const config &with) noexcept
{
    using namespace std::chrono;
    set(socket, IPPROTO_TCP, TCP_NODELAY, with.nodelay ? 1 : 0);
    if (with.user_timeout.count() > 0) {
        set(socket, IPPROTO_TCP, TCP_USER_TIMEOUT,
            static_cast<int>(duration_cast<milliseconds>(with.user_timeout).count()));
    }
    if (with.keepalive.count() > 0) {
        auto idle = std::max<int64_t>(1, duration_cast<seconds>(with.keepalive).count());
        set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
        set(socket, IPPROTO_TCP, TCP_KEEPIDLE, static_cast<int>(idle));
        set(socket, IPPROTO_TCP, TCP_KEEPINTVL, keepalive_interval_s);
        set(socket, IPPROTO_TCP, TCP_KEEPCNT, keepalive_probes);
    }
}

// Buffer sizes count only if they are set before listen() and connect().
void set_buffers(const ucs::fd &socket, const config &with) noexcept
{
    if (with.sndbuf > 0) {
        set(socket, SOL_SOCKET, SO_SNDBUF, static_cast<int>(with.sndbuf));
    }
    if (with.rcvbuf > 0) {
        set(socket, SOL_SOCKET, SO_RCVBUF, static_cast<int>(with.rcvbuf));
    }
}

// Without this a rail's connection could leave through another rail's interface. The kernel allows
// it to everybody for a socket that is not bound yet (since 5.7), so a refusal is rare.
void bind_to_device(const ucs::fd &socket, const device &from, const config &with) noexcept
{
    if (from.loopback || !with.bind_device) {
        return;
    }
    if (setsockopt(socket.get(), SOL_SOCKET, SO_BINDTODEVICE, from.interface.c_str(),
                   static_cast<socklen_t>(from.interface.size() + 1)) != 0) {
        ufx_info("tcp: %s: bound to its address only: SO_BINDTODEVICE: %s", from.name.c_str(),
                 std::strerror(errno));
    }
}

// On lo there is no bottleneck to find: an algorithm that paces (bbr) only makes the sender wait.
void choose_congestion_control(const ucs::fd &socket, const device &from) noexcept
{
    constexpr std::string_view unpaced = "reno"; // every kernel has it and permits it
    if (from.loopback && setsockopt(socket.get(), IPPROTO_TCP, TCP_CONGESTION, unpaced.data(),
                                    static_cast<socklen_t>(unpaced.size())) != 0) {
        ufx_debug("tcp: setsockopt(TCP_CONGESTION): %s", std::strerror(errno));
    }
}

ucs::fd open_socket(const device &from, const config &with) noexcept
{
    ucs::fd made(socket(from.ip.family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (made) {
        bind_to_device(made, from, with);
        set_buffers(made, with);
        choose_congestion_control(made, from);
    }
    return made;
}

int bind_to(const ucs::fd &socket, const device &from, uint16_t port) noexcept
{
    socket_address own = socket_address::make(from.ip, port);
    return bind(socket.get(), own.get(), own.length) == 0 ? 0 : errno;
}

uint16_t bound_port(const ucs::fd &socket) noexcept
{
    socket_address own;
    own.length = sizeof(own.storage);
    if (getsockname(socket.get(), reinterpret_cast<sockaddr *>(&own.storage), &own.length) != 0) {
        return 0;
    }
    return own.port();
}

// @return 0 or errno
int listen_at(const device &from, const config &with, uint16_t port, listener &made) noexcept
{
    made.socket = open_socket(from, with);
    if (!made.socket) {
        return errno;
    }
    set(made.socket, SOL_SOCKET, SO_REUSEADDR, 1); // else a set_link cycle waits for TIME_WAIT
    if (int error = bind_to(made.socket, from, port); error != 0) {
        return error;
    }
    if (listen(made.socket.get(), listen_backlog) != 0) {
        return errno;
    }
    made.port = bound_port(made.socket);
    return 0;
}

std::string end_text(const sockaddr_storage &address)
{
    auto *raw = reinterpret_cast<const sockaddr *>(&address);
    std::optional<ip_address> ip = ip_address::from(raw);
    if (!ip) {
        return "?";
    }
    socket_address with_port;
    with_port.storage = address;
    return ip->text() + ":" + std::to_string(with_port.port());
}

} // namespace

ucs::result<listener> listen_on(const device &from, const config &with, port_range ports,
                                uint16_t preferred)
{
    listener made;
    int error = preferred != 0 ? listen_at(from, with, preferred, made) : EADDRINUSE;
    for (unsigned port = ports.first; port <= ports.last && error == EADDRINUSE; port++) {
        error = listen_at(from, with, static_cast<uint16_t>(port), made);
    }
    if (error == 0) {
        return made;
    }
    if (error == EADDRINUSE) {
        ufx_error("tcp: %s: no free port to listen on in %u-%u", from.name.c_str(), ports.first,
                  ports.last);
    } else {
        ufx_error("tcp: %s: cannot listen on %s: %s", from.name.c_str(), from.ip.text().c_str(),
                  std::strerror(error));
    }
    switch (error) {
    case EADDRINUSE:
        return UFX_ERR_BUSY;
    case EADDRNOTAVAIL:
    case ENODEV:
        return UFX_ERR_NO_DEVICE;
    default:
        return UFX_ERR_IO;
    }
}

ucs::result<ucs::fd> start_connect(const device &from, const config &with, const ip_address &to,
                                   uint16_t port)
{
    ucs::fd made = open_socket(from, with);
    if (!made) {
        return UFX_ERR_IO;
    }
    set_options(made, with);
    set(made, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1); // choose the port per peer, at connect
    if (int error = bind_to(made, from, 0); error != 0) {
        errno = error;
        return UFX_ERR_IO;
    }
    ip_address target = to;
    target.scope = from.ip.scope;
    socket_address peer = socket_address::make(target, port);
    if (connect(made.get(), peer.get(), peer.length) != 0 && errno != EINPROGRESS) {
        return UFX_ERR_IO;
    }
    return made;
}

ucs::fd accept_on(const ucs::fd &socket, ucs::acceptor &by, const config &with) noexcept
{
    ucs::fd made = by.take(socket);
    if (made) {
        set_options(made, with);
    }
    return made;
}

int socket_error(const ucs::fd &socket) noexcept
{
    int error = 0;
    socklen_t length = sizeof(error);
    if (getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length) != 0) {
        return errno;
    }
    return error;
}

connection_info query_connection(const ucs::fd &socket) noexcept
{
    tcp_info info{};
    socklen_t length = sizeof(info);
    if (!socket || getsockopt(socket.get(), IPPROTO_TCP, TCP_INFO, &info, &length) != 0) {
        return {};
    }
    connection_info out;
    out.acked_bytes = info.tcpi_bytes_acked;
    out.srtt_ns = uint64_t{info.tcpi_rtt} * 1000;
    // Segments in flight without an ack. A zero window leaves data unsent (tcpi_notsent_bytes),
    // not in flight, except for its probes, which are acknowledged.
    out.network_unacked = info.tcpi_unacked > 0;
    return out;
}

std::string describe(const ucs::fd &socket)
{
    sockaddr_storage own{};
    sockaddr_storage peer{};
    socklen_t length = sizeof(own);
    (void)getsockname(socket.get(), reinterpret_cast<sockaddr *>(&own), &length);
    length = sizeof(peer);
    (void)getpeername(socket.get(), reinterpret_cast<sockaddr *>(&peer), &length);
    return end_text(own) + ">" + end_text(peer);
}

socket_failure classify(int error) noexcept
{
    switch (error) {
    case 0:
    case ECONNRESET:
    case EPIPE:
    case ECONNABORTED:
        return {UFX_ERR_CONNECTION_RESET, UFX_UCT_CAUSE_CONN_RESET};
    case ECONNREFUSED:
        return {UFX_ERR_CONNECTION_RESET, UFX_UCT_CAUSE_CONN_REFUSED};
    case ETIMEDOUT:
        return {UFX_ERR_ENDPOINT_TIMEOUT, UFX_UCT_CAUSE_TIMED_OUT};
    case EHOSTUNREACH:
    case ENETUNREACH:
    case ENETDOWN:
    case EHOSTDOWN:
        return {UFX_ERR_NET_UNREACHABLE, UFX_UCT_CAUSE_UNREACHABLE};
    case EADDRNOTAVAIL:
    case ENODEV:
        return {UFX_ERR_NET_UNREACHABLE, UFX_UCT_CAUSE_ADDR_REMOVED};
    case EFAULT:
        return {UFX_ERR_LOCAL_PROT, UFX_UCT_CAUSE_LOCAL_PROT};
    default:
        return {UFX_ERR_CONNECTION_RESET, UFX_UCT_CAUSE_OWN_QP};
    }
}

} // namespace ufx::uct::tcp

// SPDX-License-Identifier: BSD-3-Clause
// TCP connections of the tools.
#include "tools/common/socket.h"

#include "tools/common/error.h"

#include <arpa/inet.h>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace ufx::tools {

namespace {

void send_at_once(int socket)
{
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

/** 0, or errno of the attempt to connect. */
int connect_one(const fd &socket, const addrinfo &address, int timeout_ms)
{
    if (::connect(socket.get(), address.ai_addr, address.ai_addrlen) == 0) {
        return 0;
    }
    if (errno != EINPROGRESS) {
        return errno;
    }
    pollfd wait = {socket.get(), POLLOUT, 0};
    const int ready = ::poll(&wait, 1, timeout_ms);
    if (ready <= 0) {
        return ready == 0 ? ETIMEDOUT : errno;
    }
    int error = 0;
    socklen_t length = sizeof(error);
    ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length);
    return error;
}

/** "127.0.0.1 port 40000" */
std::string address_text(const sockaddr_storage &address, socklen_t length)
{
    char host[NI_MAXHOST] = "?", port[NI_MAXSERV] = "?";
    ::getnameinfo(reinterpret_cast<const sockaddr *>(&address), length, host, sizeof(host), port,
                  sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV);
    const std::string mapped = "::ffff:";
    const std::string name = host;
    return (name.rfind(mapped, 0) == 0 ? name.substr(mapped.size()) : name) + " port " + port;
}

} // namespace

fd listen_on(uint16_t port)
{
    const std::string what = "cannot listen on port " + std::to_string(port);
    fd listener(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_storage address = {};
    socklen_t length = 0;
    if (listener) {
        auto &in6 = reinterpret_cast<sockaddr_in6 &>(address);
        in6.sin6_family = AF_INET6;
        in6.sin6_port = htons(port);
        length = sizeof(in6);
        const int off = 0;
        ::setsockopt(listener.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    } else {
        listener = fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        auto &in4 = reinterpret_cast<sockaddr_in &>(address);
        in4.sin_family = AF_INET;
        in4.sin_port = htons(port);
        length = sizeof(in4);
    }
    if (!listener) {
        throw system_error(what, errno);
    }
    const int on = 1;
    ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (::bind(listener.get(), reinterpret_cast<sockaddr *>(&address), length) != 0 ||
        ::listen(listener.get(), 4) != 0) {
        const int error = errno;
        throw error == EADDRINUSE ? tool_error(what + ": it is in use; choose another with -p")
                                  : system_error(what, error);
    }
    return listener;
}

std::string own_name()
{
    char name[HOST_NAME_MAX + 1] = "";
    return ::gethostname(name, sizeof(name)) == 0 && name[0] != '\0' ? name : "HOST";
}

void say_waiting(const std::string &whom, uint16_t port, const std::string &command,
                 uint16_t usual_port)
{
    const std::string option = port == usual_port ? "" : " -p " + std::to_string(port);
    std::printf("waiting for a %s on port %u; on its host run: %s%s\n", whom.c_str(), port,
                command.c_str(), option.c_str());
    std::fflush(stdout);
}

std::optional<connection> accept_one(const fd &listener)
{
    sockaddr_storage address = {};
    socklen_t length = sizeof(address);
    fd socket(::accept4(listener.get(), reinterpret_cast<sockaddr *>(&address), &length,
                        SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) {
        if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
            throw system_error("cannot accept a connection", errno);
        }
        return std::nullopt;
    }
    send_at_once(socket.get());
    return connection{std::move(socket), address_text(address, length)};
}

fd connect_to(const std::string &host, uint16_t port, int timeout_ms)
{
    const std::string what = "cannot connect to " + host + " port " + std::to_string(port);
    addrinfo hints = {};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo *list = nullptr;
    const int code = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
    if (code != 0) {
        throw tool_error(what + ": " + ::gai_strerror(code));
    }
    const std::unique_ptr<addrinfo, void (*)(addrinfo *)> owner(list, ::freeaddrinfo);
    int error = 0;
    for (const addrinfo *address = list; address != nullptr; address = address->ai_next) {
        fd socket(::socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        error = socket ? connect_one(socket, *address, timeout_ms) : errno;
        if (error == 0) {
            send_at_once(socket.get());
            return socket;
        }
    }
    throw tool_error(what + ": " + std::strerror(error) +
                     (error == ECONNREFUSED ? " (is the server running there?)" : ""));
}

} // namespace ufx::tools

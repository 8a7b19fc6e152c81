// SPDX-License-Identifier: BSD-3-Clause
// Requests from ufx_info.
#include "ucp/debug_socket.h"

#include "ucs/entry.h"
#include "ucs/log.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

namespace ufx::ucp {

namespace {

constexpr mode_t folder_mode = 0700;
constexpr mode_t socket_mode = 0600;

bool fill_address(const std::string &path, sockaddr_un &address)
{
    address = {};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof(address.sun_path)) {
        return false;
    }
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    return true;
}

// The folder must be ours alone: else somebody could put a socket of theirs at our path.
bool make_folder(const std::string &path)
{
    const std::string folder = path.substr(0, path.rfind('/'));
    if (::mkdir(folder.c_str(), folder_mode) == 0) {
        return true;
    }
    struct stat info = {};
    if (errno != EEXIST || ::lstat(folder.c_str(), &info) != 0) {
        ufx_warn("debug socket: cannot make %s: %s", folder.c_str(), std::strerror(errno));
        return false;
    }
    if (!S_ISDIR(info.st_mode) || info.st_uid != ::geteuid() || (info.st_mode & 022) != 0) {
        ufx_warn("debug socket: %s is not a folder that only we can write", folder.c_str());
        return false;
    }
    return true;
}

ucs::fd make_socket()
{
    return ucs::fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

bool somebody_listens(const sockaddr_un &address)
{
    const ucs::fd probe = make_socket();
    return probe.valid() && ::connect(probe.get(), reinterpret_cast<const sockaddr *>(&address),
                                      sizeof(address)) == 0;
}

// Bound with its mode from the start: no moment in which others may connect. The file takes the
// mode of the socket, so the umask, which is the whole process's, stays as it is.
bool bind_and_listen(const ucs::fd &listener, const sockaddr_un &address)
{
    return ::fchmod(listener.get(), socket_mode) == 0 &&
           ::bind(listener.get(), reinterpret_cast<const sockaddr *>(&address), sizeof(address)) ==
               0 &&
           ::listen(listener.get(), static_cast<int>(debug_socket::clients_max)) == 0;
}

bool watch(const ucs::fd &epoll, int socket, uint32_t events, int what, void *who)
{
    epoll_event event = {};
    event.events = events;
    event.data.ptr = who;
    return ::epoll_ctl(epoll.get(), what, socket, &event) == 0;
}

// Only the owner of this process, and root, may ask.
bool may_ask(int socket)
{
    ucred who = {};
    socklen_t length = sizeof(who);
    return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &length) == 0 &&
           (who.uid == 0 || who.uid == ::geteuid());
}

} // namespace

std::string debug_socket::path_of(const std::string &folder, int pid, unsigned index)
{
    std::string place = folder;
    if (place.empty()) {
        const char *runtime = std::getenv("XDG_RUNTIME_DIR");
        place = std::string(runtime != nullptr && *runtime != '\0' ? runtime : "/tmp") + "/ufx-" +
                std::to_string(::geteuid());
    }
    return place + "/" + std::to_string(pid) + (index != 0 ? "-" + std::to_string(index) : "") +
           ".sock";
}

ucs::result<ucs::owner<debug_socket>> debug_socket::create(const std::string &path, handler answer)
{
    sockaddr_un address;
    if (path.find('/') == std::string::npos || !fill_address(path, address)) {
        ufx_warn("debug socket: %s is no path for a unix socket", path.c_str());
        return UFX_ERR_INVALID_PARAM;
    }
    if (!make_folder(path)) {
        return UFX_ERR_IO;
    }
    if (somebody_listens(address)) {
        return UFX_ERR_ALREADY_EXISTS;
    }
    ::unlink(path.c_str());
    ucs::fd listener = make_socket();
    ucs::fd epoll(::epoll_create1(EPOLL_CLOEXEC));
    if (!listener.valid() || !epoll.valid() || !bind_and_listen(listener, address) ||
        !watch(epoll, listener.get(), EPOLLIN, EPOLL_CTL_ADD, nullptr)) {
        ufx_warn("debug socket: cannot listen at %s: %s", path.c_str(), std::strerror(errno));
        return UFX_ERR_IO;
    }
    return ucs::owner_access::make<debug_socket>(path, std::move(answer), std::move(listener),
                                                 std::move(epoll));
}

debug_socket::debug_socket(std::string path, handler answer, ucs::fd listener,
                           ucs::fd epoll) noexcept
    : path_(std::move(path)), answer_(std::move(answer)), listener_(std::move(listener)),
      epoll_(std::move(epoll))
{
}

debug_socket::~debug_socket()
{
    ::unlink(path_.c_str());
}

unsigned debug_socket::progress() noexcept
{
    std::array<epoll_event, clients_max + 1> ready = {};
    const int count = ::epoll_wait(epoll_.get(), ready.data(), static_cast<int>(ready.size()), 0);
    for (int i = 0; i < count; i++) {
        auto *one = static_cast<client *>(ready[static_cast<std::size_t>(i)].data.ptr);
        if (one == nullptr) {
            (void)ucs::guard([&] { accept_clients(); }); // the one that came is closed again
            continue;
        }
        bool keep = false;
        const ufx_status_t status = ucs::guard([&] { keep = serve(*one); });
        if (status != UFX_OK) {
            ufx_warn("debug socket: a request got no answer: %s", ufx_ucs_status_string(status));
        }
        if (!keep) {
            // Closing takes it out of the epoll set.
            clients_.remove_if([one](const client &other) { return &other == one; });
        }
    }
    return count > 0 ? static_cast<unsigned>(count) : 0;
}

void debug_socket::accept_clients()
{
    for (;;) {
        ucs::fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!socket.valid()) {
            return;
        }
        if (clients_.size() >= clients_max || !may_ask(socket.get())) {
            continue;
        }
        client &one = clients_.emplace_back();
        one.socket = std::move(socket);
        if (!watch(epoll_, one.socket.get(), EPOLLIN, EPOLL_CTL_ADD, &one)) {
            clients_.pop_back();
        }
    }
}

// False when the client is to be dropped.
bool debug_socket::serve(client &one)
{
    if (!one.answered) {
        if (!read_request(one)) {
            return false;
        }
        if (!one.answered) {
            return true;
        }
    }
    write_reply(one);
    return !one.reply.empty();
}

// Reads up to the newline, and then asks; false on EOF, on an error, on too long a line.
bool debug_socket::read_request(client &one)
{
    std::array<char, request_max> buffer;
    const ssize_t n = ::recv(one.socket.get(), buffer.data(), buffer.size(), 0);
    if (n <= 0) {
        return n < 0 && (errno == EAGAIN || errno == EINTR);
    }
    one.request.append(buffer.data(), static_cast<std::size_t>(n));
    const std::size_t end = one.request.find('\n');
    if (end == std::string::npos && one.request.size() < request_max) {
        return true;
    }
    one.answered = true;
    one.reply = end == std::string::npos || end > request_max
                    ? "error: the request is too long\n"
                    : answer_(std::string_view(one.request).substr(0, end));
    if (one.reply.empty()) {
        one.reply = "\n";
    }
    watch(epoll_, one.socket.get(), EPOLLOUT, EPOLL_CTL_MOD, &one);
    return true;
}

void debug_socket::write_reply(client &one)
{
    while (!one.reply.empty()) {
        const ssize_t n =
            ::send(one.socket.get(), one.reply.data(), one.reply.size(), MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN) {
            return;
        }
        if (n < 0 && errno != EINTR) {
            one.reply.clear();
            return;
        }
        one.reply.erase(0, n > 0 ? static_cast<std::size_t>(n) : 0);
    }
}

} // namespace ufx::ucp

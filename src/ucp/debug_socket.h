// SPDX-License-Identifier: BSD-3-Clause
// debug_socket: lets ufx_info look into a live process, by a unix socket of mode 0600 in a folder
// of mode 0700.
//
// A client sends one line (`dump text`, `dump json`, `rail NAME drain`, `rail NAME resume`) and
// reads the answer until EOF; an answer that starts with "error: " says why there is none.
#ifndef UFX_UCP_DEBUG_SOCKET_H
#define UFX_UCP_DEBUG_SOCKET_H

#include "ucs/fd.h"
#include "ucs/owner.h"
#include "ucs/result.h"

#include <functional>
#include <list>
#include <string>
#include <string_view>

namespace ufx::ucp {

// Single-threaded. Owns its epoll set, so that the worker's loop holds one descriptor for it all.
class debug_socket {
public:
    // Answers one request, given without its newline. Runs inside progress().
    using handler = std::function<std::string(std::string_view request)>;

    // Clients at a time, and bytes of a request; what is beyond is refused.
    static constexpr std::size_t clients_max = 8;
    static constexpr std::size_t request_max = 256;

    // Listens at `path`, making its folder; a socket that a dead process left there is replaced.
    // ALREADY_EXISTS if a live one is there; IO, with one line in the log, if it cannot.
    [[nodiscard]] static ucs::result<ucs::owner<debug_socket>> create(const std::string &path,
                                                                      handler answer);

    // Where a worker is looked for: `folder`, or ufx-UID in XDG_RUNTIME_DIR or /tmp; PID.sock, of
    // the second worker of a process PID-1.sock, and so on.
    [[nodiscard]] static std::string path_of(const std::string &folder, int pid,
                                             unsigned index = 0);

    debug_socket(const debug_socket &) = delete;
    debug_socket &operator=(const debug_socket &) = delete;
    ~debug_socket();

    // Readable when progress() has something to do.
    [[nodiscard]] int event_fd() const noexcept { return epoll_.get(); }

    // Never blocks. Returns how many descriptors were ready.
    unsigned progress() noexcept;

    [[nodiscard]] const std::string &path() const noexcept { return path_; }

private:
    friend struct ucs::owner_access;

    struct client {
        ucs::fd socket;
        std::string request;
        std::string reply; // what is left of it
        bool answered = false;
    };

    debug_socket(std::string path, handler answer, ucs::fd listener, ucs::fd epoll) noexcept;

    void accept_clients();
    bool serve(client &one);
    bool read_request(client &one);
    void write_reply(client &one);

    std::string path_;
    handler answer_;
    ucs::fd listener_;
    ucs::fd epoll_;
    std::list<client> clients_;
};

} // namespace ufx::ucp

#endif

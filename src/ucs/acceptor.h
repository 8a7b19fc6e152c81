// SPDX-License-Identifier: BSD-3-Clause
// acceptor: takes connections from a listening socket, also when the process has no descriptor
// left.
#ifndef UFX_UCS_ACCEPTOR_H
#define UFX_UCS_ACCEPTOR_H

#include "fd.h"

#include <sys/socket.h>

namespace ufx::ucs {

// Keeps one descriptor in reserve. Without another one, a connection that waits is taken and closed
// at once: its peer sees that and tries again later, and the listening socket does not stay
// readable, which would keep a sleeper awake for ever.
class acceptor {
public:
    acceptor() noexcept { refill(); }

    // The next connection, nonblocking and close-on-exec; none if nobody waits, or it had to be
    // closed.
    [[nodiscard]] fd take(const fd &listening, sockaddr_storage *remote = nullptr) noexcept;

private:
    void refill() noexcept;

    fd reserve_;
};

} // namespace ufx::ucs

#endif

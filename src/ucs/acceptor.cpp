// SPDX-License-Identifier: BSD-3-Clause
// Taking connections.
#include "acceptor.h"

#include "log.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>

namespace ufx::ucs {

namespace {

fd accept_one(const fd &listening, sockaddr_storage *remote) noexcept
{
    socklen_t size = sizeof(*remote);
    return fd(::accept4(listening.get(), reinterpret_cast<sockaddr *>(remote),
                        remote != nullptr ? &size : nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

} // namespace

fd acceptor::take(const fd &listening, sockaddr_storage *remote) noexcept
{
    if (!reserve_) {
        refill();
    }
    fd made = accept_one(listening, remote);
    const int error = errno;
    if (made || (error != EMFILE && error != ENFILE)) {
        return made;
    }
    reserve_.reset();
    if (accept_one(listening, nullptr)) { // and closes it
        ufx_warn("a connection was closed, as there is no descriptor left for it: %s (ulimit -n)",
                 std::strerror(error));
    }
    refill();
    return {};
}

void acceptor::refill() noexcept
{
    reserve_.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

} // namespace ufx::ucs

// SPDX-License-Identifier: BSD-3-Clause
// Closing descriptors, and eventfds.
#include "fd.h"

#include "log.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <sys/eventfd.h>
#include <unistd.h>

namespace ufx::ucs {

void fd::reset(int number) noexcept
{
    if (number_ >= 0) {
        int saved = errno;
        ::close(number_);
        errno = saved;
    }
    number_ = number;
}

result<fd> make_eventfd()
{
    fd event(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
    if (!event) {
        int error = errno;
        ufx_error("eventfd() failed: %s", std::strerror(error));
        return status_from_errno(error);
    }
    return event;
}

void eventfd_signal(const fd &event) noexcept
{
    uint64_t one = 1;
    // EAGAIN means that the counter is at its maximum, so that the event is signaled anyway.
    while (::write(event.get(), &one, sizeof(one)) < 0 && errno == EINTR) {
    }
}

void eventfd_clear(const fd &event) noexcept
{
    uint64_t count = 0;
    while (::read(event.get(), &count, sizeof(count)) < 0 && errno == EINTR) {
    }
}

} // namespace ufx::ucs

// SPDX-License-Identifier: BSD-3-Clause
// Drawing of identities.
#include "uuid.h"

#include "prng.h"

#include <cerrno>
#include <ctime>
#include <sys/random.h>
#include <unistd.h>

namespace ufx::ucs {

uint64_t random_uuid() noexcept
{
    uint64_t value = 0;
    while (value == 0) {
        ssize_t count = ::getrandom(&value, sizeof(value), 0);
        if (count == static_cast<ssize_t>(sizeof(value)) || (count < 0 && errno == EINTR)) {
            continue;
        }
        // A kernel without getrandom(): clock and pid, which differ between peers.
        timespec now = {};
        ::clock_gettime(CLOCK_REALTIME, &now);
        value = prng(static_cast<uint64_t>(now.tv_sec) * 1000000007u ^
                     static_cast<uint64_t>(now.tv_nsec) << 20 ^ static_cast<uint64_t>(::getpid()))
                    .next();
    }
    return value;
}

} // namespace ufx::ucs

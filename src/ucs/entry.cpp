// SPDX-License-Identifier: BSD-3-Clause
// The log line of an exception that reached the C boundary.
#include "entry.h"

#include "log.h"

namespace ufx::ucs {

void log_exception(const char *what) noexcept
{
    ufx_error("exception at the C boundary: %s", what);
}

} // namespace ufx::ucs

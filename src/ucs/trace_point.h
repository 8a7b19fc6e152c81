// SPDX-License-Identifier: BSD-3-Clause
// trace_point(): named points at which a test can stop or kill this process.
#ifndef UFX_UCS_TRACE_POINT_H
#define UFX_UCS_TRACE_POINT_H

#include <ufx/ucs.h>

#include <atomic>

// Kept in libufx_ucs: false once it is known that UFX_TRACE_STOP is not set. Relaxed: the slow
// path looks again under its own lock.
extern "C" UFX_API std::atomic<bool> ufx_ucs_trace_armed;

namespace ufx::ucs {

// `name` is static.
inline void trace_point(const char *name) noexcept
{
    if (__builtin_expect(ufx_ucs_trace_armed.load(std::memory_order_relaxed), 0)) {
        ufx_ucs_trace_hit(name);
    }
}

} // namespace ufx::ucs

#endif

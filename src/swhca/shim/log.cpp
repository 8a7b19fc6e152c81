// SPDX-License-Identifier: BSD-3-Clause
// The log of this folder's own copy of ucs, which is not shown to other libraries: errors to
// stderr.
#include "ucs/log.h"

#include <cstdarg>
#include <cstdio>

std::atomic<int> ufx_ucs_log_threshold{UFX_UCS_LOG_ERROR};

void ufx_ucs_log(ufx_ucs_log_level_t, const char *, unsigned, const char *format, ...) noexcept
{
    std::va_list rest;
    va_start(rest, format);
    std::fputs("ufx_swhca: ", stderr);
    std::vfprintf(stderr, format, rest);
    std::fputc('\n', stderr);
    va_end(rest);
}

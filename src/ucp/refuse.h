// SPDX-License-Identifier: BSD-3-Clause
// How a call of the C ABI refuses an argument: INVALID_PARAM, and one line that names both.
#ifndef UFX_UCP_REFUSE_H
#define UFX_UCP_REFUSE_H

#include "ucs/log.h"

#include <ufx/status.h>

#include <cstring>
#include <initializer_list>

namespace ufx::ucp {

// `what` says what is wrong with which parameter, such as "worker is NULL". Out of line: a call
// that is in order pays one branch.
[[gnu::cold, gnu::noinline, nodiscard]] inline ufx_status_t refuse(const char *call,
                                                                   const char *what) noexcept
{
    ufx_error("%s: %s", call, what);
    return UFX_ERR_INVALID_PARAM;
}

[[gnu::cold, gnu::noinline, nodiscard]] inline ufx_status_t refuse_null(const char *call,
                                                                        const char *name) noexcept
{
    ufx_error("%s: %s is NULL", call, name);
    return UFX_ERR_INVALID_PARAM;
}

// What a C caller gave as an enum: it may be any number, which as an enum must not even be read.
template <class E> [[nodiscard]] unsigned number_of(const E &value) noexcept
{
    unsigned number = 0;
    static_assert(sizeof(number) == sizeof(value));
    std::memcpy(&number, &value, sizeof(number));
    return number;
}

struct named_pointer {
    const char *name;
    const void *value;
};

// OK, or INVALID_PARAM for the first that is NULL.
[[nodiscard]] inline ufx_status_t require(const char *call,
                                          std::initializer_list<named_pointer> arguments) noexcept
{
    for (const named_pointer &one : arguments) {
        if (one.value == nullptr) {
            return refuse_null(call, one.name);
        }
    }
    return UFX_OK;
}

} // namespace ufx::ucp

#endif

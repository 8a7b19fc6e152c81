// SPDX-License-Identifier: BSD-3-Clause
// Calling the function that an interposed one stands before, with the path where it leads.
#ifndef UFX_SWHCA_SHIM_REDIRECTED_H
#define UFX_SWHCA_SHIM_REDIRECTED_H

#include "next.h"
#include "paths.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace ufx::swhca::shim {

template <class Function, class... Rest>
auto redirected(next_function<Function> &next, const char *path, Rest... rest)
{
    path_buffer room;
    return next.get()(redirect(path, room), rest...);
}

// Those that take a directory first; an absolute path makes nothing of it.
template <class Function, class... Rest>
auto redirected_at(next_function<Function> &next, int directory, const char *path, Rest... rest)
{
    path_buffer room;
    return next.get()(directory, redirect(path, room), rest...);
}

} // namespace ufx::swhca::shim

#endif

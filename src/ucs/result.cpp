// SPDX-License-Identifier: BSD-3-Clause
// Mapping of errno to status.
#include "result.h"

#include <cerrno>

namespace ufx::ucs {

ufx_status_t status_from_errno(int error) noexcept
{
    switch (error) {
    case ENOMEM:
    case ENOBUFS:
        return UFX_ERR_NO_MEMORY;
    case EINVAL:
        return UFX_ERR_INVALID_PARAM;
    case EOPNOTSUPP:
    case ENOSYS:
    case EAFNOSUPPORT:
        return UFX_ERR_UNSUPPORTED;
    case EAGAIN:
        return UFX_ERR_NO_RESOURCE;
    case EBUSY:
    case EADDRINUSE:
        return UFX_ERR_BUSY;
    case ENOENT:
        return UFX_ERR_NO_ELEM;
    case EEXIST:
        return UFX_ERR_ALREADY_EXISTS;
    case ENODEV:
    case ENXIO:
        return UFX_ERR_NO_DEVICE;
    case ECONNRESET:
    case EPIPE:
    case ECONNABORTED:
    case ECONNREFUSED:
        return UFX_ERR_CONNECTION_RESET;
    case ETIMEDOUT:
        return UFX_ERR_ENDPOINT_TIMEOUT;
    case EHOSTUNREACH:
    case ENETUNREACH:
    case ENETDOWN:
    case EADDRNOTAVAIL:
        return UFX_ERR_NET_UNREACHABLE;
    default:
        return UFX_ERR_IO;
    }
}

} // namespace ufx::ucs

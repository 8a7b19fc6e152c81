// SPDX-License-Identifier: BSD-3-Clause
// Version of the loaded library.
#include <ufx/version.h>

extern "C" void ufx_ucs_version(unsigned *major, unsigned *minor, unsigned *patch) noexcept
{
    if (major != nullptr) {
        *major = UFX_VERSION_MAJOR;
    }
    if (minor != nullptr) {
        *minor = UFX_VERSION_MINOR;
    }
    if (patch != nullptr) {
        *patch = UFX_VERSION_PATCH;
    }
}

extern "C" const char *ufx_ucs_version_string(void) noexcept
{
    return UFX_VERSION_STRING;
}

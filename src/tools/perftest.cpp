// SPDX-License-Identifier: BSD-3-Clause
// ufx_perftest: prints the version.
#include <cstdio>
#include <ufx/version.h>

int main()
{
    std::printf("ufx %s\n", ufx_ucs_version_string());
    return 0;
}

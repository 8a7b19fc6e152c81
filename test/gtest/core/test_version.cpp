// SPDX-License-Identifier: BSD-3-Clause
// The program links and finds the library it was built with.
#include <catch2/catch.hpp>
#include <string>
#include <ufx/version.h>

TEST_CASE("core: headers and library have one version", "[core]")
{
    REQUIRE(std::string(ufx_ucs_version_string()) == UFX_VERSION_STRING);
}

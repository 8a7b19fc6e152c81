// SPDX-License-Identifier: BSD-3-Clause
// The program links and finds the library it was built with.
#include <catch2/catch.hpp>
#include <string>
#include <ufx/version.h>

TEST_CASE("tools: headers and library have one version", "[tools]")
{
    REQUIRE(std::string(ufx_ucs_version_string()) == UFX_VERSION_STRING);
}

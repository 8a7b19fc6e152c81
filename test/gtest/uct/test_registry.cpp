// SPDX-License-Identifier: BSD-3-Clause
// The registry of components outlives what runs while the process ends.
#include <catch2/catch.hpp>

#include <ufx/uct.h>

#include <cstdio>
#include <cstdlib>
#include <unistd.h>

namespace {

const ufx_uct_component_t *seen = nullptr; // the first component, if the test has run

// Registered before the registry exists, so it runs after all that the registry might undo.
const int registered = std::atexit([] {
    const ufx_uct_component_t **list = nullptr;
    size_t count = 0;
    if (seen == nullptr) {
        return;
    }
    if (ufx_uct_query_components(&list, &count) != UFX_OK || count == 0 || list[0] != seen) {
        (void)std::fputs("the registry of components was gone at the end of the process\n", stderr);
        ::_exit(EXIT_FAILURE);
    }
    ufx_uct_release_component_list(list);
});

} // namespace

TEST_CASE("uct: the components may be asked for while the process ends")
{
    REQUIRE(registered == 0);
    const ufx_uct_component_t **list = nullptr;
    size_t count = 0;
    REQUIRE(ufx_uct_query_components(&list, &count) == UFX_OK);
    REQUIRE(count > 0);
    seen = list[0];
    ufx_uct_release_component_list(list);
}

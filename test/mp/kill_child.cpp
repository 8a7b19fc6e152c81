// SPDX-License-Identifier: BSD-3-Clause
// kill_child SOCKET starts|waits works|rests: one process of a pair, for kill_table.
#include "kill_side.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

int main(int argc, char **argv)
{
    constexpr unsigned LIMIT_S = 90; // SIGALRM ends a child that hangs
    if (argc != 4) {
        std::fprintf(stderr, "kill_child: is started by kill_table\n");
        return 2;
    }
    ::alarm(LIMIT_S);
    ufx::test::kill_side side(std::atoi(argv[1]), std::strcmp(argv[2], "starts") == 0,
                              std::strcmp(argv[3], "rests") == 0);
    const int status = side.run();
    std::fflush(stdout);
    std::_Exit(status); // as a process that ends without closing anything
}

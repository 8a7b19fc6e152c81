/* SPDX-License-Identifier: BSD-3-Clause
 * The loop and the command line of the programs whose instructions are counted.
 */
#include "bench_main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

unsigned long bench_done;

void bench_check(ufx_status_t status, const char *what)
{
    if (status != UFX_OK && status != UFX_INPROGRESS) {
        fprintf(stderr, "%s: %s: %s\n", bench_program.name, what, ufx_ucs_status_name(status));
        exit(1);
    }
}

static void run(const struct bench_operation *operation, unsigned long count)
{
    for (unsigned long posted = 0; posted < count;) {
        for (unsigned i = 0; i < operation->burst; ++i, ++posted) {
            bench_check(operation->post(), operation->name);
        }
        do {
            bench_program.progress();
        } while (bench_done < posted);
    }
}

int main(int argc, char **argv)
{
    if (argc == 1) {
        for (size_t i = 0; i < bench_program.count; ++i) {
            puts(bench_program.operations[i].name);
        }
        return 0;
    }
    for (size_t i = 0; argc == 3 && i < bench_program.count; ++i) {
        if (strcmp(argv[1], bench_program.operations[i].name) == 0) {
            bench_program.open();
            run(&bench_program.operations[i], strtoul(argv[2], NULL, 10));
            bench_program.close();
            return 0;
        }
    }
    fprintf(stderr, "usage: %s [OP N]\n", bench_program.name);
    return 2;
}

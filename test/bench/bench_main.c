/* SPDX-License-Identifier: BSD-3-Clause
 * The loop and the command line of the programs whose instructions are counted.
 */
#include "bench_main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

unsigned long bench_done;

static const char *program_name;

void bench_check(ufx_status_t status, const char *what)
{
    if (status != UFX_OK && status != UFX_INPROGRESS) {
        fprintf(stderr, "%s: %s: %s\n", program_name, what, ufx_ucs_status_name(status));
        exit(1);
    }
}

static void run(const struct bench_program *program, const struct bench_operation *operation,
                unsigned long count)
{
    for (unsigned long posted = 0; posted < count;) {
        for (unsigned i = 0; i < operation->burst; ++i, ++posted) {
            bench_check(operation->post(), operation->name);
        }
        do {
            program->progress();
        } while (bench_done < posted);
    }
}

int bench_main(const struct bench_program *program, int argc, char **argv)
{
    program_name = program->name;
    if (argc == 1) {
        for (size_t i = 0; i < program->count; ++i) {
            puts(program->operations[i].name);
        }
        return 0;
    }
    for (size_t i = 0; argc == 3 && i < program->count; ++i) {
        if (strcmp(argv[1], program->operations[i].name) == 0) {
            program->open();
            run(program, &program->operations[i], strtoul(argv[2], NULL, 10));
            program->close();
            return 0;
        }
    }
    fprintf(stderr, "usage: %s [OP N]\n", program->name);
    return 2;
}

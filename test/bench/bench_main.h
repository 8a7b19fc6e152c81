/* SPDX-License-Identifier: BSD-3-Clause
 * What the programs that check_instructions.sh counts share: PROGRAM lists its operations,
 * PROGRAM OP N posts one of them N times.
 *
 * Bursts of posts, then progress until all of a burst are done, as a busy program would.
 * check_instructions takes the difference of two counts, so that opening and closing do not show.
 */
#ifndef UFX_TEST_BENCH_MAIN_H
#define UFX_TEST_BENCH_MAIN_H

#include <stddef.h>

#include <ufx/status.h>

enum { BENCH_BURST = 32 };

/* post() returns as the call that it measures; it, or a callback, counts in bench_done. */
struct bench_operation {
    const char *name;
    ufx_status_t (*post)(void);
    unsigned burst;
};

struct bench_program {
    const char *name;
    const struct bench_operation *operations;
    size_t count;
    void (*open)(void);
    void (*progress)(void);
    void (*close)(void);
};

/* Operations that are done. */
extern unsigned long bench_done;

/* What this program measures; bench_main.c has its main(). */
extern const struct bench_program bench_program;

/* Ends the program unless the call was accepted. */
void bench_check(ufx_status_t status, const char *what);

#endif

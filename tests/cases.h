/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cases written by hand, their elements as elements.h says. Run at every CPU level of this machine,
 * in one thread and two, out of place and, where allowed, in place. With the environment variable
 * TALLY_TEST_DEVICES, a comma-separated list of what targets.h finds, on those devices instead.
 * What a device lacks must be refused there, and where it flushes, a case that has subnormals is
 * right if the judge takes it.
 */
#ifndef TLY_CASES_H
#define TLY_CASES_H

#include "elements.h"
#include "targets.h"

/* Where the cases run. */
typedef struct tly_levels {
    tally_context *context;
    tally_device levels[TLY_MOST_TARGETS];
    size_t level_count;
} tly_levels;

/* Returns 0, or -1 and a message in `why`. */
int tly_levels_open(tly_levels *levels, char *why, size_t capacity);
void tly_levels_close(tly_levels *levels);

/* Returns 0 if the case is right everywhere; else says what is wrong. */
int tly_case_run(tly_levels *levels, const tly_case *c, char *why, size_t capacity);
/* The same by the kernel's entry, its tiles cut into tasks in three ways: native code and, of the
 * same levels, the interpreter. Devices that are no CPU's are passed over. */
int tly_case_run_tasks(tly_levels *levels, const tly_case *c, char *why, size_t capacity);

#endif

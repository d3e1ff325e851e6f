/*
 * Cases written by hand: a word, the input's elements and the output's, as text. Run at every CPU
 * level of this machine, in one thread and two, out of place and, where allowed, in place. With
 * the environment variable TALLY_TEST_DEVICES, a comma-separated list of what targets.h finds, on
 * those devices instead. What a device lacks must be refused there, and where it flushes, a case
 * that has subnormals is right if the judge takes it.
 *
 * Elements are blank-separated, in memory order from the lowest index that the strides reach to the
 * highest: decimal or hexadecimal numbers, inf, -inf, nan, -0; "V*N" is N times V. In the output
 * "~V" is V within 1e-5 of it, "_" is no element and must stay untouched, "?" is not looked at.
 */
#ifndef TLY_CASES_H
#define TLY_CASES_H

#include "targets.h"

typedef struct tly_case {
    const char *word, *in, *out;
} tly_case;

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

#endif

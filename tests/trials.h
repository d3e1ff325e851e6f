/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the Criterion units on semantics share: levels opened or the test ended, scans lifted, and
 * words tried with random data in every way at every level.
 */
#ifndef TLY_TRIALS_H
#define TLY_TRIALS_H

#include <criterion/criterion.h>

#include "lifts.h"
#include "trial.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

typedef struct tly_trials {
    tly_levels levels;
    tly_arena in, out;
} tly_trials;

void tly_require_levels(tly_levels *levels);
void tly_trials_open(tly_trials *t);
void tly_trials_close(tly_trials *t);
void tly_trials_check(tly_trials *t, const char *word, tly_data data, uint64_t seed);
/* The same by a forced plan, where a level takes it. */
void tly_trials_check_plan(tly_trials *t, const char *word, const char *plan, tly_data data,
                           uint64_t seed);
/* Each of the words with each kind of data, the k-th with seed + k; of arrays. */
void tly_check_words(const char *const *words, size_t count, const tly_data *data, size_t kinds,
                     uint64_t seed);
#define CHECK_WORDS(words, data, seed) tly_check_words(words, COUNT(words), data, COUNT(data), seed)
void tly_check_scans(const tly_scan *scans, size_t count);
void tly_check_cases(const tly_case *cases, size_t count);

#define CHECK_SCANS(...) \
    do { \
        static const tly_scan scans_[] = { __VA_ARGS__ }; \
        tly_check_scans(scans_, COUNT(scans_)); \
    } while (0)

#endif

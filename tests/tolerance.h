/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far from the wider reference a result may be (docs/semantics.md, Accuracy), where several
 * orders of combination are right.
 */
#ifndef TLY_TOLERANCE_H
#define TLY_TOLERANCE_H

#include "compare.h"

/* One output on its way through the judge. */
typedef struct tly_judging {
    const tally_descriptor *d;
    const void *out;
    const tly_operation *operation;
    tally_dtype dtype, accumulator; /* dtype: the output's */
    int flushes;
    int by_wide; /* the loop's own sum is no argument */
    tly_verdict *verdict;
} tly_judging;

/* NULL, or why the bits are not a right result of a sum, of a log sum. */
const char *tly_rule_sum(const tly_judging *j, const tly_fact *f, uint64_t got);
const char *tly_rule_log_sum(const tly_judging *j, const tly_fact *f, uint64_t got);

/* The same of a sum, each of whose terms and partial sums may lose up to `slack`. */
int tly_is_right_sum(const tly_judging *j, const tly_fact *f, uint64_t got, long double slack);

/* Of a product whose prefixes stay in range. */
int tly_is_near_product(const tly_judging *j, const tly_fact *f, uint64_t got);

/* Of the accumulator's type. */
long double tly_least_normal_of(const tly_judging *j);

#endif

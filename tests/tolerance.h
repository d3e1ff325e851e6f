/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far from the wider reference a result may be (docs/semantics.md, Accuracy), where several
 * orders of combination are right.
 */
#ifndef TLY_TOLERANCE_H
#define TLY_TOLERANCE_H

#include "compare.h"
#include "fused.h"

/* One output on its way through the judge. */
typedef struct tly_judging {
    const tally_descriptor *d; /* what is combined: `values` of `fused` */
    const tly_fused *fused;
    const void *out;
    const tly_operation *operation;
    tally_dtype dtype, accumulator; /* dtype: the output's; with `post` that of what goes into it */
    int flushes;
    int by_wide; /* the loop's own sum is no argument */
    int is_loop; /* recurrences: kernels run the plain loop, whatever the order */
    tly_verdict *verdict;
} tly_judging;

/* What a result may be: numbers from low to high, and these. */
typedef struct tly_range {
    long double low, high;
    int plus_infinity, minus_infinity, nan;
} tly_range;

/* NULL, or why the bits are not a right result of a sum, of a recurrence, of a log sum. */
const char *tly_rule_sum(const tly_judging *j, const tly_fact *f, uint64_t got);
const char *tly_rule_recurrence(const tly_judging *j, const tly_fact *f, uint64_t got);
const char *tly_rule_log_sum(const tly_judging *j, const tly_fact *f, uint64_t got);

/* The same of a sum, each of whose terms and partial sums may lose up to `slack`. */
int tly_is_right_sum(const tly_judging *j, const tly_fact *f, uint64_t got, long double slack);

/* Of a product whose prefixes stay in range. */
int tly_is_near_product(const tly_judging *j, const tly_fact *f, uint64_t got);

/* The same ranges themselves, before they are rounded to the output. */
tly_range tly_range_of_sum(const tly_judging *j, const tly_fact *f, long double slack);
tly_range tly_range_of_recurrence(const tly_judging *j, const tly_fact *f);
/* 1: within the tolerance where subnormals may count as zeros. */
int tly_is_flushed_recurrence(const tly_judging *j, const tly_fact *f, uint64_t got);
tly_range tly_range_of_log_sum(const tly_judging *j, const tly_fact *f);
tly_range tly_range_of_product(const tly_judging *j, const tly_fact *f);

/* Whether the bits are `post` of a result in a range. */
int tly_is_right_post(const tly_judging *j, const tly_fact *f, const tly_range *y, uint64_t got);

/* Of the accumulator's type. */
long double tly_least_normal_of(const tly_judging *j);

#endif

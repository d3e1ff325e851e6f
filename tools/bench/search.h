/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search for a word's fastest plan: every plan is judged by the bits of its output beside those
 * of the library's own, then timed in turns with it. docs/tune.md says in which order plans are
 * tried.
 */
#ifndef TLY_SEARCH_H
#define TLY_SEARCH_H

#include "../files/lines.h"
#include "bench_target.h"

/* Of a plan's output against the library's own plan's. */
typedef enum tly_bits { TLY_BITS_SAME, TLY_BITS_TOLERANCE, TLY_BITS_WRONG } tly_bits;

enum { TLY_MOST_OVERRIDES = 512 };

typedef struct tly_candidate {
    char plan[TLY_MOST_OVERRIDES];  /* overrides; "" for the library's own */
    char whole[TLY_MOST_OVERRIDES]; /* every key of the plan, comma-separated */
    tly_timing timing;              /* base: the library's own plan beside it */
    tly_bits bits;
    int same_order; /* no bit of any result can differ (TALLY_STAGE_ORDER) */
    int failed;     /* it could not be made or run: `error` says why */
    int expanded, kept;
    tally_error error;
} tly_candidate;

typedef struct tly_search {
    tly_bench_target *target;
    int only_same_order; /* leave out what could not be kept */
    double seconds;      /* for all of it */
    double each;         /* of them, a plan's */
    char order[TLY_MOST_OVERRIDES];
    tly_runner own;
    char *expected;       /* its output */
    tly_candidate *found; /* [0] is the library's own plan; then as they were tried */
    size_t count;
} tly_search;

/* Tries the plans, or, where there are none, those that the limits of the library's own lead to.
 * To be ended after every outcome. */
int tly_search_run(tly_search *search, const tly_lines *plans, tly_report *report);
void tly_search_end(tly_search *search);

/* How many times as fast as the library's own plan; 0: it failed. */
double tly_speedup(const tly_candidate *candidate);

/* plans.c: every key of the plan that these overrides (NULL: none) make for the target's word,
 * and what of it decides the order of combination, as one line each. TALLY_INVALID: they make
 * none. */
tally_status tly_plan_whole(const tly_bench_target *target, const char *plan,
                            char whole[TLY_MOST_OVERRIDES], tally_error *error);
tally_status tly_plan_order(const tly_bench_target *target, const char *plan,
                            char order[TLY_MOST_OVERRIDES], tally_error *error);

/* plans.c: the plans that are one more change away. To be ended after every outcome. */
int tly_plans_beside(const tly_bench_target *target, const char *plan, tly_lines *lines,
                     tly_report *report);

/* bits.c: compares outputs of the target's word. */
tly_bits tly_bits_of(const tly_bench_target *target, const char *expected, const char *got);

#endif

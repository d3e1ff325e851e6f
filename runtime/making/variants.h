/* SPDX-License-Identifier: Apache-2.0 */
/* The problems that a word with open sizes stands for. */
#ifndef TLY_VARIANTS_H
#define TLY_VARIANTS_H

#include "../problem/problem.h"

/* Open sizes that a word with strides may have: the time of the search grows by a factor with
 * each. */
enum { TLY_VARIANTS_MOST_STRIDED = 4 };

/* Whether there are more of them than that. */
int tly_variants_too_many(const tally_descriptor *full);

/* Every problem that the open sizes of a resolved descriptor may make, once each, in the order of
 * tly_problem_order; from malloc, NULL without memory. The caller has asked
 * tly_variants_too_many. */
tly_problem *tly_variants_find(const tally_descriptor *full, size_t *count);

/* ---- for variants.c and variants_strided.c ---- */

enum { TLY_VARIANTS_LARGE = 65536, TLY_VARIANTS_BUCKETS = 4096 };

/* A search on its way. */
typedef struct tly_search {
    tally_descriptor full;
    int64_t sizes[TALLY_MAX_RANK]; /* of all dims; 1 where an open one has none yet */
    tly_problem *found;
    size_t found_count;
    uint32_t buckets[TLY_VARIANTS_BUCKETS]; /* 1 + index into found; open addressing */
    int failed;
} tly_search;

/* Adds the problem that the sizes make, unless they are invalid, make an empty output, or the
 * problem is there. */
void tly_search_try(tly_search *s);

/* The largest size up to TLY_VARIANTS_LARGE that dim d may have beside the other sizes; 0: none. */
int64_t tly_search_large(const tly_search *s, int32_t d);

/* The least size of dim d with which an output is made of 2^31 elements, beside the other sizes:
 * from there on i32 does not count them. */
int64_t tly_search_huge(const tly_search *s, int32_t d);

/* Whether there is something to do where dim d has no elements: a result of none of them, or states
 * that are handed on. */
int tly_variants_take_none(const tally_descriptor *full, int32_t d);

/* variants_strided.c: tries sizes of a word with strides. */
void tly_search_strided(tly_search *s);

#endif

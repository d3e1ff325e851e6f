/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which problems the open sizes of a word may make, found by trying: sizes for neighbours of one
 * kind, which merge, are one number, and only a few of them make a difference. A problem has a size
 * as a literal or as the side of a limit on which it lies (problem.c, problem_reduce.c), so every
 * number up to the largest limit is tried where the innermost dims and a scan's axis are, then
 * powers of two of reduced ones, and 1, 2 and large ones elsewhere.
 */
#include "variants.h"

#include "ahead.h"
#include "checked.h"
#include "descriptor.h"

#include <stdlib.h>

enum {
    ROWS_LIMIT = TLY_MEDIUM_ROW + 2,         /* along a scan's axis */
    LANES_LIMIT = TLY_NARROW_MOST + 2,       /* beside it */
    KEPT_LIMIT = TLY_REDUCED_FEW_LANES + 1,  /* a reduction's lanes */
    STEP_LIMIT = TLY_REDUCED_SHORT_STEP + 1, /* its innermost dim, where that is reduced */
    LARGE = 65536,
    BUCKETS = 4096
};

/* So many elements are counted in more than 31 bits. */
#define MANY (INT64_C(1) << 31)

typedef struct group {
    int32_t dim;    /* whose size stands for that of all; the others are 1 */
    int64_t most;   /* every number to here is tried */
    int is_reduced; /* none, too, and a huge one */
} group;

typedef struct search {
    tally_descriptor full;
    int64_t sizes[TALLY_MAX_RANK]; /* of all dims; TALLY_OPEN_SIZE at first */
    group groups[TALLY_MAX_RANK];  /* of open dims, innermost first */
    int32_t count;
    tly_problem *found;
    size_t found_count;
    uint32_t buckets[BUCKETS]; /* 1 + index into found; open addressing */
    int failed;
} search;

/* ---- a set of problems ---------------------------------------------------------------------- */

static void add(search *s, const tly_problem *p)
{
    uint64_t words[2];
    memcpy(words, p, sizeof words);
    uint32_t at = (uint32_t)((words[0] ^ words[1] * 31) * UINT64_C(0x9e3779b97f4a7c15) >> 40) %
                  BUCKETS;
    for (; s->buckets[at] != 0; at = (at + 1) % BUCKETS) {
        if (memcmp(&s->found[s->buckets[at] - 1], p, sizeof *p) == 0) {
            return;
        }
    }
    if (s->found_count == BUCKETS / 2) { /* never seen: scans have some 300 at most */
        s->failed = 1;
        return;
    }
    s->found[s->found_count++] = *p;
    s->buckets[at] = (uint32_t)s->found_count;
}

/* ---- sizes ---------------------------------------------------------------------------------- */

static void try_sizes(search *s)
{
    tally_descriptor full = s->full;
    tly_problem problem;
    tly_geometry geometry;
    memcpy(full.sizes, s->sizes, sizeof full.sizes);
    if (tly_close_sizes(&full, NULL)) {
        tly_canonicalise_closed(&full, &problem, &geometry);
        if (!geometry.empty) {
            add(s, &problem);
        }
    }
}

static void try_group(search *s, int32_t g, int inner_is_one);

/* Strides count a size 0 as 1. */
static void try_size(search *s, int32_t g, int64_t size, int inner_is_one)
{
    s->sizes[s->groups[g].dim] = size;
    try_group(s, g + 1, inner_is_one && size <= 1);
}

/* The least size of a group's dim with which an output is made of MANY elements, where the groups
 * further out have sizes of 1. It is the least because i32 indices reach exactly so far. */
static int64_t huge_size(const search *s, int32_t g)
{
    int64_t others = 1; /* of the output's elements, without the group */
    for (int32_t d = 0; d < s->full.rank; d++) {
        int counts = (s->full.axes >> d & 1) != 0 && s->sizes[d] > 1;
        for (int32_t k = g; k < s->count; k++) {
            counts = counts && s->groups[k].dim != d;
        }
        others = counts ? tly_multiply(others, s->sizes[d]) : others;
    }
    return tly_ceil_div(MANY, others);
}

/* Dims further out are looked at closely only where those within are not there. */
static void try_group(search *s, int32_t g, int inner_is_one)
{
    if (g == s->count) {
        try_sizes(s);
        return;
    }
    const group *here = &s->groups[g];
    const int is_axis = tly_ops[s->full.op].scan && here->dim == s->full.axis;
    const int64_t most = inner_is_one || is_axis ? here->most : 2;
    for (int64_t size = here->is_reduced ? 0 : 1; size <= most; size++) {
        try_size(s, g, size, inner_is_one);
    }
    try_size(s, g, LARGE, 0);
    if (here->is_reduced) {
        /* Medium rows have lengths of which the longest is four times the shortest. */
        for (int64_t size = 2 * STEP_LIMIT; inner_is_one && size <= TLY_REDUCED_MEDIUM_BYTES;
             size *= 2) {
            try_size(s, g, size, 0);
        }
        try_size(s, g, huge_size(s, g), 0);
    }
}

/* ---- groups --------------------------------------------------------------------------------- */

/* Neighbours of one kind merge: a scan's dims before, on and behind the axis, a reduction's that are
 * kept or reduced. */
static int kind_of(const tally_descriptor *full, int32_t d)
{
    if (!tly_ops[full->op].scan) {
        return (int)(full->axes >> d & 1);
    }
    return (d >= full->axis) + (d > full->axis);
}

static int64_t most_of(const tally_descriptor *full, int32_t d)
{
    static const int64_t scans[] = { 2, ROWS_LIMIT, LANES_LIMIT };
    const int kind = kind_of(full, d);
    return tly_ops[full->op].scan ? scans[kind] : kind ? STEP_LIMIT : KEPT_LIMIT;
}

static void find_groups(search *s)
{
    const tally_descriptor *full = &s->full;
    int open = 0; /* in the group that dim d belongs to */
    for (int32_t d = full->rank - 1; d >= 0; d--) {
        open = d + 1 < full->rank && kind_of(full, d) == kind_of(full, d + 1) ? open : 0;
        s->sizes[d] = full->sizes[d];
        if (full->sizes[d] != TALLY_OPEN_SIZE) {
            continue;
        }
        if (open) {
            s->sizes[d] = 1;
            continue;
        }
        open = 1;
        s->groups[s->count++] = (group){ d, most_of(full, d),
                                         !tly_ops[full->op].scan && kind_of(full, d) };
    }
}

static int order(const void *a, const void *b)
{
    return tly_problem_order(a, b);
}

tly_problem *tly_variants_find(const tally_descriptor *full, size_t *count)
{
    search *s = calloc(1, sizeof *s);
    tly_problem *found = calloc(BUCKETS / 2, sizeof *found);
    if (s != NULL && found != NULL) {
        s->full = *full;
        s->found = found;
        find_groups(s);
        try_group(s, 0, 1);
        *count = s->found_count;
        qsort(found, *count, sizeof *found, order);
    }
    if (s == NULL || s->failed) {
        free(found);
        found = NULL;
    }
    free(s);
    return found;
}

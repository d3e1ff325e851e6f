/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which problems the open sizes of a word may make, found by trying: sizes for neighbours of one
 * kind, which merge, are one number, and only a few of them make a difference. A problem has a
 * size as a literal or as the side of a limit on which it lies (specialise.h), so every number
 * up to the largest limit is tried where the innermost dims and a scan's axis are, then powers of
 * two of reduced ones, and 1, 2 and large ones elsewhere. With strides other numbers count:
 * variants_strided.c.
 */
#include "variants.h"

#include "../descriptor/descriptor.h"
#include "../descriptor/stages.h"
#include "../host/checked.h"
#include "../problem/canonicalise.h"
#include "../problem/specialise.h"
#include "ahead.h"

#include <stdlib.h>

enum {
    ROWS_LIMIT = TLY_MEDIUM_ROW + 2,        /* along a scan's axis */
    LANES_LIMIT = TLY_FEW_COLUMNS_MOST + 2, /* beside it */
    KEPT_LIMIT = TLY_REDUCED_FEW_LANES + 1, /* a reduction's lanes */
    STEP_LIMIT = TLY_REDUCED_SHORT_STEP + 1 /* its innermost dim, where that is reduced */
};

/* So many elements are counted in more than 31 bits. */
#define MANY (INT64_C(1) << 31)

typedef struct group {
    int32_t dim;     /* whose size stands for that of all; the others are 1 */
    int64_t most;    /* every number to here is tried */
    int is_reduced;  /* a huge one is tried, too, ... */
    int is_counted;  /* ... and where an index tells elements of it apart */
    int may_be_none; /* no elements leave something to do */
} group;

/* Of a word without strides. */
typedef struct packed {
    tly_search *s;
    group groups[TALLY_MAX_RANK]; /* of open dims, innermost first */
    int32_t count;
} packed;

/* ---- a set of problems ---------------------------------------------------------------------- */

static void add(tly_search *s, const tly_problem *p)
{
    uint64_t words[TLY_FACT_WORDS], mixed = 0;
    memcpy(words, p, sizeof words);
    for (int i = 0; i < TLY_FACT_WORDS; i++) {
        mixed = mixed * 31 ^ words[i];
    }
    uint32_t at = (uint32_t)(mixed * UINT64_C(0x9e3779b97f4a7c15) >> 40) % TLY_VARIANTS_BUCKETS;
    for (; s->buckets[at] != 0; at = (at + 1) % TLY_VARIANTS_BUCKETS) {
        if (memcmp(&s->found[s->buckets[at] - 1], p, sizeof *p) == 0) {
            return;
        }
    }
    if (s->found_count == TLY_VARIANTS_BUCKETS / 2) { /* never seen: scans have some 300 at most */
        s->failed = 1;
        return;
    }
    s->found[s->found_count++] = *p;
    s->buckets[at] = (uint32_t)s->found_count;
}

/* ---- sizes ---------------------------------------------------------------------------------- */

void tly_search_try(tly_search *s)
{
    tally_descriptor full = s->full;
    tly_problem problem;
    tly_geometry geometry;
    memcpy(full.sizes, s->sizes, sizeof full.sizes);
    if (tly_close_sizes(&full, NULL)) {
        tly_canonicalise_variant(&full, &problem, &geometry);
        if (!geometry.empty) {
            add(s, &problem);
        }
    }
}

static int is_valid(const tly_search *s, int32_t d, int64_t size)
{
    tally_descriptor full = s->full;
    memcpy(full.sizes, s->sizes, sizeof full.sizes);
    full.sizes[d] = size;
    return tly_close_sizes(&full, NULL);
}

int64_t tly_search_large(const tly_search *s, int32_t d)
{
    int64_t low = 0, high = TLY_VARIANTS_LARGE;
    if (is_valid(s, d, high)) {
        return high;
    }
    while (high - low > 1) { /* low is valid, or nothing is; high is not */
        const int64_t middle = low + (high - low) / 2;
        if (is_valid(s, d, middle)) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

int64_t tly_search_huge(const tly_search *s, int32_t d)
{
    int64_t others = 1; /* of an output's elements, without the dim */
    for (int32_t i = 0; i < s->full.rank; i++) {
        if (i != d && s->full.axes >> i & 1 && s->sizes[i] > 1) {
            others = tly_multiply(others, s->sizes[i]);
        }
    }
    return tly_ceil_div(MANY, others);
}

static void try_group(packed *p, int32_t g, int inner_is_one);

/* Strides count a size 0 as 1. */
static void try_size(packed *p, int32_t g, int64_t size, int inner_is_one)
{
    p->s->sizes[p->groups[g].dim] = size;
    try_group(p, g + 1, inner_is_one && size <= 1);
}

/* Dims further out are looked at closely only where those within are not there. */
static void try_group(packed *p, int32_t g, int inner_is_one)
{
    if (g == p->count) {
        tly_search_try(p->s);
        return;
    }
    const group *here = &p->groups[g];
    const tally_descriptor *full = &p->s->full;
    const int is_axis = tly_ops[full->op].scan && here->dim == full->axis;
    const int64_t most = inner_is_one || is_axis ? here->most : 2;
    for (int64_t size = here->may_be_none ? 0 : 1; size <= most; size++) {
        try_size(p, g, size, inner_is_one);
    }
    try_size(p, g, tly_search_large(p->s, here->dim), 0);
    if (here->is_reduced) {
        /* Medium rows have lengths of which the longest is four times the shortest. */
        for (int64_t size = 2 * STEP_LIMIT; inner_is_one && size <= TLY_REDUCED_MEDIUM_BYTES;
             size *= 2) {
            try_size(p, g, size, 0);
        }
    }
    if (here->is_reduced || here->is_counted) {
        try_size(p, g, tly_search_huge(p->s, here->dim), 0);
    }
    p->s->sizes[here->dim] = 1;
}

/* ---- groups --------------------------------------------------------------------------------- */

/* A scan's dims before, on and behind the axis, a reduction's that are kept or reduced. */
static int kind_of(const tally_descriptor *full, int32_t d)
{
    if (!tly_ops[full->op].scan) {
        return (int)(full->axes >> d & 1);
    }
    return (d >= full->axis) + (d > full->axis);
}

/* Neighbours of one kind merge, unless only one of them moves an operand. */
static int merges(const tally_descriptor *full, int32_t d)
{
    return d + 1 < full->rank && kind_of(full, d) == kind_of(full, d + 1) &&
           tly_moves_operands(full, d) == tly_moves_operands(full, d + 1);
}

static int64_t most_of(const tally_descriptor *full, int32_t d)
{
    static const int64_t scans[] = { 2, ROWS_LIMIT, LANES_LIMIT };
    const int kind = kind_of(full, d);
    /* Beside an axis of one element, rows with a carry are lanes. */
    const int is_lane = kind == 0 && full->carry != 0;
    return tly_ops[full->op].scan ? (is_lane ? LANES_LIMIT : scans[kind])
           : kind                 ? STEP_LIMIT
                                  : KEPT_LIMIT;
}

static void find_groups(packed *p)
{
    const tally_descriptor *full = &p->s->full;
    int open = 0; /* in the group that dim d belongs to */
    for (int32_t d = full->rank - 1; d >= 0; d--) {
        open = merges(full, d) ? open : 0;
        p->s->sizes[d] = full->sizes[d];
        if (full->sizes[d] != TALLY_OPEN_SIZE) {
            continue;
        }
        p->s->sizes[d] = 1;
        if (open) {
            continue;
        }
        open = 1;
        p->groups[p->count++] = (group){ .dim = d,
                                         .most = most_of(full, d),
                                         .is_reduced = !tly_ops[full->op].scan && kind_of(full, d),
                                         .is_counted = tly_tells_index(full->op) &&
                                                       kind_of(full, d) == 1,
                                         .may_be_none = tly_variants_take_none(full, d) };
    }
}

/* The code of all variants has the word's program. */
static void add_program(const tally_descriptor *full, tly_problem *found, size_t count)
{
    tly_program program;
    if (tly_has_expressions(full)) {
        tly_program_make(full, &program);
        for (size_t i = 0; i < count; i++) {
            found[i].program = program;
        }
    }
}

static int order(const void *a, const void *b)
{
    return tly_problem_order(a, b);
}

int tly_variants_take_none(const tally_descriptor *full, int32_t d)
{
    return tly_ops[full->op].scan ? d == full->axis && full->carry != 0
                                  : (int)(full->axes >> d & 1);
}

int tly_variants_too_many(const tally_descriptor *full)
{
    int count = 0;
    for (int32_t d = 0; d < full->rank; d++) {
        count += full->sizes[d] == TALLY_OPEN_SIZE;
    }
    return count > TLY_VARIANTS_MOST_STRIDED &&
           (full->flags & (TALLY_IN_STRIDES | TALLY_OUT_STRIDES)) != 0;
}

tly_problem *tly_variants_find(const tally_descriptor *full, size_t *count)
{
    tly_search *s = calloc(1, sizeof *s);
    tly_problem *found = calloc(TLY_VARIANTS_BUCKETS / 2, sizeof *found);
    if (s != NULL && found != NULL) {
        s->full = *full;
        s->found = found;
        if (full->flags & (TALLY_IN_STRIDES | TALLY_OUT_STRIDES)) {
            tly_search_strided(s);
        } else {
            packed p = { .s = s };
            find_groups(&p);
            try_group(&p, 0, 1);
        }
        *count = s->found_count;
        add_program(full, found, *count);
        qsort(found, *count, sizeof *found, order);
    }
    if (s == NULL || s->failed) {
        free(found);
        found = NULL;
    }
    free(s);
    return found;
}

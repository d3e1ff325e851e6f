/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which problems the open sizes of a word with strides may make; see variants.c. The strides are
 * fixed numbers, so that neighbours merge, blocks are packed, and an output's elements run into
 * each other at single sizes: at quotients of two strides of one tensor. All else depends on the
 * side of a limit on which a size lies, or a product of merged ones. Most limits are powers of two
 * or small: a few sizes reach every side of each. Of one dim at a time more is asked: the lanes,
 * whose number is compared with other sizes, and a scan's axis where it is the only dim with
 * several elements, as the length of such a row is a literal.
 */
#include "variants.h"

#include "../descriptor/descriptor.h"
#include "../problem/specialise.h"

#include <string.h>

enum {
    FEW = TLY_NEAR_STEP + 1, /* every number to here is tried, and powers of two to the next one, */
    MOST_POWER = 8192,       /* which is twice the highest limit */
    ROW = TLY_MEDIUM_ROW + 2,
    SCAN_LANES = 16,
    MOST_SIZES = 64 /* 18, and 3 for each other dim of two tensors */
};

/* An open dim, and the sizes that are tried. */
typedef struct choice {
    int32_t dim;
    int is_axis, is_reduced;
    int64_t close; /* every number to here is tried, where no other dim is looked at closely */
    int64_t sizes[MOST_SIZES];
    int count;
} choice;

typedef struct strided {
    tly_search *s;
    choice choices[TLY_VARIANTS_MOST_STRIDED]; /* a scan's axis last */
    int count;
} strided;

/* ---- sizes ---------------------------------------------------------------------------------- */

static int is_listed(const choice *c, int64_t size)
{
    for (int i = 0; i < c->count; i++) {
        if (c->sizes[i] == size) {
            return 1;
        }
    }
    return 0;
}

static void add_size(choice *c, int64_t size)
{
    if (!is_listed(c, size) && c->count < MOST_SIZES) {
        c->sizes[c->count++] = size;
    }
}

/* Where a dim ends at the next element along another one, just before that, and just behind:
 * another size on the same side of the limits. */
static void add_quotients(choice *c, int32_t rank, const int64_t *strides, int32_t at)
{
    const uint64_t own = tly_distance(strides[at]);
    for (int32_t d = 0; own != 0 && d < rank; d++) {
        const uint64_t other = tly_distance(strides[d]);
        const uint64_t quotient = other / own + (other % own != 0);
        if (d != at && other > own && quotient < INT64_MAX) {
            const int64_t size = (int64_t)quotient;
            add_size(c, size - 1);
            add_size(c, size);
            add_size(c, size + 1);
        }
    }
}

/* Which dim of the output a kept one is. */
static int32_t output_dim(const tally_descriptor *full, int32_t d)
{
    int32_t at = 0;
    for (int32_t i = 0; i < d; i++) {
        at += !(full->axes >> i & 1) || (full->flags & TALLY_KEEPDIMS);
    }
    return at;
}

static void list_sizes(const tally_descriptor *full, choice *c)
{
    int64_t shape[TALLY_MAX_RANK];
    for (int64_t size = tly_variants_take_none(full, c->dim) ? 0 : 1; size <= FEW; size++) {
        add_size(c, size);
    }
    for (int64_t size = 8; size <= MOST_POWER; size *= 2) {
        add_size(c, size);
    }
    if (full->flags & TALLY_IN_STRIDES) {
        add_quotients(c, full->rank, full->in_strides, c->dim);
    }
    if ((full->flags & TALLY_OUT_STRIDES) && !c->is_reduced) {
        add_quotients(c, tly_result_shape(full, shape), full->out_strides,
                      output_dim(full, c->dim));
    }
}

/* ---- the search ----------------------------------------------------------------------------- */

static void try_choice(strided *all, int at, int is_close);

/* `is_close`: some dim so far has a size that only close looks reach. */
static void try_size(strided *all, int at, int64_t size, int is_close)
{
    all->s->sizes[all->choices[at].dim] = size;
    try_choice(all, at + 1, is_close);
}

/* Whether all dims but one have a size of 1: then it is one dense row. */
static int is_alone(const tly_search *s, int32_t dim)
{
    for (int32_t d = 0; d < s->full.rank; d++) {
        if (d != dim && s->sizes[d] != 1) {
            return 0;
        }
    }
    return 1;
}

static void try_choice(strided *all, int at, int is_close)
{
    if (at == all->count) {
        tly_search_try(all->s);
        return;
    }
    const choice *c = &all->choices[at];
    const int64_t most = tly_search_large(all->s, c->dim); /* which grows with no other size */
    const int64_t close = c->is_axis && !is_alone(all->s, c->dim) ? 0 : is_close ? 0 : c->close;
    for (int i = 0; i < c->count; i++) {
        if (c->sizes[i] < most || most == TLY_VARIANTS_LARGE) {
            try_size(all, at, c->sizes[i], is_close);
        }
    }
    try_size(all, at, most, is_close);
    for (int64_t size = FEW + 1; size <= close && size < most; size++) {
        if (!is_listed(c, size)) {
            try_size(all, at, size, 1);
        }
    }
    if ((c->is_reduced || c->is_axis) && tly_tells_index(all->s->full.op)) {
        try_size(all, at, tly_search_huge(all->s, c->dim), is_close);
    }
    all->s->sizes[c->dim] = 1;
}

static void add_choice(strided *all, int32_t d)
{
    const tally_descriptor *full = &all->s->full;
    choice *c = &all->choices[all->count++];
    const int is_scan = tly_ops[full->op].scan;
    *c = (choice){ .dim = d,
                   .is_axis = is_scan && d == full->axis,
                   .is_reduced = (int)(full->axes >> d & 1) };
    c->close = c->is_axis ? ROW : c->is_reduced ? 0 : is_scan ? SCAN_LANES : TLY_REDUCED_FEW_LANES;
    list_sizes(full, c);
    all->s->sizes[d] = 1;
}

void tly_search_strided(tly_search *s)
{
    const tally_descriptor *full = &s->full;
    const int32_t last = tly_ops[full->op].scan ? full->axis : -1;
    strided all = { .s = s };
    memcpy(s->sizes, full->sizes, sizeof s->sizes);
    for (int32_t d = full->rank - 1; d >= 0; d--) {
        if (d != last && full->sizes[d] == TALLY_OPEN_SIZE) {
            add_choice(&all, d);
        }
    }
    if (last >= 0 && full->sizes[last] == TALLY_OPEN_SIZE) {
        add_choice(&all, last);
    }
    try_choice(&all, 0, 0);
}

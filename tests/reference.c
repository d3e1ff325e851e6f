/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guarantees: serial order, every operation rounded once in the accumulator's type, one rounding at
 * each store, wrap-around integers. Slow and plain on purpose.
 */
#include "reference.h"

#include "fold.h"
#include "fused.h"

const tly_operation tly_operations[TALLY_OP_COUNT] = {
    [TALLY_CUMSUM] = { TLY_SUMS, TLY_ITSELF, TLY_AS_IT_IS, 0 },
    [TALLY_CUMPROD] = { TLY_PRODUCTS, TLY_ITSELF, TLY_AS_IT_IS, 0 },
    [TALLY_CUMMAX] = { TLY_PICKS, TLY_ITSELF, TLY_AS_IT_IS, 1 },
    [TALLY_CUMMIN] = { TLY_PICKS, TLY_ITSELF, TLY_AS_IT_IS, -1 },
    [TALLY_CUMLOGSUMEXP] = { TLY_LOG_SUMS, TLY_ITSELF, TLY_AS_IT_IS, 0 },
    [TALLY_LINREC] = { TLY_RECURRENCES, TLY_ITSELF, TLY_AS_IT_IS, 0 },
    [TALLY_SUM] = { TLY_SUMS, TLY_ITSELF, TLY_AS_IT_IS, 0 },
    [TALLY_PROD] = { TLY_PRODUCTS, TLY_ITSELF, TLY_AS_IT_IS, 0 },
    [TALLY_MEAN] = { TLY_SUMS, TLY_ITSELF, TLY_BY_COUNT, 0 },
    [TALLY_L1] = { TLY_SUMS, TLY_ABSOLUTE, TLY_AS_IT_IS, 0 },
    [TALLY_L2] = { TLY_SUMS, TLY_SQUARE, TLY_ROOT, 0 },
    [TALLY_SUM_SQUARE] = { TLY_SUMS, TLY_SQUARE, TLY_AS_IT_IS, 0 },
    [TALLY_LOG_SUM] = { TLY_SUMS, TLY_ITSELF, TLY_LOGARITHM, 0 },
    [TALLY_LOG_SUM_EXP] = { TLY_LOG_SUMS, TLY_ITSELF, TLY_AS_IT_IS, 0 },
    [TALLY_MAX] = { TLY_PICKS, TLY_ITSELF, TLY_AS_IT_IS, 1 },
    [TALLY_MIN] = { TLY_PICKS, TLY_ITSELF, TLY_AS_IT_IS, -1 },
    [TALLY_ARGMAX] = { TLY_INDICES, TLY_ITSELF, TLY_AS_IT_IS, 1 },
    [TALLY_ARGMIN] = { TLY_INDICES, TLY_ITSELF, TLY_AS_IT_IS, -1 },
    [TALLY_CUMARGMAX] = { TLY_INDICES, TLY_ITSELF, TLY_AS_IT_IS, 1 },
    [TALLY_CUMARGMIN] = { TLY_INDICES, TLY_ITSELF, TLY_AS_IT_IS, -1 },
};

/* By family, of integers and of floats. */
static const tly_folding *const foldings[TLY_FAMILY_COUNT][2] = {
    [TLY_SUMS] = { &tly_fold_integers, &tly_fold_floats },
    [TLY_PRODUCTS] = { &tly_fold_integers, &tly_fold_floats },
    [TLY_LOG_SUMS] = { &tly_fold_logs, &tly_fold_logs },
    [TLY_RECURRENCES] = { &tly_fold_linear_integers, &tly_fold_linear_floats },
    [TLY_PICKS] = { &tly_fold_picks, &tly_fold_picks },
    [TLY_INDICES] = { &tly_fold_picks, &tly_fold_picks },
};

static int tells_indices(const tally_descriptor *d)
{
    return tly_operations[d->op].family == TLY_INDICES;
}

tally_dtype tly_reference_output(const tally_descriptor *d)
{
    return (tally_dtype)(d->out_dtype ? d->out_dtype : tells_indices(d) ? TALLY_I64 : d->dtype);
}

/* Integers whose results are functions of f64 have that one. */
tally_dtype tly_reference_accumulator(const tally_descriptor *d)
{
    const tally_dtype dtype = tells_indices(d) ? (tally_dtype)d->dtype : tly_reference_output(d);
    if (!tly_is_float(dtype))
        return dtype;
    return dtype == TALLY_F64 || d->acc == TALLY_F64 ? TALLY_F64 : TALLY_F32;
}

/* One descriptor on its way through the loop. */
typedef struct walk {
    tly_layout layout;
    tly_fused fused;
    const tally_descriptor *d; /* what is combined: `fused.values` */
    int is_fused;
    const tly_folding *way;
    const void *in;
    const void *const *operands;
    tly_fact_visit visit;
    void *user;
    tly_scalar names[TLY_NAMES]; /* at the last element that was loaded */
    int resets;                  /* it begins anew */
} walk;

static tly_fold begin(const walk *w, int64_t row)
{
    const tally_descriptor *d = w->d;
    tly_fold s = { .d = d, .operation = &tly_operations[d->op] };
    s.in = (tally_dtype)d->dtype;
    s.out = tly_reference_output(d);
    s.accumulator = tly_reference_accumulator(d);
    s.started = (d->flags & TALLY_EXCLUSIVE) != 0; /* only there the identity takes part */
    s.single = s.accumulator == TALLY_F32;
    s.precision = s.single ? 24 : 53;
    s.fact.row = row;
    return s;
}

/* The element that is combined. */
static uint64_t load(walk *w, tly_fold *s, int64_t at_row, int64_t position)
{
    const int64_t at = at_row + tly_layout_step(&w->layout, position);
    const uint64_t x = tly_bits_load(w->fused.in, w->in, at);
    int subnormal = 0;
    if (!w->is_fused)
        return x;
    w->names[TLY_NAME_X] = tly_fused_widen(&w->fused, w->fused.in, x);
    tly_fused_load(&w->fused, &w->layout, w->operands, s->fact.row, position, w->names);
    if (tly_fused_is_mean(&w->fused))
        return x;
    const uint64_t u = tly_fused_map(&w->fused, w->names, &subnormal);
    if (tly_fused_recurs(&w->fused))
        s->coef = tly_fused_coef(&w->fused, w->names, &subnormal);
    if (w->fused.has_reset)
        w->resets = tly_fused_resets(&w->fused, w->names, &subnormal);
    if (subnormal)
        s->fact.flags |= TLY_FACT_STAGE_SUBNORMAL;
    return u;
}

static void absorb(const walk *w, tly_fold *s, uint64_t bits)
{
    w->way->absorb(s, bits);
    s->started = 1;
    s->fact.terms++;
}

static int tell(walk *w, tly_fold *s, int64_t position, int64_t out)
{
    int subnormal = 0;
    w->way->tell(s);
    s->fact.position = position;
    s->fact.out = out;
    tly_fact fact = s->fact;
    fact.result = fact.bits;
    if (w->is_fused)
        fact.names = w->names;
    if (w->fused.has_post) {
        w->names[TLY_NAME_Y] = tly_fused_widen(&w->fused, s->out, fact.result);
        fact.bits = tly_fused_post(&w->fused, w->names, &subnormal);
        fact.flags |= subnormal ? TLY_FACT_STAGE_SUBNORMAL : 0u;
    }
    return w->visit(w->user, &fact);
}

/* Whether a position is the first of a segment, in scan direction. */
static int is_head(const walk *w, const tally_descriptor *d, int64_t position)
{
    const tly_layout *l = &w->layout;
    if (position == 0 || d->every == 0)
        return 0;
    return (l->is_reversed ? l->length - position : position) % d->every == 0;
}

/* Indices count from the start of the axis, where a reversed scan ends. */
static void begin_scan(walk *w, tly_fold *s, int64_t position)
{
    w->way->begin(s);
    s->first = w->layout.is_reversed ? w->layout.length - 1 - position : position;
    s->falls = w->layout.is_reversed;
}

/* The element is loaded before the result is told: they may share a place. */
static int scan_row(walk *w, tly_fold *s, int64_t at_in, int64_t at_out)
{
    const int exclusive = (s->d->flags & TALLY_EXCLUSIVE) != 0;
    begin_scan(w, s, 0);
    for (int64_t i = 0; i < w->layout.length; i++) {
        const uint64_t x = load(w, s, at_in, i);
        if (is_head(w, s->d, i) || w->resets) {
            *s = begin(w, s->fact.row);
            begin_scan(w, s, i);
            if (w->is_fused) /* what expressions met */
                (void)load(w, s, at_in, i);
        }
        if (!exclusive)
            absorb(w, s, x);
        const int stop = tell(w, s, i, at_out + i * w->layout.out_step);
        if (stop)
            return stop;
        if (exclusive)
            absorb(w, s, x);
    }
    return 0;
}

/* Operands that `post` reads do not extend along reduced axes, so that their elements are those of
 * position 0. An empty row has no position, and then each reduced axis of size 0 counts as 1. */
static void load_result(walk *w, int64_t row)
{
    tly_layout one = w->layout;
    for (int k = 0; k < one.rank; k++)
        if (one.folded >> k & 1)
            one.sizes[k] = 1;
    tly_fused_load(&w->fused, &one, w->operands, row, 0, w->names);
}

/* Each segment is a row of its own. */
static int reduce_row(walk *w, tly_fold *s, int64_t at_in, int64_t at_out)
{
    const tly_layout *l = &w->layout;
    const int64_t each = s->d->every ? s->d->every : l->length;
    int stop = 0;
    for (int64_t k = 0; k < l->results && !stop; k++) {
        const int64_t from = k * each, left = l->length - from,
                      to = from + (left < each ? left : each);
        *s = begin(w, s->fact.row);
        w->way->begin(s);
        s->first = from;
        for (int64_t i = from; i < to; i++)
            absorb(w, s, load(w, s, at_in, i));
        if (w->fused.has_post)
            load_result(w, s->fact.row);
        stop = tell(w, s, k, at_out + k * l->out_step);
    }
    return stop;
}

int tly_reference_buffers(const tally_descriptor *d, const void *in, const void *const *operands,
                          tly_fact_visit visit, void *user)
{
    walk w = { .in = in, .operands = operands, .visit = visit, .user = user };

    if (tly_fused_of(d, &w.fused))
        return -1;
    tly_layout_of(d, &w.layout);
    w.d = &w.fused.values;
    w.is_fused = tly_is_fused(d);
    for (int64_t row = 0; row < w.layout.rows; row++) {
        int64_t at_in, at_out;
        tly_fold s = begin(&w, row);
        w.way = foldings[s.operation->family][tly_is_float(s.in)];
        tly_layout_row(&w.layout, row, &at_in, &at_out);
        const int stop = (w.layout.is_scan ? scan_row : reduce_row)(&w, &s, at_in, at_out);
        if (stop)
            return stop;
    }
    return 0;
}

int tly_reference(const tally_descriptor *d, const void *in, tly_fact_visit visit, void *user)
{
    return tly_reference_buffers(d, in, NULL, visit, user);
}

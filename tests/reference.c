/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guarantees: serial order, every operation rounded once in the accumulator's type, one rounding at
 * each store, wrap-around integers. Slow and plain on purpose.
 */
#include "reference.h"

#include "fold.h"

const tly_operation tly_operations[TALLY_OP_COUNT] = {
    [TALLY_CUMSUM] = { TLY_SUMS, TLY_ITSELF, TLY_AS_IT_IS, 0 },
    [TALLY_CUMPROD] = { TLY_PRODUCTS, TLY_ITSELF, TLY_AS_IT_IS, 0 },
    [TALLY_CUMMAX] = { TLY_PICKS, TLY_ITSELF, TLY_AS_IT_IS, 1 },
    [TALLY_CUMMIN] = { TLY_PICKS, TLY_ITSELF, TLY_AS_IT_IS, -1 },
    [TALLY_CUMLOGSUMEXP] = { TLY_LOG_SUMS, TLY_ITSELF, TLY_AS_IT_IS, 0 },
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
};

/* By family, of integers and of floats. */
static const tly_folding *const foldings[TLY_FAMILY_COUNT][2] = {
    [TLY_SUMS] = { &tly_fold_integers, &tly_fold_floats },
    [TLY_PRODUCTS] = { &tly_fold_integers, &tly_fold_floats },
    [TLY_LOG_SUMS] = { &tly_fold_logs, &tly_fold_logs },
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

static tly_fold begin(const tally_descriptor *d, int64_t row)
{
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

static void absorb(const tly_folding *way, tly_fold *s, uint64_t bits)
{
    way->absorb(s, bits);
    s->started = 1;
    s->fact.terms++;
}

static int tell(const tly_folding *way, tly_fold *s, int64_t position, int64_t out,
                tly_fact_visit visit, void *user)
{
    way->tell(s);
    s->fact.position = position;
    s->fact.out = out;
    return visit(user, &s->fact);
}

/* The element is loaded before the result is told: they may share a place. */
static int scan_row(const tly_layout *l, tly_fold *s, const tly_folding *way, const void *in,
                    int64_t at_in, int64_t at_out, tly_fact_visit visit, void *user)
{
    const int exclusive = (s->d->flags & TALLY_EXCLUSIVE) != 0;
    for (int64_t i = 0; i < l->length; i++) {
        const uint64_t x = tly_bits_load(s->in, in, at_in + tly_layout_step(l, i));
        if (!exclusive)
            absorb(way, s, x);
        const int stop = tell(way, s, i, at_out + i * l->out_step, visit, user);
        if (stop)
            return stop;
        if (exclusive)
            absorb(way, s, x);
    }
    return 0;
}

static int reduce_row(const tly_layout *l, tly_fold *s, const tly_folding *way, const void *in,
                      int64_t at_in, int64_t at_out, tly_fact_visit visit, void *user)
{
    for (int64_t i = 0; i < l->length; i++)
        absorb(way, s, tly_bits_load(s->in, in, at_in + tly_layout_step(l, i)));
    return tell(way, s, 0, at_out, visit, user);
}

int tly_reference(const tally_descriptor *d, const void *in, tly_fact_visit visit, void *user)
{
    tly_layout l;

    tly_layout_of(d, &l);
    for (int64_t row = 0; row < l.rows; row++) {
        int64_t at_in, at_out;
        tly_fold s = begin(d, row);
        const tly_folding *way = foldings[s.operation->family][tly_is_float(s.out)];
        way->begin(&s);
        tly_layout_row(&l, row, &at_in, &at_out);
        const int stop = (l.is_scan ? scan_row : reduce_row)(&l, &s, way, in, at_in, at_out, visit,
                                                             user);
        if (stop)
            return stop;
    }
    return 0;
}

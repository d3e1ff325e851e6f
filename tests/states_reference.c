/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plain loops of the operators of states.c, in the place of Tally's own
 * (-Wl,--wrap=tly_reference_buffers). They do not round, so that every kernel must have their bits.
 */
#include <stddef.h>

#include "reference.h"

int __wrap_tly_reference_buffers(const tally_descriptor *d, const void *in,
                                 const void *const *operands, tly_fact_visit visit, void *user);
int __real_tly_reference_buffers(const tally_descriptor *d, const void *in,
                                 const void *const *operands, tly_fact_visit visit, void *user);

typedef struct state {
    uint64_t a, b, count;
    uint64_t last; /* bits of a float */
    double below, above;
} state;

static int is_sum(const tally_descriptor *d)
{
    return d->op == TALLY_SUM;
}

static state begin(const tally_descriptor *d)
{
    state s = { .a = 1 };
    if (tly_is_float((tally_dtype)d->dtype))
        s.last = tly_encode(tly_reference_output(d), 1);
    return s;
}

static uint64_t shown(const tally_descriptor *d, const state *s)
{
    const tally_dtype dtype = tly_reference_output(d);
    const int counts = d->op == TALLY_CUMPROD || d->op == TALLY_PROD;
    const uint64_t sign = UINT64_C(1) << (8 * tally_dtype_bytes(dtype) - 1);
    if (is_sum(d))
        return tly_is_float(dtype) ? tly_encode(dtype, s->above - s->below)
                                   : tly_integer_cut(dtype, s->a + s->b);
    if (!tly_is_float(dtype))
        return tly_integer_cut(dtype, s->b + (counts ? s->count : 0));
    return counts && s->count % 2 ? s->last ^ sign : s->last;
}

/* Of no elements, in a reduction. */
static uint64_t empty(const tally_descriptor *d)
{
    const tally_dtype dtype = tly_reference_output(d);
    return !is_sum(d) ? 0 : tly_is_float(dtype) ? tly_encode(dtype, 1) : 1;
}

static void absorb_sum(const tally_descriptor *d, state *s, uint64_t bits)
{
    const tally_dtype dtype = (tally_dtype)d->dtype;
    if (tly_is_float(dtype)) {
        s->below += tly_decode(dtype, bits) < -1;
        s->above += tly_decode(dtype, bits) > 1;
        return;
    }
    const uint64_t x = tly_integer_widen(dtype, bits), a = s->a;
    s->a = a * x - s->b;
    s->b = a + s->b * x;
}

static void absorb(const tally_descriptor *d, state *s, uint64_t bits)
{
    const tally_dtype dtype = (tally_dtype)d->dtype;
    const int is_zero = tly_is_float(dtype) ? tly_decode(dtype, bits) == 0 : bits == 0;
    const uint64_t x = tly_is_float(dtype) ? 0 : tly_integer_widen(dtype, bits);
    if (is_sum(d)) {
        absorb_sum(d, s, bits);
        return;
    }
    s->b = (2 * x + 1) * s->b + x;
    s->count += !is_zero;
    if (!is_zero && tly_is_float(dtype))
        s->last = tly_encode(tly_reference_output(d), tly_decode(dtype, bits));
}

static int tell(const tally_descriptor *d, const state *s, tly_fact fact, tly_fact_visit visit,
                void *user)
{
    fact.flags = TLY_FACT_ANY_ORDER;
    fact.flags |= tly_is_float(tly_reference_output(d)) ? TLY_FACT_FLOAT : 0;
    fact.bits = fact.result = s == NULL ? empty(d) : shown(d, s);
    return visit(user, &fact);
}

static int scan_row(const tally_descriptor *d, const tly_layout *l, int64_t row, const void *in,
                    tly_fact_visit visit, void *user)
{
    const int exclusive = (d->flags & TALLY_EXCLUSIVE) != 0;
    state s = begin(d);
    int64_t at_in, at_out;
    int stop = 0;
    tly_layout_row(l, row, &at_in, &at_out);
    for (int64_t i = 0; i < l->length && !stop; i++) {
        const uint64_t x = tly_bits_load((tally_dtype)d->dtype, in, at_in + tly_layout_step(l, i));
        const tly_fact fact = {
            .row = row, .position = i, .out = at_out + i * l->out_step, .terms = i + !exclusive
        };
        if (!exclusive)
            absorb(d, &s, x);
        stop = tell(d, &s, fact, visit, user);
        if (exclusive)
            absorb(d, &s, x);
    }
    return stop;
}

static int reduce_row(const tally_descriptor *d, const tly_layout *l, int64_t row, const void *in,
                      tly_fact_visit visit, void *user)
{
    state s = begin(d);
    int64_t at_in, at_out;
    tly_layout_row(l, row, &at_in, &at_out);
    for (int64_t i = 0; i < l->length; i++)
        absorb(d, &s, tly_bits_load((tally_dtype)d->dtype, in, at_in + tly_layout_step(l, i)));
    const tly_fact fact = { .row = row, .out = at_out, .terms = l->length };
    return tell(d, l->length > 0 ? &s : NULL, fact, visit, user);
}

int __wrap_tly_reference_buffers(const tally_descriptor *d, const void *in,
                                 const void *const *operands, tly_fact_visit visit, void *user)
{
    tly_layout l;
    int stop = 0;

    if (d->op != TALLY_CUMSUM && d->op != TALLY_CUMPROD && d->op != TALLY_SUM &&
        d->op != TALLY_PROD)
        return __real_tly_reference_buffers(d, in, operands, visit, user);
    tly_layout_of(d, &l);
    for (int64_t row = 0; row < l.rows && !stop; row++)
        stop = (l.is_scan ? scan_row : reduce_row)(d, &l, row, in, visit, user);
    return stop;
}

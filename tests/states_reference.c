/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plain loops of the operators of states.c, in the place of those of cumsum and cumprod
 * (-Wl,--wrap=tly_reference). They do not round, so that every kernel must have their bits.
 */
#include <stddef.h>

#include "reference.h"

int __wrap_tly_reference(const tally_descriptor *d, const void *in, tly_fact_visit visit,
                         void *user);
int __real_tly_reference(const tally_descriptor *d, const void *in, tly_fact_visit visit,
                         void *user);

typedef struct state {
    uint64_t a, b, count;
    uint64_t last; /* bits of a float */
} state;

static uint64_t shown(const tally_descriptor *d, const state *s)
{
    const tally_dtype dtype = tly_reference_output(d);
    const int counts = d->op == TALLY_CUMPROD;
    const uint64_t sign = UINT64_C(1) << (8 * tally_dtype_bytes(dtype) - 1);
    if (!tly_is_float(dtype))
        return tly_integer_cut(dtype, s->b + (counts ? s->count : 0));
    return counts && s->count % 2 ? s->last ^ sign : s->last;
}

static void absorb(const tally_descriptor *d, state *s, uint64_t bits)
{
    const tally_dtype dtype = (tally_dtype)d->dtype;
    const int is_zero = tly_is_float(dtype) ? tly_decode(dtype, bits) == 0 : bits == 0;
    const uint64_t x = tly_is_float(dtype) ? 0 : tly_integer_widen(dtype, bits);
    s->b = (2 * x + 1) * s->b + x;
    s->count += !is_zero;
    if (!is_zero && tly_is_float(dtype))
        s->last = tly_encode(tly_reference_output(d), tly_decode(dtype, bits));
}

int __wrap_tly_reference(const tally_descriptor *d, const void *in, tly_fact_visit visit,
                         void *user)
{
    const tally_dtype dtype = (tally_dtype)d->dtype;
    const int exclusive = (d->flags & TALLY_EXCLUSIVE) != 0;
    tly_layout l;
    int stop = 0;

    if (d->op != TALLY_CUMSUM && d->op != TALLY_CUMPROD)
        return __real_tly_reference(d, in, visit, user);
    tly_layout_of(d, &l);
    for (int64_t row = 0; row < l.rows && !stop; row++) {
        state s = { 0 };
        int64_t at_in, at_out;
        if (tly_is_float(dtype))
            s.last = tly_encode(tly_reference_output(d), 1);
        tly_layout_row(&l, row, &at_in, &at_out);
        for (int64_t i = 0; i < l.length && !stop; i++) {
            const uint64_t x = tly_bits_load(dtype, in, at_in + tly_layout_step(&l, i));
            tly_fact fact = { .row = row,
                              .position = i,
                              .out = at_out + i * l.out_step,
                              .terms = i + !exclusive,
                              .flags = TLY_FACT_ANY_ORDER };
            if (!exclusive)
                absorb(d, &s, x);
            fact.bits = shown(d, &s);
            fact.flags |= tly_is_float(dtype) ? TLY_FACT_FLOAT : 0;
            stop = visit(user, &fact);
            if (exclusive)
                absorb(d, &s, x);
        }
    }
    return stop;
}

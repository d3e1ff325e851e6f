/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums and products of integers, modulo 2^64, of which the narrower widths are the low bits. Means
 * are of exact sums, and divided in f64 if the output is a float. Logarithms take the whole 64
 * bits, signed as the dtype is, and go on in f64. Norms are those of f64.
 */
#include "fold.h"

#include <math.h>

static int is_norm(const tly_fold *s)
{
    return s->operation->projection == TLY_ROOT;
}

static void begin(tly_fold *s)
{
    s->fact.flags = s->operation->projection == TLY_LOGARITHM ? TLY_FACT_FINITE
                                                              : TLY_FACT_ANY_ORDER;
    if (is_norm(s))
        s->fact.flags |= TLY_FACT_FLOAT | TLY_FACT_FINITE;
    s->integer = s->operation->family == TLY_PRODUCTS;
}

static uint64_t lift(const tly_fold *s, uint64_t x)
{
    if (s->operation->lift == TLY_SQUARE)
        return x * x;
    const int negate = s->operation->lift == TLY_ABSOLUTE && tly_is_signed(s->in) && (int64_t)x < 0;
    return negate ? 0 - x : x;
}

/* No square of f64 leaves the range; the sums are exact as long as f64 holds them. */
static void absorb_real(tly_fold *s, double x)
{
    tly_fact *f = &s->fact;
    f->sum += x * x;
    f->wide += (long double)x * x;
    f->scale = f->wide;
    if (f->wide > 0x1p53L)
        f->flags &= ~(uint32_t)TLY_FACT_ANY_ORDER;
}

static void absorb(tly_fold *s, uint64_t bits)
{
    const uint64_t given = tly_integer_widen(s->in, bits), x = lift(s, given);
    if (is_norm(s)) {
        absorb_real(s, (double)tly_integer_value(s->in, given));
        return;
    }
    s->whole += tly_is_signed(s->in) ? (tly_exact_sum)(int64_t)given : (tly_exact_sum)given;
    s->integer = s->operation->family == TLY_PRODUCTS ? s->integer * x : s->integer + x;
}

/* Towards zero, as C divides. */
static uint64_t mean(const tly_fold *s)
{
    return s->fact.terms == 0 ? 0 : (uint64_t)(s->whole / s->fact.terms);
}

static void tell(tly_fold *s)
{
    tly_fact *f = &s->fact;
    if (is_norm(s)) {
        f->accumulator = sqrt(f->sum);
        f->bits = tly_integer_saturate(s->out, f->accumulator);
        return;
    }
    f->sum = (double)tly_integer_value(s->out, s->integer);
    f->wide = f->sum; /* exact before that: what is rounded here is rounded in every order */
    if (tly_is_float(s->out)) {
        f->accumulator = f->wide = f->flushed = (double)s->whole / (double)f->terms;
        f->bits = tly_encode(s->out, f->accumulator);
        return;
    }
    f->accumulator = tly_fold_project(s, f->sum);
    switch (s->operation->projection) {
    case TLY_AS_IT_IS:
        f->bits = tly_integer_cut(s->out, s->integer);
        break;
    case TLY_BY_COUNT:
        f->bits = tly_integer_cut(s->out, mean(s));
        break;
    default:
        f->bits = tly_integer_saturate(s->out, f->accumulator);
    }
}

const tly_folding tly_fold_integers = { begin, absorb, tell };

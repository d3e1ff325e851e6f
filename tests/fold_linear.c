/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Linear recurrences, y = a*y + u: the loop in the accumulator's type, product and sum rounded
 * each, and the scales of the bound for other orders (docs/semantics.md, Accuracy).
 */
#include "fold.h"

#include <float.h>
#include <math.h>

/* ---- integers, modulo 2^64 ---- */

static void begin_integer(tly_fold *s)
{
    s->fact.flags = TLY_FACT_ANY_ORDER;
}

static void absorb_integer(tly_fold *s, uint64_t bits)
{
    const uint64_t u = tly_integer_widen(s->in, bits), a = tly_integer_widen(s->in, s->coef);
    s->integer = s->fact.terms ? a * s->integer + u : u;
}

static void tell_integer(tly_fold *s)
{
    tly_fact *f = &s->fact;
    f->bits = tly_integer_cut(s->out, s->integer);
    f->sum = f->accumulator = (double)tly_integer_value(s->out, s->integer);
    f->wide = f->sum;
}

const tly_folding tly_fold_linear_integers = { begin_integer, absorb_integer, tell_integer };

/* ---- floats ---- */

static void begin(tly_fold *s)
{
    s->fact.flags = TLY_FACT_FLOAT | TLY_FACT_FINITE;
}

static double step(const tly_fold *s, double a, double y, double u)
{
    const float product = (float)a * (float)y;
    return s->single ? product + (float)u : a * y + u;
}

/* Where the loop is infinite by a hair, or by its product alone, which the addend would bring back
 * into the range, other orders may be finite, and all that follows with them. */
static int is_open(const tly_fold *s, double a, double before, double u)
{
    const long double largest = s->single ? FLT_MAX : DBL_MAX;
    return fabsl((long double)a * before + u) < largest * 1.001L;
}

/* Where subnormals count as zeros: the loop that does so. In other orders sums of what is this
 * small may be subnormal, too. */
static void flush(tly_fold *s, double a, double u, double before, int is_first)
{
    tly_fact *f = &s->fact;
    const double addend = tly_flush(s, u);
    const double product = tly_flush(s, step(s, tly_flush(s, a), f->flushed, -0.0));
    f->flushed = is_first ? addend : tly_flush(s, step(s, 1, product, addend));
    if (tly_may_flush(s, u) || tly_may_flush(s, f->sum) ||
        (!is_first && (tly_may_flush(s, a) || tly_may_flush(s, step(s, a, before, -0.0)))) ||
        (f->scale > 0 && f->scale < tly_least_normal(s) * 0x1p26))
        f->flags |= TLY_FACT_SUBNORMAL;
}

static void absorb(tly_fold *s, uint64_t bits)
{
    tly_fact *f = &s->fact;
    const double u = tly_decode(s->in, bits), a = tly_decode(s->in, s->coef), before = f->sum;
    const int is_first = f->terms == 0;
    f->sum = is_first ? u : step(s, a, before, u);
    if (!isfinite(u) || (!is_first && !isfinite(a))) {
        f->flags |= TLY_FACT_NONFINITE_IN;
    } else if (isfinite(before) && !isfinite(f->sum)) {
        f->flags |= TLY_FACT_OVERFLOW;
        f->flags |= is_open(s, a, before, u) ? TLY_FACT_STRAYED : 0u;
    }
    if (!isfinite(f->sum))
        f->flags &= ~(uint32_t)TLY_FACT_FINITE;
    f->wide = f->sum;
    f->scale = is_first ? fabs(u) : fabsl(a) * f->scale + fabs(u);
    flush(s, a, u, before, is_first);
    if (f->scale > s->reach)
        s->reach = f->scale;
    const long double least = s->single ? 0x1p-21L : 0x1p-50L;
    f->lost = (is_first ? 0 : fabsl(a) * f->lost) + (s->reach > least ? s->reach : least);
}

static void tell(tly_fold *s)
{
    s->fact.accumulator = s->fact.sum;
    s->fact.bits = tly_encode(s->out, s->fact.sum);
}

const tly_folding tly_fold_linear_floats = { begin, absorb, tell };

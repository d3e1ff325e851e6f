/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log of a sum of exp, of floats and of integers: the running maximum m, s = sum of exp(x - m), and
 * y = m + log s. In the accumulator's type, and in wider arithmetic.
 */
#include "fold.h"

#include <math.h>

static double exponential(const tly_fold *s, double x)
{
    return s->single ? expf((float)x) : exp(x);
}

static double difference(const tly_fold *s, double a, double b)
{
    return s->single ? (float)a - (float)b : a - b;
}

/* exp(x - m) for x <= m; equal infinities differ by nothing. */
static double below(const tly_fold *s, double x, double m)
{
    return x == m ? 1 : exponential(s, difference(s, x, m));
}

static void begin(tly_fold *s)
{
    s->fact.flags = tly_is_float(s->out) ? TLY_FACT_FLOAT | TLY_FACT_FINITE : TLY_FACT_FINITE;
    s->largest = -INFINITY;
    s->wide_largest = -INFINITY;
}

static void absorb_loop(tly_fold *s, double x)
{
    const double m = x > s->largest ? x : s->largest;
    const double old = below(s, s->largest, m), add = below(s, x, m);
    s->shifted = s->single ? (float)s->shifted * (float)old + (float)add : s->shifted * old + add;
    s->largest = m;
}

/* Where m grows by g, every difference d = m - x does: the sum of d * e^-d follows. */
static void absorb_wide(tly_fold *s, long double x)
{
    const long double m = x > s->wide_largest ? x : s->wide_largest;
    if (m > s->wide_largest) {
        const long double growth = m - s->wide_largest, factor = expl(-growth);
        s->wide_slope = factor > 0 ? factor * (s->wide_slope + growth * s->wide_shifted) : 0;
        s->wide_shifted *= factor;
    }
    const long double d = x == m ? 0 : m - x, e = expl(-d);
    s->wide_slope += e > 0 ? d * e : 0;
    s->wide_shifted += e;
    s->wide_largest = m;
}

static void absorb(tly_fold *s, uint64_t bits)
{
    const int is_float = tly_is_float(s->in);
    const double x = is_float ? tly_decode(s->in, bits)
                              : (double)tly_integer_value(s->in, tly_integer_widen(s->in, bits));
    if (isnan(x)) {
        s->fact.flags |= TLY_FACT_NONFINITE_IN | TLY_FACT_NAN_IN;
        return;
    }
    if (x == INFINITY)
        s->fact.flags |= TLY_FACT_NONFINITE_IN;
    absorb_loop(s, x);
    absorb_wide(s, x);
}

static void tell(tly_fold *s)
{
    tly_fact *f = &s->fact;
    const double log_of = s->single ? logf((float)s->shifted) : log(s->shifted);
    f->accumulator = s->single ? (float)s->largest + (float)log_of : s->largest + log_of;
    f->wide = s->wide_largest + logl(s->wide_shifted);
    f->scale = s->wide_shifted > 0 ? s->wide_slope / s->wide_shifted : 0;
    if (f->flags & TLY_FACT_NAN_IN)
        f->accumulator = NAN, f->wide = NAN;
    f->flushed = tly_flush(s, f->accumulator);
    f->bits = tly_is_float(s->out) ? tly_encode(s->out, f->accumulator)
                                   : tly_integer_saturate(s->out, f->accumulator);
}

const tly_folding tly_fold_logs = { begin, absorb, tell };

/* SPDX-License-Identifier: Apache-2.0 */
/* Sums and products of floats: the loop in the accumulator's type, and what other orders may
 * give. */
#include "fold.h"

#include <float.h>
#include <math.h>

_Static_assert(LDBL_MANT_DIG >= 64, "the wider reference needs more bits than double");
_Static_assert(FLT_EVAL_METHOD == 0, "float must round to float");

double tly_least_normal(const tly_fold *s)
{
    return s->single ? FLT_MIN : DBL_MIN;
}

static double flush_below(double least, double x)
{
    return fabs(x) < least ? copysign(0, x) : x;
}

static int may_flush_below(double least, double x)
{
    return x != 0 && fabs(x) <= least;
}

double tly_flush(const tly_fold *s, double x)
{
    return flush_below(tly_least_normal(s), x);
}

int tly_may_flush(const tly_fold *s, double x)
{
    return may_flush_below(tly_least_normal(s), x);
}

/* The same of an element, which is flushed as what it is stored as: of f32, also where it is
 * combined as f64. */
static double least_stored(const tly_fold *s)
{
    return s->in == TALLY_F64 ? DBL_MIN : FLT_MIN;
}

static int is_sum(const tly_fold *s)
{
    return s->operation->family == TLY_SUMS;
}

static double lift(const tly_fold *s, double x)
{
    const float single = (float)x;
    switch (s->operation->lift) {
    case TLY_ABSOLUTE:
        return fabs(x);
    case TLY_SQUARE:
        return s->single ? single * single : x * x;
    default:
        return x;
    }
}

static long double lift_wide(const tly_fold *s, double x)
{
    return s->operation->lift == TLY_SQUARE ? (long double)x * x : lift(s, x);
}

double tly_fold_project(const tly_fold *s, double sum)
{
    const float single = (float)sum;
    const double count = (double)s->fact.terms;
    switch (s->operation->projection) {
    case TLY_BY_COUNT:
        return s->single ? single / (float)count : sum / count;
    case TLY_ROOT:
        return s->single ? sqrtf(single) : sqrt(sum);
    case TLY_LOGARITHM:
        return s->single ? logf(single) : log(sum);
    default:
        return sum;
    }
}

double tly_fold_project_wide(const tly_fold *s, long double sum)
{
    const long double y = s->operation->projection == TLY_BY_COUNT
                              ? sum / (long double)s->fact.terms
                          : s->operation->projection == TLY_ROOT      ? sqrtl(sum)
                          : s->operation->projection == TLY_LOGARITHM ? logl(sum)
                                                                      : sum;
    return s->single ? (float)y : (double)y;
}

/* Means, norms and logarithms are in range wherever the exact result is. */
static int is_kept(const tly_fold *s)
{
    return is_sum(s) && s->operation->projection != TLY_AS_IT_IS;
}

/* x * x is below the normal numbers, and rounded. */
static int square_underflows(const tly_fold *s, double x)
{
    const double square = x * x, up = ldexp(x, 600), exact = up * up;
    if (s->single)
        return square != 0 && square < FLT_MIN && (float)square != square;
    return x != 0 && square < DBL_MIN && (ldexp(square, 1200) != exact || fma(up, up, -exact) != 0);
}

static double combine(const tly_fold *s, double a, double x)
{
    if (s->single) {
        float p = (float)a, q = (float)x;
        return is_sum(s) ? p + q : p * q;
    }
    return is_sum(s) ? a + x : a * x;
}

/* Nothing rounds in any order where all partial results are multiples of one power of two and
 * fit the significand; that holds for every sub-sum and every sub-product alike. */
static void note_exactness(tly_fold *s, double x)
{
    int exponent;
    double m;
    if (x == 0 || !isfinite(x)) /* a square may overflow */
        return;
    m = fabs(frexp(x, &exponent));
    uint64_t significand = (uint64_t)ldexp(m, 53);
    int trailing = __builtin_ctzll(significand);
    if (exponent - 53 + trailing < s->lowest)
        s->lowest = exponent - 53 + trailing;
    if (s->odd < 0x1p60)
        s->odd *= (double)(significand >> trailing);
}

/* The loop's product left the normal numbers downwards: from here on its value is open. */
static int underflows(const tly_fold *s, double before, double x)
{
    const double now = s->fact.sum;
    const int is_exact_zero = x == 0 || (s->started && before == 0);
    return fabs(now) < tly_least_normal(s) && !(now == 0 && is_exact_zero);
}

static void note_product(tly_fold *s, double before, double x)
{
    tly_fact *f = &s->fact;
    if (underflows(s, before, x))
        f->flags |= TLY_FACT_UNDERFLOW;
    if (x == 0)
        f->flags |= TLY_FACT_ZERO_IN;
    if (signbit(x))
        f->flags ^= TLY_FACT_NEGATIVE;
}

/* Does no order round? A product that a zero made zero is one, unless it had underflowed. */
static int is_exact(const tly_fold *s)
{
    const tly_fact *f = &s->fact;
    if (is_sum(s))
        return s->reach <= ldexpl(1, s->precision + s->lowest);
    return !(f->flags & TLY_FACT_UNDERFLOW) &&
           (f->flags & TLY_FACT_ZERO_IN || s->odd < ldexp(1, s->precision));
}

static void begin(tly_fold *s)
{
    tly_fact *f = &s->fact;
    f->flags = TLY_FACT_FLOAT | TLY_FACT_FINITE | TLY_FACT_ANY_ORDER;
    s->lowest = 4096;
    s->odd = 1;
    f->sum = f->flushed = is_sum(s) ? 0 : 1;
    f->wide = f->scale = f->sum;
}

static void absorb(tly_fold *s, uint64_t bits)
{
    tly_fact *f = &s->fact;
    const double given = tly_decode(s->in, bits), x = lift(s, given);
    const double flushed = tly_flush(s, lift(s, flush_below(least_stored(s), given)));
    const double before = f->sum;
    const int was_finite = isfinite(before);

    f->sum = s->started ? combine(s, f->sum, x) : x;
    f->flushed = tly_flush(s, s->started ? combine(s, f->flushed, flushed) : flushed);
    if (is_kept(s)) {
        s->wide_flushed += lift_wide(s, flush_below(least_stored(s), given));
        if (isfinite(given) && ((was_finite && !isfinite(f->sum)) ||
                                (s->operation->lift == TLY_SQUARE && square_underflows(s, given))))
            f->flags |= TLY_FACT_STRAYED;
        if (!isfinite(given))
            f->wide += lift_wide(s, given);
    }
    if (!isfinite(given)) {
        f->flags |= TLY_FACT_NONFINITE_IN | (isnan(given) ? TLY_FACT_NAN_IN : 0u);
        f->flags &= ~(uint32_t)(TLY_FACT_FINITE | TLY_FACT_ANY_ORDER);
        return;
    }
    if (was_finite && !isfinite(f->sum) && !is_kept(s)) {
        f->flags |= TLY_FACT_OVERFLOW;
        f->flags &= ~(uint32_t)(TLY_FACT_FINITE | TLY_FACT_ANY_ORDER);
    }
    if (!is_sum(s))
        note_product(s, before, x);
    f->wide = is_sum(s) ? f->wide + lift_wide(s, given) : f->wide * x;
    f->scale = is_sum(s) ? f->scale + fabsl(lift_wide(s, given)) : fabsl(f->wide);
    s->reach += fabs(x);
    note_exactness(s, x);
    if (is_sum(s) ? s->lowest < ilogb(tly_least_normal(s)) ||
                        may_flush_below(least_stored(s), given) || (x == 0 && given != 0)
                  : may_flush_below(least_stored(s), given) || tly_may_flush(s, x) ||
                        tly_may_flush(s, f->sum))
        f->flags |= TLY_FACT_SUBNORMAL;
    if (f->flags & TLY_FACT_FINITE)
        f->flags = is_exact(s) && !(f->flags & TLY_FACT_STRAYED)
                       ? f->flags | TLY_FACT_ANY_ORDER
                       : f->flags & ~(uint32_t)TLY_FACT_ANY_ORDER;
}

/* A scan goes on after this: what is projected is no scan. */
static void tell(tly_fold *s)
{
    tly_fact *f = &s->fact;
    const int strayed = (f->flags & TLY_FACT_STRAYED) != 0;
    f->accumulator = strayed ? tly_fold_project_wide(s, f->wide) : tly_fold_project(s, f->sum);
    if (s->operation->projection != TLY_AS_IT_IS) {
        f->flushed = tly_flush(s, strayed ? tly_fold_project_wide(s, s->wide_flushed)
                                          : tly_fold_project(s, f->flushed));
        if (tly_may_flush(s, f->accumulator))
            f->flags |= TLY_FACT_SUBNORMAL;
    }
    if (s->out != TALLY_F64 && may_flush_below(FLT_MIN, f->accumulator))
        f->flags |= TLY_FACT_SUBNORMAL;
    f->bits = tly_encode(s->out, f->accumulator);
}

const tly_folding tly_fold_floats = { begin, absorb, tell };

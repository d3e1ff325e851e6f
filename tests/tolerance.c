/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of right results. Everything here is in long double, and rounded outwards. */
#include "tolerance.h"

#include <float.h>
#include <math.h>

/* Of results that are functions of f64, that one's. */
static tally_dtype precision_of(const tly_judging *j)
{
    return tly_is_float(j->accumulator) ? j->accumulator : TALLY_F64;
}

static long double unit_of(const tly_judging *j)
{
    return ldexpl(1, -tly_precision(precision_of(j)));
}

static long double largest_of(const tly_judging *j)
{
    return precision_of(j) == TALLY_F32 ? FLT_MAX : DBL_MAX;
}

long double tly_least_normal_of(const tly_judging *j)
{
    return precision_of(j) == TALLY_F32 || j->d->dtype != TALLY_F64 ? FLT_MIN : DBL_MIN;
}

/* One unit in the output's last place, at x. */
static long double spacing(tally_dtype dtype, long double x)
{
    static const int bottoms[TALLY_DTYPE_COUNT] = {
        [TALLY_F64] = -1022, [TALLY_F32] = -126, [TALLY_F16] = -14, [TALLY_BF16] = -126
    };
    const int exponent = x == 0 || !isfinite(x) ? bottoms[dtype] : ilogbl(x);
    return ldexpl(1, (exponent > bottoms[dtype] ? exponent : bottoms[dtype]) + 1 -
                         tly_precision(dtype));
}

static void widen(tly_range *r, long double by)
{
    r->low -= by;
    r->high += by;
}

/* Infinite is near the largest numbers, too. */
static void note_infinities(const tly_judging *j, tly_range *r)
{
    r->plus_infinity |= r->high >= largest_of(j);
    r->minus_infinity |= r->low <= -largest_of(j);
}

/* Rounding is monotonic, so what lies within [low, high] is stored within the rounded borders: that
 * is the half ulp of the output, at its exact value. */
static int is_within(const tly_judging *j, const tly_range *r, uint64_t got)
{
    if (!tly_is_float(j->dtype)) {
        const long double value = tly_integer_value(j->dtype, tly_integer_widen(j->dtype, got));
        const uint64_t low = tly_integer_saturate(j->dtype, r->low);
        const uint64_t high = tly_integer_saturate(j->dtype, r->high);
        return (r->nan && got == 0) ||
               (value >= tly_integer_value(j->dtype, tly_integer_widen(j->dtype, low)) &&
                value <= tly_integer_value(j->dtype, tly_integer_widen(j->dtype, high)));
    }
    const double value = tly_decode(j->dtype, got);
    if (isnan(value))
        return r->nan;
    if (isinf(value) && (value > 0 ? r->plus_infinity : r->minus_infinity))
        return 1;
    if (j->dtype == j->accumulator)
        return isfinite(value) && value >= r->low && value <= r->high;
    const double low = nextafter((double)r->low, -INFINITY);
    const double high = nextafter((double)r->high, INFINITY);
    return value >= tly_decode(j->dtype, tly_encode(j->dtype, low)) &&
           value <= tly_decode(j->dtype, tly_encode(j->dtype, high));
}

/* ---- sums ---- */

static int is_plain_sum(const tly_judging *j)
{
    return j->operation->projection == TLY_AS_IT_IS && j->operation->lift == TLY_ITSELF;
}

static int is_norm(const tly_judging *j)
{
    return j->operation->projection == TLY_ROOT;
}

/* Section 7, of the sum before it is projected. A square that is shown may lose what no subnormal
 * holds. */
static long double sum_tolerance(const tly_judging *j, const tly_fact *f)
{
    const long double terms = (long double)f->terms, unit = unit_of(j);
    const int shown = j->operation->lift == TLY_SQUARE && !is_norm(j);
    const long double lost = shown ? terms * spacing(precision_of(j), 0) : 0;
    if (is_plain_sum(j))
        return terms * unit * f->scale;
    return (is_norm(j) ? 2 * (terms + 5) : terms + 3) * unit * f->scale + lost;
}

/* Only one sum is right: order=serial, at most one combination, or nothing rounds. */
static int has_one_sum(const tly_judging *j, const tly_fact *f)
{
    return !j->by_wide && !(f->flags & TLY_FACT_STRAYED) &&
           (j->d->order == TALLY_ORDER_SERIAL || f->terms <= 2 || f->flags & TLY_FACT_ANY_ORDER);
}

/* The sum before it is projected. Behind an input inf or NaN its class is the loop's, but for what
 * another order may have made of an overflow before; of what keeps its range it is that of exact
 * sums. After an overflow of finite inputs it is that of any order: partial sums of either sign may
 * have left the range. */
static tly_range sum_range(const tly_judging *j, const tly_fact *f)
{
    const int overflowed = (f->flags & TLY_FACT_OVERFLOW) != 0;
    const int both_signs = overflowed && j->operation->lift == TLY_ITSELF;
    tly_range r = { INFINITY, -INFINITY, 0, 0, 0 };
    if (f->flags & TLY_FACT_NONFINITE_IN && j->operation->projection != TLY_AS_IT_IS) {
        r.nan = isnan(f->wide);
        r.plus_infinity = f->wide == INFINITY;
        r.minus_infinity = f->wide == -INFINITY;
        return r;
    }
    if (f->flags & TLY_FACT_NONFINITE_IN || has_one_sum(j, f)) {
        const int open = both_signs && f->flags & TLY_FACT_NONFINITE_IN &&
                         !(f->flags & TLY_FACT_NAN_IN) && !has_one_sum(j, f);
        if (isfinite(f->sum))
            r.low = r.high = f->sum;
        r.nan = isnan(f->sum) || open;
        r.plus_infinity = (isinf(f->sum) && f->sum > 0) || open;
        r.minus_infinity = (isinf(f->sum) && f->sum < 0) || open;
        return r;
    }
    r.low = r.high = f->wide;
    widen(&r, sum_tolerance(j, f));
    if (j->operation->projection == TLY_AS_IT_IS)
        note_infinities(j, &r);
    r.plus_infinity |= both_signs;
    r.minus_infinity |= both_signs;
    r.nan = both_signs;
    return r;
}

/* The logarithm's own error is 4 units of it. Of a sum that may be zero it may be -inf, and NaN of
 * one that may be less. */
static tly_range take_logarithm(const tly_judging *j, const tly_range *sum)
{
    tly_range r = { .nan = sum->nan || sum->minus_infinity || sum->low < 0 };
    r.minus_infinity = sum->low <= 0 && sum->high >= 0;
    r.plus_infinity = sum->plus_infinity;
    r.low = sum->low > 0 ? logl(sum->low) : r.minus_infinity ? -INFINITY : INFINITY;
    r.high = sum->high > 0 ? logl(sum->high) : -INFINITY;
    if (sum->low > sum->high) /* no number */
        r.low = INFINITY;
    r.low -= isfinite(r.low) ? 4 * unit_of(j) * fabsl(r.low) : 0;
    r.high += isfinite(r.high) ? 4 * unit_of(j) * fabsl(r.high) : 0;
    return r;
}

static tly_range project(const tly_judging *j, const tly_fact *f, tly_range r)
{
    switch (j->operation->projection) {
    case TLY_BY_COUNT:
        r.low /= (long double)f->terms;
        r.high /= (long double)f->terms;
        r.nan |= f->terms == 0;
        return r;
    case TLY_ROOT:
        r.low = r.low > 0 ? sqrtl(r.low) : r.low <= r.high ? 0 : INFINITY;
        r.high = r.high >= 0 ? sqrtl(r.high) : -INFINITY;
        return r;
    case TLY_LOGARITHM:
        return take_logarithm(j, &r);
    default:
        return r;
    }
}

/* "Plus one ulp of the output" (section 7). */
static void add_last_place(const tly_judging *j, tly_range *r)
{
    const tally_dtype dtype = tly_is_float(j->dtype) ? j->dtype : TALLY_F64;
    if (isfinite(r->low))
        r->low -= spacing(dtype, r->low);
    if (isfinite(r->high))
        r->high += spacing(dtype, r->high);
}

tly_range tly_range_of_sum(const tly_judging *j, const tly_fact *f, long double slack)
{
    const long double terms = (long double)f->terms, lost = 2 * terms * slack;
    tly_range r = sum_range(j, f);
    /* Norms scale small elements, so that squares become zeros only beside much larger ones. */
    widen(&r, is_norm(j) ? fminl(lost, 2 * terms * unit_of(j) * f->wide) : lost);
    r = project(j, f, r);
    widen(&r, is_norm(j) ? (long double)f->terms * slack : slack);
    if (is_norm(j) || j->operation->projection == TLY_LOGARITHM)
        note_infinities(j, &r);
    if (!is_plain_sum(j))
        add_last_place(j, &r);
    return r;
}

int tly_is_right_sum(const tly_judging *j, const tly_fact *f, uint64_t got, long double slack)
{
    const tly_range r = tly_range_of_sum(j, f, slack);
    return is_within(j, &r, got);
}

/* A sum that is -0 although its elements are not: rounding to the output may make one, and so may a
 * device without subnormals. */
static int has_wrong_sign(const tly_judging *j, const tly_fact *f, uint64_t got)
{
    if (j->operation->projection != TLY_AS_IT_IS || j->dtype != j->accumulator || j->flushes ||
        !tly_is_float(j->dtype))
        return 0;
    const double value = tly_decode(j->dtype, got);
    return value == 0 && signbit(value) && !(f->sum == 0 && signbit(f->sum));
}

const char *tly_rule_sum(const tly_judging *j, const tly_fact *f, uint64_t got)
{
    if (has_wrong_sign(j, f, got))
        return "-0 although not all elements are";
    if (tly_is_right_sum(j, f, got, 0))
        return NULL;
    return f->flags & TLY_FACT_NONFINITE_IN ? "not the plain loop's class after an input inf or NaN"
           : f->flags & TLY_FACT_OVERFLOW   ? "no order's value after an overflow"
                                            : "beyond the tolerance";
}

/* ---- recurrences ---- */

/* The class is the loop's, unless that left the range by a hair. `lost`: what else each step may
 * lose, in units of f->lost. */
static tly_range recurrence_range(const tly_judging *j, const tly_fact *f, long double lost)
{
    tly_range r = { INFINITY, -INFINITY, 0, 0, 0 };
    if (f->flags & TLY_FACT_STRAYED)
        return (tly_range){ -INFINITY, INFINITY, 1, 1, 1 };
    r.nan = isnan(f->sum);
    r.plus_infinity = f->sum == INFINITY;
    r.minus_infinity = f->sum == -INFINITY;
    if (isfinite(f->sum)) {
        r.low = r.high = f->sum;
        widen(&r, (2 * (long double)f->terms + 16) * unit_of(j) * f->scale + lost * f->lost);
        note_infinities(j, &r);
    }
    return r;
}

static long double lost_of(const tly_judging *j)
{
    return precision_of(j) == TALLY_F32 ? 0x1p-125L : 0x1p-1021L;
}

tly_range tly_range_of_recurrence(const tly_judging *j, const tly_fact *f)
{
    return recurrence_range(j, f, lost_of(j));
}

/* Of f->lost a step has 2^-21 at least, of f64 2^-50; it loses the least normal number twice. */
int tly_is_flushed_recurrence(const tly_judging *j, const tly_fact *f, uint64_t got)
{
    const long double least = precision_of(j) == TALLY_F32 ? 0x1p-21L : 0x1p-50L;
    const tly_range r = recurrence_range(j, f, 2 * lost_of(j) / least);
    return is_within(j, &r, got);
}

const char *tly_rule_recurrence(const tly_judging *j, const tly_fact *f, uint64_t got)
{
    const tly_range r = tly_range_of_recurrence(j, f);
    return is_within(j, &r, got) ? NULL
           : isfinite(f->sum)    ? "beyond the tolerance"
                                 : "not the plain loop's class";
}

/* ---- log sums ---- */

/* The maximum takes part as it is, so no order overflows: the class is that of the plain loop. */
tly_range tly_range_of_log_sum(const tly_judging *j, const tly_fact *f)
{
    const int is_serial = j->d->order == TALLY_ORDER_SERIAL;
    const long double terms = (long double)(f->terms > 4096 && !is_serial ? 4096 : f->terms);
    tly_range r = { f->wide, f->wide, f->wide == INFINITY, f->wide == -INFINITY,
                    isnan(f->wide) != 0 };
    if (isfinite(f->wide)) {
        widen(&r, (terms + 8 + f->scale + 4 * fabsl(f->wide)) * unit_of(j));
        add_last_place(j, &r);
        note_infinities(j, &r);
    }
    return r;
}

const char *tly_rule_log_sum(const tly_judging *j, const tly_fact *f, uint64_t got)
{
    const tly_range r = tly_range_of_log_sum(j, f);
    return is_within(j, &r, got) ? NULL
           : isfinite(f->wide)   ? "beyond the tolerance"
                                 : "not the class that the largest element gives";
}

/* ---- products ---- */

tly_range tly_range_of_product(const tly_judging *j, const tly_fact *f)
{
    tly_range r = { f->wide, f->wide, 0, 0, 0 };
    widen(&r, 2 * (long double)f->terms * unit_of(j) * f->scale);
    note_infinities(j, &r);
    return r;
}

int tly_is_near_product(const tly_judging *j, const tly_fact *f, uint64_t got)
{
    const tly_range r = tly_range_of_product(j, f);
    return is_within(j, &r, got);
}

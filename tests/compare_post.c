/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether an output is `post` of a result within a range. Of a few results each one is tried, and
 * then the output must be one of theirs. Of many, intervals bound what `post` makes of them.
 */
#include "tolerance.h"

#include <float.h>
#include <math.h>

enum { MOST_TRIED = 64, MOST_INTEGERS = 4096 };

static int is_post_of(const tly_judging *j, const tly_fact *f, tly_scalar y, uint64_t got)
{
    tly_scalar names[TLY_NAMES];
    int subnormal;
    for (int k = 0; k < TLY_NAMES; k++)
        names[k] = f->names[k];
    names[TLY_NAME_Y] = y;
    return tly_bits_same(j->fused->stored, got, tly_fused_post(j->fused, names, &subnormal));
}

/* ---- integers ---- */

/* Results that are functions of f64, truncated: more than a few are taken as they come. */
static int is_integer_right(const tly_judging *j, const tly_fact *f, const tly_range *y,
                            uint64_t got)
{
    const tally_dtype type = j->fused->type;
    const uint64_t low = tly_integer_widen(type, tly_integer_saturate(type, y->low));
    const uint64_t high = tly_integer_widen(type, tly_integer_saturate(type, y->high));
    if (y->nan && is_post_of(j, f, (tly_scalar){ .whole = 0 }, got))
        return 1;
    if (y->low > y->high && !y->minus_infinity && !y->plus_infinity)
        return 0;
    if (y->minus_infinity || y->plus_infinity || high - low > MOST_INTEGERS)
        return 1;
    for (uint64_t k = 0; k <= high - low; k++)
        if (is_post_of(j, f, (tly_scalar){ .whole = low + k }, got))
            return 1;
    return 0;
}

/* ---- floats ---- */

static double next_up(int single, double x)
{
    return single ? nextafterf((float)x, INFINITY) : nextafter(x, INFINITY);
}

/* A number of the type that is at most x, and finite. */
static double round_down(int single, long double x)
{
    const double largest = single ? FLT_MAX : DBL_MAX;
    double y = x > largest ? largest : x < -largest ? -largest : single ? (float)x : (double)x;
    if (y > x)
        y = single ? nextafterf((float)y, -INFINITY) : nextafter(y, -INFINITY);
    return fmax(y, -largest);
}

static int is_within_span(const tly_judging *j, tly_span s, uint64_t got)
{
    const tally_dtype dtype = j->fused->stored;
    const double value = tly_decode(dtype, got);
    if (isnan(value))
        return s.nan;
    return s.low <= s.high && value >= tly_decode(dtype, tly_encode(dtype, s.low)) &&
           value <= tly_decode(dtype, tly_encode(dtype, s.high));
}

static int is_finite_right(const tly_judging *j, const tly_fact *f, double low, double high,
                           uint64_t got)
{
    const int single = j->fused->type == TALLY_F32;
    double y = low;
    for (int k = 0; k < MOST_TRIED; k++, y = next_up(single, y)) {
        if (is_post_of(j, f, (tly_scalar){ .real = y }, got) ||
            (y == 0 && is_post_of(j, f, (tly_scalar){ .real = -y }, got)))
            return 1;
        if (y >= high)
            return 0;
    }
    const tly_span all = { low, high, 0 };
    return is_within_span(j, tly_formula_span(&j->fused->post, j->fused->type, f->names, all), got);
}

int tly_is_right_post(const tly_judging *j, const tly_fact *f, const tly_range *y, uint64_t got)
{
    if (!tly_is_float(j->fused->type))
        return is_integer_right(j, f, y, got);
    const int single = j->fused->type == TALLY_F32;
    const struct {
        int possible;
        double value;
    } specials[] = { { y->nan, NAN },
                     { y->plus_infinity, INFINITY },
                     { y->minus_infinity, -INFINITY } };
    for (int k = 0; k < 3; k++)
        if (specials[k].possible &&
            is_post_of(j, f, (tly_scalar){ .real = specials[k].value }, got))
            return 1;
    /* The ends round outwards to the type. */
    return y->low <= y->high &&
           is_finite_right(j, f, round_down(single, y->low), -round_down(single, -y->high), got);
}

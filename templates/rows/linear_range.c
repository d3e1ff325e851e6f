/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The linear template: whether the order of a step kept the range of floats, as its results and its
 * elements tell.
 */
#include "linear.h"

kir_value tly_linear_finite(tly_build *c, const kir_value *y, unsigned n)
{
    kir_value nothing = 0; /* zeros, or NaN where one is not finite */
    for (unsigned i = 0; i < n; i++)
        nothing = accumulate(c, KIR_ADD, nothing, sub(c, y[i], y[i]));
    return tly_not(c, any(c, uno(c, nothing, nothing)));
}

kir_value tly_linear_magnitude(tly_build *c, kir_value x)
{
    const int single = c->acc.kind == KIR_F32;
    kir_value bits = to_kind(c, KIR_BITCAST, single ? KIR_I32 : KIR_I64, x);
    return band(c, bits, like(c, bits, single ? INT32_MAX : INT64_MAX));
}

/* ---- products ---- */

/* Powers of two as the accumulator's bits. Products of some elements in a vector are quotients of
 * two that begin with its first one. If all of the latter lie from LEAST to MOST, then the former
 * are normal numbers, in whatever order they came about. */
typedef enum power { LEAST, MOST, MOST_BEFORE_ZERO, NORMAL, INFINITE } power;

static kir_value bits_of(tly_build *c, kir_value bits, power p)
{
    static const int16_t single[] = { -60, 60, 24, -126, 128 },
                         twice[] = { -500, 500, 24, -1022, 1024 };
    return like(c, bits,
                c->acc.kind == KIR_F32 ? (uint64_t)(127 + single[p]) << 23
                                       : (uint64_t)(1023 + twice[p]) << 52);
}

/* i1s: magnitudes from one power to another, which INFINITE leaves out. */
static kir_value is_between(tly_build *c, kir_value bits, power from, power to)
{
    kir_value least = bits_of(c, bits, from), most = bits_of(c, bits, to);
    if (to == INFINITE)
        most = sub(c, most, like(c, bits, 1));
    return ule(c, sub(c, bits, least), sub(c, most, least));
}

static kir_value is_regular(tly_build *c, const tly_linear_products *v)
{
    return band(c, is_between(c, tly_linear_magnitude(c, v->products), LEAST, MOST),
                is_between(c, tly_linear_magnitude(c, v->results), NORMAL, INFINITE));
}

/* The same where elements may be 0, as those of masks: so are all products behind them, in any
 * order. Others are not small enough to make a product 0: one of 2^LEAST behind one of 2^LEAST is
 * 2^-120, and a quotient of it by 2^MOST_BEFORE_ZERO is a subnormal number, which is not 0. */
static kir_value is_regular_or_zero(tly_build *c, const tly_linear_products *v)
{
    kir_value element = tly_linear_magnitude(c, v->elements),
              product = tly_linear_magnitude(c, v->products),
              before = tly_linear_magnitude(c, v->before),
              result = tly_linear_magnitude(c, v->results), zero = like(c, element, 0),
              one = like(c, element, 1);
    kir_value is_zero_or_large = ule(c, sub(c, bits_of(c, element, LEAST), one),
                                     sub(c, element, one));
    kir_value joins = bor(c, equal(c, before, zero), is_between(c, result, NORMAL, INFINITE));
    kir_value goes_on = band(c, is_between(c, product, LEAST, MOST_BEFORE_ZERO), joins);
    return band(c, is_zero_or_large, bor(c, equal(c, product, zero), goes_on));
}

typedef kir_value test_of_products(tly_build *c, const tly_linear_products *v);

/* i1s as one bit, where one is not true. */
static kir_value unless_true(tly_build *c, kir_value truth, uint64_t bit)
{
    const kir_type t = KIR_TYPE(integer_of(c->acc_bytes), type_of(c, truth).lanes);
    return choose(c, truth, constant(c, t, 0), constant(c, t, bit));
}

kir_value tly_linear_faults(tly_build *c, const tly_linear_products *v)
{
    if (tly_checks_products(c))
        return bor(c, unless_true(c, is_regular(c, v), 1),
                   unless_true(c, is_regular_or_zero(c, v), 2));
    kir_value nothing = sub(c, v->results, v->results);
    return unless_true(c, tly_not(c, uno(c, nothing, nothing)), TLY_LINEAR_FAULTS);
}

static kir_value all_pass(tly_build *c, test_of_products *test, const tly_linear_products *v,
                          unsigned n)
{
    kir_value good = 0;
    for (unsigned i = 0; i < n; i++)
        good = accumulate(c, KIR_AND, good, test(c, &v[i]));
    return tly_not(c, any(c, tly_not(c, good)));
}

kir_value tly_linear_regular(tly_build *c, const tly_linear_products *v, unsigned n)
{
    kir_value valid = all_pass(c, is_regular, v, n);
    tly_region again = { .state = { &valid } };
    emit_unless(c, &again, valid);
    valid = all_pass(c, is_regular_or_zero, v, n);
    emit_end(c, &again);
    return valid;
}

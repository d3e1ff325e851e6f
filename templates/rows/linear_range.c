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

static uint64_t power(const tly_build *c, int exponent)
{
    return c->acc.kind == KIR_F32 ? (uint64_t)(127 + exponent) << 23
                                  : (uint64_t)(1023 + exponent) << 52;
}

kir_value tly_linear_regular(tly_build *c, kir_value elements, kir_value products, kir_value y)
{
    enum { MOST = 4, LEAST = -60, NORMAL = -126 };
    kir_value large = tly_linear_magnitude(c, elements), small = tly_linear_magnitude(c, products),
              last = tly_linear_magnitude(c, y);
    kir_value good = ule(c, large, like(c, large, power(c, MOST)));
    good = band(c, good, ule(c, like(c, small, power(c, LEAST)), small));
    good = band(c, good, ule(c, like(c, last, power(c, NORMAL)), last));
    return tly_not(c, any(c, tly_not(c, good)));
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the bits of two outputs say: the same, within what another order of combination changes, or
 * wrong.
 */
#include "search.h"

#include <math.h>
#include <string.h>

static double narrow(uint16_t bits, int exponent_bits)
{
    const int mantissa_bits = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
    const int exponent = bits >> mantissa_bits & ((1 << exponent_bits) - 1);
    const int mantissa = bits & ((1 << mantissa_bits) - 1);
    double value = exponent
                       ? ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits)
                       : ldexp(mantissa, 1 - bias - mantissa_bits);
    if (exponent == (1 << exponent_bits) - 1) {
        value = mantissa ? NAN : INFINITY;
    }
    return bits >> 15 ? -value : value;
}

/* A float of any width. */
static double read_float(tally_dtype dtype, const char *at)
{
    double wide;
    float single;
    uint16_t half;
    switch (dtype) {
    case TALLY_F64:
        memcpy(&wide, at, sizeof wide);
        return wide;
    case TALLY_F32:
        memcpy(&single, at, sizeof single);
        return single;
    default:
        memcpy(&half, at, sizeof half);
        return narrow(half, dtype == TALLY_F16 ? 5 : 8);
    }
}

/* Half a unit in the last place of 1; narrow outputs are rounded once more. */
static double epsilon_of(const tally_descriptor *d, tally_dtype out)
{
    const int bits = out == TALLY_F64 && d->acc != TALLY_F32 ? 53
                     : out == TALLY_F16                      ? 11
                     : out == TALLY_BF16                     ? 8
                                                             : 24;
    return ldexp(1, -bits);
}

/* `n` elements of about 1, signs drawn, make partial results of about sqrt(n) with errors of so many
 * epsilons of it. */
static int is_near(double a, double b, double epsilon, double n)
{
    if (isnan(a) || isnan(b) || isinf(a) || isinf(b)) {
        return (isnan(a) && isnan(b)) || a == b;
    }
    return fabs(a - b) <= 16 * epsilon * sqrt(n) * fmax(fmax(fabs(a), fabs(b)), sqrt(n));
}

tly_bits tly_bits_of(const tly_stand *stand, const char *expected, const char *got)
{
    const tly_layout *out = &stand->subject.out, *in = &stand->subject.in;
    const tally_descriptor *d = &stand->subject.descriptor;
    const size_t bytes = (size_t)(out->high + 1) * out->element;
    if (memcmp(expected, got, bytes) == 0) {
        return TLY_BITS_SAME;
    }
    if (out->dtype != TALLY_F64 && out->dtype != TALLY_F32 && out->dtype != TALLY_F16 &&
        out->dtype != TALLY_BF16) {
        return TLY_BITS_WRONG;
    }
    const double epsilon = epsilon_of(d, out->dtype);
    const double n = stand->subject.scan ? (double)d->sizes[d->axis]
                                         : (double)in->count / (double)out->count;
    for (size_t at = 0; at < bytes; at += out->element) {
        if (memcmp(expected + at, got + at, out->element) != 0 &&
            !is_near(read_float(out->dtype, expected + at), read_float(out->dtype, got + at),
                     epsilon, n + 1)) {
            return TLY_BITS_WRONG;
        }
    }
    return TLY_BITS_TOLERANCE;
}

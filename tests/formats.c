/* SPDX-License-Identifier: Apache-2.0 */
/* Elements as bits, and integers in 64 bits. Every conversion is exact or rounded once. */
#include "reference.h"

#include <math.h>
#include <string.h>

typedef struct format {
    uint8_t bytes, is_float, significand, exponent; /* significand with its hidden bit */
    uint8_t is_signed;                              /* integers */
} format;

static const format formats[TALLY_DTYPE_COUNT] = {
    [TALLY_F64] = { 8, 1, 53, 11 },  [TALLY_F32] = { 4, 1, 24, 8 },
    [TALLY_F16] = { 2, 1, 11, 5 },   [TALLY_BF16] = { 2, 1, 8, 8 },
    [TALLY_I64] = { 8, 0, 0, 0, 1 }, [TALLY_I32] = { 4, 0, 0, 0, 1 },
    [TALLY_I16] = { 2, 0, 0, 0, 1 }, [TALLY_I8] = { 1, 0, 0, 0, 1 },
    [TALLY_U64] = { 8, 0, 0, 0 },    [TALLY_U32] = { 4, 0, 0, 0 },
    [TALLY_U16] = { 2, 0, 0, 0 },    [TALLY_U8] = { 1, 0, 0, 0 },
    [TALLY_BOOL] = { 1, 0, 0, 0 }
};

int tly_is_float(tally_dtype dtype)
{
    return formats[dtype].is_float;
}

int tly_precision(tally_dtype dtype)
{
    return formats[dtype].significand;
}

uint64_t tly_bits_load(tally_dtype dtype, const void *at, int64_t index)
{
    const char *p = (const char *)at + index * formats[dtype].bytes;
    uint64_t u64;
    uint32_t u32;
    uint16_t u16;
    switch (formats[dtype].bytes) {
    case 8:
        memcpy(&u64, p, 8);
        return u64;
    case 4:
        memcpy(&u32, p, 4);
        return u32;
    case 2:
        memcpy(&u16, p, 2);
        return u16;
    default:
        return (unsigned char)*p;
    }
}

void tly_bits_store(tally_dtype dtype, void *at, int64_t index, uint64_t bits)
{
    char *p = (char *)at + index * formats[dtype].bytes;
    uint32_t u32 = (uint32_t)bits;
    uint16_t u16 = (uint16_t)bits;
    switch (formats[dtype].bytes) {
    case 8:
        memcpy(p, &bits, 8);
        break;
    case 4:
        memcpy(p, &u32, 4);
        break;
    case 2:
        memcpy(p, &u16, 2);
        break;
    default:
        *p = (char)bits;
    }
}

double tly_decode(tally_dtype dtype, uint64_t bits)
{
    const format *f = &formats[dtype];
    const int fraction_bits = f->significand - 1;
    const uint64_t top = (UINT64_C(1) << f->exponent) - 1;
    const uint64_t fraction = bits & ((UINT64_C(1) << fraction_bits) - 1);
    const uint64_t exponent = bits >> fraction_bits & top;
    const int bias = (int)(top >> 1);
    double value;

    if (exponent == top)
        value = fraction ? NAN : INFINITY;
    else if (exponent == 0)
        value = ldexp((double)fraction, 1 - bias - fraction_bits);
    else
        value = ldexp((double)(fraction | UINT64_C(1) << fraction_bits),
                      (int)exponent - bias - fraction_bits);
    return bits >> (f->significand + f->exponent - 1) & 1 ? -value : value;
}

uint64_t tly_encode(tally_dtype dtype, double value)
{
    const format *f = &formats[dtype];
    const int fraction_bits = f->significand - 1;
    const uint64_t top = (UINT64_C(1) << f->exponent) - 1;
    const int bias = (int)(top >> 1);
    const uint64_t sign = (uint64_t)(signbit(value) != 0) << (f->significand + f->exponent - 1);
    const uint64_t infinity = top << fraction_bits;
    double magnitude = fabs(value);
    int exponent;

    if (isnan(value))
        return infinity | UINT64_C(1) << (fraction_bits - 1);
    if (isinf(value) || magnitude == 0)
        return sign | (isinf(value) ? infinity : 0);
    frexp(magnitude, &exponent); /* magnitude = [0.5, 1) * 2^exponent */
    if (exponent < 2 - bias)
        exponent = 2 - bias; /* subnormals share the smallest normal's spacing */
    /* In units of the last place; rint rounds to nearest even. A carry into the next power of two
     * carries into the exponent field by itself, up to infinity. */
    uint64_t units = (uint64_t)rint(ldexp(magnitude, f->significand - exponent));
    uint64_t bits = units + ((uint64_t)(exponent - (2 - bias)) << fraction_bits);
    return sign | (bits > infinity ? infinity : bits);
}

int tly_bits_are_nan(tally_dtype dtype, uint64_t bits)
{
    const format *f = &formats[dtype];
    if (!f->is_float)
        return 0;
    const uint64_t infinity = ((UINT64_C(1) << f->exponent) - 1) << (f->significand - 1);
    const uint64_t sign = UINT64_C(1) << (f->significand + f->exponent - 1);
    return (bits & ~sign) > infinity;
}

int tly_is_signed(tally_dtype dtype)
{
    return formats[dtype].is_signed;
}

static int bits_of(tally_dtype dtype)
{
    return dtype == TALLY_BOOL ? 1 : 8 * formats[dtype].bytes;
}

uint64_t tly_integer_widen(tally_dtype dtype, uint64_t bits)
{
    const int unused = 64 - 8 * formats[dtype].bytes;
    return formats[dtype].is_signed ? (uint64_t)((int64_t)(bits << unused) >> unused) : bits;
}

uint64_t tly_integer_cut(tally_dtype dtype, uint64_t value)
{
    return value << (64 - 8 * formats[dtype].bytes) >> (64 - 8 * formats[dtype].bytes);
}

uint64_t tly_integer_largest(tally_dtype dtype)
{
    return UINT64_MAX >> (64 - bits_of(dtype) + formats[dtype].is_signed);
}

uint64_t tly_integer_least(tally_dtype dtype)
{
    return formats[dtype].is_signed ? ~tly_integer_largest(dtype) : 0;
}

long double tly_integer_value(tally_dtype dtype, uint64_t value)
{
    return formats[dtype].is_signed ? (long double)(int64_t)value : (long double)value;
}

uint64_t tly_integer_saturate(tally_dtype dtype, long double value)
{
    const uint64_t least = tly_integer_least(dtype), largest = tly_integer_largest(dtype);
    uint64_t result;
    if (isnan(value))
        result = 0;
    else if (value <= tly_integer_value(dtype, least))
        result = least;
    else if (value >= tly_integer_value(dtype, largest))
        result = largest;
    else
        result = formats[dtype].is_signed ? (uint64_t)(int64_t)value : (uint64_t)value;
    return tly_integer_cut(dtype, result);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Floats of every width; see floats.h. The shortest decimal is found by trying: each number of
 * digits in turn, from the least that can do.
 */
#include "floats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- elements ---- */

/* Bits of the significand that an element of 16 bits stores. */
static int stored_bits(tally_dtype dtype)
{
    return dtype == TALLY_F16 ? 10 : 7;
}

/* The largest exponent of a float of 16 bits; the smallest of its normal numbers is 1 less it. */
static int most_exponent(int stored)
{
    return (1 << (14 - stored)) - 1;
}

static double widen(uint16_t bits, int stored)
{
    const int most = most_exponent(stored), exponent = bits >> stored & (most * 2 + 1);
    const int significand = bits & ((1 << stored) - 1);
    double value = exponent ? ldexp(significand + (1 << stored), exponent - most - stored)
                            : ldexp(significand, 1 - most - stored);
    if (exponent == most * 2 + 1) {
        value = significand ? NAN : INFINITY;
    }
    return bits >> 15 ? -value : value;
}

/* From one number to the next where `magnitude` lies, of floats of so many bits of significand and
 * with the smallest normal numbers of that exponent. */
static double step_at(double magnitude, int bits, int least)
{
    int exponent;
    frexp(magnitude, &exponent);
    exponent = magnitude > 0 && exponent - 1 > least ? exponent - 1 : least;
    return ldexp(1, exponent - bits + 1);
}

static uint16_t narrow(double value, int stored)
{
    const int most = most_exponent(stored), special = (most * 2 + 1) << stored;
    const int sign = signbit(value) ? 0x8000 : 0;
    const double magnitude = fabs(value);
    if (!isfinite(value) || magnitude >= ldexp(2, most)) {
        return (uint16_t)(sign | special | (isnan(value) ? 1 << (stored - 1) : 0));
    }
    /* Steps of the binade, and those of all binades below in front of them. A carry into the next
     * binade, or to infinity, is one more step. */
    const double step = step_at(magnitude, stored + 1, 1 - most);
    const int binades = ilogb(step) - (1 - most - stored);
    return (uint16_t)(sign | ((binades << stored) + (int)rint(magnitude / step)));
}

double tly_float_load(tally_dtype dtype, const void *from)
{
    double wide;
    float single;
    uint16_t half;
    switch (dtype) {
    case TALLY_F64:
        memcpy(&wide, from, sizeof wide);
        return wide;
    case TALLY_F32:
        memcpy(&single, from, sizeof single);
        return single;
    default:
        memcpy(&half, from, sizeof half);
        return widen(half, stored_bits(dtype));
    }
}

void tly_float_store(tally_dtype dtype, double value, void *to)
{
    const float single = (float)value;
    uint16_t half;
    switch (dtype) {
    case TALLY_F64:
        memcpy(to, &value, sizeof value);
        break;
    case TALLY_F32:
        memcpy(to, &single, sizeof single);
        break;
    default:
        half = narrow(value, stored_bits(dtype));
        memcpy(to, &half, sizeof half);
        break;
    }
}

/* ---- decimals ---- */

enum { MOST_DECIMAL = TLY_MOST_DIGITS + 16 };

typedef struct format {
    int bits;     /* of the significand */
    int least;    /* exponent of the smallest normal number */
    int few, all; /* digits: of decimals that each number keeps; enough to name every number */
} format;

static format format_of(tally_dtype dtype)
{
    switch (dtype) {
    case TALLY_F16:
        return (format){ 11, -14, 3, 5 };
    case TALLY_BF16:
        return (format){ 8, -126, 2, 4 };
    case TALLY_F32:
        return (format){ 24, -126, 6, 9 };
    default:
        return (format){ 53, -1022, 15, 17 };
    }
}

/* Whether a decimal rounds to the number, as ties do to one that is even. */
static int names(const char *decimal, double magnitude, format f)
{
    const double read = strtod(decimal, NULL);
    if (f.bits == 53) {
        return read == magnitude;
    }
    /* Points midway between narrow numbers are doubles. Below a power of two they are nearer. */
    const double step = step_at(magnitude, f.bits, f.least);
    int exponent;
    const int is_power = frexp(magnitude, &exponent) == 0.5 && exponent - 1 > f.least;
    const double low = magnitude - (is_power ? step / 4 : step / 2), high = magnitude + step / 2;
    const int even = fmod(magnitude / step, 2) == 0;
    return even ? low <= read && read <= high : low < read && read < high;
}

/* Of "d.ddde-xx" the next decimal of as many digits; 0 where it would have one more. */
static int count_up(char *decimal)
{
    for (char *at = strchr(decimal, 'e') - 1; at >= decimal; at--) {
        if (*at == '.') {
            continue;
        }
        if (*at < '9') {
            ++*at;
            return 1;
        }
        *at = '0';
    }
    return 0;
}

/* Of "d.ddde-xx". */
static tly_digits digits_of(const char *decimal)
{
    tly_digits d = { .count = 0 };
    for (; *decimal != 'e'; decimal++) {
        if (*decimal != '.' && d.count < TLY_MOST_DIGITS) {
            d.digit[d.count++] = *decimal;
        }
    }
    while (d.count > 1 && d.digit[d.count - 1] == '0') {
        d.digit[--d.count] = 0;
    }
    d.exponent = (int)strtol(decimal + 1, NULL, 10);
    return d;
}

tly_digits tly_float_digits(tally_dtype dtype, double value)
{
    const format f = format_of(dtype);
    const double magnitude = fabs(value);
    char decimal[MOST_DECIMAL] = "0e0";
    /* A normal number keeps a decimal of `few` digits, so that zeros end it if fewer would do. */
    int digits = magnitude < ldexp(1, f.least) ? 1 : f.few;
    for (; digits <= f.all && magnitude > 0; digits++) {
        snprintf(decimal, sizeof decimal, "%.*e", digits - 1, magnitude);
        /* Above a power of two numbers lie farther apart: the nearest decimal may lie below the
         * power and name another number, where the next decimal names this one. */
        if (names(decimal, magnitude, f) || (count_up(decimal) && names(decimal, magnitude, f))) {
            break;
        }
    }
    return digits_of(decimal);
}

tly_digits tly_float_rounded(double value, int count)
{
    char decimal[MOST_DECIMAL];
    snprintf(decimal, sizeof decimal, "%.*e", count - 1, fabs(value));
    return digits_of(decimal);
}

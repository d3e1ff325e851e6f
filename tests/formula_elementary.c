/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exp and log once more, with the polynomials of templates/stages/elementary.c, in plain C. Every
 * operation is of the type and rounded by itself. An f32 is held in a double: the double result of
 * one operation on two f32, rounded to f32, is the f32 result.
 */
#include "formula.h"

#include <math.h>
#include <string.h>

/* Constants are bits of the type. */
typedef struct format {
    int mantissa;  /* bits, without the leading one */
    uint64_t mask; /* of integers as wide as the type */
    uint64_t bias, one, least_normal, magic, two_to_mantissa;
    uint64_t log2e, ln2_high, ln2_low, exp_low, exp_high, root_half;
    int exp_terms, log_terms;
    uint64_t exp[10], log[9]; /* constant term first */
} format;

static const format formats[2] = {
    { .mantissa = 52,
      .mask = UINT64_MAX,
      .bias = 1023,
      .one = 0x3ff0000000000000,
      .least_normal = 0x0010000000000000,
      .magic = 0x4338000000000000,
      .two_to_mantissa = 0x4330000000000000,
      .log2e = 0x3ff71547652b82fe,
      .ln2_high = 0x3fe62e42fefa3000,
      .ln2_low = 0x3d53de6af278ece6,
      .exp_low = 0xc087500000000000,
      .exp_high = 0x4086300000000000,
      .root_half = 0x3fe6a09e667f3bcd,
      .exp_terms = 10,
      .exp = { 0x3fe000000000000a, 0x3fc55555555554fa, 0x3fa555555555086e, 0x3f81111111127c31,
               0x3f56c16c1842d971, 0x3f2a01a012a446b7, 0x3efa0199a023ba06, 0x3ec71df256db9de9,
               0x3e928ad7cb3ef62a, 0x3e5ad7f5d73c6aa7 },
      .log_terms = 7,
      .log = { 0x3fe5555555555593, 0x3fd999999997fca3, 0x3fd2492494201afa, 0x3fcc71c51faf7a7c,
               0x3fc7466420bd5a2d, 0x3fc39a165345422d, 0x3fc2f08ece6db268 } },
    { .mantissa = 23,
      .mask = UINT32_MAX,
      .bias = 127,
      .one = 0x3f800000,
      .least_normal = 0x00800000,
      .magic = 0x4b400000,
      .two_to_mantissa = 0x4b000000,
      .log2e = 0x3fb8aa3b,
      .ln2_high = 0x3f318000,
      .ln2_low = 0xb95e8083,
      .exp_low = 0xc2d00000,
      .exp_high = 0x42b20000,
      .root_half = 0x3f3504f3,
      .exp_terms = 5,
      .exp = { 0x3efffffe, 0x3e2aaa49, 0x3d2aac79, 0x3c091cf9, 0x3ab51211 },
      .log_terms = 9,
      .log = { 0x3eaaaaa3, 0xbe7ffff7, 0x3e4cd2a4, 0xbe2ab173, 0x3e11994d, 0xbdfda150, 0x3df32938,
               0xbdf176e4, 0x3d8da1b3 } },
};

static double from_bits(int single, uint64_t bits)
{
    const uint32_t low = (uint32_t)bits;
    float f;
    double d;
    memcpy(&f, &low, sizeof f);
    memcpy(&d, &bits, sizeof d);
    return single ? f : d;
}

static uint64_t to_bits(int single, double x)
{
    const float f = (float)x;
    uint32_t low;
    uint64_t bits;
    memcpy(&low, &f, sizeof low);
    memcpy(&bits, &x, sizeof bits);
    return single ? low : bits;
}

static double rounded(int single, double x)
{
    return single ? (float)x : x;
}

static double add(int single, double a, double b)
{
    return rounded(single, a + b);
}

static double mul(int single, double a, double b)
{
    return rounded(single, a * b);
}

static double evaluate(int single, const uint64_t *of, int terms, double x)
{
    double sum = from_bits(single, of[terms - 1]);
    for (int k = terms - 2; k >= 0; k--)
        sum = add(single, mul(single, sum, x), from_bits(single, of[k]));
    return sum;
}

/* e^x = 2^n e^r, n = x / ln 2 rounded; 2^n in two factors, as it may overflow by itself. */
double tly_formula_exp(int single, double x)
{
    const format *f = &formats[single];
    const double magic = from_bits(single, f->magic), highest = from_bits(single, f->exp_high);
    if (x < from_bits(single, f->exp_low))
        return 0;
    if (x > highest)
        x = highest;
    const double shifted = add(single, mul(single, x, from_bits(single, f->log2e)), magic);
    const double n = add(single, shifted, -magic);
    const uint64_t biased = (to_bits(single, shifted) - (f->magic - 2 * f->bias)) & f->mask;
    const double high = add(single, x, -mul(single, n, from_bits(single, f->ln2_high)));
    const double low = mul(single, n, from_bits(single, f->ln2_low)), r = add(single, high, -low);
    const double rest = mul(single, mul(single, r, r), evaluate(single, f->exp, f->exp_terms, r));
    const double y = add(single, 1, add(single, high, add(single, rest, -low)));
    const uint64_t first = biased >> 1, second = biased - first;
    const double part = mul(single, y, from_bits(single, first << f->mantissa & f->mask));
    return mul(single, part, from_bits(single, second << f->mantissa & f->mask));
}

/* log(1 + t) + e ln 2, the high part of ln 2 last. */
static double log_of_single(double t, double e)
{
    const format *f = &formats[1];
    const double square = mul(1, t, t);
    double rest = mul(1, mul(1, evaluate(1, f->log, f->log_terms, t), square), t);
    rest = add(1, rest, mul(1, e, from_bits(1, f->ln2_low)));
    rest = add(1, rest, -mul(1, square, .5));
    return add(1, add(1, t, rest), mul(1, e, from_bits(1, f->ln2_high)));
}

/* By t / (2 + t): a quotient by two of Newton's steps. */
static double log_of_double(double t, double e)
{
    static const uint64_t reciprocal[] = { 0x3fff868792ab9f50, 0xbff72d39be064edb,
                                           0x3fde23f2c950ed87, 0xbfad40d00ccc750c };
    const format *f = &formats[0];
    const double d = t + 2;
    double quotient = evaluate(0, reciprocal, 4, d);
    for (int k = 0; k < 2; k++)
        quotient = quotient * (2 - d * quotient);
    const double s = t * quotient, z = s * s, half = t * t * .5;
    double rest = half + z * evaluate(0, f->log, f->log_terms, z);
    rest = s * rest + e * from_bits(0, f->ln2_low);
    rest = half - rest - t;
    return e * from_bits(0, f->ln2_high) - rest;
}

/* x = m 2^e, m in [root_half, 2 root_half). */
double tly_formula_log(int single, double x)
{
    const format *f = &formats[single];
    if (isnan(x) || x < 0)
        return NAN;
    if (x == 0)
        return -INFINITY;
    if (isinf(x))
        return x;
    const int is_tiny = x < from_bits(single, f->least_normal);
    if (is_tiny)
        x = mul(single, x, from_bits(single, f->two_to_mantissa));
    const uint64_t bits = to_bits(single, x) + (f->one - f->root_half);
    const uint64_t fraction = (UINT64_C(1) << f->mantissa) - 1;
    const double m = from_bits(single, (bits & fraction) + f->root_half);
    const int e = (int)(bits >> f->mantissa) - (int)f->bias - (is_tiny ? f->mantissa : 0);
    return (single ? log_of_single : log_of_double)(add(single, m, -1), e);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What turns one lane into another, bits to bits: conversions, and operations of one operand. C's
 * float and double, rounded to nearest even; f16 is converted in software, so that no machine's
 * half unit is trusted. For the interpreter alone, as it asks for libm.
 */
#include "internal.h"

#include <math.h>
#include <string.h>

static uint64_t same_bits(uint64_t x, unsigned from_bits, unsigned to_bits)
{
    (void)from_bits;
    (void)to_bits;
    return x; /* kir_low_bits does the rest */
}

static uint64_t sign_extended(uint64_t x, unsigned from_bits, unsigned to_bits)
{
    (void)to_bits;
    uint64_t sign = UINT64_C(1) << (from_bits - 1);
    return (x ^ sign) - sign;
}

static uint64_t f32_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float f32_of(uint64_t x)
{
    uint32_t bits = (uint32_t)x;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint64_t f64_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static double f64_of(uint64_t x)
{
    double value;
    memcpy(&value, &x, sizeof value);
    return value;
}

/* f16 and f32 bits; every f16 is an f32. */
static uint64_t f16_to_f32(uint64_t half)
{
    uint64_t sign = (half & 0x8000) << 16, magnitude = half & 0x7fff;
    if (magnitude >= 0x7c00) { /* infinity; NaN, made quiet as hardware does */
        uint64_t quiet = magnitude > 0x7c00 ? 0x400000 : 0;
        return sign | 0x7f800000 | (magnitude & 0x3ff) << 13 | quiet;
    }
    /* Read as f32 the exponent is 112 too small; the product is exact, for subnormals as well. */
    return sign | f32_bits(f32_of(magnitude << 13) * 0x1p112f);
}

static uint64_t f32_to_f16(uint64_t x)
{
    uint64_t sign = x >> 16 & 0x8000, magnitude = x & 0x7fffffff;
    if (magnitude > 0x7f800000) {
        return sign | 0x7e00 | (magnitude >> 13 & 0x1ff);
    }
    if (magnitude < 0x38800000) { /* below the least normal: units of 2^-24, rounded by the adder */
        return sign | (f32_bits(f32_of(magnitude) + 0.5f) - f32_bits(0.5f));
    }
    /* Ties to even; what reaches 65520 carries into infinity. */
    magnitude += 0xfff + (magnitude >> 13 & 1);
    return sign | (magnitude < 0x47800000 ? (magnitude - 0x38000000) >> 13 : 0x7c00);
}

static uint64_t extended(uint64_t x, unsigned from_bits, unsigned to_bits)
{
    (void)to_bits;
    if (from_bits == 16) {
        return f16_to_f32(x);
    }
    return f64_bits((double)f32_of(x));
}

static uint64_t truncated(uint64_t x, unsigned from_bits, unsigned to_bits)
{
    (void)to_bits;
    if (from_bits == 32) {
        return f32_to_f16(x);
    }
    return f32_bits((float)f64_of(x));
}

/* ---- integers and floats ---- */

static uint64_t signed_to_float(uint64_t x, unsigned from_bits, unsigned to_bits)
{
    int64_t value = (int64_t)sign_extended(x, from_bits, 64);
    return to_bits == 32 ? f32_bits((float)value) : f64_bits((double)value);
}

static uint64_t unsigned_to_float(uint64_t x, unsigned from_bits, unsigned to_bits)
{
    (void)from_bits;
    return to_bits == 32 ? f32_bits((float)x) : f64_bits((double)x);
}

static double real_of(uint64_t x, unsigned from_bits)
{
    return from_bits == 32 ? (double)f32_of(x) : f64_of(x);
}

/* To the nearest integer that there is; NaN to 0. `least` and `limit`, one above the greatest, are
 * powers of two or 0, so that the comparisons are exact. */
static uint64_t saturated(double x, double least, double limit, uint64_t first, uint64_t last)
{
    if (x != x) {
        return 0;
    }
    if (x <= least) {
        return first;
    }
    if (x >= limit) {
        return last;
    }
    return x < 0 ? (uint64_t)(int64_t)x : (uint64_t)x;
}

static uint64_t float_to_signed(uint64_t x, unsigned from_bits, unsigned to_bits)
{
    double limit = to_bits == 32 ? 0x1p31 : 0x1p63;
    uint64_t last = (UINT64_C(1) << (to_bits - 1)) - 1;
    return saturated(real_of(x, from_bits), -limit, limit, ~last, last);
}

static uint64_t float_to_unsigned(uint64_t x, unsigned from_bits, unsigned to_bits)
{
    double limit = to_bits == 32 ? 0x1p32 : 0x1p64;
    return saturated(real_of(x, from_bits), 0, limit, 0, UINT64_MAX >> (64 - to_bits));
}

/* ---- one operand ---- */

#define UNARY(name, of_f32, of_f64) \
    static uint64_t name(uint64_t x, unsigned from_bits, unsigned to_bits) \
    { \
        (void)to_bits; \
        return from_bits == 32 ? f32_bits(of_f32(f32_of(x))) : f64_bits(of_f64(f64_of(x))); \
    }

UNARY(square_root, sqrtf, sqrt)
UNARY(rounded, nearbyintf, nearbyint)
UNARY(floored, floorf, floor)

typedef uint64_t (*convert_one)(uint64_t x, unsigned from_bits, unsigned to_bits);

static const convert_one conversions[KIR_OP_COUNT] = {
    [KIR_ZEXT] = same_bits,
    [KIR_SEXT] = sign_extended,
    [KIR_TRUNC] = same_bits,
    [KIR_FPEXT] = extended,
    [KIR_FPTRUNC] = truncated,
    [KIR_SITOFP] = signed_to_float,
    [KIR_UITOFP] = unsigned_to_float,
    [KIR_FPTOSI] = float_to_signed,
    [KIR_FPTOUI] = float_to_unsigned,
    [KIR_SQRT] = square_root,
    [KIR_ROUND] = rounded,
    [KIR_FLOOR] = floored,
};

/* Lanes follow one another from the low bits up; only i1 is wider in its slot than its bits. */
static void bitcast(kir_type to, void *d, kir_type from, const void *x)
{
    unsigned from_bits = kir_kind_bits((kir_kind)from.kind);
    unsigned to_bits = kir_kind_bits((kir_kind)to.kind);
    for (unsigned i = 0; i < to.lanes; i++) {
        uint64_t bits = 0;
        for (unsigned at = 0; at < to_bits;) {
            unsigned position = i * to_bits + at, lane = position / from_bits;
            unsigned skip = position % from_bits;
            uint64_t piece = kir_lane_get(kir_kind_bytes((kir_kind)from.kind), x, lane) >> skip;
            bits |= piece << at;
            at += from_bits - skip;
        }
        bits = kir_low_bits((kir_kind)to.kind, bits);
        kir_lane_put(kir_kind_bytes((kir_kind)to.kind), d, i, bits);
    }
}

void kir_lanes_convert(kir_op op, kir_type to, void *d, kir_type from, const void *x)
{
    if (op == KIR_BITCAST) {
        bitcast(to, d, from, x);
        return;
    }
    convert_one convert = conversions[op];
    unsigned from_bytes = kir_kind_bytes((kir_kind)from.kind);
    unsigned from_bits = kir_kind_bits((kir_kind)from.kind);
    unsigned to_bytes = kir_kind_bytes((kir_kind)to.kind);
    unsigned to_bits = kir_kind_bits((kir_kind)to.kind);
    for (unsigned i = 0; i < to.lanes; i++) {
        uint64_t bits = convert(kir_lane_get(from_bytes, x, i), from_bits, to_bits);
        kir_lane_put(to_bytes, d, i, kir_low_bits((kir_kind)to.kind, bits));
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The check of magnitudes. A scan that combines in another order than the serial one is as good if
 * its partial results, or what they are made of, keep away from the ends of the floating-point
 * range (docs/range.md has the proof). Sums can only overflow; products leave the range on both
 * sides.
 *
 * Magnitudes are compared as integer bits, which order like the values and nearly like their
 * logarithms. Of f64 the upper 32 bits are compared, because 64-bit minima are many instructions
 * below AVX-512. The lower halves then hold the upper bits of 1.0, which no check finds.
 */
#include "../template.h"

typedef struct layout {
    uint64_t magnitude; /* mask of a lane */
    uint64_t filler;    /* f64: 1.0's upper u32, in place of the lower u32 */
    int64_t one;        /* bits of 1.0, of f64 its upper u32 */
    int64_t span;       /* bits from there to 2^120, of f64 to 2^1000 */
    unsigned mantissa;  /* bits of a mantissa, of f64 in its upper u32 */
    uint32_t limits[TLY_LIMIT_COUNT];
} layout;

static const layout layout_f32 = {
    0x7fffffff,
    0,
    0x3f800000,
    120 << 23,
    23,
    { [TLY_TINY] = 0x00400000,
      [TLY_NORMAL] = 0x00800000,
      [TLY_FAINT] = 0x00800000,
      [TLY_SMALL] = (127 - 60) << 23,
      [TLY_LARGE] = (127 + 126) << 23,
      [TLY_INFINITE] = 0x7f800000 },
};
static const layout layout_f64 = {
    0x7fffffff00000000,
    0x3ff00000,
    0x3ff00000,
    1000 << 20,
    20,
    { [TLY_TINY] = 0x00080000,
      [TLY_NORMAL] = 0x00100000,
      [TLY_FAINT] = (1023 - 922) << 20,
      [TLY_SMALL] = (1023 - 500) << 20,
      [TLY_LARGE] = (1023 + 1022) << 20,
      [TLY_INFINITE] = 0x7ff00000 },
};

static const layout *of(const tly_build *c)
{
    return c->acc.kind == KIR_F64 ? &layout_f64 : &layout_f32;
}

kir_value tly_check_bits(tly_build *c, kir_value v)
{
    unsigned lanes = type_of(c, v).lanes;
    kir_value m = to_kind(c, KIR_BITCAST, c->acc.kind == KIR_F64 ? KIR_I64 : KIR_I32, v);
    m = band(c, m, like(c, m, of(c)->magnitude));
    if (c->acc.kind != KIR_F64)
        return m;
    m = bor(c, m, like(c, m, of(c)->filler));
    return bitcast(c, KIR_TYPE(KIR_I32, 2 * lanes), m);
}

/* Of f64 the subtraction is one of 64 bits, so that a number below 2^-1042 does not count as zero.
 * Then the lower u32 has all bits set, so that it is never the least. */
kir_value tly_check_less(tly_build *c, kir_value v)
{
    unsigned lanes = type_of(c, v).lanes;
    int wide = c->acc.kind == KIR_F64;
    kir_value m = to_kind(c, KIR_BITCAST, wide ? KIR_I64 : KIR_I32, v);
    m = band(c, m, like(c, m, wide ? INT64_MAX : INT32_MAX));
    m = sub(c, m, like(c, m, 1));
    if (!wide)
        return m;
    m = bor(c, m, like(c, m, UINT32_MAX));
    return bitcast(c, KIR_TYPE(KIR_I32, 2 * lanes), m);
}

kir_value tly_check_below(tly_build *c, kir_value bits, tly_limit limit)
{
    return ult(c, bits, like(c, bits, of(c)->limits[limit]));
}

kir_value tly_check_lanes(tly_build *c, kir_value truth)
{
    unsigned u32s = type_of(c, truth).lanes;
    if (c->acc.kind != KIR_F64)
        return truth;
    kir_type wide = KIR_TYPE(KIR_I64, u32s / 2);
    truth = to_kind(c, KIR_SEXT, KIR_I32, truth);
    return differ(c, bitcast(c, wide, truth), constant(c, wide, 0));
}

/* One comparison checks both ends, as numbers below the lower one wrap to the top. */
kir_value tly_check_apart(tly_build *c, kir_value seen, kir_value v, unsigned parts)
{
    kir_value bits = tly_check_bits(c, v);
    int64_t low = of(c)->one - of(c)->span / parts;
    kir_value apart = sub(c, bits, like(c, bits, (uint64_t)low));
    return seen ? umax(c, seen, apart) : apart;
}

kir_value tly_check_out_of_range(tly_build *c, kir_value seen, unsigned parts)
{
    return ult(c, like(c, seen, (uint64_t)(of(c)->span / parts * 2)), seen);
}

kir_value tly_check_not_zero(tly_build *c, kir_value v)
{
    return une(c, v, like(c, v, 0));
}

kir_value tly_check_outside(tly_build *c, kir_value v, unsigned parts)
{
    kir_value left = tly_check_out_of_range(c, tly_check_apart(c, 0, v, parts), parts);
    return band(c, tly_check_lanes(c, left), tly_check_not_zero(c, v));
}

static uint32_t above_infinity(const tly_build *c)
{
    return 0u - of(c)->limits[TLY_INFINITE];
}

kir_value tly_check_finite(tly_build *c, kir_value bits)
{
    return add(c, bits, like(c, bits, above_infinity(c)));
}

kir_value tly_check_large(tly_build *c, kir_value high)
{
    return ule(c, like(c, high, of(c)->limits[TLY_LARGE] + above_infinity(c)), high);
}

kir_value tly_check_beyond(tly_build *c, kir_value high, kir_value low, unsigned parts, int finite)
{
    int64_t span = of(c)->span / parts;
    uint32_t most = (uint32_t)(of(c)->one + span + (finite ? above_infinity(c) : 0));
    kir_value upper = like(c, high, most), lower = like(c, high, (uint64_t)(of(c)->one - span - 1));
    return bor(c, ult(c, upper, high), ult(c, low, lower));
}

kir_value tly_check_not_tiny(tly_build *c, kir_value v)
{
    kir_value tiny = tly_check_lanes(c, tly_check_below(c, tly_check_bits(c, v), TLY_TINY));
    return tly_not(c, tiny);
}

int tly_checks_output(const tly_build *c)
{
    return tly_checks_products(c) && c->bytes[TLY_OUT] < c->acc_bytes &&
           !tly_has_expression(c->p, TLY_EXPRESSION_POST);
}

typedef struct end {
    uint8_t exponent,
        ones;          /* numbers above 2^exponent * 1.11...1, with so many ones, are infinite */
    uint32_t infinity; /* its bits */
} end;

static const end *end_of(const tly_build *c)
{
    static const end ends[TALLY_DTYPE_COUNT] = {
        [TALLY_F32] = { 127, 24, 0x7f800000 },
        [TALLY_F16] = { 15, 11, 0x7c00 },
        [TALLY_BF16] = { 127, 8, 0x7f80 },
    };
    return &ends[c->p->tensor[TLY_OUT].dtype];
}

uint32_t tly_check_stored_infinity(const tly_build *c)
{
    return end_of(c)->infinity;
}

/* The least magnitude that is infinite as an output, rounded down to the bits that are compared. */
static uint32_t least_infinite(const tly_build *c)
{
    unsigned mantissa = of(c)->mantissa, ones = end_of(c)->ones;
    if (c->bytes[TLY_OUT] >= c->acc_bytes)
        return of(c)->limits[TLY_INFINITE];
    uint32_t rest = ones < mantissa ? (1u << (mantissa - ones)) - 1 : 0;
    uint32_t power = (uint32_t)of(c)->one + ((uint32_t)end_of(c)->exponent << mantissa);
    return power + ((1u << mantissa) - 1 - rest);
}

kir_value tly_check_infinite(tly_build *c, kir_value bits)
{
    return ult(c, like(c, bits, least_infinite(c) - 1), bits);
}

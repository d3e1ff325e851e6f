/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The range check of tiles on GPUs; that of CPUs is in range_check.c. A scan that combines in
 * another order than the serial one may leave the floating-point range although the serial one does
 * not. The check looks at the local results y. It tells whether all partial results were as good as
 * those of the serial order (docs/range.md):
 *
 *   product  Every window that ends at i is P[i] / P[i - w]. So if all local results lie in
 *            [2^-60, 2^60] (f64: 2^-500, 2^500), no window left the normal range.
 *   sum      An overflow stays inf or NaN until the block's end. So a bounded y suffices.
 *   linear   y is a window (A, B) and stands for A * carry + B. An overflow of either stays inf or
 *            NaN until the block's end. So bounds of A and of B suffice, and with the carry's they
 *            bound every result.
 *
 * Magnitudes are compared as integer bits. Of f64 the upper 32 bits are compared, because 64-bit
 * minima are many instructions below AVX-512.
 */
#include "../template.h"

typedef struct limits {
    uint64_t sign_off;  /* mask of a lane: all bits but the sign (f64: of the upper u32 alone) */
    uint64_t one;       /* bits of 1.0 */
    uint64_t low, high; /* local products */
    uint64_t sum_high;  /* local sums, and the carry */
    uint64_t normal, finite; /* carry times local: smallest, largest, an exponent of slack each */
    uint64_t infinity;
    uint64_t windows; /* factors and addends of results after a carry, each */
} limits;

/* Bits of an f32; of an f64's upper u32. */
static const limits limits_f32 = {
    0x7fffffff, 0x3f800000, (127u - 60) << 23, (127u + 60) << 23,  (127u + 125) << 23,
    0x01000000, 0x7f000000, 0x7f800000,        (127u + 125) << 23,
};
static const limits limits_f64 = {
    0x7fffffff00000000, 0x3ff00000, (1023u - 500) << 20, (1023u + 500) << 20,  (1023u + 1021) << 20,
    0x00200000,         0x7fe00000, 0x7ff00000,          (1023u + 1021) << 20,
};

static const limits *of(const tly_build *c)
{
    return c->acc.kind == KIR_F64 ? &limits_f64 : &limits_f32;
}

unsigned tly_range_count(const tly_build *c)
{
    return tly_range_sides(c->p);
}

static unsigned u32_lanes(const tly_build *c)
{
    return c->lanes * c->acc_bytes / 4;
}

kir_op tly_range_op(const tly_build *c, unsigned k)
{
    return k > 0 && tly_checks_products(c) ? KIR_UMIN : KIR_UMAX;
}

void tly_range_begin(tly_build *c, kir_value *v)
{
    kir_type t = KIR_TYPE(KIR_I32, u32_lanes(c));
    for (unsigned k = 0; k < tly_range_count(c); k++)
        v[k] = constant(c, t, tly_range_op(c, k) == KIR_UMIN ? 0x7fffffff : 0);
}

static kir_value magnitude(tly_build *c, kir_value y)
{
    unsigned lanes = type_of(c, y).lanes;
    kir_value v = to_kind(c, KIR_BITCAST, c->acc.kind == KIR_F64 ? KIR_I64 : KIR_I32, y);
    v = band(c, v, like(c, v, of(c)->sign_off));
    if (c->acc.kind != KIR_F64)
        return v;
    return bitcast(c, KIR_TYPE(KIR_I32, 2 * lanes), v);
}

/* The magnitude of a scalar. */
static kir_value scalar_magnitude(tly_build *c, kir_value y)
{
    kir_value m = magnitude(c, y);
    return c->acc.kind == KIR_F64 ? kir_extract(c->b, m, 1) : m;
}

/* By its bits: devices that take subnormals for zeros where they compare them may still multiply
 * them, and then it would depend on who looks first whether a carry is one. */
kir_value tly_is_zero(tly_build *c, kir_value x)
{
    kir_value bits = magnitude(c, x), low = kir_extract(c->b, bits, 0);
    if (c->acc.kind == KIR_F64)
        low = bor(c, low, kir_extract(c->b, bits, 1));
    return equal(c, low, like(c, low, 0));
}

void tly_range_track(tly_build *c, kir_value *v, kir_value y)
{
    kir_value m = 0;
    for (unsigned k = 0; k < tly_range_count(c); k++) {
        if (k == 0 || tly_checks_windows(c))
            m = magnitude(c, part(c, tly_without_head(c, y), k));
        v[k] = bin(c, tly_range_op(c, k), v[k], m);
    }
}

/* The bits of a product of two positive floats, or a bit more; of small ones those of 0. */
static kir_value product_bits(tly_build *c, kir_value x, kir_value y)
{
    kir_value one = constant(c, KIR_TYPE(KIR_I32, 1), (uint32_t)of(c)->one);
    return sub(c, umax(c, add(c, x, y), one), one);
}

/* (A, B) before (A', B') is (A * A', B * A' + B'). */
static void follow_windows(tly_build *c, kir_value *v, kir_value before, const kir_value *s)
{
    before = tly_without_head(c, before);
    kir_value twice = constant(c, KIR_TYPE(KIR_I32, 1),
                               (uint32_t)(of(c)->infinity - of(c)->finite));
    kir_value addend = product_bits(c, scalar_magnitude(c, part(c, before, 1)), s[0]);
    v[0] = umax(c, v[0], product_bits(c, scalar_magnitude(c, part(c, before, 0)), s[0]));
    v[1] = umax(c, v[1], add(c, umax(c, addend, s[1]), twice));
}

/* Bits of floats stand for logarithms. A sum is at most twice the larger of two numbers. */
void tly_range_follow(tly_build *c, kir_value *v, kir_value before, const kir_value *s)
{
    if (tly_checks_windows(c)) {
        follow_windows(c, v, before, s);
        return;
    }
    int products = tly_checks_products(c);
    uint64_t by = products ? 0 - of(c)->one : of(c)->infinity - of(c)->finite;
    kir_value size = scalar_magnitude(c, tly_without_head(c, before));
    for (unsigned k = 0; k < tly_range_count(c); k++) {
        kir_value x = bin(c, products ? KIR_ADD : KIR_UMAX, size, s[k]);
        x = add(c, x, constant(c, KIR_TYPE(KIR_I32, 1), (uint32_t)by));
        v[k] = bin(c, tly_range_op(c, k), v[k], x);
    }
}

/* Shuffles keep the width, as narrow ones take long to compile. Of f64, odd lanes are upper u32s;
 * lower ones are 0 and never meet them. */
void tly_range_fold(tly_build *c, const kir_value *v, kir_value *scalars)
{
    unsigned lanes = u32_lanes(c), u32s = c->acc.kind == KIR_F64 ? 2 : 1;
    uint8_t index[64];
    for (unsigned k = 0; k < tly_range_count(c); k++) {
        kir_value x = v[k];
        for (unsigned half = lanes / 2; half >= u32s; half /= 2) {
            for (unsigned i = 0; i < lanes; i++)
                index[i] = (uint8_t)(i ^ half);
            kir_value other = kir_shuffle(c->b, x, x, index, lanes);
            x = bin(c, tly_range_op(c, k), x, other);
        }
        scalars[k] = kir_extract(c->b, x, u32s - 1);
    }
}

static kir_value literal(tly_build *c, uint64_t v)
{
    return constant(c, KIR_TYPE(KIR_I32, 1), v);
}

/* Alone, windows may be combined with each other and with carries of their size. After a carry all
 * results are finite, as A * carry and B are. */
static kir_value are_safe_windows(tly_build *c, const kir_value *s, kir_value carry)
{
    const limits *l = of(c);
    kir_value most = literal(c, carry ? l->windows : l->high);
    kir_value good = band(c, ule(c, s[0], most), ule(c, s[1], most));
    if (!carry)
        return good;
    kir_value size = scalar_magnitude(c, carry);
    good = band(c, good, ule(c, size, most));
    return band(c, good, ule(c, product_bits(c, size, s[0]), most));
}

/* The bits of a float are close to its logarithm: within a tenth of an exponent, which the slack
 * of `normal` and `finite` covers. */
kir_value tly_range_is_safe(tly_build *c, const kir_value *s, kir_value carry)
{
    const limits *l = of(c);
    if (tly_range_count(c) == 0)
        return i1(c, 1);
    if (tly_checks_windows(c))
        return are_safe_windows(c, s, carry);
    kir_value size = carry ? scalar_magnitude(c, carry) : 0;
    if (!tly_checks_products(c)) {
        kir_value local = ule(c, s[0], literal(c, l->sum_high));
        if (!carry)
            return local;
        return band(
            c, local,
            bor(c, ule(c, size, literal(c, l->sum_high)), ule(c, literal(c, l->infinity), size)));
    }
    kir_value high = ule(c, s[0], literal(c, l->high));
    kir_value local = band(c, high, ule(c, literal(c, l->low), s[1]));
    if (!carry)
        return local;
    /* carry * y stays normal and finite; size + y - one, kept unsigned by adding on both sides */
    kir_value least = add(c, size, s[1]);
    kir_value most = add(c, size, s[0]);
    kir_value within = band(c, ule(c, literal(c, l->normal + l->one), least),
                            ule(c, most, literal(c, l->finite + l->one)));
    if (tly_window_heads(c->p) > 0)
        return band(c, local, within);
    /* After a zero everything finite is zero. */
    kir_value zero = band(c, tly_is_zero(c, carry), high);
    return bor(c, band(c, local, within), zero);
}

/* i1: all parts of a state or a window are this large at most. */
static kir_value all_within(tly_build *c, kir_value x, uint64_t most)
{
    kir_value good = i1(c, 1);
    x = tly_without_head(c, x);
    for (unsigned i = 0; i < kir_parts(c->b, x); i++)
        good = band(c, good, ule(c, scalar_magnitude(c, part(c, x, i)), literal(c, most)));
    return good;
}

/* i1: x lies in the range of local results, or, `part` 2, in half of it. Zero does, too, and of
 * sums infinity and NaN. */
static kir_value within(tly_build *c, kir_value x, unsigned part)
{
    const limits *l = of(c);
    uint64_t twice = l->infinity - l->finite; /* as large, in bits */
    if (tly_range_count(c) == 0)
        return i1(c, 1);
    if (tly_checks_windows(c))
        return all_within(c, x, l->one + (l->high - l->one) / part);
    x = tly_without_head(c, x);
    kir_value size = scalar_magnitude(c, x);
    if (!tly_checks_products(c))
        return bor(c, ule(c, size, literal(c, l->sum_high - (part - 1) * twice)),
                   ule(c, literal(c, l->infinity), size));
    kir_value zero = tly_is_zero(c, x);
    return bor(c,
               band(c, ule(c, size, literal(c, l->one + (l->high - l->one) / part)),
                    ule(c, literal(c, l->one - (l->one - l->low) / part), size)),
               zero);
}

/* A product of a carry and a local result, both within 2^60 of 1 (f64: 2^500), is normal. After a
 * zero carry all results are zero. */
kir_value tly_range_good_any(tly_build *c, kir_value carry)
{
    return within(c, carry, 1);
}

kir_value tly_range_good_half(tly_build *c, kir_value x)
{
    return within(c, x, 2);
}

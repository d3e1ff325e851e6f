/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quotients and square roots by integer code, one binary digit a trip of a loop, rounded once.
 * Kernels with a workgroup need them: GPUs do not round divisions and roots alike, and some lack
 * divisions of 64-bit integers. A trip yields a digit of the mantissa. One more digit, and whether
 * a remainder is left, decide how to round. f32 takes 150 instructions, so this is for a few
 * results, not for elements.
 */
#include "elementary.h"

/* A function being built. */
typedef struct work {
    const tly_build *c;
    kir_type real, integer;
    unsigned mantissa; /* bits, without the leading one */
    uint64_t bias;
} work;

/* The magnitude 2^(exponent - bias) * mantissa / 2^mantissa of a number, normalised. */
typedef struct number {
    kir_value bits, exponent, mantissa;
} number;

static work begin(const tly_build *c, kir_value x)
{
    const kir_type type = type_of(c, x);
    const int wide = type.kind == KIR_F64;
    return (work){ c, type, KIR_TYPE(wide ? KIR_I64 : KIR_I32, type.lanes), wide ? 52 : 23,
                   wide ? 1023 : 127 };
}

static kir_value integer(const work *w, uint64_t value)
{
    return constant(w->c, w->integer, value);
}

static kir_value one_if(const work *w, kir_value condition)
{
    return convert(w->c, KIR_ZEXT, w->integer, condition);
}

static uint64_t sign_bit(const work *w)
{
    return UINT64_C(1) << (kir_kind_bits((kir_kind)w->integer.kind) - 1);
}

static uint64_t infinity(const work *w)
{
    return (2 * w->bias + 1) << w->mantissa;
}

static number unpack(const work *w, kir_value x)
{
    const tly_build *c = w->c;
    kir_value lead = integer(w, UINT64_C(1) << w->mantissa), place = integer(w, w->mantissa);
    kir_value scale = constant(c, w->real, (w->bias + w->mantissa) << w->mantissa);
    kir_value bits = band(c, bitcast(c, w->integer, x), integer(w, sign_bit(w) - 1));
    kir_value tiny = ult(c, bits, lead);
    kir_value scaled = mul(c, bitcast(c, w->real, bits), scale);
    kir_value normal = choose(c, tiny, bitcast(c, w->integer, scaled), bits);
    kir_value exponent = sub(c, lshr(c, normal, place), choose(c, tiny, place, integer(w, 0)));
    kir_value below = band(c, normal, integer(w, (UINT64_C(1) << w->mantissa) - 1));
    return (number){ bits, exponent, bor(c, below, lead) };
}

/* Rounds to the nearest magnitude, ties to even. `digits` has one digit more than a mantissa;
 * `left` is the remainder, which counts if it is not 0. The least normal numbers have an exponent
 * of 1; below, results are subnormal and lose digits first. */
static kir_value round_and_pack(const work *w, kir_value digits, kir_value left, kir_value exponent)
{
    const tly_build *c = w->c;
    kir_value one = integer(w, 1), none = integer(w, 0);
    kir_value most = integer(w, w->mantissa + 3), missing = sub(c, one, exponent);
    missing = smin(c, smax(c, missing, none), most);
    kir_value kept = lshr(c, digits, missing);
    kir_value lost = bxor(c, shl(c, kept, missing), digits);
    left = bor(c, left, lost);
    kir_value mantissa = lshr(c, kept, one);
    kir_value tie = bor(c, one_if(w, differ(c, left, none)), mantissa);
    mantissa = add(c, mantissa, band(c, band(c, kept, one), tie));
    kir_value above = sub(c, smax(c, exponent, one), one);
    kir_value bits = add(c, shl(c, above, integer(w, w->mantissa)), mantissa);
    kir_value beyond = less(c, integer(w, 2 * w->bias), exponent);
    return choose(c, beyond, integer(w, infinity(w)), bits);
}

/* A loop of so many trips. Its index has the type of the kernel's loops. */
static void for_digits(const tly_build *c, tly_region *l, unsigned trips)
{
    const kir_type counter = KIR_TYPE(kir_workgroup_of(c->b) > 0 ? KIR_I32 : KIR_I64, 1);
    emit_for(c, l, constant(c, counter, 0), constant(c, counter, trips), constant(c, counter, 1));
}

kir_value tly_quotient_by_digits(const tly_build *c, kir_value x, kir_value y)
{
    const work w = begin(c, x);
    const number top = unpack(&w, x), under = unpack(&w, y);
    kir_value one = integer(&w, 1), none = integer(&w, 0), all = integer(&w, infinity(&w));
    kir_value below = one_if(&w, ult(c, top.mantissa, under.mantissa));
    kir_value exponent = sub(c, sub(c, top.exponent, under.exponent), below);
    kir_value left = shl(c, top.mantissa, below), digits = none, divisor = under.mantissa;
    tly_region l = { .state = { &left, &digits, &divisor } };
    for_digits(c, &l, w.mantissa + 2);
    kir_value fits = ule(c, divisor, left);
    left = sub(c, left, choose(c, fits, divisor, none));
    left = shl(c, left, one);
    digits = bor(c, shl(c, digits, one), one_if(&w, fits));
    emit_end(c, &l);
    kir_value bits = round_and_pack(&w, digits, left, add(c, exponent, integer(&w, w.bias)));
    kir_value zero = bor(c, equal(c, top.bits, none), equal(c, under.bits, all));
    kir_value large = bor(c, equal(c, top.bits, all), equal(c, under.bits, none));
    kir_value nan = bor(c, band(c, zero, large), uno(c, x, y));
    bits = choose(c, zero, none, choose(c, large, all, bits));
    bits = choose(c, nan, integer(&w, infinity(&w) | infinity(&w) >> 1), bits);
    kir_value signs = bxor(c, bitcast(c, w.integer, x), bitcast(c, w.integer, y));
    signs = band(c, signs, integer(&w, sign_bit(&w)));
    return bitcast(c, w.real, bor(c, bits, signs));
}

/* Each digit of the root takes two digits of the number. */
kir_value tly_root_by_digits(const tly_build *c, kir_value x)
{
    const work w = begin(c, x);
    const number of = unpack(&w, x);
    const unsigned width = kir_kind_bits((kir_kind)w.integer.kind);
    kir_value one = integer(&w, 1), two = integer(&w, 2), none = integer(&w, 0);
    /* The bias is odd, so an even biased exponent is odd without it. */
    kir_value odd = bxor(c, band(c, of.exponent, one), one);
    kir_value exponent = sub(c, add(c, of.exponent, integer(&w, w.bias)), odd);
    kir_value field = shl(c, of.mantissa, integer(&w, width - w.mantissa - 2));
    kir_value rest = shl(c, field, odd), left = none, digits = none;
    tly_region l = { .state = { &rest, &left, &digits } };
    for_digits(c, &l, w.mantissa + 2);
    kir_value down = lshr(c, rest, integer(&w, width - 2));
    left = bor(c, shl(c, left, two), down);
    kir_value trial = bor(c, shl(c, digits, two), one);
    kir_value fits = ule(c, trial, left);
    rest = shl(c, rest, two);
    left = sub(c, left, choose(c, fits, trial, none));
    digits = bor(c, shl(c, digits, one), one_if(&w, fits));
    emit_end(c, &l);
    kir_value bits = round_and_pack(&w, digits, left, lshr(c, exponent, one));
    kir_value root = bitcast(c, w.real, bits);
    kir_value zero = constant(c, w.real, 0), most = constant(c, w.real, infinity(&w));
    kir_value nan = constant(c, w.real, infinity(&w) | infinity(&w) >> 1);
    kir_value inside = band(c, olt(c, zero, x), olt(c, x, most));
    root = choose(c, inside, root, x); /* zeros, infinity and NaN are their own roots */
    return choose(c, olt(c, x, zero), nan, root);
}

/* `digits` holds the digits of x that are not used yet, above those of the quotient so far. */
kir_value tly_udiv_by_digits(const tly_build *c, kir_value high, kir_value x, kir_value y)
{
    const kir_type type = type_of(c, x);
    const unsigned width = kir_kind_bits((kir_kind)type.kind);
    kir_value one = constant(c, type, 1), none = constant(c, type, 0);
    kir_value digits = x, left = high != 0 ? high : none;
    tly_region l = { .state = { &digits, &left } };
    for_digits(c, &l, width);
    kir_value down = lshr(c, digits, constant(c, type, width - 1));
    left = bor(c, shl(c, left, one), down);
    kir_value fits = ule(c, y, left);
    digits = shl(c, digits, one);
    digits = bor(c, digits, convert(c, KIR_ZEXT, type, fits));
    left = sub(c, left, choose(c, fits, y, none));
    emit_end(c, &l);
    return digits;
}

kir_value tly_quotient(const tly_build *c, kir_value x, kir_value y)
{
    return kir_workgroup_of(c->b) > 0 ? tly_quotient_by_digits(c, x, y) : divide(c, x, y);
}

kir_value tly_root(const tly_build *c, kir_value x)
{
    return kir_workgroup_of(c->b) > 0 ? tly_root_by_digits(c, x) : kir_unary(c->b, KIR_SQRT, x);
}

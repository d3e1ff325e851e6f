/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The short template: prescales products that become subnormal. An instruction that makes or takes
 * a subnormal number takes 100 cycles and more on Intel's cores. So a piece in which a product
 * underflowed is scanned again from 2^80 instead of 1, which makes subnormal products normal. An
 * addition and integer operations take the scale out in the end. If nothing underflows, the bits
 * are the same either way. docs/range.md has the reasons. Words with a carry do without, as the
 * state after a row must not be rounded as results are.
 */
#include "short.h"

enum {
    SCALE = 80,    /* where 16 uniform numbers come to less than 2^-56, a piece is not scanned so */
    BIAS = 127,    /* an f32's exponent of 1 */
    LOW = -60,     /* results that are watched may not be less */
    NORMAL = -126, /* its least normal number */
    LEAST = -149,  /* its least number */
    F16_NORMAL = -14,
    F16_GRID = -1 /* f32 have ulps of 2^-24 from here on, f16's least number */
};

static const uint64_t sign = 0x80000000, infinity = 0x7f800000;

static uint64_t power(int exponent)
{
    return (uint64_t)(BIAS + exponent) << 23;
}

static kir_value bits(tly_short *s, uint64_t value)
{
    return constant(s->c, s->bits, value);
}

static kir_value magnitude(tly_short *s, kir_value scaled)
{
    return band(s->c, scaled, bits(s, sign - 1));
}

/* Magnitudes plus 2^exponent, as floats. */
static kir_value plus(tly_short *s, kir_value size, int exponent)
{
    tly_build *c = s->c;
    kir_value x = bitcast(c, c->vec, size);
    x = add(c, x, constant(c, c->vec, power(exponent)));
    return bitcast(c, s->bits, x);
}

kir_value tly_short_scaled_one(tly_short *s)
{
    return bits(s, power(SCALE));
}

/* A result that would round to zero without the scale is zero for the next vector. */
kir_value tly_short_scaled_carry(tly_short *s, kir_value scaled)
{
    tly_build *c = s->c;
    kir_value lost = ult(c, magnitude(s, scaled), bits(s, power(LEAST - 1 + SCALE)));
    return choose(c, lost, band(c, scaled, bits(s, sign)), scaled);
}

/* Magnitudes without the scale. A sum with 2^-126 has ulps of 2^-149, so its bits are those of a
 * subnormal product. They are more than the product's own bits less the scale just if it is
 * subnormal. */
static kir_value unscaled(tly_short *s, kir_value size)
{
    tly_build *c = s->c;
    kir_value normal = sub(c, size, bits(s, (uint64_t)SCALE << 23));
    if (tly_narrow_raises(c)) /* it is not large enough to be seen as f16 */
        return smax(c, normal, bits(s, power(NORMAL)));
    kir_value counted = plus(s, size, NORMAL + SCALE);
    counted = sub(c, counted, bits(s, power(NORMAL + SCALE)));
    return smax(c, normal, counted);
}

kir_value tly_short_unscaled(tly_short *s, kir_value scaled, tly_short_seen *seen)
{
    tly_build *c = s->c;
    kir_value size = unscaled(s, magnitude(s, scaled));
    seen->most = umax(c, seen->most, size);
    seen->least = umin(c, seen->least, size);
    if (tly_narrow_raises(c)) { /* rounded already, a subnormal f16 is exact */
        kir_value half = constant(c, c->vec, power(F16_GRID));
        kir_value x = bitcast(c, c->vec, plus(s, size, F16_GRID));
        x = bitcast(c, s->bits, sub(c, x, half));
        size = choose(c, ult(c, size, bits(s, power(F16_NORMAL))), x, size);
    }
    size = bor(c, size, band(c, scaled, bits(s, sign)));
    return bitcast(c, c->vec, size);
}

tly_short_seen tly_short_scaled_none(tly_short *s)
{
    return (tly_short_seen){ bits(s, power(0)), bits(s, power(0)), 0 };
}

kir_value tly_short_scaled_out_of_range(tly_short *s, const tly_short_seen *seen)
{
    tly_build *c = s->c;
    kir_value most = bits(s, infinity - ((uint64_t)SCALE << 23));
    kir_value out = ule(c, most, seen->most);
    return bor(c, out, tly_check_infinite(c, seen->most));
}

kir_value tly_short_scaled_fell(tly_short *s, const tly_short_seen *seen)
{
    return ule(s->c, seen->least, bits(s, power(s->by_flags ? NORMAL : LOW)));
}

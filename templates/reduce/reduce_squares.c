/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of squares whose root is in range where they are not: squares of elements far above 1
 * overflow, and those of small elements underflow. Such a sum is made once more of elements times a
 * power of two. No square of an element that counts leaves the range then, nor does their sum, and
 * the root is that of the scaled sum times the reciprocal. A state is the plain sum and the scaled
 * one; the plain sum says by which power. Where the plain sum is right, the state has it twice.
 *
 * A sum of `least` or more is right: its squares have lost less than its rounding errors. A smaller
 * sum is always made again, as bits must not depend on flags. But a sum of 0 is made again only if
 * something underflowed, because elements that are all zero come to 0 both times, and an infinite
 * sum only if something overflowed.
 */
#include "reduce_float.h"

kir_value tly_reduce_no_squares(tly_build *c, unsigned lanes)
{
    kir_value none = tly_reduce_neutral(c, lanes);
    return pair(c, none, none);
}

/* Sums of squares have no sign. */
kir_value tly_reduce_suspects(tly_build *c, kir_value sum)
{
    const tly_reduce_format *f = tly_reduce_format_of(c);
    unsigned n = lanes_of(c, sum);
    kir_value above = sub(c, as(c, f->integer, sum), integer(c, n, (int64_t)f->least));
    return ule(c, integer(c, n, (int64_t)(f->infinity - f->least)), above);
}

static kir_value is_small(tly_build *c, kir_value sum)
{
    kir_value least = real(c, lanes_of(c, sum), tly_reduce_format_of(c)->least);
    return olt(c, sum, least);
}

static kir_value is_infinite(tly_build *c, kir_value sum)
{
    kir_value end = real(c, lanes_of(c, sum), tly_reduce_format_of(c)->infinity);
    return oeq(c, sum, end);
}

kir_value tly_reduce_wrong_squares(tly_build *c, kir_value sum, kir_value underflowed,
                                   kir_value overflowed)
{
    kir_value nothing = oeq(c, sum, real(c, lanes_of(c, sum), 0));
    kir_value small = bor(c, tly_not(c, nothing), underflowed);
    small = band(c, small, is_small(c, sum));
    return bor(c, small, band(c, is_infinite(c, sum), overflowed));
}

kir_value tly_reduce_is_plus(tly_build *c, kir_value sum)
{
    kir_value bits = as(c, tly_reduce_format_of(c)->integer, sum);
    return at_most(c, integer(c, lanes_of(c, sum), 0), bits);
}

static kir_value by_size(tly_build *c, kir_value sum, uint64_t small, uint64_t large)
{
    unsigned n = lanes_of(c, sum);
    return choose(c, is_small(c, sum), real(c, n, small), real(c, n, large));
}

kir_value tly_reduce_square_scale(tly_build *c, kir_value sum)
{
    const tly_reduce_format *f = tly_reduce_format_of(c);
    return by_size(c, sum, f->up, f->down);
}

kir_value tly_reduce_unit(tly_build *c, kir_value sum)
{
    const tly_reduce_format *f = tly_reduce_format_of(c);
    return by_size(c, sum, f->down, f->up);
}

/* The sum of squares as that of elements scaled down. Nothing underflows here, as that would raise
 * a flag. */
static kir_value large_of(tly_build *c, kir_value x)
{
    const tly_reduce_format *f = tly_reduce_format_of(c);
    kir_value sum = part(c, x, 0);
    unsigned n = lanes_of(c, sum);
    kir_value counts = ole(c, real(c, n, f->counted), sum), down = real(c, n, f->down);
    kir_value large = choose(c, counts, sum, real(c, n, 0));
    large = mul(c, mul(c, large, down), down);
    return choose(c, is_infinite(c, sum), part(c, x, 1), large);
}

kir_value tly_reduce_join_squares(tly_build *c, kir_value x, kir_value y)
{
    kir_value both = tly_reduce_add(c, x, y), sum = part(c, both, 0);
    kir_value large = add(c, large_of(c, x), large_of(c, y));
    kir_value again = choose(c, is_infinite(c, sum), large, sum);
    again = choose(c, is_small(c, sum), part(c, both, 1), again);
    return pair(c, sum, again);
}

kir_value tly_reduce_lift_stretched(tly_reduce *r, kir_value x, const tly_place *at)
{
    tly_build *c = r->c;
    kir_value by = kir_splat(c->b, r->stretch, lanes_of(c, x));
    return tly_element(c, at, mul(c, x, by));
}

/* Makes the sum once more of scaled elements, in the plain loop's order if the span was in it. So
 * the bits are the loop's where nothing underflowed. */
static kir_value stretched(tly_reduce *r, const tly_reduce_span *s, kir_value sum)
{
    tly_reduce_rules rules = tly_reduce_rules_of(r);
    rules.vectors = rules.vectors > 1 ? 2 : 1;
    rules.loads = 0;
    rules.lift = tly_reduce_lift_stretched;
    r->stretch = tly_reduce_square_scale(r->c, sum);
    return tly_reduce_walk(r, &rules, s);
}

kir_value tly_reduce_squares(tly_reduce *r, const tly_reduce_span *s, kir_value sum)
{
    tly_build *c = r->c;
    kir_value right = sum;
    tly_region suspect = { .state = { &right } }, stray = { .state = { &right } };
    emit_if(c, &suspect, tly_reduce_suspects(c, sum));
    kir_value met = kir_flags(c->b);
    emit_if(c, &stray,
            tly_reduce_wrong_squares(c, sum, tly_reduce_raised(c, met, KIR_UNDERFLOWED),
                                     tly_reduce_raised(c, met, KIR_OVERFLOWED)));
    right = stretched(r, s, sum);
    emit_end(c, &stray);
    emit_end(c, &suspect);
    return pair(c, sum, right);
}

static kir_value is_far(tly_build *c, kir_value state)
{
    kir_value sum = part(c, state, 0);
    return bor(c, is_small(c, sum), is_infinite(c, sum));
}

static kir_value right(tly_build *c, kir_value state)
{
    return part(c, state, 1);
}

static tly_scaled scaled_squares(tly_build *c, kir_value state, kir_value far)
{
    kir_value sum = part(c, state, 0);
    kir_value one = real_one(c, lanes_of(c, sum));
    return (tly_scaled){ right(c, state), choose(c, far, tly_reduce_unit(c, sum), one) };
}

const tly_reduce_ends tly_reduce_ends_of_squares = { is_far, right, scaled_squares };

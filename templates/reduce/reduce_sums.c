/* SPDX-License-Identifier: Apache-2.0 */
/* Sums, and beside them what overflowed on the way, in multiples of 2^64 (reduce_range.c). */
#include "reduce_float.h"

kir_value tly_reduce_scale_down(tly_build *c, kir_value x)
{
    return mul(c, x, real(c, lanes_of(c, x), tly_reduce_format_of(c)->small));
}

kir_value tly_reduce_scale_up(tly_build *c, kir_value x)
{
    return mul(c, x, real(c, lanes_of(c, x), tly_reduce_format_of(c)->large));
}

kir_value tly_reduce_scaled(tly_build *c, kir_value x)
{
    unsigned n = lanes_of(c, x);
    kir_value other = choose(c, tly_reduce_finite(c, x), real(c, n, 0), x);
    return pair(c, other, tly_reduce_scale_down(c, x));
}

kir_value tly_reduce_lift_scaled(tly_reduce *r, kir_value x, const tly_place *at)
{
    (void)at;
    return tly_reduce_scaled(r->c, x);
}

kir_value tly_reduce_add(tly_build *c, kir_value x, kir_value y)
{
    kir_value v[KIR_MAX_PARTS];
    unsigned parts = kir_parts(c->b, x);
    for (unsigned i = 0; i < parts; i++)
        v[i] = add(c, part(c, x, i), part(c, y, i));
    return kir_tuple(c->b, parts, v);
}

static kir_value zeros(tly_build *c, unsigned lanes)
{
    kir_value zero = real(c, lanes, 0);
    return pair(c, zero, zero);
}

/* -0 in both parts: nothing was added yet. A second part that something was moved to is never -0;
 * +0 there says that it cancelled. */
kir_value tly_reduce_no_parts(tly_build *c, unsigned lanes)
{
    kir_value none = tly_reduce_neutral(c, lanes);
    return pair(c, none, none);
}

kir_value tly_reduce_parts_of(tly_build *c, kir_value sums)
{
    kir_value other = part(c, sums, 0), none = part(c, tly_reduce_no_parts(c, 1), 0);
    return choose(c, une(c, other, real(c, 1, 0)), pair(c, other, none),
                  pair(c, none, part(c, sums, 1)));
}

kir_value tly_reduce_raised(tly_build *c, kir_value met, uint64_t flags)
{
    kir_type t = KIR_TYPE(KIR_I32, 1);
    met = band(c, met, constant(c, t, flags));
    return differ(c, met, constant(c, t, 0));
}

kir_value tly_reduce_overflowed(tly_build *c, kir_value lost)
{
    kir_value overflowed = lost;
    tly_region some = { .state = { &overflowed } };
    emit_if(c, &some, lost);
    overflowed = tly_reduce_raised(c, kir_flags(c->b), KIR_OVERFLOWED);
    emit_end(c, &some);
    return overflowed;
}

kir_value tly_reduce_parts(tly_reduce *r, const tly_reduce_span *s, kir_value state)
{
    static const tly_reduce_rules rules = {
        .vectors = 2, .lift = tly_reduce_lift_scaled, .combine = tly_reduce_add, .neutral = zeros
    };
    tly_build *c = r->c;
    kir_value parts = 0;
    tly_region again = { .state = { &parts } };
    emit_if(c, &again, tly_reduce_overflowed(c, tly_not(c, tly_reduce_finite(c, state))));
    parts = tly_reduce_parts_of(c, tly_reduce_walk(r, &rules, s));
    emit_else(c, &again);
    parts = pair(c, state, part(c, tly_reduce_no_parts(c, 1), 1));
    emit_end(c, &again);
    return parts;
}

/* If two finite sums overflow together, both move to the second part. */
kir_value tly_reduce_join_parts(tly_build *c, kir_value x, kir_value y)
{
    unsigned n = lanes_of(c, part(c, x, 0));
    kir_value none = tly_reduce_no_parts(c, n), scale = real(c, n, tly_reduce_format_of(c)->small);
    kir_value vx = part(c, x, 0), vy = part(c, y, 0), sum = add(c, vx, vy);
    kir_value beside = add(c, part(c, x, 1), part(c, y, 1));
    kir_value out_of_range = band(c, tly_reduce_finite(c, vx), tly_reduce_finite(c, vy));
    out_of_range = band(c, out_of_range, tly_not(c, tly_reduce_finite(c, sum)));
    kir_value both = add(c, mul(c, vx, scale), mul(c, vy, scale));
    kir_value moved = pair(c, part(c, none, 0), add(c, beside, both));
    return choose(c, out_of_range, moved, pair(c, sum, beside));
}

static kir_value is_far(tly_build *c, kir_value parts)
{
    kir_value sum = part(c, parts, 0), zero = real(c, lanes_of(c, sum), 0);
    kir_value some = une(c, part(c, parts, 1), zero);
    return band(c, some, tly_reduce_finite(c, sum));
}

/* Adding the second part makes +0 of a -0 that stands for no sum, if the second part is +0; -0
 * changes nothing. */
static kir_value near_sum(tly_build *c, kir_value parts)
{
    return add(c, part(c, parts, 0), part(c, parts, 1));
}

static tly_scaled scaled_sum(tly_build *c, kir_value parts, kir_value far)
{
    const tly_reduce_format *f = tly_reduce_format_of(c);
    kir_value sum = part(c, parts, 0);
    unsigned n = lanes_of(c, sum);
    kir_value small = choose(c, far, tly_reduce_scale_down(c, sum), sum);
    kir_value unit = choose(c, far, real(c, n, f->large), real_one(c, n));
    return (tly_scaled){ add(c, small, part(c, parts, 1)), unit };
}

const tly_reduce_ends tly_reduce_ends_of_sums = { is_far, near_sum, scaled_sum };

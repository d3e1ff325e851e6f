/* SPDX-License-Identifier: Apache-2.0 */
/* Sums beside what overflowed on the way to them; see reduce_range.c. */
#include "reduce_float.h"

kir_value tly_reduce_small(tly_build *c, kir_value x)
{
    return bin(c, KIR_MUL, x, real(c, lanes_of(c, x), tly_reduce_format_of(c)->small));
}

kir_value tly_reduce_large(tly_build *c, kir_value x)
{
    return bin(c, KIR_MUL, x, real(c, lanes_of(c, x), tly_reduce_format_of(c)->large));
}

kir_value tly_reduce_scaled(tly_build *c, kir_value x)
{
    unsigned n = lanes_of(c, x);
    kir_value other = choose(c, tly_reduce_finite(c, x), real(c, n, 0), x);
    return kir_tuple(c->b, 2, (kir_value[]){ other, tly_reduce_small(c, x) });
}

static kir_value lift_sum(tly_reduce *r, kir_value x, kir_value index)
{
    (void)index;
    return tly_reduce_scaled(r->c, x);
}

kir_value tly_reduce_add(tly_build *c, kir_value x, kir_value y)
{
    kir_value v[KIR_MAX_PARTS];
    unsigned parts = kir_parts(c->b, x);
    for (unsigned i = 0; i < parts; i++)
        v[i] = bin(c, KIR_ADD, kir_part(c->b, x, i), kir_part(c->b, y, i));
    return kir_tuple(c->b, parts, v);
}

static kir_value zeros(tly_build *c, unsigned lanes)
{
    kir_value zero = real(c, lanes, 0);
    return kir_tuple(c->b, 2, (kir_value[]){ zero, zero });
}

/* -0 in both: nothing was added yet. What lies beside a sum is never -0 once it was moved there, so
 * +0 says that it cancelled. */
kir_value tly_reduce_no_parts(tly_build *c, unsigned lanes)
{
    kir_value none = tly_neutral(c, KIR_TYPE(c->acc.kind, lanes));
    return kir_tuple(c->b, 2, (kir_value[]){ none, none });
}

kir_value tly_reduce_parts_of(tly_build *c, kir_value sums)
{
    kir_value other = kir_part(c->b, sums, 0), none = kir_part(c->b, tly_reduce_no_parts(c, 1), 0);
    kir_value alone[2] = { other, none };
    kir_value beside[2] = { none, kir_part(c->b, sums, 1) };
    return choose(c, une(c, other, real(c, 1, 0)), kir_tuple(c->b, 2, alone),
                  kir_tuple(c->b, 2, beside));
}

kir_value tly_reduce_raised(tly_build *c, kir_value met, uint64_t flags)
{
    kir_type t = KIR_TYPE(KIR_I32, 1);
    met = bin(c, KIR_AND, met, constant(c, t, flags));
    return differ(c, met, constant(c, t, 0));
}

kir_value tly_reduce_overflowed(tly_build *c, kir_value lost)
{
    kir_branch some;
    kir_if(c->b, &some, lost);
    kir_value met = tly_reduce_raised(c, kir_flags(c->b), KIR_OVERFLOWED);
    kir_else(c->b, &some, 1, &met);
    kir_if_end(c->b, &some, 1, &lost);
    return some.result[0];
}

kir_value tly_reduce_parts(tly_reduce *r, const tly_span *s, kir_value state)
{
    static const tly_reduce_rules rules = {
        .vectors = 2, .lift = lift_sum, .combine = tly_reduce_add, .neutral = zeros
    };
    tly_build *c = r->c;
    kir_branch again;
    kir_if(c->b, &again, tly_reduce_overflowed(c, tly_not(c, tly_reduce_finite(c, state))));
    kir_value parts = tly_reduce_parts_of(c, tly_reduce_walk(r, &rules, s));
    kir_else(c->b, &again, 1, &parts);
    parts = kir_tuple(c->b, 2,
                      (kir_value[]){ state, kir_part(c->b, tly_reduce_no_parts(c, 1), 1) });
    kir_if_end(c->b, &again, 1, &parts);
    return again.result[0];
}

/* Two finite sums that overflow together go to what lies beside them. */
kir_value tly_reduce_join_parts(tly_build *c, kir_value x, kir_value y)
{
    unsigned n = lanes_of(c, kir_part(c->b, x, 0));
    kir_value none = tly_reduce_no_parts(c, n), scale = real(c, n, tly_reduce_format_of(c)->small);
    kir_value vx = kir_part(c->b, x, 0), vy = kir_part(c->b, y, 0), sum = bin(c, KIR_ADD, vx, vy);
    kir_value beside = bin(c, KIR_ADD, kir_part(c->b, x, 1), kir_part(c->b, y, 1));
    kir_value left = bin(c, KIR_AND, tly_reduce_finite(c, vx), tly_reduce_finite(c, vy));
    left = bin(c, KIR_AND, left, tly_not(c, tly_reduce_finite(c, sum)));
    kir_value both = bin(c, KIR_ADD, bin(c, KIR_MUL, vx, scale), bin(c, KIR_MUL, vy, scale));
    kir_value moved[2] = { kir_part(c->b, none, 0), bin(c, KIR_ADD, beside, both) };
    return choose(c, left, kir_tuple(c->b, 2, moved),
                  kir_tuple(c->b, 2, (kir_value[]){ sum, beside }));
}

static kir_value is_far(tly_build *c, kir_value parts)
{
    kir_value sum = kir_part(c->b, parts, 0), zero = real(c, lanes_of(c, sum), 0);
    kir_value some = une(c, kir_part(c->b, parts, 1), zero);
    return bin(c, KIR_AND, some, tly_reduce_finite(c, sum));
}

/* +0 beside a sum makes +0 of a -0 that stands for no sum; -0 changes nothing. */
static kir_value near_sum(tly_build *c, kir_value parts)
{
    return bin(c, KIR_ADD, kir_part(c->b, parts, 0), kir_part(c->b, parts, 1));
}

static tly_scaled scaled_sum(tly_build *c, kir_value parts, kir_value far)
{
    const tly_reduce_format *f = tly_reduce_format_of(c);
    kir_value sum = kir_part(c->b, parts, 0);
    unsigned n = lanes_of(c, sum);
    kir_value small = choose(c, far, tly_reduce_small(c, sum), sum);
    kir_value unit = choose(c, far, real(c, n, f->large), real(c, n, f->one));
    return (tly_scaled){ bin(c, KIR_ADD, small, kir_part(c->b, parts, 1)), unit };
}

const tly_reduce_ends tly_reduce_ends_of_sums = { is_far, near_sum, scaled_sum };

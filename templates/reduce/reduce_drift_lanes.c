/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of outputs side by side with many elements next to 1.
 *
 * Distances are those of reduce_drift.c, but each lane decides for itself, so an output's bits do
 * not depend on its neighbours. A chain is (product, distance), or, if its elements are split,
 * (mantissa, exponent, distance) with the same distance. Closed chains are (mantissa, exponent,
 * distance), too, and stand for that product times 1 + distance.
 */
#include "reduce_float.h"

static kir_value with_distance(tly_build *c, kir_value product, kir_value distance)
{
    kir_value v[3] = { part(c, product, 0), part(c, product, 1), distance };
    return kir_tuple(c->b, 3, v);
}

kir_value tly_reduce_lanes_none(tly_reduce *r, unsigned lanes)
{
    return with_distance(r->c, tly_reduce_one(r->c, lanes), real(r->c, lanes, 0));
}

kir_value tly_reduce_lanes_chain(tly_reduce *r, unsigned lanes)
{
    return tly_reduce_no_distance(r->c, lanes);
}

kir_value tly_reduce_lanes_take(tly_build *c, kir_value chain, kir_value x, int split)
{
    if (!split)
        return tly_reduce_by_distance(c, chain, x);
    kir_value by = tly_reduce_by_distance(c, pair(c, x, part(c, chain, 2)), x);
    return with_distance(c, tly_reduce_join(c, chain, tly_reduce_split(c, x)), part(c, by, 1));
}

/* 1 + distance as a state, whose product with another one stays in the range. */
static kir_value factor_of(tly_build *c, kir_value distance)
{
    unsigned n = lanes_of(c, distance);
    kir_value one = real_one(c, n);
    return pair(c, add(c, one, distance), integer(c, n, 0));
}

/* A lane that is near and small comes to the same bits on both ways. */
kir_value tly_reduce_lanes_close(tly_build *c, kir_value all, kir_value chain, int split)
{
    kir_value product = split ? tly_reduce_product_of(c, chain) : part(c, chain, 0);
    kir_value distance = part(c, chain, split ? 2 : 1), before = part(c, all, 2);
    kir_value near = tly_reduce_is_next(c, product, distance);
    kir_value total = tly_reduce_joined(c, before, distance);
    kir_value small = tly_reduce_is_small(c, total), closed = with_distance(c, all, total);
    tly_region some = { .state = { &closed } };
    emit_if(c, &some, any(c, tly_not(c, band(c, near, small))));
    kir_value none = real(c, lanes_of(c, total), 0);
    kir_value by = factor_of(c, choose(c, small, none, total));
    kir_value left = choose(c, near, choose(c, small, total, none), before);
    kir_value whole = pair(c, part(c, chain, 0), split ? part(c, chain, 1) : part(c, by, 1));
    by = choose(c, near, by, whole);
    closed = with_distance(c, tly_reduce_join(c, all, by), left);
    emit_end(c, &some);
    return closed;
}

kir_value tly_reduce_lanes_join(tly_reduce *r, kir_value x, kir_value y)
{
    tly_build *c = r->c;
    kir_value total = tly_reduce_joined(c, part(c, x, 2), part(c, y, 2));
    kir_value small = tly_reduce_is_small(c, total), none = real(c, lanes_of(c, total), 0);
    kir_value by = factor_of(c, choose(c, small, none, total));
    return with_distance(c, tly_reduce_join(c, tly_reduce_join(c, x, y), by),
                         choose(c, small, total, none));
}

kir_value tly_reduce_lanes_product(tly_build *c, kir_value all)
{
    return tly_reduce_join(c, all, factor_of(c, part(c, all, 2)));
}

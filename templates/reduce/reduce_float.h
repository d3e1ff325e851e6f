/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bits of floats that may leave the range: what the files that check sums, squares and products
 * share.
 */
#ifndef TLY_REDUCE_FLOAT_H
#define TLY_REDUCE_FLOAT_H

#include "reduce.h"

/* Of the accumulator. */
typedef struct tly_reduce_format {
    uint8_t integer, mantissa; /* kir_kind, bits */
    int64_t bias, far;         /* 2^far is out of the range, 2^(far / 2) in it */
    uint64_t infinity, one;
    uint64_t small, large; /* 2^-64, 2^64 */
    /* Of squares. Elements are scaled by a power of two, `down`, or its reciprocal, `up`. A sum of
     * `least` or more has lost less than its rounding errors. A sum below `counted` adds nothing to
     * one that overflowed. */
    uint64_t down, up, least, counted;
} tly_reduce_format;

const tly_reduce_format *tly_reduce_format_of(const tly_build *c);

static inline kir_value integer(tly_build *c, unsigned lanes, int64_t v)
{
    return constant(c, KIR_TYPE(tly_reduce_format_of(c)->integer, lanes), (uint64_t)v);
}

static inline kir_value real(tly_build *c, unsigned lanes, uint64_t bits)
{
    return constant(c, KIR_TYPE(c->acc.kind, lanes), bits);
}

static inline kir_value real_one(tly_build *c, unsigned lanes)
{
    return real(c, lanes, tly_reduce_format_of(c)->one);
}

static inline unsigned lanes_of(tly_build *c, kir_value v)
{
    return type_of(c, v).lanes;
}

static inline kir_value as(tly_build *c, uint8_t kind, kir_value v)
{
    return bitcast(c, KIR_TYPE(kind, lanes_of(c, v)), v);
}

/* Magnitudes, as integers. */
static inline kir_value size(tly_build *c, kir_value v)
{
    kir_value bits = as(c, tly_reduce_format_of(c)->integer, v);
    uint64_t all = tly_reduce_format_of(c)->infinity | (tly_reduce_format_of(c)->infinity - 1);
    return band(c, bits, integer(c, lanes_of(c, v), (int64_t)all));
}

/* What the sums come to that chunks hand on. `far`: i1s, sums out of the range. `scaled`: those, as
 * multiples of a unit, which is 1 in the other lanes. `near`: sums in the range. */
typedef struct tly_scaled {
    kir_value sum, unit;
} tly_scaled;
typedef struct tly_reduce_ends {
    kir_value (*far)(tly_build *c, kir_value state);
    kir_value (*near)(tly_build *c, kir_value state);
    tly_scaled (*scaled)(tly_build *c, kir_value state, kir_value far);
} tly_reduce_ends;
extern const tly_reduce_ends tly_reduce_ends_of_sums, tly_reduce_ends_of_squares;

/* Of a state that is an output's, what its result is; `all` and `apart`: as of tly_reduce_finish.
 */
kir_value tly_reduce_checked_product(tly_reduce *r, const tly_reduce_span *all, tly_step_of step,
                                     kir_value state);

/* Joined states of chains, whose mantissas were multiplied as they are, with a mantissa once
 * more. */
kir_value tly_reduce_close(tly_build *c, kir_value state);

/* ---- reduce_drift.c: products along rows of many elements next to 1 ---- */

unsigned tly_reduce_drift_vectors(const tly_reduce *r); /* vectors of states of a chain */
/* What goes from chain to chain. */
typedef struct tly_reduce_drift {
    kir_value all;  /* the product of chains that are not next to 1, as (mantissa, exponent) */
    kir_value some; /* i1: there are others */
    kir_value
        distance[TLY_REDUCE_MOST_STATES]; /* of their product from 1, a state of a chain each */
    unsigned states;
} tly_reduce_drift;
tly_reduce_drift tly_reduce_no_drift(tly_reduce *r);
void tly_reduce_carry_drift(tly_region *region, tly_reduce_drift *d);
/* Takes a chain; `drift`: a tly_reduce_drift. */
void tly_reduce_take_drifting(tly_reduce *r, const tly_reduce_span *chain, void *drift);
/* The product of all chains. */
kir_value tly_reduce_with_drift(tly_reduce *r, const tly_reduce_drift *d);

/* ---- the same, what products of outputs side by side share ---- */

/* A chain, (product, distance): of nothing, and with one more element. */
kir_value tly_reduce_no_distance(tly_build *c, unsigned lanes);
kir_value tly_reduce_by_distance(tly_build *c, kir_value chain, kir_value x);
kir_value tly_reduce_joined(tly_build *c, kir_value x, kir_value y); /* of two distances */
/* i1s: a chain counts by its distance; a distance of several chains is below 1/8. */
kir_value tly_reduce_is_next(tly_build *c, kir_value product, kir_value distance);
kir_value tly_reduce_is_small(tly_build *c, kir_value distance);

#endif

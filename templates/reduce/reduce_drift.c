/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products along rows with many elements next to 1.
 *
 * Short chains of equal elements have equal rounding errors, which add up in one direction. The
 * distance of a product from 1 has a smaller rounding error than the product, by as much as the
 * distance is below 1. So the state of a chain has the distance, too:
 *
 *     P x - 1 = (P - 1) x + (x - 1)
 *
 * A chain counts by its distances if all of its products end next to 1. The distances of several
 * chains
 *
 *     (1 + d) (1 + D) - 1 = d + D + d D
 *
 * become part of the product before they are large. Other chains count by their products; so does a
 * chain whose product and distance differ by more than rounding errors explain, as its product fell
 * far below 1 on the way.
 */
#include "reduce_float.h"

/* With shorter vectors the check costs too much (docs/tuning-notes.md). */
int tly_reduce_may_drift(const tly_reduce *r)
{
    enum { LEAST_BYTES = 64 }; /* of a vector */
    const tly_build *c = r->c;
    const int together = c->p->form == TLY_REDUCED_ROWS && c->plan->rows_at_once > 1;
    return r->checks_products && !together && c->bytes[TLY_OUT] == c->acc_bytes &&
           c->lanes * c->acc_bytes >= LEAST_BYTES;
}

/* ---- a chain: (product, distance) ---- */

static kir_value lifted(tly_build *c, kir_value x)
{
    return pair(c, x, sub(c, x, real_one(c, lanes_of(c, x))));
}

static kir_value lift(tly_reduce *r, kir_value x, const tly_place *at)
{
    (void)at;
    return lifted(r->c, x);
}

static kir_value combine(tly_build *c, kir_value x, kir_value y)
{
    kir_value by = part(c, y, 0);
    kir_value distance = mul(c, part(c, x, 1), by);
    distance = add(c, distance, part(c, y, 1));
    return pair(c, mul(c, part(c, x, 0), by), distance);
}

kir_value tly_reduce_by_distance(tly_build *c, kir_value chain, kir_value x)
{
    return combine(c, chain, lifted(c, x));
}

kir_value tly_reduce_no_distance(tly_build *c, unsigned lanes)
{
    kir_value product = real_one(c, lanes);
    return pair(c, product, real(c, lanes, 0));
}

/* ---- distances ---- */

kir_value tly_reduce_joined(tly_build *c, kir_value x, kir_value y)
{
    return add(c, add(c, x, y), mul(c, x, y));
}

/* The larger of two magnitudes, as bits; NaN is larger than all numbers. */
static kir_value larger(tly_build *c, kir_value x, kir_value v)
{
    kir_value bits = size(c, v);
    return x == 0 ? bits : umax(c, x, bits);
}

/* i1: all magnitudes are below the number with those bits. */
static kir_value all_below(tly_build *c, kir_value magnitudes, uint64_t limit)
{
    kir_value most = integer(c, lanes_of(c, magnitudes), (int64_t)limit);
    return tly_not(c, any(c, ule(c, most, magnitudes)));
}

/* The largest distance of several chains: 1/8. */
static uint64_t limit(tly_build *c)
{
    const tly_reduce_format *f = tly_reduce_format_of(c);
    return (uint64_t)(f->bias - 3) << f->mantissa;
}

/* The largest distance of a chain that counts by distances: 3/8, f64 1/8. */
static uint64_t near_limit(tly_build *c)
{
    const tly_reduce_format *f = tly_reduce_format_of(c);
    if (c->acc.kind == KIR_F32)
        return (uint64_t)(f->bias - 2) << f->mantissa | UINT64_C(1) << (f->mantissa - 1);
    return limit(c);
}

/* The difference between product and distance that rounding errors of a chain explain: 2^-19, f64
 * 2^-48. */
static uint64_t tolerance(tly_build *c)
{
    const tly_reduce_format *f = tly_reduce_format_of(c);
    return (uint64_t)(f->bias + 4 - f->mantissa) << f->mantissa;
}

/* i1s: magnitudes below the number with those bits. */
static kir_value below(tly_build *c, kir_value v, uint64_t limit)
{
    kir_value most = integer(c, lanes_of(c, v), (int64_t)limit);
    return ult(c, size(c, v), most);
}

kir_value tly_reduce_is_small(tly_build *c, kir_value distance)
{
    return below(c, distance, limit(c));
}

kir_value tly_reduce_is_next(tly_build *c, kir_value product, kir_value distance)
{
    kir_value own = sub(c, product, real_one(c, lanes_of(c, product)));
    kir_value agrees = below(c, sub(c, own, distance), tolerance(c));
    return band(c, agrees, below(c, distance, near_limit(c)));
}

static kir_value both(tly_build *c, kir_value x, kir_value y)
{
    return x == 0 ? y : band(c, x, y);
}

/* i1: all products of a chain ended next to 1 and agree with their distances. States with the same
 * number of lanes are compared together. */
static kir_value is_near(tly_build *c, unsigned n, const kir_value *state)
{
    kir_value near = 0;
    for (unsigned i = 0, from = 0; i < n; i = from) {
        unsigned lanes = lanes_of(c, part(c, state[i], 0));
        kir_value off = 0, far = 0;
        for (; from < n && lanes_of(c, part(c, state[from], 0)) == lanes; from++) {
            kir_value own = sub(c, part(c, state[from], 0), real_one(c, lanes));
            kir_value distance = part(c, state[from], 1);
            off = larger(c, off, sub(c, own, distance));
            far = larger(c, far, distance);
        }
        near = both(c, near, all_below(c, off, tolerance(c)));
        near = both(c, near, all_below(c, far, near_limit(c)));
    }
    return near;
}

static kir_value are_small(tly_build *c, unsigned n, const kir_value *distance)
{
    kir_value small = 0;
    for (unsigned i = 0, from = 0; i < n; i = from) {
        unsigned lanes = lanes_of(c, distance[i]);
        kir_value far = 0;
        for (; from < n && lanes_of(c, distance[from]) == lanes; from++)
            far = larger(c, far, distance[from]);
        small = both(c, small, all_below(c, far, limit(c)));
    }
    return small;
}

/* Vectors of states of a chain: products and distances stay in registers. */
unsigned tly_reduce_drift_vectors(const tly_reduce *r)
{
    const unsigned most = r->c->t->registers / 4, loads = (unsigned)r->c->plan->vectors;
    return loads < most ? loads : most;
}

static unsigned states(const tly_reduce *r)
{
    const tly_build *c = r->c;
    return tly_reduce_drift_vectors(r) + (c->lanes > 1 && !tly_is_masked(c->p, c->t));
}

static void forget_distances(tly_reduce *r, tly_reduce_drift *d)
{
    unsigned vectors = tly_reduce_drift_vectors(r);
    d->some = i1(r->c, 0);
    for (unsigned i = 0; i < d->states; i++)
        d->distance[i] = real(r->c, i < vectors ? r->c->lanes : 1, 0);
}

tly_reduce_drift tly_reduce_no_drift(tly_reduce *r)
{
    tly_reduce_drift d = { .all = tly_reduce_one(r->c, 1), .states = states(r) };
    forget_distances(r, &d);
    return d;
}

void tly_reduce_carry_drift(tly_region *region, tly_reduce_drift *d)
{
    emit_carry(region, 1, &d->all);
    emit_carry(region, 1, &d->some);
    emit_carry(region, d->states, d->distance);
}

/* ---- to a product ---- */

static kir_value as_f64(tly_build *c, kir_value v)
{
    kir_type t = KIR_TYPE(KIR_F64, lanes_of(c, v));
    v = c->acc.kind == KIR_F64 ? v : convert(c, KIR_FPEXT, t, v);
    return add(c, v, constant(c, t, UINT64_C(1023) << 52));
}

/* The product of all 1 + distance. f64 is precise enough for products of f32; vectors of f64 are
 * joined as distances while these are small. */
static kir_value product_of(tly_reduce *r, const kir_value *distance)
{
    tly_build *c = r->c;
    const int is_f64 = c->acc.kind == KIR_F64;
    unsigned vectors = tly_reduce_drift_vectors(r);
    kir_value v[TLY_REDUCE_MOST_STATES];
    for (unsigned i = 0; i < vectors; i++)
        v[i] = is_f64 ? distance[i] : as_f64(c, distance[i]);
    for (unsigned n = vectors; n > 1; n = (n + 1) / 2)
        for (unsigned i = 0; i < n / 2; i++) {
            kir_value other = v[i + (n + 1) / 2];
            v[i] = is_f64 ? tly_reduce_joined(c, v[i], other) : mul(c, v[i], other);
        }
    kir_value all = is_f64 ? as_f64(c, v[0]) : v[0];
    while (lanes_of(c, all) > 1) {
        kir_value low = tly_reduce_halves(c, all, all, 1, 0);
        all = mul(c, low, tly_reduce_halves(c, all, all, 1, 1));
    }
    if (states(r) > vectors)
        all = mul(c, all, as_f64(c, distance[vectors]));
    return c->acc.kind == KIR_F64 ? all : convert(c, KIR_FPTRUNC, c->acc, all);
}

static kir_value with_distances(tly_reduce *r, const tly_reduce_drift *d)
{
    tly_build *c = r->c;
    return tly_reduce_join(c, d->all, tly_reduce_split(c, product_of(r, d->distance)));
}

kir_value tly_reduce_with_drift(tly_reduce *r, const tly_reduce_drift *d)
{
    kir_value all = d->all;
    tly_region some = { .state = { &all } };
    emit_if(r->c, &some, d->some);
    all = with_distances(r, d);
    emit_end(r->c, &some);
    return all;
}

/* i1: an output has so many elements that distances are worth their cost. Below that, rows of 1,000
 * f32 took 1.35 to 1.5 of the time without distances, and rows of 3,000 1.17 to 1.2 (Zen 4, L2). */
kir_value tly_reduce_drift_pays(tly_build *c)
{
    enum { LEAST_BYTES = 10240 }; /* of accumulators */
    kir_value count = tly_reduce_count(c);
    return less(c, imm(c, LEAST_BYTES / (int64_t)c->acc_bytes - 1), count);
}

/* A chain counts by its products. */
static void take_far(tly_reduce *r, const kir_value *state, tly_reduce_drift *d)
{
    tly_build *c = r->c;
    const tly_reduce_rules plain = tly_reduce_chains(tly_reduce_drift_vectors(r));
    kir_value product[TLY_REDUCE_MOST_STATES];
    for (unsigned i = 0; i < d->states; i++)
        product[i] = part(c, state[i], 0);
    d->all = tly_reduce_join(c, d->all, tly_reduce_close(c, tly_reduce_fold(r, &plain, product)));
}

/* It counts by its distances. */
static void take_near(tly_reduce *r, const kir_value *state, tly_reduce_drift *d)
{
    tly_build *c = r->c;
    tly_region small = { 0 };
    tly_reduce_carry_drift(&small, d);
    d->some = i1(c, 1);
    for (unsigned i = 0; i < d->states; i++)
        d->distance[i] = tly_reduce_joined(c, d->distance[i], part(c, state[i], 1));
    emit_unless(c, &small, are_small(c, d->states, d->distance));
    d->all = with_distances(r, d);
    forget_distances(r, d);
    emit_end(c, &small);
}

void tly_reduce_take_drifting(tly_reduce *r, const tly_reduce_span *chain, void *drift)
{
    tly_build *c = r->c;
    tly_reduce_drift *d = drift;
    const tly_reduce_rules rules = { .vectors = tly_reduce_drift_vectors(r),
                                     .lift = lift,
                                     .combine = combine,
                                     .neutral = tly_reduce_no_distance };
    kir_value state[TLY_REDUCE_MOST_STATES], all_near = 0;
    tly_region first = { .state = { &all_near } }, near = { 0 };
    tly_reduce_carry_drift(&near, d);
    tly_reduce_states(r, &rules, chain, state);
    emit_if(c, &first, is_near(c, 1, state));
    all_near = is_near(c, d->states, state);
    emit_else(c, &first);
    all_near = i1(c, 0);
    emit_end(c, &first);
    emit_if(c, &near, all_near);
    take_near(r, state, d);
    emit_else(c, &near);
    take_far(r, state, d);
    emit_end(c, &near);
}

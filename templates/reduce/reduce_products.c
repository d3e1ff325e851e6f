/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products along rows as (mantissa, exponent), which leave no range (reduce_range.c). Short chains
 * are multiplied plainly. If flags say that a chain left the range, each element is split instead.
 * A product beyond the output's range is the plain loop's, unless bounds show that the loop ends
 * infinite, too.
 */
#include "reduce_float.h"

/* SOME: f32 rows of 4,096, from L3, that end infinite, by 256, 512, 1,024, 4,096 us: ascending
 * 301, 300, 309, 430, growing 289, 295, 325, 611, specials 275, 281, 286, 333; benign 250 (Zen
 * 4, AVX-512, minima on a busy machine). */
enum {
    CHAIN = 32,       /* elements of a plain product */
    SHORT_GROUPS = 4, /* groups of a step of which a chain takes several */
    BLOCK = 256,      /* of the plain loop's */
    SOME = 512,       /* of the bounds upon it ... */
    MOST = 16384,     /* and all that have bounds */
    SPARE = 62        /* binary orders that a product may fall by in between */
};

/* x * 2^exponent as a mantissa in [1, 2) and an exponent. Zeros, infinities and NaNs have no
 * mantissa and stand for themselves. */
static kir_value split(tly_build *c, kir_value x, kir_value exponent)
{
    const tly_reduce_format *f = tly_reduce_format_of(c);
    unsigned n = lanes_of(c, x);
    kir_value least = integer(c, n, INT64_C(1) << f->mantissa), zero = integer(c, n, 0);
    kir_value tiny = less(c, size(c, x), least);
    /* A multiplication of all lanes that raises no flag, whatever LLVM makes of it. */
    x = mul(c, x, choose(c, tiny, real(c, n, f->large), real_one(c, n)));
    exponent = sub(c, exponent, choose(c, tiny, integer(c, n, 64), zero));
    kir_value bits = as(c, f->integer, x), magnitude = size(c, x);
    kir_value e = lshr(c, magnitude, integer(c, n, f->mantissa));
    e = sub(c, e, integer(c, n, f->bias));
    kir_value m = band(c, bits, integer(c, n, (int64_t)~f->infinity));
    m = as(c, c->acc.kind, bor(c, m, integer(c, n, (int64_t)f->one)));
    kir_value number = less(c, zero, magnitude);
    number = band(c, number, tly_reduce_finite(c, x));
    m = choose(c, number, m, x);
    return pair(c, m, choose(c, number, add(c, exponent, e), zero));
}

kir_value tly_reduce_one(tly_build *c, unsigned lanes)
{
    kir_value one = real_one(c, lanes);
    return pair(c, one, integer(c, lanes, 0));
}

/* Exponents stay far within their integers: beyond the limit no product comes back. */
kir_value tly_reduce_join(tly_build *c, kir_value x, kir_value y)
{
    enum { FAR = 1 << 28 };
    unsigned n = lanes_of(c, x);
    kir_value m = mul(c, part(c, x, 0), part(c, y, 0));
    kir_value e = add(c, part(c, x, 1), part(c, y, 1));
    e = smax(c, smin(c, e, integer(c, n, FAR)), integer(c, n, -FAR));
    return split(c, m, e);
}

kir_value tly_reduce_split(tly_build *c, kir_value x)
{
    return split(c, x, integer(c, lanes_of(c, x), 0));
}

static kir_value lift_split(tly_reduce *r, kir_value x, const tly_place *at)
{
    (void)at;
    return tly_reduce_split(r->c, x);
}

static kir_value lift_as_is(tly_reduce *r, kir_value x, const tly_place *at)
{
    (void)r;
    (void)at;
    return x;
}

static kir_value multiply(tly_build *c, kir_value x, kir_value y)
{
    return mul(c, x, y);
}

/* A mantissa that was split is below 2, so the product of all states of a walk, at most 128,
 * stays in the range of f32. A zero, infinity or NaN stands for itself, whatever its exponent
 * is. */
static kir_value join_split(tly_build *c, kir_value x, kir_value y)
{
    kir_value m = mul(c, part(c, x, 0), part(c, y, 0));
    kir_value e = add(c, part(c, x, 1), part(c, y, 1));
    return pair(c, m, e);
}

tly_reduce_rules tly_reduce_chains(unsigned vectors)
{
    return (tly_reduce_rules){ .vectors = vectors,
                               .lift = lift_as_is,
                               .combine = multiply,
                               .neutral = real_one,
                               .close = tly_reduce_split,
                               .join = join_split };
}

/* A mantissa that was multiplied as it is, split once more. */
kir_value tly_reduce_close(tly_build *c, kir_value state)
{
    return split(c, part(c, state, 0), part(c, state, 1));
}

static kir_value chain_of(tly_reduce *r, const tly_reduce_span *some)
{
    const tly_reduce_rules rules = tly_reduce_rules_of(r);
    return tly_reduce_close(r->c, tly_reduce_walk(r, &rules, some));
}

static kir_value chain_of_steps(tly_reduce *r, void *of, kir_value from, kir_value to)
{
    tly_reduce_span some = *(const tly_reduce_span *)of;
    some.begin = from;
    some.end = to;
    return chain_of(r, &some);
}

/* Elements of a chain. Rows that are taken several at once are one chain each (reduce_group.c),
 * and so is one of them that is done once more. */
static int64_t chain_elements(const tly_reduce *r, unsigned vectors)
{
    const tly_build *c = r->c;
    int64_t chain = (int64_t)CHAIN * vectors * c->lanes, row = 0;
    if (c->plan->rows_at_once > 1)
        row = tly_reduced_bytes(c->p) / (int64_t)c->acc_bytes;
    return row > chain ? row : chain;
}

typedef void (*chain_taker)(tly_reduce *r, const tly_reduce_span *chain, void *product);

/* A span's elements by short chains, each taken to the product, whose values `state` names. Of
 * short steps a chain takes several: each gives the first chain no more than a vector of each
 * group, those that make none, and the rest. f32 past the cache, ms: 224 elements in 24 steps .12
 * for .21 one by one, 500 in 4,000 .16 for .20, but 1,024 in 64 steps 2.1 for 1.9 (Zen 5). */
static void each_chain(tly_reduce *r, const tly_reduce_span *s, unsigned vectors, chain_taker take,
                       void *product, const tly_region *state)
{
    tly_build *c = r->c;
    int64_t group = (int64_t)vectors * c->lanes;
    kir_value groups = udiv(c, sub(c, s->to, s->from), imm(c, group));
    kir_value each = add(c, groups, imm(c, vectors)); /* one more vector may be there in part */
    kir_value is_short = less(c, groups, imm(c, SHORT_GROUPS));
    kir_value together = choose(c, is_short, udiv(c, imm(c, CHAIN), each), imm(c, 1));
    kir_value chain = imm(c, chain_elements(r, vectors));
    tly_region step = *state, l = *state;
    emit_for(c, &step, s->begin, s->end, together);
    emit_for(c, &l, s->from, s->to, chain);
    const tly_reduce_span some = { s->at, step.i, tly_min(c, s->end, add(c, step.i, together)), l.i,
                                   tly_min(c, s->to, add(c, l.i, chain)) };
    take(r, &some, product);
    emit_end(c, &l);
    emit_end(c, &step);
}

static void take_by_product(tly_reduce *r, const tly_reduce_span *chain, void *product)
{
    kir_value *all = product;
    *all = tly_reduce_join(r->c, *all, chain_of(r, chain));
}

static kir_value by_products(tly_reduce *r, const tly_reduce_span *s)
{
    kir_value all = tly_reduce_one(r->c, 1);
    const tly_region state = { .state = { &all } };
    each_chain(r, s, tly_reduce_rules_of(r).vectors, take_by_product, &all, &state);
    return all;
}

static kir_value by_distances(tly_reduce *r, const tly_reduce_span *s)
{
    tly_reduce_drift drift = tly_reduce_no_drift(r);
    tly_region state = { 0 };
    tly_reduce_carry_drift(&state, &drift);
    each_chain(r, s, tly_reduce_drift_vectors(r), tly_reduce_take_drifting, &drift, &state);
    return tly_reduce_with_drift(r, &drift);
}

static kir_value by_chains(tly_reduce *r, const tly_reduce_span *s)
{
    tly_build *c = r->c;
    tly_reduce_span whole = *s;
    whole.at.at[TLY_IN] = kir_keep(c->b, s->at.at[TLY_IN]);
    if (c->plan->rows_at_once > 1 && c->p->reduced.has_steps) { /* one that is done once more */
        const tly_reduce_spans spans = { chain_of_steps, tly_reduce_join, &whole };
        return tly_reduce_by_spans(r, &spans, tly_reduce_one(c, 1));
    }
    if (!tly_reduce_may_drift(r))
        return by_products(r, &whole);
    kir_value all = 0;
    tly_region many = { .state = { &all } };
    emit_if(c, &many, tly_reduce_drift_pays(c));
    all = by_distances(r, &whole);
    emit_else(c, &many);
    all = by_products(r, &whole);
    emit_end(c, &many);
    return all;
}

kir_value tly_reduce_product(tly_reduce *r, const tly_reduce_span *s)
{
    static const tly_reduce_rules by_splitting = {
        .vectors = 1, .lift = lift_split, .combine = tly_reduce_join, .neutral = tly_reduce_one
    };
    tly_build *c = r->c;
    kir_clear_flags(c->b);
    kir_value all = by_chains(r, s), flags = kir_flags(c->b);
    tly_region out_of_range = { .state = { &all } };
    emit_if(c, &out_of_range, differ(c, flags, like(c, flags, 0)));
    all = tly_reduce_walk(r, &by_splitting, s);
    emit_end(c, &out_of_range);
    return all;
}

kir_value tly_reduce_product_of(tly_build *c, kir_value state)
{
    const tly_reduce_format *f = tly_reduce_format_of(c);
    kir_value m = part(c, state, 0), e = part(c, state, 1);
    unsigned n = lanes_of(c, m);
    e = smax(c, smin(c, e, integer(c, n, f->far)), integer(c, n, -f->far));
    kir_value half = ashr(c, e, integer(c, n, 1)), parts[2] = { half, 0 };
    parts[1] = sub(c, e, half);
    for (int i = 0; i < 2; i++) {
        kir_value bits = add(c, parts[i], integer(c, n, f->bias));
        bits = shl(c, bits, integer(c, n, f->mantissa));
        m = mul(c, m, as(c, c->acc.kind, bits));
    }
    return m;
}

/* The plain loop's product, with the sign of `mantissa`, which it has in the end. The loop stops
 * once the product is infinite or NaN, or zero if no element is infinite. */
static kir_value by_loop(tly_reduce *r, const tly_reduce_span *all, tly_step_of to_next,
                         kir_value mantissa)
{
    tly_build *c = r->c;
    kir_value zero = imm(c, 0), one = imm(c, 1), some = imm(c, BLOCK), y = real_one(c, 1);
    kir_value regular = tly_reduce_finite(c, mantissa);
    tly_region step = { .state = { &y } }, block = step, l = step;
    emit_for(c, &step, all->begin, all->end, one);
    const tly_row row = tly_reduce_step(c, &all->at, step.i);
    emit_for(c, &block, all->from, all->to, some);
    kir_value goes_on = une(c, y, real(c, 1, 0));
    goes_on = bor(c, goes_on, tly_not(c, regular));
    goes_on = band(c, goes_on, tly_reduce_finite(c, y));
    kir_value end = choose(c, goes_on, tly_min(c, sub(c, all->to, block.i), some), zero);
    emit_for(c, &l, zero, end, one);
    const tly_row here = tly_read_move(c, &row, add(c, block.i, l.i), to_next);
    const tly_place at = tly_reduce_place(&here, 0, 0);
    y = mul(c, y, tly_reduce_load(r, &at, here.at[TLY_IN], 0, 1));
    emit_end(c, &l);
    emit_end(c, &block);
    emit_end(c, &step);
    kir_value sign = sub(c, as(c, tly_reduce_format_of(c)->integer, mantissa), size(c, mantissa));
    return as(c, c->acc.kind, bor(c, size(c, y), sign));
}

/* ---- what is infinite for sure ---- */

/* A magnitude as (what makes products fall, what makes them grow), of which one is 1. */
static kir_value lift_bounds(tly_reduce *r, kir_value x, const tly_place *at)
{
    tly_build *c = r->c;
    kir_value one = real_one(c, lanes_of(c, x));
    (void)at;
    x = as(c, c->acc.kind, size(c, x));
    kir_value falls = olt(c, x, one), fall = choose(c, falls, x, one);
    return pair(c, fall, choose(c, falls, one, x));
}

static kir_value multiply_bounds(tly_build *c, kir_value x, kir_value y)
{
    kir_value fall = mul(c, part(c, x, 0), part(c, y, 0));
    return pair(c, fall, mul(c, part(c, x, 1), part(c, y, 1)));
}

static kir_value no_bounds(tly_build *c, unsigned lanes)
{
    kir_value one = real_one(c, lanes);
    return pair(c, one, one);
}

/* i1: the plain loop goes beyond the range and stays there. Its elements are neither zero nor NaN.
 * First, all elements below 1 together leave a product far above the least normal number. Second,
 * either the elements above 1 together exceed the range even from 2^-64 on, or the whole product is
 * at least twice the end of the range. The rounding errors of so few elements are far less. This
 * goes by vectors, where the loop takes one element after the other. */
static kir_value is_sure(tly_reduce *r, const tly_reduce_span *all, kir_value state)
{
    static const tly_reduce_rules bounds = {
        .vectors = 1, .lift = lift_bounds, .combine = multiply_bounds, .neutral = no_bounds
    };
    tly_build *c = r->c;
    const tly_reduce_format *f = tly_reduce_format_of(c);
    kir_value least = real(c, 1, (uint64_t)(f->bias - SPARE) << f->mantissa);
    kir_value fall = real_one(c, 1), growth = real(c, 1, f->small), one = imm(c, 1);
    kir_value length = tly_reduce_length(c), end = tly_min(c, length, imm(c, MOST));
    tly_region l = { .state = { &fall, &growth } }, open = l;
    emit_for(c, &l, imm(c, 0), end, imm(c, SOME));
    kir_value goes_on = ole(c, least, fall);
    emit_if(c, &open, band(c, goes_on, tly_reduce_finite(c, growth)));
    const tly_reduce_span some = { all->at, all->begin, add(c, all->begin, one), l.i,
                                   tly_min(c, add(c, l.i, imm(c, SOME)), end) };
    kir_value y = tly_reduce_walk(r, &bounds, &some);
    fall = mul(c, fall, part(c, y, 0));
    growth = mul(c, growth, part(c, y, 1));
    emit_end(c, &open);
    emit_end(c, &l);
    kir_value exponent = sub(c, part(c, state, 1), integer(c, 1, 1));
    kir_value half = pair(c, part(c, state, 0), exponent);
    kir_value whole = band(c, equal(c, arg(c, KIR_ARG_STEPS), one), equal(c, length, end));
    whole = band(c, whole, tly_reduce_infinite(c, tly_reduce_product_of(c, half)));
    kir_value grown = tly_not(c, tly_reduce_finite(c, growth));
    return band(c, ole(c, least, fall), bor(c, grown, whole));
}

/* Along rows, whose vectors are neighbours. */
static kir_value is_known(tly_reduce *r, const tly_reduce_span *all, kir_value state)
{
    const tly_build *c = r->c;
    if (c->lanes == 1 || c->plan->template_id != TLY_TEMPLATE_REDUCE_ROWS)
        return 0;
    return is_sure(r, all, state);
}

kir_value tly_reduce_checked_product(tly_reduce *r, const tly_reduce_span *all, tly_step_of step,
                                     kir_value state)
{
    tly_build *c = r->c;
    kir_value y = tly_reduce_product_of(c, state);
    tly_region beyond = { .state = { &y } }, known = beyond;
    emit_if(c, &beyond, tly_reduce_infinite(c, y));
    kir_value sure = is_known(r, all, state);
    if (sure != 0)
        emit_unless(c, &known, sure);
    y = by_loop(r, all, step, part(c, state, 0));
    if (sure != 0)
        emit_end(c, &known);
    emit_end(c, &beyond);
    return y;
}

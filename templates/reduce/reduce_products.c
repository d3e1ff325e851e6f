/* SPDX-License-Identifier: Apache-2.0 */
/* Products as mantissas and exponents; see reduce_range.c. */
#include "reduce_float.h"

#include <string.h>

/* SOME: f32 rows of 4,096, from L3, that end infinite, by 256, 512, 1,024, 4,096 us: ascending
 * 301, 300, 309, 430, growing 289, 295, 325, 611, specials 275, 281, 286, 333; benign 250 (Zen
 * 4, AVX-512, minima on a busy machine). */
enum {
    CHAIN = 32,   /* elements of a plain product */
    BLOCK = 256,  /* of the plain loop's */
    SOME = 512,   /* of the bounds upon it ... */
    MOST = 16384, /* and all that have bounds */
    SPARE = 62    /* binary orders that a product may fall by in between */
};

/* x as a mantissa in [1, 2) and what the exponent has to be beside `exponent`; what has no mantissa
 * (zeros, infinities, NaNs) stands for itself. */
static kir_value split(tly_build *c, kir_value x, kir_value exponent)
{
    const tly_reduce_format *f = tly_reduce_format_of(c);
    unsigned n = lanes_of(c, x);
    kir_value least = integer(c, n, INT64_C(1) << f->mantissa), zero = integer(c, n, 0);
    kir_value tiny = less(c, size(c, x), least);
    /* A multiplication of all lanes that raises no flag, whatever LLVM makes of it. */
    x = bin(c, KIR_MUL, x, choose(c, tiny, real(c, n, f->large), real(c, n, f->one)));
    exponent = bin(c, KIR_SUB, exponent, choose(c, tiny, integer(c, n, 64), zero));
    kir_value bits = as(c, f->integer, x), magnitude = size(c, x);
    kir_value e = bin(c, KIR_LSHR, magnitude, integer(c, n, f->mantissa));
    e = bin(c, KIR_SUB, e, integer(c, n, f->bias));
    kir_value m = bin(c, KIR_AND, bits, integer(c, n, (int64_t)~f->infinity));
    m = as(c, c->acc.kind, bin(c, KIR_OR, m, integer(c, n, (int64_t)f->one)));
    kir_value number = less(c, zero, magnitude);
    number = bin(c, KIR_AND, number, tly_reduce_finite(c, x));
    return kir_tuple(c->b, 2,
                     (kir_value[]){ choose(c, number, m, x),
                                    choose(c, number, bin(c, KIR_ADD, exponent, e), zero) });
}

kir_value tly_reduce_one(tly_build *c, unsigned lanes)
{
    return kir_tuple(
        c->b, 2,
        (kir_value[]){ real(c, lanes, tly_reduce_format_of(c)->one), integer(c, lanes, 0) });
}

/* Exponents stay far within their integers: beyond the limit no product comes back. */
kir_value tly_reduce_join(tly_build *c, kir_value x, kir_value y)
{
    enum { FAR = 1 << 28 };
    unsigned n = lanes_of(c, x);
    kir_value m = bin(c, KIR_MUL, kir_part(c->b, x, 0), kir_part(c->b, y, 0));
    kir_value e = bin(c, KIR_ADD, kir_part(c->b, x, 1), kir_part(c->b, y, 1));
    e = bin(c, KIR_SMAX, bin(c, KIR_SMIN, e, integer(c, n, FAR)), integer(c, n, -FAR));
    return split(c, m, e);
}

kir_value tly_reduce_split(tly_build *c, kir_value x)
{
    return split(c, x, integer(c, lanes_of(c, x), 0));
}

static kir_value lift_split(tly_reduce *r, kir_value x, kir_value index)
{
    (void)index;
    return tly_reduce_split(r->c, x);
}

static kir_value lift_plain(tly_reduce *r, kir_value x, kir_value index)
{
    (void)r;
    (void)index;
    return x;
}

static kir_value multiply(tly_build *c, kir_value x, kir_value y)
{
    return bin(c, KIR_MUL, x, y);
}

static kir_value plain_one(tly_build *c, unsigned lanes)
{
    return real(c, lanes, tly_reduce_format_of(c)->one);
}

/* Mantissas that were split are below 2, so 128 of them stay in the range of f32: all of a walk.
 * What is no number stands for itself, whatever its exponent. */
static kir_value join_split(tly_build *c, kir_value x, kir_value y)
{
    kir_value m = bin(c, KIR_MUL, kir_part(c->b, x, 0), kir_part(c->b, y, 0));
    kir_value e = bin(c, KIR_ADD, kir_part(c->b, x, 1), kir_part(c->b, y, 1));
    return kir_tuple(c->b, 2, (kir_value[]){ m, e });
}

tly_reduce_rules tly_reduce_chains(unsigned vectors)
{
    return (tly_reduce_rules){ .vectors = vectors,
                               .lift = lift_plain,
                               .combine = multiply,
                               .neutral = plain_one,
                               .close = tly_reduce_split,
                               .join = join_split };
}

/* A mantissa that was multiplied as it is, split once more. */
kir_value tly_reduce_close(tly_build *c, kir_value state)
{
    return split(c, kir_part(c->b, state, 0), kir_part(c->b, state, 1));
}

static kir_value chain_of(tly_reduce *r, const tly_span *some)
{
    const tly_reduce_rules rules = tly_reduce_rules_of(r);
    return tly_reduce_close(r->c, tly_reduce_walk(r, &rules, some));
}

static kir_value chain_of_steps(tly_reduce *r, void *of, kir_value from, kir_value to)
{
    tly_span some = *(const tly_span *)of;
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

/* A chain's part of what is carried from one to the next. */
typedef void (*chain_taker)(tly_reduce *r, const tly_span *some, kir_value *carried);

/* Of a span's elements by short chains. Of short steps a chain takes several: each gives the first
 * chain no more than `vectors` elements and the rest. */
static void each_chain(tly_reduce *r, const tly_span *s, unsigned vectors, chain_taker take,
                       unsigned n, kir_value *carried)
{
    tly_build *c = r->c;
    int64_t group = (int64_t)vectors * c->lanes;
    kir_value is_short = less(c, sub(c, s->to, s->from), imm(c, group));
    kir_value together = choose(c, is_short, imm(c, CHAIN / (vectors + 1)), imm(c, 1));
    kir_value chain = imm(c, chain_elements(r, vectors));
    kir_loop step, part;
    kir_for(c->b, &step, s->begin, s->end, together, n, carried);
    kir_for(c->b, &part, s->from, s->to, chain, n, step.carried);
    tly_span some = { s->in, step.i, tly_min(c, s->end, add(c, step.i, together)), part.i,
                      tly_min(c, s->to, add(c, part.i, chain)) };
    take(r, &some, part.carried);
    kir_for_end(c->b, &part, part.carried);
    kir_for_end(c->b, &step, part.result);
    memcpy(carried, step.result, n * sizeof *carried);
}

static void take_plainly(tly_reduce *r, const tly_span *some, kir_value *all)
{
    *all = tly_reduce_join(r->c, *all, chain_of(r, some));
}

static kir_value plainly(tly_reduce *r, const tly_span *s)
{
    kir_value all = tly_reduce_one(r->c, 1);
    each_chain(r, s, tly_reduce_rules_of(r).vectors, take_plainly, 1, &all);
    return all;
}

static kir_value by_distances(tly_reduce *r, const tly_span *s)
{
    kir_value carried[TLY_REDUCE_MOST_DRIFT] = { tly_reduce_one(r->c, 1) };
    const unsigned n = 1 + tly_reduce_no_drift(r, &carried[1]);
    each_chain(r, s, tly_reduce_drift_vectors(r), tly_reduce_take_drifting, n, carried);
    return tly_reduce_with_drift(r, carried);
}

static kir_value by_chains(tly_reduce *r, const tly_span *s)
{
    tly_build *c = r->c;
    tly_span whole = *s;
    whole.in = kir_keep(c->b, s->in);
    if (c->plan->rows_at_once > 1 && c->p->reduced.has_steps) { /* one that is done once more */
        const tly_reduce_spans spans = { chain_of_steps, tly_reduce_join, &whole };
        return tly_reduce_by_spans(r, &spans, tly_reduce_one(c, 1));
    }
    if (!tly_reduce_may_drift(r))
        return plainly(r, &whole);
    kir_branch many;
    kir_if(c->b, &many, tly_reduce_drift_pays(c));
    kir_value all = by_distances(r, &whole);
    kir_else(c->b, &many, 1, &all);
    all = plainly(r, &whole);
    kir_if_end(c->b, &many, 1, &all);
    return many.result[0];
}

kir_value tly_reduce_product(tly_reduce *r, const tly_span *s)
{
    static const tly_reduce_rules apart = {
        .vectors = 1, .lift = lift_split, .combine = tly_reduce_join, .neutral = tly_reduce_one
    };
    tly_build *c = r->c;
    kir_branch left;
    kir_clear_flags(c->b);
    kir_value quick = by_chains(r, s);
    kir_value flags = kir_flags(c->b), none = constant(c, type_of(c, flags), 0);
    kir_if(c->b, &left, differ(c, flags, none));
    kir_value slow = tly_reduce_walk(r, &apart, s);
    kir_else(c->b, &left, 1, &slow);
    kir_if_end(c->b, &left, 1, &quick);
    return left.result[0];
}

kir_value tly_reduce_product_of(tly_build *c, kir_value state)
{
    const tly_reduce_format *f = tly_reduce_format_of(c);
    kir_value m = kir_part(c->b, state, 0), e = kir_part(c->b, state, 1);
    unsigned n = lanes_of(c, m);
    e = bin(c, KIR_SMAX, bin(c, KIR_SMIN, e, integer(c, n, f->far)), integer(c, n, -f->far));
    kir_value half = bin(c, KIR_ASHR, e, integer(c, n, 1)), parts[2] = { half, 0 };
    parts[1] = bin(c, KIR_SUB, e, half);
    for (int i = 0; i < 2; i++) {
        kir_value bits = bin(c, KIR_ADD, parts[i], integer(c, n, f->bias));
        bits = bin(c, KIR_SHL, bits, integer(c, n, f->mantissa));
        m = bin(c, KIR_MUL, m, as(c, c->acc.kind, bits));
    }
    return m;
}

/* The plain loop's product, up to where it is infinite, NaN, or, but for infinite elements, zero
 * for good; with the sign that it has in the end, which is the mantissa's. */
static kir_value by_loop(tly_reduce *r, const tly_span *all, kir_value apart, kir_value mantissa)
{
    tly_build *c = r->c;
    kir_value zero = imm(c, 0), one = imm(c, 1), some = imm(c, BLOCK), y = plain_one(c, 1);
    kir_value regular = tly_reduce_finite(c, mantissa);
    kir_loop step, part, l;
    kir_for(c->b, &step, all->begin, all->end, one, 1, &y);
    kir_value in = tly_reduce_step(c, all->in, step.i);
    kir_for(c->b, &part, all->from, all->to, some, 1, step.carried);
    kir_value alive = une(c, part.carried[0], real(c, 1, 0));
    alive = bin(c, KIR_OR, alive, tly_not(c, regular));
    alive = bin(c, KIR_AND, alive, tly_reduce_finite(c, part.carried[0]));
    kir_value end = choose(c, alive, tly_min(c, sub(c, all->to, part.i), some), zero);
    kir_for(c->b, &l, zero, end, one, 1, part.carried);
    kir_value at = mul(c, add(c, part.i, l.i), apart);
    kir_value x = tly_reduce_load(r, ptradd(c, in, at), 0, 1);
    y = bin(c, KIR_MUL, l.carried[0], x);
    kir_for_end(c->b, &l, &y);
    kir_for_end(c->b, &part, l.result);
    kir_for_end(c->b, &step, part.result);
    kir_value sign = bin(c, KIR_SUB, as(c, tly_reduce_format_of(c)->integer, mantissa),
                         size(c, mantissa));
    return as(c, c->acc.kind, bin(c, KIR_OR, size(c, step.result[0]), sign));
}

/* ---- what is infinite for sure ---- */

/* A magnitude as (what makes products fall, what makes them grow), of which one is 1. */
static kir_value lift_bounds(tly_reduce *r, kir_value x, kir_value index)
{
    tly_build *c = r->c;
    kir_value one = plain_one(c, lanes_of(c, x));
    (void)index;
    x = as(c, c->acc.kind, size(c, x));
    kir_value falls = olt(c, x, one);
    return kir_tuple(c->b, 2, (kir_value[]){ choose(c, falls, x, one), choose(c, falls, one, x) });
}

static kir_value multiply_bounds(tly_build *c, kir_value x, kir_value y)
{
    return kir_tuple(c->b, 2,
                     (kir_value[]){ multiply(c, kir_part(c->b, x, 0), kir_part(c->b, y, 0)),
                                    multiply(c, kir_part(c->b, x, 1), kir_part(c->b, y, 1)) });
}

static kir_value no_bounds(tly_build *c, unsigned lanes)
{
    kir_value one = plain_one(c, lanes);
    return kir_tuple(c->b, 2, (kir_value[]){ one, one });
}

/* i1: the plain loop, whose elements are neither zero nor NaN, goes beyond the range and stays
 * there, as all that makes it fall leaves it far above the least normal number, and either what
 * makes it grow is more than that brings back, which counts from 2^-64 on, or the whole product
 * is at least twice what is beyond the range. Roundings of so few elements are far less than
 * that. By vectors, as the loop takes an element after the other. */
static kir_value is_sure(tly_reduce *r, const tly_span *all, kir_value state)
{
    static const tly_reduce_rules bounds = {
        .vectors = 1, .lift = lift_bounds, .combine = multiply_bounds, .neutral = no_bounds
    };
    tly_build *c = r->c;
    const tly_reduce_format *f = tly_reduce_format_of(c);
    kir_value least = real(c, 1, (uint64_t)(f->bias - SPARE) << f->mantissa);
    kir_value both[2] = { plain_one(c, 1), real(c, 1, f->small) }, one = imm(c, 1);
    kir_value length = arg(c, KIR_ARG_LENGTH), end = tly_min(c, length, imm(c, MOST));
    kir_loop l;
    kir_branch open;
    kir_for(c->b, &l, imm(c, 0), end, imm(c, SOME), 2, both);
    kir_value goes_on = ole(c, least, l.carried[0]);
    kir_if(c->b, &open, bin(c, KIR_AND, goes_on, tly_reduce_finite(c, l.carried[1])));
    const tly_span some = { all->in, all->begin, add(c, all->begin, one), l.i,
                            tly_min(c, add(c, l.i, imm(c, SOME)), end) };
    kir_value y = tly_reduce_walk(r, &bounds, &some);
    for (unsigned i = 0; i < 2; i++)
        both[i] = multiply(c, l.carried[i], kir_part(c->b, y, i));
    kir_else(c->b, &open, 2, both);
    kir_if_end(c->b, &open, 2, l.carried);
    kir_for_end(c->b, &l, open.result);
    kir_value exponent = bin(c, KIR_SUB, kir_part(c->b, state, 1), integer(c, 1, 1));
    kir_value half = kir_tuple(c->b, 2, (kir_value[]){ kir_part(c->b, state, 0), exponent });
    kir_value whole = bin(c, KIR_AND, equal(c, arg(c, KIR_ARG_STEPS), one), equal(c, length, end));
    whole = bin(c, KIR_AND, whole, tly_reduce_endless(c, tly_reduce_product_of(c, half)));
    kir_value grown = tly_not(c, tly_reduce_finite(c, l.result[1]));
    return bin(c, KIR_AND, ole(c, least, l.result[0]), bin(c, KIR_OR, grown, whole));
}

/* Along rows, whose vectors are neighbours. */
static kir_value is_known(tly_reduce *r, const tly_span *all, kir_value state)
{
    const tly_build *c = r->c;
    if (c->lanes == 1 || c->plan->template_id != TLY_TEMPLATE_REDUCE_ROWS)
        return 0;
    return is_sure(r, all, state);
}

kir_value tly_reduce_judge_product(tly_reduce *r, const tly_span *all, kir_value apart,
                                   kir_value state)
{
    tly_build *c = r->c;
    kir_branch beyond, known;
    kir_value y = tly_reduce_product_of(c, state);
    kir_if(c->b, &beyond, tly_reduce_endless(c, y));
    kir_value sure = is_known(r, all, state);
    if (sure != 0) {
        kir_if(c->b, &known, sure);
        kir_else(c->b, &known, 1, &y);
    }
    kir_value loop = by_loop(r, all, apart, kir_part(c->b, state, 0));
    if (sure != 0) {
        kir_if_end(c->b, &known, 1, &loop);
        loop = known.result[0];
    }
    kir_else(c->b, &beyond, 1, &loop);
    kir_if_end(c->b, &beyond, 1, &y);
    return beyond.result[0];
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reductions of floats whose order is not the plain loop's (docs/range.md).
 *
 * A record of a sum has three parts: the sum, the sum of what is not finite, and the rest in
 * multiples of 2^64. The last two take a second walk over the elements, only where the sum is not
 * finite. A record of squares has two parts (reduce_squares.c). The second takes another walk, over
 * elements that are scaled as the span's sum demands, also where the sum is 0. Products are a
 * mantissa and an exponent from the start, as devices have no flags. Factors near 1 go to a third
 * part.
 */
#include "../reduce/reduce_float.h"
#include "../stages/elementwise.h"
#include "reduce.h"

#include <string.h>

/* ---- the operator's own ---- */

static kir_value lift(tly_gpu_reduce *r, const tly_place *at, kir_value x)
{
    return tly_element(&r->g->c, at, x);
}

static kir_value neutral(tly_build *c)
{
    return tly_neutral(c, c->acc);
}

static kir_value take(tly_gpu_reduce *r, kir_value state, const kir_value *x,
                      const kir_value *index, unsigned n)
{
    for (unsigned i = 0; i < n; i += TLY_REDUCE_MOST_STEPS) {
        unsigned some = n - i < TLY_REDUCE_MOST_STEPS ? n - i : TLY_REDUCE_MOST_STEPS;
        tly_place at[TLY_REDUCE_MOST_STEPS];
        for (unsigned k = 0; k < some; k++)
            at[k] = (tly_place){ .index = index[i + k] };
        state = tly_take(&r->g->c, state, x + i, at, some);
    }
    return state;
}

static const tly_gpu_rules plain = { lift, tly_combine, neutral, take, 0 };
/* The plain loop's order. */
static const tly_gpu_rules in_order = { lift, tly_combine, neutral, NULL, 0 };

/* ---- sums ---- */

static kir_value zeros(tly_build *c, unsigned parts)
{
    kir_value zero = constant(c, c->acc, 0);
    return kir_tuple(c->b, parts, (kir_value[]){ zero, zero, zero });
}

static kir_value lift_scaled(tly_gpu_reduce *r, const tly_place *at, kir_value x)
{
    (void)at;
    return tly_reduce_scaled(&r->g->c, x);
}

static kir_value no_scaled(tly_build *c)
{
    return zeros(c, 2);
}

static const tly_gpu_rules scaled = { lift_scaled, tly_reduce_add, no_scaled, NULL, 1 };

/* As a sum's own neutral value, so that -0 stays -0. */
static kir_value no_record(tly_build *c)
{
    kir_value zero = constant(c, c->acc, 0);
    return kir_tuple(c->b, 3, (kir_value[]){ neutral(c), zero, zero });
}

static const tly_gpu_rules records_of_sums = { NULL, tly_reduce_add, no_record, NULL, 0 };

/* ---- squares ---- */

static kir_value lift_stretched(tly_gpu_reduce *r, const tly_place *at, kir_value x)
{
    tly_build *c = &r->g->c;
    return tly_element(c, at, mul(c, x, r->stretch[r->output]));
}

static kir_value no_squares(tly_build *c)
{
    return tly_reduce_no_squares(c, 1);
}

static const tly_gpu_rules stretched = { lift_stretched, tly_combine, neutral, NULL, 1 };
static const tly_gpu_rules records_of_squares = { NULL, tly_reduce_join_squares, no_squares, NULL,
                                                  0 };

/* ---- sums of integers ---- */

static kir_value no_whole(tly_build *c)
{
    return tly_reduce_no_i128(c, 1);
}

static const tly_gpu_rules records_of_wholes = { NULL, tly_reduce_join_i128, no_whole, NULL, 0 };

/* ---- products: mantissa, exponent, and the excess of what has stayed near 1 (drift.c) ---- */

static kir_value product(tly_build *c, kir_value split, kir_value excess)
{
    kir_value v[3] = { kir_part(c->b, split, 0), kir_part(c->b, split, 1), excess };
    return kir_tuple(c->b, 3, v);
}

/* Excesses that together are no longer near 1 become a part of the mantissa. */
static kir_value join_products(tly_build *c, kir_value x, kir_value y)
{
    kir_value one = real(c, 1, tly_reduce_format_of(c)->one), zero = real(c, 1, 0);
    kir_value excess = tly_excess_product(c, kir_part(c->b, x, 2), kir_part(c->b, y, 2));
    kir_value near = tly_excess_is_near(c, excess);
    kir_value by = choose(c, near, one, add(c, excess, one));
    kir_value scaled = mul(c, kir_part(c->b, y, 0), by);
    y = kir_tuple(c->b, 2, (kir_value[]){ scaled, kir_part(c->b, y, 1) });
    return product(c, tly_reduce_join(c, x, y), choose(c, near, excess, zero));
}

static kir_value lift_split(tly_gpu_reduce *r, const tly_place *at, kir_value x)
{
    tly_build *c = &r->g->c;
    (void)at;
    return product(c, tly_reduce_split(c, x), real(c, 1, 0));
}

static kir_value one(tly_build *c)
{
    return product(c, tly_reduce_one(c, 1), real(c, 1, 0));
}

/* Mantissas are below 2, so that 32 of them can be multiplied as they are. */
_Static_assert(TLY_GPU_MOST_ELEMENTS <= 32, "a product of mantissas stays in the range of f32");

static kir_value split_all(tly_build *c, const kir_value *x, unsigned n)
{
    kir_value m[TLY_GPU_MOST_ELEMENTS], e = 0;
    for (unsigned i = 0; i < n; i++) {
        kir_value split = tly_reduce_split(c, x[i]), exponent = kir_part(c->b, split, 1);
        m[i] = kir_part(c->b, split, 0);
        e = i > 0 ? add(c, e, exponent) : exponent;
    }
    for (; n > 1; n = (n + 1) / 2)
        for (unsigned i = 0; i < n; i += 2)
            m[i / 2] = i + 1 < n ? mul(c, m[i], m[i + 1]) : m[i];
    return product(c, kir_tuple(c->b, 2, (kir_value[]){ m[0], e }), real(c, 1, 0));
}

/* i1: outputs are of so many elements that excesses may be used: a product of two is rounded
 * once. */
static kir_value are_many(tly_gpu_reduce *r, unsigned n)
{
    tly_build *c = &r->g->c;
    kir_value two = u32(r->g, 2);
    return n > 2 ? i1(c, 1) : bor(c, ult(c, two, r->steps), ult(c, two, r->length));
}

static kir_value take_products(tly_gpu_reduce *r, kir_value state, const kir_value *x,
                               const kir_value *index, unsigned n)
{
    tly_build *c = &r->g->c;
    tly_excess e = tly_excess_none(c);
    (void)index;
    for (unsigned i = 0; i < n; i++)
        tly_excess_add(c, &e, x[i]);
    kir_value excess = tly_excess_of(c, &e), all = product(c, tly_reduce_one(c, 1), excess);
    tly_region far = { .state = { &all } };
    emit_unless(c, &far, band(c, tly_excess_is_near(c, excess), are_many(r, n)));
    all = split_all(c, x, n);
    emit_end(c, &far);
    return join_products(c, state, all);
}

static const tly_gpu_rules products = { lift_split, join_products, one, take_products, 0 };

/* ---- spans ---- */

static void walk(tly_gpu_reduce *r, const tly_gpu_rules *rules, const tly_gpu_span *s, tly_group *t,
                 kir_value *state)
{
    if (t == NULL) {
        tly_gpu_reduce_serial(r, rules, s, state);
        return;
    }
    tly_gpu_reduce_spread(r, rules, s, t, state);
    *state = tly_gpu_reduce_fold(r, t, rules, *state);
}

/* Where a sum is finite, its parts are not looked at: whatever the outputs beside it need. */
static void sums_of(tly_gpu_reduce *r, const tly_gpu_span *s, tly_group *t, kir_value *state)
{
    tly_build *c = &r->g->c;
    kir_value parts[TLY_GPU_MOST_ELEMENTS], finite[TLY_GPU_MOST_ELEMENTS], all = 0;
    unsigned n = r->g->lanes;
    walk(r, r->is_free ? &plain : &in_order, s, t, state);
    for (unsigned i = 0; i < n; i++) {
        finite[i] = tly_reduce_finite(c, state[i]);
        all = i > 0 ? band(c, all, finite[i]) : finite[i];
        parts[i] = tly_reduce_scaled(c, state[i]);
    }
    kir_value own[TLY_GPU_MOST_ELEMENTS];
    tly_region bad = { 0 };
    memcpy(own, parts, n * sizeof *own);
    emit_carry(&bad, n, parts);
    emit_unless(c, &bad, all);
    walk(r, &scaled, s, t, parts);
    emit_end(c, &bad);
    for (unsigned i = 0; i < n; i++) {
        kir_value rest = n > 1 ? choose(c, finite[i], own[i], parts[i]) : parts[i];
        kir_value v[3] = { state[i], kir_part(c->b, rest, 0), kir_part(c->b, rest, 1) };
        state[i] = kir_tuple(c->b, 3, v);
    }
}

/* The same where no sum is one to be made again, be it only because it is 0. */
static void squares_of(tly_gpu_reduce *r, const tly_gpu_span *s, tly_group *t, kir_value *state)
{
    tly_build *c = &r->g->c;
    kir_value again[TLY_GPU_MOST_ELEMENTS], stray[TLY_GPU_MOST_ELEMENTS], some = 0;
    kir_value yes = i1(c, 1);
    unsigned n = r->g->lanes;
    walk(r, r->is_free ? &plain : &in_order, s, t, state);
    for (unsigned i = 0; i < n; i++) {
        stray[i] = tly_reduce_wrong_squares(c, state[i], yes, yes);
        some = i > 0 ? bor(c, some, stray[i]) : stray[i];
        r->stretch[i] = tly_reduce_square_scale(c, state[i]);
        again[i] = state[i];
    }
    tly_region bad = { 0 };
    emit_carry(&bad, n, again);
    emit_unless(c, &bad, tly_not(c, some));
    walk(r, &stretched, s, t, again);
    emit_end(c, &bad);
    for (unsigned i = 0; i < n; i++) {
        kir_value right = choose(c, stray[i], again[i], state[i]);
        state[i] = kir_tuple(c->b, 2, (kir_value[]){ state[i], right });
    }
}

void tly_gpu_reduce_span(tly_gpu_reduce *r, const tly_gpu_span *s, tly_group *t, kir_value *state)
{
    if (r->watch == TLY_CHECK_SUMS)
        sums_of(r, s, t, state);
    else if (r->watch == TLY_CHECK_SQUARES)
        squares_of(r, s, t, state);
    else
        walk(r,
             r->watch == TLY_CHECK_PRODUCTS ? &products
             : r->is_free                   ? &plain
                                            : &in_order,
             s, t, state);
    for (unsigned i = 0; r->whole && i < r->g->lanes; i++)
        state[i] = tly_whole_of(&r->g->c, state[i]);
}

const tly_gpu_rules *tly_gpu_reduce_records(const tly_gpu_reduce *r)
{
    return r->watch == TLY_CHECK_SUMS       ? &records_of_sums
           : r->watch == TLY_CHECK_PRODUCTS ? &products
           : r->watch == TLY_CHECK_SQUARES  ? &records_of_squares
           : r->whole                       ? &records_of_wholes
           : r->is_free                     ? &plain
                                            : &in_order;
}

unsigned tly_gpu_reduce_record_bytes(const tly_gpu *g)
{
    const tly_build *c = &g->c;
    const int sums = tly_is_checked_as(c->p, TLY_CHECK_SUMS);
    const int products = tly_is_checked_as(c->p, TLY_CHECK_PRODUCTS);
    const int squares = tly_is_checked_as(c->p, TLY_CHECK_SQUARES) && tly_keeps_range(c->p);
    const int whole = tly_operator_of(c->p)->exact && !tly_is_floating(c);
    return sums || products   ? 3 * c->acc_bytes
           : squares || whole ? 2 * c->acc_bytes
                              : c->state_bytes;
}

/* ---- results ---- */

static kir_value bits_of(tly_build *c, kir_value v)
{
    kir_kind kind = c->acc_bytes == 8 ? KIR_I64 : KIR_I32;
    return bitcast(c, KIR_TYPE(kind, 1), v);
}

/* Magnitude of one float, sign of another. */
static kir_value with_sign(tly_build *c, kir_value v, kir_value sign)
{
    kir_value x = bits_of(c, v), y = bits_of(c, sign);
    uint64_t high = UINT64_C(1) << (8 * c->acc_bytes - 1);
    x = band(c, x, constant(c, type_of(c, x), high - 1));
    y = band(c, y, constant(c, type_of(c, y), high));
    return bitcast(c, c->acc, bor(c, x, y));
}

/* Trips of one more loop that the device lets an invocation go. */
static kir_value most_trips(tly_gpu_reduce *r, kir_value count)
{
    uint32_t most = r->g->caps->trip_limit / 4;
    return most > 0 ? umin(&r->g->c, count, u32(r->g, most)) : count;
}

/* A position of a step. */
typedef struct step_place {
    tly_gpu_reduce *r;
    const tly_gpu_span *span;
    kir_value step, position;
} step_place;

static kir_value address(tly_build *c, const tly_place *at, int tensor)
{
    const step_place *p = at->of;
    (void)c;
    return tly_gpu_span_at(p->r, p->span, tensor, p->step, p->position);
}

/* The plain loop's product, up to where it is infinite, NaN, or, but for infinite elements, zero
 * for good; with the mantissa's sign. `y` where the loop is longer than a device goes. */
static kir_value by_loop(tly_gpu_reduce *r, const tly_gpu_span *all, kir_value mantissa,
                         kir_value y)
{
    tly_build *c = &r->g->c;
    kir_value zero = constant(c, c->acc, 0);
    kir_value irregular = tly_not(c, tly_reduce_finite(c, mantissa));
    kir_value goes = i1(c, 1);
    kir_value product = constant(c, c->acc, tly_value_bits(TLY_ONE, (tally_dtype)c->p->acc));
    kir_value count = mul(c, all->steps, all->part), trips = most_trips(r, count), x;
    tly_region l = { .state = { &goes, &product } };
    emit_for_while(c, &l, u32(r->g, 0), trips, u32(r->g, 1));
    kir_value step = udiv(c, l.i, r->length);
    const step_place there = { r, all, step, sub(c, l.i, mul(c, step, r->length)) };
    const tly_place at = { .address = address, .of = &there };
    tly_gpu_reduce_fetch(r, address(c, &at, TLY_IN), 0, &x, 1, 0);
    product = mul(c, product, tly_gpu_reduce_accumulator(r, &at, x));
    kir_value open = bor(c, une(c, product, zero), irregular);
    goes = band(c, open, tly_reduce_finite(c, product));
    emit_end(c, &l);
    kir_value unknown = band(c, ult(c, trips, count), goes);
    return choose(c, unknown, y, with_sign(c, product, mantissa));
}

static kir_value result_of_product(tly_gpu_reduce *r, const tly_gpu_span *all, kir_value state)
{
    tly_build *c = &r->g->c;
    kir_value excess = kir_part(c->b, state, 2), one = tly_reduce_one(c, 1);
    one = kir_tuple(c->b, 2,
                    (kir_value[]){ tly_excess_correct(c, excess, kir_part(c->b, one, 0)),
                                   kir_part(c->b, one, 1) });
    state = tly_reduce_join(c, state, one);
    kir_value y = tly_reduce_product_of(c, state);
    tly_region beyond = { .state = { &y } };
    emit_if(c, &beyond, tly_reduce_infinite(c, y));
    y = by_loop(r, all, kir_part(c->b, state, 0), y);
    emit_end(c, &beyond);
    return y;
}

/* What is not finite among elements decides alone; else the sum is what all elements add up to. */
static kir_value result_of_sum(tly_build *c, const tly_place *at, kir_value state)
{
    kir_value sum = kir_part(c->b, state, 0), other = kir_part(c->b, state, 1);
    kir_value again = tly_reduce_scale_up(c, kir_part(c->b, state, 2));
    kir_value some = une(c, other, constant(c, c->acc, 0));
    again = choose(c, some, other, again);
    return tly_result(c, at, choose(c, tly_reduce_finite(c, sum), sum, again));
}

/* The same of what is in range where the sum need not be: that stays in multiples of 2^64. */
static kir_value result_of_kept_sum(tly_build *c, const tly_place *at, kir_value state)
{
    kir_value sum = kir_part(c->b, state, 0), other = kir_part(c->b, state, 1);
    kir_value finite = tly_reduce_finite(c, sum);
    kir_value one = constant(c, c->acc, tly_value_bits(TLY_ONE, (tally_dtype)c->p->acc));
    kir_value some = une(c, other, constant(c, c->acc, 0));
    kir_value far = tly_not(c, bor(c, finite, some));
    kir_value again = choose(c, far, kir_part(c->b, state, 2), other);
    sum = choose(c, finite, sum, again);
    return tly_show_times(c, at, sum, choose(c, far, tly_reduce_scale_up(c, one), one));
}

static kir_value result_of_squares(tly_build *c, const tly_place *at, kir_value state)
{
    const tly_reduce_ends *ends = &tly_reduce_ends_of_squares;
    const tly_scaled scaled = ends->scaled(c, state, ends->far(c, state));
    return tly_show_times(c, at, scaled.sum, scaled.unit);
}

kir_value tly_gpu_reduce_result(tly_gpu_reduce *r, const tly_gpu_span *all, const tly_place *at,
                                kir_value state)
{
    tly_build *c = &r->g->c;
    if (r->whole)
        return tly_mean_of_wide(c, kir_part(c->b, state, 0), kir_part(c->b, state, 1));
    if (r->watch == TLY_CHECK_SUMS)
        return tly_keeps_range(c->p) ? result_of_kept_sum(c, at, state)
                                     : result_of_sum(c, at, state);
    if (r->watch == TLY_CHECK_SQUARES)
        return result_of_squares(c, at, state);
    return tly_result(c, at,
                      r->watch == TLY_CHECK_PRODUCTS ? result_of_product(r, all, state) : state);
}

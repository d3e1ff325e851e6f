/* SPDX-License-Identifier: Apache-2.0 */
/* The operators of reductions: what reduce_operators.h declares, as kernel IR. */
#include "reduce_operators.h"

#include <string.h>

#include "../stages/elementary.h"
#include "reduce.h"

/* ---- sums of exponentials ---- */

kir_value tly_lift_exp(tly_build *c, kir_value x, const tly_place *at)
{
    (void)at;
    kir_value one = like(c, x, tly_value_bits(TLY_ONE, (tally_dtype)c->p->acc));
    return pair(c, x, one);
}

/* Two states take one exponential, of the distance between their largest elements. Equal infinities
 * have the distance 0. NaN makes the sum NaN. */
kir_value tly_combine_exp(tly_build *c, kir_value x, kir_value y)
{
    kir_value mx = part(c, x, 0), my = part(c, y, 0);
    kir_value below = ole(c, my, mx), equal = oeq(c, mx, my);
    kir_value high = choose(c, below, x, y), low = choose(c, below, y, x);
    kir_value m = part(c, high, 0);
    kir_value distance = sub(c, part(c, low, 0), m);
    distance = choose(c, equal, like(c, distance, 0), distance);
    kir_value added = mul(c, part(c, low, 1), tly_exp_below(c, distance));
    kir_value sum = add(c, part(c, high, 1), added);
    return pair(c, m, sum);
}

static kir_value larger(tly_build *c, kir_value x, kir_value y)
{
    return choose(c, olt(c, x, y), y, x);
}

static kir_value smaller(tly_build *c, kir_value x, kir_value y)
{
    return choose(c, olt(c, x, y), x, y);
}

static kir_value most(tly_build *c, kir_value x, int lower)
{
    uint64_t sign = lower ? UINT64_C(1) << (8 * c->acc_bytes - 1) : 0;
    return like(c, x, (tly_value_bits(TLY_MOST, (tally_dtype)c->p->acc) - 1) | sign);
}

/* The level that exponentials are relative to: the largest element, or a number next to it where it
 * is infinite. */
static kir_value level(tly_build *c, kir_value largest)
{
    return larger(c, smaller(c, most(c, largest, 0), largest), most(c, largest, 1));
}

/* In all lanes the largest of them. */
static kir_value largest_of_lanes(tly_build *c, kir_value x)
{
    uint8_t index[64];
    const unsigned lanes = type_of(c, x).lanes;
    for (unsigned half = lanes / 2; half > 0; half /= 2) {
        for (unsigned i = 0; i < lanes; i++)
            index[i] = (uint8_t)((i + half) % lanes);
        x = larger(c, x, kir_shuffle(c->b, x, x, index, lanes));
    }
    return x;
}

/* The level that exponentials are relative to is raised only where an element is more than 1 above
 * it. So an element costs one subtraction beside its exponential, and sums are seldom scaled.
 * Lanes of one row have one level, which fewer elements are above. A NaN is in no maximum but in
 * the sum. There, too, is +inf, whose element is as the largest number: it is above all that
 * was, so that others need not be looked at. */
kir_value tly_take_exp(tly_build *c, kir_value state, const kir_value *x, unsigned n)
{
    kir_value from = part(c, state, 0), sum = part(c, state, 1), v[KIR_MAX_CARRIED], old = from;
    kir_value one = like(c, old, tly_value_bits(TLY_ONE, (tally_dtype)c->p->acc));
    memcpy(v, x, n * sizeof *x);
    for (unsigned k = n; k > 1; k = (k + 1) / 2)
        for (unsigned i = 0; i < k / 2; i++)
            v[i] = larger(c, v[i], v[i + (k + 1) / 2]);
    kir_value high = v[0], finite = most(c, high, 0);
    kir_value reached = add(c, smaller(c, finite, old), one);
    kir_value above = olt(c, reached, high);
    tly_region grew = { 0 };
    memcpy(v, x, n * sizeof *x);
    emit_carry(&grew, n, v);
    emit_carry(&grew, 1, &from);
    emit_carry(&grew, 1, &sum);
    emit_if(c, &grew, any(c, above));
    from = choose(c, above, smaller(c, finite, high), old);
    if (c->p->form == TLY_REDUCED_ROWS)
        from = largest_of_lanes(c, from);
    kir_value distance = sub(c, level(c, old), level(c, from));
    kir_value infinite = olt(c, finite, high), zero = like(c, high, 0);
    sum = mul(c, sum, tly_exp_below(c, distance));
    sum = add(c, sum, choose(c, infinite, high, zero));
    for (unsigned i = 0; i < n; i++)
        v[i] = smaller(c, finite, x[i]);
    emit_end(c, &grew);
    kir_value base = level(c, from);
    for (unsigned i = 0; i < n; i++)
        v[i] = sub(c, v[i], base);
    tly_exps_below(c, v, n);
    for (unsigned k = n; k > 1; k = (k + 1) / 2)
        for (unsigned i = 0; i < k / 2; i++)
            v[i] = add(c, v[i], v[i + (k + 1) / 2]);
    return pair(c, from, add(c, sum, v[0]));
}

kir_value tly_project_exp(tly_build *c, kir_value state, const tly_place *at)
{
    (void)at;
    return add(c, part(c, state, 0), tly_log(c, part(c, state, 1)));
}

/* ---- sums of 64-bit integers ---- */

kir_value tly_lift_wide(tly_build *c, kir_value x, const tly_place *at)
{
    (void)at;
    kir_op down = tly_has_sign(c) ? KIR_ASHR : KIR_LSHR;
    kir_value upper = bin(c, down, x, like(c, x, 32));
    return pair(c, x, upper);
}

kir_value tly_combine_wide(tly_build *c, kir_value x, kir_value y)
{
    kir_value v[2];
    for (unsigned i = 0; i < 2; i++)
        v[i] = add(c, part(c, x, i), part(c, y, i));
    return kir_tuple(c->b, 2, v);
}

/* ---- indices ---- */

kir_value tly_lift_indexed(tly_build *c, kir_value x, const tly_place *at)
{
    return pair(c, x, at->index);
}

kir_value tly_lift_running(tly_build *c, kir_value x, const tly_place *at)
{
    return pair(c, x, tly_index_at(c, at, type_of(c, x).lanes));
}

static kir_value combine_indexed(tly_build *c, kir_value x, kir_value y, int largest)
{
    kir_value vx = part(c, x, 0), vy = part(c, y, 0);
    kir_value ix = part(c, x, 1), iy = part(c, y, 1);
    kir_pred before = tly_has_sign(c) ? KIR_SLT : KIR_ULT;
    kir_value beats = largest ? cmp(c, before, vx, vy) : cmp(c, before, vy, vx);
    kir_value wins = tly_takes_later(c->p) ? less(c, ix, iy) : less(c, iy, ix);
    kir_value ties = band(c, equal(c, vx, vy), wins);
    return choose(c, bor(c, beats, ties), y, x);
}

kir_value tly_combine_largest(tly_build *c, kir_value x, kir_value y)
{
    return combine_indexed(c, x, y, 1);
}

kir_value tly_combine_smallest(tly_build *c, kir_value x, kir_value y)
{
    return combine_indexed(c, x, y, 0);
}

kir_value tly_advance_index(tly_build *c, kir_value state, kir_value element)
{
    return choose(c, tly_beats(c, part(c, element, 0), part(c, state, 0)), element, state);
}

kir_value tly_project_index(tly_build *c, kir_value state, const tly_place *at)
{
    (void)at;
    return part(c, state, 1);
}

kir_value tly_project_running(tly_build *c, kir_value state, const tly_place *at)
{
    (void)at;
    kir_value index = part(c, state, 1);
    const tally_dtype out = (tally_dtype)c->p->tensor[TLY_OUT].dtype;
    return tly_reduce_as(c, tly_storage(out, type_of(c, index).lanes), index);
}

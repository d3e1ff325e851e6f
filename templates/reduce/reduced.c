/* SPDX-License-Identifier: Apache-2.0 */
/* The operators of reductions; see reduced.h. */
#include "reduced.h"

#include <string.h>

#include "../stages/elementary.h"

/* ---- sums of exponentials ---- */

kir_value tly_lift_exp(tly_build *c, kir_value x, const tly_place *at)
{
    (void)at;
    kir_value one = like(c, x, tly_value_bits(TLY_ONE, (tally_dtype)c->p->acc));
    return kir_tuple(c->b, 2, (kir_value[]){ x, one });
}

/* One exponential for two states: that of the smaller's distance from the larger. Equal infinities
 * have none; what is NaN makes the sum NaN. */
kir_value tly_combine_exp(tly_build *c, kir_value x, kir_value y)
{
    kir_value mx = kir_part(c->b, x, 0), my = kir_part(c->b, y, 0);
    kir_value below = ole(c, my, mx), equal = oeq(c, mx, my);
    kir_value high = choose(c, below, x, y), low = choose(c, below, y, x);
    kir_value m = kir_part(c->b, high, 0);
    kir_value apart = bin(c, KIR_SUB, kir_part(c->b, low, 0), m);
    apart = choose(c, equal, like(c, apart, 0), apart);
    kir_value added = bin(c, KIR_MUL, kir_part(c->b, low, 1), tly_exp_below(c, apart));
    kir_value sum = bin(c, KIR_ADD, kir_part(c->b, high, 1), added);
    return kir_tuple(c->b, 2, (kir_value[]){ m, sum });
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

/* What exponentials are relative to: the largest element, or where that is infinite a number
 * near. */
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

/* What exponentials are relative to is raised where an element is further above it than 1, so
 * that an element costs one subtraction beside its exponential, and sums are seldom scaled.
 * Lanes of one row have one level, which fewer elements are above. A NaN is in no maximum but in
 * the sum. There, too, is +inf, whose element is as the largest number: it is above all that
 * was, so that others need not be looked at. */
kir_value tly_take_exp(tly_build *c, kir_value state, const kir_value *x, unsigned n)
{
    kir_value old = kir_part(c->b, state, 0), sum = kir_part(c->b, state, 1), v[KIR_MAX_CARRIED];
    kir_value one = like(c, old, tly_value_bits(TLY_ONE, (tally_dtype)c->p->acc));
    kir_branch grew;
    memcpy(v, x, n * sizeof *x);
    for (unsigned k = n; k > 1; k = (k + 1) / 2)
        for (unsigned i = 0; i < k / 2; i++)
            v[i] = larger(c, v[i], v[i + (k + 1) / 2]);
    kir_value high = v[0], finite = most(c, high, 0);
    kir_value reached = bin(c, KIR_ADD, smaller(c, finite, old), one);
    kir_value above = olt(c, reached, high);
    kir_if(c->b, &grew, any(c, above));
    v[n] = choose(c, above, smaller(c, finite, high), old);
    if (c->p->form == TLY_REDUCED_ROWS)
        v[n] = largest_of_lanes(c, v[n]);
    kir_value apart = bin(c, KIR_SUB, level(c, old), level(c, v[n]));
    kir_value endless = olt(c, finite, high), zero = like(c, high, 0);
    v[n + 1] = bin(c, KIR_MUL, sum, tly_exp_below(c, apart));
    v[n + 1] = bin(c, KIR_ADD, v[n + 1], choose(c, endless, high, zero));
    for (unsigned i = 0; i < n; i++)
        v[i] = smaller(c, finite, x[i]);
    kir_else(c->b, &grew, n + 2, v);
    memcpy(v, x, n * sizeof *x);
    v[n] = old;
    v[n + 1] = sum;
    kir_if_end(c->b, &grew, n + 2, v);
    kir_value from = level(c, grew.result[n]);
    for (unsigned i = 0; i < n; i++)
        v[i] = bin(c, KIR_SUB, grew.result[i], from);
    tly_exps_below(c, v, n);
    for (unsigned k = n; k > 1; k = (k + 1) / 2)
        for (unsigned i = 0; i < k / 2; i++)
            v[i] = bin(c, KIR_ADD, v[i], v[i + (k + 1) / 2]);
    sum = bin(c, KIR_ADD, grew.result[n + 1], v[0]);
    return kir_tuple(c->b, 2, (kir_value[]){ grew.result[n], sum });
}

kir_value tly_project_exp(tly_build *c, kir_value state, const tly_place *at)
{
    (void)at;
    return bin(c, KIR_ADD, kir_part(c->b, state, 0), tly_log(c, kir_part(c->b, state, 1)));
}

/* ---- sums of 64-bit integers ---- */

kir_value tly_lift_wide(tly_build *c, kir_value x, const tly_place *at)
{
    (void)at;
    kir_op down = tly_has_sign(c) ? KIR_ASHR : KIR_LSHR;
    kir_value upper = bin(c, down, x, like(c, x, 32));
    return kir_tuple(c->b, 2, (kir_value[]){ x, upper });
}

kir_value tly_combine_wide(tly_build *c, kir_value x, kir_value y)
{
    kir_value v[2];
    for (unsigned i = 0; i < 2; i++)
        v[i] = bin(c, KIR_ADD, kir_part(c->b, x, i), kir_part(c->b, y, i));
    return kir_tuple(c->b, 2, v);
}

/* ---- indices ---- */

kir_value tly_lift_indexed(tly_build *c, kir_value x, const tly_place *at)
{
    return kir_tuple(c->b, 2, (kir_value[]){ x, at->index });
}

static kir_value combine_indexed(tly_build *c, kir_value x, kir_value y, int largest)
{
    kir_value vx = kir_part(c->b, x, 0), vy = kir_part(c->b, y, 0);
    kir_value ix = kir_part(c->b, x, 1), iy = kir_part(c->b, y, 1);
    kir_pred before = tly_has_sign(c) ? KIR_SLT : KIR_ULT;
    kir_value beats = largest ? cmp(c, before, vx, vy) : cmp(c, before, vy, vx);
    kir_value wins = c->p->last ? less(c, ix, iy) : less(c, iy, ix);
    kir_value ties = bin(c, KIR_AND, equal(c, vx, vy), wins);
    return choose(c, bin(c, KIR_OR, beats, ties), y, x);
}

kir_value tly_combine_largest(tly_build *c, kir_value x, kir_value y)
{
    return combine_indexed(c, x, y, 1);
}

kir_value tly_combine_smallest(tly_build *c, kir_value x, kir_value y)
{
    return combine_indexed(c, x, y, 0);
}

kir_value tly_project_index(tly_build *c, kir_value state, const tly_place *at)
{
    (void)at;
    return kir_part(c->b, state, 1);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operators of reductions; see reduced.h. Sums of integers of which a function is taken are of
 * 64 bits, and the function is f64's.
 */
#include "reduced.h"

#include <string.h>

#include "elementary.h"

static kir_value bin(tly_build *c, kir_op op, kir_value x, kir_value y)
{
    return kir_bin(c->b, op, x, y);
}

static kir_value constant(tly_build *c, kir_value like, uint64_t bits)
{
    return kir_const(c->b, kir_type_of(c->b, like), bits);
}

static kir_value as(tly_build *c, kir_kind kind, kir_value x)
{
    return kir_convert(c->b, KIR_BITCAST, KIR_TYPE(kind, kir_type_of(c->b, x).lanes), x);
}

static kir_kind integer_like(const tly_build *c)
{
    return c->acc_bytes == 8 ? KIR_I64 : KIR_I32;
}

static kir_value magnitude(tly_build *c, kir_value x)
{
    kir_value bits = as(c, integer_like(c), x);
    bits = bin(c, KIR_AND, bits, constant(c, bits, c->acc_bytes == 8 ? INT64_MAX : INT32_MAX));
    return as(c, (kir_kind)c->acc.kind, bits);
}

static int is_signed(const tly_build *c)
{
    return tly_class_of((tally_dtype)c->p->acc) == TLY_SIGNED;
}

kir_value tly_lift_abs(tly_build *c, kir_value x, kir_value index)
{
    (void)index;
    if (tly_is_floating(c))
        return magnitude(c, x);
    if (!is_signed(c))
        return x;
    kir_value zero = constant(c, x, 0);
    return kir_select(c->b, kir_cmp(c->b, KIR_SLT, x, zero), bin(c, KIR_SUB, zero, x), x);
}

kir_value tly_lift_square(tly_build *c, kir_value x, kir_value index)
{
    (void)index;
    return bin(c, KIR_MUL, x, x);
}

/* ---- sums of exponentials ---- */

kir_value tly_lift_exp(tly_build *c, kir_value x, kir_value index)
{
    (void)index;
    kir_value one = constant(c, x, tly_value_bits(TLY_ONE, (tally_dtype)c->p->acc));
    return kir_tuple(c->b, 2, (kir_value[]){ x, one });
}

/* One exponential for two states: that of the smaller's distance from the larger. Equal infinities
 * have none; what is NaN makes the sum NaN. */
kir_value tly_combine_exp(tly_build *c, kir_value x, kir_value y)
{
    kir_builder *b = c->b;
    kir_value mx = kir_part(b, x, 0), my = kir_part(b, y, 0);
    kir_value below = kir_cmp(b, KIR_OLE, my, mx), equal = kir_cmp(b, KIR_OEQ, mx, my);
    kir_value high = kir_select(b, below, x, y), low = kir_select(b, below, y, x);
    kir_value m = kir_part(b, high, 0);
    kir_value apart = bin(c, KIR_SUB, kir_part(b, low, 0), m);
    apart = kir_select(b, equal, constant(c, apart, 0), apart);
    kir_value added = bin(c, KIR_MUL, kir_part(b, low, 1), tly_exp_below(b, apart));
    kir_value sum = bin(c, KIR_ADD, kir_part(b, high, 1), added);
    return kir_tuple(b, 2, (kir_value[]){ m, sum });
}

static kir_value larger(tly_build *c, kir_value x, kir_value y)
{
    return kir_select(c->b, kir_cmp(c->b, KIR_OLT, x, y), y, x);
}

static kir_value smaller(tly_build *c, kir_value x, kir_value y)
{
    return kir_select(c->b, kir_cmp(c->b, KIR_OLT, x, y), x, y);
}

/* What exponentials are relative to: the largest element, or where that is infinite a number near. */
static kir_value level(tly_build *c, kir_value largest, int lower)
{
    uint64_t sign = UINT64_C(1) << (8 * c->acc_bytes - 1);
    uint64_t most = tly_value_bits(TLY_MOST, (tally_dtype)c->p->acc) - 1;
    kir_value high = smaller(c, constant(c, largest, most), largest);
    return lower ? larger(c, high, constant(c, high, most | sign)) : high;
}

/* The largest of all first, so that an element costs one subtraction beside its exponential; and one
 * more exponential where it grew. A NaN is in no maximum but in the sum, and +inf is as the largest
 * number is. */
kir_value tly_take_exp(tly_build *c, kir_value state, const kir_value *x, unsigned n)
{
    enum { MOST = 64 };
    kir_builder *b = c->b;
    kir_value old = kir_part(b, state, 0), sum = kir_part(b, state, 1), v[MOST];
    kir_branch grew;
    memcpy(v, x, n * sizeof *x);
    for (unsigned k = n; k > 1; k = (k + 1) / 2)
        for (unsigned i = 0; i < k / 2; i++)
            v[i] = larger(c, v[i], v[i + (k + 1) / 2]);
    kir_value above = kir_cmp(b, KIR_OLT, old, v[0]), largest = kir_select(b, above, v[0], old);
    kir_value from = level(c, largest, 1);
    kir_if(b, &grew, kir_any(b, above));
    kir_value apart = bin(c, KIR_SUB, level(c, old, 1), from);
    kir_value scaled = bin(c, KIR_MUL, sum, tly_exp_below(b, apart));
    kir_else(b, &grew, 1, &scaled);
    kir_if_end(b, &grew, 1, &sum);
    for (unsigned i = 0; i < n; i++)
        v[i] = bin(c, KIR_SUB, level(c, x[i], 0), from);
    tly_exp_below_all(b, v, n);
    for (unsigned k = n; k > 1; k = (k + 1) / 2)
        for (unsigned i = 0; i < k / 2; i++)
            v[i] = bin(c, KIR_ADD, v[i], v[i + (k + 1) / 2]);
    sum = bin(c, KIR_ADD, grew.result[0], v[0]);
    return kir_tuple(b, 2, (kir_value[]){ largest, sum });
}

kir_value tly_project_exp(tly_build *c, kir_value state)
{
    return bin(c, KIR_ADD, kir_part(c->b, state, 0), tly_log(c->b, kir_part(c->b, state, 1)));
}

/* ---- indices ---- */

kir_value tly_lift_indexed(tly_build *c, kir_value x, kir_value index)
{
    return kir_tuple(c->b, 2, (kir_value[]){ x, index });
}

static kir_value combine_indexed(tly_build *c, kir_value x, kir_value y, int largest)
{
    kir_builder *b = c->b;
    kir_value vx = kir_part(b, x, 0), vy = kir_part(b, y, 0);
    kir_value ix = kir_part(b, x, 1), iy = kir_part(b, y, 1);
    kir_pred before = is_signed(c) ? KIR_SLT : KIR_ULT;
    kir_value beats = largest ? kir_cmp(b, before, vx, vy) : kir_cmp(b, before, vy, vx);
    kir_value wins = c->p->last ? kir_cmp(b, KIR_SLT, ix, iy) : kir_cmp(b, KIR_SLT, iy, ix);
    kir_value ties = bin(c, KIR_AND, kir_cmp(b, KIR_EQ, vx, vy), wins);
    return kir_select(b, bin(c, KIR_OR, beats, ties), y, x);
}

kir_value tly_combine_largest(tly_build *c, kir_value x, kir_value y)
{
    return combine_indexed(c, x, y, 1);
}

kir_value tly_combine_smallest(tly_build *c, kir_value x, kir_value y)
{
    return combine_indexed(c, x, y, 0);
}

kir_value tly_project_index(tly_build *c, kir_value state)
{
    return kir_part(c->b, state, 1);
}

/* ---- functions of sums ---- */

/* Elements that make one of the output. */
static kir_value count(tly_build *c)
{
    return c->count ? c->count
                    : mul(c, kir_get(c->b, KIR_ARG_STEPS), kir_get(c->b, KIR_ARG_LENGTH));
}

/* Towards zero; the quotient of magnitudes, whose sign is put back. Of nothing 0. */
static kir_value divided(tly_build *c, kir_value x)
{
    kir_builder *b = c->b;
    kir_value zero = imm(c, 0), n = tly_max(c, count(c), imm(c, 1));
    kir_value below = is_signed(c) ? less(c, x, zero) : 0;
    if (below)
        x = kir_select(b, below, sub(c, zero, x), x);
    kir_value q = c->t->no_div64 ? tly_whole_by_digits(b, x, n) : kir_bin(b, KIR_UDIV, x, n);
    return below ? kir_select(b, below, sub(c, zero, q), q) : q;
}

static kir_value real_count(tly_build *c)
{
    if (c->real_count)
        return c->real_count;
    kir_value n = kir_convert(c->b, KIR_SITOFP, KIR_TYPE(KIR_F64, 1), count(c));
    return c->acc.kind == KIR_F64 ? n : kir_convert(c->b, KIR_FPTRUNC, c->acc, n);
}

kir_value tly_project_mean(tly_build *c, kir_value state)
{
    kir_builder *b = c->b;
    unsigned lanes = kir_type_of(b, state).lanes;
    if (tly_is_floating(c)) {
        return tly_quotient(b, state, kir_splat(b, real_count(c), lanes));
    }
    kir_value y = state;
    for (unsigned i = 0; i < lanes; i++) { /* vectors of integers are not divided anywhere */
        kir_value q = divided(c, kir_extract(b, state, i));
        y = lanes > 1 ? kir_insert(b, y, q, i) : q;
    }
    return y;
}

/* A sum of integers as f64. */
static kir_value real(tly_build *c, kir_value sum)
{
    if (tly_is_floating(c))
        return sum;
    kir_type t = KIR_TYPE(KIR_F64, kir_type_of(c->b, sum).lanes);
    return kir_convert(c->b, is_signed(c) ? KIR_SITOFP : KIR_UITOFP, t, sum);
}

kir_value tly_project_root(tly_build *c, kir_value state)
{
    return tly_root(c->b, real(c, state));
}

kir_value tly_project_log(tly_build *c, kir_value state)
{
    return tly_log(c->b, real(c, state));
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators that are not Tally's, in the place of those that are: their states have several parts,
 * of several kinds, and do not commute. Programs and generators that have this file
 * (-Wl,--wrap=tly_operator_find, tly_operator_code_find) make kernels of these for the words of
 * cumsum, cumprod, prod and sum; problems of them are in their order by states_sequence.c:
 *
 *   cumsum of integers   affine maps: x is t -> (2x + 1) t + x, as (a, b); what is shown is b of
 * all
 *                        maps so far, the first innermost
 *   cumsum of floats     (v, n): the last element that is not zero, and 1 if there is one; shows v
 *   cumprod              the same with a count of elements that are not zero, an i64: integers show
 *                        b + count, floats v, negated where the count is odd
 *   prod                 what cumprod shows of all elements; of none 0
 *   sum                  commutes, so that all templates are asked for. Integers: products of x +
 * i as
 *                        (a, b), a + ib, of which a + b is shown. Floats: 1 and how many are below
 *                        -1, and how many are above 1; shows the difference. Of none both are 1
 *
 * tests/states_reference.c is the plain loop.
 */
#include "../codegen/plan/operator.h"
#include "../templates/template.h"

const tly_operator *__wrap_tly_operator_find(int op);
const tly_operator *__real_tly_operator_find(int op);
const tly_operator_code *__wrap_tly_operator_code_find(int op);
const tly_operator_code *__real_tly_operator_code_find(int op);

static int is_float(const tly_build *c)
{
    return kir_is_float(c->acc);
}

static kir_value number(tly_build *c, kir_value like, uint64_t value)
{
    kir_type t = kir_type_of(c->b, like);
    uint64_t one = t.kind == KIR_F64 ? 0x3ff0000000000000 : t.kind == KIR_F32 ? 0x3f800000 : 1;
    return kir_const(c->b, t, value * one);
}

/* Floats as their bits: some devices take subnormals for zeros where they compute. */
static kir_value bits_of(tly_build *c, kir_value x)
{
    kir_type t = kir_type_of(c->b, x), bits = KIR_TYPE(KIR_I32, t.lanes);
    bits.kind = t.kind == KIR_F64 ? KIR_I64 : KIR_I32;
    return kir_is_float(t) ? kir_convert(c->b, KIR_BITCAST, bits, x) : x;
}

static kir_value sign_of(tly_build *c, kir_value bits)
{
    kir_type t = kir_type_of(c->b, bits);
    return kir_const(c->b, t, UINT64_C(1) << (kir_kind_bits((kir_kind)t.kind) - 1));
}

/* i1s: not zero, of either sign. */
static kir_value is_there(tly_build *c, kir_value x)
{
    kir_value v = bits_of(c, x);
    if (v != x)
        v = kir_bin(c->b, KIR_AND, v, sub(c, sign_of(c, v), number(c, v, 1)));
    return kir_cmp(c->b, KIR_NE, v, number(c, v, 0));
}

static kir_value negated(tly_build *c, kir_value x)
{
    kir_value v = bits_of(c, x);
    v = kir_bin(c->b, KIR_XOR, v, sign_of(c, v));
    return kir_convert(c->b, KIR_BITCAST, kir_type_of(c->b, x), v);
}

static int is_sum(const tly_build *c)
{
    return c->p->op == TALLY_SUM;
}

static kir_value lift_sum(tly_build *c, kir_value x)
{
    kir_builder *b = c->b;
    kir_value one = number(c, x, 1), zero = number(c, x, 0), v[2] = { x, one };
    if (is_float(c)) {
        kir_type t = kir_type_of(b, x);
        kir_value sign = sign_of(c, bits_of(c, x));
        kir_value minus = kir_convert(b, KIR_BITCAST, t,
                                      kir_bin(b, KIR_XOR, bits_of(c, one), sign));
        v[0] = kir_select(b, kir_cmp(b, KIR_OLT, x, minus), add(c, one, one), one);
        v[1] = kir_select(b, kir_cmp(b, KIR_OLT, one, x), one, zero);
    }
    return kir_tuple(b, 2, v);
}

static kir_value combine_sum(tly_build *c, const kir_value *p, const kir_value *q)
{
    kir_value v[2] = { 0 };
    if (is_float(c)) {
        v[0] = add(c, p[0], sub(c, q[0], number(c, q[0], 1)));
        v[1] = add(c, p[1], q[1]);
    } else {
        v[0] = sub(c, mul(c, p[0], q[0]), mul(c, p[1], q[1]));
        v[1] = add(c, mul(c, p[0], q[1]), mul(c, p[1], q[0]));
    }
    return kir_tuple(c->b, 2, v);
}

/* Where lane i of a vector lies whose first lane lies at p. The last lane that is there stands for
 * those that are not. */
static kir_value lane_at(tly_build *c, const tly_place *at, int tensor, kir_value p, unsigned i)
{
    kir_value step = at->steps != NULL ? at->steps[tensor] : tly_lane(c, tensor), lane = imm(c, i);
    if (at->count != 0)
        lane = tly_min(c, lane, sub(c, at->count, imm(c, 1)));
    return ptradd(c, p, mul(c, lane, step));
}

/* The element again, from its place: templates say where elements lie. Devices have no unaligned
 * loads, and narrow elements have loads of their own. bf16 in pairs lie in other lanes than their
 * places say: only words without expressions have them, and Tally's own operators of no such word
 * ask for a place along lanes. */
static kir_value again(tly_build *c, kir_value x, const tly_place *at)
{
    unsigned lanes = kir_type_of(c->b, x).lanes, bytes = c->bytes[TLY_IN];
    int by_device = kir_workgroup_of(c->b) > 0;
    if (at->address == NULL || (by_device && bytes < 4) || (lanes > 1 && tly_plan_pairs(c->p)))
        return x;
    kir_value p = at->address(c, at, TLY_IN);
    kir_type type = tly_storage((tally_dtype)c->p->tensor[TLY_IN].dtype, 1);
    if (by_device)
        return tly_widen(c, kir_load(c->b, type, p, 0, bytes));
    if (lanes == 1)
        return tly_load(c, p, 0, 1);
    if (at->steps == NULL && at->count == 0)
        return lanes == c->lanes ? tly_load_vector(c, p) : x;
    const int is_half = type.kind == KIR_F16; /* halves are moved as integers */
    if (is_half)
        type.kind = KIR_I16;
    for (unsigned i = 0; i < lanes; i++) {
        kir_value one = kir_load(c->b, type, lane_at(c, at, TLY_IN, p, i), 0, bytes);
        x = i == 0 ? kir_splat(c->b, one, lanes) : kir_insert(c->b, x, one, i);
    }
    return tly_loaded(c, is_half ? bitcast(c, KIR_TYPE(KIR_F16, lanes), x) : x);
}

static kir_value lift(tly_build *c, kir_value x, const tly_place *at)
{
    kir_builder *b = c->b;
    x = again(c, x, at);
    kir_value there = is_there(c, x), one = number(c, x, 1), v[3];
    kir_type wide = KIR_TYPE(KIR_I64, kir_type_of(b, x).lanes);
    if (is_sum(c))
        return lift_sum(c, x);
    if (is_float(c)) {
        v[0] = kir_select(b, there, x, one);
        v[1] = kir_select(b, there, one, number(c, x, 0));
    } else {
        v[0] = add(c, add(c, x, x), one);
        v[1] = x;
    }
    v[2] = kir_select(b, there, kir_const(b, wide, 1), kir_const(b, wide, 0));
    return kir_tuple(b, tly_operator_find(c->p->op)->parts, v);
}

static kir_value combine(tly_build *c, kir_value x, kir_value y)
{
    kir_builder *b = c->b;
    kir_value v[3], p[3] = { 0 }, q[3] = { 0 };
    unsigned parts = kir_parts(b, x);
    for (unsigned i = 0; i < parts; i++) {
        p[i] = kir_part(b, x, i);
        q[i] = kir_part(b, y, i);
    }
    if (is_sum(c))
        return combine_sum(c, p, q);
    if (is_float(c)) {
        kir_value later = is_there(c, q[1]);
        v[0] = kir_select(b, later, q[0], p[0]);
        v[1] = kir_select(b, later, q[1], p[1]);
    } else {
        v[0] = mul(c, p[0], q[0]);
        v[1] = add(c, mul(c, q[0], p[1]), q[1]);
    }
    if (parts > 2)
        v[2] = add(c, p[2], q[2]);
    return kir_tuple(b, parts, v);
}

/* Spoils the result's place in the output, which the template is about to write. */
static void spoil(tly_build *c, kir_value y, const tly_place *at)
{
    if (at->address == NULL || kir_workgroup_of(c->b) > 0)
        return;
    kir_value other = add(c, kir_extract(c->b, y, 0), number(c, kir_extract(c->b, y, 0), 1));
    kir_value p = at->address(c, at, TLY_OUT);
    unsigned lanes = at->steps != NULL ? kir_type_of(c->b, y).lanes : 1;
    kir_value stored = tly_narrow(c, other);
    for (unsigned i = 0; i < lanes; i++)
        kir_store(c->b, lane_at(c, at, TLY_OUT, p, i), 0, stored, 1, 0);
}

static kir_value shown_of(tly_build *c, kir_value state)
{
    kir_builder *b = c->b;
    if (is_sum(c)) {
        kir_value first = kir_part(b, state, 0), second = kir_part(b, state, 1);
        if (is_float(c))
            return add(c, sub(c, second, first), number(c, first, 1));
        return add(c, first, second);
    }
    kir_value shown = kir_part(b, state, is_float(c) ? 0 : 1);
    if (kir_parts(b, state) < 3)
        return shown;
    kir_value count = kir_part(b, state, 2);
    kir_type t = kir_type_of(b, shown), wide = kir_type_of(b, count);
    if (is_float(c)) {
        kir_value odd = kir_bin(b, KIR_AND, count, kir_const(b, wide, 1));
        return kir_select(b, is_there(c, odd), negated(c, shown), shown);
    }
    return add(c, shown, t.kind != KIR_I64 ? kir_convert(b, KIR_TRUNC, t, count) : count);
}

static kir_value project(tly_build *c, kir_value state, const tly_place *at)
{
    kir_value y = shown_of(c, state);
    spoil(c, y, at);
    return y;
}

#define PRODUCT(op_) \
    .op = (op_), .outputs = TLY_OUT_WIDER, .dtypes = TLY_NUMBERS, .parts = 3, \
    .part = { TLY_PART_VALUE, TLY_PART_VALUE, TLY_PART_INDEX }, .converts = 1, \
    .identity = { TLY_ONE, TLY_ZERO, TLY_ZERO }, .neutral = { TLY_ONE, TLY_ZERO, TLY_ZERO }, \
    .padding = TLY_ZERO, .check = TLY_CHECK_NONE

const tly_operator *__wrap_tly_operator_find(int op)
{
    static const tly_operator operators[] = {
        { .op = TALLY_CUMSUM,
          .outputs = TLY_OUT_WIDER,
          .dtypes = TLY_NUMBERS,
          .parts = 2,
          .converts = 1,
          .identity = { TLY_ONE, TLY_ZERO },
          .neutral = { TLY_ONE, TLY_ZERO },
          .padding = TLY_ZERO,
          .check = TLY_CHECK_NONE },
        { PRODUCT(TALLY_CUMPROD) },
        { PRODUCT(TALLY_PROD), .empty = TLY_ZERO },
    };
    static const tly_operator sum = { .op = TALLY_SUM,
                                      .outputs = TLY_OUT_WIDER,
                                      .dtypes = TLY_NUMBERS,
                                      .parts = 2,
                                      .converts = 1,
                                      .neutral = { TLY_ONE, TLY_ZERO },
                                      .empty = TLY_ONE,
                                      .check = TLY_CHECK_NONE };
    if (op == TALLY_SUM)
        return &sum;
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (operators[i].op == op)
            return &operators[i];
    return __real_tly_operator_find(op);
}

const tly_operator_code *__wrap_tly_operator_code_find(int op)
{
    static const tly_operator_code code = { .lift = lift, .combine = combine, .project = project };
    const int ours = op == TALLY_CUMSUM || op == TALLY_CUMPROD || op == TALLY_SUM ||
                     op == TALLY_PROD;
    return ours ? &code : __real_tly_operator_code_find(op);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random operands, and words with them. Guarantees: what is drawn is valid by docs/word.md, section
 * "Operands and expressions"; only the seed decides.
 */
#include "random.h"

#include <math.h>
#include <string.h>

#include "fused.h"

#define COUNT(array) ((int64_t)(sizeof(array) / sizeof((array)[0])))

/* ---- operands ---- */

static void draw_operand_dtype(tly_random *r, tally_dtype type, tally_operand *o)
{
    do
        o->dtype = (int32_t)tly_random_between(r, 1, TALLY_DTYPE_COUNT - 1);
    while (!tly_fused_fits((tally_dtype)o->dtype, type));
    if (tly_random_one_in(r, 4))
        o->dtype = TALLY_BOOL;
    else if (tly_random_one_in(r, 3))
        o->dtype = (int32_t)type;
}

/* Strides of any order and sign; several elements may share a place. */
static void draw_strides(tly_random *r, int64_t limit, uint32_t axes, const tally_descriptor *d,
                         tally_operand *o)
{
    int64_t reach = 0;
    o->place = TALLY_PLACE_STRIDES;
    o->offset = tly_random_one_in(r, 2) ? 0 : tly_random_between(r, -40, 40);
    for (int n = 0, k = (int)tly_random_below(r, d->rank); n < d->rank;
         n++, k = (k + 1) % d->rank) {
        const int64_t last = d->sizes[k] > 1 ? d->sizes[k] - 1 : 0;
        int64_t stride = tly_random_one_in(r, 4) ? tly_random_between(r, 1, 3)
                                                 : reach + 1 + tly_random_below(r, 3);
        if (!(axes >> k & 1) || tly_random_one_in(r, 5) || stride > (limit - reach) / (last + 1))
            stride = 0;
        reach += stride * last;
        if (tly_random_one_in(r, 4)) {
            o->offset += stride * last;
            stride = -stride;
        }
        o->strides[k] = stride;
    }
}

/* Along the axes in `axes` at most. */
static void draw_place(tly_random *r, int64_t limit, uint32_t axes, const tally_descriptor *d,
                       tally_operand *o)
{
    const uint32_t every = (1u << d->rank) - 1;
    const int64_t kind = tly_random_below(r, 8);
    o->place = TALLY_PLACE_AXES;
    if (kind == 0 && d->rank)
        draw_strides(r, limit, axes, d, o);
    else if (kind < 4 && axes == every)
        o->place = TALLY_PLACE_PACKED;
    else if (kind < 4)
        o->axes = axes;
    else if (kind < 7)
        o->axes = (uint32_t)tly_random_next(r) & axes;
}

/* ---- words ---- */

/* Outputs that only words with expressions have. */
static void draw_output(tly_random *r, tally_descriptor *d)
{
    static const uint8_t narrower[] = { TALLY_F32, TALLY_F16, TALLY_BF16 };
    static const uint8_t to_single[] = { TALLY_I8, TALLY_I16, TALLY_U8, TALLY_U16, TALLY_BOOL };
    static const uint8_t to_double[] = { TALLY_I32, TALLY_U32 };
    if (tly_operations[d->op].family == TLY_INDICES || !tly_random_one_in(r, 4))
        return;
    d->flags &= ~(uint32_t)TALLY_NAN_IGNORE;
    d->acc = 0;
    if (tly_random_one_in(r, 2)) {
        d->dtype = tly_random_one_in(r, 2) ? TALLY_F64 : TALLY_F32;
        d->out_dtype =
            narrower[d->dtype == TALLY_F64 ? tly_random_below(r, 3) : tly_random_between(r, 1, 2)];
        return;
    }
    const int single = tly_random_one_in(r, 2);
    d->out_dtype = single ? TALLY_F32 : TALLY_F64;
    d->dtype = single || tly_random_one_in(r, 2) ? to_single[tly_random_below(r, COUNT(to_single))]
                                                 : to_double[tly_random_below(r, 2)];
}

/* A sum that adds nothing shows what `map` makes, to the bit. */
void tly_random_shown(tly_random *r, uint32_t draws, tally_descriptor *d)
{
    if (!(draws >> TALLY_SUM & 1) || !tly_random_one_in(r, 6))
        return;
    memset(d, 0, sizeof *d);
    d->size = sizeof *d;
    tly_random_operator(r, 1u << TALLY_SUM | TLY_DRAW_WIDER, d);
    d->axes_given = 1;
}

/* Reductions whose result has no strides that were drawn for another shape. */
static int may_have_segments(const tally_descriptor *d, uint32_t reduced)
{
    return !tally_op_is_scan((tally_op)d->op) && reduced && !(reduced & (reduced - 1)) &&
           !(d->flags & (TALLY_KEEPDIMS | TALLY_OUT_STRIDES));
}

static int64_t draw_every(tly_random *r, int64_t size)
{
    const int64_t most = tly_random_one_in(r, 2) && size > 40 ? 40 : 1 + size;
    return tly_random_between(r, 1, most);
}

void tly_random_stages(tly_random *r, int64_t limit, tally_descriptor *d)
{
    const int is_scan = tally_op_is_scan((tally_op)d->op);
    const uint32_t every = (1u << d->rank) - 1;
    const uint32_t kept = is_scan ? every : every & ~(d->axes_given ? d->axes : every);
    int has_post = tly_operations[d->op].family != TLY_INDICES && tly_random_one_in(r, 2);
    int has_map = !has_post || tly_random_one_in(r, 2);
    tly_random_names names = { .operands = 0 };

    const int recurs = tly_operations[d->op].family == TLY_RECURRENCES;
    if (recurs)
        has_map = tly_random_one_in(r, 2);
    else if (tly_random_one_in(r, 16))
        return;
    draw_output(r, d);
    names.type = tly_fused_type(d);
    /* A map would round such integers before they are added. */
    if (d->op == TALLY_MEAN && tly_is_float(names.type) && !tly_is_float((tally_dtype)d->dtype) &&
        !tly_fused_fits((tally_dtype)d->dtype, names.type))
        has_map = 0, has_post = 1;
    const int resets = is_scan && tly_random_one_in(r, 4);
    if (resets && tly_random_one_in(r, 3)) /* the only expression */
        has_map = has_post = 0;
    uint32_t in_post = 0;
    if (recurs && tly_random_one_in(r, 2)) {
        names.operands = 1; /* the factor is operand a */
    } else if (recurs) {
        names.sees_x = 1;
        tly_random_expression(r, &names, d->coef);
    }
    if (has_map) {
        names.sees_x = 1;
        tly_random_expression(r, &names, d->map);
    }
    if (resets) {
        names.sees_x = 1;
        tly_random_expression(r, &names, d->reset);
    } else if (is_scan && tly_random_one_in(r, 5)) {
        d->every = tly_random_between(r, 1, 1 + d->sizes[d->axis]);
    }
    if (may_have_segments(d, every & ~kept) && tly_random_one_in(r, 3))
        d->every = draw_every(r, d->sizes[__builtin_ctz(every & ~kept)]);
    if (has_post) {
        names.sees_x = is_scan;
        names.sees_y = 1;
        tly_random_expression(r, &names, d->post);
        in_post = names.used;
    }
    for (int k = 0; k < names.operands; k++) {
        draw_operand_dtype(r, names.type, &d->operands[k]);
        draw_place(r, limit, in_post >> k & 1 ? kept : every, d, &d->operands[k]);
    }
}

/* ---- data ---- */

typedef enum kind { NEAR_ONE, MASK, SMALL, MANY, STREWN, KINDS } kind;

static double special(tly_random *r, tally_dtype dtype)
{
    const int bottom = dtype == TALLY_F64 ? -1022 : dtype == TALLY_F16 ? -14 : -126;
    const double values[] = { NAN,
                              INFINITY,
                              -INFINITY,
                              -0.0,
                              0,
                              ldexp(1, bottom),
                              ldexp(1, bottom - 3),
                              ldexp(-1, bottom - 2),
                              ldexp(1.5, -bottom),
                              -1 };
    return values[tly_random_below(r, COUNT(values))];
}

static uint64_t draw_element(tly_random *r, tally_dtype dtype, kind of)
{
    const uint64_t bits = tly_random_next(r);
    const double unit = (double)(bits >> 11) * 0x1p-53;
    if (dtype == TALLY_BOOL || of == MASK) {
        const uint64_t one = bits >> 20 & 1;
        return tly_is_float(dtype) ? tly_encode(dtype, (double)one) : one;
    }
    if (!tly_is_float(dtype))
        return tly_integer_cut(dtype, of == MANY ? bits : (uint64_t)tly_random_between(r, -3, 3));
    if (of == STREWN && tly_random_one_in(r, 12))
        return tly_encode(dtype, special(r, dtype));
    return tly_encode(dtype, of == SMALL  ? unit * 8 - 4
                             : of == MANY ? ldexp(unit - .5, (int)(bits % 24) - 8)
                                          : 1 + (unit - .5) / 16);
}

void tly_random_fill_operand(tly_random *r, const tally_descriptor *d, int operand, void *at)
{
    tly_fused_place place;
    tly_layout l;
    tly_fused_place_of(d, operand, &place);
    tly_layout_of(d, &l);
    const kind of = (kind)tly_random_below(r, KINDS);
    if (place.high < place.low)
        return;
    /* Where a result has no elements, `post` reads the operand all the same. */
    tly_bits_store(place.dtype, at, place.offset, draw_element(r, place.dtype, of));
    for (int k = 0; k < l.rank && !l.length; k++)
        l.sizes[k] += l.folded >> k & 1 && !l.sizes[k];
    for (int64_t row = 0; row < l.rows; row++)
        for (int64_t i = 0; i < (l.length ? l.length : 1); i++)
            tly_bits_store(place.dtype, at,
                           tly_layout_index(&l, place.strides, place.offset, row, i),
                           draw_element(r, place.dtype, of));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Random words that have a gradient; see gradient_draw.h. */
#include "gradient_draw.h"

#include <stdio.h>
#include <string.h>

static const int operators[] = { TALLY_CUMSUM,  TALLY_CUMPROD,      TALLY_CUMMAX,
                                 TALLY_CUMMIN,  TALLY_CUMLOGSUMEXP, TALLY_LINREC,
                                 TALLY_SUM,     TALLY_PROD,         TALLY_MEAN,
                                 TALLY_L1,      TALLY_L2,           TALLY_SUM_SQUARE,
                                 TALLY_LOG_SUM, TALLY_LOG_SUM_EXP,  TALLY_MAX,
                                 TALLY_MIN };

enum { SCANS = 6, OPERATORS = sizeof operators / sizeof *operators };

static void draw_strides(tly_random *r, int rank, const int64_t *sizes, int may_repeat,
                         int64_t strides[TALLY_MAX_RANK], int64_t *offset)
{
    int64_t step = 1 + tly_random_below(r, 2);
    for (int k = rank - 1; k >= 0; k--) {
        strides[k] = may_repeat && tly_random_one_in(r, 4)   ? 0
                     : may_repeat && tly_random_one_in(r, 4) ? -step
                                                             : step;
        step = step * sizes[k] + tly_random_below(r, 2);
    }
    *offset = tly_random_below(r, 4);
}

static void draw_operand(tly_random *r, tally_descriptor *d, int i, uint32_t kept)
{
    tally_operand *o = &d->operands[i];
    const int kind = (int)tly_random_below(r, 4);
    o->dtype = d->dtype == TALLY_F64 || tly_random_one_in(r, 2) ? d->dtype : TALLY_F32;
    if (o->dtype == TALLY_I8)
        o->dtype = tly_random_one_in(r, 2) ? TALLY_F32 : TALLY_F16;
    if (kind == 0 && kept == (1u << d->rank) - 1)
        return;
    o->place = TALLY_PLACE_AXES;
    o->axes = (uint32_t)tly_random_below(r, 1 << d->rank) & kept;
    if (kind == 1) {
        o->place = TALLY_PLACE_STRIDES;
        o->axes = 0;
        draw_strides(r, d->rank, d->sizes, 1, o->strides, &o->offset);
        for (int k = 0; k < d->rank; k++)
            o->strides[k] = kept >> k & 1 ? o->strides[k] : 0;
    }
}

static void draw_reset(tly_random *r, tly_random_names *names, tally_descriptor *d)
{
    static const char *const resets[] = { "x<0", "a>1", "x*a<0.2", "a!=x", "0", "1", "a*0" };
    const char *reset = resets[tly_random_below(r, 7)];
    snprintf(d->reset, sizeof d->reset, "%s", reset);
    if (strchr(reset, 'a') && names->operands == 0)
        names->operands = 1;
}

static void draw_expressions(tly_random *r, tally_descriptor *d)
{
    tly_random_names names = { TALLY_F64, 1, 0, 0, 0 };
    const int is_scan = tally_op_is_scan((tally_op)d->op);
    uint32_t in_post = 0;
    if (d->op == TALLY_LINREC) {
        tly_random_expression(r, &names, d->coef);
        if (tly_random_one_in(r, 2)) {
            strcpy(d->coef, "a");
            memset(d->coef + 1, 0, sizeof d->coef - 1);
            names.operands = names.operands > 0 ? names.operands : 1;
        }
    }
    if (!tly_random_one_in(r, 3))
        tly_random_expression(r, &names, d->map);
    if (!tly_random_one_in(r, 3)) {
        names.sees_x = is_scan;
        names.sees_y = 1;
        tly_random_expression(r, &names, d->post);
        in_post = names.used;
    }
    if (is_scan && !d->every && !d->segment_dtype && tly_random_one_in(r, 4))
        draw_reset(r, &names, d);
    for (int i = 0; i < names.operands; i++) {
        const uint32_t all = (1u << d->rank) - 1;
        draw_operand(r, d, i, !is_scan && in_post >> i & 1 ? all & ~d->axes : all);
    }
}

/* Scans whose result tells what lies before each element. */
static void draw_simple(tly_random *r, tally_descriptor *d)
{
    d->dtype = d->dtype == TALLY_F64 ? TALLY_F64 : TALLY_F32;
    d->axis = 0;
    d->out_dtype = d->every = d->segment_dtype = 0;
    d->segments = 0;
    d->carry &= TALLY_CARRY_OUT;
    d->flags &= tly_random_one_in(r, 3) ? ~0u : ~(uint32_t)TALLY_EXCLUSIVE;
    if (d->op == TALLY_LINREC) {
        strcpy(d->coef, "a");
        draw_operand(r, d, 0, (1u << d->rank) - 1);
    }
}

static void draw_dtypes(tly_random *r, tally_descriptor *d)
{
    static const int dtypes[] = {
        TALLY_F64, TALLY_F64, TALLY_F32, TALLY_F16, TALLY_BF16, TALLY_I8
    };
    d->dtype = dtypes[tly_random_below(r, 6)];
    if (d->dtype == TALLY_I8 && d->op == TALLY_LINREC)
        d->dtype = TALLY_F32;
    if (d->dtype == TALLY_I8)
        d->out_dtype = TALLY_F32;
}

/* Outputs that only words with an expression have, and accumulators. */
static void widen(tly_random *r, tally_descriptor *d)
{
    const int sums = d->op == TALLY_CUMSUM || d->op == TALLY_CUMPROD || d->op == TALLY_SUM ||
                     d->op == TALLY_PROD || d->op == TALLY_LINREC;
    const int has_expression = d->map[0] || d->post[0];
    if (d->dtype == TALLY_I8 && !has_expression)
        d->dtype = d->out_dtype;
    if (!tly_random_one_in(r, 3) || d->dtype == TALLY_I8)
        return;
    if (d->dtype == TALLY_F64 && has_expression)
        d->out_dtype = tly_random_one_in(r, 2) ? TALLY_F32 : TALLY_F16;
    else if (d->dtype == TALLY_F32)
        d->out_dtype = sums ? TALLY_F64 : has_expression ? TALLY_BF16 : 0;
    else if (d->dtype != TALLY_F64)
        d->out_dtype = sums ? TALLY_F32 : 0;
    if (sums && d->dtype != TALLY_F64 && d->out_dtype != TALLY_F64 && tly_random_one_in(r, 3))
        d->acc = TALLY_F64;
}

static void draw_segments(tly_random *r, tally_descriptor *d)
{
    if (!tally_op_is_scan((tally_op)d->op)) {
        d->axes = 1u << tly_random_below(r, d->rank);
        d->flags &= ~(uint32_t)TALLY_KEEPDIMS;
    }
    if (tly_random_one_in(r, 3)) {
        d->every = tly_random_between(r, 1, 3);
    } else {
        d->segment_dtype = tly_random_one_in(r, 2) ? TALLY_I32 : TALLY_I64;
        d->segments = tly_random_below(r, 4);
    }
}

void tly_gradient_draw(tly_random *r, int64_t most_size, int is_simple, tally_descriptor *d)
{
    const tally_descriptor none = TALLY_DESCRIPTOR_INIT;
    *d = none;
    d->op = operators[tly_random_below(r, is_simple ? SCANS : OPERATORS)];
    d->rank = (int32_t)tly_random_between(r, 1, 3);
    for (int k = 0; k < d->rank; k++)
        d->sizes[k] = tly_random_between(r, 1, most_size);
    draw_dtypes(r, d);
    if (tally_op_is_scan((tally_op)d->op)) {
        d->axis = (int32_t)tly_random_below(r, d->rank);
        d->flags |= tly_random_one_in(r, 2) ? TALLY_EXCLUSIVE : 0;
        d->flags |= tly_random_one_in(r, 2) ? TALLY_REVERSE : 0;
    } else {
        d->axes = (uint32_t)tly_random_below(r, 1 << d->rank);
        d->axes_given = 1;
        d->flags |= tly_random_one_in(r, 4) ? TALLY_KEEPDIMS : 0;
    }
    if (tly_random_one_in(r, 3))
        draw_segments(r, d);
    if (tally_op_is_scan((tally_op)d->op) && tly_random_one_in(r, 3))
        d->carry = d->op == TALLY_CUMLOGSUMEXP ? TALLY_CARRY_IN
                                               : (int32_t)tly_random_between(r, 1, 3);
    if (!is_simple)
        draw_expressions(r, d);
    else
        draw_simple(r, d);
    widen(r, d);
    if (tly_random_one_in(r, 4)) {
        d->flags |= TALLY_IN_STRIDES;
        draw_strides(r, d->rank, d->sizes, 1, d->in_strides, &d->in_offset);
    }
    if (tly_random_one_in(r, 4)) {
        int64_t sizes[TALLY_MAX_RANK];
        int32_t rank = 0;
        d->flags |= TALLY_OUT_STRIDES;
        tally_descriptor packed = *d;
        packed.flags &= ~(uint32_t)TALLY_OUT_STRIDES;
        if (tally_descriptor_result(&packed, &rank, sizes, NULL, NULL) == TALLY_OK)
            draw_strides(r, rank, sizes, 0, d->out_strides, &d->out_offset);
    }
}

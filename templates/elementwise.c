/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Element-wise stages; see elementwise.h. Sums of integers of which a function is taken are of 64 bits,
 * and the function is f64's.
 */
#include "elementwise.h"

#include "elementary.h"
#include "template.h"

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

static kir_value absolute(tly_build *c, kir_value x)
{
    if (tly_is_floating(c))
        return magnitude(c, x);
    if (!tly_has_sign(c))
        return x;
    kir_value zero = constant(c, x, 0);
    return kir_select(c->b, kir_cmp(c->b, KIR_SLT, x, zero), bin(c, KIR_SUB, zero, x), x);
}

static kir_value square(tly_build *c, kir_value x)
{
    return bin(c, KIR_MUL, x, x);
}

static kir_value exponential(tly_build *c, kir_value x)
{
    return tly_exp(c->b, x);
}

static kir_value logarithm(tly_build *c, kir_value x)
{
    return tly_log(c->b, x);
}

static kir_value root(tly_build *c, kir_value x)
{
    return tly_root(c->b, x);
}

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
    kir_value below = tly_has_sign(c) ? less(c, x, zero) : 0;
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

static kir_value scale(tly_build *c, kir_value x)
{
    kir_builder *b = c->b;
    unsigned lanes = kir_type_of(b, x).lanes;
    if (tly_is_floating(c))
        return tly_quotient(b, x, kir_splat(b, real_count(c), lanes));
    kir_value y = x;
    for (unsigned i = 0; i < lanes; i++) { /* vectors of integers are not divided anywhere */
        kir_value q = divided(c, kir_extract(b, x, i));
        y = lanes > 1 ? kir_insert(b, y, q, i) : q;
    }
    return y;
}

/* No mean is above the largest element, but that of a sum that was rounded up may be. */
static kir_value scale_times(tly_build *c, kir_value x, kir_value unit)
{
    kir_builder *b = c->b;
    kir_value q = scale(c, x), y = mul(c, q, unit);
    for (int lower = 0; lower < 2; lower++) {
        uint64_t sign = lower ? UINT64_C(1) << (8 * c->acc_bytes - 1) : 0;
        uint64_t endless = tly_value_bits(TLY_MOST, (tally_dtype)c->p->acc);
        kir_value most = constant(c, y, (endless - 1) | sign);
        kir_value end = constant(c, y, endless | sign);
        kir_value beyond = kir_cmp(b, KIR_OEQ, y, end);
        y = kir_select(b, bin(c, KIR_AND, beyond, kir_cmp(b, KIR_UNE, q, end)), most, y);
    }
    return y;
}

static kir_value logarithm_times(tly_build *c, kir_value x, kir_value unit)
{
    const int wide = c->acc_bytes == 8;
    kir_value one = constant(c, unit, tly_value_bits(TLY_ONE, (tally_dtype)c->p->acc));
    kir_value is_one = kir_cmp(c->b, KIR_OEQ, unit, one);
    kir_value more = constant(c, unit, wide ? UINT64_C(0x4050) << 48 : 0x42800000); /* 64 */
    return tly_log_of_product(c->b, x, kir_select(c->b, is_one, constant(c, unit, 0), more));
}

/* Squares are in multiples of unit^2. */
static kir_value root_times(tly_build *c, kir_value x, kir_value unit)
{
    return mul(c, root(c, x), unit);
}

static kir_value cast(tly_build *c, kir_value x)
{
    if (tly_is_floating(c))
        return x;
    kir_type t = KIR_TYPE(KIR_F64, kir_type_of(c->b, x).lanes);
    return kir_convert(c->b, tly_has_sign(c) ? KIR_SITOFP : KIR_UITOFP, t, x);
}

const tly_stage tly_stages[TLY_STAGE_COUNT] = {
    [TLY_STAGE_ABS] = { "abs", absolute, NULL },
    [TLY_STAGE_SQUARE] = { "square", square, NULL },
    [TLY_STAGE_EXP] = { "exp", exponential, NULL },
    [TLY_STAGE_LOG] = { "log", logarithm, logarithm_times },
    [TLY_STAGE_SQRT] = { "sqrt", root, root_times },
    [TLY_STAGE_SCALE] = { "scale", scale, scale_times },
    [TLY_STAGE_CAST] = { "cast", cast, NULL },
};

kir_value tly_through(tly_build *c, const uint8_t *list, kir_value x)
{
    for (; *list != TLY_STAGE_END; list++)
        x = tly_stages[*list].make(c, x);
    return x;
}

kir_value tly_through_times(tly_build *c, const uint8_t *list, kir_value x, kir_value unit)
{
    for (; *list != TLY_STAGE_END; list++) {
        const tly_stage *stage = &tly_stages[*list];
        int takes = unit != 0 && stage->times != NULL;
        x = takes ? stage->times(c, x, unit) : stage->make(c, x);
        unit = takes ? 0 : unit;
    }
    return unit != 0 ? mul(c, x, unit) : x;
}

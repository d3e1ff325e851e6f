/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Element-wise stages (elementwise.h). Sums of integers have 64 bits if a function is taken of
 * them, and the function is that of f64.
 */
#include "elementwise.h"

#include "../template.h"
#include "elementary.h"

static kir_kind integer_like(const tly_build *c)
{
    return c->acc_bytes == 8 ? KIR_I64 : KIR_I32;
}

static kir_value magnitude(tly_build *c, kir_value x)
{
    kir_value bits = to_kind(c, KIR_BITCAST, integer_like(c), x);
    bits = band(c, bits, like(c, bits, c->acc_bytes == 8 ? INT64_MAX : INT32_MAX));
    return to_kind(c, KIR_BITCAST, (kir_kind)c->acc.kind, bits);
}

static kir_value absolute(tly_build *c, kir_value x)
{
    if (tly_is_floating(c))
        return magnitude(c, x);
    if (!tly_has_sign(c))
        return x;
    kir_value zero = like(c, x, 0);
    return choose(c, less(c, x, zero), sub(c, zero, x), x);
}

static kir_value square(tly_build *c, kir_value x)
{
    return mul(c, x, x);
}

static kir_value exponential(tly_build *c, kir_value x)
{
    return tly_exp(c, x);
}

static kir_value logarithm(tly_build *c, kir_value x)
{
    return tly_log(c, x);
}

static kir_value root(tly_build *c, kir_value x)
{
    return tly_root(c, x);
}

/* The number of elements that are reduced to an output. */
static kir_value count(tly_build *c)
{
    return c->count ? c->count : mul(c, arg(c, KIR_ARG_STEPS), arg(c, KIR_ARG_LENGTH));
}

/* x / n, lane by lane, as no target divides vectors of integers. */
static kir_value divided(tly_build *c, kir_value x, kir_value n)
{
    unsigned lanes = type_of(c, x).lanes;
    if (c->t->no_div64)
        return tly_udiv_by_digits(c, 0, x, kir_splat(c->b, n, lanes));
    kir_value y = x;
    for (unsigned i = 0; i < lanes; i++) {
        kir_value q = udiv(c, kir_extract(c->b, x, i), n);
        y = lanes > 1 ? kir_insert(c->b, y, q, i) : q;
    }
    return y;
}

/* Divides by an n of up to 2^32; `upper` is below n. Each of two divisions gives 32 digits of the
 * quotient, as the remainder of the first one is below n. */
static kir_value divided_twice(tly_build *c, kir_value lower, kir_value upper, kir_value n)
{
    kir_value by = like(c, lower, 32), all = kir_splat(c->b, n, type_of(c, lower).lanes);
    kir_value top = bor(c, shl(c, upper, by), lshr(c, lower, by));
    kir_value high = divided(c, top, n), left = sub(c, top, mul(c, high, all));
    kir_value rest = band(c, lower, like(c, lower, UINT32_MAX));
    kir_value low = divided(c, bor(c, shl(c, left, by), rest), n);
    return bor(c, shl(c, high, by), low);
}

/* Goes digit by digit if n is larger. `few`: it never is. */
static kir_value divided_beyond(tly_build *c, kir_value lower, kir_value upper, kir_value n,
                                int few)
{
    kir_value q = 0;
    tly_region way = { .state = { &q } };
    if (few)
        return divided_twice(c, lower, upper, n);
    emit_if(c, &way, ule(c, n, imm(c, INT64_C(1) << 32)));
    q = divided_twice(c, lower, upper, n);
    emit_else(c, &way);
    q = tly_udiv_by_digits(c, upper, lower, kir_splat(c->b, n, type_of(c, lower).lanes));
    emit_end(c, &way);
    return q;
}

/* A sum of more than 64 bits becomes its magnitude. i1: it was below 0. */
static kir_value take_sign(tly_build *c, kir_value *lower, kir_value *upper)
{
    kir_value zero = like(c, *lower, 0), below = less(c, *upper, zero);
    if (tly_has_sign(c)) {
        kir_value borrows = differ(c, *lower, zero);
        kir_value minus = sub(c, zero, *upper);
        minus = sub(c, minus, convert(c, KIR_ZEXT, type_of(c, *lower), borrows));
        *upper = choose(c, below, minus, *upper);
        *lower = choose(c, below, sub(c, zero, *lower), *lower);
    }
    return below;
}

/* A sum of more than 64 bits, rounded towards zero. */
static kir_value divided_whole(tly_build *c, kir_value lower, kir_value upper, kir_value n, int few)
{
    kir_value zero = like(c, lower, 0), below = take_sign(c, &lower, &upper);
    kir_value q = c->t->no_div64 ? tly_udiv_by_digits(c, upper, lower, n)
                                 : divided_beyond(c, lower, upper, n, few);
    return tly_has_sign(c) ? choose(c, below, sub(c, zero, q), q) : q;
}

/* Rounds towards zero: divides the magnitude, and gives the quotient x's sign. */
static kir_value divided_signed(tly_build *c, kir_value x, kir_value n)
{
    kir_value zero = like(c, x, 0), below = less(c, x, zero);
    if (!tly_has_sign(c))
        return divided(c, x, n);
    kir_value q = divided(c, choose(c, below, sub(c, zero, x), x), n);
    return choose(c, below, sub(c, zero, q), q);
}

/* The mean of no elements is 0. `few`: the sum is of up to 2^32 elements. */
static kir_value mean(tly_build *c, kir_value lower, kir_value upper, int few)
{
    kir_value n = tly_max(c, count(c), imm(c, 1));
    kir_value q = 0;
    tly_region beyond = { .state = { &q } };
    if (c->t->no_div64)
        return divided_whole(c, lower, upper, n, few);
    kir_value sign = tly_has_sign(c) ? ashr(c, lower, like(c, lower, 63)) : like(c, lower, 0);
    emit_if(c, &beyond, any(c, differ(c, upper, sign)));
    q = divided_whole(c, lower, upper, n, few);
    emit_else(c, &beyond);
    q = divided_signed(c, lower, n);
    emit_end(c, &beyond);
    return q;
}

/* Two parts: the lower halves of all elements add up to the sum less 2^32 times the other part,
 * modulo 2^64, and to less than that. */
kir_value tly_whole_of(tly_build *c, kir_value state)
{
    kir_value lower = part(c, state, 0);
    kir_op down = tly_has_sign(c) ? KIR_ASHR : KIR_LSHR;
    if (kir_parts(c->b, state) == 1) {
        kir_value upper = tly_has_sign(c) ? bin(c, down, lower, like(c, lower, 63))
                                          : like(c, lower, 0);
        return pair(c, lower, upper);
    }
    kir_value halves = part(c, state, 1), by = like(c, lower, 32);
    kir_value carries = ult(c, lower, shl(c, halves, by));
    carries = convert(c, KIR_ZEXT, type_of(c, lower), carries);
    kir_value upper = add(c, bin(c, down, halves, by), carries);
    return pair(c, lower, upper);
}

static kir_value real_count(tly_build *c)
{
    if (c->real_count)
        return c->real_count;
    kir_value n = convert(c, KIR_SITOFP, KIR_TYPE(KIR_F64, 1), count(c));
    return c->acc.kind == KIR_F32 ? convert(c, KIR_FPTRUNC, c->acc, n) : n;
}

static kir_value f64_of(tly_build *c, kir_value x)
{
    return to_kind(c, tly_has_sign(c) ? KIR_SITOFP : KIR_UITOFP, KIR_F64, x);
}

/* A sum of more than 64 bits as f64, rounded once. Only the 64 highest digits are converted. The
 * last one of them is set if any digit below is, so that they round as all digits do. */
static kir_value rounded_whole(tly_build *c, kir_value lower, kir_value upper)
{
    kir_value below = take_sign(c, &lower, &upper), zero = like(c, lower, 0);
    kir_value unit = constant(c, KIR_TYPE(KIR_F64, type_of(c, lower).lanes),
                              UINT64_C(0x43f0) << 48); /* 2^64 */
    for (unsigned by = 64; by > 0; by /= 2) {
        kir_value down = like(c, lower, 64 - by), up = like(c, lower, by);
        kir_value room = equal(c, by == 64 ? upper : lshr(c, upper, down), zero);
        kir_value moved = by == 64 ? lower : bor(c, shl(c, upper, up), lshr(c, lower, down));
        kir_value less_unit = mul(c, unit, like(c, unit, (uint64_t)(1023 - by) << 52));
        upper = choose(c, room, moved, upper);
        lower = choose(c, room, by == 64 ? zero : shl(c, lower, up), lower);
        unit = choose(c, room, less_unit, unit);
    }
    kir_value rest = convert(c, KIR_ZEXT, type_of(c, lower), differ(c, lower, zero));
    kir_value y = mul(c, to_kind(c, KIR_UITOFP, KIR_F64, bor(c, upper, rest)), unit);
    return tly_has_sign(c) ? choose(c, below, sub(c, like(c, y, 0), y), y) : y;
}

/* A sum of two times 64 bits as f64. */
static kir_value real_whole(tly_build *c, kir_value lower, kir_value upper)
{
    kir_value y = 0, zero = like(c, lower, 0);
    kir_value sign = tly_has_sign(c) ? ashr(c, lower, like(c, lower, 63)) : zero;
    tly_region beyond = { .state = { &y } };
    emit_if(c, &beyond, any(c, differ(c, upper, sign)));
    y = rounded_whole(c, lower, upper);
    emit_else(c, &beyond);
    y = f64_of(c, lower);
    emit_end(c, &beyond);
    return y;
}

/* The same in all lanes, unless each has its own. */
static kir_value splat_as(tly_build *c, kir_value v, kir_value x)
{
    const unsigned lanes = type_of(c, x).lanes;
    return type_of(c, v).lanes == lanes ? v : kir_splat(c->b, v, lanes);
}

static kir_value scale(tly_build *c, kir_value x)
{
    if (kir_is_float(type_of(c, x)))
        return tly_quotient(c, x, splat_as(c, real_count(c), x));
    if (kir_parts(c->b, x) == 1)
        return divided_signed(c, x, tly_max(c, count(c), imm(c, 1)));
    x = tly_whole_of(c, x);
    return mean(c, part(c, x, 0), part(c, x, 1), 1);
}

kir_value tly_mean_of_wide(tly_build *c, kir_value lower, kir_value upper)
{
    return tly_is_real_mean(c->p) ? scale(c, real_whole(c, lower, upper))
                                  : mean(c, lower, upper, 0);
}

/* A mean of finite elements is finite, but a sum that was rounded up may make it infinite. */
static kir_value scale_times(tly_build *c, kir_value x, kir_value unit)
{
    kir_value q = scale(c, x), y = mul(c, q, unit);
    for (int lower = 0; lower < 2; lower++) {
        uint64_t sign = lower ? UINT64_C(1) << (8 * c->acc_bytes - 1) : 0;
        uint64_t endless = tly_value_bits(TLY_MOST, (tally_dtype)c->p->acc);
        kir_value most = like(c, y, (endless - 1) | sign);
        kir_value end = like(c, y, endless | sign);
        kir_value beyond = oeq(c, y, end);
        y = choose(c, band(c, beyond, une(c, q, end)), most, y);
    }
    return y;
}

static kir_value logarithm_times(tly_build *c, kir_value x, kir_value unit)
{
    const int wide = c->acc_bytes == 8;
    kir_value one = like(c, unit, tly_value_bits(TLY_ONE, (tally_dtype)c->p->acc));
    kir_value is_one = oeq(c, unit, one);
    kir_value more = like(c, unit, wide ? UINT64_C(0x4050) << 48 : 0x42800000); /* 64 */
    return tly_log_of_product(c, x, choose(c, is_one, like(c, unit, 0), more));
}

/* The sum is one of squares, in multiples of unit^2. */
static kir_value root_times(tly_build *c, kir_value x, kir_value unit)
{
    return mul(c, root(c, x), unit);
}

static kir_value cast(tly_build *c, kir_value x)
{
    if (tly_is_floating(c))
        return x;
    if (kir_parts(c->b, x) == 1)
        return f64_of(c, x);
    x = tly_whole_of(c, x);
    return real_whole(c, part(c, x, 0), part(c, x, 1));
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

kir_value tly_through(tly_build *c, unsigned stages, kir_value x)
{
    for (; stages != 0; stages >>= 4)
        x = tly_stages[stages & 15].make(c, x);
    return x;
}

kir_value tly_through_times(tly_build *c, unsigned stages, kir_value x, kir_value unit)
{
    for (; stages != 0; stages >>= 4) {
        const tly_stage *stage = &tly_stages[stages & 15];
        int takes = unit != 0 && stage->times != NULL;
        x = takes ? stage->times(c, x, unit) : stage->make(c, x);
        unit = takes ? 0 : unit;
    }
    return unit != 0 ? mul(c, x, unit) : x;
}

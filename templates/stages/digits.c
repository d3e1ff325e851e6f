/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quotients and roots a digit a trip, in integers, rounded once: for kernels with a workgroup, as
 * GPUs round theirs as they like, and of integers that they lack have none. A mantissa's bits, one
 * more to round by, and whether anything is left behind them. A hundred and fifty instructions of
 * f32: for a few results, not for elements.
 */
#include "elementary.h"

/* A function being built. */
typedef struct work {
    kir_builder *b;
    kir_type real, integer;
    unsigned mantissa; /* bits, without the leading one */
    uint64_t bias;
} work;

/* A number without its sign: 2^(exponent - bias) * mantissa / 2^mantissa, normal. */
typedef struct number {
    kir_value bits, exponent, mantissa;
} number;

static work begin(kir_builder *b, kir_value x)
{
    const kir_type type = kir_type_of(b, x);
    const int wide = type.kind == KIR_F64;
    return (work){ b, type, KIR_TYPE(wide ? KIR_I64 : KIR_I32, type.lanes), wide ? 52 : 23,
                   wide ? 1023 : 127 };
}

static kir_value integer(const work *w, uint64_t value)
{
    return kir_const(w->b, w->integer, value);
}

static kir_value op(const work *w, kir_op o, kir_value x, kir_value y)
{
    return kir_bin(w->b, o, x, y);
}

static kir_value compare(const work *w, kir_pred pred, kir_value x, kir_value y)
{
    return kir_cmp(w->b, pred, x, y);
}

static kir_value choose(const work *w, kir_value condition, kir_value yes, kir_value no)
{
    return kir_select(w->b, condition, yes, no);
}

static kir_value one_if(const work *w, kir_value condition)
{
    return kir_convert(w->b, KIR_ZEXT, w->integer, condition);
}

static uint64_t sign_bit(const work *w)
{
    return UINT64_C(1) << (kir_kind_bits((kir_kind)w->integer.kind) - 1);
}

static uint64_t infinity(const work *w)
{
    return (2 * w->bias + 1) << w->mantissa;
}

static number take_apart(const work *w, kir_value x)
{
    kir_value lead = integer(w, UINT64_C(1) << w->mantissa), place = integer(w, w->mantissa);
    kir_value lift = kir_const(w->b, w->real, (w->bias + w->mantissa) << w->mantissa);
    kir_value bits = op(w, KIR_AND, kir_convert(w->b, KIR_BITCAST, w->integer, x),
                        integer(w, sign_bit(w) - 1));
    kir_value tiny = compare(w, KIR_ULT, bits, lead);
    kir_value lifted = op(w, KIR_MUL, kir_convert(w->b, KIR_BITCAST, w->real, bits), lift);
    kir_value normal = choose(w, tiny, kir_convert(w->b, KIR_BITCAST, w->integer, lifted), bits);
    kir_value exponent = op(w, KIR_SUB, op(w, KIR_LSHR, normal, place),
                            choose(w, tiny, place, integer(w, 0)));
    kir_value below = op(w, KIR_AND, normal, integer(w, (UINT64_C(1) << w->mantissa) - 1));
    return (number){ bits, exponent, op(w, KIR_OR, below, lead) };
}

/* The nearest number, of two the even one, without its sign: of digits, the last of them to round
 * by, and what is left, which counts if it is not 0. An exponent of 1 is that of the least normal
 * numbers; the subnormal ones, below, lose digits first. */
static kir_value put_together(const work *w, kir_value digits, kir_value left, kir_value exponent)
{
    kir_value one = integer(w, 1), none = integer(w, 0);
    kir_value most = integer(w, w->mantissa + 3), missing = op(w, KIR_SUB, one, exponent);
    missing = op(w, KIR_SMIN, op(w, KIR_SMAX, missing, none), most);
    kir_value kept = op(w, KIR_LSHR, digits, missing);
    kir_value lost = op(w, KIR_XOR, op(w, KIR_SHL, kept, missing), digits);
    left = op(w, KIR_OR, left, lost);
    kir_value mantissa = op(w, KIR_LSHR, kept, one);
    kir_value tie = op(w, KIR_OR, one_if(w, compare(w, KIR_NE, left, none)), mantissa);
    mantissa = op(w, KIR_ADD, mantissa, op(w, KIR_AND, op(w, KIR_AND, kept, one), tie));
    kir_value above = op(w, KIR_SUB, op(w, KIR_SMAX, exponent, one), one);
    kir_value bits = op(w, KIR_ADD, op(w, KIR_SHL, above, integer(w, w->mantissa)), mantissa);
    kir_value beyond = compare(w, KIR_SLT, integer(w, 2 * w->bias), exponent);
    return choose(w, beyond, integer(w, infinity(w)), bits);
}

/* So many trips, with values that change: i counts in what the kernel's loops count in. */
static void start_trips(kir_builder *b, kir_loop *l, unsigned trips, unsigned count,
                        kir_value *initial)
{
    const kir_type counter = KIR_TYPE(kir_workgroup_of(b) > 0 ? KIR_I32 : KIR_I64, 1);
    kir_for(b, l, kir_const(b, counter, 0), kir_const(b, counter, trips), kir_const(b, counter, 1),
            count, initial);
}

kir_value tly_quotient_by_digits(kir_builder *b, kir_value x, kir_value y)
{
    const work w = begin(b, x);
    const number top = take_apart(&w, x), under = take_apart(&w, y);
    kir_value one = integer(&w, 1), none = integer(&w, 0), all = integer(&w, infinity(&w));
    kir_value below = one_if(&w, compare(&w, KIR_ULT, top.mantissa, under.mantissa));
    kir_value exponent = op(&w, KIR_SUB, op(&w, KIR_SUB, top.exponent, under.exponent), below);
    kir_value initial[3] = { op(&w, KIR_SHL, top.mantissa, below), none, under.mantissa };
    kir_loop l;
    start_trips(b, &l, w.mantissa + 2, 3, initial);
    kir_value divisor = l.carried[2];
    kir_value fits = compare(&w, KIR_ULE, divisor, l.carried[0]);
    kir_value left = op(&w, KIR_SUB, l.carried[0], choose(&w, fits, divisor, none));
    kir_value next[3] = { op(&w, KIR_SHL, left, one),
                          op(&w, KIR_OR, op(&w, KIR_SHL, l.carried[1], one), one_if(&w, fits)),
                          divisor };
    kir_for_end(b, &l, next);
    kir_value bits = put_together(&w, l.result[1], l.result[0],
                                  op(&w, KIR_ADD, exponent, integer(&w, w.bias)));
    kir_value zero = op(&w, KIR_OR, compare(&w, KIR_EQ, top.bits, none),
                        compare(&w, KIR_EQ, under.bits, all));
    kir_value large = op(&w, KIR_OR, compare(&w, KIR_EQ, top.bits, all),
                         compare(&w, KIR_EQ, under.bits, none));
    kir_value nan = op(&w, KIR_OR, op(&w, KIR_AND, zero, large), kir_cmp(b, KIR_UNO, x, y));
    bits = choose(&w, zero, none, choose(&w, large, all, bits));
    bits = choose(&w, nan, integer(&w, infinity(&w) | infinity(&w) >> 1), bits);
    kir_value signs = op(&w, KIR_XOR, kir_convert(b, KIR_BITCAST, w.integer, x),
                         kir_convert(b, KIR_BITCAST, w.integer, y));
    signs = op(&w, KIR_AND, signs, integer(&w, sign_bit(&w)));
    return kir_convert(b, KIR_BITCAST, w.real, op(&w, KIR_OR, bits, signs));
}

/* Two digits of the number come down for one of the root. */
kir_value tly_root_by_digits(kir_builder *b, kir_value x)
{
    const work w = begin(b, x);
    const number of = take_apart(&w, x);
    const unsigned width = kir_kind_bits((kir_kind)w.integer.kind);
    kir_value one = integer(&w, 1), two = integer(&w, 2), none = integer(&w, 0);
    /* bias is odd: where the exponent is even, it is not a multiple of two away. */
    kir_value odd = op(&w, KIR_XOR, op(&w, KIR_AND, of.exponent, one), one);
    kir_value exponent = op(&w, KIR_SUB, op(&w, KIR_ADD, of.exponent, integer(&w, w.bias)), odd);
    kir_value field = op(&w, KIR_SHL, of.mantissa, integer(&w, width - w.mantissa - 2));
    kir_value initial[3] = { op(&w, KIR_SHL, field, odd), none, none };
    kir_loop l;
    start_trips(b, &l, w.mantissa + 2, 3, initial);
    kir_value down = op(&w, KIR_LSHR, l.carried[0], integer(&w, width - 2));
    kir_value left = op(&w, KIR_OR, op(&w, KIR_SHL, l.carried[1], two), down);
    kir_value trial = op(&w, KIR_OR, op(&w, KIR_SHL, l.carried[2], two), one);
    kir_value fits = compare(&w, KIR_ULE, trial, left);
    kir_value next[3] = {
        op(&w, KIR_SHL, l.carried[0], two),
        op(&w, KIR_SUB, left, choose(&w, fits, trial, none)),
        op(&w, KIR_OR, op(&w, KIR_SHL, l.carried[2], one), one_if(&w, fits)),
    };
    kir_for_end(b, &l, next);
    kir_value bits = put_together(&w, l.result[2], l.result[1], op(&w, KIR_LSHR, exponent, one));
    kir_value root = kir_convert(b, KIR_BITCAST, w.real, bits);
    kir_value zero = kir_const(b, w.real, 0), most = kir_const(b, w.real, infinity(&w));
    kir_value nan = kir_const(b, w.real, infinity(&w) | infinity(&w) >> 1);
    kir_value inside = op(&w, KIR_AND, kir_cmp(b, KIR_OLT, zero, x), kir_cmp(b, KIR_OLT, x, most));
    root = choose(&w, inside, root, x); /* zeros, infinity and NaN are their own roots */
    return choose(&w, kir_cmp(b, KIR_OLT, x, zero), nan, root);
}

/* Digits of x come down into what is left, and those of the quotient take their places. */
kir_value tly_whole_by_digits(kir_builder *b, kir_value high, kir_value x, kir_value y)
{
    const kir_type type = kir_type_of(b, x);
    const unsigned width = kir_kind_bits((kir_kind)type.kind);
    kir_value one = kir_const(b, type, 1), none = kir_const(b, type, 0);
    kir_value initial[2] = { x, high != 0 ? high : none };
    kir_loop l;
    start_trips(b, &l, width, 2, initial);
    kir_value down = kir_bin(b, KIR_LSHR, l.carried[0], kir_const(b, type, width - 1));
    kir_value left = kir_bin(b, KIR_OR, kir_bin(b, KIR_SHL, l.carried[1], one), down);
    kir_value fits = kir_cmp(b, KIR_ULE, y, left);
    kir_value rest = kir_bin(b, KIR_SHL, l.carried[0], one);
    kir_value next[2] = {
        kir_bin(b, KIR_OR, rest, kir_convert(b, KIR_ZEXT, type, fits)),
        kir_bin(b, KIR_SUB, left, kir_select(b, fits, y, none)),
    };
    kir_for_end(b, &l, next);
    return l.result[0];
}

kir_value tly_quotient(kir_builder *b, kir_value x, kir_value y)
{
    return kir_workgroup_of(b) > 0 ? tly_quotient_by_digits(b, x, y) : kir_bin(b, KIR_DIV, x, y);
}

kir_value tly_root(kir_builder *b, kir_value x)
{
    return kir_workgroup_of(b) > 0 ? tly_root_by_digits(b, x) : kir_unary(b, KIR_SQRT, x);
}

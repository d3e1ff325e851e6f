/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reductions of floats along rows in another order than the plain loop's: partial results may leave
 * the range where the loop's do not (docs/range.md).
 *
 * Sums (reduce_sums.c): a chunk's sum that is not finite is added once more in multiples of 2^64,
 * where no sum overflows, and is handed on beside the plain sum. If elements are not finite
 * themselves, these decide alone.
 *
 * Products (reduce_products.c): a mantissa and an exponent leave no range. Only short chains are
 * plain products; if flags say that one of them left the range, each element is split. A product
 * beyond the output's range is the plain loop's own, which may have fallen to zero before.
 *
 * Sums of squares (reduce_squares.c): a sum that is infinite, or so small that squares may have
 * lost digits, is added once more of scaled elements if its root is in range.
 */
#include "reduce_float.h"

/* By bytes. */
static const tly_reduce_format formats[] = {
    { KIR_I32, 23, 127, 250, 0x7f800000, 0x3f800000, 0x1f800000, 0x5f800000,
      /* 2^-100, 2^100, 2^-102, 2^80 */
      0x0d800000, 0x71800000, 0x0c800000, 0x67800000 },
    { KIR_I64, 52, 1023, 2000, 0x7ff0000000000000, 0x3ff0000000000000, 0x3bf0000000000000,
      0x43f0000000000000,
      /* 2^-700, 2^700, 2^-960, 2^400 */
      0x1430000000000000, 0x6bb0000000000000, 0x03f0000000000000, 0x58f0000000000000 },
};

const tly_reduce_format *tly_reduce_format_of(const tly_build *c)
{
    return &formats[c->acc_bytes == 8];
}

kir_value tly_reduce_finite(tly_build *c, kir_value v)
{
    kir_value infinity = integer(c, lanes_of(c, v), (int64_t)tly_reduce_format_of(c)->infinity);
    return less(c, size(c, v), infinity);
}

/* The bits of the least magnitude that becomes infinite in the output: halfway between the output's
 * largest number and the one that would follow it. */
static int64_t least_infinite(const tly_build *c)
{
    static const struct {
        uint8_t mantissa; /* bits */
        int16_t most;     /* exponent */
    } narrow[TALLY_DTYPE_COUNT] = {
        [TALLY_F16] = { 10, 15 }, [TALLY_BF16] = { 7, 127 }, [TALLY_F32] = { 23, 127 }
    };
    const tly_reduce_format *f = tly_reduce_format_of(c);
    const unsigned out = c->p->tensor[TLY_OUT].dtype, kept = narrow[out].mantissa + 1u;
    if (out == c->p->acc || narrow[out].mantissa == 0)
        return (int64_t)f->infinity;
    return (((narrow[out].most + f->bias) << kept | ((INT64_C(1) << kept) - 1)))
           << (f->mantissa - kept);
}

/* i1s: finite as elements of the output. */
static kir_value fits(tly_build *c, kir_value y)
{
    return less(c, size(c, y), integer(c, lanes_of(c, y), least_infinite(c)));
}

kir_value tly_reduce_infinite(tly_build *c, kir_value y)
{
    return band(c, tly_not(c, fits(c, y)), oeq(c, y, y));
}

/* Sums in multiples of a unit are rare. Where there are none, the branch costs nothing. */
static kir_value result_of(tly_reduce *r, const tly_place *at, kir_value state)
{
    const tly_reduce_ends *ends = r->checks_squares ? &tly_reduce_ends_of_squares
                                                    : &tly_reduce_ends_of_sums;
    tly_build *c = r->c;
    kir_value far = ends->far(c, state), y = 0;
    tly_region some = { .state = { &y } };
    emit_if(c, &some, any(c, far));
    const tly_scaled scaled = ends->scaled(c, state, far);
    y = tly_reduce_result(r, at, scaled.sum, scaled.unit);
    emit_else(c, &some);
    y = tly_reduce_result(r, at, ends->near(c, state), 0);
    emit_end(c, &some);
    return y;
}

kir_value tly_reduce_finish(tly_reduce *r, const tly_reduce_span *all, const tly_place *at,
                            tly_step_of step, kir_value state)
{
    if (r->is_i128)
        return tly_reduce_result_of_whole(r, at, state);
    if (r->checks_sums || r->checks_squares)
        return result_of(r, at, state);
    if (r->checks_products)
        state = tly_reduce_checked_product(r, all, step, state);
    return tly_reduce_result(r, at, state, 0);
}

/* Reads flags only if some sum may be wrong. */
static kir_value strays(tly_build *c, kir_value state)
{
    unsigned n = lanes_of(c, state);
    kir_value bad = tly_reduce_suspects(c, state);
    tly_region some = { .state = { &bad } };
    emit_if(c, &some, any(c, bad));
    kir_value met = kir_flags(c->b);
    kir_value under = kir_splat(c->b, tly_reduce_raised(c, met, KIR_UNDERFLOWED), n);
    kir_value over = kir_splat(c->b, tly_reduce_raised(c, met, KIR_OVERFLOWED), n);
    bad = tly_reduce_wrong_squares(c, state, under, over);
    emit_end(c, &some);
    return bad;
}

kir_value tly_reduce_check(tly_reduce *r, kir_value state, kir_value *bad, kir_value *made)
{
    tly_build *c = r->c;
    *bad = *made = 0;
    if (r->checks_products) {
        kir_value flags = kir_flags(c->b), y = tly_reduce_product_of(c, state);
        kir_value met = differ(c, flags, constant(c, type_of(c, flags), 0));
        *bad = bor(c, kir_splat(c->b, met, lanes_of(c, y)), tly_reduce_infinite(c, y));
        *made = tly_not(c, met);
        return y;
    }
    if (r->checks_squares)
        *bad = strays(c, state);
    if (r->checks_sums) {
        kir_value lost = tly_not(c, tly_reduce_finite(c, state));
        kir_value met = tly_reduce_overflowed(c, any(c, lost));
        *bad = band(c, kir_splat(c->b, met, lanes_of(c, state)), lost);
    }
    return state;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows template: finds out whether parts and results of a step, or extremes of a span, left the
 * floating-point range. docs/range.md has the reasons.
 */
#include "rows.h"

kir_value tly_rows_is_zero(tly_rows *r, kir_value v)
{
    return oeq(r->c, v, constant(r->c, r->c->vec, 0));
}

/* i1s: elements that are no exact zero. */
kir_value tly_rows_elements_not_zero(tly_rows *r, const kir_value *x)
{
    kir_value some = tly_check_not_zero(r->c, x[0]);
    return r->pairs ? band(r->c, some, tly_check_not_zero(r->c, x[1])) : some;
}

/* i1s, in lanes of magnitudes: sums that may be too large. If the sum before was infinite or NaN
 * already, only a part that is so counts. */
kir_value tly_rows_sums_out_of_range(tly_rows *r, const tly_rows_result *y)
{
    tly_build *c = r->c;
    kir_value fine = tly_check_below(c, tly_check_bits(c, y->y), TLY_LARGE);
    kir_value finite = tly_check_below(c, tly_check_bits(c, y->first), TLY_INFINITE);
    kir_value part = tly_check_below(c, tly_check_bits(c, y->part), TLY_INFINITE);
    fine = bor(c, fine, band(c, part, tly_not(c, finite)));
    return tly_not(c, fine);
}

/* i1s: a result of 0 is exact where the element is 0, or where the lane before it in its scan is 0,
 * too; else it fell there. */
static kir_value fell(tly_rows *r, const kir_value *x, kir_value part)
{
    tly_build *c = r->c;
    kir_value from = tly_vector_before(c, tly_neutral(c, c->vec), part, r->interleave, c->lanes);
    kir_value some = band(c, tly_rows_elements_not_zero(r, x), tly_check_not_zero(c, from));
    return band(c, some, tly_rows_is_zero(r, part));
}

static kir_value any_fell(tly_rows *r, kir_value here, const tly_rows_part *p)
{
    tly_build *c = r->c;
    kir_value all = 0;
    for (unsigned k = 0; k < r->unroll; k++) {
        kir_value x[2];
        tly_rows_load_step(r, here, imm(c, k), x);
        all = accumulate(c, KIR_OR, all, fell(r, x, p[k].scan));
    }
    return any(c, all);
}

kir_value tly_rows_part_out_of_range(tly_rows *r, const kir_value *x, kir_value part)
{
    kir_value outside = tly_check_outside(r->c, part, TLY_CHECK_PART);
    return bor(r->c, outside, fell(r, x, part));
}

/* Why a part is zero is looked at only if there are zeros. */
kir_value tly_rows_parts_out_of_range(tly_rows *r, kir_value here, const tly_rows_part *p)
{
    tly_build *c = r->c;
    kir_value outside = 0, zeros = 0, out = i1(c, 0);
    for (unsigned k = 0; k < r->unroll; k++) {
        kir_value out = tly_check_outside(c, p[k].scan, TLY_CHECK_PART);
        kir_value zero = tly_rows_is_zero(r, p[k].scan);
        outside = accumulate(c, KIR_OR, outside, out);
        zeros = accumulate(c, KIR_OR, zeros, zero);
    }
    tly_region some = { .state = { &out } };
    emit_if(c, &some, any(c, zeros));
    out = any_fell(r, here, p);
    emit_end(c, &some);
    return bor(c, out, any(c, outside));
}

/* Products whose scan, by `newest`, is below all normal numbers become 0 for good: the plain loop
 * is there, too, and nothing that came back from there on a way of ours could be told from it. */
kir_value tly_rows_flush(tly_rows *r, kir_value v, kir_value newest)
{
    tly_build *c = r->c;
    if (!tly_checks_products(c))
        return v;
    kir_value tiny = tly_check_below(c, tly_check_bits(c, newest), TLY_TINY);
    kir_value zero = mul(c, v, constant(c, c->vec, 0));
    return choose(c, tly_check_lanes(c, tiny), zero, v);
}

/* Lanes of a class follow each other by `interleave`. */
kir_value tly_rows_end_of(tly_rows *r, kir_value last, unsigned k)
{
    unsigned n = r->c->lanes, end = r->unroll * n;
    uint8_t index[64];
    for (unsigned i = 0; i < n; i++)
        index[i] = (uint8_t)(n - 1 - (end - 1 - k * n - i) % r->interleave);
    return kir_shuffle(r->c->b, last, last, index, n);
}

/* i1s: products that are so small that the plain loop has lost them, in scans that were not 0
 * before. */
static kir_value sunk(tly_rows *r, const tly_rows_result *y)
{
    tly_build *c = r->c;
    kir_value tiny = tly_check_lanes(c, tly_check_below(c, tly_check_bits(c, y->y), TLY_TINY));
    return band(c, tiny, tly_check_not_zero(c, y->first));
}

/* i1: results may have come to an end of the range, and not because a product is 0 for good. Unless
 * `wide` (i1) holds, no product moved by more than half of the range in the step. */
static kir_value near_end(tly_rows *r, kir_value wide, const tly_rows_result *y)
{
    tly_build *c = r->c;
    if (!tly_checks_products(c)) {
        kir_value most = 0;
        for (unsigned k = 0; k < r->unroll; k++)
            most = accumulate(c, KIR_UMAX, most, tly_check_bits(c, y[k].y));
        return any(c, tly_not(c, tly_check_below(c, most, TLY_LARGE)));
    }
    kir_value least = umin(c, tly_check_bits(c, y[0].first), tly_check_bits(c, y[r->unroll - 1].y));
    kir_value low = any(c, tly_check_below(c, least, TLY_SMALL));
    kir_value near = i1(c, 0), some = 0;
    tly_region zero = { .state = { &near } };
    emit_if(c, &zero, bor(c, wide, low));
    for (unsigned k = 0; k < r->unroll; k++)
        some = accumulate(c, KIR_OR, some, sunk(r, &y[k]));
    near = any(c, some);
    emit_end(c, &zero);
    return near;
}

kir_value tly_rows_shows_infinity(tly_rows *r, const kir_value *shown, unsigned k)
{
    tly_build *c = r->c;
    kir_value most = tly_check_bits(c, shown[k << r->pairs]);
    if (r->pairs)
        most = umax(c, most, tly_check_bits(c, shown[2 * k + 1]));
    return tly_check_lanes(c, tly_check_infinite(c, most));
}

kir_value tly_rows_results_out_of_range(tly_rows *r, kir_value wide, const tly_rows_result *y,
                                        const kir_value *shown, tly_rows_state *s)
{
    tly_build *c = r->c;
    unsigned unroll = r->unroll;
    kir_value out = i1(c, 0), bad = 0;
    kir_value fell = 0, large = 0; /* where the output is narrower: anywhere in the step */
    tly_region look = { .state = { &out, &s->last[0] } };
    emit_if(c, &look, near_end(r, wide, y));
    for (unsigned k = 0; k < unroll; k++) {
        kir_value own;
        if (tly_checks_products(c)) {
            kir_value end = tly_check_bits(c, tly_rows_end_of(r, y[unroll - 1].y, k));
            kir_value low = tly_check_below(c, tly_check_bits(c, y[k].y), TLY_TINY);
            own = band(c, low, tly_not(c, tly_check_below(c, end, TLY_TINY)));
            if (tly_checks_output(c)) {
                kir_value infinite = tly_rows_shows_infinity(r, shown, k);
                fell = accumulate(c, KIR_OR, fell, low);
                large = accumulate(c, KIR_OR, large, infinite);
            }
        } else {
            own = tly_rows_sums_out_of_range(r, &y[k]);
        }
        bad = accumulate(c, KIR_OR, bad, own);
    }
    out = any(c, bad);
    if (fell)
        out = bor(c, out, band(c, any(c, fell), any(c, large)));
    s->last[0] = tly_rows_flush(r, s->last[0], s->last[0]);
    emit_end(c, &look);
    return out;
}

/* ---- of a whole span ---- */

tly_rows_seen tly_rows_see_none(tly_rows *r)
{
    tly_build *c = r->c;
    kir_value one = tly_check_bits(c, tly_neutral(c, c->vec));
    kir_value low = constant(c, type_of(c, one), 0);
    return (tly_rows_seen){ low, one, one, 0 };
}

/* Leaves out infinities, NaNs and zeros, which are the same in every order. */
static void see_finite(tly_rows *r, kir_value *high, kir_value *low, kir_value v)
{
    tly_build *c = r->c;
    if (high)
        *high = umax(c, *high, tly_check_finite(c, tly_check_bits(c, v)));
    *low = umin(c, *low, tly_check_less(c, v));
}

void tly_rows_see_part(tly_rows *r, tly_rows_seen *seen, kir_value v)
{
    if (r->windows || r->ends_by_flags)
        see_finite(r, &seen->high, &seen->low, v);
    else
        seen->high = tly_check_apart(r->c, seen->high, v, TLY_CHECK_PART);
}

unsigned tly_rows_range_parts(const tly_rows *r)
{
    return TLY_CHECK_PART * r->unroll * (r->windows ? r->c->lanes : 1);
}

kir_value tly_rows_seen_apart(tly_rows *r, const tly_rows_seen *seen)
{
    tly_build *c = r->c;
    if (!r->windows && !r->ends_by_flags)
        return any(c, tly_check_out_of_range(c, seen->high, TLY_CHECK_PART));
    return any(
        c, tly_check_beyond(c, seen->high, seen->low, r->windows ? c->lanes : TLY_CHECK_PART, 1));
}

void tly_rows_see_result(tly_rows *r, tly_rows_seen *seen, const tly_rows_result *y)
{
    tly_build *c = r->c;
    if (tly_checks_products(c)) {
        see_finite(r, NULL, &seen->results, r->windows ? y->y : y->first);
        return;
    }
    kir_value bits = tly_check_bits(c, y->y);
    if (r->ends_by_flags)
        bits = tly_check_finite(c, bits);
    seen->results = umax(c, seen->results, bits);
}

kir_value tly_rows_is_lost(tly_rows *r, const tly_rows_state *s)
{
    tly_build *c = r->c;
    if (tly_checks_products(c) && r->interleave > 1)
        return any(c, tly_check_below(c, tly_check_less(c, s->last[0]), TLY_SMALL));
    if (tly_checks_products(c) || r->ends_by_flags)
        return i1(c, 0);
    return any(c, tly_not(c, tly_check_below(c, tly_check_bits(c, s->last[0]), TLY_INFINITE)));
}

/* By windows each lane is a chain of its own: a 0 stays one there, so that what fell within the
 * span shows at its end. If all lanes did, the plain loop has, too; a part of them alone may not
 * stay. Each vector by itself, what it continues must be so large that no lane can fall; or
 * come to nothing in the end, where that is no other scan's affair. */
kir_value tly_rows_seen_out_of_range(tly_rows *r, const tly_rows_seen *seen, tly_rows_state *s)
{
    tly_build *c = r->c;
    if (!tly_checks_products(c))
        return any(c, r->ends_by_flags ? tly_check_large(c, seen->results)
                                       : tly_not(c, tly_check_below(c, seen->results, TLY_LARGE)));
    kir_value out = tly_rows_seen_apart(r, seen);
    if (!r->windows) {
        kir_value low = any(c, tly_check_below(c, seen->results, TLY_SMALL));
        if (r->interleave > 1)
            return bor(c, out, low);
        low = band(c, low, any(c, tly_check_not_tiny(c, s->last[0])));
        s->last[0] = tly_rows_flush(r, s->last[0], s->last[0]);
        return bor(c, out, low);
    }
    kir_value end = tly_check_bits(c, s->last[0]);
    kir_value fell = tly_check_below(c, seen->results, TLY_NORMAL);
    fell = any(c, bor(c, fell, tly_check_below(c, end, TLY_NORMAL)));
    kir_value normal = any(c, tly_check_not_tiny(c, s->last[0]));
    s->last[0] = tly_rows_flush(r, s->last[0], s->last[0]);
    return bor(c, out, band(c, fell, normal));
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows template: what the flags of a span's arithmetic mean, and what they do not tell.
 * docs/range.md has the reasons.
 */
#include "rows.h"

kir_value tly_rows_flags_again(tly_rows *r, const tly_rows_span *g, const tly_rows_source *in,
                               kir_value count, const tly_rows_attempt *attempt,
                               tly_rows_state from, kir_value flags)
{
    tly_build *c = r->c;
    tly_rows_span look = *g;
    tly_rows_seen seen = { 0, 0, 0, 0 };
    tly_region again = { .state = { &flags } };
    if (!r->posts || r->deferred || !tly_checks_products(c))
        return flags;
    kir_value some = raised(c, flags);
    look.to = look.lines = look.leaves = look.prescaled = 0;
    if (attempt)
        some = band(c, some, tly_not(c, attempt->prescaled));
    emit_if(c, &again, some);
    const unsigned total = r->totals && r->by_flags ? TLY_ROWS_TOTAL : 0;
    tly_rows_run(r, &look, in, count, TLY_ROWS_RESULTS | total, &from, &seen);
    kir_keep(c->b, from.last[0]); /* the optimiser would leave out what nothing uses */
    if (total)                    /* whose products leave the range on their own */
        kir_keep(c->b, from.total[0]);
    flags = kir_flags(c->b);
    emit_end(c, &again);
    return flags;
}

/* i1: elements of a span (by windows; else scans of vectors) are too far apart for results to be
 * sure to agree with the plain loop's. */
static kir_value is_apart(tly_rows *r, const tly_rows_span *g, const tly_rows_source *in)
{
    tly_build *c = r->c;
    tly_rows_seen seen = tly_rows_see_none(r);
    tly_region l = { .state = { &seen.high, &seen.low } };
    emit_for(c, &l, imm(c, 0), tly_round_up(c, g->count, r->step), imm(c, r->step));
    kir_value there = tly_rows_place(r, in, l.i), mapped[MAX_UNROLL];
    if (r->maps)
        tly_rows_map_step(r, in->span, there, mapped);
    for (unsigned k = 0; k < r->unroll; k++) {
        kir_value x[2] = { mapped[k] };
        kir_value at = r->maps ? 0 : tly_rows_load_step(r, there, imm(c, k), x);
        tly_rows_see_part(r, &seen, r->windows ? x[0] : tly_rows_part_of(r, at, x).scan);
    }
    emit_end(c, &l);
    return tly_rows_seen_apart(r, &seen);
}

/* i1: products of a span that raised flags may differ from the plain loop's. If elements are near
 * each other, products that left the range stay out of it, and so do the plain loop's, if they
 * overflowed, or underflowed and none came back. */
static kir_value products_out_of_range(tly_rows *r, const tly_rows_span *g,
                                       const tly_rows_source *in, kir_value flags,
                                       tly_rows_state *s)
{
    tly_build *c = r->c;
    kir_value out = i1(c, 1);
    if (!tly_checks_products(c))
        return out;
    kir_value under = met(c, flags, KIR_UNDERFLOWED);
    tly_region gone = { .state = { &out } };
    emit_unless(c, &gone, band(c, under, any(c, tly_check_not_tiny(c, s->last[0]))));
    out = is_apart(r, g, in);
    emit_end(c, &gone);
    s->last[0] = tly_rows_flush(r, s->last[0], s->last[0]);
    return out;
}

/* i1: the output will show a result of the span as infinite; read from the accumulators kept. */
static kir_value keeps_infinity(tly_rows *r, const tly_rows_span *g)
{
    tly_build *c = r->c;
    kir_value most = tly_check_bits(c, constant(c, c->vec, 0));
    tly_region l = { .state = { &most } };
    emit_for(c, &l, imm(c, 0), tly_round_up(c, g->count, c->lanes), imm(c, c->lanes));
    kir_value v = kir_load(c->b, c->vec, tly_rows_acc_results_at(r, l.i), 0, c->acc_bytes);
    most = umax(c, most, tly_check_bits(c, v));
    emit_end(c, &l);
    return any(c, tly_check_infinite(c, most));
}

/* The same, read from the stored results, which are in the cache (go_direct in rows.c). */
static kir_value shows_infinity(tly_rows *r, const tly_rows_span *g)
{
    tly_build *c = r->c;
    kir_type t = tly_storage((tally_dtype)c->p->tensor[TLY_OUT].dtype, (unsigned)r->wide);
    kir_type bits = KIR_TYPE(c->bytes[TLY_OUT] == 2 ? KIR_I16 : KIR_I32, t.lanes);
    uint64_t infinity = tly_check_stored_infinity(c);
    int64_t lowest = tly_stored_step(c) < 0 ? (1 - (int64_t)r->wide) * c->bytes[TLY_OUT] : 0;
    kir_value most = constant(c, bits, 0);
    tly_region l = { .state = { &most } };
    emit_for(c, &l, imm(c, 0), tly_round_up(c, g->count, r->wide), imm(c, r->wide));
    kir_value v = kir_load(c->b, t, tly_stored_at(c, g->to, l.i), lowest, 1);
    v = bitcast(c, bits, v);
    most = umax(c, most, band(c, v, like(c, v, infinity)));
    emit_end(c, &l);
    return any(c, equal(c, most, like(c, most, infinity)));
}

kir_value tly_rows_shown_out_of_range(tly_rows *r, const tly_rows_span *g, kir_value may,
                                      const tly_rows_state *from, const tly_rows_state *s)
{
    tly_build *c = r->c;
    kir_value below = tly_not(c, any(c, tly_check_not_tiny(c, s->last[0])));
    kir_value fell = band(c, below, any(c, tly_check_not_tiny(c, from->last[0])));
    kir_value shows = i1(c, 0);
    tly_region look = { .state = { &shows } };
    emit_if(c, &look, band(c, may, fell));
    shows = r->deferred ? keeps_infinity(r, g) : shows_infinity(r, g);
    emit_end(c, &look);
    return shows;
}

kir_value tly_rows_flags_out_of_range(tly_rows *r, const tly_rows_span *g,
                                      const tly_rows_source *in, kir_value flags, tly_rows_state *s)
{
    tly_build *c = r->c;
    kir_value out = i1(c, 0);
    tly_region some = { .state = { &out, &s->last[0] } };
    emit_if(c, &some, raised(c, flags));
    out = products_out_of_range(r, g, in, flags, s);
    emit_end(c, &some);
    return out;
}

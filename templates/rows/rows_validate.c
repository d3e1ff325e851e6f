/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows template: scans a span in fast mode and validates it. If something may have left the
 * floating-point range, scans it again in safe mode. docs/range.md has the reasons.
 */
#include "rows.h"

#include <string.h>

/* ---- totals ---- */

/* Computes the total without results. If it underflowed or overflowed on its way, it is invalid. */
static void total_alone(tly_rows *r, const tly_rows_span *g, const tly_rows_source *in,
                        tly_rows_state *s)
{
    tly_build *c = r->c;
    tly_rows fast = *r;
    fast.fast = r->checks;
    tly_rows_run(&fast, g, in, g->count, TLY_ROWS_TOTAL, s, NULL);
    if (!r->checks || !r->checks_total)
        return;
    s->total_invalid = bor(c, s->total_invalid, raised(c, kir_flags(c->b)));
    s->total[0] = choose(c, s->total_invalid, constant(c, c->vec, 0), s->total[0]);
}

/* If `wanted` (i1) holds, computes the total of the span that began with `from` on its own. It
 * depends on the chunk alone, and not on its results. */
static void retotal(tly_rows *r, const tly_rows_span *g, const tly_rows_source *in,
                    kir_value wanted, const tly_rows_state *from, tly_rows_state *s)
{
    tly_build *c = r->c;
    tly_rows_state alone = *from;
    tly_region retotal = { 0 };
    emit_carry(&retotal, tly_rows_total_count(r), s->total);
    if (r->checks_total)
        emit_carry(&retotal, 1, &s->total_invalid);
    emit_if(c, &retotal, wanted);
    total_alone(r, g, in, &alone);
    memcpy(s->total, alone.total, sizeof s->total);
    s->total_invalid = alone.total_invalid;
    emit_end(c, &retotal);
}

/* Scans a span of interleaved sums. Rows that are cut in chunks have totals and a loop of their
 * own, so that short rows pay less (8 steps of 3 scans: 1.05 of the time without totals, by one
 * loop 1.1; Zen 4). */
static void run_sums(tly_rows *r, const tly_rows_span *g, const tly_rows_source *in,
                     kir_value count, tly_rows_state *s, tly_rows_seen *seen)
{
    tly_build *c = r->c;
    const tly_rows_state from = *s;
    tly_region cut = { 0 };
    tly_rows_carry(r, &cut, s);
    if (r->fast)
        emit_carry(&cut, 1, &seen->results);
    emit_if(c, &cut, r->is_cut);
    tly_rows_run(r, g, in, count, TLY_ROWS_RESULTS | TLY_ROWS_TOTAL, s, seen);
    retotal(r, g, in, r->only_total, &from, s);
    emit_else(c, &cut);
    tly_rows_run(r, g, in, count, TLY_ROWS_RESULTS, s, seen);
    emit_end(c, &cut);
}

/* Gives up a total of f64 that is near the end of the range after a span: products that fall so
 * slowly would go through hundreds of subnormal numbers, or stay at one for the rest of the chunk.
 * A total of f32 falls through its whole range in a span or two. */
static void give_up(tly_rows *r, tly_rows_state *s)
{
    tly_build *c = r->c;
    if (!tly_checks_products(c) || c->acc.kind != KIR_F64)
        return;
    kir_value total = s->total[0];
    kir_value faint = tly_check_below(c, tly_check_bits(c, total), TLY_FAINT);
    faint = band(c, tly_check_lanes(c, faint), tly_check_not_zero(c, total));
    s->total_invalid = bor(c, s->total_invalid, any(c, faint));
    s->total[0] = choose(c, s->total_invalid, constant(c, c->vec, 0), total);
}

/* ---- a span ---- */

/* Sends again the lines that a span sent before it was validated. */
static void send_again(tly_rows *r, const tly_rows_span *g)
{
    tly_build *c = r->c;
    tly_region l = { 0 };
    emit_for(c, &l, g->leaves, tly_round_up(c, g->count, r->step), imm(c, r->step));
    tly_rows_send(r, g, l.i);
    emit_end(c, &l);
}

/* Scans a span again from state `again` in safe mode, each vector by itself, without totals. */
static void redo(tly_rows *r, const tly_rows_span *g, kir_value out, tly_rows_state again,
                 tly_rows_state *s)
{
    tly_build *c = r->c;
    tly_rows safe = *r;
    tly_region redo = { .state = { &s->last[0] } };
    safe.windows = safe.prescale_steps = safe.fast = safe.deferred = safe.totals = safe.corrects =
        safe.maps = safe.loads = 0;
    safe.unroll = SAFE_UNROLL;
    safe.step = (int64_t)SAFE_UNROLL * r->wide;
    emit_if(c, &redo, out);
    tly_rows_source in = tly_rows_prepare(&safe, g);
    tly_rows_span still = *g;
    still.leaves = 0;
    tly_rows_run(&safe, &still, &in, g->count, TLY_ROWS_RESULTS, &again, NULL);
    if (g->leaves)
        send_again(r, g);
    s->last[0] = again.last[0];
    emit_end(c, &redo);
}

/* Scans a span once in fast mode. attempt: which, if rows may be prescaled; else NULL. Returns i1:
 * the span must be scanned again; 0: never. */
static kir_value scan_once(tly_rows *r, const tly_rows_span *g, const tly_rows_source *in,
                           tly_rows_attempt *attempt, tly_rows_state *s)
{
    tly_build *c = r->c;
    const tly_rows_state from = *s;
    kir_value count = g->count, lost = 0, flags = 0, out, zero = imm(c, 0);
    unsigned what = TLY_ROWS_RESULTS;
    tly_rows_seen seen = { 0, 0, 0, 0 };
    tly_rows_span to = *g;
    if (r->totals && (r->by_flags || !r->checks))
        what |= TLY_ROWS_TOTAL;
    if (r->fast && !r->by_flags) {
        lost = tly_rows_is_lost(r, s);
        count = choose(c, lost, zero, count);
    }
    if (r->totals)
        count = choose(c, r->only_total, zero, count);
    if (attempt)
        to = tly_rows_prescale(r, g, attempt, s);
    if (r->totals && r->interleave > 1)
        run_sums(r, &to, in, count, s, &seen);
    else
        tly_rows_run(r, &to, in, count, what, s, &seen);
    if (r->by_flags || r->ends_by_flags) {
        flags = tly_rows_flags_again(r, g, in, count, attempt, from, kir_flags(c->b));
        if (r->totals) /* with no results a step was looked at in vain */
            flags = choose(c, r->only_total, like(c, flags, 0), flags);
    }
    if (attempt)
        tly_rows_settle(r, g, count, s, &flags, attempt);
    else if (r->deferred)
        tly_rows_store_deferred(r, g, count, NULL);
    if (r->checks_total) {
        kir_value wanted = r->only_total, some = tly_not(c, from.total_invalid);
        if (r->by_flags)
            wanted = bor(c, wanted, raised(c, flags));
        if (r->checks)
            wanted = r->by_flags ? band(c, wanted, some) : some;
        retotal(r, g, in, wanted, &from, s);
        give_up(r, s);
    }
    out = !r->fast      ? 0
          : r->by_flags ? tly_rows_flags_out_of_range(r, g, in, flags, s)
                        : bor(c, lost, tly_rows_seen_out_of_range(r, &seen, s));
    if (r->ends_by_flags)
        out = bor(c, out, raised(c, flags));
    if (r->prescale_steps)
        out = bor(c, out, seen.bad);
    if (out && r->interleave == 1 && tly_checks_output(c)) {
        kir_value may = r->by_flags ? raised(c, flags) : i1(c, 1);
        out = bor(c, out, tly_rows_shown_out_of_range(r, g, may, &from, s));
    }
    return out;
}

/* Scans a span plainly or prescaled and, if that failed, the other way. Returns i1: both failed, or
 * the span must be scanned again. The bits do not depend on which way was the first. */
static kir_value scan_either(tly_rows *r, const tly_rows_span *g, const tly_rows_source *in,
                             tly_rows_state *s)
{
    tly_build *c = r->c;
    const tly_rows_state from = *s;
    kir_value goes = tly_not(c, i1(c, 0)), prescaled = tly_rows_prescales_at_once(r),
              out = i1(c, 0);
    tly_region l = { .state = { &goes, &prescaled, &out } },
               some = { .state = { &goes, &prescaled, &out } };
    tly_rows_carry(r, &l, s);
    tly_rows_carry(r, &some, s);
    emit_for(c, &l, imm(c, 0), imm(c, 2), imm(c, 1));
    tly_rows_attempt attempt = { prescaled, differ(c, l.i, imm(c, 0)), 0 };
    emit_if(c, &some, goes);
    *s = from;
    out = scan_once(r, g, in, &attempt, s);
    goes = band(c, attempt.bad, tly_not(c, attempt.again));
    prescaled = tly_not(c, attempt.prescaled);
    out = bor(c, out, attempt.bad);
    emit_end(c, &some);
    emit_end(c, &l);
    return out;
}

void tly_rows_scan(tly_rows *r, const tly_rows_span *g, tly_rows_state *s)
{
    tly_build *c = r->c;
    if (c->plan->scan == TLY_SCAN_SCALARS) {
        tly_rows_scan_scalar(r, g, s);
        return;
    }
    const tly_rows_state from = *s;
    tly_rows_source in = tly_rows_prepare(r, g);
    kir_value out = r->prescale_rows ? scan_either(r, g, &in, s) : scan_once(r, g, &in, NULL, s);
    if (r->windows) /* lanes were chains of their own */
        s->last[0] = tly_vector_newest(c, s->last[0], 1);
    if (!out)
        return;
    if (r->totals)
        out = band(c, out, tly_not(c, r->only_total));
    redo(r, g, out, from, s);
}

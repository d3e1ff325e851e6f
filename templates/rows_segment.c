/*
 * Segments of the rows template: the windowed scan of what lies staged in scratch, its variant in
 * scalar runs, and the plain loop for a segment that left the range.
 */
#include "rows.h"

/* ---- one vector ---- */

/* The window that ends at each lane of the vector at `p`, from overlapping loads alone. */
static kir_value load_window(tly_rows *r, kir_value p)
{
    tly_build *c = r->c;
    kir_value x[4];
    for (unsigned k = 0; k < 1u << r->loads; k++)
        x[k] = kir_load(c->b, c->vec, p, -(int64_t)k * r->unit * c->acc_bytes, c->acc_bytes);
    for (unsigned n = 1u << r->loads; n > 1; n /= 2)
        for (unsigned k = 0; k < n / 2; k++)
            x[k] = tly_combine(c, x[2 * k + 1], x[2 * k]);
    return x[0];
}

/* windows: the previous vector's, one a doubling by shuffle. */
static kir_value scan_vector(tly_rows *r, kir_value p, kir_value *windows, kir_value *history)
{
    tly_build *c = r->c;
    kir_value w = load_window(r, p);
    for (unsigned d = r->loads; d < r->doublings; d++) {
        kir_value *before = &windows[d - r->loads];
        kir_value wider = tly_combine(c, tly_shift(c, *before, w, r->unit << d), w);
        *before = w;
        w = wider;
    }
    /* y of `shift` elements before: the oldest vectors of the history. */
    unsigned last = r->history - 1, over = r->history * c->lanes - r->shift;
    kir_value back = history[last];
    if (over > 0) /* then it spans two */
        back = tly_shift(c, history[last], history[last - 1], c->lanes - over);
    kir_value y = tly_combine(c, back, w);
    for (unsigned k = last; k > 0; k--)
        history[k] = history[k - 1];
    history[0] = y;
    return y;
}

/* ---- one segment: a row's part in this block ---- */

/* What scan_segment does, for operators whose vector form is slow and whose order is free (64-bit
 * integer products below AVX-512): the segment is cut in `runs`, scanned side by side by scalar
 * code, after a first reading for their totals. Measured on Zen 3, i64 product in L2: 2.1 cycles
 * an element against 3.6 by vectors and 3.1 by one chain. */
static void scan_runs(tly_rows *r, kir_value from, kir_value to, kir_value ahead, kir_value count,
                      kir_value carry, kir_value *history)
{
    tly_build *c = r->c;
    kir_builder *b = c->b;
    unsigned runs = (unsigned)c->plan->runs, shift = runs == 8 ? 3 : runs == 4 ? 2 : 1;
    kir_value length = kir_bin(b, KIR_LSHR, tly_round_up(c, count, r->step), imm(c, shift));
    kir_value bytes = mul(c, length, imm(c, c->acc_bytes));
    kir_value y[8], at[8], out[8] = { 0 };
    for (unsigned k = 0; k < runs; k++) {
        kir_value offset = mul(c, bytes, imm(c, k));
        y[k] = tly_neutral(c, c->acc);
        at[k] = kir_ptradd(b, from, offset);
        out[k] = to ? kir_ptradd(b, to, offset) : 0;
    }
    kir_loop l;
    kir_for(b, &l, imm(c, 0), length, imm(c, 1), runs, y);
    for (unsigned k = 0; k < runs; k++)
        y[k] = tly_combine(c, l.carried[k], kir_load(b, c->acc, tly_at(c, at[k], l.i, c->acc_bytes),
                                                     0, c->acc_bytes));
    kir_for_end(b, &l, y);
    kir_value local = tly_last(c, history[0]), start[8];
    for (unsigned k = 0; k < runs; k++) {
        start[k] = carry ? tly_combine(c, carry, local) : local;
        local = tly_combine(c, local, l.result[k]);
    }
    for (unsigned k = 0; k < r->history; k++)
        history[k] = kir_splat(b, local, c->lanes);
    if (!to)
        return;
    kir_for(b, &l, imm(c, 0), length, imm(c, 1), runs, start);
    for (unsigned k = 0; k < runs; k++) {
        kir_value x = kir_load(b, c->acc, tly_at(c, at[k], l.i, c->acc_bytes), 0, c->acc_bytes);
        y[k] = tly_combine(c, l.carried[k], x);
        kir_store(b, tly_at(c, out[k], l.i, c->acc_bytes), 0, y[k], c->acc_bytes, 0);
    }
    kir_value next = mul(c, l.i, mul(c, tly_in_step(c), imm(c, runs)));
    kir_prefetch(b, kir_ptradd(b, ahead, next), 0);
    kir_for_end(b, &l, y);
}

/* Scans the staged segment at `from`; writes carry + y to `to` unless that is 0. history and
 * range are brought up to date. `ahead` is where to prefetch from. */
void tly_rows_scan(tly_rows *r, kir_value from, kir_value to, kir_value ahead, kir_value count,
                         kir_value carry, kir_value *history, kir_value *range)
{
    tly_build *c = r->c;
    kir_builder *b = c->b;
    unsigned windows = r->doublings - r->loads, ranges = tly_range_count(c), n = 0;
    kir_value v[KIR_MAX_CARRIED];
    if (c->plan->runs > 0) {
        scan_runs(r, from, to, ahead, count, carry, history);
        return;
    }
    for (unsigned k = 0; k < windows; k++)
        v[n++] = tly_neutral(c, c->vec);
    for (unsigned k = 0; k < r->history; k++)
        v[n++] = history[k];
    for (unsigned k = 0; k < ranges; k++)
        v[n++] = range[k];
    kir_value carries = carry ? kir_splat(b, carry, c->lanes) : 0;

    kir_loop l;
    kir_for(b, &l, imm(c, 0), tly_round_up(c, count, r->step), imm(c, r->step), n, v);
    for (unsigned k = 0; k < n; k++)
        v[k] = l.carried[k];
    kir_value p = tly_at(c, from, l.i, c->acc_bytes);
    kir_value q = to ? tly_at(c, to, l.i, c->acc_bytes) : 0;
    int64_t bytes = (int64_t)c->lanes * c->acc_bytes;
    kir_value y[8];
    for (unsigned k = 0; k < (unsigned)c->plan->unroll; k++) {
        y[k] = scan_vector(r, kir_ptradd(b, p, imm(c, (int64_t)k * bytes)), v, v + windows);
        tly_range_track(c, v + windows + r->history, y[k]);
    }
    for (unsigned k = 0; to && k < (unsigned)c->plan->unroll; k++)
        kir_store(b, q, (int64_t)k * bytes, carry ? tly_combine(c, carries, y[k]) : y[k],
                  c->acc_bytes, 0);
    kir_prefetch(b, kir_ptradd(b, ahead, mul(c, l.i, tly_in_step(c))), 0);
    kir_for_end(b, &l, v);
    for (unsigned k = 0; k < r->history; k++)
        history[k] = l.result[windows + k];
    for (unsigned k = 0; k < ranges; k++)
        range[k] = l.result[windows + r->history + k];
}

/* The plain loop over a staged segment, from the true prefixes in `history`. */
void tly_rows_serial(tly_rows *r, kir_value from, kir_value to, kir_value count,
                           kir_value *history)
{
    tly_build *c = r->c;
    kir_builder *b = c->b;
    int64_t bytes = c->acc_bytes, lanes = c->lanes, before = (int64_t)r->history * lanes;
    kir_value padded = tly_round_up(c, count, r->step);
    for (unsigned k = 0; k < r->history; k++)
        kir_store(b, r->work, (before - (k + 1) * lanes) * bytes, history[k], c->acc_bytes, 0);
    kir_loop l;
    kir_for(b, &l, imm(c, 0), padded, imm(c, 1), 0, NULL);
    kir_value at = tly_at(c, r->work, l.i, bytes);
    kir_value y = kir_load(b, c->acc, at, (before - (int64_t)r->unit) * bytes, c->acc_bytes);
    kir_value x = kir_load(b, c->acc, tly_at(c, from, l.i, bytes), 0, c->acc_bytes);
    y = tly_combine(c, y, x);
    kir_store(b, at, before * bytes, y, c->acc_bytes, 0);
    kir_store(b, tly_at(c, to, l.i, bytes), 0, y, c->acc_bytes, 0);
    kir_for_end(b, &l, NULL);
    kir_value end = tly_at(c, r->work, padded, bytes);
    for (unsigned k = 0; k < r->history; k++)
        history[k] = kir_load(b, c->vec, end, (before - (k + 1) * lanes) * bytes, c->acc_bytes);
}


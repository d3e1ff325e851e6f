/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Short rows: a batch of rows, and what to do where it left the floating-point range
 * (docs/range.md has the reasons).
 */
#include "short.h"

/* A loop over a piece and the flags of it. */
static kir_value flags_of(tly_short *s, const tly_short_piece *p, tly_short_what what,
                          tly_short_seen *seen)
{
    tly_short_piece now = *p;
    kir_clear_flags(s->c->b);
    now.in = kir_keep(s->c->b, p->in); /* what is loaded from here on comes after */
    *seen = tly_short_scan(s, &now, what);
    return kir_flags(s->c->b);
}

static kir_value is_infinite(tly_short *s, kir_value seen)
{
    tly_build *c = s->c;
    return any(c, tly_not(c, tly_watch_below(c, seen, TLY_INFINITE)));
}

/* i1: a result is infinite, as the output shows it. */
static kir_value is_endless(tly_short *s, kir_value seen)
{
    return any(s->c, tly_watch_endless(s->c, seen));
}

/* i1: where the output is narrower, a result may be infinite there and finite as an accumulator,
 * which no flag tells. */
static kir_value shows_endless(tly_short *s, const tly_short_piece *look, kir_value fell)
{
    tly_build *c = s->c;
    kir_value none = constant(c, KIR_TYPE(KIR_I1, 1), 0);
    kir_branch some;
    if (!s->by_flags || !tly_watches_output(c))
        return none;
    kir_if(c->b, &some, fell);
    kir_value endless = is_endless(s, tly_short_scan(s, look, TLY_SHORT_RESULTS).most);
    kir_else(c->b, &some, 1, &endless);
    kir_if_end(c->b, &some, 1, &none);
    return some.result[0];
}

/* i1: products whose arithmetic met `flags` may be something else than the plain loop's: a window
 * left the range; or a result fell below all normal numbers, as the loop's does, but is not finite,
 * as the loop's may be. */
static kir_value products_left(tly_short *s, const tly_short_piece *p, kir_value flags)
{
    tly_build *c = s->c;
    tly_short_piece look = { .in = p->in, .count = p->count };
    kir_value none = constant(c, KIR_TYPE(KIR_I1, 1), 0);
    tly_short_seen longest;
    kir_branch some;
    kir_if(c->b, &some, met(c, flags, KIR_OVERFLOWED | KIR_UNDERFLOWED));
    kir_value inner = flags_of(s, &look, TLY_SHORT_WINDOWS, &longest);
    kir_value left = met(c, inner, KIR_OVERFLOWED | KIR_UNDERFLOWED);
    if (!s->lows) {
        kir_value endless = bor(c, met(c, flags, KIR_OVERFLOWED), is_infinite(s, longest.most));
        kir_value fell = met(c, flags, KIR_UNDERFLOWED);
        endless = bor(c, endless, shows_endless(s, &look, fell));
        left = bor(c, left, band(c, fell, endless));
    }
    kir_else(c->b, &some, 1, &left);
    kir_if_end(c->b, &some, 1, &none);
    return some.result[0];
}

/* Where flags are not to be had of the main loop, as narrowing raises them, too: those of the same
 * without its stores. `raised`: all that were raised; where none was, results may be anything. */
static kir_value flags_again(tly_short *s, const tly_short_piece *p, kir_value apart,
                             kir_value raised)
{
    tly_build *c = s->c;
    kir_type t = KIR_TYPE(KIR_I32, 1);
    tly_short_piece look = { .in = p->in, .count = p->count };
    kir_value none = constant(c, t, 0);
    tly_short_seen seen;
    kir_branch far;
    kir_value left = any(c, tly_watch_left(c, apart, TLY_WATCH_PART));
    raised = met(c, raised, KIR_OVERFLOWED | KIR_UNDERFLOWED);
    kir_if(c->b, &far, band(c, left, raised));
    kir_value flags = flags_of(s, &look, TLY_SHORT_RESULTS, &seen);
    kir_value over = choose(c, is_endless(s, seen.most), constant(c, t, KIR_OVERFLOWED), none);
    flags = bor(c, flags, over);
    kir_else(c->b, &far, 1, &flags);
    kir_if_end(c->b, &far, 1, &none);
    return far.result[0];
}

/* i1: a scan of a piece as it is left the range. With `lows` (else NULL), i1s: it `fell`, and is
 * not judged; `often`: so did the last row. */
static kir_value scan_plain(tly_short *s, const tly_short_piece *p, kir_value *fell,
                            kir_value *often)
{
    tly_build *c = s->c;
    tly_short_seen seen;
    kir_value flags = flags_of(s, p, s->by_flags ? TLY_SHORT_NOTHING : TLY_SHORT_APART, &seen);
    if (!s->by_flags)
        flags = flags_again(s, p, seen.most, flags);
    if (fell != NULL) {
        kir_value end = tly_watch_bits(c, seen.last);
        *fell = met(c, flags, KIR_UNDERFLOWED);
        *often = s->by_flags ? any(c, tly_watch_below(c, end, TLY_NORMAL)) : *fell;
        flags = choose(c, *fell, constant(c, KIR_TYPE(KIR_I32, 1), 0), flags);
    }
    return tly_watches_products(c) ? products_left(s, p, flags) : met(c, flags, KIR_OVERFLOWED);
}

static kir_value scan_scaled(tly_short *s, const tly_short_piece *p, kir_value *fell)
{
    tly_build *c = s->c;
    tly_short_seen seen;
    kir_value flags = flags_of(s, p, TLY_SHORT_SCALED, &seen);
    kir_value left = any(c, tly_short_scaled_left(s, &seen));
    *fell = any(c, tly_short_scaled_fell(s, &seen));
    return bor(c, left, met(c, flags, KIR_OVERFLOWED | KIR_UNDERFLOWED));
}

/* Scans a piece; i1: some of its rows are not to be trusted. Asked of a batch, it is no less strict
 * than of each of its rows: so a row's bits do not depend on those beside it. `low`: i1, products
 * are scaled at once; then, it was worth it. Where some row in thirty falls, it is not. */
static kir_value scan_piece(tly_short *s, const tly_short_piece *p, kir_value *low)
{
    tly_build *c = s->c;
    kir_branch plain, scaled;
    tly_short_fill_pad(s, p);
    if (!s->lows)
        return scan_plain(s, p, NULL, NULL);
    kir_value v[3], none = constant(c, KIR_TYPE(KIR_I1, 1), 0);
    kir_if(c->b, &plain, tly_not(c, *low));
    v[0] = scan_plain(s, p, &v[1], &v[2]);
    kir_else(c->b, &plain, 3, v);
    v[0] = none;
    v[1] = v[2] = *low;
    kir_if_end(c->b, &plain, 3, v);
    kir_if(c->b, &scaled, plain.result[1]);
    v[0] = scan_scaled(s, p, &v[1]);
    v[1] = band(c, v[1], plain.result[2]);
    kir_else(c->b, &scaled, 2, v);
    v[0] = plain.result[0];
    v[1] = none;
    kir_if_end(c->b, &scaled, 2, v);
    *low = scaled.result[1];
    return scaled.result[0];
}

/* A row by the plain loop. */
static void redo_row(tly_short *s, const tly_short_piece *p)
{
    tly_build *c = s->c;
    kir_value y = tly_start(c, c->acc);
    kir_loop l;
    kir_for(c->b, &l, imm(c, 0), p->count, imm(c, 1), 1, &y);
    kir_value x = tly_load(
        c, tly_at(c, p->in, l.i, (int64_t)c->p->tensor[TLY_IN].step * c->bytes[TLY_IN]), 0, 1);
    kir_value next = tly_combine(c, l.carried[0], tly_lift(c, x));
    kir_value shown = tly_project(c, c->p->exclusive ? l.carried[0] : next);
    tly_store(c, tly_stored_at(c, p->to, l.i), 0, shown, c->bytes[TLY_OUT], 0);
    kir_for_end(c->b, &l, &next);
}

kir_value tly_short_batch(tly_short *s, const tly_short_piece *batch, kir_value rows,
                          kir_value position, kir_value *low)
{
    tly_build *c = s->c;
    kir_value none = constant(c, KIR_TYPE(KIR_I1, 1), 0), zero = imm(c, 0), one = imm(c, 1);
    kir_loop turn, l;
    kir_branch redo;
    if (tly_range_count(c) == 0) {
        tly_short_fill_pad(s, batch);
        tly_short_scan(s, batch, TLY_SHORT_NOTHING);
        return constant(c, KIR_TYPE(KIR_I1, 1), 1);
    }
    /* the batch as one piece; then, where that left the range, its rows in order, since what a
     * row's last vector has too much the next one overwrites */
    kir_value v[2] = { none, *low };
    unsigned n = 1 + (unsigned)s->lows;
    kir_for(c->b, &turn, zero, imm(c, 2), one, n, v);
    kir_value again = differ(c, turn.i, zero), left = turn.carried[0];
    kir_value pieces = choose(c, again, choose(c, left, rows, zero), one);
    kir_for(c->b, &l, zero, pieces, one, n, turn.carried);
    kir_value element = mul(c, l.i, s->length);
    kir_value buffered = tly_stored_at(c, s->buffer, add(c, position, element));
    tly_short_piece p = {
        .in = tly_at(c, batch->in, element, (int64_t)c->p->tensor[TLY_IN].step * c->bytes[TLY_IN]),
        .count = choose(c, again, s->length, batch->count),
        .to = choose(c, again, buffered, batch->to),
    };
    if (batch->lines)
        p.lines = band(c, batch->lines, tly_not(c, again));
    kir_value now = s->lows ? l.carried[1] : none;
    kir_value bad = scan_piece(s, &p, &now);
    kir_if(c->b, &redo, band(c, again, bad));
    redo_row(s, &p);
    kir_if_end(c->b, &redo, 0, NULL);
    v[0] = choose(c, again, l.carried[0], bad);
    v[1] = s->lows ? band(c, now, tly_not(c, bor(c, again, bad))) : now;
    kir_for_end(c->b, &l, v);
    kir_for_end(c->b, &turn, l.result);
    *low = s->lows ? turn.result[1] : none;
    return tly_not(c, turn.result[0]);
}

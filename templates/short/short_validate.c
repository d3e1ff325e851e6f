/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The short template: scans a batch of rows, and does again what left the floating-point range.
 * docs/range.md has the reasons.
 */
#include "short.h"

/* Scans a piece; returns the flags that this raised. */
static kir_value flags_of(tly_short *s, const tly_short_piece *p, tly_short_what what,
                          tly_short_seen *seen)
{
    tly_short_piece now = *p;
    kir_clear_flags(s->c->b);
    now.in = kir_keep(s->c->b, p->in); /* what is loaded from here on comes after */
    if (s->maps)
        now.first = kir_keep(s->c->b, p->first);
    *seen = tly_short_scan(s, &now, what);
    return kir_flags(s->c->b);
}

static kir_value is_infinite(tly_short *s, kir_value seen)
{
    tly_build *c = s->c;
    return any(c, tly_not(c, tly_check_below(c, seen, TLY_INFINITE)));
}

/* i1: a result is infinite in the output. */
static kir_value shows_infinite(tly_short *s, kir_value seen)
{
    return any(s->c, tly_check_infinite(s->c, seen));
}

/* i1: a result is infinite in an output that has less range than the accumulator, which no flag
 * tells. */
static kir_value shows_infinity(tly_short *s, const tly_short_piece *look, kir_value fell)
{
    tly_build *c = s->c;
    kir_value infinite = i1(c, 0);
    tly_region some = { .state = { &infinite } };
    if (!s->by_flags || !tly_checks_output(c))
        return infinite;
    emit_if(c, &some, fell);
    infinite = shows_infinite(s, tly_short_scan(s, look, TLY_SHORT_RESULTS).most);
    emit_end(c, &some);
    return infinite;
}

/* i1: products whose arithmetic raised `flags` may differ from the plain loop's. Either a window
 * left the range; or a result fell below all normal numbers, as the loop's does, and one is
 * infinite, while the loop's may be finite. */
static kir_value products_out_of_range(tly_short *s, const tly_short_piece *p, kir_value flags)
{
    tly_build *c = s->c;
    tly_short_piece look = { .in = p->in, .first = p->first, .count = p->count };
    kir_value out = i1(c, 0);
    tly_short_seen longest;
    tly_region some = { .state = { &out } };
    emit_if(c, &some, met(c, flags, KIR_OVERFLOWED | KIR_UNDERFLOWED));
    kir_value inner = flags_of(s, &look, TLY_SHORT_WINDOWS, &longest);
    out = met(c, inner, KIR_OVERFLOWED | KIR_UNDERFLOWED);
    if (!s->prescale) {
        kir_value infinite = bor(c, met(c, flags, KIR_OVERFLOWED), is_infinite(s, longest.most));
        kir_value fell = met(c, flags, KIR_UNDERFLOWED);
        infinite = bor(c, infinite, shows_infinity(s, &look, fell));
        out = bor(c, out, band(c, fell, infinite));
    }
    emit_end(c, &some);
    return out;
}

/* If narrowing raises flags too, those of the main loop do not count. Returns those of the same
 * loop without stores. raised: the flags of the main loop; if there were none, it is not done
 * again. */
static kir_value flags_again(tly_short *s, const tly_short_piece *p, kir_value apart,
                             kir_value raised)
{
    tly_build *c = s->c;
    tly_short_piece look = { .in = p->in, .first = p->first, .count = p->count };
    kir_value none = like(c, raised, 0), flags = none;
    tly_short_seen seen;
    tly_region far = { .state = { &flags } };
    kir_value out = any(c, tly_check_out_of_range(c, apart, TLY_CHECK_PART));
    raised = met(c, raised, KIR_OVERFLOWED | KIR_UNDERFLOWED);
    emit_if(c, &far, band(c, out, raised));
    flags = flags_of(s, &look, TLY_SHORT_RESULTS, &seen);
    kir_value over = choose(c, shows_infinite(s, seen.most), like(c, none, KIR_OVERFLOWED), none);
    flags = bor(c, flags, over);
    emit_end(c, &far);
    return flags;
}

/* Scans a piece without a scale; returns i1: it left the range. With `prescale` (else NULL) two
 * i1s: it `fell`, a product underflowed, and then the first i1 does not count; `often`: the last
 * row did, too. */
static kir_value scan_plain(tly_short *s, const tly_short_piece *p, kir_value *fell,
                            kir_value *often)
{
    tly_build *c = s->c;
    tly_short_seen seen;
    kir_value flags = flags_of(s, p, s->by_flags ? TLY_SHORT_NOTHING : TLY_SHORT_APART, &seen);
    if (!s->by_flags)
        flags = flags_again(s, p, seen.most, flags);
    if (fell != NULL) {
        kir_value end = tly_check_bits(c, seen.last);
        *fell = met(c, flags, KIR_UNDERFLOWED);
        *often = s->by_flags ? any(c, tly_check_below(c, end, TLY_NORMAL)) : *fell;
        flags = choose(c, *fell, like(c, flags, 0), flags);
    }
    return tly_checks_products(c) ? products_out_of_range(s, p, flags)
                                  : met(c, flags, KIR_OVERFLOWED);
}

/* Small results may underflow in `post`, so that flags are those of a loop of its own. */
static kir_value scan_scaled(tly_short *s, const tly_short_piece *p, kir_value *fell)
{
    tly_build *c = s->c;
    const int posts = s->maps && tly_has_expression(s->word->p, TLY_EXPRESSION_POST);
    const tly_short_piece look = { .in = p->in, .first = p->first, .count = p->count };
    tly_short_seen seen;
    kir_value flags = flags_of(s, posts ? &look : p, TLY_SHORT_SCALED, &seen);
    kir_value out = any(c, tly_short_scaled_out_of_range(s, &seen));
    *fell = any(c, tly_short_scaled_fell(s, &seen));
    out = bor(c, out, met(c, flags, KIR_OVERFLOWED | KIR_UNDERFLOWED));
    if (posts)
        tly_short_scan(s, p, TLY_SHORT_SCALED);
    return out;
}

/* Scans a piece; returns i1: some of its rows may have left the range. The check of a batch is no
 * less strict than that of each of its rows, so the bits of a row do not depend on the others.
 * *at_once (i1): products are scaled from the start; afterwards, whether that was worth it, which
 * it is not if one row in thirty falls. */
static kir_value scan_piece(tly_short *s, const tly_short_piece *p, kir_value *at_once)
{
    tly_build *c = s->c;
    tly_short_fill_pad(s, p);
    if (!s->prescale)
        return scan_plain(s, p, NULL, NULL);
    kir_value bad = i1(c, 0), fell = *at_once, often = *at_once;
    tly_region plain = { .state = { &bad, &fell, &often } },
               scaled = { .state = { &bad, at_once } };
    emit_if(c, &plain, tly_not(c, *at_once));
    bad = scan_plain(s, p, &fell, &often);
    emit_end(c, &plain);
    *at_once = i1(c, 0);
    emit_if(c, &scaled, fell);
    bad = scan_scaled(s, p, at_once);
    *at_once = band(c, *at_once, often);
    emit_end(c, &scaled);
    return bad;
}

/* Scans a row by the plain loop. */
static void redo_row(tly_short *s, const tly_short_piece *p)
{
    tly_build *c = s->c;
    kir_value y = tly_short_first_state(s, p);
    tly_region l = { .state = { &y } };
    emit_for(c, &l, imm(c, 0), p->count, imm(c, 1));
    const tly_stretch row = { tly_at(c, p->in, l.i, tly_short_element_bytes(s)), p->to, l.i };
    const tly_place here = tly_place_along(&row, 0);
    const tly_place there = tly_short_place(s, p, l.i);
    kir_value x = s->maps && !s->is_staged ? tly_map_at(s->word, &there, 1)
                                           : tly_load(c, row.from, 0, 1);
    x = tly_element(c, &here, x);
    kir_value next = tly_combine(c, y, x);
    kir_value shown = tly_show(c, &here, c->p->exclusive ? y : next);
    if (s->maps)
        shown = tly_post(s->word, &there, shown);
    tly_store(s->word, tly_stored_at(c, p->to, l.i), 0, shown, c->bytes[TLY_OUT], 0);
    y = next;
    emit_end(c, &l);
    tly_short_last_state(s, p, y);
}

kir_value tly_short_batch(tly_short *s, const tly_short_piece *batch, kir_value rows,
                          kir_value position, kir_value *at_once)
{
    tly_build *c = s->c;
    kir_value out = i1(c, 0), zero = imm(c, 0), one = imm(c, 1);
    tly_region attempt = { .state = { &out, s->prescale ? at_once : NULL } }, l = attempt,
               redo = { 0 };
    if (tly_range_count(c) == 0) {
        tly_short_fill_pad(s, batch);
        tly_short_scan(s, batch, TLY_SHORT_NOTHING);
        return i1(c, 1);
    }
    /* The batch is one piece. If that left the range, each row is, in order, since the next row
     * overwrites what the last vector of a row stores too much. */
    emit_for(c, &attempt, zero, imm(c, 2), one);
    kir_value again = differ(c, attempt.i, zero);
    kir_value pieces = choose(c, again, choose(c, out, rows, zero), one);
    emit_for(c, &l, zero, pieces, one);
    kir_value element = mul(c, l.i, s->length);
    kir_value buffered = tly_stored_at(c, s->buffer, add(c, position, element));
    tly_short_piece p = {
        .in = tly_at(c, batch->in, element, tly_short_element_bytes(s)),
        .count = choose(c, again, s->length, batch->count),
        .first = element,
        .to = choose(c, again, buffered, batch->to),
    };
    if (batch->lines)
        p.lines = band(c, batch->lines, tly_not(c, again));
    kir_value bad = scan_piece(s, &p, at_once);
    emit_if(c, &redo, band(c, again, bad));
    redo_row(s, &p);
    emit_end(c, &redo);
    out = choose(c, again, out, bad);
    if (s->prescale)
        *at_once = band(c, *at_once, tly_not(c, bor(c, again, bad)));
    emit_end(c, &l);
    emit_end(c, &attempt);
    return tly_not(c, out);
}

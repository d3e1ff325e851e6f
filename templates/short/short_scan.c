/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The short template: the loop over a stream of rows. Windows of 1, 2, 4, ... elements that end in
 * each lane, each made of two of the one before, reach across vectors but never across the start of
 * a row (short_borders.c): there they take the neutral value. When a window is as long as a vector,
 * the result one vector before joins it. What is combined with what depends on where an element
 * stands in its row, not on where the row lies in the stream.
 */
#include "short.h"

static kir_value as_bits(tly_short *s, kir_value v)
{
    int turns = s->by_bits && kir_is_float(s->c->acc);
    return turns ? bitcast(s->c, s->bits, v) : v;
}

static kir_value as_values(tly_short *s, kir_value v)
{
    int turns = s->by_bits && kir_is_float(s->c->acc);
    return turns ? bitcast(s->c, s->c->vec, v) : v;
}

static kir_value combine(tly_short *s, kir_value x, kir_value y)
{
    return as_bits(s, tly_combine(s->c, as_values(s, x), as_values(s, y)));
}

/* ---- a vector ---- */

static void start_row(const tly_short *s, kir_value *before)
{
    for (unsigned k = 0; k <= s->doublings; k++)
        before[k] = s->neutral;
}

/* The longest windows of x; `before`, those of the vector before, become its own. */
static kir_value windows(tly_short *s, kir_value x, kir_value *before, const tly_short_vector *p)
{
    for (unsigned k = 0; k < s->doublings; k++) {
        kir_value v = tly_shift(s->c, before[k], x, 1u << k);
        before[k] = x;
        x = combine(s, tly_short_within(s, v, k, p, s->neutral), x);
    }
    return x;
}

/* What the results of a row start from. */
static kir_value one(tly_short *s, const tly_short_vector *p, kir_value plain)
{
    return p->scaled ? tly_short_scaled_one(s) : plain;
}

/* Results of windows w, where `before` are those of the vector before. */
static kir_value results(tly_short *s, kir_value w, kir_value before, const tly_short_vector *p)
{
    if (!s->chains || p->is_first)
        return p->scaled ? combine(s, tly_short_scaled_one(s), w) : w;
    return combine(
        s, tly_short_within(s, before, tly_short_last_border(s), p, one(s, p, s->neutral)), w);
}

/* Exclusive results y of a word with a carry, where rows start from states. */
static kir_value behind_start(tly_short *s, kir_value y, kir_value starts,
                              const tly_short_vector *p)
{
    tly_build *c = s->c;
    if (!p->is_first)
        return tly_short_within(s, y, 0, p, starts);
    return choose(c, equal(c, kir_iota(c->b, s->bits), constant(c, s->bits, 0)), starts, y);
}

/* Results y as they are shown; `before`: those of the vector before. */
static kir_value shown(tly_short *s, kir_value y, kir_value before, const tly_short_vector *p)
{
    tly_build *c = s->c;
    if (c->p->exclusive && c->p->carry) {
        y = tly_shift(c, before, y, 1);
        if (p->starts)
            y = behind_start(s, y, as_bits(s, p->starts), p);
    } else if (c->p->exclusive) {
        kir_value first = one(s, p, as_bits(s, tly_start(c, c->vec)));
        y = tly_shift(s->c, p->is_first ? first : before, y, 1);
        if (tly_start(c, c->vec) !=
            tly_neutral(c, c->vec)) /* it takes part: of -0.0 it makes 0.0 */
            y = combine(s, first, y);
        y = tly_short_within(s, y, 0, p, first);
    }
    return tly_show(c, p->place, as_values(s, y));
}

kir_value tly_short_scan_alone(tly_short *s, const tly_place *at, kir_value x, int is_first,
                               kir_value *before, kir_value *y)
{
    const tly_short_vector p = { .alone = !s->fixed,
                                 .is_first = !s->fixed && is_first,
                                 .place = at };
    if (is_first)
        start_row(s, before);
    kir_value last = before[s->doublings];
    kir_value now = results(s, windows(s, as_bits(s, x), before, &p), last, &p);
    before[s->doublings] = now;
    *y = as_values(s, now);
    return shown(s, now, last, &p);
}

/* ---- a piece ---- */

tly_place tly_short_place(tly_short *s, const tly_short_piece *p, kir_value i)
{
    static const tly_place unknown = { .address = NULL };
    return !s->maps ? unknown : tly_place_in(&s->batch, add(s->c, p->first, i), 0);
}

static int maps_in_registers(const tly_short *s)
{
    return s->maps && !s->is_staged;
}

int64_t tly_short_element_bytes(const tly_short *s)
{
    return (int64_t)s->c->p->tensor[TLY_IN].step * s->c->bytes[TLY_IN];
}

int64_t tly_short_pad_bytes(const tly_short *s)
{
    return s->step * s->c->bytes[TLY_IN];
}

kir_value tly_short_steps(const tly_short *s, kir_value count)
{
    tly_build *c = s->c;
    if ((s->step & (s->step - 1)) == 0)
        return tly_round_down(c, count, s->step);
    return mul(c, udiv(c, count, imm(c, s->step)), imm(c, s->step));
}

void tly_short_fill_pad(tly_short *s, const tly_short_piece *p)
{
    tly_build *c = s->c;
    if (c->p->carry)
        tly_short_pad_states(s, p);
    if (maps_in_registers(s))
        return;
    tally_dtype dtype = (tally_dtype)c->p->tensor[TLY_IN].dtype;
    int64_t size = tly_short_element_bytes(s), lowest = size < 0 ? (s->step - 1) * size : 0;
    kir_value whole = tly_short_steps(s, p->count);
    kir_type t = tly_storage(dtype, c->lanes);
    tly_region l = { 0 };
    for (int64_t i = 0; i < s->step; i += c->lanes)
        kir_store(c->b, s->pad, lowest + i * c->bytes[TLY_IN], tly_padding(c, t), c->bytes[TLY_IN],
                  0);
    emit_for(c, &l, whole, p->count, imm(c, 1));
    kir_value x = kir_load(c->b, tly_storage(dtype, 1), tly_at(c, p->in, l.i, size), 0,
                           c->bytes[TLY_IN]);
    kir_store(c->b, tly_at(c, s->pad, sub(c, l.i, whole), size), 0, x, c->bytes[TLY_IN], 0);
    emit_end(c, &l);
}

/* What goes from step to step. */
typedef struct stream {
    kir_value before[TLY_SHORT_BORDERS]; /* windows and results of the last vector */
    kir_value t;                         /* positions of the next, in its row */
    tly_short_seen seen;
} stream;

static void carry_stream(const tly_short *s, tly_region *l, stream *h)
{
    emit_carry(l, s->doublings + 1, h->before);
    emit_carry(l, 1, &h->t);
    if (h->seen.most)
        emit_carry(l, 1, &h->seen.most);
    if (h->seen.least)
        emit_carry(l, 1, &h->seen.least);
}

static tly_short_seen see_none(tly_short *s, tly_short_what what)
{
    tly_build *c = s->c;
    tly_short_seen none = { 0, 0, 0 };
    if (what == TLY_SHORT_SCALED)
        return tly_short_scaled_none(s);
    if (what != TLY_SHORT_NOTHING)
        none.most = tly_check_bits(c, tly_neutral(c, c->vec));
    if (what == TLY_SHORT_APART)
        none.most = constant(c, type_of(c, none.most), 0);
    return none;
}

static kir_value see(tly_short *s, tly_short_what what, kir_value seen, kir_value w, kir_value y)
{
    tly_build *c = s->c;
    if (what == TLY_SHORT_NOTHING || what == TLY_SHORT_SCALED)
        return seen;
    if (what == TLY_SHORT_APART) {
        kir_value size = as_values(s, y);
        if (c->p->tensor[TLY_IN].dtype ==
            TALLY_F16) /* no element is small enough to fall to zero unseen */
            size = choose(c, tly_check_not_zero(c, size), size, tly_neutral(c, c->vec));
        return tly_check_apart(c, seen, size, TLY_CHECK_PART);
    }
    kir_value v = as_values(s, what == TLY_SHORT_WINDOWS ? w : y);
    return umax(c, seen, tly_check_bits(c, v));
}

static void store(tly_short *s, const tly_short_piece *p, kir_value i, kir_value *v)
{
    tly_build *c = s->word;
    kir_value to = tly_stored_at(c, p->to, i);
    tly_region way = { 0 };
    unsigned n = tly_pack_run(c, v, s->vectors, 0);
    if (p->lines) {
        emit_if(c, &way, p->lines);
        tly_store_run(c, to, v, n, KIR_STREAM);
        emit_else(c, &way);
    }
    tly_store_run(c, to, v, n, 0);
    if (p->lines)
        emit_end(c, &way);
}

/* Prefetches input some way ahead of a step or a row that begins with element i of a piece, as much
 * as its `elements` are. `from`: where they are read, if the word has no expressions. */
static void prefetch(tly_short *s, const tly_short_piece *p, kir_value i, kir_value from,
                     int64_t elements)
{
    const tly_build *c = s->word;
    const int8_t step = c->p->tensor[TLY_IN].step;
    int64_t bytes = elements * c->bytes[TLY_IN];
    if (s->maps) {
        const tly_place at = tly_short_place(s, p, i);
        from = at.address(s->word, &at, TLY_IN);
    }
    for (int64_t line = 0; line == 0 || line < bytes; line += 64)
        kir_prefetch(c->b, from, step * (c->plan->prefetch + line));
}

/* Scans the vector that lies `at`; returns its results as they are shown, if `shows`. *end: the
 * states behind its elements. */
static kir_value scan_vector(tly_short *s, stream *h, kir_value x, tly_short_vector at,
                             tly_short_what what, int shows, kir_value *end)
{
    tly_build *c = s->c;
    kir_value out = 0;
    at.scaled = what == TLY_SHORT_SCALED;
    if (at.is_first)
        start_row(s, h->before);
    kir_value last = h->before[s->doublings];
    x = tly_element(c, at.is_last ? NULL : at.place, x);
    if (at.starts)
        x = tly_combine(c, at.starts, x);
    kir_value w = windows(s, as_bits(s, x), h->before, &at), y = w;
    if (what != TLY_SHORT_WINDOWS)
        y = results(s, w, last, &at);
    h->before[s->doublings] = at.scaled ? tly_short_scaled_carry(s, y) : y;
    h->seen.most = see(s, what, h->seen.most, w, y);
    *end = as_values(s, y);
    if (shows || at.scaled)
        out = shown(s, y, last, &at);
    if (at.scaled)
        out = tly_short_unscaled(s, as_bits(s, out), &h->seen);
    return out;
}

/* Scans rows one after another, each from a vector of its own. Lanes behind a row's end are neutral
 * in every window, so the same elements are combined, and raise the same flags, as in the stream.
 */
static void scan_rows(tly_short *s, const tly_short_piece *p, tly_short_what what,
                      tly_short_seen *seen)
{
    tly_build *c = s->c;
    kir_type t = tly_storage((tally_dtype)c->p->tensor[TLY_IN].dtype, c->lanes);
    stream h = { .t = imm(c, 0), .seen = see_none(s, what) };
    tly_region l = { 0 };
    start_row(s, h.before);
    carry_stream(s, &l, &h);
    emit_for(c, &l, imm(c, 0), p->count, s->length);
    kir_value from = tly_at(c, p->in, l.i, c->bytes[TLY_IN]);
    const tly_stretch row = { from, p->to, l.i };
    kir_value starts = tly_short_starts_at(s, p, l.i, 0), ends = tly_short_ends_at(s, p, l.i), end;
    for (int64_t i = 0; i < s->literal; i += c->lanes) {
        kir_value left = imm(c, s->literal - i), x, out;
        int whole = s->literal - i >= c->lanes;
        const tly_place place = tly_place_along(&row, i);
        tly_short_vector at = {
            .is_first = i == 0, .position = i, .is_last = !whole, .place = &place
        };
        at.starts = tly_short_starts(s, starts, i, &at);
        tly_place there = tly_place_after(tly_short_place(s, p, l.i), i, 0);
        there.count = whole ? 0 : left;
        if (maps_in_registers(s))
            x = tly_map_vector(s->word, &there);
        else if (whole)
            x = tly_widen(c, kir_load(c->b, t, from, i * c->bytes[TLY_IN], c->bytes[TLY_IN]));
        else
            x = tly_widen(c,
                          kir_mload(c->b, t, from, i * c->bytes[TLY_IN], left, tly_padding(c, t)));
        out = scan_vector(s, &h, x, at, what, p->to != 0, &end);
        tly_short_store_ends(s, ends, i, &at, end);
        if (p->to == 0)
            continue;
        kir_value to = tly_stored_at(c, p->to, add(c, l.i, imm(c, i)));
        if (s->maps)
            out = tly_post(s->word, &there, out);
        tly_pack_run(s->word, &out, 1, 0);
        if (whole)
            kir_store(c->b, to, 0, out, c->bytes[TLY_OUT], 0);
        else
            kir_mstore(c->b, to, 0, left, out);
    }
    prefetch(s, p, l.i, from, s->literal);
    emit_end(c, &l);
    *seen = h.seen;
    seen->last = as_values(s, h.before[s->doublings]);
}

/* Scans the rows as one stream of vectors. */
static void scan_stream(tly_short *s, const tly_short_piece *p, tly_short_what what,
                        tly_short_seen *seen)
{
    tly_build *c = s->c;
    stream h = { .t = imm(c, 0), .seen = see_none(s, what) };
    kir_value x[TLY_SHORT_MOST_VECTORS] = { 0 }, out[TLY_SHORT_MOST_VECTORS];
    tly_region l = { 0 };
    start_row(s, h.before);
    kir_value whole = tly_short_steps(s, p->count);
    carry_stream(s, &l, &h);
    emit_for(c, &l, imm(c, 0), p->count, imm(c, s->step));
    kir_value from = tly_at(c, p->in, l.i, tly_short_element_bytes(s));
    kir_value there = choose(c, less(c, l.i, whole), from, s->pad);
    const kir_value left = s->maps ? sub(c, p->count, l.i) : 0;
    const tly_place first = tly_short_place(s, p, l.i);
    if (maps_in_registers(s))
        tly_map_step(s->word, &first, left, x, s->vectors);
    const tly_stretch step = { there, p->to, l.i };
    kir_value starts = tly_short_starts_at(s, p, l.i, whole);
    kir_value ends = tly_short_ends_at(s, p, l.i), end;
    for (unsigned k = 0; k < s->vectors; k++) {
        const int64_t element = (int64_t)k * c->lanes;
        const tly_place place = tly_place_along(&step, element);
        tly_short_vector at = tly_short_vector_of(s, k, h.t);
        at.place = &place;
        if (!maps_in_registers(s))
            x[k] = tly_load_vector(c,
                                   ptradd(c, there, imm(c, element * tly_short_element_bytes(s))));
        at.starts = tly_short_starts(s, starts, element, &at);
        out[k] = scan_vector(s, &h, x[k], at, what, p->to != 0, &end);
        tly_short_store_ends(s, ends, element, &at, end);
        h.t = tly_short_next_position(s, h.t);
    }
    if (p->to && s->maps)
        tly_post_step(s->word, &first, left, out, s->vectors);
    if (p->to)
        store(s, p, l.i, out);
    prefetch(s, p, l.i, from, s->step);
    emit_end(c, &l);
    *seen = h.seen;
    seen->last = as_values(s, h.before[s->doublings]);
}

tly_short_seen tly_short_scan(tly_short *s, const tly_short_piece *p, tly_short_what what)
{
    tly_build *c = s->c;
    tly_short_piece plain = *p;
    tly_short_seen seen = { 0 };
    plain.lines = 0;
    if (!s->row_by_row || !p->lines) {
        (s->row_by_row ? scan_rows : scan_stream)(s, p, what, &seen);
        return seen;
    }
    tly_region way = { .state = { &seen.last, what != TLY_SHORT_NOTHING ? &seen.most : NULL,
                                  what == TLY_SHORT_SCALED ? &seen.least : NULL } };
    emit_if(c, &way, p->lines);
    scan_stream(s, p, what, &seen);
    emit_else(c, &way);
    scan_rows(s, &plain, what, &seen);
    emit_end(c, &way);
    return seen;
}

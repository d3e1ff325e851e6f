/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Short rows: the loop over a stream of rows. Windows of 1, 2, 4, ... elements that end in each
 * lane, each made of two of the one before, reach across vectors but never across the start of a
 * row: there they take the neutral value. When a window is as long as a vector, the result one
 * vector before joins it. What is combined with what depends on where an element stands in its row,
 * not on where the row lies in the stream.
 *
 * Which lanes are how far from their row's start repeats with the rows. So there is a table for each
 * window: entry i says whether position i of the stream is at least so far, and a vector of entries
 * is read where it is needed.
 */
#include "short.h"

static kir_value as_bits(tly_short *s, kir_value v)
{
    int turns = s->by_bits && kir_is_float(s->c->acc);
    return turns ? kir_convert(s->c->b, KIR_BITCAST, s->bits, v) : v;
}

static kir_value as_values(tly_short *s, kir_value v)
{
    int turns = s->by_bits && kir_is_float(s->c->acc);
    return turns ? kir_convert(s->c->b, KIR_BITCAST, s->c->vec, v) : v;
}

static kir_value combine(tly_short *s, kir_value x, kir_value y)
{
    return as_bits(s, tly_combine(s->c, as_values(s, x), as_values(s, y)));
}

/* ---- borders ---- */

static unsigned border_count(const tly_short *s)
{
    return (s->doublings > 0 ? s->doublings : 1) + (unsigned)s->chains;
}

/* Elements from a row's start on for which border k is open. */
static unsigned reach(const tly_short *s, unsigned k)
{
    return s->chains && k + 1 == border_count(s) ? s->c->lanes : 1u << k;
}

/* With 16 registers, what takes the place of masked lanes has a table of its own: a choice bit by
 * bit is one operation only where registers are many. */
static int has_fillers(const tly_short *s)
{
    return s->by_bits && s->c->t->registers < 32;
}

/* Entries of a table for one border: the vectors up to where rows and vectors start together again,
 * where they are few, so that each is read where a vector starts: with AVX2, rows of 5 take .58 ns
 * an element from L2 by entries anywhere, .32 so (Emerald Rapids). Else a row and a vector. */
static int64_t entries(const tly_short *s)
{
    enum { MOST_VECTORS = 32 };
    int64_t lanes = s->c->lanes, length = s->literal > 0 ? s->literal : TLY_MEDIUM_ROW,
            even = length;
    while (even % lanes != 0)
        even += length;
    if (s->literal > 0 && even <= MOST_VECTORS * lanes)
        return even;
    return (length + 2 * lanes - 1) / lanes * lanes;
}

static int is_even(const tly_short *s)
{
    return s->literal > 0 && entries(s) % s->literal == 0 && entries(s) % s->c->lanes == 0;
}

/* Rows of whole vectors, of which a step has a number, need none. */
static int has_table(const tly_short *s)
{
    return !s->fixed && !(s->by_rows && s->literal % s->c->lanes == 0);
}

int64_t tly_short_table_bytes(const tly_short *s)
{
    return !has_table(s)
               ? 0
               : (1 + has_fillers(s)) * (int64_t)border_count(s) * entries(s) * s->c->acc_bytes;
}

static int64_t table_at(const tly_short *s, unsigned k)
{
    return k * entries(s) * s->c->acc_bytes;
}

/* Positions up to twice the length as positions in their row. */
static kir_value wrap(tly_short *s, kir_value position, kir_value length)
{
    kir_builder *b = s->c->b;
    return kir_bin(b, KIR_UMIN, position, kir_bin(b, KIR_SUB, position, length));
}

static void fill_table(tly_short *s, kir_value position, kir_value length)
{
    tly_build *c = s->c;
    kir_builder *b = c->b;
    unsigned borders = border_count(s), moves = c->lanes;
    if (s->literal > 0 && s->literal < c->lanes)
        moves = c->lanes % s->literal;
    kir_value end = is_even(s) ? imm(c, entries(s)) : add(c, s->length, imm(c, c->lanes));
    kir_value none = kir_const(b, s->bits, 0), all = kir_const(b, s->bits, UINT64_MAX);
    kir_loop l;
    kir_for(b, &l, imm(c, 0), end, imm(c, c->lanes), 1, &position);
    kir_value at = tly_at(c, s->table, l.i, c->acc_bytes);
    for (unsigned k = 0; k < borders; k++) {
        kir_value open = kir_cmp(b, KIR_ULE, kir_const(b, s->bits, reach(s, k)), l.carried[0]);
        kir_store(b, at, table_at(s, k), kir_select(b, open, all, none), c->acc_bytes, 0);
        if (has_fillers(s))
            kir_store(b, at, table_at(s, borders + k), kir_select(b, open, none, s->neutral),
                      c->acc_bytes, 0);
    }
    kir_value next = kir_bin(b, KIR_ADD, l.carried[0], kir_const(b, s->bits, moves));
    next = wrap(s, next, length);
    kir_for_end(b, &l, &next);
}

void tly_short_borders(tly_short *s)
{
    tly_build *c = s->c;
    kir_builder *b = c->b;
    kir_type one = KIR_TYPE(s->bits.kind, 1);
    kir_value length = s->length, position = kir_iota(b, s->bits);
    if (c->acc_bytes < 8)
        length = kir_convert(b, KIR_TRUNC, one, length);
    length = kir_splat(b, length, c->lanes);
    for (unsigned rows = s->literal > 0 ? c->lanes / s->literal : 0; rows > 0; rows--)
        position = wrap(s, position, length);
    if (has_table(s))
        fill_table(s, position, length);
    if (!s->fixed)
        return;
    if (c->t->mask_bytes == 1)
        position = kir_keep(b, position);
    for (unsigned k = 0; k < border_count(s); k++)
        s->borders[k] = kir_cmp(b, KIR_ULE, kir_const(b, s->bits, reach(s, k)), position);
}

/* Where all entries of a vector are open, it need not be read across a line. */
static kir_value near_border(tly_short *s, kir_value t)
{
    tly_build *c = s->c;
    kir_value lanes = imm(c, c->lanes);
    if (is_even(s))
        return t;
    kir_value far = kir_cmp(c->b, KIR_ULE, sub(c, t, lanes),
                            sub(c, sub(c, s->length, lanes), lanes));
    return kir_select(c->b, far, lanes, t);
}

/* Where a vector lies. */
typedef struct place {
    int alone;     /* in a row by itself */
    int is_first;  /* it is the start of a row of several vectors: before it are neutral ones */
    int64_t first; /* position of its first lane in the row, where all lanes are the row's; or 0 */
    kir_value t;   /* position in the stream */
    int scaled;    /* its results are */
} place;

/* v where border k is open, else `other`. */
static kir_value within(tly_short *s, kir_value v, unsigned k, const place *p, kir_value other)
{
    tly_build *c = s->c;
    kir_builder *b = c->b;
    if (p->alone || p->is_first || p->first >= reach(s, k))
        return v;
    if (s->fixed)
        return kir_select(b, s->borders[k], v, other);
    kir_value at = tly_at(c, s->table, near_border(s, p->t), c->acc_bytes), fill;
    kir_value open = kir_load(b, s->bits, at, table_at(s, k), c->acc_bytes);
    if (!s->by_bits)
        return kir_select(b, kir_cmp(b, KIR_NE, open, kir_const(b, s->bits, 0)), v, other);
    if (has_fillers(s) && other == s->neutral)
        fill = kir_load(b, s->bits, at, table_at(s, border_count(s) + k), c->acc_bytes);
    else
        fill = kir_bin(b, KIR_AND, other,
                       kir_bin(b, KIR_XOR, open, kir_const(b, s->bits, UINT64_MAX)));
    return kir_bin(b, KIR_OR, kir_bin(b, KIR_AND, v, open), fill);
}

/* ---- a vector ---- */

static kir_value shift(tly_short *s, kir_value before, kir_value v, unsigned by)
{
    unsigned n = s->c->lanes;
    uint8_t index[64];
    for (unsigned i = 0; i < n; i++)
        index[i] = (uint8_t)(n - by + i);
    return kir_shuffle(s->c->b, before, v, index, n);
}

/* The longest windows of x; `before`, those of the vector before, become its own. */
static kir_value windows(tly_short *s, kir_value x, kir_value *before, const place *p)
{
    for (unsigned k = 0; k < s->doublings; k++) {
        kir_value v = shift(s, before[k], x, 1u << k);
        before[k] = x;
        x = combine(s, within(s, v, k, p, s->neutral), x);
    }
    return x;
}

/* What a row's results start from. */
static kir_value one(tly_short *s, const place *p, kir_value plain)
{
    return p->scaled ? tly_short_scaled_one(s) : plain;
}

/* Results of windows w, where `before` are those of the vector before. */
static kir_value results(tly_short *s, kir_value w, kir_value before, const place *p)
{
    if (!s->chains || p->is_first)
        return p->scaled ? combine(s, tly_short_scaled_one(s), w) : w;
    return combine(s, within(s, before, border_count(s) - 1, p, one(s, p, s->neutral)), w);
}

/* Those as they are shown. */
static kir_value shown(tly_short *s, kir_value y, kir_value before, const place *p)
{
    tly_build *c = s->c;
    if (c->p->exclusive) {
        kir_value first = one(s, p, as_bits(s, tly_start(c, c->vec)));
        y = shift(s, p->is_first ? first : before, y, 1);
        if (tly_start(c, c->vec) !=
            tly_neutral(c, c->vec)) /* it takes part: of -0.0 it makes 0.0 */
            y = combine(s, first, y);
        y = within(s, y, 0, p, first);
    }
    return tly_project(c, as_values(s, y));
}

kir_value tly_short_scan_alone(tly_short *s, kir_value x, int is_first, kir_value *before,
                               kir_value *y)
{
    const place p = { .alone = !s->fixed, .is_first = !s->fixed && is_first };
    if (is_first)
        for (unsigned k = 0; k <= s->doublings; k++)
            before[k] = s->neutral;
    kir_value last = before[s->doublings];
    kir_value now = results(s, windows(s, as_bits(s, x), before, &p), last, &p);
    before[s->doublings] = now;
    *y = as_values(s, now);
    return shown(s, now, last, &p);
}

/* ---- a piece ---- */

static int64_t element_bytes(const tly_short *s)
{
    return (int64_t)s->c->p->in_step * s->c->in_bytes;
}

int64_t tly_short_pad_bytes(const tly_short *s)
{
    return s->step * s->c->in_bytes;
}

kir_value tly_short_steps(const tly_short *s, kir_value count)
{
    tly_build *c = s->c;
    if ((s->step & (s->step - 1)) == 0)
        return tly_round_down(c, count, s->step);
    return mul(c, kir_bin(c->b, KIR_UDIV, count, imm(c, s->step)), imm(c, s->step));
}

void tly_short_fill_pad(tly_short *s, const tly_short_piece *p)
{
    tly_build *c = s->c;
    kir_builder *b = c->b;
    tally_dtype dtype = (tally_dtype)c->p->dtype;
    int64_t size = element_bytes(s), lowest = size < 0 ? (s->step - 1) * size : 0;
    kir_value whole = tly_short_steps(s, p->count);
    kir_type t = tly_storage(dtype, c->lanes);
    kir_loop l;
    for (int64_t i = 0; i < s->step; i += c->lanes)
        kir_store(b, s->pad, lowest + i * c->in_bytes, tly_padding(c, t), c->in_bytes, 0);
    kir_for(b, &l, whole, p->count, imm(c, 1), 0, NULL);
    kir_value x = kir_load(b, tly_storage(dtype, 1), tly_at(c, p->in, l.i, size), 0, c->in_bytes);
    kir_store(b, tly_at(c, s->pad, sub(c, l.i, whole), size), 0, x, c->in_bytes, 0);
    kir_for_end(b, &l, NULL);
}

/* What goes from step to step. */
typedef struct stream {
    kir_value before[TLY_SHORT_BORDERS]; /* windows and results of the last vector */
    kir_value t;                         /* positions of the next, in its row */
    tly_short_seen seen;
} stream;

enum { MAX_STREAM = TLY_SHORT_BORDERS + 3 };

/* Lists the values in their order; `put` writes them to v, else they are read. */
static unsigned stream_values(const tly_short *s, stream *h, kir_value *v, int put)
{
    kir_value *at[MAX_STREAM];
    unsigned n = 0;
    for (unsigned k = 0; k <= s->doublings; k++)
        at[n++] = &h->before[k];
    at[n++] = &h->t;
    if (h->seen.most)
        at[n++] = &h->seen.most;
    if (h->seen.least)
        at[n++] = &h->seen.least;
    for (unsigned k = 0; k < n; k++) {
        if (put)
            v[k] = *at[k];
        else
            *at[k] = v[k];
    }
    return n;
}

static kir_value next_position(tly_short *s, kir_value t)
{
    tly_build *c = s->c;
    kir_value period = is_even(s) ? imm(c, entries(s)) : s->length;
    if (s->fixed || s->by_rows)
        return t;
    t = add(c, t, imm(c, c->lanes));
    kir_value wrapped = sub(c, t, period);
    return kir_select(c->b, less(c, wrapped, imm(c, 0)), t, wrapped);
}

/* Of a step's k-th vector, where `t` is the stream's position. */
static place place_of(tly_short *s, unsigned k, kir_value t, tly_short_what what)
{
    int64_t lanes = s->c->lanes;
    place p = { .t = t, .scaled = what == TLY_SHORT_SCALED };
    if (!s->by_rows)
        return p;
    int64_t from = k * lanes % s->literal;
    p.is_first = from == 0;
    p.first = from + lanes <= s->literal ? from : 0;
    p.t = imm(s->c, k * lanes % entries(s));
    return p;
}

static tly_short_seen see_none(tly_short *s, tly_short_what what)
{
    tly_build *c = s->c;
    tly_short_seen none = { 0, 0, 0 };
    if (what == TLY_SHORT_SCALED)
        return tly_short_scaled_none(s);
    if (what != TLY_SHORT_NOTHING)
        none.most = tly_watch_bits(c, tly_neutral(c, c->vec));
    if (what == TLY_SHORT_APART)
        none.most = kir_const(c->b, kir_type_of(c->b, none.most), 0);
    return none;
}

static kir_value see(tly_short *s, tly_short_what what, kir_value seen, kir_value w, kir_value y)
{
    tly_build *c = s->c;
    if (what == TLY_SHORT_NOTHING || what == TLY_SHORT_SCALED)
        return seen;
    if (what == TLY_SHORT_APART) {
        kir_value size = as_values(s, y);
        if (c->p->dtype == TALLY_F16) /* no element is small enough to fall to zero unseen */
            size = kir_select(c->b, tly_watch_not_zero(c, size), size, tly_neutral(c, c->vec));
        return tly_watch_apart(c, seen, size, TLY_WATCH_PART);
    }
    kir_value v = as_values(s, what == TLY_SHORT_WINDOWS ? w : y);
    return kir_bin(c->b, KIR_UMAX, seen, tly_watch_bits(c, v));
}

static void store(tly_short *s, const tly_short_piece *p, kir_value i, kir_value *v)
{
    tly_build *c = s->c;
    kir_value to = tly_stored_at(c, p->to, i);
    kir_branch way;
    unsigned n = tly_pack_run(c, v, s->vectors, 0);
    if (p->lines) {
        kir_if(c->b, &way, p->lines);
        tly_store_run(c, to, v, n, KIR_STREAM);
        kir_else(c->b, &way, 0, NULL);
    }
    tly_store_run(c, to, v, n, 0);
    if (p->lines)
        kir_if_end(c->b, &way, 0, NULL);
}

static void prefetch(tly_short *s, kir_value from)
{
    tly_build *c = s->c;
    int64_t ahead = c->plan->prefetch, bytes = s->step * c->in_bytes;
    for (int64_t line = 0; line == 0 || line < bytes; line += 64)
        kir_prefetch(c->b, from, c->p->in_step * (ahead + line));
}

tly_short_seen tly_short_scan(tly_short *s, const tly_short_piece *p, tly_short_what what)
{
    tly_build *c = s->c;
    kir_builder *b = c->b;
    stream h = { .t = imm(c, 0), .seen = see_none(s, what) };
    kir_value v[MAX_STREAM], out[TLY_SHORT_MOST_VECTORS];
    kir_loop l;
    for (unsigned k = 0; k <= s->doublings; k++)
        h.before[k] = s->neutral;
    kir_value whole = tly_short_steps(s, p->count);
    unsigned n = stream_values(s, &h, v, 1);
    kir_for(b, &l, imm(c, 0), p->count, imm(c, s->step), n, v);
    stream_values(s, &h, l.carried, 0);
    kir_value from = tly_at(c, p->in, l.i, element_bytes(s));
    kir_value there = kir_select(b, less(c, l.i, whole), from, s->pad);
    for (unsigned k = 0; k < s->vectors; k++) {
        const place at = place_of(s, k, h.t, what);
        for (unsigned i = 0; at.is_first && i < s->doublings; i++)
            h.before[i] = s->neutral;
        kir_value x = tly_load_vector(
            c, kir_ptradd(b, there, imm(c, k * c->lanes * element_bytes(s))));
        kir_value last = h.before[s->doublings];
        kir_value w = windows(s, as_bits(s, tly_lift(c, x)), h.before, &at), y = w;
        if (what != TLY_SHORT_WINDOWS)
            y = results(s, w, last, &at);
        h.before[s->doublings] = at.scaled ? tly_short_scaled_carry(s, y) : y;
        h.seen.most = see(s, what, h.seen.most, w, y);
        if (p->to)
            out[k] = shown(s, y, last, &at);
        if (at.scaled)
            out[k] = tly_short_unscaled(s, as_bits(s, out[k]), &h.seen);
        h.t = next_position(s, h.t);
    }
    if (p->to)
        store(s, p, l.i, out);
    prefetch(s, from);
    stream_values(s, &h, v, 1);
    kir_for_end(b, &l, v);
    stream_values(s, &h, l.result, 0);
    h.seen.last = as_values(s, h.before[s->doublings]);
    return h.seen;
}

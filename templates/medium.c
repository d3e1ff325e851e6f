/*
 * Dense rows of a few vectors, of any length: each vector by itself, joined to what comes before it
 * in one operation. The last vector of a row ends where the row ends, and what it shares with the
 * one before counts for nothing in it; so nothing beyond a row is read, staged or written. Each row
 * is judged when it is done; one that left the range goes by the plain loop.
 *
 * Results go to their place at once where they stay in cache, or are whole lines; else by a buffer,
 * many rows at a time.
 */
#include "template.h"

typedef struct medium {
    tly_build *c;
    kir_value length, buffer;
    kir_value whole;  /* elements of a row in vectors before the last one */
    kir_value shared; /* lanes of the last vector that the one before has, too: 0 to lanes - 1 */
} medium;

/* What a row has shown, lane-wise: extremes of its vectors' scans (low: of their elements, too, and
 * less 1) and of results. */
typedef struct seen {
    kir_value high, low, least, most;
} seen;

enum {
    MAX_SEEN = 4,
    /* A third of the range. Where scans that are not zero lie in it, and elements not below, the
     * first product that could come to nothing, of the least scan and the least element, is still
     * 2^-80, and a window with it, a quotient by another scan, 2^-120. */
    PART = 3
};

/* Lists the values in their order; `put` writes them to v, else they are read. */
static unsigned seen_values(const tly_build *c, seen *w, kir_value *v, int put)
{
    kir_value *at[MAX_SEEN] = { &w->most, &w->high, &w->low, &w->least };
    unsigned n = tly_range_count(c) == 0 ? 0 : tly_watches_products(c) ? MAX_SEEN : 1;
    for (unsigned k = 0; k < n; k++) {
        if (put)
            v[k] = *at[k];
        else
            *at[k] = v[k];
    }
    return n;
}

static seen see_none(tly_build *c)
{
    if (tly_range_count(c) == 0)
        return (seen){ 0, 0, 0, 0 };
    kir_value one = tly_watch_bits(c, tly_neutral(c, c->vec));
    return (seen){ one, one, one, one };
}

/* The least magnitude that is not zero, less 1. */
static kir_value lower(tly_build *c, kir_value low, kir_value v)
{
    return kir_bin(c->b, KIR_UMIN, low, tly_watch_less(c, v));
}

static void see(tly_build *c, seen *w, kir_value x, kir_value scan, kir_value y)
{
    if (tly_range_count(c) == 0)
        return;
    kir_value result = tly_watch_bits(c, y);
    w->most = kir_bin(c->b, KIR_UMAX, w->most, result);
    if (!tly_watches_products(c))
        return;
    kir_value bits = tly_watch_bits(c, scan);
    w->high = kir_bin(c->b, KIR_UMAX, w->high, bits);
    w->low = lower(c, lower(c, w->low, scan), x);
    w->least = kir_bin(c->b, KIR_UMIN, w->least, result);
}

/* i1: something may have left the range. A result below all normal numbers is the loop's, too, and
 * then any finite value will do, but must be one: where a row has come to nothing, and grows again,
 * the loop may be finite and this not. */
static kir_value left_range(tly_build *c, const seen *w)
{
    kir_builder *b = c->b;
    if (!tly_watches_products(c))
        return kir_any(b, tly_not(c, tly_watch_below(c, w->most, TLY_LARGE)));
    kir_value beyond = kir_any(b, tly_watch_beyond(c, w->high, w->low, PART, 0));
    kir_value fell = kir_any(b, tly_watch_below(c, w->least, TLY_NORMAL));
    kir_value grew = kir_any(b, tly_watch_endless(c, w->most));
    return kir_bin(b, KIR_OR, beyond, kir_bin(b, KIR_AND, fell, grew));
}

/* One vector of elements: returns it as it is stored. */
static kir_value scan_vector(tly_build *c, kir_value x, kir_value *before, seen *w)
{
    kir_value scan = tly_vector_scan(c, x, 1, c->lanes), y = tly_combine(c, *before, scan);
    kir_value shown = c->p->exclusive ? tly_vector_before(c, *before, y, 1, c->lanes) : y;
    *before = tly_combine(c, *before, tly_vector_newest(c, scan, 1));
    see(c, w, x, scan, y);
    tly_pack_run(c, &shown, 1, 0);
    return shown;
}

static kir_value input_at(medium *m, kir_value in, kir_value i)
{
    tly_build *c = m->c;
    return tly_at(c, in, i, (int64_t)c->p->in_step * c->in_bytes);
}

static void store(medium *m, kir_value to, kir_value i, kir_value v, unsigned flags)
{
    tly_store_run(m->c, tly_stored_at(m->c, to, i), &v, 1, flags);
}

static void prefetch(medium *m, kir_value p)
{
    tly_build *c = m->c;
    int64_t ahead = c->plan->prefetch, bytes = (int64_t)c->lanes * c->in_bytes;
    for (int64_t line = 0; line == 0 || line < bytes; line += 64)
        kir_prefetch(c->b, p, c->p->in_step * (ahead + line));
}

/* The last vector, and once more the one before it, `shown`: what both have is garbage in it. */
static void scan_last(medium *m, kir_value in, kir_value to, kir_value before, kir_value shown,
                      seen *w, kir_value lines)
{
    tly_build *c = m->c;
    kir_builder *b = c->b;
    kir_type t = KIR_TYPE(c->acc_bytes == 8 ? KIR_I64 : KIR_I32, c->lanes);
    kir_value at = sub(c, m->length, imm(c, c->lanes));
    kir_value x = tly_load_vector(c, input_at(m, in, at));
    kir_value shared = m->shared;
    if (c->acc_bytes < 8)
        shared = kir_convert(b, KIR_TRUNC, KIR_TYPE(KIR_I32, 1), shared);
    kir_value own = kir_cmp(b, KIR_ULE, kir_splat(b, shared, c->lanes), kir_iota(b, t));
    x = kir_select(b, own, x, tly_neutral(c, c->vec));
    kir_value last = scan_vector(c, x, &before, w);
    kir_branch way, more;
    kir_if(b, &way, lines);
    store(m, to, at, last, KIR_STREAM);
    kir_else(b, &way, 0, NULL);
    store(m, to, at, last, 0);
    kir_if(b, &more, less(c, imm(c, 0), m->shared));
    store(m, to, sub(c, m->whole, imm(c, c->lanes)), shown, 0);
    kir_if_end(b, &more, 0, NULL);
    kir_if_end(b, &way, 0, NULL);
}

/* The row again, by the plain loop. */
static void redo_row(medium *m, kir_value in, kir_value to)
{
    tly_build *c = m->c;
    kir_value y = tly_start(c, c->acc);
    kir_loop l;
    kir_for(c->b, &l, imm(c, 0), m->length, imm(c, 1), 1, &y);
    kir_value next = tly_combine(c, l.carried[0], tly_load(c, input_at(m, in, l.i), 0, 1));
    tly_store(c, tly_stored_at(c, to, l.i), 0, c->p->exclusive ? l.carried[0] : next, c->out_bytes,
              0);
    kir_for_end(c->b, &l, &next);
}

/* One row; i1 `lines`: `to` and all of it are whole lines past the cache. */
static void scan_row(medium *m, kir_value in, kir_value to, kir_value lines)
{
    tly_build *c = m->c;
    kir_builder *b = c->b;
    seen w = see_none(c);
    kir_value v[2 + MAX_SEEN] = {
        tly_start(c, c->vec), tly_neutral(c, tly_storage((tally_dtype)c->p->out_dtype, c->lanes))
    };
    unsigned n = 2 + seen_values(c, &w, v + 2, 1);
    kir_loop l;
    kir_branch way, redo;
    kir_for(b, &l, imm(c, 0), m->whole, imm(c, c->lanes), n, v);
    kir_value before = l.carried[0], from = input_at(m, in, l.i);
    seen_values(c, &w, l.carried + 2, 0);
    kir_value shown = scan_vector(c, tly_load_vector(c, from), &before, &w);
    kir_if(b, &way, lines);
    store(m, to, l.i, shown, KIR_STREAM);
    kir_else(b, &way, 0, NULL);
    store(m, to, l.i, shown, 0);
    kir_if_end(b, &way, 0, NULL);
    prefetch(m, from);
    v[0] = before;
    v[1] = shown;
    seen_values(c, &w, v + 2, 1);
    kir_for_end(b, &l, v);
    seen_values(c, &w, l.result + 2, 0);
    scan_last(m, in, to, l.result[0], l.result[1], &w, lines);
    if (tly_range_count(c) == 0)
        return;
    kir_if(b, &redo, left_range(c, &w));
    redo_row(m, in, to);
    kir_if_end(b, &redo, 0, NULL);
}

/* Rows of a batch: `first` and those after it, `rows` in all. */
static void scan_batch(medium *m, kir_value first, kir_value rows, tly_stream *out,
                       kir_value streams)
{
    tly_build *c = m->c;
    kir_builder *b = c->b;
    kir_value odd = kir_bin(b, KIR_AND, m->length, imm(c, tly_line(c) - 1));
    kir_value lined = kir_bin(b, KIR_AND, streams, equal(c, odd, imm(c, 0)));
    kir_value direct = kir_bin(b, KIR_OR, lined, tly_not(c, streams));
    direct = kir_bin(b, KIR_AND, direct, equal(c, out->pending, imm(c, 0)));
    if (tly_range_count(c) > 0) /* a row is done again from its input */
        direct = kir_bin(b, KIR_AND, direct, tly_out_of_place(c));
    kir_value to = kir_select(b, direct, out->to, tly_stored_at(c, m->buffer, out->pending));
    kir_value in = tly_row_address(c, first).in, lines = kir_bin(b, KIR_AND, direct, streams);
    kir_loop l;
    kir_for(b, &l, imm(c, 0), rows, imm(c, 1), 0, NULL);
    kir_value element = mul(c, l.i, m->length);
    scan_row(m, input_at(m, in, element), tly_stored_at(c, to, element), lines);
    kir_for_end(b, &l, NULL);
    tly_stream_advance(c, out, mul(c, rows, m->length), direct);
}

void tly_build_medium(tly_build *c, tly_launch *launch)
{
    kir_builder *b = c->b;
    medium m = { .c = c, .length = kir_get(b, KIR_ARG_LENGTH) };
    int64_t line = tly_line(c);
    tly_vector_masks(c);
    int64_t elements = (c->plan->block + 3 * line) / line * line, bytes = elements * c->out_bytes;
    int64_t first = tly_stored_step(c) < 0 ? bytes - c->out_bytes : 0; /* the highest */
    launch->chunk = 0;
    launch->scratch_bytes = (bytes + TLY_CONGRUENT_BYTES + 63) / 64 * 64;
    m.buffer = tly_congruent(c, kir_ptradd(b, kir_get(b, KIR_ARG_SCRATCH), imm(c, first)),
                             kir_get(b, KIR_ARG_OUT));
    m.whole = tly_round_down(c, sub(c, m.length, imm(c, 1)), c->lanes);
    m.shared = sub(c, add(c, m.whole, imm(c, c->lanes)), m.length);

    kir_value begin = kir_get(b, KIR_ARG_BEGIN), end = kir_get(b, KIR_ARG_TASK_END);
    kir_value streams = tly_streams(c);
    kir_value together = kir_bin(b, KIR_UDIV, imm(c, c->plan->block), m.length);
    tly_stream out = { .buffer = m.buffer };
    tly_stream_begin(c, &out, tly_row_address(c, begin).out, streams);
    kir_value v[TLY_STREAM_VALUES] = { out.to, out.pending, out.head };
    kir_loop l;
    kir_for(b, &l, begin, end, together, TLY_STREAM_VALUES, v);
    out = (tly_stream){ m.buffer, l.carried[0], l.carried[1], l.carried[2] };
    kir_value rows = tly_min(c, together, sub(c, end, l.i));
    scan_batch(&m, l.i, rows, &out, streams);
    tly_stream_drain(c, &out, streams, equal(c, add(c, l.i, rows), end));
    kir_value next[TLY_STREAM_VALUES] = { out.to, out.pending, out.head };
    kir_for_end(b, &l, next);
    tly_fence(c, streams);
    kir_return(b, imm(c, 0));
}

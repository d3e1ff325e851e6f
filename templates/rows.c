/*
 * Scans along rows: the windowed look-ahead scan, block by block.
 *
 *   stage in  -> neutral padding | block of accumulators in scratch
 *   scan      -> windows W1, W2, W4, ... each from the one before, of `unit`, 2 unit, 4 unit, ...
 *                elements, until a window is S >= lanes long; then y = W + (y of S before):
 *                one dependent operation a vector. The first doublings are overlapping loads of
 *                the staged block, the others shifts across this and the previous window.
 *   guard     -> a block whose partial results could have left the range is done again serially
 *   stage out -> narrowed, in whole lines
 *
 * unit 1: the chain is local to a chunk, from the neutral value; results are carry + local. So a
 * chunk's total does not depend on what comes before, threads can hand on carries early, and one
 * thread computes the same tree as many. unit > 1: the chain carries the true prefix, and rows are
 * never cut. Rows that fill less than half a block are staged several at a time.
 */
#include "template.h"

enum { MAX_HISTORY = 16, MAX_DOUBLINGS = 6, RANGE_AT = 16 /* bytes, in a total record */ };

typedef struct rows {
    tly_build *c;
    unsigned unit, loads, doublings, shift, history;
    int64_t step, pad, block, chunk; /* elements */
    kir_value work, input, buffer;   /* scratch: serial second try, staged block, output */
    kir_value length, group, pitch;  /* rows staged at a time, elements between them */
} rows;

/* Where a block stands. unit 1: carry and local are scalars; else history is the state. */
typedef struct state {
    kir_value carry, local;
    kir_value history[MAX_HISTORY]; /* newest first; the last shift results */
} state;

static unsigned state_count(const rows *r)
{
    return r->unit == 1 ? 2 : r->history;
}

static void state_pack(const rows *r, const state *s, kir_value *v)
{
    if (r->unit == 1) {
        v[0] = s->carry;
        v[1] = s->local;
    } else {
        for (unsigned k = 0; k < r->history; k++)
            v[k] = s->history[k];
    }
}

static state state_unpack(const rows *r, const kir_value *v)
{
    state s = { 0 };
    if (r->unit == 1) {
        s.carry = v[0];
        s.local = v[1];
    } else {
        for (unsigned k = 0; k < r->history; k++)
            s.history[k] = v[k];
    }
    return s;
}

static void state_history(rows *r, const state *s, kir_value local, kir_value *history)
{
    for (unsigned k = 0; k < r->history; k++)
        history[k] = r->unit == 1 ? kir_splat(r->c->b, local, r->c->lanes) : s->history[k];
}

static kir_value prefix(rows *r, const state *s)
{
    return tly_combine(r->c, s->carry, s->local);
}

/* ---- one vector ---- */

/* The window that ends at each lane of the vector at `p`, from overlapping loads alone. */
static kir_value load_window(rows *r, kir_value p)
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
static kir_value scan_vector(rows *r, kir_value p, kir_value *windows, kir_value *history)
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

/* Scans the staged segment at `from`; writes carry + y to `to` unless that is 0. history and
 * range are brought up to date. `ahead` is where to prefetch from, 0 for nowhere. */
static void scan_segment(rows *r, kir_value from, kir_value to, kir_value ahead, kir_value count,
                         kir_value carry, kir_value *history, kir_value *range)
{
    tly_build *c = r->c;
    kir_builder *b = c->b;
    unsigned windows = r->doublings - r->loads, ranges = tly_range_count(c), n = 0;
    kir_value v[KIR_MAX_CARRIED];
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
    if (ahead)
        kir_prefetch(b, kir_ptradd(b, ahead, mul(c, l.i, tly_in_step(c))), 0);
    kir_for_end(b, &l, v);
    for (unsigned k = 0; k < r->history; k++)
        history[k] = l.result[windows + k];
    for (unsigned k = 0; k < ranges; k++)
        range[k] = l.result[windows + r->history + k];
}

/* The plain loop over a staged segment, from the true prefixes in `history`. */
static void serial_segment(rows *r, kir_value from, kir_value to, kir_value count,
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

/* ---- one block: `rows` segments of `count` elements ---- */

typedef struct block {
    kir_value row, rows; /* first row, how many */
    kir_value position, count;
    kir_value starts, ends; /* i1: the first, the last block of its row in this call */
} block;

static kir_value segment_in(rows *r, const block *k, kir_value s)
{
    tly_build *c = r->c;
    tly_row a = tly_row_address(c, add(c, k->row, s));
    return kir_ptradd(c->b, a.in, mul(c, k->position, tly_in_step(c)));
}

static kir_value staged(rows *r, kir_value s)
{
    tly_build *c = r->c;
    return kir_ptradd(c->b, tly_at(c, r->input, mul(c, s, r->pitch), c->acc_bytes),
                      imm(c, r->pad * c->acc_bytes));
}

static void load_block(rows *r, const block *k)
{
    tly_build *c = r->c;
    kir_loop l;
    kir_for(c->b, &l, imm(c, 0), k->rows, imm(c, 1), 0, NULL);
    kir_value to = staged(r, l.i);
    for (int64_t i = 0; i < r->pad; i += c->lanes)
        kir_store(c->b, to, (i - r->pad) * c->acc_bytes, tly_neutral(c, c->vec), c->acc_bytes, 0);
    tly_stage_in(c, segment_in(r, k, l.i), to, k->count, (unsigned)r->step);
    kir_for_end(c->b, &l, NULL);
}

/* Exclusive: results lie one `unit` further on; the first ones are the prefix before. Returns the
 * buffer position of the segment's first result. */
static kir_value begin_segment(rows *r, const block *k, kir_value position, const state *s)
{
    tly_build *c = r->c;
    if (!c->p->exclusive)
        return position;
    kir_value at = tly_at(c, r->buffer, position, c->acc_bytes);
    kir_value history[MAX_HISTORY], first[MAX_HISTORY];
    if (r->unit == 1) {
        kir_store(c->b, at, 0, prefix(r, s), c->acc_bytes, 0);
    } else {
        /* the last `unit` results lie at the end of the history */
        state_history(r, s, 0, history);
        for (unsigned i = 0; i < r->unit; i++) {
            unsigned back = r->unit - i; /* elements before the segment */
            first[0] = kir_extract(c->b, history[(back - 1) / c->lanes],
                                   c->lanes - 1 - (back - 1) % c->lanes);
            kir_store(c->b, at, (int64_t)i * c->acc_bytes, first[0], c->acc_bytes, 0);
        }
    }
    return add(c, position, kir_select(c->b, k->starts, imm(c, r->unit), imm(c, 0)));
}

static kir_value end_segment(rows *r, const block *k, kir_value position)
{
    tly_build *c = r->c;
    kir_value next = add(c, position, k->count);
    if (!c->p->exclusive)
        return next;
    return sub(c, next, kir_select(c->b, k->ends, imm(c, r->unit), imm(c, 0)));
}

/* Scans every segment from the same state (several rows start alike). *position moves on. */
static void scan_block(rows *r, const block *k, const state *s, kir_value *position,
                       kir_value *history, kir_value *range)
{
    tly_build *c = r->c;
    unsigned ranges = tly_range_count(c), n = 0;
    kir_value v[KIR_MAX_CARRIED];
    v[n++] = *position;
    for (unsigned i = 0; i < r->history; i++)
        v[n++] = history[i];
    for (unsigned i = 0; i < ranges; i++)
        v[n++] = range[i];
    kir_loop l;
    kir_for(c->b, &l, imm(c, 0), k->rows, imm(c, 1), n, v);
    kir_value at = begin_segment(r, k, l.carried[0], s);
    kir_value h[MAX_HISTORY], g[2] = { 0 };
    state_history(r, s, s->local, h);
    for (unsigned i = 0; i < ranges; i++)
        g[i] = l.carried[1 + r->history + i];
    kir_value ahead = kir_ptradd(c->b, segment_in(r, k, l.i),
                                 imm(c, c->p->in_step < 0 ? -c->plan->prefetch
                                                          : c->plan->prefetch));
    scan_segment(r, staged(r, l.i), tly_at(c, r->buffer, at, c->acc_bytes), ahead, k->count,
                 r->unit == 1 ? s->carry : 0, h, g);
    v[0] = end_segment(r, k, at);
    for (unsigned i = 0; i < r->history; i++)
        v[1 + i] = h[i];
    for (unsigned i = 0; i < ranges; i++)
        v[1 + r->history + i] = g[i];
    kir_for_end(c->b, &l, v);
    *position = l.result[0];
    for (unsigned i = 0; i < r->history; i++)
        history[i] = l.result[1 + i];
    for (unsigned i = 0; i < ranges; i++)
        range[i] = l.result[1 + r->history + i];
}

static void serial_block(rows *r, const block *k, const state *s, kir_value position,
                         kir_value *history)
{
    tly_build *c = r->c;
    kir_value v[KIR_MAX_CARRIED] = { position };
    for (unsigned i = 0; i < r->history; i++)
        v[1 + i] = history[i];
    kir_loop l;
    kir_for(c->b, &l, imm(c, 0), k->rows, imm(c, 1), 1 + r->history, v);
    kir_value at = begin_segment(r, k, l.carried[0], s);
    kir_value h[MAX_HISTORY];
    state_history(r, s, r->unit == 1 ? prefix(r, s) : 0, h);
    serial_segment(r, staged(r, l.i), tly_at(c, r->buffer, at, c->acc_bytes), k->count, h);
    v[0] = end_segment(r, k, at);
    for (unsigned i = 0; i < r->history; i++)
        v[1 + i] = h[i];
    kir_for_end(c->b, &l, v);
    for (unsigned i = 0; i < r->history; i++)
        history[i] = l.result[1 + i];
}

/* unit > 1: windows start anew with the next block, so that every lane of the history must hold
 * the newest prefix of its class: the element `back` before the block, 1 <= back <= unit. */
static void newest_of_class(rows *r, const kir_value *history, kir_value *newest)
{
    tly_build *c = r->c;
    unsigned n = c->lanes;
    for (unsigned k = 0; k < r->history; k++) {
        uint8_t index[64];
        kir_value v = history[0];
        for (unsigned i = 0; i < n; i++) {
            unsigned back = ((k + 1) * n - i - 1) % r->unit + 1;
            index[i] = (uint8_t)(2 * n - back);
            if (r->unit > 2 * n)
                v = kir_insert(c->b, v, kir_extract(c->b, history[(back - 1) / n],
                                                    n - 1 - (back - 1) % n), i);
        }
        newest[k] = r->unit > 2 * n
            ? v : kir_shuffle(c->b, history[r->history > 1], history[0], index, n);
    }
}

/* A row's last block may be padded, which moves classes to other lanes; but then no block
 * follows. */
static void next_state(rows *r, state *s, const kir_value *history)
{
    if (r->unit == 1)
        s->local = tly_last(r->c, history[0]);
    else
        newest_of_class(r, history, s->history);
}

/* Scan, guard, and if need be the serial second try; returns the buffer position after it. */
static kir_value compute_block(rows *r, const block *k, state *s, kir_value position)
{
    tly_build *c = r->c;
    kir_builder *b = c->b;
    kir_value history[MAX_HISTORY], range[2] = { 0 }, extremes[2] = { 0 }, next = position;
    state_history(r, s, s->local, history);
    tly_range_begin(c, range);
    if (r->unit > 1)
        for (unsigned i = 0; i < r->history; i++)
            tly_range_track(c, range, history[i]);
    scan_block(r, k, s, &next, history, range);
    state scanned = *s;
    next_state(r, &scanned, history);
    if (tly_range_count(c) == 0) {
        *s = scanned;
        return next;
    }
    tly_range_fold(c, range, extremes);
    kir_value good = r->unit == 1 ? tly_range_good(c, extremes, s->carry)
                                  : tly_range_good_chain(c, extremes);
    kir_value v[MAX_HISTORY];
    kir_branch redo;
    kir_if(b, &redo, good);
    state_pack(r, &scanned, v);
    kir_else(b, &redo, state_count(r), v);
    state again = *s;
    state_history(r, s, r->unit == 1 ? prefix(r, s) : 0, history);
    serial_block(r, k, s, position, history);
    next_state(r, &again, history);
    if (r->unit == 1) {
        again.carry = again.local;
        again.local = tly_neutral(c, c->acc);
    }
    state_pack(r, &again, v);
    kir_if_end(b, &redo, state_count(r), v);
    *s = state_unpack(r, redo.result);
    return next;
}

/* ---- whole calls ---- */

/* The rows and positions that tiles [begin, end) are. */
typedef struct extent {
    kir_value first_row, end_row, first_position, end_position;
} extent;

static extent extent_of(rows *r)
{
    tly_build *c = r->c;
    kir_value begin = kir_get(c->b, KIR_ARG_BEGIN), end = kir_get(c->b, KIR_ARG_TASK_END);
    if (r->chunk == 0)
        return (extent){ begin, end, imm(c, 0), r->length };
    kir_value chunks = kir_get(c->b, KIR_ARG_CHUNKS), one = imm(c, 1);
    kir_branch cut;
    kir_if(c->b, &cut, less(c, one, chunks));
    kir_value first = kir_bin(c->b, KIR_UDIV, begin, chunks);
    kir_value last = kir_bin(c->b, KIR_UDIV, sub(c, end, one), chunks);
    kir_value some[4] = {
        first, add(c, last, one),
        mul(c, sub(c, begin, mul(c, first, chunks)), imm(c, r->chunk)),
        tly_min(c, r->length, mul(c, sub(c, end, mul(c, last, chunks)), imm(c, r->chunk))),
    };
    kir_else(c->b, &cut, 4, some);
    kir_value whole[4] = { begin, end, imm(c, 0), r->length };
    kir_if_end(c->b, &cut, 4, whole);
    return (extent){ cut.result[0], cut.result[1], cut.result[2], cut.result[3] };
}

static kir_value start_carry(rows *r, kir_value first)
{
    tly_build *c = r->c;
    kir_value record = kir_get(c->b, KIR_ARG_CARRY_IN);
    kir_value given = kir_cmp(c->b, KIR_NE, kir_addr(c->b, record), imm(c, 0));
    kir_branch has;
    kir_if(c->b, &has, kir_bin(c->b, KIR_AND, first, given));
    kir_value in = kir_load(c->b, c->acc, record, 0, c->acc_bytes);
    kir_else(c->b, &has, 1, &in);
    kir_value none = tly_start(c, c->acc);
    kir_if_end(c->b, &has, 1, &none);
    return has.result[0];
}

static state start_state(rows *r, kir_value first)
{
    tly_build *c = r->c;
    state s = { 0 };
    if (r->unit == 1) {
        s.carry = r->chunk ? start_carry(r, first) : tly_start(c, c->acc);
        s.local = tly_neutral(c, c->acc);
    }
    for (unsigned k = 0; k < r->history; k++)
        s.history[k] = tly_start(c, c->vec);
    return s;
}

/* At a chunk's border the local results join the carry. */
static void cross_border(rows *r, state *s, kir_value position)
{
    tly_build *c = r->c;
    if (r->chunk == 0)
        return;
    kir_value inside = kir_bin(c->b, KIR_AND, position, imm(c, r->chunk - 1));
    kir_value border = equal(c, inside, imm(c, 0));
    s->carry = kir_select(c->b, border, prefix(r, s), s->carry);
    s->local = kir_select(c->b, border, tly_neutral(c, c->acc), s->local);
}

/* Several rows whose output lies apart leave the buffer one by one. */
static void store_apart(rows *r, const block *k)
{
    tly_build *c = r->c;
    kir_loop l;
    kir_for(c->b, &l, imm(c, 0), k->rows, imm(c, 1), 0, NULL);
    tly_row a = tly_row_address(c, add(c, k->row, l.i));
    kir_value from = tly_at(c, r->buffer, mul(c, l.i, r->length), c->acc_bytes);
    tly_stage_out(c, from, a.out, r->length);
    kir_for_end(c->b, &l, NULL);
}

static void store_block(rows *r, const block *k, tly_stream *out, kir_value streams)
{
    tly_build *c = r->c;
    if (c->p->dense) {
        tly_stream_drain(c, out, streams);
        return;
    }
    kir_branch several;
    tly_stream same = *out;
    kir_if(c->b, &several, less(c, imm(c, 1), k->rows));
    store_apart(r, k);
    kir_value v[TLY_STREAM_VALUES] = { same.to, imm(c, 0), imm(c, 0) };
    kir_else(c->b, &several, TLY_STREAM_VALUES, v);
    tly_stream_drain(c, out, streams);
    kir_value w[TLY_STREAM_VALUES] = { out->to, out->pending, out->head };
    kir_if_end(c->b, &several, TLY_STREAM_VALUES, w);
    out->to = several.result[0];
    out->pending = several.result[1];
    out->head = several.result[2];
}

/* The blocks of one row (or one group of short rows). */
static void scan_row(rows *r, const block *k0, kir_value from, kir_value to, state *s,
                     tly_stream *out, kir_value streams)
{
    tly_build *c = r->c;
    unsigned n = state_count(r);
    kir_value v[KIR_MAX_CARRIED];
    state_pack(r, s, v);
    v[n] = out->to;
    v[n + 1] = out->pending;
    v[n + 2] = out->head;
    kir_loop l;
    kir_for(c->b, &l, from, to, imm(c, r->block), n + TLY_STREAM_VALUES, v);
    state now = state_unpack(r, l.carried);
    tly_stream o = { r->buffer, l.carried[n], l.carried[n + 1], l.carried[n + 2] };
    block k = *k0;
    k.position = l.i;
    k.count = tly_min(c, imm(c, r->block), sub(c, to, l.i));
    k.starts = equal(c, l.i, from);
    k.ends = equal(c, add(c, l.i, k.count), to);
    cross_border(r, &now, l.i);
    load_block(r, &k);
    o.pending = compute_block(r, &k, &now, o.pending);
    store_block(r, &k, &o, streams);
    state_pack(r, &now, v);
    v[n] = o.to;
    v[n + 1] = o.pending;
    v[n + 2] = o.head;
    kir_for_end(c->b, &l, v);
    *s = state_unpack(r, l.result);
    *out = (tly_stream){ r->buffer, l.result[n], l.result[n + 1], l.result[n + 2] };
}

static void build_scan(rows *r)
{
    tly_build *c = r->c;
    kir_builder *b = c->b;
    extent e = extent_of(r);
    kir_value streams = tly_streams(c);
    if (!c->p->dense) /* short rows apart have no whole lines worth bypassing the cache */
        streams = kir_bin(b, KIR_AND, streams, equal(c, r->group, imm(c, 1)));
    tly_stream out = { r->buffer, 0, imm(c, 0), imm(c, 0) };
    tly_row first = tly_row_address(c, e.first_row);
    kir_value start = kir_ptradd(b, first.out, mul(c, e.first_position, tly_out_step(c)));
    tly_stream_begin(c, &out, start, streams);

    kir_value v[4] = { out.to, out.pending, out.head, tly_neutral(c, c->acc) };
    kir_loop l;
    kir_for(b, &l, e.first_row, e.end_row, r->group, 4, v);
    block k = { .row = l.i, .rows = tly_min(c, r->group, sub(c, e.end_row, l.i)) };
    kir_value is_first = equal(c, l.i, e.first_row);
    kir_value is_last = equal(c, add(c, l.i, k.rows), e.end_row);
    kir_value from = kir_select(b, is_first, e.first_position, imm(c, 0));
    kir_value to = kir_select(b, is_last, e.end_position, r->length);
    out = (tly_stream){ r->buffer, l.carried[0], l.carried[1], l.carried[2] };
    if (!c->p->dense) {
        tly_row a = tly_row_address(c, l.i);
        tly_stream_begin(c, &out, kir_ptradd(b, a.out, mul(c, from, tly_out_step(c))), streams);
    }
    state s = start_state(r, is_first);
    scan_row(r, &k, from, to, &s, &out, streams);
    if (!c->p->dense)
        tly_stream_flush(c, &out);
    kir_value next[4] = {
        out.to, out.pending, out.head, r->unit == 1 ? prefix(r, &s) : v[3],
    };
    kir_for_end(b, &l, next);
    if (c->p->dense) {
        out = (tly_stream){ r->buffer, l.result[0], l.result[1], l.result[2] };
        tly_stream_flush(c, &out);
    }
    kir_branch fence, carry;
    kir_if(b, &fence, streams);
    kir_fence(b);
    kir_if_end(b, &fence, 0, NULL);
    if (r->chunk == 0)
        return;
    kir_value record = kir_get(b, KIR_ARG_CARRY_OUT);
    kir_if(b, &carry, kir_cmp(b, KIR_NE, kir_addr(b, record), imm(c, 0)));
    kir_store(b, record, 0, l.result[3], c->acc_bytes, 0);
    kir_if_end(b, &carry, 0, NULL);
}

/* One chunk's total and range, nothing stored but the record. */
static void build_total(rows *r)
{
    tly_build *c = r->c;
    kir_builder *b = c->b;
    extent e = extent_of(r);
    unsigned ranges = tly_range_count(c);
    kir_value v[3] = { tly_neutral(c, c->acc) }, range[2] = { 0 };
    tly_range_begin(c, range);
    tly_range_fold(c, range, &v[1]);
    kir_loop l;
    kir_for(b, &l, e.first_position, e.end_position, imm(c, r->block), 1 + ranges, v);
    block k = { .row = e.first_row, .rows = imm(c, 1), .position = l.i };
    k.count = tly_min(c, imm(c, r->block), sub(c, e.end_position, l.i));
    load_block(r, &k);
    kir_value history[MAX_HISTORY];
    state s = { .local = l.carried[0] };
    state_history(r, &s, s.local, history);
    tly_range_begin(c, range);
    kir_value ahead = kir_ptradd(b, segment_in(r, &k, imm(c, 0)), imm(c, c->plan->prefetch));
    scan_segment(r, staged(r, imm(c, 0)), 0, ahead, k.count, 0, history, range);
    v[0] = tly_last(c, history[0]);
    tly_range_fold(c, range, &v[1]);
    tly_range_merge(c, &v[1], &l.carried[1]);
    kir_for_end(b, &l, v);
    kir_value record = kir_get(b, KIR_ARG_CARRY_OUT);
    kir_store(b, record, 0, l.result[0], c->acc_bytes, 0);
    for (unsigned i = 0; i < ranges; i++)
        kir_store(b, record, RANGE_AT + 4 * i, l.result[1 + i], 4, 0);
}

/* The carry after a chunk from the carry before it and its total; 1 if the total is none. */
static kir_value build_combine(rows *r)
{
    tly_build *c = r->c;
    kir_builder *b = c->b;
    kir_value total = kir_get(b, KIR_ARG_TOTAL), range[2] = { 0 };
    kir_value carry = kir_load(b, c->acc, kir_get(b, KIR_ARG_CARRY_IN), 0, c->acc_bytes);
    kir_value local = kir_load(b, c->acc, total, 0, c->acc_bytes);
    for (unsigned i = 0; i < tly_range_count(c); i++)
        range[i] = kir_load(b, tly_range_type(c), total, RANGE_AT + 4 * i, 4);
    kir_branch good;
    kir_if(b, &good, tly_range_good(c, range, carry));
    kir_store(b, kir_get(b, KIR_ARG_CARRY_OUT), 0, tly_combine(c, carry, local), c->acc_bytes, 0);
    kir_value none = imm(c, 0), one = imm(c, 1);
    kir_else(b, &good, 1, &none);
    kir_if_end(b, &good, 1, &one);
    return good.result[0];
}

static int64_t round_up(int64_t x, int64_t multiple)
{
    return (x + multiple - 1) / multiple * multiple;
}

/* Scratch: work, input, buffer. Input and buffer lie half a page apart modulo 4096, where loads
 * from one are not taken for loads of what was just stored to the other. */
static void lay_out(rows *r, tly_launch *launch)
{
    tly_build *c = r->c;
    int64_t bytes = c->acc_bytes, page = 4096;
    int64_t work = round_up((r->history * c->lanes + r->block + r->step) * bytes, 64);
    int64_t input = round_up((r->pad + r->block + r->step) * bytes, 64);
    int64_t buffer = work + input;
    while ((buffer - work) % page != page / 2)
        buffer += 64;
    launch->scratch_bytes = round_up(
        buffer + (r->block + tly_line(c) + r->unit + r->step) * bytes, 64);
    kir_value scratch = kir_get(c->b, KIR_ARG_SCRATCH);
    r->work = scratch;
    r->input = kir_ptradd(c->b, scratch, imm(c, work));
    r->buffer = kir_ptradd(c->b, scratch, imm(c, buffer));
}

void tly_build_rows(tly_build *c, tly_launch *launch)
{
    kir_builder *b = c->b;
    rows r = { .c = c, .unit = c->p->unit, .block = c->plan->block, .chunk = c->plan->chunk };
    r.step = (int64_t)c->lanes * c->plan->unroll;
    while (r.unit << r.doublings < c->lanes)
        r.doublings++;
    r.loads = (unsigned)c->plan->window_loads < r.doublings ? (unsigned)c->plan->window_loads
                                                            : r.doublings;
    r.shift = r.unit << r.doublings;
    r.history = (r.shift + c->lanes - 1) / c->lanes;
    r.pad = round_up((int64_t)((1u << r.loads) - 1) * r.unit, c->lanes);
    lay_out(&r, launch);
    launch->chunk = r.chunk;

    r.length = kir_get(b, KIR_ARG_LENGTH);
    r.pitch = add(c, tly_round_up(c, r.length, r.step), imm(c, r.pad));
    kir_branch small;
    kir_if(b, &small, less(c, mul(c, r.pitch, imm(c, 2)), imm(c, r.block + 1)));
    kir_value several = kir_bin(b, KIR_UDIV, imm(c, r.block), r.pitch), one = imm(c, 1);
    kir_else(b, &small, 1, &several);
    kir_if_end(b, &small, 1, &one);
    r.group = small.result[0];

    if (r.chunk == 0) {
        build_scan(&r);
        kir_return(b, imm(c, 0));
        return;
    }
    kir_value mode = kir_get(b, KIR_ARG_MODE), zero = imm(c, 0);
    kir_branch scan, total;
    kir_if(b, &scan, equal(c, mode, imm(c, TLY_MODE_SCAN)));
    build_scan(&r);
    kir_else(b, &scan, 1, &zero);
    kir_if(b, &total, equal(c, mode, imm(c, TLY_MODE_TOTAL)));
    build_total(&r);
    kir_else(b, &total, 1, &zero);
    kir_value rest = build_combine(&r);
    kir_if_end(b, &total, 1, &rest);
    kir_if_end(b, &scan, 1, &total.result[0]);
    kir_return(b, scan.result[0]);
}

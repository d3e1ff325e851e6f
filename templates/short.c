/*
 * Dense rows of a few elements, the length a literal: many rows are staged at once, each is
 * scanned in registers by log2(lanes) shifts, and what a row's last vector has too much the next
 * row overwrites. A batch is judged as a whole first, then row by row; a row that left the range is
 * done serially.
 */
#include "template.h"

typedef struct batch {
    tly_build *c;
    unsigned length, vectors;
    int64_t rows; /* a batch */
    kir_value input, buffer;
} batch;

/* What a step or a batch has shown, lane-wise: of products the extremes of their elements, how far
 * the scans of vectors lie from the lower end of half of the range, and the least result; of sums
 * the largest. */
typedef struct seen {
    kir_value high, low, apart, least;
} seen;

static unsigned seen_count(const tly_build *c)
{
    return tly_range_count(c) == 0 ? 0 : tly_watches_products(c) ? 4 : 1;
}

static void pack(const seen *w, kir_value *v)
{
    v[0] = w->high;
    v[1] = w->low;
    v[2] = w->apart;
    v[3] = w->least;
}

static seen unpack(const kir_value *v)
{
    return (seen){ v[0], v[1], v[2], v[3] };
}

static seen see_none(tly_build *c)
{
    if (tly_range_count(c) == 0)
        return (seen){ 0, 0, 0, 0 };
    kir_value one = tly_watch_bits(c, tly_neutral(c, c->vec));
    return (seen){ one, one, kir_const(c->b, kir_type_of(c->b, one), 0), one };
}

static void see(batch *r, seen *w, kir_value x, kir_value scan, kir_value y)
{
    tly_build *c = r->c;
    if (tly_range_count(c) == 0)
        return;
    kir_value bits = tly_watch_bits(c, tly_watches_products(c) ? x : y);
    if (!tly_watches_products(c)) {
        w->high = kir_bin(c->b, KIR_UMAX, w->high, bits);
        return;
    }
    w->high = kir_bin(c->b, KIR_UMAX, w->high, tly_watch_finite(c, bits));
    w->low = kir_bin(c->b, KIR_UMIN, w->low, tly_watch_less(c, x));
    w->apart = tly_watch_apart(c, w->apart, scan, TLY_WATCH_PART);
    if (r->vectors > TLY_WATCH_PART) /* two scans multiplied are normal */
        w->least = kir_bin(c->b, KIR_UMIN, w->least, tly_watch_bits(c, y));
}

/* i1s: scans or results left the range. */
static kir_value scans_left(tly_build *c, const seen *w)
{
    return kir_bin(c->b, KIR_OR, tly_watch_left(c, w->apart, TLY_WATCH_PART),
                   tly_watch_below(c, w->least, TLY_NORMAL));
}

/* i1: nothing left the range, for one reason or the other: elements (or exact zeros) whose products
 * cannot, or scans and results that did not. */
static kir_value stayed(batch *r, const seen *w)
{
    tly_build *c = r->c;
    kir_builder *b = c->b;
    if (tly_range_count(c) == 0)
        return kir_const(b, KIR_TYPE(KIR_I1, 1), 1);
    if (!tly_watches_products(c))
        return tly_not(c, kir_any(b, tly_not(c, tly_watch_below(c, w->high, TLY_LARGE))));
    kir_value left = kir_any(b, tly_watch_beyond(c, w->high, w->low, r->length, 1));
    return tly_not(c, kir_bin(b, KIR_AND, left, kir_any(b, scans_left(c, w))));
}

/* Lanes that are no part of the row look like 1 (a product) or 0 (a sum). */
static kir_value visible(tly_build *c, kir_value y, unsigned valid)
{
    kir_kind kind = c->acc_bytes == 8 ? KIR_I64 : KIR_I32;
    kir_type t = KIR_TYPE(kind, c->lanes);
    if (valid >= c->lanes)
        return y;
    kir_value inside = kir_cmp(c->b, KIR_ULT, kir_iota(c->b, t), kir_const(c->b, t, valid));
    return kir_select(c->b, inside, y, tly_neutral(c, c->vec));
}

/* Vector k of a row of consecutive accumulators at `from`. */
static kir_value load_vector(batch *r, kir_value from, unsigned k)
{
    tly_build *c = r->c;
    kir_value x = kir_load(c->b, c->vec, from, (int64_t)k * c->lanes * c->acc_bytes, c->acc_bytes);
    return tly_range_count(c) > 0 ? visible(c, x, r->length - k * c->lanes) : x;
}

/* The same where nothing behind the row may be read. */
static kir_value load_alone(batch *r, kir_value from, unsigned k)
{
    tly_build *c = r->c;
    unsigned valid = r->length - k * c->lanes;
    if (valid >= c->lanes)
        return load_vector(r, from, k);
    return kir_mload(c->b, c->vec, from, (int64_t)k * c->lanes * c->acc_bytes, imm(c, valid),
                     tly_neutral(c, c->vec));
}

/* One row, its vectors loaded from `from`; its results as vectors. */
static void scan_row(batch *r, kir_value (*load)(batch *, kir_value, unsigned), kir_value from,
                     kir_value *results, seen *w)
{
    tly_build *c = r->c;
    kir_value before = 0;
    for (unsigned k = 0; k < r->vectors; k++) {
        kir_value x = load(r, from, k);
        kir_value scan = tly_vector_scan(c, x, 1, c->lanes), y = scan;
        if (before)
            y = tly_combine(c, kir_splat(c->b, before, c->lanes), y);
        see(r, w, x, scan, y);
        results[k] = c->p->exclusive ? tly_combine(c, tly_start(c, c->vec), y) : y;
        if (k + 1 < r->vectors)
            before = tly_last(c, y);
    }
    for (unsigned k = r->vectors; c->p->exclusive && k-- > 0;)
        results[k] = tly_shift(c, k > 0 ? results[k - 1] : tly_start(c, c->vec), results[k], 1);
    for (unsigned k = 0; k < r->vectors; k++)
        tly_pack_run(c, &results[k], 1, 0);
}

/* Stores them; what the last vector has too much the next row overwrites. */
static void store_row(batch *r, kir_value to, const kir_value *results, unsigned flags)
{
    for (unsigned k = 0; k < r->vectors; k++)
        tly_store_run(r->c, tly_stored_at(r->c, to, imm(r->c, k * r->c->lanes)), &results[k], 1,
                      flags);
}

/* Rows [0, rows) of the batch from `from` to `to`, several a step: what is staged beyond them is
 * neutral. `in` is their input in memory, to prefetch from. `lines` (i1, or 0 for never): `to` is
 * whole lines past the cache. */
static void scan_rows(batch *r, kir_value in, kir_value from, kir_value to, kir_value lines,
                      kir_value rows, seen *w)
{
    tly_build *c = r->c;
    int64_t input = (int64_t)r->length * c->in_bytes, ahead = c->plan->prefetch;
    unsigned together = (unsigned)c->plan->unroll;
    kir_value v[4], results[TLY_SHORT_MOST_ROWS][TLY_SHORT_MOST_VECTORS];
    kir_branch way;
    kir_loop l;
    pack(w, v);
    kir_for(c->b, &l, imm(c, 0), rows, imm(c, together), seen_count(c), v);
    seen now = unpack(l.carried);
    int64_t row = (int64_t)r->length * c->acc_bytes;
    kir_value soon = tly_at(c, in, l.i, input * c->p->in_step);
    for (int64_t line = 0; line < input * together; line += 64)
        kir_prefetch(c->b, soon, c->p->in_step * (ahead + line));
    for (unsigned k = 0; k < together; k++)
        scan_row(r, load_vector, kir_ptradd(c->b, tly_at(c, from, l.i, row), imm(c, k * row)),
                 results[k], &now);
    kir_value first = tly_stored_at(c, to, mul(c, l.i, imm(c, r->length)));
    if (lines) {
        kir_if(c->b, &way, lines);
        for (unsigned k = 0; k < together; k++)
            store_row(r, tly_stored_at(c, first, imm(c, k * r->length)), results[k], KIR_STREAM);
        kir_else(c->b, &way, 0, NULL);
    }
    for (unsigned k = 0; k < together; k++)
        store_row(r, tly_stored_at(c, first, imm(c, k * r->length)), results[k], 0);
    if (lines)
        kir_if_end(c->b, &way, 0, NULL);
    pack(&now, v);
    kir_for_end(c->b, &l, v);
    *w = unpack(l.result);
}

/* i1: the same of one row by itself, whose exact zeros count as 1: a scan that is 0 where neither
 * the element nor the lane before it is has fallen there. */
static kir_value row_stayed(batch *r, kir_value from, const seen *w)
{
    tly_build *c = r->c;
    kir_builder *b = c->b;
    kir_value one = tly_neutral(c, c->vec), left = 0, before = 0;
    seen own = see_none(c);
    if (!tly_watches_products(c))
        return stayed(r, w);
    for (unsigned k = 0; k < r->vectors; k++) {
        kir_value x = kir_load(b, c->vec, from, (int64_t)k * c->lanes * c->acc_bytes, c->acc_bytes);
        x = visible(c, x, r->length - k * c->lanes);
        kir_value scan = tly_vector_scan(c, x, 1, c->lanes), no = kir_const(b, c->vec, 0);
        kir_value zero = kir_cmp(b, KIR_OEQ, scan, no);
        kir_value fell = tly_watch_not_zero(c, tly_vector_before(c, one, scan, 1, c->lanes));
        fell = kir_bin(b, KIR_AND, kir_bin(b, KIR_AND, fell, zero), tly_watch_not_zero(c, x));
        left = left ? kir_bin(b, KIR_OR, left, fell) : fell;
        kir_value y = before ? tly_combine(c, kir_splat(b, before, c->lanes), scan) : scan;
        if (before)
            zero = kir_bin(b, KIR_OR, zero,
                           kir_cmp(b, KIR_OEQ, kir_splat(b, before, c->lanes), no));
        see(r, &own, x, kir_select(b, kir_cmp(b, KIR_OEQ, scan, no), one, scan),
            kir_select(b, zero, one, y));
        before = tly_last(c, y);
    }
    kir_value out = kir_any(b, scans_left(c, &own));
    out = kir_bin(b, KIR_OR, kir_any(b, left), out);
    return kir_bin(b, KIR_OR, tly_not(c, out), stayed(r, w));
}

/* Each row on its own again, in order, since a row's last vector spills into the next: how a row
 * is combined must not depend on the rows that happen to be staged with it. */
static void guard_rows(batch *r, kir_value from, kir_value position, kir_value rows)
{
    tly_build *c = r->c;
    kir_loop l, e;
    kir_branch redo;
    kir_for(c->b, &l, imm(c, 0), rows, imm(c, 1), 0, NULL);
    kir_value element = mul(c, l.i, imm(c, r->length)), y = tly_start(c, c->acc);
    kir_value in = tly_at(c, from, element, c->acc_bytes);
    kir_value results[TLY_SHORT_MOST_VECTORS];
    kir_value out = tly_stored_at(c, r->buffer, add(c, position, element));
    seen w = see_none(c);
    scan_row(r, load_vector, in, results, &w);
    store_row(r, out, results, 0);
    kir_if(c->b, &redo, row_stayed(r, in, &w));
    kir_else(c->b, &redo, 0, NULL);
    kir_for(c->b, &e, imm(c, 0), imm(c, r->length), imm(c, 1), 1, &y);
    kir_value x = kir_load(c->b, c->acc, tly_at(c, in, e.i, c->acc_bytes), 0, c->acc_bytes);
    kir_value next = tly_combine(c, e.carried[0], x);
    tly_store(c, tly_stored_at(c, out, e.i), 0, c->p->exclusive ? e.carried[0] : next, c->out_bytes,
              0);
    kir_for_end(c->b, &e, &next);
    kir_if_end(c->b, &redo, 0, NULL);
    kir_for_end(c->b, &l, NULL);
}

/* Returns if the vector scan stands (i1). */
static kir_value scan_batch(batch *r, kir_value in, kir_value from, const tly_stream *out,
                            kir_value direct, kir_value streams, kir_value rows)
{
    tly_build *c = r->c;
    kir_value lines = 0;
    kir_value to = tly_stored_at(c, r->buffer, out->pending);
    if (direct) {
        to = kir_select(c->b, direct, out->to, to);
        lines = kir_bin(c->b, KIR_AND, direct, streams);
    }
    seen w = see_none(c);
    scan_rows(r, in, from, to, lines, rows, &w);
    kir_value good = stayed(r, &w);
    if (tly_range_count(c) == 0)
        return good;
    kir_branch redo;
    kir_if(c->b, &redo, good);
    kir_else(c->b, &redo, 0, NULL);
    guard_rows(r, from, out->pending, rows);
    kir_if_end(c->b, &redo, 0, NULL);
    return good;
}

/* Accumulators are read where they lie, ... */
static int reads_direct(const batch *r)
{
    const tly_build *c = r->c;
    return c->p->dtype == c->p->acc && c->p->in_step == 1;
}

/* ... i1: where what a last vector has too much are elements, too: of rows behind the batch. */
static kir_value may_read(batch *r, kir_value whole, kir_value first, kir_value end)
{
    tly_build *c = r->c;
    int64_t beyond = (int64_t)r->vectors * c->lanes - r->length;
    if (beyond == 0)
        return whole;
    int64_t rows = r->rows + (beyond + r->length - 1) / r->length;
    kir_value behind = less(c, add(c, first, imm(c, rows - 1)), end);
    return kir_bin(c->b, KIR_AND, whole, behind);
}

/* Whole batches of whole vectors, out of place, need no buffer where output starts with a line or
 * stays in cache. */
static kir_value goes_direct(batch *r, const tly_stream *out, kir_value whole)
{
    tly_build *c = r->c;
    kir_builder *b = c->b;
    if (c->p->out_step == TLY_ANY_STEP || r->length % c->lanes != 0 ||
        r->rows * r->length % tly_line(c) != 0)
        return 0;
    whole = kir_bin(b, KIR_AND, whole, equal(c, out->pending, imm(c, 0)));
    return kir_bin(b, KIR_AND, whole, tly_out_of_place(c));
}

static void stage_batch(batch *r, kir_value from, kir_value count, int64_t beyond)
{
    tly_build *c = r->c;
    tly_stage_in(c, from, r->input, count, c->lanes);
    kir_value after = tly_at(c, r->input, count, c->acc_bytes);
    for (int64_t i = 0; i < beyond; i += c->lanes)
        kir_store(c->b, after, i * c->acc_bytes, tly_neutral(c, c->vec), c->acc_bytes, 0);
}

/* Rows of which a call has few are read and written where they lie, one by one, by masks. A call of
 * one row of 5, 12, 16, 48 f32, ns: by batches 38, 59, 40, 80, so 14, 15, 16, 19; the C loop 3, 5,
 * 6, 19 (Zen 4, AVX-512). */
static int takes_few(const batch *r)
{
    const tly_build *c = r->c;
    return reads_direct(r) && c->t->mask_bytes > 0 && (unsigned)c->t->mask_bytes <= c->in_bytes;
}

/* Returns where the others begin: the first one that may have left the range, or all. */
static kir_value scan_few(batch *r, kir_value begin, kir_value end)
{
    enum { FEW = 4 }; /* one was measured; a batch's first costs weigh less from there on */
    tly_build *c = r->c;
    kir_builder *b = c->b;
    kir_value few = less(c, sub(c, end, begin), imm(c, FEW + 1)), done = begin;
    kir_value results[TLY_SHORT_MOST_VECTORS];
    kir_loop l;
    kir_branch next, stands;
    kir_for(b, &l, begin, kir_select(b, few, end, begin), imm(c, 1), 1, &done);
    done = l.carried[0];
    kir_if(b, &next, equal(c, done, l.i));
    tly_row at = tly_row_address(c, l.i);
    seen w = see_none(c);
    scan_row(r, load_alone, at.in, results, &w);
    kir_value good = stayed(r, &w);
    kir_if(b, &stands, good);
    for (unsigned k = 0; k < r->vectors; k++) {
        kir_value to = tly_stored_at(c, at.out, imm(c, k * c->lanes));
        unsigned valid = r->length - k * c->lanes;
        if (valid >= c->lanes)
            tly_store_run(c, to, &results[k], 1, 0);
        else
            kir_mstore(b, to, 0, imm(c, valid), results[k]);
    }
    kir_if_end(b, &stands, 0, NULL);
    kir_value after = kir_select(b, good, add(c, l.i, imm(c, 1)), done);
    kir_else(b, &next, 1, &after);
    kir_if_end(b, &next, 1, &done);
    kir_for_end(b, &l, next.result);
    return l.result[0];
}

void tly_build_short(tly_build *c, tly_launch *launch)
{
    batch r = { .c = c, .length = c->p->length };
    kir_builder *b = c->b;
    r.vectors = (r.length + c->lanes - 1) / c->lanes;
    tly_vector_masks(c);
    r.rows = c->plan->block / r.length / c->plan->unroll * c->plan->unroll;
    /* a step's rows beyond the batch, and what a row's last vector has too much */
    int64_t beyond = (int64_t)(c->plan->unroll - 1) * r.length;
    int64_t slack = beyond + (int64_t)(r.vectors + 1) * c->lanes;
    int64_t input = (r.rows * r.length + slack) * c->acc_bytes;
    input = (input + TLY_CONGRUENT_BYTES + 63) / 64 * 64;
    int64_t elements = (r.rows * r.length + 3 * tly_line(c) + slack) / tly_line(c) * tly_line(c);
    int64_t buffer = elements * c->out_bytes;
    int64_t first = tly_stored_step(c) < 0 ? buffer - c->out_bytes : 0; /* the highest */
    launch->chunk = 0;
    launch->scratch_bytes = (input + buffer + TLY_CONGRUENT_BYTES + 63) / 64 * 64;
    kir_value scratch = kir_get(b, KIR_ARG_SCRATCH);
    r.input = tly_congruent(c, scratch, kir_get(b, KIR_ARG_IN));
    r.buffer = tly_congruent(c, kir_ptradd(b, scratch, imm(c, input + first)),
                             kir_get(b, KIR_ARG_OUT));

    kir_value begin = kir_get(b, KIR_ARG_BEGIN), end = kir_get(b, KIR_ARG_TASK_END);
    if (takes_few(&r))
        begin = scan_few(&r, begin, end);
    kir_value streams = tly_streams(c), zero = imm(c, 0);
    tly_stream out = { .buffer = r.buffer };
    tly_stream_begin(c, &out, tly_row_address(c, begin).out, streams);
    kir_value v[TLY_STREAM_VALUES] = { out.to, out.pending, out.head };
    kir_loop l;
    kir_branch staged;
    kir_for(b, &l, begin, end, imm(c, r.rows), TLY_STREAM_VALUES, v);
    out = (tly_stream){ r.buffer, l.carried[0], l.carried[1], l.carried[2] };
    kir_value rows = tly_min(c, imm(c, r.rows), sub(c, end, l.i));
    kir_value count = mul(c, rows, imm(c, r.length));
    kir_value in = tly_row_address(c, l.i).in, from = r.input;
    kir_value whole = equal(c, rows, imm(c, r.rows)), direct = goes_direct(&r, &out, whole);
    if (reads_direct(&r)) {
        kir_value there = may_read(&r, whole, l.i, end);
        from = kir_select(b, there, in, r.input);
        kir_if(b, &staged, there);
        kir_else(b, &staged, 0, NULL);
    }
    stage_batch(&r, in, count, beyond);
    if (reads_direct(&r))
        kir_if_end(b, &staged, 0, NULL);
    kir_value good = scan_batch(&r, in, from, &out, direct, streams, rows);
    tly_stream_advance(c, &out, count, direct ? kir_bin(b, KIR_AND, direct, good) : 0);
    tly_stream_drain(c, &out, streams, equal(c, add(c, l.i, rows), end));
    kir_value next[TLY_STREAM_VALUES] = { out.to, out.pending, out.head };
    kir_for_end(b, &l, next);
    tly_fence(c, streams);
    kir_return(b, zero);
}

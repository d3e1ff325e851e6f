/*
 * Dense rows of a few elements, the length a literal: many rows are staged at once, each is
 * scanned in registers by log2(lanes) shifts, and what a row's last vector has too much the next
 * row overwrites. Guarded like any windowed scan: a batch that left the range is done serially.
 */
#include "template.h"

typedef struct batch {
    tly_build *c;
    unsigned length, vectors;
    int64_t rows; /* a batch */
    kir_value input, buffer;
} batch;

/* Lanes that are no part of the row look like 1 (a product) or 0 (a sum) to the guard. */
static kir_value visible(tly_build *c, kir_value y, unsigned valid)
{
    kir_kind kind = c->acc.kind == KIR_F64 ? KIR_I64 : KIR_I32;
    kir_type t = KIR_TYPE(kind, c->lanes);
    if (valid >= c->lanes)
        return y;
    kir_value inside = kir_cmp(c->b, KIR_ULT, kir_iota(c->b, t), kir_const(c->b, t, valid));
    return kir_select(c->b, inside, y, tly_neutral(c, c->vec));
}

/* One row: staged at `from`, its results to `to`. */
static void scan_row(batch *r, kir_value from, kir_value to, kir_value *range)
{
    tly_build *c = r->c;
    int64_t bytes = (int64_t)c->lanes * c->acc_bytes, first = 0;
    kir_value before = 0;
    if (c->p->exclusive) {
        kir_store(c->b, to, 0, tly_start(c, c->acc), c->acc_bytes, 0);
        first = c->acc_bytes;
    }
    for (unsigned k = 0; k < r->vectors; k++) {
        kir_value y = tly_scan_lanes(c, kir_load(c->b, c->vec, from, (int64_t)k * bytes,
                                                 c->acc_bytes));
        if (before)
            y = tly_combine(c, kir_splat(c->b, before, c->lanes), y);
        if (tly_range_count(c) > 0)
            tly_range_track(c, range, visible(c, y, r->length - k * c->lanes));
        kir_value out = c->p->exclusive ? tly_combine(c, tly_start(c, c->vec), y) : y;
        kir_store(c->b, to, first + (int64_t)k * bytes, out, c->acc_bytes, 0);
        if (k + 1 < r->vectors)
            before = tly_last(c, y);
    }
}

/* Rows [0, rows) of the batch, several a step: what is staged beyond them is neutral. */
static void scan_rows(batch *r, kir_value position, kir_value rows, kir_value *range)
{
    tly_build *c = r->c;
    unsigned ranges = tly_range_count(c), together = (unsigned)c->plan->unroll;
    kir_loop l;
    kir_for(c->b, &l, imm(c, 0), rows, imm(c, together), ranges, range);
    kir_value now[2] = { l.carried[0], l.carried[1] };
    kir_value element = mul(c, l.i, imm(c, r->length));
    kir_value in = tly_at(c, r->input, element, c->acc_bytes);
    kir_value out = tly_at(c, r->buffer, add(c, position, element), c->acc_bytes);
    for (unsigned k = 0; k < together; k++) {
        kir_value at = imm(c, (int64_t)k * r->length * c->acc_bytes);
        scan_row(r, kir_ptradd(c->b, in, at), kir_ptradd(c->b, out, at), now);
    }
    kir_for_end(c->b, &l, now);
    for (unsigned k = 0; k < ranges; k++)
        range[k] = l.result[k];
}

/* Each row on its own again, in order, since a row's last vector spills into the next: how a row
 * is combined must not depend on the rows that happen to be staged with it. */
static void guard_rows(batch *r, kir_value position, kir_value rows)
{
    tly_build *c = r->c;
    kir_value range[2] = { 0 }, extremes[2] = { 0 };
    kir_loop l, e;
    kir_branch redo;
    kir_for(c->b, &l, imm(c, 0), rows, imm(c, 1), 0, NULL);
    kir_value element = mul(c, l.i, imm(c, r->length)), y = tly_start(c, c->acc);
    kir_value in = tly_at(c, r->input, element, c->acc_bytes);
    kir_value out = tly_at(c, r->buffer, add(c, position, element), c->acc_bytes);
    tly_range_begin(c, range);
    scan_row(r, in, out, range);
    tly_range_fold(c, range, extremes);
    kir_if(c->b, &redo, tly_range_good(c, extremes, 0));
    kir_else(c->b, &redo, 0, NULL);
    kir_for(c->b, &e, imm(c, 0), imm(c, r->length), imm(c, 1), 1, &y);
    kir_value x = kir_load(c->b, c->acc, tly_at(c, in, e.i, c->acc_bytes), 0, c->acc_bytes);
    kir_value next = tly_combine(c, e.carried[0], x);
    kir_store(c->b, tly_at(c, out, e.i, c->acc_bytes), 0,
              c->p->exclusive ? e.carried[0] : next, c->acc_bytes, 0);
    kir_for_end(c->b, &e, &next);
    kir_if_end(c->b, &redo, 0, NULL);
    kir_for_end(c->b, &l, NULL);
}

static void scan_batch(batch *r, kir_value position, kir_value rows)
{
    tly_build *c = r->c;
    kir_value range[2] = { 0 }, extremes[2] = { 0 };
    tly_range_begin(c, range);
    scan_rows(r, position, rows, range);
    if (tly_range_count(c) == 0)
        return;
    tly_range_fold(c, range, extremes);
    kir_branch redo;
    kir_if(c->b, &redo, tly_range_good(c, extremes, 0));
    kir_else(c->b, &redo, 0, NULL);
    guard_rows(r, position, rows);
    kir_if_end(c->b, &redo, 0, NULL);
}

void tly_build_short(tly_build *c, tly_launch *launch)
{
    batch r = { .c = c, .length = c->p->length };
    r.vectors = (r.length + c->lanes - 1) / c->lanes;
    r.rows = c->plan->block / r.length;
    /* a step's rows beyond the batch, and what a row's last vector has too much */
    int64_t beyond = (int64_t)(c->plan->unroll - 1) * r.length;
    int64_t slack = beyond + (int64_t)(r.vectors + 1) * c->lanes;
    int64_t input = (r.rows * r.length + slack) * c->acc_bytes;
    while (input % 4096 != 1024) /* as in rows.c */
        input += input % 64 == 0 ? 64 : 64 - input % 64;
    int64_t buffer = (r.rows * r.length + tly_line(c) + slack) * c->acc_bytes;
    launch->chunk = 0;
    launch->scratch_bytes = (input + buffer + 63) / 64 * 64;
    r.input = tly_scratch(c, launch);
    r.buffer = kir_ptradd(c->b, r.input, imm(c, input));

    kir_value begin = kir_get(c->b, KIR_ARG_BEGIN), end = kir_get(c->b, KIR_ARG_TASK_END);
    kir_value streams = tly_streams(c);
    tly_stream out = { .buffer = r.buffer };
    tly_stream_begin(c, &out, tly_row_address(c, begin).out, streams);
    kir_value v[TLY_STREAM_VALUES] = { out.to, out.pending, out.head };
    kir_loop l;
    kir_for(c->b, &l, begin, end, imm(c, r.rows), TLY_STREAM_VALUES, v);
    out = (tly_stream){ r.buffer, l.carried[0], l.carried[1], l.carried[2] };
    kir_value rows = tly_min(c, imm(c, r.rows), sub(c, end, l.i));
    kir_value count = mul(c, rows, imm(c, r.length));
    kir_value from = tly_row_address(c, l.i).in;
    for (int64_t line = 0; line < r.rows * r.length * c->in_bytes; line += 64)
        kir_prefetch(c->b, from, c->p->in_step < 0 ? -(c->plan->prefetch + line)
                                                   : c->plan->prefetch + line);
    tly_stage_in(c, from, r.input, count, c->lanes);
    kir_value after = tly_at(c, r.input, count, c->acc_bytes);
    for (int64_t i = 0; i < beyond; i += c->lanes)
        kir_store(c->b, after, i * c->acc_bytes, tly_neutral(c, c->vec), c->acc_bytes, 0);
    scan_batch(&r, out.pending, rows);
    out.pending = add(c, out.pending, count);
    tly_stream_drain(c, &out, imm(c, 0), streams);
    kir_value next[TLY_STREAM_VALUES] = { out.to, out.pending, out.head };
    kir_for_end(c->b, &l, next);
    out = (tly_stream){ r.buffer, l.result[0], l.result[1], l.result[2] };
    tly_stream_flush(c, &out);
    tly_fence(c, streams);
    kir_return(c->b, imm(c, 0));
}

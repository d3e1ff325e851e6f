/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows whose elements do more than join the state before them: linear recurrences, y = a*y + u,
 * and elements that begin anew (heads), of segments or by `reset`; and running indices, which have
 * steps of their own (running.c). Each vector is scanned by itself, and then joined with the result
 * before it (linear_steps.c). Of recurrences, pairs (A, B) stand for y = A*c + B, where c is that
 * result (linear_piece.c). Long rows are cut, so that several threads can share one: in chunks that
 * have totals (linear_chunks.c), or, where no total tells what comes after a chunk, in parts of
 * whole segments.
 */
#include "linear.h"

enum { LINE = 64 };

/* i1: the row's output begins with a line, so that steps store whole lines. No step is moved to
 * reach one, since bits must not depend on where tensors lie. */
static kir_value is_lined(tly_linear *k)
{
    tly_build *c = k->c;
    kir_value at = kir_addr(c->b, k->row.at[TLY_OUT]);
    if (c->p->tensor[TLY_OUT].step < 0)
        at = add(c, at, imm(c, c->bytes[TLY_OUT]));
    return equal(c, band(c, at, imm(c, LINE - 1)), imm(c, 0));
}

/* The positions of segments in [from, to), a block after another, whose heads are marked before. Of
 * parts, those of segments that begin there. Their steps begin where they would without parts, as
 * whole lines are stored from there on. */
static void scan_segments(tly_linear *k, kir_value from, kir_value to)
{
    tly_build *c = k->c;
    const int has_states = tly_linear_has_states(c);
    tly_heads heads = tly_heads_begin(c, arg(c, KIR_ARG_SCRATCH), k->chunk > 0 ? from : 0,
                                      k->again);
    if (k->part > 0)
        tly_heads_within(c, &heads, from, to);
    kir_value first = tly_max(c, from, heads.first),
              end = k->part > 0 ? heads.end : tly_min(c, to, heads.end);
    kir_value block = k->part > 0 ? tly_round_down(c, first, LINE) : first;
    kir_value least = block, ended = heads.next;
    tly_region l = { .state = { &heads.next } };
    tly_linear_carry(k, &l);
    if (has_states) {
        tly_linear_begin_states(k, &heads);
        emit_carry(&l, 1, &ended);
        least = add(c, block, imm(c, 1)); /* of segments without elements, too */
    }
    emit_for(c, &l, block, tly_max(c, end, least), imm(c, TLY_HEADS_BLOCK));
    kir_value border = tly_min(c, add(c, l.i, imm(c, TLY_HEADS_BLOCK)), end), begin = l.i;
    if (has_states)
        tly_linear_states_from(k, &heads, l.i);
    tly_heads_mark(c, &heads, l.i, border);
    if (k->part > 0) {
        kir_value start = tly_max(c, l.i, first);
        begin = tly_max(c, start, tly_min(c, tly_round_up(c, start, LINE), border));
        tly_linear_scan_scalars(k, start, begin);
    }
    tly_linear_scan_span(k, begin, border);
    if (has_states)
        tly_linear_end_states(k, &heads, &ended, border);
    emit_end(c, &l);
}

static void scan_part(tly_linear *k, kir_value from, kir_value to)
{
    if (k->c->p->segmented != TLY_SEGMENTED_NOT)
        scan_segments(k, from, to);
    else
        tly_linear_scan_span(k, from, to);
}

/* ---- rows ---- */

/* The same, chunk by chunk, each with its total. */
static void scan_chunks(tly_linear *k, kir_value from, kir_value to)
{
    tly_build *c = k->c;
    tly_region l = { .state = { &k->last } };
    emit_for(c, &l, from, to, imm(c, k->chunk));
    kir_value base = k->last;
    k->pass = TLY_LINEAR_BOTH;
    tly_linear_begin_total(k);
    scan_part(k, l.i, tly_min(c, add(c, l.i, imm(c, k->chunk)), to));
    tly_linear_end_chunk(k, base);
    emit_end(c, &l);
}

/* The same, part by part. */
static void scan_parts(tly_linear *k, kir_value from, kir_value to)
{
    tly_build *c = k->c;
    tly_region l = { 0 };
    tly_linear_carry(k, &l);
    emit_for(c, &l, from, tly_max(c, to, add(c, from, imm(c, 1))), imm(c, k->part));
    scan_segments(k, l.i, tly_min(c, add(c, l.i, imm(c, k->part)), to));
    emit_end(c, &l);
}

/* Positions [from, to) of a row. A row of one chunk needs no totals, which cost a fourth of the
 * time where computing is the limit. */
static void scan_positions(tly_linear *k, kir_value from, kir_value to)
{
    tly_build *c = k->c;
    tly_region cut = { .state = { &k->last } };
    if (k->chunk > 0 && tly_is_floating(c)) {
        emit_if(c, &cut, less(c, imm(c, k->chunk), arg(c, KIR_ARG_LENGTH)));
        scan_chunks(k, from, to);
        emit_else(c, &cut);
    }
    k->pass = TLY_LINEAR_RESULTS;
    if (k->part > 0)
        scan_parts(k, from, to);
    else
        scan_part(k, from, to);
    if (k->chunk > 0 && tly_is_floating(c))
        emit_end(c, &cut);
}

/* What the first position of a row goes on from. `start`: what its scan starts from. */
static kir_value start_row(tly_linear *k, const tly_place *first, kir_value *start)
{
    tly_build *c = k->c;
    kir_value before = *start = tly_linear_has_states(c) ? tly_start(c, c->acc)
                                                         : tly_start_at(c, first, 1);
    if (tly_operator_of(c->p)->applies)
        before = choose(c, tly_begins(c, first), tly_neutral(c, c->acc), *start);
    return kir_splat(c->b, before, c->lanes);
}

static void scan_row(tly_linear *k, kir_value from, kir_value to)
{
    tly_build *c = k->c;
    const tly_place first = tly_place_in(&k->row, imm(c, 0), 0);
    kir_value start;
    k->last = start_row(k, &first, &start);
    k->lined = band(c, k->streams, is_lined(k));
    if (k->chunk > 0) {
        tly_region goes_on = { .state = { &k->last } };
        emit_if(c, &goes_on, less(c, imm(c, 0), from));
        k->last = tly_linear_carry_in(k);
        emit_end(c, &goes_on);
    }
    scan_positions(k, from, to);
    if (!c->p->carry || tly_linear_has_states(c))
        return;
    kir_value last = kir_extract(c->b, k->last, 0), length = arg(c, KIR_ARG_LENGTH);
    tly_end_at(c, &first, choose(c, equal(c, length, imm(c, 0)), start, last));
}

/* Rows of up to so many positions have one block of heads, which stay for the next row. */
static int64_t most_marked_once(const tly_linear *k)
{
    const int64_t cut = k->chunk > 0 ? k->chunk : k->part;
    return cut > 0 && cut < TLY_HEADS_BLOCK ? cut : TLY_HEADS_BLOCK;
}

static void scan_rows(tly_linear *k, const tly_task_rows *e)
{
    tly_build *c = k->c;
    tly_region rows = { 0 };
    k->last = tly_neutral(c, c->vec);
    if (k->chunk > 0)
        emit_carry(&rows, 1, &k->last);
    emit_for(c, &rows, e->first_row, e->end_row, imm(c, 1));
    kir_value is_first = equal(c, rows.i, e->first_row);
    kir_value is_last = equal(c, add(c, rows.i, imm(c, 1)), e->end_row);
    k->row = tly_row_address(c, rows.i);
    k->again = band(c, tly_not(c, is_first),
                    less(c, arg(c, KIR_ARG_LENGTH), imm(c, most_marked_once(k) + 1)));
    scan_row(k, choose(c, is_first, e->first_position, imm(c, 0)),
             choose(c, is_last, e->end_position, arg(c, KIR_ARG_LENGTH)));
    emit_end(c, &rows);
    tly_fence(c, k->streams);
}

/* The total of the task's one chunk. */
static void add_chunk(tly_linear *k, const tly_task_rows *e)
{
    k->pass = TLY_LINEAR_TOTAL;
    k->row = tly_row_address(k->c, e->first_row);
    k->again = i1(k->c, 0);
    tly_linear_begin_total(k);
    scan_part(k, e->first_position, e->end_position);
    tly_linear_store_total(k);
}

void tly_build_linear(tly_build *c, tly_launch *launch)
{
    const int64_t chunk = c->plan->chunk;
    tly_linear k = { .c = c, .streams = tly_streams(c) };
    *(tly_linear_cuts(c->p) ? &k.chunk : &k.part) = chunk;
    kir_value status = imm(c, 0), mode = arg(c, KIR_ARG_MODE);
    launch->chunk = chunk;
    launch->record_bytes = k.chunk > 0 ? c->state_bytes : 0;
    launch->scratch_bytes = c->p->segmented != TLY_SEGMENTED_NOT ? TLY_HEADS_BYTES : 0;
    if (tly_linear_has_states(c)) {
        launch->scratch_bytes += tly_linear_states_bytes(c);
        k.given = tly_has_states(c);
        k.wanted = tly_wants_states(c);
    }
    tly_region combine = { .state = { &status } }, total = { 0 };
    const tly_task_rows e = tly_rows_of_task(c, chunk);
    if (k.chunk == 0) {
        scan_rows(&k, &e);
        kir_return(c->b, status);
        return;
    }
    emit_if(c, &combine, equal(c, mode, imm(c, TLY_MODE_COMBINE)));
    status = tly_linear_combine(&k);
    emit_else(c, &combine);
    emit_if(c, &total, equal(c, mode, imm(c, TLY_MODE_TOTAL)));
    add_chunk(&k, &e);
    emit_else(c, &total);
    scan_rows(&k, &e);
    tly_linear_carry_out(&k);
    emit_end(c, &total);
    emit_end(c, &combine);
    kir_return(c->b, status);
}

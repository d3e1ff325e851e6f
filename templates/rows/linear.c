/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows whose elements do more than join the state before them: linear recurrences, y = a*y + u,
 * and elements that begin anew (heads), of segments or by `reset`; and running indices, which have
 * steps of their own (running.c). Each vector is scanned by itself, and then joined with the result
 * before it (linear_steps.c). Of recurrences, pairs (A, B) stand for y = A*c + B, where c is that
 * result (linear_piece.c). Long rows are cut in chunks with totals, so that several threads can
 * share one (linear_chunks.c, linear_apart.c).
 */
#include "linear.h"

/* i1: the row's output begins with a line, so that steps store whole lines. No step is moved to
 * reach one, since bits must not depend on where tensors lie. */
static kir_value is_lined(tly_linear *k)
{
    tly_build *c = k->c;
    kir_value at = kir_addr(c->b, k->row.at[TLY_OUT]);
    if (c->p->tensor[TLY_OUT].step < 0)
        at = add(c, at, imm(c, c->bytes[TLY_OUT]));
    return equal(c, band(c, at, imm(c, TLY_LINEAR_LINE - 1)), imm(c, 0));
}

/* The number of the first segment whose head is not before `from`; of rows that are not cut, and of
 * one whose heads are marked already, 0. */
static kir_value segment_from(tly_linear *k, kir_value from)
{
    tly_build *c = k->c;
    kir_value next = imm(c, 0);
    tly_region cut = { .state = { &next } };
    if (k->chunk == 0)
        return next;
    emit_unless(c, &cut, k->again);
    next = tly_heads_before(c, next, from);
    emit_end(c, &cut);
    return next;
}

_Static_assert(TLY_LINEAR_MOST_VECTORS *TLY_MOST_LANES *TLY_MAX_INTERLEAVE <=
                   TLY_HEADS_BLOCK - TLY_STREAM_ROW,
               "a block has whole steps, whatever the plan is");

static int64_t heads_block(const tly_linear *k, int64_t most)
{
    return tly_heads_block(k->c, most, (int64_t)k->c->plan->vectors * k->c->lanes);
}

void tly_linear_scan_segments(tly_linear *k, kir_value from, kir_value to, kir_value next)
{
    tly_build *c = k->c;
    const int has_states = tly_linear_has_states(c);
    tly_heads heads = tly_heads_begin(c, arg(c, KIR_ARG_SCRATCH), next, k->again);
    kir_value first = tly_max(c, from, heads.first), end = tly_min(c, to, heads.end);
    kir_value least = first, ended = heads.next;
    tly_region l = { .state = { &heads.next } };
    tly_linear_carry(k, &l);
    if (has_states) {
        tly_linear_begin_states(k, &heads);
        if (k->chunk > 0) {
            end = tly_max(c, end, first);
            ended = tly_linear_ended(k, next, from);
        }
        emit_carry(&l, 1, &ended);
        least = add(c, first, imm(c, 1)); /* of segments without elements, too */
    }
    const int64_t block = heads_block(k, TLY_HEADS_BLOCK);
    emit_for(c, &l, first, tly_max(c, end, least), imm(c, block));
    kir_value border = tly_min(c, add(c, l.i, imm(c, block)), end);
    if (has_states)
        tly_linear_states_from(k, &heads, l.i);
    tly_heads_mark(c, &heads, l.i, border);
    tly_linear_lay(k, equal(c, l.i, first), l.i, border);
    tly_linear_scan_span(k, l.i, border);
    if (has_states)
        tly_linear_end_states(k, &ended, k->chunk > 0 ? tly_min(c, border, to) : border);
    emit_end(c, &l);
}

/* A block of uneven operands after another. */
static void scan_laid(tly_linear *k, kir_value from, kir_value to)
{
    tly_build *c = k->c;
    const int64_t block = heads_block(k, TLY_HEADS_BLOCK);
    tly_region l = { 0 };
    tly_linear_carry(k, &l);
    emit_for(c, &l, from, to, imm(c, block));
    kir_value border = tly_min(c, add(c, l.i, imm(c, block)), to);
    tly_linear_lay(k, equal(c, l.i, from), l.i, border);
    tly_linear_scan_span(k, l.i, border);
    emit_end(c, &l);
}

static void scan_part(tly_linear *k, kir_value from, kir_value to)
{
    if (k->c->p->segmented != TLY_SEGMENTED_NOT)
        tly_linear_scan_segments(k, from, to, segment_from(k, from));
    else if (k->c->p->uneven)
        scan_laid(k, from, to);
    else
        tly_linear_scan_span(k, from, to);
}

/* ---- rows ---- */

/* 1: the carry after a chunk is not what its scan comes to, whatever its rounding. */
static int has_chunks(const tly_linear *k)
{
    return k->chunk > 0 && (tly_is_floating(k->c) || k->apart);
}

/* Positions [from, to) of a row, a chunk after another. `from` is a chunk's begin. */
static void scan_chunks(tly_linear *k, kir_value from, kir_value to)
{
    tly_build *c = k->c;
    tly_region l = { .state = { &k->last[0] } };
    emit_for(c, &l, from, to, imm(c, k->chunk));
    kir_value end = tly_min(c, add(c, l.i, imm(c, k->chunk)), to);
    if (k->apart) {
        tly_linear_scan_apart(k, l.i, end);
    } else {
        kir_value base = k->last[0];
        k->pass = TLY_LINEAR_BOTH;
        tly_linear_begin_total(k);
        scan_part(k, l.i, end);
        tly_linear_end_chunk(k, base);
    }
    emit_end(c, &l);
}

/* The same. A row of one chunk needs no totals, which cost a fourth of the time where computing is
 * the limit. */
static void scan_positions(tly_linear *k, kir_value from, kir_value to)
{
    tly_build *c = k->c;
    tly_region cut = { .state = { &k->last[0] } };
    if (has_chunks(k)) {
        emit_if(c, &cut, less(c, imm(c, k->chunk), arg(c, KIR_ARG_LENGTH)));
        scan_chunks(k, from, to);
        emit_else(c, &cut);
    }
    k->pass = TLY_LINEAR_RESULTS;
    scan_part(k, from, to);
    if (has_chunks(k))
        emit_end(c, &cut);
}

/* What the first position of a row goes on from. `start`: what its scan starts from. */
static kir_value before_row(tly_linear *k, const tly_place *at, kir_value *start)
{
    tly_build *c = k->c;
    *start = tly_linear_has_states(c) ? tly_start(c, c->acc) : tly_start_at(c, at, 1);
    if (tly_operator_of(c->p)->applies)
        return choose(c, tly_begins(c, at), tly_neutral(c, c->acc), *start);
    return *start;
}

/* Rows of states alone have one scan each. */
static void end_row(tly_linear *k, const tly_place *first, kir_value start)
{
    tly_build *c = k->c;
    if (c->p->interleave > 1) {
        tly_linear_hand_on_states(k);
        return;
    }
    kir_value last = kir_extract(c->b, k->last[0], 0), length = arg(c, KIR_ARG_LENGTH);
    tly_end_at(c, first, choose(c, equal(c, length, imm(c, 0)), start, last));
}

static void scan_row(tly_linear *k, kir_value from, kir_value to)
{
    tly_build *c = k->c;
    const tly_place first = tly_place_in(&k->row, imm(c, 0), 0);
    kir_value start = 0;
    k->last[0] = kir_splat(c->b, before_row(k, &first, &start), c->lanes);
    for (unsigned i = 1; i < k->history; i++)
        k->last[i] = k->last[0];
    if (c->p->interleave > 1 && c->p->carry)
        tly_linear_take_states(k);
    k->lined = band(c, k->streams, is_lined(k));
    if (k->chunk > 0) {
        tly_region goes_on = { .state = { &k->last[0] } };
        emit_if(c, &goes_on, less(c, imm(c, 0), from));
        k->last[0] = tly_linear_carry_in(k);
        emit_end(c, &goes_on);
    }
    scan_positions(k, from, to);
    if (c->p->carry && !tly_linear_has_states(c))
        end_row(k, &first, start);
}

/* Rows of up to so many positions have one block of heads, which stay for the next row. */
static int64_t most_marked_once(const tly_linear *k)
{
    const int64_t block = heads_block(k, TLY_HEADS_BLOCK);
    return k->chunk > 0 && k->chunk < block ? k->chunk : block;
}

static void scan_rows(tly_linear *k, const tly_task_rows *e)
{
    tly_build *c = k->c;
    tly_region rows = { 0 };
    k->last[0] = tly_neutral(c, c->vec);
    if (k->chunk > 0)
        emit_carry(&rows, 1, &k->last[0]);
    emit_for(c, &rows, e->first_row, e->end_row, imm(c, 1));
    kir_value is_first = equal(c, rows.i, e->first_row);
    kir_value is_last = equal(c, add(c, rows.i, imm(c, 1)), e->end_row);
    k->row = k->first = tly_row_address(c, rows.i);
    k->again = band(c, tly_not(c, is_first),
                    less(c, arg(c, KIR_ARG_LENGTH), imm(c, most_marked_once(k) + 1)));
    scan_row(k, choose(c, is_first, e->first_position, imm(c, 0)),
             choose(c, is_last, e->end_position, arg(c, KIR_ARG_LENGTH)));
    emit_end(c, &rows);
    tly_fence(c, k->streams);
}

/* Short rows that lie one behind the other are one stream, in which each row has a head. No bit may
 * depend on how tasks are cut: all begin with a vector of all rows', and with a line of output. */
static void scan_stream(tly_linear *k, const tly_task_rows *e)
{
    tly_build *c = k->c;
    kir_value length = arg(c, KIR_ARG_LENGTH), scratch = arg(c, KIR_ARG_SCRATCH), zero = imm(c, 0);
    kir_value rows = choose(c, less(c, zero, arg(c, KIR_ARG_OUTER_RANK)),
                            kir_get_at(c->b, KIR_ARG_OUTER_SIZE, zero), imm(c, 1));
    const unsigned line = tly_line(c), unit = line > c->lanes ? line : c->lanes;
    kir_value first = tly_min(c, tly_round_up(c, e->first_row, unit), rows);
    kir_value behind = tly_min(c, tly_round_up(c, e->end_row, unit), rows);
    kir_value end = mul(c, sub(c, behind, first), length), start;
    const int64_t block = TLY_HEADS_BLOCK - TLY_STREAM_ROW;
    const tly_place begin = tly_place_in(&k->row, zero, 0);
    tly_region blocks = { 0 };
    k->pass = TLY_LINEAR_RESULTS;
    k->row = k->first = tly_row_address(c, first);
    k->lined = band(c, k->streams, is_lined(k));
    tly_heads_mark_rows(c, scratch, length, end);
    for (unsigned i = 0; i < k->history; i++)
        k->last[i] = kir_splat(c->b, before_row(k, &begin, &start), c->lanes);
    emit_carry(&blocks, k->history, k->last);
    emit_for(c, &blocks, zero, end, imm(c, heads_block(k, block)));
    kir_value into = sub(c, blocks.i, mul(c, udiv(c, blocks.i, length), length));
    c->heads = ptradd(c, scratch, sub(c, into, blocks.i));
    kir_value to = tly_min(c, add(c, blocks.i, imm(c, heads_block(k, block))), end);
    tly_linear_lay(k, equal(c, blocks.i, zero), blocks.i, to);
    tly_linear_scan_span(k, blocks.i, to);
    emit_end(c, &blocks);
    tly_fence(c, k->streams);
}

/* The total of the task's one chunk. */
static void add_chunk(tly_linear *k, const tly_task_rows *e)
{
    k->pass = TLY_LINEAR_TOTAL;
    k->row = tly_row_address(k->c, e->first_row);
    k->again = i1(k->c, 0);
    if (k->apart) {
        tly_linear_add_apart(k, e->first_position, e->end_position);
        return;
    }
    tly_linear_begin_total(k);
    scan_part(k, e->first_position, e->end_position);
    tly_linear_store_total(k);
}

void tly_build_linear(tly_build *c, tly_launch *launch)
{
    const int64_t chunk = c->plan->chunk;
    tly_linear k = { .c = c,
                     .chunk = chunk,
                     .history = tly_linear_history(c),
                     .is_stream = tly_linear_streams(c->p, c->t),
                     .apart = chunk > 0 && tly_linear_goes_apart(c->p),
                     .streams = tly_streams(c) };
    kir_value status = imm(c, 0), mode = arg(c, KIR_ARG_MODE);
    launch->chunk = chunk;
    launch->record_bytes = chunk > 0 ? c->state_bytes : 0;
    launch->scratch_bytes = tly_linear_marks_bytes(&k);
    if (c->p->interleave > 1 || k.is_stream)
        launch->scratch_bytes += tly_linear_window_bytes(&k) + tly_linear_uneven_bytes(&k);
    if (tly_linear_has_states(c)) {
        launch->scratch_bytes += tly_linear_states_bytes(c);
        k.given = tly_has_states(c);
        k.wanted = tly_wants_states(c);
    }
    tly_region combine = { .state = { &status } }, total = { 0 };
    const tly_task_rows e = tly_rows_of_task(c, chunk);
    if (chunk == 0) {
        if (k.is_stream)
            scan_stream(&k, &e);
        else
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows template: scans a block span by span, and sends lines of output to memory meanwhile.
 */
#include "rows.h"

void tly_rows_carry(const tly_rows *r, tly_region *l, tly_rows_state *s)
{
    emit_carry(l, r->history, s->last);
    if (!r->totals)
        return;
    emit_carry(l, 1, &s->base);
    emit_carry(l, tly_rows_total_count(r), s->total);
    if (r->checks_total)
        emit_carry(l, 1, &s->total_invalid);
}

kir_value tly_rows_prefix(tly_rows *r, const tly_rows_state *s)
{
    return tly_last(r->c, s->last[0]);
}

static tly_rows_span span_of(tly_rows *r, const tly_rows_block *k, kir_value number)
{
    tly_build *c = r->c;
    kir_value first = imm(c, 0), element = k->position;
    if (c->p->rows.contiguous) { /* only dense rows are staged several at a time */
        first = mul(c, number, r->length);
        element = add(c, element, first);
    }
    kir_value to = tly_stored_at(c, r->buffer, add(c, k->buffered, first));
    if (k->direct)
        to = choose(c, k->direct, tly_stored_at(c, k->out, first), to);
    const tly_row at = tly_read_move(c, &k->at, element, tly_step);
    return (tly_rows_span){
        .at = at,
        .to = to,
        .lines = k->lines,
        .leaves = k->leaves,
        .stream = k->stream,
        .count = k->count,
    };
}

/* Row `number` of the block. */
static tly_row row_of(tly_rows *r, const tly_rows_block *k, kir_value number)
{
    tly_build *c = r->c;
    tly_row row = k->at;
    for (int t = 0; t < c->tensors; t++)
        row.at[t] = ptradd(c, row.at[t],
                           mul(c, number, kir_get_at(c->b, TLY_ARG(OUTER_IN, t), imm(c, 0))));
    return row;
}

/* Words with a carry: the states of several rows differ, and lie in tensors. */
static void go_on(tly_rows *r, const tly_rows_block *k, kir_value number, tly_rows_state *s)
{
    tly_build *c = r->c;
    const tly_row row = row_of(r, k, number);
    tly_region next = { 0 };
    tly_rows_carry(r, &next, s);
    emit_if(c, &next, less(c, imm(c, 0), number));
    *s = tly_rows_start(r, i1(c, 0), &row, imm(c, 0));
    emit_end(c, &next);
}

static void hand_on(tly_rows *r, const tly_rows_block *k, kir_value number, const tly_rows_state *s)
{
    tly_build *c = r->c;
    const tly_row row = row_of(r, k, number);
    const tly_place first = tly_place_in(&row, 0, 0);
    kir_value outcome[MAX_OUTCOME];
    tly_region several = { 0 };
    emit_if(c, &several, less(c, imm(c, 1), k->rows));
    tly_rows_end_row(r, s, outcome);
    tly_end_at(c, &first, outcome[0]);
    emit_end(c, &several);
}

/* Several rows are whole ones: each starts as the block does. */
void tly_rows_compute(tly_rows *r, const tly_rows_block *k, tly_rows_state *s)
{
    tly_build *c = r->c;
    if (!c->p->rows.contiguous) {
        tly_rows_span only = span_of(r, k, 0);
        tly_rows_scan(r, &only, s);
        return;
    }
    const tly_rows_state start = *s;
    tly_region l = { 0 };
    tly_rows_carry(r, &l, s);
    emit_for(c, &l, imm(c, 0), k->rows, imm(c, 1));
    tly_rows_span span = span_of(r, k, l.i);
    *s = start;
    if (c->p->carry)
        go_on(r, k, l.i, s);
    tly_rows_scan(r, &span, s);
    if (c->p->carry)
        hand_on(r, k, l.i, s);
    emit_end(c, &l);
}

/* A line is two vectors cut anew. A load that needs two stores waits until both are in the
 * cache, so lines are sent some later: 8 (f32 rows of 4095, of a copy by minima, 4, 8, 16, 32
 * lines: .92 to .96, .94, .86 to .93, .80; AVX2 4, 8, 16: .90, .88, .90; Emerald Rapids). */
static int64_t delay_of(const tly_rows *r)
{
    int64_t lines = 8 * (int64_t)tly_line(r->c);
    return lines > r->step ? lines / r->step * r->step : r->step;
}

/* Lines of output that begin elsewhere than vectors leave the buffer while the next ones are
 * computed. That is done out of place and past the cache, where no line has to stay in the buffer
 * until its span is validated. f32 of
 * 4096x4096, output misaligned by an element, of a copy: .64 to .80, when a block is done; so
 * .84 to .96; rows of 4095 .65, .75 to .94 (Emerald Rapids). */
void tly_rows_go_along(tly_rows *r, tly_rows_block *k, tly_stream *out, kir_value streams,
                       kir_value totals)
{
    tly_build *c = r->c;
    kir_value zero = imm(c, 0), delay = imm(c, delay_of(r));
    if (r->deferred || c->p->tensor[TLY_OUT].step != 1 || r->step % tly_line(c) != 0 ||
        c->plan->scan == TLY_SCAN_SCALARS)
        return;
    kir_value along = band(c, streams, tly_not(c, k->direct));
    along = band(c, along, tly_out_of_place(c));
    along = band(c, along, equal(c, k->rows, imm(c, 1)));
    along = band(c, along, equal(c, out->head, zero));
    if (totals)
        along = band(c, along, tly_not(c, totals));
    kir_value sent = tly_max(c, sub(c, tly_round_up(c, k->count, r->step), delay), zero);
    out->sent = tly_part(c, choose(c, along, sent, zero), tly_line(c));
    k->leaves = choose(c, along, delay, imm(c, INT64_MAX));
    k->stream = out;
}

void tly_rows_send(tly_rows *r, const tly_rows_span *g, kir_value i)
{
    tly_build *c = r->c;
    for (int64_t k = 0; k < r->step; k += tly_line(c)) {
        kir_value element = add(c, i, imm(c, k - delay_of(r)));
        tly_send_line(c, tly_stored_at(c, g->stream->to, element),
                      tly_stored_at(c, g->stream->buffer, element));
    }
}

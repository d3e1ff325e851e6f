/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Segments of reductions on devices. The lines of a grid, a chunk apart, cut long segments into
 * pieces, so that no item has more than a chunk of one segment, whatever the offsets are. Each
 * segment is an item, which has what comes before the first line within it; behind them each
 * line is one, which has what the segment that it cuts has from there on. Only the latter, of
 * which there are few, look for their segment, by halves.
 *
 * A segment that no line cuts is reduced at once. Pieces of others leave records, at most two for
 * each cell of the grid: that of the segment that comes from the left, and that of the one that
 * goes on to the right. A second pass combines those of each segment.
 */
#include "reduce.h"

/* ---- borders ---- */

static kir_value cell_of(tly_gpu_reduce *r, kir_value position)
{
    return udiv(&r->g->c, position, u32(r->g, r->g->plan->chunk));
}

static tly_gpu_piece whole_segment(tly_gpu_reduce *r, kir_value segment)
{
    tly_gpu *g = r->g;
    tly_build *c = &g->c;
    tly_gpu_piece p = { .segment = segment, .from = tly_gpu_border(g, segment) };
    kir_value to = tly_gpu_border(g, add(c, segment, u32(g, 1)));
    p.segment_count = sub(c, umax(c, p.from, to), p.from);
    p.count = p.segment_count;
    return p;
}

tly_gpu_piece tly_gpu_segment_alone(tly_gpu_reduce *r, kir_value segment)
{
    tly_gpu_piece p = whole_segment(r, segment);
    p.exists = p.is_whole = i1(&r->g->c, 1);
    return p;
}

/* The last segment that begins before a position; or else the first one. */
static kir_value segment_before(tly_gpu_reduce *r, kir_value position)
{
    enum { HALVINGS = 31 };
    tly_gpu *g = r->g;
    tly_build *c = &g->c;
    kir_value one = u32(g, 1), low = u32(g, 0), high = sub(c, arg(c, KIR_ARG_SEGMENTS), one);
    tly_region l = { .state = { &low, &high } };
    emit_for(c, &l, u32(g, 0), u32(g, HALVINGS), one);
    kir_value middle = lshr(c, add(c, add(c, low, high), one), one), open = ult(c, low, high);
    kir_value begun = ult(c, tly_gpu_border(g, middle), position);
    kir_value below = choose(c, band(c, open, tly_not(c, begun)), sub(c, middle, one), high);
    low = choose(c, band(c, open, begun), middle, low);
    high = below;
    emit_end(c, &l);
    return low;
}

/* Of a cell: that of what begins at its left line, or that of what begins within it. */
static kir_value record_of(tly_gpu_reduce *r, kir_value from)
{
    tly_build *c = &r->g->c;
    kir_value cell = cell_of(r, from), line = mul(c, cell, u32(r->g, r->g->plan->chunk));
    kir_value within = convert(c, KIR_ZEXT, KIR_TYPE(KIR_I32, 1), differ(c, line, from));
    return add(c, shl(c, cell, u32(r->g, 1)), within);
}

tly_gpu_piece tly_gpu_piece_of(tly_gpu_reduce *r, kir_value number)
{
    tly_gpu *g = r->g;
    tly_build *c = &g->c;
    kir_value chunk = u32(g, g->plan->chunk), one = u32(g, 1), segments = arg(c, KIR_ARG_SEGMENTS);
    kir_value is_first = ult(c, number, segments), segment = number, line = u32(g, 0);
    tly_region later = { .state = { &segment, &line } };
    emit_unless(c, &later, is_first);
    line = mul(c, add(c, sub(c, number, segments), one), chunk);
    segment = segment_before(r, line);
    emit_end(c, &later);
    tly_gpu_piece p = whole_segment(r, segment);
    kir_value begin = p.from, end = add(c, begin, p.segment_count);
    p.from = choose(c, is_first, begin, line);
    kir_value next = mul(c, add(c, cell_of(r, p.from), one), chunk), to = umin(c, end, next);
    kir_value some = ult(c, p.from, to);
    p.is_whole = band(c, is_first, ule(c, end, next));
    /* A line may lie in front of all segments, between two, or behind them. */
    p.exists = bor(c, is_first, band(c, some, ult(c, begin, p.from)));
    p.count = choose(c, some, sub(c, to, p.from), u32(g, 0));
    p.record = record_of(r, p.from);
    return p;
}

tly_gpu_piece tly_gpu_segment_cut_at(tly_gpu_reduce *r, kir_value cell)
{
    tly_gpu *g = r->g;
    tly_build *c = &g->c;
    kir_value line = mul(c, cell, u32(g, g->plan->chunk));
    tly_gpu_piece p = whole_segment(r, segment_before(r, line));
    p.exists = equal(c, add(c, cell_of(r, p.from), u32(g, 1)), cell);
    p.is_whole = i1(c, 1);
    return p;
}

tly_gpu_records tly_gpu_records_of(tly_gpu_reduce *r, const tly_gpu_piece *segment)
{
    tly_gpu *g = r->g;
    tly_build *c = &g->c;
    kir_value first = cell_of(r, segment->from), one = u32(g, 1);
    kir_value last = cell_of(r, sub(c, add(c, segment->from, segment->segment_count), one));
    kir_value some = ult(c, u32(g, 0), segment->segment_count);
    return (tly_gpu_records){
        .first = record_of(r, segment->from),
        .next = shl(c, first, one),
        .count = choose(c, band(c, some, ult(c, first, last)), add(c, sub(c, last, first), one),
                        u32(g, 0)),
    };
}

/* ---- what is reduced ---- */

static void tell_counts(tly_gpu_reduce *r, kir_value count)
{
    tly_build *c = &r->g->c;
    r->length = count;
    r->steps = umin(c, count, u32(r->g, 1));
    if (tly_is_floating(c))
        c->real_count = convert(c, KIR_SITOFP, c->acc, count);
    else if (c->p->after != 0)
        c->count = convert(c, KIR_ZEXT, KIR_TYPE(KIR_I64, 1), count);
}

tly_gpu_span tly_gpu_span_of_piece(tly_gpu_reduce *r, const tly_gpu_row *row,
                                   const tly_gpu_piece *piece)
{
    tly_gpu *g = r->g;
    tly_gpu_span s = { *row, .step = u32(g, 0), .steps = u32(g, 1), .from = u32(g, 0) };
    tell_counts(r, piece->segment_count);
    s.part = piece->count;
    s.index = r->indexed ? tly_gpu_reduce_index(r, piece->from) : 0;
    for (int t = 0; t < tly_operands_end(g->c.p); t++)
        s.row.tensor[t].at = tly_gpu_address(g, row, t,
                                             t == TLY_OUT ? piece->segment : piece->from);
    return s;
}

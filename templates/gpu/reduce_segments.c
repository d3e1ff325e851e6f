/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Segments of reductions on devices. The lines of a grid, a chunk apart, cut long segments into
 * pieces, so that no item has more than a chunk of one segment, whatever the offsets are. They are
 * numbered as segments and lines come along the axis: behind segment s, which is number s +
 * offset / chunk, come the lines within it. So an item finds its piece by halves, and the pieces of
 * a segment lie side by side.
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

/* The number of a segment's first piece. */
static kir_value first_piece(tly_gpu_reduce *r, kir_value segment)
{
    return add(&r->g->c, segment, cell_of(r, tly_gpu_border(r->g, segment)));
}

/* The last segment whose first piece has this number, or one below; or else the first one. */
static kir_value segment_of(tly_gpu_reduce *r, kir_value piece)
{
    enum { HALVINGS = 31 };
    tly_gpu *g = r->g;
    tly_build *c = &g->c;
    kir_value one = u32(g, 1), low = u32(g, 0), high = sub(c, arg(c, KIR_ARG_SEGMENTS), one);
    tly_region l = { .state = { &low, &high } };
    emit_for(c, &l, u32(g, 0), u32(g, HALVINGS), one);
    kir_value middle = lshr(c, add(c, add(c, low, high), one), one), open = ult(c, low, high);
    kir_value begun = ule(c, first_piece(r, middle), piece);
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
    kir_value chunk = u32(g, g->plan->chunk), one = u32(g, 1), zero = u32(g, 0);
    tly_gpu_piece p = whole_segment(r, segment_of(r, number));
    kir_value begin = p.from, end = add(c, begin, p.segment_count), cell = cell_of(r, begin);
    kir_value lines = sub(c, number, add(c, p.segment, cell)), is_first = equal(c, lines, zero);
    kir_value line = mul(c, add(c, cell, lines), chunk);
    p.from = choose(c, is_first, begin, line);
    kir_value next = mul(c, add(c, add(c, cell, lines), one), chunk);
    kir_value to = umin(c, end, next);
    p.is_whole = band(c, is_first, ule(c, end, next));
    /* In front of all segments, and behind them, there may be lines. */
    kir_value begun = ule(c, add(c, p.segment, cell), number), some = ult(c, p.from, to);
    p.exists = band(c, begun, bor(c, p.is_whole, some));
    p.count = choose(c, some, sub(c, to, p.from), zero);
    p.record = record_of(r, p.from);
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

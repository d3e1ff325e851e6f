/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiles: from the task's range to rows and ranges of lanes, in an order that finds lines and pages
 * again while they are at hand.
 */
#include "tiles.h"

enum { LINE = 64 };

/* A dim that rows are counted through; one of size 1 where there is none. */
typedef struct outer_dim {
    kir_value size, in, out;
} outer_dim;

static outer_dim outer_at(tly_build *c, kir_value d)
{
    kir_builder *b = c->b;
    kir_value none = less(c, d, imm(c, 0)), zero = imm(c, 0), at = kir_select(b, none, zero, d);
    return (outer_dim){
        kir_select(b, none, imm(c, 1), kir_get_at(b, KIR_ARG_OUTER_SIZE, at)),
        kir_select(b, none, zero, kir_get_at(b, KIR_ARG_OUTER_IN, at)),
        kir_select(b, none, zero, kir_get_at(b, KIR_ARG_OUTER_OUT, at)),
    };
}

/* Lines of output, whole and aligned, past the cache. */
static kir_value may_stream(tly_tiles *k)
{
    tly_build *c = k->c;
    if (k->out_way != TLY_ACROSS || k->parts * c->lanes * c->out_bytes % LINE != 0)
        return 0;
    return tly_streams(c);
}

static kir_value lined(tly_tiles *k, kir_value out, kir_value apart)
{
    kir_builder *b = k->c->b;
    kir_value where = kir_bin(b, KIR_OR, kir_bin(b, KIR_OR, kir_addr(b, out), k->out_axis), apart);
    return kir_bin(b, KIR_AND, k->far,
                   equal(k->c, kir_bin(b, KIR_AND, where, imm(k->c, LINE - 1)), imm(k->c, 0)));
}

/* Rows [from, to) of a run, from lane 0 to the last, by whole tiles; returns where those lanes end
 * that are done, of the rows up to *done. */
static kir_value cross_rows(tly_tiles *k, const outer_dim *run, tly_row at, kir_value from,
                            kir_value to, kir_value *done)
{
    tly_build *c = k->c;
    kir_builder *b = c->b;
    kir_value n = imm(c, c->lanes);
    kir_value lanes = tly_round_down(c, k->inner, k->parts * c->lanes);
    to = tly_max(c, from, to);
    *done = add(c, from, tly_round_down(c, sub(c, to, from), c->lanes));
    kir_loop j;
    kir_for(b, &j, from, *done, n, 0, NULL);
    tly_row here = { kir_ptradd(b, at.in, mul(c, j.i, run->in)),
                     kir_ptradd(b, at.out, mul(c, j.i, run->out)) };
    if (k->far)
        k->streams = lined(k, here.out, run->out);
    tly_tiles_cross(k, here, lanes, run->out);
    kir_for_end(b, &j, NULL);
    return lanes;
}

/* Rows are taken in runs of the last outer dim, and several of these where they are short, so that only
 * blocks of runs are divided into indices: f32 8-D views of 8s, ns an element: by rows 1.9 to 17.7,
 * by runs .7 to 3.5 (Zen 4). Of all rows of a block a range of lanes goes first, so that what their
 * lines hold beside it is still at hand. */
static void scan_rows(tly_tiles *k, kir_value rank, kir_value blocks, kir_value tile)
{
    tly_build *c = k->c;
    kir_builder *b = c->b;
    kir_value one = imm(c, 1), zero = imm(c, 0), wide = imm(c, c->plan->tile_lanes);
    kir_value begin = kir_get(b, KIR_ARG_BEGIN), end = kir_get(b, KIR_ARG_TASK_END);
    kir_value first = kir_bin(b, KIR_UDIV, begin, blocks);
    kir_value last = kir_bin(b, KIR_UDIV, sub(c, end, one), blocks);
    int crosses = c->p->dense == TLY_ROWS_UP, gathers = tly_tiles_gather_bytes(k) > 0;
    outer_dim run = outer_at(c, sub(c, rank, one));
    kir_value left = sub(c, rank, one), second = imm(c, -1);
    if (!crosses) {
        second = kir_select(b, less(c, wide, k->inner), second, sub(c, rank, imm(c, 2)));
        left = kir_select(b, less(c, second, zero), left, second);
    }
    outer_dim runs = outer_at(c, second);
    kir_value size = mul(c, run.size, runs.size);
    kir_value block_last = kir_bin(b, KIR_UDIV, last, size);
    kir_loop g, i, j, s;
    k->far = may_stream(k);
    kir_for(b, &g, kir_bin(b, KIR_UDIV, first, size), add(c, block_last, one), one, 0, NULL);
    kir_value offsets[2], row0 = mul(c, g.i, size), done_lanes = zero, done_rows = zero;
    tly_outer_offsets(c, g.i, left, offsets);
    tly_row at = { kir_ptradd(b, kir_get(b, KIR_ARG_IN), offsets[0]),
                   kir_ptradd(b, kir_get(b, KIR_ARG_OUT), offsets[1]) };
    kir_value from = sub(c, first, row0), to = add(c, sub(c, last, row0), one);
    from = tly_max(c, from, zero);
    to = tly_min(c, to, size);
    kir_value begun = less(c, mul(c, add(c, row0, from), blocks), begin);
    kir_value cut = less(c, end, mul(c, add(c, row0, to), blocks));
    kir_value whole = add(c, from, kir_select(b, begun, one, zero));
    kir_value whole_to = sub(c, to, kir_select(b, cut, one, zero));
    tly_gather gather = { 0 };
    if (crosses)
        done_lanes = cross_rows(k, &run, at, whole, whole_to, &done_rows);
    if (gathers)
        gather = tly_tiles_gather(k, kir_ptradd(b, at.out, runs.out), run.size, run.out, whole,
                                  whole_to);
    kir_for(b, &s, zero, k->inner, wide, 0, NULL);
    kir_value side = tly_min(c, add(c, s.i, wide), k->inner);
    kir_for(b, &i, zero, runs.size, one, 0, NULL);
    kir_value before = mul(c, i.i, run.size);
    tly_row run_at = { kir_ptradd(b, at.in, mul(c, i.i, runs.in)),
                       kir_ptradd(b, at.out, mul(c, i.i, runs.out)) };
    kir_for(b, &j, tly_max(c, sub(c, from, before), zero), tly_min(c, sub(c, to, before), run.size),
            one, 0, NULL);
    kir_value row = add(c, before, j.i), skipped = mul(c, add(c, row0, row), blocks);
    kir_value lane = tly_max(c, mul(c, sub(c, begin, skipped), tile), s.i);
    if (crosses) {
        kir_value done = kir_bin(b, KIR_AND, tly_not(c, less(c, row, whole)),
                                 less(c, row, done_rows));
        lane = tly_max(c, lane, kir_select(b, done, done_lanes, zero));
    }
    kir_value lanes = tly_min(c, mul(c, sub(c, end, skipped), tile), side);
    tly_row here = {
        kir_ptradd(b, run_at.in, add(c, mul(c, j.i, run.in), mul(c, lane, k->in_lane))),
        kir_ptradd(b, run_at.out, add(c, mul(c, j.i, run.out), mul(c, lane, k->out_lane))),
    };
    if (k->far)
        k->streams = lined(k, here.out, zero);
    lanes = sub(c, lanes, lane);
    if (gathers)
        tly_tiles_gather_row(k, &gather, row, here, lanes);
    else
        tly_tiles_scan(k, here, lanes);
    kir_for_end(b, &j, NULL);
    kir_for_end(b, &i, NULL);
    kir_for_end(b, &s, NULL);
    kir_for_end(b, &g, NULL);
    if (k->far || gathers)
        tly_fence(c, tly_streams(c));
    kir_return(b, zero);
}

void tly_build_tiles(tly_build *c, tly_launch *launch)
{
    kir_builder *b = c->b;
    kir_value rank = kir_get(b, KIR_ARG_OUTER_RANK), one = imm(c, 1);
    tly_tiles k = {
        .c = c,
        .in_way = tly_tiles_in(c->p),
        .out_way = tly_tiles_out(c->p),
        .steps = (unsigned)c->plan->rows,
        .length = kir_get(b, KIR_ARG_LENGTH),
        .parts = (unsigned)tly_tiles_parts(c->p, c->plan),
        .in_axis = kir_get(b, KIR_ARG_IN_AXIS),
        .out_axis = kir_get(b, KIR_ARG_OUT_AXIS),
    };
    launch->tile_lanes = c->plan->tile_lanes;
    launch->scratch_bytes = tly_tiles_gather_bytes(&k);
    if (c->p->form == TLY_ROWS) {
        launch->chunk = 0;
        rank = sub(c, rank, one);
        outer_dim lanes = outer_at(c, rank);
        k.inner = lanes.size;
        k.in_lane = lanes.in;
        k.out_lane = lanes.out;
        scan_rows(&k, rank, k.inner, one);
        return;
    }
    k.inner = kir_get(b, KIR_ARG_INNER);
    k.in_lane = tly_in_step(c);
    k.out_lane = c->p->form == TLY_TRANSPOSED ? kir_get(b, KIR_ARG_OUT_LANE) : tly_out_step(c);
    scan_rows(&k, rank, kir_get(b, KIR_ARG_BLOCKS), imm(c, c->plan->tile_lanes));
}

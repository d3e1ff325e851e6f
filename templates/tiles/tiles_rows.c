/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows and lanes of a task of the template of tiles, in an order in which lines and pages are
 * used again while they are in the cache.
 */
#include "tiles.h"

#include <string.h>

enum { LINE = 64 };

tly_outer tly_tiles_outer(tly_build *c, kir_value d)
{
    kir_value none = less(c, d, imm(c, 0)), zero = imm(c, 0), at = choose(c, none, zero, d);
    tly_outer dim = {
        .size = choose(c, none, imm(c, 1), kir_get_at(c->b, KIR_ARG_OUTER_SIZE, at)),
    };
    for (int t = 0; t < c->tensors; t++)
        dim.each[t] = choose(c, none, zero, kir_get_at(c->b, TLY_ARG(OUTER_IN, t), at));
    return dim;
}

/* i1: the launch goes past the cache; 0: tiles have no whole lines of output. */
static kir_value lines_may_stream(tly_tiles *k)
{
    tly_build *c = k->c;
    if (k->way[TLY_OUT] != TLY_ACROSS || k->parts * c->lanes * c->bytes[TLY_OUT] % LINE != 0)
        return 0;
    return tly_streams(c);
}

static kir_value lined(tly_tiles *k, kir_value out)
{
    tly_build *c = k->c;
    kir_value where = bor(c, kir_addr(c->b, out), k->axis[TLY_OUT]);
    return band(c, k->may_stream, equal(c, band(c, where, imm(c, LINE - 1)), imm(c, 0)));
}

/* The rows of a task, block by block. A run is the rows of the last outer dim, a block one run, or
 * several if they are short. Divisions find the indices of a block only. f32 8-D views of 8s, ns an
 * element: row by row 1.9 to 17.7, by runs .7 to 3.5 (Zen 4). */
typedef struct tly_blocks {
    tly_outer run, runs; /* dims of a block; those of tiles across rows are in `cross` */
    tly_cross cross;
    kir_value size;            /* rows of a block */
    kir_value left;            /* number of outer dims that are not in a block */
    kir_value blocks, tile;    /* lane blocks a row, lanes of one */
    kir_value begin, end;      /* the task's lane blocks */
    kir_value row0;            /* the block's first row */
    kir_value from, to;        /* its rows that belong to the task, in part or wholly */
    kir_value whole, whole_to; /* those that belong to it wholly */
} tly_blocks;

static int crosses(const tly_tiles *k)
{
    return k->c->p->form == TLY_COLUMNS && k->c->p->lanes.packing == TLY_ROWS_UP;
}

static void choose_block(tly_tiles *k, tly_blocks *a, kir_value rank)
{
    tly_build *c = k->c;
    kir_value one = imm(c, 1), last = sub(c, rank, one);
    if (crosses(k)) {
        tly_cross *x = &a->cross;
        *x = tly_tiles_cross_dims(k, rank);
        a->run = x->rows;
        a->runs.size = mul(c, mul(c, x->far.size, x->near.size), x->line.size);
        a->left = x->left;
    } else {
        kir_value far = less(c, imm(c, c->plan->tile_lanes), k->inner);
        kir_value second = choose(c, far, imm(c, -1), sub(c, last, one));
        a->run = tly_tiles_outer(c, last);
        a->runs = tly_tiles_outer(c, second);
        a->left = choose(c, less(c, second, imm(c, 0)), last, second);
    }
    a->size = mul(c, a->run.size, a->runs.size);
}

/* The address of run `i` of the block at `at`. */
static tly_row run_at(tly_tiles *k, const tly_blocks *a, tly_row at, kir_value i)
{
    tly_build *c = k->c;
    if (!crosses(k))
        return tly_tiles_move(c, at, i, a->runs.each);
    const tly_outer *dim[] = { &a->cross.line, &a->cross.near, &a->cross.far };
    for (int d = 0; d < 3; d++) {
        kir_value up = udiv(c, i, dim[d]->size);
        kir_value index = sub(c, i, mul(c, up, dim[d]->size));
        at = tly_tiles_move(c, at, index, dim[d]->each);
        i = up;
    }
    return at;
}

/* How many lanes of row `j` of run `i` whole tiles took. */
static kir_value lanes_done(tly_tiles *k, const tly_blocks *a, kir_value i, kir_value j)
{
    tly_build *c = k->c;
    const tly_cross *x = &a->cross;
    kir_value unit = udiv(c, i, x->line.size);
    kir_value before = bor(c, less(c, unit, x->from), less(c, j, x->first));
    kir_value within = band(c, less(c, unit, x->to), less(c, j, x->end));
    return choose(c, band(c, within, tly_not(c, before)), x->lanes, imm(c, 0));
}

/* How many runs of a block have rows, or lanes, that whole tiles did not take. */
static kir_value runs_left(tly_tiles *k, const tly_blocks *a)
{
    tly_build *c = k->c;
    const tly_cross *x = &a->cross;
    kir_value lines = mul(c, sub(c, x->to, x->from), x->line.size);
    kir_value all = band(c, equal(c, lines, a->runs.size), equal(c, x->lanes, k->inner));
    all = band(c, all, equal(c, sub(c, x->end, x->first), a->run.size));
    return choose(c, all, imm(c, 0), a->runs.size);
}

/* Scans those lanes of the block at `at` that belong to the task and that whole tiles did not take.
 * A range of lanes of all rows comes before the next range, so that lines are used while they are
 * in the cache. */
static void scan_block(tly_tiles *k, const tly_blocks *a, const tly_gather *gather, tly_row at)
{
    tly_build *c = k->c;
    kir_value one = imm(c, 1), zero = imm(c, 0), wide = imm(c, c->plan->tile_lanes);
    tly_region i = { 0 }, j = { 0 }, s = { 0 };
    emit_for(c, &s, zero, k->inner, wide);
    kir_value side = tly_min(c, add(c, s.i, wide), k->inner);
    emit_for(c, &i, zero, crosses(k) ? runs_left(k, a) : a->runs.size, one);
    kir_value before = mul(c, i.i, a->run.size);
    tly_row run = run_at(k, a, at, i.i);
    emit_for(c, &j, tly_max(c, sub(c, a->from, before), zero),
             tly_min(c, sub(c, a->to, before), a->run.size), one);
    kir_value row = add(c, before, j.i), skipped = mul(c, add(c, a->row0, row), a->blocks);
    kir_value lane = tly_max(c, mul(c, sub(c, a->begin, skipped), a->tile), s.i);
    if (crosses(k))
        lane = tly_max(c, lane, lanes_done(k, a, i.i, j.i));
    kir_value lanes = tly_min(c, mul(c, sub(c, a->end, skipped), a->tile), side);
    tly_row here = { 0 };
    for (int t = 0; t < c->tensors; t++)
        here.at[t] = ptradd(c, run.at[t],
                            add(c, mul(c, j.i, a->run.each[t]), mul(c, lane, k->lane[t])));
    if (k->may_stream)
        k->streams = lined(k, here.at[TLY_OUT]);
    lanes = sub(c, lanes, lane);
    if (gather)
        tly_tiles_gather_row(k, gather, row, here, lanes);
    else
        tly_tiles_scan(k, here, lanes);
    emit_end(c, &j);
    emit_end(c, &i);
    emit_end(c, &s);
}

/* Tiles for single rows that fill no line: as many vectors as a row has. */
static tly_tiles row_by_row(const tly_tiles *k)
{
    const tly_build *c = k->c;
    tly_tiles row = *k;
    if (c->p->form == TLY_COLUMNS && c->p->lanes.lines) {
        row.parts = c->p->lanes.least / c->lanes;
        row.may_stream = 0;
    }
    return row;
}

static void scan_rows(tly_tiles *k, kir_value rank, kir_value blocks, kir_value tile)
{
    tly_build *c = k->c;
    kir_value one = imm(c, 1), zero = imm(c, 0);
    kir_value begin = arg(c, KIR_ARG_BEGIN), end = arg(c, KIR_ARG_TASK_END);
    kir_value first = udiv(c, begin, blocks);
    kir_value last = udiv(c, sub(c, end, one), blocks);
    int gathers = tly_tiles_gather_bytes(k) > 0;
    tly_blocks a = { .blocks = blocks, .tile = tile, .begin = begin, .end = end };
    tly_gather gather = { 0 };
    tly_region g = { 0 };
    choose_block(k, &a, rank);
    k->may_stream = lines_may_stream(k);
    kir_value block_last = udiv(c, last, a.size), offsets[TLY_TENSOR_COUNT];
    emit_for(c, &g, udiv(c, first, a.size), add(c, block_last, one), one);
    a.row0 = mul(c, g.i, a.size);
    tly_outer_offsets(c, g.i, a.left, offsets);
    tly_row at;
    for (int t = 0; t < c->tensors; t++)
        at.at[t] = ptradd(c, arg(c, TLY_ARG(IN, t)), offsets[t]);
    a.from = tly_max(c, sub(c, first, a.row0), zero);
    a.to = tly_min(c, add(c, sub(c, last, a.row0), one), a.size);
    kir_value begun = less(c, mul(c, add(c, a.row0, a.from), blocks), begin);
    kir_value cut = less(c, end, mul(c, add(c, a.row0, a.to), blocks));
    a.whole = add(c, a.from, choose(c, begun, one, zero));
    a.whole_to = sub(c, a.to, choose(c, cut, one, zero));
    if (crosses(k))
        tly_tiles_cross(k, &a.cross, at, a.whole, a.whole_to);
    if (gathers)
        gather = tly_tiles_gather(k, at.at[TLY_OUT], a.runs.each[TLY_OUT], a.run.size,
                                  a.run.each[TLY_OUT], a.whole, a.whole_to);
    tly_tiles row = row_by_row(k);
    scan_block(&row, &a, gathers ? &gather : NULL, at);
    emit_end(c, &g);
    if (k->may_stream || gathers || crosses(k))
        tly_fence(c, tly_streams(c));
    kir_return(c->b, zero);
}

void tly_build_tiles(tly_build *c, tly_launch *launch)
{
    kir_value rank = arg(c, KIR_ARG_OUTER_RANK), one = imm(c, 1);
    tly_tiles k = {
        .c = c,
        .way = { tly_tiles_in(c->p), tly_tiles_out(c->p) },
        .steps = (unsigned)c->plan->tile_steps,
        .length = arg(c, KIR_ARG_LENGTH),
        .parts = (unsigned)tly_tiles_parts(c->p, c->plan),
    };
    for (int t = 0; t < c->tensors; t++)
        k.axis[t] = tly_axis(c, t);
    launch->tile_lanes = c->plan->tile_lanes;
    int64_t other = crosses(&k) ? tly_tiles_cross_bytes(&k) : tly_tiles_gather_bytes(&k);
    launch->scratch_bytes = other + tly_tiles_scan_bytes(&k);
    k.states = ptradd(c, arg(c, KIR_ARG_SCRATCH), imm(c, other));
    if (c->p->form == TLY_ROWS) {
        launch->chunk = 0;
        rank = sub(c, rank, one);
        tly_outer lanes = tly_tiles_outer(c, rank);
        k.inner = lanes.size;
        memcpy(k.lane, lanes.each, sizeof k.lane);
        scan_rows(&k, rank, k.inner, one);
        return;
    }
    k.inner = arg(c, KIR_ARG_INNER);
    for (int t = 0; t < c->tensors; t++)
        k.lane[t] = tly_lane(c, t);
    scan_rows(&k, rank, arg(c, KIR_ARG_BLOCKS), imm(c, c->plan->tile_lanes));
}

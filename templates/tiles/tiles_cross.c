/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiles across rows: rows are neighbours in the input, and lanes in the output. A tile is a vector
 * of rows by lines of output, and is transposed at each axis step. All tiles of a block take a step
 * before any takes the next one, so that the input is read upwards in a few streams. States wait in
 * scratch.
 *
 * Reversed 8-D views of 8s along axis 3, f32, a prototype with tiles of 16 by 16 (Zen 5): blocks of
 * 1, 4, 32 tiles take 12.0, 10.6, 7.8 ms; a copy 2.5.
 */
#include "tiles.h"

enum { LINE = 64, MOST_VECTORS = TLY_TILES_MOST_PARTS * TLY_MOST_LANES };

static int is_lined(const tly_tiles *k)
{
    return k->c->p->form == TLY_COLUMNS && k->c->p->lanes.lines;
}

/* Lanes of a tile: those of all rows that share a line. */
static unsigned width(const tly_tiles *k)
{
    return k->parts * k->c->lanes;
}

/* Rows of a block whose states fit into scratch. */
static int64_t most_rows(const tly_tiles *k)
{
    const tly_build *c = k->c;
    int64_t most = TLY_TILES_CROSSED_BYTES / (width(k) * c->state_bytes) / c->lanes * c->lanes;
    return most > c->lanes ? most : c->lanes;
}

int64_t tly_tiles_cross_bytes(const tly_tiles *k)
{
    int64_t least = (int64_t)k->c->lanes * width(k) * k->c->state_bytes;
    return least > TLY_TILES_CROSSED_BYTES ? least : TLY_TILES_CROSSED_BYTES;
}

/* The outer dim `at` as a dim of the block, or, if the block would be too large, one of size 1. */
static tly_outer dim_within(tly_tiles *k, kir_value at, kir_value rows, kir_value *fits)
{
    tly_build *c = k->c;
    kir_value zero = imm(c, 0);
    tly_outer d = tly_tiles_outer(c, at);
    kir_value small = less(c, mul(c, rows, d.size), imm(c, most_rows(k) + 1));
    *fits = band(c, *fits, small);
    d.size = choose(c, *fits, d.size, imm(c, 1));
    for (int t = 0; t < c->tensors; t++)
        d.each[t] = choose(c, *fits, d.each[t], zero);
    return d;
}

tly_cross tly_tiles_cross_dims(tly_tiles *k, kir_value rank)
{
    tly_build *c = k->c;
    kir_value one = imm(c, 1), zero = imm(c, 0), last = sub(c, rank, one), second = last;
    tly_cross x = { .rows = tly_tiles_outer(c, last), .line = { .size = one } };
    for (int t = 0; t < c->tensors; t++)
        x.line.each[t] = zero;
    if (is_lined(k)) {
        second = sub(c, last, one);
        x.line = tly_tiles_outer(c, second);
    }
    kir_value fits = equal(c, zero, zero), near = sub(c, second, one);
    x.near = dim_within(k, near, x.rows.size, &fits);
    x.left = choose(c, fits, near, second);
    x.far = dim_within(k, sub(c, near, one), mul(c, x.rows.size, x.near.size), &fits);
    x.left = choose(c, fits, sub(c, near, one), x.left);
    return x;
}

/* Lanes of one of the rows that share a line. */
static unsigned row_lanes(const tly_tiles *k)
{
    return is_lined(k) ? k->c->p->lanes.least : width(k);
}

/* A row of one axis step. */
typedef struct step_row {
    const tly_tiles *k;
    const tly_cross *x;
    const tly_row *first;
    kir_value tile; /* the tile's first row */
    unsigned row;   /* counted from there */
} step_row;

static kir_value address_in_row(tly_build *c, const tly_place *at, int tensor)
{
    const step_row *r = at->of;
    unsigned lanes = row_lanes(r->k), lane = (unsigned)at->more_lanes;
    kir_value row = mul(c, add(c, r->tile, imm(c, r->row)), r->x->rows.each[tensor]);
    kir_value line = mul(c, imm(c, lane / lanes), r->x->line.each[tensor]);
    kir_value within = mul(c, imm(c, lane % lanes), r->k->lane[tensor]);
    return ptradd(c, r->first->at[tensor], add(c, row, add(c, line, within)));
}

/* One axis step, `step`, of the tile that begins with row `tile`. `first`: the step's row 0. */
static void cross_tile(tly_tiles *k, const tly_cross *x, const tly_row *first, kir_value step,
                       kir_value tile, kir_value states)
{
    tly_build *c = k->c;
    unsigned n = c->lanes, row = row_lanes(k);
    kir_value out = ptradd(c, first->at[TLY_OUT], mul(c, tile, x->rows.each[TLY_OUT]));
    kir_value in = ptradd(c, first->at[TLY_IN], mul(c, tile, x->rows.each[TLY_IN]));
    int64_t state = (int64_t)n * c->state_bytes;
    kir_value shown[TLY_TILES_MOST_PARTS][TLY_MOST_LANES];
    for (unsigned q = 0; q < k->parts; q++) {
        kir_value from = ptradd(c, in, mul(c, imm(c, q * n / row), x->line.each[TLY_IN]));
        from = ptradd(c, from, mul(c, imm(c, q * n % row), k->lane[TLY_IN]));
        for (unsigned i = 0; i < n; i++) {
            shown[q][i] = tly_load(c, from, 0, n);
            from = ptradd(c, from, k->lane[TLY_IN]);
        }
        tly_tiles_transpose(k, shown[q], 0, 0);
        for (unsigned i = 0; i < n; i++) {
            int64_t offset = (q * n + i) * state;
            const step_row in_row = { k, x, first, tile, i };
            const tly_place here = { address_in_row, &in_row, .position = step, .more_lanes = q * n,
                                     .steps = k->lane };
            kir_value before = tly_load_state(c, states, offset, n, c->acc_bytes);
            kir_value element = tly_element(c, &here, shown[q][i]);
            kir_value y = tly_advance(c, &here, before, element);
            tly_store_state(c, states, offset, y, c->acc_bytes);
            shown[q][i] = tly_show(c, &here, tly_shown(c, element, before, y));
        }
    }
    tly_tiles_store_lines(k, out, shown, n, x->rows.each[TLY_OUT]);
}

static void begin_states(tly_tiles *k, kir_value rows)
{
    tly_build *c = k->c;
    int64_t state = (int64_t)c->lanes * c->state_bytes;
    tly_region l = { 0 };
    emit_for(c, &l, imm(c, 0), mul(c, rows, imm(c, k->parts)), imm(c, c->lanes));
    kir_value at = tly_at(c, arg(c, KIR_ARG_SCRATCH), l.i, c->lanes * c->state_bytes);
    for (unsigned i = 0; i < c->lanes; i++)
        tly_store_state(c, at, i * state, tly_start(c, c->vec), c->acc_bytes);
    emit_end(c, &l);
}

/* Scans rows [first, end) of the block's units along the whole axis: a line of lanes, from `at`
 * on. */
static void cross_rows(tly_tiles *k, const tly_cross *x, tly_row at, kir_value first, kir_value end)
{
    tly_build *c = k->c;
    kir_value zero = imm(c, 0), one = imm(c, 1), rows = sub(c, end, first);
    int64_t a_row = width(k) * c->state_bytes;
    tly_region step = { 0 }, far = { 0 }, near = { 0 }, row = { 0 };
    begin_states(k, mul(c, sub(c, x->to, x->from), rows));
    emit_for(c, &step, zero, k->length, one);
    emit_for(c, &far, zero, x->far.size, one);
    kir_value skipped = mul(c, far.i, x->near.size);
    emit_for(c, &near, tly_max(c, sub(c, x->from, skipped), zero),
             tly_min(c, sub(c, x->to, skipped), x->near.size), one);
    kir_value unit = sub(c, add(c, skipped, near.i), x->from), offset[TLY_TENSOR_COUNT];
    for (int t = 0; t < c->tensors; t++)
        offset[t] = add(c, mul(c, far.i, x->far.each[t]), mul(c, near.i, x->near.each[t]));
    for (int t = 0; t < c->tensors; t++)
        at.at[t] = ptradd(c, at.at[t], add(c, offset[t], mul(c, step.i, k->axis[t])));
    kir_value states = tly_at(c, arg(c, KIR_ARG_SCRATCH), mul(c, unit, rows), a_row);
    emit_for(c, &row, first, end, imm(c, c->lanes));
    cross_tile(k, x, &at, step.i, row.i, tly_at(c, states, sub(c, row.i, first), a_row));
    emit_end(c, &row);
    emit_end(c, &near);
    emit_end(c, &far);
    emit_end(c, &step);
}

/* i1: lines go past the cache. They are whole, by themselves or because rows adjoin. */
static kir_value lined(tly_tiles *k, const tly_cross *x, kir_value out)
{
    tly_build *c = k->c;
    kir_value streams = tly_streams(c), apart = x->rows.each[TLY_OUT];
    unsigned bytes = width(k) * c->bytes[TLY_OUT];
    if (bytes % LINE != 0) {
        streams = band(c, streams, equal(c, apart, imm(c, bytes)));
        apart = imm(c, bytes * c->lanes);
    }
    kir_value where = bor(c, bor(c, kir_addr(c->b, out), k->axis[TLY_OUT]), apart);
    where = bor(c, bor(c, where, x->near.each[TLY_OUT]), x->far.each[TLY_OUT]);
    return band(c, streams, equal(c, band(c, where, imm(c, LINE - 1)), imm(c, 0)));
}

/* Scans lanes [from, to), which fill tiles. */
static void cross_lanes(tly_tiles *k, const tly_cross *x, tly_row at, kir_value from, kir_value to)
{
    tly_build *c = k->c;
    kir_value most = imm(c, most_rows(k)), each = is_lined(k) ? k->inner : imm(c, width(k));
    tly_region lane = { 0 }, part = { 0 };
    k->streams = lined(k, x, at.at[TLY_OUT]);
    emit_for(c, &lane, from, to, each);
    tly_row here = tly_tiles_move(c, at, lane.i, k->lane);
    emit_for(c, &part, x->first, x->end, most);
    cross_rows(k, x, here, part.i, tly_min(c, x->end, add(c, part.i, most)));
    emit_end(c, &part);
    emit_end(c, &lane);
    k->streams = 0;
}

void tly_tiles_cross(tly_tiles *k, tly_cross *x, tly_row at, kir_value whole, kir_value whole_to)
{
    tly_build *c = k->c;
    kir_value zero = imm(c, 0), one = imm(c, 1);
    kir_value unit = mul(c, x->line.size, x->rows.size);
    kir_value units = mul(c, x->near.size, x->far.size);
    /* If there is one unit, tiles may begin at any of its rows. */
    kir_value single = equal(c, units, is_lined(k) ? zero : one);
    x->from = udiv(c, add(c, whole, sub(c, unit, one)), unit);
    x->from = choose(c, single, zero, x->from);
    x->to = tly_max(c, x->from, udiv(c, tly_max(c, whole_to, zero), unit));
    x->to = choose(c, single, one, x->to);
    x->first = choose(c, single, whole, zero);
    kir_value rows = choose(c, single, sub(c, whole_to, whole), x->rows.size);
    x->end = add(c, x->first, tly_round_down(c, tly_max(c, rows, zero), c->lanes));
    x->lanes = is_lined(k) ? k->inner : tly_round_down(c, k->inner, width(k));
    cross_lanes(k, x, at, zero, x->lanes);
    if (c->plan->tile_lines > 1) {
        tly_tiles small = *k;
        kir_value done = x->lanes;
        small.parts /= (unsigned)c->plan->tile_lines;
        x->lanes = tly_round_down(c, k->inner, width(&small));
        cross_lanes(&small, x, at, done, x->lanes);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scans of views whose innermost dims differ between the tensors, or hold few elements. A tile is
 * one or several vectors of lanes (a line of output) by some axis steps. It is scanned along the
 * axis in registers, in serial order. If a tensor's memory runs along the axis, tiles are
 * transposed in registers on their way in or out. If it runs along neither, elements are gathered
 * or scattered. Tiles go along the axis first. Lanes and steps that fill no tile go element by
 * element.
 *
 * If rows are short, lanes are neighbouring rows: those of the last outer dim.
 */
#include "tiles.h"

enum { MAX_PARTS = TLY_TILES_MOST_PARTS, MAX_STEPS = TLY_MOST_LANES };

tly_row tly_tiles_move(tly_build *c, tly_row at, kir_value by, const kir_value *each)
{
    for (int t = 0; t < c->tensors; t++)
        at.at[t] = ptradd(c, at.at[t], mul(c, by, each[t]));
    return at;
}

/* ---- where elements lie ---- */

/* Lane 0 of axis step 0. */
typedef struct origin {
    const tly_tiles *k;
    tly_row at;
} origin;

static kir_value address_from(tly_build *c, const tly_place *at, int tensor)
{
    const origin *from = at->of;
    kir_value step = add(c, at->position, imm(c, at->more_positions));
    kir_value p = ptradd(c, from->at.at[tensor], mul(c, step, from->k->axis[tensor]));
    return ptradd(c, p, mul(c, imm(c, at->more_lanes), from->k->lane[tensor]));
}

/* A vector of lanes from lane `skipped` on, at the first axis step. */
static tly_place lanes_from(const tly_tiles *k, const origin *of, int64_t skipped)
{
    return (tly_place){ .address = address_from,
                        .of = of,
                        .position = imm(k->c, 0),
                        .more_lanes = skipped,
                        .steps = k->lane };
}

/* ---- single elements, as their bits ---- */

/* The type that elements are moved in: f16 as integers, so that nothing is converted. */
static kir_type storage(tally_dtype dtype, unsigned lanes)
{
    kir_type t = tly_storage(dtype, lanes);
    return t.kind == KIR_F16 ? KIR_TYPE(KIR_I16, lanes) : t;
}

static kir_value gather(tly_tiles *k, kir_value p, const kir_value *offsets)
{
    tly_build *c = k->c;
    tally_dtype dtype = (tally_dtype)c->p->tensor[TLY_IN].dtype;
    kir_type one = storage(dtype, 1);
    kir_value v = 0;
    for (unsigned i = 0; i < c->lanes; i++) {
        kir_value x = kir_load(c->b, one, ptradd(c, p, offsets[i]), 0, c->bytes[TLY_IN]);
        v = i == 0 ? kir_splat(c->b, x, c->lanes) : kir_insert(c->b, v, x, i);
    }
    kir_type t = tly_storage(dtype, c->lanes);
    return tly_loaded(c, t.kind == KIR_F16 ? bitcast(c, t, v) : v);
}

static void scatter(tly_tiles *k, kir_value p, const kir_value *offsets, kir_value v)
{
    tly_build *c = k->c;
    kir_value x = tly_narrow(c, v);
    if (type_of(c, x).kind == KIR_F16)
        x = bitcast(c, KIR_TYPE(KIR_I16, c->lanes), x);
    for (unsigned i = 0; i < c->lanes; i++)
        kir_store(c->b, ptradd(c, p, offsets[i]), 0, kir_extract(c->b, x, i), c->bytes[TLY_OUT], 0);
}

/* Bytes to each lane of a vector. If only `left` lanes exist, the others repeat the last one. */
static void lane_offsets(tly_tiles *k, kir_value step, kir_value left, kir_value *offsets)
{
    tly_build *c = k->c;
    for (unsigned i = 0; i < c->lanes; i++) {
        kir_value lane = imm(c, i);
        if (left)
            lane = tly_min(c, lane, sub(c, left, imm(c, 1)));
        offsets[i] = mul(c, lane, step);
    }
}

/* ---- whole tiles ---- */

void tly_tiles_transpose(tly_tiles *k, kir_value *v, int out, int down)
{
    unsigned n = k->c->lanes;
    kir_value r[MAX_STEPS];
    for (unsigned i = 0; i < n; i++)
        r[i] = v[out && down ? n - 1 - i : i];
    tly_transpose(k->c, r, n);
    for (unsigned i = 0; i < n; i++)
        v[i] = r[!out && down ? n - 1 - i : i];
}

/* Bytes from a vector's first axis step to the one that is lowest in memory. */
static int64_t lowest(const tly_tiles *k, tly_way w, unsigned bytes)
{
    return w == TLY_ALONG_DOWN ? -(int64_t)(k->c->lanes - 1) * bytes : 0;
}

/* Loads a vector of lanes, at `p`, whose memory runs along the axis. A lane's vectors are loaded
 * one after another, so that its line is still in the cache. */
static void load_along(tly_tiles *k, kir_value p, kir_value *x)
{
    tly_build *c = k->c;
    int64_t apart = (int64_t)c->lanes * c->bytes[TLY_IN];
    int down = k->way[TLY_IN] == TLY_ALONG_DOWN;
    for (unsigned i = 0; i < c->lanes; i++) {
        int64_t at = lowest(k, k->way[TLY_IN], c->bytes[TLY_IN]);
        for (unsigned s = i; s < k->steps; s += c->lanes, at += down ? -apart : apart)
            x[s] = tly_load(c, p, at, c->lanes);
        p = ptradd(c, p, k->lane[TLY_IN]);
    }
    for (unsigned s = 0; s < k->steps; s += c->lanes)
        tly_tiles_transpose(k, x + s, 0, down);
}

/* Loads the tile's axis steps of one vector of lanes, at `p`. */
static void load_part(tly_tiles *k, kir_value p, kir_value *x)
{
    tly_build *c = k->c;
    kir_value offsets[MAX_STEPS];
    if (tly_is_along(k->way[TLY_IN])) {
        load_along(k, p, x);
        return;
    }
    if (k->way[TLY_IN] == TLY_APART)
        lane_offsets(k, k->lane[TLY_IN], 0, offsets);
    for (unsigned i = 0; i < k->steps; i++) {
        x[i] = k->way[TLY_IN] == TLY_ACROSS ? tly_load_vector(c, p) : gather(k, p, offsets);
        p = ptradd(c, p, k->axis[TLY_IN]);
    }
}

/* Stores the tile's axis steps of one vector of lanes, unless lanes are neighbours. */
static void store_part(tly_tiles *k, kir_value p, kir_value *y)
{
    tly_build *c = k->c;
    kir_value offsets[MAX_STEPS];
    kir_value next = tly_is_along(k->way[TLY_OUT]) ? k->lane[TLY_OUT] : k->axis[TLY_OUT];
    if (tly_is_along(k->way[TLY_OUT]))
        tly_tiles_transpose(k, y, 1, k->way[TLY_OUT] == TLY_ALONG_DOWN);
    else
        lane_offsets(k, k->lane[TLY_OUT], 0, offsets);
    for (unsigned i = 0; i < k->steps; i++) {
        if (tly_is_along(k->way[TLY_OUT]))
            tly_store(c, p, lowest(k, k->way[TLY_OUT], c->bytes[TLY_OUT]), y[i], c->bytes[TLY_OUT],
                      0);
        else
            scatter(k, p, offsets, y[i]);
        p = ptradd(c, p, next);
    }
}

typedef kir_value line[MAX_PARTS];

static void store_runs(tly_build *c, kir_value to, line *v, unsigned n, unsigned lines,
                       kir_value apart, unsigned flags)
{
    for (unsigned i = 0; i < lines; i++) {
        tly_store_run(c, to, v[i], n, flags);
        to = ptradd(c, to, apart);
    }
}

void tly_tiles_store_lines(tly_tiles *k, kir_value out, kir_value y[][TLY_MOST_LANES],
                           unsigned steps, kir_value apart)
{
    tly_build *c = k->c;
    line v[MAX_STEPS];
    unsigned n = 0;
    for (unsigned i = 0; i < steps; i++) {
        for (unsigned q = 0; q < k->parts; q++)
            v[i][q] = y[q][i];
        n = tly_pack_run(c, v[i], k->parts, 0);
    }
    tly_region way = { 0 };
    if (k->streams) {
        emit_if(c, &way, k->streams);
        store_runs(c, out, v, n, steps, apart, KIR_STREAM);
        emit_else(c, &way);
    }
    store_runs(c, out, v, n, steps, apart, 0);
    if (k->streams)
        emit_end(c, &way);
}

/* The tile at place `first`, whose addresses are `in` and `out`. */
static void do_tile(tly_tiles *k, tly_place first, kir_value in, kir_value out, kir_value *y)
{
    tly_build *c = k->c;
    kir_value shown[MAX_PARTS][MAX_STEPS];
    for (unsigned q = 0; q < k->parts; q++) {
        kir_value x[MAX_STEPS], lane = imm(c, q * c->lanes);
        load_part(k, ptradd(c, in, mul(c, lane, k->lane[TLY_IN])), x);
        for (unsigned i = 0; i < k->steps; i++) {
            const tly_place here = tly_place_after(first, i, q * c->lanes);
            kir_value element = tly_element(c, &here, x[i]);
            kir_value next = tly_advance(c, &here, y[q], element);
            shown[q][i] = tly_show(c, &here, tly_shown(c, element, y[q], next));
            y[q] = next;
        }
    }
    if (k->way[TLY_OUT] == TLY_ACROSS) {
        tly_tiles_store_lines(k, out, shown, k->steps, k->axis[TLY_OUT]);
        return;
    }
    for (unsigned q = 0; q < k->parts; q++)
        store_part(k, ptradd(c, out, mul(c, imm(c, q * c->lanes), k->lane[TLY_OUT])), shown[q]);
}

static void prefetch(tly_tiles *k, kir_value in)
{
    tly_build *c = k->c;
    if (!tly_is_along(k->way[TLY_IN]) || c->plan->prefetch == 0)
        return;
    int64_t ahead = k->way[TLY_IN] == TLY_ALONG_UP ? c->plan->prefetch
                                                   : -(int64_t)c->plan->prefetch;
    for (unsigned i = 0; i < k->parts * c->lanes; i++) {
        kir_prefetch(c->b, in, ahead);
        in = ptradd(c, in, k->lane[TLY_IN]);
    }
}

/* ---- what fills no tile ---- */

/* The `left` lanes of a vector, from axis step `from` on, an element at a time. */
static void scan_partial(tly_tiles *k, tly_row at, kir_value left, kir_value from, kir_value y)
{
    tly_build *c = k->c;
    kir_value in[MAX_STEPS], out[MAX_STEPS];
    const origin lane = { k, at };
    tly_region some = { 0 }, l = { .state = { &y } };
    if (c->p->carry)
        emit_carry(&some, 1, &y);
    kir_value none = less(c, left, imm(c, 1)), done = equal(c, from, k->length);
    emit_if(c, &some, tly_not(c, bor(c, none, done)));
    lane_offsets(k, k->lane[TLY_IN], left, in);
    lane_offsets(k, k->lane[TLY_OUT], left, out);
    emit_for(c, &l, from, k->length, imm(c, 1));
    kir_value x = gather(k, ptradd(c, at.at[TLY_IN], mul(c, l.i, k->axis[TLY_IN])), in);
    const tly_place here = {
        .address = address_from, .of = &lane, .position = l.i, .steps = k->lane, .count = left
    };
    kir_value element = tly_element(c, &here, x); /* lanes may be repeated */
    kir_value next = tly_advance(c, &here, y, element);
    scatter(k, ptradd(c, at.at[TLY_OUT], mul(c, l.i, k->axis[TLY_OUT])), out,
            tly_show(c, &here, tly_shown(c, element, y, next)));
    y = next;
    emit_end(c, &l);
    emit_end(c, &some);
    tly_place all = lanes_from(k, &lane, 0);
    all.count = left;
    tly_end_at(c, &all, y);
}

/* Whole tiles of a block of lanes, from axis step `from` on; none if fewer lanes are left. y: the
 * states before that step, then those behind the last tile. Returns the next step. */
static kir_value scan_tiles(tly_tiles *k, tly_row at, kir_value left, kir_value from, kir_value *y)
{
    tly_build *c = k->c;
    kir_value tiled = add(c, from, tly_round_down(c, sub(c, k->length, from), k->steps));
    kir_value whole = choose(c, less(c, left, imm(c, k->parts * c->lanes)), from, tiled);
    const origin start = { k, at };
    tly_region step = { 0 };
    emit_carry(&step, k->parts, y);
    emit_for(c, &step, from, whole, imm(c, k->steps));
    kir_value in = ptradd(c, at.at[TLY_IN], mul(c, step.i, k->axis[TLY_IN]));
    prefetch(k, in);
    kir_value out = ptradd(c, at.at[TLY_OUT], mul(c, step.i, k->axis[TLY_OUT]));
    const tly_place first = { address_from, &start, .position = step.i, .steps = k->lane };
    do_tile(k, first, in, out, y);
    emit_end(c, &step);
    return whole;
}

static tly_row lane_at(tly_tiles *k, tly_row at, kir_value lane)
{
    return tly_tiles_move(k->c, at, lane, k->lane);
}

/* All of a block: whole tiles, then the other lanes and steps. */
static void scan_lanes(tly_tiles *k, tly_row at, kir_value left, kir_value from, kir_value *y)
{
    tly_build *c = k->c;
    kir_value whole = scan_tiles(k, at, left, from, y);
    for (unsigned q = 0; q < k->parts; q++) {
        kir_value skipped = imm(c, q * c->lanes);
        kir_value here_left = tly_min(c, sub(c, left, skipped), imm(c, c->lanes));
        scan_partial(k, lane_at(k, at, skipped), here_left, whole, y[q]);
    }
}

/* The smallest tiles whose rows are whole lines of output. */
static tly_tiles smallest(const tly_tiles *k)
{
    tly_tiles small = *k;
    if (k->c->plan->tile_lines > 1)
        small.parts /= (unsigned)k->c->plan->tile_lines;
    if (tly_is_along(k->way[TLY_IN]))
        small.steps = k->c->lanes;
    return small;
}

int64_t tly_tiles_scan_bytes(const tly_tiles *k)
{
    const tly_tiles small = smallest(k);
    int same = small.parts == k->parts && small.steps == k->steps;
    return same ? 0 : (int64_t)k->parts * k->c->lanes * k->c->state_bytes;
}

/* All of a block: large tiles, then small ones for the other lanes and steps. States wait between
 * them in scratch. */
static void scan_large(tly_tiles *k, tly_row at, kir_value left, kir_value *y)
{
    tly_build *c = k->c;
    tly_tiles small = smallest(k);
    int64_t part = (int64_t)c->lanes * c->state_bytes;
    kir_value from = scan_tiles(k, at, left, imm(c, 0), y);
    for (unsigned q = 0; q < k->parts; q++)
        tly_store_state(c, k->states, q * part, y[q], c->acc_bytes);
    tly_region l = { 0 };
    kir_value end = tly_min(c, left, imm(c, k->parts * c->lanes));
    if (!c->p->carry) /* whose states are still to be handed on */
        end = choose(c, equal(c, from, k->length), imm(c, 0), end);
    emit_for(c, &l, imm(c, 0), end, imm(c, small.parts * c->lanes));
    kir_value states = tly_at(c, k->states, l.i, c->state_bytes);
    for (unsigned q = 0; q < small.parts; q++)
        y[q] = tly_load_state(c, states, q * part, c->lanes, c->acc_bytes);
    scan_lanes(&small, lane_at(k, at, l.i), sub(c, left, l.i), from, y);
    emit_end(c, &l);
}

/* The states that a vector of lanes starts from. Only `left` lanes less `skipped` are there. */
static kir_value start(tly_tiles *k, tly_row at, kir_value left, int64_t skipped)
{
    tly_build *c = k->c;
    const origin lanes = { k, at };
    tly_place first = lanes_from(k, &lanes, skipped);
    first.count = sub(c, left, imm(c, skipped));
    return tly_start_at(c, &first, c->lanes);
}

void tly_tiles_scan(tly_tiles *k, tly_row at, kir_value count)
{
    tly_build *c = k->c;
    kir_value y[MAX_PARTS], zero = imm(c, 0), block = imm(c, k->parts * c->lanes);
    tly_region lane = { 0 };
    emit_for(c, &lane, zero, count, block);
    tly_row here = lane_at(k, at, lane.i);
    kir_value left = sub(c, count, lane.i);
    for (unsigned q = 0; q < k->parts; q++)
        y[q] = start(k, here, left, q * c->lanes);
    if (tly_tiles_scan_bytes(k) > 0)
        scan_large(k, here, left, y);
    else
        scan_lanes(k, here, left, zero, y);
    emit_end(c, &lane);
}

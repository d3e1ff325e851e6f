/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Views whose innermost dims differ, or hold few elements: tiles of a vector of lanes (or a line
 * of output of them) by as many axis steps are scanned in registers, as columns, in the plain
 * loop's order. On their way in and out they are turned where memory runs along the axis and not
 * across the lanes, and gathered or scattered where it runs along neither. Lanes are walked down
 * one tile after another; lanes and steps that fill no tile go element by element.
 *
 * The lanes of short rows are neighbouring rows: those of the last outer dim.
 */
#include "tiles.h"

enum { MAX_PARTS = TLY_TILES_MOST_PARTS, MAX_STEPS = TLY_MOST_LANES };

/* ---- single elements, as their bits ---- */

/* Lanes of storage: f16 as integers, which need no conversion to be moved. */
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
    return tly_widen(c, t.kind == KIR_F16 ? bitcast(c, t, v) : v);
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

/* Bytes to each of the lanes of a vector; those from `left` on are the last of them again. */
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

void tly_tiles_turn_lanes(tly_tiles *k, kir_value *v, int out, int down)
{
    unsigned n = k->c->lanes;
    kir_value r[MAX_STEPS];
    for (unsigned i = 0; i < n; i++)
        r[i] = v[out && down ? n - 1 - i : i];
    tly_transpose(k->c, r, n);
    for (unsigned i = 0; i < n; i++)
        v[i] = r[!out && down ? n - 1 - i : i];
}

/* The lowest address of a vector along the axis from `p` on. */
static int64_t lowest(const tly_tiles *k, tly_way w, unsigned bytes)
{
    return w == TLY_ALONG_DOWN ? -(int64_t)(k->c->lanes - 1) * bytes : 0;
}

/* Axis steps of the vector of lanes at `p`, which run along the axis: of each lane a whole line
 * where a tile has as many steps, so that no other lane's drives it out of the cache before. */
static void load_along(tly_tiles *k, kir_value p, kir_value *x)
{
    tly_build *c = k->c;
    int64_t apart = (int64_t)c->lanes * c->bytes[TLY_IN];
    int down = k->in_way == TLY_ALONG_DOWN;
    for (unsigned i = 0; i < c->lanes; i++) {
        int64_t at = lowest(k, k->in_way, c->bytes[TLY_IN]);
        for (unsigned s = i; s < k->steps; s += c->lanes, at += down ? -apart : apart)
            x[s] = tly_load(c, p, at, c->lanes);
        p = ptradd(c, p, k->in_lane);
    }
    for (unsigned s = 0; s < k->steps; s += c->lanes)
        tly_tiles_turn_lanes(k, x + s, 0, down);
}

/* Axis steps of the vector of lanes at `p`, an accumulator each. */
static void load_part(tly_tiles *k, kir_value p, kir_value *x)
{
    tly_build *c = k->c;
    kir_value offsets[MAX_STEPS];
    if (tly_is_along(k->in_way)) {
        load_along(k, p, x);
        return;
    }
    if (k->in_way == TLY_APART)
        lane_offsets(k, k->in_lane, 0, offsets);
    for (unsigned i = 0; i < k->steps; i++) {
        x[i] = k->in_way == TLY_ACROSS ? tly_load_vector(c, p) : gather(k, p, offsets);
        p = ptradd(c, p, k->in_axis);
    }
}

/* Axis steps of one vector of lanes, where they do not lie across. */
static void store_part(tly_tiles *k, kir_value p, kir_value *y)
{
    tly_build *c = k->c;
    kir_value offsets[MAX_STEPS];
    kir_value next = tly_is_along(k->out_way) ? k->out_lane : k->out_axis;
    if (tly_is_along(k->out_way))
        tly_tiles_turn_lanes(k, y, 1, k->out_way == TLY_ALONG_DOWN);
    else
        lane_offsets(k, k->out_lane, 0, offsets);
    for (unsigned i = 0; i < k->steps; i++) {
        if (tly_is_along(k->out_way))
            tly_store(c, p, lowest(k, k->out_way, c->bytes[TLY_OUT]), y[i], c->bytes[TLY_OUT], 0);
        else
            scatter(k, p, offsets, y[i]);
        p = ptradd(c, p, next);
    }
}

void tly_tiles_store_lines(tly_tiles *k, kir_value out, kir_value y[][TLY_MOST_LANES],
                           unsigned steps, kir_value apart)
{
    tly_build *c = k->c;
    kir_value v[MAX_STEPS][MAX_PARTS];
    unsigned n = 0;
    for (unsigned i = 0; i < steps; i++) {
        for (unsigned q = 0; q < k->parts; q++)
            v[i][q] = y[q][i];
        n = tly_pack_run(c, v[i], k->parts, 0);
    }
    kir_branch way;
    if (k->streams)
        kir_if(c->b, &way, k->streams);
    for (unsigned flags = k->streams ? KIR_STREAM : 0;; flags = 0) {
        kir_value to = out;
        for (unsigned i = 0; i < steps; i++) {
            tly_store_run(c, to, v[i], n, flags);
            to = ptradd(c, to, apart);
        }
        if (flags == 0)
            break;
        kir_else(c->b, &way, 0, NULL);
    }
    if (k->streams)
        kir_if_end(c->b, &way, 0, NULL);
}

static void do_tile(tly_tiles *k, kir_value in, kir_value out, kir_value *y)
{
    tly_build *c = k->c;
    kir_value shown[MAX_PARTS][MAX_STEPS];
    for (unsigned q = 0; q < k->parts; q++) {
        kir_value x[MAX_STEPS], lane = imm(c, q * c->lanes);
        load_part(k, ptradd(c, in, mul(c, lane, k->in_lane)), x);
        for (unsigned i = 0; i < k->steps; i++) {
            kir_value next = tly_combine(c, y[q], tly_lift(c, x[i]));
            shown[q][i] = tly_project(c, c->p->exclusive ? y[q] : next);
            y[q] = next;
        }
    }
    if (k->out_way == TLY_ACROSS) {
        tly_tiles_store_lines(k, out, shown, k->steps, k->out_axis);
        return;
    }
    for (unsigned q = 0; q < k->parts; q++)
        store_part(k, ptradd(c, out, mul(c, imm(c, q * c->lanes), k->out_lane)), shown[q]);
}

static void prefetch(tly_tiles *k, kir_value in)
{
    tly_build *c = k->c;
    if (!tly_is_along(k->in_way) || c->plan->prefetch == 0)
        return;
    int64_t ahead = k->in_way == TLY_ALONG_UP ? c->plan->prefetch : -(int64_t)c->plan->prefetch;
    for (unsigned i = 0; i < k->parts * c->lanes; i++) {
        kir_prefetch(c->b, in, ahead);
        in = ptradd(c, in, k->in_lane);
    }
}

/* ---- what fills no tile ---- */

/* The `left` lanes of a vector, from axis step `from` on, an element at a time. */
static void scan_loose(tly_tiles *k, tly_row at, kir_value left, kir_value from, kir_value y)
{
    tly_build *c = k->c;
    kir_value in[MAX_STEPS], out[MAX_STEPS];
    kir_branch some;
    kir_loop l;
    kir_value none = less(c, left, imm(c, 1)), done = equal(c, from, k->length);
    kir_if(c->b, &some, tly_not(c, bor(c, none, done)));
    lane_offsets(k, k->in_lane, left, in);
    lane_offsets(k, k->out_lane, left, out);
    kir_for(c->b, &l, from, k->length, imm(c, 1), 1, &y);
    kir_value x = gather(k, ptradd(c, at.at[TLY_IN], mul(c, l.i, k->in_axis)), in);
    kir_value next = tly_combine(c, l.carried[0], tly_lift(c, x));
    scatter(k, ptradd(c, at.at[TLY_OUT], mul(c, l.i, k->out_axis)), out,
            tly_project(c, c->p->exclusive ? l.carried[0] : next));
    kir_for_end(c->b, &l, &next);
    kir_if_end(c->b, &some, 0, NULL);
}

/* A block of lanes, `left` of which are there, by whole tiles from axis step `from` on; the states
 * before that are y, and then those behind them. Returns the step that is next. */
static kir_value scan_tiles(tly_tiles *k, tly_row at, kir_value left, kir_value from, kir_value *y)
{
    tly_build *c = k->c;
    kir_value tiled = add(c, from, tly_round_down(c, sub(c, k->length, from), k->steps));
    kir_value whole = choose(c, less(c, left, imm(c, k->parts * c->lanes)), from, tiled);
    kir_loop step;
    kir_for(c->b, &step, from, whole, imm(c, k->steps), k->parts, y);
    kir_value in = ptradd(c, at.at[TLY_IN], mul(c, step.i, k->in_axis));
    prefetch(k, in);
    do_tile(k, in, ptradd(c, at.at[TLY_OUT], mul(c, step.i, k->out_axis)), step.carried);
    kir_for_end(c->b, &step, step.carried);
    for (unsigned q = 0; q < k->parts; q++)
        y[q] = step.result[q];
    return whole;
}

static tly_row lane_at(tly_tiles *k, tly_row at, kir_value lane)
{
    tly_build *c = k->c;
    return (tly_row){ { ptradd(c, at.at[TLY_IN], mul(c, lane, k->in_lane)),
                        ptradd(c, at.at[TLY_OUT], mul(c, lane, k->out_lane)) } };
}

/* The block whole: tiles, then what fills none. */
static void scan_lanes(tly_tiles *k, tly_row at, kir_value left, kir_value from, kir_value *y)
{
    tly_build *c = k->c;
    kir_value whole = scan_tiles(k, at, left, from, y);
    for (unsigned q = 0; q < k->parts; q++) {
        kir_value skipped = imm(c, q * c->lanes);
        kir_value here_left = tly_min(c, sub(c, left, skipped), imm(c, c->lanes));
        scan_loose(k, lane_at(k, at, skipped), here_left, whole, y[q]);
    }
}

/* Tiles as small as whole lines of output allow. */
static tly_tiles smallest(const tly_tiles *k)
{
    tly_tiles small = *k;
    if (k->c->plan->tile_lines > 1)
        small.parts /= (unsigned)k->c->plan->tile_lines;
    if (tly_is_along(k->in_way))
        small.steps = k->c->lanes;
    return small;
}

int64_t tly_tiles_scan_bytes(const tly_tiles *k)
{
    const tly_tiles small = smallest(k);
    int same = small.parts == k->parts && small.steps == k->steps;
    return same ? 0 : (int64_t)k->parts * k->c->lanes * k->c->state_bytes;
}

/* The block by large tiles, and what is left of lanes and steps by small ones; states wait between
 * them in scratch. */
static void scan_large(tly_tiles *k, tly_row at, kir_value left, kir_value *y)
{
    tly_build *c = k->c;
    tly_tiles small = smallest(k);
    int64_t part = (int64_t)c->lanes * c->state_bytes;
    kir_value from = scan_tiles(k, at, left, imm(c, 0), y);
    for (unsigned q = 0; q < k->parts; q++)
        tly_store_state(c, k->states, q * part, y[q], c->acc_bytes);
    kir_loop l;
    kir_value end = choose(c, equal(c, from, k->length), imm(c, 0),
                           tly_min(c, left, imm(c, k->parts * c->lanes)));
    kir_for(c->b, &l, imm(c, 0), end, imm(c, small.parts * c->lanes), 0, NULL);
    kir_value states = tly_at(c, k->states, l.i, c->state_bytes);
    for (unsigned q = 0; q < small.parts; q++)
        y[q] = tly_load_state(c, states, q * part, c->lanes, c->acc_bytes);
    scan_lanes(&small, lane_at(k, at, l.i), sub(c, left, l.i), from, y);
    kir_for_end(c->b, &l, NULL);
}

void tly_tiles_scan(tly_tiles *k, tly_row at, kir_value count)
{
    tly_build *c = k->c;
    kir_value y[MAX_PARTS], zero = imm(c, 0), block = imm(c, k->parts * c->lanes);
    kir_loop lane;
    kir_for(c->b, &lane, zero, count, block, 0, NULL);
    tly_row here = lane_at(k, at, lane.i);
    kir_value left = sub(c, count, lane.i);
    for (unsigned q = 0; q < k->parts; q++)
        y[q] = tly_start(c, c->vec);
    if (tly_tiles_scan_bytes(k) > 0)
        scan_large(k, here, left, y);
    else
        scan_lanes(k, here, left, zero, y);
    kir_for_end(c->b, &lane, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scans along a middle axis, past the cache: a few outer slices side by side, a line of each in
 * turn, so that memory is read and written in several streams, downwards where the axis goes
 * downwards (columns.c has figures). Each slice has its own states and is
 * scanned in serial order, so the bits are the same as when slices come one after another. Slices
 * that are not whole aligned lines are left to the template (tly_scan_slices).
 */
#include "../../codegen/plan/limits.h"
#include "../template.h"

enum {
    LINE = 64,
    MAX_SLICES = TLY_MOST_SLICES,
    MAX_VECTORS = LINE / TLY_LEAST_LANES,
    AHEAD = 2048 /* bytes of input fetched ahead; rows are no shorter */
};

typedef struct slices {
    tly_build *c;
    unsigned count;
    unsigned vectors;                 /* of a line of output */
    kir_value lanes;                  /* of a row */
    kir_value sums;                   /* the slices' rows of states, one after another */
    kir_value in_axis;                /* bytes from an axis step to the next */
    kir_value way;                    /* 1, or -1: lanes go from the last to the first */
    kir_value each[TLY_TENSOR_COUNT]; /* from a slice to the next */
} slices;

/* One axis step of a slice. */
typedef struct step {
    const slices *k;
    const tly_row *first; /* of the first slice */
    unsigned slice;
} step;

static kir_value address_in_step(tly_build *c, const tly_place *at, int tensor)
{
    const step *s = at->of;
    kir_value slice = mul(c, s->k->each[tensor], imm(c, s->slice));
    kir_value lane = add(c, at->lane, imm(c, at->more_lanes));
    return tly_at(c, ptradd(c, s->first->at[tensor], slice), lane, c->bytes[tensor]);
}

/* Fetches input AHEAD bytes behind the n lanes that were taken; at a row's end, from the next axis
 * step. */
static void prefetch(slices *k, const kir_value *from, kir_value n)
{
    tly_build *c = k->c;
    int64_t bytes = (int64_t)k->vectors * c->lanes * c->bytes[TLY_IN];
    kir_value row = mul(c, k->lanes, mul(c, k->way, imm(c, c->bytes[TLY_IN])));
    kir_value ahead = mul(c, k->way, imm(c, AHEAD));
    kir_value within = less(c, n, sub(c, k->lanes, imm(c, AHEAD / c->bytes[TLY_IN])));
    kir_value on = choose(c, within, ahead, add(c, ahead, sub(c, k->in_axis, row)));
    for (unsigned s = 0; s < k->count; s++)
        for (int64_t byte = 0; byte < bytes; byte += LINE)
            kir_prefetch(c->b, ptradd(c, from[s], on), byte);
}

/* One line of each slice at an axis step, behind n lanes. All loads come before all stores. */
static void do_lines(slices *k, tly_row row, kir_value axis_step, kir_value n)
{
    tly_build *c = k->c;
    kir_value line = imm(c, (int64_t)k->vectors * c->lanes);
    kir_value j = tly_in_order(c, n, imm(c, 0), k->lanes, line);
    kir_value x[MAX_SLICES][MAX_VECTORS], y[MAX_SLICES][MAX_VECTORS];
    kir_value from[MAX_SLICES], sums[MAX_SLICES],
        to = tly_at(c, row.at[TLY_OUT], j, c->bytes[TLY_OUT]);
    for (unsigned s = 0; s < k->count; s++) {
        from[s] = s > 0 ? ptradd(c, from[s - 1], k->each[TLY_IN])
                        : tly_at(c, row.at[TLY_IN], j, c->bytes[TLY_IN]);
        sums[s] = tly_states_at(c, k->sums, add(c, j, mul(c, k->lanes, imm(c, s))));
        for (unsigned i = 0; i < k->vectors; i++) {
            int64_t lane = (int64_t)i * c->lanes;
            x[s][i] = tly_load_vector(c, ptradd(c, from[s], imm(c, lane * c->bytes[TLY_IN])));
            y[s][i] = tly_states_load(c, sums[s], lane, c->lanes);
        }
    }
    prefetch(k, from, n);
    for (unsigned s = 0; s < k->count; s++) {
        const step here = { k, &row, s };
        for (unsigned i = 0; i < k->vectors; i++) {
            int64_t lane = (int64_t)i * c->lanes;
            const tly_place place = { address_in_step, &here, .position = axis_step, .lane = j,
                                      .more_lanes = lane };
            kir_value element = tly_element(c, &place, x[s][i]);
            kir_value next = tly_advance(c, &place, y[s][i], element);
            x[s][i] = tly_show(c, &place, tly_shown(c, element, y[s][i], next));
            tly_states_store(c, sums[s], lane, next);
        }
        unsigned whole = tly_pack_run(c, x[s], k->vectors, 0);
        tly_store_run(c, to, x[s], whole, KIR_STREAM);
        to = ptradd(c, to, k->each[TLY_OUT]);
    }
}

/* Starts or ends the slices' states; of all slices at once where no state lies in a tensor. */
static void each_slice(slices *k, tly_row at, kir_value all,
                       void (*of)(tly_build *c, const tly_row *row, kir_value states,
                                  kir_value count))
{
    tly_build *c = k->c;
    if (!c->p->carry) {
        of(c, &at, k->sums, all);
        return;
    }
    for (unsigned s = 0; s < k->count; s++) {
        tly_row row = at;
        for (int t = 0; t < c->tensors; t++)
            row.at[t] = ptradd(c, at.at[t], mul(c, k->each[t], imm(c, s)));
        of(c, &row, tly_states_at(c, k->sums, mul(c, k->lanes, imm(c, s))), k->lanes);
    }
}

/* All axis steps of the slices, the first of which is at `at`. */
static void scan(slices *k, tly_row at)
{
    tly_build *c = k->c;
    kir_value zero = imm(c, 0), all = mul(c, k->lanes, imm(c, k->count));
    tly_region l = { 0 }, lane = { 0 };
    each_slice(k, at, all, tly_start_states);
    emit_for(c, &l, zero, arg(c, KIR_ARG_LENGTH), imm(c, 1));
    tly_row row = tly_row_move(c, &at, l.i, tly_axis);
    emit_for(c, &lane, zero, k->lanes, imm(c, (int64_t)k->vectors * c->lanes));
    do_lines(k, row, l.i, lane.i);
    emit_end(c, &lane);
    emit_end(c, &l);
    if (c->p->carry)
        each_slice(k, at, all, tly_end_states);
}

/* i1: rows of all slices are whole aligned lines that go past the cache, and slices are evenly
 * apart. */
static kir_value serves(slices *k)
{
    tly_build *c = k->c;
    kir_value bytes = mul(c, k->lanes, imm(c, c->bytes[TLY_OUT]));
    kir_value where = bor(c, kir_addr(c->b, arg(c, KIR_ARG_OUT)), bytes);
    where = bor(c, where, tly_axis(c, TLY_OUT));
    where = bor(c, where, k->each[TLY_OUT]);
    kir_value lined = equal(c, band(c, where, imm(c, LINE - 1)), imm(c, 0));
    kir_value one_dim = less(c, arg(c, KIR_ARG_OUTER_RANK), imm(c, 2));
    kir_value wide = less(c, imm(c, AHEAD / c->bytes[TLY_IN] - 1), k->lanes);
    kir_value good = band(c, lined, band(c, one_dim, wide));
    return band(c, tly_streams(c), good);
}

kir_value tly_scan_slices(tly_build *c, kir_value first, kir_value end, kir_value scratch)
{
    slices k = { .c = c, .count = (unsigned)c->plan->slices, .vectors = tly_line(c) / c->lanes };
    if (k.count < 2)
        return first;
    k.lanes = arg(c, KIR_ARG_INNER);
    k.in_axis = tly_axis(c, TLY_IN);
    k.way = tly_axis_sign(c);
    for (int t = 0; t < c->tensors; t++)
        k.each[t] = kir_get_at(c->b, TLY_ARG(OUTER_IN, t), imm(c, 0));
    k.sums = tly_states_row(c, scratch, imm(c, 0), mul(c, k.lanes, imm(c, k.count)));
    kir_value whole = tly_round_down(c, sub(c, end, first), k.count);
    kir_value left = add(c, first, choose(c, serves(&k), whole, imm(c, 0)));
    tly_region l = { 0 };
    emit_for(c, &l, first, left, imm(c, k.count));
    scan(&k, tly_row_address(c, l.i));
    emit_end(c, &l);
    return left;
}

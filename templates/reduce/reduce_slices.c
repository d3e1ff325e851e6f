/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Outer slices of few steps: each output by the plain loop, with its state in a register. Lanes
 * fill vectors, and the last vector of a tile begins where it ends with the tile, so that some
 * results are made twice. Of fewer lanes than a vector has, those of several slices that lie one
 * behind the other make a vector, if vectors can be loaded in part.
 */
#include "reduce_float.h"

/* Vectors; bytes of input that are fetched ahead. f32 of 9x100, 10x40, of a read past the cache, by
 * 4 and 8 vectors .51, .61 and .57, .70; 300x7, 4, 8, 16 KiB ahead .48, .64, .73 (Zen 5). */
enum { SIDE_BY_SIDE = 8, AHEAD = 16384 };

typedef struct slices {
    tly_reduce *r;
    const tly_reduce_form *form; /* of tiles with sums that may stray */
    kir_value length;
} slices;

static int is_checked(const slices *k)
{
    return k->r->checks_sums || k->r->checks_squares;
}

/* The tile of an output by the form. */
static void make_again(slices *k, kir_value output)
{
    tly_reduce *r = k->r;
    const tly_row row = k->form->begin(r, output);
    const tly_reduce_span all = tly_reduce_all(r->c, &row);
    k->form->finish(r, &row, k->form->make(r, &all, k->form->scratch(r, imm(r->c, 0))));
}

/* The state with the elements x of a step. */
static kir_value taken(slices *k, kir_value state, kir_value x, tly_place at, kir_value step)
{
    if (k->r->indexed)
        at.index = tly_reduce_indices(k->r, step, type_of(k->r->c, x).lanes, 0);
    return tly_combine(k->r->c, state, tly_element(k->r->c, &at, x));
}

/* ---- lanes of one slice ---- */

/* The lines that a vector of lanes lies in further on: of the input, and of operands that lie so,
 * too. */
static void fetch_ahead(const slices *k, const tly_row *step, kir_value lane)
{
    tly_build *c = k->r->c;
    for (int t = TLY_IN; t < tly_operands_end(c->p); t = tly_next_read(t))
        if (t == TLY_IN || c->p->tensor[t].step == 1)
            kir_prefetch(c->b, ptradd(c, step->at[t], mul(c, lane, tly_step(c, t))), AHEAD);
}

/* Makes n vectors of results, each of so many lanes, from lane `lane` of a row on. i1: some may
 * stray. */
static kir_value make(slices *k, const tly_row *row, kir_value lane, unsigned n, unsigned lanes)
{
    tly_build *c = k->r->c;
    kir_value state[SIDE_BY_SIDE], strays = i1(c, 0), by = tly_step(c, TLY_IN);
    tly_region l = { 0 };
    emit_carry(&l, n, state);
    for (unsigned v = 0; v < n; v++)
        state[v] = tly_neutral(c, KIR_TYPE(c->acc.kind, lanes));
    emit_for(c, &l, imm(c, 0), k->length, imm(c, 1));
    const tly_row step = tly_read_move(c, row, l.i, tly_axis);
    for (unsigned v = 0; v < n; v++) {
        kir_value first = add(c, lane, imm(c, v * lanes));
        const tly_place at = tly_reduce_place(&step, 0, first);
        kir_value p = ptradd(c, step.at[TLY_IN], mul(c, first, by));
        state[v] = taken(k, state[v], tly_reduce_load(k->r, &at, p, 0, lanes), at, l.i);
        fetch_ahead(k, &step, first);
    }
    emit_end(c, &l);
    for (unsigned v = 0; v < n; v++) {
        kir_value from = add(c, lane, imm(c, v * lanes));
        const tly_place at = tly_place_in(row, 0, from);
        tly_reduce_store(k->r, row->at[TLY_OUT], from, tly_reduce_result(k->r, &at, state[v], 0));
        if (is_checked(k))
            strays = bor(c, strays, any(c, tly_reduce_may_stray(k->r, state[v])));
    }
    return strays;
}

/* Lanes [from, to), so many at a time. */
static kir_value make_lanes(slices *k, const tly_row *row, kir_value from, kir_value to, unsigned n,
                            unsigned lanes, kir_value strays)
{
    tly_build *c = k->r->c;
    tly_region l = { .state = { &strays } };
    emit_for(c, &l, from, to, imm(c, n * lanes));
    strays = bor(c, strays, make(k, row, l.i, n, lanes));
    emit_end(c, &l);
    return strays;
}

static void make_tile(slices *k, kir_value output)
{
    tly_build *c = k->r->c;
    kir_value blocks = arg(c, KIR_ARG_BLOCKS), tile = imm(c, c->plan->tile_lanes);
    kir_value number = udiv(c, output, blocks), strays = i1(c, 0);
    kir_value first = mul(c, sub(c, output, mul(c, number, blocks)), tile);
    kir_value count = tly_min(c, tile, sub(c, arg(c, KIR_ARG_INNER), first));
    tly_row row;
    for (int t = TLY_IN; t < c->tensors; t++) {
        kir_value apart = kir_get_at(c->b, TLY_ARG(OUTER_IN, t), imm(c, 0));
        row.at[t] = ptradd(c, arg(c, TLY_ARG(IN, t)), mul(c, number, apart));
    }
    row = tly_row_move(c, &row, first, tly_step);
    kir_value whole = imm(c, 0);
    for (unsigned n = SIDE_BY_SIDE; n > 0; n /= 2) {
        kir_value from = whole;
        whole = tly_round_down(c, count, n * c->lanes);
        strays = make_lanes(k, &row, from, whole, n, c->lanes, strays);
    }
    tly_region rest = { .state = { &strays } }, again = { 0 };
    if (c->lanes > 1) {
        kir_value last = sub(c, count, imm(c, c->lanes));
        emit_if(c, &rest, less(c, whole, count));
        tly_region fits = rest;
        emit_if(c, &fits, less(c, last, imm(c, 0))); /* the tile has too few lanes */
        strays = make_lanes(k, &row, imm(c, 0), count, 1, 1, strays);
        emit_else(c, &fits);
        strays = bor(c, strays, make(k, &row, last, 1, c->lanes));
        emit_end(c, &fits);
        emit_end(c, &rest);
    }
    if (!is_checked(k))
        return;
    emit_if(c, &again, strays);
    make_again(k, output);
    emit_end(c, &again);
}

/* ---- few lanes, of several slices ---- */

/* A step of `n` slices, the first at p: loaded from the last one on, each with the lanes before it,
 * which the next load replaces. */
static kir_value load_merged(slices *k, kir_value p, unsigned n)
{
    tly_build *c = k->r->c;
    const unsigned few = c->p->reduced.slices;
    const kir_type t = tly_storage((tally_dtype)c->p->tensor[TLY_IN].dtype, c->lanes);
    kir_value apart = kir_get_at(c->b, KIR_ARG_OUTER_IN, imm(c, 0)), x = constant(c, t, 0);
    for (unsigned s = n; s-- > 0;) {
        const int64_t before = (int64_t)s * few * c->bytes[TLY_IN];
        kir_value from = ptradd(c, p, mul(c, apart, imm(c, s)));
        x = kir_mload(c->b, t, from, -before, imm(c, (s + 1) * few), x);
    }
    return x;
}

/* Slices [from, to), n at a time. */
static void make_merged(slices *k, kir_value from, kir_value to, unsigned n)
{
    tly_build *c = k->r->c;
    const unsigned few = c->p->reduced.slices;
    const tly_place at = tly_reduce_place(NULL, 0, 0);
    kir_value apart = kir_get_at(c->b, KIR_ARG_OUTER_IN, imm(c, 0)), state = 0;
    kir_value out_apart = kir_get_at(c->b, KIR_ARG_OUTER_OUT, imm(c, 0));
    kir_value filled = imm(c, n * few);
    tly_region each = { 0 }, l = { .state = { &state } }, again = { 0 }, one = { 0 };
    emit_for(c, &each, from, to, imm(c, n));
    kir_value first = ptradd(c, arg(c, KIR_ARG_IN), mul(c, each.i, apart));
    state = tly_neutral(c, c->vec);
    emit_for(c, &l, imm(c, 0), k->length, imm(c, 1));
    kir_value p = ptradd(c, first, mul(c, l.i, tly_axis(c, TLY_IN)));
    kir_value x = tly_reduce_loaded(k->r, &at, load_merged(k, p, n));
    state = taken(k, state, x, at, l.i);
    kir_prefetch(c->b, ptradd(c, first, mul(c, l.i, imm(c, n * few * c->bytes[TLY_IN]))), AHEAD);
    emit_end(c, &l);
    kir_value out = ptradd(c, arg(c, KIR_ARG_OUT), mul(c, each.i, out_apart));
    kir_mstore(c->b, out, 0, filled, tly_reduce_result(k->r, &at, state, 0));
    if (is_checked(k)) {
        kir_value strays = tly_reduce_may_stray(k->r, state);
        emit_if(c, &again, any(c, band(c, strays, tly_lanes_below(c, filled))));
        emit_for(c, &one, each.i, add(c, each.i, imm(c, n)), imm(c, 1));
        make_again(k, one.i);
        emit_end(c, &one);
        emit_end(c, &again);
    }
    emit_end(c, &each);
}

void tly_reduce_slices(tly_reduce *r, const tly_reduce_form *f)
{
    tly_build *c = r->c;
    slices k = { r, f, arg(c, KIR_ARG_LENGTH) };
    kir_value begin = arg(c, KIR_ARG_BEGIN), end = arg(c, KIR_ARG_TASK_END);
    tly_region l = { 0 };
    const unsigned few = c->p->reduced.slices; /* a tile has all, unless the plan is forced */
    if (tly_merges_slices(c->p, c->t) && few < c->lanes && (int)few <= c->plan->tile_lanes) {
        const unsigned n = c->lanes / few;
        kir_value count = sub(c, end, begin), many = imm(c, n);
        kir_value middle = add(c, begin, mul(c, udiv(c, count, many), many));
        make_merged(&k, begin, middle, n);
        make_merged(&k, middle, end, 1);
        return;
    }
    emit_for(c, &l, begin, end, imm(c, 1));
    make_tile(&k, l.i);
    emit_end(c, &l);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reductions of outputs that lie side by side. The states of a tile's lanes are in scratch. Several
 * rows of input pass at once, so states are loaded and stored once for all of them. Where the order
 * is the plain loop's, each lane takes its elements one after another. Otherwise the rows of a pass
 * are combined in a tree first, and chunks are joined as those of rows: this is faster and, for
 * long sums, more exact. A sum that overflowed is then made once more in multiples of 2^64, and a
 * sum of squares that left the range once more of scaled elements.
 */
#include "reduce_float.h"

enum { MAX_STEPS = TLY_REDUCE_MOST_STEPS };

typedef struct lanes {
    tly_reduce r;     /* first: what tly_reduce_form's functions are given */
    int serial;       /* the plain loop */
    kir_value states; /* scratch, of tiles, a plane a part */
    kir_value room;   /* lanes that a tile has room for: whole vectors */
    kir_value count;  /* lanes */
    kir_value whole; /* those that fill vectors; the rest go one by one, or as a part of a vector */
} lanes;

/* A loop over lanes [0, whole) by vectors, and over the rest by scalars. */
typedef void (*lane_body)(lanes *k, kir_value lane, unsigned n, void *user);

static void each_lane(lanes *k, lane_body body, void *user)
{
    tly_build *c = k->r.c;
    tly_region l = { 0 }, rest = { 0 };
    if (c->lanes > 1) {
        emit_for(c, &l, imm(c, 0), k->whole, imm(c, c->lanes));
        body(k, l.i, c->lanes, user);
        emit_end(c, &l);
    }
    emit_for(c, &rest, k->whole, k->count, imm(c, 1));
    body(k, rest.i, 1, user);
    emit_end(c, &rest);
}

/* The states of a tile, from lane 0 on. */
static kir_value states_at(lanes *k, kir_value p)
{
    return tly_states_row(k->r.c, p, imm(k->r.c, 0), k->room);
}

/* ---- all of a tile's states, a vector at a time; the last may be more than there are ---- */

static void clear(lanes *k, kir_value states)
{
    tly_build *c = k->r.c;
    kir_value row = states_at(k, states);
    tly_region l = { 0 };
    emit_for(c, &l, imm(c, 0), k->count, imm(c, c->lanes));
    tly_states_store(c, tly_states_at(c, row, l.i), 0, tly_neutral(c, c->vec));
    emit_end(c, &l);
}

kir_value tly_reduce_may_stray(tly_reduce *r, kir_value sums)
{
    return r->checks_squares ? tly_reduce_suspects(r->c, sums)
                             : tly_not(r->c, tly_reduce_finite(r->c, sums));
}

/* i1: there are such. */
static kir_value is_lost(lanes *k, kir_value states)
{
    tly_build *c = k->r.c;
    kir_value row = states_at(k, states), lost = i1(c, 0);
    tly_region l = { .state = { &lost } };
    emit_for(c, &l, imm(c, 0), k->count, imm(c, c->lanes));
    kir_value v = tly_states_load(c, tly_states_at(c, row, l.i), 0, c->lanes);
    lost = bor(c, lost, any(c, tly_reduce_may_stray(&k->r, v)));
    emit_end(c, &l);
    return lost;
}

/* Makes each state at `to` of one at x and one at y. */
static void each_pair(lanes *k, kir_value x, kir_value y, kir_value to,
                      kir_value (*f)(tly_build *c, kir_value x, kir_value y))
{
    tly_build *c = k->r.c;
    kir_value row[3] = { states_at(k, x), states_at(k, y), states_at(k, to) };
    tly_region l = { 0 };
    emit_for(c, &l, imm(c, 0), k->count, imm(c, c->lanes));
    kir_value v[2];
    for (int i = 0; i < 2; i++)
        v[i] = tly_states_load(c, tly_states_at(c, row[i], l.i), 0, c->lanes);
    tly_states_store(c, tly_states_at(c, row[2], l.i), 0, f(c, v[0], v[1]));
    emit_end(c, &l);
}

/* ---- elements to states ---- */

/* Rows of input that pass at once. */
typedef struct rows {
    kir_value states;      /* a tile's, from lane 0 on */
    tly_row at[MAX_STEPS]; /* lane 0 of each */
    kir_value index;       /* of the first */
    unsigned count;
    int serial;       /* one after the other */
    kir_value scaled; /* elements are scaled as these states demand, as there; 0: they are not */
} rows;

/* Elements of sums that left the range: in multiples of 2^64, or as their squares demand. */
static kir_value scaled(lanes *k, kir_value x, kir_value state)
{
    tly_build *c = k->r.c;
    return k->r.checks_squares ? mul(c, x, tly_reduce_square_scale(c, state))
                               : tly_reduce_scale_down(c, x);
}

/* Takes n lanes, or, if `some` is not 0, the first `some` of a vector. The other lanes are
 * zeros, and their results are never read. */
static void pass(lanes *k, kir_value lane, unsigned n, kir_value some, const rows *in)
{
    tly_build *c = k->r.c;
    kir_value skipped = mul(c, lane, tly_step(c, TLY_IN)), x[MAX_STEPS];
    tly_place scratch[MAX_STEPS];
    kir_value at = tly_states_at(c, in->states, lane), state = tly_states_load(c, at, 0, n);
    kir_value by = in->scaled ? tly_states_load(c, tly_states_at(c, in->scaled, lane), 0, n) : 0;
    for (unsigned i = 0; i < in->count; i++) {
        kir_value from = ptradd(c, in->at[i].at[TLY_IN], skipped);
        const tly_place here = tly_reduce_place(&in->at[i], 0, lane);
        x[i] = some ? tly_reduce_load_some(&k->r, &here, from, some, n)
                    : tly_reduce_load(&k->r, &here, from, 0, n);
        scratch[i] = tly_reduce_place(some ? NULL : &in->at[i], 0, lane);
        if (k->r.indexed)
            scratch[i].index = tly_reduce_indices(&k->r, add(c, in->index, imm(c, i)), n, 0);
        if (by)
            x[i] = scaled(k, x[i], by);
        if (in->serial)
            state = tly_combine(c, state, tly_element(c, &scratch[i], x[i]));
    }
    if (!in->serial)
        state = tly_take(c, state, x, scratch, in->count);
    tly_states_store(c, at, 0, state);
}

static void pass_lanes(lanes *k, kir_value lane, unsigned n, void *user)
{
    pass(k, lane, n, 0, user);
}

/* All lanes. Those that fill no vector are loaded as a part of one where the target can do that. */
static void pass_all(lanes *k, rows *some)
{
    tly_build *c = k->r.c;
    if (c->lanes == 1 || !tly_is_masked(c->p, c->t)) {
        each_lane(k, pass_lanes, some);
        return;
    }
    tly_region l = { 0 }, rest = { 0 };
    emit_for(c, &l, imm(c, 0), k->whole, imm(c, c->lanes));
    pass(k, l.i, c->lanes, 0, some);
    emit_end(c, &l);
    emit_if(c, &rest, less(c, k->whole, k->count));
    pass(k, k->whole, c->lanes, sub(c, k->count, k->whole), some);
    emit_else(c, &rest);
    emit_end(c, &rest);
}

/* Elements [from, to) of a step by so many rows. */
static void pass_rows(lanes *k, rows some, const tly_row *in, kir_value index, kir_value from,
                      kir_value to)
{
    tly_build *c = k->r.c;
    tly_region l = { 0 };
    for (int t = TLY_IN; t < c->tensors; t = tly_next_read(t)) /* read before the loop, not in it */
        tly_axis(c, t);
    emit_for(c, &l, from, to, imm(c, some.count));
    some.index = add(c, index, l.i);
    for (unsigned i = 0; i < some.count; i++)
        some.at[i] = tly_read_move(c, i > 0 ? &some.at[i - 1] : in, i > 0 ? imm(c, 1) : l.i,
                                   tly_axis);
    pass_all(k, &some);
    emit_end(c, &l);
}

/* The states of a span, so many rows at once; `by` unless 0: of elements that are scaled as those
 * states demand. */
static void walk(lanes *k, const tly_reduce_span *s, kir_value states, unsigned together,
                 kir_value by)
{
    tly_build *c = k->r.c;
    rows some = { .states = states_at(k, states),
                  .count = together,
                  .serial = k->serial,
                  .scaled = by ? states_at(k, by) : 0 };
    kir_value axis = sub(c, s->to, s->from);
    kir_value middle = add(c, s->from, tly_round_down(c, axis, together));
    tly_region l = { 0 };
    clear(k, states);
    emit_for(c, &l, s->begin, s->end, imm(c, 1));
    const tly_row step = tly_reduce_step(c, &s->at, l.i);
    kir_value index = tly_reduce_index(c, l.i);
    pass_rows(k, some, &step, index, s->from, middle);
    some.count = 1;
    if (together > 1)
        pass_rows(k, some, &step, index, middle, s->to);
    emit_end(c, &l);
}

/* ---- states are addresses ---- */

static kir_value scratch(tly_reduce *r, kir_value which)
{
    lanes *k = (lanes *)r;
    return tly_at(r->c, k->states, mul(r->c, which, k->room), r->c->state_bytes);
}

static kir_value none(tly_reduce *r)
{
    return ((lanes *)r)->states;
}

static tly_row begin(tly_reduce *r, kir_value output)
{
    lanes *k = (lanes *)r;
    tly_build *c = r->c;
    kir_value blocks = arg(c, KIR_ARG_BLOCKS), tile = imm(c, c->plan->tile_lanes);
    kir_value row = udiv(c, output, blocks);
    kir_value from = mul(c, sub(c, output, mul(c, row, blocks)), tile);
    tly_row at = tly_reduce_row(c, row);
    at = tly_row_move(c, &at, from, tly_step);
    k->states = tly_congruent(c, arg(c, KIR_ARG_SCRATCH), at.at[TLY_IN]);
    k->count = tly_min(c, tile, sub(c, arg(c, KIR_ARG_INNER), from));
    k->whole = c->lanes > 1 ? tly_round_down(c, k->count, c->lanes) : imm(c, 0);
    return at;
}

/* Sums of squares for another thread, which cannot see this thread's flags. If nothing
 * underflowed, a sum of 0 is right, and becomes -0 to say so. -0 changes no sum. */
static void mark_zeros(lanes *k, kir_value states)
{
    tly_build *c = k->r.c;
    kir_value total = equal(c, arg(c, KIR_ARG_MODE), imm(c, TLY_MODE_TOTAL));
    tly_region marks = { 0 }, l = { 0 };
    emit_if(c, &marks, total);
    kir_value right = tly_not(c, tly_reduce_raised(c, kir_flags(c->b), KIR_UNDERFLOWED));
    right = kir_splat(c->b, right, c->lanes);
    kir_value row = states_at(k, states), none = tly_neutral(c, c->vec);
    emit_for(c, &l, imm(c, 0), k->count, imm(c, c->lanes));
    kir_value at = tly_states_at(c, row, l.i), sum = tly_states_load(c, at, 0, c->lanes);
    kir_value zero = oeq(c, sum, constant(c, c->vec, 0));
    sum = choose(c, band(c, zero, right), none, sum);
    tly_states_store(c, at, 0, sum);
    emit_end(c, &l);
    emit_end(c, &marks);
}

static kir_value make(tly_reduce *r, const tly_reduce_span *s, kir_value at)
{
    lanes *k = (lanes *)r;
    walk(k, s, at, (unsigned)r->c->plan->pass_steps, 0);
    if (r->checks_squares)
        mark_zeros(k, at);
    return at;
}

static kir_value join(tly_reduce *r, kir_value x, kir_value y, kir_value at)
{
    each_pair((lanes *)r, x, y, at, tly_combine);
    return at;
}

/* ---- results ---- */

typedef struct results {
    const tly_row *row;
    kir_value states;
    kir_value scaled; /* the same of scaled elements; 0: there are none */
} results;

/* Without the sign of a 0 that is right. */
static kir_value unmarked(lanes *k, kir_value sum)
{
    tly_build *c = k->r.c;
    kir_value zero = constant(c, type_of(c, sum), 0);
    return k->r.checks_squares ? choose(c, oeq(c, sum, zero), zero, sum) : sum;
}

static void finish_lane(lanes *k, kir_value lane, unsigned n, void *user)
{
    tly_build *c = k->r.c;
    const results *to = user;
    kir_value state = tly_states_load(c, tly_states_at(c, to->states, lane), 0, n), unit = 0;
    if (to->scaled) {
        kir_value again = tly_states_load(c, tly_states_at(c, to->scaled, lane), 0, n);
        kir_value bad = tly_reduce_may_stray(&k->r, state);
        kir_value by = k->r.checks_squares ? tly_reduce_unit(c, state)
                                           : tly_reduce_scale_up(c, real_one(c, n));
        state = choose(c, bad, again, state);
        unit = choose(c, bad, by, real_one(c, n));
    }
    const tly_place at = tly_place_in(to->row, 0, lane);
    tly_reduce_store(&k->r, to->row->at[TLY_OUT], lane,
                     tly_reduce_result(&k->r, &at, unmarked(k, state), unit));
}

/* i1: some sum is not finite, and something overflowed here or may have in another thread. Sums are
 * then added once more; one that is infinite or NaN even so is that in every order. */
static kir_value sums_stray(lanes *k, kir_value state)
{
    tly_build *c = k->r.c;
    kir_value lost = is_lost(k, state), mode = arg(c, KIR_ARG_MODE);
    kir_value elsewhere = equal(c, mode, imm(c, TLY_MODE_COMBINE));
    elsewhere = band(c, lost, elsewhere);
    return bor(c, tly_reduce_overflowed(c, lost), elsewhere);
}

/* i1: the same of sums of squares. A zero is right if its sign or this thread's flags say so. */
static kir_value squares_stray(lanes *k, kir_value state)
{
    tly_build *c = k->r.c;
    kir_value elsewhere = equal(c, arg(c, KIR_ARG_MODE), imm(c, TLY_MODE_COMBINE));
    kir_value row = states_at(k, state), strays = i1(c, 0);
    tly_region some = { .state = { &strays } }, l = some;
    emit_if(c, &some, is_lost(k, state));
    kir_value met = kir_flags(c->b), over = tly_reduce_raised(c, met, KIR_OVERFLOWED);
    kir_value under = tly_reduce_raised(c, met, KIR_UNDERFLOWED);
    over = kir_splat(c->b, bor(c, elsewhere, over), c->lanes);
    under = kir_splat(c->b, bor(c, elsewhere, under), c->lanes);
    emit_for(c, &l, imm(c, 0), k->count, imm(c, c->lanes));
    kir_value sum = tly_states_load(c, tly_states_at(c, row, l.i), 0, c->lanes);
    kir_value open = band(c, under, tly_reduce_is_plus(c, sum));
    strays = bor(c, strays, any(c, tly_reduce_wrong_squares(c, sum, open, over)));
    emit_end(c, &l);
    emit_end(c, &some);
    return strays;
}

/* Sums of more elements than states hold. */
static void finish_long(lanes *k, const tly_reduce_span *all, const tly_row *row)
{
    tly_build *c = k->r.c;
    tly_region l = { 0 };
    emit_for(c, &l, imm(c, 0), k->count, imm(c, 1));
    tly_reduce_span one = *all;
    one.at = tly_read_move(c, &all->at, l.i, tly_step);
    const tly_place at = tly_place_in(row, 0, l.i);
    kir_value whole = tly_reduce_whole_serial(&k->r, &one, tly_axis);
    tly_reduce_store(&k->r, row->at[TLY_OUT], l.i, tly_reduce_result_of_whole(&k->r, &at, whole));
    emit_end(c, &l);
}

static void finish(tly_reduce *r, const tly_row *row, kir_value state)
{
    lanes *k = (lanes *)r;
    tly_build *c = r->c;
    const tly_reduce_span all = tly_reduce_all(c, row);
    results to = { row, states_at(k, state), 0 };
    tly_region rare = { 0 };
    if (!r->checks_sums && !r->checks_squares && !r->exact) {
        each_lane(k, finish_lane, &to);
        return;
    }
    emit_if(c, &rare,
            r->exact            ? tly_reduce_is_beyond(r)
            : r->checks_squares ? squares_stray(k, state)
                                : sums_stray(k, state));
    if (r->exact) {
        finish_long(k, &all, row);
    } else {
        kir_value again = scratch(r, imm(c, 2));
        walk(k, &all, again, 1, state);
        to.scaled = states_at(k, again);
        each_lane(k, finish_lane, &to);
        to.scaled = 0;
    }
    emit_else(c, &rare);
    each_lane(k, finish_lane, &to);
    emit_end(c, &rare);
}

void tly_build_reduce_lanes(tly_build *c, tly_launch *launch)
{
    lanes k = { .r = tly_reduce_begin(c), .serial = tly_reduces_plainly(c->p) };
    kir_value most = tly_min(c, arg(c, KIR_ARG_INNER), imm(c, c->plan->tile_lanes));
    k.room = tly_round_up(c, most, TLY_RECORD_LANES);
    launch->tile_lanes = c->plan->tile_lanes;
    launch->chunk = c->plan->chunk;
    launch->record_bytes = c->state_bytes;
    launch->scratch_bytes = TLY_CONGRUENT_BYTES + 3 * TLY_RECORD_LANES * launch->record_bytes;
    launch->scratch_lane_bytes = 3 * c->state_bytes;
    const tly_reduce_form form = {
        mul(c, k.room, imm(c, c->state_bytes)), begin, none, scratch, make, join, NULL, NULL, finish
    };
    if (tly_has_slices(c->p))
        tly_reduce_slices(&k.r, &form);
    else
        tly_reduce_outputs(&k.r, &form);
    kir_return(c->b, imm(c, 0));
}

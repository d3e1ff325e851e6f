/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reductions of a few packed outputs side by side, whose steps lie one behind the other; and, step
 * by step, long products of more outputs. Several steps (plan->steps_at_once) make one row of
 * lanes, each with a state in scratch, so vectors are full however few the outputs are. At the end
 * of a chunk the states of an output are joined in a fixed tree, and chunks are joined as those of
 * rows.
 *
 * A sum that overflowed in a chunk is made once more in multiples of 2^64. Products are short plain
 * chains, joined as mantissas and exponents (reduce_products.c); long ones also have distances from
 * 1 (reduce_drift_lanes.c).
 */
#include "reduce_interleaved.h"

static kir_value no_state(tly_reduce *r, unsigned lanes)
{
    return tly_reduce_neutral(r->c, lanes);
}

/* The states of outputs as chunks hand them on; there is room for whole vectors. */
static tly_interleaved_states records_at(const tly_interleaved *s, kir_value p)
{
    return (tly_interleaved_states){ p, s->room, tly_reduce_none };
}

/* ---- one state an output ---- */

typedef struct joining {
    const tly_interleaved_states *x, *y, *to;
    kir_value offset; /* of y's lanes */
    kir_value (*join)(tly_reduce *r, kir_value x, kir_value y);
} joining;

static void join_lanes(tly_interleaved *s, kir_value lane, unsigned n, void *user)
{
    const joining *p = user;
    kir_value x = tly_interleaved_load(s, p->x, lane, n),
              y = tly_interleaved_load(s, p->y, add(s->r.c, lane, p->offset), n);
    tly_interleaved_store(s, p->to, lane, p->join(&s->r, x, y));
}

static kir_value combine(tly_reduce *r, kir_value x, kir_value y)
{
    return tly_combine(r->c, x, y);
}

/* Joins the upper half of the steps with the lower one until one step is left. */
static void fold(tly_interleaved *s, const tly_interleaved_states *of)
{
    tly_build *c = s->r.c;
    kir_value half = tly_part(c, s->lanes, 2);
    int64_t levels = 0;
    while (1 << levels < c->plan->steps_at_once)
        levels++;
    tly_region l = { .state = { &half } };
    emit_for(c, &l, imm(c, 0), imm(c, levels), imm(c, 1));
    joining p = { of, of, of, half,
                  s->drifts              ? tly_reduce_lanes_join
                  : s->r.checks_products ? tly_reduce_join_records
                                         : combine };
    tly_interleaved_each(s, half, 0, join_lanes, &p);
    half = tly_part(c, half, 2);
    emit_end(c, &l);
}

static kir_value vectors_of(tly_interleaved *s)
{
    return tly_round_up(s->r.c, s->outputs, s->r.c->lanes);
}

/* One output's elements of a span, one by one, each lifted so that no partial sum leaves the range
 * needlessly. */
static kir_value scaled(tly_interleaved *s, const tly_reduce_span *span, const tly_row *in,
                        kir_value (*lift)(tly_reduce *r, kir_value x, const tly_place *at),
                        kir_value sum)
{
    tly_build *c = s->r.c;
    kir_value one = imm(c, 1);
    tly_region step = { .state = { &sum } }, l = step;
    emit_for(c, &step, span->begin, span->end, one);
    const tly_row first = tly_reduce_step(c, in, step.i);
    emit_for(c, &l, span->from, span->to, one);
    const tly_row p = tly_read_move(c, &first, l.i, tly_axis);
    const tly_place at = tly_reduce_place(&p, 0, 0);
    kir_value x = tly_reduce_load(&s->r, &at, p.at[TLY_IN], 0, 1);
    sum = tly_reduce_add(c, sum, lift(&s->r, x, &at));
    emit_end(c, &l);
    emit_end(c, &step);
    return sum;
}

/* If something overflowed, makes the sums that are not finite once more. Infinities and NaNs among
 * the elements give the same result in every order. */
static void redo_sums(tly_interleaved *s, const tly_reduce_span *span,
                      const tly_interleaved_states *to)
{
    tly_build *c = s->r.c;
    tly_region overflowed = { 0 }, again = { 0 }, l = { 0 };
    emit_if(c, &overflowed, tly_reduce_raised(c, kir_flags(c->b), KIR_OVERFLOWED));
    emit_for(c, &l, imm(c, 0), s->outputs, imm(c, 1));
    kir_value sum = part(c, tly_interleaved_load(s, to, l.i, 1), 0), zero = constant(c, c->acc, 0);
    emit_if(c, &again, tly_not(c, tly_reduce_finite(c, sum)));
    const tly_row in = tly_read_move(c, &span->at, l.i, tly_lane);
    sum = tly_reduce_parts_of(c, scaled(s, span, &in, tly_reduce_lift_scaled, pair(c, zero, zero)));
    tly_interleaved_store(s, to, l.i, sum);
    emit_end(c, &again);
    emit_end(c, &l);
    emit_end(c, &overflowed);
}

/* i1: some sum of squares may be wrong, or what lies behind the last one looks so. */
static kir_value has_suspects(tly_interleaved *s, const tly_interleaved_states *of)
{
    tly_build *c = s->r.c;
    kir_value some = i1(c, 0);
    tly_region l = { .state = { &some } };
    emit_for(c, &l, imm(c, 0), vectors_of(s), imm(c, c->lanes));
    kir_value sum = part(c, tly_interleaved_load(s, of, l.i, c->lanes), 0);
    some = bor(c, some, any(c, tly_reduce_suspects(c, sum)));
    emit_end(c, &l);
    return some;
}

/* Makes the sums of squares once more that left the range, or whose squares may have. */
static void redo_squares(tly_interleaved *s, const tly_reduce_span *span,
                         const tly_interleaved_states *to)
{
    tly_build *c = s->r.c;
    tly_region some = { 0 }, stray = { 0 }, l = { 0 };
    emit_if(c, &some, has_suspects(s, to));
    kir_value met = kir_flags(c->b), under = tly_reduce_raised(c, met, KIR_UNDERFLOWED);
    kir_value over = tly_reduce_raised(c, met, KIR_OVERFLOWED);
    emit_for(c, &l, imm(c, 0), s->outputs, imm(c, 1));
    kir_value sum = part(c, tly_interleaved_load(s, to, l.i, 1), 0), zero = constant(c, c->acc, 0);
    emit_if(c, &stray, tly_reduce_wrong_squares(c, sum, under, over));
    s->r.stretch = tly_reduce_square_scale(c, sum);
    const tly_row in = tly_read_move(c, &span->at, l.i, tly_lane);
    kir_value again = scaled(s, span, &in, tly_reduce_lift_stretched, zero);
    tly_interleaved_store(s, to, l.i, pair(c, sum, again));
    emit_end(c, &stray);
    emit_end(c, &l);
    emit_end(c, &some);
}

/* What is loaded from here on comes after what was done before. */
static tly_row kept(tly_interleaved *s, const tly_reduce_span *span)
{
    tly_row at = span->at;
    at.at[TLY_IN] = kir_keep(s->r.c->b, at.at[TLY_IN]);
    return at;
}

/* Products by chains, and if one of these left the range, element by element. */
static void walk_products(tly_interleaved *s, const tly_reduce_span *span)
{
    tly_build *c = s->r.c;
    tly_region again = { 0 };
    tly_interleaved_walk(s, span, kept(s, span), 0);
    emit_if(c, &again, tly_reduce_raised(c, kir_flags(c->b), KIR_OVERFLOWED | KIR_UNDERFLOWED));
    tly_interleaved_walk(s, span, kept(s, span), 1);
    emit_end(c, &again);
}

/* ---- a chunk, as reduce.h's form ---- */

static kir_value scratch(tly_reduce *r, kir_value which)
{
    tly_interleaved *s = (tly_interleaved *)r;
    return tly_at(r->c, s->scratch, mul(r->c, which, s->room), tly_reduce_record_bytes(r));
}

static kir_value none(tly_reduce *r)
{
    return ((tly_interleaved *)r)->scratch;
}

static void hand_on(tly_interleaved *s, kir_value lane, unsigned n, void *user)
{
    tly_build *c = s->r.c;
    kir_value v = tly_interleaved_load(s, s->r.checks_products ? &s->closed : &s->running, lane, n);
    if (s->drifts)
        v = tly_reduce_lanes_product(c, v);
    if (s->r.checks_sums) {
        kir_value beside = part(c, tly_reduce_none(&s->r, n), 1);
        v = pair(c, v, beside);
    }
    if (s->r.checks_squares)
        v = pair(c, v, v);
    tly_interleaved_store(s, user, lane, v);
}

static void walk(tly_interleaved *s, const tly_reduce_span *span, tly_interleaved_states *to)
{
    tly_reduce *r = &s->r;
    if (r->checks_products)
        walk_products(s, span);
    else
        tly_interleaved_walk(s, span, tly_reduce_hands_on(r) ? kept(s, span) : span->at, 0);
    if (r->c->plan->steps_at_once > 1)
        fold(s, r->checks_products ? &s->closed : &s->running);
    tly_interleaved_each(s, vectors_of(s), 1, hand_on, to);
}

static void walk_by_distances(tly_interleaved *s, const tly_reduce_span *span,
                              tly_interleaved_states *to)
{
    tly_interleaved near = *s;
    near.drifts = 1;
    near.running.neutral = tly_reduce_lanes_chain;
    near.closed.neutral = near.split.neutral = tly_reduce_lanes_none;
    walk(&near, span, to);
}

/* i1: distances are worth their cost. At 1,024 columns, past the cache, they took 1.13 to 1.24
 * of the time without, at 128 .99 to 1.07 (Zen 4). */
static kir_value distances_pay(tly_build *c)
{
    enum { MOST_LANES = 512 };
    kir_value few = less(c, arg(c, KIR_ARG_INNER), imm(c, MOST_LANES + 1));
    return band(c, few, tly_reduce_drift_pays(c));
}

static kir_value make(tly_reduce *r, const tly_reduce_span *span, kir_value at)
{
    tly_interleaved *s = (tly_interleaved *)r;
    tly_build *c = r->c;
    tly_interleaved_states to = records_at(s, at);
    tly_region many = { 0 };
    if (tly_reduce_hands_on(r))
        kir_clear_flags(c->b);
    if (tly_reduce_may_drift(r)) {
        emit_if(c, &many, distances_pay(c));
        walk_by_distances(s, span, &to);
        emit_else(c, &many);
    }
    walk(s, span, &to);
    if (tly_reduce_may_drift(r))
        emit_end(c, &many);
    if (r->checks_sums)
        redo_sums(s, span, &to);
    if (r->checks_squares)
        redo_squares(s, span, &to);
    return at;
}

static kir_value join(tly_reduce *r, kir_value x, kir_value y, kir_value at)
{
    tly_interleaved *s = (tly_interleaved *)r;
    const tly_interleaved_states of[3] = { records_at(s, x), records_at(s, y), records_at(s, at) };
    joining p = { &of[0], &of[1], &of[2], imm(r->c, 0), tly_reduce_join_records };
    tly_interleaved_each(s, vectors_of(s), 1, join_lanes, &p);
    return at;
}

/* ---- results ---- */

typedef struct results {
    tly_interleaved_states from;
    const tly_row *row;
    tly_reduce_span all;
} results;

static void finish_lane(tly_interleaved *s, kir_value lane, unsigned n, void *user)
{
    tly_build *c = s->r.c;
    const results *to = user;
    kir_value y = tly_interleaved_load(s, &to->from, lane, n);
    const tly_place at = tly_place_in(to->row, 0, lane);
    tly_reduce_span all = to->all;
    all.at = tly_read_move(c, &all.at, lane, tly_lane);
    y = tly_reduce_finish(&s->r, &all, &at, tly_axis, y);
    tly_reduce_store(&s->r, to->row->at[TLY_OUT], lane, y);
}

/* Sums of more elements than states hold. */
static void finish_long(tly_interleaved *s, const results *to)
{
    tly_build *c = s->r.c;
    tly_region l = { 0 };
    emit_for(c, &l, imm(c, 0), s->outputs, imm(c, 1));
    tly_reduce_span all = to->all;
    all.at = tly_read_move(c, &all.at, l.i, tly_lane);
    const tly_place at = tly_place_in(to->row, 0, l.i);
    kir_value whole = tly_reduce_whole_serial(&s->r, &all, tly_axis);
    whole = tly_reduce_result_of_whole(&s->r, &at, whole);
    tly_reduce_store(&s->r, to->row->at[TLY_OUT], l.i, whole);
    emit_end(c, &l);
}

/* Products one by one, as each may be the plain loop's. */
static void finish(tly_reduce *r, const tly_row *row, kir_value state)
{
    tly_interleaved *s = (tly_interleaved *)r;
    tly_build *c = r->c;
    results to = { records_at(s, state), row, tly_reduce_all(c, row) };
    tly_region beyond = { 0 }, l = { 0 };
    if (r->checks_products) {
        emit_for(c, &l, imm(c, 0), s->outputs, imm(c, 1));
        finish_lane(s, l.i, 1, &to);
        emit_end(c, &l);
        return;
    }
    if (r->exact) {
        emit_if(c, &beyond, tly_reduce_is_beyond(r));
        finish_long(s, &to);
        emit_else(c, &beyond);
    }
    tly_interleaved_each(s, s->outputs, 0, finish_lane, &to);
    if (r->exact)
        emit_end(c, &beyond);
}

/* ---- the kernel ---- */

/* Planes of chains and distances begin where the input does, modulo a page: a load waits for an
 * earlier store whose address has the same low 12 bits. */
static int64_t lanes_of_plane(const tly_reduce *r, int64_t most)
{
    const int64_t page = TLY_CONGRUENT_BYTES / r->c->acc_bytes;
    return tly_reduce_may_drift(r) ? (most + page - 1) / page * page : most;
}

void tly_build_reduce_interleaved(tly_build *c, tly_launch *launch)
{
    tly_interleaved s = { .r = tly_reduce_begin(c), .outputs = arg(c, KIR_ARG_INNER) };
    s.ragged = c->p->reduced.way == TLY_REDUCED_LONG;
    const int64_t units = s.ragged ? TLY_REDUCED_LONG_LANES : TLY_REDUCED_FEW_LANES;
    const int64_t bytes = tly_reduce_record_bytes(&s.r), record = units * bytes;
    const int64_t most = lanes_of_plane(&s.r,
                                        (int64_t)c->plan->steps_at_once * units + TLY_MOST_LANES);
    const int64_t beside = tly_reduce_may_drift(&s.r) ? c->acc_bytes : 0; /* a distance */
    launch->tile_lanes = (int32_t)units;
    launch->chunk = c->plan->chunk;
    launch->record_bytes = bytes;
    launch->scratch_bytes = TLY_CONGRUENT_BYTES + 3 * record +
                            most * (c->state_bytes + 2 * bytes + 3 * beside + 8);
    s.lanes = mul(c, s.outputs, imm(c, c->plan->steps_at_once));
    s.room = s.ragged ? tly_round_up(c, s.outputs, TLY_RECORD_LANES) : imm(c, units);
    s.scratch = arg(c, KIR_ARG_SCRATCH);
    s.steps = ptradd(c, s.scratch, imm(c, 3 * record));
    kir_value all = ptradd(c, s.steps, imm(c, s.r.indexed ? 8 * most : 0));
    if (s.r.indexed)
        tly_interleaved_number(&s);
    const kir_value room = imm(c, most);
    s.running = (tly_interleaved_states){ tly_congruent(c, all, arg(c, KIR_ARG_IN)), room,
                                          no_state };
    kir_value behind = ptradd(c, s.running.p, imm(c, most * (c->state_bytes + beside)));
    s.closed = (tly_interleaved_states){ behind, room, tly_reduce_none };
    s.split = s.closed;
    s.split.p = ptradd(c, s.closed.p, imm(c, most * (bytes + beside)));
    const tly_reduce_form form = {
        mul(c, s.room, imm(c, bytes)), NULL, none, scratch, make, join, NULL, NULL, finish
    };
    tly_reduce_outputs(&s.r, &form);
    kir_return(c->b, imm(c, 0));
}

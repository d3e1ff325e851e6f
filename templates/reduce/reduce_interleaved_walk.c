/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reductions of a few outputs side by side: a chunk's elements to the states of all lanes
 * (reduce_interleaved.h).
 */
#include "reduce_interleaved.h"

enum { MAX_STEPS = TLY_REDUCE_MOST_STEPS };

/* ---- states ---- */

static kir_value plane_bytes(const tly_interleaved *s, const tly_interleaved_states *to)
{
    unsigned widest = tly_reduce_hands_on(&s->r) ? s->r.c->acc_bytes : tly_part_bytes(s->r.c->p);
    return mul(s->r.c, to->lanes, imm(s->r.c, widest));
}

static kir_value part_at(tly_interleaved *s, const tly_interleaved_states *to, unsigned part,
                         kir_type t, kir_value lane)
{
    kir_value before = mul(s->r.c, imm(s->r.c, part), plane_bytes(s, to));
    kir_value plane = part > 0 ? ptradd(s->r.c, to->p, before) : to->p;
    return tly_at(s->r.c, plane, lane, kir_kind_bits((kir_kind)t.kind) / 8);
}

kir_value tly_interleaved_load(tly_interleaved *s, const tly_interleaved_states *from,
                               kir_value lane, unsigned n)
{
    tly_build *c = s->r.c;
    kir_value like = from->neutral(&s->r, n), v[KIR_MAX_PARTS];
    unsigned parts = kir_parts(c->b, like);
    for (unsigned i = 0; i < parts; i++) {
        kir_type t = type_of(c, part(c, like, i));
        v[i] = kir_load(c->b, t, part_at(s, from, i, t, lane), 0,
                        kir_kind_bits((kir_kind)t.kind) / 8);
    }
    return kir_tuple(c->b, parts, v);
}

void tly_interleaved_store(tly_interleaved *s, const tly_interleaved_states *to, kir_value lane,
                           kir_value v)
{
    tly_build *c = s->r.c;
    for (unsigned i = 0; i < kir_parts(c->b, v); i++) {
        kir_value one = part(c, v, i);
        kir_type t = type_of(c, one);
        kir_store(c->b, part_at(s, to, i, t, lane), 0, one, kir_kind_bits((kir_kind)t.kind) / 8, 0);
    }
}

void tly_interleaved_each(tly_interleaved *s, kir_value count, int whole, tly_interleaved_body body,
                          void *user)
{
    tly_build *c = s->r.c;
    kir_value vectors = whole ? count : tly_round_down(c, count, c->lanes);
    tly_region l = { 0 }, rest = { 0 };
    emit_for(c, &l, imm(c, 0), vectors, imm(c, c->lanes));
    body(s, l.i, c->lanes, user);
    emit_end(c, &l);
    if (whole || c->lanes == 1)
        return;
    emit_for(c, &rest, vectors, count, imm(c, 1));
    body(s, rest.i, 1, user);
    emit_end(c, &rest);
}

static void clear(tly_interleaved *s, kir_value lane, unsigned n, void *user)
{
    const tly_interleaved_states *to = user;
    tly_interleaved_store(s, to, lane, to->neutral(&s->r, n));
}

/* ---- the way through the elements ---- */

/* Rows of `wide` elements that pass at once. */
typedef struct rows {
    tly_row at[MAX_STEPS]; /* lane 0 of each */
    kir_value index;       /* of the first */
    unsigned count;
    int split; /* of products, each element by itself */
} rows;

static unsigned index_bytes(const tly_interleaved *s)
{
    return (unsigned)tally_dtype_bytes(tly_index_dtype(s->r.c->p));
}

static kir_value indices(tly_interleaved *s, kir_value first, kir_value lane, unsigned n)
{
    tly_build *c = s->r.c;
    if (!s->r.indexed)
        return 0;
    kir_value at = tly_at(c, s->steps, lane, index_bytes(s));
    kir_value number = kir_load(c->b, tly_storage(tly_index_dtype(c->p), n), at, 0, 1);
    return add(c, number, tly_reduce_indices(&s->r, first, n, 0));
}

/* Multiplies elements in the order in which split elements go, so that a lane's bits do not depend
 * on whether another lane left the range. */
static kir_value multiply(tly_interleaved *s, const rows *in, kir_value state, const kir_value *x)
{
    tly_build *c = s->r.c;
    for (unsigned i = 0; i < in->count; i++)
        state = s->drifts   ? tly_reduce_lanes_take(c, state, x[i], in->split)
                : in->split ? tly_reduce_join(c, state, tly_reduce_split(c, x[i]))
                            : tly_combine(c, state, x[i]);
    return state;
}

static void pass(tly_interleaved *s, kir_value lane, unsigned n, void *user)
{
    tly_build *c = s->r.c;
    const rows *in = user;
    const tly_interleaved_states *states = in->split ? &s->split : &s->running;
    kir_value state = tly_interleaved_load(s, states, lane, n), x[MAX_STEPS];
    tly_place at[MAX_STEPS];
    for (unsigned i = 0; i < in->count; i++) {
        at[i] = tly_reduce_place(&in->at[i], 0, lane);
        kir_value p = tly_at(c, in->at[i].at[TLY_IN], lane, c->bytes[TLY_IN]);
        x[i] = tly_reduce_load(&s->r, &at[i], p, 0, n);
        kir_value first = add(c, in->index, imm(c, (int64_t)i * c->plan->steps_at_once));
        at[i].index = indices(s, first, lane, n);
    }
    state = s->r.checks_products ? multiply(s, in, state, x) : tly_take(c, state, x, at, in->count);
    tly_interleaved_store(s, states, lane, state);
}

/* The elements of a step, from address `in` on; the first has the index `index`. */
typedef struct elements {
    tly_row in;
    kir_value index, count, full; /* elements of all lanes; rows that they fill */
} elements;

static tly_row moved(tly_build *c, const tly_row *at, kir_value by, const kir_value *bytes)
{
    tly_row to = *at;
    for (int t = TLY_IN; t < c->tensors; t = tly_next_read(t))
        to.at[t] = ptradd(c, at->at[t], mul(c, by, bytes[t]));
    return to;
}

/* Takes rows [from, to). The row behind the full ones has the elements that are left. */
static void pass_rows(tly_interleaved *s, const elements *e, kir_value from, kir_value to,
                      int split)
{
    tly_build *c = s->r.c;
    rows some = { .count = (unsigned)c->plan->pass_steps }, last = { .count = 1, .split = split };
    kir_value steps = imm(c, c->plan->steps_at_once), bytes[TLY_TENSOR_COUNT] = { 0 };
    for (int t = TLY_IN; t < c->tensors; t = tly_next_read(t))
        bytes[t] = mul(c, tly_axis(c, t), steps);
    kir_value full = sub(c, tly_min(c, to, e->full), from);
    kir_value whole = split ? from : add(c, from, tly_round_down(c, full, some.count));
    tly_region l = { 0 }, rest = { 0 };
    if (!split) {
        emit_for(c, &l, from, whole, imm(c, some.count));
        some.index = add(c, e->index, mul(c, l.i, steps));
        some.at[0] = moved(c, &e->in, l.i, bytes);
        for (unsigned i = 1; i < some.count; i++)
            some.at[i] = moved(c, &some.at[i - 1], imm(c, 1), bytes);
        tly_interleaved_each(s, s->lanes, !s->ragged, pass, &some);
        emit_end(c, &l);
    }
    emit_for(c, &rest, whole, to, imm(c, 1));
    last.index = add(c, e->index, mul(c, rest.i, steps));
    last.at[0] = moved(c, &e->in, rest.i, bytes);
    kir_value left = sub(c, e->count, mul(c, rest.i, s->lanes));
    tly_interleaved_each(s, tly_min(c, s->lanes, left), 0, pass, &last);
    emit_end(c, &rest);
}

/* Closes the chains: they are multiplied into the products of all chains, and begin anew. */
static void close(tly_interleaved *s, kir_value lane, unsigned n, void *user)
{
    tly_build *c = s->r.c;
    tly_interleaved_states *of = user;
    kir_value y = tly_interleaved_load(s, of, lane, n),
              all = tly_interleaved_load(s, &s->closed, lane, n);
    if (s->drifts)
        y = tly_reduce_lanes_close(c, all, y, of == &s->split);
    else
        y = tly_reduce_join(c, all, of == &s->split ? y : tly_reduce_split(c, y));
    tly_interleaved_store(s, &s->closed, lane, y);
    clear(s, lane, n, of);
}

void tly_interleaved_walk(tly_interleaved *s, const tly_reduce_span *span, tly_row in, int split)
{
    enum { CHAIN = 32, LONGER = 48 /* elements of a plain product; with distances */ };
    tly_build *c = s->r.c;
    tly_interleaved_states *states = split ? &s->split : &s->running;
    kir_value length = sub(c, span->to, span->from), zero = imm(c, 0), one = imm(c, 1);
    kir_value chain = imm(c, s->drifts ? LONGER : CHAIN);
    elements e = { .count = mul(c, length, s->outputs) };
    tly_region step = { 0 }, l = { 0 };
    e.full = tly_part(c, length, (unsigned)c->plan->steps_at_once);
    kir_value end = add(c, e.full, one);
    tly_interleaved_each(s, s->lanes, 1, clear, states);
    if (s->r.checks_products)
        tly_interleaved_each(s, s->lanes, 1, clear, &s->closed);
    emit_for(c, &step, span->begin, span->end, one);
    e.in = tly_reduce_step(c, &in, step.i);
    e.in = tly_read_move(c, &e.in, span->from, tly_axis);
    e.index = add(c, span->from, mul(c, step.i, arg(c, KIR_ARG_LENGTH)));
    if (s->r.checks_products) {
        emit_for(c, &l, zero, end, chain);
        pass_rows(s, &e, l.i, tly_min(c, add(c, l.i, chain), end), split);
        tly_interleaved_each(s, s->lanes, 1, close, states);
        emit_end(c, &l);
    } else {
        pass_rows(s, &e, zero, end, 0);
    }
    emit_end(c, &step);
}

void tly_interleaved_number(tly_interleaved *s)
{
    tly_build *c = s->r.c;
    kir_type t = tly_storage(tly_index_dtype(c->p), 1);
    kir_value zero = imm(c, 0), one = imm(c, 1);
    tly_region step = { 0 }, l = { 0 };
    emit_for(c, &step, zero, imm(c, c->plan->steps_at_once), one);
    kir_value number = t.kind == KIR_I64 ? step.i : convert(c, KIR_TRUNC, t, step.i);
    kir_value first = mul(c, step.i, s->outputs);
    emit_for(c, &l, first, add(c, first, s->outputs), one);
    kir_store(c->b, tly_at(c, s->steps, l.i, index_bytes(s)), 0, number, 1, 0);
    emit_end(c, &l);
    emit_end(c, &step);
}

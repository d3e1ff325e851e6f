/* SPDX-License-Identifier: Apache-2.0 */
/* A chunk's elements to states of many lanes; see reduce_stream.h. */
#include "reduce_stream.h"

enum { MAX_STEPS = TLY_REDUCE_MOST_STEPS };

/* ---- states ---- */

static kir_value plane_bytes(const tly_reduce_stream *s, const tly_states *to)
{
    unsigned widest = tly_reduce_hands_on(&s->r) ? s->r.c->acc_bytes : tly_part_bytes(s->r.c->p);
    return mul(s->r.c, to->lanes, imm(s->r.c, widest));
}

static kir_value part_at(tly_reduce_stream *s, const tly_states *to, unsigned part, kir_type t,
                         kir_value lane)
{
    kir_value before = mul(s->r.c, imm(s->r.c, part), plane_bytes(s, to));
    kir_value plane = part > 0 ? ptradd(s->r.c, to->p, before) : to->p;
    return tly_at(s->r.c, plane, lane, kir_kind_bits((kir_kind)t.kind) / 8);
}

kir_value tly_stream_load(tly_reduce_stream *s, const tly_states *from, kir_value lane, unsigned n)
{
    tly_build *c = s->r.c;
    kir_value like = from->neutral(&s->r, n), v[KIR_MAX_PARTS];
    unsigned parts = kir_parts(c->b, like);
    for (unsigned i = 0; i < parts; i++) {
        kir_type t = type_of(c, kir_part(c->b, like, i));
        v[i] = kir_load(c->b, t, part_at(s, from, i, t, lane), 0,
                        kir_kind_bits((kir_kind)t.kind) / 8);
    }
    return kir_tuple(c->b, parts, v);
}

void tly_stream_store(tly_reduce_stream *s, const tly_states *to, kir_value lane, kir_value v)
{
    tly_build *c = s->r.c;
    for (unsigned i = 0; i < kir_parts(c->b, v); i++) {
        kir_value part = kir_part(c->b, v, i);
        kir_type t = type_of(c, part);
        kir_store(c->b, part_at(s, to, i, t, lane), 0, part, kir_kind_bits((kir_kind)t.kind) / 8,
                  0);
    }
}

void tly_stream_each(tly_reduce_stream *s, kir_value count, int whole, tly_stream_body body,
                     void *user)
{
    tly_build *c = s->r.c;
    kir_value vectors = whole ? count : tly_round_down(c, count, c->lanes);
    kir_loop l;
    kir_for(c->b, &l, imm(c, 0), vectors, imm(c, c->lanes), 0, NULL);
    body(s, l.i, c->lanes, user);
    kir_for_end(c->b, &l, NULL);
    if (whole || c->lanes == 1)
        return;
    kir_for(c->b, &l, vectors, count, imm(c, 1), 0, NULL);
    body(s, l.i, 1, user);
    kir_for_end(c->b, &l, NULL);
}

static void clear(tly_reduce_stream *s, kir_value lane, unsigned n, void *user)
{
    const tly_states *to = user;
    tly_stream_store(s, to, lane, to->neutral(&s->r, n));
}

/* ---- the way through the elements ---- */

/* Rows of `wide` elements that pass at once. */
typedef struct rows {
    kir_value at[MAX_STEPS], index; /* lane 0 of each; of the first */
    unsigned count;
    int apart; /* of products, each element by itself */
} rows;

static unsigned index_bytes(const tly_reduce_stream *s)
{
    return (unsigned)tally_dtype_bytes(tly_index_dtype(s->r.c->p));
}

static kir_value indices(tly_reduce_stream *s, kir_value first, kir_value lane, unsigned n)
{
    tly_build *c = s->r.c;
    if (!s->r.indexed)
        return 0;
    kir_value at = tly_at(c, s->numbers, lane, index_bytes(s));
    kir_value number = kir_load(c->b, tly_storage(tly_index_dtype(c->p), n), at, 0, 1);
    return add(c, number, tly_reduce_indices(&s->r, first, n, 0));
}

/* Products in their order, which is that of elements taken apart: a lane's bits do not tell whether
 * another one's left the range. */
static kir_value multiply(tly_reduce_stream *s, const rows *in, kir_value state, const kir_value *x)
{
    for (unsigned i = 0; i < in->count; i++)
        state = s->drifts   ? tly_reduce_lanes_take(s->r.c, state, x[i], in->apart)
                : in->apart ? tly_reduce_join(s->r.c, state, tly_reduce_split(s->r.c, x[i]))
                            : tly_combine(s->r.c, state, x[i]);
    return state;
}

static void pass(tly_reduce_stream *s, kir_value lane, unsigned n, void *user)
{
    tly_build *c = s->r.c;
    const rows *in = user;
    const tly_states *states = in->apart ? &s->apart : &s->running;
    kir_value state = tly_stream_load(s, states, lane, n), x[MAX_STEPS], index[MAX_STEPS];
    for (unsigned i = 0; i < in->count; i++) {
        x[i] = tly_reduce_load(&s->r, tly_at(c, in->at[i], lane, c->bytes[TLY_IN]), 0, n);
        index[i] = indices(s, add(c, in->index, imm(c, (int64_t)i * c->plan->steps_at_once)), lane,
                           n);
    }
    state = s->r.watched ? multiply(s, in, state, x) : tly_take(c, state, x, index, in->count);
    tly_stream_store(s, states, lane, state);
}

/* A step's elements from `in` on; the first has index `index`. */
typedef struct stretch {
    kir_value in, index, count, full; /* elements of all lanes; rows that they fill */
} stretch;

/* Rows [from, to); the one behind those that are full has what is left. */
static void pass_rows(tly_reduce_stream *s, const stretch *e, kir_value from, kir_value to,
                      int apart)
{
    tly_build *c = s->r.c;
    rows some = { .count = (unsigned)c->plan->pass_steps }, last = { .count = 1, .apart = apart };
    kir_value steps = imm(c, c->plan->steps_at_once),
              bytes = mul(c, tly_axis(c, TLY_IN), steps);
    kir_value full = sub(c, tly_min(c, to, e->full), from);
    kir_value whole = apart ? from : add(c, from, tly_round_down(c, full, some.count));
    kir_loop l;
    if (!apart) {
        kir_for(c->b, &l, from, whole, imm(c, some.count), 0, NULL);
        some.index = add(c, e->index, mul(c, l.i, steps));
        some.at[0] = ptradd(c, e->in, mul(c, l.i, bytes));
        for (unsigned i = 1; i < some.count; i++)
            some.at[i] = ptradd(c, some.at[i - 1], bytes);
        tly_stream_each(s, s->wide, !s->ragged, pass, &some);
        kir_for_end(c->b, &l, NULL);
    }
    kir_for(c->b, &l, whole, to, imm(c, 1), 0, NULL);
    last.index = add(c, e->index, mul(c, l.i, steps));
    last.at[0] = ptradd(c, e->in, mul(c, l.i, bytes));
    tly_stream_each(s, tly_min(c, s->wide, sub(c, e->count, mul(c, l.i, s->wide))), 0, pass, &last);
    kir_for_end(c->b, &l, NULL);
}

/* Products so far become parts of those that nothing leaves, and begin anew. */
static void close(tly_reduce_stream *s, kir_value lane, unsigned n, void *user)
{
    tly_build *c = s->r.c;
    tly_states *of = user;
    kir_value y = tly_stream_load(s, of, lane, n), all = tly_stream_load(s, &s->closed, lane, n);
    if (s->drifts)
        y = tly_reduce_lanes_close(c, all, y, of == &s->apart);
    else
        y = tly_reduce_join(c, all, of == &s->apart ? y : tly_reduce_split(c, y));
    tly_stream_store(s, &s->closed, lane, y);
    clear(s, lane, n, of);
}

void tly_stream_walk(tly_reduce_stream *s, const tly_span *span, kir_value in, int apart)
{
    enum { CHAIN = 32, LONGER = 48 /* elements of a plain product; with distances */ };
    tly_build *c = s->r.c;
    tly_states *states = apart ? &s->apart : &s->running;
    kir_value length = sub(c, span->to, span->from), zero = imm(c, 0), one = imm(c, 1);
    kir_value skipped = mul(c, span->from, tly_axis(c, TLY_IN));
    kir_value chain = imm(c, s->drifts ? LONGER : CHAIN);
    stretch e = { .count = mul(c, length, s->unit) };
    kir_loop step, l;
    e.full = tly_part(c, length, (unsigned)c->plan->steps_at_once);
    kir_value end = add(c, e.full, one);
    tly_stream_each(s, s->wide, 1, clear, states);
    if (s->r.watched)
        tly_stream_each(s, s->wide, 1, clear, &s->closed);
    kir_for(c->b, &step, span->begin, span->end, one, 0, NULL);
    e.in = ptradd(c, tly_reduce_step(c, in, step.i), skipped);
    e.index = add(c, span->from, mul(c, step.i, arg(c, KIR_ARG_LENGTH)));
    if (s->r.watched) {
        kir_for(c->b, &l, zero, end, chain, 0, NULL);
        pass_rows(s, &e, l.i, tly_min(c, add(c, l.i, chain), end), apart);
        tly_stream_each(s, s->wide, 1, close, states);
        kir_for_end(c->b, &l, NULL);
    } else {
        pass_rows(s, &e, zero, end, 0);
    }
    kir_for_end(c->b, &step, NULL);
}

void tly_stream_number(tly_reduce_stream *s)
{
    tly_build *c = s->r.c;
    kir_type t = tly_storage(tly_index_dtype(c->p), 1);
    kir_value zero = imm(c, 0), one = imm(c, 1);
    kir_loop step, l;
    kir_for(c->b, &step, zero, imm(c, c->plan->steps_at_once), one, 0, NULL);
    kir_value number = t.kind == KIR_I64 ? step.i : convert(c, KIR_TRUNC, t, step.i);
    kir_value first = mul(c, step.i, s->unit);
    kir_for(c->b, &l, first, add(c, first, s->unit), one, 0, NULL);
    kir_store(c->b, tly_at(c, s->numbers, l.i, index_bytes(s)), 0, number, 1, 0);
    kir_for_end(c->b, &l, NULL);
    kir_for_end(c->b, &step, NULL);
}

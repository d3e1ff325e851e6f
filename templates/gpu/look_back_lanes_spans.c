/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scans and folds over the spans of a lane. Each invocation holds one span. They exchange values in
 * workgroup memory, in a logarithmic number of steps. Two sets of slots alternate, so that a step
 * needs one barrier. Shuffles do not help, because a lane's spans are far apart in the workgroup.
 */
#include "look_back_lanes.h"

enum { PAIR = 8 }; /* bytes: two extremes, or an excess */

/* ---- slots ---- */

static kir_value slot_of(tly_lanes *t, kir_value base, kir_value number, unsigned bytes)
{
    tly_gpu *g = t->g;
    tly_build *c = &g->c;
    unsigned half = (unsigned)g->plan->workgroup * bytes * t->turn;
    return ptradd(c, base, add(c, mul(c, number, u32(g, bytes)), u32(g, half)));
}

static void put(tly_lanes *t, kir_value state)
{
    tly_build *c = &t->g->c;
    tly_store_state(c, slot_of(t, t->slots, t->local, c->state_bytes), 0, state, c->acc_bytes);
}

static kir_value get(tly_lanes *t, kir_value number)
{
    tly_build *c = &t->g->c;
    return tly_load_window(c, slot_of(t, t->slots, number, c->state_bytes), 0, 1, c->acc_bytes);
}

static kir_value at_least(tly_lanes *t, unsigned span)
{
    return ule(&t->g->c, u32(t->g, span), t->span);
}

/* The invocation that holds the span `by` before this one; its own where there is none. */
static kir_value before_by(tly_lanes *t, unsigned by)
{
    tly_build *c = &t->g->c;
    kir_value other = sub(c, t->local, u32(t->g, by * t->lanes));
    return choose(c, at_least(t, by), other, t->local);
}

/* ---- what all spans of a lane come to ---- */

/* The excess goes where extremes go later. */
static kir_value excess_at(tly_lanes *t, kir_value number)
{
    return slot_of(t, t->words, number, PAIR);
}

static void put_excess(tly_lanes *t, kir_value excess)
{
    tly_build *c = &t->g->c;
    if (excess)
        kir_store(c->b, excess_at(t, t->local), 0, excess, c->acc_bytes, 0);
}

static kir_value get_excess(tly_lanes *t, kir_value number)
{
    tly_build *c = &t->g->c;
    return kir_load(c->b, c->acc, excess_at(t, number), 0, c->acc_bytes);
}

void tly_lanes_scan(tly_lanes *t, kir_value own, kir_value excess, kir_value *before,
                    kir_value *total)
{
    tly_gpu *g = t->g;
    tly_build *c = &g->c;
    for (unsigned by = 1; by < t->spans; by *= 2) {
        put(t, own);
        put_excess(t, excess);
        kir_barrier(c->b);
        kir_value with = tly_combine(c, get(t, before_by(t, by)), own);
        own = choose(c, at_least(t, by), with, own);
        if (excess) {
            with = tly_excess_join(c, get_excess(t, before_by(t, by)), excess);
            excess = choose(c, at_least(t, by), with, excess);
        }
        t->turn ^= 1;
    }
    if (excess)
        own = tly_excess_correct(c, excess, own);
    put(t, own);
    kir_barrier(c->b);
    kir_value last = add(c, t->lane, u32(g, (t->spans - 1) * t->lanes));
    *before = choose(c, at_least(t, 1), get(t, before_by(t, 1)), tly_neutral_window(c, c->acc));
    *total = get(t, last);
    t->turn ^= 1;
}

/* The span `by` before this one; before the first comes the last. */
static kir_value around_by(tly_lanes *t, unsigned by)
{
    tly_gpu *g = t->g;
    tly_build *c = &g->c;
    kir_value other = add(c, t->local, u32(g, (t->spans - by) * t->lanes));
    other = choose(c, at_least(t, by), before_by(t, by), other);
    return choose(c, t->works, other, t->local);
}

/* What is folded twice counts once. */
void tly_lanes_fold(tly_lanes *t, kir_value *v, unsigned count)
{
    tly_build *c = &t->g->c;
    kir_type i32 = KIR_TYPE(KIR_I32, 1);
    for (unsigned by = 1; by < t->spans; by *= 2) {
        kir_value own = slot_of(t, t->words, t->local, PAIR);
        kir_value other = slot_of(t, t->words, around_by(t, by), PAIR);
        for (unsigned k = 0; k < count; k++)
            kir_store(c->b, own, 4 * (int64_t)k, v[k], 4, 0);
        kir_barrier(c->b);
        for (unsigned k = 0; k < count; k++)
            v[k] = bin(c, tly_range_op(c, k), v[k], kir_load(c->b, i32, other, 4 * (int64_t)k, 4));
        t->turn ^= 1;
    }
}

kir_value tly_lanes_broadcast(tly_lanes *t, kir_value state)
{
    tly_build *c = &t->g->c;
    put(t, state);
    kir_barrier(c->b);
    kir_value slot = slot_of(t, t->slots, t->lane, c->state_bytes);
    t->turn ^= 1;
    return tly_load_state(c, slot, 0, 1, c->acc_bytes);
}

static kir_value kept_at(tly_lanes *t, kir_value base, kir_value number, unsigned bytes)
{
    tly_build *c = &t->g->c;
    kir_value at = add(c, mul(c, number, u32(t->g, t->lanes)), t->lane);
    return ptradd(c, base, mul(c, at, u32(t->g, bytes)));
}

void tly_lanes_keep(tly_lanes *t, kir_value number, kir_value v, kir_value mark)
{
    tly_build *c = &t->g->c;
    tly_store_state(c, kept_at(t, t->found, number, c->state_bytes), 0, v, c->acc_bytes);
    kir_store(c->b, kept_at(t, t->marks, number, 4), 0, mark, 4, 0);
}

kir_value tly_lanes_kept(tly_lanes *t, kir_value number, kir_value *mark)
{
    tly_build *c = &t->g->c;
    *mark = kir_load(c->b, KIR_TYPE(KIR_I32, 1), kept_at(t, t->marks, number, 4), 0, 4);
    return tly_load_window(c, kept_at(t, t->found, number, c->state_bytes), 0, 1, c->acc_bytes);
}

kir_value tly_lanes_any(tly_lanes *t, tly_vote vote, kir_value holds)
{
    tly_gpu *g = t->g;
    tly_build *c = &g->c;
    tly_region votes = { 0 };
    emit_if(c, &votes, holds);
    kir_store(c->b, t->flags, 4 * (int64_t)vote, u32(g, 1), 4, 0); /* whoever stores, stores this */
    emit_end(c, &votes);
    kir_barrier(c->b);
    kir_value some = kir_load(c->b, KIR_TYPE(KIR_I32, 1), t->flags, 4 * (int64_t)vote, 4);
    return differ(c, some, u32(g, 0));
}

/* ---- the plain loop ---- */

/* A lane's prefix stays in the slot of its first span. */
kir_value tly_lanes_walk(tly_lanes *t, const kir_value *x, kir_value carry, kir_value *after)
{
    tly_gpu *g = t->g;
    tly_build *c = &g->c;
    kir_value prefix = slot_of(t, t->slots, t->lane, c->state_bytes), before = carry;
    tly_region l = { .state = { &before } }, its = { .state = { &before } };
    put(t, carry);
    kir_barrier(c->b);
    emit_for(c, &l, u32(g, 0), u32(g, t->spans), u32(g, 1));
    emit_if(c, &its, band(c, t->works, equal(c, t->span, l.i)));
    before = tly_load_state(c, prefix, 0, 1, c->acc_bytes);
    kir_value next = before;
    for (unsigned i = 0; i < t->steps; i++)
        next = tly_combine(c, next, x[i]);
    tly_store_state(c, prefix, 0, next, c->acc_bytes);
    emit_end(c, &its);
    kir_barrier(c->b);
    emit_end(c, &l);
    *after = tly_load_state(c, prefix, 0, 1, c->acc_bytes);
    t->turn ^= 1;
    return before;
}

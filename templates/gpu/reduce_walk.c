/* SPDX-License-Identifier: Apache-2.0 */
/*
 * States of spans. One invocation takes a span's elements in their order. A group shares them out,
 * neighbours to neighbours, and folds its states by lanes, then by clusters. The order does not
 * depend on addresses: where vectors are not aligned, the same elements are loaded one by one.
 */
#include "reduce.h"

typedef struct walk {
    tly_gpu_reduce *r;
    const tly_gpu_rules *rules;
    const tly_gpu_span *span;
    int by_vectors;
    kir_value first;  /* this invocation's number of `sharers`, who take turns */
    unsigned sharers; /* 1: serial */
    int in_step;      /* 1: positions are those from one of a step on; 0: counted through steps */
    kir_value in[TLY_TENSOR_COUNT]; /* of in_step: the address of position 0 */
    kir_value before;               /* serial: elements of the steps before this one, else 0 */
} walk;

/* Accesses that are made before the first is used. */
static unsigned ahead(const walk *w)
{
    return w->rules->is_rare ? 1 : (unsigned)w->r->g->plan->vectors_per_thread;
}

/* Neighbours along the span that an access takes. */
static unsigned vector(const walk *w)
{
    return w->r->g->lanes > 1 || w->rules->is_rare ? 1 : (unsigned)w->r->g->plan->vector;
}

/* By vectors where the input is aligned, else by single elements. */
static int has_two_ways(const walk *w)
{
    const tly_gpu_plan *plan = w->r->g->plan;
    return plan->vector > 1 && plan->wide && !w->rules->is_rare;
}

static kir_value address(walk *w, int tensor, kir_value q)
{
    tly_gpu_reduce *r = w->r;
    tly_build *c = &r->g->c;
    if (w->in_step)
        return ptradd(c, w->in[tensor],
                      mul(c, tly_gpu_as_offset(r->g, q), w->span->row.tensor[tensor].step));
    kir_value position = add(c, w->span->from, q);
    kir_value up = udiv(c, position, r->length);
    kir_value rest = sub(c, position, mul(c, up, r->length));
    return tly_gpu_span_at(r, w->span, tensor, add(c, w->span->step, up), rest);
}

/* From an element of a step on. */
static void begin_in_step(walk *w, kir_value step, kir_value position)
{
    w->in_step = 1;
    for (int t = TLY_IN; t < w->r->g->c.tensors; t = tly_next_read(t))
        w->in[t] = tly_gpu_span_at(w->r, w->span, t, step, position);
}

/* The element of one of the outputs, `more_lanes`, at a position of the walk. */
static kir_value address_at(tly_build *c, const tly_place *at, int tensor)
{
    walk *w = (walk *)at->of;
    tly_gpu *g = w->r->g;
    kir_value p = address(w, tensor, add(c, at->position, u32(g, at->more_positions)));
    if (tensor < TLY_FIRST_OPERAND)
        return ptradd(c, p, tly_gpu_offset(g, at->more_lanes * c->bytes[tensor]));
    return ptradd(c, p,
                  mul(c, w->span->row.tensor[tensor].lane, tly_gpu_offset(g, at->more_lanes)));
}

/* The address of a position `after` one that is at `p`, but for *offset. */
static kir_value address_near(walk *w, kir_value p, kir_value q, unsigned after, int64_t *offset)
{
    if (w->in_step)
        return tly_gpu_near(w->r->g, &w->span->row, TLY_IN, p, after, offset);
    *offset = 0;
    return after > 0 ? address(w, TLY_IN, add(&w->r->g->c, q, u32(w->r->g, after))) : p;
}

/* `count` neighbours, by vectors as far as they fill them. */
static void load(walk *w, kir_value p, int64_t offset, kir_value *x, unsigned count)
{
    unsigned v = (unsigned)w->r->g->plan->vector, whole = w->by_vectors ? count / v * v : 0;
    if (whole > 0)
        tly_gpu_reduce_fetch(w->r, p, offset, x, whole, 1);
    offset += (int64_t)whole * w->r->g->c.bytes[TLY_IN];
    tly_gpu_reduce_fetch(w->r, p, offset, x + whole, count - whole, 0);
}

/* `count` accesses, by `size` positions each, the first at q. */
typedef struct trip {
    kir_value q;
    unsigned count, size;
} trip;

/* How far behind q a trip's i-th position is. */
static unsigned after(const walk *w, const trip *t, unsigned i)
{
    return i / t->size * t->size * w->sharers + i % t->size;
}

static void indices(walk *w, const trip *t, kir_value *index)
{
    tly_build *c = &w->r->g->c;
    kir_value first = 0;
    if (w->r->indexed) {
        first = tly_gpu_reduce_index(w->r, w->before ? add(c, w->before, t->q) : t->q);
        first = add(c, w->span->index, first);
    }
    for (unsigned i = 0; i < t->count * t->size; i++)
        index[i] = first ? add(c, first, like(c, first, after(w, t, i))) : 0;
}

/* The place of a trip's i-th element of an output (r->output). */
static tly_place place_of(walk *w, const trip *t, unsigned i, kir_value index)
{
    return (tly_place){ .address = address_at,
                        .of = w,
                        .position = t->q,
                        .more_positions = after(w, t, i),
                        .more_lanes = w->r->output,
                        .index = index };
}

/* The elements of an output at all positions of a trip. */
static kir_value take(walk *w, const trip *t, kir_value state, const kir_value *x,
                      const kir_value *index)
{
    tly_build *c = &w->r->g->c;
    const tly_gpu_rules *rules = w->rules;
    unsigned n = t->count * t->size;
    if (rules->take)
        return rules->take(w->r, state, x, index, n);
    for (unsigned i = 0; i < n; i++) {
        const tly_place at = place_of(w, t, i, index[i]);
        state = rules->combine(c, state, rules->lift(w->r, &at, x[i]));
    }
    return state;
}

static void fetch(walk *w, const trip *t, kir_value *x)
{
    unsigned each = t->size * w->r->g->lanes;
    kir_value p = address(w, TLY_IN, t->q);
    for (unsigned i = 0; i < t->count; i++) {
        int64_t offset;
        kir_value at = address_near(w, p, t->q, i * t->size * w->sharers, &offset);
        load(w, at, offset, x + i * each, each);
    }
}

static void consume(walk *w, const trip *t, const kir_value *x, kir_value *state)
{
    unsigned outputs = w->r->g->lanes, n = t->count * t->size;
    kir_value own[TLY_GPU_MOST_ELEMENTS], index[TLY_GPU_MOST_ELEMENTS];
    indices(w, t, index);
    for (unsigned k = 0; k < outputs; k++) {
        w->r->output = k;
        for (unsigned i = 0; i < n; i++) {
            const tly_place at = place_of(w, t, i, index[i]);
            own[i] = tly_gpu_reduce_accumulator(w->r, &at, x[i * outputs + k]);
        }
        state[k] = take(w, t, state[k], own, index);
    }
}

/* Positions from `from` on, below `to`. */
static void run(walk *w, kir_value from, kir_value to, unsigned count, unsigned size,
                kir_value *state)
{
    tly_gpu *g = w->r->g;
    tly_build *c = &g->c;
    tly_region l = { 0 };
    if (w->first)
        from = add(c, from, mul(c, w->first, u32(g, size)));
    emit_carry(&l, g->lanes, state);
    emit_for(c, &l, from, to, u32(g, (int64_t)count * size * w->sharers));
    const trip t = { l.i, count, size };
    kir_value x[TLY_GPU_MOST_ELEMENTS];
    fetch(w, &t, x);
    consume(w, &t, x, state);
    emit_end(c, &l);
}

/* A row of a length that the plan knows: no loop, and two ways of loading alone. */
static void at_once(walk *w, kir_value *state)
{
    tly_gpu *g = w->r->g;
    tly_build *c = &g->c;
    unsigned length = (unsigned)g->plan->length, v = (unsigned)g->plan->vector;
    kir_value x[TLY_GPU_MOST_ELEMENTS];
    tly_region aligned = { 0 };
    trip t = { u32(g, 0), 1, length };
    if (w->first)
        t = (trip){ mul(c, w->first, u32(g, v)), length / (v * w->sharers), v };
    else if (c->p->tensor[TLY_IN].step != 1)
        t = (trip){ t.q, length, 1 };
    if (has_two_ways(w)) {
        emit_carry(&aligned, t.count * t.size, x);
        emit_if(c, &aligned, tly_gpu_flag(g, TLY_GPU_ALIGNED));
        w->by_vectors = 1;
        fetch(w, &t, x);
        emit_else(c, &aligned);
        w->by_vectors = 0;
        fetch(w, &t, x);
        emit_end(c, &aligned);
    } else {
        fetch(w, &t, x);
    }
    consume(w, &t, x, state);
}

static int is_at_once(const walk *w)
{
    return w->r->g->plan->length > 0 && !w->rules->is_rare;
}

/* Positions [0, count): whole trips, then single accesses, then single elements. */
static void along(walk *w, kir_value count, kir_value *state)
{
    tly_gpu *g = w->r->g;
    tly_build *c = &g->c;
    unsigned n = ahead(w), v = vector(w);
    kir_value done = u32(g, 0);
    if (is_at_once(w)) {
        at_once(w, state);
        return;
    }
    if (n > 1) {
        kir_value whole = band(c, count, u32(g, -(int64_t)(n * v * w->sharers)));
        run(w, done, whole, n, v, state);
        done = whole;
    }
    if (v > 1) {
        kir_value whole = band(c, count, u32(g, -(int64_t)v));
        run(w, done, whole, 1, v, state);
        done = whole;
    }
    run(w, done, count, 1, 1, state);
}

/* One invocation, step by step. */
static void serial(walk *w, kir_value *state)
{
    tly_gpu_reduce *r = w->r;
    tly_gpu *g = r->g;
    tly_build *c = &g->c;
    const tly_gpu_span *s = w->span;
    tly_region l = { 0 };
    if (r->rank == 0) { /* one step, or of no elements none */
        begin_in_step(w, s->step, s->from);
        along(w, mul(c, s->steps, s->part), state);
        return;
    }
    emit_carry(&l, g->lanes, state);
    emit_for(c, &l, u32(g, 0), s->steps, u32(g, 1));
    begin_in_step(w, add(c, s->step, l.i), s->from);
    w->before = r->indexed ? mul(c, l.i, r->length) : 0;
    along(w, s->part, state);
    emit_end(c, &l);
}

/* One of a group, through all steps at once. */
static void shared(walk *w, kir_value *state)
{
    const tly_gpu_span *s = w->span;
    if (w->r->rank == 0)
        begin_in_step(w, s->step, s->from);
    along(w, mul(&w->r->g->c, s->steps, s->part), state);
}

/* From the neutral states; by vectors where they are aligned. */
static void go(walk *w, void (*way)(walk *w, kir_value *state), kir_value *state)
{
    tly_gpu *g = w->r->g;
    tly_build *c = &g->c;
    tly_region aligned = { 0 };
    for (unsigned k = 0; k < g->lanes; k++)
        state[k] = w->rules->neutral(c);
    if (!has_two_ways(w) || is_at_once(w)) {
        way(w, state);
        return;
    }
    emit_carry(&aligned, g->lanes, state);
    emit_if(c, &aligned, tly_gpu_flag(g, TLY_GPU_ALIGNED));
    w->by_vectors = 1;
    way(w, state);
    emit_else(c, &aligned);
    w->by_vectors = 0;
    way(w, state);
    emit_end(c, &aligned);
}

void tly_gpu_reduce_serial(tly_gpu_reduce *r, const tly_gpu_rules *rules, const tly_gpu_span *s,
                           kir_value *state)
{
    walk w = { .r = r, .rules = rules, .span = s, .sharers = 1 };
    go(&w, serial, state);
}

unsigned tly_gpu_group_size(const tly_group *t)
{
    return t->width * t->clusters;
}

kir_value tly_gpu_group_member(tly_gpu_reduce *r, const tly_group *t)
{
    tly_build *c = &r->g->c;
    return add(c, mul(c, t->cluster, u32(r->g, t->width)), t->lane);
}

void tly_gpu_reduce_spread(tly_gpu_reduce *r, const tly_gpu_rules *rules, const tly_gpu_span *s,
                           const tly_group *t, kir_value *state)
{
    walk w = { .r = r,
               .rules = rules,
               .span = s,
               .first = tly_gpu_group_member(r, t),
               .sharers = tly_gpu_group_size(t) };
    go(&w, shared, state);
}

/* ---- folds ---- */

static kir_value from_lane(tly_gpu_reduce *r, tly_group *t, kir_value state, kir_value lane)
{
    tly_build *c = &r->g->c;
    kir_value v[KIR_MAX_PARTS];
    unsigned parts = kir_parts(c->b, state);
    for (unsigned i = 0; i < parts; i++)
        v[i] = tly_group_from(r->g, t, kir_part(c->b, state, i), lane);
    return kir_tuple(c->b, parts, v);
}

/* Part by part through workgroup memory, combined in the groups' order. */
static kir_value fold_groups(tly_gpu_reduce *r, tly_group *t, const tly_gpu_rules *rules,
                             kir_value state)
{
    tly_build *c = &r->g->c;
    kir_value part[KIR_MAX_PARTS][TLY_GPU_MOST_CLUSTERS], all = 0;
    unsigned parts = kir_parts(c->b, state);
    for (unsigned i = 0; i < parts; i++)
        tly_group_gather(r->g, t, kir_part(c->b, state, i), part[i]);
    for (unsigned k = 0; k < t->clusters; k++) {
        kir_value v[KIR_MAX_PARTS];
        for (unsigned i = 0; i < parts; i++)
            v[i] = part[i][k];
        kir_value one = kir_tuple(c->b, parts, v);
        all = k > 0 ? rules->combine(c, all, one) : one;
    }
    return all;
}

kir_value tly_gpu_reduce_fold(tly_gpu_reduce *r, tly_group *t, const tly_gpu_rules *rules,
                              kir_value state)
{
    tly_gpu *g = r->g;
    tly_build *c = &g->c;
    for (unsigned by = 1; by < t->width; by *= 2) {
        kir_value lane = bxor(c, t->lane, u32(g, by));
        state = rules->combine(c, state, from_lane(r, t, state, lane));
    }
    if (t->clusters > 1)
        return fold_groups(r, t, rules, state);
    /* Every lane has it; from one address it is seen to be one value. */
    return t->exchange ? from_lane(r, t, state, u32(g, 0)) : state;
}

/*
 * States of spans. One invocation takes its span's elements in their order; a team shares them out,
 * neighbours to neighbours, and folds its states by lanes, then by lane groups.
 */
#include "reduce.h"

/* Elements that are loaded before the first is used. */
static unsigned ahead(const tly_gpu_reduce *r)
{
    return (unsigned)r->g->plan->segments;
}

typedef struct walk {
    tly_gpu_reduce *r;
    const tly_gpu_rules *rules;
    const tly_gpu_span *span;
    kir_value step;   /* serial: of all elements */
    kir_value before; /* serial: elements of the steps before this one */
    kir_value stride; /* spread: from one element to the next; 0: serial */
} walk;

static kir_value address(walk *w, kir_value q)
{
    tly_gpu_reduce *r = w->r;
    tly_build *c = &r->g->c;
    kir_value position = add(c, w->span->from, q);
    if (!w->stride || r->rank == 0)
        return tly_gpu_span_at(r, w->span, w->step, position);
    kir_value up = kir_bin(c->b, KIR_UDIV, position, r->length);
    kir_value rest = sub(c, position, mul(c, up, r->length));
    return tly_gpu_span_at(r, w->span, add(c, w->span->step, up), rest);
}

static kir_value index_of(walk *w, kir_value q)
{
    tly_build *c = &w->r->g->c;
    if (!w->r->indexed)
        return 0;
    kir_value after = w->before ? add(c, w->before, q) : q;
    return add(c, w->span->index, tly_gpu_reduce_index(w->r, after));
}

/* Elements q, q + stride, and so on, in this order. */
static kir_value take(walk *w, kir_value q, unsigned count, kir_value state)
{
    tly_build *c = &w->r->g->c;
    kir_value x[TLY_GPU_MOST_SEGMENTS], at[TLY_GPU_MOST_SEGMENTS];
    for (unsigned i = 0; i < count; i++) {
        at[i] = i == 0 ? q : add(c, at[i - 1], w->stride ? w->stride : word(w->r->g, 1));
        x[i] = tly_gpu_reduce_load(w->r, address(w, at[i]));
    }
    for (unsigned i = 0; i < count; i++)
        state = w->rules->combine(c, state, w->rules->lift(w->r, x[i], index_of(w, at[i])));
    return state;
}

/* Elements [from, to) by so many a trip, `by` from trip to trip. */
static kir_value run(walk *w, kir_value from, kir_value to, kir_value by, unsigned count,
                     kir_value state)
{
    kir_builder *b = w->r->g->c.b;
    kir_loop l;
    kir_for(b, &l, from, to, by, 1, &state);
    state = take(w, l.i, count, l.carried[0]);
    kir_for_end(b, &l, &state);
    return l.result[0];
}

kir_value tly_gpu_reduce_serial(tly_gpu_reduce *r, const tly_gpu_rules *rules,
                                const tly_gpu_span *s)
{
    tly_gpu *g = r->g;
    tly_build *c = &g->c;
    unsigned n = ahead(r);
    kir_value zero = word(g, 0), state = rules->neutral(c);
    kir_value whole = kir_bin(c->b, KIR_AND, s->part, word(g, -(int64_t)n));
    walk w = { .r = r, .rules = rules, .span = s };
    kir_loop l;
    kir_for(c->b, &l, zero, s->steps, word(g, 1), 1, &state);
    w.step = add(c, s->step, l.i);
    w.before = mul(c, l.i, r->length);
    state = n > 1 ? run(&w, zero, whole, word(g, n), n, l.carried[0]) : l.carried[0];
    state = run(&w, n > 1 ? whole : zero, s->part, word(g, 1), 1, state);
    kir_for_end(c->b, &l, &state);
    return l.result[0];
}

unsigned tly_gpu_team_size(const tly_team *t)
{
    return t->width * t->groups;
}

kir_value tly_gpu_team_member(tly_gpu_reduce *r, const tly_team *t)
{
    tly_build *c = &r->g->c;
    return add(c, mul(c, t->group, word(r->g, t->width)), t->lane);
}

kir_value tly_gpu_reduce_spread(tly_gpu_reduce *r, const tly_gpu_rules *rules,
                                const tly_gpu_span *s, const tly_team *t)
{
    tly_gpu *g = r->g;
    tly_build *c = &g->c;
    unsigned n = ahead(r), size = tly_gpu_team_size(t);
    kir_value member = tly_gpu_team_member(r, t), count = mul(c, s->steps, s->part);
    kir_value group = word(g, n * size), state = rules->neutral(c), from = member;
    walk w = { .r = r, .rules = rules, .span = s, .stride = word(g, size) };
    if (n > 1) {
        kir_loop l;
        kir_value whole = kir_bin(c->b, KIR_AND, count, word(g, -(int64_t)(n * size)));
        kir_for(c->b, &l, word(g, 0), whole, group, 1, &state);
        state = take(&w, add(c, l.i, member), n, l.carried[0]);
        kir_for_end(c->b, &l, &state);
        state = l.result[0];
        from = add(c, whole, member);
    }
    return run(&w, from, count, word(g, size), 1, state);
}

/* ---- folds ---- */

static kir_value from_lane(tly_gpu_reduce *r, tly_team *t, kir_value state, kir_value lane)
{
    kir_builder *b = r->g->c.b;
    kir_value v[KIR_MAX_PARTS];
    unsigned parts = kir_parts(b, state);
    for (unsigned i = 0; i < parts; i++)
        v[i] = tly_team_from(r->g, t, kir_part(b, state, i), lane);
    return kir_tuple(b, parts, v);
}

/* Part by part through workgroup memory, combined in the groups' order. */
static kir_value fold_groups(tly_gpu_reduce *r, tly_team *t, const tly_gpu_rules *rules,
                             kir_value state)
{
    tly_build *c = &r->g->c;
    kir_value part[KIR_MAX_PARTS][TLY_GPU_MOST_GROUPS], all = 0;
    unsigned parts = kir_parts(c->b, state);
    for (unsigned i = 0; i < parts; i++)
        tly_team_gather(r->g, t, kir_part(c->b, state, i), part[i]);
    for (unsigned k = 0; k < t->groups; k++) {
        kir_value v[KIR_MAX_PARTS];
        for (unsigned i = 0; i < parts; i++)
            v[i] = part[i][k];
        kir_value one = kir_tuple(c->b, parts, v);
        all = k > 0 ? rules->combine(c, all, one) : one;
    }
    return all;
}

kir_value tly_gpu_reduce_fold(tly_gpu_reduce *r, tly_team *t, const tly_gpu_rules *rules,
                              kir_value state)
{
    tly_gpu *g = r->g;
    tly_build *c = &g->c;
    for (unsigned by = 1; by < t->width; by *= 2) {
        kir_value lane = kir_bin(c->b, KIR_XOR, t->lane, word(g, by));
        state = rules->combine(c, state, from_lane(r, t, state, lane));
    }
    if (t->groups > 1)
        return fold_groups(r, t, rules, state);
    /* Every lane has it; from one address it is seen to be one value. */
    return t->exchange ? from_lane(r, t, state, word(g, 0)) : state;
}

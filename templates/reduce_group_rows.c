/* SPDX-License-Identifier: Apache-2.0 */
/* How elements of several short rows become states, step by step; see reduce_group.h. */
#include "reduce_group.h"

#include <string.h>

static kir_value numbered(const tly_group *g, kir_value position)
{
    return g->has_steps ? add(g->r->c, g->index, position) : position;
}

static kir_value lifted(tly_group *g, kir_value x, kir_value position)
{
    kir_value index = 0;
    if (g->r->indexed)
        index = tly_reduce_indices(g->r, numbered(g, position), g->r->c->lanes, 1);
    return g->rules->lift(g->r, x, index);
}

/* Lines of what comes next: those of the next rows at once, or further ahead where these are short.
 * Where rows lie one behind the other the lines that are fetched do, too, however those that are
 * loaded go from row to row: sums of f32 in rows of 20, 64, 128 us 2855, 2104, 1958 row by row, so
 * 1099, 1847, 1621 (Zen 5, minima on a busy machine). What fills no vector counts as one: rows of
 * 31, 45, 63 4519, 4135, 3158 without it, so 1703, 1629, 1782; of 17, 20 the same and 8 % more (a
 * quiet one). */
static void fetch_ahead(tly_group *g, kir_value skipped)
{
    tly_build *c = g->r->c;
    if (c->plan->prefetch == 0)
        return;
    kir_value p = kir_ptradd(c->b, g->in[0], add(c, mul(c, skipped, g->rate), g->ahead));
    for (unsigned i = 0; i < g->rows; i++, p = kir_ptradd(c->b, p, g->apart))
        kir_prefetch(c->b, p, 0);
}

/* The first `count` elements from `from` on of a row, the others neutral. */
static kir_value some_of(tly_group *g, kir_value row, kir_value from, kir_value count)
{
    tly_build *c = g->r->c;
    kir_value x = kir_ptradd(c->b, row, mul(c, from, imm(c, c->in_bytes)));
    if (!g->masked)
        return lifted(g, tly_reduce_load(g->r, x, 0, c->lanes), from);
    x = lifted(g, tly_reduce_load_some(g->r, x, count), from);
    return kir_select(c->b, tly_reduce_mask(g->r, count), x, g->rules->neutral(c, c->lanes));
}

/* What comes first has no state before it but that of the steps before. */
static kir_value taken(tly_group *g, kir_value state, kir_value x)
{
    return g->has_steps ? g->rules->combine(g->r->c, state, x) : x;
}

/* The first vectors of all rows, the other whole ones, then what fills none. */
static void take_rows(tly_group *g, unsigned parts, kir_value *state)
{
    (void)parts;
    tly_build *c = g->r->c;
    kir_builder *b = c->b;
    kir_value whole = tly_round_down(c, g->length, c->lanes), first = imm(c, c->lanes);
    kir_value count = tly_min(c, g->length, first);
    kir_loop l;
    kir_branch some;
    for (unsigned i = 0; i < g->rows; i++)
        state[i] = taken(g, state[i], some_of(g, g->in[i], imm(c, 0), count));
    fetch_ahead(g, imm(c, 0));
    kir_for(b, &l, first, whole, first, g->rows, state);
    kir_value skipped = mul(c, l.i, imm(c, c->in_bytes));
    for (unsigned i = 0; i < g->rows; i++) {
        kir_value x = tly_reduce_load(g->r, kir_ptradd(b, g->in[i], skipped), 0, c->lanes);
        l.carried[i] = g->rules->combine(c, l.carried[i], lifted(g, x, l.i));
    }
    fetch_ahead(g, skipped);
    kir_for_end(b, &l, l.carried);
    if (!g->masked) {
        memcpy(state, l.result, g->rows * sizeof *state);
        return;
    }
    count = sub(c, g->length, tly_max(c, whole, first));
    kir_if(b, &some, less(c, imm(c, 0), count));
    for (unsigned i = 0; i < g->rows; i++)
        state[i] = g->rules->combine(c, l.result[i], some_of(g, g->in[i], whole, count));
    fetch_ahead(g, mul(c, whole, imm(c, c->in_bytes)));
    kir_else(b, &some, g->rows, state);
    kir_if_end(b, &some, g->rows, l.result);
    for (unsigned i = 0; i < g->rows; i++)
        state[i] = some.result[i];
}

/* So many parts of a vector, each a row, one behind the other in memory. */
static void load_parts(tly_group *g, unsigned parts, kir_value *state)
{
    tly_build *c = g->r->c;
    unsigned n = g->rows / parts;
    for (unsigned i = 0; i < n; i++) {
        kir_value x = tly_reduce_load(g->r, g->in[0], (int64_t)i * c->lanes * c->in_bytes,
                                      c->lanes);
        kir_value index = 0;
        if (g->r->indexed) {
            index = tly_reduce_indices(g->r, imm(c, 0), c->lanes, 1);
            kir_type t = kir_type_of(c->b, index);
            index = kir_bin(c->b, KIR_AND, index, kir_const(c->b, t, c->lanes / parts - 1));
            if (g->has_steps)
                index = kir_bin(c->b, KIR_ADD, index,
                                tly_reduce_indices(g->r, g->index, t.lanes, 0));
        }
        state[i] = taken(g, state[i], g->rules->lift(g->r, x, index));
    }
}

void tly_group_place(tly_group *g, kir_value first)
{
    for (unsigned i = 0; i < g->rows; i++)
        g->in[i] = kir_ptradd(g->r->c->b, i > 0 ? g->in[i - 1] : first, g->moved[i]);
}

/* All rows at a step. Fetched ahead is a later one, so many further on that as many bytes lie between
 * as the plan says, or behind the last one the next rows' first. */
static void go_to_step(tly_group *g, kir_value step)
{
    tly_build *c = g->r->c;
    kir_builder *b = c->b;
    tly_group_place(g, tly_reduce_step(c, g->first, step));
    g->index = mul(c, step, g->length);
    kir_value steps = kir_get(b, KIR_ARG_STEPS), one = imm(c, 1);
    kir_value last = tly_max(c, sub(c, kir_get(b, KIR_ARG_REDUCED_RANK), one), imm(c, 0));
    kir_value apart = kir_get_at(b, KIR_ARG_REDUCED_IN, last);
    kir_value all = mul(c, kir_get_at(b, KIR_ARG_OUTER_IN, imm(c, 0)), imm(c, g->rows));
    kir_value further = kir_bin(b, KIR_UDIV, imm(c, c->plan->prefetch), tly_max(c, all, one));
    further = tly_min(c, add(c, further, one), steps);
    kir_value within = less(c, add(c, step, further), steps);
    kir_value turn = sub(c, all, mul(c, apart, steps));
    g->ahead = add(c, mul(c, apart, further), kir_select(b, within, imm(c, 0), turn));
}

/* `n` states of elements, of all steps that one fold takes. */
static void take_steps(tly_group *g, void (*take)(tly_group *g, unsigned parts, kir_value *state),
                       unsigned parts, kir_value *state)
{
    tly_build *c = g->r->c;
    unsigned n = g->rows / parts;
    if (!g->has_steps) {
        take(g, parts, state);
        return;
    }
    kir_loop l;
    for (unsigned i = 0; i < n; i++)
        state[i] = g->rules->neutral(c, c->lanes);
    kir_for(c->b, &l, g->from, g->to, imm(c, 1), n, state);
    go_to_step(g, l.i);
    take(g, parts, l.carried);
    kir_for_end(c->b, &l, l.carried);
    memcpy(state, l.result, n * sizeof *state);
}

void tly_group_take(tly_group *g, kir_value *state)
{
    take_steps(g, take_rows, 1, state);
}

void tly_group_take_parts(tly_group *g, unsigned parts, kir_value *state)
{
    take_steps(g, load_parts, parts, state);
}

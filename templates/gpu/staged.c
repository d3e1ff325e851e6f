/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Staged: rows of one tile each whose memory no vectors fit, as they begin anywhere or their elements
 * are apart. Round by round neighbouring invocations access neighbouring elements, one each; in workgroup
 * memory each then finds those that follow one another, an odd number, so that the slots of a
 * subgroup lie in different banks. A row fills its tile but for the last few rounds: these alone look
 * where it ends.
 */
#include "gpu.h"

typedef struct stage {
    tly_team team;
    unsigned members, rounds; /* invocations of a team; elements of each */
    unsigned slot;            /* bytes */
    kir_value member;         /* the invocation in its team */
    kir_value beside, own;    /* slots of its element of round 0; of those that it scans */
    kir_value exists;         /* i1: the team has a row of its own */
    kir_value count;
    tly_gpu_row row;
} stage;

/* States, or results as they are stored, to every `apart`-th slot from there on, and back: v[0] is one like
 * them. */
static void put_slots(tly_gpu *g, const stage *s, kir_value from, unsigned apart,
                      const kir_value *v)
{
    for (unsigned i = 0; i < s->rounds; i++)
        tly_team_put(g, from, (int64_t)i * apart * s->slot, v[i]);
}

static void get_slots(tly_gpu *g, const stage *s, kir_value from, unsigned apart, kir_value *v)
{
    kir_value like = v[0];
    for (unsigned i = 0; i < s->rounds; i++)
        v[i] = tly_team_get(g, from, (int64_t)i * apart * s->slot, like);
}

static int is_open(const stage *s, unsigned round)
{
    return round + TLY_GPU_STAGED_OPEN >= s->rounds;
}

static kir_value position_in(tly_gpu *g, const stage *s, unsigned round)
{
    return add(&g->c, s->member, word(g, (int64_t)round * s->members));
}

/* The states of the invocation's elements, by way of their slots; beyond the row's end neutral ones. */
static void fetch(tly_gpu *g, const stage *s, kir_value *x)
{
    tly_build *c = &g->c;
    kir_value first = tly_gpu_in_at(g, &s->row, s->member), last = sub(c, s->count, word(g, 1));
    for (unsigned i = 0; i < s->rounds; i++) {
        int64_t offset = 0;
        kir_value p;
        if (is_open(s, i))
            p = tly_gpu_in_at(g, &s->row, kir_bin(c->b, KIR_UMIN, position_in(g, s, i), last));
        else
            p = tly_gpu_in_near(g, &s->row, first, i * s->members, &offset);
        x[i] = tly_gpu_fetch(g, p, offset);
    }
    for (unsigned i = 0; i < s->rounds; i++) {
        x[i] = tly_lift(c, tly_gpu_widen(g, x[i]));
        if (is_open(s, i)) {
            kir_value exists = less(c, position_in(g, s, i), s->count);
            x[i] = kir_select(c->b, exists, x[i], tly_neutral(c, c->acc));
        }
    }
    put_slots(g, s, s->beside, s->members, x);
    kir_barrier(c->b);
    get_slots(g, s, s->own, 1, x);
}

static void put(tly_gpu *g, const stage *s, kir_value *stored)
{
    tly_build *c = &g->c;
    kir_branch exists;
    put_slots(g, s, s->own, 1, stored);
    kir_barrier(c->b);
    kir_if(c->b, &exists, s->exists);
    get_slots(g, s, s->beside, s->members, stored);
    kir_value first = tly_gpu_out_at(g, &s->row, s->member);
    for (unsigned i = 0; i < s->rounds; i++) {
        int64_t offset;
        kir_branch is;
        kir_value p = tly_gpu_out_near(g, &s->row, first, i * s->members, &offset);
        if (is_open(s, i))
            kir_if(c->b, &is, less(c, position_in(g, s, i), s->count));
        tly_gpu_put(g, p, offset, stored[i]);
        if (is_open(s, i))
            kir_if_end(c->b, &is, 0, NULL);
    }
    kir_if_end(c->b, &exists, 0, NULL);
}

/* All invocations meet at the barriers: a team without a row of its own scans the last one again. */
static stage stage_of(tly_gpu *g, unsigned teams)
{
    tly_build *c = &g->c;
    stage s = { .team = tly_team_make(g),
                .members = (unsigned)g->plan->team,
                .rounds = (unsigned)g->plan->vector,
                .slot = tly_gpu_staged_slot(c->p) };
    const tly_team *t = &s.team;
    kir_value items = tly_gpu_items(g);
    kir_value number = add(c, mul(c, tly_gpu_group(g), word(g, teams)), t->number);
    s.exists = kir_cmp(c->b, KIR_ULT, number, items);
    number = kir_bin(c->b, KIR_UMIN, number, sub(c, items, word(g, 1)));
    tly_gpu_item item = tly_gpu_item_of(g, number, 0);
    s.row = tly_gpu_row_of(g, &item);
    s.count = kir_get(c->b, KIR_ARG_LENGTH);
    s.member = t->groups > 1 ? add(c, mul(c, t->group, word(g, t->width)), t->lane) : t->lane;
    kir_value memory = kir_shared(c->b, teams * t->tile * s.slot);
    kir_value tile = mul(c, t->number, word(g, t->tile));
    s.beside = kir_ptradd(c->b, memory, mul(c, add(c, tile, s.member), word(g, s.slot)));
    s.own = kir_ptradd(c->b, memory, mul(c, add(c, tile, t->base), word(g, s.slot)));
    return s;
}

void tly_gpu_build_staged(tly_gpu *g, unsigned pass)
{
    unsigned teams = (unsigned)(g->plan->workgroup / g->plan->team);
    g->launch->pass[pass].items = TLY_ITEMS_ROWS;
    g->launch->pass[pass].per_group = teams;
    stage s = stage_of(g, teams);
    tly_tile tile = { .publish = NULL };
    kir_value stored[TLY_GPU_MOST_ELEMENTS + 1];
    fetch(g, &s, tile.x);
    tly_team_scan(g, &s.team, &tile);
    tly_tile_watch(g, &tile);
    tly_tile_show(g, &s.team, &tile, tly_gpu_start(g), stored);
    put(g, &s, stored);
}

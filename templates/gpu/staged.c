/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scans rows of one tile each that vectors cannot load, as rows begin anywhere or elements are
 * apart. In each round neighbouring invocations load neighbouring elements, one each, and put them
 * into workgroup memory. There each invocation finds elements that follow one another. Their number
 * is odd, so that the slots of a subgroup lie in different banks. A row ends in the last few
 * rounds: only these check positions.
 */
#include "gpu.h"

typedef struct stage {
    tly_group team;
    unsigned members, rounds; /* invocations of a group; elements of each */
    unsigned slot;            /* bytes */
    kir_value member;         /* the invocation in its group */
    kir_value beside, own;    /* slots of its element of round 0; of those that it scans */
    kir_value exists;         /* i1: the group has a row of its own */
    kir_value count;
    tly_gpu_item item;
    tly_gpu_row row;
} stage;

/* Bytes to the slot of the invocation's element of this round. */
static int64_t beside(const stage *s, unsigned round)
{
    return (int64_t)round * s->members * s->slot;
}

static int is_open(const stage *s, unsigned round)
{
    return round + TLY_GPU_STAGED_OPEN >= s->rounds;
}

static kir_value position_in(tly_gpu *g, const stage *s, unsigned round)
{
    return add(&g->c, s->member, u32(g, (int64_t)round * s->members));
}

/* The states of the elements that the invocation scans, neutral beyond the row's end. Marks are
 * loaded for these, not for those that it loads, so that heads need no room in slots. */
static void fetch(tly_gpu *g, const stage *s, tly_tile *tile)
{
    tly_build *c = &g->c;
    const tly_gpu_extent extent = { .row = &s->row, .count = s->count };
    const tly_place own = tly_gpu_place(&extent, s->member);
    const int has_marks = tly_window_heads(c->p) > 0 && !c->p->resets;
    kir_value first = tly_gpu_address(g, &s->row, TLY_IN, s->member), *x = tile->x;
    kir_value last = sub(c, s->count, u32(g, 1));
    tly_marks marks;
    for (unsigned i = 0; i < s->rounds; i++) {
        int64_t offset = 0;
        kir_value p;
        if (is_open(s, i))
            p = tly_gpu_address(g, &s->row, TLY_IN, umin(c, position_in(g, s, i), last));
        else
            p = tly_gpu_near(g, &s->row, TLY_IN, first, i * s->members, &offset);
        x[i] = tly_gpu_fetch(g, p, offset);
    }
    if (has_marks)
        tly_gpu_load_marks_along(g, &extent, s->team.base, s->rounds, &marks);
    for (unsigned i = 0; i < s->rounds; i++) {
        const tly_place here = tly_place_after(own, (int64_t)i * s->members, 0);
        x[i] = (has_marks ? tly_gpu_element_alone : tly_gpu_element)(g, &here, x[i]);
        if (is_open(s, i)) {
            kir_value exists = less(c, position_in(g, s, i), s->count);
            kir_value none = tly_neutral_window(c, c->acc);
            x[i] = choose(c, exists, x[i], has_marks ? tly_without_head(c, none) : none);
        }
    }
    for (unsigned i = 0; i < s->rounds; i++)
        tly_group_put(g, s->beside, beside(s, i), x[i]);
    kir_barrier(c->b);
    kir_value like = x[0];
    for (unsigned i = 0; i < s->rounds; i++)
        x[i] = tly_group_get(g, s->own, (int64_t)i * s->slot, like);
    if (!has_marks)
        return;
    tile->heads = tly_gpu_marked_along(g, &extent, s->team.base, s->rounds, &marks);
    for (unsigned i = 0; i < s->rounds; i++)
        x[i] = tly_tile_window(g, tile->heads, i, x[i]);
}

/* Stores the results, which tly_tile_finish has put into slots. */
static void put(tly_gpu *g, const stage *s)
{
    tly_build *c = &g->c;
    kir_type type = c->bytes[TLY_OUT] < 4
                        ? KIR_TYPE(KIR_I32, 1)
                        : tly_storage((tally_dtype)c->p->tensor[TLY_OUT].dtype, 1);
    kir_value stored[TLY_GPU_MOST_ELEMENTS];
    tly_region exists = { 0 };
    kir_barrier(c->b);
    emit_if(c, &exists, s->exists);
    for (unsigned i = 0; i < s->rounds; i++)
        stored[i] = kir_load(c->b, type, s->beside, beside(s, i), kir_kind_bits(type.kind) / 8);
    kir_value first = tly_gpu_address(g, &s->row, TLY_OUT, s->member);
    for (unsigned i = 0; i < s->rounds; i++) {
        int64_t offset;
        tly_region open = { 0 };
        kir_value p = tly_gpu_near(g, &s->row, TLY_OUT, first, i * s->members, &offset);
        kir_value position = position_in(g, s, i);
        if (is_open(s, i) || tly_gpu_has_part(g)) {
            kir_value is_there = less(c, position, s->count);
            if (tly_gpu_has_part(g))
                is_there = band(c, is_there, tly_gpu_in_part(g, position, 1));
            emit_if(c, &open, is_there);
        }
        tly_gpu_put(g, p, offset, stored[i]);
        if (is_open(s, i) || tly_gpu_has_part(g))
            emit_end(c, &open);
    }
    emit_end(c, &exists);
}

/* All invocations must reach the barriers: a group without a row scans the last one again. */
static stage stage_of(tly_gpu *g, unsigned teams)
{
    tly_build *c = &g->c;
    stage s = { .team = tly_group_make(g),
                .members = (unsigned)g->plan->group,
                .rounds = (unsigned)g->plan->vector,
                .slot = tly_gpu_staged_slot(c->p) };
    const tly_group *t = &s.team;
    kir_value items = tly_gpu_items(g);
    kir_value number = add(c, mul(c, tly_gpu_group(g), u32(g, teams)), t->number);
    s.exists = ult(c, number, items);
    number = umin(c, number, sub(c, items, u32(g, 1)));
    s.item = tly_gpu_item_of(g, number, 0);
    s.row = tly_gpu_row_of(g, &s.item);
    s.count = arg(c, KIR_ARG_LENGTH);
    s.member = t->clusters > 1 ? add(c, mul(c, t->cluster, u32(g, t->width)), t->lane) : t->lane;
    kir_value memory = kir_shared(c->b, teams * t->tile * s.slot);
    kir_value tile = mul(c, t->number, u32(g, t->tile));
    s.beside = ptradd(c, memory, mul(c, add(c, tile, s.member), u32(g, s.slot)));
    s.own = ptradd(c, memory, mul(c, add(c, tile, t->base), u32(g, s.slot)));
    return s;
}

/* Stores the state after the row for the next run. */
static void hand_on(tly_gpu *g, const stage *s, kir_value state)
{
    tly_build *c = &g->c;
    tly_region leads = { 0 };
    if (!c->p->carry)
        return;
    emit_if(c, &leads, band(c, s->exists, tly_group_leads(g, &s->team)));
    tly_gpu_last_carry(g, &s->item, u32(g, 0), state);
    emit_end(c, &leads);
}

static void build(tly_gpu *g, unsigned pass)
{
    tly_build *c = &g->c;
    unsigned teams = (unsigned)(g->plan->workgroup / g->plan->group);
    g->launch->pass[pass].items = TLY_ITEMS_ROWS;
    g->launch->pass[pass].per_group = teams;
    stage s = stage_of(g, teams);
    /* The flag is never set, but compilers cannot know. So a tile that is done again loads from the
     * slots once more, in place of holding its elements in registers. */
    kir_value more = choose(c, tly_gpu_flag(g, TLY_GPU_CONTINUES), u32(g, s.slot), u32(g, 0));
    tly_tile tile = {
        .rereads = 1, .spilled = ptradd(c, s.own, more), .apart = s.slot, .staged = 1
    };
    tile.goes_on = c->p->carry;
    fetch(g, &s, &tile);
    tly_group_scan(g, &s.team, &tile);
    tly_tile_find_range(g, &tile);
    kir_value start = c->p->carry ? tly_group_first_carry(g, &s.team, &s.item, u32(g, 0))
                                  : tly_gpu_start(g);
    hand_on(g, &s, tly_tile_finish(g, &s.team, &s.row, s.count, &tile, start));
    put(g, &s);
}

const tly_gpu_algorithm tly_gpu_staged_algorithm = { .build = build,
                                                     .passes = { "scan" },
                                                     .finds_part = 1 };

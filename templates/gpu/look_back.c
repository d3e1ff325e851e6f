/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A row by all workgroups, every element read and written once. Workgroups take tiles by ticket, in
 * order, so that a tile waits only for workgroups that have started. As many tiles as a lane group
 * has lanes are a group, and carries go by two levels, each from left to right:
 *
 *   carry(t) = base(g) + ((T_b + T_b+1) + ...)      b: the first tile of t's group g
 *   base(g)  = ((start + G_0) + G_1) + ...          G: the total of a group
 *
 * A tile publishes its total T, the last of a group in its place the group's, which waits for
 * no carry, and then the next group's base. A base is taken where it is there, and made of an earlier
 * one and totals where not, which gives the same bits.
 *
 * Where the range is watched, this holds as long as totals, their sums and the base are good for each
 * other, which whoever looks can tell from these alone. From there to the group's end the carry is
 * the one after the tile before, as that tile publishes it; or an earlier one of these combined with
 * totals, or the classes of tiles whose total is no use (range.c), where that is what the tiles make
 * of it themselves. Such a group publishes classes, too, for bases of which nothing else matters.
 *
 * tests/look_back_model.c goes through the interleavings.
 */
#include "look_back.h"

typedef struct tile_state {
    tly_gpu *g;
    tly_team *team;
    const tly_gpu_item *item;
    kir_value leads, stalls; /* i1 */
    kir_value total, mark;   /* what is published of the tile */
    kir_value group, first;  /* its group, and the first tile of that */
    kir_value before;        /* tiles of the group before it */
    kir_value ends;          /* i1: it is the last of its group */
    kir_value open;          /* i1: it has yet to publish the next group's base */
} tile_state;

static kir_value yes(tly_gpu *g)
{
    return kir_const(g->c.b, KIR_TYPE(KIR_I1, 1), 1);
}

static kir_value both(tly_gpu *g, kir_value x, kir_value y)
{
    return kir_bin(g->c.b, KIR_AND, x, y);
}

static kir_value negated(tly_gpu *g, kir_value i1)
{
    return kir_bin(g->c.b, KIR_XOR, i1, yes(g));
}

static kir_value is(tly_gpu *g, kir_value x, int64_t literal)
{
    return kir_cmp(g->c.b, KIR_EQ, x, word(g, literal));
}

/* A place of the row's k-th record. */
static kir_value place_at(const tile_state *s, kir_value k, kir_value place)
{
    tly_gpu *g = s->g;
    kir_value number = add(&g->c, mul(&g->c, k, tly_gpu_items(g)), s->item->index);
    return tly_place_at(g, number, place);
}

static void publish(const tile_state *s, kir_value when, kir_value at, kir_value v, kir_value mark)
{
    kir_builder *b = s->g->c.b;
    kir_branch leader;
    kir_if(b, &leader, both(s->g, s->leads, when));
    tly_place_publish(s->g, at, v, mark);
    kir_if_end(b, &leader, 0, NULL);
}

static void publish_base(const tile_state *s, kir_value when, kir_value base)
{
    kir_value next = add(&s->g->c, s->group, word(s->g, 1));
    publish(s, when, place_at(s, next, word(s->g, TLY_GROUP_BASE)), base,
            word(s->g, TLY_MARK_VALUE));
}

/* Where the range is watched others may need it. */
static void publish_carry(tly_gpu *g, void *user, kir_value after)
{
    const tile_state *s = user;
    if (tly_range_count(&g->c) == 0)
        return;
    publish(s, yes(g), place_at(s, s->item->chunk, word(g, TLY_CARRY)), after,
            word(g, TLY_MARK_VALUE));
    publish_base(s, s->open, after);
}

/* The total, or, where it holds after no carry, the classes, and in the mark what of the distance
 * fits in there. */
static void summarise(tile_state *s, tly_tile *tile)
{
    tly_gpu *g = s->g;
    kir_builder *b = g->c.b;
    kir_value summary[2], results[2] = { tile->total, word(g, TLY_MARK_VALUE) };
    s->total = results[0];
    s->mark = results[1];
    if (tly_range_count(&g->c) == 0)
        return;
    kir_branch good;
    kir_if(b, &good, tly_range_good(&g->c, tile->range, 0));
    kir_else(b, &good, 2, results);
    tly_gpu_summary_begin(g, summary);
    for (unsigned i = 0; i < tly_gpu_elements(g); i++)
        tly_gpu_summary_add(g, summary, tile->x[i]);
    tly_gpu_summary_fold(g, s->team, summary);
    kir_value upper = kir_bin(b, KIR_LSHR, summary[1], word(g, 31 - TLY_UPPER_BITS));
    results[0] = summary[0];
    results[1] = kir_bin(b, KIR_OR, word(g, TLY_MARK_CLASSES),
                         kir_bin(b, KIR_SHL, upper, word(g, TLY_MARK_BITS)));
    kir_if_end(b, &good, 2, results);
    s->total = tile->summary = good.result[0];
    s->mark = good.result[1];
}

/* i1: a published total or class of this mark may be combined with a carry, whoever does it; `group`:
 * a group's with its base. */
static kir_value combines(tly_gpu *g, kir_value carry, kir_value total, kir_value mark, int group)
{
    kir_builder *b = g->c.b;
    unsigned low = 31 - TLY_UPPER_BITS;
    kir_value sort = kir_bin(b, KIR_AND, mark, word(g, (1 << TLY_MARK_BITS) - 1));
    kir_value good = is(g, sort, TLY_MARK_VALUE);
    if (tly_range_count(&g->c) == 0)
        return good;
    kir_value distance = kir_bin(b, KIR_SHL, kir_bin(b, KIR_LSHR, mark, word(g, TLY_MARK_BITS)),
                                 word(g, low));
    distance = kir_bin(b, KIR_OR, distance, word(g, (1 << low) - 1)); /* at most that far */
    kir_value fits = group ? tly_gpu_fits_half(g, carry) : tly_gpu_fits_any(g, carry);
    kir_value decided = tly_gpu_settled(g, carry, distance);
    if (!group)
        decided = kir_bin(b, KIR_OR, tly_gpu_prevails(g, total), decided);
    return kir_bin(b, KIR_OR, both(g, good, fits), both(g, is(g, sort, TLY_MARK_CLASSES), decided));
}

/* ---- a group's totals ---- */

/* A sum of totals from the group's first, and whether (i1) it is one that bases may be combined with. */
enum { SUM, SOUND, SUMS };

static void begin_sum(tly_gpu *g, kir_value *sum)
{
    sum[SUM] = tly_neutral(&g->c, g->c.acc);
    sum[SOUND] = yes(g);
}

static void add_total(tly_gpu *g, kir_value *sum, kir_value total, kir_value mark)
{
    sum[SUM] = tly_combine(&g->c, sum[SUM], total);
    if (tly_range_count(&g->c) == 0)
        return;
    kir_value good = both(g, is(g, mark, TLY_MARK_VALUE), tly_gpu_fits_half(g, sum[SUM]));
    sum[SOUND] = both(g, sum[SOUND], good);
}

/* Lane l gets that of the group's tile l, of those before this one. */
static kir_value wait_for_totals(const tile_state *s, kir_value *mark)
{
    tly_gpu *g = s->g;
    kir_builder *b = g->c.b;
    kir_value exists = kir_cmp(b, KIR_ULT, s->team->lane, s->before);
    kir_value tile = kir_select(b, exists, add(&g->c, s->first, s->team->lane), s->item->chunk);
    kir_value at = place_at(s, tile, word(g, TLY_TOTAL));
    kir_value state[] = { yes(g), tly_neutral(&g->c, g->c.acc), word(g, 0) };
    kir_loop l;
    kir_for(b, &l, word(g, 0), word(g, INT32_MAX), word(g, 1), 3, state);
    kir_for_while(b, &l);
    state[1] = tly_place_look(g, at, &state[2]);
    kir_value lacks = both(g, exists, is(g, state[2], 0));
    state[0] = negated(g, tly_team_all(g, s->team, negated(g, lacks)));
    kir_for_end(b, &l, state);
    *mark = l.result[2];
    return l.result[1];
}

static void sum_totals(const tile_state *s, kir_value totals, kir_value marks, kir_value *sum)
{
    tly_gpu *g = s->g;
    kir_loop l;
    begin_sum(g, sum);
    kir_for(g->c.b, &l, word(g, 0), s->before, word(g, 1), SUMS, sum);
    sum[SUM] = l.carried[SUM];
    sum[SOUND] = l.carried[SOUND];
    add_total(g, sum, tly_team_from(g, s->team, totals, l.i),
              tly_range_count(&g->c) > 0 ? tly_team_from(g, s->team, marks, l.i) : 0);
    kir_for_end(g->c.b, &l, sum);
    sum[SUM] = l.result[SUM];
    sum[SOUND] = l.result[SOUND];
}

/* A class as it stands; of a total its own, and its elements may be as far from 1 as any. */
static void add_classes(tly_gpu *g, kir_value *classes, kir_value total, kir_value mark)
{
    kir_builder *b = g->c.b;
    kir_value good = is(g, mark, TLY_MARK_VALUE);
    kir_value far = kir_select(b, good, word(g, (1 << TLY_UPPER_BITS) - 1),
                               kir_bin(b, KIR_LSHR, mark, word(g, TLY_MARK_BITS)));
    classes[0] = tly_combine(&g->c, classes[0],
                             kir_select(b, good, tly_gpu_class(g, total), total));
    classes[1] = kir_bin(b, KIR_UMAX, classes[1], far);
}

/* What the group's last tile publishes: the sum, or where that is no use, the classes of all. */
static kir_value summarise_group(const tile_state *s, kir_value totals, kir_value marks,
                                 const kir_value *sum, kir_value *mark)
{
    tly_gpu *g = s->g;
    kir_builder *b = g->c.b;
    kir_value results[] = { sum[SUM], word(g, TLY_MARK_VALUE) };
    kir_value classes[] = { tly_neutral(&g->c, g->c.acc), word(g, 0) };
    kir_loop l;
    kir_branch sound;
    *mark = results[1];
    if (tly_range_count(&g->c) == 0)
        return results[0];
    kir_if(b, &sound, sum[SOUND]);
    kir_else(b, &sound, 2, results);
    kir_for(b, &l, word(g, 0), s->before, word(g, 1), 2, classes);
    classes[0] = l.carried[0];
    classes[1] = l.carried[1];
    add_classes(g, classes, tly_team_from(g, s->team, totals, l.i),
                tly_team_from(g, s->team, marks, l.i));
    kir_for_end(b, &l, classes);
    results[0] = l.result[0];
    results[1] = l.result[1];
    add_classes(g, results, s->total, s->mark);
    results[1] = kir_bin(b, KIR_OR, word(g, TLY_MARK_CLASSES),
                         kir_bin(b, KIR_SHL, results[1], word(g, TLY_MARK_BITS)));
    kir_if_end(b, &sound, 2, results);
    *mark = sound.result[1];
    return sound.result[0];
}

/* ---- groups ---- */

/* One look at this group, which is the last lane's, and those before: the latest base that is there,
 * combined with the totals of the groups from it on. i1: none was missing. */
static kir_value look_at_groups(const tile_state *s, kir_value *base)
{
    tly_gpu *g = s->g;
    tly_build *c = &g->c;
    kir_builder *b = c->b;
    tly_team *t = s->team;
    kir_value last = word(g, t->width - 1), back = sub(c, last, t->lane), has, mark;
    kir_value exists = kir_cmp(b, KIR_ULE, back, s->group);
    kir_value group = kir_select(b, exists, sub(c, s->group, back), s->group);
    kir_value there = tly_place_look(g, place_at(s, group, word(g, TLY_GROUP_BASE)), &has);
    kir_value total = tly_place_look(g, place_at(s, group, word(g, TLY_GROUP_TOTAL)), &mark);
    has = both(g, exists, kir_cmp(b, KIR_NE, has, word(g, 0)));
    kir_value beyond = kir_select(b, has, add(c, t->lane, word(g, 1)), word(g, 0));
    beyond = tly_team_fold_lanes(g, t, KIR_UMAX, beyond);
    kir_value known = kir_cmp(b, KIR_NE, beyond, word(g, 0));
    kir_value from = kir_select(b, known, sub(c, beyond, word(g, 1)), last);
    kir_value state[2] = { known, tly_team_from(g, t, there, from) };
    kir_loop l;
    kir_for(b, &l, from, last, word(g, 1), 2, state);
    kir_value next = tly_team_from(g, t, total, l.i);
    state[0] = both(g, l.carried[0],
                    combines(g, l.carried[1], next, tly_team_from(g, t, mark, l.i), 1));
    state[1] = tly_combine(c, l.carried[1], next);
    kir_for_end(b, &l, state);
    *base = l.result[1];
    return l.result[0];
}

/* ---- behind a tile whose total is no use ---- */

/* One look at the tiles before in the group, from left to right. i1: none was missing. */
static kir_value look_at_tiles(const tile_state *s, kir_value base, kir_value totals,
                               kir_value marks, kir_value *carry)
{
    enum { KNOWN = SUMS, VALUE, STATES };
    tly_gpu *g = s->g;
    tly_build *c = &g->c;
    kir_builder *b = c->b;
    kir_value exists = kir_cmp(b, KIR_ULT, s->team->lane, s->before), has, state[STATES];
    kir_value tile = kir_select(b, exists, add(c, s->first, s->team->lane), s->item->chunk);
    kir_value after = tly_place_look(g, place_at(s, tile, word(g, TLY_CARRY)), &has);
    begin_sum(g, state);
    state[SOUND] = tly_gpu_fits_half(g, base);
    state[KNOWN] = yes(g);
    state[VALUE] = base;
    kir_loop l;
    kir_for(b, &l, word(g, 0), s->before, word(g, 1), STATES, state);
    kir_value total = tly_team_from(g, s->team, totals, l.i);
    kir_value mark = tly_team_from(g, s->team, marks, l.i);
    kir_value takes = kir_cmp(b, KIR_NE, tly_team_from(g, s->team, has, l.i), word(g, 0));
    kir_value goes = both(g, l.carried[KNOWN], combines(g, l.carried[VALUE], total, mark, 0));
    kir_value next = kir_select(b, takes, tly_team_from(g, s->team, after, l.i),
                                tly_combine(c, l.carried[VALUE], total));
    state[SUM] = l.carried[SUM];
    state[SOUND] = l.carried[SOUND];
    add_total(g, state, total, mark);
    state[KNOWN] = kir_bin(b, KIR_OR, state[SOUND], kir_bin(b, KIR_OR, takes, goes));
    state[VALUE] = kir_select(b, state[SOUND], tly_combine(c, base, state[SUM]), next);
    kir_for_end(b, &l, state);
    *carry = l.result[VALUE];
    return l.result[KNOWN];
}

/* ---- a tile's carry ---- */

static kir_value wait_for_base(const tile_state *s)
{
    tly_gpu *g = s->g;
    kir_builder *b = g->c.b;
    kir_value state[2] = { yes(g), tly_neutral(&g->c, g->c.acc) };
    kir_loop l;
    kir_for(b, &l, word(g, 0), word(g, INT32_MAX), word(g, 1), 2, state);
    kir_for_while(b, &l);
    state[0] = negated(g, look_at_groups(s, &state[1]));
    kir_for_end(b, &l, state);
    return l.result[1];
}

static kir_value wait_for_carry(const tile_state *s, kir_value base, kir_value totals,
                                kir_value marks)
{
    tly_gpu *g = s->g;
    kir_builder *b = g->c.b;
    kir_value state[2] = { yes(g), base };
    kir_loop l;
    kir_for(b, &l, word(g, 0), word(g, INT32_MAX), word(g, 1), 2, state);
    kir_for_while(b, &l);
    state[0] = negated(g, look_at_tiles(s, base, totals, marks, &state[1]));
    kir_for_end(b, &l, state);
    return l.result[1];
}

/* By the first lane group. For tests every third tile publishes its total late. */
static kir_value find_carry(const tile_state *s, kir_value *open)
{
    tly_gpu *g = s->g;
    tly_build *c = &g->c;
    kir_builder *b = c->b;
    kir_value marks, totals = wait_for_totals(s, &marks), sum[SUMS], all[SUMS];
    sum_totals(s, totals, marks, sum);
    all[SUM] = sum[SUM];
    all[SOUND] = sum[SOUND];
    add_total(g, all, s->total, s->mark);
    kir_value k = kir_select(b, s->ends, s->group, s->item->chunk);
    kir_value at = place_at(s, k,
                            kir_select(b, s->ends, word(g, TLY_GROUP_TOTAL), word(g, TLY_TOTAL)));
    kir_value group_mark, group = summarise_group(s, totals, marks, all, &group_mark);
    kir_value v = kir_select(b, s->ends, group, s->total);
    kir_value mark = kir_select(b, s->ends, group_mark, s->mark);
    publish(s, both(g, s->ends, negated(g, s->stalls)), at, v, mark);
    kir_value base = wait_for_base(s), carry = tly_combine(c, base, sum[SUM]);
    publish(s, s->stalls, at, v, mark);
    kir_value told = combines(g, base, group, group_mark, 1);
    publish_base(s, both(g, s->ends, told), tly_combine(c, base, group));
    *open = both(g, s->ends, negated(g, told));
    if (tly_range_count(c) == 0)
        return carry;
    kir_branch holds;
    kir_if(b, &holds, both(g, sum[SOUND], tly_gpu_fits_half(g, base)));
    kir_else(b, &holds, 1, &carry);
    carry = wait_for_carry(s, base, totals, marks);
    kir_if_end(b, &holds, 1, &carry);
    return holds.result[0];
}

static kir_value carry_before(tile_state *s)
{
    tly_gpu *g = s->g;
    kir_builder *b = g->c.b;
    kir_branch first, looks;
    kir_value results[2], none[2] = { tly_neutral(&g->c, g->c.acc), s->ends };
    kir_if(b, &first, both(g, s->leads, is(g, s->item->chunk, 0)));
    tly_place_publish(g, place_at(s, word(g, 0), word(g, TLY_GROUP_BASE)),
                      tly_gpu_first_carry(g, s->item, word(g, 0)), word(g, TLY_MARK_VALUE));
    kir_if_end(b, &first, 0, NULL);
    publish(s, negated(g, kir_bin(b, KIR_OR, s->ends, s->stalls)),
            place_at(s, s->item->chunk, word(g, TLY_TOTAL)), s->total, s->mark);
    kir_if(b, &looks, is(g, s->team->group, 0));
    results[0] = find_carry(s, &results[1]);
    kir_else(b, &looks, 2, results);
    kir_if_end(b, &looks, 2, none);
    s->open = looks.result[1];
    return tly_team_broadcast(g, s->team, looks.result[0]);
}

/* The workgroup's tile: a ticket that one invocation draws. */
static kir_value draw(tly_gpu *g)
{
    kir_builder *b = g->c.b;
    kir_value place = kir_shared(b, 16), scratch = kir_get(b, KIR_ARG_SCRATCH);
    kir_branch one;
    kir_if(b, &one, kir_cmp(b, KIR_EQ, kir_get_id(b, KIR_ID_LOCAL), word(g, 0)));
    kir_store(b, place, 0, kir_atomic_add(b, scratch, 0, word(g, 1)), 4, 0);
    kir_if_end(b, &one, 0, NULL);
    kir_barrier(b);
    return kir_load(b, KIR_TYPE(KIR_I32, 1), place, 0, 4);
}

static tile_state state_of(tly_gpu *g, tly_team *t, const tly_gpu_item *item)
{
    tly_build *c = &g->c;
    kir_builder *b = c->b;
    tile_state s = { .g = g, .team = t, .item = item, .leads = tly_team_leads(g, t) };
    kir_value chunk = item->chunk, three = word(g, 3), group = word(g, t->width);
    kir_value third = sub(c, chunk, mul(c, kir_bin(b, KIR_UDIV, chunk, three), three));
    s.stalls = both(g, tly_gpu_flag(g, TLY_GPU_STALL), is(g, third, 1));
    s.group = kir_bin(b, KIR_UDIV, chunk, group);
    s.first = mul(c, s.group, group);
    s.before = sub(c, chunk, s.first);
    s.ends = is(g, s.before, t->width - 1);
    return s;
}

void tly_gpu_build_look_back(tly_gpu *g, unsigned pass)
{
    tly_build *c = &g->c;
    kir_builder *b = c->b;
    g->launch->pass[pass].items = TLY_ITEMS_CHUNKS;
    g->launch->pass[pass].per_group = 1;
    tly_team t = tly_team_make(g);
    tly_gpu_item item = tly_gpu_item_of(g, draw(g), 1);
    kir_branch exists;
    kir_if(b, &exists, item.valid);
    tly_gpu_row row = tly_gpu_row_of(g, &item);
    kir_value begin = mul(c, item.chunk, word(g, t.tile));
    kir_value count = sub(c, kir_get(b, KIR_ARG_LENGTH), begin);
    tly_gpu_row at = tly_gpu_at(g, &row, begin);
    tile_state s = state_of(g, &t, &item);
    tly_tile tile = { .publish = publish_carry, .user = &s };
    tly_tile_load(g, &t, &at, count, &tile);
    tly_team_scan(g, &t, &tile);
    tly_tile_watch(g, &t, &tile);
    summarise(&s, &tile);
    kir_value carry = tly_tile_finish(g, &t, &at, count, &tile, carry_before(&s));
    kir_branch last;
    kir_value is_last = kir_cmp(b, KIR_SLE, count, word(g, t.tile));
    kir_if(b, &last, kir_bin(b, KIR_AND, is_last, tly_team_leads(g, &t)));
    tly_gpu_last_carry(g, &item, word(g, 0), carry);
    kir_if_end(b, &last, 0, NULL);
    kir_if_end(b, &exists, 0, NULL);
}

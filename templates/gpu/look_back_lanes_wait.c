/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a lane's tile waits for, by one invocation for each lane: the order of combination and the
 * rules are those of look_back.c, but that what is looked at is in registers of the one who looks,
 * and a group's totals are combined from left to right:
 *
 *   carry(t) = base(g) + ((T_b + T_b+1) + ... T_t-1)      b: the first tile of t's group g
 *   base(g)  = ((start + G_0) + G_1) + ...                G: the total of a group
 *
 * A record has two places. One holds the tile's total, of a group's last tile the group's; the other,
 * where the range is watched, the carry after the tile, of a group's last tile the next group's
 * base. A word of them lies beside the same word of the other lanes, so that who looks for neighbours
 * reads whole lines.
 */
#include "look_back_lanes.h"

enum { TOTAL, AFTER, PLACES };

enum { GROUP = TLY_GPU_LANES_GROUP, WINDOW = TLY_GPU_LANES_WINDOW };

static unsigned tiles_of_group(const tly_gpu *g)
{
    return (unsigned)tly_gpu_lanes_group(g->c.p);
}

static unsigned window(const tly_gpu *g)
{
    return (unsigned)tly_gpu_lanes_window(g->c.p);
}

/* ---- places ---- */

typedef struct place {
    kir_value at, apart; /* bytes between the words of a lane */
} place;

static place place_of(const tly_lane_looker *s, kir_value tile, unsigned which)
{
    tly_gpu *g = s->t->g;
    tly_build *c = &g->c;
    kir_value items = tly_gpu_widened(g, tly_gpu_items(g));
    kir_value number = add(c, mul(c, tile, word(g, PLACES)), word(g, which));
    kir_value at = mul(c, tly_gpu_widened(g, number), tly_gpu_offset(g, tly_place_words(g)));
    at = add(c, mul(c, at, items), tly_gpu_widened(g, s->t->item.index));
    at = add(c, mul(c, at, tly_gpu_offset(g, 4)), tly_gpu_offset(g, g->launch->header_bytes));
    return (place){ kir_ptradd(c->b, kir_get(c->b, KIR_ARG_SCRATCH), at),
                    mul(c, items, tly_gpu_offset(g, 4)) };
}

unsigned tly_gpu_look_back_lanes_bytes(const tly_gpu *g)
{
    return 4 * tly_place_words(g) * PLACES;
}

static kir_value look(const tly_lane_looker *s, kir_value tile, unsigned which, kir_value *mark)
{
    place p = place_of(s, tile, which);
    return tly_place_look(s->t->g, p.at, p.apart, mark);
}

static void publish(const tly_lane_looker *s, kir_value when, unsigned which, kir_value v,
                    kir_value mark)
{
    kir_builder *b = s->t->g->c.b;
    kir_branch tells;
    kir_if(b, &tells, when);
    place p = place_of(s, s->t->item.chunk, which);
    tly_place_publish(s->t->g, p.at, p.apart, v, mark);
    kir_if_end(b, &tells, 0, NULL);
}

/* ---- a group's totals ---- */

typedef struct sum {
    kir_value value, sound; /* i1: it may be combined with bases */
} sum;

static kir_value either(tly_gpu *g, kir_value x, kir_value y)
{
    return kir_bin(g->c.b, KIR_OR, x, y);
}

/* With the next tile's. */
static sum longer(tly_gpu *g, sum so_far, kir_value total, kir_value mark)
{
    sum next = { tly_combine(&g->c, so_far.value, total), yes(g) };
    if (tly_range_count(&g->c) == 0)
        return next;
    next.sound = both(g, is(g, mark, TLY_MARK_VALUE), tly_gpu_fits_half(g, total));
    next.sound = both(g, next.sound, both(g, so_far.sound, tly_gpu_fits_half(g, next.value)));
    return next;
}

/* Waits for those before this tile, and sums them. */
static sum wait_for_totals(const tly_lane_looker *s)
{
    enum { AGAIN, FIRST, MOST = FIRST + 2 * GROUP };
    tly_gpu *g = s->t->g;
    kir_builder *b = g->c.b;
    unsigned others = tiles_of_group(g) - 1, marks = FIRST + others;
    kir_value state[MOST], exists[GROUP], again = 0;
    kir_loop l;
    state[AGAIN] = yes(g);
    for (unsigned i = 0; i < others; i++) {
        exists[i] = kir_cmp(b, KIR_ULT, word(g, i), s->before);
        state[FIRST + i] = tly_neutral(&g->c, g->c.acc);
        state[marks + i] = word(g, 0);
    }
    kir_for(b, &l, word(g, 0), word(g, INT32_MAX), word(g, 1), FIRST + 2 * others, state);
    kir_for_while(b, &l);
    for (unsigned i = 0; i < others; i++) {
        kir_value tile = kir_select(b, exists[i], add(&g->c, s->first, word(g, i)),
                                    s->t->item.chunk);
        state[FIRST + i] = look(s, tile, TOTAL, &state[marks + i]);
        kir_value lacks = both(g, exists[i], is(g, state[marks + i], 0));
        again = i > 0 ? either(g, again, lacks) : lacks;
    }
    state[AGAIN] = again;
    kir_for_end(b, &l, state);
    sum all = { tly_neutral(&g->c, g->c.acc), yes(g) };
    for (unsigned i = 0; i < others; i++) {
        sum next = longer(g, all, l.result[FIRST + i], l.result[marks + i]);
        all.value = kir_select(b, exists[i], next.value, all.value);
        all.sound = either(g, both(g, exists[i], next.sound),
                           both(g, negated(g, exists[i]), all.sound));
    }
    return all;
}

/* What a group's last tile publishes: the sum of all, or the classes of all where that is no use. */
static kir_value summarise(const tly_lane_looker *s, sum all, kir_value *mark)
{
    tly_gpu *g = s->t->g;
    kir_builder *b = g->c.b;
    kir_value results[] = { all.value, word(g, TLY_MARK_VALUE) };
    kir_value classes[] = { tly_neutral(&g->c, g->c.acc), word(g, 0) };
    kir_loop l;
    kir_branch good;
    *mark = results[1];
    if (tly_range_count(&g->c) == 0)
        return results[0];
    kir_if(b, &good, all.sound);
    kir_else(b, &good, 2, results);
    tly_look_add_classes(g, classes, s->total, s->mark);
    kir_for(b, &l, word(g, 0), s->before, word(g, 1), 2, classes);
    kir_value has, total = look(s, add(&g->c, s->first, l.i), TOTAL, &has);
    classes[0] = l.carried[0];
    classes[1] = l.carried[1];
    tly_look_add_classes(g, classes, total, has);
    kir_for_end(b, &l, classes);
    results[0] = l.result[0];
    results[1] = tly_look_mark_classes(g, l.result[1]);
    kir_if_end(b, &good, 2, results);
    *mark = good.result[1];
    return good.result[0];
}

/* ---- waiting ---- */

/* One look at the groups before: the latest base that is there, combined with the totals of the
 * groups from it on. i1: none was missing. */
static kir_value look_at_groups(const tly_lane_looker *s, kir_value start, kir_value *base)
{
    tly_gpu *g = s->t->g;
    tly_build *c = &g->c;
    kir_builder *b = c->b;
    unsigned groups = window(g);
    kir_value known = kir_cmp(b, KIR_ULE, s->group, word(g, groups)), value = start;
    kir_value there[WINDOW], has[WINDOW], total[WINDOW], mark[WINDOW], exists[WINDOW];
    for (unsigned i = 0; i < groups; i++) {
        unsigned back = (groups - 1 - i) * tiles_of_group(g) + 1; /* tiles before this group */
        exists[i] = kir_cmp(b, KIR_ULE, word(g, back), s->first);
        kir_value tile = kir_select(b, exists[i], sub(c, s->first, word(g, back)),
                                    s->t->item.chunk);
        total[i] = look(s, tile, TOTAL, &mark[i]);
        there[i] = look(s, tile, AFTER, &has[i]);
    }
    for (unsigned i = 0; i < groups; i++) {
        kir_value takes = kir_cmp(b, KIR_NE, has[i], word(g, 0));
        kir_value goes = both(g, known, tly_look_combines(g, value, total[i], mark[i], 1));
        kir_value next = kir_select(b, takes, there[i], tly_combine(c, value, total[i]));
        value = kir_select(b, exists[i], next, value);
        known = either(g, both(g, exists[i], either(g, takes, goes)),
                       both(g, negated(g, exists[i]), known));
    }
    *base = value;
    return known;
}

static kir_value wait_for_base(const tly_lane_looker *s)
{
    tly_gpu *g = s->t->g;
    kir_builder *b = g->c.b;
    kir_value start = tly_gpu_first_carry(g, &s->t->item, word(g, 0));
    kir_value state[2] = { yes(g), start };
    kir_loop l;
    kir_for(b, &l, word(g, 0), word(g, INT32_MAX), word(g, 1), 2, state);
    kir_for_while(b, &l);
    state[0] = negated(g, look_at_groups(s, start, &state[1]));
    kir_for_end(b, &l, state);
    return l.result[1];
}

/* One look at the tiles before in the group, from left to right, where sum and base do not make the
 * carry. i1: none was missing. */
static kir_value look_at_tiles(const tly_lane_looker *s, kir_value base, kir_value *carry)
{
    enum { KNOWN, VALUE, SUM, SOUND, STATES };
    tly_gpu *g = s->t->g;
    tly_build *c = &g->c;
    kir_builder *b = c->b;
    kir_value fits = tly_gpu_fits_half(g, base), mark, has;
    kir_value state[STATES] = { yes(g), base, tly_neutral(c, c->acc), yes(g) };
    kir_loop l;
    kir_for(b, &l, word(g, 0), s->before, word(g, 1), STATES, state);
    kir_value tile = add(c, s->first, l.i), total = look(s, tile, TOTAL, &mark);
    kir_value after = look(s, tile, AFTER, &has);
    kir_value takes = kir_cmp(b, KIR_NE, has, word(g, 0));
    sum all = longer(g, (sum){ l.carried[SUM], l.carried[SOUND] }, total, mark);
    kir_value holds = both(g, fits, all.sound);
    kir_value goes = both(g, l.carried[KNOWN],
                          tly_look_combines(g, l.carried[VALUE], total, mark, 0));
    kir_value next = kir_select(b, takes, after, tly_combine(c, l.carried[VALUE], total));
    state[KNOWN] = either(g, holds, either(g, takes, goes));
    state[VALUE] = kir_select(b, holds, tly_combine(c, base, all.value), next);
    state[SUM] = all.value;
    state[SOUND] = all.sound;
    kir_for_end(b, &l, state);
    *carry = l.result[VALUE];
    return l.result[KNOWN];
}

static kir_value wait_for_carry(const tly_lane_looker *s, kir_value base)
{
    tly_gpu *g = s->t->g;
    kir_builder *b = g->c.b;
    kir_value state[2] = { yes(g), base };
    kir_loop l;
    kir_for(b, &l, word(g, 0), word(g, INT32_MAX), word(g, 1), 2, state);
    kir_for_while(b, &l);
    state[0] = negated(g, look_at_tiles(s, base, &state[1]));
    kir_for_end(b, &l, state);
    return l.result[1];
}

/* ---- the whole of it ---- */

tly_lane_looker tly_lane_looker_of(tly_lanes *t, kir_value total, kir_value mark)
{
    tly_gpu *g = t->g;
    tly_build *c = &g->c;
    kir_value tiles = word(g, tiles_of_group(g));
    tly_lane_looker s = { .t = t, .total = total, .mark = mark };
    s.leads = both(g, t->exists, is(g, t->segment, 0));
    s.stalls = tly_look_stalls(g, t->item.chunk);
    s.group = kir_bin(c->b, KIR_UDIV, t->item.chunk, tiles);
    s.first = mul(c, s.group, tiles);
    s.before = sub(c, t->item.chunk, s.first);
    s.ends = is(g, s.before, tiles_of_group(g) - 1);
    return s;
}

/* For tests every third tile publishes its total late. */
static kir_value find_carry(tly_lane_looker *s, kir_value *open)
{
    tly_gpu *g = s->t->g;
    tly_build *c = &g->c;
    kir_builder *b = c->b;
    kir_value mark;
    publish(s, negated(g, either(g, s->ends, s->stalls)), TOTAL, s->total, s->mark);
    sum before = wait_for_totals(s), all = longer(g, before, s->total, s->mark);
    all.sound = either(g, all.sound, negated(g, s->ends)); /* of others it is no matter */
    kir_value group = summarise(s, all, &mark);
    kir_value v = kir_select(b, s->ends, group, s->total);
    kir_value its_mark = kir_select(b, s->ends, mark, s->mark);
    publish(s, both(g, s->ends, negated(g, s->stalls)), TOTAL, v, its_mark);
    kir_value base = wait_for_base(s), carry = tly_combine(c, base, before.value);
    publish(s, s->stalls, TOTAL, v, its_mark);
    kir_value told = tly_look_combines(g, base, group, mark, 1);
    publish(s, both(g, s->ends, told), AFTER, tly_combine(c, base, group), word(g, TLY_MARK_VALUE));
    *open = both(g, s->ends, negated(g, told));
    if (tly_range_count(c) == 0)
        return carry;
    kir_branch holds;
    kir_if(b, &holds, both(g, before.sound, tly_gpu_fits_half(g, base)));
    kir_else(b, &holds, 1, &carry);
    carry = wait_for_carry(s, base);
    kir_if_end(b, &holds, 1, &carry);
    return holds.result[0];
}

kir_value tly_lane_wait(tly_lane_looker *s)
{
    tly_gpu *g = s->t->g;
    kir_builder *b = g->c.b;
    kir_value results[2], none[2] = { tly_neutral(&g->c, g->c.acc), s->ends };
    kir_branch leads;
    kir_if(b, &leads, s->leads);
    results[0] = find_carry(s, &results[1]);
    kir_else(b, &leads, 2, results);
    kir_if_end(b, &leads, 2, none);
    s->open = leads.result[1];
    return leads.result[0];
}

void tly_lane_tell(tly_lane_looker *s, kir_value after)
{
    tly_gpu *g = s->t->g;
    if (tly_range_count(&g->c) == 0)
        return;
    kir_value due = either(g, negated(g, s->ends), s->open);
    publish(s, both(g, s->leads, due), AFTER, after, word(g, TLY_MARK_VALUE));
}

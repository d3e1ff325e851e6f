/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the lanes of a tile wait for. The order of combination and the rules are those of
 * look_back.c, but that a group's totals are combined from left to right:
 *
 *   carry(t) = base(g) + ((T_b + T_b+1) + ... T_t-1)      b: the first tile of t's group g
 *   base(g)  = ((start + G_0) + G_1) + ...                G: the total of a group
 *
 * A lane's invocations look side by side, each for records of its own, until it has what it asks
 * for: first the totals of the group's tiles before this one, then of each group of a window its
 * total or the base after it, of the oldest the base. What they find meets in workgroup memory,
 * where one invocation of each lane combines it. So nobody has many records in registers, and no
 * barrier is in a loop that waits.
 *
 * A record has two places. One holds the tile's total, of a group's last tile the group's; the
 * other, where the range is watched, the carry after the tile, of a group's last tile the next
 * group's base. A word of them lies beside the same word of the other lanes, so that who looks for
 * neighbours reads whole lines.
 */
#include "look_back_lanes.h"

enum { TOTAL, AFTER, PLACES };

enum { GROUP = TLY_GPU_LANES_GROUP, WINDOW = TLY_GPU_LANES_WINDOW };

/* The mark of what is found: a base, which makes all that is older of no matter. */
enum { MARK_BASE = 2 };

/* ---- places ---- */

typedef struct place {
    kir_value at, apart; /* bytes between the words of a lane */
} place;

static place place_of(const tly_lane_looker *s, kir_value tile, unsigned which)
{
    tly_gpu *g = s->t->g;
    tly_build *c = &g->c;
    kir_value items = tly_gpu_widened(g, tly_gpu_items(g));
    kir_value number = add(c, mul(c, tile, u32(g, PLACES)), u32(g, which));
    kir_value at = mul(c, tly_gpu_widened(g, number), tly_gpu_offset(g, tly_place_words(g)));
    at = add(c, mul(c, at, items), tly_gpu_widened(g, s->t->item.index));
    at = add(c, mul(c, at, tly_gpu_offset(g, 4)), tly_gpu_offset(g, g->launch->header_bytes));
    return (place){ ptradd(c, arg(c, KIR_ARG_SCRATCH), at), mul(c, items, tly_gpu_offset(g, 4)) };
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
    tly_build *c = &s->t->g->c;
    kir_branch tells;
    kir_if(c->b, &tells, when);
    place p = place_of(s, s->t->item.chunk, which);
    tly_place_publish(s->t->g, p.at, p.apart, v, mark);
    kir_if_end(c->b, &tells, 0, NULL);
}

/* ---- a group's totals ---- */

typedef struct sum {
    kir_value value, sound; /* i1: it may be combined with bases */
} sum;

static kir_value either(tly_gpu *g, kir_value x, kir_value y)
{
    return bor(&g->c, x, y);
}

/* A NaN stays as it is: of two, one place in the code may give one and another the other. */
kir_value tly_lane_join(tly_gpu *g, kir_value carry, kir_value total)
{
    tly_build *c = &g->c;
    kir_value next = tly_combine(c, carry, total);
    if (!tly_is_floating(c) || kir_parts(c->b, carry) > 1)
        return next;
    return choose(c, uno(c, carry, carry), carry, next);
}

/* With the next tile's. */
static sum longer(tly_gpu *g, sum so_far, kir_value total, kir_value mark)
{
    sum next = { tly_lane_join(g, so_far.value, total), yes(g) };
    if (tly_range_count(&g->c) == 0)
        return next;
    next.sound = both(g, is(g, mark, TLY_MARK_VALUE), tly_gpu_fits_half(g, total));
    next.sound = both(g, next.sound, both(g, so_far.sound, tly_gpu_fits_half(g, next.value)));
    return next;
}

/* Waits for those before this tile. */
static void find_totals(const tly_lane_looker *s)
{
    tly_gpu *g = s->t->g;
    tly_build *c = &g->c;
    kir_value state[] = { yes(g), tly_neutral(c, g->c.acc), u32(g, 0) };
    kir_loop each, l;
    kir_branch exists;
    kir_if(c->b, &exists, s->t->exists);
    kir_for(c->b, &each, s->t->segment, s->before, u32(g, s->t->segments), 0, NULL);
    kir_value tile = add(c, s->first, each.i);
    kir_for(c->b, &l, u32(g, 0), u32(g, INT32_MAX), u32(g, 1), 3, state);
    kir_for_while(c->b, &l);
    state[1] = look(s, tile, TOTAL, &state[2]);
    state[0] = is(g, state[2], 0);
    kir_for_end(c->b, &l, state);
    tly_lanes_keep(s->t, each.i, l.result[1], l.result[2]);
    kir_for_end(c->b, &each, NULL);
    kir_if_end(c->b, &exists, 0, NULL);
}

static sum sum_totals(const tly_lane_looker *s)
{
    enum { VALUE, SOUND, STATES };
    tly_gpu *g = s->t->g;
    tly_build *c = &g->c;
    kir_value state[STATES] = { tly_neutral(c, g->c.acc), yes(g) }, mark;
    kir_loop l;
    kir_for(c->b, &l, u32(g, 0), s->before, u32(g, 1), STATES, state);
    kir_value total = tly_lanes_kept(s->t, l.i, &mark);
    sum next = longer(g, (sum){ l.carried[VALUE], l.carried[SOUND] }, total, mark);
    state[VALUE] = next.value;
    state[SOUND] = next.sound;
    kir_for_end(c->b, &l, state);
    return (sum){ l.result[VALUE], l.result[SOUND] };
}

/* What a group's last tile publishes: the sum of all, or the classes of all where that is no
 * use. */
static kir_value summarise(const tly_lane_looker *s, sum all, kir_value *mark)
{
    tly_gpu *g = s->t->g;
    tly_build *c = &g->c;
    kir_value results[] = { all.value, u32(g, TLY_MARK_VALUE) };
    kir_value classes[] = { tly_neutral(c, g->c.acc), u32(g, 0) };
    kir_loop l;
    kir_branch good;
    *mark = results[1];
    if (tly_range_count(c) == 0)
        return results[0];
    kir_if(c->b, &good, all.sound);
    kir_else(c->b, &good, 2, results);
    tly_look_add_classes(g, classes, s->total, s->mark);
    kir_for(c->b, &l, u32(g, 0), s->before, u32(g, 1), 2, classes);
    kir_value has, total = tly_lanes_kept(s->t, l.i, &has);
    classes[0] = l.carried[0];
    classes[1] = l.carried[1];
    tly_look_add_classes(g, classes, total, has);
    kir_for_end(c->b, &l, classes);
    results[0] = l.result[0];
    results[1] = tly_look_mark_classes(g, l.result[1]);
    kir_if_end(c->b, &good, 2, results);
    *mark = good.result[1];
    return good.result[0];
}

/* ---- groups ---- */

/* The last tile of the i-th group of the window: the oldest is the first; that of the one before
 * this group the last. */
static kir_value last_tile_of(const tly_lane_looker *s, kir_value i)
{
    tly_gpu *g = s->t->g;
    kir_value groups = sub(&g->c, u32(g, WINDOW), i);
    kir_value back = mul(&g->c, sub(&g->c, groups, u32(g, 1)), u32(g, GROUP));
    return sub(&g->c, s->first, add(&g->c, back, u32(g, 1)));
}

/* The first that exists. */
static kir_value oldest(const tly_lane_looker *s)
{
    tly_gpu *g = s->t->g;
    kir_value window = u32(g, WINDOW);
    return sub(&g->c, window, umin(&g->c, s->group, window));
}

/* A group's total, or the base after it where that is there. */
static kir_value look_at_group(const tly_lane_looker *s, kir_value i, kir_value *mark)
{
    tly_gpu *g = s->t->g;
    tly_build *c = &g->c;
    kir_value tile = last_tile_of(s, i), has;
    kir_value total = look(s, tile, TOTAL, mark), base = look(s, tile, AFTER, &has);
    has = differ(c, has, u32(g, 0));
    *mark = choose(c, has, u32(g, MARK_BASE), *mark);
    return choose(c, has, base, total);
}

/* Waits for one or the other of each, and of the oldest of a whole window for the base. */
static void find_groups(const tly_lane_looker *s)
{
    tly_gpu *g = s->t->g;
    tly_build *c = &g->c;
    kir_value state[] = { yes(g), tly_neutral(c, g->c.acc), u32(g, 0) };
    kir_value from = oldest(s);
    kir_loop each, l;
    kir_branch exists;
    kir_if(c->b, &exists, s->t->exists);
    kir_for(c->b, &each, add(c, from, s->t->segment), u32(g, WINDOW), u32(g, s->t->segments), 0,
            NULL);
    kir_for(c->b, &l, u32(g, 0), u32(g, INT32_MAX), u32(g, 1), 3, state);
    kir_for_while(c->b, &l);
    state[1] = look_at_group(s, each.i, &state[2]);
    kir_value no_base = both(g, is(g, each.i, 0), differ(c, state[2], u32(g, MARK_BASE)));
    state[0] = either(g, is(g, state[2], 0), no_base);
    kir_for_end(c->b, &l, state);
    tly_lanes_keep(s->t, add(c, each.i, u32(g, GROUP)), l.result[1], l.result[2]);
    kir_for_end(c->b, &each, NULL);
    kir_if_end(c->b, &exists, 0, NULL);
}

typedef kir_value look_for(const tly_lane_looker *s, kir_value i, kir_value *mark);

static kir_value found(const tly_lane_looker *s, kir_value i, kir_value *mark)
{
    return tly_lanes_kept(s->t, add(&s->t->g->c, i, u32(s->t->g, GROUP)), mark);
}

/* The latest base that is there, combined with the totals of the groups from it on. i1: none was
 * missing. */
static kir_value combine_groups(const tly_lane_looker *s, look_for *by, kir_value start,
                                kir_value *base)
{
    tly_gpu *g = s->t->g;
    tly_build *c = &g->c;
    kir_value known = ule(c, s->group, u32(g, WINDOW)), mark;
    kir_value state[2] = { known, start };
    kir_loop l;
    kir_for(c->b, &l, oldest(s), u32(g, WINDOW), u32(g, 1), 2, state);
    kir_value v = by(s, l.i, &mark), takes = is(g, mark, MARK_BASE);
    kir_value goes = both(g, l.carried[0], tly_look_combines(g, l.carried[1], v, mark, 1));
    state[0] = either(g, takes, goes);
    state[1] = choose(c, takes, v, tly_lane_join(g, l.carried[1], v));
    kir_for_end(c->b, &l, state);
    *base = l.result[1];
    return l.result[0];
}

/* Where a group's total is no use after the base before it, until the base after it is there. */
static kir_value base_of(const tly_lane_looker *s)
{
    tly_gpu *g = s->t->g;
    tly_build *c = &g->c;
    kir_value start = tly_gpu_first_carry(g, &s->t->item, u32(g, 0)), state[2];
    kir_loop l;
    state[0] = negated(g, combine_groups(s, found, start, &state[1]));
    if (tly_range_count(c) == 0)
        return state[1];
    kir_for(c->b, &l, u32(g, 0), u32(g, INT32_MAX), u32(g, 1), 2, state);
    kir_for_while(c->b, &l);
    state[0] = negated(g, combine_groups(s, look_at_group, start, &state[1]));
    kir_for_end(c->b, &l, state);
    return l.result[1];
}

/* ---- behind a tile whose total is no use ---- */

/* One look at the tiles before in the group, from left to right, where sum and base do not make the
 * carry. i1: none was missing. */
static kir_value look_at_tiles(const tly_lane_looker *s, kir_value base, kir_value *carry)
{
    enum { KNOWN, VALUE, SUM, SOUND, STATES };
    tly_gpu *g = s->t->g;
    tly_build *c = &g->c;
    kir_value fits = tly_gpu_fits_half(g, base), mark, has;
    kir_value state[STATES] = { yes(g), base, tly_neutral(c, c->acc), yes(g) };
    kir_loop l;
    kir_for(c->b, &l, u32(g, 0), s->before, u32(g, 1), STATES, state);
    kir_value total = tly_lanes_kept(s->t, l.i, &mark);
    kir_value after = look(s, add(c, s->first, l.i), AFTER, &has);
    kir_value takes = differ(c, has, u32(g, 0));
    sum all = longer(g, (sum){ l.carried[SUM], l.carried[SOUND] }, total, mark);
    kir_value holds = both(g, fits, all.sound);
    kir_value goes = both(g, l.carried[KNOWN],
                          tly_look_combines(g, l.carried[VALUE], total, mark, 0));
    kir_value next = choose(c, takes, after, tly_lane_join(g, l.carried[VALUE], total));
    state[KNOWN] = either(g, holds, either(g, takes, goes));
    state[VALUE] = choose(c, holds, tly_lane_join(g, base, all.value), next);
    state[SUM] = all.value;
    state[SOUND] = all.sound;
    kir_for_end(c->b, &l, state);
    *carry = l.result[VALUE];
    return l.result[KNOWN];
}

static kir_value wait_for_carry(const tly_lane_looker *s, kir_value base)
{
    tly_gpu *g = s->t->g;
    tly_build *c = &g->c;
    kir_value state[2] = { yes(g), base };
    kir_loop l;
    kir_for(c->b, &l, u32(g, 0), u32(g, INT32_MAX), u32(g, 1), 2, state);
    kir_for_while(c->b, &l);
    state[0] = negated(g, look_at_tiles(s, base, &state[1]));
    kir_for_end(c->b, &l, state);
    return l.result[1];
}

/* ---- the whole of it ---- */

tly_lane_looker tly_lane_looker_of(tly_lanes *t, kir_value total, kir_value mark)
{
    tly_gpu *g = t->g;
    tly_build *c = &g->c;
    tly_lane_looker s = { .t = t, .total = total, .mark = mark };
    s.leads = both(g, t->exists, is(g, t->segment, 0));
    s.stalls = tly_look_stalls(g, t->item.chunk);
    s.group = udiv(c, t->item.chunk, u32(g, GROUP));
    s.first = mul(c, s.group, u32(g, GROUP));
    s.before = sub(c, t->item.chunk, s.first);
    s.ends = is(g, s.before, GROUP - 1);
    return s;
}

/* What is published in the place of the tile's total: of a group's last tile the group's. For tests
 * every third tile publishes it late. */
typedef struct news {
    sum before; /* of the tiles before */
    kir_value v, mark;
} news;

static news tell_totals(const tly_lane_looker *s)
{
    enum { VALUE, SOUND, TOLD, MARK, RESULTS };
    tly_gpu *g = s->t->g;
    tly_build *c = &g->c;
    kir_value none[RESULTS] = { tly_neutral(c, g->c.acc), yes(g), s->total, s->mark };
    kir_branch leads;
    kir_if(c->b, &leads, s->leads);
    sum before = sum_totals(s), all = longer(g, before, s->total, s->mark);
    all.sound = either(g, all.sound, negated(g, s->ends)); /* of others it is no matter */
    kir_value mark, group = summarise(s, all, &mark);
    kir_value results[RESULTS] = { before.value, before.sound, choose(c, s->ends, group, s->total),
                                   choose(c, s->ends, mark, s->mark) };
    publish(s, both(g, s->ends, negated(g, s->stalls)), TOTAL, results[TOLD], results[MARK]);
    kir_else(c->b, &leads, RESULTS, results);
    kir_if_end(c->b, &leads, RESULTS, none);
    const kir_value *r = leads.result;
    return (news){ { r[VALUE], r[SOUND] }, r[TOLD], r[MARK] };
}

static kir_value find_carry(const tly_lane_looker *s, const news *n, kir_value *open)
{
    tly_gpu *g = s->t->g;
    tly_build *c = &g->c;
    kir_value base = base_of(s), carry = tly_lane_join(g, base, n->before.value);
    publish(s, s->stalls, TOTAL, n->v, n->mark);
    kir_value told = both(g, s->ends, tly_look_combines(g, base, n->v, n->mark, 1));
    publish(s, told, AFTER, tly_lane_join(g, base, n->v), u32(g, TLY_MARK_VALUE));
    *open = both(g, s->ends, negated(g, told));
    if (tly_range_count(c) == 0)
        return carry;
    kir_branch holds;
    kir_if(c->b, &holds, both(g, n->before.sound, tly_gpu_fits_half(g, base)));
    kir_else(c->b, &holds, 1, &carry);
    carry = wait_for_carry(s, base);
    kir_if_end(c->b, &holds, 1, &carry);
    return holds.result[0];
}

kir_value tly_lane_wait(tly_lane_looker *s)
{
    tly_gpu *g = s->t->g;
    tly_build *c = &g->c;
    kir_value results[2], none[2] = { tly_neutral(c, g->c.acc), s->ends };
    kir_branch leads;
    publish(s, both(g, s->leads, negated(g, either(g, s->ends, s->stalls))), TOTAL, s->total,
            s->mark);
    find_totals(s);
    kir_barrier(c->b);
    news n = tell_totals(s);
    find_groups(s);
    kir_barrier(c->b);
    kir_if(c->b, &leads, s->leads);
    results[0] = find_carry(s, &n, &results[1]);
    kir_else(c->b, &leads, 2, results);
    kir_if_end(c->b, &leads, 2, none);
    s->open = leads.result[1];
    return leads.result[0];
}

void tly_lane_tell(tly_lane_looker *s, kir_value when, kir_value after)
{
    tly_gpu *g = s->t->g;
    kir_value due = both(g, when, either(g, negated(g, s->ends), s->open));
    publish(s, both(g, s->leads, due), AFTER, after, u32(g, TLY_MARK_VALUE));
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the lanes of a tile wait for. The order of combination and the rules are those of
 * look_back.c, but that a group's totals are combined from left to right:
 *
 *   carry(t) = base(g) + ((T_b + T_b+1) + ... T_t-1)      b: the first tile of t's group g
 *   base(g)  = ((start + G_0) + G_1) + ...                G: the total of a group
 *
 * The invocations of a lane read records side by side, and each waits for records of its own. First
 * they read the totals of the group's tiles before this one. Then they read of each group in a
 * window its total or the base after it; of the oldest group they wait for the base. They put what
 * they find in workgroup memory, where one invocation of each lane combines it. So no invocation
 * has many records in registers, and no barrier is in a loop that waits.
 *
 * A record has two fields. One holds a window: the tile's total, of a group's last tile the
 * group's. The other, where the range is watched, holds a state: the carry after the tile, of a
 * group's last tile the next group's base. A word of a field lies beside the same word of the
 * other lanes, so that who looks for neighbours reads whole lines.
 *
 * Records of words with a carry have a third field, which only tile 0 fills: the state before the
 * first element. Tile 0 loads it from the caller's tensor. All others take it from the record,
 * because the last tile may store the state after the last element in the caller's same tensor.
 */
#include "look_back_lanes.h"

enum { TOTAL, AFTER, START };

static unsigned fields_of(const tly_gpu *g)
{
    return g->c.p->carry ? START + 1 : START;
}

enum { GROUP = TLY_GPU_LANES_GROUP, WINDOW = TLY_GPU_LANES_WINDOW };

/* The mark of what is found: a base, which makes all that is older of no matter. */
enum { MARK_BASE = 2 };

/* ---- fields of records ---- */

typedef struct field {
    kir_value at, apart; /* bytes between the words of a lane */
} field;

static field field_of(const tly_lane_look_back *s, kir_value tile, unsigned which)
{
    tly_gpu *g = s->t->g;
    tly_build *c = &g->c;
    kir_value items = tly_gpu_as_offset(g, tly_gpu_items(g));
    kir_value number = add(c, mul(c, tile, u32(g, fields_of(g))), u32(g, which));
    kir_value at = mul(c, tly_gpu_as_offset(g, number), tly_gpu_offset(g, tly_record_words(g)));
    at = add(c, mul(c, at, items), tly_gpu_as_offset(g, s->t->item.index));
    at = add(c, mul(c, at, tly_gpu_offset(g, 4)), tly_gpu_offset(g, g->launch->header_bytes));
    return (field){ ptradd(c, arg(c, KIR_ARG_SCRATCH), at), mul(c, items, tly_gpu_offset(g, 4)) };
}

unsigned tly_gpu_look_back_lanes_bytes(const tly_gpu *g)
{
    return 4 * tly_record_words(g) * fields_of(g);
}

static kir_value look(const tly_lane_look_back *s, kir_value tile, unsigned which, kir_value *mark)
{
    tly_build *c = &s->t->g->c;
    field p = field_of(s, tile, which);
    kir_value like = which == TOTAL ? tly_neutral_window(c, c->acc) : tly_neutral(c, c->acc);
    return tly_record_look(s->t->g, like, p.at, p.apart, mark);
}

static void publish(const tly_lane_look_back *s, kir_value when, unsigned which, kir_value v,
                    kir_value mark)
{
    tly_build *c = &s->t->g->c;
    tly_region tells = { 0 };
    emit_if(c, &tells, when);
    field p = field_of(s, s->t->item.chunk, which);
    tly_record_publish(s->t->g, p.at, p.apart, v, mark);
    emit_end(c, &tells);
}

/* ---- a group's totals ---- */

typedef struct sum {
    kir_value value, sound; /* i1: it may be combined with bases */
} sum;

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
    tly_build *c = &g->c;
    sum next = { tly_lane_join(g, so_far.value, total), i1(c, 1) };
    if (tly_range_count(c) == 0)
        return next;
    next.sound = band(c, is(g, mark, TLY_MARK_VALUE), tly_gpu_fits_half(g, total));
    next.sound = band(c, next.sound, band(c, so_far.sound, tly_gpu_fits_half(g, next.value)));
    return next;
}

/* Waits for those before this tile. */
static void find_totals(const tly_lane_look_back *s)
{
    tly_gpu *g = s->t->g;
    tly_build *c = &g->c;
    kir_value lacks = i1(c, 1), total = tly_neutral_window(c, c->acc), mark = u32(g, 0);
    tly_region exists = { 0 }, each = { 0 }, looks = { .state = { &lacks, &total, &mark } };
    emit_if(c, &exists, s->t->exists);
    emit_for(c, &each, s->t->span, s->before, u32(g, s->t->spans));
    kir_value tile = add(c, s->first, each.i);
    tly_look_while(g, &looks);
    total = look(s, tile, TOTAL, &mark);
    lacks = is(g, mark, 0);
    emit_end(c, &looks);
    tly_lanes_keep(s->t, each.i, total, mark);
    emit_end(c, &each);
    emit_end(c, &exists);
}

static sum sum_totals(const tly_lane_look_back *s)
{
    tly_gpu *g = s->t->g;
    tly_build *c = &g->c;
    sum all = { tly_neutral_window(c, c->acc), i1(c, 1) };
    tly_region l = { .state = { &all.value, &all.sound } };
    emit_for(c, &l, u32(g, 0), s->before, u32(g, 1));
    kir_value mark, total = tly_lanes_kept(s->t, l.i, &mark);
    all = longer(g, all, total, mark);
    emit_end(c, &l);
    return all;
}

/* What a group's last tile publishes: the sum of all, or the classes of all where that is no
 * use. */
static kir_value summarise(const tly_lane_look_back *s, sum all, kir_value *mark)
{
    tly_gpu *g = s->t->g;
    tly_build *c = &g->c;
    *mark = u32(g, TLY_MARK_VALUE);
    kir_value classes[] = { tly_neutral_window(c, c->acc), u32(g, 0) };
    tly_region bad = { .state = { &all.value, mark } };
    tly_region l = { .state = { &classes[0], &classes[1] } };
    if (tly_range_count(c) == 0)
        return all.value;
    emit_unless(c, &bad, all.sound);
    tly_look_add_classes(g, classes, s->total, s->mark);
    emit_for(c, &l, u32(g, 0), s->before, u32(g, 1));
    kir_value has, total = tly_lanes_kept(s->t, l.i, &has);
    tly_look_add_classes(g, classes, total, has);
    emit_end(c, &l);
    all.value = classes[0];
    *mark = tly_look_mark_classes(g, classes[1]);
    emit_end(c, &bad);
    return all.value;
}

/* ---- groups ---- */

/* The last tile of the i-th group of the window: the oldest is the first; that of the one before
 * this group the last. */
static kir_value last_tile_of(const tly_lane_look_back *s, kir_value i)
{
    tly_gpu *g = s->t->g;
    tly_build *c = &g->c;
    kir_value groups = sub(c, u32(g, WINDOW), i);
    kir_value back = mul(c, sub(c, groups, u32(g, 1)), u32(g, GROUP));
    return sub(c, s->first, add(c, back, u32(g, 1)));
}

/* The first that exists. */
static kir_value oldest(const tly_lane_look_back *s)
{
    tly_build *c = &s->t->g->c;
    kir_value window = u32(s->t->g, WINDOW);
    return sub(c, window, umin(c, s->group, window));
}

/* A group's total, or the base after it where that is there, as a window. */
static kir_value look_at_group(const tly_lane_look_back *s, kir_value i, kir_value *mark)
{
    tly_gpu *g = s->t->g;
    tly_build *c = &g->c;
    kir_value tile = last_tile_of(s, i), has;
    kir_value total = look(s, tile, TOTAL, mark), base = look(s, tile, AFTER, &has);
    has = differ(c, has, u32(g, 0));
    *mark = choose(c, has, u32(g, MARK_BASE), *mark);
    return choose(c, has, tly_window_of(c, base), total);
}

/* Waits for one or the other of each, and of the oldest of a whole window for the base. */
static void find_groups(const tly_lane_look_back *s)
{
    tly_gpu *g = s->t->g;
    tly_build *c = &g->c;
    kir_value lacks = i1(c, 1), v = tly_neutral_window(c, c->acc), mark = u32(g, 0);
    kir_value from = oldest(s);
    tly_region exists = { 0 }, each = { 0 }, looks = { .state = { &lacks, &v, &mark } };
    emit_if(c, &exists, s->t->exists);
    emit_for(c, &each, add(c, from, s->t->span), u32(g, WINDOW), u32(g, s->t->spans));
    tly_look_while(g, &looks);
    v = look_at_group(s, each.i, &mark);
    kir_value no_base = band(c, is(g, each.i, 0), differ(c, mark, u32(g, MARK_BASE)));
    lacks = bor(c, is(g, mark, 0), no_base);
    emit_end(c, &looks);
    tly_lanes_keep(s->t, add(c, each.i, u32(g, GROUP)), v, mark);
    emit_end(c, &each);
    emit_end(c, &exists);
}

/* ---- the state before the first element ---- */

/* Tile 0 tells the others, before it waits for anything. */
static void tell_start(const tly_lane_look_back *s)
{
    tly_gpu *g = s->t->g;
    tly_build *c = &g->c;
    tly_region first = { 0 };
    if (!c->p->carry)
        return;
    emit_if(c, &first, band(c, s->leads, is(g, s->t->item.chunk, 0)));
    kir_value start = tly_gpu_first_carry(g, &s->t->item, u32(g, 0));
    publish(s, i1(c, 1), START, start, u32(g, TLY_MARK_VALUE));
    emit_end(c, &first);
}

static kir_value start_of(const tly_lane_look_back *s)
{
    tly_gpu *g = s->t->g;
    tly_build *c = &g->c;
    if (!c->p->carry)
        return tly_gpu_first_carry(g, &s->t->item, u32(g, 0));
    kir_value lacks = i1(c, 1), start = tly_neutral(c, c->acc), mark;
    tly_region looks = { .state = { &lacks, &start } };
    tly_look_while(g, &looks);
    start = look(s, u32(g, 0), START, &mark);
    lacks = is(g, mark, 0);
    emit_end(c, &looks);
    return start;
}

/* ---- groups, combined ---- */

typedef kir_value look_for(const tly_lane_look_back *s, kir_value i, kir_value *mark);

static kir_value found(const tly_lane_look_back *s, kir_value i, kir_value *mark)
{
    return tly_lanes_kept(s->t, add(&s->t->g->c, i, u32(s->t->g, GROUP)), mark);
}

/* The latest base that is there, combined with the totals of the groups from it on. i1: none was
 * missing. */
static kir_value combine_groups(const tly_lane_look_back *s, look_for *by, kir_value start,
                                kir_value *base)
{
    tly_gpu *g = s->t->g;
    tly_build *c = &g->c;
    kir_value known = ule(c, s->group, u32(g, WINDOW)), mark;
    tly_region l = { .state = { &known, base } };
    *base = start;
    emit_for(c, &l, oldest(s), u32(g, WINDOW), u32(g, 1));
    kir_value v = by(s, l.i, &mark), takes = is(g, mark, MARK_BASE);
    kir_value goes = band(c, known, tly_look_combines(g, *base, v, mark, 1));
    known = bor(c, takes, goes);
    *base = choose(c, takes, tly_state_of(c, v), tly_lane_join(g, *base, v));
    emit_end(c, &l);
    return known;
}

/* Where a group's total is no use after the base before it, until the base after it is there. */
static kir_value base_of(const tly_lane_look_back *s)
{
    tly_gpu *g = s->t->g;
    tly_build *c = &g->c;
    kir_value start = start_of(s), lacks, base;
    tly_region looks = { .state = { &lacks, &base } };
    lacks = tly_not(c, combine_groups(s, found, start, &base));
    if (tly_range_count(c) == 0)
        return base;
    tly_look_while(g, &looks);
    lacks = tly_not(c, combine_groups(s, look_at_group, start, &base));
    emit_end(c, &looks);
    return base;
}

/* ---- behind a tile whose total is no use ---- */

/* One look at the tiles before in the group, from left to right, where sum and base do not make the
 * carry. i1: none was missing. */
static kir_value look_at_tiles(const tly_lane_look_back *s, kir_value base, kir_value *carry)
{
    tly_gpu *g = s->t->g;
    tly_build *c = &g->c;
    kir_value fits = tly_gpu_fits_half(g, base), known = i1(c, 1), mark, has;
    sum all = { tly_neutral_window(c, c->acc), known };
    tly_region l = { .state = { &known, carry, &all.value, &all.sound } };
    *carry = base;
    emit_for(c, &l, u32(g, 0), s->before, u32(g, 1));
    kir_value total = tly_lanes_kept(s->t, l.i, &mark);
    kir_value after = look(s, add(c, s->first, l.i), AFTER, &has);
    kir_value takes = differ(c, has, u32(g, 0));
    all = longer(g, all, total, mark);
    kir_value holds = band(c, fits, all.sound);
    kir_value goes = band(c, known, tly_look_combines(g, *carry, total, mark, 0));
    kir_value next = choose(c, takes, after, tly_lane_join(g, *carry, total));
    known = bor(c, holds, bor(c, takes, goes));
    *carry = choose(c, holds, tly_lane_join(g, base, all.value), next);
    emit_end(c, &l);
    return known;
}

static kir_value wait_for_carry(const tly_lane_look_back *s, kir_value base)
{
    tly_gpu *g = s->t->g;
    tly_build *c = &g->c;
    kir_value lacks = i1(c, 1), carry = base;
    tly_region looks = { .state = { &lacks, &carry } };
    tly_look_while(g, &looks);
    lacks = tly_not(c, look_at_tiles(s, base, &carry));
    emit_end(c, &looks);
    return carry;
}

/* ---- the whole of it ---- */

tly_lane_look_back tly_lane_look_back_of(tly_lanes *t, kir_value total, kir_value mark)
{
    tly_gpu *g = t->g;
    tly_build *c = &g->c;
    tly_lane_look_back s = { .t = t, .total = total, .mark = mark };
    s.leads = band(c, t->exists, is(g, t->span, 0));
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

static news tell_totals(const tly_lane_look_back *s)
{
    tly_gpu *g = s->t->g;
    tly_build *c = &g->c;
    news n = { { tly_neutral_window(c, c->acc), i1(c, 1) }, s->total, s->mark };
    tly_region leads = { .state = { &n.before.value, &n.before.sound, &n.v, &n.mark } };
    emit_if(c, &leads, s->leads);
    n.before = sum_totals(s);
    sum all = longer(g, n.before, s->total, s->mark);
    all.sound = bor(c, all.sound, tly_not(c, s->ends)); /* of others it is no matter */
    kir_value mark, group = summarise(s, all, &mark);
    n.v = choose(c, s->ends, group, s->total);
    n.mark = choose(c, s->ends, mark, s->mark);
    publish(s, band(c, s->ends, tly_not(c, s->stalls)), TOTAL, n.v, n.mark);
    emit_end(c, &leads);
    return n;
}

static kir_value find_carry(const tly_lane_look_back *s, const news *n, kir_value *open)
{
    tly_gpu *g = s->t->g;
    tly_build *c = &g->c;
    kir_value base = base_of(s), carry = tly_lane_join(g, base, n->before.value);
    publish(s, s->stalls, TOTAL, n->v, n->mark);
    kir_value told = band(c, s->ends, tly_look_combines(g, base, n->v, n->mark, 1));
    publish(s, told, AFTER, tly_lane_join(g, base, n->v), u32(g, TLY_MARK_VALUE));
    *open = band(c, s->ends, tly_not(c, told));
    if (tly_range_count(c) == 0)
        return carry;
    tly_region fails = { .state = { &carry } };
    emit_unless(c, &fails, band(c, n->before.sound, tly_gpu_fits_half(g, base)));
    carry = wait_for_carry(s, base);
    emit_end(c, &fails);
    return carry;
}

kir_value tly_lane_wait(tly_lane_look_back *s)
{
    tly_build *c = &s->t->g->c;
    kir_value carry = tly_neutral(c, c->acc);
    tly_region leads = { .state = { &carry, &s->open } };
    tell_start(s);
    publish(s, band(c, s->leads, tly_not(c, bor(c, s->ends, s->stalls))), TOTAL, s->total, s->mark);
    find_totals(s);
    kir_barrier(c->b);
    news n = tell_totals(s);
    find_groups(s);
    kir_barrier(c->b);
    s->open = s->ends;
    emit_if(c, &leads, s->leads);
    carry = find_carry(s, &n, &s->open);
    emit_end(c, &leads);
    return carry;
}

void tly_lane_publish(tly_lane_look_back *s, kir_value when, kir_value after)
{
    tly_build *c = &s->t->g->c;
    kir_value due = band(c, when, bor(c, tly_not(c, s->ends), s->open));
    publish(s, band(c, s->leads, due), AFTER, after, u32(s->t->g, TLY_MARK_VALUE));
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a tile of look-back waits for: the totals of its group and the group's base. Behind a tile
 * without a valid total it waits for the carry after that tile or a later one.
 */
#include "look_back.h"

kir_value tly_look_at(const tly_look_back *s, kir_value k, kir_value field)
{
    tly_gpu *g = s->g;
    tly_build *c = &g->c;
    kir_value number = add(c, mul(c, k, tly_gpu_items(g)), s->item->index);
    return tly_record_at(g, number, field);
}

kir_value tly_look_combines(tly_gpu *g, kir_value carry, kir_value total, kir_value mark, int group)
{
    tly_build *c = &g->c;
    unsigned low = 31 - TLY_UPPER_BITS;
    kir_value sort = band(c, mark, u32(g, (1 << TLY_MARK_BITS) - 1));
    kir_value good = is(g, sort, TLY_MARK_VALUE);
    if (tly_range_count(c) == 0)
        return good;
    kir_value distance = shl(c, lshr(c, mark, u32(g, TLY_MARK_BITS)), u32(g, low));
    distance = bor(c, distance, u32(g, (1 << low) - 1)); /* at most that far */
    kir_value fits = group ? tly_gpu_fits_half(g, carry) : tly_gpu_fits_any(g, carry);
    kir_value decided = tly_gpu_settled(g, carry, distance);
    if (!group)
        decided = bor(c, tly_gpu_prevails(g, total), decided);
    return bor(c, band(c, good, fits), band(c, is(g, sort, TLY_MARK_CLASSES), decided));
}

/* ---- a group's totals ---- */

/* Lane l gets that of the group's tile l, of those up to this one. */
static void wait_for_totals(tly_look_back *s)
{
    tly_gpu *g = s->g;
    tly_build *c = &g->c;
    kir_value exists = ult(c, s->team->lane, s->before);
    kir_value tile = choose(c, exists, add(c, s->first, s->team->lane), s->item->chunk);
    kir_value at = tly_look_at(s, tile, u32(g, TLY_TOTAL));
    kir_value none = tly_neutral_window(c, c->acc);
    kir_value lacks = i1(c, 1), total = none, mark = u32(g, 0);
    tly_region looks = { .state = { &lacks, &total, &mark } };
    tly_look_while(g, &looks);
    total = tly_record_look(g, none, at, 0, &mark);
    lacks = band(c, exists, is(g, mark, 0));
    lacks = tly_not(c, tly_group_all(g, s->team, tly_not(c, lacks)));
    emit_end(c, &looks);
    s->totals = choose(c, exists, total, s->total);
    s->marks = choose(c, exists, mark, s->mark);
}

/* A tree of as many steps as the logarithm of a group's tiles, the one by which a group scans. */
void tly_look_for_totals(tly_look_back *s)
{
    tly_gpu *g = s->g;
    tly_build *c = &g->c;
    wait_for_totals(s);
    if (tly_range_count(c) == 0) {
        s->sums = tly_group_scan_lanes(g, s->team, s->totals, NULL);
        return;
    }
    kir_value good = band(c, is(g, s->marks, TLY_MARK_VALUE), tly_gpu_fits_half(g, s->totals));
    s->sound = choose(c, good, u32(g, 1), u32(g, 0));
    s->sums = tly_group_scan_lanes(g, s->team, s->totals, &s->sound);
}

kir_value tly_look_sum(const tly_look_back *s, kir_value number, kir_value *sound)
{
    tly_gpu *g = s->g;
    *sound = i1(&g->c, 1);
    if (tly_range_count(&g->c) > 0)
        *sound = is(g, tly_group_from(g, s->team, s->sound, number), 1);
    return tly_group_from(g, s->team, s->sums, number);
}

/* A class as it stands; of a total its own, and its elements may be far from 1. */
void tly_look_add_classes(tly_gpu *g, kir_value *classes, kir_value total, kir_value mark)
{
    tly_build *c = &g->c;
    if (!tly_gpu_has_classes(g))
        return;
    kir_value good = is(g, mark, TLY_MARK_VALUE);
    kir_value far = choose(c, good, u32(g, TLY_GPU_FAR >> (31 - TLY_UPPER_BITS)),
                           lshr(c, mark, u32(g, TLY_MARK_BITS)));
    classes[0] = tly_combine(c, classes[0], choose(c, good, tly_gpu_class(g, total), total));
    classes[1] = umax(c, classes[1], far);
}

kir_value tly_look_summarise(const tly_look_back *s, kir_value sum, kir_value sound,
                             kir_value *mark)
{
    tly_gpu *g = s->g;
    tly_build *c = &g->c;
    *mark = u32(g, TLY_MARK_VALUE);
    kir_value classes[] = { tly_neutral_window(c, c->acc), u32(g, 0) };
    tly_region bad = { .state = { &sum, mark } }, l = { .state = { &classes[0], &classes[1] } };
    if (tly_range_count(c) == 0)
        return sum;
    emit_unless(c, &bad, sound);
    emit_for(c, &l, u32(g, 0), add(c, s->before, u32(g, 1)), u32(g, 1));
    tly_look_add_classes(g, classes, tly_group_from(g, s->team, s->totals, l.i),
                         tly_group_from(g, s->team, s->marks, l.i));
    emit_end(c, &l);
    sum = classes[0];
    *mark = tly_look_mark_classes(g, classes[1]);
    emit_end(c, &bad);
    return sum;
}

/* ---- groups ---- */

/* One look at this group, which is the last lane's, and those before: the latest base that is
 * there, combined with the totals of the groups from it on. i1: none was missing. */
static kir_value look_at_groups(const tly_look_back *s, kir_value *base)
{
    tly_gpu *g = s->g;
    tly_build *c = &g->c;
    tly_group *t = s->team;
    kir_value last = u32(g, t->width - 1), back = sub(c, last, t->lane), has, mark;
    kir_value exists = ule(c, back, s->group);
    kir_value group = choose(c, exists, sub(c, s->group, back), s->group);
    kir_value there = tly_record_look(g, tly_neutral(c, c->acc),
                                      tly_look_at(s, group, u32(g, TLY_GROUP_BASE)), 0, &has);
    kir_value total = tly_record_look(g, tly_neutral_window(c, c->acc),
                                      tly_look_at(s, group, u32(g, TLY_GROUP_TOTAL)), 0, &mark);
    has = band(c, exists, differ(c, has, u32(g, 0)));
    kir_value beyond = choose(c, has, add(c, t->lane, u32(g, 1)), u32(g, 0));
    beyond = tly_group_fold_lanes(g, t, KIR_UMAX, beyond);
    kir_value known = differ(c, beyond, u32(g, 0));
    kir_value from = choose(c, known, sub(c, beyond, u32(g, 1)), last);
    *base = tly_group_from(g, t, there, from);
    tly_region l = { .state = { &known, base } };
    emit_for(c, &l, from, last, u32(g, 1));
    kir_value next = tly_group_from(g, t, total, l.i), of = tly_group_from(g, t, mark, l.i);
    known = band(c, known, tly_look_combines(g, *base, next, of, 1));
    *base = tly_combine(c, *base, next);
    emit_end(c, &l);
    return known;
}

/* ---- behind a tile whose total is no use ---- */

/* One look at the tiles before in the group, from left to right. i1: none was missing. */
static kir_value look_at_tiles(const tly_look_back *s, kir_value *carry)
{
    tly_gpu *g = s->g;
    tly_build *c = &g->c;
    kir_value exists = ult(c, s->team->lane, s->before), has, sound;
    kir_value tile = choose(c, exists, add(c, s->first, s->team->lane), s->item->chunk);
    kir_value after = tly_record_look(g, tly_neutral(c, c->acc),
                                      tly_look_at(s, tile, u32(g, TLY_CARRY)), 0, &has);
    kir_value fits = tly_gpu_fits_half(g, s->base), known = i1(c, 1);
    tly_region l = { .state = { &known, carry } };
    *carry = s->base;
    emit_for(c, &l, u32(g, 0), s->before, u32(g, 1));
    kir_value total = tly_group_from(g, s->team, s->totals, l.i);
    kir_value mark = tly_group_from(g, s->team, s->marks, l.i);
    kir_value takes = differ(c, tly_group_from(g, s->team, has, l.i), u32(g, 0));
    kir_value goes = band(c, known, tly_look_combines(g, *carry, total, mark, 0));
    kir_value next = choose(c, takes, tly_group_from(g, s->team, after, l.i),
                            tly_combine(c, *carry, total));
    kir_value sum = tly_look_sum(s, l.i, &sound);
    sound = band(c, fits, sound);
    known = bor(c, sound, bor(c, takes, goes));
    *carry = choose(c, sound, tly_combine(c, s->base, sum), next);
    emit_end(c, &l);
    return known;
}

/* ---- waiting ---- */

/* Looks until nothing is missing. */
static kir_value wait_until(const tly_look_back *s,
                            kir_value (*look)(const tly_look_back *s, kir_value *found))
{
    tly_gpu *g = s->g;
    tly_build *c = &g->c;
    kir_value lacks = i1(c, 1), found = tly_neutral(c, c->acc);
    tly_region looks = { .state = { &lacks, &found } };
    tly_look_while(g, &looks);
    lacks = tly_not(c, look(s, &found));
    emit_end(c, &looks);
    return found;
}

void tly_look_for_base(tly_look_back *s)
{
    s->base = wait_until(s, look_at_groups);
}

kir_value tly_look_for_carry(const tly_look_back *s)
{
    return wait_until(s, look_at_tiles);
}

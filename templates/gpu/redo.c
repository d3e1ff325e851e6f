/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does a tile again whose local results cannot be combined with the carry. Its bits depend on plan
 * and data alone.
 *
 * Local results hold up to the first vector that left the range. From there on lanes take turns: a
 * lane takes the true prefix through its own few elements in serial order and hands it on. The
 * turns end once the prefix is settled: it is zero, infinite, NaN, or a subnormal that no element
 * here moves. The other results are this prefix combined with classes, a scan that is exact in
 * every order.
 *
 * A tile that has not kept its elements (rereads) holds only elements, or local results, or classes
 * in registers at a time, so that this rare path does not cost the common one registers. It loads
 * its elements twice, and stores results as soon as it knows them.
 */
#include "redo.h"

/* A lane's number among those of its scan that take turns. */
static kir_value place(tly_gpu *g, const tly_redo *r)
{
    return g->interleave == 1 ? r->team->lane : udiv(&g->c, r->team->lane, u32(g, g->interleave));
}

static void number_turns(tly_gpu *g, tly_redo *r)
{
    tly_build *c = &g->c;
    r->per = r->team->used / g->interleave;
    r->all = r->per * segments_of(g) * r->team->clusters;
    r->begin = mul(c, r->team->cluster, u32(g, r->per * segments_of(g)));
    r->own = add(c, r->begin, place(g, r));
}

/* The largest distance of this invocation's elements. */
static kir_value distance_of(tly_gpu *g, const tly_tile *tile)
{
    kir_value distance = u32(g, 0);
    for (unsigned i = 0; i < tly_gpu_elements(g) && tly_gpu_has_distance(g); i++)
        distance = umax(&g->c, distance, tly_gpu_distance(g, tile->x[i]));
    return distance;
}

/* The first turn of all lanes whose local results do not fit, and the largest distance. If only the
 * total does not fit, this is the last turn. */
static void find_first(tly_gpu *g, tly_redo *r)
{
    tly_build *c = &g->c;
    kir_value first = u32(g, r->all - 1), pair[2];
    for (unsigned s = 0; s < segments_of(g); s++) {
        kir_value own = add(c, r->own, u32(g, s * r->per));
        kir_value turn = umin(c, first, own);
        first = choose(c, tly_range_is_safe(c, r->tile->ranges[s], r->carry), first, turn);
    }
    if (r->team->used < r->team->width) { /* lanes without elements have no turn */
        kir_value idle = ule(c, u32(g, r->team->used), r->team->lane);
        first = choose(c, idle, u32(g, r->all - 1), first);
    }
    if (tly_gpu_has_distance(g)) { /* a largest and a smallest u32, as extremes are */
        pair[0] = r->distance;
        pair[1] = first;
        tly_group_fold_range(g, r->team, pair);
        r->distance = pair[0];
        first = pair[1];
    } else {
        first = tly_group_fold(g, r->team, KIR_UMIN, first);
    }
    /* The tree that made the prefix before this turn may have overflowed where all results before
     * have not. One turn earlier it has not, as the results of that turn show. */
    if (tly_checks_windows(c))
        first = sub(c, first, umin(c, first, u32(g, 1)));
    r->settled = tly_gpu_settled(g, r->carry, r->distance);
    first = choose(c, r->settled, u32(g, 0), first);
    r->first = g->interleave > 1 ? choose(c, r->fits, u32(g, r->all), first) : first;
}

/* The prefix before the first turn, from the lane whose turn it is, in its cluster. */
static kir_value prefix_before(tly_gpu *g, tly_redo *r)
{
    tly_build *c = &g->c;
    kir_value before = r->tile->before[0];
    for (unsigned s = 1; s < segments_of(g); s++) {
        kir_value its = equal(c, r->own, brought_back(g, r, r->first, s));
        before = choose(c, its, r->tile->before[s], before);
    }
    kir_value rounds = udiv(c, r->first, u32(g, r->per));
    kir_value lane = sub(c, r->first, mul(c, rounds, u32(g, r->per)));
    if (g->interleave > 1)
        lane = add(c, mul(c, lane, u32(g, g->interleave)), tly_group_scan_of(g, r->team));
    return tly_group_from(g, r->team, tly_combine(c, r->carry, before), lane);
}

static kir_value goes_on(tly_gpu *g, const tly_redo *r, kir_value prefix)
{
    return tly_not(&g->c, tly_gpu_settled(g, prefix, r->distance));
}

/* The prefix through a lane's own elements of a segment. */
static kir_value through(tly_gpu *g, const kir_value *x, kir_value prefix)
{
    for (unsigned v = 0; v < vector_of(g); v++)
        prefix = tly_combine(&g->c, prefix, x[v]);
    return prefix;
}

/* The cluster's turns in one segment. Interleaved scans may begin at different turns. */
static void take_turns(tly_gpu *g, tly_redo *r, unsigned s)
{
    tly_build *c = &g->c;
    int together = g->interleave > 1;
    const kir_value *x = tly_redo_elements(g, r, s);
    kir_value low = u32(g, 0), turns = u32(g, r->per);
    if (!together) {
        kir_value skipped = sub(c, brought_back(g, r, r->first, s), r->begin);
        skipped = choose(c, less(c, skipped, low), low, skipped);
        low = umin(c, skipped, turns);
    }
    tly_region l = { .state = { &r->goes_on, &r->prefix, &r->stop, &r->from[s] } };
    (together ? emit_for : emit_for_while)(c, &l, low, turns, u32(g, 1));
    kir_value mine = equal(c, place(g, r), l.i), lane = l.i;
    if (together)
        lane = add(c, mul(c, l.i, u32(g, g->interleave)), tly_group_scan_of(g, r->team));
    kir_value after = tly_group_from(g, r->team, through(g, x, r->prefix), lane);
    r->from[s] = choose(c, mine, r->prefix, r->from[s]);
    if (together) {
        kir_value due = at_most(c, brought_back(g, r, r->first, s), add(c, r->begin, l.i));
        r->prefix = choose(c, due, after, r->prefix);
    } else {
        r->prefix = after;
        r->goes_on = goes_on(g, r, after);
    }
    r->stop = add(c, r->stop, u32(g, 1));
    if (g->plan->scan == 0)
        tly_group_rest(g, r->team);
    emit_end(c, &l);
}

static void carry_walk(const tly_gpu *g, tly_region *region, tly_redo *r)
{
    *region = (tly_region){ .state = { &r->goes_on, &r->prefix, &r->stop } };
    emit_carry(region, segments_of(g), r->from);
}

/* One cluster after the other, which get the prefix through workgroup memory. */
static void take_turns_by_groups(tly_gpu *g, tly_redo *r)
{
    tly_build *c = &g->c;
    kir_value first = udiv(c, r->first, u32(g, r->per * segments_of(g)));
    tly_region l, its;
    carry_walk(g, &l, r);
    carry_walk(g, &its, r);
    emit_for_while(c, &l, first, u32(g, r->team->clusters), u32(g, 1));
    emit_if(c, &its, equal(c, r->team->cluster, l.i));
    kir_value begins = equal(c, l.i, first);
    kir_value begun = r->tile->rereads ? r->begun : prefix_before(g, r);
    r->prefix = choose(c, begins, begun, r->prefix);
    for (unsigned s = 0; s < segments_of(g); s++)
        take_turns(g, r, s);
    emit_end(c, &its);
    r->prefix = tly_group_from_group(g, r->team, r->prefix, l.i);
    r->stop = tly_group_from_group(g, r->team, r->stop, l.i);
    r->goes_on = goes_on(g, r, r->prefix);
    tly_group_rest(g, r->team);
    emit_end(c, &l);
}

static void walk(tly_gpu *g, tly_redo *r)
{
    tly_build *c = &g->c;
    r->goes_on = goes_on(g, r, r->carry);
    r->prefix = r->carry;
    r->stop = r->first;
    for (unsigned s = 0; s < segments_of(g); s++)
        r->from[s] = r->carry;
    if (r->team->clusters > 1) {
        tly_group_rest(g, r->team);
        take_turns_by_groups(g, r);
    } else {
        kir_value begun = r->tile->rereads ? r->begun : prefix_before(g, r);
        r->prefix = choose(c, r->settled, r->carry, begun);
        if (g->plan->scan == 0)
            tly_group_rest(g, r->team);
        for (unsigned s = 0; s < segments_of(g); s++)
            take_turns(g, r, s);
    }
    if (g->interleave > 1) { /* all of a scan's turns or none */
        r->prefix = choose(c, r->settled, r->carry, r->prefix);
        r->stop = choose(c, r->settled, u32(g, 0), u32(g, r->all));
    }
}

/* Loads and scans the elements again, and stores the results of all turns before the walk, so that
 * local results need no registers during it. Then the elements are loaded once more. In place, the
 * stored ones have been overwritten, but the walk does not use them. */
static void begin_again(tly_gpu *g, tly_redo *r)
{
    tly_tile *tile = r->tile;
    if (!tile->staged)
        tly_tile_load(g, r->team, r->extent->row, r->extent->count, tile);
    for (unsigned s = 0; s < segments_of(g) && tile->staged; s++)
        tly_redo_elements(g, r, s);
    for (unsigned s = 0; s < segments_of(g) && tile->spilled && !tile->staged; s++)
        tly_tile_spill_vector(g, tile, s, tile->x + (size_t)s * vector_of(g));
    r->distance = distance_of(g, tile);
    tly_group_scan(g, r->team, tile);
    tly_tile_find_range(g, tile);
    number_turns(g, r);
    find_first(g, r);
    r->begun = prefix_before(g, r);
    tly_redo_store_early(g, r);
    if (tile->heads)
        tly_tile_hide_heads(g, tile, 1);
    if (!tile->spilled)
        tly_tile_load(g, r->team, r->extent->row, r->extent->count, tile);
}

kir_value tly_tile_redo(tly_gpu *g, tly_group *t, const tly_gpu_extent *extent,
                        const tly_tile *tile, kir_value carry, kir_value fits, kir_value *shown)
{
    tly_build *c = &g->c;
    tly_tile rest = { .publish = NULL }, again = *tile;
    tly_redo r = { .team = t, .extent = extent, .tile = &again, .carry = carry, .fits = fits };
    int keeps = !tile->silent && !tile->rereads;
    if (tile->heads)
        tly_tile_hide_heads(g, &again, 0);
    if (tile->rereads) {
        begin_again(g, &r);
    } else {
        r.distance = distance_of(g, &again);
        number_turns(g, &r);
        find_first(g, &r);
    }
    walk(g, &r);
    if (keeps)
        tly_redo_show_turns(g, &r, shown);
    if (tile->rereads)
        tly_redo_store_walked(g, &r);
    tly_redo_scan_classes(g, &r, &rest);
    if (keeps)
        tly_redo_show_late(g, &r, &rest, shown);
    kir_value after = tly_combine(c, r.prefix, rest.total);
    if (g->interleave > 1)
        after = choose(c, fits, tly_tile_after(g, tile, carry), after);
    if (tile->summary) /* as tiles that look back compute it */
        after = choose(c, tly_gpu_prevails(g, tile->summary), tly_combine(c, carry, tile->summary),
                       after);
    if (tile->publish != NULL)
        tile->publish(g, tile->user, after);
    if (tile->rereads)
        tly_redo_store_late(g, &r, &rest);
    return after;
}

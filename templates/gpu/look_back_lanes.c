/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scans columns and interleaved rows that are too few to fill the device, and reads and writes
 * every element once. Workgroups take tiles of neighbouring lanes in order, by ticket, tile after
 * tile along the axis, so that a tile waits only for workgroups that have started. An invocation
 * holds a span of one lane in registers. A lane's spans are combined in workgroup memory. One
 * invocation of each lane publishes the result and looks back for the carry, as the tiles of a row
 * do (look_back.c); all invocations apply it.
 *
 * Local results may not hold after the carry (docs/range.md). The plain loop then goes through the
 * lane of this tile, span after span. Nothing has been written by then, and tiles are short.
 */
#include "look_back_lanes.h"

typedef struct scanned {
    kir_value x[TLY_GPU_MOST_ELEMENTS]; /* lifted */
    kir_value y[TLY_GPU_MOST_ELEMENTS]; /* inclusive prefixes from the tile's start */
    kir_value before, total;            /* the prefix before the piece; of the lane's tile */
    kir_value range[2];                 /* extremes of y and total in all of the lane's tile */
    kir_value published, mark;          /* what is published */
} scanned;

/* ---- the local scan ---- */

static void scan(tly_lanes *t, scanned *tile)
{
    tly_build *c = &t->g->c;
    int drifts = tly_gpu_may_drift(t->g, t->steps);
    tly_excess e = tly_excess_none(c);
    tile->y[0] = tile->x[0];
    for (unsigned i = 1; i < t->steps; i++)
        tile->y[i] = tly_combine(c, tile->y[i - 1], tile->x[i]);
    for (unsigned i = 0; i < t->steps && drifts; i++)
        tly_excess_add(c, &e, tile->x[i]);
    tly_lanes_scan(t, tile->y[t->steps - 1], drifts ? tly_excess_of(c, &e) : 0, &tile->before,
                   &tile->total);
    for (unsigned i = 0; i < t->steps; i++)
        tile->y[i] = tly_combine(c, tile->before, tile->y[i]);
}

static void find_extremes(tly_lanes *t, scanned *tile)
{
    tly_build *c = &t->g->c;
    kir_value range[2];
    if (tly_range_count(c) == 0)
        return;
    tly_range_begin(c, range);
    for (unsigned i = 0; i < t->steps; i++)
        tly_range_track(c, range, tile->y[i]);
    /* After a zero nothing of y may show an overflow that the total has had on another way. */
    tly_range_track(c, range, tile->total);
    tly_range_fold(c, range, tile->range);
    tly_lanes_fold(t, tile->range, tly_range_count(c));
}

/* Of this invocation's elements, read again a few at once, lest all tiles keep them in registers
 * for this. */
static void classes_of(tly_lanes *t, kir_value *summary)
{
    enum { AT_ONCE = 8 };
    tly_gpu *g = t->g;
    tly_build *c = &g->c;
    kir_value x[AT_ONCE];
    tly_region l = { .state = { &summary[0], &summary[1] } };
    tly_gpu_summary_begin(g, summary);
    kir_value first = mul(c, t->span, u32(g, t->steps));
    kir_value end = umin(c, add(c, first, u32(g, t->steps)), t->count);
    emit_for(c, &l, first, end, u32(g, AT_ONCE));
    for (unsigned i = 0; i < AT_ONCE; i++)
        x[i] = tly_lanes_element(t, add(c, l.i, u32(g, i)), end);
    for (unsigned i = 0; i < AT_ONCE; i++)
        tly_gpu_summary_add(g, summary, x[i]);
    emit_end(c, &l);
}

/* The total, or of lanes whose total holds after no carry the classes. */
static void summarise(tly_lanes *t, scanned *tile)
{
    tly_gpu *g = t->g;
    tly_build *c = &g->c;
    kir_value all, before, summary[2];
    tly_region some = { .state = { &tile->published, &tile->mark } };
    tile->published = tile->total;
    tile->mark = u32(g, TLY_MARK_VALUE);
    if (tly_range_count(c) == 0)
        return;
    kir_value good = tly_range_is_safe(c, tile->range, 0);
    if (!tly_gpu_has_classes(g)) {
        tile->published = choose(c, good, tile->published, tly_neutral_window(c, c->acc));
        tile->mark = choose(c, good, tile->mark, tly_look_mark_classes(g, u32(g, 0)));
        return;
    }
    emit_if(c, &some, tly_lanes_any(t, TLY_VOTE_TOTALS, band(c, t->exists, tly_not(c, good))));
    classes_of(t, summary);
    tly_lanes_scan(t, summary[0], 0, &before, &all);
    if (tly_gpu_has_distance(g))
        tly_lanes_fold(t, &summary[1], 1);
    kir_value classes = tly_look_mark_classes(g, tly_look_upper(g, summary[1]));
    tile->published = choose(c, good, tile->published, all);
    tile->mark = choose(c, good, tile->mark, classes);
    emit_end(c, &some);
}

/* ---- after the carry ---- */

static void show(tly_lanes *t, const scanned *tile, kir_value carry, kir_value *shown)
{
    tly_build *c = &t->g->c;
    for (unsigned i = 0; i < t->steps; i++) {
        kir_value local = !c->p->exclusive ? tile->y[i] : i == 0 ? tile->before : tile->y[i - 1];
        shown[i] = tly_combine(c, carry, local);
    }
}

/* The plain loop's results where the local ones do not fit, and the state after the tile.
 * Elements are read again, lest all tiles keep them in registers for this. */
static kir_value redo(tly_lanes *t, kir_value carry, kir_value when)
{
    tly_build *c = &t->g->c;
    kir_value x[TLY_GPU_MOST_ELEMENTS], after;
    tly_lanes_load(t, x);
    kir_value prefix = tly_lanes_walk(t, x, carry, &after);
    for (unsigned i = 0; i < t->steps; i++) {
        kir_value next = tly_combine(c, prefix, x[i]);
        x[i] = c->p->exclusive ? prefix : next;
        prefix = next;
    }
    tly_lanes_store(t, when, x);
    return after;
}

/* Stores what the elements show, and returns the carry after the tile: as those compute it who look
 * back, if they can. Whoever waits for it is told first. */
static kir_value finish(tly_lanes *t, const scanned *tile, tly_lane_look_back *s, kir_value carry)
{
    tly_gpu *g = t->g;
    tly_build *c = &g->c;
    kir_value after = tly_combine(c, carry, tile->total), shown[TLY_GPU_MOST_ELEMENTS];
    show(t, tile, carry, shown);
    if (tly_range_count(c) == 0) {
        tly_lanes_store(t, t->exists, shown);
        return after;
    }
    kir_value fits = tly_gpu_fits(g, tile->range, carry);
    kir_value known = tly_look_combines(g, carry, tile->published, tile->mark, 0);
    kir_value early = bor(c, fits, known);
    after = choose(c, known, tly_lane_join(g, carry, tile->published), after);
    tly_lane_publish(s, early, after);
    tly_lanes_store(t, band(c, t->exists, fits), shown);
    kir_value fails = band(c, t->exists, tly_not(c, fits));
    tly_region some = { .state = { &after } };
    emit_if(c, &some, tly_lanes_any(t, TLY_VOTE_RESULTS, fails));
    after = choose(c, early, after, redo(t, carry, fails));
    tly_lane_publish(s, tly_not(c, early), after);
    emit_end(c, &some);
    return after;
}

/* ---- the pass ---- */

/* Tiles of neighbouring lanes, then their next ones along the axis. i1: there is such a tile. */
static kir_value take_tile(tly_lanes *t, kir_value ticket)
{
    tly_gpu *g = t->g;
    tly_build *c = &g->c;
    kir_value lanes = u32(g, t->lanes), items = tly_gpu_items(g);
    kir_value blocks = add(c, items, u32(g, (int64_t)t->lanes - 1));
    blocks = udiv(c, blocks, lanes);
    kir_value number = udiv(c, ticket, blocks);
    kir_value block = sub(c, ticket, mul(c, number, blocks));
    kir_value index = add(c, mul(c, block, lanes), t->lane);
    t->exists = band(c, t->works, ult(c, index, items));
    t->item.chunk = number;
    t->item.index = umin(c, index, sub(c, items, u32(g, 1)));
    return ult(c, number, arg(c, KIR_ARG_CHUNKS));
}

static tly_lanes lanes_of(tly_gpu *g)
{
    tly_build *c = &g->c;
    const tly_gpu_plan *p = g->plan;
    unsigned workgroup = (unsigned)p->workgroup, lanes = (unsigned)p->group;
    tly_lanes t = { .g = g, .lanes = lanes, .steps = (unsigned)p->vectors_per_thread };
    t.spans = (unsigned)tly_gpu_lanes_spans(p);
    t.local = kir_get_id(c->b, KIR_ID_LOCAL);
    kir_value span = udiv(c, t.local, u32(g, lanes));
    t.lane = sub(c, t.local, mul(c, span, u32(g, lanes)));
    t.works = ult(c, span, u32(g, t.spans));
    t.span = choose(c, t.works, span, u32(g, 0));
    t.slots = kir_shared(c->b, 2 * workgroup * c->state_bytes);
    t.words = tly_range_count(c) > 0 ? kir_shared(c->b, 2 * workgroup * 8) : 0;
    t.flags = kir_shared(c->b, 16);
    t.found = kir_shared(c->b, TLY_GPU_LANES_FOUND * lanes * c->state_bytes);
    t.marks = kir_shared(c->b, TLY_GPU_LANES_FOUND * lanes * 4);
    if (tly_gpu_lanes_are_transposed(p->group))
        t.stage = kir_shared(c->b, (uint32_t)tly_gpu_lanes_stage_bytes(c->p, p));
    else if (tly_gpu_spills(c->p, p))
        t.stage = kir_shared(c->b, (uint32_t)tly_gpu_spilled_bytes(c->p, p));
    return t;
}

static void clear_flags(tly_lanes *t)
{
    tly_gpu *g = t->g;
    tly_build *c = &g->c;
    tly_region one = { 0 };
    emit_if(c, &one, is(g, t->local, 0));
    for (int64_t vote = 0; vote < TLY_VOTES; vote++)
        kir_store(c->b, t->flags, 4 * vote, u32(g, 0), 4, 0);
    emit_end(c, &one);
}

static void build(tly_gpu *g, unsigned pass)
{
    tly_build *c = &g->c;
    tly_lanes t = lanes_of(g);
    tly_region exists = { 0 }, last = { 0 };
    scanned tile;
    g->launch->pass[pass].items = TLY_ITEMS_TILES;
    g->launch->pass[pass].per_group = t.lanes;
    clear_flags(&t);
    emit_if(c, &exists, take_tile(&t, tly_look_draw(g)));
    tly_gpu_row row = tly_gpu_row_of(g, &t.item);
    kir_value begin = tly_gpu_chunk_begin(g, t.item.chunk);
    t.count = sub(c, arg(c, KIR_ARG_LENGTH), begin);
    t.at = tly_gpu_at(g, &row, begin);
    tly_lanes_load(&t, tile.x);
    scan(&t, &tile);
    find_extremes(&t, &tile);
    tly_lanes_spill(&t, tile.y);
    summarise(&t, &tile);
    tly_lane_look_back s = tly_lane_look_back_of(&t, tile.published, tile.mark);
    kir_value carry = tly_lanes_broadcast(&t, tly_lane_wait(&s));
    tly_lanes_reload(&t, tile.y);
    kir_value after = finish(&t, &tile, &s, carry);
    kir_value ends = at_most(c, t.count, u32(g, g->plan->chunk));
    emit_if(c, &last, band(c, ends, s.leads));
    tly_gpu_last_carry(g, &t.item, u32(g, 0), after);
    emit_end(c, &last);
    emit_end(c, &exists);
}

/* Of a dispatch: 64 lanes' records of f32 fill the scratch (runtime/launch/dispatches.c), and 2 to
 * 4 GiB of elements lie between two dispatches. */
enum { MOST_TILES = 240000 };

const tly_gpu_algorithm tly_gpu_look_back_lanes_algorithm = {
    .build = build,
    .passes = { "scan" },
    .record_bytes = tly_gpu_look_back_lanes_bytes,
    .ticket_bytes = TLY_GPU_TICKET_LINE,
    .most_chunks = MOST_TILES,
    .carries_late = 1,
};

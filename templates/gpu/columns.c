/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One invocation scans one lane, or several neighbours at once, in serial order. Neighbouring
 * invocations take neighbouring lanes, so that a subgroup's loads lie together. This template also
 * serves all scans that must have serial order, and rows that are too short for a group.
 * Lanes that are too few to fill the device are cut into chunks, in three passes: totals, carries
 * (carries_apart.c), scans.
 */
#include "gpu.h"

#include <string.h>

/* Positions of a trip: their loads overlap within an invocation. */
static unsigned ahead(const tly_gpu *g)
{
    return (unsigned)g->plan->vectors_per_thread;
}

/* Trips of one lane and so many positions are fetched ahead. Plans for GPUs have them. */
enum { FETCHED_AHEAD = 16 };

typedef struct strip {
    const tly_gpu_row *row;
    const tly_gpu_item *item; /* of words whose segments have states; else NULL */
    tly_gpu_segment segment;  /* the one that is at hand; positions count from ... */
    kir_value first;          /* ... that of the dispatch which is the row's */
    int storing;
    int vectors;                      /* lanes are accessed by vectors, or one by one */
    int classes;                      /* states are classes, and the distance is tracked */
    int drifts;                       /* the excess is tracked */
    unsigned tracked;                 /* of each lane beside its carry: extremes, or the distance;
                                         behind extremes the excess, if it is asked for */
    kir_value state[KIR_MAX_CARRIED]; /* each lane's carry, then what it tracks */
} strip;

static kir_value *tracked_of(const tly_gpu *g, strip *s, unsigned lane)
{
    return s->state + g->lanes + lane * s->tracked;
}

static void carry_states(const tly_gpu *g, tly_region *r, strip *s)
{
    emit_carry(r, g->lanes * (1 + s->tracked), s->state);
    if (s->item != NULL) {
        emit_carry(r, 1, &s->segment.number);
        emit_carry(r, 1, &s->segment.end);
    }
}

/* The lanes' elements at one position. */
static void fetch(tly_gpu *g, const strip *s, kir_value in, unsigned after, kir_value *stored)
{
    int64_t offset;
    kir_value p = tly_gpu_near(g, s->row, TLY_IN, in, after, &offset);
    if (s->vectors)
        tly_gpu_fetch_vector(g, p, offset, stored, g->lanes);
    else
        for (unsigned k = 0; k < g->lanes; k++)
            stored[k] = tly_gpu_fetch(g, p, offset + k * g->c.bytes[TLY_IN]);
}

static void put(tly_gpu *g, const strip *s, kir_value out, unsigned after, const kir_value *stored)
{
    int64_t offset;
    kir_value p = tly_gpu_near(g, s->row, TLY_OUT, out, after, &offset);
    if (s->vectors)
        tly_gpu_put_vector(g, p, offset, stored, g->lanes);
    else
        for (unsigned k = 0; k < g->lanes; k++)
            tly_gpu_put(g, p, offset + k * g->c.bytes[TLY_OUT], stored[k]);
}

static void follow(tly_gpu *g, kir_value *tracked, kir_value x)
{
    tly_excess e = { tracked[0], tracked[1] };
    tly_excess_add(&g->c, &e, x);
    tracked[0] = e.product;
    tracked[1] = e.lowest;
}

/* Before a head the states of its segment are loaded, ... */
static void begin_segment(tly_gpu *g, strip *s, kir_value position)
{
    tly_build *c = &g->c;
    tly_region begins = { 0 };
    carry_states(g, &begins, s);
    emit_if(c, &begins, tly_gpu_is_head(g, position));
    s->segment = tly_gpu_segment_at(g, position);
    for (unsigned k = 0; k < g->lanes; k++)
        s->state[k] = tly_gpu_segment_start(g, s->item, u32(g, k), s->segment.number);
    emit_end(c, &begins);
}

/* ... and stored behind its last position. */
static void end_segment(tly_gpu *g, const strip *s, kir_value position)
{
    tly_build *c = &g->c;
    tly_region ends = { 0 };
    emit_if(c, &ends, equal(c, add(c, position, u32(g, 1)), s->segment.end));
    for (unsigned k = 0; k < g->lanes; k++)
        tly_gpu_segment_finish(g, s->item, u32(g, k), s->segment.number, s->state[k]);
    emit_end(c, &ends);
}

/* One step of the plain loop, `after` positions behind `position`, whose result goes to `out`. */
static void step(tly_gpu *g, strip *s, kir_value position, kir_value out, unsigned after,
                 const kir_value *x)
{
    tly_build *c = &g->c;
    const tly_gpu_extent extent = { .row = s->row };
    const tly_place first = tly_gpu_place(&extent, position);
    kir_value shown[TLY_GPU_MOST_ELEMENTS];
    kir_value here_at = s->item != NULL ? add(c, add(c, s->first, position), u32(g, after)) : 0;
    if (s->item != NULL)
        begin_segment(g, s, here_at);
    for (unsigned k = 0; k < g->lanes; k++) {
        const tly_place here = tly_place_after(first, after, k);
        kir_value each = tly_gpu_element(g, &here, x[k]), *tracked = tracked_of(g, s, k);
        if (s->classes && s->tracked > 0)
            *tracked = umax(c, *tracked, tly_gpu_distance(g, each));
        if (s->classes)
            each = tly_gpu_class(g, each);
        kir_value next = tly_combine(c, s->state[k], each);
        if (s->storing) {
            kir_value result = tly_gpu_show(g, &here, c->p->exclusive ? s->state[k] : next);
            shown[k] = tly_gpu_narrow(g, result);
        } else if (!s->classes && s->tracked > 0) {
            tly_range_track(c, tracked, next);
        }
        if (s->drifts)
            follow(g, tracked + tly_range_count(c), each);
        s->state[k] = next;
    }
    if (s->storing)
        put(g, s, out, after, shown);
    if (s->item != NULL)
        end_segment(g, s, here_at);
}

/* A trip: `at_once` positions from this one. */
static void fetch_trip(tly_gpu *g, const strip *s, kir_value position, unsigned at_once,
                       kir_value *x)
{
    kir_value in = tly_gpu_address(g, s->row, TLY_IN, position);
    for (unsigned i = 0; i < at_once; i++)
        fetch(g, s, in, i, x + i * g->lanes);
}

static void take_trip(tly_gpu *g, strip *s, kir_value position, unsigned at_once,
                      const kir_value *x)
{
    kir_value out = s->storing ? tly_gpu_address(g, s->row, TLY_OUT, position) : 0;
    for (unsigned i = 0; i < at_once; i++)
        step(g, s, position, out, i, x + i * g->lanes);
}

/* Positions [from, to) by `at_once`; their number is a multiple of it. */
static void run(tly_gpu *g, strip *s, kir_value from, kir_value to, unsigned at_once)
{
    tly_build *c = &g->c;
    kir_value x[TLY_GPU_MOST_ELEMENTS];
    tly_region l = { 0 };
    carry_states(g, &l, s);
    emit_for(c, &l, from, to, u32(g, at_once));
    fetch_trip(g, s, l.i, at_once, x);
    take_trip(g, s, l.i, at_once, x);
    emit_end(c, &l);
}

/* The same from 0 on, at least one trip. The next trip's elements are loaded while those of this
 * one are combined and stored. The loop does two trips at a time: with one, it would move the
 * loaded elements at its end, and so wait for them. No load is in a branch, as compilers wait
 * behind those: beyond `to` the last trip's elements are loaded again. */
static void run_ahead(tly_gpu *g, strip *s, kir_value to, unsigned at_once)
{
    tly_build *c = &g->c;
    kir_value x[TLY_GPU_MOST_ELEMENTS], y[TLY_GPU_MOST_ELEMENTS], by = u32(g, at_once);
    kir_value last = sub(c, to, by);
    tly_region l = { 0 }, more = { 0 };
    carry_states(g, &l, s);
    emit_carry(&l, at_once * g->lanes, x);
    carry_states(g, &more, s);
    fetch_trip(g, s, u32(g, 0), at_once, x);
    emit_for(c, &l, u32(g, 0), to, u32(g, 2 * at_once));
    kir_value second = add(c, l.i, by), third = add(c, second, by);
    fetch_trip(g, s, umin(c, second, last), at_once, y);
    take_trip(g, s, l.i, at_once, x);
    fetch_trip(g, s, umin(c, third, last), at_once, x);
    emit_if(c, &more, ult(c, second, to));
    take_trip(g, s, second, at_once, y);
    emit_end(c, &more);
    emit_end(c, &l);
}

/* All of [0, count): whole trips, then the rest one by one. Trips that fit twice into registers are
 * fetched ahead. Those of narrow elements have half the positions, as their conversions are most of
 * the code. */
static void in_trips(tly_gpu *g, strip *s, kir_value count)
{
    tly_build *c = &g->c;
    unsigned trip = ahead(g);
    int fetches_ahead = trip == FETCHED_AHEAD && g->lanes == 1;
    if (fetches_ahead && c->bytes[TLY_IN] < 4)
        trip /= 2;
    kir_value whole = u32(g, 0);
    if (trip > 1)
        whole = band(c, count, u32(g, -(int64_t)trip));
    if (fetches_ahead) {
        tly_region some = { 0 };
        carry_states(g, &some, s);
        emit_if(c, &some, differ(c, whole, u32(g, 0)));
        run_ahead(g, s, whole, trip);
        emit_end(c, &some);
    } else if (trip > 1) {
        run(g, s, u32(g, 0), whole, trip);
    }
    run(g, s, whole, count, 1);
}

/* From the state and to it. */
static void along(tly_gpu *g, strip *s, kir_value count)
{
    tly_build *c = &g->c;
    if (!tly_gpu_has_vectors(g)) {
        in_trips(g, s, count);
        return;
    }
    tly_region aligned = { 0 };
    carry_states(g, &aligned, s);
    emit_if(c, &aligned, tly_gpu_flag(g, TLY_GPU_ALIGNED));
    s->vectors = 1;
    in_trips(g, s, count);
    emit_else(c, &aligned);
    s->vectors = 0;
    run(g, s, u32(g, 0), count, 1);
    emit_end(c, &aligned);
}

/* From neutral windows: classes, and the largest distance, of all elements. */
static void classify(tly_gpu *g, strip *s, kir_value count)
{
    tly_build *c = &g->c;
    for (unsigned k = 0; k < g->lanes; k++) {
        s->state[k] = tly_neutral_window(c, c->acc);
        if (s->tracked > 0)
            *tracked_of(g, s, k) = u32(g, 0);
    }
    if (tly_gpu_has_classes(g))
        along(g, s, count);
}

/* Publishes the classes of lanes whose totals are bad. `range`: two values a lane. */
static void summarise(tly_gpu *g, const tly_gpu_row *at, kir_value count, kir_value *all,
                      kir_value *range)
{
    tly_build *c = &g->c;
    strip s = { .row = at, .classes = 1, .tracked = (unsigned)tly_gpu_has_distance(g) };
    kir_value good[TLY_GPU_MOST_ELEMENTS], all_good = i1(c, 1);
    tly_region fine = { 0 };
    for (unsigned k = 0; k < g->lanes; k++) {
        good[k] = tly_range_is_safe(c, range + 2 * k, 0);
        all_good = band(c, all_good, good[k]);
        emit_carry(&fine, 1, all + k);
        emit_carry(&fine, tly_range_count(c), range + 2 * k);
    }
    emit_unless(c, &fine, all_good);
    classify(g, &s, count);
    for (unsigned k = 0; k < g->lanes; k++) {
        kir_value summary[2] = { s.state[k], s.tracked > 0 ? *tracked_of(g, &s, k) : 0 };
        tly_gpu_publish(g, good[k], summary, all + k, range + 2 * k);
    }
    emit_end(c, &fine);
}

static void total(tly_gpu *g, const tly_gpu_item *item, const tly_gpu_row *row)
{
    tly_build *c = &g->c;
    kir_value begin = tly_gpu_chunk_begin(g, item->chunk), range[2 * TLY_GPU_MOST_ELEMENTS];
    kir_value count = tly_gpu_chunk_count(g, begin);
    tly_gpu_row at = tly_gpu_at(g, row, begin);
    strip s = { .row = &at,
                .tracked = tly_range_count(c),
                .drifts = tly_gpu_may_drift(g, g->plan->chunk) };
    const tly_excess none = tly_excess_none(c);
    s.tracked += s.drifts ? 2 : 0;
    for (unsigned k = 0; k < g->lanes; k++) {
        s.state[k] = tly_neutral_window(c, c->acc);
        tly_range_begin(c, tracked_of(g, &s, k));
        if (s.drifts)
            memcpy(tracked_of(g, &s, k) + tly_range_count(c), &none, sizeof none);
    }
    along(g, &s, count);
    for (unsigned k = 0; k < g->lanes && s.tracked > 0; k++)
        tly_range_fold(c, tracked_of(g, &s, k), range + 2 * k);
    for (unsigned k = 0; k < g->lanes && s.drifts; k++) {
        tly_excess e;
        memcpy(&e, tracked_of(g, &s, k) + tly_range_count(c), sizeof e);
        s.state[k] = tly_excess_correct(c, tly_excess_of(c, &e), s.state[k]);
    }
    if (s.tracked > 0)
        summarise(g, &at, count, s.state, range);
    kir_value record = tly_gpu_record_at(g, item->record);
    for (unsigned k = 0; k < g->lanes; k++) {
        tly_store_state(c, record, k * c->state_bytes, s.state[k], c->acc_bytes);
        tly_gpu_save_range(g, record, u32(g, k), range + 2 * k);
    }
}

/* Positions of a trip in tly_gpu_scan_serially, whose plan may be one of rows. */
enum { ALONE_AHEAD = 8 };

kir_value tly_gpu_scan_serially(tly_gpu *g, const tly_gpu_row *row, kir_value count,
                                kir_value carry)
{
    tly_gpu_plan plan = *g->plan;
    tly_gpu alone = *g;
    strip s = { .row = row, .state = { carry } };
    plan.vectors_per_thread = ALONE_AHEAD;
    alone.plan = &plan;
    alone.lanes = 1;
    in_trips(&alone, &s, count);
    return s.state[0];
}

/* Positions of the dispatch that lie in segments. */
static void in_segments(tly_gpu *g, strip *s, const tly_gpu_item *item)
{
    tly_build *c = &g->c;
    kir_value first = tly_gpu_has_part(g) ? g->part.first : u32(g, 0);
    const tly_gpu_row at = tly_gpu_at(g, s->row, first);
    s->row = &at;
    if (tly_gpu_has_segment_states(g)) {
        s->item = item;
        s->first = first;
        s->segment = tly_gpu_segment_at(g, first);
    }
    along(g, s, tly_gpu_has_part(g) ? g->part.count : arg(c, KIR_ARG_LENGTH));
    s->item = NULL;
}

static void scan(tly_gpu *g, const tly_gpu_item *item, const tly_gpu_row *row)
{
    tly_build *c = &g->c;
    strip s = { .row = row, .storing = 1 };
    if (!tly_gpu_has_chunks(g)) {
        for (unsigned k = 0; k < g->lanes; k++)
            s.state[k] = tly_gpu_first_carry(g, item, u32(g, k));
        if (c->p->segmented != TLY_SEGMENTED_NOT)
            in_segments(g, &s, item);
        else
            along(g, &s, arg(c, KIR_ARG_LENGTH));
        for (unsigned k = 0; k < g->lanes; k++)
            tly_gpu_last_carry(g, item, u32(g, k), s.state[k]);
        return;
    }
    kir_value begin = tly_gpu_chunk_begin(g, item->chunk);
    tly_gpu_row at = tly_gpu_at(g, row, begin);
    s.row = &at;
    kir_value record = tly_gpu_record_at(g, item->record);
    for (unsigned k = 0; k < g->lanes; k++)
        s.state[k] = tly_load_state(c, record, k * c->state_bytes, 1, c->acc_bytes);
    along(g, &s, tly_gpu_chunk_count(g, begin));
}

static void build(tly_gpu *g, unsigned pass)
{
    tly_build *c = &g->c;
    int chunks = tly_gpu_has_chunks(g);
    unsigned workgroup = g->launch->pass[pass].workgroup;
    g->launch->pass[pass].items = chunks ? TLY_ITEMS_CHUNKS : TLY_ITEMS_ROWS;
    g->launch->pass[pass].per_group = workgroup;
    kir_value local = kir_get_id(c->b, KIR_ID_LOCAL);
    kir_value number = add(c, mul(c, tly_gpu_group(g), u32(g, workgroup)), local);
    tly_gpu_item item = tly_gpu_item_of(g, number, chunks);
    tly_region exists = { 0 };
    emit_if(c, &exists, item.valid);
    tly_gpu_row row = tly_gpu_row_of(g, &item);
    if (chunks && pass == TLY_GPU_PASS_TOTALS)
        total(g, &item, &row);
    else
        scan(g, &item, &row);
    emit_end(c, &exists);
}

const tly_gpu_algorithm tly_gpu_columns_algorithm = {
    .build = build,
    .passes = TLY_GPU_THREE_PASSES,
    .record_bytes = tly_gpu_record_bytes,
    .carries_apart = 1,
};

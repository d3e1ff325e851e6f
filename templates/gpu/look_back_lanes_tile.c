/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tile of lanes in memory. If its lanes fill a line, each invocation accesses the span that it
 * holds, as neighbouring invocations access neighbouring lanes. Fewer lanes are transposed: the
 * tile is accessed in memory's order, position after position, and goes through workgroup memory to
 * the invocations that hold its spans.
 */
#include "look_back_lanes.h"

static int is_transposed(const tly_lanes *t)
{
    return tly_gpu_lanes_are_transposed((int32_t)t->lanes);
}

/* ---- who accesses what ---- */

static kir_value held(tly_lanes *t)
{
    return mul(&t->g->c, t->span, u32(t->g, t->steps));
}

static kir_value address_held(tly_build *c, const tly_place *at, int tensor)
{
    tly_lanes *t = (tly_lanes *)at->of;
    const tly_gpu_extent tile = { .row = &t->at, .count = t->count };
    const tly_place first = tly_gpu_place(&tile, held(t));
    const tly_place here = tly_place_after(first, at->more_positions, 0);
    return here.address(c, &here, tensor);
}

static kir_value begins_held(tly_build *c, const tly_place *at)
{
    tly_lanes *t = (tly_lanes *)at->of;
    const tly_gpu_extent tile = { .row = &t->at, .count = t->count };
    if (at->more_positions > 0)
        return 0;
    const tly_place first = tly_gpu_place(&tile, held(t));
    return first.begins(c, &first);
}

static kir_value where_held(tly_build *c, const tly_place *at)
{
    tly_lanes *t = (tly_lanes *)at->of;
    const tly_gpu_extent tile = { .row = &t->at, .count = t->count };
    const tly_place first = tly_gpu_place(&tile, held(t));
    const tly_place here = tly_place_after(first, at->more_positions, 0);
    return here.where(c, &here);
}

/* Of the i-th element that it holds. */
static tly_place place_held(tly_lanes *t, unsigned i)
{
    tly_place here = { .address = address_held,
                       .begins = begins_held,
                       .where = where_held,
                       .of = t,
                       .more_positions = i };
    if (t->at.index != 0) {
        here.position = held(t);
        here.from = t->at.index;
    }
    return here;
}

/* The first position that an invocation accesses, and how many behind it its i-th lies. */
static kir_value accessed(tly_lanes *t)
{
    return is_transposed(t) ? t->span : held(t);
}

static unsigned after(const tly_lanes *t, unsigned i)
{
    return is_transposed(t) ? i * t->spans : i;
}

static kir_value is_whole(tly_lanes *t)
{
    return at_most(&t->g->c, u32(t->g, t->spans * t->steps), t->count);
}

/* ---- transposing ---- */

static unsigned slot_bytes(const tly_lanes *t)
{
    return tly_gpu_transposed_slot(t->g->c.p);
}

/* Slots of a span: odd, so that neighbouring spans' are in different banks. */
static unsigned pitch(const tly_lanes *t)
{
    return (t->lanes * t->steps) | 1;
}

static kir_value stage_at(tly_lanes *t, kir_value span, kir_value step)
{
    tly_gpu *g = t->g;
    tly_build *c = &g->c;
    kir_value number = add(c, mul(c, step, u32(g, t->lanes)), t->lane);
    number = add(c, mul(c, span, u32(g, pitch(t))), number);
    return ptradd(c, t->stage, mul(c, number, u32(g, slot_bytes(t))));
}

/* Where the i-th element that the invocation accesses is held. */
static kir_value slot_of(tly_lanes *t, unsigned i, int64_t *offset)
{
    tly_gpu *g = t->g;
    tly_build *c = &g->c;
    unsigned near = t->spans % t->steps == 0 ? 0 : i;
    *offset = (int64_t)(after(t, i - near) / t->steps) * pitch(t) * slot_bytes(t);
    kir_value steps = u32(g, t->steps), position = add(c, accessed(t), u32(g, after(t, near)));
    kir_value span = udiv(c, position, steps);
    return stage_at(t, span, sub(c, position, mul(c, span, steps)));
}

static kir_value own_slot(tly_lanes *t, unsigned i, int64_t *offset)
{
    *offset = (int64_t)i * t->lanes * slot_bytes(t);
    return stage_at(t, t->span, u32(t->g, 0));
}

/* From who has the elements to who wants them; one of the two holds them. */
static void transpose(tly_lanes *t, int in, kir_value *v)
{
    tly_build *c = &t->g->c;
    kir_type type = type_of(c, v[0]);
    unsigned bytes = kir_kind_bits((kir_kind)type.kind) / 8;
    tly_region works = { 0 };
    emit_if(c, &works, t->works);
    for (unsigned i = 0; i < t->steps; i++) {
        int64_t offset = 0;
        kir_value p = in ? slot_of(t, i, &offset) : own_slot(t, i, &offset);
        kir_store(c->b, p, offset, v[i], bytes, 0);
    }
    emit_end(c, &works);
    kir_barrier(c->b);
    for (unsigned i = 0; i < t->steps; i++) {
        int64_t offset = 0;
        kir_value p = in ? own_slot(t, i, &offset) : slot_of(t, i, &offset);
        v[i] = kir_load(c->b, type, p, offset, bytes);
    }
}

/* ---- spilling ---- */

/* Neighbouring invocations in neighbouring u32; of transposed tiles where its own elements have
 * been. */
static kir_value spilled_at(tly_lanes *t, unsigned i, int64_t *offset)
{
    tly_gpu *g = t->g;
    tly_build *c = &g->c;
    if (is_transposed(t))
        return own_slot(t, i, offset);
    *offset = (int64_t)i * g->plan->workgroup * c->acc_bytes;
    return ptradd(c, t->stage, mul(c, t->local, u32(g, c->acc_bytes)));
}

void tly_lanes_spill(tly_lanes *t, const kir_value *y)
{
    tly_build *c = &t->g->c;
    tly_region works = { 0 };
    if (!tly_gpu_spills(c->p, t->g->plan))
        return;
    emit_if(c, &works, t->works);
    for (unsigned i = 0; i < t->steps; i++) {
        int64_t offset;
        kir_value p = spilled_at(t, i, &offset);
        kir_store(c->b, p, offset, y[i], c->acc_bytes, 0);
    }
    emit_end(c, &works);
}

void tly_lanes_reload(tly_lanes *t, kir_value *y)
{
    tly_build *c = &t->g->c;
    for (unsigned i = 0; i < t->steps && tly_gpu_spills(c->p, t->g->plan); i++) {
        int64_t offset;
        kir_value p = spilled_at(t, i, &offset);
        y[i] = kir_load(c->b, c->acc, p, offset, c->acc_bytes);
    }
}

/* ---- from memory ---- */

/* A tile that is not `whole` repeats the last position in the place of those beyond it. */
static void fetch(tly_lanes *t, int whole, kir_value *stored)
{
    tly_gpu *g = t->g;
    tly_build *c = &g->c;
    kir_value from = accessed(t), last = sub(c, t->count, u32(g, 1));
    kir_value first = tly_gpu_address(g, &t->at, TLY_IN, from);
    for (unsigned i = 0; i < t->steps; i++) {
        int64_t offset = 0;
        kir_value p;
        if (whole) {
            p = tly_gpu_near(g, &t->at, TLY_IN, first, after(t, i), &offset);
        } else {
            kir_value position = add(c, from, u32(g, after(t, i)));
            p = tly_gpu_address(g, &t->at, TLY_IN, umin(c, position, last));
        }
        stored[i] = tly_gpu_fetch(g, p, offset);
    }
}

/* In place, from what is stored to states; `whole`: all positions exist. */
static void lift(tly_lanes *t, int whole, kir_value *x)
{
    tly_gpu *g = t->g;
    tly_build *c = &g->c;
    kir_value left = sub(c, t->count, held(t)), neutral = tly_neutral_window(c, c->acc);
    for (unsigned i = 0; i < t->steps; i++) {
        const tly_place here = place_held(t, i);
        x[i] = tly_gpu_element(g, &here, x[i]);
        if (!whole)
            x[i] = choose(c, less(c, u32(g, i), left), x[i], neutral);
    }
}

static void load(tly_lanes *t, int whole, kir_value *x)
{
    fetch(t, whole, x);
    lift(t, whole, x);
}

/* What tiles that are not whole ask of each position is asked on their way alone: a compiler that
 * found the same questions where elements are read again would keep the answers in registers from
 * here to there, while the tile waits. */
static void by_two_ways(tly_lanes *t, void (*way)(tly_lanes *t, int whole, kir_value *x),
                        kir_value *x)
{
    tly_build *c = &t->g->c;
    tly_region whole = { 0 };
    emit_carry(&whole, t->steps, x);
    emit_if(c, &whole, is_whole(t));
    way(t, 1, x);
    emit_else(c, &whole);
    way(t, 0, x);
    emit_end(c, &whole);
}

void tly_lanes_load(tly_lanes *t, kir_value *x)
{
    if (is_transposed(t)) {
        by_two_ways(t, fetch, x);
        transpose(t, 1, x);
        by_two_ways(t, lift, x);
    } else {
        by_two_ways(t, load, x);
    }
}

kir_value tly_lanes_element(tly_lanes *t, kir_value position, kir_value end)
{
    tly_gpu *g = t->g;
    tly_build *c = &g->c;
    kir_value there = umin(c, position, sub(c, end, u32(g, 1)));
    kir_value x = tly_gpu_fetch(g, tly_gpu_address(g, &t->at, TLY_IN, there), 0);
    const tly_gpu_extent tile = { .row = &t->at, .count = end };
    const tly_place here = tly_gpu_place(&tile, position);
    x = tly_gpu_element(g, &here, x);
    return choose(c, less(c, position, end), x, tly_neutral_window(c, c->acc));
}

/* ---- to memory ---- */

static void put(tly_lanes *t, kir_value first, unsigned i, kir_value stored)
{
    int64_t offset;
    kir_value p = tly_gpu_near(t->g, &t->at, TLY_OUT, first, after(t, i), &offset);
    tly_gpu_put(t->g, p, offset, stored);
}

void tly_lanes_store(tly_lanes *t, kir_value when, const kir_value *states)
{
    tly_gpu *g = t->g;
    tly_build *c = &g->c;
    kir_value stored[TLY_GPU_MOST_ELEMENTS] = { 0 };
    tly_region exists = { 0 }, whole = { 0 };
    for (unsigned i = 0; i < t->steps; i++) {
        const tly_place here = place_held(t, i);
        stored[i] = tly_gpu_narrow(g, tly_gpu_show(g, &here, states[i]));
    }
    if (is_transposed(t))
        transpose(t, 0, stored);
    kir_value left = sub(c, t->count, accessed(t));
    emit_if(c, &exists, when);
    kir_value first = tly_gpu_address(g, &t->at, TLY_OUT, accessed(t)), all = is_whole(t);
    if (tly_gpu_has_part(g))
        all = band(c, all, tly_gpu_in_part(g, tly_gpu_moved(g, &t->at), t->spans * t->steps));
    emit_if(c, &whole, all);
    for (unsigned i = 0; i < t->steps; i++)
        put(t, first, i, stored[i]);
    emit_else(c, &whole);
    for (unsigned i = 0; i < t->steps; i++) {
        tly_region there = { 0 };
        kir_value is_there = less(c, u32(g, after(t, i)), left);
        if (tly_gpu_has_part(g)) {
            kir_value position = add(c, accessed(t), u32(g, after(t, i)));
            position = add(c, tly_gpu_moved(g, &t->at), position);
            is_there = band(c, is_there, tly_gpu_in_part(g, position, 1));
        }
        emit_if(c, &there, is_there);
        put(t, first, i, stored[i]);
        emit_end(c, &there);
    }
    emit_end(c, &whole);
    emit_end(c, &exists);
}

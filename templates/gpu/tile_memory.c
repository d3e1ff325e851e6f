/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads a tile of a row as states and stores its results. Nothing beyond the row's end is read: a
 * lane there reads the last element again and takes the neutral state. Aligned rows are accessed by
 * vectors, except for the elements behind the last whole one.
 */
#include "gpu.h"

#include <string.h>

kir_value tly_tile_reach(tly_gpu *g, const tly_group *t, kir_value count)
{
    tly_build *c = &g->c;
    if (t->used == t->width)
        return count;
    kir_value idle = ule(c, u32(g, t->used), t->lane);
    return choose(c, idle, u32(g, 0), count);
}

/* i1: all of the tile exists, and rows are aligned. Wide plans have code for unaligned rows. */
static kir_value full(tly_gpu *g, const tly_group *t, kir_value count)
{
    tly_build *c = &g->c;
    kir_value whole = at_most(c, u32(g, t->tile), count);
    return g->plan->wide ? whole : band(c, whole, tly_gpu_flag(g, TLY_GPU_ALIGNED));
}

/* ---- vectors of a row ---- */

/* `first`: the address of the invocation's first position; `after`: positions from there. */
static void put_vector(tly_gpu *g, const tly_gpu_row *at, kir_value first, unsigned after,
                       const kir_value *stored)
{
    int64_t offset;
    kir_value p = tly_gpu_near(g, at, TLY_OUT, first, after, &offset);
    tly_gpu_put_along(g, p, offset, at->tensor[TLY_OUT].known, stored, vector_of(g));
}

/* The positions of the tile that whole vectors take. */
static kir_value whole_vectors(tly_gpu *g, kir_value count)
{
    return band(&g->c, count, u32(g, -(int64_t)vector_of(g)));
}

/* i1: the row ends within the tile and within a vector, the one at position `whole`. */
static kir_value straddles(tly_gpu *g, const tly_group *t, kir_value count, kir_value whole)
{
    tly_build *c = &g->c;
    kir_value inside = less(c, count, u32(g, t->tile));
    return band(c, inside, differ(c, count, whole));
}

/* i1: the invocation's i-th element is at the position. */
static kir_value is_at(tly_gpu *g, const tly_group *t, unsigned i, kir_value position)
{
    tly_build *c = &g->c;
    kir_value its = add(c, t->base, u32(g, tly_group_after(g, t, i)));
    return equal(c, its, position);
}

/* ---- from memory ---- */

/* One by one: the last element stands for those beyond the end. */
static void fetch_each(tly_gpu *g, tly_group *t, const tly_gpu_row *at, kir_value count,
                       kir_value *stored)
{
    tly_build *c = &g->c;
    kir_value last = sub(c, count, u32(g, 1));
    for (unsigned i = 0; i < tly_gpu_elements(g); i++) {
        kir_value position = add(c, t->base, u32(g, tly_group_after(g, t, i)));
        kir_value there = umin(c, position, last);
        stored[i] = tly_gpu_fetch(g, tly_gpu_address(g, at, TLY_IN, there), 0);
    }
}

/* The elements behind the last whole vector: all lanes load them, and one takes them. */
static void fetch_end(tly_gpu *g, tly_group *t, const tly_gpu_row *at, kir_value count,
                      kir_value whole, kir_value *stored)
{
    tly_build *c = &g->c;
    unsigned vector = vector_of(g);
    kir_value end[TLY_GPU_MOST_ELEMENTS], last = sub(c, count, u32(g, 1));
    tly_region straddle = { 0 };
    memcpy(end, stored, vector * sizeof *end);
    emit_carry(&straddle, vector - 1, end);
    emit_if(c, &straddle, straddles(g, t, count, whole));
    for (unsigned k = 0; k + 1 < vector; k++) {
        kir_value there = umin(c, add(c, whole, u32(g, k)), last);
        end[k] = tly_gpu_fetch(g, tly_gpu_address(g, at, TLY_IN, there), 0);
    }
    emit_end(c, &straddle);
    for (unsigned i = 0; i < tly_gpu_elements(g); i += vector) {
        kir_value its = is_at(g, t, i, whole);
        for (unsigned k = 0; k + 1 < vector; k++)
            stored[i + k] = choose(c, its, end[k], stored[i + k]);
    }
}

/* A vector's elements, by one access or, where rows are not aligned, one by one. */
static void fetch_one(tly_gpu *g, kir_value p, int64_t offset, int64_t step, int is_aligned,
                      kir_value *stored)
{
    if (is_aligned) {
        tly_gpu_fetch_along(g, p, offset, step, stored, vector_of(g));
        return;
    }
    for (unsigned k = 0; k < vector_of(g); k++)
        stored[k] = tly_gpu_fetch(g, p, offset + k * step);
}

/* The tile has a whole vector at least. Lanes beyond the last one read that again. */
static void fetch_vectors(tly_gpu *g, tly_group *t, const tly_gpu_row *at, kir_value count,
                          int is_full, int is_aligned, kir_value *stored)
{
    tly_build *c = &g->c;
    unsigned vector = vector_of(g);
    kir_value whole = whole_vectors(g, count), last = sub(c, whole, u32(g, vector));
    kir_value first = tly_gpu_address(g, at, TLY_IN, t->base);
    for (unsigned i = 0; i < tly_gpu_elements(g); i += vector) {
        unsigned after = tly_group_after(g, t, i);
        int64_t offset = 0;
        kir_value p, position = add(c, t->base, u32(g, after));
        if (is_full)
            p = tly_gpu_near(g, at, TLY_IN, first, after, &offset);
        else
            p = tly_gpu_address(g, at, TLY_IN, umin(c, position, last));
        fetch_one(g, p, offset, at->tensor[TLY_IN].known, is_aligned, stored + i);
    }
    if (vector > 1 && !is_full)
        fetch_end(g, t, at, count, whole, stored);
}

/* Wide plans load the whole vectors of unaligned rows element by element, without checking each
 * position. */
static void fetch_either(tly_gpu *g, tly_group *t, const tly_gpu_row *at, kir_value count,
                         int is_full, kir_value *stored)
{
    tly_build *c = &g->c;
    tly_region aligned = { 0 };
    emit_carry(&aligned, tly_gpu_elements(g), stored);
    if (g->plan->wide)
        emit_if(c, &aligned, tly_gpu_flag(g, TLY_GPU_ALIGNED));
    fetch_vectors(g, t, at, count, is_full, 1, stored);
    if (g->plan->wide) {
        emit_else(c, &aligned);
        fetch_vectors(g, t, at, count, is_full, 0, stored);
        emit_end(c, &aligned);
    }
}

static void fetch_partial(tly_gpu *g, tly_group *t, const tly_gpu_row *at, kir_value count,
                          kir_value *stored)
{
    tly_build *c = &g->c;
    tly_region vectors = { 0 };
    emit_carry(&vectors, tly_gpu_elements(g), stored);
    kir_value has_one = at_most(c, u32(g, vector_of(g)), count);
    emit_if(c, &vectors,
            g->plan->wide ? has_one : band(c, has_one, tly_gpu_flag(g, TLY_GPU_ALIGNED)));
    fetch_either(g, t, at, count, 0, stored);
    emit_else(c, &vectors);
    fetch_each(g, t, at, count, stored);
    emit_end(c, &vectors);
}

/* From elements as they are stored to states. */
static void lift(tly_gpu *g, const tly_group *t, const tly_gpu_extent *extent, kir_value *x)
{
    for (unsigned i = 0; i < tly_gpu_elements(g); i++) {
        const tly_place here = tly_group_place(g, t, extent, i);
        x[i] = tly_gpu_element_alone(g, &here, x[i]);
    }
}

static void lift_existing(tly_gpu *g, const tly_group *t, const tly_gpu_extent *extent,
                          kir_value *x)
{
    tly_build *c = &g->c;
    kir_value left = sub(c, tly_tile_reach(g, t, extent->count), t->base);
    lift(g, t, extent, x);
    for (unsigned i = 0; i < tly_gpu_elements(g); i++) {
        kir_value exists = less(c, u32(g, tly_group_after(g, t, i)), left);
        x[i] = choose(c, exists, x[i], tly_without_head(c, tly_neutral_window(c, c->acc)));
    }
}

/* From memory to states. Marks and flags are loaded before the first element is looked at. Heads
 * that are known already are not asked for again. */
static void load(tly_gpu *g, tly_group *t, const tly_gpu_extent *extent, kir_value count,
                 tly_tile *tile, kir_value *heads)
{
    const int is_full = extent->count == 0;
    const int asks = tly_window_heads(g->c.p) > 0 && !tile->heads, has_marks = !g->c.p->resets;
    tly_marks marks;
    tly_flags flags;
    if (asks && has_marks)
        tly_tile_load_marks(g, t, extent, &marks);
    else if (asks)
        tly_tile_load_flags(g, t, extent, &flags);
    if (is_full)
        fetch_either(g, t, extent->row, count, 1, tile->x);
    else if (tly_gpu_has_vectors(g))
        fetch_partial(g, t, extent->row, count, tile->x);
    else
        fetch_each(g, t, extent->row, count, tile->x);
    if (asks && has_marks)
        *heads = tly_tile_marked(g, t, extent, &marks);
    else if (asks)
        *heads = tly_tile_flagged(g, t, extent, tile->x, &flags);
    (is_full ? lift : lift_existing)(g, t, extent, tile->x);
}

void tly_tile_load(tly_gpu *g, tly_group *t, const tly_gpu_row *at, kir_value count, tly_tile *tile)
{
    tly_build *c = &g->c;
    const tly_gpu_extent extent = { .row = at, .count = count }, all = { .row = at };
    const int has_heads = tly_window_heads(c->p) > 0;
    kir_value heads = tile->heads;
    tly_region whole = { 0 };
    if (tly_gpu_has_vectors(g)) {
        emit_carry(&whole, tly_gpu_elements(g), tile->x);
        if (has_heads && !tile->heads)
            emit_carry(&whole, 1, &heads);
        emit_if(c, &whole, full(g, t, count));
        load(g, t, &all, count, tile, &heads);
        emit_else(c, &whole);
    }
    load(g, t, &extent, count, tile, &heads);
    if (tly_gpu_has_vectors(g))
        emit_end(c, &whole);
    tile->heads = heads;
    for (unsigned i = 0; has_heads && i < tly_gpu_elements(g); i++)
        tile->x[i] = tly_tile_window(g, heads, i, tile->x[i]);
}

/* ---- to memory ---- */

/* i1: `holds`, and positions `after` the invocation's first have results. */
static kir_value band_part(tly_gpu *g, const tly_group *t, const tly_gpu_row *at, unsigned after,
                           unsigned count, kir_value holds)
{
    tly_build *c = &g->c;
    if (!tly_gpu_has_part(g))
        return holds;
    kir_value position = add(c, add(c, tly_gpu_moved(g, at), t->base), u32(g, after));
    return band(c, holds, tly_gpu_in_part(g, position, count));
}

static void put_one(tly_gpu *g, const tly_gpu_row *at, kir_value first, unsigned after,
                    kir_value stored)
{
    int64_t offset;
    kir_value p = tly_gpu_near(g, at, TLY_OUT, first, after, &offset);
    tly_gpu_put(g, p, offset, stored);
}

/* A vector's elements one by one, those that exist. */
static void put_each(tly_gpu *g, const tly_group *t, const tly_gpu_row *at, kir_value first,
                     kir_value left, unsigned after, const kir_value *stored)
{
    tly_build *c = &g->c;
    for (unsigned k = 0; k < vector_of(g); k++) {
        tly_region exists = { 0 };
        emit_if(c, &exists, band_part(g, t, at, after + k, 1, less(c, u32(g, after + k), left)));
        put_one(g, at, first, after + k, stored[k]);
        emit_end(c, &exists);
    }
}

/* Whole vectors from the invocation's i-th element on: by vectors where rows are aligned, else
 * element by element. */
static void put_whole(tly_gpu *g, const tly_group *t, const tly_gpu_row *at, kir_value first,
                      unsigned i, unsigned vectors, const kir_value *stored)
{
    tly_build *c = &g->c;
    unsigned vector = vector_of(g), end = i + vectors * vector;
    tly_region aligned = { 0 };
    if (g->plan->wide)
        emit_if(c, &aligned, tly_gpu_flag(g, TLY_GPU_ALIGNED));
    for (unsigned v = i; v < end; v += vector)
        put_vector(g, at, first, tly_group_after(g, t, v), stored + v);
    if (g->plan->wide) {
        emit_else(c, &aligned);
        for (unsigned k = i; k < end; k++)
            put_one(g, at, first, tly_group_after(g, t, k), stored[k]);
        emit_end(c, &aligned);
    }
}

static void put_partial(tly_gpu *g, const tly_group *t, const tly_gpu_row *at, kir_value first,
                        kir_value left, const kir_value *stored)
{
    tly_build *c = &g->c;
    const int vectors = tly_gpu_has_vectors(g);
    for (unsigned i = 0; i < tly_gpu_elements(g); i += vector_of(g)) {
        unsigned after = tly_group_after(g, t, i);
        tly_region whole = { 0 };
        if (vectors) {
            kir_value exists = at_most(c, u32(g, after + vector_of(g)), left);
            if (!g->plan->wide)
                exists = band(c, exists, tly_gpu_flag(g, TLY_GPU_ALIGNED));
            emit_if(c, &whole, band_part(g, t, at, after, vector_of(g), exists));
            put_whole(g, t, at, first, i, 1, stored);
            emit_else(c, &whole);
        }
        put_each(g, t, at, first, left, after, stored + i);
        if (vectors)
            emit_end(c, &whole);
    }
}

void tly_tile_store(tly_gpu *g, tly_group *t, const tly_gpu_row *at, kir_value count,
                    const kir_value *stored)
{
    tly_build *c = &g->c;
    kir_value first = tly_gpu_address(g, at, TLY_OUT, t->base);
    kir_value left = sub(c, tly_tile_reach(g, t, count), t->base);
    tly_region whole = { 0 };
    if (tly_gpu_has_vectors(g)) {
        kir_value all = full(g, t, count);
        if (tly_gpu_has_part(g))
            all = band(c, all, tly_gpu_in_part(g, tly_gpu_moved(g, at), t->tile));
        emit_if(c, &whole, all);
        put_whole(g, t, at, first, 0, segments_of(g), stored);
        emit_else(c, &whole);
    }
    put_partial(g, t, at, first, left, stored);
    if (tly_gpu_has_vectors(g))
        emit_end(c, &whole);
}

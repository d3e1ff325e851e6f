/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last step of a tile: it combines the carry with the local results and stores them. First the
 * range guard decides whether the local results may be combined with this carry. If not, nothing
 * has been stored yet, and the tile is done again (redo.c).
 */
#include "gpu.h"

static void extremes(tly_gpu *g, const kir_value *y, unsigned count, kir_value *range)
{
    tly_build *c = &g->c;
    kir_value lanes[2];
    tly_range_begin(c, lanes);
    for (unsigned i = 0; i < count; i++)
        tly_range_track(c, lanes, y[i]);
    range[0] = range[1] = 0; /* there may be fewer than two */
    tly_range_fold(c, lanes, range);
}

void tly_tile_find_range(tly_gpu *g, tly_tile *tile)
{
    tly_build *c = &g->c;
    unsigned count = tly_range_count(c), vector = vector_of(g);
    if (count == 0)
        return;
    /* Where y has become zero, only the total may show an overflow: it is combined otherwise. */
    extremes(g, &tile->total, 1, tile->range);
    for (unsigned s = 0; s < segments_of(g); s++) {
        extremes(g, tile->y + (size_t)s * vector, vector, tile->ranges[s]);
        for (unsigned k = 0; k < count; k++)
            tile->range[k] = bin(c, tly_range_op(c, k), tile->range[k], tile->ranges[s][k]);
    }
}

void tly_tile_fold(tly_gpu *g, tly_group *t, tly_tile *tile)
{
    tly_group_fold_range(g, t, tile->range);
    tile->folded = 1;
}

void tly_tile_narrow(tly_gpu *g, const tly_group *t, const tly_gpu_extent *extent, int numbers,
                     kir_value *shown)
{
    tly_build *c = &g->c;
    for (unsigned i = 0; i < tly_gpu_elements(g); i++) {
        const tly_place here = tly_group_place(g, t, extent, i);
        kir_value y = tly_gpu_show(g, &here, shown[i]);
        shown[i] = numbers ? tly_narrow_number(c, y) : tly_gpu_narrow(g, y);
    }
}

/* A tile and what comes of it. */
typedef struct ending {
    tly_group *team;
    tly_gpu_extent extent;
    const tly_tile *tile;
    kir_value carry, fitting; /* before the tile; behind it if its local results fit */
    kir_value fits, all;      /* i1: the local results of this scan fit; of all scans */
    unsigned elements;        /* results of an invocation */
    kir_value shown[TLY_GPU_MOST_ELEMENTS];
    kir_value after; /* the carry behind it */
} ending;

static void carry_results(tly_region *r, ending *e)
{
    emit_carry(r, e->elements, e->shown);
    emit_carry(r, 1, &e->after);
}

static void narrow(tly_gpu *g, ending *e, int numbers)
{
    if (!e->tile->silent)
        tly_tile_narrow(g, e->team, &e->extent, numbers, e->shown);
}

static void show_fitting(tly_gpu *g, ending *e)
{
    const tly_tile *tile = e->tile;
    if (tile->publish != NULL)
        tile->publish(g, tile->user, e->fitting);
    for (unsigned i = 0; i < e->elements; i++)
        e->shown[i] = tly_combine(&g->c, e->carry, tly_tile_shown(g, tile, i));
    e->after = e->fitting;
}

static void show_any(tly_gpu *g, ending *e)
{
    tly_build *c = &g->c;
    tly_region good = { 0 };
    carry_results(&good, e);
    emit_if(c, &good, e->all);
    show_fitting(g, e);
    emit_else(c, &good);
    for (unsigned i = 0; i < e->elements && e->tile->rereads; i++)
        e->shown[i] = tly_start(c, c->acc); /* any value: results have been stored */
    e->after = tly_tile_redo(g, e->team, &e->extent, e->tile, e->carry, e->fits, e->shown);
    emit_end(c, &good);
    narrow(g, e, 0);
}

/* Where results fit and the carry is finite, no result is a NaN, and narrowing costs less. */
static void show_numbers(tly_gpu *g, ending *e)
{
    tly_build *c = &g->c;
    tly_region finite = { 0 };
    carry_results(&finite, e);
    kir_value numbers = band(c, g->interleave > 1 ? e->fits : e->all, tly_gpu_finite(g, e->carry));
    emit_if(c, &finite, g->interleave > 1 ? tly_group_every(g, e->team, numbers) : numbers);
    show_fitting(g, e);
    narrow(g, e, 1);
    emit_else(c, &finite);
    show_any(g, e);
    emit_end(c, &finite);
}

static void store(tly_gpu *g, const ending *e)
{
    if (!e->tile->staged)
        tly_tile_store(g, e->team, e->extent.row, e->extent.count, e->shown);
    for (unsigned s = 0; s < segments_of(g) && e->tile->staged; s++)
        tly_tile_spill_vector(g, e->tile, s, e->shown + (size_t)s * vector_of(g));
}

kir_value tly_tile_finish(tly_gpu *g, tly_group *t, const tly_gpu_row *at, kir_value count,
                          const tly_tile *tile, kir_value carry)
{
    tly_build *c = &g->c;
    ending e = { .team = t,
                 .extent = { at, count, g->c.p->exclusive ? tile->heads : 0 },
                 .tile = tile,
                 .carry = carry };
    tly_region stores = { 0 };
    if (g->algorithm->finds_part && !tile->silent)
        tly_gpu_find_part(g);
    int stored_apart = tile->rereads && tly_range_count(c) > 0;
    e.fitting = tly_tile_after(g, tile, carry);
    e.elements = tile->silent ? 0 : tly_gpu_elements(g);
    if (tly_range_count(c) == 0) {
        show_fitting(g, &e);
        narrow(g, &e, 0);
    } else {
        /* Folded extremes give all invocations the same answer. Interleaved scans have one each,
         * but a group takes one branch. */
        int agreed = tile->folded && g->interleave == 1;
        e.fits = tly_gpu_fits(g, tile->range, carry);
        e.all = agreed ? e.fits : tly_group_every(g, t, e.fits);
        (tly_narrows_numbers(c) ? show_numbers : show_any)(g, &e);
    }
    if (stored_apart)
        emit_if(c, &stores, e.all);
    if (!tile->silent)
        store(g, &e);
    if (stored_apart)
        emit_end(c, &stores);
    return e.after;
}

void tly_tile_scan(tly_gpu *g, tly_group *t, const tly_gpu_row *at, kir_value count, tly_tile *tile)
{
    tly_tile_load(g, t, at, count, tile);
    tly_group_scan(g, t, tile);
    tly_tile_find_range(g, tile);
}

kir_value tly_tile_pass(tly_gpu *g, tly_group *t, const tly_gpu_row *at, kir_value count,
                        tly_tile *tile, kir_value carry)
{
    tly_tile_scan(g, t, at, count, tile);
    if (g->interleave > 1)
        tly_tile_fold(g, t, tile);
    return tly_tile_finish(g, t, at, count, tile, carry);
}

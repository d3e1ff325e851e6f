/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What follows from the carry of one tile of a row. Where the range guard finds that the local
 * results cannot be trusted after this carry, nothing of the tile has been written yet, and it is
 * done again (redo.c).
 */
#include "gpu.h"

#include <string.h>

static void extremes(tly_gpu *g, const kir_value *y, unsigned count, kir_value *range)
{
    kir_value watch[2];
    tly_range_begin(&g->c, watch);
    for (unsigned i = 0; i < count; i++)
        tly_range_track(&g->c, watch, y[i]);
    range[0] = range[1] = 0; /* no more than there are are asked for */
    tly_range_fold(&g->c, watch, range);
}

void tly_tile_watch(tly_gpu *g, tly_tile *tile)
{
    static const kir_op ops[2] = { KIR_UMAX, KIR_UMIN };
    unsigned count = tly_range_count(&g->c), vector = (unsigned)g->plan->vector;
    if (count == 0)
        return;
    /* After a zero nothing of y may show an overflow that the total has had on another way. */
    extremes(g, &tile->total, 1, tile->range);
    for (unsigned s = 0; s < (unsigned)g->plan->segments; s++) {
        extremes(g, tile->y + (size_t)s * vector, vector, tile->ranges[s]);
        for (unsigned k = 0; k < count; k++)
            tile->range[k] = bin(&g->c, ops[k], tile->range[k], tile->ranges[s][k]);
    }
}

void tly_tile_fold(tly_gpu *g, tly_team *t, tly_tile *tile)
{
    tly_team_fold_range(g, t, tile->range);
    tile->folded = 1;
}

static void show_after(tly_gpu *g, const tly_tile *tile, kir_value carry, kir_value *shown)
{
    for (unsigned i = 0; i < tly_gpu_elements(g) && !tile->silent; i++)
        shown[i] = tly_combine(&g->c, carry, tly_tile_shown(g, tile, i));
}

static void publish(tly_gpu *g, const tly_tile *tile, kir_value after)
{
    if (tile->publish != NULL)
        tile->publish(g, tile->user, after);
}

void tly_tile_narrow(tly_gpu *g, const tly_tile *tile, int numbers, kir_value *shown)
{
    for (unsigned i = 0; i < tly_gpu_elements(g) && !tile->silent; i++) {
        kir_value y = tly_project(&g->c, shown[i]);
        shown[i] = numbers ? tly_narrow_number(&g->c, y) : tly_gpu_narrow(g, y);
    }
}

/* A tile whose range is watched: how it goes on, and whether all of the team may. */
typedef struct ending {
    tly_team *team;
    const tly_gpu_row *at;
    kir_value count;
    const tly_tile *tile;
    kir_value carry, after; /* before the tile, and behind it if it fits */
    kir_value fits, all;    /* i1: this scan's results, everybody's */
    unsigned elements;      /* shown of it; behind these stands the carry after the tile */
} ending;

static void show_fitting(tly_gpu *g, const ending *e, kir_value *shown)
{
    publish(g, e->tile, e->after);
    show_after(g, e->tile, e->carry, shown);
    shown[e->elements] = e->after;
}

static void show_any(tly_gpu *g, const ending *e, kir_value *shown)
{
    kir_branch good;
    kir_if(g->c.b, &good, e->all);
    show_fitting(g, e, shown);
    kir_else(g->c.b, &good, e->elements + 1, shown);
    for (unsigned i = 0; i < e->elements && e->tile->rereads; i++)
        shown[i] = tly_start(&g->c, g->c.acc); /* whatever: it has been stored */
    shown[e->elements] = tly_tile_redo(g, e->team, e->at, e->count, e->tile, e->carry, e->fits,
                                       shown);
    kir_if_end(g->c.b, &good, e->elements + 1, shown);
    memcpy(shown, good.result, (e->elements + 1) * sizeof *shown);
    tly_tile_narrow(g, e->tile, 0, shown);
}

/* Results that fit after a carry that is finite are numbers. Interleaved scans have carries of
 * their own. */
static void show_numbers(tly_gpu *g, const ending *e, kir_value *shown)
{
    kir_value numbers = both(g, g->unit > 1 ? e->fits : e->all, tly_gpu_finite(g, e->carry));
    kir_branch finite;
    kir_if(g->c.b, &finite, g->unit > 1 ? tly_team_every(g, e->team, numbers) : numbers);
    show_fitting(g, e, shown);
    tly_tile_narrow(g, e->tile, 1, shown);
    kir_else(g->c.b, &finite, e->elements + 1, shown);
    show_any(g, e, shown);
    kir_if_end(g->c.b, &finite, e->elements + 1, shown);
    memcpy(shown, finite.result, (e->elements + 1) * sizeof *shown);
}

static void store(tly_gpu *g, const ending *e, const kir_value *stored)
{
    unsigned vector = (unsigned)g->plan->vector;
    if (!e->tile->staged)
        tly_tile_store(g, e->team, e->at, e->count, stored);
    for (unsigned s = 0; s < (unsigned)g->plan->segments && e->tile->staged; s++)
        tly_tile_park_vector(g, e->tile, s, stored + (size_t)s * vector);
}

kir_value tly_tile_finish(tly_gpu *g, tly_team *t, const tly_gpu_row *at, kir_value count,
                          const tly_tile *tile, kir_value carry)
{
    tly_build *c = &g->c;
    kir_value stored[TLY_GPU_MOST_ELEMENTS + 1];
    ending e = { .team = t, .at = at, .count = count, .tile = tile, .carry = carry };
    kir_branch stores;
    int stored_apart = tile->rereads && tly_range_count(c) > 0;
    e.after = tly_tile_after(g, tile, carry);
    e.elements = tile->silent ? 0 : tly_gpu_elements(g);
    if (tly_range_count(c) == 0) {
        show_fitting(g, &e, stored);
        tly_tile_narrow(g, tile, 0, stored);
    } else {
        /* What holds of each invocation's extremes holds of all of them. Interleaved scans are
         * judged apart, but a team goes one way. */
        int agreed = tile->folded && g->unit == 1;
        e.fits = tly_gpu_fits(g, tile->range, carry);
        e.all = agreed ? e.fits : tly_team_every(g, t, e.fits);
        (tly_narrows_numbers(c) ? show_numbers : show_any)(g, &e, stored);
    }
    if (stored_apart)
        kir_if(c->b, &stores, e.all);
    if (!tile->silent)
        store(g, &e, stored);
    if (stored_apart)
        kir_if_end(c->b, &stores, 0, NULL);
    return stored[e.elements];
}

void tly_tile_scan(tly_gpu *g, tly_team *t, const tly_gpu_row *at, kir_value count, tly_tile *tile)
{
    tly_tile_load(g, t, at, count, tile);
    tly_team_scan(g, t, tile);
    tly_tile_watch(g, tile);
}

kir_value tly_tile_pass(tly_gpu *g, tly_team *t, const tly_gpu_row *at, kir_value count,
                        tly_tile *tile, kir_value carry)
{
    tly_tile_scan(g, t, at, count, tile);
    if (g->unit > 1)
        tly_tile_fold(g, t, tile);
    return tly_tile_finish(g, t, at, count, tile, carry);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What follows from the carry of one tile of a row. Where the range guard finds that the local results
 * cannot be trusted after this carry, nothing of the tile has been written yet, and it is done again
 * (redo.c).
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

void tly_tile_watch(tly_gpu *g, tly_team *t, tly_tile *tile)
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
            tile->range[k] = kir_bin(g->c.b, ops[k], tile->range[k], tile->ranges[s][k]);
    }
    tly_team_fold_range(g, t, tile->range);
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

kir_value tly_tile_finish(tly_gpu *g, tly_team *t, const tly_gpu_row *at, kir_value count,
                          const tly_tile *tile, kir_value carry)
{
    tly_build *c = &g->c;
    kir_builder *b = c->b;
    kir_value shown[TLY_GPU_MOST_ELEMENTS + 1], after = tly_combine(c, carry, tile->total);
    unsigned elements = tile->silent ? 0 : tly_gpu_elements(g);
    if (tly_range_count(c) == 0) {
        publish(g, tile, after);
        show_after(g, tile, carry, shown);
    } else {
        kir_branch good;
        kir_value fits = tly_gpu_fits(g, tile->range, carry);
        /* Interleaved scans are judged apart, but a team goes one way. */
        kir_if(b, &good, g->unit > 1 ? tly_team_all(g, t, fits) : fits);
        publish(g, tile, after);
        show_after(g, tile, carry, shown);
        shown[elements] = after;
        kir_else(b, &good, elements + 1, shown);
        after = tly_tile_redo(g, t, tile, carry, fits, shown);
        publish(g, tile, after);
        shown[elements] = after;
        kir_if_end(b, &good, elements + 1, shown);
        memcpy(shown, good.result, (elements + 1) * sizeof *shown);
        after = shown[elements];
    }
    if (!tile->silent)
        tly_tile_store(g, t, at, count, shown);
    return after;
}

kir_value tly_tile_pass(tly_gpu *g, tly_team *t, const tly_gpu_row *at, kir_value count,
                        tly_tile *tile, kir_value carry)
{
    tly_tile_load(g, t, at, count, tile);
    tly_team_scan(g, t, tile);
    tly_tile_watch(g, t, tile);
    return tly_tile_finish(g, t, at, count, tile, carry);
}

/*
 * One tile of a row: from memory to accumulators and back, and what follows from the carry. Inputs
 * beyond the end are never read: such a lane reads the last element again and takes the neutral
 * value. Where the range guard finds that the local results cannot be trusted after this carry,
 * nothing of the tile has been written yet, and it is done again (redo.c).
 */
#include "gpu.h"

#include <string.h>

/* Lanes that hold no element of an interleaved row are as if beyond the end. */
static kir_value reach(tly_gpu *g, const tly_team *t, kir_value count)
{
    if (t->used == t->width)
        return count;
    kir_value idle = kir_cmp(g->c.b, KIR_ULE, word(g, t->used), t->lane);
    return kir_select(g->c.b, idle, word(g, 0), count);
}

static kir_value full(tly_gpu *g, const tly_team *t, kir_value count)
{
    kir_value whole = kir_cmp(g->c.b, KIR_SLE, word(g, t->tile), count);
    return kir_bin(g->c.b, KIR_AND, whole, tly_gpu_flag(g, TLY_GPU_ALIGNED));
}

/* One by one: the last element stands for those beyond the end. */
static void fetch_each(tly_gpu *g, tly_team *t, const tly_gpu_row *at, kir_value count,
                       kir_value *stored)
{
    tly_build *c = &g->c;
    kir_value last = sub(c, count, word(g, 1));
    for (unsigned i = 0; i < tly_gpu_elements(g); i++) {
        kir_value position = add(c, t->base, word(g, tly_team_after(g, t, i)));
        kir_value there = kir_bin(c->b, KIR_UMIN, position, last);
        stored[i] = tly_gpu_fetch(g, tly_gpu_in_at(g, at, there), 0);
    }
}

static void fetch(tly_gpu *g, tly_team *t, const tly_gpu_row *at, kir_value count,
                  kir_value *stored)
{
    kir_builder *b = g->c.b;
    unsigned vector = (unsigned)g->plan->vector;
    if (!tly_gpu_has_vectors(g)) {
        fetch_each(g, t, at, count, stored);
        return;
    }
    kir_branch whole;
    kir_if(b, &whole, full(g, t, count));
    kir_value first = tly_gpu_in_at(g, at, t->base);
    for (unsigned i = 0; i < tly_gpu_elements(g); i += vector) {
        int64_t offset;
        kir_value p = tly_gpu_in_near(g, at, first, tly_team_after(g, t, i), &offset);
        tly_gpu_fetch_vector(g, p, offset, stored + i, vector);
    }
    kir_else(b, &whole, tly_gpu_elements(g), stored);
    fetch_each(g, t, at, count, stored);
    kir_if_end(b, &whole, tly_gpu_elements(g), stored);
    for (unsigned i = 0; i < tly_gpu_elements(g); i++)
        stored[i] = whole.result[i];
}

void tly_tile_load(tly_gpu *g, tly_team *t, const tly_gpu_row *at, kir_value count, tly_tile *tile)
{
    tly_build *c = &g->c;
    kir_value left = sub(c, reach(g, t, count), t->base);
    fetch(g, t, at, count, tile->x);
    for (unsigned i = 0; i < tly_gpu_elements(g); i++) {
        kir_value exists = less(c, word(g, tly_team_after(g, t, i)), left);
        kir_value neutral = tly_neutral(c, c->acc);
        kir_value x = tly_lift(c, tly_gpu_widen(g, tile->x[i]));
        tile->x[i] = kir_select(c->b, exists, x, neutral);
    }
}

static void put_each(tly_gpu *g, const tly_team *t, const tly_gpu_row *at, kir_value count,
                     const kir_value *stored)
{
    tly_build *c = &g->c;
    kir_value first = tly_gpu_out_at(g, at, t->base);
    kir_value left = sub(c, reach(g, t, count), t->base);
    for (unsigned i = 0; i < tly_gpu_elements(g); i++) {
        unsigned after = tly_team_after(g, t, i);
        int64_t offset;
        kir_branch exists;
        kir_if(c->b, &exists, less(c, word(g, after), left));
        kir_value p = tly_gpu_out_near(g, at, first, after, &offset);
        tly_gpu_put(g, p, offset, stored[i]);
        kir_if_end(c->b, &exists, 0, NULL);
    }
}

void tly_tile_store(tly_gpu *g, tly_team *t, const tly_gpu_row *at, kir_value count,
                    const kir_value *states)
{
    kir_builder *b = g->c.b;
    unsigned vector = (unsigned)g->plan->vector;
    kir_value stored[TLY_GPU_MOST_ELEMENTS];
    for (unsigned i = 0; i < tly_gpu_elements(g); i++)
        stored[i] = tly_gpu_narrow(g, tly_project(&g->c, states[i]));
    if (!tly_gpu_has_vectors(g)) {
        put_each(g, t, at, count, stored);
        return;
    }
    kir_branch whole;
    kir_if(b, &whole, full(g, t, count));
    kir_value first = tly_gpu_out_at(g, at, t->base);
    for (unsigned i = 0; i < tly_gpu_elements(g); i += vector) {
        int64_t offset;
        kir_value p = tly_gpu_out_near(g, at, first, tly_team_after(g, t, i), &offset);
        tly_gpu_put_vector(g, p, offset, stored + i, vector);
    }
    kir_else(b, &whole, 0, NULL);
    put_each(g, t, at, count, stored);
    kir_if_end(b, &whole, 0, NULL);
}

void tly_tile_watch(tly_gpu *g, tly_team *t, tly_tile *tile)
{
    tly_build *c = &g->c;
    kir_value watch[2];
    if (tly_range_count(c) == 0)
        return;
    tly_range_begin(c, watch);
    for (unsigned i = 0; i < tly_gpu_elements(g); i++)
        tly_range_track(c, watch, tile->y[i]);
    /* After a zero nothing of y may show an overflow that the total has had on another way. */
    tly_range_track(c, watch, tile->total);
    tly_range_fold(c, watch, tile->range);
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

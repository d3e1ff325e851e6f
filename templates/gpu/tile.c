/*
 * One tile of a row: from memory to accumulators and back, and what follows from the carry. Inputs
 * beyond the end are never read: such a lane reads the last element again and takes the neutral
 * value. Where the range guard finds that the local results cannot be trusted after this carry,
 * nothing of the tile has been written yet, and the plain loop does it.
 */
#include "gpu.h"

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

void tly_tile_load(tly_gpu *g, tly_team *t, const tly_gpu_row *at, kir_value count,
                   tly_tile *tile)
{
    tly_build *c = &g->c;
    kir_value left = sub(c, reach(g, t, count), t->base);
    fetch(g, t, at, count, tile->x);
    for (unsigned i = 0; i < tly_gpu_elements(g); i++) {
        kir_value exists = less(c, word(g, tly_team_after(g, t, i)), left);
        tile->x[i] = kir_select(c->b, exists, tly_gpu_widen(g, tile->x[i]),
                                tly_neutral(c, c->acc));
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
                    const kir_value *acc)
{
    kir_builder *b = g->c.b;
    unsigned vector = (unsigned)g->plan->vector;
    kir_value stored[TLY_GPU_MOST_ELEMENTS];
    for (unsigned i = 0; i < tly_gpu_elements(g); i++)
        stored[i] = tly_gpu_narrow(g, acc[i]);
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

kir_value tly_walk(tly_gpu *g, const tly_gpu_row *at, kir_value first, kir_value count,
                   unsigned stride, kir_value carry, int storing)
{
    tly_build *c = &g->c;
    kir_loop each;
    kir_for(c->b, &each, first, count, word(g, stride), 1, &carry);
    kir_value x = tly_gpu_widen(g, tly_gpu_fetch(g, tly_gpu_in_at(g, at, each.i), 0));
    kir_value next = tly_combine(c, each.carried[0], x);
    if (storing)
        tly_gpu_put(g, tly_gpu_out_at(g, at, each.i), 0,
                    tly_gpu_narrow(g, c->p->exclusive ? each.carried[0] : next));
    kir_for_end(c->b, &each, &next);
    return each.result[0];
}

static void store_after(tly_gpu *g, tly_team *t, const tly_gpu_row *at, kir_value count,
                        const tly_tile *tile, kir_value carry)
{
    kir_value shown[TLY_GPU_MOST_ELEMENTS];
    unsigned vector = (unsigned)g->plan->vector;
    for (unsigned i = 0; i < tly_gpu_elements(g); i++) {
        kir_value local = !g->c.p->exclusive  ? tile->y[i]
                          : i % vector == 0   ? tile->before[i / vector]
                                              : tile->y[i - 1];
        shown[i] = tly_combine(&g->c, carry, local);
    }
    tly_tile_store(g, t, at, count, shown);
}

/* Does the tile by the plain loop: the first lanes take one scan each. Returns every lane's carry
 * after it. */
static kir_value redo(tly_gpu *g, tly_team *t, const tly_gpu_row *at, kir_value count,
                      kir_value carry)
{
    tly_build *c = &g->c;
    kir_builder *b = c->b;
    kir_branch walks;
    kir_if(b, &walks, tly_team_leads(g, t));
    kir_value tile = kir_bin(b, KIR_UMIN, count, word(g, t->tile));
    kir_value after = tly_walk(g, at, t->lane, tile, g->unit, carry, 1);
    kir_else(b, &walks, 1, &after);
    kir_if_end(b, &walks, 1, &carry);
    return g->unit > 1 ? tly_team_from(g, t, walks.result[0], tly_team_class(g, t))
                       : tly_team_broadcast(g, t, walks.result[0]);
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

static kir_value advance(tly_gpu *g, const tly_tile *tile, kir_value carry)
{
    kir_value after = tly_combine(&g->c, carry, tile->total);
    if (tile->publish != NULL)
        tile->publish(g, tile->user, after);
    return after;
}

kir_value tly_tile_finish(tly_gpu *g, tly_team *t, const tly_gpu_row *at, kir_value count,
                          const tly_tile *tile, kir_value carry)
{
    tly_build *c = &g->c;
    kir_builder *b = c->b;
    if (tly_range_count(c) == 0) {
        kir_value after = advance(g, tile, carry);
        store_after(g, t, at, count, tile, carry);
        return after;
    }
    kir_branch good;
    kir_value fits = tly_range_good(c, tile->range, carry);
    if (g->unit > 1) /* each lane has its own scan's carry: all must fit */
        fits = tly_team_all(g, t, fits);
    kir_if(b, &good, fits);
    kir_value after = advance(g, tile, carry);
    store_after(g, t, at, count, tile, carry);
    kir_else(b, &good, 1, &after);
    after = redo(g, t, at, count, carry);
    if (tile->publish != NULL)
        tile->publish(g, tile->user, after);
    kir_if_end(b, &good, 1, &after);
    return good.result[0];
}

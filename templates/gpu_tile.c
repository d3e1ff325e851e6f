/*
 * One tile of a row: from memory to accumulators and back, and what follows from the carry. Inputs
 * beyond the end are never read: such a lane reads the last element again and takes the neutral
 * value. Where the range guard finds that the local results cannot be trusted after this carry,
 * nothing of the tile has been written yet, and the plain loop does it.
 */
#include "gpu.h"

static unsigned elements(const tly_gpu *g)
{
    return (unsigned)(g->plan->segments * g->plan->vector);
}

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

static void load_each(tly_gpu *g, tly_team *t, const tly_gpu_row *at, kir_value count,
                      kir_value *x)
{
    tly_build *c = &g->c;
    kir_value last = sub(c, count, word(g, 1)), end = reach(g, t, count);
    for (unsigned i = 0; i < elements(g); i++) {
        kir_value position = add(c, t->base, word(g, tly_team_after(g, t, i)));
        kir_value there = kir_bin(c->b, KIR_UMIN, position, last);
        kir_value v = tly_gpu_load(g, tly_gpu_in_at(g, at, there), 0);
        x[i] = kir_select(c->b, less(c, position, end), v, tly_neutral(c, c->acc));
    }
}

void tly_tile_load(tly_gpu *g, tly_team *t, const tly_gpu_row *at, kir_value count,
                   tly_tile *tile)
{
    kir_builder *b = g->c.b;
    unsigned vector = (unsigned)g->plan->vector;
    if (!tly_gpu_has_vectors(g)) {
        load_each(g, t, at, count, tile->x);
        return;
    }
    kir_branch whole;
    kir_if(b, &whole, full(g, t, count));
    kir_value first = tly_gpu_in_at(g, at, t->base);
    for (unsigned i = 0; i < elements(g); i += vector) {
        int64_t offset;
        kir_value p = tly_gpu_in_near(g, at, first, tly_team_after(g, t, i), &offset);
        tly_gpu_load_vector(g, p, offset, tile->x + i, vector);
    }
    kir_else(b, &whole, elements(g), tile->x);
    load_each(g, t, at, count, tile->x);
    kir_if_end(b, &whole, elements(g), tile->x);
    for (unsigned i = 0; i < elements(g); i++)
        tile->x[i] = whole.result[i];
}

static void store_each(tly_gpu *g, const tly_team *t, const tly_gpu_row *at, kir_value count,
                       const kir_value *v)
{
    tly_build *c = &g->c;
    kir_value end = reach(g, t, count), first = tly_gpu_out_at(g, at, t->base);
    kir_value left = sub(c, end, t->base);
    for (unsigned i = 0; i < elements(g); i++) {
        unsigned after = tly_team_after(g, t, i);
        int64_t offset;
        kir_branch exists;
        kir_if(c->b, &exists, less(c, word(g, after), left));
        kir_value p = tly_gpu_out_near(g, at, first, after, &offset);
        tly_gpu_store(g, p, offset, v[i]);
        kir_if_end(c->b, &exists, 0, NULL);
    }
}

void tly_tile_store(tly_gpu *g, tly_team *t, const tly_gpu_row *at, kir_value count,
                    const kir_value *v)
{
    kir_builder *b = g->c.b;
    unsigned vector = (unsigned)g->plan->vector;
    if (!tly_gpu_has_vectors(g)) {
        store_each(g, t, at, count, v);
        return;
    }
    kir_branch whole;
    kir_if(b, &whole, full(g, t, count));
    kir_value first = tly_gpu_out_at(g, at, t->base);
    for (unsigned i = 0; i < elements(g); i += vector) {
        int64_t offset;
        kir_value p = tly_gpu_out_near(g, at, first, tly_team_after(g, t, i), &offset);
        tly_gpu_store_vector(g, p, offset, v + i, vector);
    }
    kir_else(b, &whole, 0, NULL);
    store_each(g, t, at, count, v);
    kir_if_end(b, &whole, 0, NULL);
}

kir_value tly_walk(tly_gpu *g, const tly_gpu_row *at, kir_value first, kir_value count,
                   unsigned stride, kir_value carry, int storing)
{
    tly_build *c = &g->c;
    kir_loop each;
    kir_for(c->b, &each, first, count, word(g, stride), 1, &carry);
    kir_value x = tly_gpu_load(g, tly_gpu_in_at(g, at, each.i), 0);
    kir_value next = tly_combine(c, each.carried[0], x);
    if (storing)
        tly_gpu_store(g, tly_gpu_out_at(g, at, each.i), 0,
                      c->p->exclusive ? each.carried[0] : next);
    kir_for_end(c->b, &each, &next);
    return each.result[0];
}

static void store_after(tly_gpu *g, tly_team *t, const tly_gpu_row *at, kir_value count,
                        const tly_tile *tile, kir_value carry)
{
    kir_value shown[TLY_GPU_MOST_ELEMENTS];
    unsigned vector = (unsigned)g->plan->vector;
    for (unsigned i = 0; i < elements(g); i++) {
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
    kir_value mine = kir_cmp(b, KIR_ULT, t->lane, word(g, g->unit));
    kir_value zero = kir_cmp(b, KIR_EQ, t->group, word(g, 0));
    kir_if(b, &walks, kir_bin(b, KIR_AND, mine, zero));
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
    for (unsigned i = 0; i < elements(g); i++)
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

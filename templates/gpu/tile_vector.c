/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One vector of an invocation's part of a tile: to memory, where what seldom runs is to hold few
 * registers meanwhile (redo.c); to workgroup memory and back, where look-back parks a tile and
 * where one that is staged lies from the start.
 */
#include "gpu.h"

static void store_each(tly_gpu *g, const tly_team *t, const tly_gpu_row *at, kir_value count,
                       unsigned after, const kir_value *stored)
{
    tly_build *c = &g->c;
    for (unsigned k = 0; k < (unsigned)g->plan->vector; k++) {
        kir_value position = add(c, t->base, u32(g, after + k));
        kir_branch exists;
        kir_if(c->b, &exists, less(c, position, count));
        tly_gpu_put(g, tly_gpu_address(g, at, TLY_OUT, position), 0, stored[k]);
        kir_if_end(c->b, &exists, 0, NULL);
    }
}

void tly_tile_store_vector(tly_gpu *g, const tly_team *t, const tly_gpu_row *at, kir_value count,
                           unsigned segment, kir_value when, const kir_value *stored)
{
    tly_build *c = &g->c;
    unsigned n = (unsigned)g->plan->vector, after = tly_team_after(g, t, segment * n);
    kir_branch stores, whole;
    kir_if(c->b, &stores, when);
    if (tly_gpu_has_vectors(g)) {
        int64_t offset;
        kir_value full = at_most(c, u32(g, t->tile), count);
        kir_if(c->b, &whole, both(g, full, tly_gpu_flag(g, TLY_GPU_ALIGNED)));
        kir_value p = tly_gpu_near(g, at, TLY_OUT, tly_gpu_address(g, at, TLY_OUT, t->base), after,
                                   &offset);
        tly_gpu_put_along(g, p, offset, at->tensor[TLY_OUT].known, stored, n);
        kir_else(c->b, &whole, 0, NULL);
    }
    store_each(g, t, at, count, after, stored);
    if (tly_gpu_has_vectors(g))
        kir_if_end(c->b, &whole, 0, NULL);
    kir_if_end(c->b, &stores, 0, NULL);
}

/* ---- in workgroup memory ---- */

void tly_tile_park_vector(tly_gpu *g, const tly_tile *tile, unsigned segment, const kir_value *v)
{
    unsigned n = (unsigned)g->plan->vector;
    for (unsigned k = 0; k < n; k++)
        tly_team_put(g, tile->parked, (segment * n + k) * tile->apart, v[k]);
}

void tly_tile_unpark_vector(tly_gpu *g, const tly_tile *tile, unsigned segment, kir_value *v)
{
    unsigned n = (unsigned)g->plan->vector;
    kir_value like = tly_neutral(&g->c, g->c.acc);
    for (unsigned k = 0; k < n; k++)
        v[k] = tly_team_get(g, tile->parked, (segment * n + k) * tile->apart, like);
}

/* Neighbouring invocations in neighbouring words. */
void tly_tile_park(tly_gpu *g, tly_tile *tile)
{
    tly_build *c = &g->c;
    if (!tly_gpu_parks(g->c.p, g->plan))
        return;
    kir_value own = mul(c, kir_get_id(c->b, KIR_ID_LOCAL), u32(g, g->c.acc_bytes));
    kir_value all = kir_shared(c->b, (uint32_t)tly_gpu_parked_bytes(g->c.p, g->plan));
    tile->parked = ptradd(c, all, own);
    tile->apart = (int64_t)g->plan->workgroup * g->c.acc_bytes;
    for (unsigned s = 0; s < (unsigned)g->plan->segments; s++)
        tly_tile_park_vector(g, tile, s, tile->y + (size_t)s * (unsigned)g->plan->vector);
}

void tly_tile_unpark(tly_gpu *g, tly_tile *tile)
{
    for (unsigned s = 0; tile->parked && s < (unsigned)g->plan->segments; s++)
        tly_tile_unpark_vector(g, tile, s, tile->y + (size_t)s * (unsigned)g->plan->vector);
}

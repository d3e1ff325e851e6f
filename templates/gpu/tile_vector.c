/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves one vector of an invocation's part of a tile. Rare paths store by single vectors, so that
 * they hold few registers (redo.c). Look-back spills a waiting tile to workgroup memory; a staged
 * tile lies there from the start.
 */
#include "gpu.h"

static void store_each(tly_gpu *g, const tly_group *t, const tly_gpu_extent *extent, unsigned after,
                       const kir_value *stored)
{
    tly_build *c = &g->c;
    for (unsigned k = 0; k < vector_of(g); k++) {
        kir_value position = add(c, t->base, u32(g, after + k));
        tly_region exists = { 0 };
        kir_value is_there = less(c, position, extent->count);
        if (tly_gpu_has_part(g)) {
            kir_value there = add(c, tly_gpu_moved(g, extent->row), position);
            is_there = band(c, is_there, tly_gpu_in_part(g, there, 1));
        }
        emit_if(c, &exists, is_there);
        tly_gpu_put(g, tly_gpu_address(g, extent->row, TLY_OUT, position), 0, stored[k]);
        emit_end(c, &exists);
    }
}

void tly_tile_store_vector(tly_gpu *g, const tly_group *t, const tly_gpu_extent *extent,
                           unsigned segment, kir_value when, const kir_value *stored)
{
    tly_build *c = &g->c;
    const tly_gpu_row *row = extent->row;
    unsigned n = vector_of(g), after = tly_group_after(g, t, segment * n);
    tly_region stores = { 0 }, whole = { 0 };
    emit_if(c, &stores, when);
    if (tly_gpu_has_vectors(g)) {
        int64_t offset;
        kir_value full = at_most(c, u32(g, t->tile), extent->count);
        if (tly_gpu_has_part(g))
            full = band(c, full, tly_gpu_in_part(g, tly_gpu_moved(g, row), t->tile));
        emit_if(c, &whole, band(c, full, tly_gpu_flag(g, TLY_GPU_ALIGNED)));
        kir_value first = tly_gpu_address(g, row, TLY_OUT, t->base);
        kir_value p = tly_gpu_near(g, row, TLY_OUT, first, after, &offset);
        tly_gpu_put_along(g, p, offset, row->tensor[TLY_OUT].known, stored, n);
        emit_else(c, &whole);
    }
    store_each(g, t, extent, after, stored);
    if (tly_gpu_has_vectors(g))
        emit_end(c, &whole);
    emit_end(c, &stores);
}

/* ---- in workgroup memory ---- */

void tly_tile_spill_vector(tly_gpu *g, const tly_tile *tile, unsigned segment, const kir_value *v)
{
    unsigned n = vector_of(g);
    for (unsigned k = 0; k < n; k++) {
        kir_value alone = tile->heads ? tly_without_head(&g->c, v[k]) : v[k];
        tly_group_put(g, tile->spilled, (segment * n + k) * tile->apart, alone);
    }
}

void tly_tile_restore_vector(tly_gpu *g, const tly_tile *tile, unsigned segment, kir_value heads,
                             kir_value *v)
{
    tly_build *c = &g->c;
    unsigned n = vector_of(g);
    kir_value like = tly_neutral_window(c, c->acc);
    if (heads)
        like = tly_without_head(c, like);
    for (unsigned k = 0; k < n; k++) {
        v[k] = tly_group_get(g, tile->spilled, (segment * n + k) * tile->apart, like);
        if (heads && tile->staged)
            v[k] = tly_tile_window(g, heads, segment * n + k, v[k]);
        else if (heads)
            v[k] = tly_with_head(c, tly_tile_head(g, heads, segment * n + k), v[k]);
    }
}

/* States of neighbouring invocations are neighbours in workgroup memory. */
void tly_tile_spill(tly_gpu *g, tly_tile *tile)
{
    tly_build *c = &g->c;
    if (!tly_gpu_spills(c->p, g->plan))
        return;
    kir_value own = mul(c, kir_get_id(c->b, KIR_ID_LOCAL), u32(g, c->acc_bytes));
    kir_value all = kir_shared(c->b, (uint32_t)tly_gpu_spilled_bytes(c->p, g->plan));
    tile->spilled = ptradd(c, all, own);
    tile->apart = (int64_t)g->plan->workgroup * c->acc_bytes;
    for (unsigned s = 0; s < segments_of(g); s++)
        tly_tile_spill_vector(g, tile, s, tile->y + (size_t)s * vector_of(g));
}

void tly_tile_restore(tly_gpu *g, tly_tile *tile)
{
    for (unsigned s = 0; tile->spilled && s < segments_of(g); s++)
        tly_tile_restore_vector(g, tile, s, tile->covered, tile->y + (size_t)s * vector_of(g));
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The yardsticks of scans and reductions (docs/vulkan-internals.md). template=copy copies by tiles,
 * with the same accesses as a scan; a device's own copy has others. template=read reads whole
 * chunks, the least that a reduction does.
 */
#include "gpu.h"

static void build_copy(tly_gpu *g, unsigned pass)
{
    tly_build *c = &g->c;
    g->launch->pass[pass].items = TLY_ITEMS_CHUNKS;
    g->launch->pass[pass].per_group = 1;
    tly_group t = tly_group_make(g);
    tly_gpu_item item = tly_gpu_item_of(g, tly_gpu_group(g), 1);
    tly_region exists = { 0 };
    emit_if(c, &exists, item.valid);
    tly_gpu_row row = tly_gpu_row_of(g, &item);
    kir_value begin = mul(c, item.chunk, u32(g, t.tile));
    kir_value count = sub(c, arg(c, KIR_ARG_LENGTH), begin);
    tly_gpu_row at = tly_gpu_at(g, &row, begin);
    tly_tile tile = { .publish = NULL };
    tly_tile_load(g, &t, &at, count, &tile);
    const tly_gpu_extent extent = { .row = &at, .count = count };
    tly_tile_narrow(g, &t, &extent, 0, tile.x);
    tly_tile_store(g, &t, &at, count, tile.x);
    emit_end(c, &exists);
}

/* An unlikely result of the loads: a store depends on it, so that compilers keep the loads. */
enum { UNLIKELY = 0x5bd1e995 };

static void build_read(tly_gpu *g, unsigned pass)
{
    tly_build *c = &g->c;
    kir_value x[TLY_GPU_MOST_ELEMENTS], all = u32(g, 0);
    tly_region exists = { 0 }, tiles = { .state = { &all } }, found = { 0 };
    g->launch->pass[pass].items = TLY_ITEMS_CHUNKS;
    g->launch->pass[pass].per_group = 1;
    tly_group t = tly_group_make(g);
    tly_gpu_item item = tly_gpu_item_of(g, tly_gpu_group(g), 1);
    emit_if(c, &exists, band(c, item.valid, tly_gpu_flag(g, TLY_GPU_ALIGNED)));
    tly_gpu_row row = tly_gpu_row_of(g, &item);
    kir_value begin = add(c, tly_gpu_chunk_begin(g, item.chunk), t.base);
    emit_for(c, &tiles, u32(g, 0), u32(g, g->plan->chunk), u32(g, t.tile));
    kir_value first = tly_gpu_address(g, &row, TLY_IN, add(c, begin, tiles.i));
    for (unsigned i = 0; i < tly_gpu_elements(g); i += vector_of(g)) {
        int64_t offset;
        kir_value p = tly_gpu_near(g, &row, TLY_IN, first, tly_group_after(g, &t, i), &offset);
        tly_gpu_fetch_vector(g, p, offset, x + i, vector_of(g));
    }
    for (unsigned i = 0; i < tly_gpu_elements(g); i++)
        all = bxor(c, all, x[i]);
    emit_end(c, &tiles);
    emit_if(c, &found, is(g, all, UNLIKELY));
    tly_gpu_put(g, row.tensor[TLY_OUT].at, 0, all);
    emit_end(c, &found);
    emit_end(c, &exists);
}

const tly_gpu_algorithm tly_gpu_copy_algorithm = {
    .build = build_copy,
    .passes = { "scan" },
    .has_no_loop = 1,
};
const tly_gpu_algorithm tly_gpu_read_algorithm = {
    .build = build_read,
    .passes = { "results" },
};

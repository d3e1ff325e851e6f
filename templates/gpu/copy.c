/*
 * A copy by tiles, in the scans' own way through memory: no scan at all, but the yardstick that
 * one is measured by where a device's own copy takes another way (template=copy; docs/vulkan.md).
 */
#include "gpu.h"

void tly_gpu_build_copy(tly_gpu *g, unsigned pass)
{
    tly_build *c = &g->c;
    g->launch->pass[pass].items = TLY_ITEMS_CHUNKS;
    g->launch->pass[pass].per_group = 1;
    tly_team t = tly_team_make(g);
    tly_gpu_item item = tly_gpu_item_of(g, tly_gpu_group(g), 1);
    kir_branch exists;
    kir_if(c->b, &exists, item.valid);
    tly_gpu_row row = tly_gpu_row_of(g, &item);
    kir_value begin = mul(c, item.chunk, word(g, t.tile));
    kir_value count = sub(c, kir_get(c->b, KIR_ARG_LENGTH), begin);
    tly_gpu_row at = tly_gpu_at(g, &row, begin);
    tly_tile tile = { .publish = NULL };
    tly_tile_load(g, &t, &at, count, &tile);
    tly_tile_store(g, &t, &at, count, tile.x);
    kir_if_end(c->b, &exists, 0, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows: a team goes along a row, or along one chunk of it, tile by tile, with the carry in
 * registers. Long rows that are too few to fill the device are cut: first every chunk's total,
 * then the carries before them (carries.c), then every chunk's scan from its carry.
 */
#include "gpu.h"

#include <string.h>

/* What a team goes along: the item's row from its chunk's start, and how many positions; all of
 * the row where there are no chunks. */
typedef struct stretch {
    tly_gpu_row row;
    kir_value count;
} stretch;

static stretch stretch_of(tly_gpu *g, const tly_gpu_item *item)
{
    tly_gpu_row row = tly_gpu_row_of(g, item);
    if (!tly_gpu_has_chunks(g))
        return (stretch){ row, arg(&g->c, KIR_ARG_LENGTH) };
    kir_value begin = tly_gpu_chunk_begin(g, item->chunk);
    return (stretch){ tly_gpu_at(g, &row, begin), tly_gpu_chunk_count(g, begin) };
}

/* The stretch's classes, for those of the scans whose total is no use. */
static void summarise(tly_gpu *g, tly_team *t, const stretch *along, kir_value good, kir_value *all,
                      kir_value *range)
{
    tly_build *c = &g->c;
    unsigned count = tly_range_count(c);
    kir_value summary[2], results[3] = { *all, range[0], range[1] };
    kir_branch fine;
    kir_if(c->b, &fine, g->unit > 1 ? tly_team_all(g, t, good) : good);
    kir_else(c->b, &fine, 1 + count, results);
    tly_gpu_summary_begin(g, summary);
    kir_loop tiles;
    kir_for(c->b, &tiles, u32(g, 0), along->count, u32(g, t->tile), 2, summary);
    tly_tile tile;
    tly_gpu_row at = tly_gpu_at(g, &along->row, tiles.i);
    tly_tile_load(g, t, &at, sub(c, along->count, tiles.i), &tile);
    memcpy(summary, tiles.carried, sizeof summary);
    for (unsigned i = 0; i < tly_gpu_elements(g); i++)
        tly_gpu_summary_add(g, summary, tile.x[i]);
    kir_for_end(c->b, &tiles, summary);
    memcpy(summary, tiles.result, sizeof summary);
    tly_gpu_summary_fold(g, t, summary);
    tly_gpu_publish(g, good, summary, &results[0], &results[1]);
    kir_if_end(c->b, &fine, 1 + count, results);
    *all = fine.result[0];
    memcpy(range, fine.result + 1, count * sizeof *range);
}

/* Local results of a chunk: its total and extremes go to its record. */
static void total(tly_gpu *g, tly_team *t, const tly_gpu_item *item, const stretch *along)
{
    tly_build *c = &g->c;
    unsigned watched = tly_range_count(c);
    kir_value state[3], range[2] = { 0, 0 };
    state[0] = tly_neutral(c, c->acc);
    tly_range_begin(c, &state[1]);
    kir_loop tiles;
    kir_for(c->b, &tiles, u32(g, 0), along->count, u32(g, t->tile), 1 + watched, state);
    tly_tile tile = { .goes_on = 1 };
    tly_gpu_row at = tly_gpu_at(g, &along->row, tiles.i);
    tly_tile_load(g, t, &at, sub(c, along->count, tiles.i), &tile);
    tly_team_scan(g, t, &tile);
    state[0] = tly_tile_after(g, &tile, tiles.carried[0]);
    for (unsigned k = 0; k < watched; k++)
        state[1 + k] = tiles.carried[1 + k];
    for (unsigned i = 0; watched > 0 && i < tly_gpu_elements(g); i++)
        tly_range_track(c, &state[1], tly_combine(c, tiles.carried[0], tile.y[i]));
    tly_range_track(c, &state[1], state[0]);
    tly_team_rest(g, t);
    kir_for_end(c->b, &tiles, state);

    if (watched > 0) {
        tly_range_fold(c, &tiles.result[1], range);
        tly_team_fold_range(g, t, range);
        summarise(g, t, along, tly_range_good(c, range, 0), &tiles.result[0], range);
    }
    kir_branch leads;
    kir_if(c->b, &leads, tly_team_leads(g, t));
    kir_value record = tly_gpu_record_at(g, item->record);
    tly_store_state(c, tly_gpu_state_at(g, record, t->lane), 0, tiles.result[0], c->acc_bytes);
    tly_gpu_save_range(g, record, t->lane, range);
    kir_if_end(c->b, &leads, 0, NULL);
}

static void scan(tly_gpu *g, tly_team *t, const tly_gpu_item *item, const stretch *along)
{
    tly_build *c = &g->c;
    kir_value klass = tly_team_class(g, t), carry;
    if (tly_gpu_has_chunks(g)) {
        kir_value record = tly_gpu_record_at(g, item->record);
        carry = tly_load_state(c, tly_gpu_state_at(g, record, klass), 0, 1, c->acc_bytes);
    } else {
        carry = tly_gpu_first_carry(g, item, klass);
    }
    kir_loop tiles;
    kir_for(c->b, &tiles, u32(g, 0), along->count, u32(g, t->tile), 1, &carry);
    kir_value left = sub(c, along->count, tiles.i);
    /* A row of one tile has no use for the excess. */
    tly_tile tile = { .goes_on = 1, .more = ult(c, u32(g, t->tile), along->count) };
    tly_gpu_row at = tly_gpu_at(g, &along->row, tiles.i);
    carry = tly_tile_pass(g, t, &at, left, &tile, tiles.carried[0]);
    tly_team_rest(g, t);
    kir_for_end(c->b, &tiles, &carry);
    if (tly_gpu_has_chunks(g))
        return; /* the middle pass knows */
    kir_branch leads;
    kir_if(c->b, &leads, tly_team_leads(g, t));
    tly_gpu_last_carry(g, item, t->lane, tiles.result[0]);
    kir_if_end(c->b, &leads, 0, NULL);
}

void tly_gpu_build_rows(tly_gpu *g, unsigned pass)
{
    tly_build *c = &g->c;
    int chunks = tly_gpu_has_chunks(g);
    unsigned teams = (unsigned)(g->plan->workgroup / g->plan->team);
    g->launch->pass[pass].items = chunks ? TLY_ITEMS_CHUNKS : TLY_ITEMS_ROWS;
    g->launch->pass[pass].per_group = teams;

    tly_team t = tly_team_make(g);
    kir_value number = add(c, mul(c, tly_gpu_group(g), u32(g, teams)), t.number);
    tly_gpu_item item = tly_gpu_item_of(g, number, chunks);
    kir_branch exists;
    kir_if(c->b, &exists, item.valid);
    stretch along = stretch_of(g, &item);
    if (chunks && pass == TLY_GPU_PASS_TOTALS)
        total(g, &t, &item, &along);
    else
        scan(g, &t, &item, &along);
    kir_if_end(c->b, &exists, 0, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A group scans a row, or one chunk of it, tile by tile, with the carry in registers. Long rows
 * that are too few to fill the device are cut into chunks, in three passes: the total of every
 * chunk, the carries before them (carries.c), and the scan of every chunk from its carry.
 */
#include "gpu.h"

/* What a group scans: the item's row from its chunk's start on, or all of it without chunks. */
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

/* Adds all elements of the stretch to the summary. */
static void classify(tly_gpu *g, tly_group *t, const stretch *along, kir_value *summary)
{
    tly_build *c = &g->c;
    tly_region tiles = { .state = { &summary[0], &summary[1] } };
    emit_for(c, &tiles, u32(g, 0), along->count, u32(g, t->tile));
    tly_tile tile = { .publish = NULL };
    tly_gpu_row at = tly_gpu_at(g, &along->row, tiles.i);
    tly_tile_load(g, t, &at, sub(c, along->count, tiles.i), &tile);
    for (unsigned i = 0; i < tly_gpu_elements(g); i++)
        tly_gpu_summary_add(g, summary, tile.x[i]);
    emit_end(c, &tiles);
    tly_gpu_summary_fold(g, t, summary);
}

/* Publishes the stretch's class for those of its scans whose total is bad. */
static void summarise(tly_gpu *g, tly_group *t, const stretch *along, kir_value good,
                      kir_value *all, kir_value *range)
{
    tly_build *c = &g->c;
    kir_value summary[2];
    tly_region fine = { .state = { all } };
    emit_carry(&fine, tly_range_count(c), range);
    emit_unless(c, &fine, g->interleave > 1 ? tly_group_all(g, t, good) : good);
    tly_gpu_summary_begin(g, summary);
    if (tly_gpu_has_classes(g))
        classify(g, t, along, summary);
    tly_gpu_publish(g, good, summary, all, range);
    emit_end(c, &fine);
}

/* Stores a chunk's total and extremes in its record. */
static void total(tly_gpu *g, tly_group *t, const tly_gpu_item *item, const stretch *along)
{
    tly_build *c = &g->c;
    unsigned guarded = tly_range_count(c);
    kir_value sum = tly_neutral_window(c, c->acc), lanes[2] = { 0 }, range[2] = { 0 };
    tly_region tiles = { .state = { &sum } }, leads = { 0 };
    tly_range_begin(c, lanes);
    emit_carry(&tiles, guarded, lanes);
    emit_for(c, &tiles, u32(g, 0), along->count, u32(g, t->tile));
    tly_tile tile = { .goes_on = 1 };
    tly_gpu_row at = tly_gpu_at(g, &along->row, tiles.i);
    tly_tile_load(g, t, &at, sub(c, along->count, tiles.i), &tile);
    tly_group_scan(g, t, &tile);
    kir_value before = sum;
    sum = tly_tile_after(g, &tile, before);
    for (unsigned i = 0; guarded > 0 && i < tly_gpu_elements(g); i++)
        tly_range_track(c, lanes, tly_combine(c, before, tile.y[i]));
    tly_range_track(c, lanes, sum);
    tly_group_rest(g, t);
    emit_end(c, &tiles);

    if (guarded > 0) {
        tly_range_fold(c, lanes, range);
        tly_group_fold_range(g, t, range);
        summarise(g, t, along, tly_range_is_safe(c, range, 0), &sum, range);
    }
    emit_if(c, &leads, tly_group_leads(g, t));
    kir_value record = tly_gpu_record_at(g, item->record);
    tly_store_state(c, tly_gpu_state_at(g, record, t->lane), 0, sum, c->acc_bytes);
    tly_gpu_save_range(g, record, t->lane, range);
    emit_end(c, &leads);
}

static void scan(tly_gpu *g, tly_group *t, const tly_gpu_item *item, const stretch *along)
{
    tly_build *c = &g->c;
    kir_value which = tly_group_scan_of(g, t), carry;
    tly_region tiles = { .state = { &carry } }, leads = { 0 };
    if (tly_gpu_has_chunks(g)) {
        kir_value record = tly_gpu_record_at(g, item->record);
        carry = tly_load_state(c, tly_gpu_state_at(g, record, which), 0, 1, c->acc_bytes);
    } else {
        carry = tly_group_first_carry(g, t, item, which);
    }
    emit_for(c, &tiles, u32(g, 0), along->count, u32(g, t->tile));
    kir_value left = sub(c, along->count, tiles.i);
    tly_tile tile = { .goes_on = 1 };
    if (!c->p->carry) /* then a row of one tile has no use for the excess */
        tile.more = ult(c, u32(g, t->tile), along->count);
    tly_gpu_row at = tly_gpu_at(g, &along->row, tiles.i);
    carry = tly_tile_pass(g, t, &at, left, &tile, carry);
    tly_group_rest(g, t);
    emit_end(c, &tiles);
    if (tly_gpu_has_chunks(g))
        return; /* the middle pass has stored the carry */
    emit_if(c, &leads, tly_group_leads(g, t));
    tly_gpu_last_carry(g, item, t->lane, carry);
    emit_end(c, &leads);
}

static void build(tly_gpu *g, unsigned pass)
{
    tly_build *c = &g->c;
    int chunks = tly_gpu_has_chunks(g);
    unsigned teams = (unsigned)(g->plan->workgroup / g->plan->group);
    g->launch->pass[pass].items = chunks ? TLY_ITEMS_CHUNKS : TLY_ITEMS_ROWS;
    g->launch->pass[pass].per_group = teams;

    tly_group t = tly_group_make(g);
    kir_value number = add(c, mul(c, tly_gpu_group(g), u32(g, teams)), t.number);
    tly_gpu_item item = tly_gpu_item_of(g, number, chunks);
    tly_region exists = { 0 };
    emit_if(c, &exists, item.valid);
    stretch along = stretch_of(g, &item);
    if (chunks && pass == TLY_GPU_PASS_TOTALS)
        total(g, &t, &item, &along);
    else
        scan(g, &t, &item, &along);
    emit_end(c, &exists);
}

const tly_gpu_algorithm tly_gpu_subgroups_algorithm = {
    .build = build,
    .passes = TLY_GPU_THREE_PASSES,
    .record_bytes = tly_gpu_record_bytes,
    .carries_by_subgroup = 1,
    .finds_part = 1,
};

const tly_gpu_algorithm tly_gpu_workgroups_algorithm = {
    .build = build,
    .passes = TLY_GPU_THREE_PASSES,
    .record_bytes = tly_gpu_record_bytes,
    .finds_part = 1,
};

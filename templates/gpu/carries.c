/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The middle pass of rows of one scan that are cut into chunks. The carry before a chunk is the
 * carry before the last one, combined with that one's total, strictly from left to right, so that
 * the bits depend on nothing else. Where a total does not hold after its carry (docs/range.md), the
 * group goes through the chunk, tile by tile. It reads many records at once, as each alone would
 * cost the memory's latency.
 */
#include "gpu.h"

/* Records that are read at once; a workgroup's memory holds them. */
enum { BLOCK = 64 };

static unsigned slot_bytes(const tly_gpu *g)
{
    return (tly_gpu_record_bytes(g) + 15) / 16 * 16;
}

static kir_value slot(tly_gpu *g, kir_value shared, kir_value number)
{
    tly_build *c = &g->c;
    return ptradd(c, shared, mul(c, number, u32(g, slot_bytes(g))));
}

static kir_value record_of(tly_gpu *g, const tly_gpu_item *item, kir_value chunk)
{
    tly_build *c = &g->c;
    kir_value number = add(c, mul(c, chunk, tly_gpu_items(g)), item->index);
    return tly_gpu_record_at(g, number);
}

/* Records [base, base + count) of the row become slots, word by word. */
static void fetch(tly_gpu *g, const tly_gpu_item *item, kir_value shared, kir_value base,
                  kir_value count)
{
    tly_build *c = &g->c;
    kir_value local = kir_get_id(c->b, KIR_ID_LOCAL);
    tly_region exists = { 0 };
    emit_if(c, &exists, ult(c, local, count));
    kir_value far = record_of(g, item, add(c, base, local)), near = slot(g, shared, local);
    for (unsigned at = 0; at < tly_gpu_record_bytes(g); at += 4)
        kir_store(c->b, near, at, kir_load(c->b, KIR_TYPE(KIR_I32, 1), far, at, 4), 4, 0);
    emit_end(c, &exists);
}

/* The carry after a chunk that its record does not tell. */
static kir_value go_through(tly_gpu *g, tly_group *t, const tly_gpu_row *row, kir_value chunk,
                            kir_value carry)
{
    tly_build *c = &g->c;
    kir_value begin = tly_gpu_chunk_begin(g, chunk), count = tly_gpu_chunk_count(g, begin);
    tly_gpu_row from = tly_gpu_at(g, row, begin);
    tly_region tiles = { .state = { &carry } };
    emit_for(c, &tiles, u32(g, 0), count, u32(g, t->tile));
    tly_tile tile = { .silent = 1, .goes_on = 1 };
    tly_gpu_row at = tly_gpu_at(g, &from, tiles.i);
    carry = tly_tile_pass(g, t, &at, sub(c, count, tiles.i), &tile, carry);
    tly_group_rest(g, t);
    emit_end(c, &tiles);
    return carry;
}

static kir_value after_chunk(tly_gpu *g, tly_group *t, const tly_gpu_row *row, kir_value chunk,
                             kir_value record, kir_value carry)
{
    tly_build *c = &g->c;
    kir_value range[2], total = tly_load_window(c, record, 0, 1, c->acc_bytes);
    kir_value next = tly_combine(c, carry, total);
    if (tly_range_count(c) == 0)
        return next;
    tly_gpu_load_range(g, record, u32(g, 0), range);
    tly_region bad = { .state = { &next } };
    emit_unless(c, &bad, tly_gpu_combines(g, total, range, carry));
    next = go_through(g, t, row, chunk, carry);
    emit_end(c, &bad);
    return next;
}

/* From totals to carries, in place: every invocation knows the carry, the first ones write. */
static kir_value chain(tly_gpu *g, tly_group *t, const tly_gpu_item *item, const tly_gpu_row *row,
                       kir_value shared, kir_value base, kir_value count, kir_value carry)
{
    tly_build *c = &g->c;
    tly_region l = { .state = { &carry } }, leads = { 0 };
    emit_for(c, &l, u32(g, 0), count, u32(g, 1));
    kir_value chunk = add(c, base, l.i);
    emit_if(c, &leads, tly_group_leads(g, t));
    tly_store_state(c, record_of(g, item, chunk), 0, carry, c->acc_bytes);
    emit_end(c, &leads);
    carry = after_chunk(g, t, row, chunk, slot(g, shared, l.i), carry);
    emit_end(c, &l);
    return carry;
}

void tly_gpu_build_carries(tly_gpu *g, unsigned pass)
{
    tly_build *c = &g->c;
    tly_gpu_plan alone = *g->plan; /* one group, of whole subgroups */
    tly_gpu whole = *g;
    alone.group = alone.workgroup = (int32_t)g->launch->pass[pass].workgroup;
    whole.plan = &alone;
    g = &whole;
    g->launch->pass[pass].items = TLY_ITEMS_ROWS;
    g->launch->pass[pass].per_group = 1;
    unsigned block = alone.workgroup < BLOCK ? (unsigned)alone.workgroup : BLOCK;
    kir_value shared = kir_shared(c->b, block * slot_bytes(g));
    tly_group t = tly_group_make(g);
    tly_gpu_item item = tly_gpu_item_of(g, tly_gpu_group(g), 0);
    tly_region exists = { 0 }, leads = { 0 };
    emit_if(c, &exists, item.valid);
    tly_gpu_row row = tly_gpu_row_of(g, &item);
    kir_value carry = tly_group_first_carry(g, &t, &item, u32(g, 0));
    kir_value chunks = arg(c, KIR_ARG_CHUNKS), size = u32(g, block);
    tly_region l = { .state = { &carry } };
    emit_for(c, &l, u32(g, 0), chunks, size);
    kir_value count = umin(c, sub(c, chunks, l.i), size);
    fetch(g, &item, shared, l.i, count);
    kir_barrier(c->b);
    carry = chain(g, &t, &item, &row, shared, l.i, count, carry);
    kir_barrier(c->b);
    emit_end(c, &l);
    emit_if(c, &leads, tly_group_leads(g, &t));
    tly_gpu_last_carry(g, &item, u32(g, 0), carry);
    emit_end(c, &leads);
    emit_end(c, &exists);
}

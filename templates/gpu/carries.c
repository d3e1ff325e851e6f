/*
 * The middle pass of templates that cut the axis into chunks: carry before a chunk = carry before
 * the last one, combined with its total, strictly from left to right, so that the bits depend on
 * nothing else. A chunk whose total cannot be trusted after its carry is walked by the plain loop.
 * Records are read and carries written by the whole workgroup at a time, because one invocation
 * alone would wait for memory at every chunk.
 */
#include "gpu.h"

/* A record as it lies in workgroup memory: 16-byte slots. */
static unsigned slot_bytes(const tly_gpu *g)
{
    return (tly_gpu_record_bytes(g) + 15) / 16 * 16;
}

static kir_value slot(tly_gpu *g, kir_value shared, kir_value number, kir_value klass)
{
    tly_build *c = &g->c;
    kir_value at = mul(c, number, word(g, slot_bytes(g)));
    return kir_ptradd(c->b, shared, add(c, at, mul(c, klass, word(g, c->acc_bytes))));
}

static kir_value range_slot(tly_gpu *g, kir_value shared, kir_value number)
{
    return slot(g, shared, number, word(g, g->unit));
}

kir_value tly_gpu_after_chunk(tly_gpu *g, const tly_gpu_row *row, kir_value chunk,
                              kir_value klass, kir_value total, const kir_value *range,
                              kir_value carry)
{
    tly_build *c = &g->c;
    kir_builder *b = c->b;
    kir_value next = tly_combine(c, carry, total);
    if (tly_range_count(c) == 0)
        return next;
    kir_branch good;
    kir_if(b, &good, tly_range_good(c, range, carry));
    kir_else(b, &good, 1, &next);
    kir_value begin = tly_gpu_chunk_begin(g, chunk), first = klass;
    tly_gpu_row at = tly_gpu_at(g, row, begin);
    if (g->lanes > 1) {
        at.in = kir_ptradd(b, at.in, tly_gpu_widened(g, mul(c, klass, word(g, c->in_bytes))));
        first = word(g, 0);
    }
    kir_value count = tly_gpu_chunk_count(g, begin);
    kir_value walked = tly_walk(g, &at, first, count, g->unit, carry, 0);
    kir_if_end(b, &good, 1, &walked);
    return good.result[0];
}

/* Records [base, base + count) of the row, between scratch and workgroup memory. */
static void move(tly_gpu *g, const tly_gpu_item *item, kir_value shared, kir_value base,
                 kir_value count, int in)
{
    tly_build *c = &g->c;
    kir_builder *b = c->b;
    kir_value local = kir_get_id(b, KIR_ID_LOCAL);
    kir_branch exists;
    kir_if(b, &exists, kir_cmp(b, KIR_ULT, local, count));
    kir_value number = add(c, mul(c, add(c, base, local), tly_gpu_items(g)), item->index);
    kir_value record = tly_gpu_record_at(g, number);
    for (unsigned k = 0; k < g->unit; k++) {
        kir_value far = tly_gpu_acc_at(g, record, word(g, k)), near = slot(g, shared, local,
                                                                           word(g, k));
        kir_value v = kir_load(b, c->acc, in ? far : near, 0, c->acc_bytes);
        kir_store(b, in ? near : far, 0, v, c->acc_bytes, 0);
    }
    if (in) {
        kir_value range[2];
        tly_gpu_load_range(g, record, range);
        for (unsigned k = 0; k < tly_range_count(c); k++)
            kir_store(b, range_slot(g, shared, local), 4 * k, range[k], 4, 0);
    }
    kir_if_end(b, &exists, 0, NULL);
}

/* One invocation for each scan: from totals to carries, in place. */
static kir_value chain(tly_gpu *g, const tly_gpu_row *row, kir_value shared, kir_value base,
                       kir_value count, kir_value carry)
{
    tly_build *c = &g->c;
    kir_builder *b = c->b;
    kir_value klass = kir_get_id(b, KIR_ID_LOCAL), range[2];
    kir_branch mine;
    kir_if(b, &mine, kir_cmp(b, KIR_ULT, klass, word(g, g->unit)));
    kir_loop l;
    kir_for(b, &l, word(g, 0), count, word(g, 1), 1, &carry);
    kir_value at = slot(g, shared, l.i, klass);
    kir_value total = kir_load(b, c->acc, at, 0, c->acc_bytes);
    for (unsigned k = 0; k < tly_range_count(c); k++)
        range[k] = kir_load(b, KIR_TYPE(KIR_I32, 1), range_slot(g, shared, l.i), 4 * k, 4);
    kir_store(b, at, 0, l.carried[0], c->acc_bytes, 0);
    kir_value next = tly_gpu_after_chunk(g, row, add(c, base, l.i), klass, total, range,
                                         l.carried[0]);
    kir_for_end(b, &l, &next);
    kir_else(b, &mine, 1, &l.result[0]);
    kir_if_end(b, &mine, 1, &carry);
    return mine.result[0];
}

void tly_gpu_build_carries(tly_gpu *g)
{
    tly_build *c = &g->c;
    kir_builder *b = c->b;
    unsigned workgroup = g->launch->pass[TLY_GPU_PASS_CARRIES].workgroup;
    g->launch->pass[TLY_GPU_PASS_CARRIES].items = TLY_ITEMS_ROWS;
    g->launch->pass[TLY_GPU_PASS_CARRIES].per_group = 1;
    kir_value shared = kir_shared(b, workgroup * slot_bytes(g));
    tly_gpu_item item = tly_gpu_item_of(g, tly_gpu_group(g), 0);
    kir_branch exists;
    kir_if(b, &exists, item.valid);
    tly_gpu_row row = tly_gpu_row_of(g, &item);
    kir_value klass = kir_bin(b, KIR_UMIN, kir_get_id(b, KIR_ID_LOCAL), word(g, g->unit - 1));
    kir_value carry = tly_gpu_first_carry(g, &item, klass);
    kir_value chunks = kir_get(b, KIR_ARG_GPU_CHUNKS), size = word(g, workgroup);
    kir_loop l;
    kir_for(b, &l, word(g, 0), chunks, size, 1, &carry);
    kir_value count = kir_bin(b, KIR_UMIN, sub(c, chunks, l.i), size);
    move(g, &item, shared, l.i, count, 1);
    kir_barrier(b);
    kir_value next = chain(g, &row, shared, l.i, count, l.carried[0]);
    kir_barrier(b);
    move(g, &item, shared, l.i, count, 0);
    kir_barrier(b);
    kir_for_end(b, &l, &next);
    kir_branch leads;
    kir_if(b, &leads, kir_cmp(b, KIR_ULT, kir_get_id(b, KIR_ID_LOCAL), word(g, g->unit)));
    tly_gpu_last_carry(g, &item, klass, l.result[0]);
    kir_if_end(b, &leads, 0, NULL);
    kir_if_end(b, &exists, 0, NULL);
}

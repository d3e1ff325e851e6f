/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The middle pass of columns and of interleaved rows that are cut into chunks: items have many
 * chunks and several scans. A workgroup takes an item, and an invocation a group of neighbouring
 * chunks of one scan. First each invocation combines the totals of its group. Then one invocation
 * of each scan goes from group to group, from left to right. Last, each invocation goes through its
 * chunks from the carry before its group. So many records are loaded at once, and no invocation
 * goes through all of them. Groups count from the dispatch's first chunk, so that the order of
 * combination follows from plan and launch alone.
 *
 * A group has a record as a chunk has one: its total and extremes where they are valid by
 * themselves, or its classes (range.c). Where these do not determine what follows from the carry,
 * an invocation goes through the group chunk by chunk, and where a chunk's record does not,
 * position by position.
 */
#include "gpu.h"

#include <string.h>

/* Chunks of a group: records that an invocation has on their way. */
enum { GROUP = 16 };

typedef struct middle {
    const tly_gpu_item *item;
    const tly_gpu_row *row;
    unsigned scans, groups; /* of the item; that go together, a block */
    kir_value scan, number; /* which scan and which group of a block is this invocation's */
    kir_value chunks;
    kir_value slots; /* one for each invocation, in workgroup memory */
} middle;

/* A group's records. */
typedef struct group {
    kir_value exists[GROUP]; /* i1 */
    kir_value at[GROUP];     /* where its state is */
    kir_value all[GROUP], range[GROUP][2];
} group;

/* ---- a group's records and its slot ---- */

static kir_value fetch_one(tly_gpu *g, const middle *m, kir_value chunk, kir_value *all,
                           kir_value *range)
{
    tly_build *c = &g->c;
    kir_value number = add(c, mul(c, chunk, tly_gpu_items(g)), m->item->index);
    kir_value record = tly_gpu_record_at(g, number), at = tly_gpu_state_at(g, record, m->scan);
    *all = tly_load_window(c, at, 0, 1, c->acc_bytes);
    tly_gpu_load_range(g, record, m->scan, range);
    return at;
}

/* What lies beyond the last chunk is read of that one, and left out later. */
static void fetch(tly_gpu *g, const middle *m, kir_value first, kir_value end, group *r)
{
    tly_build *c = &g->c;
    kir_value last = sub(c, m->chunks, u32(g, 1));
    for (unsigned i = 0; i < GROUP; i++) {
        kir_value chunk = add(c, first, u32(g, i));
        r->exists[i] = ult(c, chunk, end);
        chunk = umin(c, chunk, last);
        r->at[i] = fetch_one(g, m, chunk, &r->all[i], r->range[i]);
    }
}

/* The total and extremes of all of them, or their classes. */
static void join(tly_gpu *g, const group *r, kir_value *all, kir_value *range)
{
    tly_build *c = &g->c;
    unsigned words = tly_range_count(c);
    kir_value summary[2];
    *all = r->all[0];
    memcpy(range, r->range[0], words * sizeof *range);
    if (words > 0) {
        tly_gpu_summary_begin(g, summary);
        tly_gpu_summary_join(g, summary, r->all[0], r->range[0]);
    }
    for (unsigned i = 1; i < GROUP; i++) {
        kir_value wider[2], more[2];
        if (words > 0) {
            memcpy(wider, range, words * sizeof *wider);
            memcpy(more, summary, sizeof more);
            tly_range_follow(c, wider, *all, r->range[i]);
            tly_gpu_summary_join(g, more, r->all[i], r->range[i]);
            summary[0] = choose(c, r->exists[i], more[0], summary[0]);
            summary[1] = choose(c, r->exists[i], more[1], summary[1]);
        }
        for (unsigned k = 0; k < words; k++)
            range[k] = choose(c, r->exists[i], wider[k], range[k]);
        *all = choose(c, r->exists[i], tly_combine(c, *all, r->all[i]), *all);
    }
    if (words > 0)
        tly_gpu_publish(g, tly_range_is_safe(c, range, 0), summary, all, range);
}

static kir_value slot(tly_gpu *g, const middle *m, kir_value number)
{
    tly_build *c = &g->c;
    return ptradd(c, m->slots, mul(c, number, u32(g, tly_gpu_slot_bytes(c->p))));
}

/* ---- from group to group ---- */

/* The carry after a chunk that its record does not tell: along this one scan. */
static kir_value go_along(tly_gpu *g, const middle *m, kir_value chunk, kir_value carry)
{
    tly_build *c = &g->c;
    kir_value begin = tly_gpu_chunk_begin(g, chunk), count = tly_gpu_chunk_count(g, begin);
    tly_gpu_row at = tly_gpu_at(g, m->row, begin);
    kir_value scan = tly_gpu_as_offset(g, m->scan);
    for (int t = 0; t < c->tensors && g->interleave > 1; t++) {
        tly_gpu_axis *in = &at.tensor[t];
        if (tly_is_written(t))
            continue;
        in->at = ptradd(c, in->at, mul(c, scan, in->step));
        in->step = mul(c, in->step, tly_gpu_offset(g, g->interleave));
        in->known *= g->interleave;
    }
    if (g->interleave > 1)
        count = udiv(c, count, u32(g, g->interleave));
    else if (g->lanes > 1)
        at = tly_gpu_beside(g, &at, scan);
    return tly_gpu_scan_serially(g, &at, count, carry);
}

static kir_value after_chunk(tly_gpu *g, const middle *m, kir_value chunk, kir_value all,
                             const kir_value *range, kir_value carry)
{
    tly_build *c = &g->c;
    kir_value next = tly_combine(c, carry, all);
    tly_region bad = { .state = { &next } };
    emit_unless(c, &bad, tly_gpu_combines(g, all, range, carry));
    next = go_along(g, m, chunk, carry);
    emit_end(c, &bad);
    return next;
}

/* The carry after a group, and those before its chunks, where one does not follow from the
 * other. */
static kir_value go_through(tly_gpu *g, const middle *m, kir_value first, kir_value carry)
{
    tly_build *c = &g->c;
    kir_value end = umin(c, add(c, first, u32(g, GROUP)), m->chunks);
    kir_value all, range[2];
    tly_region l = { .state = { &carry } };
    emit_for(c, &l, first, end, u32(g, 1));
    kir_value at = fetch_one(g, m, l.i, &all, range);
    tly_store_state(c, at, 0, carry, c->acc_bytes);
    carry = after_chunk(g, m, l.i, all, range, carry);
    emit_end(c, &l);
    return carry;
}

/* The groups of a block, from its first chunk to its end: totals in slots become the carries before
 * them, and flags whether the group's chunks may be combined with theirs. */
static kir_value chain(tly_gpu *g, const middle *m, kir_value first, kir_value end, kir_value carry)
{
    tly_build *c = &g->c;
    unsigned words = tly_range_count(c);
    kir_value range[2], next;
    tly_region l = { .state = { &carry } }, bad = { .state = { &next } };
    emit_for(c, &l, first, end, u32(g, GROUP));
    kir_value number = udiv(c, sub(c, l.i, first), u32(g, GROUP));
    kir_value at = slot(g, m, add(c, mul(c, number, u32(g, m->scans)), m->scan));
    kir_value all = tly_load_window(c, at, 0, 1, c->acc_bytes);
    for (unsigned k = 0; k < words; k++)
        range[k] = kir_load(c->b, KIR_TYPE(KIR_I32, 1), at, c->state_bytes + 4 * k, 4);
    tly_store_state(c, at, 0, carry, c->acc_bytes);
    next = tly_combine(c, carry, all);
    if (words > 0) {
        kir_value holds = tly_gpu_combines_all(g, range, carry);
        kir_value flag = convert(c, KIR_ZEXT, KIR_TYPE(KIR_I32, 1), holds);
        kir_store(c->b, at, c->state_bytes, flag, 4, 0);
        emit_unless(c, &bad, holds);
        next = go_through(g, m, l.i, carry);
        emit_end(c, &bad);
    }
    carry = next;
    emit_end(c, &l);
    return carry;
}

/* ---- the pass ---- */

/* The carries before a group's chunks, from the one before it. */
static void finish(tly_gpu *g, const group *r, kir_value at)
{
    tly_build *c = &g->c;
    kir_value carry = tly_load_state(c, at, 0, 1, c->acc_bytes), holds = 0;
    if (tly_range_count(c) > 0) {
        kir_value flag = kir_load(c->b, KIR_TYPE(KIR_I32, 1), at, c->state_bytes, 4);
        holds = differ(c, flag, u32(g, 0));
    }
    for (unsigned i = 0; i < GROUP; i++) {
        tly_region mine = { 0 };
        emit_if(c, &mine, holds ? band(c, r->exists[i], holds) : r->exists[i]);
        tly_store_state(c, r->at[i], 0, carry, c->acc_bytes);
        emit_end(c, &mine);
        if (i + 1 < GROUP)
            carry = tly_combine(c, carry, r->all[i]);
    }
}

/* As many groups as the workgroup takes at once, from chunk `first`. */
static kir_value block(tly_gpu *g, const middle *m, kir_value first, kir_value leads,
                       kir_value carry)
{
    tly_build *c = &g->c;
    kir_value end = add(c, first, u32(g, m->groups * GROUP)), all, range[2];
    kir_value own = slot(g, m, kir_get_id(c->b, KIR_ID_LOCAL));
    end = umin(c, end, m->chunks);
    group r;
    fetch(g, m, add(c, first, mul(c, m->number, u32(g, GROUP))), end, &r);
    join(g, &r, &all, range);
    tly_store_state(c, own, 0, all, c->acc_bytes);
    for (unsigned k = 0; k < tly_range_count(c); k++)
        kir_store(c->b, own, c->state_bytes + 4 * k, range[k], 4, 0);
    kir_barrier(c->b);
    tly_region leader = { .state = { &carry } };
    emit_if(c, &leader, leads);
    carry = chain(g, m, first, end, carry);
    emit_end(c, &leader);
    kir_barrier(c->b);
    finish(g, &r, own);
    return carry;
}

void tly_gpu_build_carries_apart(tly_gpu *g, unsigned number)
{
    tly_build *c = &g->c;
    tly_gpu_pass *pass = &g->launch->pass[number];
    unsigned scans = tly_gpu_scans(g);
    pass->items = TLY_ITEMS_ROWS;
    pass->per_group = 1;
    kir_value local = kir_get_id(c->b, KIR_ID_LOCAL);
    tly_gpu_item item = tly_gpu_item_of(g, tly_gpu_group(g), 0);
    middle m = {
        .item = &item,
        .scans = scans,
        .groups = pass->workgroup / scans,
        .scan = u32(g, 0),
        .number = local,
        .chunks = arg(c, KIR_ARG_CHUNKS),
        .slots = kir_shared(c->b, pass->workgroup * tly_gpu_slot_bytes(c->p)),
    };
    if (scans > 1) {
        m.number = udiv(c, local, u32(g, scans));
        m.scan = sub(c, local, mul(c, m.number, u32(g, scans)));
    }
    tly_region exists = { 0 }, leader = { 0 };
    emit_if(c, &exists, item.valid);
    tly_gpu_row row = tly_gpu_row_of(g, &item);
    m.row = &row;
    kir_value leads = ult(c, local, u32(g, scans));
    kir_value carry = tly_gpu_first_carry(g, &item, m.scan);
    tly_region l = { .state = { &carry } };
    emit_for(c, &l, u32(g, 0), m.chunks, u32(g, m.groups * GROUP));
    carry = block(g, &m, l.i, leads, carry);
    emit_end(c, &l);
    emit_if(c, &leader, leads);
    tly_gpu_last_carry(g, &item, m.scan, carry);
    emit_end(c, &leader);
    emit_end(c, &exists);
}

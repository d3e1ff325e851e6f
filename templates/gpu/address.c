/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds what an invocation works on and where that lies: its item from its ids, then the addresses
 * of its row, lane and chunk. Offsets have 32 bits where the plan has shown that they suffice.
 */
#include "gpu.h"

kir_value tly_gpu_offset(tly_gpu *g, int64_t bytes)
{
    return g->index.kind == KIR_I64 ? kir_int(g->c.b, bytes) : u32(g, bytes);
}

kir_value tly_gpu_as_offset(tly_gpu *g, kir_value v)
{
    return g->index.kind == KIR_I64 ? convert(&g->c, KIR_ZEXT, g->index, v) : v;
}

kir_value tly_gpu_flag(tly_gpu *g, uint32_t flag)
{
    tly_build *c = &g->c;
    kir_value bits = band(c, arg(c, KIR_ARG_FLAGS), u32(g, flag));
    return differ(c, bits, u32(g, 0));
}

kir_value tly_gpu_group(tly_gpu *g)
{
    tly_build *c = &g->c;
    kir_value row = mul(c, kir_get_id(c->b, KIR_ID_GROUP_Y), arg(c, KIR_ARG_GROUPS_X));
    return add(c, row, kir_get_id(c->b, KIR_ID_GROUP_X));
}

kir_value tly_gpu_items(tly_gpu *g)
{
    tly_build *c = &g->c;
    kir_value rows = sub(c, arg(c, KIR_ARG_ROWS), arg(c, KIR_ARG_ROW_FIRST));
    return g->launch->form == TLY_GPU_LANES ? mul(c, rows, arg(c, KIR_ARG_INNER)) : rows;
}

static kir_value quotient(tly_gpu *g, kir_value x, kir_value y)
{
    return udiv(&g->c, x, y);
}

static kir_value rest(tly_gpu *g, kir_value x, kir_value y, kir_value x_by_y)
{
    tly_build *c = &g->c;
    return sub(c, x, mul(c, x_by_y, y));
}

tly_gpu_item tly_gpu_item_of(tly_gpu *g, kir_value number, int chunks)
{
    tly_build *c = &g->c;
    kir_value items = tly_gpu_items(g);
    tly_gpu_item item = { .index = number, .chunk = u32(g, 0), .record = number };
    if (chunks) {
        item.chunk = quotient(g, number, items);
        item.index = rest(g, number, items, item.chunk);
        items = mul(c, items, arg(c, KIR_ARG_CHUNKS));
    }
    item.valid = ult(c, number, items);
    return item;
}

/* x times a stride. */
static kir_value scaled(tly_gpu *g, kir_value x, kir_arg stride)
{
    tly_build *c = &g->c;
    return mul(c, tly_gpu_as_offset(g, x), kir_get_as(c->b, stride, g->index.kind));
}

static kir_value outer_stride(tly_gpu *g, int tensor, int dim)
{
    return kir_get_dim(g->c.b, TLY_ARG(OUTER_IN, tensor), (unsigned)dim, g->index.kind);
}

void tly_gpu_load_operands(tly_gpu *g)
{
    tly_build *c = &g->c;
    if (tly_reduces(c->p->form) || g->plan->template_id == TLY_GPU_STAGED)
        return;
    for (int t = TLY_FIRST_OPERAND; t < c->tensors; t++) {
        (void)arg(c, TLY_ARG(IN, t));
        for (int dim = 0; dim < g->plan->outer_rank; dim++)
            g->outer[t][dim] = outer_stride(g, t, dim);
    }
}

static kir_value scaled_by_dim(tly_gpu *g, kir_value x, int tensor, int dim)
{
    kir_value stride = g->outer[tensor][dim];
    return mul(&g->c, tly_gpu_as_offset(g, x), stride ? stride : outer_stride(g, tensor, dim));
}

/* Adds the bytes to index `x` of an outer dim. */
static void add_outer(tly_gpu *g, int dim, kir_value x, kir_value *offset)
{
    tly_build *c = &g->c;
    const int64_t *const literal[TLY_FIRST_OPERAND] = { g->plan->outer_in, g->plan->outer_out };
    kir_value by[TLY_TENSOR_COUNT], scaled = x;
    if (g->plan->literal)
        scaled = tly_gpu_as_offset(g, x);
    for (int t = 0; t < c->tensors; t++)
        by[t] = g->plan->literal && t < TLY_FIRST_OPERAND
                    ? mul(c, scaled, tly_gpu_offset(g, literal[t][dim]))
                    : scaled_by_dim(g, x, t, dim);
    for (int t = 0; t < c->tensors; t++)
        offset[t] = add(c, offset[t], by[t]);
}

static kir_value outer_size(tly_gpu *g, int dim)
{
    if (g->plan->literal)
        return u32(g, g->plan->outer_size[dim]);
    return kir_get_dim(g->c.b, KIR_ARG_OUTER_SIZE, (unsigned)dim, KIR_I32);
}

/* Rows are counted through the outer dims, the last fastest. */
static void row_offsets(tly_gpu *g, kir_value row, kir_value *offset)
{
    for (int dim = g->plan->outer_rank - 1; dim > 0; dim--) {
        kir_value size = outer_size(g, dim), up = quotient(g, row, size);
        add_outer(g, dim, rest(g, row, size, up), offset);
        row = up;
    }
    if (g->plan->outer_rank > 0)
        add_outer(g, 0, row, offset);
}

/* Bytes from one position to the next: a literal where the problem has one. */
static kir_value axis_step(tly_gpu *g, int tensor, int64_t *known)
{
    tly_build *c = &g->c;
    *known = 0;
    if (g->launch->form != TLY_GPU_ROWS || c->p->tensor[tensor].step == TLY_ANY_STEP)
        return kir_get_as(c->b, TLY_ARG(IN_AXIS, tensor), g->index.kind);
    *known = (int64_t)c->bytes[tensor] * c->p->tensor[tensor].step;
    return tly_gpu_offset(g, *known);
}

/* Bytes to the next of an item's lanes in an operand. The launch tells the bytes from one group of
 * lanes to the next, and a group has a power of two. */
static kir_value lane_step(tly_gpu *g, int tensor)
{
    tly_build *c = &g->c;
    const int8_t step = c->p->tensor[tensor].step;
    unsigned log2 = 0;
    if (g->lanes == 1)
        return tly_gpu_offset(g, 0);
    if (step != TLY_ANY_STEP)
        return tly_gpu_offset(g, (int64_t)step * c->bytes[tensor]);
    while (1u << log2 < g->lanes)
        log2++;
    kir_value group = kir_get_as(c->b, TLY_ARG(IN_LANE, tensor), g->index.kind);
    return ashr(c, group, like(c, group, log2));
}

/* Of position 0 of the dispatch. */
static kir_value first_index(tly_gpu *g)
{
    tly_build *c = &g->c;
    const kir_type t = tly_storage(tly_index_dtype(c->p), 1);
    if (!c->p->counts_32 || t.kind == KIR_I32)
        return kir_get_as(c->b, KIR_ARG_FIRST_INDEX, (kir_kind)t.kind);
    return convert(c, KIR_ZEXT, t, kir_get_as(c->b, KIR_ARG_FIRST_INDEX, KIR_I32));
}

tly_gpu_row tly_gpu_row_of(tly_gpu *g, const tly_gpu_item *item)
{
    tly_build *c = &g->c;
    kir_value offset[TLY_TENSOR_COUNT], row = item->index;
    int one_lane = c->p->form == TLY_ROWS && c->p->interleave == 1;
    for (int t = 0; t < c->tensors; t++)
        offset[t] = tly_gpu_offset(g, 0);
    if (g->launch->form == TLY_GPU_LANES && !one_lane) {
        kir_value lanes = arg(c, KIR_ARG_INNER);
        row = quotient(g, item->index, lanes);
        kir_value lane = rest(g, item->index, lanes, row);
        for (int t = 0; t < c->tensors; t++)
            offset[t] = scaled(g, lane, TLY_ARG(IN_LANE, t));
    }
    row_offsets(g, add(c, row, arg(c, KIR_ARG_ROW_FIRST)), offset);
    tly_gpu_row at = { 0 };
    for (int t = 0; t < c->tensors; t++) {
        at.tensor[t].at = ptradd(c, arg(c, TLY_ARG(IN, t)), offset[t]);
        at.tensor[t].offset = offset[t];
    }
    for (int t = 0; t < c->tensors; t++)
        at.tensor[t].step = axis_step(g, t, &at.tensor[t].known);
    for (int t = TLY_FIRST_OPERAND; t < c->tensors; t++)
        at.tensor[t].lane = lane_step(g, t);
    if (!tly_reduces(c->p->form) && tly_has_index(c->p))
        at.index = first_index(g);
    return at;
}

kir_value tly_gpu_address(tly_gpu *g, const tly_gpu_row *row, int tensor, kir_value position)
{
    tly_build *c = &g->c;
    kir_value bytes = mul(c, tly_gpu_as_offset(g, position), row->tensor[tensor].step);
    return ptradd(c, row->tensor[tensor].at, bytes);
}

kir_value tly_gpu_near(tly_gpu *g, const tly_gpu_row *row, int tensor, kir_value p, unsigned after,
                       int64_t *offset)
{
    tly_build *c = &g->c;
    *offset = row->tensor[tensor].known * after;
    if (row->tensor[tensor].known != 0 || after == 0)
        return p;
    return ptradd(c, p, mul(c, row->tensor[tensor].step, tly_gpu_offset(g, after)));
}

tly_gpu_row tly_gpu_at(tly_gpu *g, const tly_gpu_row *row, kir_value position)
{
    tly_gpu_row moved = *row;
    for (int t = 0; t < g->c.tensors; t++)
        moved.tensor[t].at = tly_gpu_address(g, row, t, position);
    if (tly_factors(g->c.p) > 0 || tly_gpu_has_heads(g->c.p))
        moved.moved = row->moved ? add(&g->c, row->moved, position) : position;
    if (row->index != 0)
        moved.index = tly_index_after(&g->c, row->index, position);
    return moved;
}

/* Lanes of an item are neighbours in input and output. */
static kir_value across(tly_gpu *g, const tly_gpu_row *row, int tensor, kir_value lanes)
{
    kir_value each = tensor < TLY_FIRST_OPERAND ? tly_gpu_offset(g, g->c.bytes[tensor])
                                                : row->tensor[tensor].lane;
    return mul(&g->c, lanes, each);
}

kir_value tly_gpu_lane_address(tly_gpu *g, const tly_gpu_row *row, int tensor, kir_value lane)
{
    return ptradd(&g->c, row->tensor[tensor].at, across(g, row, tensor, lane));
}

tly_gpu_row tly_gpu_beside(tly_gpu *g, const tly_gpu_row *row, kir_value lane)
{
    tly_gpu_row moved = *row;
    for (int t = 0; t < g->c.tensors; t++) {
        if (!tly_is_written(t))
            moved.tensor[t].at = tly_gpu_lane_address(g, row, t, lane);
    }
    return moved;
}

static kir_value address_in_extent(tly_build *c, const tly_place *at, int tensor)
{
    tly_gpu *g = (tly_gpu *)c; /* its first member */
    const tly_gpu_extent *e = at->of;
    kir_value position = at->position ? at->position : u32(g, 0);
    position = add(c, position, u32(g, at->more_positions));
    if (e->count)
        position = umin(c, position, sub(c, e->count, u32(g, 1)));
    kir_value p = tly_gpu_address(g, e->row, tensor, position);
    return at->more_lanes == 0
               ? p
               : ptradd(c, p, across(g, e->row, tensor, tly_gpu_offset(g, at->more_lanes)));
}

/* As the address: the last position stands for those that do not exist. */
static kir_value where_in_extent(tly_build *c, const tly_place *at)
{
    tly_gpu *g = (tly_gpu *)c; /* its first member */
    const tly_gpu_extent *e = at->of;
    kir_value position = at->position ? at->position : u32(g, 0);
    position = add(c, position, u32(g, at->more_positions));
    if (e->count)
        position = umin(c, position, sub(c, e->count, u32(g, 1)));
    return e->row->moved ? add(c, e->row->moved, position) : position;
}

/* i1: the first element of its scan, where no dispatch and no state of the caller's comes before.
 * Only recurrences ask, and their rows are not interleaved (tly_takes_interleaved). */
static kir_value begins_in_extent(tly_build *c, const tly_place *at)
{
    tly_gpu *g = (tly_gpu *)c; /* its first member */
    const tly_gpu_extent *e = at->of;
    if (tly_gpu_has_segment_states(g)) {
        kir_value given = tly_gpu_flag(g, TLY_GPU_STATES_IN);
        return band(c, tly_gpu_is_head(g, where_in_extent(c, at)), tly_not(c, given));
    }
    if (at->more_positions > 0)
        return 0;
    kir_value position = at->position ? at->position : u32(g, 0);
    if (e->row->moved)
        position = add(c, e->row->moved, position);
    kir_value first = is(g, position, 0);
    kir_value behind = tly_gpu_flag(g, TLY_GPU_CONTINUES | TLY_GPU_STATES_IN);
    return band(c, first, tly_not(c, behind));
}

tly_place tly_gpu_place(const tly_gpu_extent *extent, kir_value position)
{
    return (tly_place){ .address = address_in_extent,
                        .begins = begins_in_extent,
                        .where = where_in_extent,
                        .of = extent,
                        .position = position,
                        .from = extent->row->index };
}

kir_value tly_gpu_chunk_begin(tly_gpu *g, kir_value chunk)
{
    return mul(&g->c, chunk, u32(g, g->plan->chunk));
}

kir_value tly_gpu_chunk_count(tly_gpu *g, kir_value begin)
{
    tly_build *c = &g->c;
    kir_value left = sub(c, arg(c, KIR_ARG_LENGTH), begin);
    return umin(c, left, u32(g, g->plan->chunk));
}

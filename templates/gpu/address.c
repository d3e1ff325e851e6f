/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From an invocation's ids to addresses: which item it works on, where its row, lane and chunk
 * begin. Offsets are 32 bits wide where the plan has shown that they suffice, else 64.
 */
#include "gpu.h"

kir_value tly_gpu_offset(tly_gpu *g, int64_t bytes)
{
    return g->index.kind == KIR_I64 ? kir_int(g->c.b, bytes) : u32(g, bytes);
}

kir_value tly_gpu_widened(tly_gpu *g, kir_value v)
{
    return g->index.kind == KIR_I64 ? convert(&g->c, KIR_ZEXT, g->index, v) : v;
}

kir_value tly_gpu_flag(tly_gpu *g, uint32_t flag)
{
    kir_value bits = band(&g->c, arg(&g->c, KIR_ARG_FLAGS), u32(g, flag));
    return differ(&g->c, bits, u32(g, 0));
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
    return sub(&g->c, x, mul(&g->c, x_by_y, y));
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
    return mul(&g->c, tly_gpu_widened(g, x), kir_get_as(g->c.b, stride, g->index.kind));
}

static kir_value scaled_by_dim(tly_gpu *g, kir_value x, kir_arg strides, int dim)
{
    return mul(&g->c, tly_gpu_widened(g, x),
               kir_get_dim(g->c.b, strides, (unsigned)dim, g->index.kind));
}

/* One outer dim: its size and strides, as literals or arguments. */
static void outer(tly_gpu *g, int dim, kir_value x, kir_value *in, kir_value *out)
{
    const tly_gpu_plan *p = g->plan;
    kir_value from, to;
    if (p->literal) {
        x = tly_gpu_widened(g, x);
        from = mul(&g->c, x, tly_gpu_offset(g, p->outer_in[dim]));
        to = mul(&g->c, x, tly_gpu_offset(g, p->outer_out[dim]));
    } else {
        from = scaled_by_dim(g, x, KIR_ARG_OUTER_IN, dim);
        to = scaled_by_dim(g, x, KIR_ARG_OUTER_OUT, dim);
    }
    *in = add(&g->c, *in, from);
    *out = add(&g->c, *out, to);
}

static kir_value outer_size(tly_gpu *g, int dim)
{
    if (g->plan->literal)
        return u32(g, g->plan->outer_size[dim]);
    return kir_get_dim(g->c.b, KIR_ARG_OUTER_SIZE, (unsigned)dim, KIR_I32);
}

/* Rows are counted through the outer dims, the last fastest. */
static void row_offsets(tly_gpu *g, kir_value row, kir_value *in, kir_value *out)
{
    for (int dim = g->plan->outer_rank - 1; dim > 0; dim--) {
        kir_value size = outer_size(g, dim), up = quotient(g, row, size);
        outer(g, dim, rest(g, row, size, up), in, out);
        row = up;
    }
    if (g->plan->outer_rank > 0)
        outer(g, 0, row, in, out);
}

/* Bytes from one position to the next: a literal where the problem has one. */
static kir_value axis_step(tly_gpu *g, int literal, unsigned bytes, kir_arg arg, int64_t *known)
{
    *known = 0;
    if (g->launch->form != TLY_GPU_ROWS || literal == TLY_ANY_STEP)
        return kir_get_as(g->c.b, arg, g->index.kind);
    *known = (int64_t)literal * bytes;
    return tly_gpu_offset(g, *known);
}

tly_gpu_row tly_gpu_row_of(tly_gpu *g, const tly_gpu_item *item)
{
    tly_build *c = &g->c;
    kir_value in = tly_gpu_offset(g, 0), out = in, row = item->index;
    int one_lane = c->p->form == TLY_ROWS && c->p->unit == 1;
    if (g->launch->form == TLY_GPU_LANES && !one_lane) {
        kir_value lanes = arg(c, KIR_ARG_INNER);
        row = quotient(g, item->index, lanes);
        kir_value lane = rest(g, item->index, lanes, row);
        in = scaled(g, lane, KIR_ARG_IN_LANE);
        out = scaled(g, lane, KIR_ARG_OUT_LANE);
    }
    row_offsets(g, add(c, row, arg(c, KIR_ARG_ROW_FIRST)), &in, &out);
    tly_gpu_row at = {
        .in = ptradd(c, arg(c, KIR_ARG_IN), in),
        .out = ptradd(c, arg(c, KIR_ARG_OUT), out),
        .in_offset = in,
        .out_offset = out,
    };
    at.in_step = axis_step(g, c->p->tensor[TLY_IN].step, c->bytes[TLY_IN], KIR_ARG_IN_AXIS,
                           &at.in_known);
    at.out_step = axis_step(g, c->p->tensor[TLY_OUT].step, c->bytes[TLY_OUT], KIR_ARG_OUT_AXIS,
                            &at.out_known);
    return at;
}

kir_value tly_gpu_in_at(tly_gpu *g, const tly_gpu_row *row, kir_value position)
{
    return ptradd(&g->c, row->in, mul(&g->c, tly_gpu_widened(g, position), row->in_step));
}

kir_value tly_gpu_out_at(tly_gpu *g, const tly_gpu_row *row, kir_value position)
{
    return ptradd(&g->c, row->out, mul(&g->c, tly_gpu_widened(g, position), row->out_step));
}

static kir_value near(tly_gpu *g, kir_value p, kir_value step, int64_t known, unsigned after,
                      int64_t *offset)
{
    *offset = known * after;
    if (known != 0 || after == 0)
        return p;
    return ptradd(&g->c, p, mul(&g->c, step, tly_gpu_offset(g, after)));
}

kir_value tly_gpu_in_near(tly_gpu *g, const tly_gpu_row *row, kir_value p, unsigned after,
                          int64_t *offset)
{
    return near(g, p, row->in_step, row->in_known, after, offset);
}

kir_value tly_gpu_out_near(tly_gpu *g, const tly_gpu_row *row, kir_value p, unsigned after,
                           int64_t *offset)
{
    return near(g, p, row->out_step, row->out_known, after, offset);
}

tly_gpu_row tly_gpu_at(tly_gpu *g, const tly_gpu_row *row, kir_value position)
{
    tly_gpu_row moved = *row;
    moved.in = tly_gpu_in_at(g, row, position);
    moved.out = tly_gpu_out_at(g, row, position);
    return moved;
}

kir_value tly_gpu_chunk_begin(tly_gpu *g, kir_value chunk)
{
    return mul(&g->c, chunk, u32(g, g->plan->chunk));
}

kir_value tly_gpu_chunk_count(tly_gpu *g, kir_value begin)
{
    kir_value left = sub(&g->c, arg(&g->c, KIR_ARG_LENGTH), begin);
    return umin(&g->c, left, u32(g, g->plan->chunk));
}

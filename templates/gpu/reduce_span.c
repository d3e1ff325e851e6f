/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which elements an item takes: all that make an output, or one chunk of them; and their addresses.
 * The launch has counted chunks and steps (tly_gpu_block), so that no invocation divides by more
 * than 32 bits.
 */
#include "reduce.h"

tly_gpu_reduce tly_gpu_reduce_begin(tly_gpu *g, int watched)
{
    tly_build *c = &g->c;
    const tly_operator *o = tly_operator_of(g->c.p);
    int floating = tly_class_of((tally_dtype)g->c.p->acc) == TLY_FLOATING;
    int leaves = tly_is_checked_as(g->c.p, TLY_CHECK_SUMS) ||
                 tly_is_checked_as(g->c.p, TLY_CHECK_PRODUCTS);
    int serial = g->c.p->order == TALLY_ORDER_SERIAL, keeps = tly_keeps_range(g->c.p);
    /* What is added comes in the order of memory, whichever way the descriptor goes through it. */
    int adds = o->check == TLY_CHECK_SUMS && tly_range_sides(g->c.p) > 0 && !serial;
    tly_gpu_reduce r = {
        .g = g,
        .watch = keeps || (leaves && (watched || adds)) ? (tly_range_check)o->check
                                                        : TLY_CHECK_NONE,
        .is_free = !serial && (watched || !leaves),
        .whole = o->exact && !floating && tly_gpu_has_chunks(g),
        .indexed = tly_has_index(g->c.p),
        .rank = (unsigned)g->plan->steps_rank,
        .steps = arg(c, KIR_ARG_STEPS),
        .length = arg(c, KIR_ARG_LENGTH),
        .chunk_length = arg(c, KIR_ARG_CHUNK_LENGTH),
        .chunk_steps = arg(c, KIR_ARG_CHUNK_STEPS),
        .each = arg(c, KIR_ARG_EACH),
        .last = arg(c, KIR_ARG_LAST),
    };
    for (unsigned i = 0; i < r.rank; i++) {
        r.size[i] = kir_get_dim(c->b, KIR_ARG_REDUCED_SIZE, i, KIR_I32);
        for (int t = TLY_IN; t < c->tensors; t = tly_next_read(t))
            r.stride[t][i] = kir_get_dim(c->b, TLY_ARG(REDUCED_IN, t), i, g->index.kind);
    }
    if (floating) {
        g->c.real_count = arg(c, g->c.acc_bytes == 8 ? KIR_ARG_REAL64 : KIR_ARG_REAL32);
    } else if (g->c.p->after != 0) {
        g->c.count = arg(c, KIR_ARG_ELEMENTS);
    }
    return r;
}

kir_value tly_gpu_reduce_index(tly_gpu_reduce *r, kir_value v)
{
    kir_type t = tly_storage(tly_index_dtype(r->g->c.p), 1);
    return t.kind == KIR_I64 ? convert(&r->g->c, KIR_ZEXT, t, v) : v;
}

tly_gpu_span tly_gpu_span_all(tly_gpu_reduce *r, const tly_gpu_row *row)
{
    tly_gpu *g = r->g;
    kir_value zero = u32(g, 0);
    return (tly_gpu_span){ *row, zero,      r->steps,
                           zero, r->length, r->indexed ? tly_gpu_reduce_index(r, zero) : 0 };
}

tly_gpu_span tly_gpu_span_chunk(tly_gpu_reduce *r, const tly_gpu_row *row, kir_value chunk)
{
    tly_build *c = &r->g->c;
    kir_value group = udiv(c, chunk, r->each);
    kir_value part = sub(c, chunk, mul(c, group, r->each));
    kir_value is_last = equal(c, add(c, part, u32(r->g, 1)), r->each);
    tly_gpu_span s = {
        .row = *row,
        .step = mul(c, group, r->chunk_steps),
        .from = mul(c, part, r->chunk_length),
        .part = choose(c, is_last, r->last, r->chunk_length),
    };
    s.steps = umin(c, r->chunk_steps, sub(c, r->steps, s.step));
    if (r->indexed) {
        kir_value length = tly_gpu_reduce_index(r, r->length);
        kir_value size = tly_gpu_reduce_index(r, r->chunk_length);
        kir_value before = mul(c, tly_gpu_reduce_index(r, s.step), length);
        s.index = add(c, before, mul(c, tly_gpu_reduce_index(r, part), size));
    }
    for (int t = 0; t < c->tensors && r->rank == 0; t++) { /* the position may be above 32 bits */
        tly_gpu_axis *in = &s.row.tensor[t];
        if (tly_is_written(t))
            continue;
        kir_value bytes = mul(c, tly_gpu_as_offset(r->g, r->chunk_length), in->step);
        in->at = ptradd(c, in->at, mul(c, tly_gpu_as_offset(r->g, part), bytes));
    }
    if (r->rank == 0)
        s.from = u32(r->g, 0);
    return s;
}

/* Steps are counted through their dims, the last fastest. */
static kir_value step_offset(tly_gpu_reduce *r, int tensor, kir_value step)
{
    tly_build *c = &r->g->c;
    const kir_value *stride = r->stride[tensor];
    kir_value offset = tly_gpu_offset(r->g, 0);
    for (unsigned dim = r->rank - 1; dim > 0; dim--) {
        kir_value up = udiv(c, step, r->size[dim]);
        kir_value index = sub(c, step, mul(c, up, r->size[dim]));
        offset = add(c, offset, mul(c, tly_gpu_as_offset(r->g, index), stride[dim]));
        step = up;
    }
    return add(c, offset, mul(c, tly_gpu_as_offset(r->g, step), stride[0]));
}

kir_value tly_gpu_span_at(tly_gpu_reduce *r, const tly_gpu_span *s, int tensor, kir_value step,
                          kir_value position)
{
    kir_value p = tly_gpu_address(r->g, &s->row, tensor, position);
    return r->rank > 0 ? ptradd(&r->g->c, p, step_offset(r, tensor, step)) : p;
}

tly_gpu_span tly_gpu_span_of(tly_gpu_reduce *r, const tly_gpu_span *s, kir_value output)
{
    tly_gpu *g = r->g;
    tly_gpu_span one = *s;
    tly_gpu_axis *in = &one.row.tensor[TLY_IN];
    kir_value bytes = mul(&g->c, output, u32(g, g->c.bytes[TLY_IN]));
    in->at = ptradd(&g->c, in->at, tly_gpu_as_offset(g, bytes));
    for (int t = TLY_FIRST_OPERAND; t < g->c.tensors; t++)
        one.row.tensor[t].at = tly_gpu_lane_address(g, &s->row, t, tly_gpu_as_offset(g, output));
    return one;
}

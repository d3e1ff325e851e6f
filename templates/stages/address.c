/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scalars, and addresses: from a row's number to the address of its position 0.
 */
#include "../template.h"

kir_value tly_not(tly_build *c, kir_value truth)
{
    return bxor(c, truth, like(c, truth, 1));
}

kir_value tly_min(tly_build *c, kir_value x, kir_value y)
{
    return choose(c, less(c, x, y), x, y);
}

kir_value tly_max(tly_build *c, kir_value x, kir_value y)
{
    return choose(c, less(c, x, y), y, x);
}

kir_value tly_round_down(tly_build *c, kir_value x, int64_t multiple)
{
    return band(c, x, imm(c, -multiple));
}

kir_value tly_round_up(tly_build *c, kir_value x, int64_t multiple)
{
    return tly_round_down(c, add(c, x, imm(c, multiple - 1)), multiple);
}

kir_value tly_part(tly_build *c, kir_value x, unsigned size)
{
    unsigned shift = 0;
    while (1u << shift < size)
        shift++;
    return lshr(c, x, imm(c, shift));
}

kir_value tly_out_of_place(tly_build *c)
{
    return differ(c, kir_addr(c->b, arg(c, KIR_ARG_IN)), kir_addr(c->b, arg(c, KIR_ARG_OUT)));
}

kir_value tly_congruent(tly_build *c, kir_value scratch, kir_value memory)
{
    enum { LINE = 64 };
    kir_value apart = sub(c, kir_addr(c->b, memory), kir_addr(c->b, scratch));
    return ptradd(c, scratch, band(c, apart, imm(c, TLY_CONGRUENT_BYTES - LINE)));
}

kir_value tly_at(tly_build *c, kir_value p, kir_value index, int64_t bytes)
{
    return ptradd(c, p, mul(c, index, imm(c, bytes)));
}

static kir_value has_flag(tly_build *c, int64_t flag)
{
    kir_value bit = band(c, arg(c, KIR_ARG_FLAGS), imm(c, flag));
    return differ(c, bit, imm(c, 0));
}

kir_value tly_streams(tly_build *c)
{
    return has_flag(c, TLY_LAUNCH_STREAM);
}

kir_value tly_prefetches_writes(tly_build *c)
{
    return has_flag(c, TLY_LAUNCH_PREFETCHW);
}

void tly_fence(tly_build *c, kir_value streams)
{
    tly_region fence = { 0 };
    emit_if(c, &fence, streams);
    kir_fence(c->b);
    emit_end(c, &fence);
}

static void one_dim(tly_build *c, kir_value row, kir_value *offsets)
{
    int is_known = c->p->form == TLY_ROWS && c->p->rows.contiguous && c->p->rows.length > 0;
    const int states = c->p->carry ? tly_carry_tensor(c->p) : c->tensors;
    for (int t = 0; t < c->tensors; t++) {
        int64_t bytes = (int64_t)c->p->rows.length * c->p->tensor[t].step * c->bytes[t];
        int literal = is_known && t < states && c->p->tensor[t].step != TLY_ANY_STEP;
        offsets[t] = mul(
            c, row, literal ? imm(c, bytes) : kir_get_at(c->b, TLY_ARG(OUTER_IN, t), imm(c, 0)));
    }
}

static tly_row row_at(tly_build *c, const kir_value *offsets)
{
    tly_row row;
    for (int t = 0; t < c->tensors; t++)
        row.at[t] = ptradd(c, arg(c, TLY_ARG(IN, t)), offsets[t]);
    return row;
}

void tly_outer_offsets(tly_build *c, kir_value i, kir_value rank, kir_value *offsets)
{
    kir_value rest = i;
    tly_region dims = { .state = { &rest } };
    for (int t = 0; t < c->tensors; t++)
        offsets[t] = imm(c, 0);
    emit_carry(&dims, (unsigned)c->tensors, offsets);
    emit_for(c, &dims, imm(c, 0), rank, imm(c, 1));
    kir_value d = sub(c, sub(c, rank, imm(c, 1)), dims.i);
    kir_value size = kir_get_at(c->b, KIR_ARG_OUTER_SIZE, d);
    kir_value up = udiv(c, rest, size);
    kir_value index = sub(c, rest, mul(c, up, size));
    for (int t = 0; t < c->tensors; t++) {
        kir_value stride = kir_get_at(c->b, TLY_ARG(OUTER_IN, t), d);
        offsets[t] = add(c, offsets[t], mul(c, index, stride));
    }
    rest = up;
    emit_end(c, &dims);
}

/* A row's number counts through the outer dims, the last one fastest. One dim or none needs no
 * division, as the first outer strides are 0 if there is no dim. That is the common case, and the
 * only one of dense rows. */
tly_row tly_row_address(tly_build *c, kir_value row)
{
    kir_value offsets[TLY_TENSOR_COUNT] = { 0 };
    if (c->p->form == TLY_ROWS && c->p->rows.contiguous) {
        one_dim(c, row, offsets);
        return row_at(c, offsets);
    }
    kir_value rank = arg(c, KIR_ARG_OUTER_RANK);
    tly_region several = { .state = { 0 } };
    emit_carry(&several, (unsigned)c->tensors, offsets);
    emit_if(c, &several, less(c, imm(c, 1), rank));
    tly_outer_offsets(c, row, rank, offsets);
    emit_else(c, &several);
    one_dim(c, row, offsets);
    emit_end(c, &several);
    return row_at(c, offsets);
}

tly_row tly_read_move(tly_build *c, const tly_row *row, kir_value by, tly_step_of step)
{
    tly_row moved = *row;
    for (int t = TLY_IN; t < c->tensors; t = tly_next_read(t))
        moved.at[t] = ptradd(c, row->at[t], mul(c, by, step(c, t)));
    return moved;
}

void tly_carry_read(const tly_build *c, tly_region *r, tly_row *row)
{
    for (int t = TLY_IN; t < c->tensors; t = tly_next_read(t))
        emit_carry(r, 1, &row->at[t]);
}

tly_row tly_row_move(tly_build *c, const tly_row *row, kir_value by, tly_step_of step)
{
    tly_row moved = tly_read_move(c, row, by, step);
    moved.at[TLY_OUT] = ptradd(c, row->at[TLY_OUT], mul(c, by, step(c, TLY_OUT)));
    return moved;
}

kir_value tly_axis(tly_build *c, int tensor)
{
    return arg(c, TLY_ARG(IN_AXIS, tensor));
}

kir_value tly_axis_sign(tly_build *c)
{
    return choose(c, less(c, tly_axis(c, TLY_IN), imm(c, 0)), imm(c, -1), imm(c, 1));
}

kir_value tly_in_order(tly_build *c, kir_value i, kir_value lo, kir_value hi, kir_value step)
{
    kir_value way = tly_axis_sign(c), last = sub(c, add(c, lo, hi), step);
    return add(c, choose(c, less(c, way, imm(c, 0)), last, imm(c, 0)), mul(c, i, way));
}

kir_value tly_step(tly_build *c, int tensor)
{
    const tly_tensor_facts *facts = &c->p->tensor[tensor];
    if (facts->step != TLY_ANY_STEP)
        return imm(c, (int64_t)facts->step * c->bytes[tensor]);
    int in_rows = c->p->form == TLY_ROWS || c->p->form == TLY_REDUCED_ROWS;
    return in_rows ? tly_axis(c, tensor) : arg(c, TLY_ARG(IN_LANE, tensor));
}

kir_value tly_lane(tly_build *c, int tensor)
{
    int is_across = c->p->form == TLY_TRANSPOSED && tensor == TLY_OUT;
    return is_across ? arg(c, TLY_ARG(IN_LANE, tensor)) : tly_step(c, tensor);
}

/* Where the axis goes downwards in memory rows do, too, so that all is one stream, which the CPU
 * fetches ahead. f32 of 30000x9x64 along the middle axis, in reverse, of a copy, rows upwards and
 * downwards: cumsum .64, .95, f16 .31, .91, linrec .53, .98 (Zen 5). */
void tly_each_row_of_lanes(tly_build *c, tly_launch *launch, tly_lanes_body body)
{
    kir_value sums = tly_congruent(c, arg(c, KIR_ARG_SCRATCH), arg(c, KIR_ARG_IN));
    launch->tile_lanes = c->plan->tile_lanes;
    launch->scratch_bytes = TLY_CONGRUENT_BYTES + TLY_MOST_LANES * c->state_bytes;
    launch->scratch_lane_bytes = (c->plan->slices > 1 ? c->plan->slices : 1) * c->state_bytes;
    kir_value begin = arg(c, KIR_ARG_BEGIN), end = arg(c, KIR_ARG_TASK_END);
    kir_value blocks = arg(c, KIR_ARG_BLOCKS), inner = arg(c, KIR_ARG_INNER);
    kir_value tile = imm(c, c->plan->tile_lanes), one = imm(c, 1);
    kir_value first = udiv(c, begin, blocks);
    kir_value last = udiv(c, sub(c, end, one), blocks);
    kir_value whole = equal(c, begin, mul(c, first, blocks));
    kir_value rows = choose(c, whole, udiv(c, end, blocks), first);
    kir_value left = tly_scan_slices(c, first, rows, sums);
    kir_value behind = add(c, last, one);
    tly_region l = { 0 };
    emit_for(c, &l, left, behind, one);
    kir_value row = tly_in_order(c, l.i, left, behind, one), skipped = mul(c, row, blocks);
    kir_value from = choose(c, equal(c, row, first), mul(c, sub(c, begin, skipped), tile),
                            imm(c, 0));
    kir_value to = choose(c, equal(c, row, last), mul(c, sub(c, end, skipped), tile), inner);
    to = tly_min(c, to, inner);
    tly_row a = tly_row_address(c, row);
    a = tly_row_move(c, &a, from, tly_lane);
    kir_value count = sub(c, to, from);
    body(c, a, count, tly_states_row(c, sums, imm(c, 0), count));
    emit_end(c, &l);
    tly_fence(c, tly_streams(c));
    kir_return(c->b, imm(c, 0));
}

tly_task_rows tly_rows_of_task(tly_build *c, int64_t chunk)
{
    kir_value begin = arg(c, KIR_ARG_BEGIN), end = arg(c, KIR_ARG_TASK_END);
    kir_value length = arg(c, KIR_ARG_LENGTH);
    tly_task_rows e = { begin, end, imm(c, 0), length };
    if (chunk == 0)
        return e;
    tly_region cut = { .state = { &e.first_row, &e.end_row, &e.first_position, &e.end_position } };
    kir_value chunks = arg(c, KIR_ARG_CHUNKS), one = imm(c, 1);
    emit_if(c, &cut, less(c, one, chunks));
    e.first_row = udiv(c, begin, chunks);
    kir_value last = udiv(c, sub(c, end, one), chunks);
    e.end_row = add(c, last, one);
    e.first_position = mul(c, sub(c, begin, mul(c, e.first_row, chunks)), imm(c, chunk));
    e.end_position = tly_min(c, length, mul(c, sub(c, end, mul(c, last, chunks)), imm(c, chunk)));
    emit_end(c, &cut);
    return e;
}

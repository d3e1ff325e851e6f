/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scalars and addresses: from a row's number to where its position 0 lies.
 */
#include "../template.h"

kir_value tly_not(tly_build *c, kir_value truth)
{
    return bxor(c, truth, constant(c, type_of(c, truth), 1));
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

kir_value tly_claims(tly_build *c)
{
    return has_flag(c, TLY_LAUNCH_CLAIM);
}

void tly_fence(tly_build *c, kir_value streams)
{
    kir_branch fence;
    kir_if(c->b, &fence, streams);
    kir_fence(c->b);
    kir_if_end(c->b, &fence, 0, NULL);
}

static void one_dim(tly_build *c, kir_value row, kir_value *offsets)
{
    if (c->p->form == TLY_ROWS && c->p->rows.dense && c->p->rows.length > 0) {
        offsets[0] = mul(
            c, row,
            imm(c, (int64_t)c->p->rows.length * c->p->tensor[TLY_IN].step * c->bytes[TLY_IN]));
        offsets[1] = mul(
            c, row,
            imm(c, (int64_t)c->p->rows.length * c->p->tensor[TLY_OUT].step * c->bytes[TLY_OUT]));
        return;
    }
    offsets[0] = mul(c, row, kir_get_at(c->b, KIR_ARG_OUTER_IN, imm(c, 0)));
    offsets[1] = mul(c, row, kir_get_at(c->b, KIR_ARG_OUTER_OUT, imm(c, 0)));
}

static tly_row row_at(tly_build *c, const kir_value *offsets)
{
    return (tly_row){
        ptradd(c, arg(c, KIR_ARG_IN), offsets[0]),
        ptradd(c, arg(c, KIR_ARG_OUT), offsets[1]),
    };
}

void tly_outer_offsets(tly_build *c, kir_value i, kir_value rank, kir_value *offsets)
{
    kir_value first[3] = { i, imm(c, 0), imm(c, 0) };
    kir_loop dims;
    kir_for(c->b, &dims, imm(c, 0), rank, imm(c, 1), 3, first);
    kir_value d = sub(c, sub(c, rank, imm(c, 1)), dims.i);
    kir_value size = kir_get_at(c->b, KIR_ARG_OUTER_SIZE, d);
    kir_value up = udiv(c, dims.carried[0], size);
    kir_value index = sub(c, dims.carried[0], mul(c, up, size));
    kir_value next[3] = {
        up,
        add(c, dims.carried[1], mul(c, index, kir_get_at(c->b, KIR_ARG_OUTER_IN, d))),
        add(c, dims.carried[2], mul(c, index, kir_get_at(c->b, KIR_ARG_OUTER_OUT, d))),
    };
    kir_for_end(c->b, &dims, next);
    offsets[0] = dims.result[1];
    offsets[1] = dims.result[2];
}

/* Rows are counted through the outer dims, the last fastest. One dim or none, the common case and
 * the only one of dense rows, needs no division: outer_in[0] and outer_out[0] are 0 where there
 * is none. */
tly_row tly_row_address(tly_build *c, kir_value row)
{
    kir_value offsets[2];
    if (c->p->form == TLY_ROWS && c->p->rows.dense) {
        one_dim(c, row, offsets);
        return row_at(c, offsets);
    }
    kir_value rank = arg(c, KIR_ARG_OUTER_RANK);
    kir_branch several;
    kir_if(c->b, &several, less(c, imm(c, 1), rank));
    tly_outer_offsets(c, row, rank, offsets);
    kir_else(c->b, &several, 2, offsets);
    one_dim(c, row, offsets);
    kir_if_end(c->b, &several, 2, offsets);
    return row_at(c, several.result);
}

static kir_value step(tly_build *c, int literal, unsigned bytes, kir_arg rows, kir_arg others)
{
    if (literal != TLY_ANY_STEP)
        return imm(c, (int64_t)literal * bytes);
    int in_rows = c->p->form == TLY_ROWS || c->p->form == TLY_REDUCED_ROWS;
    return arg(c, in_rows ? rows : others);
}

kir_value tly_in_step(tly_build *c)
{
    return step(c, c->p->tensor[TLY_IN].step, c->bytes[TLY_IN], KIR_ARG_IN_AXIS, KIR_ARG_IN_LANE);
}

kir_value tly_out_step(tly_build *c)
{
    return step(c, c->p->tensor[TLY_OUT].step, c->bytes[TLY_OUT], KIR_ARG_OUT_AXIS,
                KIR_ARG_OUT_LANE);
}

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
    kir_loop l;
    kir_for(c->b, &l, left, add(c, last, one), one, 0, NULL);
    kir_value skipped = mul(c, l.i, blocks);
    kir_value from = choose(c, equal(c, l.i, first), mul(c, sub(c, begin, skipped), tile),
                            imm(c, 0));
    kir_value to = choose(c, equal(c, l.i, last), mul(c, sub(c, end, skipped), tile), inner);
    to = tly_min(c, to, inner);
    tly_row a = tly_row_address(c, l.i);
    a.in = ptradd(c, a.in, mul(c, from, tly_in_step(c)));
    a.out = ptradd(
        c, a.out,
        mul(c, from, c->p->form == TLY_TRANSPOSED ? arg(c, KIR_ARG_OUT_LANE) : tly_out_step(c)));
    kir_value count = sub(c, to, from);
    body(c, a, count, tly_states_row(c, sums, imm(c, 0), count));
    kir_for_end(c->b, &l, NULL);
    tly_fence(c, tly_streams(c));
    kir_return(c->b, imm(c, 0));
}

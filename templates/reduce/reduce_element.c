/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements of reductions, from memory to accumulators, and results, from states to memory. Where
 * elements are compared, accumulators are integers that order as the elements do. Those of floats
 * are their bits, with negative ones turned around: -0 is below +0, or equal to it where an index
 * is wanted. NaN is beyond all others, or, where it is ignored, where it never wins.
 */
#include "../stages/elementwise.h"
#include "reduce.h"

static const tly_operator *row(const tly_reduce *r)
{
    return tly_operator_of(r->c->p);
}

kir_value tly_reduce_integer(tly_build *c, kir_value x)
{
    if (c->element == TALLY_BOOL)
        x = tly_truth(c, x);
    return tly_widen_integer(c, x);
}

static kir_value accumulators(tly_reduce *r, kir_value x)
{
    tly_build *c = r->c;
    if (tly_class_of(c->element) != TLY_FLOATING)
        return tly_reduce_integer(c, x);
    if (!row(r)->compares)
        return tly_widen(c, x);
    if (tly_keys_are_deferred(c))
        return x;
    kir_type t = type_of(c, x);
    kir_type integers = KIR_TYPE(integer_of(kir_kind_bits((kir_kind)t.kind) / 8), t.lanes);
    if (t.kind != integers.kind)
        x = bitcast(c, integers, x);
    return tly_widen_integer(c, tly_reduce_key(c, x, 0));
}

kir_value tly_reduce_loaded(tly_reduce *r, const tly_place *at, kir_value x)
{
    tly_build *c = r->c;
    if (c->p->program.type != 0)
        x = tly_map(c, at, tly_loaded(c, x));
    return accumulators(r, x);
}

kir_value tly_reduce_load(tly_reduce *r, const tly_place *at, kir_value p, int64_t offset,
                          unsigned lanes)
{
    tly_build *c = r->c;
    if (lanes > 1 && c->p->tensor[TLY_IN].step != 1) {
        kir_value first = ptradd(c, p, imm(c, offset));
        return tly_reduce_loaded(r, at,
                                 tly_load_lanes(c, TLY_IN, first, tly_step(c, TLY_IN), lanes));
    }
    kir_type t = tly_storage((tally_dtype)c->p->tensor[TLY_IN].dtype, lanes);
    return tly_reduce_loaded(r, at, kir_load(c->b, t, p, offset, 1));
}

kir_value tly_reduce_load_some(tly_reduce *r, const tly_place *at, kir_value p, kir_value count,
                               unsigned lanes)
{
    tly_build *c = r->c;
    kir_type t = tly_storage((tally_dtype)c->p->tensor[TLY_IN].dtype, lanes);
    tly_place some = *at;
    some.count = count;
    return tly_reduce_loaded(r, &some, kir_mload(c->b, t, p, 0, count, constant(c, t, 0)));
}

int tly_reduce_pads(const tly_reduce *r)
{
    const tly_build *c = r->c;
    return c->p->program.type == 0 && tly_combines_by(c->p) == KIR_ADD &&
           tly_operator_code_of(c->p)->lift == NULL;
}

kir_value tly_reduce_load_padded(tly_reduce *r, kir_value p, kir_value count, unsigned lanes)
{
    tly_build *c = r->c;
    kir_type t = tly_storage((tally_dtype)c->p->tensor[TLY_IN].dtype, lanes);
    uint64_t nothing = tly_value_bits((tly_value)row(r)->neutral[0], c->element);
    return accumulators(r, kir_mload(c->b, t, p, 0, count, constant(c, t, nothing)));
}

/* Keys back to elements. */
static kir_value element_of(tly_reduce *r, kir_value key)
{
    tly_build *c = r->c;
    tally_dtype dtype = c->element;
    kir_type to = tly_storage(dtype, type_of(c, key).lanes);
    if (tly_class_of(dtype) != TLY_FLOATING)
        return key;
    key = tly_order_bits(c, key, 0);
    return to.kind == type_of(c, key).kind ? key : bitcast(c, to, key);
}

kir_value tly_reduce_as(tly_build *c, kir_type to, kir_value y)
{
    kir_type from = type_of(c, y);
    if (kir_is_float(from)) {
        int is_signed = tly_class_of((tally_dtype)c->p->tensor[TLY_OUT].dtype) == TLY_SIGNED;
        return convert(c, is_signed ? KIR_FPTOSI : KIR_FPTOUI, to, y);
    }
    unsigned had = kir_kind_bits((kir_kind)from.kind), has = kir_kind_bits((kir_kind)to.kind);
    if (had < has) /* an index */
        return convert(c, KIR_ZEXT, to, y);
    return had > has ? convert(c, KIR_TRUNC, to, y) : y;
}

static kir_value stored(tly_reduce *r, kir_value y)
{
    tly_build *c = r->c;
    tally_dtype out = (tally_dtype)c->p->tensor[TLY_OUT].dtype;
    kir_type from = type_of(c, y);
    if (row(r)->compares && !r->indexed)
        return element_of(r, y);
    if (kir_is_float(from) && tly_class_of(out) == TLY_FLOATING)
        return tly_narrow(c, y);
    return tly_reduce_as(c, tly_storage(out, from.lanes), y);
}

/* Unless there were no elements. An empty segment has no index, and all bits of the result are
 * set. */
static kir_value of_some(tly_reduce *r, tally_dtype dtype, kir_value y)
{
    tly_build *c = r->c;
    kir_value count = c->nothing ? 0 : tly_reduce_count(c);
    uint64_t bits = r->indexed && c->p->segmented != TLY_SEGMENTED_NOT
                        ? UINT64_MAX >> (64 - kir_kind_bits((kir_kind)type_of(c, y).kind))
                        : tly_value_bits((tly_value)row(r)->empty, dtype);
    kir_value nothing = c->nothing ? c->nothing : equal(c, count, imm(c, 0));
    return choose(c, nothing, like(c, y, bits), y);
}

/* As the expressions have it: keys of reductions become elements in a way of their own. */
static kir_value as_element(tly_reduce *r, kir_value y)
{
    return row(r)->compares ? element_of(r, y) : tly_as_element(r->c, y);
}

static kir_value shown(tly_reduce *r, const tly_place *at, kir_value y)
{
    tly_build *c = r->c;
    if (c->p->program.type == 0 || r->indexed)
        return of_some(r, (tally_dtype)c->p->tensor[TLY_OUT].dtype, stored(r, y));
    const tally_dtype dtype = tly_is_real_mean(c->p) ? (tally_dtype)c->p->program.type
                                                     : tly_combined(c->p);
    return tly_narrow(c, tly_post_element(c, at, of_some(r, dtype, as_element(r, y))));
}

kir_value tly_reduce_result(tly_reduce *r, const tly_place *at, kir_value state, kir_value unit)
{
    return shown(r, at,
                 unit != 0 ? tly_show_times(r->c, at, state, unit) : tly_result(r->c, at, state));
}

kir_value tly_reduce_result_of_whole(tly_reduce *r, const tly_place *at, kir_value whole)
{
    tly_build *c = r->c;
    return shown(r, at, tly_mean_of_wide(c, part(c, whole, 0), part(c, whole, 1)));
}

void tly_reduce_store(tly_reduce *r, kir_value out, kir_value lane, kir_value y)
{
    tly_build *c = r->c;
    kir_value step = tly_step(c, TLY_OUT), at = ptradd(c, out, mul(c, lane, step));
    if (c->p->tensor[TLY_OUT].step == 1) {
        kir_store(c->b, at, 0, y, 1, 0);
        return;
    }
    for (unsigned i = 0; i < type_of(c, y).lanes; i++) {
        kir_store(c->b, at, 0, kir_extract(c->b, y, i), 1, 0);
        at = ptradd(c, at, step);
    }
}

static kir_value address_of(tly_build *c, const tly_place *at, int tensor)
{
    const tly_row *row = at->of;
    kir_value steps = imm(c, at->more_positions + at->more_lanes);
    if (at->position != 0)
        steps = add(c, at->position, steps);
    if (at->lane != 0)
        steps = add(c, at->lane, steps);
    return ptradd(c, row->at[tensor], mul(c, steps, tly_step(c, tensor)));
}

tly_place tly_reduce_place(const tly_row *row, kir_value position, kir_value lane)
{
    return (tly_place){
        .address = row ? address_of : NULL, .of = row, .position = position, .lane = lane
    };
}

kir_value tly_reduce_indices(tly_reduce *r, kir_value index, unsigned lanes, int step)
{
    tly_build *c = r->c;
    kir_type t = tly_storage(tly_index_dtype(c->p), lanes);
    if (t.kind != KIR_I64)
        index = convert(c, KIR_TRUNC, KIR_TYPE(t.kind, 1), index);
    index = kir_splat(c->b, index, lanes);
    return step && lanes > 1 ? add(c, index, kir_iota(c->b, t)) : index;
}

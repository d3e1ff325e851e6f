/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements of any tensor at a place. A vector is loaded as one if its elements are neighbours in
 * memory, upwards or downwards, or are one element; otherwise lane by lane.
 */
#include "../template.h"

/* Bytes from an element of a vector to the next. */
static kir_value lane_step(tly_build *c, const tly_place *at, int tensor)
{
    return at->steps != NULL ? at->steps[tensor] : tly_lane(c, tensor);
}

/* One by one. If only the first `count` are there, the last of them stands for the others. */
static kir_value load_apart(tly_build *c, kir_type t, kir_value p, kir_value step, kir_value count)
{
    kir_type one = t;
    kir_value v = 0;
    const int is_half = t.kind == KIR_F16; /* which are moved as integers */
    one.lanes = 1;
    one.kind = (uint8_t)(is_half ? KIR_I16 : t.kind);
    for (unsigned i = 0; i < t.lanes; i++) {
        kir_value lane = imm(c, i);
        if (count != 0)
            lane = tly_min(c, lane, sub(c, count, imm(c, 1)));
        kir_value x = kir_load(c->b, one, ptradd(c, p, mul(c, lane, step)), 0,
                               kir_kind_bits((kir_kind)one.kind) / 8);
        v = i == 0 ? kir_splat(c->b, x, t.lanes) : kir_insert(c->b, v, x, i);
    }
    return is_half ? bitcast(c, t, v) : v;
}

/* One narrow element, whose bits are the lower ones of an i32, the others 0. */
static kir_value load_word(tly_build *c, kir_value p, unsigned bytes)
{
    kir_value x = kir_load(c->b, KIR_TYPE(bytes == 2 ? KIR_I16 : KIR_I8, 1), p, 0, bytes);
    return convert(c, KIR_ZEXT, KIR_TYPE(KIR_I32, 1), x);
}

kir_value tly_load_at(tly_build *c, const tly_place *at, int tensor, unsigned lanes)
{
    const unsigned bytes = c->bytes[tensor];
    const kir_type t = tly_storage((tally_dtype)c->p->tensor[tensor].dtype, lanes);
    kir_value p = at->address(c, at, tensor);
    if (c->t->no_narrow && bytes < 4)
        return load_word(c, p, bytes);
    if (lanes == 1)
        return kir_load(c->b, t, p, 0, bytes);
    kir_value step = lane_step(c, at, tensor);
    if (step == imm(c, 0))
        return kir_splat(c->b, kir_load(c->b, KIR_TYPE(t.kind, 1), p, 0, bytes), lanes);
    const int in_part = at->count != 0 && at->steps == NULL && tly_target_masks(c->t, bytes);
    if (step == imm(c, bytes) && in_part)
        return kir_mload(c->b, t, p, 0, at->count, constant(c, t, 0));
    if (step == imm(c, bytes) && at->count == 0)
        return kir_load(c->b, t, p, 0, bytes);
    if (step == imm(c, -(int64_t)bytes) && at->count == 0)
        return tly_reverse(c, kir_load(c->b, t, p, -(int64_t)(lanes - 1) * bytes, bytes));
    return load_apart(c, t, p, step, at->count);
}

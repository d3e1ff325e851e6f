/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements of any tensor at a place. A vector is loaded as one if its elements are neighbours in
 * memory, upwards or downwards, or are one element, and as several if they are near each other;
 * otherwise lane by lane.
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

/* Elements that are 2 to TLY_NEAR_STEP apart, of so many loads: each begins with the last element
 * of the one before, so that nothing behind the last lane is read. */
static kir_value load_near(tly_build *c, kir_type t, kir_value p, unsigned apart, unsigned bytes)
{
    const unsigned n = t.lanes;
    kir_value v = kir_load(c->b, t, p, 0, bytes);
    uint8_t index[64];
    for (unsigned k = 1; k < apart; k++) {
        kir_value more = kir_load(c->b, t, p, (int64_t)k * (n - 1) * bytes, bytes);
        for (unsigned i = 0; i < n; i++) {
            const unsigned at = i * apart, here = at - k * (n - 1);
            const int is_of_more = at > k * (n - 1) && here < n;
            index[i] = (uint8_t)(is_of_more ? n + here : k == 1 && at < n ? at : i);
        }
        v = kir_shuffle(c->b, v, more, index, n);
    }
    return v;
}

kir_value tly_load_lanes(tly_build *c, int tensor, kir_value p, kir_value step, unsigned lanes)
{
    const unsigned bytes = c->bytes[tensor];
    const kir_type t = tly_storage((tally_dtype)c->p->tensor[tensor].dtype, lanes);
    if (lanes == 1 || step == imm(c, bytes))
        return kir_load(c->b, t, p, 0, bytes);
    if (step == imm(c, 0))
        return kir_splat(c->b, kir_load(c->b, KIR_TYPE(t.kind, 1), p, 0, bytes), lanes);
    if (step == imm(c, -(int64_t)bytes))
        return tly_reverse(c, kir_load(c->b, t, p, -(int64_t)(lanes - 1) * bytes, bytes));
    for (unsigned apart = 2; apart <= TLY_NEAR_STEP; apart++)
        if (step == imm(c, (int64_t)apart * bytes))
            return load_near(c, t, p, apart, bytes);
    return load_apart(c, t, p, step, 0);
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
    const int in_part = at->count != 0 && at->steps == NULL && tly_target_masks(c->t, bytes);
    if (step == imm(c, bytes) && in_part)
        return kir_mload(c->b, t, p, 0, at->count, constant(c, t, 0));
    if (at->count == 0 || step == imm(c, 0))
        return tly_load_lanes(c, tensor, p, step, lanes);
    return load_apart(c, t, p, step, at->count);
}

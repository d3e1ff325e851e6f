/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The segments of an axis, one after another, each as an axis of its own. Where they begin and end
 * is the same for all lanes and rows.
 */
#include "../template.h"

/* Offset i as an i64. */
static kir_value offset_at(tly_build *c, kir_value i)
{
    const int t = tly_operands_end(c->p);
    const unsigned bytes = c->bytes[t];
    kir_value at = tly_at(c, arg(c, TLY_ARG(IN, t)), i, bytes);
    kir_value offset = kir_load(c->b, KIR_TYPE(bytes == 8 ? KIR_I64 : KIR_I32, 1), at, 0, bytes);
    return bytes == 8 ? offset : convert(c, KIR_SEXT, KIR_TYPE(KIR_I64, 1), offset);
}

/* Where segment i begins; where the one before it ends. */
static kir_value border(tly_build *c, kir_value i)
{
    if (c->p->segmented == TLY_SEGMENTED_OFFSETS)
        return offset_at(c, i);
    return tly_min(c, mul(c, i, arg(c, KIR_ARG_SEGMENT_SIZE)), arg(c, KIR_ARG_LENGTH));
}

tly_segment tly_segment_of(tly_build *c, const tly_row *row, kir_value i)
{
    kir_value from = border(c, i), to = border(c, add(c, i, imm(c, 1)));
    tly_segment s = { .count = sub(c, to, from), .row = *row };
    kir_value first = c->p->downwards ? sub(c, arg(c, KIR_ARG_LENGTH), to) : from;
    const int elements = tly_operands_end(c->p);
    for (int t = 0; t < c->tensors; t++) {
        if (t < elements)
            s.row.at[t] = ptradd(c, row->at[t], mul(c, first, tly_axis(c, t)));
        else if (c->p->carry && t >= tly_carry_tensor(c->p))
            s.row.at[t] = ptradd(c, row->at[t], mul(c, i, tly_axis(c, t)));
    }
    return s;
}

void tly_each_segment(tly_build *c, const tly_row *row, tly_segment_body body, void *of)
{
    if (c->p->segmented == TLY_SEGMENTED_NOT) {
        const tly_segment all = { *row, arg(c, KIR_ARG_LENGTH) };
        body(c, &all, of);
        return;
    }
    tly_region l = { 0 };
    emit_for(c, &l, imm(c, 0), arg(c, KIR_ARG_SEGMENTS), imm(c, 1));
    const tly_segment one = tly_segment_of(c, row, l.i);
    body(c, &one, of);
    emit_end(c, &l);
}

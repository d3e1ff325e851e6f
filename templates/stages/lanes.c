/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lane movements as shuffles. Their index patterns become one instruction, or the fewest, of every
 * vector set. Shifts across two vectors are valignd, palignr or ext. Transposes are unpacks,
 * shuffles within 128 bits, and moves of 128-bit parts.
 */
#include "../template.h"

static unsigned lanes_of(const tly_build *c, kir_value v)
{
    return type_of(c, v).lanes;
}

kir_value tly_shift(tly_build *c, kir_value prev, kir_value cur, unsigned shift)
{
    unsigned n = lanes_of(c, cur);
    uint8_t index[64];
    if (shift == 0)
        return cur;
    if (shift >= n)
        return prev;
    for (unsigned i = 0; i < n; i++)
        index[i] = (uint8_t)(n - shift + i);
    kir_type t = type_of(c, cur), bits = KIR_TYPE(KIR_I32, n);
    enum { WHOLE = 16 }; /* f32 in 512 bits: the lowering makes valignd of it by itself */
    if (t.kind != KIR_F32 || kir_parts(c->b, cur) > 1 || n == WHOLE)
        return kir_shuffle(c->b, prev, cur, index, n);
    return bitcast(c, t,
                   kir_shuffle(c->b, bitcast(c, bits, prev), bitcast(c, bits, cur), index, n));
}

kir_value tly_reverse(tly_build *c, kir_value v)
{
    unsigned n = lanes_of(c, v);
    uint8_t index[64];
    for (unsigned i = 0; i < n; i++)
        index[i] = (uint8_t)(n - 1 - i);
    return n == 1 ? v : kir_shuffle(c->b, v, v, index, n);
}

kir_value tly_last(tly_build *c, kir_value v)
{
    return kir_extract(c->b, v, lanes_of(c, v) - 1);
}

kir_value tly_join(tly_build *c, kir_value low, kir_value high)
{
    unsigned n = 2 * lanes_of(c, low);
    uint8_t index[64];
    for (unsigned i = 0; i < n; i++)
        index[i] = (uint8_t)i;
    return kir_shuffle(c->b, low, high, index, n);
}

/* One exchange of a transpose, between r[i] and r[i + apart]. In blocks of `within` lanes, groups
 * of `group` lanes of both take turns: those of the low halves go to r[i], those of the high halves
 * to the other. */
static void exchange(tly_build *c, kir_value *r, unsigned n, unsigned apart, unsigned group,
                     unsigned within)
{
    kir_value out[TLY_MOST_LANES];
    uint8_t low[TLY_MOST_LANES], high[TLY_MOST_LANES];
    for (unsigned l = 0; l < n; l++) {
        unsigned block = l / within * within, at = (l - block) / group, in = l % group;
        unsigned from = block + at / 2 * group + in + (at & 1) * n;
        low[l] = (uint8_t)from;
        high[l] = (uint8_t)(from + within / 2);
    }
    for (unsigned i = 0; i < n; i++) {
        if (i & apart)
            continue;
        out[i] = kir_shuffle(c->b, r[i], r[i + apart], low, n);
        out[i + apart] = kir_shuffle(c->b, r[i], r[i + apart], high, n);
    }
    for (unsigned i = 0; i < n; i++)
        r[i] = out[i];
}

/* Each exchange with the doubled group interleaves one more row bit into the lanes; inside
 * 128-bit blocks first, so that only the last steps cross them. The rows come out with some of
 * their bits in another order, which the final permutation of names undoes at no cost. */
void tly_transpose(tly_build *c, kir_value *r, unsigned n)
{
    unsigned block = 16 / c->acc_bytes;
    unsigned within = block < n ? block : n, group = 1, apart = 1;
    for (; group < within; group *= 2, apart *= 2)
        exchange(c, r, n, apart, group, within);
    for (; apart < n; apart *= 2)
        exchange(c, r, n, apart, within * (apart / within), n);
    /* Inside a block, step k sends lane bits to row bits in reverse; across blocks likewise. */
    kir_value out[TLY_MOST_LANES];
    for (unsigned i = 0; i < n; i++) {
        unsigned inner = i % within, outer = i / within, a = 0, b = 0;
        for (unsigned bit = 1; bit < within; bit *= 2)
            a = a * 2 + ((inner & bit) != 0);
        for (unsigned bit = 1; bit < n / within; bit *= 2)
            b = b * 2 + ((outer & bit) != 0);
        out[b * within + a] = r[i];
    }
    for (unsigned i = 0; i < n; i++)
        r[i] = out[i];
}

kir_type tly_lane_numbers(const tly_build *c)
{
    static const uint8_t kinds[] = { [1] = KIR_I8, [2] = KIR_I16, [4] = KIR_I32, [8] = KIR_I64 };
    return KIR_TYPE(kinds[c->acc_bytes], c->lanes);
}

kir_value tly_lanes_below(tly_build *c, kir_value count)
{
    kir_type t = tly_lane_numbers(c);
    if (t.kind != KIR_I64)
        count = convert(c, KIR_TRUNC, KIR_TYPE(t.kind, 1), count);
    return less(c, kir_iota(c->b, t), kir_splat(c->b, count, t.lanes));
}

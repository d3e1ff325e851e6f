/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scan of one vector by itself, for scans that lie side by side in it: `unit` interleaved ones,
 * or rows of `length` lanes one after another. What comes before the vector joins in one more
 * operation, y = before + scan, so that the chain from vector to vector is one operation long.
 */
#include "../template.h"

/* Lanes as integers of their width. */
static kir_value lane_numbers(tly_build *c, kir_value v)
{
    kir_type t = type_of(c, v);
    return kir_iota(c->b,
                    KIR_TYPE(kir_kind_bits((kir_kind)t.kind) == 64 ? KIR_I64 : KIR_I32, t.lanes));
}

/* The upper half of each pair of blocks takes the last lane of the lower half: no lane moves
 * further than it must, and within 128 bits it costs one cycle. Masks, not shuffles, choose: with
 * AVX-512 they are part of the operation. */
static kir_value scan_blocks(tly_build *c, kir_value v, unsigned length)
{
    unsigned n = type_of(c, v).lanes;
    uint8_t from[64];
    kir_value numbers = lane_numbers(c, v), zero = like(c, numbers, 0);
    for (unsigned half = 1; half < length; half *= 2) {
        for (unsigned i = 0; i < n; i++)
            from[i] = (uint8_t)(i / (2 * half) * (2 * half) + half - 1);
        kir_value upper = band(c, numbers, like(c, numbers, half));
        kir_value joined = tly_combine(c, kir_shuffle(c->b, v, v, from, n), v);
        v = choose(c, differ(c, upper, zero), joined, v);
    }
    return v;
}

/* Adds to each lane the one `apart` before it in its `length` lanes. */
static kir_value join_before(tly_build *c, kir_value v, unsigned apart, unsigned length)
{
    unsigned n = type_of(c, v).lanes;
    uint8_t from[64], pick[64];
    for (unsigned i = 0; i < n; i++) {
        int joins = i % length >= apart;
        from[i] = (uint8_t)(joins ? i - apart : i);
        pick[i] = (uint8_t)(joins ? i : n + i);
    }
    kir_value joined = tly_combine(c, kir_shuffle(c->b, v, v, from, n), v);
    if (length < n)
        return kir_shuffle(c->b, joined, v, pick, n);
    kir_value numbers = lane_numbers(c, v);
    return choose(c, ule(c, like(c, numbers, apart), numbers), joined, v);
}

kir_value tly_vector_scan(tly_build *c, kir_value v, unsigned unit, unsigned length)
{
    if (unit == 1 && (length & (length - 1)) == 0)
        return scan_blocks(c, v, length);
    for (unsigned apart = unit; apart < length; apart *= 2)
        v = join_before(c, v, apart, length);
    return v;
}

kir_value tly_vector_before(tly_build *c, kir_value first, kir_value y, unsigned unit,
                            unsigned length)
{
    unsigned n = type_of(c, y).lanes;
    uint8_t index[64];
    for (unsigned i = 0; i < n; i++)
        index[i] = (uint8_t)(i % length < unit ? i : n + i - unit);
    return kir_shuffle(c->b, first, y, index, n);
}

kir_value tly_vector_newest(tly_build *c, kir_value y, unsigned unit)
{
    unsigned n = type_of(c, y).lanes;
    uint8_t index[64];
    for (unsigned i = 0; i < n; i++) /* as many whole units back as lead out of the next vector */
        index[i] = (uint8_t)(n + i - (i / unit + 1) * unit);
    return kir_shuffle(c->b, y, y, index, n);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scan of one vector by itself. Several scans lie in it: `interleave` scans whose elements take
 * turns, or rows of `length` lanes. The results of earlier vectors join in one more operation,
 * y = before + scan, so that the chain from vector to vector is one operation long.
 */
#include "../template.h"

/* Lanes as integers of their width. */
static kir_value lane_numbers(tly_build *c, kir_value v)
{
    kir_type t = type_of(c, v);
    return kir_iota(c->b,
                    KIR_TYPE(kir_kind_bits((kir_kind)t.kind) == 64 ? KIR_I64 : KIR_I32, t.lanes));
}

/* The upper half of each pair of blocks takes the last lane of the lower half. So lanes move no
 * further than they must, which costs one cycle within 128 bits. The halves are chosen by masks,
 * which are part of the operation with AVX-512, not by shuffles. */
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

/* Combines each lane with the one `apart` before it, within each `length` lanes. */
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

kir_value tly_vector_scan(tly_build *c, kir_value v, unsigned interleave, unsigned length)
{
    if (interleave == 1 && (length & (length - 1)) == 0)
        return scan_blocks(c, v, length);
    for (unsigned apart = interleave; apart < length; apart *= 2)
        v = join_before(c, v, apart, length);
    return v;
}

kir_value tly_vector_before(tly_build *c, kir_value first, kir_value y, unsigned interleave,
                            unsigned length)
{
    unsigned n = type_of(c, y).lanes;
    uint8_t index[64];
    for (unsigned i = 0; i < n; i++)
        index[i] = (uint8_t)(i % length < interleave ? i : n + i - interleave);
    return kir_shuffle(c->b, first, y, index, n);
}

kir_value tly_vector_newest(tly_build *c, kir_value y, unsigned interleave)
{
    unsigned n = type_of(c, y).lanes;
    uint8_t index[64];
    for (unsigned i = 0; i < n; i++) /* back by whole rounds, to this vector */
        index[i] = (uint8_t)(n + i - (i / interleave + 1) * interleave);
    return kir_shuffle(c->b, y, y, index, n);
}

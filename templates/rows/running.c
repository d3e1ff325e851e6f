/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running indices. Along a scan they only move on. So two scans of single values make them, each
 * an instruction and a shuffle a doubling, and no pair is compared with another. One is of keys. An
 * element that beats the extreme before it tells its own index, and the others tell none. The
 * second scan finds the latest of what is told. Of most data few elements beat all before them. A
 * step without one has the index before it everywhere, and asks for no more than that.
 *
 * f32>i32 of 1024x1024, ns an element from L2: pairs combined in a tree .64, this .096, of
 * ascending data .24; cummax .099 (Zen 5, AVX-512, minima).
 */
#include "running.h"
#include "linear.h"

/* The operation that finds the later of two indices. */
static kir_op later(const tly_build *c)
{
    return c->p->downwards ? KIR_SMIN : KIR_SMAX;
}

/* Each lane joined with all before it. `none` changes nothing. */
static kir_value scan(tly_build *c, kir_op op, kir_value none, kir_value v)
{
    for (unsigned apart = 1; apart < c->lanes; apart *= 2)
        v = bin(c, op, tly_shift(c, none, v, apart), v);
    return v;
}

/* i1: an element of the step is told of. */
static kir_value some_beat(tly_build *c, kir_value before, const kir_value *v, unsigned n)
{
    kir_value best = part(c, v[0], 0);
    for (unsigned j = 1; j < n; j++)
        best = bin(c, tly_combines_by(c->p), best, part(c, v[j], 0));
    return any(c, tly_beats(c, best, before));
}

kir_value tly_running_step(tly_build *c, kir_value last, kir_value *v, unsigned n)
{
    const tally_dtype dtype = tly_index_dtype(c->p);
    const kir_op by = tly_combines_by(c->p);
    kir_value key = part(c, last, 0), index = part(c, last, 1);
    kir_value told[TLY_LINEAR_MOST_VECTORS] = { 0 };
    kir_value none = like(c, index, tly_value_bits(c->p->downwards ? TLY_MOST : TLY_LEAST, dtype));
    kir_value least = part(c, tly_neutral(c, c->vec), 0);
    tly_region some = { .state = { &key, &index } };
    for (unsigned j = 0; j < n; j++)
        told[j] = index;
    emit_carry(&some, n, told);
    emit_if(c, &some, some_beat(c, key, v, n));
    for (unsigned j = 0; j < n; j++) {
        kir_value own = part(c, v[j], 0), reached = bin(c, by, key, scan(c, by, least, own));
        kir_value beats = tly_beats(c, own, tly_shift(c, key, reached, 1));
        kir_value mine = choose(c, beats, part(c, v[j], 1), none);
        told[j] = bin(c, later(c), index, scan(c, later(c), none, mine));
        key = tly_spread_last(c, reached);
        index = tly_spread_last(c, told[j]);
    }
    emit_end(c, &some);
    for (unsigned j = 0; j < n; j++)
        v[j] = pair(c, part(c, v[j], 0), told[j]);
    return pair(c, key, index);
}

kir_value tly_running_best(tly_build *c, kir_value best, const kir_value *v, unsigned n)
{
    tly_region some = { .state = { &best } };
    emit_if(c, &some, some_beat(c, part(c, best, 0), v, n));
    for (unsigned j = 0; j < n; j++)
        best = choose(c, tly_beats(c, part(c, v[j], 0), part(c, best, 0)), v[j], best);
    emit_end(c, &some);
    return best;
}

kir_value tly_running_best_of_all(tly_build *c, kir_value best)
{
    kir_value none = tly_neutral(c, c->vec);
    for (unsigned apart = 1; apart < c->lanes; apart *= 2)
        best = tly_combine(c, tly_shift(c, none, best, apart), best);
    return tly_spread_last(c, best);
}

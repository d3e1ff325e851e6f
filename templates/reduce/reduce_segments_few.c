/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Segments so short that the elements of several are a few vectors. These are loaded as they lie.
 * Each segment has a lane, to which the vectors are permuted, an element of every segment at a
 * time. They are combined in the tree of a vector that is folded (reduce_segments.c), so that bits
 * depend on a segment's length alone.
 */
#include "reduce.h"

enum { VECTORS = TLY_REDUCE_FEW_VECTORS };

typedef struct few {
    tly_reduce *r;
    kir_value x[VECTORS]; /* states of single elements */
    kir_value starts;     /* where segments begin in them, integers of an accumulator's bits */
    kir_value counts;
} few;

/* Of one size: 16 Mi f32 in segments of 3 take 3.0 ms so, and 5.6 by a vector each, but of random
 * lengths about 3 7.6 and 6.2; of 2 and of 5 to 8 there is no difference (Zen 5). */
int tly_reduce_has_few(const tly_build *c)
{
    return c->p->segmented == TLY_SEGMENTED_EVERY && c->t->has_permute &&
           c->plan->rows_at_once == (int64_t)c->lanes && tly_operator_of(c->p)->parts == 1 &&
           c->lanes * c->acc_bytes == (unsigned)c->t->vector_bytes;
}

/* Vector v of the elements from the first segment on, of which there are `all`. */
static kir_value load(tly_reduce *r, const tly_row *at, unsigned v, kir_value all)
{
    tly_build *c = r->c;
    kir_value position = imm(c, (int64_t)v * c->lanes), left = sub(c, all, position);
    const tly_place here = tly_reduce_place(at, position, 0);
    kir_value p = ptradd(c, at->at[TLY_IN], mul(c, position, tly_step(c, TLY_IN)));
    kir_value x = tly_reduce_pads(r) ? tly_reduce_load_padded(r, p, left, c->lanes)
                                     : tly_reduce_load_some(r, &here, p, left, c->lanes);
    return tly_combine(c, tly_reduce_neutral(c, c->lanes), tly_element(c, &here, x));
}

/* Element j of each segment, or what adds nothing. */
static kir_value element(const few *f, unsigned j)
{
    tly_build *c = f->r->c;
    kir_value from = add(c, f->starts, like(c, f->starts, j));
    kir_value low = kir_permute(c->b, f->x[0], f->x[1], from);
    kir_value high = kir_permute(c->b, f->x[2], f->x[3], from);
    kir_value is_low = ult(c, from, like(c, from, 2 * c->lanes));
    kir_value has = ult(c, like(c, f->counts, j), f->counts);
    return choose(c, has, choose(c, is_low, low, high), tly_reduce_neutral(c, c->lanes));
}

/* i1: no segment has more than n elements. */
static kir_value are_at_most(tly_build *c, kir_value counts, unsigned n)
{
    return tly_not(c, any(c, tly_not(c, ult(c, counts, like(c, counts, n + 1)))));
}

/* Of the first n elements of each segment, every one that lies `apart` from the last, from j on: in
 * the tree of a vector that is folded. What is not there would change no bit. */
static kir_value fold(const few *f, unsigned j, unsigned apart, unsigned n)
{
    if (apart == f->r->c->lanes)
        return element(f, j);
    kir_value low = fold(f, j, 2 * apart, n);
    if (j + apart >= n)
        return low;
    return tly_combine(f->r->c, low, fold(f, j + apart, 2 * apart, n));
}

/* The states of segments of at most parts[0] fourths of a vector, ... */
static kir_value fold_by_size(const few *f, const unsigned *parts)
{
    tly_build *c = f->r->c;
    const unsigned n = c->lanes * parts[0] / 4;
    if (n == c->lanes)
        return fold(f, 0, 1, n);
    kir_value state;
    tly_region all = { .state = { &state } };
    emit_if(c, &all, are_at_most(c, f->counts, n));
    state = fold(f, 0, 1, n);
    emit_else(c, &all);
    state = fold_by_size(f, parts + 1);
    emit_end(c, &all);
    return state;
}

kir_value tly_reduce_are_few(const tly_reduce *r, kir_value all, kir_value counts)
{
    tly_build *c = r->c;
    kir_value fit = less(c, all, imm(c, (int64_t)c->lanes * VECTORS + 1));
    return band(c, fit, are_at_most(c, counts, c->lanes));
}

kir_value tly_reduce_few(tly_reduce *r, const tly_row *at, kir_value first, kir_value all,
                         kir_value counts)
{
    tly_build *c = r->c;
    const kir_type lane = KIR_TYPE(integer_of(c->acc_bytes), c->lanes);
    few f = { .r = r, .counts = counts };
    for (unsigned v = 0; v < VECTORS; v++)
        f.x[v] = load(r, at, v, all);
    f.starts = tly_segment_starts(c, first, c->lanes);
    if (lane.kind == KIR_I64) {
        f.starts = convert(c, KIR_SEXT, lane, f.starts);
        f.counts = convert(c, KIR_SEXT, lane, f.counts);
    }
    /* Half would be a branch that nobody foresees where segments have three elements on average. */
    static const unsigned parts[] = { 1, 3, 4 };
    return fold_by_size(&f, parts);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of integers for a mean, exact whatever their length. A state (tly_whole_of) holds up to 2^32
 * elements. Along rows, spans of so many become sums of 128 bits, which chunks hand on. Outputs
 * side by side that have more elements, 16 GiB of memory each, are added once more, element by
 * element.
 */
#include "reduce.h"

#include "../stages/elementwise.h"

kir_value tly_reduce_no_i128(tly_build *c, unsigned lanes)
{
    kir_value zero = constant(c, KIR_TYPE(c->acc.kind, lanes), 0);
    return pair(c, zero, zero);
}

kir_value tly_reduce_join_i128(tly_build *c, kir_value x, kir_value y)
{
    kir_value low = part(c, x, 0), lower = add(c, low, part(c, y, 0));
    kir_value carries = ult(c, lower, low);
    carries = convert(c, KIR_ZEXT, type_of(c, low), carries);
    kir_value upper = add(c, add(c, part(c, x, 1), part(c, y, 1)), carries);
    return pair(c, lower, upper);
}

static kir_value walk(tly_reduce *r, const tly_reduce_span *s)
{
    const tly_reduce_rules rules = tly_reduce_rules_of(r);
    return tly_whole_of(r->c, tly_reduce_walk(r, &rules, s));
}

/* A chunk is no longer than a state can hold. An output that is not cut in chunks may be longer. */
kir_value tly_reduce_i128(tly_reduce *r, const tly_reduce_span *s)
{
    enum { SOME = 1 << 15, STEPS = 1 << 16 };
    tly_build *c = r->c;
    if (c->plan->chunk > 0)
        return walk(r, s);
    kir_value is_short = less(c, sub(c, s->to, s->from), imm(c, SOME + 1));
    kir_value together = choose(c, is_short, imm(c, STEPS), imm(c, 1));
    kir_value most = imm(c, (int64_t)SOME * STEPS), all = tly_reduce_no_i128(c, 1);
    tly_region step = { .state = { &all } }, l = { .state = { &all } };
    emit_for(c, &step, s->begin, s->end, together);
    emit_for(c, &l, s->from, s->to, most);
    const tly_reduce_span some = { s->at, step.i, tly_min(c, s->end, add(c, step.i, together)), l.i,
                                   tly_min(c, s->to, add(c, l.i, most)) };
    all = tly_reduce_join_i128(c, all, walk(r, &some));
    emit_end(c, &l);
    emit_end(c, &step);
    return all;
}

kir_value tly_reduce_whole_serial(tly_reduce *r, const tly_reduce_span *all, tly_step_of to_next)
{
    tly_build *c = r->c;
    kir_value one = imm(c, 1), sum = tly_reduce_no_i128(c, 1);
    tly_region step = { .state = { &sum } }, l = { .state = { &sum } };
    emit_for(c, &step, all->begin, all->end, one);
    const tly_row row = tly_reduce_step(c, &all->at, step.i);
    emit_for(c, &l, all->from, all->to, one);
    const tly_row here = tly_read_move(c, &row, l.i, to_next);
    const tly_place at = tly_reduce_place(&here, 0, 0);
    kir_value x = tly_reduce_load(r, &at, here.at[TLY_IN], 0, 1);
    kir_value sign = tly_has_sign(c) ? ashr(c, x, imm(c, 63)) : imm(c, 0);
    sum = tly_reduce_join_i128(c, sum, pair(c, x, sign));
    emit_end(c, &l);
    emit_end(c, &step);
    return sum;
}

kir_value tly_reduce_is_beyond(tly_reduce *r)
{
    tly_build *c = r->c;
    kir_value count = tly_reduce_count(c);
    return less(c, imm(c, INT64_C(1) << 32), count);
}

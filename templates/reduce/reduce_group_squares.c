/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Short rows of sums of squares, several at once, whose root may be in range where the sum is not
 * (reduce_squares.c). Such rows are done once more after all others, so that the loop neither reads
 * flags nor contains code that is seldom needed. Zen 4, AVX-512, us:
 *
 *                           both in the loop   after all others
 *   64 f32 a row, 256 KiB   3.08, zeros 3.74   2.81, zeros 2.95
 *    8 f32 a row, 128 KiB   1.82               1.68
 */
#include "reduce_group.h"

#include "reduce_float.h"

kir_value tly_row_group_notice(tly_row_group *g, kir_value sums, kir_value y, kir_value *met)
{
    tly_build *c = g->r->c;
    const kir_value no = constant(c, KIR_TYPE(KIR_I1, g->rows), 0);
    tly_region some = { .state = { &y } };
    emit_carry(&some, TLY_GROUP_MET, met);
    emit_if(c, &some, any(c, tly_reduce_suspects(c, sums)));
    const kir_value infinite = constant(c, KIR_TYPE(c->acc.kind, g->rows),
                                        tly_reduce_format_of(c)->infinity);
    kir_value is_zero = oeq(c, sums, constant(c, type_of(c, sums), 0));
    kir_value is_tiny = tly_reduce_wrong_squares(c, sums, no, no);
    kir_value is_met[TLY_GROUP_MET] = { is_tiny, is_zero, oeq(c, sums, infinite) };
    y = choose(c, is_tiny, like(c, y, 0), y);
    for (unsigned i = 0; i < TLY_GROUP_MET; i++)
        met[i] = bor(c, met[i], any(c, is_met[i]));
    emit_end(c, &some);
    return y;
}

/* i1: some of what was met has to be done once more. */
static kir_value has_strays(tly_build *c, const kir_value *met)
{
    kir_value strays = bor(c, bor(c, met[0], met[1]), met[2]);
    tly_region some = { .state = { &strays } };
    emit_if(c, &some, strays);
    kir_value flags = kir_flags(c->b), under = tly_reduce_raised(c, flags, KIR_UNDERFLOWED);
    kir_value over = tly_reduce_raised(c, flags, KIR_OVERFLOWED);
    strays = bor(c, met[0], band(c, met[1], under));
    strays = bor(c, strays, band(c, met[2], over));
    emit_end(c, &some);
    return strays;
}

void tly_row_group_redo(tly_row_group *g, kir_value begin, kir_value end, const kir_value *met,
                        tly_reduce_one_row alone)
{
    tly_build *c = g->r->c;
    kir_value out = g->base.at[TLY_OUT], stride = g->row_bytes[TLY_OUT], one = imm(c, 1);
    const tally_dtype dtype = (tally_dtype)c->p->tensor[TLY_OUT].dtype;
    const kir_type bits = KIR_TYPE(c->bytes[TLY_OUT] == 8   ? KIR_I64
                                   : c->bytes[TLY_OUT] == 4 ? KIR_I32
                                                            : KIR_I16,
                                   1);
    tly_region some = { 0 }, marked = { 0 }, l = { 0 };
    emit_if(c, &some, has_strays(c, met));
    emit_for(c, &l, begin, end, one);
    kir_value y = kir_load(c->b, bits, ptradd(c, out, mul(c, sub(c, l.i, begin), stride)), 0, 1);
    kir_value infinite = constant(c, bits, tly_value_bits(TLY_MOST, dtype));
    kir_value is_marked = bor(c, equal(c, y, constant(c, bits, 0)), equal(c, y, infinite));
    if (tly_has_expression(c->p, TLY_EXPRESSION_POST)) /* what is stored does not tell */
        is_marked = i1(c, 1);
    emit_if(c, &marked, is_marked);
    alone(g->r, l.i, 0, 0);
    emit_end(c, &marked);
    emit_end(c, &l);
    emit_end(c, &some);
}

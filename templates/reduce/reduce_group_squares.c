/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Short rows of sums of squares, several at once, whose root is in range where the sum is not
 * (reduce_squares.c): such rows are done once more behind all others, so that neither flags nor
 * code that is seldom needed are in the loop's way. Rows of 64 and of 8 f32, 256 KiB and 128 KiB,
 * us: with both there 3.08 and 1.82, of zeros 3.74 and -; so 2.81 and 1.68, of zeros 2.95 (Zen 4,
 * AVX-512).
 */
#include "reduce_group.h"

#include <string.h>

#include "reduce_float.h"

kir_value tly_group_notice(tly_group *g, kir_value sums, kir_value y, kir_value *met)
{
    tly_build *c = g->r->c;
    kir_branch some;
    kir_value v[TLY_GROUP_MET + 1] = { y };
    const kir_value no = constant(c, KIR_TYPE(KIR_I1, g->rows), 0);
    kir_if(c->b, &some, any(c, tly_reduce_suspects(c, sums)));
    const kir_value endless = constant(c, KIR_TYPE(c->acc.kind, g->rows),
                                       tly_reduce_format_of(c)->infinity);
    kir_value is_zero = oeq(c, sums, constant(c, type_of(c, sums), 0));
    kir_value is_tiny = tly_reduce_strays(c, sums, no, no);
    kir_value is_met[TLY_GROUP_MET] = { is_tiny, is_zero, oeq(c, sums, endless) };
    v[0] = choose(c, is_tiny, constant(c, type_of(c, y), 0), y);
    for (unsigned i = 0; i < TLY_GROUP_MET; i++)
        v[i + 1] = bor(c, met[i], any(c, is_met[i]));
    kir_else(c->b, &some, TLY_GROUP_MET + 1, v);
    v[0] = y;
    memcpy(v + 1, met, TLY_GROUP_MET * sizeof *met);
    kir_if_end(c->b, &some, TLY_GROUP_MET + 1, v);
    memcpy(met, some.result + 1, TLY_GROUP_MET * sizeof *met);
    return some.result[0];
}

/* i1: some of what was met has to be done once more. */
static kir_value has_strays(tly_build *c, const kir_value *met)
{
    kir_branch some;
    kir_value any = bor(c, bor(c, met[0], met[1]), met[2]);
    kir_if(c->b, &some, any);
    kir_value flags = kir_flags(c->b), under = tly_reduce_raised(c, flags, KIR_UNDERFLOWED);
    kir_value over = tly_reduce_raised(c, flags, KIR_OVERFLOWED);
    kir_value strays = bor(c, met[0], band(c, met[1], under));
    strays = bor(c, strays, band(c, met[2], over));
    kir_else(c->b, &some, 1, &strays);
    kir_if_end(c->b, &some, 1, &any);
    return some.result[0];
}

void tly_group_redo(tly_group *g, kir_value begin, kir_value end, const kir_value *met,
                    tly_reduce_one_row alone)
{
    tly_build *c = g->r->c;
    kir_value out = arg(c, KIR_ARG_OUT), one = imm(c, 1);
    kir_value apart = kir_get_at(c->b, KIR_ARG_OUTER_OUT, imm(c, 0));
    const tally_dtype dtype = (tally_dtype)c->p->tensor[TLY_OUT].dtype;
    const kir_type bits = KIR_TYPE(c->bytes[TLY_OUT] == 8   ? KIR_I64
                                   : c->bytes[TLY_OUT] == 4 ? KIR_I32
                                                            : KIR_I16,
                                   1);
    kir_branch some, marked;
    kir_loop l;
    kir_if(c->b, &some, has_strays(c, met));
    kir_for(c->b, &l, begin, end, one, 0, NULL);
    kir_value y = kir_load(c->b, bits, ptradd(c, out, mul(c, l.i, apart)), 0, 1);
    kir_value endless = constant(c, bits, tly_value_bits(TLY_MOST, dtype));
    kir_value mark = bor(c, equal(c, y, constant(c, bits, 0)), equal(c, y, endless));
    kir_if(c->b, &marked, mark);
    alone(g->r, l.i, 0, 0);
    kir_if_end(c->b, &marked, 0, NULL);
    kir_for_end(c->b, &l, NULL);
    kir_if_end(c->b, &some, 0, NULL);
}

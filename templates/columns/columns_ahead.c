/* SPDX-License-Identifier: Apache-2.0 */
/* The template columns: what is fetched ahead. */
#include "columns.h"

/* What is prefetched when a lane is taken, plan->prefetch bytes behind it: as many rows on, and as
 * many bytes behind the lane there. Short rows are prefetched, too (.92 to 1.02 of a copy), and
 * those of a scan that begins with the last one (f32 of 1024 columns .33 and .82; Zen 5). */
static tly_columns_ahead look_ahead(tly_columns *k, int tensor)
{
    tly_build *c = k->c;
    kir_value row = mul(c, k->count, imm(c, c->bytes[tensor])), far = imm(c, c->plan->prefetch);
    kir_value rows = udiv(c, far, tly_max(c, row, imm(c, 1)));
    kir_value rest = sub(c, far, mul(c, rows, row));
    return (tly_columns_ahead){ mul(c, row, k->way), rows, mul(c, rest, k->way) };
}

/* The rows of a pass in one tensor, `from` lane 0 on, when lane j is taken. */
static void prefetch_tensor(tly_columns *k, const tly_columns_tile *t, kir_value from, kir_value j,
                            int tensor)
{
    tly_build *c = k->c;
    if (c->p->tensor[tensor].step != 1)
        return;
    const tly_columns_ahead *a = &k->ahead[tensor];
    const int64_t bytes = (int64_t)t->vectors * c->lanes * c->bytes[tensor];
    if (bytes < TLY_MEMORY_LINE &&
        tensor != TLY_IN) /* a line for each would be fetched several times */
        return;
    kir_value axis = tly_axis(c, tensor), pass = mul(c, axis, imm(c, t->steps));
    kir_value at = add(c, mul(c, j, imm(c, c->bytes[tensor])), a->rest);
    kir_value limit = tly_max(c, a->row, imm(c, 1)); /* downwards: -at < 1 */
    kir_value here = less(c, mul(c, at, k->way), limit);
    kir_value passes = choose(c, here, a->rows, add(c, a->rows, imm(c, 1)));
    at = choose(c, here, at, sub(c, at, a->row));
    kir_value p = ptradd(c, from, add(c, at, mul(c, passes, pass)));
    for (unsigned s = 0; s < t->steps; s++) {
        for (int64_t byte = 0; byte < bytes; byte += TLY_MEMORY_LINE)
            kir_prefetch(c->b, p, byte);
        if (s + 1 < t->steps)
            p = ptradd(c, p, axis);
    }
}

/* With operands' rows, too, linrec of f32, 4096x4096, reaches .93 for .86 of a move, in reverse .75
 * for .66 (Zen 5). */
void tly_columns_prefetch(tly_columns *k, const tly_columns_tile *t, const tly_columns_line *at,
                          kir_value j)
{
    tly_build *c = k->c;
    prefetch_tensor(k, t, at->in, j, TLY_IN);
    for (int tensor = TLY_FIRST_OPERAND; tensor < tly_operands_end(c->p); tensor++) {
        kir_value along = mul(c, at->step, tly_axis(c, tensor));
        prefetch_tensor(k, t, ptradd(c, k->row.at[tensor], along), j, tensor);
    }
}

void tly_columns_prefetchw(tly_columns *k, const tly_columns_tile *t, const kir_value *to)
{
    tly_build *c = k->c;
    int64_t bytes = (int64_t)t->vectors * c->lanes * c->bytes[TLY_OUT];
    tly_region way = { 0 };
    emit_if(c, &way, k->prefetchw);
    for (unsigned s = 0; s < t->steps; s++)
        for (int64_t byte = 0; byte < bytes; byte += TLY_MEMORY_LINE)
            kir_prefetchw(c->b, to[s], TLY_PREFETCHW_AHEAD + byte);
    emit_end(c, &way);
}

void tly_columns_prefetchw_ends(tly_columns *k, tly_columns_line at, unsigned steps)
{
    tly_build *c = k->c;
    tly_region some = { 0 };
    kir_value end = tly_at(c, at.out, k->count, c->bytes[TLY_OUT]);
    kir_value ends = bor(c, kir_addr(c->b, at.out), kir_addr(c->b, end));
    kir_value in_line = band(c, ends, imm(c, TLY_MEMORY_LINE - 1));
    emit_if(c, &some, less(c, imm(c, 0), in_line));
    for (unsigned i = 0; i < steps; i++) {
        kir_prefetchw(c->b, at.out, 0);
        kir_prefetchw(c->b, end, -1);
        at.out = ptradd(c, at.out, k->out_axis);
        end = ptradd(c, end, k->out_axis);
    }
    emit_end(c, &some);
}

void tly_columns_look_ahead(tly_columns *k)
{
    for (int tensor = 0; tensor < tly_operands_end(k->c->p); tensor++)
        k->ahead[tensor] = look_ahead(k, tensor);
}

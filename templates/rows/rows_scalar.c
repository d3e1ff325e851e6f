/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Segments of the rows template by scalars, where vectors are slow.
 */
#include "rows.h"

enum { MAX_STEP = TLY_ROWS_MOST_SCALARS };

/* Element k of a step, as a state. */
static kir_value load_scalar(tly_rows *r, kir_value p, unsigned k)
{
    tly_build *c = r->c;
    p = ptradd(c, p, imm(c, k * tly_rows_element_bytes(r)));
    return tly_lift(c, r->direct_in ? tly_load(c, p, 0, 1)
                                    : kir_load(c->b, c->acc, p, 0, c->acc_bytes));
}

static void store_scalars(tly_rows *r, kir_value to, const kir_value *y, unsigned flags)
{
    for (unsigned k = 0; k < (unsigned)r->step; k++)
        tly_store(r->c, to, k * tly_stored_step(r->c), tly_project(r->c, y[k]),
                  r->c->bytes[TLY_OUT], flags);
}

/* What tly_rows_scan does, for operators whose vector form is slow and whose order is free (64-bit
 * integer products below AVX-512): one scalar chain that advances by the product of two elements.
 * Three multiplications for two, of which one waits for the one before: 1.5 cycles an element where
 * the plain chain takes 3. */
void tly_rows_scan_scalar(tly_rows *r, const tly_rows_segment *g, tly_rows_state *s)
{
    tly_build *c = r->c;
    unsigned step = (unsigned)r->step;
    tly_rows_source in = tly_rows_prepare(r, g);
    kir_value soon = ptradd(c, g->in, r->ahead), zero = imm(c, 0);
    kir_value end = tly_round_up(c, g->count, step), rest = less(c, in.whole, end);
    kir_value staged = tly_at(c, in.last, sub(c, zero, in.whole), tly_rows_element_bytes(r));
    kir_value x[MAX_STEP], v[MAX_STEP + 1];
    v[0] = tly_rows_prefix(r, s);
    kir_loop part, l; /* whole steps, and the last: no choice of address within the loop */
    kir_for(c->b, &part, zero, choose(c, rest, imm(c, 2), imm(c, 1)), imm(c, 1), 1, v);
    kir_value is_first = equal(c, part.i, zero);
    kir_value from = choose(c, is_first, in.base, staged);
    kir_for(c->b, &l, choose(c, is_first, zero, in.whole), choose(c, is_first, in.whole, end),
            imm(c, step), 1, part.carried);
    v[0] = l.carried[0];
    for (unsigned k = 0; k < step; k++)
        x[k] = load_scalar(r, tly_at(c, from, l.i, tly_rows_element_bytes(r)), k);
    for (unsigned k = 0; k < step; k += 2) {
        kir_value pair = kir_keep(c->b, tly_combine(c, x[k], x[k + 1])); /* else LLVM undoes it */
        v[k + 2] = tly_combine(c, v[k], pair);
        v[k + 1] = tly_combine(c, v[k], x[k]);
    }
    const kir_value *shown = c->p->exclusive ? v : v + 1;
    kir_value to = tly_stored_at(c, g->to, l.i);
    kir_branch way;
    if (g->lines) {
        kir_if(c->b, &way, g->lines);
        store_scalars(r, to, shown, KIR_STREAM);
        kir_else(c->b, &way, 0, NULL);
    }
    store_scalars(r, to, shown, 0);
    if (g->lines)
        kir_if_end(c->b, &way, 0, NULL);
    tly_rows_prefetch(r, soon, l.i);
    kir_for_end(c->b, &l, &v[step]);
    kir_for_end(c->b, &part, l.result);
    s->last[0] = kir_splat(c->b, part.result[0], c->lanes);
}

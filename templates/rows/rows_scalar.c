/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows template: scans a span by scalars, where vectors are slow.
 */
#include "rows.h"

enum { MAX_STEP = TLY_ROWS_MOST_SCALARS };

/* Element k of a step, as a state. */
static kir_value load_scalar(tly_rows *r, kir_value p, unsigned k)
{
    tly_build *c = r->c;
    p = ptradd(c, p, imm(c, k * tly_rows_element_bytes(r)));
    return tly_rows_element(
        r, p, r->direct_in ? tly_load(c, p, 0, 1) : kir_load(c->b, c->acc, p, 0, c->acc_bytes));
}

static void store_scalars(tly_rows *r, kir_value to, const kir_value *y, unsigned flags)
{
    tly_build *c = r->c;
    const tly_stretch step = { .to = to, .i = imm(c, 0) };
    for (unsigned k = 0; k < (unsigned)r->step; k++) {
        const tly_place at = tly_place_along(&step, k);
        tly_store(c, to, k * tly_stored_step(c), tly_show(c, &at, y[k]), c->bytes[TLY_OUT], flags);
    }
}

/* What tly_rows_scan does, for operators whose vector form is slow and whose order is free (64-bit
 * integer products below AVX-512): one scalar chain that advances by the product of two elements.
 * Three multiplications for two, of which one waits for the one before: 1.5 cycles an element where
 * the plain chain takes 3. */
void tly_rows_scan_scalar(tly_rows *r, const tly_rows_span *g, tly_rows_state *s)
{
    tly_build *c = r->c;
    unsigned step = (unsigned)r->step;
    tly_rows_source in = tly_rows_prepare(r, g);
    kir_value zero = imm(c, 0);
    kir_value end = tly_round_up(c, g->count, step), rest = less(c, in.whole, end);
    kir_value staged = tly_at(c, in.last, sub(c, zero, in.whole), tly_rows_element_bytes(r));
    kir_value x[MAX_STEP], y[MAX_STEP + 1] = { tly_rows_prefix(r, s) };
    /* whole steps, and the last: no choice of address within the loop */
    tly_region part = { .state = { &y[0] } }, l = { .state = { &y[0] } };
    emit_for(c, &part, zero, choose(c, rest, imm(c, 2), imm(c, 1)), imm(c, 1));
    kir_value is_first = equal(c, part.i, zero);
    kir_value from = choose(c, is_first, in.base, staged);
    emit_for(c, &l, choose(c, is_first, zero, in.whole), choose(c, is_first, in.whole, end),
             imm(c, step));
    for (unsigned k = 0; k < step; k++)
        x[k] = load_scalar(r, tly_at(c, from, l.i, tly_rows_element_bytes(r)), k);
    for (unsigned k = 0; k < step; k += 2) {
        kir_value pair = kir_keep(c->b, tly_combine(c, x[k], x[k + 1])); /* else LLVM undoes it */
        y[k + 2] = tly_combine(c, y[k], pair);
        y[k + 1] = tly_combine(c, y[k], x[k]);
    }
    const kir_value *shown = c->p->exclusive ? y : y + 1;
    kir_value to = tly_stored_at(c, g->to, l.i);
    tly_region way = { 0 };
    if (g->lines) {
        emit_if(c, &way, g->lines);
        store_scalars(r, to, shown, KIR_STREAM);
        emit_else(c, &way);
    }
    store_scalars(r, to, shown, 0);
    if (g->lines)
        emit_end(c, &way);
    tly_rows_prefetch(r, g, l.i);
    y[0] = y[step];
    emit_end(c, &l);
    emit_end(c, &part);
    s->last[0] = kir_splat(c->b, y[0], c->lanes);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows template: how a vector is joined to the results before it.
 */
#include "rows.h"

static int is_near(const tly_rows *r)
{
    return r->interleave < r->c->lanes;
}

/* ---- joining ---- */

/* interleave >= lanes: the elements so many before each lane of the next vector. */
static kir_value unit_before(tly_rows *r, const tly_rows_state *s)
{
    unsigned n = r->c->lanes, k = r->interleave / n, apart = r->interleave % n;
    return apart == 0 ? s->last[k - 1] : tly_shift(r->c, s->last[k], s->last[k - 1], apart);
}

/* What the first lanes of the next vector continue, once `y` has joined. */
static void advance(tly_rows *r, const tly_rows_part *p, kir_value y, tly_rows_state *s)
{
    tly_build *c = r->c;
    if (r->windows || !is_near(r)) {
        for (unsigned k = r->history; k-- > 1;)
            s->last[k] = s->last[k - 1];
        s->last[0] = y;
    } else if (c->lanes % r->interleave == 0) { /* no shuffle in the chain */
        s->last[0] = tly_combine(c, s->last[0], tly_vector_newest(c, p->scan, r->interleave));
    } else {
        s->last[0] = tly_vector_newest(c, y, r->interleave);
    }
}

kir_value tly_rows_before(tly_rows *r, kir_value first, kir_value y)
{
    tly_build *c = r->c;
    if (!c->p->exclusive && !r->pairs)
        return 0;
    if (r->windows)
        return tly_shift(c, first, y, 1);
    return is_near(r) ? tly_vector_before(c, first, y, r->interleave, c->lanes) : first;
}

void tly_rows_show(tly_rows *r, const tly_place *at, kir_value before, kir_value odd, kir_value y,
                   kir_value *shown)
{
    int exclusive = r->c->p->exclusive;
    if (!r->pairs) {
        kir_value state = exclusive ? before : y;
        shown[0] = r->posts ? tly_result(r->c, at, state) : tly_show(r->c, at, state);
        return;
    }
    shown[0] = tly_show(r->c, NULL, exclusive ? before : odd);
    shown[1] = tly_show(r->c, NULL, exclusive ? odd : y);
}

tly_rows_result tly_rows_join(tly_rows *r, const tly_rows_part *p, const tly_place *at,
                              tly_rows_state *s, kir_value *shown)
{
    tly_build *c = r->c;
    kir_value first = r->windows || is_near(r) ? s->last[0] : unit_before(r, s);
    kir_value y = tly_combine(c, first, p->scan), from = tly_rows_before(r, first, y);
    tly_rows_show(r, at, from, r->pairs ? tly_combine(c, from, p->first) : 0, y, shown);
    advance(r, p, y, s);
    return (tly_rows_result){ first, p->scan, y };
}

tly_rows_part tly_rows_part_of(tly_rows *r, kir_value from, const kir_value *x)
{
    tly_build *c = r->c;
    kir_value first = tly_rows_element(r, r->pairs ? 0 : from, x[0]);
    kir_value v = r->pairs ? tly_combine(c, first, tly_element(c, NULL, x[1])) : first;
    return (tly_rows_part){ tly_vector_scan(c, v, r->interleave, c->lanes), r->pairs ? first : 0 };
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The results of a tile that is done again, once its turns are known (redo.c). */
#include "redo.h"

const kir_value *tly_redo_elements(tly_gpu *g, const tly_redo *r, unsigned s)
{
    kir_value *x = r->tile->x + (size_t)s * vector_of(g);
    if (r->tile->spilled)
        tly_tile_restore_vector(g, r->tile, s, r->tile->heads, x);
    return x;
}

kir_value tly_tile_shown(const tly_gpu *g, const tly_tile *tile, unsigned i)
{
    return !g->c.p->exclusive      ? tile->y[i]
           : i % vector_of(g) == 0 ? tile->before[i / vector_of(g)]
                                   : tile->y[i - 1];
}

/* i1: this lane's turn in the segment lies before the walk, or behind it. */
static kir_value is_early(tly_gpu *g, const tly_redo *r, unsigned s)
{
    return less(&g->c, r->own, brought_back(g, r, r->first, s));
}

static kir_value is_late(tly_gpu *g, const tly_redo *r, unsigned s)
{
    return at_most(&g->c, brought_back(g, r, r->stop, s), r->own);
}

/* i1: the turn's results come from classes. A comparison of its own, not that of the classes,
 * spares registers (see tly_gpu_distance in range.c). */
static kir_value shows_class(tly_gpu *g, const tly_redo *r, unsigned s)
{
    tly_build *c = &g->c;
    kir_value from = umax(c, r->stop, r->first);
    return at_most(c, brought_back(g, r, from, s), r->own);
}

static void show_turns(tly_gpu *g, const tly_redo *r, unsigned s, kir_value *shown)
{
    tly_build *c = &g->c;
    kir_value prefix = r->from[s];
    for (unsigned i = s * vector_of(g); i < (s + 1) * vector_of(g); i++) {
        kir_value next = tly_combine(c, prefix, r->tile->x[i]);
        kir_value walked = c->p->exclusive ? prefix : next;
        kir_value local = tly_combine(c, r->carry, tly_tile_shown(g, r->tile, i));
        prefix = next;
        shown[i] = choose(c, is_early(g, r, s), local, walked);
    }
}

static void show_late(tly_gpu *g, const tly_redo *r, const tly_tile *rest, unsigned s,
                      kir_value *shown)
{
    tly_build *c = &g->c;
    for (unsigned i = s * vector_of(g); i < (s + 1) * vector_of(g); i++) {
        kir_value late = shows_class(g, r, s);
        kir_value class = tly_combine(c, r->prefix, tly_tile_shown(g, rest, i));
        shown[i] = choose(c, late, class, shown[i]);
    }
}

void tly_redo_show_turns(tly_gpu *g, const tly_redo *r, kir_value *shown)
{
    for (unsigned s = 0; s < segments_of(g); s++)
        show_turns(g, r, s, shown);
}

void tly_redo_show_late(tly_gpu *g, const tly_redo *r, const tly_tile *rest, kir_value *shown)
{
    for (unsigned s = 0; s < segments_of(g); s++)
        show_late(g, r, rest, s, shown);
}

/* ---- of a tile that has not kept its elements ---- */

static void store(tly_gpu *g, const tly_redo *r, unsigned s, kir_value when, kir_value *shown)
{
    tly_build *c = &g->c;
    tly_region stores = { 0 };
    for (unsigned v = 0; v < vector_of(g); v++) {
        const tly_place here = tly_group_place(g, r->team, r->extent, s * vector_of(g) + v);
        shown[v] = tly_gpu_narrow(g, tly_gpu_show(g, &here, shown[v]));
    }
    if (!r->tile->staged) {
        tly_tile_store_vector(g, r->team, r->extent, s, when, shown);
        return;
    }
    emit_if(c, &stores, when);
    tly_tile_spill_vector(g, r->tile, s, shown);
    emit_end(c, &stores);
}

/* The local results of spilled elements, as the group's scan has made them. Scanned again here,
 * they need no registers until now. */
static void scan_spilled(tly_gpu *g, const tly_redo *r, unsigned s)
{
    tly_build *c = &g->c;
    const kir_value *x = tly_redo_elements(g, r, s);
    kir_value sum = x[0], *y = r->tile->y + (size_t)s * vector_of(g);
    for (unsigned v = 0; v < vector_of(g); v++) {
        sum = v > 0 ? tly_combine(c, sum, x[v]) : sum;
        y[v] = tly_combine(c, r->tile->before[s], sum);
    }
}

void tly_redo_store_early(tly_gpu *g, const tly_redo *r)
{
    kir_value shown[TLY_GPU_MOST_ELEMENTS];
    for (unsigned s = 0; s < segments_of(g); s++) {
        if (r->tile->spilled)
            scan_spilled(g, r, s);
        for (unsigned v = 0; v < vector_of(g); v++)
            shown[v] = tly_combine(&g->c, r->carry,
                                   tly_tile_shown(g, r->tile, s * vector_of(g) + v));
        store(g, r, s, is_early(g, r, s), shown);
    }
}

void tly_redo_store_walked(tly_gpu *g, const tly_redo *r)
{
    tly_build *c = &g->c;
    kir_value shown[TLY_GPU_MOST_ELEMENTS], turns = sub(c, r->stop, r->first);
    for (unsigned s = 0; s < segments_of(g); s++) {
        const kir_value *x = tly_redo_elements(g, r, s);
        kir_value prefix = r->from[s], turn = add(c, sub(c, r->own, r->first), u32(g, s * r->per));
        for (unsigned v = 0; v < vector_of(g); v++) {
            kir_value next = tly_combine(c, prefix, x[v]);
            shown[v] = c->p->exclusive ? prefix : next;
            prefix = next;
        }
        store(g, r, s, ult(c, turn, turns), shown);
    }
}

void tly_redo_store_late(tly_gpu *g, const tly_redo *r, const tly_tile *rest)
{
    kir_value shown[TLY_GPU_MOST_ELEMENTS];
    for (unsigned s = 0; s < segments_of(g); s++) {
        for (unsigned v = 0; v < vector_of(g); v++)
            shown[v] = tly_combine(&g->c, r->prefix, tly_tile_shown(g, rest, s * vector_of(g) + v));
        store(g, r, s, shows_class(g, r, s), shown);
    }
}

/* ---- classes ---- */

void tly_redo_scan_classes(tly_gpu *g, const tly_redo *r, tly_tile *rest)
{
    tly_build *c = &g->c;
    kir_value none = tly_neutral_window(c, c->acc);
    rest->total = none;
    for (unsigned i = 0; i < tly_gpu_elements(g); i++)
        rest->y[i] = rest->before[i / vector_of(g)] = none;
    if (!tly_gpu_has_classes(g))
        return;
    for (unsigned s = 0; s < segments_of(g); s++) {
        const kir_value *x = tly_redo_elements(g, r, s);
        for (unsigned v = 0; v < vector_of(g); v++) {
            kir_value class = tly_gpu_class(g, x[v]);
            rest->x[s * vector_of(g) + v] = choose(c, is_late(g, r, s), class, none);
        }
    }
    tly_group_scan(g, r->team, rest);
}

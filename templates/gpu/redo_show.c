/* SPDX-License-Identifier: Apache-2.0 */
/* What a tile shows that is done again, behind its turns (redo.c). */
#include "redo.h"

void tly_redo_reread(tly_gpu *g, const tly_redo *r, unsigned s)
{
    kir_value *x = r->tile->x + (size_t)s * vector(g);
    if (r->tile->parked)
        tly_tile_unpark_vector(g, r->tile, s, x);
    else
        tly_tile_load_vector(g, r->team, r->at, r->count, s, x);
}

/* What a tile shows at its invocation's i-th element. */
kir_value tly_tile_shown(const tly_gpu *g, const tly_tile *tile, unsigned i)
{
    return !g->c.p->exclusive   ? tile->y[i]
           : i % vector(g) == 0 ? tile->before[i / vector(g)]
                                : tile->y[i - 1];
}

/* i1: this lane's turn in the segment lies before those that were walked through; behind them. */
static kir_value is_early(tly_gpu *g, const tly_redo *r, unsigned s)
{
    return kir_cmp(g->c.b, KIR_SLT, r->own, brought_back(g, r, r->first, s));
}

static kir_value is_late(tly_gpu *g, const tly_redo *r, unsigned s)
{
    return kir_cmp(g->c.b, KIR_SLE, brought_back(g, r, r->stop, s), r->own);
}

/* i1: it shows what classes make of it. That this is asked in one comparison, and another one than the
 * classes' own, spares registers, see tly_gpu_distance. */
static kir_value shows_class(tly_gpu *g, const tly_redo *r, unsigned s)
{
    kir_value from = kir_bin(g->c.b, KIR_UMAX, r->stop, r->first);
    return kir_cmp(g->c.b, KIR_SLE, brought_back(g, r, from, s), r->own);
}

static void show_turns(tly_gpu *g, const tly_redo *r, unsigned s, kir_value *shown)
{
    tly_build *c = &g->c;
    kir_value prefix = r->from[s];
    for (unsigned i = s * vector(g); i < (s + 1) * vector(g); i++) {
        kir_value next = tly_combine(c, prefix, r->tile->x[i]);
        kir_value walked = c->p->exclusive ? prefix : next;
        kir_value local = tly_combine(c, r->carry, tly_tile_shown(g, r->tile, i));
        prefix = next;
        shown[i] = kir_select(c->b, is_early(g, r, s), local, walked);
    }
}

static void show_late(tly_gpu *g, const tly_redo *r, const tly_tile *rest, unsigned s,
                      kir_value *shown)
{
    tly_build *c = &g->c;
    for (unsigned i = s * vector(g); i < (s + 1) * vector(g); i++) {
        kir_value late = shows_class(g, r, s);
        kir_value class = tly_combine(c, r->prefix, tly_tile_shown(g, rest, i));
        shown[i] = kir_select(c->b, late, class, shown[i]);
    }
}

void tly_redo_show_turns(tly_gpu *g, const tly_redo *r, kir_value *shown)
{
    for (unsigned s = 0; s < segments(g); s++)
        show_turns(g, r, s, shown);
}

void tly_redo_show_late(tly_gpu *g, const tly_redo *r, const tly_tile *rest, kir_value *shown)
{
    for (unsigned s = 0; s < segments(g); s++)
        show_late(g, r, rest, s, shown);
}

/* Segment after segment: elements once more, and local results of these as the team's scan has them. */
void tly_redo_store(tly_gpu *g, const tly_redo *r, const tly_tile *rest)
{
    kir_value shown[TLY_GPU_MOST_ELEMENTS], *y = r->tile->y;
    for (unsigned s = 0; s < segments(g); s++) {
        unsigned from = s * vector(g), end = from + vector(g);
        tly_redo_reread(g, r, s);
        kir_value sum = r->tile->x[from];
        for (unsigned i = from; i < end; i++) {
            sum = i > from ? tly_combine(&g->c, sum, r->tile->x[i]) : sum;
            y[i] = tly_combine(&g->c, r->tile->before[s], sum);
        }
        show_turns(g, r, s, shown);
        show_late(g, r, rest, s, shown);
        for (unsigned i = from; i < end; i++)
            shown[i] = tly_gpu_narrow(g, tly_project(&g->c, shown[i]));
        tly_tile_store_vector(g, r->team, r->at, r->count, s, shown + from);
    }
}

void tly_redo_scan_classes(tly_gpu *g, const tly_redo *r, tly_tile *rest)
{
    kir_value none = tly_neutral(&g->c, g->c.acc);
    for (unsigned i = 0; i < tly_gpu_elements(g); i++) {
        if (r->tile->parked && i % vector(g) == 0)
            tly_redo_reread(g, r, i / vector(g));
        kir_value class = tly_gpu_class(g, r->tile->x[i]);
        rest->x[i] = kir_select(g->c.b, is_late(g, r, i / vector(g)), class, none);
    }
    tly_team_scan(g, r->team, rest);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One vector of an invocation's part of a tile, element by element, for what seldom runs and is to hold few
 * registers meanwhile: tiles of look-back that are done again (redo.c). Where a tile is not full each
 * element has an address of its own. These are asked for on that way alone: a compiler that found one
 * of them in two places would keep it in registers from one to the other, and so all.
 */
#include "gpu.h"

#include <string.h>

typedef struct vector {
    tly_gpu *g;
    const tly_gpu_row *at;
    kir_value begin; /* the invocation's first position */
    kir_value count; /* that exist */
    unsigned after;  /* positions from the first to the vector's */
} vector;

static vector vector_of(tly_gpu *g, const tly_team *t, const tly_gpu_row *at, kir_value count,
                        unsigned segment)
{
    return (vector){ .g = g,
                     .at = at,
                     .begin = t->base,
                     .count = count,
                     .after = tly_team_after(g, t, segment * (unsigned)g->plan->vector) };
}

static kir_value is_full(const vector *v, const tly_team *t)
{
    return kir_cmp(v->g->c.b, KIR_SLE, word(v->g, t->tile), v->count);
}

static void load_whole(const vector *v, kir_value *x)
{
    tly_gpu *g = v->g;
    kir_value p = tly_gpu_in_at(g, v->at, v->begin);
    for (unsigned k = 0; k < (unsigned)g->plan->vector; k++) {
        int64_t offset;
        kir_value near = tly_gpu_in_near(g, v->at, p, v->after + k, &offset);
        x[k] = tly_lift(&g->c, tly_gpu_widen(g, tly_gpu_fetch(g, near, offset)));
    }
}

/* The last element stands for those beyond the end while it is read, then the neutral value. */
static void load_partial(const vector *v, kir_value *x)
{
    tly_gpu *g = v->g;
    tly_build *c = &g->c;
    kir_value last = sub(c, v->count, word(g, 1));
    for (unsigned k = 0; k < (unsigned)g->plan->vector; k++) {
        kir_value position = add(c, v->begin, word(g, v->after + k));
        kir_value p = tly_gpu_in_at(g, v->at, kir_bin(c->b, KIR_UMIN, position, last));
        x[k] = tly_lift(c, tly_gpu_widen(g, tly_gpu_fetch(g, p, 0)));
        x[k] = kir_select(c->b, less(c, position, v->count), x[k], tly_neutral(c, c->acc));
    }
}

void tly_tile_load_vector(tly_gpu *g, const tly_team *t, const tly_gpu_row *at, kir_value count,
                          unsigned segment, kir_value *x)
{
    vector v = vector_of(g, t, at, count, segment);
    unsigned n = (unsigned)g->plan->vector;
    kir_branch full;
    kir_if(g->c.b, &full, is_full(&v, t));
    load_whole(&v, x);
    kir_else(g->c.b, &full, n, x);
    load_partial(&v, x);
    kir_if_end(g->c.b, &full, n, x);
    memcpy(x, full.result, n * sizeof *x);
}

static void store_whole(const vector *v, const kir_value *stored)
{
    tly_gpu *g = v->g;
    kir_value p = tly_gpu_out_at(g, v->at, v->begin);
    for (unsigned k = 0; k < (unsigned)g->plan->vector; k++) {
        int64_t offset;
        kir_value near = tly_gpu_out_near(g, v->at, p, v->after + k, &offset);
        tly_gpu_put(g, near, offset, stored[k]);
    }
}

static void store_partial(const vector *v, const kir_value *stored)
{
    tly_gpu *g = v->g;
    tly_build *c = &g->c;
    for (unsigned k = 0; k < (unsigned)g->plan->vector; k++) {
        kir_value position = add(c, v->begin, word(g, v->after + k));
        kir_branch exists;
        kir_if(c->b, &exists, less(c, position, v->count));
        tly_gpu_put(g, tly_gpu_out_at(g, v->at, position), 0, stored[k]);
        kir_if_end(c->b, &exists, 0, NULL);
    }
}

void tly_tile_store_vector(tly_gpu *g, const tly_team *t, const tly_gpu_row *at, kir_value count,
                           unsigned segment, const kir_value *stored)
{
    vector v = vector_of(g, t, at, count, segment);
    kir_branch full;
    kir_if(g->c.b, &full, is_full(&v, t));
    store_whole(&v, stored);
    kir_else(g->c.b, &full, 0, NULL);
    store_partial(&v, stored);
    kir_if_end(g->c.b, &full, 0, NULL);
}

/* ---- in workgroup memory ---- */

/* Neighbouring invocations in neighbouring words. */
static int64_t row_bytes(const tly_gpu *g)
{
    return (int64_t)g->plan->workgroup * g->c.acc_bytes;
}

void tly_tile_park_vector(tly_gpu *g, const tly_tile *tile, unsigned segment, const kir_value *v)
{
    unsigned n = (unsigned)g->plan->vector, bytes = g->c.acc_bytes;
    for (unsigned k = 0; k < n; k++)
        kir_store(g->c.b, tile->parked, (segment * n + k) * row_bytes(g), v[k], bytes, 0);
}

void tly_tile_unpark_vector(tly_gpu *g, const tly_tile *tile, unsigned segment, kir_value *v)
{
    unsigned n = (unsigned)g->plan->vector, bytes = g->c.acc_bytes;
    for (unsigned k = 0; k < n; k++)
        v[k] = kir_load(g->c.b, g->c.acc, tile->parked, (segment * n + k) * row_bytes(g), bytes);
}

void tly_tile_park(tly_gpu *g, tly_tile *tile)
{
    kir_builder *b = g->c.b;
    if (!tly_gpu_parks(g->c.p, g->plan))
        return;
    kir_value own = mul(&g->c, kir_get_id(b, KIR_ID_LOCAL), word(g, g->c.acc_bytes));
    kir_value all = kir_shared(b, (uint32_t)tly_gpu_parked_bytes(g->c.p, g->plan));
    tile->parked = kir_ptradd(b, all, own);
    for (unsigned s = 0; s < (unsigned)g->plan->segments; s++)
        tly_tile_park_vector(g, tile, s, tile->y + (size_t)s * (unsigned)g->plan->vector);
}

void tly_tile_unpark(tly_gpu *g, tly_tile *tile)
{
    for (unsigned s = 0; tile->parked && s < (unsigned)g->plan->segments; s++)
        tly_tile_unpark_vector(g, tile, s, tile->y + (size_t)s * (unsigned)g->plan->vector);
}

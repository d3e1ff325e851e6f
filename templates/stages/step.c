/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of several vectors through `map` and `post`, in registers. Of the last step of a row, some
 * elements may lie behind the row's end, where nothing may be loaded. A branch keeps that out of
 * the way of all other steps.
 */
#include "../template.h"

#include <string.h>

_Static_assert(TLY_ROWS_MOST_UNROLL <= TLY_SHORT_MOST_VECTORS, "the longest steps");

/* Makes the value of a vector at a place from the one that it has. */
typedef kir_value (*make)(tly_build *c, const tly_place *at, kir_value v);

static void make_step(tly_build *c, const tly_place *first, kir_value left, kir_value *v,
                      unsigned n, make of)
{
    const int64_t lanes = type_of(c, v[0]).lanes;
    kir_value done[TLY_SHORT_MOST_VECTORS];
    tly_region last = { 0 };
    memcpy(done, v, n * sizeof *v);
    emit_carry(&last, n, done);
    emit_if(c, &last, less(c, left, imm(c, n * lanes)));
    for (unsigned k = 0; k < n; k++) {
        tly_place at = tly_place_after(*first, k * lanes, 0);
        at.count = sub(c, left, imm(c, k * lanes));
        done[k] = of(c, &at, v[k]);
    }
    emit_else(c, &last);
    for (unsigned k = 0; k < n; k++) {
        const tly_place at = tly_place_after(*first, k * lanes, 0);
        done[k] = of(c, &at, v[k]);
    }
    emit_end(c, &last);
    memcpy(v, done, n * sizeof *v);
}

kir_value tly_map_vector(tly_build *c, const tly_place *at)
{
    kir_value x = tly_map_at(c, at, c->lanes);
    if (at->count != 0)
        x = choose(c, tly_lanes_below(c, at->count), x, tly_padding(c, c->vec));
    return x;
}

static kir_value map(tly_build *c, const tly_place *at, kir_value unused)
{
    (void)unused;
    return tly_map_vector(c, at);
}

void tly_map_step(tly_build *c, const tly_place *first, kir_value left, kir_value *x, unsigned n)
{
    for (unsigned k = 0; k < n; k++)
        x[k] = tly_padding(c, c->vec);
    make_step(c, first, left, x, n, map);
}

void tly_post_step(tly_build *c, const tly_place *first, kir_value left, kir_value *y, unsigned n)
{
    make_step(c, first, left, y, n, tly_post);
}

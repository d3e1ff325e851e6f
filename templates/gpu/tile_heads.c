/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heads among the elements of a tile: a bit for each element of an invocation, all in one u32. A
 * window says whether it has a head by those bits that its elements have (tly_with_head), so that a
 * single value tells it of all windows. All marks that an invocation needs are loaded before the
 * first of them is looked at, so that their loads are on their way at once.
 */
#include "gpu.h"

/* The bits of elements [from, from + count) of an invocation. */
static uint32_t bits_of(unsigned from, unsigned count)
{
    return (uint32_t)(((UINT64_C(1) << count) - 1) << from);
}

/* `bits` of the first `left` elements, a u32 with a sign, of `count`. */
static kir_value existing(tly_gpu *g, kir_value left, unsigned count)
{
    tly_build *c = &g->c;
    kir_value one = u32(g, 1), zero = u32(g, 0);
    kir_value some = smin(c, left, u32(g, count));
    kir_value bits = sub(c, shl(c, u32(g, 2), band(c, sub(c, some, one), u32(g, 31))), one);
    return choose(c, less(c, zero, some), bits, zero);
}

/* ---- marks ---- */

/* Vectors that lie a multiple of 32 positions apart have their marks in the same bits of u32s whose
 * distance is a literal. */
static int are_alike(const tly_gpu *g, const tly_group *t)
{
    return t->used * vector_of(g) % 32 == 0;
}

/* The number of the mark of a position of the row. */
static kir_value mark_of(tly_gpu *g, const tly_gpu_row *at, kir_value position)
{
    tly_build *c = &g->c;
    return add(c, add(c, tly_gpu_moved(g, at), position), g->mark);
}

void tly_tile_load_marks(tly_gpu *g, const tly_group *t, const tly_gpu_extent *extent,
                         tly_marks *marks)
{
    const kir_type word = KIR_TYPE(KIR_I32, 1);
    tly_build *c = &g->c;
    const unsigned n = vector_of(g);
    const int alike = are_alike(g, t) && extent->count == 0;
    kir_value first = mark_of(g, extent->row, t->base), p = tly_gpu_marks_at(g, first);
    kir_value last = 0;
    if (extent->count)
        last = mark_of(g, extent->row, sub(c, extent->count, u32(g, 1)));
    for (unsigned s = 0; s < segments_of(g); s++) {
        const unsigned after = tly_group_after(g, t, s * n);
        marks->number[s] = first;
        if (alike) {
            marks->word[s] = kir_load(c->b, word, p, after / 8, 4);
            continue;
        }
        kir_value number = add(c, first, u32(g, after));
        marks->number[s] = number;
        number = last ? umin(c, number, last) : number;
        marks->word[s] = kir_load(c->b, word, tly_gpu_marks_at(g, number), 0, 4);
    }
}

kir_value tly_tile_marked(tly_gpu *g, const tly_group *t, const tly_gpu_extent *extent,
                          const tly_marks *marks)
{
    tly_build *c = &g->c;
    const unsigned n = vector_of(g);
    kir_value all = u32(g, 0);
    for (unsigned s = 0; s < segments_of(g); s++) {
        kir_value bits = lshr(c, marks->word[s], band(c, marks->number[s], u32(g, 31)));
        kir_value mask = u32(g, bits_of(0, n));
        if (extent->count) {
            kir_value begin = add(c, t->base, u32(g, tly_group_after(g, t, s * n)));
            mask = existing(g, sub(c, extent->count, begin), n);
        }
        bits = shl(c, band(c, bits, mask), u32(g, s * n));
        all = s > 0 ? bor(c, all, bits) : bits;
    }
    return all;
}

void tly_gpu_load_marks_along(tly_gpu *g, const tly_gpu_extent *extent, kir_value position,
                              unsigned count, tly_marks *marks)
{
    tly_build *c = &g->c;
    kir_value last = mark_of(g, extent->row, sub(c, extent->count, u32(g, 1)));
    marks->number[0] = mark_of(g, extent->row, position);
    for (unsigned i = 0; i < 2; i++) {
        kir_value number = umin(c, add(c, marks->number[0], u32(g, i * (count - 1))), last);
        marks->word[i] = kir_load(c->b, KIR_TYPE(KIR_I32, 1), tly_gpu_marks_at(g, number), 0, 4);
    }
}

kir_value tly_gpu_marked_along(tly_gpu *g, const tly_gpu_extent *extent, kir_value position,
                               unsigned count, const tly_marks *marks)
{
    tly_build *c = &g->c;
    kir_value by = band(c, marks->number[0], u32(g, 31));
    kir_value beyond = shl(c, marks->word[1], u32(g, 1)); /* by 32 in all where `by` is 0 */
    beyond = shl(c, beyond, sub(c, u32(g, 31), by));
    kir_value bits = bor(c, lshr(c, marks->word[0], by), beyond);
    return band(c, bits, existing(g, sub(c, extent->count, position), count));
}

/* ---- windows ---- */

kir_value tly_tile_head(tly_gpu *g, kir_value heads, unsigned i)
{
    return band(&g->c, heads, u32(g, bits_of(i, 1)));
}

kir_value tly_tile_window(tly_gpu *g, kir_value heads, unsigned i, kir_value element)
{
    tly_build *c = &g->c;
    kir_value own = tly_tile_head(g, heads, i);
    return tly_with_head(c, own, tly_gpu_begun(g, differ(c, own, u32(g, 0)), element));
}

kir_value tly_tile_heads_up_to(tly_gpu *g, kir_value heads, unsigned i)
{
    const unsigned within = i % vector_of(g);
    return band(&g->c, heads, u32(g, bits_of(i - within, within + 1)));
}

kir_value tly_tile_heads_before(tly_gpu *g, kir_value heads, const kir_value *before)
{
    tly_build *c = &g->c;
    const unsigned n = vector_of(g);
    for (unsigned by = 1; by < n; by *= 2) {
        uint32_t taken = 0;
        for (unsigned s = 0; s < segments_of(g); s++)
            taken |= bits_of(s * n + by, n - by);
        kir_value later = band(c, shl(c, heads, u32(g, by)), u32(g, taken));
        heads = bor(c, heads, later);
    }
    for (unsigned s = 0; s < segments_of(g); s++) {
        kir_value has = differ(c, kir_part(c->b, before[s], 0), u32(g, 0));
        kir_value vector = choose(c, has, u32(g, bits_of(s * n, n)), u32(g, 0));
        heads = bor(c, heads, vector);
    }
    return heads;
}

void tly_tile_hide_heads(tly_gpu *g, tly_tile *tile, int again)
{
    tly_build *c = &g->c;
    const int64_t unset = again ? 0x40000000 : 0x80000000; /* flags that no launch sets */
    kir_value none = band(c, arg(c, KIR_ARG_FLAGS), u32(g, unset));
    tile->heads = bxor(c, tile->heads, none);
    for (unsigned i = 0; i < tly_gpu_elements(g); i++)
        tile->x[i] = tly_with_head(c, tly_tile_head(g, tile->heads, i), tile->x[i]);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flags of the elements of a tile. The operands that they are made of are loaded before the first
 * of them is looked at, so that their loads are on their way at once. Operands of 8 and 16 bits are
 * loaded as elements are: those of a vector by one access. They stay in the u32s that they came in
 * until flags are made of them, as a compiler would wait for a load where it takes it apart.
 */
#include "gpu.h"

#include <string.h>

/* Where the i-th element of a vector lies in memory, and in its words. */
static unsigned in_memory(const tly_gpu *g, int tensor, unsigned i)
{
    const unsigned n = vector_of(g), within = i % n;
    return i - within + (g->c.p->tensor[tensor].step < 0 ? n - 1 - within : within);
}

static unsigned per_word(const tly_gpu *g, int tensor)
{
    return 4 / g->c.bytes[tensor];
}

static int is_read(const tly_gpu *g, int tensor)
{
    const uint64_t codes = tly_codes_of(g->c.p, TLY_EXPRESSION_RESET);
    return tensor < tly_operands_end(g->c.p) &&
           (codes >> (TLY_POSTFIX_A + tensor - TLY_FIRST_OPERAND) & 1);
}

/* Whether its elements come in words. Of tiles that are not full each is loaded by itself. */
static int in_words(const tly_gpu *g, const tly_gpu_extent *extent, int tensor)
{
    return extent->count == 0 && tly_gpu_flag_bytes(g->c.p, g->plan, tensor) > 0;
}

/* ---- words ---- */

static void load_words(tly_gpu *g, const tly_group *t, const tly_gpu_row *at, int tensor,
                       kir_value *word)
{
    tly_build *c = &g->c;
    const unsigned bytes = tly_gpu_flag_bytes(c->p, g->plan, tensor), words = bytes / 4;
    const int64_t step = at->tensor[tensor].known;
    const int64_t lowest = step < 0 ? step * (vector_of(g) - 1) : 0;
    kir_value first = tly_gpu_address(g, at, tensor, t->base);
    for (unsigned s = 0; s < segments_of(g); s++) {
        int64_t offset;
        const unsigned after = tly_group_after(g, t, s * vector_of(g));
        kir_value p = tly_gpu_near(g, at, tensor, first, after, &offset);
        kir_value v = kir_load(c->b, KIR_TYPE(KIR_I32, words), p, offset + lowest, bytes);
        for (unsigned k = 0; k < words; k++)
            word[s * words + k] = words > 1 ? kir_extract(c->b, v, k) : v;
    }
}

/* The same where they are not aligned. */
static void load_bytes(tly_gpu *g, const tly_group *t, const tly_gpu_extent *extent, int tensor,
                       kir_value *word)
{
    tly_build *c = &g->c;
    const unsigned together = per_word(g, tensor);
    kir_value each[TLY_GPU_MOST_ELEMENTS];
    for (unsigned i = 0; i < tly_gpu_elements(g); i++) {
        const tly_place here = tly_group_place(g, t, extent, i);
        each[in_memory(g, tensor, i)] = tly_load_at(c, &here, tensor, 1);
    }
    for (unsigned i = 0; i < tly_gpu_elements(g); i++) {
        const unsigned k = i % together;
        kir_value own = k > 0 ? shl(c, each[i], u32(g, 8 * c->bytes[tensor] * k)) : each[i];
        word[i / together] = k > 0 ? bor(c, word[i / together], own) : own;
    }
}

/* ---- flags ---- */

void tly_tile_load_flags(tly_gpu *g, const tly_group *t, const tly_gpu_extent *extent,
                         tly_flags *flags)
{
    tly_build *c = &g->c;
    tly_region aligned = { 0 };
    int has_words = 0;
    memset(flags, 0, sizeof *flags);
    for (int k = TLY_FIRST_OPERAND; k < c->tensors; k++) {
        kir_value *own = flags->word[k];
        if (in_words(g, extent, k)) {
            emit_carry(&aligned, tly_gpu_elements(g) / per_word(g, k), own);
            has_words = 1;
            continue;
        }
        for (unsigned i = 0; is_read(g, k) && i < tly_gpu_elements(g); i++) {
            const tly_place here = tly_group_place(g, t, extent, i);
            own[i] = tly_load_at(c, &here, k, 1);
        }
    }
    if (!has_words)
        return;
    emit_if(c, &aligned, tly_gpu_flag(g, TLY_GPU_FLAGS_ALIGNED));
    for (int k = TLY_FIRST_OPERAND; k < c->tensors; k++)
        if (in_words(g, extent, k))
            load_words(g, t, extent->row, k, flags->word[k]);
    emit_else(c, &aligned);
    for (int k = TLY_FIRST_OPERAND; k < c->tensors; k++)
        if (in_words(g, extent, k))
            load_bytes(g, t, extent, k, flags->word[k]);
    emit_end(c, &aligned);
}

/* Operands of the i-th element, by tensor. */
static void take(tly_gpu *g, const tly_gpu_extent *extent, const tly_flags *flags, unsigned i,
                 kir_value *loaded)
{
    for (int k = TLY_FIRST_OPERAND; k < g->c.tensors; k++) {
        const kir_value *own = flags->word[k];
        loaded[k] = own[i];
        if (in_words(g, extent, k)) {
            const unsigned at = in_memory(g, k, i), together = per_word(g, k);
            loaded[k] = tly_gpu_element_of(g, own[at / together], at % together, g->c.bytes[k]);
        }
    }
}

kir_value tly_tile_flagged(tly_gpu *g, const tly_group *t, const tly_gpu_extent *extent,
                           const kir_value *stored, const tly_flags *flags)
{
    tly_build *c = &g->c;
    kir_value all = 0;
    for (unsigned i = 0; i < tly_gpu_elements(g); i++) {
        kir_value loaded[TLY_TENSOR_COUNT] = { 0 };
        tly_place here = tly_group_place(g, t, extent, i);
        take(g, extent, flags, i, loaded);
        here.loaded = loaded;
        kir_value is_head = tly_gpu_head(g, &here, stored[i]);
        if (extent->count) {
            kir_value left = sub(c, tly_tile_reach(g, t, extent->count), t->base);
            is_head = band(c, is_head, less(c, u32(g, tly_group_after(g, t, i)), left));
        }
        kir_value own = choose(c, is_head, u32(g, INT64_C(1) << i), u32(g, 0));
        all = i > 0 ? bor(c, all, own) : own;
    }
    return all;
}

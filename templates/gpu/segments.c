/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Segments of the axis on devices. A pass in front of the scan marks their heads in the scratch, a
 * bit for each position, so that scans find a head as they find a flag, however many segments there
 * are, and however long. Offsets come from the caller and may be anything. They are clamped to the
 * axis, so that nothing outside of the tensors is touched.
 *
 * Borders and heads are counted in scan direction, which `downwards` turns.
 */
#include "gpu.h"

/* ---- borders ---- */

/* Arguments that scans with offsets have loaded already. */
static kir_value axis_size(tly_gpu *g)
{
    return g->axis_size ? g->axis_size : arg(&g->c, KIR_ARG_AXIS_SIZE);
}

static kir_value segments(tly_gpu *g)
{
    return g->segments ? g->segments : arg(&g->c, KIR_ARG_SEGMENTS);
}

static kir_value first_position(tly_gpu *g)
{
    return g->position ? g->position : arg(&g->c, KIR_ARG_POSITION);
}

/* Offset i. Both halves of 64 bits are loaded as u32s: not every device has more. */
static tly_gpu_border_bits load_offset(tly_gpu *g, kir_value i)
{
    tly_build *c = &g->c;
    const kir_type word = KIR_TYPE(KIR_I32, 1);
    const int t = tly_operands_end(c->p);
    const unsigned bytes = c->bytes[t];
    kir_value at = ptradd(c, arg(c, TLY_ARG(IN, t)),
                          mul(c, tly_gpu_as_offset(g, i), tly_gpu_offset(g, bytes)));
    kir_value low = kir_load(c->b, word, at, 0, bytes == 8 ? 8 : 4);
    return (tly_gpu_border_bits){ low, bytes == 8 ? kir_load(c->b, word, at, 4, 4) : 0 };
}

/* The same, within the axis. */
static kir_value within_axis(tly_gpu *g, tly_gpu_border_bits offset)
{
    tly_build *c = &g->c;
    kir_value zero = u32(g, 0), size = axis_size(g);
    kir_value within = smin(c, smax(c, offset.low, zero), size);
    if (offset.high == 0)
        return within;
    kir_value beyond = choose(c, less(c, offset.high, zero), zero, size);
    return choose(c, equal(c, offset.high, zero), umin(c, offset.low, size), beyond);
}

kir_value tly_gpu_border(tly_gpu *g, kir_value i)
{
    tly_build *c = &g->c;
    if (c->p->segmented == TLY_SEGMENTED_OFFSETS)
        return within_axis(g, load_offset(g, i));
    return umin(c, mul(c, i, arg(c, KIR_ARG_SEGMENT_SIZE)), axis_size(g));
}

/* A border in scan direction. */
static kir_value in_direction(tly_gpu *g, kir_value border)
{
    tly_build *c = &g->c;
    return c->p->downwards ? sub(c, axis_size(g), border) : border;
}

/* The number of the border where the segment begins that comes as number i. */
static kir_value number_of(tly_gpu *g, kir_value i)
{
    tly_build *c = &g->c;
    return c->p->downwards ? sub(c, segments(g), i) : i;
}

/* The position of the axis where the segment begins that comes as number i. */
static kir_value head(tly_gpu *g, kir_value i)
{
    return in_direction(g, tly_gpu_border(g, number_of(g, i)));
}

int tly_gpu_has_part(const tly_gpu *g)
{
    return g->c.p->segmented == TLY_SEGMENTED_OFFSETS && !tly_reduces(g->c.p->form);
}

void tly_gpu_load_marks(tly_gpu *g)
{
    tly_build *c = &g->c;
    if (!g->launch->marked)
        return;
    if (tly_gpu_has_part(g)) {
        (void)arg(c, TLY_ARG(IN, tly_operands_end(c->p))); /* first, as offsets wait for it */
        g->segments = arg(c, KIR_ARG_SEGMENTS);
        g->axis_size = arg(c, KIR_ARG_AXIS_SIZE);
        g->position = arg(c, KIR_ARG_POSITION);
    }
    g->mark = arg(c, KIR_ARG_MARK);
    g->marks = arg(c, KIR_ARG_MARKS);
}

void tly_gpu_load_borders(tly_gpu *g)
{
    if (!tly_gpu_has_part(g))
        return;
    kir_value ends[2] = { u32(g, 0), g->segments };
    for (int k = 0; k < 2; k++)
        g->borders[k] = load_offset(g, number_of(g, ends[k]));
}

void tly_gpu_find_part(tly_gpu *g)
{
    tly_build *c = &g->c;
    if (!tly_gpu_has_part(g))
        return;
    kir_value zero = u32(g, 0), length = arg(c, KIR_ARG_LENGTH), end[2];
    for (int k = 0; k < 2; k++)
        end[k] = sub(c, in_direction(g, within_axis(g, g->borders[k])), first_position(g));
    kir_value first = smin(c, smax(c, end[0], zero), length);
    g->part = (tly_gpu_part){ first, sub(c, smax(c, smin(c, end[1], length), first), first) };
}

kir_value tly_gpu_in_part(tly_gpu *g, kir_value position, unsigned count)
{
    tly_build *c = &g->c;
    const tly_gpu_part *p = &g->part;
    if (count == 1)
        return ult(c, sub(c, position, p->first), p->count);
    kir_value end = add(c, position, u32(g, count));
    return band(c, ule(c, p->first, position), ule(c, end, add(c, p->first, p->count)));
}

tly_gpu_segment tly_gpu_segment_at(tly_gpu *g, kir_value position)
{
    enum { HALVINGS = 31 }; /* there are fewer than 2^31 segments */
    tly_build *c = &g->c;
    kir_value one = u32(g, 1), low = u32(g, 0), high = sub(c, segments(g), one);
    kir_value at = add(c, position, first_position(g));
    tly_region l = { .state = { &low, &high } };
    emit_for(c, &l, u32(g, 0), u32(g, HALVINGS), one);
    kir_value middle = lshr(c, add(c, add(c, low, high), one), one);
    kir_value begins = ule(c, head(g, middle), at), open = ult(c, low, high);
    kir_value next = choose(c, begins, middle, low);
    high = choose(c, band(c, open, tly_not(c, begins)), sub(c, middle, one), high);
    low = choose(c, open, next, low);
    emit_end(c, &l);
    kir_value end = sub(c, head(g, add(c, low, one)), first_position(g));
    return (tly_gpu_segment){ low, end };
}

/* ---- marks ---- */

kir_value tly_gpu_marks_at(tly_gpu *g, kir_value number)
{
    tly_build *c = &g->c;
    kir_value bytes = shl(c, lshr(c, number, u32(g, 5)), u32(g, 2));
    kir_value at = add(c, g->marks, bytes);
    return ptradd(c, arg(c, KIR_ARG_SCRATCH), tly_gpu_as_offset(g, at));
}

/* `after` a position whose mark lies in the same u32. */
static kir_value is_marked(tly_gpu *g, kir_value position, unsigned after)
{
    tly_build *c = &g->c;
    position = add(c, position, g->mark);
    kir_value marks = kir_load(c->b, KIR_TYPE(KIR_I32, 1), tly_gpu_marks_at(g, position), 0, 4);
    kir_value mine = lshr(c, marks, band(c, position, u32(g, 31)));
    return differ(c, band(c, mine, u32(g, INT64_C(1) << after)), u32(g, 0));
}

kir_value tly_gpu_is_head(tly_gpu *g, kir_value position)
{
    return is_marked(g, position, 0);
}

/* Neighbours along a row whose marks are loaded at once: a vector begins at a multiple of its
 * elements, which are 32 at most. */
static unsigned marked_together(const tly_gpu *g)
{
    const int rows = g->launch->form == TLY_GPU_ROWS && g->plan->template_id != TLY_GPU_STAGED;
    return rows ? vector_of(g) : 1;
}

kir_value tly_gpu_is_head_at(tly_gpu *g, const tly_place *at)
{
    tly_build *c = &g->c;
    if (at->head)
        return differ(c, at->head, u32(g, 0));
    if (c->p->resets)
        return tly_resets(c, at, tly_loaded(c, tly_load_at(c, at, TLY_IN, 1)));
    tly_place first = *at;
    const unsigned after = (unsigned)(at->more_positions % marked_together(g));
    first.more_positions -= after;
    return is_marked(g, at->where(c, &first), after);
}

/* ---- the pass ---- */

/* The states of an empty segment, which no scan meets. */
static void hand_on(tly_gpu *g, const tly_gpu_item *item)
{
    for (unsigned k = 0; k < g->lanes; k++) {
        kir_value which = u32(g, k);
        kir_value state = tly_gpu_segment_start(g, item, which, item->chunk);
        tly_gpu_segment_finish(g, item, which, item->chunk, state);
    }
}

/* Segments that are not empty have a bit each, so that bits that are added are bits that are set.
 * Where offsets break their rule, marks are anything. */
static void mark(tly_gpu *g, kir_value number)
{
    tly_build *c = &g->c;
    kir_value bit = shl(c, u32(g, 1), band(c, number, u32(g, 31)));
    kir_atomic_add(c->b, tly_gpu_marks_at(g, number), 0, bit);
}

void tly_gpu_build_heads(tly_gpu *g, unsigned pass)
{
    tly_build *c = &g->c;
    const int states = tly_gpu_has_segment_states(g);
    tly_gpu_pass *own = &g->launch->pass[pass];
    own->items = states ? TLY_ITEMS_STATES : TLY_ITEMS_SEGMENTS;
    own->per_group = own->workgroup;
    kir_value own_item = add(c, mul(c, tly_gpu_group(g), u32(g, own->workgroup)),
                             kir_get_id(c->b, KIR_ID_LOCAL));
    tly_gpu_item item = { .chunk = own_item, .valid = ult(c, own_item, segments(g)) };
    if (states)
        item = tly_gpu_item_of(g, own_item, 1);
    tly_region exists = { 0 }, begins = { 0 }, empty = { 0 };
    emit_if(c, &exists, item.valid);
    kir_value from = head(g, item.chunk), to = head(g, add(c, item.chunk, u32(g, 1)));
    kir_value number = sub(c, from, first_position(g)); /* as the first mark is its own */
    kir_value full = ult(c, from, to), marks = ult(c, number, arg(c, KIR_ARG_MARKED));
    if (states)
        marks = band(c, marks, is(g, item.index, 0));
    emit_if(c, &begins, band(c, full, marks));
    mark(g, number);
    emit_end(c, &begins);
    if (states) {
        kir_value first = tly_not(c, tly_gpu_flag(g, TLY_GPU_CONTINUES));
        emit_if(c, &empty, band(c, first, tly_not(c, full)));
        hand_on(g, &item);
        emit_end(c, &empty);
    }
    emit_end(c, &exists);
}

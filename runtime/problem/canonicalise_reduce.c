/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reductions in canonical form; see canonicalise.h. Dims are of two kinds, kept and reduced, and
 * neighbours of one kind merge. Where elements may come in any order, the reduced dims are sorted
 * by their strides and walked upwards. Otherwise they keep the descriptor's order: where the result
 * is an index, with order=serial, for products of floats in lanes and for states that do not
 * commute.
 * An axis that is cut into segments of several sizes is the only reduced dim, and stays as it is.
 */
#include "../descriptor/descriptor.h"
#include "../host/checked.h"
#include "canonicalise.h"
#include "specialise.h"

typedef struct shape {
    tly_dim kept[TALLY_MAX_RANK], reduced[TALLY_MAX_RANK]; /* sizes above 1, outermost first */
    int32_t kept_count, reduced_count;
    int64_t first[TLY_TENSOR_COUNT]; /* element index of position 0 */
    int ordered;                     /* reduced dims stay in the descriptor's order */
    int ragged;                      /* segments of several sizes cut the reduced dim, ... */
    int64_t next;                    /* ... whose results are so far apart */
} shape;

/* Inserts by falling distance of one of the strides. */
static void insert(tly_dim *dims, int32_t *count, tly_dim dim, int by_output)
{
    int32_t at = (*count)++;
    for (; at > 0; at--) {
        const tly_dim *before = &dims[at - 1];
        if (by_output ? before->stride[TLY_OUT] >= dim.stride[TLY_OUT]
                      : tly_distance(before->stride[TLY_IN]) >= tly_distance(dim.stride[TLY_IN])) {
            break;
        }
        dims[at] = *before;
    }
    dims[at] = dim;
}

static void add_kept(shape *s, tly_dim dim)
{
    if (dim.size == 1) {
        return;
    }
    if (dim.stride[TLY_OUT] < 0) { /* walked from its other end */
        tly_flip_dim(&dim, s->first);
    }
    insert(s->kept, &s->kept_count, dim, 1);
}

static void add_reduced(shape *s, tly_dim dim)
{
    if (dim.size == 1 && !s->ragged) {
        return;
    }
    if (s->ordered || s->ragged) {
        s->reduced[s->reduced_count++] = dim;
        return;
    }
    if (dim.stride[TLY_IN] < 0) {
        tly_flip_dim(&dim, s->first);
    }
    insert(s->reduced, &s->reduced_count, dim, 0);
}

static shape read_shape(const tally_descriptor *d, int ordered)
{
    shape s = { .first = { d->in_offset, d->out_offset }, .ordered = ordered };
    tly_begin_operands(d, s.first);
    int32_t out = 0;
    for (int32_t i = 0; i < d->rank; i++) {
        int is_reduced = (d->axes >> i & 1) != 0;
        tly_dim dim = { d->sizes[i], { d->in_strides[i], 0 } };
        tly_add_operands(d, i, &dim);
        if (is_reduced && tly_is_segmented(d)) {
            tly_dim segments = tly_cut_axis(d, &dim);
            segments.stride[TLY_OUT] = d->out_strides[out++];
            s.ragged = tly_is_ragged(d, d->sizes[i]);
            s.next = segments.stride[TLY_OUT];
            add_kept(&s, segments);
        } else if (!is_reduced || (d->flags & TALLY_KEEPDIMS)) {
            dim.stride[TLY_OUT] = is_reduced ? 0 : d->out_strides[out];
            out++;
        }
        if (is_reduced) {
            add_reduced(&s, dim);
        } else {
            add_kept(&s, dim);
        }
    }
    tly_merge_dims(s.kept, &s.kept_count);
    tly_merge_dims(s.reduced, &s.reduced_count);
    return s;
}

static int is_unit(const tly_dim *dim)
{
    return dim->stride[TLY_IN] == 1;
}

/* Where no dim has neighbours in memory: the kept dim whose elements are nearest, if they are
 * nearer than those of the last reduced dim, or that is short; or -1. f32 past the cache: sums of
 * 2000x2000 along axis 0, elements 2 apart, 464 us for 2235 by rows; of 1000x10 along axis 1 2 for
 * 38 (Zen 5). */
static int32_t nearest_lanes(const shape *s)
{
    enum { LEAST = 16, SHORT = 64 };
    const tly_dim *last = &s->reduced[s->reduced_count - 1];
    const uint64_t apart = tly_distance(last->stride[TLY_IN]);
    int32_t nearest = -1;
    for (int32_t i = 0; i < s->kept_count; i++) {
        const tly_dim *dim = &s->kept[i];
        const int is_near = last->size <= SHORT || tly_distance(dim->stride[TLY_IN]) < apart;
        if (dim->size >= LEAST && is_near && apart != 1 &&
            (nearest < 0 ||
             tly_distance(dim->stride[TLY_IN]) <= tly_distance(s->kept[nearest].stride[TLY_IN]))) {
            nearest = i;
        }
    }
    return nearest;
}

/* Beside few neighbours, such as the channels of pixels, that the output has apart: the kept dim
 * that lies around them, if vectors of it are loaded at once; or the neighbours themselves. */
static int32_t lanes_around(const shape *s, int32_t few)
{
    enum { FEW = 8 };
    const int64_t size = s->kept[few].size;
    for (int32_t i = 0; i < s->kept_count; i++) {
        const tly_dim *dim = &s->kept[i];
        if (size <= TLY_NEAR_STEP && dim->stride[TLY_IN] == size && dim->stride[TLY_OUT] == 1 &&
            dim->size >= FEW * size) {
            return i;
        }
    }
    return few;
}

/* The kept dim whose elements become lanes, or -1: it is neighbours in the input, or nothing is and
 * a loop over the output's neighbours is as good as any. */
static int32_t lanes_of(const shape *s)
{
    int32_t nearest = -1;
    for (int32_t i = 0; i < s->kept_count; i++) {
        if (is_unit(&s->kept[i])) {
            nearest = lanes_around(s, i);
        }
    }
    if (nearest < 0 && s->reduced_count == 0) {
        return s->kept_count - 1;
    }
    return nearest >= 0 || s->ragged ? nearest : nearest_lanes(s);
}

/* The kept dim whose elements lie one behind the other, each a short step of several; or -1. */
static int32_t apart_lanes(const shape *s, int32_t op)
{
    if (s->reduced_count < 2) {
        return -1;
    }
    const tly_dim *last = &s->reduced[s->reduced_count - 1];
    for (int32_t i = 0; i < s->kept_count && last->stride[TLY_IN] == 1; i++) {
        if (s->kept[i].stride[TLY_IN] == last->size &&
            tly_takes_apart(op, s->ordered, last->size, s->kept[i].size)) {
            return i;
        }
    }
    return -1;
}

/* Lanes take several elements of the last dim at once, which therefore is not a short one. */
static void put_last_first(shape *s)
{
    const tly_dim last = s->reduced[s->reduced_count - 1];
    for (int32_t i = s->reduced_count - 1; i > 0; i--) {
        s->reduced[i] = s->reduced[i - 1];
    }
    s->reduced[0] = last;
}

/* Long rows come in the order of the input, short ones in that of the results. */
static void order_rows(shape *s)
{
    enum { LONG = 16 };
    int64_t elements = 1;
    for (int32_t i = 0; i < s->reduced_count; i++) {
        elements = tly_multiply(elements, s->reduced[i].size);
    }
    int32_t count = 0;
    for (int32_t i = 0; i < s->kept_count && elements >= LONG; i++) {
        const tly_dim dim = s->kept[i];
        insert(s->kept, &count, dim, 0);
    }
}

/* Whether the steps of the only row are too short for vectors, unlike the dim around them, whose
 * elements share lines. */
static int has_brief_steps(const shape *s)
{
    enum { BRIEF = 4, LONG = 64, LINE = 16 };
    if (s->kept_count > 0 || s->reduced_count < 2 || s->ordered) {
        return 0;
    }
    const tly_dim *steps = &s->reduced[s->reduced_count - 1], *around = steps - 1;
    return steps->size > 1 && steps->size <= BRIEF && around->size >= LONG &&
           tly_distance(around->stride[TLY_IN]) <= (uint64_t)(LINE / steps->size);
}

/* Of the input, all of which are loaded in vectors (tly_load_lanes); and of the output. */
static int8_t literal_of_input(int64_t step)
{
    return tly_literal_step(step, -1, TLY_NEAR_STEP);
}

static int8_t literal_of_output(int64_t step)
{
    return tly_literal_step(step, 1, 1);
}

/* `lanes`: which of the kept dims becomes lanes; -1: none. Products of floats along rows are
 * mantissas and exponents, which leave no range; only what is beyond the output's range, but not
 * the accumulator's, depends on the order. */
static shape find_shape(const tally_descriptor *full, const tly_problem *p, int32_t *lanes)
{
    const tly_sequence sequence = tly_sequence_of(full);
    const int serial = full->order == TALLY_ORDER_SERIAL;
    shape s = read_shape(full, sequence != TLY_SEQUENCE_FREE || serial);
    *lanes = lanes_of(&s);
    if (*lanes < 0) {
        *lanes = apart_lanes(&s, full->op);
        if (*lanes >= 0 && !s.ordered) {
            put_last_first(&s);
        }
    }
    if (*lanes < 0 && sequence == TLY_SEQUENCE_FLOATS && !serial && s.reduced_count > 1 &&
        p->acc == p->tensor[TLY_OUT].dtype) {
        const shape free = read_shape(full, 0);
        s = lanes_of(&free) < 0 ? free : s;
    }
    if (*lanes < 0 && !s.ragged) {
        order_rows(&s);
        if (has_brief_steps(&s)) {
            put_last_first(&s);
        }
    }
    return s;
}

void tly_canonicalise_reduction(const tally_descriptor *full, tly_problem *problem, tly_geometry *g)
{
    int64_t sizes[TALLY_MAX_RANK] = { 0 };
    int32_t rank = tly_result_shape(full, sizes);
    if (tly_sequence_of(full) == TLY_SEQUENCE_EACH) {
        problem->order = TALLY_ORDER_SERIAL;
    }
    problem->interleave = 1;
    problem->tensor[TLY_OUT].step = 1;
    for (int32_t i = 0; i < rank; i++) {
        g->empty |= sizes[i] == 0;
    }
    int32_t lanes = -1;
    shape s = find_shape(full, problem, &lanes);
    tly_dim along = { .size = 0 };
    problem->form = TLY_REDUCED_ROWS;
    g->inner = 1;
    if (lanes >= 0) {
        const tly_dim lane = along = tly_take_dim(s.kept, &s.kept_count, lanes);
        problem->form = TLY_REDUCED_LANES;
        problem->tensor[TLY_IN].step = literal_of_input(lane.stride[TLY_IN]);
        problem->tensor[TLY_OUT].step = literal_of_output(lane.stride[TLY_OUT]);
        g->inner = lane.size;
        for (int t = 0; t < TLY_TENSOR_COUNT; t++) {
            g->tensor[t].lane = lane.stride[t];
        }
    }
    /* One element, where nothing is reduced, is a row of itself. */
    tly_dim last = { 1, { 1, 0 } };
    if (s.reduced_count > 0) {
        last = s.reduced[--s.reduced_count];
    }
    if (lanes < 0) {
        along = last;
        problem->tensor[TLY_IN].step = literal_of_input(last.stride[TLY_IN]);
    }
    g->length = last.size;
    for (int t = 0; t < TLY_TENSOR_COUNT; t++) {
        g->tensor[t].axis = last.stride[t];
        g->tensor[t].first = s.first[t];
    }
    if (s.ragged) {
        problem->segmented = tly_segmented_of(full, tly_axis_of(full));
        g->tensor[TLY_OUT].axis = s.next;
        if (lanes < 0) {
            problem->tensor[TLY_OUT].step = literal_of_output(s.next);
        }
    }
    g->steps = 1;
    g->reduced_rank = s.reduced_count;
    for (int32_t i = 0; i < s.reduced_count; i++) {
        g->reduced[i] = s.reduced[i];
        g->steps *= s.reduced[i].size;
    }
    tly_set_outer(g, s.kept, s.kept_count);
    tly_tensor_place *in = &g->tensor[TLY_IN], *out = &g->tensor[TLY_OUT];
    if (g->length == 0 || g->steps == 0 || g->empty) { /* no element is read */
        in->high = in->first - 1;
        in->low = in->first;
    } else {
        tly_extent(full->rank, full->sizes, full->in_strides, full->in_offset, &in->low, &in->high);
    }
    tly_extent(rank, sizes, full->out_strides, full->out_offset, &out->low, &out->high);
    tly_set_operands(full, &along, problem, g);
}

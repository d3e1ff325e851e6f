/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scans in canonical form, and the steps that reductions share; see canonicalise.h. Whatever the
 * problem no longer tells, the geometry still describes every element exactly.
 */
#include "canonicalise.h"

#include <string.h>

#include "../descriptor/carry.h"
#include "../descriptor/descriptor.h"
#include "specialise.h"

/* A problem on its way: the axis, the other dims (all of size > 1), outermost first. */
typedef struct shape {
    tly_dim axis;
    tly_dim dims[TALLY_MAX_RANK];
    int32_t count;
    int64_t first[TLY_TENSOR_COUNT]; /* element index of position 0 */
    tly_dim along;                   /* axis or lanes: what the elements of a vector lie along */
    int elements; /* tensors that have elements along the axis: all but a carry's */
} shape;

uint8_t tly_segmented_of(const tally_descriptor *full, int32_t axis)
{
    return !tly_is_ragged(full, full->sizes[axis]) ? TLY_SEGMENTED_NOT
           : full->segment_dtype != 0              ? TLY_SEGMENTED_OFFSETS
                                                   : TLY_SEGMENTED_EVERY;
}

void tly_flip_dim(tly_dim *dim, int64_t *first)
{
    for (int t = 0; t < TLY_TENSOR_COUNT; t++) {
        first[t] += (dim->size - 1) * dim->stride[t];
        dim->stride[t] = -dim->stride[t];
    }
}

static void flip_all(shape *s)
{
    for (int32_t i = 0; i < s->count; i++) {
        tly_flip_dim(&s->dims[i], s->first);
    }
}

/* stride == size * step; the product may overflow although every element's index fits. */
static int spans(int64_t stride, int64_t size, int64_t step)
{
    int64_t product;
    return !__builtin_mul_overflow(size, step, &product) && stride == product;
}

/* Whether one walk over `inner` and then `outer` has even steps in tensors [from, to). `direction`:
 * the outer dim is walked upwards (1) or downwards (-1). */
static int is_even(const tly_dim *outer, const tly_dim *inner, int direction, int from, int to)
{
    int even = 1;
    for (int t = from; t < to; t++) {
        even = even && spans(direction * outer->stride[t], inner->size, inner->stride[t]);
    }
    return even;
}

static int continues(const tly_dim *outer, const tly_dim *inner)
{
    return is_even(outer, inner, 1, 0, TLY_TENSOR_COUNT);
}

/* Sorted dims leave no pair that could be joined apart, but for those that another dim divides in
 * memory. */
void tly_merge_dims(tly_dim *dims, int32_t *count)
{
    int32_t kept = 0;
    for (int32_t i = 1; i < *count; i++) {
        if (continues(&dims[kept], &dims[i])) {
            dims[i].size *= dims[kept].size;
            dims[kept] = dims[i];
        } else {
            dims[++kept] = dims[i];
        }
    }
    *count = *count > 0 ? kept + 1 : 0;
}

tly_dim tly_take_dim(tly_dim *dims, int32_t *count, int32_t at)
{
    tly_dim taken = dims[at];
    (*count)--;
    for (int32_t i = at; i < *count; i++) {
        dims[i] = dims[i + 1];
    }
    tly_merge_dims(dims, count);
    return taken;
}

void tly_set_outer(tly_geometry *g, const tly_dim *dims, int32_t count)
{
    g->rows = 1;
    g->outer_rank = count;
    for (int32_t i = 0; i < count; i++) {
        g->outer[i] = dims[i];
        g->rows *= dims[i].size;
    }
}

void tly_add_operands(const tally_descriptor *full, int32_t d, tly_dim *dim)
{
    int64_t strides[TALLY_MAX_RANK];
    int t = TLY_FIRST_OPERAND;
    for (; t < tly_tensors_named(full); t++) {
        (void)tly_operand_strides(full, t - TLY_FIRST_OPERAND, strides);
        dim->stride[t] = strides[d];
    }
    if (tly_has_carry(full)) {
        t = tly_carry_named(full);
        tly_carry_strides(full, strides);
        dim->stride[t] = dim->stride[t + 1] = strides[d];
    }
}

tly_dim tly_cut_axis(const tally_descriptor *full, tly_dim *dim)
{
    const int carry = tly_carry_named(full);
    const int64_t each = full->every > 0 && full->every < dim->size ? full->every : dim->size;
    tly_dim segments = *dim;
    segments.size = 1;
    if (tly_is_ragged(full, dim->size)) {
        return segments;
    }
    if (each < dim->size) {
        segments.size = dim->size / each;
        dim->size = each;
        for (int t = 0; t < carry; t++) {
            segments.stride[t] *= each;
        }
    }
    for (int t = carry; t < TLY_TENSOR_COUNT; t++) {
        dim->stride[t] = 0; /* a segment of a lane has one state */
    }
    return segments;
}

void tly_begin_operands(const tally_descriptor *full, int64_t *first)
{
    for (int t = TLY_FIRST_OPERAND; t < tly_tensors_named(full); t++) {
        first[t] = full->operands[t - TLY_FIRST_OPERAND].offset;
    }
}

int8_t tly_literal_step(int64_t step, int64_t least, int64_t most)
{
    return step >= least && step <= most ? (int8_t)step : TLY_ANY_STEP;
}

/* Of an input, most of which are loaded in vectors (templates/stages/stage_in.c). */
static int8_t literal_of_input(int64_t step)
{
    return tly_literal_step(step, -2, TLY_NEAR_STEP);
}

static int8_t literal(int64_t step)
{
    return tly_literal_step(step, -1, 1);
}

/* The two tensors of a carry, which lie alike. */
static void set_carry(const tally_descriptor *full, const tly_dim *along, tly_problem *p,
                      tly_geometry *g)
{
    int64_t strides[TALLY_MAX_RANK], sizes[TALLY_MAX_RANK];
    const int first = tly_carry_named(full);
    tly_carry_sizes(full, sizes);
    tly_carry_strides(full, strides);
    g->carry = full->carry;
    for (int t = first; t < first + 2; t++) {
        tly_tensor_place *place = &g->tensor[t];
        p->tensor[t].dtype = (uint8_t)tly_carry_dtype(full);
        p->tensor[t].step = literal(along->stride[t]);
        tly_extent(full->rank, sizes, strides, 0, &place->low, &place->high);
        place->high += tly_carry_parts(full) - 1;
    }
}

/* N segments have N + 1 offsets. */
static void set_segments(const tally_descriptor *full, int32_t axis, tly_problem *p,
                         tly_geometry *g)
{
    g->size = full->sizes[axis];
    g->segments = tly_segment_count(full, g->size);
    g->every = full->every;
    if (full->segment_dtype != 0) {
        const int t = tly_tensors_named(full);
        p->tensor[t] = (tly_tensor_facts){ (uint8_t)full->segment_dtype, 1 };
        g->tensor[t] = (tly_tensor_place){ .axis = 1, .high = g->segments };
    }
}

void tly_set_operands(const tally_descriptor *full, const tly_dim *along, tly_problem *p,
                      tly_geometry *g)
{
    int64_t strides[TALLY_MAX_RANK];
    if (p->segmented != TLY_SEGMENTED_NOT) {
        set_segments(full, tly_axis_of(full), p, g);
    }
    if (tly_has_carry(full)) {
        set_carry(full, along, p, g);
    }
    for (int t = TLY_FIRST_OPERAND; t < tly_tensors_named(full); t++) {
        const int i = t - TLY_FIRST_OPERAND;
        const tally_operand *o = &full->operands[i];
        tly_tensor_place *place = &g->tensor[t];
        p->tensor[t].dtype = (uint8_t)o->dtype;
        p->tensor[t].step = tly_is_uneven(p, t) ? 1 : literal(along->stride[t]);
        (void)tly_operand_strides(full, i, strides);
        tly_extent(full->rank, full->sizes, strides, o->offset, &place->low, &place->high);
        for (int32_t d = 0; d < full->rank; d++) {
            if (full->sizes[d] == 0 && strides[d] != 0) { /* it has no elements */
                place->high = o->offset - 1;
                place->low = o->offset;
            }
        }
    }
}

/* Axis and dims of a resolved descriptor: out strides positive and falling, nothing to merge. */
static void add_dim(shape *s, tly_dim dim)
{
    if (dim.size == 1) {
        return;
    }
    if (dim.stride[TLY_OUT] < 0) {
        tly_flip_dim(&dim, s->first);
    }
    int32_t at = s->count++;
    for (; at > 0 && s->dims[at - 1].stride[TLY_OUT] < dim.stride[TLY_OUT]; at--) {
        s->dims[at] = s->dims[at - 1];
    }
    s->dims[at] = dim;
}

/* The states of segments lie in the order of memory, whichever way a segment is scanned. */
static void flip_axis(shape *s)
{
    const tly_dim axis = s->axis;
    int64_t first[TLY_TENSOR_COUNT];
    memcpy(first, s->first, sizeof first);
    tly_flip_dim(&s->axis, s->first);
    for (int t = s->elements; t < TLY_TENSOR_COUNT; t++) {
        s->axis.stride[t] = axis.stride[t];
        s->first[t] = first[t];
    }
}

static shape read_shape(const tally_descriptor *d)
{
    shape s = { .first = { d->in_offset, d->out_offset }, .elements = tly_tensors_named(d) };
    tly_begin_operands(d, s.first);
    for (int32_t i = 0; i < d->rank; i++) {
        tly_dim dim = { d->sizes[i], { d->in_strides[i], d->out_strides[i] } };
        tly_add_operands(d, i, &dim);
        if (i != d->axis) {
            add_dim(&s, dim);
            continue;
        }
        add_dim(&s, tly_cut_axis(d, &dim));
        s.axis = dim;
        if (dim.size > 1 && (d->flags & TALLY_REVERSE)) {
            flip_axis(&s);
        }
    }
    tly_merge_dims(s.dims, &s.count);
    if (s.axis.size == 1 && !tly_is_ragged(d, 1)) {
        /* One element has no strides: any would do, and these make neighbours a stream. */
        s.axis = s.count > 0 ? s.dims[s.count - 1] : (tly_dim){ .stride = { 0 } };
        s.axis.size = s.axis.stride[TLY_IN] = s.axis.stride[TLY_OUT] = 1;
        for (int t = s.elements; t < TLY_TENSOR_COUNT; t++) {
            s.axis.stride[t] = 0; /* a lane has one state */
        }
    }
    return s;
}

static int64_t size_of(int64_t stride)
{
    return stride < 0 ? -stride : stride;
}

static void set_rows(shape *s, int64_t unit, tly_problem *p, tly_geometry *g)
{
    p->form = TLY_ROWS;
    p->interleave = (uint8_t)unit & 15;
    if (unit == 1) {
        p->uneven = 0;
    }
    p->tensor[TLY_IN].step = literal_of_input(s->axis.stride[TLY_IN]);
    p->tensor[TLY_OUT].step = s->axis.stride[TLY_OUT] == 0 ? TLY_ANY_STEP
                                                           : literal(s->axis.stride[TLY_OUT]);
    if (p->tensor[TLY_OUT].step == -1) {
        flip_all(s);
    }
    p->rows.contiguous = p->tensor[TLY_IN].step == p->tensor[TLY_OUT].step &&
                         size_of(p->tensor[TLY_OUT].step) == 1 &&
                         (s->count == 0 ||
                          (s->count == 1 && is_even(&s->dims[0], &s->axis, 1, 0, s->elements)));
    for (int t = TLY_FIRST_OPERAND; t < s->elements; t++) {
        if (tly_is_uneven(p, t) && s->axis.stride[t] != 0) {
            p->rows.contiguous = 0;
        }
    }
    g->inner = 1;
    s->along = s->axis;
}

static void set_lanes(shape *s, tly_form form, int32_t lanes, tly_problem *p, tly_geometry *g)
{
    tly_dim lane = tly_take_dim(s->dims, &s->count, lanes);
    s->along = lane;
    p->form = (uint8_t)form;
    p->interleave = 1;
    p->uneven = 0;
    p->tensor[TLY_IN].step = literal_of_input(lane.stride[TLY_IN]);
    p->tensor[TLY_OUT].step = form == TLY_TRANSPOSED || lane.stride[TLY_OUT] == 1 ? 1
                                                                                  : TLY_ANY_STEP;
    if (form == TLY_COLUMNS && p->tensor[TLY_IN].step == TLY_ANY_STEP &&
        size_of(s->axis.stride[TLY_IN]) == 1) {
        p->lanes.packing = s->axis.stride[TLY_IN] > 0 ? TLY_AXIS_UP : TLY_AXIS_DOWN;
    }
    g->inner = lane.size;
    for (int t = 0; t < TLY_TENSOR_COUNT; t++) {
        g->tensor[t].lane = lane.stride[t];
    }
}

/* The dim that makes a transposed view of it, or -1: the axis is innermost in the output, this
 * one in the input. */
static int32_t transposed_lanes(const shape *s)
{
    if (size_of(s->axis.stride[TLY_OUT]) != 1 || size_of(s->axis.stride[TLY_IN]) <= 1) {
        return -1;
    }
    int32_t i = s->count - 1;
    while (i >= 0 && !(s->dims[i].stride[TLY_IN] == 1 && tly_takes_transposed(s->dims[i].size))) {
        i--;
    }
    return i;
}

/* Whether axis and lanes form one packed block, walked forward (1) or backward (-1); else 0. */
static int packed_block(const shape *s, const tly_dim *lane)
{
    if (lane->stride[TLY_IN] != 1 || lane->stride[TLY_OUT] != 1 ||
        s->axis.stride[TLY_IN] != s->axis.stride[TLY_OUT] ||
        size_of(s->axis.stride[TLY_IN]) != lane->size) {
        return 0;
    }
    return s->axis.stride[TLY_IN] > 0 ? 1 : -1;
}

/* tly_problem.uneven, of such a block; 0 of none. */
static uint8_t uneven_operands(const shape *s, const tly_dim *lane, int direction)
{
    unsigned uneven = 0;
    for (int t = TLY_FIRST_OPERAND; t < s->elements && direction != 0; t++) {
        if (!is_even(&s->axis, lane, direction, t, t + 1)) {
            uneven |= 1u << (t - TLY_FIRST_OPERAND);
        }
    }
    return uneven & 15;
}

/* Axis and lanes become one row, in which the lanes' scans take turns. */
static void interleave(shape *s, int direction, tly_problem *p, tly_geometry *g)
{
    tly_dim *lane = &s->dims[s->count - 1];
    if (direction < 0) {
        tly_flip_dim(lane, s->first);
    }
    int64_t unit = lane->size;
    for (int t = 0; t < TLY_TENSOR_COUNT; t++) { /* after a flip lanes run as the axis does */
        if (tly_is_uneven(p, t)) {
            g->tensor[t].lane = lane->stride[t];
        } else {
            s->axis.stride[t] = lane->stride[t];
        }
    }
    s->axis.size *= unit;
    s->count--;
    set_rows(s, unit, p, g);
}

/* Segments differ in size, so nothing is known of rows but where they lie. */
static void find_segmented(shape *s, int is_device, tly_problem *p, tly_geometry *g)
{
    const tly_dim *lane = s->count > 0 ? &s->dims[s->count - 1] : NULL;
    const int direction = lane != NULL && s->axis.size > 1 ? packed_block(s, lane) : 0;
    p->uneven = uneven_operands(s, lane, direction);
    if (lane == NULL || size_of(s->axis.stride[TLY_OUT]) < lane->stride[TLY_OUT]) {
        set_rows(s, 1, p, g);
        p->rows.contiguous = 0;
    } else if (direction != 0 && tly_takes_interleaved(p, is_device, 0, s->axis.size, lane->size)) {
        interleave(s, direction, p, g);
        p->rows.contiguous = 0;
    } else {
        set_lanes(s, TLY_COLUMNS, s->count - 1, p, g);
        p->lanes.packing = TLY_PACKED_NOT;
    }
}

static void find_form(shape *s, int is_device, tly_problem *p, tly_geometry *g)
{
    const tly_dim *lane = s->count > 0 ? &s->dims[s->count - 1] : NULL;
    int one = s->axis.size == 1;
    if (p->segmented != TLY_SEGMENTED_NOT) {
        find_segmented(s, is_device, p, g);
        return;
    }
    if (s->axis.size == 0) { /* states alone */
        s->axis.stride[TLY_IN] = s->axis.stride[TLY_OUT] = 1;
        set_rows(s, 1, p, g);
        return;
    }
    if (lane == NULL || (one && continues(lane, &s->axis)) ||
        (!one && size_of(s->axis.stride[TLY_OUT]) < lane->stride[TLY_OUT])) {
        int32_t lanes = transposed_lanes(s);
        if (lanes >= 0) {
            p->lanes.packing = s->axis.stride[TLY_OUT] < 0 ? TLY_AXIS_DOWN : TLY_PACKED_NOT;
            set_lanes(s, TLY_TRANSPOSED, lanes, p, g);
        } else {
            set_rows(s, 1, p, g);
        }
        return;
    }
    const int direction = packed_block(s, lane);
    p->uneven = uneven_operands(s, lane, direction);
    if (direction == 0 || one ||
        !tly_takes_interleaved(p, is_device, s->count <= 2, s->axis.size, lane->size)) {
        if (direction != 0 && p->uneven == 0) {
            p->lanes.packing = direction > 0 ? TLY_PACKED_UP : TLY_PACKED_DOWN;
        }
        set_lanes(s, TLY_COLUMNS, s->count - 1, p, g);
        return;
    }
    interleave(s, direction, p, g);
}

/* How far apart neighbours along a dim are: in the tensor where they are nearer, then in both. */
static int is_nearer(const tly_dim *a, const tly_dim *b)
{
    uint64_t ai = tly_distance(a->stride[TLY_IN]), ao = tly_distance(a->stride[TLY_OUT]);
    uint64_t bi = tly_distance(b->stride[TLY_IN]), bo = tly_distance(b->stride[TLY_OUT]);
    uint64_t an = ai < ao ? ai : ao, bn = bi < bo ? bi : bo;
    return an != bn ? an < bn : (ai > ao ? ai : ao) < (bi > bo ? bi : bo);
}

/* Rows are counted so that those that share lines and pages of either tensor come one after
 * another. */
static void order_by_distance(shape *s)
{
    for (int32_t i = 1; i < s->count; i++) {
        tly_dim dim = s->dims[i];
        int32_t at = i;
        for (; at > 0 && is_nearer(&s->dims[at - 1], &dim); at--) {
            s->dims[at] = s->dims[at - 1];
        }
        s->dims[at] = dim;
    }
}

/* Nothing to do: one kernel for all, should one be made at all. */
static void set_empty(tly_problem *p, tly_geometry *g)
{
    p->form = TLY_ROWS;
    p->rows.contiguous = 1;
    p->interleave = 1;
    g->empty = 1;
    for (int t = 0; t < TLY_FIRST_OPERAND; t++) {
        p->tensor[t].step = 1;
        g->tensor[t].axis = 1;
        g->tensor[t].high = -1;
    }
}

/* Sums and products of integers have the same bits with a sign as without, but for what is widened;
 * and so do indices of reductions. One kernel does both, by the name of the signed one. */
static void share_signs(tly_problem *p)
{
    static const uint8_t signed_of[TALLY_DTYPE_COUNT] = {
        [TALLY_U64] = TALLY_I64, [TALLY_U32] = TALLY_I32
    };
    const uint8_t dtype = signed_of[p->tensor[TLY_OUT].dtype];
    if (dtype != 0 && tly_reduces(p->form) && tly_ops[p->op].out_dtype != 0) {
        p->tensor[TLY_OUT].dtype = dtype;
    } else if (dtype != 0 && tly_ops[p->op].modular &&
               p->tensor[TLY_IN].dtype == p->tensor[TLY_OUT].dtype) {
        p->tensor[TLY_IN].dtype = p->tensor[TLY_OUT].dtype = p->acc = dtype;
    }
}

static void canonicalise_scan(const tally_descriptor *full, int is_device, tly_problem *problem,
                              tly_geometry *geometry)
{
    for (int32_t i = 0; i < full->rank; i++) {
        /* States go from a tensor to another also where no elements lie between them. */
        if (full->sizes[i] == 0 && !(i == full->axis && tly_has_carry(full) && full->every == 0)) {
            set_empty(problem, geometry);
            return;
        }
    }
    const int ragged = tly_is_ragged(full, full->sizes[full->axis]);
    if (ragged && tly_segment_count(full, full->sizes[full->axis]) == 0) {
        set_empty(problem, geometry);
        return;
    }
    problem->carry = full->carry != 0;
    problem->resets = full->reset[0] != 0;
    problem->segmented = tly_segmented_of(full, full->axis);
    problem->downwards = (ragged || tly_tells_index(full->op)) &&
                         (full->flags & TALLY_REVERSE) != 0;
    shape s = read_shape(full);
    find_form(&s, is_device, problem, geometry);
    order_by_distance(&s);
    if (problem->form == TLY_COLUMNS && !tly_has_carry(full) && !ragged &&
        problem->tensor[TLY_IN].step == TLY_ANY_STEP && problem->tensor[TLY_OUT].step == 1 &&
        problem->lanes.packing == TLY_PACKED_NOT && s.count > 0 &&
        s.dims[s.count - 1].stride[TLY_IN] == 1) {
        problem->lanes.packing = TLY_ROWS_UP;
    }

    geometry->length = s.axis.size;
    tly_set_outer(geometry, s.dims, s.count);
    for (int t = 0; t < TLY_TENSOR_COUNT; t++) {
        geometry->tensor[t].axis = s.axis.stride[t];
        geometry->tensor[t].first = s.first[t];
    }
    tly_tensor_place *in = &geometry->tensor[TLY_IN], *out = &geometry->tensor[TLY_OUT];
    tly_extent(full->rank, full->sizes, full->in_strides, full->in_offset, &in->low, &in->high);
    tly_extent(full->rank, full->sizes, full->out_strides, full->out_offset, &out->low, &out->high);
    if (geometry->length == 0) {
        in->high = in->low - 1;
        out->high = out->low - 1;
    }
    tly_set_operands(full, &s.along, problem, geometry);
}

void tly_canonicalise_closed(const tally_descriptor *full, int is_device, tly_problem *problem,
                             tly_geometry *geometry)
{
    memset(problem, 0, sizeof *problem);
    memset(geometry, 0, sizeof *geometry);
    problem->op = (uint8_t)full->op;
    problem->tensor[TLY_IN].dtype = (uint8_t)full->dtype;
    problem->tensor[TLY_OUT].dtype = (uint8_t)full->out_dtype;
    problem->acc = (uint8_t)tly_problem_accumulator(full);
    problem->order = full->order & 3;
    problem->exclusive = (full->flags & TALLY_EXCLUSIVE) != 0;
    problem->nan_ignore = (full->flags & TALLY_NAN_IGNORE) != 0;
    problem->last = (full->flags & TALLY_LAST) != 0;
    problem->before = tly_ops[full->op].before;
    problem->after = tly_problem_after(full);
    if (tly_ops[full->op].scan) {
        canonicalise_scan(full, is_device, problem, geometry);
    } else {
        tly_canonicalise_reduction(full, problem, geometry);
    }
    tly_specialise(problem, geometry);
    if (full->map[0] == 0 && full->post[0] == 0 && !tly_ops[full->op].has_coef) {
        /* expressions see the sign */
        share_signs(problem);
    }
    if (tly_has_carry(full) && problem->carry && tly_ops[full->op].computes != TLY_COMPUTES_KEYS) {
        const int t = tly_carry_tensor(problem);
        problem->tensor[t].dtype = problem->tensor[t + 1].dtype = problem->acc;
    }
}

void tly_canonicalise_variant(const tally_descriptor *full, tly_problem *problem,
                              tly_geometry *geometry)
{
    tly_canonicalise_closed(full, 0, problem, geometry);
    if (problem->form == TLY_COLUMNS) {
        problem->lanes.short_slices = 0;
    } else if (problem->form == TLY_REDUCED_LANES) {
        problem->reduced.slices = 0;
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Prepares a launch from a problem and its geometry; see prepared.h. */
#include "prepared.h"

#include "../host/checked.h"

/* Steps of the axis that are worth states of their own in lanes: those are combined once a chunk,
 * where each step is once a pass of 8. */
enum { LEAST_LANE_STEPS = 128 };

/* --- what pointers are judged by ------------------------------------------------------------- */

static int may_be_in_place(const tly_problem *p, const tly_geometry *g)
{
    const tly_tensor_place *in = &g->tensor[TLY_IN], *out = &g->tensor[TLY_OUT];
    int same = !tly_is_apart(p) && in->first == out->first && in->axis == out->axis &&
               in->lane == out->lane;
    for (int i = 0; i < g->outer_rank; i++) {
        same = same && g->outer[i].stride[TLY_IN] == g->outer[i].stride[TLY_OUT];
    }
    return same;
}

void tly_rules_make(tly_rules *rules, const tly_problem *p, const tly_geometry *g)
{
    const tly_tensor_place *out = &g->tensor[TLY_OUT];
    const int64_t out_bytes = tly_element_bytes(p, TLY_OUT);
    for (int t = 0; t < tly_tensors_of(p); t++) {
        const tly_tensor_place *from = &g->tensor[t];
        const int64_t bytes = tly_element_bytes(p, t);
        rules->misaligned[t] = (uintptr_t)(bytes - 1);
        rules->apart[t] = (tly_apart){
            tly_subtract((from->high + 1) * bytes, out->low * out_bytes),
            tly_subtract(from->low * bytes, (out->high + 1) * out_bytes),
        };
        if (from->high < from->low && t != TLY_OUT) {
            rules->apart[t].above = INT64_MIN; /* nothing overlaps with nothing */
        }
    }
    rules->in_place = may_be_in_place(p, g);
    rules->tensors = tly_tensors_of(p);
    rules->carry = g->carry;
    rules->offsets = p->segmented == TLY_SEGMENTED_OFFSETS;
    rules->segments = g->segments;
    rules->size = g->size;
}

int64_t tly_offset_at(const tly_rules *rules, const char *offsets, int64_t i)
{
    int64_t wide;
    int32_t narrow;
    if (rules->misaligned[tly_offsets_number(rules)] == 7) {
        memcpy(&wide, offsets + 8 * i, sizeof wide);
        return wide;
    }
    memcpy(&narrow, offsets + 4 * i, sizeof narrow);
    return narrow;
}

/* Whether one of `count` neighbours falls. Nothing ends these loops early, and blocks have a fixed
 * size, so that compilers make unrolled vectors of them; with what is fetched ahead, 22 MB take .47
 * ms for .70 (Zen 5). */
enum { FALLS_BLOCK = 64, FALLS_AHEAD = 8192, FALLS_LINE = 64 };
#define DEFINE_FALLS(name, type) \
    static int name(const type *offsets, int64_t count) \
    { \
        int falls = 0; \
        int64_t i = 1; \
        for (; i + FALLS_BLOCK <= count; i += FALLS_BLOCK) { \
            const uintptr_t ahead = (uintptr_t)(offsets + i) + FALLS_AHEAD; \
            type some = 0; \
            for (size_t at = 0; at < FALLS_BLOCK * sizeof *offsets; at += FALLS_LINE) { \
                __builtin_prefetch((const void *)(ahead + at)); \
            } \
            for (int64_t k = 0; k < FALLS_BLOCK; k++) { \
                some |= -(type)(offsets[i + k] < offsets[i + k - 1]); \
            } \
            falls |= some != 0; \
        } \
        for (; i < count; i++) { \
            falls |= offsets[i] < offsets[i - 1]; \
        } \
        return falls; \
    }
DEFINE_FALLS(narrow_fall, int32_t)
DEFINE_FALLS(wide_fall, int64_t)

/* Whether all are right: those that never fall lie between the first and the last. */
static int are_offsets(const tly_rules *rules, const char *offsets)
{
    const int64_t count = rules->segments + 1;
    const int is_wide = rules->misaligned[tly_offsets_number(rules)] == 7;
    const void *first = offsets;
    return tly_offset_at(rules, offsets, 0) >= 0 &&
           tly_offset_at(rules, offsets, rules->segments) <= rules->size &&
           !(is_wide ? wide_fall(first, count) : narrow_fall(first, count));
}

int64_t tly_offsets_fault(const tly_rules *rules, const tly_pointers *pointers)
{
    const char *offsets = pointers->at[tly_offsets_number(rules)];
    int64_t before = 0;
    if (are_offsets(rules, offsets)) {
        return -1;
    }
    for (int64_t i = 0; i <= rules->segments; i++) {
        const int64_t offset = tly_offset_at(rules, offsets, i);
        if (offset < before || offset > rules->size) {
            return i;
        }
        before = offset;
    }
    return -1;
}

int64_t tly_unread(const tly_problem *p, const tly_geometry *g)
{
    int64_t unread = 0;
    for (int t = 0; t < tly_tensors_of(p); t++) {
        unread |= (int64_t)(g->tensor[t].high < g->tensor[t].low) << t;
    }
    return unread;
}

void tly_prepared_check(tly_prepared *r, const tly_problem *p, const tly_geometry *g)
{
    tly_rules_make(&r->rules, p, g);
    r->unread = tly_unread(p, g);
    r->empty = g->empty;
}

/* --- reductions ------------------------------------------------------------------------------ */

/* How many lanes a tile has at most; 1 where there are none, as in an empty tensor that is
 * shown. */
static int64_t lanes_of(const tly_geometry *g, const tly_launch *l)
{
    return tly_larger(tly_smaller(g->inner, l->tile_lanes), 1);
}

/* Elements of one output that a chunk has; in lanes the plan counts those of all side by side, and
 * records are as large as there are lanes. */
static int64_t chunk_of(const tly_prepared *r, const tly_geometry *g, const tly_launch *l)
{
    if (l->chunk == 0) {
        return INT64_MAX;
    }
    if (l->form != TLY_REDUCED_LANES) {
        return l->chunk;
    }
    int64_t most = tly_larger(TLY_REDUCE_MOST_OUTPUT / r->record_bytes, 1);
    int64_t least = tly_ceil_div(tly_multiply(g->length, g->steps), most);
    int64_t wanted = l->chunk / lanes_of(g, l);
    int64_t passes = tly_larger(wanted / LEAST_LANE_STEPS, tly_ceil_div(least, LEAST_LANE_STEPS));
    return tly_larger(passes, 1) * LEAST_LANE_STEPS;
}

/* What the kernel's arguments say of chunks, and how many tiles there are. */
static void make_reduction(tly_prepared *r, const tly_problem *p, const tly_geometry *g,
                           const tly_launch *l)
{
    tly_args *args = &r->args;
    r->record_bytes = l->record_bytes;
    if (l->form == TLY_REDUCED_LANES) {
        r->record_bytes *= tly_ceil_div(lanes_of(g, l), TLY_RECORD_LANES) * TLY_RECORD_LANES;
    }
    int64_t chunk = chunk_of(r, g, l);
    args->steps = g->length > 0 ? g->steps : 0;
    args->chunk_length = tly_larger(tly_smaller(g->length, chunk), 1);
    args->chunk_steps = tly_smaller(tly_larger(chunk / args->chunk_length, 1),
                                    tly_larger(args->steps, 1));
    if (args->chunk_length < g->length) {
        args->chunk_steps = 1;
    }
    args->chunks = tly_larger(tly_ceil_div(g->length, args->chunk_length) *
                                  tly_ceil_div(args->steps, args->chunk_steps),
                              1);
    args->blocks = l->form == TLY_REDUCED_LANES ? tly_ceil_div(g->inner, l->tile_lanes) : 1;
    args->reduced_rank = g->reduced_rank;
    for (int i = 0; i < g->reduced_rank; i++) {
        args->reduced_size[i] = g->reduced[i].size;
        for (int t = 0; t < tly_tensors_of(p); t++) {
            args->tensor[t].reduced[i] = g->reduced[i].stride[t] * tly_element_bytes(p, t);
        }
    }
    r->rows = g->rows * tly_larger(g->segments, 1) * args->blocks;
    r->row_tiles = args->chunks;
    r->tiles = r->rows * r->row_tiles;
}

/* --- the launch ------------------------------------------------------------------------------ */

static int crosses(const tly_problem *p)
{
    return p->form == TLY_COLUMNS && p->lanes.packing == TLY_ROWS_UP;
}

/* 1: a view whose rows are parts of lines in one of the tensors. */
static int is_view(const tly_problem *p)
{
    if (p->form != TLY_COLUMNS && p->form != TLY_TRANSPOSED) {
        return 0;
    }
    const int few = p->lanes.least > 0 &&
                    (p->form == TLY_TRANSPOSED || p->tensor[TLY_OUT].step == 1);
    return crosses(p) || few;
}

/* Takes out of the dims those rows that make a line of output; one of size 1 where none do. */
static tly_dim take_line(tly_dim *dims, int32_t *count, int64_t row, int64_t line)
{
    const int32_t at = tly_line_dim(dims, *count, row, line);
    if (at < 0) {
        return (tly_dim){ .size = 1 };
    }
    tly_dim *of = &dims[at], taken = *of;
    taken.size = line / row;
    of->size /= taken.size;
    for (int t = 0; t < TLY_TENSOR_COUNT; t++) {
        of->stride[t] *= taken.size;
    }
    if (of->size == 1) {
        *of = dims[--*count];
    }
    return taken;
}

/* The outer dims as a kernel counts through them; returns how many. Of views the rows of a line
 * of output come one after another, and those in the order of the input: so whole lines are read
 * in a few streams upwards, and whole lines are written past the cache, wherever they lie. f32
 * 8-D views of 8s along axis 0, prototype with tiles of 16 by 16, ms: the input's order 7.4, the
 * output's 28, both by turns 12 to 24, a copy 2.5 (Zen 5). In the cache nothing is gained by it,
 * and stores go through it half a line at a time: of 2 Mi elements .73 ms as they are, 2.3 so. */
static int32_t order_outer(const tly_problem *p, const tly_geometry *g, int far, tly_dim *dims)
{
    enum { LINE = 64 };
    int32_t count = g->outer_rank;
    for (int32_t i = 0; i < count; i++) {
        dims[i] = g->outer[i];
    }
    if (!is_view(p) || (!far && !crosses(p))) {
        return count;
    }
    const int64_t row = p->form == TLY_COLUMNS ? g->inner : g->length;
    tly_dim line = { .size = 1 };
    if (!crosses(p) || p->lanes.lines) {
        line = take_line(dims, &count, row, LINE / tly_element_bytes(p, TLY_OUT));
    }
    for (int32_t i = 1; i < count; i++) {
        const tly_dim dim = dims[i];
        int32_t at = i;
        for (;
             at > 0 && tly_distance(dims[at - 1].stride[TLY_IN]) < tly_distance(dim.stride[TLY_IN]);
             at--) {
            dims[at] = dims[at - 1];
        }
        dims[at] = dim;
    }
    if (line.size > 1) {
        dims[count++] = line;
    }
    if (line.size > 1 && crosses(p)) { /* the neighbours in the input stay last */
        dims[count - 1] = dims[count - 2];
        dims[count - 2] = line;
    }
    return count;
}

static void make_args(tly_prepared *r, const tly_problem *p, const tly_geometry *g,
                      const tly_launch *l, int far)
{
    tly_args *args = &r->args;
    tly_dim outer[TLY_DIMS] = { { .size = 0 } };
    args->length = g->length;
    args->inner = g->inner;
    args->segments = g->segments;
    args->segment_size = g->every;
    args->chunks = l->form == TLY_ROWS && l->chunk > 0 ? tly_ceil_div(g->length, l->chunk) : 1;
    args->chunks = tly_larger(args->chunks, 1); /* states of no elements are handed on, too */
    args->blocks = l->tile_lanes > 0 ? tly_ceil_div(g->inner, l->tile_lanes) : 1;
    args->outer_rank = order_outer(p, g, far, outer);
    for (int i = 0; i < args->outer_rank; i++) {
        args->outer_size[i] = outer[i].size;
    }
    for (int t = 0; t < tly_tensors_of(p); t++) {
        const int64_t bytes = tly_element_bytes(p, t);
        args->tensor[t].axis = g->tensor[t].axis * bytes;
        args->tensor[t].lane = g->tensor[t].lane * bytes;
        for (int i = 0; i < args->outer_rank; i++) {
            args->tensor[t].outer[i] = outer[i].stride[t] * bytes;
        }
    }
    r->rows = g->rows;
    r->row_tiles = l->form == TLY_ROWS ? args->chunks : args->blocks;
    r->tiles = g->rows * r->row_tiles;
    if (tly_reduces((int)l->form)) {
        make_reduction(r, p, g, l);
    }
}

/* How many lanes of a row a call takes, and the scratch for them. */
static void make_scratch(tly_prepared *r, const tly_geometry *g, const tly_launch *l,
                         int64_t scratch)
{
    int reduces = tly_reduces((int)l->form);
    int64_t lanes = 0;
    r->most_tiles = reduces ? INT64_MAX : r->row_tiles;
    if (l->form == TLY_REDUCED_LANES) {
        lanes = tly_smaller(g->inner, l->tile_lanes); /* a tile at a time */
    } else if (l->form != TLY_ROWS && !reduces) {
        lanes = g->inner;
    }
    if (l->scratch_lane_bytes > 0 && !reduces) {
        int64_t room = scratch - l->scratch_bytes;
        r->most_tiles = tly_larger(room / tly_multiply(l->scratch_lane_bytes, l->tile_lanes), 1);
        lanes = tly_smaller(lanes, tly_multiply(r->most_tiles, l->tile_lanes));
    }
    r->scratch_bytes = (size_t)tly_add(l->scratch_bytes,
                                       tly_multiply(lanes, l->scratch_lane_bytes));
}

static int64_t extended(int64_t elements, const tly_dim *dims, int32_t count, int operand)
{
    for (int32_t i = 0; i < count; i++) {
        if (dims[i].stride[operand] != 0) {
            elements = tly_multiply(elements, dims[i].size);
        }
    }
    return elements;
}

/* Elements of an operand that a run reads, each counted once. A scalar stays in a register and
 * counts as none. */
static int64_t touched(const tly_problem *p, const tly_geometry *g, int operand)
{
    const tly_tensor_place *place = &g->tensor[operand];
    const int64_t scans = tly_is_uneven(p, operand) ? p->interleave : 1;
    if (place->high <= place->low) {
        return 0;
    }
    int64_t elements = tly_multiply(place->axis != 0 ? g->length / scans : 1,
                                    place->lane != 0 ? g->inner * scans : 1);
    elements = extended(elements, g->outer, g->outer_rank, operand);
    elements = extended(elements, g->reduced, g->reduced_rank, operand);
    return tly_smaller(elements, tly_subtract(place->high, place->low - 1));
}

static int64_t operand_bytes(const tly_problem *p, const tly_geometry *g)
{
    int64_t bytes = 0;
    for (int t = TLY_FIRST_OPERAND; t < tly_tensors_of(p); t++) {
        bytes = tly_add(bytes, tly_multiply(touched(p, g, t), tly_element_bytes(p, t)));
    }
    return bytes;
}

void tly_prepared_make(tly_prepared *r, const tly_problem *p, const tly_geometry *g,
                       const tly_launch *l, int64_t scratch, int64_t far)
{
    const int64_t in = tly_element_bytes(p, TLY_IN), out = tly_element_bytes(p, TLY_OUT);
    const int64_t each = tly_reduces((int)l->form) ? tly_multiply(g->steps, in) : in + out;
    tly_prepared_check(r, p, g);
    r->form = l->form;
    r->bytes = tly_add(tly_multiply(g->rows * g->length * g->inner, each), operand_bytes(p, g));
    make_args(r, p, g, l, r->bytes > far);
    for (int t = 0; t < tly_tensors_of(p); t++) {
        r->first[t] = g->tensor[t].first * tly_element_bytes(p, t);
    }
    make_scratch(r, g, l, scratch);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic of dispatches; see launch.h. */
#include "dispatches.h"

#include "../host/checked.h"
#include "../host/error.h"

#include <stdlib.h>
#include <string.h>

#define MOST_ITEMS INT64_C(0x7fffffff) /* tly_push counts below 2^31 */
#define MOST_POSITIONS (INT64_C(1) << 30)
#define MOST_MARKED (INT64_C(1) << 29)    /* positions: 64 MiB of marks */
#define MOST_SCRATCH (INT64_C(256) << 20) /* more rows than this serves keep any device busy */
#define MOST_STEPS (INT64_C(1) << 20)     /* 192 MiB of them; only tiny limits come near */
#define SCRATCH_ALIGN 16
#define VECTOR 16 /* bytes of the widest access */

/* A launch on its way: the geometry as the code sees it, in bytes; of tensors `high` is beyond
 * the last one. */
typedef struct shape {
    int64_t length, lanes;
    int64_t
        step; /* of a reduction: elements a step, or a word's worth where there is one; else 0 */
    tly_tensor_place tensor[TLY_TENSOR_COUNT];
    int32_t outer_rank, tensors;
    int32_t along;              /* tensors from this one on do not lie along the axis */
    int64_t segments;           /* of the axis; 0: it is not cut */
    uint32_t states;            /* TLY_GPU_STATES_...: what the word names */
    int tells_index, downwards; /* of scans */
    tly_dim outer[TALLY_MAX_RANK - 1];
} shape;

/* How it is cut. */
typedef struct cutting {
    int64_t positions, cuts; /* a cut, and how many */
    int64_t chunks;          /* of a whole cut, at least 1; of a reduction, of an output */
    int64_t records;         /* of each pair */
    int64_t lanes;           /* a window */
    int64_t segments;        /* of the axis */
    int64_t span;            /* cuts whose heads are marked at once */
    int64_t marks;           /* bytes of the scratch for these */
    int64_t rows;            /* a window: `rows` indices of dim `dim`, all of those within it */
    int32_t dim;             /* -1: all rows */
} cutting;

/* A tensor's part of the shape. */
static void read_tensor(const tly_problem *p, const tly_geometry *g, const tly_gpu_launch *l, int t,
                        shape *s)
{
    const tly_tensor_place *from = &g->tensor[t];
    const int64_t bytes = tly_element_bytes(p, t);
    tly_tensor_place to = { .axis = from->axis * bytes,
                            .lane = from->lane * bytes,
                            .first = from->first * bytes,
                            .low = from->low * bytes,
                            .high = (from->high + 1) * bytes };
    if (l->form == TLY_GPU_LANES && p->form == TLY_ROWS) {
        to.lane = to.axis;
        to.axis *= p->interleave;
    }
    if (tly_reduces(p->form) && tly_is_written(t) && p->segmented == TLY_SEGMENTED_NOT) {
        to.axis = 0;
    }
    to.lane = tly_wrap_multiply(to.lane, l->lanes); /* no step where there is one group */
    s->tensor[t] = to;
    for (int32_t i = 0; i < g->outer_rank; i++) {
        s->outer[i].stride[t] = g->outer[i].stride[t] * bytes;
    }
}

static shape read_shape(const tly_problem *p, const tly_geometry *g, const tly_gpu_launch *l)
{
    shape s = { .length = g->length,
                .lanes = g->inner,
                .outer_rank = g->outer_rank,
                .tensors = tly_tensors_of(p),
                .along = p->segmented ? tly_operands_end(p) : TLY_TENSOR_COUNT,
                .segments = g->segments,
                .states = (g->carry & TALLY_CARRY_IN ? TLY_GPU_STATES_IN : 0u) |
                          (g->carry & TALLY_CARRY_OUT ? TLY_GPU_STATES_OUT : 0u),
                .tells_index = !tly_reduces(p->form) && tly_tells_index(p->op),
                .downwards = p->downwards };
    if (l->form == TLY_GPU_LANES && p->form == TLY_ROWS) {
        s.lanes = p->interleave;
        s.length /= p->interleave;
    }
    if (tly_reduces(p->form)) { /* what is along an output, the block says */
        s.step = tly_smaller(g->length > 0 ? g->length : 1, INT32_MAX);
        s.length = 1;
    }
    s.lanes /= l->lanes; /* groups of them, from here on */
    for (int32_t i = 0; i < g->outer_rank; i++) {
        s.outer[i].size = g->outer[i].size;
    }
    for (int t = 0; t < tly_tensors_of(p); t++) {
        read_tensor(p, g, l, t, &s);
    }
    return s;
}

static int has_form(const tly_problem *p, const tly_gpu_launch *l)
{
    return p->form == TLY_ROWS ||
           l->form == (p->form == TLY_REDUCED_ROWS ? TLY_GPU_ROWS : TLY_GPU_LANES);
}

static tally_status check(const tly_problem *p, const tly_geometry *g, const tly_gpu_plan *plan,
                          const tly_gpu_launch *l, const tly_caps *caps, tally_error *error)
{
    int sound = l->abi == TLY_GPU_ABI_VERSION && l->passes >= 1 && l->passes <= TLY_GPU_PASSES &&
                has_form(p, l) && l->form <= TLY_GPU_LANES && plan->outer_rank == g->outer_rank &&
                l->lanes >= 1 && (p->form == TLY_ROWS ? p->interleave : g->inner) % l->lanes == 0 &&
                (plan->literal || g->outer_rank <= TLY_GPU_OUTER) &&
                l->block_bytes == (tly_gpu_has_block(p) ? sizeof(tly_gpu_block) : 0) &&
                l->header_bytes >= l->block_bytes && plan->steps_rank == g->reduced_rank &&
                (plan->length == 0 || plan->length == g->length);
    for (uint32_t i = 0; sound && i < l->passes; i++) {
        const int of_segments = l->pass[i].items >= TLY_ITEMS_SEGMENTS;
        sound = l->pass[i].items <= TLY_ITEMS_CELLS && l->pass[i].per_group > 0 &&
                l->pass[i].workgroup > 0 && (!of_segments || g->segments > 0);
    }
    if (!sound) {
        return tly_fail(error, TALLY_INTERNAL, "device", "the generator's launch record is bad");
    }
    for (uint32_t i = 0; i < l->passes; i++) {
        if (l->pass[i].workgroup > caps->invocations) {
            return tly_fail(error, TALLY_UNSUPPORTED, "device",
                            "the kernel needs workgroups of %u, and the device's limit is %u",
                            l->pass[i].workgroup, caps->invocations);
        }
    }
    return TALLY_OK;
}

static int64_t records_of(const cutting *c, const tly_gpu_launch *l)
{
    return tly_multiply(c->records, l->record_bytes);
}

/* Chunks, segments or cells that a pass counts, of each pair. */
static int64_t each_of(const tly_gpu_pass *pass, int64_t chunks, int64_t segments)
{
    return pass->items == TLY_ITEMS_ROWS     ? 1
           : pass->items == TLY_ITEMS_STATES ? segments
           : pass->items == TLY_ITEMS_CELLS  ? chunks - segments + 1
                                             : chunks;
}

/* Workgroups of a pass: one that takes a tile takes no items of another chunk. */
static int64_t groups_of(const tly_gpu_pass *pass, int64_t pairs, int64_t chunks, int64_t segments)
{
    int64_t each = each_of(pass, chunks, segments);
    return pass->items == TLY_ITEMS_SEGMENTS ? tly_ceil_div(segments, pass->per_group)
           : pass->items == TLY_ITEMS_TILES  ? tly_ceil_div(pairs, pass->per_group) * each
                                             : tly_ceil_div(pairs * each, pass->per_group);
}

/* The most that so many workgroups take. */
static int64_t pairs_of(const tly_gpu_pass *pass, int64_t groups, int64_t chunks, int64_t segments)
{
    if (pass->items == TLY_ITEMS_SEGMENTS)
        return segments <= tly_multiply(groups, pass->per_group) ? MOST_ITEMS : 0;
    int64_t each = each_of(pass, chunks, segments), most = MOST_ITEMS / each;
    if (pass->items == TLY_ITEMS_TILES)
        return tly_smaller(most, tly_multiply(groups / each, pass->per_group));
    return tly_smaller(most, tly_multiply(groups, pass->per_group) / each);
}

/* Most (row, lane) pairs of one dispatch. */
static int64_t most_pairs(const cutting *c, const tly_gpu_launch *l, const tly_caps *caps)
{
    int64_t most = MOST_ITEMS;
    for (uint32_t i = 0; i < l->passes; i++) {
        int64_t groups = tly_multiply(caps->groups_x, caps->groups_y);
        most = tly_smaller(most, pairs_of(&l->pass[i], groups, c->chunks, c->segments));
    }
    int64_t a_pair = tly_add(records_of(c, l), c->cuts > 1 ? l->carry_bytes : 0);
    int64_t room = tly_smaller(MOST_SCRATCH, caps->buffer_range) - l->header_bytes - c->marks -
                   2 * SCRATCH_ALIGN;
    return a_pair > 0 ? tly_smaller(most, room / a_pair) : most;
}

/* The outermost dim of which a window can hold all that is within it. */
static void cut_rows(const shape *s, int64_t most, cutting *c)
{
    int64_t within = 1;
    c->dim = s->outer_rank;
    while (c->dim > 0 && s->outer[c->dim - 1].size <= most / within) {
        within *= s->outer[--c->dim].size;
    }
    if (c->dim == 0) {
        c->dim = -1;
        c->rows = 1;
        return;
    }
    c->dim--;
    c->rows = most / within;
}

static tally_status cut(const shape *s, const tly_gpu_launch *l, const tly_caps *caps,
                        int64_t reduced, cutting *c, tally_error *error)
{
    c->positions = l->positions > 0 ? tly_smaller(l->positions, MOST_POSITIONS) : MOST_POSITIONS;
    const int64_t length = tly_larger(s->length, 1); /* of no elements states are handed on */
    c->cuts = tly_ceil_div(length, c->positions);
    c->chunks = l->chunk > 0 ? tly_ceil_div(tly_smaller(length, c->positions), l->chunk) : 1;
    c->segments = s->segments;
    /* Records that must be zero are so before each cut, and marks with them. */
    c->span = l->zeroed ? 1 : tly_larger(MOST_MARKED / c->positions, 1);
    c->marks = l->marked ? (tly_smaller(length, c->span * c->positions) + 31) / 32 * 4 : 0;
    if (reduced > 0) {
        c->chunks = reduced;
    }
    c->records = c->chunks;
    if (reduced > 0 && s->segments > 0) { /* chunks are pieces of segments, and cells have two */
        c->records = l->chunk > 0 ? 2 * (reduced - s->segments + 1) : 0;
    }
    int64_t pairs = most_pairs(c, l, caps);
    if (pairs < 1) {
        return tly_fail(error, TALLY_UNSUPPORTED, "sizes",
                        "%lld chunks of one row exceed the device's %u x %u workgroups or its "
                        "buffers of %u bytes",
                        (long long)c->chunks, caps->groups_x, caps->groups_y, caps->buffer_range);
    }
    c->lanes = tly_smaller(s->lanes, pairs);
    cut_rows(s, pairs / c->lanes, c);
    return TALLY_OK;
}

/* Rows of one window: those within dim `dim`, times `count` indices of it. */
static int64_t rows_within(const shape *s, int32_t dim)
{
    int64_t rows = 1;
    for (int32_t i = dim + 1; i < s->outer_rank; i++) {
        rows *= s->outer[i].size;
    }
    return rows;
}

/* --- making the list ------------------------------------------------------------------------ */

/* One window of rows and lanes. */
typedef struct window {
    int64_t at[TLY_TENSOR_COUNT]; /* bytes of its first element */
    int64_t rows, lanes;
    int64_t indices; /* of dim `dim` */
} window;

typedef struct list {
    const shape *s;
    const tly_gpu_plan *plan;
    const tly_gpu_launch *l;
    const tly_caps *caps;
    const cutting *c;
    tly_gpu_steps *steps;
} list;

static uint64_t align(uint64_t n)
{
    return (n + SCRATCH_ALIGN - 1) / SCRATCH_ALIGN * SCRATCH_ALIGN;
}

static void push_outer(const list *a, const window *w, tly_push *push)
{
    for (int32_t i = 0; !a->plan->literal && i < a->s->outer_rank; i++) {
        for (int t = 0; t < TLY_FIRST_OPERAND; t++) {
            push->tensor[t].outer[i] = a->s->outer[i].stride[t];
        }
        push->outer_size[i] = i < a->c->dim    ? 1
                              : i == a->c->dim ? (uint32_t)w->indices
                                               : (uint32_t)a->s->outer[i].size;
    }
}

static int is_multiple(int64_t n)
{
    return n % VECTOR == 0;
}

static int reduces(const shape *s)
{
    return s->step > 0;
}

/* Whether a tensor's alignment decides on vectors: not of what a reduction makes, nor of operands:
 * of these flags alone go by vectors, and have a bit of their own. */
static int counts(int reads, int tensor)
{
    return !reads || !tly_is_written(tensor);
}

static int are_multiples(const list *a, int tensor)
{
    const shape *s = a->s;
    int aligned = s->lanes == 1 || is_multiple(s->tensor[tensor].lane);
    if (a->l->lanes > 1) {
        aligned = aligned && is_multiple(s->tensor[tensor].axis);
    }
    for (int32_t i = 0; i < s->outer_rank; i++) {
        aligned = aligned && is_multiple(s->outer[i].stride[tensor]);
    }
    return aligned;
}

/* All strides, but the axis' only where several lanes go together, and of reductions only the
 * input's; the addresses are judged when they are known. */
static uint32_t aligned_strides(const list *a)
{
    int aligned = 1;
    for (int t = 0; t < TLY_FIRST_OPERAND; t++) {
        if (counts(reduces(a->s), t) && (a->l->loose >> t & 1) == 0) {
            aligned = aligned && are_multiples(a, t);
        }
        for (int32_t i = 0; i < a->plan->steps_rank; i++) {
            aligned = aligned && is_multiple(a->steps->block.tensor[t].reduced[i]);
        }
    }
    return aligned ? TLY_GPU_ALIGNED : 0;
}

/* The same of operands that flags are made of. */
static uint32_t aligned_flags(const list *a)
{
    int any = 0;
    for (int i = 0; i < TLY_GPU_OPERANDS; i++) {
        const int64_t bytes = a->steps->flag_bytes[i];
        for (int32_t dim = 0; bytes > 0 && dim < a->s->outer_rank; dim++) {
            if (a->s->outer[dim].stride[TLY_FIRST_OPERAND + i] % bytes != 0) {
                return 0;
            }
        }
        any |= bytes > 0;
    }
    return any ? TLY_GPU_FLAGS_ALIGNED : 0;
}

/* Whether the block is that of the step before: operands and the index begin in the same place. */
static int goes_on(const tly_gpu_steps *steps, const int64_t *operand, uint32_t position,
                   int64_t index)
{
    if (steps->count == 0) {
        return 0;
    }
    const tly_gpu_step *before = &steps->step[steps->count - 1];
    return before->position == position && before->first_index == index &&
           memcmp(before->operand, operand, sizeof before->operand) == 0;
}

/* The index of a position, of scans that tell one. */
static int64_t index_of(const shape *s, int64_t position)
{
    return !s->tells_index ? 0 : s->downwards ? s->length - 1 - position : position;
}

/* Heads are marked by a first pass, in front of the first cut of a span. */
static void add_passes(const list *a, const window *w, int64_t from, tly_push *push)
{
    const int64_t span = a->c->span * a->c->positions;
    const int64_t mark = a->s->segments > 0 ? from % span : 0;
    tly_gpu_steps *steps = a->steps;
    int64_t operand[TLY_GPU_OPERANDS];
    const uint32_t position = a->s->segments > 0 ? (uint32_t)from : 0;
    for (int t = TLY_FIRST_OPERAND; t < TLY_TENSOR_COUNT; t++) {
        const int64_t moved = t < a->s->along ? from * a->s->tensor[t].axis : 0;
        operand[t - TLY_FIRST_OPERAND] = w->at[t] + moved;
    }
    for (uint32_t pass = a->l->marked && mark > 0; pass < a->l->passes; pass++) {
        const tly_gpu_pass *of = &a->l->pass[pass];
        int64_t groups = groups_of(of, w->rows * w->lanes, push->chunks, a->c->segments);
        uint32_t y = (uint32_t)tly_ceil_div(groups, a->caps->groups_x);
        push->groups_x = (uint32_t)tly_ceil_div(groups, y);
        tly_gpu_step *step = &steps->step[steps->count];
        *step = (tly_gpu_step){
            .push = *push,
            .x = push->groups_x,
            .y = y,
            .pass = pass,
            .barrier = steps->count > 0 && (pass > 0 || from > 0 || steps->scratch_bytes > 0),
            .zero = pass == 0 && steps->zeroed > 0,
            .block = steps->has_block && !goes_on(steps, operand, position, index_of(a->s, from)),
            .reads = (uint32_t)reduces(a->s),
            .position = position,
            .mark = (uint32_t)mark,
            .marked = a->l->marked ? (uint32_t)tly_smaller(span, a->s->length - (from - mark)) : 0,
            .first_index = index_of(a->s, from),
        };
        if (of->items >= TLY_ITEMS_STATES) {
            step->push.chunks = (uint32_t)each_of(of, a->c->chunks, a->c->segments);
        }
        memcpy(step->operand, operand, sizeof operand);
        steps->count++;
    }
}

static void add_window(const list *a, const window *w)
{
    const shape *s = a->s;
    uint64_t records = (uint64_t)(w->rows * w->lanes * records_of(a->c, a->l));
    tly_push push = {
        .inner = (uint32_t)w->lanes,
        .rows = (uint32_t)w->rows,
        .carries = a->l->marked ? a->steps->block.marks + (uint32_t)align((uint64_t)a->c->marks)
                                : (uint32_t)align(a->l->header_bytes + records),
    };
    for (int t = 0; t < TLY_FIRST_OPERAND; t++) {
        push.tensor[t].axis = s->tensor[t].axis;
        push.tensor[t].lane = s->tensor[t].lane;
    }
    push_outer(a, w, &push);
    uint32_t strides = aligned_strides(a) | aligned_flags(a);
    for (int64_t from = 0, cut = 0; cut < a->c->cuts; from += a->c->positions, cut++) {
        int64_t length = tly_smaller(a->c->positions, s->length - from);
        const int is_last = cut + 1 == a->c->cuts;
        for (int t = 0; t < TLY_FIRST_OPERAND; t++) {
            push.tensor[t].base = (uint64_t)(w->at[t] + from * s->tensor[t].axis);
        }
        push.length = (uint32_t)(reduces(s) ? s->step : length);
        push.chunks = reduces(s)        ? (uint32_t)a->c->chunks
                      : a->l->chunk > 0 ? (uint32_t)tly_ceil_div(length, a->l->chunk)
                                        : 1;
        push.flags = strides | (from > 0 ? TLY_GPU_CONTINUES : s->states & TLY_GPU_STATES_IN) |
                     (is_last ? s->states & TLY_GPU_STATES_OUT : TLY_GPU_CARRIES) |
                     (cut % 2 != 0 ? TLY_GPU_ODD : 0);
        if (s->segments > 0) { /* each begins and ends somewhere */
            push.flags |= s->states;
        }
        add_passes(a, w, from, &push);
    }
}

/* Moves a window `count` strides on. */
static void move(window *w, const int64_t *stride, int64_t count)
{
    for (int t = 0; t < TLY_TENSOR_COUNT; t++) {
        w->at[t] += stride[t] * count;
    }
}

static void add_lanes(const list *a, const window *rows)
{
    const shape *s = a->s;
    int64_t stride[TLY_TENSOR_COUNT];
    for (int t = 0; t < TLY_TENSOR_COUNT; t++) {
        stride[t] = s->tensor[t].lane;
    }
    for (int64_t lane = 0; lane < s->lanes; lane += a->c->lanes) {
        window w = *rows;
        move(&w, stride, lane);
        w.lanes = tly_smaller(a->c->lanes, s->lanes - lane);
        add_window(a, &w);
    }
}

/* Windows of dim c->dim, for each index of the dims around it. */
static void add_rows(const list *a)
{
    const shape *s = a->s;
    const cutting *c = a->c;
    int64_t within = rows_within(s, c->dim);
    window w = { .rows = within, .indices = 1 };
    for (int t = 0; t < s->tensors; t++) {
        w.at[t] = s->tensor[t].first;
    }
    if (c->dim < 0) {
        add_lanes(a, &w);
        return;
    }
    int64_t index[TALLY_MAX_RANK - 1] = { 0 };
    const tly_dim *of = &s->outer[c->dim];
    for (;;) {
        for (int64_t i = 0; i < of->size; i += c->rows) {
            window part = w;
            move(&part, of->stride, i);
            part.indices = tly_smaller(c->rows, of->size - i);
            part.rows = part.indices * within;
            add_lanes(a, &part);
        }
        int32_t d = c->dim - 1;
        for (; d >= 0 && index[d] == s->outer[d].size - 1; d--) {
            move(&w, s->outer[d].stride, -index[d]);
            index[d] = 0;
        }
        if (d < 0) {
            return;
        }
        move(&w, s->outer[d].stride, 1);
        index[d]++;
    }
}

static int64_t count_steps(const shape *s, const cutting *c, const tly_gpu_launch *l)
{
    int64_t count = tly_multiply(tly_multiply(c->cuts, l->passes),
                                 tly_ceil_div(s->lanes, c->lanes));
    for (int32_t i = 0; i <= c->dim; i++) {
        int64_t size = s->outer[i].size;
        count = tly_multiply(count, i < c->dim ? size : tly_ceil_div(size, c->rows));
    }
    return count;
}

/* Of the largest window. */
static void set_scratch(const shape *s, const cutting *c, const tly_gpu_launch *l,
                        tly_gpu_steps *steps)
{
    int64_t rows = rows_within(s, c->dim) *
                   (c->dim < 0 ? 1 : tly_smaller(c->rows, s->outer[c->dim].size));
    uint64_t pairs = (uint64_t)(rows * c->lanes);
    uint64_t records = l->header_bytes + pairs * (uint64_t)records_of(c, l);
    uint64_t carries = c->cuts > 1 ? pairs * l->carry_bytes : 0;
    uint64_t marks = align((uint64_t)c->marks);
    steps->zero_first = l->block_bytes;
    steps->zeroed = l->zeroed ? (records + 3) / 4 * 4 - l->block_bytes : 0;
    if (l->marked) {
        steps->block.marks = (uint32_t)align(records);
        steps->zeroed = steps->block.marks + marks - l->block_bytes;
    }
    steps->scratch_bytes = records + carries + marks > 0 ? align(align(records) + marks + carries)
                                                         : 0;
}

/* --- the block ------------------------------------------------------------------------------- */

static void describe_operands(const shape *s, const tly_geometry *g, tly_gpu_block *b)
{
    b->segments = (uint32_t)g->segments;
    b->segment_size = (uint32_t)g->every;
    b->axis_size = (uint32_t)g->size;
    for (int t = TLY_FIRST_OPERAND; t < s->tensors; t++) {
        tly_block_tensor *to = &b->tensor[t];
        to->axis = s->tensor[t].axis;
        to->lane = s->tensor[t].lane;
        for (int32_t i = 0; i < s->outer_rank; i++) {
            to->outer[i] = s->outer[i].stride[t];
        }
    }
}

/* Of a reduction: fills a block of zeros, and returns how many chunks an output has. Where no
 * element is reduced, there are no steps, and the sizes, which may be beyond 32 bits, are of no
 * use. */
static int64_t describe(const tly_problem *p, const tly_geometry *g, const tly_gpu_launch *l,
                        tly_gpu_block *b)
{
    if (p->segmented != TLY_SEGMENTED_NOT) {
        return tly_add(g->segments, l->chunk > 0 ? g->size / l->chunk : 0);
    }
    int64_t steps = g->length > 0 ? g->steps : 0, length = steps > 0 ? g->length : 1;
    int64_t most = l->chunk > 0 ? l->chunk : INT64_MAX;
    int64_t chunk_length = tly_smaller(length, most), each = tly_ceil_div(length, chunk_length);
    int64_t whole = steps > 0 ? steps : 1, chunk_steps = tly_smaller(most / chunk_length, whole);
    if (each > 1) {
        chunk_steps = 1;
    }
    double count = (double)steps * (double)g->length;
    float single = (float)count;
    b->steps = (uint32_t)steps;
    b->chunk_length = (uint32_t)chunk_length;
    b->chunk_steps = (uint32_t)chunk_steps;
    b->elements = (int64_t)((uint64_t)steps * (uint64_t)g->length);
    b->each = (uint32_t)each;
    b->last = (uint32_t)(length - (each - 1) * chunk_length);
    memcpy(&b->real64, &count, sizeof count);
    memcpy(&b->real32, &single, sizeof single);
    for (int32_t i = 0; i < g->reduced_rank; i++) {
        b->reduced_size[i] = steps > 0 ? (uint32_t)g->reduced[i].size : 1;
        for (int t = 0; t < tly_tensors_of(p); t++) {
            b->tensor[t].reduced[i] = g->reduced[i].stride[t] * tly_element_bytes(p, t);
        }
    }
    return tly_multiply(each, tly_ceil_div(whole, chunk_steps));
}

tally_status tly_gpu_steps_make(const tly_problem *problem, const tly_geometry *geometry,
                                const tly_gpu_plan *plan, const tly_gpu_launch *launch,
                                const tly_caps *caps, tly_gpu_steps *steps, tally_error *error)
{
    tally_status status = check(problem, geometry, plan, launch, caps, error);
    if (status != TALLY_OK) {
        return status;
    }
    shape s = read_shape(problem, geometry, launch);
    cutting c;
    memset(steps, 0, sizeof *steps);
    int64_t chunks = 0;
    steps->has_block = (uint64_t)tly_gpu_has_block(problem);
    steps->states = s.states;
    if (tly_reduces(problem->form)) {
        chunks = describe(problem, geometry, launch, &steps->block);
    }
    describe_operands(&s, geometry, &steps->block);
    for (int t = TLY_FIRST_OPERAND; t < s.tensors; t++) {
        steps->flag_bytes[t - TLY_FIRST_OPERAND] = tly_gpu_flag_bytes(problem, plan, t);
    }
    status = cut(&s, launch, caps, chunks, &c, error);
    if (status != TALLY_OK) {
        return status;
    }
    int64_t count = count_steps(&s, &c, launch);
    if (count > MOST_STEPS) {
        return tly_fail(error, TALLY_UNSUPPORTED, "sizes",
                        "the device's limits cut this into %lld dispatches, and the limit is %lld",
                        (long long)count, (long long)MOST_STEPS);
    }
    for (int t = 0; t < s.tensors; t++) {
        steps->low[t] = s.tensor[t].low;
        steps->end[t] = s.tensor[t].high;
    }
    set_scratch(&s, &c, launch, steps);
    steps->step = calloc((size_t)count, sizeof *steps->step);
    if (steps->step == NULL) {
        return tly_out_of_memory(error, "dispatches", (size_t)count * sizeof *steps->step);
    }
    add_rows(&(list){ &s, plan, launch, caps, &c, steps });
    return TALLY_OK;
}

void tly_gpu_steps_free(tly_gpu_steps *steps)
{
    free(steps->step);
    *steps = (tly_gpu_steps){ 0 };
}

/* --- placing -------------------------------------------------------------------------------- */

/* Of a row that goes downwards it is the end that whole vectors begin at. */
static uint64_t upwards(const tly_push_tensor *t)
{
    return t->axis < 0 ? t->base - (uint64_t)t->axis : t->base;
}

tly_push tly_gpu_step_place(const tly_gpu_steps *steps, size_t i, const tly_gpu_bases *bases)
{
    const tly_gpu_step *step = &steps->step[i];
    tly_push push = step->push;
    push.scratch = bases->scratch;
    push.flags &= ~bases->lacking;
    for (int t = 0; t < TLY_FIRST_OPERAND; t++) {
        push.tensor[t].base += bases->tensor[t];
        if (counts((int)step->reads, t) && upwards(&push.tensor[t]) % VECTOR != 0) {
            push.flags &= ~(uint32_t)TLY_GPU_ALIGNED;
        }
    }
    for (int t = TLY_FIRST_OPERAND; t < TLY_TENSOR_COUNT; t++) {
        const uint32_t bytes = steps->flag_bytes[t - TLY_FIRST_OPERAND];
        const int64_t axis = steps->block.tensor[t].axis;
        const uint64_t base = bases->tensor[t] + (uint64_t)step->operand[t - TLY_FIRST_OPERAND];
        if (bytes > 0 && (axis < 0 ? base - (uint64_t)axis : base) % bytes != 0) {
            push.flags &= ~(uint32_t)TLY_GPU_FLAGS_ALIGNED;
        }
    }
    return push;
}

tly_gpu_block tly_gpu_step_block(const tly_gpu_steps *steps, size_t i, const tly_gpu_bases *bases)
{
    tly_gpu_block block = steps->block;
    block.first_index = steps->step[i].first_index;
    block.position = steps->step[i].position;
    block.mark = steps->step[i].mark;
    block.marked = steps->step[i].marked;
    for (int t = TLY_FIRST_OPERAND; t < TLY_TENSOR_COUNT; t++) {
        block.tensor[t].base = bases->tensor[t] +
                               (uint64_t)steps->step[i].operand[t - TLY_FIRST_OPERAND];
    }
    return block;
}

tly_gpu_binding tly_gpu_bind(int64_t zero, int64_t low, int64_t end, uint32_t offset_align)
{
    uint64_t unit = offset_align > VECTOR ? offset_align : VECTOR;
    uint64_t first = (uint64_t)zero + (uint64_t)low, last = (uint64_t)zero + (uint64_t)end;
    tly_gpu_binding b = { .offset = first / unit * unit };
    b.range = (last - b.offset + 3) / 4 * 4;
    b.base = (uint64_t)zero - b.offset;
    return b;
}

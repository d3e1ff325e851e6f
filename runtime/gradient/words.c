/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A draft as a step: which tensor is the input, which letters the others get, which dtypes the word
 * has. Dims of the forward word over which a step does not run vanish.
 */
#include "gradient.h"

#include <stdio.h>
#include <string.h>

#include "../descriptor/carry.h"
#include "../descriptor/descriptor.h"
#include "../host/error.h"

/* The bits of `axes` that lie in `dims`, moved together. */
static uint32_t compress(uint32_t axes, uint32_t dims)
{
    uint32_t bits = 0;
    int to = 0;
    for (int d = 0; d < TALLY_MAX_RANK; d++) {
        if (dims >> d & 1) {
            bits |= (axes >> d & 1) << to++;
        }
    }
    return bits;
}

static void compress_numbers(const int64_t from[TALLY_MAX_RANK], uint32_t dims,
                             int64_t to[TALLY_MAX_RANK])
{
    int used = 0;
    for (int d = 0; d < TALLY_MAX_RANK; d++) {
        if (dims >> d & 1) {
            to[used++] = from[d];
        }
    }
}

/* Whether an operator with such outputs makes `out` of `in` while expressions have `type`, and at
 * *stage whether only words with an expression do. */
static int reaches(tly_outputs outputs, int32_t in, tally_dtype type, int32_t out, int *stage)
{
    const int is_float = tly_dtypes[in].wide;
    *stage = !is_float;
    if (!is_float) {
        return out == (int32_t)type && tly_dtype_fits((tally_dtype)in, type);
    }
    if (in == TALLY_F64 && type != TALLY_F64) {
        return 0;
    }
    if (in == out) {
        return 1;
    }
    if (tly_dtype_fits((tally_dtype)in, (tally_dtype)out)) { /* wider */
        return out == TALLY_F32
                   ? outputs != TLY_OUTPUTS_SAME
                   : outputs == TLY_OUTPUTS_WIDER && in == TALLY_F32 && type == TALLY_F64;
    }
    *stage = 1;
    return in == TALLY_F64 || in == TALLY_F32;
}

/* The dtype of the output for an input; 0: none serves. */
static int32_t output_for(const tly_gradient *g, const tly_draft *draft, int32_t in)
{
    const tly_outputs outputs = tly_outputs_of(draft->op);
    const int32_t wanted[] = { draft->dtype, (int32_t)g->type, TALLY_F32, in };
    const int first = draft->dtype == 0, end = draft->dtype == 0 ? 4 : 1;
    int stage;
    for (int i = first; i < end; i++) {
        if (reaches(outputs, in, g->type, wanted[i], &stage)) {
            return wanted[i];
        }
    }
    return 0;
}

/* A word that is not element-wise takes floats, unless it is the forward word or a cumsum, which
 * takes every dtype. */
static int has_dtype_of_input(const tly_gradient *g, const tly_draft *draft, int tensor)
{
    const tly_tensor *t = &g->tensor[tensor];
    const int any = draft->op == TALLY_SUM || draft->op == TALLY_CUMSUM || draft->op == g->full.op;
    return t->dtype != 0 && (any || tly_dtypes[t->dtype].wide) &&
           output_for(g, draft, t->dtype) != 0;
}

/* A tensor that the word uses; else one that gives the shape, which is the forward input if it may
 * be. Operands, which may have any layout, come after other tensors. -1: none serves. */
static int find_input(const tly_gradient *g, const tly_draft *draft, uint64_t used)
{
    const uint64_t operands = ((UINT64_C(1) << TALLY_MAX_OPERANDS) - 1) << TLY_T_A;
    const uint64_t groups[] = { used & ~operands, used & operands, ~(used | operands) };
    for (int i = 0; i < 3; i++) {
        for (int tensor = 0; tensor < g->tensors; tensor++) {
            if (groups[i] >> tensor & 1 && g->tensor[tensor].axes == draft->dims &&
                has_dtype_of_input(g, draft, tensor)) {
                return tensor;
            }
        }
    }
    return -1;
}

/* The order in which tensors get letters: those of the forward word keep their order. Without them
 * the gradient comes first, with them what belongs to the forward word. */
static int list_operands(const tly_gradient *g, uint64_t used, int order[TLY_MOST_TENSORS])
{
    const uint64_t operands = ((UINT64_C(1) << TALLY_MAX_OPERANDS) - 1) << TLY_T_A;
    const uint64_t late = UINT64_C(1) << TLY_T_G | UINT64_C(1) << TLY_T_Y;
    const uint64_t steps = ~(operands | late | UINT64_C(1) << TLY_T_X);
    const uint64_t with[] = { UINT64_C(1) << TLY_T_X, operands, steps, late };
    const uint64_t without[] = { UINT64_C(1) << TLY_T_X, operands, late, steps };
    const uint64_t *groups = used & operands ? with : without;
    int count = 0;
    for (int i = 0; i < 4; i++) {
        for (int tensor = 0; tensor < g->tensors; tensor++) {
            if (used & groups[i] & UINT64_C(1) << tensor) {
                order[count++] = tensor;
            }
        }
    }
    return count;
}

static tally_operand place_of(tly_gradient *g, const tly_tensor *t, uint32_t dims)
{
    tally_operand o = { .dtype = t->dtype };
    if (t->is_strided) {
        o.place = TALLY_PLACE_STRIDES;
        o.offset = t->offset;
        compress_numbers(t->strides, dims, o.strides);
        if (g->is_open) {
            TLY_GIVE_UP(g, TALLY_UNSUPPORTED, "sizes",
                        "the gradient reads a tensor with strides as an operand, which needs every "
                        "size; one is open");
        }
    } else if ((t->axes & dims) != dims) {
        o.place = TALLY_PLACE_AXES;
        o.axes = compress(t->axes, dims);
    }
    return o;
}

static void put_input(const tly_gradient *g, const tly_draft *draft, int in, tally_descriptor *d)
{
    const tly_tensor *t = &g->tensor[in];
    d->dtype = t->dtype;
    d->out_dtype = output_for(g, draft, t->dtype);
    if (t->is_strided) {
        d->flags |= TALLY_IN_STRIDES;
        d->in_offset = t->offset;
        compress_numbers(t->strides, draft->dims, d->in_strides);
    }
}

static void put_shape(const tly_gradient *g, const tly_draft *draft, tally_descriptor *d)
{
    const int is_scan = tly_ops[draft->op].scan;
    const int32_t axis = tly_axis_of(&g->full);
    int64_t sizes[TALLY_MAX_RANK];
    d->op = draft->op;
    d->flags = draft->flags;
    d->acc = g->type == TALLY_F64 ? TALLY_F64 : 0;
    d->order = is_scan || draft->reduced != 0 ? g->full.order : 0;
    d->rank = __builtin_popcount(draft->dims & ~TLY_STATES);
    memcpy(sizes, g->full.sizes, sizeof sizes);
    if (draft->dims & TLY_STATES) {
        sizes[axis] = tly_is_segmented(&g->full) ? tly_segment_count(&g->full, sizes[axis]) : 1;
    }
    compress_numbers(sizes, draft->dims, d->sizes);
    const int is_cut = (draft->reduced & TLY_STATES) != 0;
    d->flags |= is_cut && !tly_is_segmented(&g->full) ? TALLY_KEEPDIMS : 0;
    if (is_scan || is_cut) {
        d->every = g->full.every;
        d->segment_dtype = g->full.segment_dtype;
        d->segments = g->full.segments;
    }
    if (is_scan) {
        d->axis = __builtin_popcount(draft->dims & ((1u << draft->axis) - 1));
        d->carry = draft->carry != 0 ? TALLY_CARRY_IN : 0;
    } else {
        d->axes = compress(draft->reduced, draft->dims);
        d->axes_given = 1;
    }
}

static tly_excess put_expressions(const tly_gradient *g, const tly_draft *draft,
                                  const char letters[TLY_MOST_TENSORS], tally_descriptor *d)
{
    tly_excess excess = tly_tree_write(&g->tree, draft->map, letters, d->map);
    if (excess == TLY_EXCEEDS_NOTHING && draft->op == TALLY_LINREC) {
        excess = tly_tree_write(&g->tree, draft->coef, letters, d->coef);
    }
    if (excess == TLY_EXCEEDS_NOTHING) {
        excess = tly_tree_write(&g->tree, draft->post, letters, d->post);
    }
    if (excess == TLY_EXCEEDS_NOTHING && draft->reset != TLY_NOTHING) {
        excess = tly_tree_write(&g->tree, draft->reset, letters, d->reset);
    }
    /* A conversion that only words with an expression have; it changes no value. */
    int stage = 0;
    (void)reaches(tly_outputs_of(draft->op), d->dtype, g->type, d->out_dtype, &stage);
    if (excess == TLY_EXCEEDS_NOTHING && stage && draft->op != TALLY_MEAN &&
        strcmp(d->map, "x") == 0 && strcmp(d->post, "y") == 0) {
        memcpy(d->map, "x*1", 3);
    }
    return excess;
}

/* The last check, by the rules of all descriptors. */
static tly_excess normalise(tly_gradient *g, const tly_draft *draft, tally_descriptor *d)
{

    tally_descriptor full;
    tally_error error = TALLY_ERROR_INIT;
    if (tly_descriptor_resolve(d, &full, &error) != TALLY_OK) {
        if (strcmp(error.field, "map") == 0 || strcmp(error.field, "coef") == 0 ||
            strcmp(error.field, "post") == 0 || strcmp(error.field, "reset") == 0) {
            return TLY_EXCEEDS_CONSTANTS;
        }
        TLY_GIVE_UP(g, TALLY_UNSUPPORTED, error.field, "a word of the gradient: %s", error.message);
        return TLY_EXCEEDS_NOTHING;
    }
    if (draft->carry != 0 && (int32_t)tly_carry_dtype(&full) != g->tensor[draft->carry].dtype) {
        TLY_GIVE_UP(g, TALLY_UNSUPPORTED, "carry", "no word of the gradient has such states");
    }
    tly_descriptor_shorten(&full);
    *d = full;
    return TLY_EXCEEDS_NOTHING;
}

void tly_draft_mark(const tly_tree *t, const tly_draft *draft, uint8_t *seen)
{
    tly_tree_mark(t, draft->map, seen);
    tly_tree_mark(t, draft->coef, seen);
    tly_tree_mark(t, draft->post, seen);
    tly_tree_mark(t, draft->reset, seen);
}

static uint64_t tensors_of(const tly_gradient *g, const tly_draft *draft)
{
    uint8_t seen[TLY_MOST_NODES] = { 0 };
    tly_draft_mark(&g->tree, draft, seen);
    return tly_tree_tensors(&g->tree, seen);
}

tly_excess tly_draft_fit(tly_gradient *g, const tly_draft *draft, tally_gradient_step *step)
{
    const tally_descriptor none = TALLY_DESCRIPTOR_INIT;
    const uint64_t used = tensors_of(g, draft);
    const int in = find_input(g, draft, used);
    char letters[TLY_MOST_TENSORS] = { 0 };
    int order[TLY_MOST_TENSORS];
    if (in < 0) {
        return TLY_LACKS_INPUT;
    }
    const int count = list_operands(g, used & ~(UINT64_C(1) << in), order);
    if (count > TALLY_MAX_OPERANDS) {
        return TLY_EXCEEDS_OPERANDS;
    }
    memset(step, 0, sizeof *step);
    memcpy(step->name, draft->name, sizeof step->name);
    step->size = sizeof *step;
    step->descriptor = none;
    step->in = g->tensor[in].source;
    step->carry_in = draft->carry != 0 ? g->tensor[draft->carry].source : TALLY_SOURCE_NONE;
    letters[in] = 'x';
    put_shape(g, draft, &step->descriptor);
    put_input(g, draft, in, &step->descriptor);
    for (int i = 0; i < count; i++) {
        letters[order[i]] = (char)('a' + i);
        step->operand[i] = g->tensor[order[i]].source;
        step->descriptor.operands[i] = place_of(g, &g->tensor[order[i]], draft->dims);
    }
    const tly_excess excess = put_expressions(g, draft, letters, &step->descriptor);
    if (excess != TLY_EXCEEDS_NOTHING || g->status != TALLY_OK) {
        return excess;
    }
    return normalise(g, draft, &step->descriptor);
}

int tly_step_add(tly_gradient *g, const tly_draft *draft, const tally_gradient_step *step)
{
    if (g->tensors == TLY_MOST_TENSORS || g->count == TALLY_GRADIENT_MAX) {
        TLY_GIVE_UP(g, TALLY_UNSUPPORTED, tly_field_of(g),
                    "the gradient has more than %d steps, which is the limit", TALLY_GRADIENT_MAX);
        return -1;
    }
    const tally_descriptor *d = &step->descriptor;
    g->tensor[g->tensors] = (tly_tensor){
        .dtype = d->out_dtype != 0 ? d->out_dtype : d->dtype,
        .source = TALLY_SOURCE_STEP + (int32_t)g->count,
        .axes = tly_dims_without(g, draft->dims, draft->reduced),
        .is_inside = d->segment_dtype != 0 && draft->reduced == 0,
    };
    if (g->steps != NULL && g->count < g->capacity) {
        char *to = (char *)g->steps + g->count * g->stride;
        memset(to, 0, g->stride);
        memcpy(to, step, sizeof *step);
        memcpy(to, &g->stride, sizeof g->stride); /* the field `size` */
    }
    g->count++;
    return g->tensors++;
}

tly_draft tly_draft_sum(tly_gradient *g, uint32_t dims, uint32_t reduced, tly_node map,
                        int32_t dtype, const char *name)
{
    tly_draft draft = { .op = TALLY_SUM, .dims = dims, .map = map };
    draft.reduced = reduced & (dims | TLY_STATES);
    draft.post = tly_tree_result(&g->tree);
    draft.dtype = dtype;
    snprintf(draft.name, sizeof draft.name, "%s", name);
    return draft;
}

void tly_name_temporary(tly_gradient *g, char name[16])
{
    snprintf(name, 16, "t%d", ++g->temporaries);
}

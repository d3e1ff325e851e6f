/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tally_gradient. The steps are planned twice: first they are only counted, so that a failure has
 * written nothing, then they are written to the caller's array.
 */
#include "gradient.h"

#include <string.h>

#include "../descriptor/carry.h"
#include "../descriptor/descriptor.h"
#include "../host/error.h"

/* --- what has no gradient --------------------------------------------------------------------- */

/* The dtype of the forward word's states; 0: it has none. */
static int32_t states_dtype(const tally_descriptor *full)
{
    return full->carry != 0 ? (int32_t)tly_carry_dtype(full) : 0;
}

/* The name and the dtype of a tensor of the forward word; 0: it has no such tensor. */
static const char *name_tensor(const tally_descriptor *full, int tensor, int32_t *dtype)
{
    if (tensor == TLY_T_X) {
        *dtype = full->dtype;
        return "dtype";
    }
    if (tensor == TLY_T_CARRY) {
        *dtype = full->carry & TALLY_CARRY_IN ? states_dtype(full) : 0;
        return "carry";
    }
    *dtype = full->operands[tensor - TLY_T_A].dtype;
    return tly_operand_name(tensor - TLY_T_A);
}

static tally_status check_dtypes(const tally_descriptor *full, int wrt, tally_error *error)
{
    int32_t dtype;
    const char *field = name_tensor(full, wrt, &dtype);
    if (tly_tells_index(full->op)) {
        return tly_fail(error, TALLY_INVALID, "op",
                        "results of %s are indices, and have no gradient",
                        tally_op_name((tally_op)full->op));
    }
    if (dtype == 0) {
        return tly_fail(error, TALLY_INVALID, field,
                        wrt == TLY_T_CARRY ? "the word has no %s_in" : "the word has no operand %s",
                        field);
    }
    if (!tly_dtypes[dtype].wide || !tly_dtypes[full->out_dtype].wide) {
        const int is_output = tly_dtypes[dtype].wide;
        return tly_fail(error, TALLY_INVALID, is_output ? "dtype" : field,
                        "%s are %s, and have no gradient", is_output ? "results" : "elements",
                        tly_dtypes[is_output ? full->out_dtype : dtype].name);
    }
    return TALLY_OK;
}

/* Whether reset is computed in a type of its own: no other expression may have such operands. */
static int reset_has_type(const tally_descriptor *full)
{
    int fit = 1;
    for (int i = 0; i < TALLY_MAX_OPERANDS && full->operands[i].dtype != 0; i++) {
        fit &= tly_dtype_fits((tally_dtype)full->operands[i].dtype, tly_expressions_type(full));
    }
    return !fit;
}

static tally_status check_options(const tally_descriptor *full, int wrt, tally_error *error)
{
    if (!tly_has_rule(full->op)) {
        return tly_fail(error, TALLY_UNSUPPORTED, "op", "no rule is known for the gradient of %s",
                        tally_op_name((tally_op)full->op));
    }
    if (reset_has_type(full)) {
        tly_fail(error, TALLY_UNSUPPORTED, "reset",
                 "the gradient has reset in its map, and an operand does not fit %s without loss",
                 tly_dtypes[tly_expressions_type(full)].name);
        tly_error_hint(error, TLY_FLAGS_FIT);
        return TALLY_UNSUPPORTED;
    }
    if (full->op == TALLY_CUMLOGSUMEXP && (wrt == TLY_T_CARRY || (full->carry & TALLY_CARRY_OUT))) {
        return tly_fail(error, TALLY_UNSUPPORTED, "carry",
                        "a state of cumlogsumexp is a pair, and no gradient of %s is made",
                        wrt == TLY_T_CARRY ? "carry_in" : "carry_out");
    }
    return TALLY_OK;
}

/* --- the tensors of the forward word ---------------------------------------------------------- */

/* The output by the dims of the input: a reduced one has stride 0. */
static tly_tensor output_of(const tally_descriptor *full, int32_t source)
{
    const int has_axes = tly_ops[full->op].scan || tly_is_segmented(full);
    const uint32_t reduced = has_axes ? 0 : full->axes;
    tly_tensor t = { .dtype = full->out_dtype, .source = source };
    int from = 0;
    t.axes = tly_all_axes(full->rank) & ~reduced;
    t.axes |= has_axes && !tly_ops[full->op].scan ? TLY_STATES : 0;
    t.is_strided = (full->flags & TALLY_OUT_STRIDES) != 0;
    t.offset = full->out_offset;
    for (int32_t d = 0; d < full->rank; d++) {
        const int is_reduced = reduced >> d & 1;
        t.strides[d] = is_reduced ? 0 : full->out_strides[from];
        from += !is_reduced || (full->flags & TALLY_KEEPDIMS);
    }
    return t;
}

static tly_tensor input_of(const tally_descriptor *full)
{
    tly_tensor t = { .dtype = full->dtype, .source = TALLY_SOURCE_X };
    t.axes = tly_all_axes(full->rank);
    t.is_strided = (full->flags & TALLY_IN_STRIDES) != 0;
    t.offset = full->in_offset;
    memcpy(t.strides, full->in_strides, sizeof t.strides);
    return t;
}

static tly_tensor operand_of(const tally_descriptor *full, int i)
{
    const tally_operand *o = &full->operands[i];
    tly_tensor t = { .dtype = o->dtype, .source = TALLY_SOURCE_A + i };
    t.axes = o->place == TALLY_PLACE_AXES ? o->axes : tly_all_axes(full->rank);
    t.is_strided = o->place == TALLY_PLACE_STRIDES;
    t.offset = o->offset;
    memcpy(t.strides, o->strides, sizeof t.strides);
    return t;
}

static void begin(tly_gradient *g, const tally_descriptor *full, int wrt, tally_error *error)
{
    memset(g->tensor, 0, sizeof g->tensor);
    g->full = *full;
    g->type = tly_expressions_type(full);
    g->wrt = wrt;
    g->is_open = tly_has_open_size(full);
    g->tensor[TLY_T_X] = input_of(full);
    g->tensor[TLY_T_G] = output_of(full, TALLY_SOURCE_G);
    g->tensor[TLY_T_Y] = output_of(full, TALLY_SOURCE_Y);
    for (int i = 0; i < TALLY_MAX_OPERANDS; i++) {
        g->tensor[TLY_T_A + i] = operand_of(full, i);
    }
    for (int t = TLY_T_CARRY; t <= TLY_T_G_CARRY; t++) {
        g->tensor[t] = (tly_tensor){ .dtype = states_dtype(full),
                                     .source = TALLY_SOURCE_CARRY_IN + t - TLY_T_CARRY };
        g->tensor[t].axes = tly_all_axes(full->rank) | TLY_STATES;
    }
    g->tensors = TLY_T_STEPS;
    g->temporaries = 0;
    g->count = 0;
    g->steps = NULL;
    g->error = error;
    g->status = TALLY_OK;
    tly_tree_begin(&g->tree);
}

tally_status tally_gradient(const tally_descriptor *descriptor, tally_source wrt,
                            tally_gradient_step *steps, size_t capacity, size_t *count,
                            tally_error *error)
{
    tally_descriptor full;
    tly_gradient g;
    const int is_operand = wrt >= TALLY_SOURCE_A && (int)wrt < TALLY_SOURCE_A + TALLY_MAX_OPERANDS;
    const int tensor = is_operand                     ? TLY_T_A + (int)wrt - TALLY_SOURCE_A
                       : wrt == TALLY_SOURCE_CARRY_IN ? TLY_T_CARRY
                                                      : TLY_T_X;
    if (wrt != TALLY_SOURCE_X && tensor == TLY_T_X) {
        return tly_fail(error, TALLY_INVALID, "usage", "%d is no tensor of the forward word",
                        (int)wrt);
    }
    if (capacity > 0 && (steps == NULL || steps[0].size < sizeof *steps || steps[0].size > 65536)) {
        tly_fail(error, TALLY_INVALID, "usage", "the array of steps is NULL, or has a wrong size");
        tly_error_hint(error, "set steps[0].size to sizeof(tally_gradient_step)");
        return TALLY_INVALID;
    }
    tally_status s = tly_descriptor_resolve(descriptor, &full, error);
    if (s == TALLY_OK) {
        s = check_dtypes(&full, tensor, error);
    }
    if (s == TALLY_OK) {
        s = check_options(&full, tensor, error);
    }
    for (int writes = 0; writes < 2 && s == TALLY_OK; writes++) {
        begin(&g, &full, tensor, error);
        g.steps = writes ? steps : NULL;
        g.capacity = capacity;
        g.stride = capacity > 0 ? steps[0].size : sizeof *steps;
        tly_gradient_plan(&g);
        s = g.status;
    }
    if (s == TALLY_OK && count != NULL) {
        *count = g.count;
    }
    return s;
}

const char *tally_source_name(tally_source source)
{
    static const char *const names[] = {
        [TALLY_SOURCE_X] = "x",
        [TALLY_SOURCE_G] = "g",
        [TALLY_SOURCE_Y] = "y",
        [TALLY_SOURCE_A] = "a",
        [TALLY_SOURCE_B] = "b",
        [TALLY_SOURCE_C] = "c",
        [TALLY_SOURCE_D] = "d",
        [TALLY_SOURCE_CARRY_IN] = "carry_in",
        [TALLY_SOURCE_G_CARRY] = "gcarry",
        [TALLY_SOURCE_OFFSETS] = "offsets",
    };
    return source > TALLY_SOURCE_NONE && source <= TALLY_SOURCE_OFFSETS ? names[source] : NULL;
}

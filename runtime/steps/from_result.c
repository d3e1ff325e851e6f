/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gradient of a scan from the scan's result. The last step reads what lies before each element,
 * the exclusive scan e. But e[i] is y[i - 1], so where the caller has y no step need compute it. Of
 * the first element e is the identity: that element is a step of its own, which goes on with the
 * states of the step of all others.
 */
#include "steps.h"

#include "../descriptor/descriptor.h"

#include <math.h>
#include <string.h>

enum { NOT_FOUND = -1 };

/* Whether a step is the exclusive scan of a word, and the word's output the inclusive one. If NaN
 * is ignored, they differ where nothing but NaN came before. */
static int is_before(const tally_descriptor *word, const tly_step_facts *step)
{
    const tally_descriptor *full = &step->full;
    return tly_ops[word->op].scan && full->op == word->op && full->axis == word->axis &&
           full->out_dtype == word->out_dtype && (full->flags & TALLY_EXCLUSIVE) &&
           !(word->flags & (TALLY_EXCLUSIVE | TALLY_NAN_IGNORE)) &&
           !(word->carry & TALLY_CARRY_IN) && word->post[0] == 0 && word->reset[0] == 0 &&
           !tly_is_segmented(word);
}

/* The operand that is the result of the first step, if the step reads that nowhere else. */
static int operand_before(const tly_step_facts *step)
{
    int found = NOT_FOUND, count = 0;
    for (int t = 0; t < TLY_STEP_TENSORS; t++) {
        if (step->source[t] == TALLY_SOURCE_STEP) {
            found = t;
            count++;
        }
    }
    return count == 1 && found >= TLY_STEP_A && found < TLY_STEP_OFFSETS ? found : NOT_FOUND;
}

static double identity_of(int32_t op)
{
    switch (op) {
    case TALLY_CUMPROD:
        return 1;
    case TALLY_LINREC:
        return 0;
    case TALLY_CUMMIN:
        return INFINITY;
    case TALLY_CUMMAX:
    case TALLY_CUMLOGSUMEXP:
        return -INFINITY;
    default:
        return NAN;
    }
}

/* Writes the identity in the output's dtype; 0: there is none. */
static int put_identity(const tally_descriptor *word, char identity[sizeof(double)])
{
    const double wide = identity_of(word->op);
    const float narrow = (float)wide;
    if (isnan(wide) || (word->out_dtype != TALLY_F32 && word->out_dtype != TALLY_F64)) {
        return 0;
    }
    if (word->out_dtype == TALLY_F64) {
        memcpy(identity, &wide, sizeof wide);
    } else {
        memcpy(identity, &narrow, sizeof narrow);
    }
    return 1;
}

/* Makes the operand a tensor of these strides. */
static void place(tly_step_facts *step, int operand, int32_t source, const int64_t *strides,
                  int64_t offset)
{
    tally_operand *o = &step->given.operands[operand - TLY_STEP_A];
    step->source[operand] = source;
    o->place = TALLY_PLACE_STRIDES;
    o->axes = 0;
    memcpy(o->strides, strides, sizeof o->strides);
    o->offset = offset;
    step->full.operands[operand - TLY_STEP_A] = *o;
}

/* The part of a step that has `size` elements along the axis, from `first` on. */
static int narrow(tly_step_facts *step, int64_t first, int64_t size)
{
    const int32_t axis = step->full.axis;
    tly_blocks whole = { .rank = step->full.rank };
    int64_t sizes[TALLY_MAX_RANK], strides[TALLY_MAX_RANK];
    memcpy(whole.sizes, step->full.sizes, sizeof whole.sizes);
    memcpy(sizes, whole.sizes, sizeof sizes);
    sizes[axis] = size;
    for (int t = 0; t < TLY_STEP_OFFSETS; t++) {
        if (step->source[t] != TALLY_SOURCE_NONE) {
            tly_step_strides(step, t, strides);
            step->skip[t] = first * strides[axis];
        }
    }
    step->skip_out = first * step->full.out_strides[axis];
    step->given = tly_blocks_descriptor(&whole, sizes, step, 1);
    return tly_descriptor_resolve(&step->given, &step->full, NULL) == TALLY_OK;
}

int tly_steps_from_result(const tally_descriptor *word, const tly_step_facts *steps, size_t count,
                          tly_step_facts made[2], char identity[sizeof(double)])
{
    const tly_step_facts *last = &steps[count - 1];
    const int operand = count == 2 ? operand_before(last) : NOT_FOUND;
    const int32_t axis = word->axis;
    const int64_t nowhere[TALLY_MAX_RANK] = { 0 };
    if (operand == NOT_FOUND || !is_before(word, &steps[0]) || !tly_ops[last->full.op].scan ||
        last->full.axis != axis || last->full.sizes[axis] < 2 ||
        (last->full.flags & TALLY_REVERSE) == (word->flags & TALLY_REVERSE) ||
        !put_identity(word, identity)) {
        return 0;
    }
    const int64_t size = word->sizes[axis];
    const int is_forward = !(word->flags & TALLY_REVERSE);
    made[0] = made[1] = *last;
    made[0].given.carry |= TALLY_CARRY_OUT;
    made[1].given.carry |= TALLY_CARRY_IN;
    made[1].source[TLY_STEP_CARRY] = TALLY_SOURCE_STEP;
    made[0].is_out = made[1].is_out = 1;
    place(&made[0], operand, TALLY_SOURCE_Y, word->out_strides, word->out_offset);
    place(&made[1], operand, TLY_GRADIENT_IDENTITY, nowhere, 0);
    const int are_valid = narrow(&made[0], is_forward, size - 1) &&
                          narrow(&made[1], is_forward ? 0 : size - 1, 1);
    made[0].skip[operand] = is_forward ? 0 : word->out_strides[axis]; /* y, an element before */
    return are_valid;
}

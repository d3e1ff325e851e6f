/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which dims are cut into blocks. A dim can be cut if all steps run over it and none combines
 * elements along it, so that a block reads nothing that another one makes.
 */
#include "steps.h"

#include "../descriptor/carry.h"
#include "../descriptor/descriptor.h"

#include <string.h>

enum { LINE = 64 };

static int is_between(int32_t source)
{
    return source >= TALLY_SOURCE_STEP;
}

/* ---- how tensors lie ---- */

void tly_step_strides(const tly_step_facts *step, int tensor, int64_t *strides)
{
    const tally_descriptor *full = &step->full;
    if (tensor == TLY_STEP_IN) {
        memcpy(strides, full->in_strides, sizeof full->in_strides);
    } else if (tensor == TLY_STEP_CARRY) {
        tly_carry_strides(full, strides);
    } else if (tensor == TLY_STEP_OFFSETS) {
        memset(strides, 0, TALLY_MAX_RANK * sizeof *strides);
    } else {
        (void)tly_operand_strides(full, tensor - TLY_STEP_A, strides); /* it was checked */
    }
}

/* ---- which dims ---- */

/* Results in between are packed over the dims that they have, in a block as in the whole. */
static int reads_packed(const tly_step_facts *step)
{
    int is_packed = !is_between(step->source[TLY_STEP_IN]) ||
                    !(step->given.flags & TALLY_IN_STRIDES);
    for (int i = 0; i < TALLY_MAX_OPERANDS; i++) {
        is_packed &= !is_between(step->source[TLY_STEP_A + i]) ||
                     step->given.operands[i].place != TALLY_PLACE_STRIDES;
    }
    return is_packed;
}

static int step_can_cut(const tly_step_facts *step, const tly_blocks *whole, int32_t d)
{
    const tally_descriptor *full = &step->full;
    const int is_combined = tly_ops[full->op].scan ? full->axis == d : (int)(full->axes >> d & 1);
    return full->rank == whole->rank && full->sizes[d] == whole->sizes[d] && !is_combined &&
           reads_packed(step);
}

static int can_cut(const tly_blocks *blocks, const tly_step_facts *steps, size_t count, int32_t d)
{
    int can = 1;
    for (size_t i = 0; i < count; i++) {
        can &= step_can_cut(&steps[i], blocks, d);
    }
    return can;
}

/* ---- how far ---- */

/* Sizes are those of a descriptor whose elements can be counted. */
int64_t tly_blocks_result_bytes(const tly_blocks *blocks, const tly_step_facts *step)
{
    tally_descriptor block = step->full;
    int64_t shape[TALLY_MAX_RANK], bytes = tly_dtypes[block.out_dtype].bytes;
    for (int32_t d = 0; d < block.rank && block.rank == blocks->rank; d++) {
        block.sizes[d] = blocks->sizes[d] == block.sizes[d] ? blocks->size[d] : block.sizes[d];
    }
    int32_t rank = block.rank;
    if (!step->is_out) {
        rank = tly_result_shape(&block, shape);
    } else if (block.carry & TALLY_CARRY_OUT) {
        bytes = tly_dtypes[tly_carry_dtype(&block)].bytes * tly_carry_parts(&block);
        tly_carry_sizes(&block, shape);
    } else {
        return 0;
    }
    for (int32_t d = 0; d < rank; d++) {
        bytes *= shape[d];
    }
    return bytes / LINE * LINE + (bytes % LINE != 0) * LINE;
}

static int64_t bytes_between(const tly_blocks *blocks, const tly_step_facts *steps, size_t count)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        bytes += tly_blocks_result_bytes(blocks, &steps[i]);
    }
    return bytes;
}

int64_t tly_blocks_count(const tly_blocks *blocks)
{
    int64_t count = 1;
    for (int32_t d = 0; d < blocks->rank; d++) {
        const int64_t size = blocks->size[d];
        count *= size > 0 ? (blocks->sizes[d] - 1) / size + 1 : 1;
    }
    return count;
}

/* Outer dims first, each to one index, until a range of one fits. Inside of the axis nothing is
 * cut: blocks would be narrow columns, which memory serves slowly. The gradient of cumprod, f32 of
 * 4096x4096, axis 0, by 32, 64, 128 and 256 columns 25, 18, 13 and 12 ms, and uncut 10 (Zen 5). By
 * chunks of the axis, whose first states a run forwards finds, it takes 16 and more. */
void tly_blocks_cut(tly_blocks *blocks, const tly_step_facts *steps, size_t count, int64_t most,
                    int64_t parts)
{
    blocks->rank = steps[0].full.rank;
    memcpy(blocks->sizes, steps[0].full.sizes, sizeof blocks->sizes);
    memcpy(blocks->size, blocks->sizes, sizeof blocks->size);
    const int64_t all = bytes_between(blocks, steps, count);
    if (all <= most) {
        return;
    }
    for (int32_t d = 0; d < blocks->rank && can_cut(blocks, steps, count, d); d++) {
        blocks->size[d] = 1;
        const int64_t one = bytes_between(blocks, steps, count);
        if (one <= most) {
            const int64_t fit = one > 0 ? most / one : 1, size = blocks->sizes[d];
            const int64_t ranges = (size - 1) / fit + 1;
            blocks->size[d] = (size - 1) / ranges + 1;
            break;
        }
    }
    if (tly_blocks_count(blocks) < parts) {
        memcpy(blocks->size, blocks->sizes, sizeof blocks->size);
    }
}

tally_descriptor tly_blocks_descriptor(const tly_blocks *blocks, const int64_t *size,
                                       const tly_step_facts *step, int is_last)
{
    tally_descriptor d = step->given;
    for (int32_t i = 0; i < d.rank; i++) {
        d.sizes[i] = blocks->sizes[i] == size[i] ? d.sizes[i] : size[i];
    }
    if (!is_between(step->source[TLY_STEP_IN])) {
        d.flags |= TALLY_IN_STRIDES;
        memcpy(d.in_strides, step->full.in_strides, (size_t)d.rank * sizeof d.in_strides[0]);
    }
    for (int i = 0; i < TALLY_MAX_OPERANDS && d.operands[i].dtype != 0; i++) {
        tally_operand *o = &d.operands[i];
        if (!is_between(step->source[TLY_STEP_A + i])) {
            tly_step_strides(step, TLY_STEP_A + i, o->strides);
            o->place = TALLY_PLACE_STRIDES;
            o->axes = 0;
        }
    }
    if (is_last) {
        int64_t shape[TALLY_MAX_RANK];
        d.flags |= TALLY_OUT_STRIDES;
        memcpy(d.out_strides, step->full.out_strides,
               (size_t)tly_result_shape(&step->full, shape) * sizeof d.out_strides[0]);
    }
    return d;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From sizes and strides to dispatches: pure arithmetic, with no Vulkan in it. What does not fit
 * into one dispatch (groups, 2^31 items, the scratch) is cut in windows of rows and lanes, what is
 * longer than launch.positions in cuts along the axis that hand carries on.
 */
#ifndef TLY_VK_LAUNCH_H
#define TLY_VK_LAUNCH_H

#include "../problem/gpu.h"

#include <tally/status.h>

/* One dispatch; the bases of push.tensor are bytes from element 0 of the caller's tensors, signed,
 * push.scratch is 0. Windows and cuts move the bases of all tensors. Those of operands are in the
 * block, and so is the first index. So it is written anew in front of a step whose bases or index
 * differ from the step before. */
typedef struct tly_gpu_step {
    tly_push push;
    uint32_t x, y; /* workgroups */
    uint32_t pass;
    uint32_t barrier; /* 1: depends on a step before */
    uint32_t zero; /* 1: `zeroed` bytes of the scratch, from `zero_first` on, must be zero before */
    uint32_t block;    /* 1: the block must be written before; it may differ from the one before */
    uint32_t reads;    /* 1: only the input is moved by vectors */
    uint32_t position; /* segments: that of the axis which is the step's first, */
    uint32_t mark;     /* and the number of its mark, */
    uint32_t marked;   /* of so many */
    int64_t operand[TLY_GPU_OPERANDS]; /* bytes from element 0 of an operand to the step's base */
    int64_t first_index;               /* as in the block */
} tly_gpu_step;

typedef struct tly_gpu_steps {
    tly_gpu_step *step;
    size_t count;
    uint64_t scratch_bytes;      /* multiple of 16; 0: none */
    uint64_t zero_first, zeroed; /* multiples of 4 */
    uint64_t has_block;          /* 1: the scratch begins with the block */
    uint32_t states;             /* TLY_GPU_STATES_...: tensors of a carry that the word names */
    tly_gpu_block block;         /* without the bases of operands */
    uint32_t flag_bytes[TLY_GPU_OPERANDS]; /* TLY_GPU_FLAGS_ALIGNED: what an operand's address must
                                              be a multiple of; 0: anything */
    int64_t low[TLY_TENSOR_COUNT], end[TLY_TENSOR_COUNT]; /* bytes from element 0; end is beyond the
                                                             last */
} tly_gpu_steps;

/* TALLY_UNSUPPORTED names the limit that stands against it; TALLY_INTERNAL for a bad launch record.
 * To be freed by tly_gpu_steps_free. */
tally_status tly_gpu_steps_make(const tly_problem *problem, const tly_geometry *geometry,
                                const tly_gpu_plan *plan, const tly_gpu_launch *launch,
                                const tly_caps *caps, tly_gpu_steps *steps, tally_error *error);
void tly_gpu_steps_free(tly_gpu_steps *steps);

/* Where element 0 of each tensor and the scratch are: addresses, or bytes from a binding's start
 * (then perhaps negative). */
typedef struct tly_gpu_bases {
    uint64_t tensor[TLY_TENSOR_COUNT], scratch;
    uint32_t lacking; /* TLY_GPU_STATES_...: tensors of a carry that the word names and the run
                         lacks */
} tly_gpu_bases;

/* The flag of a kernel's tensor t, if it is one of a carry; else 0. */
static inline uint32_t tly_gpu_states_flag(const tly_problem *p, int t)
{
    const int tensor = tly_tensor_of(p, t);
    return tensor == TLY_STATES_IN    ? TLY_GPU_STATES_IN
           : tensor == TLY_STATES_OUT ? TLY_GPU_STATES_OUT
                                      : 0;
}

/* The push constants of a step; and its block, where the steps have one. */
tly_push tly_gpu_step_place(const tly_gpu_steps *steps, size_t step, const tly_gpu_bases *bases);
tly_gpu_block tly_gpu_step_block(const tly_gpu_steps *steps, size_t step,
                                 const tly_gpu_bases *bases);

/* A storage buffer's binding for the bytes [low, end) of a tensor whose element 0 is at `zero` of
 * the buffer: from a multiple of offset_align and 16, to a multiple of 4. */
typedef struct tly_gpu_binding {
    uint64_t offset, range;
    uint64_t base; /* of element 0 from the binding's start, modulo 2^64 */
} tly_gpu_binding;
tly_gpu_binding tly_gpu_bind(int64_t zero, int64_t low, int64_t end, uint32_t offset_align);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of tensors on a Vulkan device, of which each run takes another: what is timed is memory, and
 * no cache that holds what the run before has left there. */
#ifndef TLY_BENCH_GPU_SETS_H
#define TLY_BENCH_GPU_SETS_H

#include <tally/vulkan.h>

/* The tensors of a set; operands follow each other from TLY_SET_OPERAND on. */
enum {
    TLY_SET_IN,
    TLY_SET_OUT,
    TLY_SET_OPERAND,
    TLY_SET_MOST = TLY_SET_OPERAND + TALLY_MAX_OPERANDS +
                   2 /* offsets, then carry_in are the last */
};

/* One buffer for each tensor, in which all sets have theirs side by side; zeros are none. */
typedef struct tly_gpu_sets {
    tally_vulkan_buffer *buffer[TLY_SET_MOST];
    size_t step[TLY_SET_MOST]; /* bytes from a set's tensor to the next one's */
    int tensors;
    int has_offsets, has_carry_in; /* behind the operands */
    size_t states_at; /* carry_out begins so many bytes behind the output's first; 0: none */
    int count, next;
} tly_gpu_sets;

/* As many sets of `tensors` tensors with so many bytes as no GPU's caches hold together; one where
 * that is no room. Input and output get at least `room` bytes each, so that as many can be copied
 * from the one to the other; the number of sets does not depend on `room`. */
tally_status tly_gpu_sets_make(tally_vulkan *vulkan, const size_t *bytes, int tensors, size_t room,
                               tly_gpu_sets *sets, tally_error *error);
void tly_gpu_sets_drop(tly_gpu_sets *sets);

/* Puts the same elements into one tensor of every set. Room beyond `bytes` repeats them. */
tally_status tly_gpu_sets_fill(tally_vulkan *vulkan, const tly_gpu_sets *sets, int tensor,
                               const void *from, size_t bytes, tally_error *error);

/* The tensors of the next set. */
void tly_gpu_sets_turn(tly_gpu_sets *sets, tally_vulkan_buffers *buffers);

#endif

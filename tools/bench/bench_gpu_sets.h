/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of tensors on a Vulkan device, of which each run takes another: what is timed is memory, and
 * no cache that holds what the run before has left there. */
#ifndef TLY_BENCH_GPU_SETS_H
#define TLY_BENCH_GPU_SETS_H

#include <tally/vulkan.h>

/* All inputs side by side in one buffer, all outputs in another; zeros are none. */
typedef struct tly_gpu_sets {
    tally_vulkan_buffer *in, *out;
    size_t in_step, out_step; /* bytes from a set's tensor to the next one's */
    int count, next;
} tly_gpu_sets;

/* As many sets of so many bytes as no GPU's caches hold together; one where that is no room. */
tally_status tly_gpu_sets_make(tally_vulkan *vulkan, size_t in_bytes, size_t out_bytes,
                               tly_gpu_sets *sets, tally_error *error);
void tly_gpu_sets_drop(tly_gpu_sets *sets);

/* Puts the same input into every set. */
tally_status tly_gpu_sets_fill(tally_vulkan *vulkan, const tly_gpu_sets *sets, const void *in,
                               size_t bytes, tally_error *error);

/* The next set. */
void tly_gpu_sets_turn(tly_gpu_sets *sets, tally_vulkan_buffers *buffers);

#endif

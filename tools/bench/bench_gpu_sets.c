/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of tensors; see bench_gpu_sets.h. */
#include "bench_gpu_sets.h"

/* What goes by between two uses of a set. Vulkan does not tell what caches hold; of the GPUs
 * there are, by their makers' words: 50 MB (H100), 72 MB (RTX 4090), 96 MB (RX 7900 XTX), 126 MB
 * (B200), 256 MiB (MI300X). */
#define CACHES ((size_t)256 << 20)

/* A multiple of every minStorageBufferOffsetAlignment, which is at most 256, and of every cache
 * line. */
#define STEP 256

static size_t step_of(size_t bytes)
{
    return (bytes / STEP + 1) * STEP;
}

static tally_status get_buffers(tally_vulkan *vulkan, tly_gpu_sets *sets, tally_error *error)
{
    const size_t count = (size_t)sets->count;
    tally_status status = tally_vulkan_buffer_create(vulkan, count * sets->in_step, &sets->in,
                                                     error);
    return status == TALLY_OK
               ? tally_vulkan_buffer_create(vulkan, count * sets->out_step, &sets->out, error)
               : status;
}

tally_status tly_gpu_sets_make(tally_vulkan *vulkan, size_t in_bytes, size_t out_bytes,
                               tly_gpu_sets *sets, tally_error *error)
{
    *sets = (tly_gpu_sets){ .in_step = step_of(in_bytes), .out_step = step_of(out_bytes) };
    const size_t step = sets->in_step + sets->out_step;
    sets->count = step < CACHES ? (int)(CACHES / step) + 1 : 1;
    tally_status status = get_buffers(vulkan, sets, error);
    if (status == TALLY_OUT_OF_MEMORY && sets->count > 1) {
        tly_gpu_sets_drop(sets);
        sets->count = 1;
        status = get_buffers(vulkan, sets, error);
    }
    return status;
}

void tly_gpu_sets_drop(tly_gpu_sets *sets)
{
    tally_vulkan_buffer_destroy(&sets->in);
    tally_vulkan_buffer_destroy(&sets->out);
}

/* The device doubles what is there: small tensors are some 500,000, each upload a submission. */
tally_status tly_gpu_sets_fill(tally_vulkan *vulkan, const tly_gpu_sets *sets, const void *in,
                               size_t bytes, tally_error *error)
{
    tally_status status = tally_vulkan_buffer_write(sets->in, 0, in, bytes, error);
    tally_vulkan_range from, to;
    double seconds;
    tally_vulkan_buffer_info(sets->in, &from);
    to = from;
    for (int there = 1; there < sets->count && status == TALLY_OK; there *= 2) {
        const int more = there < sets->count - there ? there : sets->count - there;
        to.offset = (uint64_t)there * sets->in_step;
        status = tally_vulkan_time_copy(vulkan, &from, &to, (uint64_t)more * sets->in_step,
                                        &seconds, error);
    }
    return status;
}

void tly_gpu_sets_turn(tly_gpu_sets *sets, tally_vulkan_buffers *buffers)
{
    tally_vulkan_buffer_info(sets->in, &buffers->in);
    tally_vulkan_buffer_info(sets->out, &buffers->out);
    buffers->in.offset = (uint64_t)sets->next * sets->in_step;
    buffers->out.offset = (uint64_t)sets->next * sets->out_step;
    sets->next = (sets->next + 1) % sets->count;
}

/* Timing on a Vulkan device, by its own clock. */
#ifndef TLY_BENCH_GPU_H
#define TLY_BENCH_GPU_H

#include "bench_time.h"

/* What is timed: host memory that holds the input, the sizes of both tensors' buffers, and how many
 * bytes the copies or readings beside it move. */
typedef struct tly_gpu_subject {
    tally_context *context;
    const char *device, *plan; /* plan may be NULL */
    const tally_descriptor *descriptor;
    const void *in;
    size_t in_bytes, out_bytes, bytes;
    tly_moves moves;
} tly_gpu_subject;

/* The kernel and its ceilings, in turns, on device memory. */
tally_status tly_time_gpu(const tly_gpu_subject *subject, tly_time_progress progress,
                          tly_timing *timing, tally_error *error);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Timing on a Vulkan device, by its own clock. */
#ifndef TLY_BENCH_GPU_H
#define TLY_BENCH_GPU_H

#include "bench_time.h"

#include <tally/vulkan.h>

/* A device with the tensors' buffers on it. */
typedef struct tly_bench_gpu tly_bench_gpu;

/* Bytes of the tensors; and of what a copy takes from one buffer to the other, or a read reads. */
typedef struct tly_bench_gpu_sizes {
    size_t in, out, operand[TALLY_MAX_OPERANDS], moved;
    int operands;     /* how many the word has */
    size_t offsets;   /* bytes of segments' offsets; 0: the word has none */
    size_t states_in; /* bytes of carry_in; 0: the word has none */
    size_t states_at; /* where carry_out begins behind the output; 0: likewise */
} tly_bench_gpu_sizes;

/* `device` as a selector. `moves`: copies or reads, which take turns with kernels. */
tally_status tly_bench_gpu_open(tally_context *context, const char *device, tly_moves moves,
                                const tly_bench_gpu_sizes *sizes, tly_bench_gpu **gpu,
                                tally_error *error);
void tly_bench_gpu_close(tly_bench_gpu **gpu);

/* Kernels on it; they go before it does. */
tally_status tly_bench_gpu_make(tly_bench_gpu *gpu, const tally_descriptor *descriptor,
                                const char *plan, tally_vulkan_kernel **kernel, tally_error *error);

/* Inputs that lie there side by side; the one that is timed as often as it takes to fill caches. */
enum { TLY_BENCH_GPU_INPUTS = 2 };

/* Uploads an input: the first, which is timed, or another. */
tally_status tly_bench_gpu_fill(tly_bench_gpu *gpu, int input, const void *in, size_t bytes,
                                tally_error *error);

/* Uploads an operand, sizes.operand[operand] bytes, which goes with every input. */
tally_status tly_bench_gpu_fill_operand(tly_bench_gpu *gpu, int operand, const void *from,
                                        tally_error *error);

/* The offsets of segments. */
tally_status tly_bench_gpu_fill_offsets(tly_bench_gpu *gpu, const void *from, tally_error *error);

/* The states of carry_in. */
tally_status tly_bench_gpu_fill_states(tly_bench_gpu *gpu, const void *from, tally_error *error);

/* One run on an input that is filled and an output of zeros, which `out` gets. */
tally_status tly_bench_gpu_run(tly_bench_gpu *gpu, const tally_vulkan_kernel *kernel, int input,
                               void *out, size_t bytes, tally_error *error);

/* The kernel in turns with the device's own copy and a copy kernel, or with a kernel that only
 * reads; or with `base` where that is not NULL. All of it takes about `seconds`; 0: 2. */
tally_status tly_bench_gpu_time(tly_bench_gpu *gpu, const tally_vulkan_kernel *kernel,
                                const tally_vulkan_kernel *base, double seconds,
                                tly_time_progress progress, tly_timing *timing, tally_error *error);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What units on Vulkan devices share: a device that Tally has opened, with a kernel of the fake
 * generator's and tensors in its buffers.
 */
#ifndef TLY_VULKAN_BENCH_H
#define TLY_VULKAN_BENCH_H

#include <tally/vulkan.h>

#include <stdatomic.h>

#include "../runtime/context/internal.h"

/* 20 rows of 30 ones, unless said otherwise. */
#define TLY_BENCH_WORD "cumsum:f32:20x30:axis=1"
enum { COUNT = 600, BYTES = 4 * COUNT };

typedef struct tly_bench {
    tally_context *context;
    tally_vulkan *v;
    tally_vulkan_kernel *kernel;
    tally_vulkan_buffer *in, *out;
    tally_vulkan_buffers buffers;
} tly_bench;

/* The generator of fake_gpu.h, which one file of a program alone can have, and how many kernels it
 * has made. */
extern const tly_generator *const tly_bench_generator;
extern atomic_int *const tly_bench_made;

/* The device that the environment names, or the first. */
const char *tly_bench_device(void);

tally_vulkan_kernel *tly_bench_kernel_for(tally_vulkan *v, const char *word, const char *plan);
tally_vulkan_kernel *tly_bench_kernel(tally_vulkan *v, const char *plan);

/* Without buffers; then buffers with ones and zeros; then whether there are the sums of ones. */
tly_bench tly_bench_begin(void);
void tly_bench_fill(tly_bench *b);
void tly_bench_judge(tly_bench *b);
void tly_bench_end(tly_bench *b);

#endif

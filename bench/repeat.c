/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock of the C competitors: calls one of them `count` times in a row and returns the seconds
 * of a call, negative where it failed. In C, because a call through Python's ctypes costs a hundred
 * times what a small kernel takes.
 */
#include <limits.h>
#include <stdint.h>
#include <time.h>

#include <tally/kernel.h>

#include "bench_copy.h"

struct loop_shape;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

double repeat_loop(void (*run)(const void *, void *, const struct loop_shape *), const void *in,
                   void *out, const struct loop_shape *shape, int64_t count)
{
    double start = now();
    for (int64_t i = 0; i < count; i++)
        run(in, out, shape);
    return (now() - start) / (double)count;
}

/* `run` is tally_kernel_run_threads. */
double repeat_kernel(tally_status (*run)(const tally_kernel *, const void *, void *, int32_t,
                                         tally_error *),
                     const tally_kernel *kernel, const void *in, void *out, int32_t threads,
                     int64_t count)
{
    double start = now();
    for (int64_t i = 0; i < count; i++) {
        tally_status status = run(kernel, in, out, threads, NULL);
        if (status != TALLY_OK)
            return status;
    }
    return (now() - start) / (double)count;
}

/* `run` is tally_kernel_run_buffers. */
double repeat_buffers(tally_status (*run)(const tally_kernel *, const tally_buffers *,
                                          const tally_run_options *, tally_error *),
                      const tally_kernel *kernel, const tally_buffers *buffers, int32_t threads,
                      int64_t count)
{
    const tally_run_options options = { .size = sizeof options, .threads = threads };
    double start = now();
    for (int64_t i = 0; i < count; i++) {
        tally_status status = run(kernel, buffers, &options, NULL);
        if (status != TALLY_OK)
            return status;
    }
    return (now() - start) / (double)count;
}

/* Of a copy, a read or a move. The copier is awake for this alone: its threads spin. */
double repeat_copy(tly_copier *copier, tly_moves moves, int kind, const void *in, void *out,
                   int64_t bytes, int64_t count)
{
    tly_copier_wake(copier, INT_MAX);
    double start = now();
    for (int64_t i = 0; i < count; i++)
        tly_copier_run(copier, moves, kind, out, in, (size_t)bytes);
    double seconds = (now() - start) / (double)count;
    tly_copier_rest(copier);
    return seconds;
}

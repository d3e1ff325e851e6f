/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a kernel takes on a Vulkan device beside its ceilings there. A scan's are copies of the same
 * bytes: the device's own, and a kernel that moves memory as scans do. A reduction's is a kernel that
 * reads its input and computes next to nothing. Every turn runs each once, and begins with another
 * one.
 */
#include "bench_gpu.h"

#include <stdlib.h>
#include <string.h>

enum { KERNEL, BASE, DEVICE_COPY, YARDSTICK, ROWS, LEAST_RUNS = 5, MOST_RUNS = TLY_MOST_RUNS };

_Static_assert(ROWS - DEVICE_COPY <= TLY_COPY_MOST_KINDS, "a timing has room for every copy");

/* For all runs of all rows; a fast kernel is run so often, a slow one LEAST_RUNS times. */
#define ALL_RUNS_SECONDS 2.0

/* Kernels of u32 that show how fast memory is moved, in whole chunks of so many; of a yardstick's
 * kernels the last that has work for enough workgroups. As many invocations as every device has.
 * lavapipe, 64 MiB: copies 128 ms by 8, 110 by 64, 105 by 128 or 256; vectors of 8 instead of 16 change
 * nothing (Zen 3). Readings 22 ms by chunks of 4,096, 7 to 17 by those of 32,768 (Emerald Rapids). */
static const struct yardstick {
    tly_moves moves;
    tally_op op;
    int64_t least, chunk;
    const char *plan, *name;
} yardsticks[] = {
    { TLY_COPIES, TALLY_CUMSUM, 1024, 1, "template=copy,workgroup=128", "copy kernel" },
    { TLY_READS, TALLY_MAX, 0, 512, "template=read,workgroup=32,vector=16,segments=1",
      "read kernel" },
    { TLY_READS, TALLY_MAX, 1 << 20, 32768,
      "template=read,workgroup=32,vector=16,segments=1,chunk=32768", "read kernel" },
};

struct tly_gpu {
    tally_vulkan *vulkan;
    const struct yardstick *yardstick; /* NULL: so little is nothing to speak of */
    tally_vulkan_kernel *mover;        /* the yardstick's */
    int64_t words;                     /* that it moves */
    tly_moves moves;
    tally_vulkan_buffer *in[TLY_GPU_INPUTS], *out;
    tally_vulkan_buffers buffers; /* with the first input */
    size_t moved, in_bytes, out_bytes;
};

/* --- the device ------------------------------------------------------------------------------ */

tally_status tly_gpu_make(tly_gpu *gpu, const tally_descriptor *descriptor, const char *plan,
                          tally_vulkan_kernel **kernel, tally_error *error)
{
    const tally_kernel_options options = { .size = sizeof options, .plan = plan };
    return tally_vulkan_kernel_create(gpu->vulkan, descriptor, &options, kernel, error);
}

static tally_status make_yardstick(tly_gpu *gpu, tally_error *error)
{
    const int64_t words = (int64_t)(gpu->moved / 4);
    for (size_t i = 0; i < sizeof yardsticks / sizeof *yardsticks; i++) {
        if (yardsticks[i].moves == gpu->moves && words >= yardsticks[i].least) {
            gpu->yardstick = &yardsticks[i];
        }
    }
    if (!gpu->yardstick) {
        return TALLY_OK;
    }
    const int64_t chunk = gpu->yardstick->chunk, chunks = (words + chunk - 1) / chunk;
    tally_descriptor flat = TALLY_DESCRIPTOR_INIT;
    flat.op = gpu->yardstick->op;
    flat.dtype = TALLY_U32;
    flat.rank = 1;
    flat.sizes[0] = gpu->words = (chunks > 0 ? chunks : 1) * chunk;
    return tly_gpu_make(gpu, &flat, gpu->yardstick->plan, &gpu->mover, error);
}

static size_t whole_words(size_t bytes)
{
    return (bytes + 15) / 16 * 16;
}

/* With what a reading takes beyond the tensor. */
static tally_status make_input(tly_gpu *gpu, int input, tally_error *error)
{
    const size_t least = (size_t)gpu->words * 4;
    const size_t bytes = gpu->in_bytes > least ? gpu->in_bytes : least;
    return gpu->in[input] ? TALLY_OK
                          : tally_vulkan_buffer_create(gpu->vulkan, whole_words(bytes),
                                                       &gpu->in[input], error);
}

static tally_status prepare(tly_gpu *gpu, tally_context *context, const char *device,
                            tally_error *error)
{
    tally_status status = tally_vulkan_open(context, device, &gpu->vulkan, error);
    if (status == TALLY_OK) {
        status = make_yardstick(gpu, error);
    }
    if (status == TALLY_OK) {
        status = make_input(gpu, 0, error);
    }
    if (status == TALLY_OK) {
        status = tally_vulkan_buffer_create(gpu->vulkan, whole_words(gpu->out_bytes), &gpu->out,
                                            error);
    }
    if (status == TALLY_OK) {
        gpu->buffers.size = sizeof gpu->buffers;
        tally_vulkan_buffer_info(gpu->in[0], &gpu->buffers.in);
        tally_vulkan_buffer_info(gpu->out, &gpu->buffers.out);
    }
    return status;
}

tally_status tly_gpu_open(tally_context *context, const char *device, size_t in_bytes,
                          size_t out_bytes, tly_moves moves, size_t moved, tly_gpu **gpu,
                          tally_error *error)
{
    tly_gpu *made = calloc(1, sizeof *made);
    if (!made) {
        error->status = TALLY_OUT_OF_MEMORY;
        strcpy(error->field, "memory");
        strcpy(error->message, "no memory for a device");
        return TALLY_OUT_OF_MEMORY;
    }
    made->moves = moves;
    made->moved = moved;
    made->in_bytes = in_bytes;
    made->out_bytes = out_bytes;
    tally_status status = prepare(made, context, device, error);
    if (status != TALLY_OK) {
        tly_gpu_close(&made);
    }
    *gpu = made;
    return status;
}

void tly_gpu_close(tly_gpu **gpu)
{
    if (*gpu) {
        for (int k = 0; k < TLY_GPU_INPUTS; k++) {
            tally_vulkan_buffer_destroy(&(*gpu)->in[k]);
        }
        tally_vulkan_buffer_destroy(&(*gpu)->out);
        tally_vulkan_kernel_destroy(&(*gpu)->mover);
        tally_vulkan_destroy(&(*gpu)->vulkan);
        free(*gpu);
        *gpu = NULL;
    }
}

tally_status tly_gpu_fill(tly_gpu *gpu, int input, const void *in, size_t bytes, tally_error *error)
{
    tally_status status = make_input(gpu, input, error);
    return status == TALLY_OK ? tally_vulkan_buffer_write(gpu->in[input], 0, in, bytes, error)
                              : status;
}

tally_status tly_gpu_run(tly_gpu *gpu, const tally_vulkan_kernel *kernel, int input, void *out,
                         size_t bytes, tally_error *error)
{
    tally_vulkan_buffers buffers = gpu->buffers;
    tally_vulkan_buffer_info(gpu->in[input], &buffers.in);
    memset(out, 0, bytes);
    tally_status status = tally_vulkan_buffer_write(gpu->out, 0, out, bytes, error);
    if (status == TALLY_OK) {
        status = tally_vulkan_submit(kernel, &buffers, NULL, error);
    }
    if (status == TALLY_OK) {
        status = tally_vulkan_wait(gpu->vulkan, error);
    }
    return status == TALLY_OK ? tally_vulkan_buffer_read(gpu->out, 0, out, bytes, error) : status;
}

/* --- timing ---------------------------------------------------------------------------------- */

typedef struct bench {
    const tly_gpu *gpu;
    const tally_vulkan_kernel *kernel[ROWS]; /* NULL: not in this race */
    double all;                              /* seconds of all runs */
    int runs;
    double seconds[ROWS][MOST_RUNS];
    tally_error *error;
} bench;

static tally_status take_one(bench *b, int row, double *seconds)
{
    const tly_gpu *gpu = b->gpu;
    if (row == DEVICE_COPY && gpu->moves == TLY_COPIES && !b->kernel[BASE]) {
        return tally_vulkan_time_copy(gpu->vulkan, &gpu->buffers.in, &gpu->buffers.out, gpu->moved,
                                      seconds, b->error);
    }
    *seconds = 0;
    return b->kernel[row] ? tally_vulkan_time(b->kernel[row], &gpu->buffers, seconds, b->error)
                          : TALLY_OK;
}

static tally_status take_turns(bench *b, tly_time_progress progress)
{
    double turn = 1e-9, seconds;
    tally_status status = TALLY_OK;
    for (int warm = 0; warm < 2; warm++) { /* drivers compile at the first dispatch */
        turn = 1e-9;
        for (int row = 0; row < ROWS && status == TALLY_OK; row++, turn += seconds) {
            status = take_one(b, row, &seconds);
        }
    }
    double wanted = b->all / turn;
    b->runs = wanted > MOST_RUNS ? MOST_RUNS : wanted < LEAST_RUNS ? LEAST_RUNS : (int)wanted;
    for (int run = 0; run < b->runs && status == TALLY_OK; run++) {
        for (int i = 0; i < ROWS && status == TALLY_OK; i++) {
            int row = (run + i) % ROWS;
            status = take_one(b, row, &b->seconds[row][run]);
        }
        if (progress) {
            progress(run + 1, b->runs);
        }
    }
    return status;
}

static void sum_up(bench *b, tly_timing *timing)
{
    *timing = (tly_timing){ .runs = b->runs };
    tly_timing_set(timing, b->seconds[KERNEL], b->kernel[BASE] ? b->seconds[BASE] : NULL);
    if (!b->kernel[BASE] && b->gpu->moves == TLY_COPIES) {
        tly_timing_add(timing, "vkCmdCopyBuffer", b->seconds[DEVICE_COPY]);
    }
    if (b->kernel[YARDSTICK]) {
        tly_timing_add(timing, b->gpu->yardstick->name, b->seconds[YARDSTICK]);
    }
}

tally_status tly_gpu_time(tly_gpu *gpu, const tally_vulkan_kernel *kernel,
                          const tally_vulkan_kernel *base, double seconds,
                          tly_time_progress progress, tly_timing *timing, tally_error *error)
{
    bench b = {
        .gpu = gpu,
        .kernel = { [KERNEL] = kernel, [BASE] = base, [YARDSTICK] = base ? NULL : gpu->mover },
        .all = seconds > 0 ? seconds : ALL_RUNS_SECONDS,
        .error = error
    };
    tally_status status = take_turns(&b, progress);
    if (status == TALLY_OK) {
        sum_up(&b, timing);
    }
    return status;
}

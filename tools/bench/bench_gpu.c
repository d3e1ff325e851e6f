/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a kernel takes on a Vulkan device beside its ceilings there. A scan's are copies of the
 * same bytes: the device's own, and a kernel that moves memory as scans do. A reduction's is a
 * kernel that reads its input and computes next to nothing. A word with operands or expressions
 * has a scan's ceilings: half of the bytes of all its tensors are copied from the place of the
 * input to that of the output. Every turn runs each once, and begins
 * with another one; every run is on other tensors, so that caches hold nothing of it.
 */
#include "bench_gpu.h"

#include "bench_gpu_sets.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { KERNEL, BASE, DEVICE_COPY, YARDSTICK, ROWS, LEAST_RUNS = 5, MOST_RUNS = TLY_MOST_RUNS };

_Static_assert(ROWS - DEVICE_COPY <= TLY_COPY_MOST_KINDS, "a timing has room for every copy");

/* For all runs of all rows; a fast kernel is run so often, a slow one LEAST_RUNS times. */
#define ALL_RUNS_SECONDS 2.0

/* Of that the part in which turns are taken and not counted, so that a GPU that was idle raises its
 * clock: half a second where nothing else is said. An estimate, which no GPU was asked for; beside
 * its times bench/gpu.py writes what the clock was. */
#define WARM_PART .25

/* Kernels of u32 that show how fast memory is moved, in whole chunks of so many; of a
 * yardstick's kernels the last that has work for enough workgroups. As many invocations as every
 * device has. lavapipe, 64 MiB: copies 128 ms by 8, 110 by 64, 105 by 128 or 256; vectors of 8
 * instead of 16 change nothing (Zen 3). Readings 22 ms by chunks of 4,096, 7 to 17 by those of
 * 32,768 (Emerald Rapids). */
static const struct yardstick {
    tly_moves moves;
    const char *word; /* without sizes */
    int64_t least, chunk;
    const char *plan, *name;
} yardsticks[] = {
    { TLY_COPIES, "cumsum:u32:axis=0", 1024, 1, "template=copy,workgroup=128", "copy kernel" },
    { TLY_READS, "max:u32", 0, 512, "template=read,workgroup=32,vector=16,segments=1",
      "read kernel" },
    { TLY_READS, "max:u32", 1 << 20, 32768,
      "template=read,workgroup=32,vector=16,segments=1,chunk=32768", "read kernel" },
};

struct tly_bench_gpu {
    tally_vulkan *vulkan;
    const struct yardstick *yardstick; /* NULL: so little is nothing to speak of */
    tally_vulkan_kernel *mover;        /* the yardstick's */
    int64_t words;                     /* that it moves */
    tly_moves moves;
    tly_gpu_sets sets;            /* with the first input, which is timed */
    tally_vulkan_buffer *other;   /* the other input, where there is one */
    tally_vulkan_buffers buffers; /* those of the next run */
    tly_bench_gpu_sizes sizes;
};

/* --- the device ------------------------------------------------------------------------------ */

tally_status tly_bench_gpu_make(tly_bench_gpu *gpu, const tally_descriptor *descriptor,
                                const char *plan, tally_vulkan_kernel **kernel, tally_error *error)
{
    const tally_kernel_options options = { .size = sizeof options, .plan = plan };
    return tally_vulkan_kernel_create(gpu->vulkan, descriptor, &options, kernel, error);
}

static tally_status make_yardstick(tly_bench_gpu *gpu, tally_error *error)
{
    const int64_t words = (int64_t)(gpu->sizes.moved / 4);
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
    char word[TALLY_WORD_MAX];
    gpu->words = (chunks > 0 ? chunks : 1) * chunk;
    tally_status status = tally_word_complete(gpu->yardstick->word, NULL, 1, &gpu->words, word,
                                              sizeof word, NULL, NULL, error);
    if (status == TALLY_OK) {
        status = tally_descriptor_parse(word, &flat, error);
    }
    return status == TALLY_OK
               ? tly_bench_gpu_make(gpu, &flat, gpu->yardstick->plan, &gpu->mover, error)
               : status;
}

/* With what a reading takes beyond the tensor. */
static size_t input_bytes(const tly_bench_gpu *gpu)
{
    const size_t least = (size_t)gpu->words * 4;
    return gpu->sizes.in > least ? gpu->sizes.in : least;
}

/* A copy takes bytes from the place of the input to that of the output, a reading only reads. */
static tally_status make_sets(tly_bench_gpu *gpu, tally_error *error)
{
    const tly_bench_gpu_sizes *sizes = &gpu->sizes;
    const size_t room = gpu->moves == TLY_COPIES ? sizes->moved : 0;
    size_t bytes[TLY_SET_MOST] = { [TLY_SET_IN] = input_bytes(gpu), [TLY_SET_OUT] = sizes->out };
    const int has_carry_in = sizes->states_in > 0, has_offsets = sizes->offsets > 0;
    const int operands_end = TLY_SET_OPERAND + sizes->operands;
    const int tensors = operands_end + has_offsets + has_carry_in;
    memcpy(bytes + TLY_SET_OPERAND, sizes->operand, sizeof sizes->operand);
    if (has_offsets) {
        bytes[operands_end] = sizes->offsets;
    }
    if (has_carry_in) {
        bytes[tensors - 1] = sizes->states_in;
    }
    const tally_status status = tly_gpu_sets_make(gpu->vulkan, bytes, tensors, room, &gpu->sets,
                                                  error);
    gpu->sets.has_offsets = has_offsets;
    gpu->sets.has_carry_in = has_carry_in;
    gpu->sets.states_at = sizes->states_at;
    return status;
}

static tally_status prepare(tly_bench_gpu *gpu, tally_context *context, const char *device,
                            tally_error *error)
{
    tally_status status = tally_vulkan_open(context, device, &gpu->vulkan, error);
    if (status == TALLY_OK) {
        status = make_yardstick(gpu, error);
    }
    if (status == TALLY_OK) {
        status = make_sets(gpu, error);
    }
    if (status == TALLY_OK) {
        gpu->buffers.size = sizeof gpu->buffers;
        tly_gpu_sets_turn(&gpu->sets, &gpu->buffers);
    }
    return status;
}

tally_status tly_bench_gpu_open(tally_context *context, const char *device, tly_moves moves,
                                const tly_bench_gpu_sizes *sizes, tly_bench_gpu **gpu,
                                tally_error *error)
{
    tly_bench_gpu *made = calloc(1, sizeof *made);
    if (!made) {
        error->status = TALLY_OUT_OF_MEMORY;
        strcpy(error->field, "memory");
        strcpy(error->message, "no memory for a device");
        return TALLY_OUT_OF_MEMORY;
    }
    made->moves = moves;
    made->sizes = *sizes;
    tally_status status = prepare(made, context, device, error);
    if (status != TALLY_OK) {
        tly_bench_gpu_close(&made);
    }
    *gpu = made;
    return status;
}

void tly_bench_gpu_close(tly_bench_gpu **gpu)
{
    if (*gpu) {
        tally_vulkan_buffer_destroy(&(*gpu)->other);
        tly_gpu_sets_drop(&(*gpu)->sets);
        tally_vulkan_kernel_destroy(&(*gpu)->mover);
        tally_vulkan_destroy(&(*gpu)->vulkan);
        free(*gpu);
        *gpu = NULL;
    }
}

tally_status tly_bench_gpu_fill(tly_bench_gpu *gpu, int input, const void *in, size_t bytes,
                                tally_error *error)
{
    if (input == 0) {
        return tly_gpu_sets_fill(gpu->vulkan, &gpu->sets, TLY_SET_IN, in, bytes, error);
    }
    tally_status status = gpu->other ? TALLY_OK
                                     : tally_vulkan_buffer_create(gpu->vulkan, input_bytes(gpu),
                                                                  &gpu->other, error);
    return status == TALLY_OK ? tally_vulkan_buffer_write(gpu->other, 0, in, bytes, error) : status;
}

tally_status tly_bench_gpu_fill_operand(tly_bench_gpu *gpu, int operand, const void *from,
                                        tally_error *error)
{
    return tly_gpu_sets_fill(gpu->vulkan, &gpu->sets, TLY_SET_OPERAND + operand, from,
                             gpu->sizes.operand[operand], error);
}

tally_status tly_bench_gpu_fill_offsets(tly_bench_gpu *gpu, const void *from, tally_error *error)
{
    return tly_gpu_sets_fill(gpu->vulkan, &gpu->sets, TLY_SET_OPERAND + gpu->sizes.operands, from,
                             gpu->sizes.offsets, error);
}

tally_status tly_bench_gpu_fill_states(tly_bench_gpu *gpu, const void *from, tally_error *error)
{
    return tly_gpu_sets_fill(gpu->vulkan, &gpu->sets, gpu->sets.tensors - 1, from,
                             gpu->sizes.states_in, error);
}

tally_status tly_bench_gpu_run(tly_bench_gpu *gpu, const tally_vulkan_kernel *kernel, int input,
                               void *out, size_t bytes, tally_error *error)
{
    tally_vulkan_buffers buffers = { .size = sizeof buffers };
    tally_vulkan_buffer *const *buffer = gpu->sets.buffer, *to = buffer[TLY_SET_OUT];
    tally_vulkan_buffer_info(input == 0 ? buffer[TLY_SET_IN] : gpu->other, &buffers.in);
    tally_vulkan_buffer_info(to, &buffers.out);
    for (int i = 0; i < gpu->sizes.operands; i++) {
        tally_vulkan_buffer_info(buffer[TLY_SET_OPERAND + i], &buffers.operand[i]);
    }
    if (gpu->sizes.offsets > 0) {
        tally_vulkan_buffer_info(buffer[TLY_SET_OPERAND + gpu->sizes.operands], &buffers.offsets);
    }
    if (gpu->sizes.states_in > 0) {
        tally_vulkan_buffer_info(buffer[gpu->sets.tensors - 1], &buffers.carry_in);
    }
    if (gpu->sizes.states_at > 0) {
        buffers.carry_out = buffers.out;
        buffers.carry_out.offset += gpu->sizes.states_at;
    }
    memset(out, 0, bytes);
    tally_status status = tally_vulkan_buffer_write(to, 0, out, bytes, error);
    if (status == TALLY_OK) {
        status = tally_vulkan_submit(kernel, &buffers, NULL, error);
    }
    if (status == TALLY_OK) {
        status = tally_vulkan_wait(gpu->vulkan, error);
    }
    return status == TALLY_OK ? tally_vulkan_buffer_read(to, 0, out, bytes, error) : status;
}

/* --- timing ---------------------------------------------------------------------------------- */

typedef struct bench {
    tly_bench_gpu *gpu;
    const tally_vulkan_kernel *kernel[ROWS]; /* NULL: not in this race */
    double all;                              /* seconds of all runs */
    int runs;
    double seconds[ROWS][MOST_RUNS];
    tally_error *error;
} bench;

static tally_status take_one(bench *b, int row, double *seconds)
{
    tly_bench_gpu *gpu = b->gpu;
    tly_gpu_sets_turn(&gpu->sets, &gpu->buffers);
    if (row == DEVICE_COPY && gpu->moves == TLY_COPIES && !b->kernel[BASE]) {
        return tally_vulkan_time_copy(gpu->vulkan, &gpu->buffers.in, &gpu->buffers.out,
                                      gpu->sizes.moved, seconds, b->error);
    }
    *seconds = 0;
    return b->kernel[row] ? tally_vulkan_time(b->kernel[row], &gpu->buffers, seconds, b->error)
                          : TALLY_OK;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Turns until the device is warm, at least two, since drivers compile at the first dispatch;
 * `turn`: seconds of the last one. */
static tally_status warm_up(bench *b, double *turn)
{
    const double end = now() + WARM_PART * b->all;
    tally_status status = TALLY_OK;
    for (int k = 0; status == TALLY_OK && (k < 2 || now() < end); k++) {
        double seconds = 0;
        *turn = 1e-9;
        for (int row = 0; row < ROWS && status == TALLY_OK; row++, *turn += seconds) {
            status = take_one(b, row, &seconds);
        }
    }
    return status;
}

static tally_status take_turns(bench *b, tly_time_progress progress)
{
    double turn;
    tally_status status = warm_up(b, &turn);
    double wanted = status == TALLY_OK ? (1 - WARM_PART) * b->all / turn : 0;
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
    *timing = (tly_timing){ .runs = b->runs, .sets = b->gpu->sets.count };
    tly_timing_set(timing, b->seconds[KERNEL], b->kernel[BASE] ? b->seconds[BASE] : NULL);
    if (!b->kernel[BASE] && b->gpu->moves == TLY_COPIES) {
        tly_timing_add(timing, "vkCmdCopyBuffer", 0, b->seconds[DEVICE_COPY]);
    }
    if (b->kernel[YARDSTICK]) {
        tly_timing_add(timing, b->gpu->yardstick->name, 0, b->seconds[YARDSTICK]);
    }
}

tally_status tly_bench_gpu_time(tly_bench_gpu *gpu, const tally_vulkan_kernel *kernel,
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

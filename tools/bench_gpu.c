/*
 * How long a kernel takes on a Vulkan device beside copies of the same bytes there: the device's
 * own copy, and a copy kernel that moves memory as scans do. Every turn runs each once, and begins
 * with another one.
 */
#include "bench_gpu.h"

#include <tally/vulkan.h>

#include <string.h>

enum { KERNEL, DEVICE_COPY, COPY_KERNEL, ROWS, LEAST_RUNS = 5, MOST_RUNS = 101 };

_Static_assert(ROWS - 1 <= TLY_COPY_MOST_KINDS, "a timing has room for every copy");

/* For all runs of all rows; a fast kernel is run so often, a slow one LEAST_RUNS times. */
#define ALL_RUNS_SECONDS 2.0

/* As many invocations as every device has. lavapipe, 64 MiB: 128 ms by 8, 110 by 64, 105 by 128 or
 * 256; vectors of 8 instead of 16 change nothing. */
#define COPY_PLAN "template=copy,workgroup=128"

static const char *const copy_names[ROWS] = {
    [DEVICE_COPY] = "vkCmdCopyBuffer",
    [COPY_KERNEL] = "copy kernel",
};

typedef struct bench {
    const tly_gpu_subject *subject;
    tally_vulkan *vulkan;
    tally_vulkan_kernel *kernel[ROWS]; /* KERNEL and COPY_KERNEL */
    tally_vulkan_buffer *in, *out;
    tally_vulkan_buffers buffers;
    int runs;
    double seconds[ROWS][MOST_RUNS];
    tally_error *error;
} bench;

static tally_status make_kernels(bench *b)
{
    const tly_gpu_subject *s = b->subject;
    tally_kernel_options options = { .size = sizeof options, .plan = s->plan };
    tally_status status = tally_vulkan_kernel_create(b->vulkan, s->descriptor, &options,
                                                     &b->kernel[KERNEL], b->error);
    tally_descriptor flat = TALLY_DESCRIPTOR_INIT;
    flat.op = TALLY_CUMSUM;
    flat.dtype = TALLY_U32;
    flat.rank = 1;
    flat.sizes[0] = (int64_t)(s->copy_bytes / 4);
    options.plan = COPY_PLAN;
    if (status == TALLY_OK && flat.sizes[0] >= 1024) { /* less is no copy to speak of */
        status = tally_vulkan_kernel_create(b->vulkan, &flat, &options, &b->kernel[COPY_KERNEL],
                                            b->error);
    }
    return status;
}

static size_t whole_words(size_t bytes)
{
    return (bytes + 15) / 16 * 16;
}

static tally_status prepare(bench *b)
{
    const tly_gpu_subject *s = b->subject;
    tally_status status = tally_vulkan_open(s->context, s->device, &b->vulkan, b->error);
    if (status == TALLY_OK) {
        status = make_kernels(b);
    }
    if (status == TALLY_OK) {
        status = tally_vulkan_buffer_create(b->vulkan, whole_words(s->in_bytes), &b->in, b->error);
    }
    if (status == TALLY_OK) {
        status = tally_vulkan_buffer_create(b->vulkan, whole_words(s->out_bytes), &b->out,
                                            b->error);
    }
    if (status == TALLY_OK) {
        status = tally_vulkan_buffer_write(b->in, 0, s->in, s->in_bytes, b->error);
    }
    if (status == TALLY_OK) {
        b->buffers.size = sizeof b->buffers;
        tally_vulkan_buffer_info(b->in, &b->buffers.in);
        tally_vulkan_buffer_info(b->out, &b->buffers.out);
    }
    return status;
}

static tally_status take_one(bench *b, int row, double *seconds)
{
    if (row == DEVICE_COPY) {
        return tally_vulkan_time_copy(b->vulkan, &b->buffers.in, &b->buffers.out,
                                      b->subject->copy_bytes, seconds, b->error);
    }
    *seconds = 0;
    return b->kernel[row] ? tally_vulkan_time(b->kernel[row], &b->buffers, seconds, b->error)
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
    double wanted = ALL_RUNS_SECONDS / turn;
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
    timing->kernel = tly_spread_of(b->seconds[KERNEL], b->runs);
    for (int row = DEVICE_COPY; row < ROWS; row++) {
        if (row == DEVICE_COPY || b->kernel[row]) {
            tly_timing_add(timing, copy_names[row], b->seconds[row]);
        }
    }
}

tally_status tly_time_gpu(const tly_gpu_subject *subject, tly_time_progress progress,
                          tly_timing *timing, tally_error *error)
{
    bench b = { .subject = subject, .error = error };
    tally_status status = prepare(&b);
    if (status == TALLY_OK) {
        status = take_turns(&b, progress);
    }
    if (status == TALLY_OK) {
        sum_up(&b, timing);
    }
    tally_vulkan_buffer_destroy(&b.in);
    tally_vulkan_buffer_destroy(&b.out);
    tally_vulkan_kernel_destroy(&b.kernel[KERNEL]);
    tally_vulkan_kernel_destroy(&b.kernel[COPY_KERNEL]);
    tally_vulkan_destroy(&b.vulkan);
    return status;
}

/*
 * How long a kernel takes on a Vulkan device beside its ceilings there. A scan's are copies of the same
 * bytes: the device's own, and a kernel that moves memory as scans do. A reduction's is a kernel that
 * reads its input and computes next to nothing. Every turn runs each once, and begins with another
 * one.
 */
#include "bench_gpu.h"

#include <tally/vulkan.h>

#include <string.h>

enum { KERNEL, DEVICE_COPY, YARDSTICK, ROWS, LEAST_RUNS = 5, MOST_RUNS = 101 };

_Static_assert(ROWS - 1 <= TLY_COPY_MOST_KINDS, "a timing has room for every copy");

/* For all runs of all rows; a fast kernel is run so often, a slow one LEAST_RUNS times. */
#define ALL_RUNS_SECONDS 2.0

/* Kernels of u32 that show how fast memory is moved, in whole chunks of so many; of a yardstick's
 * kernels the last that has work for enough workgroups. As many invocations as every device has.
 * lavapipe, 64 MiB: copies 128 ms by 8, 110 by 64, 105 by 128 or 256; vectors of 8 instead of 16 change
 * nothing (Zen 3). Readings 22 ms by chunks of 4,096 and READ_LONG by those of 32,768 (Emerald Rapids). */
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

/* NULL: so little is nothing to speak of. */
static const struct yardstick *yardstick_of(const tly_gpu_subject *s)
{
    const struct yardstick *found = NULL;
    for (size_t i = 0; i < sizeof yardsticks / sizeof *yardsticks; i++) {
        if (yardsticks[i].moves == s->moves && (int64_t)(s->bytes / 4) >= yardsticks[i].least) {
            found = &yardsticks[i];
        }
    }
    return found;
}

typedef struct bench {
    const tly_gpu_subject *subject;
    tally_vulkan *vulkan;
    tally_vulkan_kernel *kernel[ROWS]; /* KERNEL and YARDSTICK */
    int64_t words;                     /* that the yardstick moves */
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
    const struct yardstick *y = yardstick_of(s);
    if (status == TALLY_OK && y != NULL) {
        tally_descriptor flat = TALLY_DESCRIPTOR_INIT;
        const int64_t chunks = ((int64_t)(s->bytes / 4) + y->chunk - 1) / y->chunk;
        b->words = (chunks > 0 ? chunks : 1) * y->chunk;
        flat.op = y->op;
        flat.dtype = TALLY_U32;
        flat.rank = 1;
        flat.sizes[0] = b->words;
        options.plan = y->plan;
        status = tally_vulkan_kernel_create(b->vulkan, &flat, &options, &b->kernel[YARDSTICK],
                                            b->error);
    }
    return status;
}

/* For a tensor, and for what a reading takes beyond it. */
static size_t room_for(size_t bytes, int64_t words)
{
    const size_t least = (size_t)words * 4;
    return ((bytes > least ? bytes : least) + 15) / 16 * 16;
}

static tally_status prepare(bench *b)
{
    const tly_gpu_subject *s = b->subject;
    tally_status status = tally_vulkan_open(s->context, s->device, &b->vulkan, b->error);
    if (status == TALLY_OK) {
        status = make_kernels(b);
    }
    if (status == TALLY_OK) {
        status = tally_vulkan_buffer_create(b->vulkan, room_for(s->in_bytes, b->words), &b->in,
                                            b->error);
    }
    if (status == TALLY_OK) {
        status = tally_vulkan_buffer_create(b->vulkan, room_for(s->out_bytes, 0), &b->out,
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
    *seconds = 0;
    if (row == DEVICE_COPY && b->subject->moves == TLY_COPIES) {
        return tally_vulkan_time_copy(b->vulkan, &b->buffers.in, &b->buffers.out, b->subject->bytes,
                                      seconds, b->error);
    }
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
    if (b->subject->moves == TLY_COPIES) {
        tly_timing_add(timing, "vkCmdCopyBuffer", b->seconds[DEVICE_COPY]);
    }
    if (b->kernel[YARDSTICK]) {
        tly_timing_add(timing, yardstick_of(b->subject)->name, b->seconds[YARDSTICK]);
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
    tally_vulkan_kernel_destroy(&b.kernel[YARDSTICK]);
    tally_vulkan_destroy(&b.vulkan);
    return status;
}

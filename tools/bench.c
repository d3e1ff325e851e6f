/*
 * tally bench: how long a kernel takes, and what part of the copy's speed that is. The tensor is
 * filled so that nothing over- or underflows; bytes are each logical element read and written
 * once, and a copy moves the same.
 */
#include "bench_gpu.h"
#include "subject.h"

#include <sched.h>
#include <string.h>
#include <unistd.h>

typedef struct bench {
    tly_subject subject;
    char selector[32];
    const char *plan; /* may be NULL */
    int32_t threads;
    tally_context *context;
    tally_kernel *kernel;
    char *in, *out;
    size_t in_bytes, out_bytes; /* of the buffers */
    size_t copy_bytes;
    tly_timing timing;
} bench;

/* A number that looks random and depends on `index` alone. */
static uint64_t scramble(uint64_t index)
{
    uint64_t x = (index + 1) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return x ^ x >> 32;
}

/* The bits of an f32 of at most 8 significant bits and an exponent that f16 has, in any floating
 * dtype: no rounding is needed. */
static uint64_t float_bits(tally_dtype dtype, float value)
{
    uint32_t bits;
    uint64_t wide;
    double exact = value;
    memcpy(&bits, &value, sizeof bits);
    memcpy(&wide, &exact, sizeof wide);
    switch (dtype) {
    case TALLY_F64:
        return wide;
    case TALLY_BF16:
        return bits >> 16;
    case TALLY_F16:
        return bits << 1 ? (bits >> 16 & 0x8000) | ((bits >> 13 & 0x3ffff) - (112 << 10)) : 0;
    default:
        return bits;
    }
}

/* Products: g(k + step) / g(k) for powers of two g, step being the stride along the axis. Along
 * the axis these telescope, so no product of any stretch leaves [2^-6, 2^6]. */
static uint64_t product_bits(tally_dtype dtype, int64_t index, int64_t step)
{
    uint64_t here = scramble((uint64_t)index), next = scramble((uint64_t)(index + step));
    uint32_t exponent = (uint32_t)(127 + next % 7 - here % 7), sign = (uint32_t)(here >> 63);
    uint32_t bits = sign << 31 | exponent << 23;
    float factor;
    memcpy(&factor, &bits, sizeof factor);
    return float_bits(dtype, factor);
}

/* One element: odd for integers, whose products then never end at zero. */
static uint64_t element_bits(const tly_subject *s, int64_t index)
{
    const tally_descriptor *d = &s->descriptor;
    tally_dtype dtype = (tally_dtype)d->dtype;
    if (dtype > TALLY_BF16) {
        return scramble((uint64_t)index) | 1;
    }
    if (d->op == TALLY_CUMPROD) {
        return product_bits(dtype, index, s->in.strides[d->axis]);
    }
    return float_bits(dtype, (float)((int)(scramble((uint64_t)index) % 255) - 127) / 128);
}

static void fill(bench *b)
{
    size_t element = b->subject.in.element;
    int64_t count = (int64_t)(b->in_bytes / element);
    tly_progress("filling", (uint64_t)count);
    for (int64_t k = 0; k < count; k++) {
        uint64_t bits = element_bits(&b->subject, k);
        memcpy(b->in + (size_t)k * element, &bits, element);
        tly_progress_at((uint64_t)k);
    }
    memset(b->out, 0, b->out_bytes);
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Both buffers hold the tensor and, where that is less, the copy's share. */
static int get_buffers(bench *b, tly_report *report)
{
    const tly_subject *s = &b->subject;
    size_t bytes = (size_t)s->count * (s->in.element + s->out.element);
    b->copy_bytes = bytes / 2;
    b->in_bytes = larger((size_t)(s->in.high + 1) * s->in.element, b->copy_bytes);
    b->out_bytes = larger((size_t)(s->out.high + 1) * s->out.element, b->copy_bytes);
    b->in = tly_memory_get(b->in_bytes);
    b->out = tly_memory_get(b->out_bytes);
    if (!b->in || !b->out) {
        return tly_refuse(report, EXIT_MEMORY, "sizes",
                          "no memory for tensors of %zu and %zu bytes", b->in_bytes,
                          b->out_bytes);
    }
    return EXIT_DONE;
}

static void show_progress(int done, int runs)
{
    if (done == 1) {
        tly_progress("measuring", (uint64_t)runs);
    }
    tly_progress_at((uint64_t)done);
}

static void print_json_times(const char *name, const tly_spread *seconds)
{
    printf("\"%s\": {\"min\": %.9g, \"median\": %.9g, \"max\": %.9g}, ", name, seconds->min,
           seconds->median, seconds->max);
}

static double ratio(const bench *b)
{
    return b->timing.copy.seconds.median / b->timing.kernel.median;
}

static void print_json(const bench *b)
{
    fputs("{\"word\": ", stdout);
    tly_json_string(stdout, b->subject.word);
    fputs(", \"device\": ", stdout);
    tly_json_string(stdout, b->selector);
    printf(", \"threads\": %d, \"runs\": %d, \"bytes\": %zu, ", (int)b->threads, b->timing.runs,
           2 * b->copy_bytes);
    print_json_times("seconds", &b->timing.kernel);
    print_json_times("copy_seconds", &b->timing.copy.seconds);
    fputs("\"copies\": {", stdout);
    for (int k = 0; k < b->timing.copies; k++) {
        const tly_timed_copy *copy = &b->timing.each[k];
        fputs(k > 0 ? ", " : "", stdout);
        tly_json_string(stdout, copy->name);
        printf(": %.9g", copy->seconds.median);
    }
    fputs("}, \"copy\": ", stdout);
    tly_json_string(stdout, b->timing.copy.name);
    printf(", \"ratio\": %.4f}\n", ratio(b));
}

static void print_times(const bench *b, const char *name, const tly_spread *seconds)
{
    const tly_unit *unit = tly_unit_for(seconds->median);
    printf("%-7s %8.3f %s (min %.3f, max %.3f), %.1f GB/s", name, seconds->median * unit->scale,
           unit->name, seconds->min * unit->scale, seconds->max * unit->scale,
           2e-9 * (double)b->copy_bytes / seconds->median);
}

static void print_text(const bench *b)
{
    printf("%s on %s, %d thread%s, %zu bytes moved, median of %d runs\n", b->subject.word,
           b->selector, (int)b->threads, b->threads == 1 ? "" : "s", 2 * b->copy_bytes,
           b->timing.runs);
    print_times(b, "kernel", &b->timing.kernel);
    putchar('\n');
    for (int k = 0; k < b->timing.copies; k++) {
        print_times(b, "copy", &b->timing.each[k].seconds);
        printf(", %s\n", b->timing.each[k].name);
    }
    printf("ratio   %8.3f of the speed of %s\n", ratio(b), b->timing.copy.name);
}

static int on_gpu(const bench *b)
{
#ifdef TALLY_VULKAN
    return strncmp(b->selector, "vulkan", 6) == 0;
#else
    (void)b; /* making the kernel tells what is missing */
    return 0;
#endif
}

static int32_t count_cpus(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set)
                                                         : (int32_t)sysconf(_SC_NPROCESSORS_ONLN);
}

static int prepare(bench *b, const tly_options *options, tly_report *report)
{
    tally_error error = TALLY_ERROR_INIT;
    tally_context_options context = { .size = sizeof context };
    tally_kernel_options kernel = { .size = sizeof kernel, .device = b->selector,
                                    .plan = b->plan };
    int status = tly_subject_make(options->arg[0], NULL, NULL, &b->subject, report);
    if (!status) {
        status = tly_device_find(options->device, b->selector, report);
    }
    if (status) {
        return status;
    }
    b->threads = options->threads ? options->threads : count_cpus();
    context.threads = b->threads;
    if (tally_context_create(&context, &b->context, &error) != TALLY_OK ||
        (!on_gpu(b) && tally_kernel_create(b->context, &b->subject.descriptor, &kernel, &b->kernel,
                                           &error) != TALLY_OK)) {
        return tly_adopt(report, &error);
    }
    return get_buffers(b, report);
}

static int measure(bench *b, tly_report *report)
{
    tally_error error = TALLY_ERROR_INIT;
    fill(b);
    tly_progress("measuring", 0);
#ifdef TALLY_VULKAN
    const tly_gpu_subject gpu = { b->context, b->selector, b->plan, &b->subject.descriptor, b->in,
                                  b->in_bytes, b->out_bytes, b->copy_bytes };
    if (on_gpu(b)) {
        return tly_time_gpu(&gpu, show_progress, &b->timing, &error) == TALLY_OK
                   ? EXIT_DONE : tly_adopt(report, &error);
    }
#endif
    if (tly_time(b->kernel, b->in, b->out, b->copy_bytes, b->threads, show_progress, &b->timing,
                 &error) != TALLY_OK) {
        return tly_adopt(report, &error);
    }
    return EXIT_DONE;
}

int tly_verb_bench(const tly_options *options, tly_report *report)
{
    bench b;
    int status;
    memset(&b, 0, sizeof b);
    b.plan = options->plan[0] ? options->plan : NULL;
    status = prepare(&b, options, report);
    if (!status) {
        status = measure(&b, report);
    }
    if (!status) {
        tly_progress_end();
        (options->given & OPTION_JSON ? print_json : print_text)(&b);
        status = tly_flush(report);
    }
    tally_kernel_destroy(&b.kernel);
    tally_context_destroy(&b.context);
    tly_memory_free(b.in, b.in_bytes);
    tly_memory_free(b.out, b.out_bytes);
    return status;
}

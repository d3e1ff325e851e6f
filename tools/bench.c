/*
 * tally bench: how long a kernel takes, and what part of its ceiling's speed that is. A scan's is
 * a copy: bytes are each logical element read and written once, and a copy moves the same. A
 * reduction's is reading its input's bytes; its result's count, too, and nothing is gained by them.
 */
#include "bench.h"
#include "bench_gpu.h"
#include "data.h"
#include "subject.h"

#include <sched.h>
#include <string.h>
#include <unistd.h>

/* How the two ceilings are told, by tly_moves. */
static const struct {
    const char *text, *seconds, *all, *best;
} names[] = {
    [TLY_COPIES] = { "copy", "copy_seconds", "copies", "copy" },
    [TLY_READS] = { "read", "read_seconds", "reads", "read" },
};

typedef struct bench {
    tly_subject subject;
    char selector[32];
    const char *plan; /* may be NULL */
    const tly_kind *data;
    int32_t threads;
    tally_context *context;
    tally_kernel *kernel;
    char *in, *out;
    size_t in_bytes, out_bytes; /* of the buffers */
    size_t bytes;               /* each logical element once */
    size_t ceiling; /* what a copy takes from one buffer to the other, or what is read */
    tly_timing timing;
} bench;

static void fill(bench *b)
{
    const tly_subject *s = &b->subject;
    int64_t count = (int64_t)(b->in_bytes / s->in.element);
    int64_t step = s->scan ? s->in.strides[s->descriptor.axis] : 0;
    tly_progress("filling", (uint64_t)count);
    tly_kind_fill(b->data, &s->descriptor, step, b->in, count, tly_progress_at);
    memset(b->out, 0, b->out_bytes);
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static tly_moves moves_of(const bench *b)
{
    return b->subject.scan ? TLY_COPIES : TLY_READS;
}

/* The buffers hold the tensors and, where that is less, what is copied or read. */
static int get_buffers(bench *b, tly_report *report)
{
    const tly_subject *s = &b->subject;
    size_t in = (size_t)s->in.count * s->in.element, out = (size_t)s->out.count * s->out.element;
    b->bytes = in + out;
    b->ceiling = s->scan ? b->bytes / 2 : in;
    b->in_bytes = larger((size_t)(s->in.high + 1) * s->in.element, b->ceiling);
    b->out_bytes = larger((size_t)(s->out.high + 1) * s->out.element, s->scan ? b->ceiling : 0);
    b->in = tly_memory_get(b->in_bytes);
    b->out = tly_memory_get(b->out_bytes);
    if (!b->in || !b->out) {
        return tly_refuse(report, EXIT_MEMORY, "sizes",
                          "no memory for tensors of %zu and %zu bytes", b->in_bytes, b->out_bytes);
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
    return b->timing.ceiling.seconds.median / b->timing.kernel.median;
}

static void print_json(const bench *b)
{
    const tly_moves moves = moves_of(b);
    fputs("{\"word\": ", stdout);
    tly_json_string(stdout, b->subject.word);
    fputs(", \"device\": ", stdout);
    tly_json_string(stdout, b->selector);
    printf(", \"data\": \"%s\", \"threads\": %d, \"runs\": %d, \"bytes\": %zu, ",
           tly_kind_name(b->data), (int)b->threads, b->timing.runs, b->bytes);
    print_json_times("seconds", &b->timing.kernel);
    print_json_times(names[moves].seconds, &b->timing.ceiling.seconds);
    printf("\"%s\": {", names[moves].all);
    for (int k = 0; k < b->timing.ceilings; k++) {
        const tly_ceiling *each = &b->timing.each[k];
        fputs(k > 0 ? ", " : "", stdout);
        tly_json_string(stdout, each->name);
        printf(": %.9g", each->seconds.median);
    }
    printf("}, \"%s\": ", names[moves].best);
    tly_json_string(stdout, b->timing.ceiling.name);
    printf(", \"ratio\": %.4f}\n", ratio(b));
}

static void print_times(const char *name, const tly_spread *seconds, size_t bytes)
{
    const tly_unit *unit = tly_unit_for(seconds->median);
    printf("%-7s %8.3f %s (min %.3f, max %.3f), %.1f GB/s", name, seconds->median * unit->scale,
           unit->name, seconds->min * unit->scale, seconds->max * unit->scale,
           1e-9 * (double)bytes / seconds->median);
}

static void print_text(const bench *b)
{
    const tly_moves moves = moves_of(b);
    const size_t ceiling = moves == TLY_COPIES ? b->bytes : b->ceiling;
    printf("%s on %s, %d thread%s, data %s, %zu bytes moved, median of %d runs\n", b->subject.word,
           b->selector, (int)b->threads, b->threads == 1 ? "" : "s", tly_kind_name(b->data),
           b->bytes, b->timing.runs);
    print_times("kernel", &b->timing.kernel, b->bytes);
    putchar('\n');
    for (int k = 0; k < b->timing.ceilings; k++) {
        print_times(names[moves].text, &b->timing.each[k].seconds, ceiling);
        printf(", %s\n", b->timing.each[k].name);
    }
    printf("ratio   %8.3f of the speed of %s\n", ratio(b), b->timing.ceiling.name);
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

/* What is to be timed, and on what. */
static int find(bench *b, const tly_options *options, tly_report *report)
{
    int status = tly_subject_make(options->arg[0], NULL, NULL, &b->subject, report);
    if (!status) {
        status = tly_subject_need_sizes(&b->subject.descriptor, 0, report);
    }
    return status ? status : tly_device_find(options->device, b->selector, report);
}

static int prepare(bench *b, const tly_options *options, tly_report *report)
{
    tally_error error = TALLY_ERROR_INIT;
    tally_context_options context = { .size = sizeof context };
    tally_kernel_options kernel = { .size = sizeof kernel, .device = b->selector };
    b->plan = options->plan[0] ? options->plan : NULL;
    b->data = tly_kind_find(options->data);
    kernel.plan = b->plan;
    if (on_gpu(b) && !b->subject.scan) {
        return tly_refuse(report, EXIT_UNSUPPORTED, "op", "reductions are timed on CPUs only");
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
    const tly_gpu_subject gpu = { b->context, b->selector, b->plan,      &b->subject.descriptor,
                                  b->in,      b->in_bytes, b->out_bytes, b->ceiling };
    if (on_gpu(b)) {
        return tly_time_gpu(&gpu, show_progress, &b->timing, &error) == TALLY_OK
                   ? EXIT_DONE
                   : tly_adopt(report, &error);
    }
#endif
    if (tly_time(b->kernel, b->in, b->out, moves_of(b), b->ceiling, b->threads, show_progress,
                 &b->timing, &error) != TALLY_OK) {
        return tly_adopt(report, &error);
    }
    return EXIT_DONE;
}

/* Prepares and measures what was found; `finish` must follow. */
static int take(bench *b, const tly_options *options, tly_report *report)
{
    int status = prepare(b, options, report);
    return status ? status : measure(b, report);
}

static void finish(bench *b)
{
    tly_progress_end();
    tally_kernel_destroy(&b->kernel);
    tally_context_destroy(&b->context);
    tly_memory_free(b->in, b->in_bytes);
    tly_memory_free(b->out, b->out_bytes);
}

int tly_bench_measure(const tly_options *options, const tly_subject *subject, const char *selector,
                      tly_measurement *measured, tly_report *report)
{
    bench b;
    memset(&b, 0, sizeof b);
    b.subject = *subject;
    snprintf(b.selector, sizeof b.selector, "%s", selector);
    int status = take(&b, options, report);
    if (!status) {
        *measured = (tly_measurement){
            b.timing, b.bytes, b.ceiling, b.threads, tly_kind_name(b.data), names[moves_of(&b)].text
        };
    }
    finish(&b);
    return status;
}

int tly_verb_bench(const tly_options *options, tly_report *report)
{
    bench b;
    memset(&b, 0, sizeof b);
    int status = find(&b, options, report);
    if (!status) {
        status = take(&b, options, report);
    }
    if (!status) {
        tly_progress_end();
        (options->given & OPTION_JSON ? print_json : print_text)(&b);
        status = tly_flush(report);
    }
    finish(&b);
    return status;
}

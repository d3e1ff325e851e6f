/* SPDX-License-Identifier: Apache-2.0 */
/* Stands; see stand.h. All that tells CPUs and Vulkan devices apart while kernels are timed is
 * here. */
#include "stand.h"

#include "crew.h"

#ifdef TALLY_VULKAN
#include "bench_gpu.h"
#endif

#include <string.h>

const tly_move_names tly_move_names_of[2] = {
    [TLY_COPIES] = { "copy", "copy_seconds", "copies", "copy_threads" },
    [TLY_READS] = { "read", "read_seconds", "reads", "read_threads" },
};

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

tly_moves tly_stand_moves(const tly_stand *stand)
{
    return stand->subject.scan ? TLY_COPIES : TLY_READS;
}

#ifdef TALLY_VULKAN
static int on_gpu(const tly_stand *stand)
{
    return strncmp(stand->selector, "vulkan", 6) == 0;
}
#endif

/* --- beginning and end ----------------------------------------------------------------------- */

/* The buffers hold the tensors and, where that is less, what is copied or read. */
static void measure_sizes(tly_stand *stand)
{
    const tly_subject *s = &stand->subject;
    size_t in = (size_t)s->in.count * s->in.element, out = (size_t)s->out.count * s->out.element;
    stand->bytes = in + out;
    stand->moved = s->scan ? stand->bytes : in;
    stand->ceiling = s->scan ? stand->moved / 2 : in;
    stand->in_bytes = larger((size_t)(s->in.high + 1) * s->in.element, stand->ceiling);
    stand->out_bytes = larger((size_t)(s->out.high + 1) * s->out.element,
                              s->scan ? stand->ceiling : 0);
}

static tally_status open_device(tly_stand *stand, const char *cache_folder, tally_error *error)
{
    const tally_context_options options = { .size = sizeof options,
                                            .threads = stand->threads,
                                            .cache_folder = cache_folder };
    tally_status status = tally_context_create(&options, &stand->context, error);
#ifdef TALLY_VULKAN
    if (status == TALLY_OK && on_gpu(stand)) {
        status = tly_gpu_open(stand->context, stand->selector, stand->in_bytes, stand->out_bytes,
                              tly_stand_moves(stand), stand->ceiling, &stand->gpu, error);
    }
#endif
    return status;
}

int tly_stand_open_on(tly_stand *stand, const tly_subject *subject, const char *selector,
                      const tly_options *options, const char *cache_folder, tly_report *report)
{
    tally_error error = TALLY_ERROR_INIT;
    memset(stand, 0, sizeof *stand);
    stand->subject = *subject;
    snprintf(stand->selector, sizeof stand->selector, "%s", selector);
    measure_sizes(stand);
    stand->threads = options->threads ? options->threads : tly_crew_cpus();
    return open_device(stand, cache_folder, &error) == TALLY_OK ? EXIT_DONE
                                                                : tly_adopt(report, &error);
}

int tly_stand_open(tly_stand *stand, const char *word, const tly_options *options,
                   const char *cache_folder, tly_report *report)
{
    tly_subject subject;
    char selector[32];
    memset(stand, 0, sizeof *stand);
    int status = tly_subject_make(word, NULL, NULL, &subject, report);
    if (!status) {
        status = tly_subject_need_sizes(&subject.descriptor, 0, report);
    }
    if (!status) {
        status = tly_device_find(options->device, selector, report);
    }
    return status ? status
                  : tly_stand_open_on(stand, &subject, selector, options, cache_folder, report);
}

static int get_memory(const tly_stand *stand, char **memory, size_t bytes, tly_report *report)
{
    *memory = *memory ? *memory : tly_memory_get(bytes);
    return *memory ? EXIT_DONE
                   : tly_refuse(report, EXIT_MEMORY, "sizes",
                                "no memory for tensors of %zu and %zu bytes", stand->in_bytes,
                                stand->out_bytes);
}

int tly_stand_lay(tly_stand *stand, tly_report *report)
{
    int status = get_memory(stand, &stand->in[TLY_TIMED], stand->in_bytes, report);
    return status ? status : get_memory(stand, &stand->out, stand->out_bytes, report);
}

int tly_stand_fill(tly_stand *stand, int input, const tly_kind *kind, tly_report *report)
{
    const tly_subject *s = &stand->subject;
    int64_t count = (int64_t)(stand->in_bytes / s->in.element);
    int64_t step = s->scan ? s->in.strides[s->descriptor.axis] : 0;
    char **in = &stand->in[stand->gpu ? TLY_TIMED : input];
    int status = get_memory(stand, in, stand->in_bytes, report);
    if (status) {
        return status;
    }
    stand->data = kind;
    tly_progress("filling", (uint64_t)count);
    tly_kind_fill(kind, &s->descriptor, step, *in, count, tly_progress_at);
#ifdef TALLY_VULKAN
    tally_error error = TALLY_ERROR_INIT;
    if (stand->gpu && tly_gpu_fill(stand->gpu, input, *in, stand->in_bytes, &error) != TALLY_OK) {
        return tly_adopt(report, &error);
    }
#endif
    return EXIT_DONE;
}

void tly_stand_close(tly_stand *stand)
{
#ifdef TALLY_VULKAN
    tly_gpu_close(&stand->gpu);
#endif
    tally_context_destroy(&stand->context);
    for (int k = 0; k < TLY_INPUTS; k++) {
        tly_memory_free(stand->in[k], stand->in_bytes);
    }
    tly_memory_free(stand->out, stand->out_bytes);
    memset(stand, 0, sizeof *stand);
}

/* --- kernels --------------------------------------------------------------------------------- */

tally_status tly_stand_make(tly_stand *stand, const char *plan, tly_runner *runner,
                            tally_error *error)
{
    const tally_kernel_options options = { .size = sizeof options,
                                           .device = stand->selector,
                                           .plan = plan };
#ifdef TALLY_VULKAN
    if (stand->gpu) {
        return tly_gpu_make(stand->gpu, &stand->subject.descriptor, plan, &runner->gpu, error);
    }
#endif
    return tally_kernel_create(stand->context, &stand->subject.descriptor, &options, &runner->cpu,
                               error);
}

void tly_runner_drop(tly_runner *runner)
{
    tally_kernel_destroy(&runner->cpu);
#ifdef TALLY_VULKAN
    tally_vulkan_kernel_destroy(&runner->gpu);
#endif
}

tally_status tly_stand_run(tly_stand *stand, const tly_runner *runner, tally_error *error)
{
#ifdef TALLY_VULKAN
    if (stand->gpu) {
        return tly_gpu_run(stand->gpu, runner->gpu, TLY_JUDGED, stand->out, stand->out_bytes,
                           error);
    }
#endif
    memset(stand->out, 0, stand->out_bytes);
    return tally_kernel_run_threads(runner->cpu, stand->in[TLY_JUDGED], stand->out, stand->threads,
                                    error);
}

tally_status tly_stand_time(tly_stand *stand, const tly_runner *runner, const tly_runner *base,
                            double seconds, tly_time_progress progress, tly_timing *timing,
                            tally_error *error)
{
#ifdef TALLY_VULKAN
    if (stand->gpu) {
        return tly_gpu_time(stand->gpu, runner->gpu, base ? base->gpu : NULL, seconds, progress,
                            timing, error);
    }
#endif
    const tly_race race = { .kernel = runner->cpu,
                            .base = base ? base->cpu : NULL,
                            .in = stand->in[TLY_TIMED],
                            .out = stand->out,
                            .moves = tly_stand_moves(stand),
                            .bytes = stand->ceiling,
                            .threads = stand->threads,
                            .seconds = seconds,
                            .progress = progress };
    return tly_time(&race, timing, error);
}

void tly_json_times(const char *name, const tly_spread *seconds)
{
    printf("\"%s\": {\"min\": %.9g, \"median\": %.9g, \"max\": %.9g}, ", name, seconds->min,
           seconds->median, seconds->max);
}

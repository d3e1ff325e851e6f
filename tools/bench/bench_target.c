/* SPDX-License-Identifier: Apache-2.0 */
/* Targets of benchmarks; see bench_target.h. Only this file tells CPUs and Vulkan devices apart
 * while kernels are timed. */
#include "bench_target.h"

#include "workers.h"

#ifdef TALLY_VULKAN
#include "bench_gpu.h"
#endif

#include <string.h>

const tly_move_names tly_move_names_of[3] = {
    [TLY_COPIES] = { "copy", "copy_seconds", "copies", "copy_threads" },
    [TLY_READS] = { "read", "read_seconds", "reads", "read_threads" },
    [TLY_MOVES] = { "move", "move_seconds", "moves", "move_threads" },
};

/* --- beginning and end ----------------------------------------------------------------------- */

#ifdef TALLY_VULKAN
static tally_status open_gpu(tly_bench_target *target, tally_error *error)
{
    tly_bench_gpu_sizes sizes = { .in = target->in_bytes,
                                  .out = target->out_bytes,
                                  .moved = target->ceiling };
    for (int i = 0; i < TALLY_MAX_OPERANDS && target->job.descriptor.operands[i].dtype; i++) {
        sizes.operand[sizes.operands++] = target->operand_bytes[i];
    }
    sizes.offsets = target->offsets_bytes;
    sizes.states_in = target->job.descriptor.carry & TALLY_CARRY_IN ? target->states_bytes : 0;
    sizes.states_at = target->job.descriptor.carry & TALLY_CARRY_OUT ? target->states_at : 0;
    return tly_bench_gpu_open(target->context, target->selector, tly_bench_target_moves(target),
                              &sizes, &target->gpu, error);
}
#endif

static tally_status open_device(tly_bench_target *target, const char *cache_folder,
                                tally_error *error)
{
    const tally_context_options options = { .size = sizeof options,
                                            .threads = target->threads,
                                            .cache_folder = cache_folder };
    tally_status status = tally_context_create(&options, &target->context, error);
#ifdef TALLY_VULKAN
    if (status == TALLY_OK && tly_bench_target_on_gpu(target)) {
        status = open_gpu(target, error);
    }
#endif
    return status;
}

int tly_bench_target_open_on(tly_bench_target *target, const tly_job *job, const char *selector,
                             const tly_options *options, const char *cache_folder,
                             tly_report *report)
{
    tally_error error = TALLY_ERROR_INIT;
    memset(target, 0, sizeof *target);
    target->job = *job;
    snprintf(target->selector, sizeof target->selector, "%s", selector);
    tly_bench_target_measure(target);
    for (int i = 0; i < TALLY_MAX_OPERANDS; i++) {
        target->operand_data[i] = tly_kind_find(options->operand_data[i]);
        if (options->operand_data[i] && !job->descriptor.operands[i].dtype) {
            return tly_refuse(report, EXIT_USAGE, "usage",
                              "--data names %s, and the word has no "
                              "such operand",
                              tly_operand_letter(i));
        }
        if (target->operand_bytes[i] && tly_operand_reach(&job->descriptor, i).low < 0) {
            return tly_refuse(report, EXIT_USAGE, tly_operand_letter(i),
                              "the strides reach below the buffer's start");
        }
    }
    target->states_data = tly_kind_find(options->carry_data);
    if (options->carry_data && !(job->descriptor.carry & TALLY_CARRY_IN)) {
        return tly_refuse(report, EXIT_USAGE, "usage",
                          "--data names carry_in, and the word has no carry=in");
    }
    target->threads = options->threads ? options->threads : tly_workers_cpus();
    return open_device(target, cache_folder, &error) == TALLY_OK ? EXIT_DONE
                                                                 : tly_adopt(report, &error);
}

int tly_bench_target_open(tly_bench_target *target, const char *word, const tly_options *options,
                          const char *cache_folder, tly_report *report)
{
    tly_job job;
    char selector[32];
    memset(target, 0, sizeof *target);
    int status = tly_job_make(word, NULL, NULL, NULL, &job, report);
    if (!status) {
        status = tly_job_need_sizes(&job.descriptor, 0, report);
    }
    if (!status) {
        status = tly_device_find(options->device, selector, report);
    }
    return status ? status
                  : tly_bench_target_open_on(target, &job, selector, options, cache_folder, report);
}

static int get_memory(const tly_bench_target *target, char **memory, size_t bytes,
                      tly_report *report)
{
    *memory = *memory ? *memory : tly_memory_get(bytes);
    return *memory ? EXIT_DONE
                   : tly_refuse(report, EXIT_MEMORY, "sizes",
                                "no memory for tensors of %zu and %zu bytes", target->in_bytes,
                                target->out_bytes);
}

static int fill_operand(tly_bench_target *target, int operand, tly_report *report)
{
    tally_descriptor d = target->job.descriptor;
    char **memory = &target->operand[operand];
    const size_t bytes = target->operand_bytes[operand];
    const int status = get_memory(target, memory, bytes, report);
    d.dtype = d.operands[operand].dtype;
    if (!status) {
        tly_kind_fill(target->operand_data[operand], &d, 0, *memory,
                      (int64_t)(bytes / tally_dtype_bytes((tally_dtype)d.dtype)), NULL);
    }
#ifdef TALLY_VULKAN
    tally_error error = TALLY_ERROR_INIT;
    if (!status && target->gpu &&
        tly_bench_gpu_fill_operand(target->gpu, operand, *memory, &error) != TALLY_OK) {
        return tly_adopt(report, &error);
    }
#endif
    return status;
}

/* Of a pair the second number is the sum of as many exponentials as if one element had been
 * before. */
static void set_sums(char *states, size_t bytes, tally_dtype dtype)
{
    const double wide = 1;
    const float narrow = 1;
    const size_t element = tally_dtype_bytes(dtype);
    for (size_t at = element; at < bytes; at += 2 * element) {
        memcpy(states + at, dtype == TALLY_F64 ? (const void *)&wide : &narrow, element);
    }
}

static int fill_states(tly_bench_target *target, tly_report *report)
{
    tally_descriptor d = target->job.descriptor;
    tally_error error = TALLY_ERROR_INIT;
    tally_dtype dtype;
    int status = get_memory(target, &target->states_in, target->states_bytes, report);
    if (!status && tally_descriptor_carry(&d, NULL, NULL, &dtype, &error) != TALLY_OK) {
        status = tly_adopt(report, &error);
    }
    if (status) {
        return status;
    }
    d.dtype = (int32_t)dtype;
    tly_kind_fill(target->states_data, &d, 0, target->states_in,
                  (int64_t)(target->states_bytes / tally_dtype_bytes(dtype)), NULL);
    if (d.op == TALLY_CUMLOGSUMEXP) {
        set_sums(target->states_in, target->states_bytes, dtype);
    }
#ifdef TALLY_VULKAN
    if (target->gpu && target->states_bytes > 0 &&
        tly_bench_gpu_fill_states(target->gpu, target->states_in, &error) != TALLY_OK) {
        return tly_adopt(report, &error);
    }
#endif
    return EXIT_DONE;
}

static int fill_offsets(tly_bench_target *target, tly_report *report)
{
    const tally_descriptor *d = &target->job.descriptor;
    /* Of a reduction, the only axis that is reduced. */
    const int axis = target->job.scan ? d->axis : d->axes ? __builtin_ctz(d->axes) : 0;
    const int status = get_memory(target, &target->offsets, target->offsets_bytes, report);
    if (status) {
        return status;
    }
    tly_bench_offsets(d, d->sizes[axis], target->offsets);
#ifdef TALLY_VULKAN
    tally_error error = TALLY_ERROR_INIT;
    if (target->gpu &&
        tly_bench_gpu_fill_offsets(target->gpu, target->offsets, &error) != TALLY_OK) {
        return tly_adopt(report, &error);
    }
#endif
    return EXIT_DONE;
}

/* NULL: none are handed on. */
static char *states_out(const tly_bench_target *target)
{
    return target->job.descriptor.carry & TALLY_CARRY_OUT ? target->out + target->states_at : NULL;
}

int tly_bench_target_lay(tly_bench_target *target, tly_report *report)
{
    int status = get_memory(target, &target->in[TLY_TIMED], target->in_bytes, report);
    if (!status) {
        status = get_memory(target, &target->out, target->out_bytes, report);
    }
    for (int i = 0; i < TALLY_MAX_OPERANDS && target->operand_bytes[i] && !status; i++) {
        status = fill_operand(target, i, report);
    }
    if (!status && target->job.descriptor.carry & TALLY_CARRY_IN) {
        status = fill_states(target, report);
    }
    if (!status && target->offsets_bytes > 0) {
        status = fill_offsets(target, report);
    }
    return status;
}

int tly_bench_target_fill(tly_bench_target *target, int input, const tly_kind *kind,
                          tly_report *report)
{
    const tly_job *s = &target->job;
    int64_t count = (int64_t)(target->in_bytes / s->in.element);
    int64_t step = s->scan ? s->in.strides[s->descriptor.axis] : 0;
    char **in = &target->in[target->gpu ? TLY_TIMED : input];
    int status = get_memory(target, in, target->in_bytes, report);
    if (status) {
        return status;
    }
    target->data = kind;
    tly_progress("filling", (uint64_t)count);
    tly_kind_fill(kind, &s->descriptor, step, *in, count, tly_progress_at);
#ifdef TALLY_VULKAN
    tally_error error = TALLY_ERROR_INIT;
    if (target->gpu &&
        tly_bench_gpu_fill(target->gpu, input, *in, target->in_bytes, &error) != TALLY_OK) {
        return tly_adopt(report, &error);
    }
#endif
    return EXIT_DONE;
}

void tly_bench_target_close(tly_bench_target *target)
{
#ifdef TALLY_VULKAN
    tly_bench_gpu_close(&target->gpu);
#endif
    tally_context_destroy(&target->context);
    for (int k = 0; k < TLY_INPUTS; k++) {
        tly_memory_free(target->in[k], target->in_bytes);
    }
    for (int i = 0; i < TALLY_MAX_OPERANDS; i++) {
        tly_memory_free(target->operand[i], target->operand_bytes[i]);
    }
    tly_memory_free(target->states_in, target->states_bytes);
    tly_memory_free(target->offsets, target->offsets_bytes);
    tly_memory_free(target->out, target->out_bytes);
    memset(target, 0, sizeof *target);
}

/* --- kernels --------------------------------------------------------------------------------- */

tally_status tly_bench_target_make(tly_bench_target *target, const char *plan, tly_runner *runner,
                                   tally_error *error)
{
    const tally_kernel_options options = { .size = sizeof options,
                                           .device = target->selector,
                                           .plan = plan };
#ifdef TALLY_VULKAN
    if (target->gpu) {
        return tly_bench_gpu_make(target->gpu, &target->job.descriptor, plan, &runner->gpu, error);
    }
#endif
    return tally_kernel_create(target->context, &target->job.descriptor, &options, &runner->cpu,
                               error);
}

void tly_runner_drop(tly_runner *runner)
{
    tally_kernel_destroy(&runner->cpu);
#ifdef TALLY_VULKAN
    tally_vulkan_kernel_destroy(&runner->gpu);
#endif
}

tally_status tly_bench_target_run(tly_bench_target *target, const tly_runner *runner,
                                  tally_error *error)
{
#ifdef TALLY_VULKAN
    if (target->gpu) {
        return tly_bench_gpu_run(target->gpu, runner->gpu, TLY_JUDGED, target->out,
                                 target->out_bytes, error);
    }
#endif
    const tally_run_options with = { .size = sizeof with, .threads = target->threads };
    tally_buffers buffers = { .size = sizeof buffers,
                              .in = target->in[TLY_JUDGED],
                              .out = target->out,
                              .offsets = target->offsets,
                              .carry_in = target->states_in,
                              .carry_out = states_out(target) };
    for (int i = 0; i < TALLY_MAX_OPERANDS; i++) {
        buffers.operand[i] = target->operand[i];
    }
    memset(target->out, 0, target->out_bytes);
    return tally_kernel_run_buffers(runner->cpu, &buffers, &with, error);
}

tally_status tly_bench_target_time(tly_bench_target *target, const tly_runner *runner,
                                   const tly_runner *base, double seconds,
                                   tly_time_progress progress, tly_timing *timing,
                                   tally_error *error)
{
#ifdef TALLY_VULKAN
    if (target->gpu) {
        return tly_bench_gpu_time(target->gpu, runner->gpu, base ? base->gpu : NULL, seconds,
                                  progress, timing, error);
    }
#endif
    tly_race race = { .kernel = runner->cpu,
                      .base = base ? base->cpu : NULL,
                      .in = target->in[TLY_TIMED],
                      .out = target->out,
                      .offsets = target->offsets,
                      .carry_in = target->states_in,
                      .carry_out = states_out(target),
                      .moves = tly_bench_target_moves(target),
                      .bytes = target->ceiling,
                      .threads = target->threads,
                      .seconds = seconds,
                      .progress = progress };
    tly_moved *moved = &race.moved;
    const tly_job *job = &target->job;
    moved->to = target->out;
    moved->to_bytes = (size_t)job->out.count * job->out.element;
    moved->from[0] = target->in[TLY_TIMED];
    moved->bytes[0] = (size_t)job->in.count * job->in.element;
    moved->sources = 1;
    for (int i = 0; i < TALLY_MAX_OPERANDS && target->operand_bytes[i]; i++) {
        race.operand[i] = moved->from[moved->sources] = target->operand[i];
        moved->bytes[moved->sources++] = target->operand_touched[i];
    }
    if (target->offsets) {
        moved->from[moved->sources] = target->offsets;
        moved->bytes[moved->sources++] = target->offsets_bytes;
    }
    if (target->states_in) {
        moved->from[moved->sources] = target->states_in;
        moved->bytes[moved->sources++] = target->states_bytes;
    }
    moved->to_bytes += states_out(target) ? target->states_bytes : 0;
    return tly_time(&race, timing, error);
}

void tly_json_times(const char *name, const tly_spread *seconds)
{
    printf("\"%s\": {\"min\": %.9g, \"median\": %.9g, \"max\": %.9g}, ", name, seconds->min,
           seconds->median, seconds->max);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tally bench: how long a kernel takes, and what part of its ceiling's speed that is. A scan's is
 * a copy: bytes are each logical element read and written once, and a copy moves the same. A
 * reduction's is reading its input's bytes; its result's count, too, and nothing is gained by them.
 * bench_sizes.c has the ceiling of words with operands or expressions.
 * Kernel and ceiling may take the same number of threads at most. Each uses those that it is the
 * fastest on: the library decides for the kernel, and bench_time.c for the ceiling.
 */
#include "bench.h"
#include "../common/about.h"
#include "bench_target.h"

#include <string.h>

typedef struct bench {
    tly_bench_target target;
    tly_runner runner;
    tly_timing timing;
} bench;

static void show_progress(int done, int runs)
{
    if (done == 1) {
        tly_progress("measuring", (uint64_t)runs);
    }
    tly_progress_at((uint64_t)done);
}

static double ratio(const bench *b)
{
    return b->timing.ceiling.seconds.median / b->timing.kernel.median;
}

/* What tensors hold, as --data takes it. The kind of the input alone where operands hold what they
 * do by default. */
static const char *data_of(const tly_bench_target *target, char text[128])
{
    size_t used = (size_t)snprintf(text, 128, "x=%s", tly_kind_name(target->data));
    int named = 0;
    for (int i = 0; i < TALLY_MAX_OPERANDS && target->operand[i] != NULL && used < 128; i++) {
        named |= target->operand_data[i] != tly_kind_find(NULL);
        used += (size_t)snprintf(text + used, 128 - used, ",%s=%s", tly_operand_letter(i),
                                 tly_kind_name(target->operand_data[i]));
    }
    if (target->states_in && used < 128) {
        named |= target->states_data != tly_kind_find(NULL);
        snprintf(text + used, 128 - used, ",carry_in=%s", tly_kind_name(target->states_data));
    }
    return named ? text : tly_kind_name(target->data);
}

static void print_json(const bench *b)
{
    char data[128];
    const tly_bench_target *target = &b->target;
    const tly_move_names *names = &tly_move_names_of[tly_bench_target_moves(target)];
    fputs("{\"word\": ", stdout);
    tly_json_string(stdout, target->job.word);
    fputs(", \"device\": ", stdout);
    tly_json_string(stdout, target->selector);
    printf(", \"data\": \"%s\", \"threads\": %d, \"kernel_threads\": %d, \"%s\": %d, "
           "\"runs\": %d, \"sets\": %d, \"bytes\": %zu, ",
           data_of(target, data), (int)target->threads, b->timing.threads, names->threads,
           b->timing.ceiling.threads, b->timing.runs, b->timing.sets, target->bytes);
    tly_json_times("seconds", &b->timing.kernel);
    tly_json_times(names->seconds, &b->timing.ceiling.seconds);
    printf("\"%s\": {", names->all);
    for (int k = 0; k < b->timing.ceilings; k++) {
        const tly_ceiling *each = &b->timing.each[k];
        fputs(k > 0 ? ", " : "", stdout);
        tly_json_string(stdout, each->name);
        printf(": %.9g", each->seconds.median);
    }
    printf("}, \"%s\": ", names->text);
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
    const tly_bench_target *target = &b->target;
    const tly_timing *t = &b->timing;
    char on[32], most[40] = "", data[128];
    if (!target->gpu) {
        snprintf(most, sizeof most, ", at most %d thread%s", (int)target->threads,
                 target->threads == 1 ? "" : "s");
    }
    printf("%s on %s%s, data %s, %zu bytes moved, median of %d runs%s\n", target->job.word,
           target->selector, most, data_of(target, data), target->bytes, t->runs,
           t->sets > 1 ? " on tensors that take turns" : "");
    print_times("kernel", &t->kernel, target->bytes);
    printf("%s\n", tly_on_threads(t->threads, on));
    for (int k = 0; k < t->ceilings; k++) {
        print_times(tly_move_names_of[tly_bench_target_moves(target)].text, &t->each[k].seconds,
                    target->moved);
        printf(", %s%s\n", t->each[k].name, tly_on_threads(t->each[k].threads, on));
    }
    printf("ratio   %8.3f of the speed of %s%s\n", ratio(b), t->ceiling.name,
           tly_on_threads(t->ceiling.threads, on));
}

/* On a target that is open; `finish` must follow. */
static int measure(bench *b, const tly_options *options, tly_report *report)
{
    tally_error error = TALLY_ERROR_INIT;
    tly_bench_target *target = &b->target;
    const char *plan = options->plan[0] ? options->plan : NULL;
    if (tly_bench_target_make(target, plan, &b->runner, &error) != TALLY_OK) {
        return tly_adopt(report, &error);
    }
    int status = tly_bench_target_lay(target, report);
    if (!status) {
        status = tly_bench_target_fill(target, TLY_TIMED, tly_kind_find(options->data), report);
    }
    if (status) {
        return status;
    }
    tly_progress("measuring", 0);
    return tly_bench_target_time(target, &b->runner, NULL, 0, show_progress, &b->timing, &error) ==
                   TALLY_OK
               ? EXIT_DONE
               : tly_adopt(report, &error);
}

static void finish(bench *b)
{
    tly_progress_end();
    tly_runner_drop(&b->runner);
    tly_bench_target_close(&b->target);
}

int tly_bench_measure(const tly_options *options, const tly_job *job, const char *selector,
                      tly_measurement *measured, tly_report *report)
{
    bench b;
    memset(&b, 0, sizeof b);
    int status = tly_bench_target_open_on(&b.target, job, selector, options, NULL, report);
    if (!status) {
        status = measure(&b, options, report);
    }
    if (!status) {
        const tly_bench_target *target = &b.target;
        *measured = (tly_measurement){ b.timing, target->bytes,
                                       job->scan ? target->ceiling : target->moved,
                                       tly_kind_name(target->data),
                                       tly_move_names_of[tly_bench_target_moves(target)].text };
    }
    finish(&b);
    return status;
}

int tly_verb_bench(const tly_options *options, tly_report *report)
{
    bench b;
    memset(&b, 0, sizeof b);
    int status = tly_bench_target_open(&b.target, options->arg[0], options, NULL, report);
    if (!status) {
        status = measure(&b, options, report);
    }
    if (!status) {
        tly_progress_end();
        (options->given & OPTION_JSON ? print_json : print_text)(&b);
        status = tly_flush(report);
    }
    finish(&b);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tally tune: which plan is the fastest for a word on this machine, as a table for people or a line
 * of JSON a plan; and putting it into the disk cache, from where programs take it.
 */
#include "search.h"

#include <stdlib.h>
#include <string.h>

#include <tally/cache.h>

enum { DEFAULT_SECONDS = 20 };

/* What is less may be noise. */
#define GAIN 1.02

static int gains(const tly_candidate *c)
{
    return c->bits == TLY_BITS_SAME && c->same_order && tly_speedup(c) > GAIN &&
           c->timing.kernel.min < c->timing.base.min;
}

static const char *const bits_names[] = {
    [TLY_BITS_SAME] = "same",
    [TLY_BITS_TOLERANCE] = "tolerance",
    [TLY_BITS_WRONG] = "wrong",
};

/* --- telling
 * ----------------------------------------------------------------------------------- */

/* Of a copy's speed, or a read's, which was timed beside the library's own plan. */
static double ratio_of(const tly_search *s, const tly_candidate *c)
{
    const tly_timing *own = &s->found[0].timing;
    return own->ceiling.seconds.median / own->kernel.median * tly_speedup(c);
}

static void print_json(const tly_search *s, const tly_candidate *c, int own)
{
    const tly_bench_target *target = s->target;
    fputs("{\"word\": ", stdout);
    tly_json_string(stdout, target->job.word);
    fputs(", \"device\": ", stdout);
    tly_json_string(stdout, target->selector);
    fputs(", \"plan\": ", stdout);
    tly_json_string(stdout, c->plan);
    printf(", \"default\": %s, ", own ? "true" : "false");
    if (c->failed) {
        fputs("\"error\": ", stdout);
        tly_json_string(stdout, c->error.message);
        puts("}");
        return;
    }
    fputs("\"whole\": ", stdout);
    tly_json_string(stdout, c->whole);
    printf(", \"threads\": %d, \"kernel_threads\": %d, \"runs\": %d, \"bytes\": %zu, ",
           (int)target->threads, c->timing.threads, c->timing.runs, target->bytes);
    tly_json_times("seconds", &c->timing.kernel);
    tly_json_times("default_seconds", &c->timing.base);
    if (own) {
        const tly_move_names *names = &tly_move_names_of[tly_bench_target_moves(target)];
        printf("\"%s\": %d, ", names->threads, c->timing.ceiling.threads);
        tly_json_times(names->seconds, &c->timing.ceiling.seconds);
    }
    printf("\"median\": %.9g, \"ratio\": %.4f, \"ratio_default\": %.4f, \"bits\": \"%s\", "
           "\"same_bits\": %s, \"same_order\": %s, \"kept\": %s}\n",
           c->timing.kernel.median, ratio_of(s, c), tly_speedup(c), bits_names[c->bits],
           c->bits == TLY_BITS_SAME ? "true" : "false", c->same_order ? "true" : "false",
           c->kept ? "true" : "false");
}

static void print_row(const tly_search *s, const tly_candidate *c, int own, const tly_unit *unit)
{
    const char *plan = own ? "(default)" : c->plan;
    if (c->failed) {
        printf("%10s %10s %8s %8s  %-10s ", "-", "-", "-", "-", "-");
        tly_text_show(stdout, plan, 0);
        printf(": %s\n", c->error.message);
        return;
    }
    printf("%10.3f %10.3f %8.3f %8.3f  %-10s ", c->timing.kernel.median * unit->scale,
           c->timing.kernel.min * unit->scale, ratio_of(s, c), tly_speedup(c), bits_names[c->bits]);
    tly_text_show(stdout, plan, 0);
    puts(c->kept ? "  (kept)" : "");
}

/* The library's own plan, then the fastest first. */
static int compare(const void *a, const void *b)
{
    const tly_candidate *const *x = a, *const *y = b;
    const double p = tly_speedup(*x), q = tly_speedup(*y);
    return (p < q) - (p > q);
}

static void print_all(const tly_search *s, const tly_candidate *const *sorted, int json)
{
    const tly_candidate *own = &s->found[0];
    const tly_unit *unit = tly_unit_for(own->timing.kernel.median);
    if (!json) {
        char on[32], beside[32];
        printf("%s on %s%s, beside %s%s\n", s->target->job.word, s->target->selector,
               tly_on_threads(own->timing.threads, on), own->timing.ceiling.name,
               tly_on_threads(own->timing.ceiling.threads, beside));
        printf("%7s %2s %7s %2s %8s %8s  %-10s %s\n", "median", unit->name, "min", unit->name,
               tly_move_names_of[tly_bench_target_moves(s->target)].text, "default", "bits",
               "plan");
    }
    for (size_t i = 0; i < s->count; i++) {
        const tly_candidate *c = i ? sorted[i - 1] : own;
        if (json) {
            print_json(s, c, i == 0);
        } else {
            print_row(s, c, i == 0, unit);
        }
    }
}

/* --- keeping
 * ----------------------------------------------------------------------------------- */

/* The fastest that may be kept, or the library's own, in place of what was kept before. */
static int keep(const tly_search *s, tly_candidate *const *sorted, tly_report *report)
{
    tally_error error = TALLY_ERROR_INIT;
    tally_context *context = NULL;
    tly_candidate *best = &s->found[0];
    for (size_t i = s->count - 1; i > 0; i--) {
        tly_candidate *c = sorted[i - 1];
        best = gains(c) ? c : best;
    }
    const tally_kernel_options options = { .size = sizeof options,
                                           .device = s->target->selector,
                                           .plan = best->plan };
    tally_status status = tally_context_create(NULL, &context, &error);
    if (status == TALLY_OK) {
        status = tally_cache_keep(context, &s->target->job.descriptor, &options, &error);
    }
    tally_context_destroy(&context);
    best->kept = status == TALLY_OK;
    return status == TALLY_OK ? EXIT_DONE : tly_adopt(report, &error);
}

/* --- the verb
 * ---------------------------------------------------------------------------------- */

/* What is no plan for this word is found before anything is timed. */
static int judge(tly_bench_target *target, const tly_lines *plans, tly_report *report)
{
    tally_error error = TALLY_ERROR_INIT;
    char whole[TLY_MOST_OVERRIDES];
    for (size_t i = 0; i < plans->count; i++) {
        if (strlen(plans->line[i].text) >= TLY_MOST_OVERRIDES) {
            tly_refuse(report, EXIT_USAGE, "usage", "a plan is too long");
        } else if (tly_plan_whole(target, plans->line[i].text, whole, &error) == TALLY_OK) {
            continue;
        } else {
            tly_adopt(report, &error);
        }
        tly_report_where(report, plans->line[i].where);
        return report->status;
    }
    return EXIT_DONE;
}

/* `judged`: only whether word and plans are right. */
static int tune(const tly_line *word, const tly_lines *plans, const tly_options *options,
                int judged, tly_report *report)
{
    tly_bench_target target;
    tly_search s = { .target = &target,
                     .only_same_order = (options->given & OPTION_KEEP) != 0,
                     .seconds = options->seconds ? options->seconds : DEFAULT_SECONDS };
    tly_candidate **sorted = NULL;
    int status = tly_bench_target_open(&target, word->text, options, "", report);
    if (status) {
        tly_report_where(report, word->where);
    } else if (judged) {
        status = judge(&target, plans, report);
    } else {
        status = tly_search_run(&s, plans, report);
    }
    tly_progress_end();
    if (!status && !judged) {
        sorted = calloc(s.count, sizeof *sorted);
        status = sorted ? EXIT_DONE : tly_refuse(report, EXIT_MEMORY, "usage", "no memory");
    }
    if (sorted) {
        for (size_t i = 1; i < s.count; i++) {
            sorted[i - 1] = &s.found[i];
        }
        qsort(sorted, s.count - 1, sizeof *sorted, compare);
        if (options->given & OPTION_KEEP) {
            status = keep(&s, sorted, report);
        }
        print_all(&s, (const tly_candidate *const *)sorted, options->given & OPTION_JSON);
        fflush(stdout); /* what is known, should the next word take too long */
    }
    free(sorted);
    tly_search_end(&s);
    tly_bench_target_close(&target);
    return status;
}

static int tune_all(const tly_lines *words, const tly_lines *plans, const tly_options *options,
                    tly_report *report)
{
    int status = EXIT_DONE;
    for (int judged = 1; judged >= 0; judged--) {
        for (size_t i = 0; i < words->count && !status; i++) {
            status = tune(&words->line[i], plans, options, judged, report);
        }
    }
    return status ? status : tly_flush(report);
}

int tly_verb_tune(const tly_options *options, tly_report *report)
{
    tly_lines words = { NULL, 0 }, plans = { NULL, 0 };
    int status = EXIT_DONE;
    if ((options->args == 1) == ((options->given & OPTION_WORDS) != 0)) {
        return tly_refuse(report, EXIT_USAGE, "usage", "a word or a --words FILE, one of them");
    }
    status = options->args ? tly_lines_add(&words, options->arg[0], "", report)
                           : tly_lines_read(&words, options->words, report);
    if (!status && options->plans) {
        status = tly_lines_read(&plans, options->plans, report);
    }
    if (!status && (!words.count || (options->plans && !plans.count))) {
        status = tly_refuse(report, EXIT_USAGE, "usage", "%s: names no %s",
                            words.count ? options->plans : options->words,
                            words.count ? "plan" : "word");
    }
    if (!status) {
        status = tune_all(&words, &plans, options, report);
    }
    tly_lines_end(&words);
    tly_lines_end(&plans);
    return status;
}

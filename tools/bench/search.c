/* SPDX-License-Identifier: Apache-2.0 */
/* The search; see search.h. */
#include "search.h"

#include "../common/about.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Seconds of a plan's turns with the library's own, where plans are not given; and the share of all
 * time for the turns of the library's own with copies, and for those of each of the fastest, which
 * are timed once more at the end. */
#define EACH_SECONDS .15
#define LAST .03

/* The share of the time in which plans are tried, after the library's own; the rest is for those of
 * the fastest. */
#define TRYING .8

/* A single change that is so much slower is in no pair. */
#define HOPELESS .97

enum { FINALISTS = 3 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* --- one plan
 * ---------------------------------------------------------------------------------- */

double tly_speedup(const tly_candidate *c)
{
    return c->failed ? 0 : c->timing.speedup;
}

static tly_candidate *add(tly_search *s, const char *plan)
{
    void *items = s->found;
    const int room = tly_memory_room(&items, s->count, sizeof *s->found);
    s->found = items;
    if (!room || strlen(plan) >= TLY_MOST_OVERRIDES) {
        return NULL;
    }
    tly_candidate *c = &s->found[s->count];
    memset(c, 0, sizeof *c);
    c->error.size = sizeof c->error;
    strcpy(c->plan, plan);
    return c;
}

/* Makes, judges and times it. What fails is told with the plan, unless nothing goes on. */
static tally_status measure(tly_search *s, tly_candidate *c, double seconds)
{
    tly_runner runner = { NULL, NULL };
    tally_status status = tly_bench_target_make(s->target, c->whole, &runner, &c->error);
    if (status == TALLY_OK) {
        status = tly_bench_target_run(s->target, &runner, &c->error);
    }
    if (status == TALLY_OK && s->count) {
        c->bits = tly_bits_of(s->target, s->expected, s->target->out);
    }
    if (status == TALLY_OK) {
        status = tly_bench_target_time(s->target, &runner, s->count ? &s->own : NULL, seconds, NULL,
                                       &c->timing, &c->error);
    }
    c->failed = status != TALLY_OK;
    if (s->count) {
        tly_runner_drop(&runner);
    } else {
        s->own = runner; /* the first: all others are judged by it */
    }
    return status == TALLY_DEVICE_LOST ? status : TALLY_OK;
}

static double last_seconds(const tly_search *s)
{
    return s->seconds * LAST > EACH_SECONDS ? s->seconds * LAST : EACH_SECONDS;
}

static int is_known(const tly_search *s, const char *whole)
{
    for (size_t i = 0; i < s->count; i++) {
        if (strcmp(s->found[i].whole, whole) == 0) {
            return 1;
        }
    }
    return 0;
}

/* A plan that is legal; of those that are found, only what is new. */
static int try_plan(tly_search *s, const char *plan, int given, tly_report *report)
{
    tly_candidate *c = add(s, plan);
    char order[TLY_MOST_OVERRIDES];
    tally_error error = TALLY_ERROR_INIT;
    if (!c) {
        return tly_refuse(report, EXIT_MEMORY, "usage", "no memory for the plans");
    }
    if (tly_plan_whole(s->target, plan, c->whole, &error) != TALLY_OK ||
        tly_plan_order(s->target, plan, order, &error) != TALLY_OK) {
        return tly_adopt(report, &error);
    }
    c->same_order = strcmp(order, s->order) == 0;
    if ((!given && is_known(s, c->whole)) || (s->only_same_order && !c->same_order)) {
        return EXIT_DONE;
    }
    if (measure(s, c, s->each) != TALLY_OK) {
        return tly_adopt(report, &c->error);
    }
    s->count++;
    return EXIT_DONE;
}

/* The library's own plan with every key said, so that nothing that was kept before stands for
 * it. */
static int try_own(tly_search *s, tly_report *report)
{
    tly_candidate *c = add(s, "");
    tally_error error = TALLY_ERROR_INIT;
    if (!c) {
        return tly_refuse(report, EXIT_MEMORY, "usage", "no memory for the plans");
    }
    if (tly_plan_whole(s->target, NULL, c->whole, &error) != TALLY_OK ||
        tly_plan_order(s->target, NULL, s->order, &error) != TALLY_OK) {
        return tly_adopt(report, &error);
    }
    c->same_order = 1;
    if (measure(s, c, last_seconds(s)) != TALLY_OK || c->failed) {
        return tly_adopt(report, &c->error);
    }
    s->count = 1;
    return EXIT_DONE;
}

/* --- many
 * -------------------------------------------------------------------------------------- */

/* What the last change of a plan does alone; 1 where that is not known. */
static double promise(const tly_search *s, const char *plan)
{
    const char *comma = strrchr(plan, ',');
    for (size_t i = 0; comma && i < s->count; i++) {
        if (strcmp(s->found[i].plan, comma + 1) == 0) {
            return tly_speedup(&s->found[i]);
        }
    }
    return 1;
}

/* The most promising first; `lines` is short. */
static void sort(const tly_search *s, tly_lines *lines)
{
    for (size_t i = 1; i < lines->count; i++) {
        for (size_t k = i;
             k > 0 && promise(s, lines->line[k].text) > promise(s, lines->line[k - 1].text); k--) {
            const tly_line other = lines->line[k];
            lines->line[k] = lines->line[k - 1];
            lines->line[k - 1] = other;
        }
    }
}

/* Of those that promise enough, at least one. */
static int try_found(tly_search *s, const tly_lines *lines, double until, tly_report *report)
{
    int status = EXIT_DONE;
    tly_progress("tuning", lines->count);
    for (size_t i = 0; i < lines->count && !status && (i == 0 || now() < until); i++) {
        tly_progress_at(i);
        if (promise(s, lines->line[i].text) >= HOPELESS) {
            status = try_plan(s, lines->line[i].text, 0, report);
        }
    }
    return status;
}

/* All: the time is theirs in equal parts. */
static int try_given(tly_search *s, const tly_lines *lines, tly_report *report)
{
    int status = EXIT_DONE;
    s->each = s->seconds * TRYING / (double)lines->count;
    tly_progress("tuning", lines->count);
    for (size_t i = 0; i < lines->count && !status; i++) {
        tly_progress_at(i);
        status = try_plan(s, lines->line[i].text, 1, report);
    }
    return status;
}

/* One more change on a plan. */
static int expand(tly_search *s, size_t which, double until, tly_report *report)
{
    tly_lines lines = { NULL, 0 };
    s->found[which].expanded = 1;
    int status = tly_plans_beside(s->target, s->found[which].plan, &lines, report);
    if (!status) {
        sort(s, &lines);
        status = try_found(s, &lines, until, report);
    }
    tly_lines_end(&lines);
    return status;
}

/* The fastest that has not been expanded; the library's own goes first. */
static size_t next(const tly_search *s)
{
    size_t best = s->count;
    for (size_t i = 0; i < s->count; i++) {
        const tly_candidate *c = &s->found[i];
        if (!c->expanded && c->bits != TLY_BITS_WRONG && tly_speedup(c) >= HOPELESS &&
            (best == s->count || tly_speedup(c) > tly_speedup(&s->found[best]))) {
            best = i;
        }
    }
    return s->count && !s->found[0].expanded ? 0 : best;
}

/* Noise favours some plan of many: the fastest are timed once more, for longer. */
static int time_again(tly_search *s, tly_report *report)
{
    char done[FINALISTS][TLY_MOST_OVERRIDES];
    for (int k = 0; k < FINALISTS; k++) {
        tly_candidate *best = NULL;
        for (size_t i = 1; i < s->count; i++) {
            tly_candidate *c = &s->found[i];
            int seen = 0;
            for (int j = 0; j < k; j++) {
                seen |= strcmp(done[j], c->plan) == 0;
            }
            if (!seen && c->bits == TLY_BITS_SAME && tly_speedup(c) > 1 &&
                (!best || tly_speedup(c) > tly_speedup(best))) {
                best = c;
            }
        }
        if (!best) {
            return EXIT_DONE;
        }
        strcpy(done[k], best->plan);
        if (measure(s, best, last_seconds(s)) != TALLY_OK) {
            return tly_adopt(report, &best->error);
        }
    }
    return EXIT_DONE;
}

/* --- all
 * ----------------------------------------------------------------------------------------- */

/* Where rounding shows in every order: sums of signs drawn, products near 1. */
static const char *judged_kind(const tally_descriptor *d)
{
    return tly_about_op(d->op)->combines == TLY_MULTIPLIES ? "near1" : "normal";
}

static int prepare(tly_search *s, tly_report *report)
{
    tly_bench_target *target = s->target;
    int status = tly_bench_target_lay(target, report);
    if (!status) {
        status = tly_bench_target_fill(target, TLY_JUDGED,
                                       tly_kind_find(judged_kind(&target->job.descriptor)), report);
    }
    if (!status) {
        status = tly_bench_target_fill(target, TLY_TIMED, tly_kind_find(NULL), report);
    }
    s->expected = status ? NULL : tly_memory_get(target->out_bytes);
    if (!status && !s->expected) {
        status = tly_refuse(report, EXIT_MEMORY, "sizes", "no memory for an output of %zu bytes",
                            target->out_bytes);
    }
    return status;
}

/* target->out is the last run's: of the copies beside the kernel's own turns. */
static int remember(tly_search *s, tly_report *report)
{
    tally_error error = TALLY_ERROR_INIT;
    if (tly_bench_target_run(s->target, &s->own, &error) != TALLY_OK) {
        return tly_adopt(report, &error);
    }
    memcpy(s->expected, s->target->out, s->target->out_bytes);
    return EXIT_DONE;
}

int tly_search_run(tly_search *s, const tly_lines *plans, tly_report *report)
{
    int status = prepare(s, report);
    s->each = EACH_SECONDS;
    if (!status) {
        status = try_own(s, report);
    }
    if (!status) {
        status = remember(s, report);
    }
    const double until = now() + s->seconds * TRYING;
    if (!status && plans->count) {
        status = try_given(s, plans, report);
    }
    while (!status && !plans->count && now() < until && next(s) < s->count) {
        status = expand(s, next(s), until, report);
    }
    return status ? status : time_again(s, report);
}

void tly_search_end(tly_search *s)
{
    tly_runner_drop(&s->own);
    tly_memory_free(s->expected, s->target->out_bytes);
    free(s->found);
    s->expected = NULL;
    s->found = NULL;
    s->count = 0;
}

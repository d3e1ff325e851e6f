/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guarantees: a case depends on seed, number and size bound alone, its plan on the planner's, too;
 * a failure is never silent, not even one that ends the process.
 */
#include "driver.h"
#include "fused.h"
#include "plans.h"

#include "../runtime/context/internal.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_REPORTED = 20, MOST_SECONDS = 120, MOST_THREADS = 5 };

/* What a signal handler prints: the case in work. */
static char repro[2 * TALLY_WORD_MAX];
static const tly_trial *volatile in_work;

static void put(const char *text)
{
    ssize_t ignored = write(STDOUT_FILENO, text, strlen(text));
    (void)ignored;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    char address[2 * sizeof(uintptr_t) + 1] = { 0 };
    uintptr_t rest = (uintptr_t)info->si_addr;
    for (size_t k = sizeof address - 1; k-- > 0; rest >>= 4)
        address[k] = "0123456789abcdef"[rest & 15];
    (void)context;
    put("FAILED ");
    put(repro);
    if (number == SIGALRM) {
        put("       no end within two minutes: ");
    } else {
        put("       a signal (a touch beyond a tensor, or worse) at 0x");
        put(address);
        put(": ");
    }
    put(in_work ? in_work->why : "between cases");
    put("\n");
    _exit(TLY_SIGNAL);
}

void tly_driver_catch_signals(void)
{
    static const int numbers[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGALRM };
    struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
    for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++)
        sigaction(numbers[k], &action, NULL);
}

/* ---- cases ---- */

static void count_template(tly_driver *v, const tly_trial *t)
{
    char name[24];
    tly_template_count *counts = v->at->templates;
    int k = 0;

    tly_plan_template(v->context, &v->course->device, &t->d, t->plan, name);
    while (k < TLY_MOST_TEMPLATES - 1 && counts[k].count && strcmp(counts[k].name, name) != 0)
        k++;
    snprintf(counts[k].name, sizeof counts[k].name, "%s", name);
    counts[k].count++;
}

/* One case in four has the library on the host's threads. */
typedef struct drawn {
    tly_trial trial;
    char plan[256];
    int hosted;
} drawn;

static void draw(const tly_driver *v, long number, drawn *c)
{
    tly_trial *t = &c->trial;
    tly_random r = tly_random_seed(v->course->seed, (uint64_t)number);
    tly_random_problem(&r, v->course->most, v->course->draws, &t->d);
    t->data = tly_random_data(&r, &t->d);
    c->hosted = tly_random_one_in(&r, 4) && v->hosted[0];
    tly_random plans = tly_random_seed(tly_random_next(&r), (uint64_t)number);
    tly_plan_draw(&plans, v->context, &v->course->device, &t->d, c->plan, sizeof c->plan);
    t->plan = c->plan;
    t->random = r;
    t->why[0] = 0;
}

static void describe(const tly_driver *v, const tly_trial *t, long number)
{
    char word[TALLY_WORD_MAX];
    if (tally_descriptor_print(&t->d, word, sizeof word, NULL, NULL))
        snprintf(word, sizeof word, "(no valid descriptor)");
    snprintf(
        repro, sizeof repro,
        "%s  [differential --device %s --engines %s --seed %llu --most %lld%s%s%s%s --only %ld; "
        "data %s, plan \"%s\"]\n",
        word, v->course->device.selector, v->course->engines, (unsigned long long)v->course->seed,
        (long long)v->course->most, v->course->quick ? " --quick" : "",
        v->course->draws & TLY_DRAW_STAGES ? " --stages" : "", v->course->ops ? " --ops " : "",
        v->course->ops ? v->course->ops : "", number, tly_data_name(t->data), t->plan);
}

static void count_passed(tly_driver *v, const drawn *c)
{
    const tly_trial *t = &c->trial;
    tly_progress *at = v->at;
    if (t->refused) {
        at->refused++;
        at->unmade += t->unmade;
        return;
    }
    at->passed++;
    at->staged += tly_is_fused(&t->d);
    at->hosted += c->hosted;
    at->forced += *t->plan != 0;
    at->data[t->data]++;
    at->checked += t->verdict.checked;
    at->exact += t->verdict.exact;
    count_template(v, t);
}

static void run_case(tly_driver *v, long number)
{
    drawn c = { .trial = { .in = &v->in, .out = &v->out, .target = &v->course->device } };
    c.trial.operands = v->operands[0].bytes ? v->operands : NULL;
    tly_trial *t = &c.trial;
    tly_engine *engines[TLY_MOST_ENGINES];

    v->at->next = number + 1;
    draw(v, number, &c);
    describe(v, t, number);
    in_work = t;
    for (int k = 0; k < v->engine_count; k++)
        engines[k] = c.hosted && !strcmp(v->engines[k]->name, "library") ? v->hosted[number & 1]
                                                                         : v->engines[k];
    tally_error error = TALLY_ERROR_INIT;
    if (tally_descriptor_check(&t->d, &error)) {
        snprintf(t->why, sizeof t->why,
                 "the driver drew an invalid descriptor: %s: %s, map %s, post %s", error.field,
                 error.message, t->d.map, t->d.post);
    } else if (!tly_trial_run(t, engines, v->engine_count)) {
        v->at->plans_refused += t->plan_refused;
        count_passed(v, &c);
        return;
    }
    v->at->plans_refused += t->plan_refused;
    describe(v, t, number); /* with the plan that ran */
    if (v->at->failed++ < MAX_REPORTED)
        printf("FAILED %s       %s\n", repro, t->why);
}

void tly_driver_run(tly_driver *v, long number)
{
    alarm(MOST_SECONDS);
    run_case(v, number);
    alarm(0);
}

/* ---- contexts ---- */

static const tly_generator *real;

/* As the library does: where quick selection gives up, in full. */
static tally_status generate_quick(const tly_problem *problem, const char *level, const char *plan,
                                   tly_artifact *artifact, tally_error *error)
{
    tally_status status = real->generate_quick(problem, level, plan, artifact, error);
    return status != TALLY_INTERNAL ? status
                                    : real->generate(problem, level, plan, artifact, error);
}

static tally_status make_quick(tally_context *context, tally_error *error)
{
    static tly_generator quick;
    tally_status status = tly_generator_find(context, &real, error);
    if (!status) {
        quick = *real;
        quick.generate = generate_quick;
        tly_context_set_generator(context, &quick);
    }
    return status;
}

static tally_status open_context(const tly_driver *v, const tally_context_options *options,
                                 tally_context **context, tally_error *error)
{
    tally_status status = tally_context_create(options, context, error);
    if (status)
        return status;
    /* What else only larger tensors on larger machines would see: threads beyond the CPUs, narrow
     * ranges of lanes, accumulators that fit by parts. */
    (*context)->limits = (tly_context_limits){ .cpus = 64,
                                               .split_rows = 256,
                                               .split_lanes = 256,
                                               .split_reads = 256,
                                               .chain = 256,
                                               .crowd = 256,
                                               .share = 64,
                                               .scratch_bytes = 6144 };
    return v->course->quick ? make_quick(*context, error) : TALLY_OK;
}

/* ---- engines ---- */

static tly_engine *open_engine(tly_driver *v, const char *name, tally_error *error)
{
    static const struct {
        const char *name;
        tly_engine *(*open)(tally_context *, const char *, tally_error *);
    } ways[] = { { "library", tly_engine_library },     { "carry", tly_engine_carry },
                 { "offsets", tly_engine_offsets },     { "native", tly_engine_native },
                 { "interpret", tly_engine_interpret }, { "remote", tly_engine_remote } };
    for (size_t k = 0; k < sizeof ways / sizeof ways[0]; k++)
        if (!strcmp(name, ways[k].name))
            return ways[k].open(v->context, v->course->device.selector, error);
    snprintf(error->message, sizeof error->message, "there is no such engine");
    return NULL;
}

/* On Vulkan devices the library has no use for the host's threads, on levels that this machine
 * lacks no use at all. */
static int open_hosted(tly_driver *v)
{
    tally_context_options options = { .size = sizeof options,
                                      .threads = MOST_THREADS,
                                      .parallel = tly_host_run,
                                      .parallel_user = &v->host };
    tally_error error = TALLY_ERROR_INIT;
    if (!strcmp(v->course->device.kind, "vulkan") || !v->course->device.runs_here)
        return 0;
    const char *selector = v->course->device.selector;
    if (open_context(v, &options, &v->host_context, &error) ||
        !(v->hosted[0] = tly_engine_library(v->host_context, selector, &error)) ||
        !(v->hosted[1] = tly_engine_lent(v->context, selector, &v->host, &error))) {
        printf("no engine on the host's threads: %s\n", error.message);
        return 1;
    }
    v->hosted[0]->name = "library on the host's threads";
    return 0;
}

int tly_driver_open_engines(tly_driver *v)
{
    char names[128], *rest = names, *name;
    snprintf(names, sizeof names, "%s", v->course->engines);
    while ((name = strsep(&rest, ",")) != NULL) {
        tally_error error = TALLY_ERROR_INIT;
        if (v->engine_count == TLY_MOST_ENGINES)
            return 1;
        v->engines[v->engine_count] = open_engine(v, name, &error);
        if (!v->engines[v->engine_count]) {
            printf("engine %s: %s\n", name, error.message);
            return 1;
        }
        v->engine_count++;
    }
    return open_hosted(v);
}

void tly_driver_close(tly_driver *v)
{
    for (int k = 0; k < v->engine_count; k++)
        v->engines[k]->close(v->engines[k]);
    for (int k = 0; k < 2; k++)
        if (v->hosted[k])
            v->hosted[k]->close(v->hosted[k]);
    tally_context_destroy(&v->context);
    tally_context_destroy(&v->host_context);
    tly_arena_close(&v->in);
    tly_arena_close(&v->out);
    for (int k = 0; k < TALLY_MAX_OPERANDS && v->operands[k].bytes; k++)
        tly_arena_close(&v->operands[k]);
}

int tly_driver_open(tly_driver *v, const tly_course *course, tly_progress *at)
{
    const tally_context_options options = { .size = sizeof options, .threads = MOST_THREADS };
    tally_error error = TALLY_ERROR_INIT;
    const size_t bytes = (size_t)course->most * 8 * 9; /* see tly_random_descriptor */

    *v = (tly_driver){ .course = course, .at = at };
    int failed = tly_arena_open(&v->in, bytes) || tly_arena_open(&v->out, bytes);
    for (int k = 0; k < TALLY_MAX_OPERANDS && course->draws & TLY_DRAW_STAGES && !failed; k++)
        failed = tly_arena_open(&v->operands[k], bytes);
    if (failed) {
        printf("no buffers: %s\n", strerror(errno));
        return 1;
    }
    if (open_context(v, &options, &v->context, &error)) {
        printf("no context: %s\n", error.message);
        return 1;
    }
    return 0;
}

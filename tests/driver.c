/*
 * Guarantees: a case depends on seed, number and size bound alone; a failure is never silent, not
 * even one that ends the process.
 */
#include "driver.h"

#include "../runtime/internal.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_REPORTED = 20, MOST_SECONDS = 120 };

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
    static const int numbers[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP,
                                   SIGALRM };
    struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
    for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++)
        sigaction(numbers[k], &action, NULL);
}

/* ---- which template a case took ---- */

typedef struct text {
    char bytes[4096];
    size_t length;
} text;

static int append(void *user, const char *bytes, size_t count)
{
    text *t = user;
    if (count > sizeof t->bytes - 1 - t->length)
        count = sizeof t->bytes - 1 - t->length;
    memcpy(t->bytes + t->length, bytes, count);
    t->length += count;
    t->bytes[t->length] = 0;
    return 0;
}

static void count_template(tly_driver *v, const tly_trial *t)
{
    char name[24] = "unknown";
    text plan = { .length = 0 };
    const tally_kernel_options options = { .size = sizeof options,
                                           .device = v->course->device.selector,
                                           .plan = *t->plan ? t->plan : NULL };
    tly_template_count *counts = v->at->templates;
    int k = 0;

    if (tally_inspect(v->context, &t->d, &options, TALLY_STAGE_PLAN, append, &plan, NULL) == 0)
        sscanf(plan.bytes, "template = %23s", name);
    while (k < TLY_MOST_TEMPLATES - 1 && counts[k].count && strcmp(counts[k].name, name))
        k++;
    snprintf(counts[k].name, sizeof counts[k].name, "%s", name);
    counts[k].count++;
}

/* ---- cases ---- */

/* Small blocks and chunks, so that their borders come often, and on Vulkan every template, which
 * the planner chooses for large tensors only. Where a problem does not fit, or the device lacks
 * what is named, the case has the planner's own choice, as every second one has anyway. */
typedef struct forced {
    const char *plan, *needs;
} forced;

static const forced cpu_plans[] = { { "chunk=2048,block=512", "" } };
static const forced gpu_plans[] = {
    { "scan=0,workgroup=32", "" },
    { "scan=1,chunk=300", "" },
    { "addresses=0", "" },
    { "addresses=1", "addresses" },
    { "addresses=1,index_bits=64,chunk=1000", "addresses" },
    { "template=columns,workgroup=32,chunk=20", "" },
    { "template=columns,workgroup=32,vector=4,segments=2", "" },
    { "template=columns,workgroup=32,vector=16,segments=2,chunk=30", "" },
    { "template=workgroups,workgroup=32,segments=1", "" },
    { "template=workgroups,workgroup=32,chunk=700", "" },
    { "template=workgroups,workgroup=64,vector=4,segments=2", "" },
    { "scan=1,vector=2,segments=4,chunk=300", "" },
    { "template=subgroups", "shuffles" },
    { "template=look_back,workgroup=32,segments=1", "look-back" },
    { "template=look_back,workgroup=64,addresses=1", "look-back" }
};

static const char *draw_plan(tly_random *r, const tally_device *device)
{
    const int on_cpu = strcmp(device->kind, "vulkan") != 0;
    const forced *const plans = on_cpu ? cpu_plans : gpu_plans;
    const int64_t count = (int64_t)(on_cpu ? sizeof cpu_plans / sizeof cpu_plans[0]
                                           : sizeof gpu_plans / sizeof gpu_plans[0]);
    /* CPUs: one in five. */
    const int64_t drawn = tly_random_below(r, on_cpu ? 5 : 2 * count) - (on_cpu ? 4 : count);
    const int fits = drawn >= 0 &&
                     (!*plans[drawn].needs || !tly_target_lacks(device, plans[drawn].needs));
    return fits ? plans[drawn].plan : "";
}

static void draw(tly_trial *t, const tly_course *course, long number)
{
    tly_random r = tly_random_seed(course->seed, (uint64_t)number);
    tly_random_descriptor(&r, course->most, &t->d);
    t->data = tly_random_data(&r, &t->d);
    t->plan = draw_plan(&r, &course->device);
    t->random = r;
    t->why[0] = 0;
}

static void describe(const tly_driver *v, const tly_trial *t, long number)
{
    char word[TALLY_WORD_MAX];
    if (tally_descriptor_print(&t->d, word, sizeof word, NULL, NULL))
        snprintf(word, sizeof word, "(no valid descriptor)");
    snprintf(repro, sizeof repro,
             "%s  [differential --device %s --engines %s --seed %llu --most %lld --only %ld; "
             "data %s, plan \"%s\"]\n",
             word, v->course->device.selector, v->course->engines,
             (unsigned long long)v->course->seed, (long long)v->course->most, number,
             tly_data_name(t->data), t->plan);
}

static void run_case(tly_driver *v, long number)
{
    tly_trial t = { .in = &v->in, .out = &v->out, .target = &v->course->device };

    v->at->next = number + 1;
    draw(&t, v->course, number);
    describe(v, &t, number);
    in_work = &t;
    if (tally_descriptor_check(&t.d, NULL)) {
        snprintf(t.why, sizeof t.why, "the driver drew an invalid descriptor");
    } else if (!tly_trial_run(&t, v->engines, v->engine_count)) {
        if (t.refused) {
            v->at->refused++;
            return;
        }
        v->at->passed++;
        v->at->forced += *t.plan != 0;
        v->at->data[t.data]++;
        v->at->checked += t.verdict.checked;
        v->at->exact += t.verdict.exact;
        count_template(v, &t);
        return;
    }
    if (v->at->failed++ < MAX_REPORTED)
        printf("FAILED %s       %s\n", repro, t.why);
}

void tly_driver_run(tly_driver *v, long number)
{
    alarm(MOST_SECONDS);
    run_case(v, number);
    alarm(0);
}

/* ---- engines ---- */

static tly_engine *open_engine(tly_driver *v, const char *name, tally_error *error)
{
    static const struct {
        const char *name;
        tly_engine *(*open)(tally_context *, const char *, tally_error *);
    } ways[] = { { "library", tly_engine_library }, { "native", tly_engine_native },
                 { "interpret", tly_engine_interpret }, { "remote", tly_engine_remote } };
    for (size_t k = 0; k < sizeof ways / sizeof ways[0]; k++)
        if (!strcmp(name, ways[k].name))
            return ways[k].open(v->context, v->course->device.selector, error);
    snprintf(error->message, sizeof error->message, "there is no such engine");
    return NULL;
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
    return 0;
}

void tly_driver_close(tly_driver *v)
{
    for (int k = 0; k < v->engine_count; k++)
        v->engines[k]->close(v->engines[k]);
    tally_context_destroy(&v->context);
    tly_arena_close(&v->in);
    tly_arena_close(&v->out);
}

int tly_driver_open(tly_driver *v, const tly_course *course, tly_progress *at)
{
    const tally_context_options options = { .size = sizeof options, .threads = 3 };
    tally_error error = TALLY_ERROR_INIT;
    const size_t bytes = (size_t)course->most * 8 * 9; /* see tly_random_descriptor */

    *v = (tly_driver){ .course = course, .at = at };
    if (tly_arena_open(&v->in, bytes) || tly_arena_open(&v->out, bytes)) {
        printf("no buffers: %s\n", strerror(errno));
        return 1;
    }
    if (tally_context_create(&options, &v->context, &error)) {
        printf("no context: %s\n", error.message);
        return 1;
    }
    /* What else only larger tensors on larger machines would see: threads beyond the CPUs, narrow
     * ranges of lanes, accumulators that fit by parts. */
    v->context->limits = (tly_limits){ .cpus = 64, .split_rows = 256, .split_lanes = 256,
                                       .share = 64, .scratch_bytes = 6144 };
    return 0;
}

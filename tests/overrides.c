/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The random driver of plan overrides: for random words on every CPU level and on every device that
 * a profile describes, one to four overrides with values inside and outside of the ranges. Either
 * they are refused as TALLY_INVALID, before anything is built; or the printed plan makes itself
 * again, and the kernel is built and verified, for a CPU gives the right results in every cut into
 * tasks (natively where the level runs here, else by the interpreter), and for Vulkan is a module
 * that the validator takes and, run by the interpreter, gives the right results, too; so does the
 * planner's own.
 *
 *   overrides [--profiles FOLDER] [--count N] [--seed S] [--only N] [--most ELEMENTS]
 *             [--recurrences 1] [--stages 1]
 *
 * With --recurrences the words are those of linear recurrences, with operands and expressions. With
 * --stages words of other operators have these, too, and segments and flags.
 * Every failure prints one line with what repeats it. Exit status: 0 if no case failed, and some
 * were refused and some built: by all targets together, and by each that had at least ENOUGH_TRIES.
 * A target that lacks most of the dtypes that were drawn has few, and so has a short run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arguments.h"
#include "engine_grid.h"
#include "profiles.h"
#include "trial.h"

enum {
    LEVELS = 5,
    MOST_TARGETS = 24,
    MOST_TEXT = 4096,
    CASES_A_CHILD = 200,
    ENOUGH_TRIES = 40, /* one in six builds: by chance none does in 1 of 1500 runs */
    MOST_SECONDS = 120,
    MOST_REPORTED = 20
};

typedef struct run_options {
    const char *profiles;
    int64_t count, only, seed, most, recurrences, stages;
} run_options;

typedef struct target {
    const char *name;
    char *profile;       /* NULL: a CPU level */
    tally_device device; /* of a level; of a profile what the judge asks for */
    tly_caps caps;       /* of a profile */
} target;

typedef struct tally_counts {
    long refused, lacking, built;
} tally_counts;

/* What processes share: a case may end its own. */
typedef struct shared {
    long next, failed;
    tally_counts counts[MOST_TARGETS];
    char work[2 * TALLY_WORD_MAX];
} shared;

typedef struct driver {
    const run_options *o;
    shared *all;
    target targets[MOST_TARGETS];
    int target_count;
    tally_context *context;
    tly_arena in, out, operands[TALLY_MAX_OPERANDS];
} driver;

/* ---- texts ---- */

typedef struct text {
    char bytes[MOST_TEXT];
    size_t length;
} text;

static int append(void *user, const char *bytes, size_t count)
{
    text *t = user;
    if (count > sizeof t->bytes - 1 - t->length)
        return 1;
    memcpy(t->bytes + t->length, bytes, count);
    t->bytes[t->length += count] = 0;
    return 0;
}

static int drop(void *user, const char *bytes, size_t count)
{
    (void)user;
    (void)bytes;
    (void)count;
    return 0;
}

static tally_status inspect(const driver *v, const target *t, const tally_descriptor *d,
                            const char *plan, tally_stage stage, text *into, tally_error *error)
{
    const tally_kernel_options options = { .size = sizeof options,
                                           .plan = plan,
                                           .profile = t->profile,
                                           .device = t->profile ? NULL : t->device.selector };
    if (into)
        *into = (text){ .length = 0 };
    return tally_inspect(v->context, d, &options, stage, into ? append : drop, into, error);
}

/* ---- one case ---- */

/* Whether words have operands and expressions. */
static int has_stages(const driver *v)
{
    return v->o->recurrences || v->o->stages;
}

static int fail(driver *v, const char *why)
{
    if (v->all->failed++ < MOST_REPORTED)
        printf("FAILED %s       %s\n", v->all->work, why);
    return 1;
}

/* The kernel in every way in which it may be called. */
static int run(driver *v, const target *t, const tally_descriptor *d, const char *plan,
               const tly_random *r)
{
    tly_trial trial = { .d = *d,
                        .plan = plan,
                        .random = *r,
                        .in = &v->in,
                        .out = &v->out,
                        .operands = has_stages(v) ? v->operands : NULL,
                        .target = &t->device };
    tally_error error = TALLY_ERROR_INIT;
    tly_engine *engine = t->profile ? tly_engine_grid(&t->caps, &error)
                         : t->device.runs_here
                             ? tly_engine_native(v->context, t->device.selector, &error)
                             : tly_engine_interpret(v->context, t->device.selector, &error);
    if (!engine)
        return fail(v, error.message);
    trial.data = tly_random_data(&trial.random, d);
    int wrong = tly_trial_run(&trial, &engine, 1);
    engine->close(engine);
    if (wrong)
        return fail(v, trial.why);
    return !trial.plan_refused ? 0 : fail(v, "refused by the kernel that the plan is for");
}

/* Of what can be run the elements are few, and copies are no scans. */
static int can_run(const driver *v, const target *t, const tally_descriptor *d, const text *shown)
{
    int64_t elements = 1;
    for (int k = 0; k < d->rank; k++)
        elements = elements > v->o->most ? elements : elements * d->sizes[k];
    return !t->profile || (elements <= v->o->most && !strstr(shown->bytes, "template = copy"));
}

/* A printed plan makes itself, and then the kernel. */
static int build(driver *v, const target *t, const tally_descriptor *d, const char *plan,
                 const text *shown, const tly_random *r)
{
    text again;
    tally_error error = TALLY_ERROR_INIT;
    if (inspect(v, t, d, shown->bytes, TALLY_STAGE_PLAN, &again, &error))
        return fail(v, error.message);
    if (strcmp(shown->bytes, again.bytes))
        return fail(v, "what is printed makes another plan");
    if (t->profile && inspect(v, t, d, plan, TALLY_STAGE_SPIRV, NULL, &error))
        return fail(v, error.message);
    return can_run(v, t, d, shown) ? run(v, t, d, plan, r) : 0;
}

static int is_empty(const tally_descriptor *d)
{
    for (int k = 0; k < d->rank; k++)
        if (d->sizes[k] == 0)
            return 1;
    return 0;
}

static void run_case(driver *v, long number)
{
    tly_random r = tly_random_seed(v->o->seed, (uint64_t)number);
    /* CPUs in every second case: there is more to be wrong. Without profiles in all. */
    const int on_cpu = tly_random_one_in(&r, 2) || v->target_count == LEVELS;
    const int at = on_cpu ? (int)tly_random_below(&r, LEVELS)
                          : (int)tly_random_between(&r, LEVELS, v->target_count - 1);
    const target *t = &v->targets[at];
    tally_counts *counts = &v->all->counts[at];
    char overrides[256], word[TALLY_WORD_MAX];
    tally_descriptor d;
    text shown;
    tally_error error = TALLY_ERROR_INIT;

    /* What is only built may be as large as a device's memory. */
    const uint32_t plain = tly_random_one_in(&r, 3) ? TLY_DRAW_REDUCTIONS : TLY_DRAW_SCANS;
    const uint32_t recurring = TLY_DRAW_STAGES | TLY_DRAW_WIDER | 1u << TALLY_LINREC;
    const uint32_t draws = v->o->recurrences ? recurring
                           : v->o->stages    ? plain | TLY_DRAW_STAGES
                                             : plain;
    const int64_t most = t->profile && tly_random_one_in(&r, 2) ? 3000000000 : v->o->most;
    do
        tly_random_problem(&r, most, draws, &d);
    while (is_empty(&d)); /* one kernel for all */
    if (tally_descriptor_print(&d, word, sizeof word, NULL, NULL))
        snprintf(word, sizeof word, "(no valid descriptor)");
    snprintf(v->all->work, sizeof v->all->work, "%s on %s [--seed %llu --most %lld --only %ld]\n",
             word, t->name, (unsigned long long)v->o->seed, (long long)v->o->most, number);
    tally_status s = inspect(v, t, &d, NULL, TALLY_STAGE_PLAN, &shown, &error);
    if (s == TALLY_UNSUPPORTED && (t->profile || has_stages(v))) {
        counts->lacking++;
        return;
    }
    if (s) {
        fail(v, error.message);
        return;
    }
    /* What no other driver runs: a device's kernel as it is planned, where there is no device. */
    if (t->profile && can_run(v, t, &d, &shown) && run(v, t, &d, "", &r))
        return;
    tly_random_plan(&r, shown.bytes, overrides, sizeof overrides);
    snprintf(v->all->work, sizeof v->all->work,
             "%s on %s, plan \"%s\"  [overrides --seed %llu --most %lld --only %ld%s]\n", word,
             t->name, overrides, (unsigned long long)v->o->seed, (long long)v->o->most, number,
             v->o->recurrences ? " --recurrences 1"
             : v->o->stages    ? " --stages 1"
                               : "");
    s = inspect(v, t, &d, overrides, TALLY_STAGE_PLAN, &shown, &error);
    if (s == TALLY_INVALID && !strcmp(error.field, "plan")) {
        text none;
        counts->refused++;
        if (inspect(v, t, &d, overrides, TALLY_STAGE_KIR, &none, NULL) != TALLY_INVALID)
            fail(v, "the plan is refused, and the kernel made");
    } else if (s) {
        fail(v, error.message);
    } else if (!build(v, t, &d, overrides, &shown, &r)) {
        counts->built++;
    }
}

/* ---- processes ---- */

static int open_driver(driver *v)
{
    const tally_context_options options = { .size = sizeof options, .threads = 1 };
    /* See tly_random_descriptor; few elements in many dims may span more. */
    const size_t bytes = (size_t)v->o->most * 8 * 9 + (1 << 20);
    for (int k = 0; k < TALLY_MAX_OPERANDS && has_stages(v); k++)
        if (tly_arena_open(&v->operands[k], bytes))
            return 1;
    return tly_arena_open(&v->in, bytes) || tly_arena_open(&v->out, bytes) ||
           tally_context_create(&options, &v->context, NULL);
}

/* Some cases, in a child; its exit status. */
static int in_child(driver *v, long end)
{
    fflush(stdout);
    const pid_t child = fork();
    int status = 0;
    if (child == 0) {
        if (open_driver(v))
            _exit(2);
        while (v->all->next < end) {
            alarm(MOST_SECONDS);
            run_case(v, v->all->next);
            v->all->next++;
        }
        tally_context_destroy(&v->context);
        fflush(stdout);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return 2;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int find_targets(driver *v)
{
    static const char *const levels[LEVELS] = { "cpu:x86-64-v2", "cpu:x86-64-v3", "cpu:x86-64-v4",
                                                "cpu:aarch64", "cpu:riscv64" };
    static tly_profile_file files[MOST_TARGETS - LEVELS];
    char why[256];
    for (int k = 0; k < LEVELS; k++) {
        target *t = &v->targets[v->target_count++];
        if (tly_target_find(levels[k], &t->device, why, sizeof why))
            return puts(why), 1;
        t->name = levels[k];
    }
    if (!v->o->profiles)
        return 0;
    const int count = tly_profiles_read(v->o->profiles, files, MOST_TARGETS - LEVELS);
    for (int k = 0; k < count; k++)
        v->targets[v->target_count++] = (target){ .name = files[k].name,
                                                  .profile = files[k].text,
                                                  .device = { .selector = "vulkan" },
                                                  .caps = files[k].caps };
    return count == 0;
}

static int summary(const driver *v)
{
    const int whole = v->o->only < 0;
    int poor = 0;
    tally_counts sum = { 0 };
    printf("overrides: seed %llu, most %lld, %ld cases:", (unsigned long long)v->o->seed,
           (long long)v->o->most, v->all->next - (v->o->only >= 0 ? v->o->only : 0));
    for (int k = 0; k < v->target_count; k++) {
        const tally_counts *c = &v->all->counts[k];
        printf("%s %s %ld right, %ld refused", k ? ";" : "", v->targets[k].name, c->built,
               c->refused);
        if (c->lacking)
            printf(", %ld of a dtype it lacks", c->lacking);
        sum.built += c->built;
        sum.refused += c->refused;
        poor += c->built + c->refused >= ENOUGH_TRIES && (!c->built || !c->refused);
    }
    printf("; %ld failed\n", v->all->failed);
    return (whole && (poor || !sum.built || !sum.refused)) || v->all->failed;
}

static int parse(run_options *o, int argc, char **argv)
{
    const tly_argument known[] = {
        { "--profiles", &o->profiles, NULL }, { "--count", NULL, &o->count },
        { "--seed", NULL, &o->seed },         { "--only", NULL, &o->only },
        { "--most", NULL, &o->most },         { "--recurrences", NULL, &o->recurrences },
        { "--stages", NULL, &o->stages }
    };
    return tly_arguments_read(known, sizeof known / sizeof *known, argc, argv) || o->most < 1;
}

int main(int argc, char **argv)
{
    static run_options o = { .count = 1000, .only = -1, .seed = 1, .most = 3000 };
    static driver v = { .o = &o };
    v.all = mmap(NULL, sizeof *v.all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (parse(&o, argc, argv) || v.all == MAP_FAILED || find_targets(&v)) {
        fprintf(stderr, "overrides: see the head of tests/overrides.c\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    v.all->next = o.only >= 0 ? o.only : 0;
    const long end = o.only >= 0 ? o.only + 1 : o.count;
    while (v.all->next < end) {
        const long some = v.all->next + CASES_A_CHILD;
        const int status = in_child(&v, some < end ? some : end);
        if (status == 0)
            continue;
        v.all->failed++;
        printf("FAILED %s       it ended its process, status %d\n", v.all->work, status);
        v.all->next++;
    }
    return summary(&v);
}

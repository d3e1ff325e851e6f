/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether every problem has a plan: random problems, views with short dims above all, on every CPU
 * level and on every device that a profile describes, and words with open sizes on the levels. A
 * plan may only be refused as TALLY_UNSUPPORTED, and only for what docs/word.md and docs/vulkan.md
 * say that this version or the device lacks.
 *
 *   every_plan [--profiles FOLDER] [--count N] [--seed S] [--only N] [--kernels N]
 *
 * `--kernels N` also builds the kernel IR of one problem in N. Every failure prints the word, the
 * target and what repeats it. Exit status: 0 if no problem failed, and some had a plan on each
 * target; of 10,000 problems and more, also if some had one by each template.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tally.h>

#include "../runtime/cpu/features.h"
#include "arguments.h"
#include "profiles.h"
#include "random.h"
#include "reference.h"

enum { MOST_PROFILES = 16, MOST_REPORTED = 20, MOST_SECONDS = 60, MANY = 10000 };

/* Of levels, then those that only devices have; not those that measure. */
static const char *const templates[] = {
    "rows",      "short",      "columns",     "transposed",      "serial",
    "narrow",    "tiles",      "reduce_rows", "reduce_lanes",    "reduce_interleaved",
    "subgroups", "workgroups", "look_back",   "look_back_lanes", "turned",
    "staged",
};
enum { TEMPLATES = sizeof templates / sizeof *templates, OF_LEVELS = 10 };

typedef struct run_options {
    const char *profiles;
    int64_t count, only, seed, kernels;
} run_options;

typedef struct target {
    const tly_profile_file *profile; /* NULL: a CPU level */
    char name[64];
    long plans, lacking;
} target;

typedef struct driver {
    run_options o;
    tally_context *context;
    tly_profile_file profiles[MOST_PROFILES];
    target targets[TLY_LEVELS + MOST_PROFILES];
    int target_count;
    long failed, kernels, seen[TEMPLATES];
    char work[2 * TALLY_WORD_MAX]; /* what is being done, for a signal to tell */
} driver;

static driver all;

static void on_signal(int number)
{
    static const char ended[] = "\nFAILED it ended its process: ";
    (void)number;
    if (write(STDOUT_FILENO, ended, sizeof ended - 1) < 0 ||
        write(STDOUT_FILENO, all.work, strlen(all.work)) < 0)
        _exit(3);
    _exit(2);
}

/* ---- what may be refused ---- */

static int is_integer(int dtype)
{
    return !tly_is_float((tally_dtype)dtype);
}

/* What the device lacks of what docs/vulkan.md says that the word needs. */
static int lacks_feature(const tally_descriptor *d, const tly_caps *caps)
{
    const tally_dtype used[] = { (tally_dtype)d->dtype, tly_reference_output(d),
                                 (tally_dtype)d->acc };
    const int reals = is_integer(d->dtype) && tly_ends_in_reals(d);
    const int adds_whole = tly_operations[d->op].family == TLY_SUMS;
    int lacks = reals && (!caps->float64 || (!caps->int64 && adds_whole));
    for (size_t k = 0; k < sizeof used / sizeof *used; k++) {
        const int bytes = used[k] ? (int)tally_dtype_bytes(used[k]) : 0;
        lacks |= used[k] == TALLY_F64 && !caps->float64;
        lacks |= bytes == 8 && used[k] != TALLY_F64 && !caps->int64;
        lacks |= bytes == 2 && !caps->storage16;
        lacks |= bytes == 1 && !caps->storage8;
    }
    return lacks;
}

/* A tensor beyond a storage buffer, where there are no addresses; or a reduction of more elements
 * than a device's loops go through. */
static int exceeds(const tally_descriptor *d, const tly_caps *caps)
{
    tly_layout l;
    tly_layout_of(d, &l);
    const int64_t in = (l.in_high - l.in_low + 1) *
                       (int64_t)tally_dtype_bytes((tally_dtype)d->dtype);
    const int64_t out = (l.out_high - l.out_low + 1) *
                        (int64_t)tally_dtype_bytes(tly_reference_output(d));
    const int64_t range = (int64_t)caps->buffer_range - 2 * (int64_t)caps->offset_align - 16;
    const int64_t trips = caps->trip_limit ? caps->trip_limit / 4 : INT32_MAX;
    return ((in > range || out > range) && !caps->addresses) || (!l.is_scan && l.length > trips);
}

/* Why the refusal is a fault; NULL: it is not. */
static const char *judge(const target *t, const tally_descriptor *d, const tally_error *e)
{
    if (e->status != TALLY_UNSUPPORTED)
        return e->message;
    if (d->order == TALLY_ORDER_EXACT)
        return strcmp(e->field, "order") ? e->message : NULL;
    if (!t->profile)
        return "refused on a CPU";
    if (!strcmp(e->field, "dtype"))
        return lacks_feature(d, &t->profile->caps) ? NULL : "the device has all that it needs";
    return !strcmp(e->field, "sizes") && exceeds(d, &t->profile->caps)
               ? NULL
               : "the device has room for it";
}

/* ---- one problem ---- */

typedef struct text {
    char bytes[1024];
    size_t length;
} text;

static int append(void *user, const char *bytes, size_t count)
{
    text *t = user;
    for (size_t k = 0; k < count && t->length + 1 < sizeof t->bytes; k++)
        t->bytes[t->length++] = bytes[k];
    return 0;
}

static tally_status inspect(const target *t, const tally_descriptor *d, tally_stage stage,
                            tally_error *error)
{
    const tally_kernel_options options = { .size = sizeof options,
                                           .device = t->profile ? NULL : t->name,
                                           .profile = t->profile ? t->profile->text : NULL };
    text shown = { .length = 0 };
    *error = (tally_error)TALLY_ERROR_INIT;
    tally_status s = tally_inspect(all.context, d, &options, stage, append, &shown, error);
    for (int k = 0; k < TEMPLATES && s == TALLY_OK && stage == TALLY_STAGE_PLAN; k++) {
        char line[40];
        snprintf(line, sizeof line, "template = %s\n", templates[k]);
        all.seen[k] += !strncmp(shown.bytes, line, strlen(line));
    }
    return s;
}

static void check(target *t, const tally_descriptor *d, const char *word, long number, int builds)
{
    tally_error error;
    snprintf(all.work, sizeof all.work, "%s on %s [--seed %llu --only %ld]\n", word, t->name,
             (unsigned long long)all.o.seed, number);
    tally_status s = inspect(t, d, TALLY_STAGE_PLAN, &error);
    const int planned = s == TALLY_OK;
    t->plans += planned;
    if (planned && builds) {
        s = inspect(t, d, TALLY_STAGE_KIR, &error);
        all.kernels++;
    }
    const char *why = planned ? error.message : judge(t, d, &error);
    if (planned && d->order == TALLY_ORDER_EXACT)
        why = "order=exact has a plan";
    else if (s == TALLY_OK)
        return;
    t->lacking += !why;
    if (why && all.failed++ < MOST_REPORTED)
        printf("FAILED %s       %s: %s\n", all.work, error.field, why);
}

static void draw(tly_random *r, tally_descriptor *d)
{
    const uint32_t draws = TLY_DRAW_WIDER |
                           (tly_random_one_in(r, 3) ? TLY_DRAW_REDUCTIONS : TLY_DRAW_SCANS);
    const int64_t most = tly_random_one_in(r, 8) ? (int64_t)1 << 40 : (int64_t)1 << 26;
    if (tly_random_one_in(r, 4))
        tly_random_problem(r, most, draws, d);
    else
        tly_random_view(r, most, draws, d);
    if (tly_random_one_in(r, 100))
        d->order = TALLY_ORDER_EXACT;
    const int opens = tly_random_one_in(r, 4);
    for (int k = 0; k < d->rank && opens; k++)
        if (tly_random_one_in(r, 3))
            d->sizes[k] = TALLY_OPEN_SIZE;
}

static int has_open_size(const tally_descriptor *d)
{
    for (int k = 0; k < d->rank; k++)
        if (d->sizes[k] == TALLY_OPEN_SIZE)
            return 1;
    return 0;
}

static void run_case(long number)
{
    tly_random r = tly_random_seed(all.o.seed, (uint64_t)number);
    tally_descriptor d;
    tally_error error = TALLY_ERROR_INIT;
    char word[TALLY_WORD_MAX];
    draw(&r, &d);
    alarm(MOST_SECONDS);
    if (tally_descriptor_print(&d, word, sizeof word, NULL, &error)) {
        all.failed++;
        printf("FAILED no descriptor [--only %ld]: %s\n", number, error.message);
        return;
    }
    const int builds = all.o.kernels > 0 && number % all.o.kernels == 0;
    for (int k = 0; k < (has_open_size(&d) ? TLY_LEVELS : all.target_count); k++)
        check(&all.targets[k], &d, word, number, builds);
}

/* ---- all of them ---- */

static int parse(run_options *o, int argc, char **argv)
{
    const tly_argument known[] = { { "--profiles", &o->profiles, NULL },
                                   { "--count", NULL, &o->count },
                                   { "--seed", NULL, &o->seed },
                                   { "--only", NULL, &o->only },
                                   { "--kernels", NULL, &o->kernels } };
    return tly_arguments_read(known, sizeof known / sizeof *known, argc, argv);
}

static int open_targets(void)
{
    for (int k = 0; k < TLY_LEVELS; k++)
        snprintf(all.targets[all.target_count++].name, sizeof all.targets[0].name, "cpu:%s",
                 tly_level_name(k));
    if (!all.o.profiles)
        return 0;
    const int count = tly_profiles_read(all.o.profiles, all.profiles, MOST_PROFILES);
    for (int k = 0; k < count; k++) {
        target *t = &all.targets[all.target_count++];
        t->profile = &all.profiles[k];
        snprintf(t->name, sizeof t->name, "%s", all.profiles[k].name);
    }
    return count == 0;
}

static int summary(void)
{
    int poor = 0;
    printf("every_plan: seed %llu, %ld problems:", (unsigned long long)all.o.seed,
           all.o.only >= 0 ? 1 : all.o.count);
    for (int k = 0; k < all.target_count; k++) {
        const target *t = &all.targets[k];
        printf("%s %s %ld", k ? "," : "", t->name, t->plans);
        if (t->lacking)
            printf(" (it lacks %ld)", t->lacking);
        poor |= t->plans == 0 && all.o.only < 0;
    }
    for (int k = 0; k < (all.o.profiles ? TEMPLATES : OF_LEVELS); k++) {
        printf("%s %s %ld", k ? "," : "; by", templates[k], all.seen[k]);
        poor |= all.seen[k] == 0 && all.o.only < 0 && all.o.count >= MANY;
    }
    printf("; %ld kernels; %ld failed\n", all.kernels, all.failed);
    return poor || all.failed;
}

int main(int argc, char **argv)
{
    static const int fatal[] = { SIGFPE, SIGSEGV, SIGBUS, SIGILL, SIGABRT, SIGALRM };
    all.o = (run_options){ .count = 1000, .only = -1, .seed = 1 };
    const tally_context_options options = { .size = sizeof options, .threads = 1 };
    if (parse(&all.o, argc, argv) || open_targets() ||
        tally_context_create(&options, &all.context, NULL)) {
        fprintf(stderr, "every_plan: see the head of tests/every_plan.c\n");
        return 2;
    }
    for (size_t k = 0; k < sizeof fatal / sizeof *fatal; k++)
        signal(fatal[k], on_signal);
    setvbuf(stdout, NULL, _IOLBF, 0);
    const long first = all.o.only >= 0 ? all.o.only : 0;
    const long end = all.o.only >= 0 ? all.o.only + 1 : all.o.count;
    for (long number = first; number < end; number++)
        run_case(number);
    tally_context_destroy(&all.context);
    for (int k = 0; k < MOST_PROFILES; k++)
        free(all.profiles[k].text);
    return summary();
}

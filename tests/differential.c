/*
 * The random differential driver: seeded cases, each run in every way there is (threads, places,
 * in place, task splits, backends) and compared with the reference.
 *
 *   differential [--level L]... [--count N] [--seed S] [--only N] [--most ELEMENTS]
 *                [--interpret] [--engines library,native,interpret,remote] [--self-test]
 *
 * Without --level: every level that this machine runs. Engines by default: library and native, for
 * AArch64 remote, for other levels that this machine lacks interpret; --interpret adds that to
 * them. Every failure prints one line that repeats it alone. Exit status: 0 if all cases passed
 * and there was at least one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver.h"

enum { MAX_LEVELS = 8, SELF_TEST_CASES = 300 };

typedef struct run_options {
    const char *levels[MAX_LEVELS];
    int level_count;
    long count, only;
    uint64_t seed;
    int64_t most;
    const char *engines; /* comma-separated; NULL: the level's default */
    int interpret, self_test;
    tally_device devices[MAX_LEVELS];
    size_t device_count;
} run_options;

/* ---- runs ---- */

static int runs_here(const run_options *o, const char *level)
{
    for (size_t k = 0; k < o->device_count; k++)
        if (!strcmp(o->devices[k].selector + strlen("cpu:"), level))
            return o->devices[k].runs_here;
    return 0;
}

static const char *engines_for(const run_options *o, const char *level)
{
    static const char *const names[3][2] = { { "library,native", "library,native,interpret" },
                                             { "remote", "remote,interpret" },
                                             { "interpret", "interpret" } };
    const int kind = runs_here(o, level) ? 0 : !strcmp(level, "aarch64") ? 1 : 2;
    return o->engines ? o->engines : names[kind][o->interpret];
}

static void print_summary(const run_options *o, const char *level, const tly_progress *at)
{
    printf("differential: level %s, engines %s, seed %llu, most %lld:", level,
           engines_for(o, level),
           (unsigned long long)o->seed, (long long)o->most);
    for (int k = 0; k < TLY_MOST_TEMPLATES && at->templates[k].count; k++)
        printf(" %s %ld", at->templates[k].name, at->templates[k].count);
    printf(";");
    for (int k = 0; k < TLY_DATA_COUNT; k++)
        printf(" %s %ld", tly_data_name((tly_data)k), at->data[k]);
    printf("; %lld elements judged, %lld of them to the bit; %ld passed, %ld failed\n",
           (long long)at->checked, (long long)at->exact, at->passed, at->failed);
}

static int run_cases(const run_options *o, const char *level, long end, tly_progress *at)
{
    const tly_course course = { o->seed, o->most, level, engines_for(o, level) };
    tly_driver v;
    int broken = tly_driver_open(&v, &course, at) || tly_driver_open_engines(&v);
    while (!broken && at->next < end)
        tly_driver_run(&v, at->next);
    tly_driver_close(&v);
    return broken ? TLY_BROKEN : TLY_RAN;
}

/* What a child did whose exit status `status` holds. */
static int await(pid_t child)
{
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child)
        return TLY_BROKEN;
    return WIFEXITED(status) ? WEXITSTATUS(status) : TLY_SIGNAL;
}

/* Cases run in a child, so that one that ends the process ends only itself; a single case runs
 * here, for a debugger. */
static int run_level(const run_options *o, const char *level, tly_progress *at)
{
    const long end = o->only >= 0 ? o->only + 1 : o->count;
    int status = TLY_SIGNAL;

    memset(at, 0, sizeof *at);
    at->next = o->only >= 0 ? o->only : 0;
    while (at->next < end && status == TLY_SIGNAL) {
        fflush(stdout);
        const pid_t child = o->only >= 0 ? 0 : fork();
        status = child == 0 ? run_cases(o, level, end, at) : await(child);
        if (child == 0 && o->only < 0) {
            fflush(stdout);
            _exit(status);
        }
        at->failed += status == TLY_SIGNAL;
    }
    if (status != TLY_BROKEN)
        print_summary(o, level, at);
    return status == TLY_BROKEN || at->failed || !at->passed;
}

/* Each fault in a process of its own, since the guard pages' way of noticing is a signal. */
static int fault_status(const run_options *o, tly_fault fault)
{
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        tally_error error = TALLY_ERROR_INIT;
        const tly_course course = { o->seed, o->most, "plain", "plain" };
        tly_progress at = { .next = 0 };
        tly_driver v;
        FILE *quiet = freopen("/dev/null", "w", stdout);
        if (!quiet || tly_driver_open(&v, &course, &at))
            _exit(TLY_BROKEN);
        v.engines[v.engine_count++] = tly_engine_plain(fault, &error);
        while (v.engines[0] && at.next < SELF_TEST_CASES && !at.failed)
            tly_driver_run(&v, at.next);
        _exit(at.failed ? TLY_RAN_WRONG : at.passed ? TLY_RAN : TLY_BROKEN);
    }
    return await(child);
}

static int self_test(const run_options *o)
{
    int wrong = 0;
    for (int fault = TLY_FAULT_NONE; fault < TLY_FAULT_COUNT; fault++) {
        const int status = fault_status(o, (tly_fault)fault);
        const int noticed = status == TLY_RAN_WRONG || status == TLY_SIGNAL;
        if (status == TLY_BROKEN || noticed != (fault != TLY_FAULT_NONE)) {
            printf("self-test: fault %d: %s\n", fault,
                   noticed ? "noticed, though there is none" : "not noticed");
            wrong++;
        }
    }
    printf("self-test: %d faults, %d passed, %d failed\n", TLY_FAULT_COUNT,
           TLY_FAULT_COUNT - wrong, wrong);
    return wrong != 0;
}

static int usage(const char *word)
{
    fprintf(stderr, "differential: what is %s? See the head of tests/differential.c\n", word);
    return 2;
}

static int add_level(run_options *o, const char *level)
{
    if (o->level_count == MAX_LEVELS)
        return 1;
    o->levels[o->level_count++] = level;
    return 0;
}

static void levels_of_machine(run_options *o)
{
    for (size_t k = 0; k < o->device_count; k++)
        if (o->devices[k].runs_here && !strncmp(o->devices[k].selector, "cpu:", 4))
            add_level(o, o->devices[k].selector + 4);
}

static int parse(run_options *o, int argc, char **argv)
{
    for (int k = 1; k < argc; k++) {
        const char *name = argv[k];
        if (!strcmp(name, "--self-test")) {
            o->self_test = 1;
            continue;
        }
        if (!strcmp(name, "--interpret")) {
            o->interpret = 1;
            continue;
        }
        const char *value = ++k < argc ? argv[k] : NULL;
        if (!value)
            return usage(name);
        if (!strcmp(name, "--level")) {
            if (add_level(o, value))
                return usage(value);
        } else if (!strcmp(name, "--count")) {
            o->count = strtol(value, NULL, 10);
        } else if (!strcmp(name, "--seed")) {
            o->seed = strtoull(value, NULL, 10);
        } else if (!strcmp(name, "--only")) {
            o->only = strtol(value, NULL, 10);
        } else if (!strcmp(name, "--most")) {
            o->most = strtoll(value, NULL, 10);
        } else if (!strcmp(name, "--engines")) {
            o->engines = value;
        } else {
            return usage(name);
        }
    }
    return o->most < 1 ? usage("--most below 1") : 0;
}

int main(int argc, char **argv)
{
    static run_options o = { .count = 2000, .only = -1, .seed = 1, .most = 100000 };
    tly_progress *at = mmap(NULL, sizeof *at, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int failed = parse(&o, argc, argv);

    if (failed || at == MAP_FAILED)
        return 2;
    setvbuf(stdout, NULL, _IOLBF, 0);
    tly_driver_catch_signals();
    if (o.self_test)
        return self_test(&o);
    for (int k = 0; k < MAX_LEVELS; k++)
        o.devices[k].size = sizeof o.devices[k];
    if (tally_devices(o.devices, MAX_LEVELS, &o.device_count, NULL))
        return usage("a machine without devices");
    if (o.device_count > MAX_LEVELS)
        o.device_count = MAX_LEVELS;
    if (!o.level_count)
        levels_of_machine(&o);
    if (!o.level_count)
        return usage("no level to run");
    for (int k = 0; k < o.level_count; k++)
        failed |= run_level(&o, o.levels[k], at);
    return failed;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The random differential driver: seeded cases, each run in every way there is (threads, places,
 * in place, task splits, backends) and compared with the reference.
 *
 *   differential [--device D]... [--level L]... [--count N] [--seed S] [--only N]
 *                [--most ELEMENTS] [--ops OP,OP...|scans|reductions|made|all] [--interpret]
 *                [--engines library,carry,offsets,native,interpret,remote] [--quick] [--stages]
 *                [--self-test]
 *
 * D is what `tally --device` takes, --level L is --device cpu:L; without them: every level of CPU
 * that this machine runs. Engines by default: library and native, for Vulkan library alone, for
 * AArch64 and RISC-V remote, for other levels that this machine lacks interpret; --interpret adds
 * that to those of CPUs. --quick: kernels for CPUs are made by LLVM's quick selection, as a context
 * with TALLY_COMPILE_BACKGROUND has them first. --stages: words have operands, `map` and `post`,
 * and the summary counts those that have no kernels.
 * Operators by default: `made`, those that kernels exist for, on Vulkan devices scans; of
 * reductions and of operators that are named with those outputs, too, that are wider than the
 * input. Every failure prints one line that repeats it alone.
 * SIGTERM ends the case in work, and the summary says how many there were until then.
 * Exit status: 0 if every device is there, no case failed, none was refused but for a dtype that
 * its device says it lacks, and at least one passed.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver.h"

enum { MAX_DEVICES = 8, SELF_TEST_CASES = 300, SELF_TEST_STAGES = 100 };

typedef struct run_options {
    char devices[MAX_DEVICES][64]; /* as asked for */
    int device_count;
    long count, only;
    uint64_t seed;
    int64_t most;
    uint32_t draws; /* as in random.h */
    const char *ops;
    const char *engines; /* comma-separated; NULL: the device's default */
    int interpret, quick, self_test;
    uint32_t stages; /* TLY_DRAW_STAGES, or 0 */
} run_options;

/* What processes share. */
typedef struct shared {
    tly_progress at;
    tally_device device;             /* the one whose cases run */
    char selectors[MAX_DEVICES][64]; /* of the levels that this machine runs */
    int selector_count;
} shared;

/* ---- an end before the last case ---- */

static volatile sig_atomic_t stopped, child_in_work;

/* A case of a device may take long, and who sends SIGTERM does not wait for it. */
static void on_stop(int number)
{
    (void)number;
    stopped = 1;
    if (child_in_work > 0)
        kill((pid_t)child_in_work, SIGKILL);
}

static void catch_stop(void)
{
    const struct sigaction action = { .sa_handler = on_stop };
    sigaction(SIGTERM, &action, NULL);
}

/* ---- runs ---- */

static const char *engines_for(const run_options *o, const tally_device *device)
{
    static const char *const names[4][2] = { { "library,native", "library,native,interpret" },
                                             { "remote", "remote,interpret" },
                                             { "interpret", "interpret" },
                                             { "library", "library" } };
    const int kind = !strcmp(device->kind, "vulkan") ? 3
                     : device->runs_here             ? 0
                     : !strcmp(device->selector, "cpu:aarch64") ||
                             !strcmp(device->selector, "cpu:riscv64")
                         ? 1
                         : 2;
    return o->engines ? o->engines : names[kind][o->interpret];
}

static uint32_t draws_for(const run_options *o, const tally_device *device)
{
    const uint32_t ops = o->ops || strcmp(device->kind, "vulkan") != 0 ? o->draws : TLY_DRAW_SCANS;
    return ops | o->stages;
}

static void print_summary(const run_options *o, const tally_device *device, const tly_progress *at)
{
    printf("differential: device %s (%s), engines %s, seed %llu, most %lld:", device->selector,
           device->name, engines_for(o, device), (unsigned long long)o->seed, (long long)o->most);
    for (int k = 0; k < TLY_MOST_TEMPLATES && at->templates[k].count; k++)
        printf(" %s %ld", at->templates[k].name, at->templates[k].count);
    printf(";");
    for (int k = 0; k < TLY_DATA_COUNT; k++)
        printf(" %s %ld", tly_data_name((tly_data)k), at->data[k]);
    printf("; %lld elements judged, %lld of them to the bit; %ld by forced plans, %ld plans "
           "refused; %ld on the host's threads; ",
           (long long)at->checked, (long long)at->exact, at->forced, at->plans_refused, at->hosted);
    if (o->stages)
        printf("%ld with stages; %ld words with stages have no kernels, ", at->staged, at->unmade);
    if (at->refused > at->unmade)
        printf("%ld refused for what the device lacks (%s), ", at->refused - at->unmade,
               device->lacks);
    if (stopped)
        printf("stopped, ");
    printf("%ld passed, %ld failed\n", at->passed, at->failed);
}

/* ---- processes ---- */

/* What a child did whose exit status `status` holds. */
static int await(pid_t child)
{
    int status = 0;
    pid_t ended = -1;
    while (child > 0 && (ended = waitpid(child, &status, 0)) < 0 && errno == EINTR)
        continue;
    if (ended != child)
        return TLY_BROKEN;
    return WIFEXITED(status) ? WEXITSTATUS(status) : TLY_SIGNAL;
}

/* Vulkan drivers have threads and do not survive a fork, so this process never opens one: it asks
 * its children. */
static int in_child(int (*f)(const run_options *, shared *, const char *), const run_options *o,
                    shared *all, const char *text)
{
    sigset_t stop, before;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTERM);
    fflush(stdout);
    sigprocmask(SIG_BLOCK, &stop, &before); /* while there is a child that nobody knows of */
    const pid_t child = stopped ? -1 : fork();
    child_in_work = child;
    if (child == 0)
        signal(SIGTERM, SIG_DFL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (child) {
        const int status = await(child);
        child_in_work = 0;
        return status;
    }
    const int status = f(o, all, text);
    fflush(stdout);
    _exit(status);
}

static int find_device(const run_options *o, shared *all, const char *text)
{
    char why[256];
    (void)o;
    if (!tly_target_find(text, &all->device, why, sizeof why))
        return TLY_RAN;
    printf("differential: %s\n", why);
    return TLY_BROKEN;
}

static int list_levels(const run_options *o, shared *all, const char *kind)
{
    tally_device devices[TLY_MOST_TARGETS] = { { .size = sizeof devices[0] } };
    size_t count = 0;
    (void)o;
    if (tally_devices(devices, TLY_MOST_TARGETS, &count, NULL))
        return TLY_BROKEN;
    for (size_t k = 0; k < count && k < TLY_MOST_TARGETS; k++)
        if (devices[k].runs_here && !strcmp(devices[k].kind, kind) &&
            all->selector_count < MAX_DEVICES)
            snprintf(all->selectors[all->selector_count++], sizeof all->selectors[0], "%s",
                     devices[k].selector);
    return all->selector_count ? TLY_RAN : TLY_BROKEN;
}

static long end_of(const run_options *o)
{
    return o->only >= 0 ? o->only + 1 : o->count;
}

static int run_cases(const run_options *o, shared *all, const char *unused)
{
    const tly_course course = {
        o->seed,     o->most, draws_for(o, &all->device), o->ops, engines_for(o, &all->device),
        all->device, o->quick
    };
    tly_driver v;
    int broken = tly_driver_open(&v, &course, &all->at) || tly_driver_open_engines(&v);
    (void)unused;
    while (!broken && all->at.next < end_of(o))
        tly_driver_run(&v, all->at.next);
    tly_driver_close(&v);
    return broken ? TLY_BROKEN : TLY_RAN;
}

/* Cases run in a child, so that one that ends the process ends only itself; a single case runs
 * here, for a debugger. */
static int run_device(const run_options *o, shared *all, const char *text)
{
    tly_progress *at = &all->at;
    int status = TLY_SIGNAL;

    if (in_child(find_device, o, all, text))
        return 1;
    memset(at, 0, sizeof *at);
    at->next = o->only >= 0 ? o->only : 0;
    while (at->next < end_of(o) && status == TLY_SIGNAL && !stopped) {
        status = o->only >= 0 ? run_cases(o, all, NULL) : in_child(run_cases, o, all, NULL);
        at->failed += status == TLY_SIGNAL && !stopped;
    }
    if (stopped || status != TLY_BROKEN)
        print_summary(o, &all->device, at);
    return status == TLY_BROKEN || at->failed || (!at->passed && !at->unmade && o->only < 0) ||
           !(at->passed + at->refused);
}

/* ---- the driver on itself ---- */

/* Each fault in a process of its own, since the guard pages' way of noticing is a signal. */
static int fault_status(const run_options *o, tly_fault fault, int flushes)
{
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        tally_error error = TALLY_ERROR_INIT;
        tly_course course = { o->seed, o->most, o->draws | o->stages,
                              o->ops,  "plain", { .kind = "plain" },
                              0 };
        tly_progress at = { .next = 0 };
        tly_driver v;
        FILE *quiet = freopen("/dev/null", "w", stdout);
        snprintf(course.device.lacks, sizeof course.device.lacks, "%s",
                 flushes ? "subnormals" : "");
        if (!quiet || tly_driver_open(&v, &course, &at))
            _exit(TLY_BROKEN);
        v.engines[v.engine_count++] = tly_engine_plain(fault, &error);
        const long count = o->stages ? SELF_TEST_STAGES : SELF_TEST_CASES;
        while (v.engines[0] && at.next < count && !at.failed)
            tly_driver_run(&v, at.next);
        _exit(at.failed ? TLY_RAN_WRONG : at.passed ? TLY_RAN : TLY_BROKEN);
    }
    return await(child);
}

/* Every fault twice: where subnormals may count as zeros, exactly that one is none. With stages
 * only faults that they can have. */
static int self_test(const run_options *o)
{
    int wrong = 0, tried = 0;
    for (int k = 0; k < 2 * TLY_FAULT_COUNT; k++) {
        const int fault = k / 2, flushes = k % 2;
        const int is_of_both = fault == TLY_FAULT_NONE || fault == TLY_FAULT_LAST_BIT;
        if (!is_of_both && (fault >= TLY_FAULT_STAGES) != (o->stages != 0))
            continue;
        const int status = fault_status(o, (tly_fault)fault, flushes);
        const int noticed = status == TLY_RAN_WRONG || status == TLY_SIGNAL;
        const int is_one = fault != TLY_FAULT_NONE && !(fault == TLY_FAULT_FLUSH && flushes);
        tried++;
        if (status == TLY_BROKEN || noticed != is_one) {
            printf("self-test: fault %d%s: %s\n", fault, flushes ? ", flushing" : "",
                   noticed ? "noticed, though there is none" : "not noticed");
            wrong++;
        }
    }
    printf("self-test: %d faults, %d passed, %d failed\n", tried, tried - wrong, wrong);
    return wrong != 0;
}

static int usage(const char *word)
{
    fprintf(stderr, "differential: what is %s? See the head of tests/differential.c\n", word);
    return 2;
}

static int take_ops(run_options *o, const char *names)
{
    const struct {
        const char *name;
        uint32_t draws;
    } groups[] = { { "scans", TLY_DRAW_SCANS },
                   { "reductions", TLY_DRAW_REDUCTIONS | TLY_DRAW_WIDER },
                   { "made", TLY_DRAW_MADE },
                   { "all", TLY_DRAW_ALL } };
    char copy[256], *rest = copy, *name;
    o->ops = names;
    for (size_t k = 0; k < sizeof groups / sizeof groups[0]; k++)
        if (!strcmp(names, groups[k].name)) {
            o->draws = groups[k].draws;
            return 0;
        }
    o->draws = TLY_DRAW_WIDER;
    snprintf(copy, sizeof copy, "%s", names);
    while ((name = strsep(&rest, ",")) != NULL) {
        int op = 1;
        while (op < TALLY_OP_COUNT && strcmp(name, tally_op_name((tally_op)op)) != 0)
            op++;
        if (op == TALLY_OP_COUNT)
            return 1;
        o->draws |= 1u << op;
    }
    return 0;
}

static int add_device(run_options *o, const char *prefix, const char *device)
{
    if (o->device_count == MAX_DEVICES)
        return 1;
    const int length = snprintf(o->devices[o->device_count++], sizeof o->devices[0], "%s%s", prefix,
                                device);
    return length < 0 || (size_t)length >= sizeof o->devices[0];
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
        if (!strcmp(name, "--stages")) {
            o->stages = TLY_DRAW_STAGES;
            continue;
        }
        if (!strcmp(name, "--quick")) {
            o->quick = 1;
            continue;
        }
        const char *value = ++k < argc ? argv[k] : NULL;
        if (!value)
            return usage(name);
        if (!strcmp(name, "--level") || !strcmp(name, "--device")) {
            if (add_device(o, name[2] == 'l' ? "cpu:" : "", value))
                return usage(value);
        } else if (!strcmp(name, "--count")) {
            o->count = strtol(value, NULL, 10);
        } else if (!strcmp(name, "--seed")) {
            o->seed = strtoull(value, NULL, 10);
        } else if (!strcmp(name, "--only")) {
            o->only = strtol(value, NULL, 10);
        } else if (!strcmp(name, "--most")) {
            o->most = strtoll(value, NULL, 10);
        } else if (!strcmp(name, "--ops")) {
            if (take_ops(o, value))
                return usage(value);
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
    shared *all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                       0);
    o.draws = TLY_DRAW_MADE;
    int failed = parse(&o, argc, argv);

    if (failed || all == MAP_FAILED)
        return 2;
    setvbuf(stdout, NULL, _IOLBF, 0);
    tly_driver_catch_signals();
    if (o.self_test)
        return self_test(&o);
    if (o.only < 0)
        catch_stop();
    if (!o.device_count && in_child(list_levels, &o, all, "cpu"))
        return usage("a machine that runs no level");
    for (int k = 0; k < all->selector_count; k++)
        add_device(&o, "", all->selectors[k]);
    for (int k = 0; k < o.device_count; k++)
        failed |= run_device(&o, all, o.devices[k]);
    return failed;
}

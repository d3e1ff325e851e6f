/*
 * The random differential driver: seeded cases, each run in every way there is (threads, places,
 * in place, task splits, backends) and compared with the reference.
 *
 *   differential [--level L]... [--count N] [--seed S] [--only N] [--most ELEMENTS]
 *                [--engines library,native,interpret,remote] [--interpret]
 *                [--self-test]
 *
 * Without --level: every level that this machine runs. Every failure prints one line that repeats
 * it alone. Exit status: 0 if all cases passed and there was at least one.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trial.h"

enum { MAX_LEVELS = 8, MAX_ENGINES = 4, MAX_TEMPLATES = 16, MAX_REPORTED = 20,
       SELF_TEST_CASES = 300 };

typedef struct tally_count {
    char name[24];
    long count;
} tally_count;

typedef struct run_options {
    const char *levels[MAX_LEVELS];
    int level_count;
    long count, only;
    uint64_t seed;
    int64_t most;
    const char *engines; /* comma-separated; NULL: library,native */
    int self_test;
} run_options;

/* What outlives a case that ends its process. */
typedef struct progress {
    tally_count templates[MAX_TEMPLATES];
    long data[TLY_DATA_COUNT];
    long next;           /* the case after the one in work */
    long passed, failed;
    int64_t checked, exact;
} progress;

typedef struct driver {
    const run_options *o;
    const char *level;
    tally_context *context;
    tly_engine *engines[MAX_ENGINES];
    int engine_count;
    tly_arena in, out;
    progress *at;
} driver;

/* What a signal handler prints: the case in work. */
static char repro[2 * TALLY_WORD_MAX];
static const tly_trial *volatile in_work;

enum { STATUS_PASSED, STATUS_FAILED, STATUS_BROKEN, STATUS_SIGNAL };

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
    (void)number, (void)context;
    put("FAILED ");
    put(repro);
    put("       a signal (a touch beyond a tensor, or worse) at 0x");
    put(address);
    put(": ");
    put(in_work ? in_work->why : "between cases");
    put("\n");
    _exit(STATUS_SIGNAL);
}

static void catch_signals(void)
{
    static const int numbers[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE };
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

static void count_template(driver *v, const tly_trial *t)
{
    char device[40], name[24] = "unknown";
    text plan = { .length = 0 };
    const tally_kernel_options options = { .size = sizeof options, .device = device,
                                           .plan = *t->plan ? t->plan : NULL };
    tally_count *counts = v->at->templates;
    int k = 0;

    snprintf(device, sizeof device, "cpu:%s", v->level);
    if (tally_inspect(v->context, &t->d, &options, TALLY_STAGE_PLAN, append, &plan, NULL) == 0)
        sscanf(plan.bytes, "template = %23s", name);
    while (k < MAX_TEMPLATES - 1 && counts[k].count && strcmp(counts[k].name, name))
        k++;
    snprintf(counts[k].name, sizeof counts[k].name, "%s", name);
    counts[k].count++;
}

/* ---- cases ---- */

/* Small blocks and chunks, so that their borders come often; "" is the planner's own choice. */
static const char *const plans[] = { "", "", "", "", "chunk=2048,block=512" };

static void draw(tly_trial *t, const run_options *o, long number)
{
    tly_random r = tly_random_seed(o->seed, (uint64_t)number);
    tly_random_descriptor(&r, o->most, &t->d);
    t->data = tly_random_data(&r, &t->d);
    t->plan = plans[tly_random_below(&r, sizeof plans / sizeof plans[0])];
    t->random = r;
    t->why[0] = 0;
}

static void describe(const driver *v, const tly_trial *t, long number)
{
    char word[TALLY_WORD_MAX];
    if (tally_descriptor_print(&t->d, word, sizeof word, NULL, NULL))
        snprintf(word, sizeof word, "(no valid descriptor)");
    snprintf(repro, sizeof repro,
             "%s  [differential --level %s --engines %s --seed %llu --most %lld --only %ld; "
             "data %s, plan \"%s\"]\n",
             word, v->level, v->o->engines, (unsigned long long)v->o->seed,
             (long long)v->o->most, number, tly_data_name(t->data), t->plan);
}

static void run_case(driver *v, long number)
{
    tly_trial t = { .in = &v->in, .out = &v->out };

    v->at->next = number + 1;
    draw(&t, v->o, number);
    describe(v, &t, number);
    in_work = &t;
    if (tally_descriptor_check(&t.d, NULL)) {
        snprintf(t.why, sizeof t.why, "the driver drew an invalid descriptor");
    } else if (!tly_trial_run(&t, v->engines, v->engine_count)) {
        v->at->passed++;
        v->at->data[t.data]++;
        v->at->checked += t.verdict.checked;
        v->at->exact += t.verdict.exact;
        count_template(v, &t);
        return;
    }
    if (v->at->failed++ < MAX_REPORTED)
        printf("FAILED %s       %s\n", repro, t.why);
}

/* ---- engines ---- */

static tly_engine *open_engine(driver *v, const char *name, tally_error *error)
{
    const char *level = v->level;
    if (!strcmp(name, "library"))
        return tly_engine_library(v->context, level, error);
    if (!strcmp(name, "native"))
        return tly_engine_native(v->context, level, error);
    if (!strcmp(name, "interpret"))
        return tly_engine_interpret(v->context, level, error);
    if (!strcmp(name, "remote"))
        return tly_engine_remote(v->context, level, error);
    snprintf(error->message, sizeof error->message, "there is no such engine");
    return NULL;
}

static int open_engines(driver *v)
{
    char names[128], *rest = names, *name;
    snprintf(names, sizeof names, "%s", v->o->engines);
    while ((name = strsep(&rest, ",")) != NULL) {
        tally_error error = TALLY_ERROR_INIT;
        if (v->engine_count == MAX_ENGINES)
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

static void close_driver(driver *v)
{
    for (int k = 0; k < v->engine_count; k++)
        v->engines[k]->close(v->engines[k]);
    tally_context_destroy(&v->context);
    tly_arena_close(&v->in);
    tly_arena_close(&v->out);
}

static int open_driver(driver *v)
{
    const tally_context_options options = { .size = sizeof options, .threads = 3 };
    tally_error error = TALLY_ERROR_INIT;
    const size_t bytes = (size_t)v->o->most * 8 * 9;
    if (tly_arena_open(&v->in, bytes) || tly_arena_open(&v->out, bytes)) {
        printf("no buffers: %s\n", strerror(errno));
        return 1;
    }
    if (tally_context_create(&options, &v->context, &error)) {
        printf("no context: %s\n", error.message);
        return 1;
    }
    return 0;
}

/* ---- runs ---- */

static void print_summary(const run_options *o, const char *level, const progress *at)
{
    printf("differential: level %s, engines %s, seed %llu, most %lld:", level, o->engines,
           (unsigned long long)o->seed, (long long)o->most);
    for (int k = 0; k < MAX_TEMPLATES && at->templates[k].count; k++)
        printf(" %s %ld", at->templates[k].name, at->templates[k].count);
    printf(";");
    for (int k = 0; k < TLY_DATA_COUNT; k++)
        printf(" %s %ld", tly_data_name((tly_data)k), at->data[k]);
    printf("; %lld elements judged, %lld of them to the bit; %ld passed, %ld failed\n",
           (long long)at->checked, (long long)at->exact, at->passed, at->failed);
}

static int run_cases(const run_options *o, const char *level, long end, progress *at)
{
    driver v = { .o = o, .level = level, .at = at };
    int broken = open_driver(&v) || open_engines(&v);
    while (!broken && at->next < end)
        run_case(&v, at->next);
    close_driver(&v);
    return broken ? STATUS_BROKEN : STATUS_PASSED;
}

/* What a child did whose exit status `status` holds. */
static int await(pid_t child)
{
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child)
        return STATUS_BROKEN;
    return WIFEXITED(status) ? WEXITSTATUS(status) : STATUS_SIGNAL;
}

/* Cases run in a child, so that one that ends the process ends only itself; a single case runs
 * here, for a debugger. */
static int run_level(const run_options *o, const char *level, progress *at)
{
    const long end = o->only >= 0 ? o->only + 1 : o->count;
    int status = STATUS_SIGNAL;

    memset(at, 0, sizeof *at);
    at->next = o->only >= 0 ? o->only : 0;
    while (at->next < end && status == STATUS_SIGNAL) {
        fflush(stdout);
        const pid_t child = o->only >= 0 ? 0 : fork();
        status = child == 0 ? run_cases(o, level, end, at) : await(child);
        if (child == 0 && o->only < 0) {
            fflush(stdout);
            _exit(status);
        }
        at->failed += status == STATUS_SIGNAL;
    }
    if (status != STATUS_BROKEN)
        print_summary(o, level, at);
    return status == STATUS_BROKEN || at->failed || !at->passed;
}

/* Each fault in a process of its own, since the guard pages' way of noticing is a signal. */
static int fault_status(const run_options *o, tly_fault fault)
{
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        tally_error error = TALLY_ERROR_INIT;
        progress at = { .next = 0 };
        driver v = { .o = o, .level = "plain", .at = &at };
        FILE *quiet = freopen("/dev/null", "w", stdout);
        if (!quiet || open_driver(&v))
            _exit(STATUS_BROKEN);
        v.engines[v.engine_count++] = tly_engine_plain(fault, &error);
        while (v.engines[0] && at.next < SELF_TEST_CASES && !at.failed)
            run_case(&v, at.next);
        _exit(at.failed ? STATUS_FAILED : at.passed ? STATUS_PASSED : STATUS_BROKEN);
    }
    return await(child);
}

static int self_test(const run_options *o)
{
    int wrong = 0;
    for (int fault = TLY_FAULT_NONE; fault < TLY_FAULT_COUNT; fault++) {
        const int status = fault_status(o, (tly_fault)fault);
        const int noticed = status == STATUS_FAILED || status == STATUS_SIGNAL;
        if (status == STATUS_BROKEN || noticed != (fault != TLY_FAULT_NONE)) {
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

/* Every level that this machine runs. The strings of `devices` must outlive the run. */
static void levels_of_machine(run_options *o, tally_device *devices, size_t capacity)
{
    size_t count = 0;
    for (size_t k = 0; k < capacity; k++)
        devices[k].size = sizeof devices[k];
    if (tally_devices(devices, capacity, &count, NULL))
        return;
    for (size_t k = 0; k < count && k < capacity; k++)
        if (devices[k].runs_here && !strncmp(devices[k].selector, "cpu:", 4))
            add_level(o, devices[k].selector + 4);
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
            o->engines = "interpret";
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
    tally_device devices[MAX_LEVELS];
    progress *at = mmap(NULL, sizeof *at, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    run_options o = { .count = 2000, .only = -1, .seed = 1, .most = 100000,
                      .engines = "library,native" };
    int failed = parse(&o, argc, argv);
    if (failed || at == MAP_FAILED)
        return 2;
    setvbuf(stdout, NULL, _IOLBF, 0);
    catch_signals();
    if (o.self_test)
        return self_test(&o);
    if (!o.level_count)
        levels_of_machine(&o, devices, MAX_LEVELS);
    if (!o.level_count)
        return usage("no level to run");
    for (int k = 0; k < o.level_count; k++)
        failed |= run_level(&o, o.levels[k], at);
    return failed;
}

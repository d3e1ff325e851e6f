/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels made in a process of their own (tally_context_options.isolate): the same bytes as in
 * this one, from many threads, after a fork, however the host has set its signals and standard
 * files, and nothing is left open. A helper that crashes, hangs, says nonsense or is missing is a
 * status with a message, and the same context then makes kernels again. With a Vulkan device in
 * TALLY_TEST_DEVICES: kernels for that, and nothing else.
 */
#include "../../runtime/making/isolate.h"
#include "../../runtime/cpu/cpu.h"
#include "../../runtime/making/maker.h"
#include "../../runtime/problem/canonicalise.h"

#include <tally.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static int failures;

#define EXPECT(condition, ...) \
    do { \
        if (!(condition)) { \
            failures++; \
            fprintf(report, "%d: ", __LINE__); \
            fprintf(report, __VA_ARGS__); \
            putc('\n', report); \
        } \
    } while (0)

enum { LIMIT = 60000, LENGTH = 1000 };

static FILE *report; /* standard output, which a test closes */

static tally_context *new_context(uint32_t isolate, const char *generator)
{
    tally_context_options options = { .size = sizeof options,
                                      .isolate = isolate,
                                      .generator = generator };
    tally_context *context = NULL;
    EXPECT(tally_context_create(&options, &context, NULL) == TALLY_OK, "no context");
    return context;
}

static const char *device; /* NULL: this CPU */

/* Makes the kernel for sums of `length` elements and computes with it. */
static tally_status works(tally_context *context, int length, tally_error *error)
{
    char word[64];
    tally_descriptor d;
    tally_kernel *kernel = NULL;
    tally_kernel_options options = { .size = sizeof options, .device = device };
    int32_t in[LENGTH], out[LENGTH];
    snprintf(word, sizeof word, "cumsum:i32:%d:axis=0", length);
    for (int i = 0; i < length; i++) {
        in[i] = i;
    }
    tally_status status = tally_descriptor_parse(word, &d, error);
    if (status == TALLY_OK) {
        status = tally_kernel_create(context, &d, &options, &kernel, error);
    }
    if (status == TALLY_OK) {
        status = tally_kernel_run(kernel, in, out, error);
        EXPECT(out[length - 1] == length * (length - 1) / 2, "%s: wrong", word);
    }
    tally_kernel_destroy(&kernel);
    return status;
}

/* A new context makes a kernel. */
static void expect_works(const char *when)
{
    tally_error error = TALLY_ERROR_INIT;
    tally_context *context = new_context(LIMIT, NULL);
    tally_status status = works(context, 100, &error);
    EXPECT(status == TALLY_OK, "%s: %s: %s", when, tally_status_name(status), error.message);
    tally_context_destroy(&context);
}

/* --- the same bytes -------------------------------------------------------------------------- */

typedef struct text {
    char *bytes;
    size_t count;
} text;

static int gather(void *user, const char *bytes, size_t count)
{
    text *t = user;
    t->bytes = realloc(t->bytes, t->count + count + 1);
    memcpy(t->bytes + t->count, bytes, count);
    t->count += count;
    return 0;
}

static void same_text(tally_context *here, tally_context *there, const char *word,
                      const tally_kernel_options *options, tally_stage stage)
{
    tally_error error = TALLY_ERROR_INIT;
    tally_descriptor d;
    text a = { NULL, 0 }, b = { NULL, 0 };
    tally_descriptor_parse(word, &d, NULL);
    EXPECT(tally_inspect(here, &d, options, stage, gather, &a, &error) == TALLY_OK &&
               tally_inspect(there, &d, options, stage, gather, &b, &error) == TALLY_OK,
           "%s, stage %d: %s", word, (int)stage, error.message);
    EXPECT(a.count > 0 && a.count == b.count && memcmp(a.bytes, b.bytes, a.count) == 0,
           "%s, stage %d: %zu and %zu bytes differ", word, (int)stage, a.count, b.count);
    free(a.bytes);
    free(b.bytes);
}

static void same_code(tally_context *here, tally_context *there, const char *word,
                      const char *level, int quick)
{
    tally_error error = TALLY_ERROR_INIT;
    tally_descriptor d;
    tly_problem problem;
    tly_geometry geometry;
    tly_artifact a, b;
    const tly_generator *g;
    tally_descriptor_parse(word, &d, NULL);
    tly_canonicalise(&d, 0, &problem, &geometry);
    if (tly_generator_find(here, &g, &error) != TALLY_OK ||
        tly_make_cpu(here, g, &problem, level, "", quick, &a, &error) != TALLY_OK ||
        tly_make_cpu(there, g, &problem, level, "", quick, &b, &error) != TALLY_OK) {
        EXPECT(0, "%s: %s", word, error.message);
        return;
    }
    EXPECT(a.code_bytes == b.code_bytes && memcmp(a.code, b.code, a.code_bytes) == 0 &&
               a.launch.chunk == b.launch.chunk && a.launch.form == b.launch.form &&
               strcmp(a.launch.template_name, b.launch.template_name) == 0,
           "%s for %s, quick %d: other code", word, level, quick);
    tly_release_cpu(here, g, &a);
    tly_release_cpu(there, g, &b);
}

static void same_bytes(const char *profile)
{
    static const char *const words[] = { "cumprod:f32:100x4096:axis=1", "cumsum:bf16:9x60:axis=1",
                                         "cumprod:f16:70x33:axis=0,reverse,exclusive" };
    static const char *const levels[] = { "x86-64-v2", "x86-64-v4", "aarch64" };
    tally_context *here = new_context(0, NULL), *there = new_context(LIMIT, NULL);
    for (int i = 0; i < 3; i++) {
        tally_kernel_options cpu = { .size = sizeof cpu, .device = "cpu:x86-64-v3" };
        tally_kernel_options gpu = { .size = sizeof gpu, .profile = profile };
        same_code(here, there, words[i], levels[i], 0);
        same_code(here, there, words[i], levels[i], 1);
        same_text(here, there, words[i], &cpu, TALLY_STAGE_ASM);
        if (profile != NULL) {
            same_text(here, there, words[i], &gpu, TALLY_STAGE_SPIRV);
            same_text(here, there, words[i], &gpu, TALLY_STAGE_SPVASM);
        }
    }
    tally_context_destroy(&here);
    tally_context_destroy(&there);
}

/* --- the host -------------------------------------------------------------------------------- */

static void *one_of_many(void *context)
{
    tally_error error = TALLY_ERROR_INIT;
    static atomic_int number;
    int length = 5 + number++; /* short rows: each length is a problem of its own */
    EXPECT(works(context, length, &error) == TALLY_OK, "%d: %s", length, error.message);
    return NULL;
}

static void many_threads(void)
{
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    tally_context *context = new_context(LIMIT, NULL);
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, one_of_many, context);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    tally_stats stats = { .size = sizeof stats };
    tally_context_stats(context, &stats);
    EXPECT(stats.compiled == THREADS, "%d kernels", (int)stats.compiled);
    tally_context_destroy(&context);
}

static atomic_int signals;

static void reap_all(int number)
{
    int saved = errno;
    (void)number;
    signals++;
    while (waitpid(-1, NULL, WNOHANG) > 0) {
    }
    errno = saved;
}

static void count_signal(int number)
{
    (void)number;
    signals++;
}

static void with_handler(int number, void (*handler)(int), const char *when)
{
    struct sigaction action = { .sa_handler = handler }, before, after;
    sigaction(number, &action, &before);
    expect_works(when);
    sigaction(number, NULL, &after);
    EXPECT(after.sa_handler == handler, "%s: the handler is another", when);
    sigaction(number, &before, NULL);
}

static void with_signals(void)
{
    const struct itimerval often = { { 0, 700 }, { 0, 700 } }, never = { { 0, 0 }, { 0, 0 } };
    sigset_t all, before;
    with_handler(SIGCHLD, SIG_IGN, "SIGCHLD ignored");
    with_handler(SIGCHLD, reap_all, "a host that waits for all");
    signals = 0;
    const struct sigaction count = { .sa_handler = count_signal }; /* and system calls end early */
    sigaction(SIGALRM, &count, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    expect_works("interrupted");
    setitimer(ITIMER_REAL, &never, NULL);
    EXPECT(signals > 0, "nothing was interrupted");
    signal(SIGALRM, SIG_IGN); /* the helper's must not be */
    expect_works("SIGALRM ignored");
    signal(SIGALRM, SIG_DFL);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    expect_works("every signal blocked");
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void in_child(void (*body)(void), const char *when)
{
    pid_t child = fork();
    if (child == 0) {
        failures = 0;
        body();
        fflush(report);
        _exit(failures != 0);
    }
    int how = 0;
    waitpid(child, &how, 0);
    EXPECT(how == 0, "%s: status %d", when, how);
}

static void just_works(void)
{
    expect_works("after fork");
}

static void without_files(void)
{
    report = fdopen(fcntl(1, F_DUPFD_CLOEXEC, 20), "w");
    close(0);
    close(1);
    close(2);
    expect_works("standard files closed");
}

static int open_files(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (folder != NULL && readdir(folder) != NULL) {
        count++;
    }
    closedir(folder);
    return count;
}

/* --- bad helpers ----------------------------------------------------------------------------- */

static char folder[64];

static void put_helper(const char *script)
{
    char path[128];
    snprintf(path, sizeof path, "%s/tally-maker", folder);
    unlink(path);
    FILE *file = fopen(path, "we");
    fputs(script, file);
    fclose(file);
    chmod(path, 0755);
}

static void copy(const char *from, const char *name)
{
    char command[4096];
    snprintf(command, sizeof command, "cp '%s' '%s/%s'", from, folder, name);
    EXPECT(system(command) == 0, "%s", command);
}

static const struct {
    const char *script;
    tally_status status;
    const char *says;
    uint32_t limit;
} helpers[] = {
    { "#!/bin/sh\nkill -SEGV $$\n", TALLY_INTERNAL, "signal 11", LIMIT },
    { "#!/bin/sh\necho LLVM ERROR: out of memory >&2\nkill -ABRT $$\n", TALLY_OUT_OF_MEMORY,
      "out of memory", LIMIT },
    { "#!/bin/sh\nexit 3\n", TALLY_INTERNAL, "status 3", LIMIT },
    { "#!/bin/sh\nexec sleep 60\n", TALLY_TIMEOUT, "20 ms", 20 },
    { "#!/bin/sh\nkill -STOP $$\n", TALLY_TIMEOUT, "20 ms", 20 },
    { "#!/bin/sh\necho hello >&0\n", TALLY_INTERNAL, "ended", LIMIT },
    { "#!/bin/sh\nhead -c 100000 /dev/zero >&0\n", TALLY_NO_GENERATOR, "another version", LIMIT },
    { "#!/no/such/interpreter\n", TALLY_NO_GENERATOR, "tally-maker", LIMIT },
};

/* Whether there is a helper is told without starting it. */
static void is_looked_for(const char *generator)
{
    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    tally_error asked = TALLY_ERROR_INIT, made = TALLY_ERROR_INIT;
    const tally_kernel_options options = { .size = sizeof options, .device = device };
    char path[128];
    tally_context *context = new_context(LIMIT, generator);
    tally_descriptor_parse("cumsum:f32:100:axis=0", &d, NULL);
    put_helper("#!/bin/sh\nkill -SEGV $$\n");
    EXPECT(tally_context_supports(context, &d, &options, &asked) == TALLY_OK, "%s", asked.message);
    snprintf(path, sizeof path, "%s/tally-maker", folder);
    unlink(path);
    EXPECT(tally_context_supports(context, &d, &options, &asked) == TALLY_NO_GENERATOR,
           "it is there");
    EXPECT(works(context, 100, &made) == TALLY_NO_GENERATOR && strcmp(made.hint, asked.hint) == 0 &&
               strcmp(made.message, asked.message) == 0,
           "%s (%s), and then %s (%s)", asked.message, asked.hint, made.message, made.hint);
    tally_context_destroy(&context);
}

static void bad_helpers(const char *generator)
{
    char path[128], good[4096];
    snprintf(folder, sizeof folder, "/tmp/tally-isolate-XXXXXX");
    EXPECT(mkdtemp(folder) != NULL, "no folder");
    snprintf(path, sizeof path, "%s/libtally-codegen.so", folder);
    copy(generator, "libtally-codegen.so");
    snprintf(good, sizeof good, "%.*s/tally-maker", (int)(strrchr(generator, '/') - generator),
             generator);
    for (size_t i = 0; i < sizeof helpers / sizeof helpers[0]; i++) {
        tally_error error = TALLY_ERROR_INIT;
        put_helper(helpers[i].script);
        tally_context *context = new_context(helpers[i].limit, path);
        tally_status status = works(context, 100, &error);
        EXPECT(status == helpers[i].status && strstr(error.message, helpers[i].says) != NULL,
               "helper %zu: %s: %s", i, tally_status_name(status), error.message);
        tally_context_destroy(&context);
    }
    is_looked_for(path);
    /* The context that failed goes on. */
    tally_error error = TALLY_ERROR_INIT;
    tally_context *context = new_context(LIMIT, path);
    put_helper("#!/bin/sh\nkill -ABRT $$\n");
    EXPECT(works(context, 100, &error) == TALLY_INTERNAL, "it did not fail");
    put_helper("");
    copy(good, "tally-maker");
    copy(getenv("TALLY_TEST_LLVM"), "libtally-llvm.so");
    tally_status status = works(context, 100, &error);
    EXPECT(status == TALLY_OK, "afterwards: %s: %s", tally_status_name(status), error.message);
    tally_context_destroy(&context);
    snprintf(good, sizeof good, "rm -rf '%s'", folder);
    EXPECT(system(good) == 0, "%s", good);
}

/* --- replies that no helper of this build gives ----------------------------------------------- */

static const struct {
    int32_t status;
    tally_status becomes;
    const char *says;
} replies[] = {
    { 77, TALLY_INTERNAL, "status 77" },
    { -10, TALLY_INTERNAL, "status -10" },
    { INT32_MIN, TALLY_INTERNAL, "status -2147483648" },
    { TALLY_UNSUPPORTED, TALLY_UNSUPPORTED, "mmmm" }, /* strings without an end */
    { TALLY_OK, TALLY_INTERNAL, "without a kernel" },
};

static void bad_replies(const char *generator)
{
    char path[128], command[160];
    snprintf(folder, sizeof folder, "/tmp/tally-isolate-XXXXXX");
    EXPECT(mkdtemp(folder) != NULL, "no folder");
    snprintf(path, sizeof path, "%s/libtally-codegen.so", folder);
    copy(generator, "libtally-codegen.so");
    put_helper("#!/bin/sh\nhead -c 10 >/dev/null <&0\ncat \"${0%/*}/reply\" >&0\n");
    for (size_t i = 0; i < sizeof replies / sizeof replies[0]; i++) {
        tly_make_reply reply;
        char name[128];
        tally_error error = TALLY_ERROR_INIT;
        memset(&reply, 'x', sizeof reply);
        memset(reply.error.message, 'm', sizeof reply.error.message);
        memset(reply.bytes, 0, sizeof reply.bytes);
        reply.shape = TLY_MAKER_SHAPE;
        reply.status = replies[i].status;
        snprintf(name, sizeof name, "%s/reply", folder);
        FILE *file = fopen(name, "we");
        EXPECT(file != NULL && fwrite(&reply, sizeof reply, 1, file) == 1, "%s", name);
        fclose(file);
        tally_context *context = new_context(LIMIT, path);
        tally_status status = works(context, 100, &error);
        EXPECT(status == replies[i].becomes && strstr(error.message, replies[i].says) != NULL,
               "reply %zu: %d %s: %s", i, status, tally_status_name(status), error.message);
        tally_context_destroy(&context);
    }
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    EXPECT(system(command) == 0, "%s", command);
}

/* --- a system that does not start the helper ----------------------------------------------------
 */

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* A process that holds a lease on the file: whoever executes it waits until it is gone. -1: leases
 * are not to be had here. */
static pid_t hold_back(const char *path)
{
    int told[2];
    char held = 0;
    EXPECT(pipe(told) == 0, "no pipe");
    pid_t child = fork();
    if (child == 0) {
        signal(SIGIO, SIG_IGN);
        const int file = open(path, O_RDWR);
        held = file >= 0 && fcntl(file, F_SETLEASE, F_WRLCK) == 0;
        _exit(write(told[1], &held, 1) == 1 && held ? (pause(), 0) : 1);
    }
    close(told[1]);
    EXPECT(read(told[0], &held, 1) == 1, "no answer");
    close(told[0]);
    if (!held) {
        waitpid(child, NULL, 0);
    }
    return held ? child : -1;
}

static void held_up(const char *generator)
{
    char path[128], maker[128], command[160];
    const int before = open_files();
    snprintf(folder, sizeof folder, "/tmp/tally-isolate-XXXXXX");
    EXPECT(mkdtemp(folder) != NULL, "no folder");
    snprintf(path, sizeof path, "%s/libtally-codegen.so", folder);
    snprintf(maker, sizeof maker, "%s/tally-maker", folder);
    copy(generator, "libtally-codegen.so");
    put_helper("#!/bin/sh\nexit 3\n");
    const pid_t holder = hold_back(maker);
    if (holder < 0) {
        fprintf(report, "no leases here: a helper that does not start was not tried\n");
    } else {
        tally_error error = TALLY_ERROR_INIT;
        tally_context *context = new_context(100, path);
        const int64_t begun = now_ms();
        tally_status status = works(context, 100, &error);
        EXPECT(status == TALLY_TIMEOUT && strstr(error.message, "100 ms") != NULL, "%s: %s",
               tally_status_name(status), error.message);
        EXPECT(now_ms() - begun < 5000, "it took %d ms", (int)(now_ms() - begun));
        tally_context_destroy(&context);
        kill(holder, SIGKILL);
        EXPECT(waitpid(holder, NULL, 0) == holder, "the holder is gone");
        for (int i = 0; i < 500 && open_files() != before;
             i++) { /* the thread ends what it began */
            usleep(10000);
        }
        EXPECT(open_files() == before, "%d files are left open", open_files() - before);
    }
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    EXPECT(system(command) == 0, "%s", command);
}

/* The time of the true helper, too. */
static void too_slow(void)
{
    tally_error error = TALLY_ERROR_INIT;
    tally_context *context = new_context(1, NULL);
    tally_status status = works(context, 100, &error);
    EXPECT(status == TALLY_TIMEOUT, "%s: %s", tally_status_name(status), error.message);
    tally_context_destroy(&context);
}

static char profile[1 << 16];

int main(int argc, char **argv)
{
    report = stdout;
    FILE *file = argc > 1 ? fopen(argv[1], "re") : NULL;
    if (file != NULL) {
        profile[fread(profile, 1, sizeof profile - 1, file)] = 0;
        fclose(file);
    }
    device = getenv("TALLY_TEST_DEVICES");
    if (device != NULL) {
        expect_works(device);
        printf("%s: %d failures\n", device, failures);
        return failures != 0;
    }
    const int before = open_files();
    in_child(without_files, "standard files closed");
    same_bytes(profile[0] != 0 ? profile : NULL);
    many_threads();
    in_child(just_works, "after fork");
    with_signals();
    too_slow();
    bad_helpers(getenv("TALLY_GENERATOR"));
    bad_replies(getenv("TALLY_GENERATOR"));
    held_up(getenv("TALLY_GENERATOR"));
    EXPECT(open_files() == before, "%d files are left open", open_files() - before);
    EXPECT(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "a child is left");
    printf("%d failures\n", failures);
    return failures != 0;
}

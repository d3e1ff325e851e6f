/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A failure that passes: what is refused for want of file descriptors, address space, thread keys
 * or memory is refused with the true reason, and once the want is over the next creation works, in
 * the same context and in a new one. A plain program: each case is a process of its own, in which
 * nothing has been opened before. Exit status 0: right.
 */
#include "fake.h"

#include "../runtime/context/thread_cache.h"
#include "../runtime/cpu/cpu.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"

/* ---- calls that fail when asked to ---- */

static int refuse_copies, refuse_handlers, handlers;

char *strdup(const char *text)
{
    char *copy = refuse_copies ? NULL : malloc(strlen(text) + 1);
    errno = copy ? errno : ENOMEM;
    return copy ? strcpy(copy, text) : NULL;
}

int pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
    (void)prepare;
    (void)parent;
    (void)child;
    handlers++;
    return refuse_handlers ? ENOMEM : 0;
}

/* ---- kernels ---- */

static const char word[] = "cumsum:f32:100:axis=0";

static tally_context *new_context(void)
{
    tally_context *context = NULL;
    EXPECT(tally_context_create(NULL, &context, NULL) == TALLY_OK, "no context");
    return context;
}

static tally_status create(tally_context *context, tally_error *error)
{
    tally_descriptor d;
    tally_kernel *kernel = NULL;
    float in[100], out[100];
    *error = (tally_error)TALLY_ERROR_INIT;
    tally_descriptor_parse(word, &d, NULL);
    tally_status status = tally_kernel_create(context, &d, NULL, &kernel, error);
    for (int i = 0; i < 100; i++) {
        in[i] = 1;
    }
    if (status == TALLY_OK) {
        EXPECT(tally_kernel_run(kernel, in, out, NULL) == TALLY_OK && out[99] == 100, "%g",
               (double)out[99]);
    }
    tally_kernel_destroy(&kernel);
    return status;
}

static int drop(void *user, const char *text, size_t bytes)
{
    (void)user;
    (void)text;
    (void)bytes;
    return 0;
}

/* Brings libtally-codegen into the process, but not libtally-llvm. */
static void open_codegen(tally_context *context)
{
    tally_descriptor d;
    tally_error error = TALLY_ERROR_INIT;
    tally_descriptor_parse(word, &d, NULL);
    EXPECT(tally_inspect(context, &d, NULL, TALLY_STAGE_PLAN, drop, NULL, &error) == TALLY_OK, "%s",
           error.message);
}

static void expect_well(tally_context *context)
{
    tally_error error;
    tally_context *other = new_context();
    EXPECT(create(context, &error) == TALLY_OK, "same context: %s", error.message);
    EXPECT(create(other, &error) == TALLY_OK, "new context: %s", error.message);
    tally_context_destroy(&other);
}

/* ---- limits ---- */

static struct rlimit lower(int what, rlim_t to)
{
    struct rlimit before, now;
    getrlimit(what, &before);
    now = before;
    now.rlim_cur = to;
    EXPECT(setrlimit(what, &now) == 0, "limit %d to %llu", what, (unsigned long long)to);
    return before;
}

static void few_files(int with_codegen, int left)
{
    tally_error error;
    tally_context *context = new_context();
    if (with_codegen) {
        open_codegen(context);
    }
    int next = dup(0);
    close(next);
    struct rlimit before = lower(RLIMIT_NOFILE, (rlim_t)(next + left));
    tally_status status = create(context, &error);
    setrlimit(RLIMIT_NOFILE, &before);
    EXPECT(left > 0 || status == TALLY_NO_GENERATOR, "%d files: status %d", left, (int)status);
    EXPECT(status == TALLY_OK || strstr(error.message, strerror(EMFILE)) != NULL, "%d files: %s",
           left, error.message);
    expect_well(context);
    tally_context_destroy(&context);
}

static void no_file_before(void)
{
    few_files(0, 0);
}

static void no_file_between(void)
{
    few_files(1, 0);
}

static void one_file_before(void)
{
    few_files(0, 1);
}

static void one_file_between(void)
{
    few_files(1, 1);
}

/* Where nothing is named, the look for Tally's own folder comes first. */
static void no_file_to_look(void)
{
    tally_error error;
    tally_context *context = new_context();
    unsetenv("TALLY_GENERATOR");
    int next = dup(0);
    close(next);
    struct rlimit before = lower(RLIMIT_NOFILE, (rlim_t)next);
    EXPECT(create(context, &error) == TALLY_NO_GENERATOR, "not refused");
    setrlimit(RLIMIT_NOFILE, &before);
    EXPECT(strstr(error.message, strerror(EMFILE)) != NULL, "%s", error.message);
    EXPECT(create(context, &error) == TALLY_NO_GENERATOR, "not refused");
    EXPECT(strstr(error.message, strerror(EMFILE)) == NULL, "%s", error.message);
    tally_context_destroy(&context);
}

static rlim_t address_space(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    EXPECT(file != NULL && fscanf(file, "%ld", &pages) == 1, "no size");
    fclose(file);
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

/* libtally-codegen has 2.8 MiB, libtally-llvm 40 MiB or needs one that has more. */
static void little_memory(int with_codegen, size_t left)
{
    tally_error error;
    tally_context *context = new_context();
    if (with_codegen) {
        open_codegen(context);
    }
    struct rlimit before = lower(RLIMIT_AS, address_space() + left);
    tally_status status = create(context, &error);
    setrlimit(RLIMIT_AS, &before);
    EXPECT(status == TALLY_NO_GENERATOR || status == TALLY_OUT_OF_MEMORY, "%zu bytes: status %d",
           left, (int)status);
    EXPECT(status == TALLY_OUT_OF_MEMORY || strstr(error.message, "failed to map segment") ||
               strstr(error.message, "cannot map") || strstr(error.message, strerror(ENOMEM)),
           "%zu bytes: %s", left, error.message);
    expect_well(context);
    tally_context_destroy(&context);
}

static void no_memory_before(void)
{
    little_memory(0, 1 << 20);
}

static void no_memory_between(void)
{
    little_memory(1, 1 << 20);
}

static void little_memory_before(void)
{
    little_memory(0, 16 << 20);
}

static void little_memory_between(void)
{
    little_memory(1, 16 << 20);
}

/* ---- what else a process has only so many of ---- */

static pthread_key_t keys[PTHREAD_KEYS_MAX];
static int key_count;

static void take_keys(void)
{
    while (key_count < PTHREAD_KEYS_MAX && pthread_key_create(&keys[key_count], NULL) == 0) {
        key_count++;
    }
}

static void free_keys(void)
{
    while (key_count > 0) {
        pthread_key_delete(keys[--key_count]);
    }
}

static void no_key_to_compile(void)
{
    tally_error error;
    tally_context *context = new_context();
    take_keys();
    EXPECT(create(context, &error) == TALLY_OUT_OF_MEMORY, "not refused");
    EXPECT(strstr(error.message, strerror(EAGAIN)) != NULL, "%s", error.message);
    free_keys();
    expect_well(context);
    tally_context_destroy(&context);
}

/* What threads remember is for speed: without a key they forget, and later they do not. */
static void no_key_to_remember(void)
{
    tally_context *context = fake_context(NULL);
    tally_kernel *kernels[4];
    take_keys();
    for (int i = 0; i < 2; i++) {
        kernels[i] = fake_kernel(context, "cumsum:i64:40:axis=0", NULL);
        EXPECT(kernels[i] != NULL, "no kernel");
    }
    EXPECT(tly_thread_cache_hits(context) == 0, "remembered without a key");
    free_keys();
    for (int i = 2; i < 4; i++) {
        kernels[i] = fake_kernel(context, "cumsum:i64:40:axis=0", NULL);
    }
    EXPECT(tly_thread_cache_hits(context) == 1, "%d hits", (int)tly_thread_cache_hits(context));
    for (int i = 0; i < 4; i++) {
        tally_kernel_destroy(&kernels[i]);
    }
    tally_context_destroy(&context);
}

static void no_memory_for_the_variable(void)
{
    tally_error error;
    tally_context *context = new_context();
    refuse_copies = 1;
    EXPECT(create(context, &error) == TALLY_OUT_OF_MEMORY, "%s", error.message);
    refuse_copies = 0;
    expect_well(context);
    tally_context_destroy(&context);
}

static void no_memory_for_fork_handlers(void)
{
    refuse_handlers = 1;
    tally_context *context = new_context();
    EXPECT(handlers > 0, "never installed");
    refuse_handlers = 0;
    int before = handlers;
    expect_well(context);
    EXPECT(handlers == before + 1, "%d times", handlers - before);
    tally_context_destroy(&context);
}

#ifdef __SANITIZE_ADDRESS__
enum { LIMITED = 0 }; /* the sanitizer's own memory is terabytes */
#else
enum { LIMITED = 1 };
#endif

static const struct {
    const char *name;
    void (*run)(void);
    int limited;
} cases[] = {
    { "no file before codegen", no_file_before, 0 },
    { "no file before llvm", no_file_between, 0 },
    { "one file before codegen", one_file_before, 0 },
    { "one file before llvm", one_file_between, 0 },
    { "no file to look for codegen", no_file_to_look, 0 },
    { "no memory before codegen", no_memory_before, 1 },
    { "no memory before llvm", no_memory_between, 1 },
    { "little memory before codegen", little_memory_before, 1 },
    { "little memory before llvm", little_memory_between, 1 },
    { "no key to compile", no_key_to_compile, 0 },
    { "no key to remember", no_key_to_remember, 0 },
    { "no memory for the variable", no_memory_for_the_variable, 0 },
    { "no memory for fork handlers", no_memory_for_fork_handlers, 0 },
};

int main(void)
{
    int failed = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int status = 0;
        if (cases[i].limited && !LIMITED) {
            printf("not tried under this sanitizer: %s\n", cases[i].name);
            continue;
        }
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            alarm(60);
            cases[i].run();
            _exit(failures != 0);
        }
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
            fprintf(stderr, "failed: %s (wait status %d)\n", cases[i].name, status);
            failed++;
        }
    }
    printf("%d failures\n", failed);
    return failed != 0;
}

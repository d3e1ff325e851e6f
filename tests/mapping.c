/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What generated code needs of a process: memory that may be executed, got in a second way where
 * the first is refused, and stack, on a thread of the library's own where the caller has little. A
 * plain program: a policy cannot be taken back, so each case is a process of its own. Exit status
 * 0: right; what the kernel cannot do is said, and not tried.
 */
#include "filter.h"

#include <tally.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "expect.h"

#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#define PR_MDWE_REFUSE_EXEC_GAIN 1
#endif

/* Makes and runs kernels; the last takes more stack to run than any other that was measured. */
static tally_status work(tally_error *error)
{
    static const char *const words[] = { "cumsum:f32:100:axis=0", "cumprod:f16:300x5:axis=0",
                                         "cumprod:f64:5x60:axis=1" };
    static double in[500], out[500];
    tally_context *context = NULL;
    tally_status status = tally_context_create(NULL, &context, error);
    for (int i = 0; status == TALLY_OK && i < 3; i++) {
        tally_descriptor d;
        tally_kernel *kernel = NULL;
        tally_descriptor_parse(words[i], &d, NULL);
        status = tally_kernel_create(context, &d, NULL, &kernel, error);
        if (status == TALLY_OK) {
            status = tally_kernel_run(kernel, in, out, error);
        }
        tally_kernel_destroy(&kernel);
    }
    tally_context_destroy(&context);
    return status;
}

static void expect_well(void)
{
    tally_error error = TALLY_ERROR_INIT;
    EXPECT(work(&error) == TALLY_OK, "%s", error.message);
}

static void refused(const char *why)
{
    tally_error error = TALLY_ERROR_INIT;
    EXPECT(work(&error) == TALLY_UNSUPPORTED, "status %d, %s", error.status, error.message);
    EXPECT(strstr(error.message, why) != NULL, "%s", error.message);
    EXPECT(error.hint[0] != 0, "no hint");
}

/* ---- executable memory ---- */

static int may_not_gain(void)
{
    return prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0) == 0;
}

static void *executable_page(void)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(page != MAP_FAILED, "no page");
    return mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0 ? page : NULL;
}

static void by_prctl(void)
{
    EXPECT(executable_page() == NULL && errno == EACCES, "the policy does nothing");
    expect_well();
}

static int no_mprotect(void)
{
    return filter_calls((filter_rule[]){ { SYS_mprotect, 2, PROT_EXEC, EACCES } }, 1);
}

static int no_mprotect_no_file(void)
{
    return filter_calls((filter_rule[]){ { SYS_mprotect, 2, PROT_EXEC, EACCES },
                                         { SYS_memfd_create, 0, 0, ENOSYS } },
                        2);
}

/* As Linux before 6.3, which does not know MFD_EXEC. */
static int no_mprotect_no_flag(void)
{
    return filter_calls((filter_rule[]){ { SYS_mprotect, 2, PROT_EXEC, EACCES },
                                         { SYS_memfd_create, 1, 0x10, EINVAL } },
                        2);
}

static void by_no_means(void)
{
    refused("Permission denied");
    refused(strerror(ENOSYS));
}

/* Past its limit, writing would be a signal that ends the process. */
static void by_a_file_too_large(void)
{
    struct rlimit limit = { 100, 100 };
    EXPECT(setrlimit(RLIMIT_FSIZE, &limit) == 0, "no limit");
    refused(strerror(EFBIG));
}

/* ---- stack ---- */

#define LITTLE ((size_t)32 << 10)

static void *work_in_thread(void *unused)
{
    (void)unused;
    expect_well();
    return NULL;
}

static void in_thread(void *(*run)(void *), size_t bytes)
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    EXPECT(pthread_attr_setstacksize(&attributes, bytes) == 0, "no such size");
    EXPECT(pthread_create(&thread, &attributes, run, NULL) == 0, "no thread");
    pthread_join(thread, NULL);
}

static void on_little(void)
{
    in_thread(work_in_thread, LITTLE);
}

static void on_the_first(void)
{
    struct rlimit limit = { 128 << 10, RLIM_INFINITY };
    EXPECT(setrlimit(RLIMIT_STACK, &limit) == 0, "no limit");
    expect_well();
}

static int drop(void *user, const char *text, size_t bytes)
{
    (void)user;
    (void)text;
    (void)bytes;
    return 0;
}

static void *inspect_in_thread(void *unused)
{
    tally_context *context = NULL;
    tally_descriptor d;
    tally_error error = TALLY_ERROR_INIT;
    tally_context_create(NULL, &context, NULL);
    tally_descriptor_parse("cumsum:f32:100:axis=0", &d, NULL);
    EXPECT(tally_inspect(context, &d, NULL, TALLY_STAGE_ASM, drop, NULL, &error) ==
               TALLY_OUT_OF_MEMORY,
           "status %d", error.status);
    EXPECT(strstr(error.message, "KiB of stack") != NULL, "%s", error.message);
    EXPECT(tally_inspect(context, &d, NULL, TALLY_STAGE_WORD, drop, NULL, &error) == TALLY_OK, "%s",
           error.message);
    tally_context_destroy(&context);
    return unused;
}

static void inspecting(void)
{
    in_thread(inspect_in_thread, LITTLE);
}

/* On a stack that no thread began with, as coroutines have. */
static ucontext_t before, within;

static void on_another(void)
{
    static char stack[64 << 10];
    getcontext(&within);
    within.uc_stack.ss_sp = stack;
    within.uc_stack.ss_size = sizeof stack;
    within.uc_link = &before;
    makecontext(&within, expect_well, 0);
    EXPECT(swapcontext(&before, &within) == 0, "no context");
}

static void *alone(void *unused)
{
    tally_error error = TALLY_ERROR_INIT;
    if (!filter_calls(
            (filter_rule[]){ { SYS_clone3, 0, 0, EAGAIN }, { SYS_clone, 0, CLONE_THREAD, EAGAIN } },
            2)) {
        printf("no filters here: not tried without threads\n");
        return unused;
    }
    EXPECT(work(&error) == TALLY_OUT_OF_MEMORY, "status %d", error.status);
    EXPECT(strstr(error.message, "KiB of stack") != NULL, "%s", error.message);
    EXPECT(strstr(error.message, strerror(EAGAIN)) != NULL, "%s", error.message);
    return unused;
}

static void on_little_alone(void)
{
    in_thread(alone, LITTLE);
}

static const struct {
    const char *name;
    int (*possible)(void); /* NULL: always */
    void (*run)(void);
} cases[] = {
    { "PR_SET_MDWE", may_not_gain, by_prctl },
    { "no mprotect", no_mprotect, expect_well },
    { "no mprotect, an older Linux", no_mprotect_no_flag, expect_well },
    { "no mprotect, no file in memory", no_mprotect_no_file, by_no_means },
    { "no mprotect, small files", no_mprotect, by_a_file_too_large },
    { "32 KiB of stack", NULL, on_little },
    { "the first thread's stack", NULL, on_the_first },
    { "another stack", NULL, on_another },
    { "32 KiB of stack, no threads", NULL, on_little_alone },
    { "32 KiB of stack, inspecting", NULL, inspecting },
};

int main(void)
{
    int failed = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int status = 0;
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            alarm(60);
            if (cases[i].possible != NULL && !cases[i].possible()) {
                printf("not tried, this kernel cannot: %s\n", cases[i].name);
            } else {
                cases[i].run();
            }
            fflush(stdout);
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a forked child may do: everything if no call was in flight, although a kernel was being made
 * behind the program's back; otherwise run the kernels it has, on one thread, and be told
 * TALLY_BUSY. A plain program, since Criterion forks by itself. Exit status 0: right.
 */
#include "fake.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXPECT(condition) (failures += expect(condition, #condition, __LINE__))

static _Atomic int failures;

static int expect(int holds, const char *what, int line)
{
    if (!holds) {
        fprintf(stderr, "line %d, process %d: not so: %s\n", line, (int)getpid(), what);
    }
    return !holds;
}

/* Until all workers sleep. AddressSanitizer's allocator, unlike glibc's, does not survive a fork
 * while another thread is starting. */
static void settle(tally_context *context)
{
    tly_pool *pool = &context->pool;
    for (int awake = 1; awake != 0;) {
        fake_sleep(1000);
        pthread_mutex_lock(&pool->lock);
        awake = pool->started - pool->sleeping;
        pthread_mutex_unlock(&pool->lock);
    }
}

/* Forks; the child runs `body` and ends with its failures. */
static void in_child(void (*body)(tally_context *, tally_kernel *), tally_context *context,
                     tally_kernel *kernel)
{
    pid_t child = fork();
    if (child == 0) {
        failures = 0;
        alarm(20); /* a deadlock ends as a failure */
        body(context, kernel);
        _exit(failures != 0);
    }
    int status = -1;
    EXPECT(child > 0 && waitpid(child, &status, 0) == child);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static int runs(const tally_kernel *kernel)
{
    int64_t in[400], out[400], sum = 0;
    for (int i = 0; i < 400; i++) {
        in[i] = i;
    }
    int right = tally_kernel_run_threads(kernel, in, out, 4, NULL) == TALLY_OK;
    for (int i = 0; i < 400; i++) {
        sum += i;
        right = right && out[i] == sum;
    }
    return right;
}

static void *run_in_thread(void *kernel)
{
    return runs(kernel) ? kernel : NULL;
}

static int runs_in_thread(tally_kernel *kernel)
{
    pthread_t thread;
    void *result = NULL;
    return pthread_create(&thread, NULL, run_in_thread, kernel) == 0 &&
           pthread_join(thread, &result) == 0 && result == kernel;
}

static void everything(tally_context *context, tally_kernel *kernel)
{
    EXPECT(runs(kernel));
    EXPECT(context->pool.started == 3); /* made anew */
    EXPECT(runs_in_thread(kernel));
    tally_kernel *fresh = fake_kernel(context, "cumprod:i64:400:axis=0", NULL);
    EXPECT(fresh != NULL && runs(fresh));
    tally_kernel *known = fake_kernel(context, "cumsum:i64:400:axis=0", NULL);
    EXPECT(known == kernel);
    tally_kernel_destroy(&known);
    tally_kernel_destroy(&fresh);
    tally_kernel_destroy(&kernel);
    tally_context_destroy(&context);
    context = fake_context(NULL);
    kernel = fake_kernel(context, "cumsum:i64:400:axis=0", NULL);
    EXPECT(kernel != NULL && runs(kernel));
    tally_kernel_destroy(&kernel);
    tally_context_destroy(&context);
}

static void grandchild(tally_context *context, tally_kernel *kernel)
{
    in_child(everything, context, kernel);
    EXPECT(runs(kernel));
}

static int no_text(void *user, const char *text, size_t bytes)
{
    (void)user;
    (void)text;
    (void)bytes;
    return 0;
}

static void what_an_orphan_may(tally_context *context, tally_kernel *kernel)
{
    EXPECT(runs(kernel));
    EXPECT(runs_in_thread(kernel));
    tally_error error = TALLY_ERROR_INIT;
    EXPECT(fake_kernel(context, "cumsum:i64:400:axis=0", &error) == NULL);
    EXPECT(error.status == TALLY_BUSY && error.message[0] != 0);
    tally_context *other = NULL;
    EXPECT(tally_context_create(NULL, &other, &error) == TALLY_BUSY && other == NULL);
    EXPECT(tally_context_shared(&other, &error) == TALLY_BUSY && other == NULL);
    tally_descriptor d;
    tally_kernel *found = NULL;
    EXPECT(tally_descriptor_parse("cumsum:i64:400:axis=0", &d, &error) == TALLY_OK);
    EXPECT(tally_kernel_find(context, &d, NULL, &found, &error) == TALLY_OK && found == kernel);
    EXPECT(runs(found));
    tally_kernel_destroy(&found);
    EXPECT(tally_descriptor_parse("cumsum:i64:4:axis=0", &d, &error) == TALLY_OK);
    EXPECT(tally_kernel_find(context, &d, NULL, &found, &error) == TALLY_OK && found == NULL);
    EXPECT(tally_inspect(context, &d, NULL, TALLY_STAGE_WORD, no_text, NULL, &error) == TALLY_BUSY);
    tally_stats stats = { .size = sizeof stats };
    tally_context_stats(context, &stats);
    tally_kernel_destroy(&kernel);
    tally_context_destroy(&context);
}

static void *create_slowly(void *context)
{
    tally_kernel *kernel = fake_kernel(context, "cumsum:u64:7:axis=0", NULL);
    EXPECT(kernel != NULL);
    tally_kernel_destroy(&kernel);
    return NULL;
}

static void *run_slowly(void *kernel)
{
    EXPECT(runs(kernel));
    return NULL;
}

/* Forks while another thread is within `call`, which `begun` counts. */
static void fork_during(void *(*call)(void *), void *argument, const atomic_int *begun,
                        tally_context *context, tally_kernel *kernel)
{
    pthread_t thread;
    int before = *begun;
    EXPECT(pthread_create(&thread, NULL, call, argument) == 0);
    while (*begun == before) {
        fake_sleep(1000);
    }
    fake_sleep(20000); /* as in settle: all of its threads have begun */
    in_child(what_an_orphan_may, context, kernel);
    pthread_join(thread, NULL);
}

/* What the parent had not yet made is made here, once there is more to make. */
static void what_a_child_of_the_background_may(tally_context *context, tally_kernel *kernel)
{
    tally_stats stats = { .size = sizeof stats };
    EXPECT(runs(kernel));
    tally_context_stats(context, &stats);
    EXPECT(stats.quick <= 1);
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, create_slowly, context) == 0 &&
           pthread_join(thread, NULL) == 0);
    for (int ms = 0; stats.quick > 0 && ms < 10000; ms++) {
        fake_sleep(1000);
        tally_context_stats(context, &stats);
    }
    EXPECT(stats.quick == 0);
    everything(context, kernel);
}

static int let_go; /* a fork begins with the end of what is held */

static void before_fork(void)
{
    fake_held = fake_held && !let_go;
}

/* Forks while the first of two full kernels is being made, which ends then, or does not. */
static void fork_during_background(int ends, void (*body)(tally_context *, tally_kernel *))
{
    tally_context_options options = { .size = sizeof options,
                                      .threads = 4,
                                      .compile = TALLY_COMPILE_BACKGROUND };
    tally_context *context = fake_context(&options);
    int before = fake_made;
    fake_held = 1;
    let_go = ends;
    tally_kernel *first = fake_kernel(context, "sum:i64:400", NULL);
    tally_kernel *kernel = fake_kernel(context, "cumsum:i64:400:axis=0", NULL);
    EXPECT(first != NULL && kernel != NULL);
    EXPECT(runs(kernel));
    settle(context);
    while (fake_made == before) {
        fake_sleep(1000);
    }
    in_child(body, context, kernel);
    fake_held = 0;
    EXPECT(runs(kernel));
    tally_kernel_destroy(&first);
    tally_kernel_destroy(&kernel);
    tally_context_destroy(&context);
}

int main(void)
{
    tally_context_options options = { .size = sizeof options, .threads = 4 };
    tally_context *context = fake_context(&options);
    tally_kernel *kernel = fake_kernel(context, "cumsum:i64:400:axis=0", NULL);
    EXPECT(kernel != NULL);
    in_child(everything, context, kernel); /* no worker has started */
    EXPECT(runs(kernel));
    settle(context);
    in_child(everything, context, kernel);
    in_child(grandchild, context, kernel);
    EXPECT(runs(kernel));

    fake_delay_us = 400000;
    fork_during(create_slowly, context, &fake_made, context, kernel);
    fake_delay_us = 0;
    fake_scan_us = 20000;
    fork_during(run_slowly, kernel, &fake_scans, context, kernel);
    fake_scan_us = 0;

    EXPECT(runs(kernel)); /* the parent goes on as if nothing had been */
    settle(context);
    in_child(everything, context, kernel);
    tally_kernel_destroy(&kernel);
    tally_context_destroy(&context);

    /* Last: each of their kernels might take another's place among what this thread has seen. */
    EXPECT(pthread_atfork(before_fork, NULL, NULL) == 0); /* comes before the library's own */
    fork_during_background(1, what_a_child_of_the_background_may);
    fork_during_background(0, what_an_orphan_may);

    EXPECT(fake_faults == 0);
    printf("%d failures\n", failures);
    return failures != 0;
}

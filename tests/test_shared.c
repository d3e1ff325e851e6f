/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What libraries in one process share: the context, its number of threads, and the kernels in its
 * memory. Each test has a process of its own, and so an environment that is read once.
 */
#include "fake.h"

#include "../runtime/cpu/cpu.h"

#include <criterion/criterion.h>
#include <pthread.h>

static void *ask(void *to)
{
    cr_expect_eq(tally_context_shared(to, NULL), TALLY_OK);
    return NULL;
}

Test(shared, is_one_and_lasts)
{
    tally_context *seen[8] = { NULL };
    pthread_t threads[8];
    for (int i = 0; i < 8; i++) {
        cr_assert_eq(pthread_create(&threads[i], NULL, ask, &seen[i]), 0);
    }
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
        cr_assert_not_null(seen[i]);
        cr_assert_eq(seen[i], seen[0]);
    }
    tally_context *again = seen[0];
    tally_context_destroy(&again);
    cr_expect_null(again);
    tly_context_set_generator(seen[0], &fake_generator);
    tally_kernel *kernel = fake_kernel(seen[0], "cumsum:i64:9:axis=0", NULL);
    cr_expect_not_null(kernel, "it is still there");
    tally_kernel_destroy(&kernel);
    cr_expect_eq(tally_context_shared(NULL, NULL), TALLY_INVALID);
}

static tally_context *with_threads(const char *variable, int32_t option)
{
    setenv("TALLY_THREADS", variable, 1);
    tally_context_options options = { .size = sizeof options, .threads = option };
    return fake_context(&options);
}

Test(shared, threads_by_option)
{
    tally_context *context = with_threads("3", 7);
    cr_expect_eq(tally_context_threads(context), 7, "the program's number goes first");
    tally_error error = TALLY_ERROR_INIT;
    cr_expect_eq(tally_context_set_threads(context, 8, &error), TALLY_INVALID);
    cr_expect_str_eq(error.message, "threads is 8, not 0 to 7");
    cr_expect_eq(tally_context_set_threads(context, 2, NULL), TALLY_OK);
    cr_expect_eq(tally_context_threads(context), 2);
    cr_expect_eq(tally_context_set_threads(context, 0, NULL), TALLY_OK);
    cr_expect_eq(tally_context_threads(context), 7, "the context's own number");
    tally_context_destroy(&context);
}

Test(shared, threads_by_variable)
{
    tally_context *context = with_threads("3", 0);
    cr_expect_eq(tally_context_threads(context), 3);
    cr_expect_eq(tally_context_set_threads(context, 1024, NULL), TALLY_OK);
    cr_expect_eq(tally_context_threads(context), 1024);
    cr_expect_eq(tally_context_set_threads(context, 1025, NULL), TALLY_INVALID);
    cr_expect_eq(tally_context_set_threads(context, -1, NULL), TALLY_INVALID);
    cr_expect_eq(tally_context_threads(context), 1024);
    cr_expect_eq(tally_context_set_threads(context, 0, NULL), TALLY_OK);
    cr_expect_eq(tally_context_threads(context), 3);
    cr_expect_eq(tally_context_set_threads(NULL, 1, NULL), TALLY_INVALID);
    cr_expect_eq(tally_context_threads(NULL), 0);
    tally_context_destroy(&context);
}

static char told[256];

static void hear(void *user, tally_log_level level, const char *message)
{
    (void)user;
    if (level == TALLY_LOG_WARNING) {
        strncpy(told, message, sizeof told - 1);
    }
}

Test(shared, threads_that_are_no_number)
{
    setenv("TALLY_THREADS", "2x", 1);
    tally_context_options options = { .size = sizeof options, .log = hear };
    tally_context *context = fake_context(&options);
    cr_expect_eq(tally_context_threads(context), tly_cpu_count());
    cr_expect_not_null(strstr(told, "TALLY_THREADS"), "%s", told);
    tally_context_destroy(&context);
}

static atomic_llong tasks_seen;

static void count_tasks(void *user, int64_t count, void (*task)(void *, int64_t), void *state)
{
    (void)user;
    tasks_seen = count;
    for (int64_t i = 0; i < count; i++) {
        task(state, i);
    }
}

Test(shared, threads_of_a_run)
{
    tally_context_options options = { .size = sizeof options, .parallel = count_tasks };
    tally_context *context = fake_context(&options);
    tally_kernel *kernel = fake_kernel(context, "cumsum:i64:1000:axis=0", NULL);
    int64_t x[1000] = { 0 }, y[1000];
    for (int32_t threads = 2; threads < 6; threads++) {
        cr_assert_eq(tally_context_set_threads(context, threads, NULL), TALLY_OK);
        cr_assert_eq(tally_kernel_run(kernel, x, y, NULL), TALLY_OK);
        cr_expect_eq(tasks_seen, threads);
    }
    cr_assert_eq(tally_kernel_run_threads(kernel, x, y, 9, NULL), TALLY_OK);
    cr_expect_eq(tasks_seen, 9, "a run's own number goes first");
    tally_kernel_destroy(&kernel);
    tally_context_destroy(&context);
}

static tally_kernel *find(tally_context *context, const char *word)
{
    tally_descriptor d;
    tally_error error = TALLY_ERROR_INIT;
    tally_kernel *kernel = (tally_kernel *)&d; /* anything but NULL */
    cr_assert_eq(tally_descriptor_parse(word, &d, &error), TALLY_OK, "%s", error.message);
    cr_assert_eq(tally_kernel_find(context, &d, NULL, &kernel, &error), TALLY_OK, "%s: %s", word,
                 error.message);
    return kernel;
}

static void *find_elsewhere(void *context)
{
    return find(context, "cumsum:i64:9:axis=0");
}

Test(shared, finds_what_is_in_memory)
{
    static const char *const fused = "cumsum:i64:9:axis=0,a,map=x*a";
    tally_context *context = fake_context(NULL);
    cr_expect_null(find(context, "cumsum:i64:9:axis=0"));
    cr_expect_null(find(context, fused));
    cr_expect_eq(fake_made, 0, "nothing is made");
    tally_kernel *kernel = fake_kernel(context, "cumsum:i64:9:axis=0", NULL);
    tally_kernel *stages = fake_kernel(context, fused, NULL);
    const int made = fake_made;
    tally_kernel *again = find(context, "cumsum:i64:9:axis=0");
    cr_expect_eq(again, kernel);
    tally_kernel_destroy(&again);
    again = find(context, fused);
    cr_assert_not_null(again);
    cr_expect_eq(again->object, stages->object);
    tally_kernel_destroy(&again);

    pthread_t thread;
    void *elsewhere = NULL;
    cr_assert_eq(pthread_create(&thread, NULL, find_elsewhere, context), 0);
    pthread_join(thread, &elsewhere);
    tally_kernel *other = elsewhere;
    cr_assert_not_null(other, "another thread finds the code");
    cr_expect_eq(other->object, kernel->object);
    int64_t x[9] = { 1, 1, 1, 1, 1, 1, 1, 1, 1 }, y[9];
    cr_expect_eq(tally_kernel_run(other, x, y, NULL), TALLY_OK);
    cr_expect_eq(y[8], 9);
    tally_kernel_destroy(&other);
    again = find(context, "cumsum:i64:0x9:axis=0"); /* there is nothing to make */
    cr_expect_not_null(again);
    tally_kernel_destroy(&again);
    cr_expect_eq(fake_made, made);

    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    again = kernel;
    cr_expect_eq(tally_kernel_find(context, &d, NULL, &again, NULL), TALLY_INVALID);
    cr_expect_eq(again, kernel, "a failing call leaves its output");
    cr_expect_eq(tally_kernel_find(context, &d, NULL, NULL, NULL), TALLY_INVALID);
    cr_expect_eq(tally_kernel_find(NULL, &d, NULL, &again, NULL), TALLY_INVALID);
    tally_kernel_destroy(&stages);
    tally_kernel_destroy(&kernel);
    tally_context_destroy(&context);
}

static void *make_slowly(void *context)
{
    return fake_kernel(context, "cumsum:u64:7:axis=0", NULL);
}

Test(shared, waits_for_nothing)
{
    tally_context *context = fake_context(NULL);
    pthread_t thread;
    fake_held = 1;
    cr_assert_eq(pthread_create(&thread, NULL, make_slowly, context), 0);
    while (fake_made == 0) {
        fake_sleep(1000);
    }
    cr_expect_null(find(context, "cumsum:u64:7:axis=0"), "it is being made");
    fake_held = 0;
    void *made = NULL;
    pthread_join(thread, &made);
    tally_kernel *kernel = made, *found = find(context, "cumsum:u64:7:axis=0");
    cr_expect_not_null(found);
    tally_kernel_destroy(&found);
    tally_kernel_destroy(&kernel);
    tally_context_destroy(&context);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When kernels are made and on whose threads they run: the option `compile`, tally_context_warm and
 * tally_kernel_run_with, with a generator that needs no LLVM. That quick code has the bits of the
 * full one, `differential --quick` shows.
 */
#include "fake.h"

#include "../runtime/cache/identity.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>

/* --- a program's ------------------------------------------------------------------------------ */

/* A system without any more threads. */
static atomic_int refuse_threads;

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *argument)
{
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    void *symbol = dlsym(RTLD_NEXT, "pthread_create");
    memcpy(&real, &symbol, sizeof real);
    return refuse_threads ? EAGAIN : real(thread, attributes, run, argument);
}

/* A cache of one entry in place of the folder; one thread at a time. */
static char stored[4096];
static size_t stored_bytes;
static atomic_int saves;

static int load_stored(void *user, const void *key, size_t key_bytes, tally_write give, void *to)
{
    (void)user, (void)key, (void)key_bytes;
    return stored_bytes == 0 || give(to, stored, stored_bytes) != 0;
}

static void save_one(void *user, const void *key, size_t key_bytes, const void *data, size_t bytes)
{
    (void)user, (void)key, (void)key_bytes;
    saves++;
    stored_bytes = bytes <= sizeof stored ? bytes : 0;
    memcpy(stored, data, stored_bytes);
}

static char told[512];

static void keep_line(void *user, tally_log_level level, const char *message)
{
    (void)user;
    cr_assert_eq(level, TALLY_LOG_WARNING);
    snprintf(told, sizeof told, "%s", message);
}

/* The fake as one of this build, whose kernels may be stored. */
static tally_context *modal_context(uint32_t compile, const tally_context_options *more)
{
    static tly_generator lasting;
    tally_context_options options = *more;
    lasting = fake_generator;
    lasting.identity = tly_identity;
    options.size = sizeof options;
    options.compile = compile;
    tally_context *context = fake_context(&options);
    cr_assert_not_null(context);
    tly_context_set_generator(context, &lasting);
    return context;
}

static const tally_context_options plain = { .threads = 4 };

static tally_stats stats_of(const tally_context *context)
{
    tally_stats stats = TALLY_STATS_INIT;
    tally_context_stats(context, &stats);
    return stats;
}

/* Until what was begun behind the back is done, one way or the other. */
static void await_full(const tally_context *context)
{
    for (int ms = 0; stats_of(context).quick > 0 && ms < 20000; ms++) {
        fake_sleep(1000);
    }
    cr_assert_eq(stats_of(context).quick, 0);
}

/* Sums of rows of 40 along axis 1 of a tensor of 100. */
#define ROWS "cumsum:i64:100x40:axis=1"

static void check(const int64_t *in, const int64_t *out)
{
    for (int i = 0, sum = 0; i < 4000; i++) {
        sum = (i % 40 == 0 ? 0 : sum) + (int)in[i];
        cr_assert_eq(out[i], sum, "element %d", i);
    }
}

static void run_rows(const tally_kernel *kernel, int32_t threads)
{
    static int64_t in[4000], out[4000];
    for (int i = 0; i < 4000; i++) {
        in[i] = i % 77;
        out[i] = -1;
    }
    cr_assert_eq(tally_kernel_run_threads(kernel, in, out, threads, NULL), TALLY_OK);
    check(in, out);
}

static void expect_made(int quickly, int in_full)
{
    cr_expect_eq(fake_quickly_made, quickly, "%d made quickly", fake_quickly_made);
    cr_expect_eq(fake_made, in_full, "%d made in full", fake_made);
}

/* --- never ----------------------------------------------------------------------------------- */

Test(modes, there_are_three)
{
    tally_context_options options = { .size = sizeof options, .compile = 3 };
    tally_error error = TALLY_ERROR_INIT;
    tally_context *context = NULL;
    cr_assert_eq(tally_context_create(&options, &context, &error), TALLY_INVALID);
    cr_assert_not_null(strstr(error.message, "compile is 3"), "%s", error.message);
    cr_assert_null(context);
}

/* Although the generator is there already. */
Test(modes, never_is_never)
{
    tally_context *context = modal_context(TALLY_COMPILE_NEVER, &plain);
    tally_error error = TALLY_ERROR_INIT;
    tally_descriptor d;
    tally_kernel *kernel = NULL;
    const tally_kernel_options options = { sizeof options, "cpu:x86-64-v2", NULL, NULL };
    cr_assert_eq(tally_descriptor_parse(ROWS, &d, NULL), TALLY_OK);
    cr_assert_eq(tally_kernel_create(context, &d, &options, &kernel, &error), TALLY_NO_GENERATOR);
    cr_expect_eq(error.status, TALLY_NO_GENERATOR);
    cr_expect_not_null(strstr(error.message, "cpu:x86-64-v2 of " ROWS), "%s", error.message);
    cr_expect_not_null(strstr(error.hint, "tally compile WORD -o FILE"), "%s", error.hint);
    cr_expect_not_null(strstr(error.hint, "TALLY_PACK"), "%s", error.hint);
    cr_expect_eq(tally_context_warm(context, &d, 1, &options, &error), TALLY_NO_GENERATOR);
    cr_expect_null(kernel);
    expect_made(0, 0);
    kernel = fake_kernel(context, "cumsum:i64:0:axis=0", NULL); /* nothing to make */
    cr_expect_not_null(kernel);
    tally_kernel_destroy(&kernel);
    tally_context_destroy(&context);
}

/* What another context left is used, and then it is in memory. */
Test(modes, never_takes_what_there_is)
{
    const tally_context_options caching = { .cache_load = load_stored, .cache_save = save_one };
    tally_context *context = modal_context(TALLY_COMPILE_WAIT, &caching);
    tally_kernel *kernel = fake_kernel(context, ROWS, NULL);
    cr_assert_not_null(kernel);
    cr_assert_eq(saves, 1);
    tally_kernel_destroy(&kernel);
    tally_context_destroy(&context);

    context = modal_context(TALLY_COMPILE_NEVER, &caching);
    kernel = fake_kernel(context, ROWS, NULL);
    cr_assert_not_null(kernel);
    run_rows(kernel, 2);
    cr_expect_eq(stats_of(context).loaded, 1);
    tally_kernel *other = fake_kernel(context, "cumsum:i64:7x40:axis=1", NULL);
    cr_expect_not_null(other);
    cr_expect_null(fake_kernel(context, "sum:i64:400", NULL));
    expect_made(0, 1);
    tally_kernel_destroy(&kernel);
    tally_kernel_destroy(&other);
    tally_context_destroy(&context);
}

/* --- background ------------------------------------------------------------------------------ */

Test(modes, quick_code_runs_until_the_full_is_there)
{
    const tally_context_options caching = { .threads = 4,
                                            .cache_load = load_stored,
                                            .cache_save = save_one };
    tally_context *context = modal_context(TALLY_COMPILE_BACKGROUND, &caching);
    fake_delay_us = 200000;
    tally_kernel *kernel = fake_kernel(context, ROWS, NULL);
    cr_assert_not_null(kernel);
    cr_expect_eq(saves, 0);
    cr_expect_eq(stats_of(context).quick, 1);
    cr_expect_eq(stats_of(context).compiled, 0);
    run_rows(kernel, 1);
    run_rows(kernel, 4);
    const int calls = fake_quick_calls;
    cr_expect_gt(calls, 1);
    await_full(context);
    run_rows(kernel, 1);
    run_rows(kernel, 4);
    cr_expect_eq(fake_quick_calls, calls, "the full one took over");
    cr_expect(kernel->plain);
    cr_expect_eq(saves, 1, "only the full one");
    cr_expect_eq(stats_of(context).compiled, 1);
    tally_kernel *later = fake_kernel(context, "cumsum:i64:5x40:axis=1", NULL);
    cr_expect(later != NULL && later->plain);
    expect_made(1, 1);
    tally_kernel_destroy(&later);
    tally_kernel_destroy(&kernel);
    tally_context_destroy(&context);

    context = modal_context(TALLY_COMPILE_BACKGROUND, &caching);
    kernel = fake_kernel(context, ROWS, NULL);
    cr_expect(kernel != NULL && kernel->plain, "from the cache, at once");
    expect_made(1, 1);
    tally_kernel_destroy(&kernel);
    tally_context_destroy(&context);
}

static tally_context *awaited;

static void await_it(void)
{
    await_full(awaited);
}

static void sequential(void *user, int64_t count, void (*task)(void *, int64_t), void *state)
{
    atomic_int *calls = user;
    *calls += 1;
    for (int64_t i = 0; i < count; i++) {
        task(state, i);
    }
}

/* The first task of the run waits, in quick code, for the full one; all others have that. */
Test(modes, takes_over_at_the_next_task)
{
    awaited = modal_context(TALLY_COMPILE_BACKGROUND, &plain);
    fake_on_quick = await_it;
    fake_delay_us = 30000; /* longer than it takes from a creation to a run */
    atomic_int calls = 0;
    const tally_run_options with = { sizeof with, 2, 0, sequential, &calls, NULL };
    int64_t in[4000] = { 5 }, out[4000];
    tally_kernel *kernel = fake_kernel(awaited, ROWS, NULL);
    cr_assert_eq(tally_kernel_run_with(kernel, in, out, &with, NULL), TALLY_OK);
    check(in, out);
    cr_expect_eq(calls, 1);
    cr_expect_eq(fake_quick_calls, 1);
    tally_kernel_destroy(&kernel);
    /* Of a chain and of a reduction the first call is one of several, too. */
    static const char *const others[] = { "cumsum:i64:1000:axis=0", "sum:i64:1000" };
    for (int w = 0; w < 2; w++) {
        fake_quick_calls = 0;
        kernel = fake_kernel(awaited, others[w], NULL);
        cr_assert_eq(tally_kernel_run_with(kernel, in, out, &with, NULL), TALLY_OK);
        cr_expect_eq(fake_quick_calls, 1, "%s: %d", others[w], fake_quick_calls);
        tally_kernel_destroy(&kernel);
    }
    fake_on_quick = NULL;
    tally_context_destroy(&awaited);
}

static tally_context *shared;

static void *create_and_run(void *unused)
{
    (void)unused;
    tally_kernel *kernel = fake_kernel(shared, ROWS, NULL);
    int64_t in[4000], out[4000];
    for (int i = 0; i < 4000; i++) {
        in[i] = i % 91;
    }
    cr_assert_eq(tally_kernel_run(kernel, in, out, NULL), TALLY_OK);
    check(in, out);
    tally_kernel_destroy(&kernel);
    return NULL;
}

static void *warm_it(void *unused)
{
    (void)unused;
    tally_descriptor d;
    tally_descriptor_parse(ROWS, &d, NULL);
    cr_assert_eq(tally_context_warm(shared, &d, 1, NULL, NULL), TALLY_OK);
    cr_assert_eq(stats_of(shared).quick, 0);
    return NULL;
}

/* Creations and warmings of one kernel on eight threads. */
Test(modes, nothing_is_made_twice)
{
    for (int round = 0; round < 10; round++) {
        pthread_t threads[8];
        shared = modal_context(TALLY_COMPILE_BACKGROUND, &plain);
        fake_made = fake_quickly_made = 0;
        fake_delay_us = 3000;
        for (int i = 0; i < 8; i++) {
            void *(*what)(void *) = round > 0 && i % 3 == 2 ? warm_it : create_and_run;
            cr_assert_eq(pthread_create(&threads[i], NULL, what, NULL), 0);
        }
        for (int i = 0; i < 8; i++) {
            pthread_join(threads[i], NULL);
        }
        await_full(shared);
        cr_expect_leq(fake_quickly_made, 1);
        cr_expect_eq(fake_made, 1, "%d made", fake_made);
        tally_context_destroy(&shared);
    }
}

Test(modes, a_failure_leaves_the_quick_one)
{
    const tally_context_options logging = { .threads = 4, .log = keep_line };
    tally_context *context = modal_context(TALLY_COMPILE_BACKGROUND, &logging);
    fake_failures = 1;
    tally_kernel *kernel = fake_kernel(context, ROWS, NULL);
    for (int ms = 0; fake_failures > 0 && ms < 20000; ms++) {
        fake_sleep(1000);
    }
    run_rows(kernel, 4);
    /* The next who asks has it tried again. */
    for (int ms = 0; stats_of(context).quick > 0 && ms < 20000; ms++) {
        tally_kernel *again = fake_kernel(context, "cumsum:i64:6x40:axis=1", NULL);
        cr_assert_not_null(again);
        tally_kernel_destroy(&again);
        fake_sleep(1000);
    }
    await_full(context);
    cr_expect_not_null(strstr(told, "cumsum:i64 for cpu:"), "%s", told);
    cr_expect_not_null(strstr(told, "goes on with quick code: cannot make"), "%s", told);
    run_rows(kernel, 4);
    cr_expect(kernel->plain);
    expect_made(1, 2);
    tally_kernel_destroy(&kernel);
    tally_context_destroy(&context);
}

/* What quick selection cannot do, a generator that has none, and a process without more threads:
 * the creation makes the full kernel. */
Test(modes, in_full_where_nothing_else_helps)
{
    const tally_kernel_options options = { sizeof options, NULL, "quickfail", NULL };
    tally_context *context = modal_context(TALLY_COMPILE_BACKGROUND, &plain);
    tally_descriptor d;
    tally_kernel *kernel = NULL;
    tally_descriptor_parse(ROWS, &d, NULL);
    cr_assert_eq(tally_kernel_create(context, &d, &options, &kernel, NULL), TALLY_OK);
    cr_expect(kernel->plain);
    expect_made(1, 1);
    tally_kernel_destroy(&kernel);

    refuse_threads = 1;
    kernel = fake_kernel(context, ROWS, NULL);
    cr_expect(kernel->plain);
    refuse_threads = 0;
    expect_made(2, 2);
    tally_kernel_destroy(&kernel);

    tly_generator slow = fake_generator;
    slow.generate_quick = NULL;
    tly_context_set_generator(context, &slow);
    kernel = fake_kernel(context, "sum:i64:400", NULL);
    cr_expect(kernel->plain);
    expect_made(2, 3);
    cr_expect_eq(stats_of(context).quick, 0);
    tally_kernel_destroy(&kernel);
    tally_context_destroy(&context);
}

/* The end waits for what is being made and gives up the rest. */
Test(modes, the_end_comes_first)
{
    static const char *const many[] = { ROWS, "sum:i64:400", "cumsum:u64:400:axis=0" };
    tally_context *context = modal_context(TALLY_COMPILE_BACKGROUND, &plain);
    fake_delay_us = 100000;
    for (int i = 0; i < 3; i++) {
        tally_kernel *kernel = fake_kernel(context, many[i], NULL);
        cr_assert_not_null(kernel);
        tally_kernel_destroy(&kernel);
    }
    tally_context_destroy(&context);
    cr_expect_leq(fake_made, 1, "%d made", fake_made);
    fake_delay_us = 0;
}

/* --- warming --------------------------------------------------------------------------------- */

enum { WORDS = 6, KERNELS = 4 };

static const char *const words[WORDS] = { ROWS,
                                          "sum:i64:400",
                                          "cumsum:u64:9:axis=0",
                                          ROWS,
                                          "cumsum:i64:3x40:axis=1",
                                          "cumsum:i64:40x8:axis=0" };

static void parse_words(tally_descriptor *d)
{
    for (int i = 0; i < WORDS; i++) {
        cr_assert_eq(tally_descriptor_parse(words[i], &d[i], NULL), TALLY_OK, "%s", words[i]);
    }
}

Test(modes, warm_makes_each_once)
{
    tally_descriptor d[WORDS];
    parse_words(d);
    for (int way = 0; way < 4; way++) {
        atomic_int calls = 0;
        tally_context_options options = plain;
        options.parallel = way % 2 ? sequential : NULL;
        options.parallel_user = &calls;
        tally_context *context = modal_context(
            way / 2 ? TALLY_COMPILE_BACKGROUND : TALLY_COMPILE_WAIT, &options);
        tally_error error = TALLY_ERROR_INIT;
        fake_made = 0;
        fake_delay_us = 2000;
        cr_assert_eq(tally_context_warm(context, d, WORDS, NULL, &error), TALLY_OK, "%s",
                     error.message);
        cr_expect_eq(calls, way % 2);
        expect_made(0, KERNELS);
        cr_expect_eq(stats_of(context).compiled, KERNELS);
        tally_kernel *kernel = fake_kernel(context, ROWS, NULL);
        cr_expect(kernel->plain);
        run_rows(kernel, 2);
        cr_expect_eq(tally_context_warm(context, d, WORDS, NULL, NULL), TALLY_OK);
        cr_expect_eq(tally_context_warm(context, NULL, 0, NULL, NULL), TALLY_OK);
        expect_made(0, KERNELS);
        tally_kernel_destroy(&kernel);
        tally_context_destroy(&context);
    }
}

/* What the background has begun or has before it is not made once more. */
Test(modes, warm_shares_with_the_background)
{
    tally_descriptor d[WORDS];
    tally_kernel *kernels[WORDS];
    parse_words(d);
    tally_context *context = modal_context(TALLY_COMPILE_BACKGROUND, &plain);
    fake_delay_us = 20000;
    for (int i = 0; i < WORDS; i++) {
        cr_assert_eq(tally_kernel_create(context, &d[i], NULL, &kernels[i], NULL), TALLY_OK);
    }
    cr_assert_eq(tally_context_warm(context, d, WORDS, NULL, NULL), TALLY_OK);
    cr_expect_eq(stats_of(context).quick, 0);
    expect_made(KERNELS, KERNELS);
    run_rows(kernels[0], 1);
    cr_expect(kernels[0]->plain);
    for (int i = 0; i < WORDS; i++) {
        tally_kernel_destroy(&kernels[i]);
    }
    tally_context_destroy(&context);
}

Test(modes, warm_goes_on_after_a_failure)
{
    const tally_kernel_options fails = { sizeof fails, NULL, "fail", NULL };
    tally_descriptor d[WORDS];
    tally_error error = TALLY_ERROR_INIT;
    parse_words(d);
    tally_context *context = modal_context(TALLY_COMPILE_WAIT, &plain);
    d[1].rank = 99;
    d[4].sizes[0] = -1;
    cr_expect_eq(tally_context_warm(context, d, WORDS, NULL, &error), TALLY_INVALID);
    cr_expect_eq(error.status, TALLY_INVALID);
    cr_expect_eq(strncmp(error.message, "1: ", 3), 0, "%s", error.message);
    expect_made(0, KERNELS - 1);
    cr_expect_eq(tally_context_warm(context, d, 1, &fails, &error), TALLY_INTERNAL);
    cr_expect_str_eq(error.message, "0: cannot make fail");
    cr_expect_str_eq(error.hint, "do not ask");
    d[0].size = 0;
    cr_expect_eq(tally_context_warm(context, d, WORDS, NULL, &error), TALLY_INVALID);
    cr_expect_eq(tally_context_warm(context, NULL, 1, NULL, &error), TALLY_INVALID);
    cr_expect_eq(tally_context_warm(NULL, d, 1, NULL, &error), TALLY_INVALID);
    tally_context_destroy(&context);
}

/* A program of another version has larger descriptors, or smaller ones. */
Test(modes, warm_steps_as_the_first_says)
{
    struct {
        tally_descriptor known;
        int64_t unknown[2];
    } wide[2] = { 0 };
    tally_context *context = modal_context(TALLY_COMPILE_WAIT, &plain);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(tally_descriptor_parse(words[i], &wide[i].known, NULL), TALLY_OK);
        wide[i].known.size = sizeof wide[i];
    }
    cr_assert_eq(tally_context_warm(context, &wide[0].known, 2, NULL, NULL), TALLY_OK);
    expect_made(0, 2);
    tally_context_destroy(&context);
}

/* --- one run's threads ------------------------------------------------------------------------ */

Test(modes, a_run_has_its_own_threads)
{
    for (int lent = 0; lent < 2; lent++) {
        atomic_int of_context = 0, of_run = 0;
        tally_context_options options = plain;
        options.parallel = lent ? sequential : NULL;
        options.parallel_user = &of_context;
        tally_context *context = modal_context(TALLY_COMPILE_WAIT, &options);
        tally_kernel *kernel = fake_kernel(context, ROWS, NULL);
        const struct {
            tally_run_options with;
            int of_context, of_run;
        } cases[] = {
            { { sizeof(tally_run_options), 3, 0, sequential, &of_run, NULL }, 0, 1 },
            { { sizeof(tally_run_options), 0, 0, sequential, &of_run, NULL }, 0, 1 },
            { { sizeof(tally_run_options), 1, 0, sequential, &of_run, NULL }, 0, 0 },
            { { sizeof(tally_run_options), 2, 0, NULL, NULL, NULL }, 1, 0 },
            { { offsetof(tally_run_options, parallel), 2, 0, sequential, &of_run, NULL }, 1, 0 },
        };
        for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
            int64_t in[4000], out[4000];
            for (int i = 0; i < 4000; i++) {
                in[i] = i * 7 % 1013;
            }
            of_context = of_run = 0;
            cr_assert_eq(tally_kernel_run_with(kernel, in, out, &cases[c].with, NULL), TALLY_OK);
            check(in, out);
            cr_expect_eq(of_context, lent && cases[c].of_context, "case %zu", c);
            cr_expect_eq(of_run, cases[c].of_run, "case %zu", c);
            of_run = of_context = 0;
            cr_assert_eq(tally_kernel_run_with(kernel, in, out, NULL, NULL), TALLY_OK);
            cr_expect_eq(of_context, lent);
        }
        cr_expect_eq(context->pool.started > 0, !lent);
        tally_kernel_destroy(&kernel);
        tally_context_destroy(&context);
    }
}

static void counting(void *user, int64_t count, void (*task)(void *, int64_t), void *state)
{
    atomic_int calls = 0;
    *(int64_t *)user = count;
    sequential(&calls, count, task, state);
}

/* As many as it gave tasks to; one where it calls the code itself; none for an empty tensor. */
Test(modes, a_run_says_how_many_threads_it_used)
{
    static const struct {
        const char *word;
        int32_t most, least_used, most_used;
    } cases[] = {
        { ROWS, 1, 1, 1 },
        { ROWS, 2, 2, 2 },
        { ROWS, 3, 2, 3 },
        { "cumsum:i64:1000:axis=0", 3, 2, 3 },
        { "cumsum:i64:3:axis=0", 3, 1, 1 },
        { "sum:i64:1000", 2, 2, 2 },
        { "cumsum:i64:0x4:axis=1", 3, 0, 0 },
    };
    tally_context *context = modal_context(TALLY_COMPILE_WAIT, &plain);
    int64_t in[4000] = { 1 }, out[4000];
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        int64_t tasks = 0;
        int32_t used = -1;
        tally_run_options with = { sizeof with, cases[c].most, 0, counting, &tasks, &used };
        tally_kernel *kernel = fake_kernel(context, cases[c].word, NULL);
        cr_assert_eq(tally_kernel_run_with(kernel, in, out, &with, NULL), TALLY_OK);
        cr_expect(used >= cases[c].least_used && used <= cases[c].most_used, "%s by %d: %d",
                  cases[c].word, cases[c].most, used);
        cr_expect_eq(used, used > 1 ? tasks : used, "%s: %d of %d", cases[c].word, used,
                     (int)tasks);
        used = -1;
        cr_expect_eq(tally_kernel_run_with(kernel, NULL, out, &with, NULL),
                     cases[c].most_used > 0 ? TALLY_INVALID : TALLY_OK);
        cr_expect_eq(used, cases[c].most_used > 0 ? -1 : 0, "written by a run that is refused");
        with.size = offsetof(tally_run_options, threads_used);
        used = -1;
        cr_assert_eq(tally_kernel_run_with(kernel, in, out, &with, NULL), TALLY_OK);
        cr_expect_eq(used, -1, "a program of an older version has no such field");
        tally_kernel_destroy(&kernel);
    }
    tally_context_destroy(&context);
}

Test(modes, a_run_that_is_refused_writes_nothing)
{
    struct {
        tally_run_options known;
        int64_t unknown;
    } wide = { { sizeof wide, 0, 0, NULL, NULL, NULL }, 1 };
    const tally_run_options refused[] = {
        { 0, 0, 0, NULL, NULL, NULL },
        { sizeof(tally_run_options), -1, 0, NULL, NULL, NULL },
        { sizeof(tally_run_options), 0, 1, NULL, NULL, NULL },
    };
    const tally_run_options *const all[] = { &refused[0], &refused[1], &refused[2], &wide.known };
    tally_context *context = modal_context(TALLY_COMPILE_WAIT, &plain);
    tally_kernel *kernel = fake_kernel(context, ROWS, NULL);
    int64_t in[4000] = { 1 }, out[4000] = { 0 };
    for (size_t c = 0; c < sizeof all / sizeof all[0]; c++) {
        tally_error error = TALLY_ERROR_INIT;
        cr_expect_eq(tally_kernel_run_with(kernel, in, out, all[c], &error), TALLY_INVALID);
        cr_expect_eq(error.status, TALLY_INVALID);
        cr_expect_str_eq(error.field, "usage");
        for (int i = 0; i < 4000; i++) {
            cr_assert_eq(out[i], 0);
        }
    }
    const tally_run_options good = TALLY_RUN_OPTIONS_INIT;
    cr_expect_eq(tally_kernel_run_with(NULL, in, out, &good, NULL), TALLY_INVALID);
    cr_expect_eq(tally_kernel_run_with(kernel, NULL, out, &good, NULL), TALLY_INVALID);
    tally_kernel_destroy(&kernel);
    tally_context_destroy(&context);
}

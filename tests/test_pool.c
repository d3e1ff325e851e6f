/* SPDX-License-Identifier: Apache-2.0 */
/* Worker threads, and runs cut into tasks: every cut, in every order, with every kind of host. */
#include "fake.h"

#include "../runtime/cpu/cpu.h"

#include <criterion/criterion.h>
#include <fenv.h>
#include <stdio.h>

/* --- the pool by itself ---------------------------------------------------------------------- */

typedef struct count_up {
    atomic_int *times;
    int delay_us;
    pthread_t caller;
    atomic_int wrong_rounding;
} count_up;

static void count_one(void *state, int64_t index)
{
    count_up *c = state;
    c->times[index]++;
    int is_worker = !pthread_equal(pthread_self(), c->caller);
    c->wrong_rounding += is_worker && fegetround() != FE_TONEAREST;
    fake_sleep(c->delay_us);
}

typedef struct caller {
    tly_pool *pool;
    int64_t count;
    int delay_us, failures;
} caller;

static void *call_often(void *argument)
{
    caller *c = argument;
    for (int round = 0; round < 50; round++) {
        atomic_int times[40] = { 0 };
        count_up state = { .times = times, .delay_us = c->delay_us, .caller = pthread_self() };
        tly_pool_run(c->pool, c->count, count_one, &state);
        for (int64_t i = 0; i < 40; i++) {
            c->failures += times[i] != (i < c->count);
        }
    }
    return NULL;
}

Test(pool, each_index_once_from_many_callers)
{
    tly_pool pool;
    tly_pool_init(&pool);
    enum { CALLERS = 5 };
    caller callers[CALLERS] = {
        { &pool, 1, 0, 0 },  { &pool, 2, 100, 0 }, { &pool, 7, 10, 0 },
        { &pool, 40, 0, 0 }, { &pool, 3, 0, 0 },
    };
    pthread_t threads[CALLERS];
    for (int i = 0; i < CALLERS; i++) {
        cr_assert_eq(pthread_create(&threads[i], NULL, call_often, &callers[i]), 0);
    }
    for (int i = 0; i < CALLERS; i++) {
        pthread_join(threads[i], NULL);
        cr_assert_eq(callers[i].failures, 0);
    }
    cr_assert_eq(pool.started, 39);
    tly_pool_end(&pool);
}

Test(pool, workers_have_the_default_environment)
{
    tly_pool pool;
    tly_pool_init(&pool);
    fesetround(FE_UPWARD);
    atomic_int times[8] = { 0 };
    count_up state = { .times = times, .delay_us = 20000, .caller = pthread_self() };
    tly_pool_run(&pool, 8, count_one, &state);
    fesetround(FE_TONEAREST);
    cr_assert_gt(pool.started, 0);
    cr_assert_eq(state.wrong_rounding, 0);
    tly_pool_end(&pool);
}

/* --- runs ----------------------------------------------------------------------------------- */

static void sequential(void *user, int64_t count, void (*task)(void *, int64_t), void *state)
{
    (void)user;
    for (int64_t i = 0; i < count; i++) {
        task(state, i);
    }
}

static void reversed(void *user, int64_t count, void (*task)(void *, int64_t), void *state)
{
    (void)user;
    for (int64_t i = count; i-- > 0;) {
        task(state, i);
    }
}

typedef struct one {
    void (*task)(void *, int64_t);
    void *state;
    int64_t index;
} one;

static void *run_one(void *argument)
{
    one *o = argument;
    o->task(o->state, o->index);
    return NULL;
}

/* A thread for each task, started in reverse. */
static void thread_each(void *user, int64_t count, void (*task)(void *, int64_t), void *state)
{
    (void)user;
    pthread_t threads[64];
    one ones[64];
    for (int64_t i = count; i-- > 0;) {
        ones[i] = (one){ task, state, i };
        cr_assert_eq(pthread_create(&threads[i], NULL, run_one, &ones[i]), 0);
    }
    for (int64_t i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
    }
}

static int64_t value(int64_t i, int kind)
{
    return kind == 2 && i % 37 == 5 ? FAKE_NO_TOTAL : i * 7 % 1013 - 300;
}

/* Compares with plain loops; `axis` 0 or 1 of a rows x columns tensor. */
static void check(tally_kernel *kernel, int64_t rows, int64_t columns, int axis, int32_t threads,
                  int kind, int in_place, const char *what)
{
    int64_t all = rows * columns;
    int64_t *in = malloc((size_t)all * sizeof *in), *out = malloc((size_t)all * sizeof *out);
    for (int64_t i = 0; i < all; i++) {
        in[i] = value(i, kind);
        out[i] = in_place ? in[i] : -1;
    }
    tally_error error = TALLY_ERROR_INIT;
    cr_assert_eq(tally_kernel_run_threads(kernel, in_place ? out : in, out, threads, &error),
                 TALLY_OK, "%s", error.message);
    int64_t wrong = 0;
    for (int64_t i = 0; i < all; i++) {
        int first = axis == 1 ? i % columns == 0 : i < columns;
        in[i] += first ? 0 : in[axis == 1 ? i - 1 : i - columns];
        wrong += out[i] != in[i];
    }
    cr_assert_eq(wrong, 0, "%s with %d threads, kind %d", what, threads, kind);
    free(in);
    free(out);
}

static const struct {
    const char *word;
    int64_t rows, columns;
    int axis;
} shapes[] = {
    { "cumsum:i64:1000:axis=0", 1, 1000, 1 },   /* a chain */
    { "cumsum:i64:33:axis=0", 1, 33, 1 },       /* of three chunks */
    { "cumsum:i64:3x1000:axis=1", 3, 1000, 1 }, /* chains one after the other */
    { "cumsum:i64:3x16:axis=1", 3, 16, 1 },     /* rows of one chunk */
    { "cumsum:i64:1000x3:axis=1", 1000, 3, 1 }, /* many rows: whole pages */
    { "cumsum:i64:100x40:axis=1", 100, 40, 1 }, /* rows of three chunks */
    { "cumsum:i64:2x100x40:axis=2", 200, 40, 1 },
    { "cumsum:i64:30x100:axis=0", 30, 100, 0 }, /* columns in parts */
    { "cumsum:i64:30x16:axis=0,order=serial", 30, 16, 0 },
    { "cumsum:i64:300x1:axis=0", 1, 300, 1 },
};

Test(pool, runs_are_right_however_they_are_cut)
{
    static const struct {
        tally_parallel_for parallel;
        const char *name;
    } hosts[] = {
        { NULL, "own pool" },
        { sequential, "sequential" },
        { reversed, "reversed" },
        { thread_each, "a thread each" },
    };
    static const int32_t threads[] = { 0, 1, 2, 3, 5, 16 };
    for (size_t h = 0; h < sizeof hosts / sizeof hosts[0]; h++) {
        tally_context_options options = { .size = sizeof options, .parallel = hosts[h].parallel };
        tally_context *context = fake_context(&options);
        for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
            tally_kernel *kernel = fake_kernel(context, shapes[s].word, NULL);
            cr_assert_not_null(kernel, "%s", shapes[s].word);
            for (size_t t = 0; t < sizeof threads / sizeof threads[0]; t++) {
                for (int kind = 1; kind <= 2; kind++) {
                    char what[80];
                    snprintf(what, sizeof what, "%s, %s", shapes[s].word, hosts[h].name);
                    check(kernel, shapes[s].rows, shapes[s].columns, shapes[s].axis, threads[t],
                          kind, t & 1, what);
                }
            }
            tally_kernel_destroy(&kernel);
        }
        tally_context_destroy(&context);
    }
    cr_assert_eq(fake_faults, 0);
}

/* Slow scans make successors wait: first by totals, then, where those say nothing, for the scan,
 * long enough to sleep. */
Test(pool, carries_overtake_scans)
{
    tally_context_options options = { .size = sizeof options, .threads = 4 };
    tally_context *context = fake_context(&options);
    tally_kernel *kernel = fake_kernel(context, "cumsum:i64:2x160:axis=1", NULL);
    fake_scan_us = 3000;
    check(kernel, 2, 160, 1, 0, 1, 0, "totals");
    cr_assert_gt(fake_combined, 0);
    cr_assert_eq(fake_no_total, 0);
    check(kernel, 2, 160, 1, 0, 2, 0, "no totals");
    cr_assert_gt(fake_no_total, 0);
    fake_scan_us = 0;
    tally_kernel_destroy(&kernel);
    tally_context_destroy(&context);
}

/* So many runs that take `one` or `several` ns; how many were by several threads. */
static int learn(tly_worth *worth, int runs, uint64_t one, uint64_t several)
{
    int count = 0;
    for (int i = 0; i < runs; i++) {
        int by_several = tly_worth_several(worth);
        count += by_several;
        tly_worth_tell(worth, by_several, by_several ? several : one);
    }
    return count;
}

Test(pool, worth_is_learnt)
{
    static const struct {
        uint64_t one, several;
        int least, most; /* of 1000 runs by several threads */
    } cases[] = {
        { 1000, 600, 997, 997 },                          /* far apart: but for the first six */
        { 1000, 2000, 3, 3 },    { 1000, 900, 960, 970 }, /* close: one in 32 the other way */
        { 1000, 990, 30, 40 },                            /* no gain to speak of */
        { 1000, 1100, 30, 40 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tly_worth worth = { 0 };
        int count = learn(&worth, 1000, cases[i].one, cases[i].several);
        cr_assert(count >= cases[i].least && count <= cases[i].most, "case %zu: %d", i, count);
    }
    /* A first run that was held up, and times that change. */
    tly_worth worth = { 0 };
    cr_assert(tly_worth_several(&worth));
    tly_worth_tell(&worth, 1, 1000000);
    learn(&worth, 5, 1000, 600);
    cr_assert_eq(learn(&worth, 20, 1000, 600), 20);
    learn(&worth, 200, 1000, 1200);
    cr_assert_leq(learn(&worth, 64, 1000, 1200), 4);
    learn(&worth, 500, 1000, 600);
    cr_assert_geq(learn(&worth, 64, 1000, 600), 62);
}

/* Threads that take from each other what they gain are left out after a few runs; others are
 * not. */
Test(pool, threads_that_gain_nothing_are_left_out)
{
    for (int crowding = 1; crowding <= 4; crowding += 3) {
        tally_context_options options = { .size = sizeof options, .threads = 2 };
        tally_context *context = fake_context(&options);
        context->limits.crowd = 64;
        tally_kernel *kernel = fake_kernel(context, "cumsum:i64:800:axis=0", NULL);
        fake_scan_us = 500;
        fake_crowding = crowding;
        for (int in_place = 0; in_place <= 1; in_place++) {
            for (int i = 0; i < 6; i++) {
                check(kernel, 1, 800, 1, 0, 1, in_place, "learning");
            }
            int together = 0;
            for (int i = 0; i < 10; i++) {
                fake_together = 0;
                check(kernel, 1, 800, 1, 0, 1, in_place, "learnt");
                together += fake_together > 0;
            }
            cr_assert_eq(together >= 5, crowding == 1, "crowding %d: %d", crowding, together);
        }
        fake_scan_us = fake_crowding = 0;
        tally_kernel_destroy(&kernel);
        tally_context_destroy(&context);
    }
    cr_assert_eq(fake_faults, 0);
}

/* Totals that take next to no time come before scans also where the carry is there, so that no
 * thread waits for another one's scan. */
Test(pool, cheap_totals_come_first)
{
    enum { CHUNKS = 120 };
    tally_context_options options = { .size = sizeof options, .threads = 2 };
    tally_context *context = fake_context(&options);
    char word[40];
    snprintf(word, sizeof word, "cumsum:i64:%d:axis=0", CHUNKS * FAKE_CHUNK);
    tally_kernel *kernel = fake_kernel(context, word, NULL);
    fake_scan_us = 300;
    fake_combined = 0;
    check(kernel, 1, (int64_t)CHUNKS * FAKE_CHUNK, 1, 2, 1, 0, word);
    cr_assert_gt(fake_combined, CHUNKS / 2);
    fake_scan_us = 0;
    tally_kernel_destroy(&kernel);
    tally_context_destroy(&context);
    cr_assert_eq(fake_faults, 0);
}

static atomic_llong tasks_seen;

static void count_tasks(void *user, int64_t count, void (*task)(void *, int64_t), void *state)
{
    tasks_seen = count;
    sequential(user, count, task, state);
}

Test(pool, threads_are_bounded)
{
    static const struct {
        int32_t options, asked;
        int64_t seen; /* 0: one call, no tasks */
    } cases[] = { { 4, 0, 4 }, { 4, 3, 3 }, { 4, 9, 4 }, { 0, 9, 9 },
                  { 4, 1, 0 }, { 1, 9, 0 }, { 4, 2, 2 } };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        tally_context_options options = { .size = sizeof options,
                                          .parallel = count_tasks,
                                          .threads = cases[c].options };
        tally_context *context = fake_context(&options);
        tally_kernel *kernel = fake_kernel(context, "cumsum:i64:1000:axis=0", NULL);
        tasks_seen = 0;
        check(kernel, 1, 1000, 1, cases[c].asked, 1, 0, "bounded");
        cr_assert_eq(tasks_seen, cases[c].seen, "case %zu", c);
        tally_kernel_destroy(&kernel);
        /* 128 bytes are worth three threads at most, and there are two chunks. */
        kernel = fake_kernel(context, "cumsum:i64:17:axis=0", NULL);
        check(kernel, 1, 17, 1, cases[c].asked, 1, 0, "short");
        cr_assert_leq(tasks_seen, cases[c].seen);
        tally_kernel_destroy(&kernel);
        tally_context_destroy(&context);
    }
}

/* Handing on is dear where the kernel alone would take several threads; whole rows are not. As many
 * rows as threads need no chain. */
Test(pool, small_rows_make_no_chains)
{
    static const struct {
        const char *word;
        int64_t rows, chain;
        int chained, seen;
    } cases[] = {
        { "cumsum:i64:1000:axis=0", 1, 64, 1, 2 },
        { "cumsum:i64:1000:axis=0", 1, 1 << 20, 0, 0 },
        { "cumsum:i64:3x1000:axis=1", 3, 64, 1, 2 },
        { "cumsum:i64:3x1000:axis=1", 3, 1 << 20, 0, 2 },
        { "cumsum:i64:2x1000:axis=1", 2, 64, 0, 2 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tally_context_options options = { .size = sizeof options, .parallel = count_tasks };
        tally_context *context = fake_context(&options);
        context->limits.chain = cases[i].chain;
        tally_kernel *kernel = fake_kernel(context, cases[i].word, NULL);
        tasks_seen = 0;
        fake_carried = 0;
        check(kernel, cases[i].rows, 1000, 1, 2, 1, 0, cases[i].word);
        cr_assert_eq(tasks_seen, cases[i].seen, "case %zu: %lld tasks", i, (long long)tasks_seen);
        cr_assert_eq(fake_carried > 0, cases[i].chained, "case %zu", i);
        tally_kernel_destroy(&kernel);
        tally_context_destroy(&context);
    }
}

/* Asking for more tasks than there are CPUs gives as many as there are; a host's threads may have
 * other CPUs than the one that asks. */
Test(pool, threads_take_no_turns)
{
    tally_context_options options = { .size = sizeof options, .parallel = count_tasks };
    for (int32_t cpus = 1; cpus <= 5; cpus++) {
        tally_context *context = fake_context(&options);
        context->limits.cpus = cpus;
        tally_kernel *kernel = fake_kernel(context, "cumsum:i64:1000x3:axis=1", NULL);
        tasks_seen = 0;
        check(kernel, 1000, 3, 1, 4, 1, 0, "few CPUs");
        cr_assert_eq(tasks_seen, cpus == 1 ? 0 : cpus < 4 ? cpus : 4, "%d CPUs", cpus);
        tally_kernel_destroy(&kernel);
        tally_context_destroy(&context);
    }
    tally_context *context;
    cr_assert_eq(tally_context_create(&options, &context, NULL), TALLY_OK);
    cr_assert_eq(context->limits.cpus, tly_cpu_count());
    tally_context_destroy(&context);
    cr_assert_eq(tally_context_create(NULL, &context, NULL), TALLY_OK);
    cr_assert_eq(context->limits.cpus, 0, "asked anew by every run");
    tally_context_destroy(&context);
}

/* Two threads share lanes if each has `share` bytes of them. */
Test(pool, shares_of_lanes_are_wide)
{
    tally_context_options options = { .size = sizeof options, .parallel = count_tasks };
    static const int64_t shares[][2] = {
        { 32, 3 }, { 256, 3 }, { 288, 2 }, { 384, 2 }, { 416, 0 }
    };
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        tally_context *context = fake_context(&options);
        context->limits.share = shares[i][0];
        tally_kernel *kernel = fake_kernel(context, "cumsum:i64:30x100:axis=0", NULL);
        tasks_seen = 0;
        check(kernel, 30, 100, 0, 3, 1, 0, "shares");
        cr_assert_eq(tasks_seen, shares[i][1], "%lld bytes", (long long)shares[i][0]);
        tally_kernel_destroy(&kernel);
        tally_context_destroy(&context);
    }
}

/* --- scratch --------------------------------------------------------------------------------- */

/* A context keeps one block for each task that ran at once, none larger than the limit. */
Test(pool, scratch_is_bounded_and_kept)
{
    enum { LANES = 40000, LIMIT = 100000, THREADS = 3 };
    tally_context_options options = { .size = sizeof options, .threads = THREADS };
    fake_call_lanes = LIMIT / 8;
    tally_context *context = fake_context(&options);
    context->limits.scratch_bytes = LIMIT;
    tally_kernel *kernel = fake_kernel(context, "cumsum:i64:3x40000:axis=0", NULL);
    cr_assert_leq(kernel->scratch_bytes, LIMIT);
    cr_assert_gt(kernel->scratch_bytes, LIMIT * 9 / 10);
    size_t first = 0;
    for (int round = 0; round < 20; round++) {
        check(kernel, 3, LANES, 0, round < 2 ? 1 : THREADS, 1, 0, "in parts");
        size_t kept = tly_scratch_kept(&context->spare);
        cr_assert_leq(kept, (size_t)(round < 2 ? 1 : THREADS) * (kernel->scratch_bytes + 63));
        first = round == 0 ? kept : first;
        cr_assert(round != 1 || kept == first);
    }
    cr_assert_gt(first, 0);
    tally_kernel_destroy(&kernel);
    tally_context_destroy(&context);
    cr_assert_eq(fake_faults, 0);
}

Test(pool, scratch_grows_and_ends)
{
    tly_spare spare = { 0 };
    cr_assert_null(tly_scratch_take(&spare, SIZE_MAX - 64));
    tly_block *a = tly_scratch_take(&spare, 100), *b = tly_scratch_take(&spare, 1000);
    cr_assert_eq(tly_scratch_kept(&spare), 0);
    memset(tly_scratch_of(a), 1, 100);
    memset(tly_scratch_of(b), 2, 1000);
    tly_scratch_give(&spare, a);
    tly_scratch_give(&spare, b);
    cr_assert_eq(tly_scratch_kept(&spare), 128 + 1024);
    b = tly_scratch_take(&spare, 128);
    cr_assert_eq(b, a, "what fits is taken again");
    a = tly_scratch_take(&spare, 2000);
    cr_assert_eq((uintptr_t)tly_scratch_of(a) & 63, 0);
    tly_scratch_give(&spare, a);
    tly_scratch_give(&spare, b);
    cr_assert_eq(tly_scratch_kept(&spare), 2048 + 128);
    tly_block *many[TLY_SPARE_BLOCKS + 2];
    for (int i = 0; i < TLY_SPARE_BLOCKS + 2; i++) {
        many[i] = tly_scratch_take(&spare, 64);
    }
    for (int i = 0; i < TLY_SPARE_BLOCKS + 2; i++) {
        tly_scratch_give(&spare, many[i]);
    }
    cr_assert_leq(tly_scratch_kept(&spare), 2048 + 128 + TLY_SPARE_BLOCKS * 64);
    tly_scratch_end(&spare); /* leaks are AddressSanitizer's to find */
}

/* AddressSanitizer otherwise ends a program that asks for too much. */
const char *__asan_default_options(void);
__attribute__((visibility("default"))) const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

/* A row of 32 PB of accumulators takes a MiB of them; without the limit there is no memory for it,
 * and nothing is written. */
Test(pool, wide_rows_take_little_scratch)
{
    static const char word[] = "cumsum:i64:2x4000000000000000:axis=0";
    tally_context *context = fake_context(NULL);
    context->limits.scratch_bytes = 1 << 20;
    tally_kernel *kernel = fake_kernel(context, word, NULL);
    cr_assert_leq(kernel->scratch_bytes, 1 << 20);
    cr_assert_gt(kernel->scratch_bytes, (1 << 20) - 4096);
    tally_kernel_destroy(&kernel);
    tally_context_destroy(&context);
    context = fake_context(NULL);
    context->limits.scratch_bytes = INT64_MAX;
    kernel = fake_kernel(context, word, NULL);
    char *nowhere = (char *)(uintptr_t)4096; /* a store would end the process */
    tally_error error = TALLY_ERROR_INIT;
    cr_assert_eq(tally_kernel_run(kernel, nowhere, nowhere, &error), TALLY_OUT_OF_MEMORY);
    tally_kernel_destroy(&kernel);
    tally_context_destroy(&context);
}

/* A host that drops the tasks has them done by the caller. */
static void nobody(void *user, int64_t count, void (*task)(void *, int64_t), void *state)
{
    (void)user;
    (void)count;
    (void)task;
    (void)state;
}

Test(pool, nothing_is_left_undone)
{
    tally_context_options options = { .size = sizeof options, .parallel = nobody, .threads = 3 };
    tally_context *context = fake_context(&options);
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        tally_kernel *kernel = fake_kernel(context, shapes[s].word, NULL);
        check(kernel, shapes[s].rows, shapes[s].columns, shapes[s].axis, 0, 1, 0, shapes[s].word);
        tally_kernel_destroy(&kernel);
    }
    tally_context_destroy(&context);
}

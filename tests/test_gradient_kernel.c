/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tally_gradient_kernel. What it computes is what the steps of tally_gradient do, which the test
 * `gradient` draws; here are blocks, threads, and what is refused, with nothing written.
 */
#include <criterion/criterion.h>

#include "../runtime/context/internal.h"
#include "../runtime/steps/steps.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tally.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static tally_context *context;

static void begin(void)
{
    tally_context_options options = TALLY_CONTEXT_OPTIONS_INIT;
    options.threads = 3;
    cr_assert_eq(tally_context_create(&options, &context, NULL), TALLY_OK);
    context->limits.cpus = 3;
}

static void end(void)
{
    tally_context_destroy(&context);
}

TestSuite(gradient_kernel, .init = begin, .fini = end, .timeout = 120);

static tally_descriptor parse(const char *word)
{
    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    tally_error error = TALLY_ERROR_INIT;
    cr_assert_eq(tally_descriptor_parse(word, &d, &error), TALLY_OK, "%s: %s", word, error.message);
    return d;
}

static tally_gradient_kernel *make(const char *word, tally_source wrt)
{
    const tally_descriptor d = parse(word);
    tally_error error = TALLY_ERROR_INIT;
    tally_gradient_kernel *kernel = NULL;
    cr_assert_eq(tally_gradient_kernel_create(context, &d, wrt, NULL, &kernel, &error), TALLY_OK,
                 "%s: %s", word, error.message);
    return kernel;
}

/* ---- blocks ---- */

/* x[i] = 2 and g[i] = 1, so that element t of n has the gradient 2^t + 2^(t+1) + ... + 2^(n-1). */
static double gradient_of_twos(int64_t t, int64_t n)
{
    return ldexp(1, (int)n - 1) * 2 - ldexp(1, (int)t);
}

static float *filled(size_t count, float with)
{
    float *x = malloc((count + 1) * sizeof *x);
    cr_assert(x);
    for (size_t i = 0; i <= count; i++)
        x[i] = with;
    return x;
}

static void run(const tally_gradient_kernel *kernel, const float *x, const float *g, float *out,
                const tally_run_options *options)
{
    tally_gradient_buffers b = TALLY_GRADIENT_BUFFERS_INIT;
    tally_error error = TALLY_ERROR_INIT;
    b.x = x;
    b.g = g;
    b.out = out;
    cr_assert_eq(tally_gradient_kernel_run(kernel, &b, options, &error), TALLY_OK, "%s: %s",
                 error.field, error.message);
}

static void check_rows(const float *out, int64_t rows, int64_t n)
{
    for (int64_t i = 0; i < rows * n; i++) {
        const double want = gradient_of_twos(i % n, n);
        cr_assert_eq((double)out[i], want, "element %lld: %g, not %g", (long long)i, (double)out[i],
                     want);
    }
    cr_assert_eq(out[rows * n], -1, "written behind the result");
}

/* Bytes between steps, and blocks: of one row, of three rows of seven, of a plane, of two planes of
 * three, and of all. A row takes two lines of 64 bytes. */
Test(gradient_kernel, blocks_of_any_size_make_the_same)
{
    enum { PLANES = 3, ROWS = 7, N = 20, ALL = PLANES * ROWS };
    static const struct {
        int64_t between, blocks;
    } cases[] = { { 1, ALL }, { 200, ALL }, { 400, 3 * 3 }, { 600, 3 }, { 1200, 2 }, { 1728, 1 } };
    float *x = filled(ALL * N, 2), *g = filled(ALL * N, 1);
    for (size_t i = 0; i < COUNT(cases); i++) {
        float *out = filled(ALL * N, -1);
        context->limits.between = cases[i].between;
        tally_gradient_kernel *kernel = make("cumprod:f32:3x7x20:axis=2", TALLY_SOURCE_X);
        cr_expect_eq(kernel->block_count, cases[i].blocks, "%lld bytes: %lld blocks",
                     (long long)cases[i].between, (long long)kernel->block_count);
        cr_expect_geq(tally_gradient_kernel_memory(kernel), N * 4);
        run(kernel, x, g, out, NULL);
        check_rows(out, ALL, N);
        tally_gradient_kernel_destroy(&kernel);
        cr_expect_null(kernel);
        free(out);
    }
    free(g);
    free(x);
}

/* Without a limit: what is little is one block. */
Test(gradient_kernel, cuts_what_is_large)
{
    static const struct {
        const char *word;
        int64_t least, most;
    } cases[] = {
        { "cumprod:f32:1024x1024:axis=1", 64, 64 },     { "cumprod:f32:1024x16:axis=1", 1, 1 },
        { "cumprod:f32:1024x1024:axis=0", 1, 1 },       { "cumprod:f32:16777216:axis=0", 1, 1 },
        { "cumprod:f32:4x4194304:axis=1", 1, 1 },       { "cumprod:f32:16x1048576:axis=1", 16, 16 },
        { "cumprod:f32:1x4096x4096:axis=2", 128, 128 }, { "cumsum:f32:4096x4096:axis=1", 1, 1 },
        { "cumprod:f32:4x64x64x256:axis=2", 8, 256 },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        tally_gradient_kernel *kernel = make(cases[i].word, TALLY_SOURCE_X);
        cr_expect(kernel->block_count >= cases[i].least && kernel->block_count <= cases[i].most,
                  "%s: %lld blocks", cases[i].word, (long long)kernel->block_count);
        tally_gradient_kernel_destroy(&kernel);
    }
}

/* ---- threads ---- */

enum { ROWS = 301, LENGTH = 21, CALLERS = 4 };

static void one_by_one(void *user, int64_t count, void (*task)(void *, int64_t), void *state)
{
    *(int64_t *)user += count;
    for (int64_t i = count; i-- > 0;)
        task(state, i);
}

static void *call(void *kernel)
{
    float *x = filled(ROWS * LENGTH, 2), *g = filled(ROWS * LENGTH, 1);
    for (int round = 0; round < 20; round++) {
        float *out = filled(ROWS * LENGTH, -1);
        run(kernel, x, g, out, NULL);
        check_rows(out, ROWS, LENGTH);
        free(out);
    }
    free(g);
    free(x);
    return NULL;
}

Test(gradient_kernel, runs_in_many_threads_at_once)
{
    static const int64_t limits[] = { 1000, INT64_MAX };
    for (size_t i = 0; i < COUNT(limits); i++) {
        pthread_t callers[CALLERS];
        context->limits.between = limits[i];
        tally_gradient_kernel *kernel = make("cumprod:f32:301x21:axis=1", TALLY_SOURCE_X);
        for (int c = 0; c < CALLERS; c++)
            cr_assert_eq(pthread_create(&callers[c], NULL, call, kernel), 0);
        for (int c = 0; c < CALLERS; c++)
            pthread_join(callers[c], NULL);
        tally_gradient_kernel_destroy(&kernel);
    }
}

Test(gradient_kernel, takes_the_threads_of_a_host)
{
    int64_t tasks = 0;
    int32_t used = -1;
    tally_run_options options = TALLY_RUN_OPTIONS_INIT;
    float *x = filled(ROWS * LENGTH, 2), *g = filled(ROWS * LENGTH, 1);
    float *out = filled(ROWS * LENGTH, -1);
    context->limits.between = 1000;
    tally_gradient_kernel *kernel = make("cumprod:f32:301x21:axis=1", TALLY_SOURCE_X);
    options.parallel = one_by_one;
    options.parallel_user = &tasks;
    options.threads_used = &used;
    run(kernel, x, g, out, &options);
    check_rows(out, ROWS, LENGTH);
    cr_expect_eq(tasks, 3);
    cr_expect_eq(used, 3);
    options.threads = 1;
    run(kernel, x, g, out, &options);
    cr_expect_eq(tasks, 3, "a run on one thread needs no thread of the host");
    cr_expect_eq(used, 1);
    tally_gradient_kernel_destroy(&kernel);
    free(out);
    free(g);
    free(x);
}

/* ---- what is read ---- */

Test(gradient_kernel, tells_what_it_reads)
{
    enum {
        X = 1 << TALLY_SOURCE_X,
        G = 1 << TALLY_SOURCE_G,
        Y = 1 << TALLY_SOURCE_Y,
        A = 1 << TALLY_SOURCE_A,
        B = 1 << TALLY_SOURCE_B,
        OFFSETS = 1 << TALLY_SOURCE_OFFSETS,
        G_CARRY = 1 << TALLY_SOURCE_G_CARRY,
        IN = 1 << TALLY_SOURCE_CARRY_IN
    };
    static const struct {
        const char *word;
        tally_source wrt;
        uint32_t reads;
    } cases[] = {
        { "cumprod:f32:4x8:axis=1", TALLY_SOURCE_X, X | G },
        { "cumsum:f32:4x8:axis=1", TALLY_SOURCE_X, G },
        { "sum:f32:4x8:axes=1", TALLY_SOURCE_X, X | G },
        { "log_sum_exp:f32:4x8:axes=1", TALLY_SOURCE_X, X | G | Y },
        { "sum:f32:4x8:axes=1,a=f32,b=f32,map=x*a*b", TALLY_SOURCE_A, X | G | B },
        { "sum:f32:4x8:axes=1,segments=i32/3", TALLY_SOURCE_X, X | G | OFFSETS },
        { "linrec:f32:8x4:axis=0,a=f32,carry=in+out", TALLY_SOURCE_X, A | G | G_CARRY },
        { "linrec:f32:8x4:axis=0,a=f32,carry=in", TALLY_SOURCE_A, A | G | X | IN },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        tally_gradient_kernel *kernel = make(cases[i].word, cases[i].wrt);
        cr_expect_eq(tally_gradient_kernel_reads(kernel), cases[i].reads, "%s: %x", cases[i].word,
                     tally_gradient_kernel_reads(kernel));
        tally_gradient_kernel_destroy(&kernel);
    }
    cr_expect_str_eq(tally_source_name(TALLY_SOURCE_OFFSETS), "offsets");
    cr_expect_null(tally_source_name(TALLY_SOURCE_NONE));
    cr_expect_null(tally_source_name(TALLY_SOURCE_STEP));
    cr_expect_eq(tally_gradient_kernel_reads(NULL), 0);
    cr_expect_eq(tally_gradient_kernel_memory(NULL), 0);
    tally_gradient_kernel_destroy(NULL);
}

/* ---- what is refused ---- */

static void expect_refusal(const tally_gradient_kernel *kernel, const tally_gradient_buffers *b,
                           const tally_run_options *options, const char *field)
{
    tally_error error = TALLY_ERROR_INIT;
    cr_expect_eq(tally_gradient_kernel_run(kernel, b, options, &error), TALLY_INVALID);
    cr_expect_str_eq(error.field, field, "%s: %s", error.field, error.message);
}

Test(gradient_kernel, refuses_pointers_and_writes_nothing)
{
    enum { N = 24 };
    static float memory[4 * N];
    float x[N], g[N], out[N + 1];
    const tally_run_options wrong = { .size = sizeof wrong, .threads = -1 };
    tally_gradient_kernel *kernel = make("cumprod:f32:3x8:axis=1", TALLY_SOURCE_X);
    memset(x, 0, sizeof x);
    memset(g, 0, sizeof g);
    memset(out, 0x55, sizeof out);
    tally_gradient_buffers b = TALLY_GRADIENT_BUFFERS_INIT;
    const tally_gradient_buffers good = { .size = sizeof good, .x = x, .g = g, .out = out };
    expect_refusal(kernel, NULL, NULL, "usage");
    expect_refusal(NULL, &good, NULL, "usage");
    expect_refusal(kernel, &good, &wrong, "usage");
    b = good;
    b.size = 4;
    expect_refusal(kernel, &b, NULL, "usage");
    b = good;
    b.x = NULL;
    expect_refusal(kernel, &b, NULL, "x");
    b = good;
    b.g = NULL;
    expect_refusal(kernel, &b, NULL, "g");
    b = good;
    b.out = NULL;
    expect_refusal(kernel, &b, NULL, "out");
    b = good;
    b.g = (const char *)memory + 1;
    expect_refusal(kernel, &b, NULL, "g");
    b = good;
    b.x = memory;
    b.out = memory + N - 1;
    expect_refusal(kernel, &b, NULL, "out");
    b.out = memory; /* in place: the first step's input is read again by the second */
    expect_refusal(kernel, &b, NULL, "out");
    for (size_t i = 0; i < sizeof out; i++)
        cr_assert_eq(((unsigned char *)out)[i], 0x55, "something was written");
    for (size_t i = 0; i < COUNT(memory); i++)
        cr_assert_eq(memory[i], 0, "something was written");
    b = good;
    b.y = b.operand[0] = b.carry_in = b.offsets = (const char *)memory + 1; /* not read */
    cr_expect_eq(tally_gradient_kernel_run(kernel, &b, NULL, NULL), TALLY_OK);
    tally_gradient_kernel_destroy(&kernel);
}

Test(gradient_kernel, refuses_offsets_and_writes_nothing)
{
    static const int32_t wrong[][4] = { { 0, 5, 4, 8 }, { 0, 1, 2, 9 }, { -1, 1, 2, 8 } };
    float x[8] = { 0 }, g[3] = { 1, 2, 3 }, out[8];
    tally_gradient_kernel *kernel = make("sum:f32:8:axes=0,segments=i32/3", TALLY_SOURCE_X);
    tally_gradient_buffers b = TALLY_GRADIENT_BUFFERS_INIT;
    b.x = x;
    b.g = g;
    b.out = out;
    expect_refusal(kernel, &b, NULL, "offsets");
    memset(out, 0x55, sizeof out);
    for (size_t i = 0; i < COUNT(wrong); i++) {
        b.offsets = wrong[i];
        expect_refusal(kernel, &b, NULL, "offsets");
    }
    for (size_t i = 0; i < sizeof out; i++)
        cr_assert_eq(((unsigned char *)out)[i], 0x55, "something was written");
    const int32_t right[] = { 1, 3, 3, 6 };
    const float want[] = { 0, 1, 1, 3, 3, 3, 0, 0 };
    b.offsets = right;
    cr_assert_eq(tally_gradient_kernel_run(kernel, &b, NULL, NULL), TALLY_OK);
    cr_expect_arr_eq(out, want, sizeof want);
    tally_gradient_kernel_destroy(&kernel);
}

Test(gradient_kernel, refuses_words)
{
    static const struct {
        const char *word, *field;
        tally_status status;
    } cases[] = {
        { "cumprod:f32:?x8:axis=1", "sizes", TALLY_INVALID },
        { "argmax:f32:4x8:axes=1", "op", TALLY_INVALID },
        { "cumsum:i32:8:axis=0", "dtype", TALLY_INVALID },
        { "cumlogsumexp:f32:8:axis=0,carry=out", "carry", TALLY_UNSUPPORTED },
    };
    const tally_descriptor d = parse("cumprod:f32:8:axis=0");
    const tally_kernel_options nowhere = { .size = sizeof nowhere, .device = "nowhere" };
    tally_gradient_kernel *kernel = NULL;
    tally_error error = TALLY_ERROR_INIT;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const tally_descriptor word = parse(cases[i].word);
        cr_expect_eq(
            tally_gradient_kernel_create(context, &word, TALLY_SOURCE_X, NULL, &kernel, &error),
            cases[i].status, "%s", cases[i].word);
        cr_expect_str_eq(error.field, cases[i].field, "%s: %s", cases[i].word, error.message);
    }
    cr_expect_eq(tally_gradient_kernel_create(context, &d, TALLY_SOURCE_A, NULL, &kernel, &error),
                 TALLY_INVALID);
    cr_expect_neq(
        tally_gradient_kernel_create(context, &d, TALLY_SOURCE_X, &nowhere, &kernel, &error),
        TALLY_OK);
    cr_expect_str_eq(error.field, "device");
    cr_expect_eq(tally_gradient_kernel_create(NULL, &d, TALLY_SOURCE_X, NULL, &kernel, &error),
                 TALLY_INVALID);
    cr_expect_eq(tally_gradient_kernel_create(context, &d, TALLY_SOURCE_X, NULL, NULL, &error),
                 TALLY_INVALID);
    cr_expect_null(kernel);
}

/* ---- from the result ---- */

/* Compares a run that has y with one that has not. */
static void compare(const char *word, tally_source wrt, int64_t count, int64_t outs, uint64_t gains)
{
    float *x = filled(count, 0), *a = filled(count, 0), *g = filled(outs, 0), *y = filled(outs, -1);
    float *want = filled(count, -1), *got = filled(count, -1), states[8];
    tally_error error = TALLY_ERROR_INIT;
    tally_gradient_buffers b = { .size = sizeof b, .x = x, .g = g, .operand = { a }, .out = want };
    tally_buffers f = {
        .size = sizeof f, .in = x, .out = y, .operand = { a }, .carry_out = states
    };
    const tally_descriptor d = parse(word);
    tally_gradient_kernel *kernel = make(word, wrt);
    tally_kernel *forward = NULL;
    for (int64_t i = 0; i < count; i++) {
        x[i] = i % 17 == 11 ? 0 : .6f + (float)(i * 7 % 13) / 16; /* zeros, and ties */
        a[i] = 1 - x[i] / 2;
    }
    for (int64_t i = 0; i < outs; i++)
        g[i] = (float)(i % 5) - 1.5f;
    memset(states, 0, sizeof states);
    cr_expect_eq(tally_gradient_kernel_gains(kernel), gains, "%s", word);
    if (tally_gradient_kernel_reads(kernel) >> TALLY_SOURCE_Y & 1)
        b.y = y;
    cr_assert_eq(tally_kernel_create(context, &d, NULL, &forward, &error), TALLY_OK);
    cr_assert_eq(tally_kernel_run_buffers(forward, &f, NULL, &error), TALLY_OK, "%s",
                 error.message);
    cr_assert_eq(tally_gradient_kernel_run(kernel, &b, NULL, &error), TALLY_OK, "%s: %s", word,
                 error.message);
    b.y = y;
    b.out = got;
    cr_assert_eq(tally_gradient_kernel_run(kernel, &b, NULL, &error), TALLY_OK, "%s: %s", word,
                 error.message);
    for (int64_t i = 0; i <= count; i++)
        cr_assert_float_eq(got[i], want[i], 1e-4 * (1 + fabs((double)want[i])),
                           "%s: element %lld: %g, not %g", word, (long long)i, (double)got[i],
                           (double)want[i]);
    tally_kernel_destroy(&forward);
    tally_gradient_kernel_destroy(&kernel);
    free(got);
    free(want);
    free(y);
    free(g);
    free(a);
    free(x);
}

Test(gradient_kernel, is_made_from_the_result)
{
    enum { Y = 1 << TALLY_SOURCE_Y };
    static const struct {
        const char *word;
        tally_source wrt;
        int64_t count, outs;
        uint32_t gains;
    } cases[] = {
        { "cumprod:f32:20x7:axis=0", TALLY_SOURCE_X, 140, 140, Y },
        { "cumprod:f32:20x7:axis=0,reverse", TALLY_SOURCE_X, 140, 140, Y },
        { "cumprod:f32:2x7:axis=0", TALLY_SOURCE_X, 14, 14, Y },
        { "cumprod:f32:2x7:axis=0,reverse", TALLY_SOURCE_X, 14, 14, Y },
        { "cumprod:f32:1x7:axis=0", TALLY_SOURCE_X, 7, 7, 0 },
        { "cumprod:f32:1x1x20x7:axis=2,carry=out", TALLY_SOURCE_X, 140, 140, Y },
        { "cumprod:f32:20x7:axis=0,out=8x1@3", TALLY_SOURCE_X, 140, 163, Y },
        { "cumprod:f32:20x7:axis=0,in=-7x1@133,out=8x1", TALLY_SOURCE_X, 140, 160, Y },
        { "cumprod:f32:20x7:axis=0,map=1-x", TALLY_SOURCE_X, 140, 140, Y },
        { "cumprod:f32:140:axis=0", TALLY_SOURCE_X, 140, 140, Y },
        { "cumprod:f32:7x20:axis=1", TALLY_SOURCE_X, 140, 140, Y },
        { "cumprod:f32:2x10x7:axis=1,reverse", TALLY_SOURCE_X, 140, 140, Y },
        { "cummax:f32:20x7:axis=0", TALLY_SOURCE_X, 140, 140, Y },
        { "cummin:f32:20x7:axis=0", TALLY_SOURCE_X, 140, 140, Y },
        { "cumlogsumexp:f32:20x7:axis=0", TALLY_SOURCE_X, 140, 140, Y },
        { "linrec:f32:20x7:axis=0,a=f32", TALLY_SOURCE_A, 140, 140, Y },
        /* no step that y spares: none at all, one of other numbers, and one of its own */
        { "linrec:f32:20x7:axis=0,a=f32", TALLY_SOURCE_X, 140, 140, 0 },
        { "cumprod:f32:20x7:axis=0,exclusive", TALLY_SOURCE_X, 140, 140, 0 },
        { "cumprod:f32:20x7:axis=0,a=f32,reset=a<0.6", TALLY_SOURCE_X, 140, 140, 0 },
        { "cumprod:f32:20x7:axis=0,every=5", TALLY_SOURCE_X, 140, 140, 0 },
        { "cummax:f32:20x7:axis=0,nan=ignore", TALLY_SOURCE_X, 140, 140, 0 },
        { "cumprod:f32:20x7:axis=0,carry=in", TALLY_SOURCE_X, 140, 140, 0 },
        { "cumprod:f32:20x7:axis=0,post=2*y", TALLY_SOURCE_X, 140, 140, 0 },
    };
    context->limits.between = 1;
    for (size_t i = 0; i < COUNT(cases); i++)
        compare(cases[i].word, cases[i].wrt, cases[i].count, cases[i].outs, cases[i].gains);
}

/* Where blocks or the cache hold what is between the steps, y spares nothing. */
Test(gradient_kernel, gains_by_the_result_where_memory_is_the_limit)
{
    static const struct {
        const char *word;
        uint32_t gains;
    } cases[] = { { "cumprod:f32:1024x1024:axis=0", 1 << TALLY_SOURCE_Y },
                  { "cumprod:f64:16x512x1024:axis=1", 1 << TALLY_SOURCE_Y },
                  { "cumprod:f16:1024x1024:axis=0", 0 },
                  { "cumprod:f32:1024x1024:axis=1", 0 },
                  { "cumprod:f32:64x64:axis=0", 0 } };
    for (size_t i = 0; i < COUNT(cases); i++) {
        tally_gradient_kernel *kernel = make(cases[i].word, TALLY_SOURCE_X);
        cr_expect_eq(tally_gradient_kernel_gains(kernel), cases[i].gains, "%s", cases[i].word);
        tally_gradient_kernel_destroy(&kernel);
    }
    cr_expect_eq(tally_gradient_kernel_gains(NULL), 0);
}

/* The result is what the first element is multiplied with, behind no element: 1, whatever y is. */
Test(gradient_kernel, reads_each_result_but_the_last)
{
    const float x[] = { 2, 3, 5, 7 }, g[] = { 0, 0, 0, 1 }, y[] = { 2, 6, 30, NAN };
    const float want[] = { 105, 70, 42, 30 };
    float out[4];
    context->limits.between = 1;
    tally_gradient_kernel *kernel = make("cumprod:f32:4x1:axis=0", TALLY_SOURCE_X);
    const tally_gradient_buffers good = { .size = sizeof good, .x = x, .g = g, .y = y, .out = out };
    tally_gradient_buffers b = good;
    cr_assert_eq(tally_gradient_kernel_run(kernel, &b, NULL, NULL), TALLY_OK);
    cr_expect_arr_eq(out, want, sizeof want);
    b.y = (const char *)y + 1;
    expect_refusal(kernel, &b, NULL, "y");
    b.y = out;
    expect_refusal(kernel, &b, NULL, "out");
    cr_expect_arr_eq(out, want, sizeof want);
    tally_gradient_kernel_destroy(&kernel);
}

/* ---- borders ---- */

Test(gradient_kernel, has_nothing_to_do_for_no_elements)
{
    static const char *const words[] = { "cumprod:f32:0x8:axis=1", "cumprod:f32:8x0:axis=1",
                                         "log_sum_exp:f32:0:axes=0" };
    tally_gradient_buffers b = TALLY_GRADIENT_BUFFERS_INIT;
    const float nothing[1] = { 0 };
    for (size_t i = 0; i < COUNT(words); i++) {
        tally_gradient_kernel *kernel = make(words[i], TALLY_SOURCE_X);
        b.g = b.y = i == 2 ? nothing : NULL;
        cr_expect_eq(tally_gradient_kernel_run(kernel, &b, NULL, NULL), TALLY_OK, "%s", words[i]);
        tally_gradient_kernel_destroy(&kernel);
    }
}

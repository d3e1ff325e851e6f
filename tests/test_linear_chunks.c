/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of recurrences and segments that threads share: however a row is cut into tasks, and whether
 * carries come from totals or from scans, the bits are those of one task. Each kind of data has a
 * chunk whose total must not be used, or may.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tally/kernel.h>

#include "required.h"
#include "tasks.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { CHUNK = 256, CHUNKS = 5, LENGTH = CHUNK * CHUNKS };

typedef struct case_of {
    float x[LENGTH], a[LENGTH], y[LENGTH];
    int32_t offsets[4];
} case_of;

/* A large state comes to the second chunk, whose factors are 2, then 0: the loop is NaN from there
 * on, but the total is (0, 0). */
static void overflow(case_of *c)
{
    for (int i = 0; i < LENGTH; i++) {
        c->x[i] = i == 0 ? 3e38f : 0;
        c->a[i] = i == CHUNK + 40 ? 2 : i == CHUNK + 41 ? 0 : 1;
    }
}

/* The second chunk's factors fall to 1e-64 and come back to 1. So does the loop. */
static void fall(case_of *c)
{
    for (int i = 0; i < LENGTH; i++) {
        const int at = i - CHUNK;
        c->x[i] = i == 0 ? 1e38f : 0;
        c->a[i] = at >= 0 && at < 64 ? .1f : at >= 64 && at < 128 ? 10 : 1;
    }
}

/* An addend of the second chunk takes the state beyond the range, and another one cancels it. */
static void large_addends(case_of *c)
{
    for (int i = 0; i < LENGTH; i++) {
        c->x[i] = i == 0 ? 3e37f : i == CHUNK + 9 ? 3.3e38f : i == CHUNK + 100 ? -3.3e38f : 1;
        c->a[i] = 1;
    }
}

/* The same of a large state and many small addends. */
static void large_state(case_of *c)
{
    for (int i = 0; i < LENGTH; i++) {
        const int group = (i - CHUNK) / 16;
        c->x[i] = i == 0 ? 3.4e38f : i > CHUNK && (group == 1 || group == 6) ? 3e35f : 0;
        c->x[i] = group == 6 ? -c->x[i] : c->x[i];
        c->a[i] = 1;
    }
}

/* The second chunk's addends leave the range without the state before them. */
static void opposite(case_of *c)
{
    for (int i = 0; i < LENGTH; i++) {
        c->x[i] = i == 0 ? -3e38f : i == CHUNK + 9 || i == CHUNK + 50 ? 3e38f : 0;
        c->a[i] = 1;
    }
}

static void decay(case_of *c)
{
    for (int i = 0; i < LENGTH; i++) {
        c->x[i] = (float)(i * 37 % 101) - 50;
        c->a[i] = i % 3 ? .99f : i % 61 ? .5f : 0;
    }
}

static void nan_and_infinity(case_of *c)
{
    decay(c);
    c->x[CHUNK + 3] = INFINITY;
    c->a[2 * CHUNK + 100] = NAN;
}

static void (*const kinds[])(case_of *) = { overflow, fall,  large_addends,   large_state,
                                            opposite, decay, nan_and_infinity };

static const char *const words[] = {
    "linrec:f32:1280:axis=0,a=f32",
    "linrec:f32:1280:axis=0,exclusive,reverse,a=f32",
    "linrec:f32:1280:axis=0,a=f32,reset=a==0",
    "linrec:f32:1280:axis=0,a=f32,segments=i32/3",
    "cumsum:f32:1280:axis=0,segments=i32/3",
    "cumsum:f32:1280:axis=0,exclusive,a=f32,reset=a!=1",
    "cummax:f32:1280:axis=0,reverse,segments=i32/3",
};

static tally_status call(void *user, const tly_args *args, const tly_task *task, int64_t *result,
                         tally_error *error)
{
    (void)error;
    *result = ((const tally_kernel *)user)->entry(args, task);
    return TALLY_OK;
}

/* Runs in `way` of tasks.h. */
static void run(tally_kernel *k, case_of *c, int32_t way)
{
    const tally_buffers buffers = {
        .size = sizeof buffers, .in = c->x, .out = c->y, .operand = { c->a }, .offsets = c->offsets
    };
    _Alignas(64) static char scratch[8192];
    tly_pointers p;
    tly_args args;
    cr_assert_leq(k->scratch_bytes, sizeof scratch);
    cr_assert_eq(tly_buffers_take(&buffers, &p, NULL), TALLY_OK);
    tly_pointers_place(&k->rules, &p);
    tly_prepared_complete(&k->prepared, &p, k->apart_flags, &args);
    memset(c->y, 0x55, sizeof c->y);
    cr_assert_eq(tly_tasks_run(k, &args, scratch, way, call, k, NULL), TALLY_OK);
}

static uint32_t bits_of(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static int class_of(float v)
{
    return isnan(v) ? 2 : isinf(v) ? 1 : 0;
}

/* What the plain loop comes to at the end of a recurrence without heads. */
static float loop(const case_of *c)
{
    float y = c->x[0];
    for (int i = 1; i < LENGTH; i++) {
        const float product = c->a[i] * y;
        y = product + c->x[i];
    }
    return y;
}

static void compare(tally_kernel *k, const char *word, size_t kind, case_of *c)
{
    float whole[LENGTH];
    kinds[kind](c);
    run(k, c, 1);
    memcpy(whole, c->y, sizeof whole);
    if (word == words[0]) {
        const float expected = loop(c), got = whole[LENGTH - 1];
        cr_expect_eq(class_of(got), class_of(expected), "kind %zu: %g, %g", kind, got, expected);
        if (isfinite(expected))
            cr_expect_float_eq(got, expected, 1e-4 * fabsf(expected) + 1e-3, "kind %zu: %g, %g",
                               kind, got, expected);
    }
    for (int32_t way = 2; way <= 3; way++) {
        run(k, c, way);
        for (int i = 0; i < LENGTH; i++)
            cr_assert(bits_of(whole[i]) == bits_of(c->y[i]) || (isnan(whole[i]) && isnan(c->y[i])),
                      "%s, kind %zu, way %d: element %d is %g, not %g", word, kind, way, i, c->y[i],
                      whole[i]);
    }
}

static tally_kernel *kernel_of(tally_context *context, const char *word)
{
    return tly_require_kernel(context, word, "cpu", "template=linear,chunk=256");
}

Test(linear_chunks, any_cut_has_the_bits_of_one_task)
{
    static case_of c = { .offsets = { 17, 300, 301, 1275 } };
    tally_context *context = NULL;
    cr_assert_eq(tally_context_create(NULL, &context, NULL), TALLY_OK);
    for (size_t w = 0; w < COUNT(words); w++) {
        tally_kernel *k = kernel_of(context, words[w]);
        for (size_t kind = 0; kind < COUNT(kinds); kind++)
            compare(k, words[w], kind, &c);
        tally_kernel_destroy(&k);
    }
    tally_context_destroy(&context);
}

/* Several rows of a task: the heads of each chunk are its own. */
static void compare_rows(tally_context *context, const char *op, const char *options)
{
    enum { ROWS = 3 };
    static float x[ROWS][LENGTH], one[LENGTH], all[ROWS][LENGTH];
    const int32_t offsets[] = { 17, 300, 301, 1275 };
    char word[2][120];
    tally_kernel *k[2];
    snprintf(word[0], sizeof word[0], "%s:f32:%d:axis=0,%s", op, LENGTH, options);
    snprintf(word[1], sizeof word[1], "%s:f32:%dx%d:axis=1,%s", op, ROWS, LENGTH, options);
    for (int i = 0; i < 2; i++)
        k[i] = kernel_of(context, word[i]);
    for (int i = 0; i < ROWS * LENGTH; i++)
        x[i / LENGTH][i % LENGTH] = i * 37 % 101 % 2 ? 1 : -1;
    tally_buffers buffers = { .size = sizeof buffers, .in = x, .out = all, .offsets = offsets };
    const tally_run_options by = { .size = sizeof by, .threads = 1 };
    cr_assert_eq(tally_kernel_run_buffers(k[1], &buffers, &by, NULL), TALLY_OK);
    for (int row = 0; row < ROWS; row++) {
        memcpy(one, all[row], sizeof one); /* between segments */
        buffers.in = x[row];
        buffers.out = one;
        cr_assert_eq(tally_kernel_run_buffers(k[0], &buffers, &by, NULL), TALLY_OK);
        for (int i = 0; i < LENGTH; i++)
            cr_assert_eq(bits_of(one[i]), bits_of(all[row][i]), "%s, row %d: %d", word[1], row, i);
    }
    for (int i = 0; i < 2; i++)
        tally_kernel_destroy(&k[i]);
}

Test(linear_chunks, rows_have_heads_of_their_own)
{
    static const char *const ops[] = { "linrec", "cumsum", "cumprod", "cummax" };
    tally_context *context = NULL;
    cr_assert_eq(tally_context_create(NULL, &context, NULL), TALLY_OK);
    for (size_t i = 0; i < COUNT(ops); i++) {
        const char *coef = i == 0 ? "coef=x," : "";
        char options[80];
        snprintf(options, sizeof options, "%severy=300", coef);
        compare_rows(context, ops[i], options);
        snprintf(options, sizeof options, "reverse,%ssegments=i32/3", coef);
        compare_rows(context, ops[i], options);
    }
    tally_context_destroy(&context);
}

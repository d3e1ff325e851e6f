/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scans of few packed columns that have states, heads or factors go along the axis, interleaved. No
 * column's bits depend on what is in the others, also where those leave the range of floats, and
 * what is in range is what a plain loop makes of it.
 */
#include <criterion/criterion.h>

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <tally/kernel.h>

#include "../runtime/context/internal.h"
#include "random.h"
#include "required.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { STEPS = 203, MOST = 15 };

static const char *const levels[] = { "cpu:x86-64-v2", "cpu:x86-64-v3", "cpu:x86-64-v4" };

/* %d: steps and columns. */
static const char *const words[] = {
    "linrec:f32:%dx%d:axis=0,coef=x,carry=in+out",
    "linrec:f32:%dx%d:axis=0,coef=x,exclusive,reverse,carry=in+out",
    "linrec:f32:%dx%d:axis=0,coef=x,reset=x<0.55,carry=in+out",
    "cumsum:f32:%dx%d:axis=0,carry=in+out",
    "cumsum:f32:%dx%d:axis=0,reset=x<0.55,exclusive,carry=in+out",
    "cumprod:f32:%dx%d:axis=0,map=x+0.25,carry=in+out",
    "cumprod:f32:%dx%d:axis=0,map=x+0.25,exclusive,reset=x<0.55,reverse,carry=in+out",
    "cumlogsumexp:f32:%dx%d:axis=0,reset=x<0.55",
};

typedef struct tensors {
    float in[STEPS * MOST], out[STEPS * MOST];
    float before[4 * MOST], after[4 * MOST]; /* of log-sum-exp a state has two numbers */
} tensors;

/* What lies in the columns beside one: numbers that leave the range, or are beyond it. */
static float neighbour(int kind, int64_t i)
{
    switch (kind) {
    case 0:
        return 3e38F;
    case 1:
        return i % 50 == 7 ? INFINITY : -2.5F;
    case 2:
        return i % 90 == 41 ? NAN : 1e-30F;
    default:
        return i % 3 == 0 ? 0.0F : 1e30F;
    }
}

static void fill(tensors *t, int columns, int own, int kind)
{
    tly_random r = tly_random_seed((uint64_t)columns, 7);
    for (int i = 0; i < STEPS; i++)
        for (int c = 0; c < columns; c++) {
            const float good = (float)tly_random_between(&r, 500, 1000) / 1000;
            t->in[i * columns + c] = kind < 0 || c == own ? good : neighbour(kind, i + c);
        }
    for (int c = 0; c < columns; c++)
        t->before[c] = kind < 0 || c == own ? 1.5F : neighbour(kind, c);
}

static void run(const tally_kernel *kernel, tensors *t)
{
    tally_error error = TALLY_ERROR_INIT;
    const tally_buffers buffers = { .size = sizeof buffers,
                                    .in = t->in,
                                    .out = t->out,
                                    .carry_in = t->before,
                                    .carry_out = t->after };
    cr_assert_eq(tally_kernel_run_buffers(kernel, &buffers, NULL, &error), TALLY_OK, "%s",
                 error.message);
}

static int same_bits(const float *x, const float *y)
{
    uint32_t a, b;
    memcpy(&a, x, sizeof a);
    memcpy(&b, y, sizeof b);
    return a == b;
}

static void check(tally_context *context, const char *format, const char *level, int columns)
{
    static tensors alone, beside;
    char word[TALLY_WORD_MAX];
    snprintf(word, sizeof word, format, STEPS, columns);
    const int has_carry = strstr(word, "carry") != NULL;
    tally_kernel *kernel = tly_require_kernel(context, word, level, NULL);
    fill(&alone, columns, 0, -1);
    run(kernel, &alone);
    for (int own = 0; own < columns; own += columns < 4 ? 1 : 3)
        for (int kind = 0; kind < 4; kind++) {
            int same = 1;
            fill(&beside, columns, own, kind);
            run(kernel, &beside);
            for (int i = own; i < STEPS * columns; i += columns)
                same = same && same_bits(&alone.out[i], &beside.out[i]);
            if (has_carry)
                same = same && same_bits(&alone.after[own], &beside.after[own]);
            cr_expect(same, "%s, %s: column %d depends on others of kind %d", word, level, own,
                      kind);
        }
    tally_kernel_destroy(&kernel);
}

Test(interleaved, no_column_depends_on_others, .timeout = 120)
{
    tally_context *context = NULL;
    cr_assert_eq(tally_context_create(NULL, &context, NULL), TALLY_OK);
    for (size_t w = 0; w < COUNT(words); w++)
        for (size_t level = 0; level < COUNT(levels); level++)
            for (int columns = 2; columns <= MOST; columns++)
                check(context, words[w], levels[level], columns);
    tally_context_destroy(&context);
}

/* ---- short rows, one behind the other ---- */

enum { ROWS = 171, LONGEST = 40, THREADS = 5 };

typedef struct table {
    float in[ROWS * LONGEST * MOST], out[ROWS * LONGEST * MOST];
} table;

/* A machine of many CPUs, on which few rows are worth several threads. */
static tally_context *open_many(void)
{
    const tally_context_options options = { .size = sizeof options, .threads = THREADS };
    tally_context *context = NULL;
    cr_assert_eq(tally_context_create(&options, &context, NULL), TALLY_OK);
    context->limits.cpus = THREADS;
    context->limits.split_rows = 64;
    return context;
}

static void scan(const tally_kernel *kernel, table *t, int32_t threads)
{
    tally_error error = TALLY_ERROR_INIT;
    const tally_buffers buffers = { .size = sizeof buffers, .in = t->in, .out = t->out };
    const tally_run_options by = { .size = sizeof by, .threads = threads };
    memset(t->out, 0x55, sizeof t->out);
    cr_assert_eq(tally_kernel_run_buffers(kernel, &buffers, &by, &error), TALLY_OK, "%s",
                 error.message);
}

/* However many threads cut the rows, and whatever the other rows hold. */
static void check_rows(tally_context *context, const char *format, const char *level, int length,
                       int columns)
{
    static table alone, beside;
    char word[TALLY_WORD_MAX];
    const int64_t row = (int64_t)length * columns;
    tly_random r = tly_random_seed((uint64_t)row, 3);
    snprintf(word, sizeof word, format, ROWS, length, columns);
    tally_kernel *kernel = tly_require_kernel(context, word, level, NULL);
    for (int64_t i = 0; i < ROWS * row; i++)
        alone.in[i] = (float)tly_random_between(&r, 500, 1000) / 1000;
    scan(kernel, &alone, 1);
    for (int kind = 0; kind < 4; kind++) {
        for (int64_t i = 0; i < ROWS * row; i++)
            beside.in[i] = i / row % 3 == 1 ? neighbour(kind, i) : alone.in[i];
        for (int32_t threads = 1; threads <= THREADS; threads += 2) {
            scan(kernel, &beside, threads);
            for (int64_t k = 0; k < ROWS; k++)
                cr_assert(k % 3 == 1 || memcmp(&alone.out[k * row], &beside.out[k * row],
                                               (size_t)row * sizeof(float)) == 0,
                          "%s, %s, %d threads: row %lld depends on others of kind %d", word, level,
                          threads, (long long)k, kind);
        }
    }
    tally_kernel_destroy(&kernel);
}

Test(interleaved, no_row_depends_on_others, .timeout = 120)
{
    static const char *const rows[] = {
        "cumsum:f32:%dx%dx%d:axis=1",
        "cumprod:f32:%dx%dx%d:axis=1,map=x+0.25,exclusive",
        "linrec:f32:%dx%dx%d:axis=1,coef=x,reverse",
        "linrec:f32:%dx%dx%d:axis=1,coef=x,reset=x<0.55",
        "cummax:f32:%dx%dx%d:axis=1",
    };
    static const int lengths[] = { 2, 3, 7, 16, LONGEST },
                     columns[] = { 1, 2, 3, 4, 7, 8, 11, MOST };
    tally_context *context = open_many();
    for (size_t w = 0; w < COUNT(rows); w++)
        for (size_t level = 0; level < COUNT(levels); level++)
            for (size_t i = 0; i < COUNT(lengths); i++)
                for (size_t k = 0; k < COUNT(columns); k++)
                    check_rows(context, rows[w], levels[level], lengths[i], columns[k]);
    tally_context_destroy(&context);
}

/* A neighbour that leaves the range has the plain loop's classes. */
static float loop_of(const tensors *t, int columns, int own, int step)
{
    float y = t->before[own];
    for (int i = 0; i <= step; i++)
        y = t->in[i * columns + own] * y + t->in[i * columns + own];
    return y;
}

Test(interleaved, neighbours_are_the_plain_loop, .timeout = 120)
{
    static tensors t;
    tally_context *context = NULL;
    cr_assert_eq(tally_context_create(NULL, &context, NULL), TALLY_OK);
    for (size_t level = 0; level < COUNT(levels); level++)
        for (int columns = 2; columns <= MOST; columns += 4)
            for (int kind = 0; kind < 4; kind++) {
                char word[TALLY_WORD_MAX];
                snprintf(word, sizeof word, words[0], STEPS, columns);
                tally_kernel *kernel = tly_require_kernel(context, word, levels[level], NULL);
                fill(&t, columns, 0, kind);
                run(kernel, &t);
                for (int i = 0; i < STEPS; i++)
                    for (int c = 0; c < columns; c++) {
                        const float loop = loop_of(&t, columns, c, i), y = t.out[i * columns + c];
                        const int same = isfinite(loop) ? fabsf(y - loop) <= 1e-4F * fabsf(loop)
                                         : isnan(loop)  ? isnan(y)
                                                        : y == loop;
                        cr_assert(same, "%s, %s, kind %d: [%d, %d] is %a, not %a", word,
                                  levels[level], kind, i, c, (double)y, (double)loop);
                    }
                tally_kernel_destroy(&kernel);
            }
    tally_context_destroy(&context);
}

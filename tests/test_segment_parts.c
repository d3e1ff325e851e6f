/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads share a row of segments. Here are products and words with states, and some segments go on
 * over many chunks. Scans are judged by a plain loop in the word's own dtype, at each level of CPU
 * that this machine runs. Elements are such that products of vectors become zero, subnormal,
 * infinite and NaN in other places than the loop's, if nothing takes care. One thread and several
 * give the same bits, and so do tasks that are cut badly.
 */
#include <criterion/criterion.h>

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tally/kernel.h>

#include "random.h"
#include "tasks.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { LENGTH = 60001, MOST = 200, THREADS = 5, RUNS = 4 };
#define PLAN "template=linear,chunk=2048"

static const char *const levels[] = { "cpu:x86-64-v2", "cpu:x86-64-v3", "cpu:x86-64-v4" };
static const char *const ways[] = { "", ",exclusive", ",reverse" };

/* Elements that are drawn among others near 1, whose magnitudes 0 stands for itself. */
static const double pools[][6] = {
    { 1, 1, 1, 1, 1, 1 },
    { 0, 1, .5, 2, 1, -1 },
    { 0, 0x1p-70, 1, 1, 1, 1 },
    { 0x1p-100, 0x1p100, 1, 1, 1, 1 },
    { 0, 0x1p-30, 0x1p30, 1, 1, 1 },
    { 0x1p-133, 1, 1, 1, 1, 0x1p99 },
    { 0x1p-61, 0x1p24, 0x1p25, 0, 1, 1 },
    { 0x1p-60, 0x1p-60, 0x1p-29, 1, 1, 0 },
    { 0x1p-149, .25, 0, 1, 1, 1 },
    { 0x1p-59, 0x1p59, .5, 1, 1, 1 },
    { INFINITY, 0, 1, 1, 1, 1 },
    { NAN, 0, 1, .5, 1, 1 },
};

/* Elements of every 64th position on, where vectors begin, and 1 in between: a step's products look
 * well though some on the way to them left the range. */
static const double patterns[][64] = {
    /* 2^60, then down to 2^-119 by a product of eight that is 0 */
    { 0x1p30, 0x1p30, 0x1p-17, 0x1p-17, 0x1p-17, 0x1p-17, 0x1p-17, 0x1p-17, 0x1p-17, 0x1p-60,
      0x1p99 },
    /* 2^80, then down to 2^-54 by a product of eight that has few bits */
    { 0x1p40, 0x1p40, 0x1.1p-18, 0x1.3p-18, 0x1.5p-18, 0x1.7p-18, 0x1.3p-18, 0x1.5p-18, 0x1.7p-18,
      0x1.9p-18, 0x1p40 },
    /* a vector's product is 0, but not behind 2^50 */
    { [0] = 0x1p50, [16] = 0x1p-20, [17] = 0x1p-132, [18] = 0x1p99 },
    /* results that are 0, and a product that is not */
    { [0] = 0x1p-100, [16] = 0x1p-56, [17] = 0x1p99 },
};

/* On average; the last one leaves most chunks without a head. */
static const int64_t means[] = { 3, 40, 1000, 30000 };

typedef struct tensors {
    double in[LENGTH], wanted[LENGTH], after_wanted[LENGTH]; /* room for any dtype */
    double before[LENGTH], out[RUNS][LENGTH], after[RUNS][LENGTH];
    int32_t offsets[LENGTH + 1];
    int64_t segments;
} tensors;

static void fill(tensors *t, tally_dtype dtype, int is_sum, size_t n)
{
    tly_random r = tly_random_seed(n, 77);
    const double *pool = pools[is_sum ? 0 : n % COUNT(pools)];
    const int64_t mean = means[n / COUNT(pools) % COUNT(means)];
    const int64_t rare = tly_random_between(&r, 1, MOST);
    t->segments = 0;
    for (int64_t at = 0; at < LENGTH; at += tly_random_between(&r, 0, 2 * mean))
        t->offsets[t->segments++] = (int32_t)at;
    t->offsets[t->segments] = LENGTH;
    const double *pattern = !is_sum && n % 3 == 1 ? patterns[n / 3 % COUNT(patterns)] : NULL;
    for (int64_t i = 0; i < LENGTH; i++) {
        const double near = 1 + (double)tly_random_between(&r, -8, 8) / 1024;
        double x = tly_random_between(&r, 1, rare) == 1
                       ? pool[tly_random_between(&r, 0, COUNT(pools[0]) - 1)]
                       : near;
        x = tly_random_one_in(&r, 2) ? -x : x;
        if (pattern != NULL)
            x = pattern[i % 64] == 0 ? 1 : pattern[i % 64];
        const double before = i % 7 == 3 ? 0 : (double)tly_random_between(&r, 1, 9);
        if (dtype == TALLY_F64) {
            t->in[i] = x;
            t->before[i] = before;
        } else {
            ((float *)t->in)[i] = (float)x;
            ((float *)t->before)[i] = (float)before;
        }
    }
}

/* The plain loop of products and sums. */
#define LOOP(name, number) \
    static void name(tensors *t, const tally_descriptor *d, int has_states) \
    { \
        const number *in = (const number *)(const void *)t->in; \
        const number *before = (const number *)(const void *)t->before; \
        number *out = (number *)(void *)t->wanted, *after = (number *)(void *)t->after_wanted; \
        const int multiplies = d->op == TALLY_CUMPROD; \
        for (int64_t s = 0; s < t->segments; s++) { \
            number y = has_states ? before[s] : (number)multiplies; \
            const int64_t first = t->offsets[s], count = t->offsets[s + 1] - first; \
            for (int64_t i = 0; i < count; i++) { \
                const int64_t at = first + (d->flags & TALLY_REVERSE ? count - 1 - i : i); \
                const number next = multiplies ? y * in[at] : y + in[at]; \
                out[at] = d->flags & TALLY_EXCLUSIVE ? y : next; \
                y = next; \
            } \
            after[s] = y; \
        } \
    }
LOOP(loop_f32, float)
LOOP(loop_f64, double)

static double number_at(tally_dtype dtype, const void *from, int64_t i)
{
    return dtype == TALLY_F64 ? ((const double *)from)[i] : (double)((const float *)from)[i];
}

/* Of the loop's class, and near it: products by their size, sums by that of what is added. */
static int is_near(const tally_descriptor *d, double made, double wanted)
{
    const int single = d->dtype == TALLY_F32, is_sum = d->op == TALLY_CUMSUM;
    const double epsilon = single ? FLT_EPSILON : DBL_EPSILON,
                 least = single ? 0x1p-149 : 0x1p-1074;
    if (isnan(wanted) || isinf(wanted) || (wanted == 0 && !is_sum))
        return isnan(wanted) ? isnan(made) : made == wanted && signbit(made) == signbit(wanted);
    const double size = is_sum ? 1e6 : fabs(wanted);
    return fabs(made - wanted) <= 4096 * epsilon * size + 8 * least;
}

static void compare(const tally_descriptor *d, const void *made, const void *wanted, int64_t count,
                    const char *what, const char *of)
{
    for (int64_t i = 0; i < count; i++) {
        const double m = number_at((tally_dtype)d->dtype, made, i),
                     w = number_at((tally_dtype)d->dtype, wanted, i);
        cr_assert(is_near(d, m, w), "%s: %s %lld is %g, wanted %g", what, of, (long long)i, m, w);
    }
}

/* Which NaN it is, is not said. */
static void same_bits(const tally_descriptor *d, const void *first, const void *other,
                      int64_t count, const char *what, int k)
{
    const tally_dtype dtype = (tally_dtype)d->dtype;
    const size_t bytes = tally_dtype_bytes(dtype);
    for (int64_t i = 0; i < count; i++) {
        const char *x = (const char *)first + (size_t)i * bytes,
                   *y = (const char *)other + (size_t)i * bytes;
        cr_assert(memcmp(x, y, bytes) == 0 ||
                      (isnan(number_at(dtype, first, i)) && isnan(number_at(dtype, other, i))),
                  "%s, run %d: number %lld is %a, in the first run %a", what, k, (long long)i,
                  number_at(dtype, other, i), number_at(dtype, first, i));
    }
}

static tally_status call(void *user, const tly_args *args, const tly_task *task, int64_t *result,
                         tally_error *error)
{
    (void)error;
    *result = ((const tally_kernel *)user)->entry(args, task);
    return TALLY_OK;
}

/* Runs by one thread, by several, and in ways of tasks.h. */
static tally_status run(tally_kernel *kernel, const tally_buffers *buffers, int k,
                        tally_error *error)
{
    const tally_run_options by = { .size = sizeof by, .threads = k == 0 ? 1 : THREADS };
    _Alignas(64) static char scratch[1 << 16];
    tly_pointers p;
    tly_args args;
    if (k < 2)
        return tally_kernel_run_buffers(kernel, buffers, &by, error);
    cr_assert_leq(kernel->scratch_bytes, sizeof scratch);
    cr_assert_eq(tly_buffers_take(buffers, &p, NULL), TALLY_OK);
    tly_pointers_place(&kernel->rules, &p);
    tly_prepared_complete(&kernel->prepared, &p, kernel->apart_flags, &args);
    return tly_tasks_run(kernel, &args, scratch, k, call, kernel, error);
}

static void check(tally_context *context, tensors *t, const char *op, const char *way,
                  const char *device, int has_states, size_t n)
{
    const tally_kernel_options options = { .size = sizeof options, .device = device, .plan = PLAN };
    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    tally_error error = TALLY_ERROR_INIT;
    tally_kernel *kernel = NULL;
    char word[TALLY_WORD_MAX], what[TALLY_WORD_MAX + 100];
    fill(t, strstr(op, "f64") ? TALLY_F64 : TALLY_F32, strstr(op, "cumsum") != NULL, n);
    snprintf(word, sizeof word, "%s:%d:axis=0%s,segments=i32/%lld%s", op, LENGTH, way,
             (long long)t->segments, has_states ? ",carry=in+out" : "");
    snprintf(what, sizeof what, "%s, %s, data %d", word, device, (int)n);
    cr_assert_eq(tally_descriptor_parse(word, &d, &error), TALLY_OK, "%s: %s", word, error.message);
    const tally_dtype dtype = (tally_dtype)d.dtype;
    cr_assert_eq(tally_kernel_create(context, &d, &options, &kernel, &error), TALLY_OK, "%s: %s",
                 what, error.message);
    cr_assert_gt(kernel->row_tiles, 1, "%s: the row is not cut", what);
    for (int k = 0; k < RUNS; k++) {
        const tally_buffers buffers = { .size = sizeof buffers,
                                        .in = t->in,
                                        .out = t->out[k],
                                        .offsets = t->offsets,
                                        .carry_in = has_states ? t->before : NULL,
                                        .carry_out = has_states ? t->after[k] : NULL };
        const tally_status status = run(kernel, &buffers, k, &error);
        if (status == TALLY_UNSUPPORTED && strcmp(error.field, "device") == 0) {
            tally_kernel_destroy(&kernel);
            return; /* another machine's level */
        }
        cr_assert_eq(status, TALLY_OK, "%s: %s", what, error.message);
    }
    tally_kernel_destroy(&kernel);
    if (dtype == TALLY_F64)
        loop_f64(t, &d, has_states);
    else
        loop_f32(t, &d, has_states);
    compare(&d, t->out[0], t->wanted, LENGTH, what, "element");
    if (has_states)
        compare(&d, t->after[0], t->after_wanted, t->segments, what, "state");
    for (int k = 1; k < RUNS; k++) {
        same_bits(&d, t->out[0], t->out[k], LENGTH, what, k);
        if (has_states)
            same_bits(&d, t->after[0], t->after[k], t->segments, what, k);
    }
}

Test(segment_parts, are_what_loops_make, .timeout = 300)
{
    static const struct {
        const char *op;
        int has_states;
    } words[] = {
        { "cumprod:f32", 0 }, { "cumprod:f64", 0 }, { "cumprod:f32", 1 }, { "cumsum:f32", 1 }
    };
    tally_context_options options = TALLY_CONTEXT_OPTIONS_INIT;
    tally_context *context = NULL;
    tensors *t = calloc(1, sizeof *t);
    cr_assert(t);
    options.threads = THREADS;
    cr_assert_eq(tally_context_create(&options, &context, NULL), TALLY_OK);
    context->limits.cpus = THREADS;
    context->limits.chain = context->limits.split_rows = 64;
    size_t n = 0;
    for (size_t l = 0; l < COUNT(levels); l++)
        for (size_t k = 0; k < COUNT(words); k++)
            for (size_t w = 0; w < COUNT(ways); w++)
                for (size_t more = 0; more < COUNT(pools); more++, n += 13)
                    check(context, t, words[k].op, ways[w], levels[l], words[k].has_states, n);
    tally_context_destroy(&context);
    free(t);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of many elements next to 1, whose rounding errors could all go one way. Guarantees: with
 * vectors of 512 bits the error of a cumprod, and of a prod along rows and columns, is at most
 * twice the plain loop's largest one, and the bits do not depend on the number of threads.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tally.h>

#include "drift_series.h"

static void *get(int64_t count)
{
    void *p = malloc((size_t)count * sizeof(double));
    cr_assert_not_null(p);
    return p;
}

static void put(void *array, int is_wide, int64_t i, double v)
{
    if (is_wide)
        ((double *)array)[i] = v;
    else
        ((float *)array)[i] = (float)v;
}

static double at(const void *array, int is_wide, int64_t i)
{
    return is_wide ? ((const double *)array)[i] : (double)((const float *)array)[i];
}

static double larger(double worst, long double right, double y)
{
    double error = tly_series_error(right, y);
    return error > worst || isnan(error) ? error : worst;
}

/* The plain loop's largest error; `right`: the products. */
static double fill(const tly_series *s, int is_wide, void *in, long double *right)
{
    uint64_t state = 1;
    long double all = 1;
    double worst = 0, loop = 1;
    for (int64_t i = 0; i < s->count; i++) {
        put(in, is_wide, i, tly_series_next(s, &state));
        double x = at(in, is_wide, i);
        loop = is_wide ? loop * x : (double)((float)loop * (float)x);
        right[i] = all *= x;
        worst = larger(worst, all, loop);
    }
    return worst;
}

static tally_kernel *make(tally_context *context, const char *word)
{
    const tally_kernel_options options = { .size = sizeof options, .device = "cpu:x86-64-v4" };
    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    tally_error error = TALLY_ERROR_INIT;
    tally_kernel *kernel = NULL;
    cr_assert_eq(tally_descriptor_parse(word, &d, &error), TALLY_OK, "%s", error.message);
    tally_status status = tally_kernel_create(context, &d, &options, &kernel, &error);
    if (status == TALLY_UNSUPPORTED)
        cr_skip_test("this machine or build has no such kernels");
    cr_assert_eq(status, TALLY_OK, "%s: %s", word, error.message);
    return kernel;
}

static void run(const tally_kernel *kernel, const void *in, void *out, int threads)
{
    tally_error error = TALLY_ERROR_INIT;
    tally_status status = tally_kernel_run_threads(kernel, in, out, threads, &error);
    if (status == TALLY_UNSUPPORTED)
        cr_skip_test("this machine cannot run such kernels");
    cr_assert_eq(status, TALLY_OK, "%s", error.message);
}

static void check(tally_context *context, const char *operator, const tly_series * s, int is_wide)
{
    const int is_scan = strcmp(operator, "cumprod") == 0;
    const int64_t results = is_scan ? s->count : 1;
    size_t bytes = (size_t)results * (is_wide ? sizeof(double) : sizeof(float));
    void *in = get(s->count), *out = get(s->count), *again = get(s->count);
    long double *right = malloc((size_t)s->count * sizeof *right);
    cr_assert_not_null(right);
    double loop = fill(s, is_wide, in, right), worst = 0;
    char word[64];
    snprintf(word, sizeof word, "%s:%s:%lld:%s=0", operator, is_wide ? "f64" : "f32",
             (long long)s->count, is_scan ? "axis" : "axes");
    tally_kernel *kernel = make(context, word);
    run(kernel, in, out, 1);
    run(kernel, in, again, 2);
    for (int64_t i = 0; i < results; i++)
        worst = larger(worst, right[s->count - results + i], at(out, is_wide, i));
    cr_expect(worst <= 2 * loop, "%s, %s: %.2e, the loop %.2e", word, s->name, worst, loop);
    cr_expect_eq(memcmp(out, again, bytes), 0, "%s, %s: other bits by 2 threads", word, s->name);
    tally_kernel_destroy(&kernel);
    free(in);
    free(out);
    free(again);
    free(right);
}

static void check_all(const char *operator)
{
    tally_context *context = NULL;
    tally_error error = TALLY_ERROR_INIT;
    cr_assert_eq(tally_context_create(NULL, &context, &error), TALLY_OK, "%s", error.message);
    for (size_t i = 0; i < TLY_ALL_SERIES; i++)
        for (int is_wide = 0; is_wide < 2; is_wide++)
            check(context, operator, & tly_all_series[i], is_wide);
    tally_context_destroy(&context);
}

Test(drift, scans_of_many_factors_are_as_good_as_the_loop)
{
    check_all("cumprod");
}

Test(drift, products_of_many_factors_are_as_good_as_the_loop)
{
    check_all("prod");
}

typedef struct columns {
    const tly_series *series; /* each column */
    int count, is_wide;
    void *in, *out;
    long double right; /* the product */
    double loop;       /* the plain loop's error */
} columns;

static double error_of(const columns *k, int column, long double right)
{
    return tly_series_error(right, at(k->out, k->is_wide, column));
}

/* Column 0's first elements leave the range and come back, so that elements are taken apart: the
 * others keep their bits. */
static void check_disturbed(const tally_kernel *kernel, columns *k)
{
    enum { LOW = 32 };
    const double low = k->is_wide ? 1e-100 : 1e-30;
    size_t bytes = k->is_wide ? sizeof(double) : sizeof(float), others = (size_t)k->count - 1;
    char *before = k->out;
    long double right = k->right;
    for (int64_t i = 0; i < 2 * LOW; i++) {
        right /= at(k->in, k->is_wide, i * k->count);
        put(k->in, k->is_wide, i * k->count, i < LOW ? low : 1 / low);
        right *= at(k->in, k->is_wide, i * k->count);
    }
    k->out = get(k->count);
    run(kernel, k->in, k->out, 1);
    double error = error_of(k, 0, right), roundings = 2 * LOW * (k->is_wide ? 0x1p-53 : 0x1p-24);
    cr_expect(error <= 2 * k->loop + roundings, "%s: %.2e, the loop %.2e", k->series->name, error,
              k->loop);
    cr_expect_eq(memcmp((char *)k->out + bytes, before + bytes, others * bytes), 0,
                 "%s of %d: columns beside one that left the range", k->series->name, k->count);
    free(before);
}

static void check_columns(tally_context *context, columns k)
{
    const int64_t rows = k.series->count;
    size_t bytes = (size_t)k.count * (k.is_wide ? sizeof(double) : sizeof(float));
    void *in = get(rows), *again = get(k.count);
    long double *right = malloc((size_t)rows * sizeof *right);
    cr_assert_not_null(right);
    k.in = get(rows * k.count);
    k.out = get(k.count);
    k.loop = fill(k.series, k.is_wide, in, right);
    k.right = right[rows - 1];
    for (int64_t i = 0; i < rows * k.count; i++)
        put(k.in, k.is_wide, i, at(in, k.is_wide, i / k.count));
    char word[64];
    snprintf(word, sizeof word, "prod:%s:%lldx%d:axes=0", k.is_wide ? "f64" : "f32",
             (long long)rows, k.count);
    tally_kernel *kernel = make(context, word);
    run(kernel, k.in, k.out, 1);
    run(kernel, k.in, again, 2);
    for (int i = 0; i < k.count; i++)
        cr_expect(error_of(&k, i, k.right) <= 2 * k.loop, "%s, %s: %.2e, the loop %.2e", word,
                  k.series->name, error_of(&k, i, k.right), k.loop);
    cr_expect_eq(memcmp(k.out, again, bytes), 0, "%s: other bits by 2 threads", word);
    check_disturbed(kernel, &k);
    tally_kernel_destroy(&kernel);
    free(in);
    free(k.in);
    free(k.out);
    free(again);
    free(right);
}

Test(drift, products_of_columns_are_as_good_as_the_loop)
{
    enum { EQUAL, NORMAL };
    static const struct {
        int series, columns;
    } cases[] = { { EQUAL, 8 }, { EQUAL, 64 }, { NORMAL, 3 } };
    tally_context *context = NULL;
    tally_error error = TALLY_ERROR_INIT;
    cr_assert_eq(tally_context_create(NULL, &context, &error), TALLY_OK, "%s", error.message);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int is_wide = 0; is_wide < 2; is_wide++)
            check_columns(context, (columns){ .series = &tly_all_series[cases[i].series],
                                              .count = cases[i].columns,
                                              .is_wide = is_wide });
    tally_context_destroy(&context);
}

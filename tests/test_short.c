/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Short rows' products, which share vectors and batches (docs/range.md): whatever lies beside a
 * row, and whichever way its batch goes, its bits are its own.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "trials.h"

enum { BATCH = 16, ROWS = 8 * BATCH, LONGEST = 255, OURS = 3 };

/* What a row's products do. Exact ones are subnormal and are not rounded. */
typedef enum kind { LIVES, SINKS, GROWS, EXACT, ZERO, SPECIAL, HIGH, BACK, FAR, KINDS } kind;

static double element(kind k, int i, tly_random *r)
{
    const double u = ((double)tly_random_below(r, 1 << 20) + .5) / (1 << 20);
    switch (k) {
    case SINKS:
        return u;
    case GROWS:
        return 1 + 3 * u;
    case EXACT:
        return i < 70 ? -.25 : i % 2 ? .5 : 2;
    case ZERO:
        return i == 60 ? -0.0 : i < 80 ? -u : 1 + u;
    case SPECIAL:
        return i == 90 ? INFINITY : i == 120 ? NAN : u;
    case HIGH:
        return i < 10 ? 64 : i < 30 ? 1 / u : u;
    case FAR: /* out of range and back within any row */
        return (1 + u) * (i % 4 < 2 ? 0x1p-70 : 0x1p70);
    case BACK:
        return i < 64 ? .125 : 8 + u;
    default:
        return .9 + .2 * u;
    }
}

/* The kinds of the rows beside ours: one for all, one a batch, or any. */
static kind beside(int run, int row)
{
    return (kind)(run < KINDS    ? run
                  : run == KINDS ? (row / BATCH + 1) % KINDS
                                 : row * 5 / 3 % KINDS);
}

enum { RUNS = KINDS + 2 };

static void fill(const tally_descriptor *d, int run, void *in)
{
    const int length = (int)d->sizes[1];
    for (int row = 0; row < ROWS; row++) {
        const int is_ours = row % OURS == 0;
        tly_random r = tly_random_seed((uint64_t)row, is_ours ? 0 : (uint64_t)run + 1);
        const kind k = is_ours ? (kind)(row / BATCH % KINDS) : beside(run, row);
        for (int i = 0; i < length; i++) {
            const int at = d->flags & TALLY_REVERSE ? length - 1 - i : i;
            tly_bits_store((tally_dtype)d->dtype, in, (int64_t)row * length + at,
                           tly_encode((tally_dtype)d->dtype, element(k, i, &r)));
        }
    }
}

static void check(const tly_trials *t, const char *word)
{
    static double in[ROWS * LONGEST], out[ROWS * LONGEST], first[ROWS * LONGEST];
    tally_descriptor d;
    cr_assert_eq(tally_descriptor_parse(word, &d, NULL), TALLY_OK, "%s", word);
    const tally_dtype shown = (tally_dtype)(d.out_dtype ? d.out_dtype : d.dtype);
    for (size_t l = 0; l < t->levels.level_count; l++) {
        const tally_device *device = &t->levels.levels[l];
        const tally_kernel_options options = { .size = sizeof options, .device = device->selector };
        tally_kernel *kernel = NULL;
        tly_verdict verdict;
        if (!strcmp(device->kind, "vulkan"))
            continue;
        cr_assert_eq(tally_kernel_create(t->levels.context, &d, &options, &kernel, NULL), TALLY_OK);
        for (int run = 0; run < RUNS; run++) {
            fill(&d, run, in);
            cr_assert_eq(tally_kernel_run(kernel, in, run ? out : first, NULL), TALLY_OK);
            cr_expect_eq(tly_judge(&d, in, run ? out : first, 0, &verdict), 0,
                         "%s, %s, run %d: %lld wrong, %s", word, options.device, run,
                         (long long)verdict.wrong, verdict.reason);
            int other = 0;
            for (int64_t i = 0; run > 0 && i < ROWS * d.sizes[1]; i++)
                other += i / d.sizes[1] % OURS == 0 &&
                         !tly_bits_same(shown, tly_bits_load(shown, out, i),
                                        tly_bits_load(shown, first, i));
            cr_expect_eq(other, 0, "%s, %s, run %d: %d others", word, options.device, run, other);
        }
        tally_kernel_destroy(&kernel);
    }
}

Test(short, rows_have_bits_of_their_own, .timeout = 240)
{
    static const char *const words[] = {
        "cumprod:f32:128x255:axis=1",         "cumprod:f32:128x100:axis=1,exclusive",
        "cumprod:f32:128x129:axis=1,reverse", "cumprod:f32:128x61:axis=1",
        "cumprod:f16:128x200:axis=1",         "cumprod:f16:128x137:axis=1,exclusive",
        "cumprod:bf16:128x250:axis=1",        "cumprod:f16>f32:128x150:axis=1",
        "cumprod:f32:128x128:axis=1",         "cumprod:f32:128x128:axis=1,exclusive,reverse",
        "cumprod:f16:128x128:axis=1",         "cumprod:f16:128x128:axis=1,exclusive",
        "cumprod:f16>f32:128x128:axis=1",     "cumprod:f32:128x80:axis=1",
    };
    tly_trials t;
    tly_trials_open(&t);
    for (size_t k = 0; k < COUNT(words); k++)
        check(&t, words[k]);
    tly_trials_close(&t);
}

/* Rows [row, row + few) of `in` by a call of their own, in place; the output is `all`'s. */
static void check_few(const tally_kernel *kernel, const tally_descriptor *d, const char *device,
                      int row, int few, const char *in, const char *all)
{
    static double rows[5 * LONGEST];
    const size_t bytes = tally_dtype_bytes((tally_dtype)d->dtype) * (size_t)d->sizes[1];
    memcpy(rows, in + (size_t)row * bytes, (size_t)few * bytes);
    cr_assert_eq(tally_kernel_run(kernel, rows, rows, NULL), TALLY_OK);
    for (int64_t i = 0; i < few * d->sizes[1]; i++)
        if (!tly_bits_same((tally_dtype)d->dtype, tly_bits_load((tally_dtype)d->dtype, rows, i),
                           tly_bits_load((tally_dtype)d->dtype, all + (size_t)row * bytes, i))) {
            cr_expect(0, "%s, rows of %d, %d from %d on: element %d", device, (int)d->sizes[1], few,
                      row, (int)i);
            return;
        }
}

/* Few rows in a call go by themselves as far as they stay in range, whatever the level. */
Test(short, few_rows_have_the_bits_of_many, .timeout = 240)
{
    static const char *const words[] = {
        "cumprod:f32:128x4:axis=1",  "cumprod:f32:128x5:axis=1",
        "cumprod:f32:128x16:axis=1", "cumprod:f32:128x33:axis=1,exclusive",
        "cumprod:f16:128x7:axis=1",  "cumprod:f16:128x17:axis=1",
        "cumprod:f16:128x64:axis=1", "cumprod:bf16:128x31:axis=1",
        "cumprod:f64:128x13:axis=1", "cumsum:bf16:128x16:axis=1,exclusive",
    };
    static const int few[] = { 1, 3, 5 };
    static double in[ROWS * LONGEST], all[ROWS * LONGEST];
    tly_trials t;
    tly_trials_open(&t);
    for (size_t k = 0; k < COUNT(words); k++)
        for (size_t l = 0; l < t.levels.level_count; l++) {
            const tally_device *device = &t.levels.levels[l];
            const tally_kernel_options o = { .size = sizeof o, .device = device->selector };
            tally_kernel *kernel = NULL;
            tally_descriptor d;
            if (!strcmp(device->kind, "vulkan"))
                continue;
            cr_assert_eq(tally_descriptor_parse(words[k], &d, NULL), TALLY_OK);
            fill(&d, RUNS - 1, in);
            cr_assert_eq(tally_kernel_create(t.levels.context, &d, &o, &kernel, NULL), TALLY_OK);
            cr_assert_eq(tally_kernel_run(kernel, in, all, NULL), TALLY_OK);
            tally_kernel_destroy(&kernel);
            for (size_t n = 0; n < COUNT(few); n++) {
                d.sizes[0] = few[n];
                cr_assert_eq(tally_kernel_create(t.levels.context, &d, &o, &kernel, NULL),
                             TALLY_OK);
                for (int row = 0; row + few[n] <= ROWS; row += few[n])
                    check_few(kernel, &d, o.device, row, few[n], (const char *)in,
                              (const char *)all);
                tally_kernel_destroy(&kernel);
            }
        }
    tly_trials_close(&t);
}

/* A row whose windows of 2^k elements stay in range, while its last three elements leave it: what
 * lies behind a row's end may take part in none. */
static void fill_row(float *row, int length, uint64_t seed)
{
    tly_random r = tly_random_seed(seed, 1);
    for (int i = 0; i < length; i++) {
        const double u = element(LIVES, i, &r);
        const int left = length - i;
        row[i] = (float)(left > 5 ? u : left > 3 ? ldexp(u, -60) : ldexp(u, 50));
    }
}

/* Past the cache, stores are non-temporal, and the rows go another way. */
static void check_far(const tly_trials *t, const char *device, int length)
{
    enum { FAR_ROWS = 1 << 18, NEAR_ROWS = 256 };
    const size_t one = (size_t)length * NEAR_ROWS, all = (size_t)length * FAR_ROWS;
    const tally_kernel_options o = { .size = sizeof o, .device = device };
    float *in = aligned_alloc(64, all * sizeof *in), *out = aligned_alloc(64, all * sizeof *out);
    float *near = aligned_alloc(64, one * sizeof *near);
    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    tally_kernel *far_kernel = NULL, *near_kernel = NULL;
    size_t different = 0;
    cr_assert(in != NULL && out != NULL && near != NULL);
    for (int row = 0; row < NEAR_ROWS; row++)
        fill_row(in + (size_t)row * (size_t)length, length, (uint64_t)row);
    for (size_t i = one; i < all; i += one)
        memcpy(in + i, in, one * sizeof *in);
    cr_assert_eq(tally_descriptor_parse("cumprod:f32:1x1:axis=1", &d, NULL), TALLY_OK);
    d.sizes[1] = length;
    d.sizes[0] = FAR_ROWS;
    cr_assert_eq(tally_kernel_create(t->levels.context, &d, &o, &far_kernel, NULL), TALLY_OK);
    d.sizes[0] = NEAR_ROWS;
    cr_assert_eq(tally_kernel_create(t->levels.context, &d, &o, &near_kernel, NULL), TALLY_OK);
    cr_assert_eq(tally_kernel_run(far_kernel, in, out, NULL), TALLY_OK);
    cr_assert_eq(tally_kernel_run(near_kernel, in, near, NULL), TALLY_OK);
    for (size_t i = 0; i < all; i += one)
        different += memcmp(out + i, near, one * sizeof *near) != 0;
    cr_expect_eq(different, 0, "%s, rows of %d: %zu parts differ", device, length, different);
    tally_kernel_destroy(&far_kernel);
    tally_kernel_destroy(&near_kernel);
    free(in);
    free(out);
    free(near);
}

Test(short, rows_have_the_same_bits_past_the_cache, .timeout = 240)
{
    static const int lengths[] = { 31, 63 };
    tly_trials t;
    tly_trials_open(&t);
    for (size_t l = 0; l < t.levels.level_count; l++)
        for (size_t k = 0; k < COUNT(lengths); k++)
            if (strcmp(t.levels.levels[l].kind, "vulkan") != 0)
                check_far(&t, t.levels.levels[l].selector, lengths[k]);
    tly_trials_close(&t);
}

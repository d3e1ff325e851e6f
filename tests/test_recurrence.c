/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Linear recurrences, at each level of CPU that this machine runs and in every template that has
 * them: where a scan begins, the plain loop's bits, classes behind infinities and NaN, and factors
 * that leave the range of floats. The judge is that of random cases.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tally/kernel.h>

#include "compare.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { MOST = 48000 }; /* elements of a word */

typedef struct case_of {
    tally_descriptor d;
    float x[MOST], a[MOST], y[MOST];
} case_of;

static const char *const levels[] = { "cpu:x86-64-v2", "cpu:x86-64-v3", "cpu:x86-64-v4" };

/* Words of each template: rows, a few rows, short ones, elements apart, columns, few and very few
 * columns, middle axes, a transposed view, and one of whose dims none is dense. */
static const char *const words[] = {
    "linrec:f32:7x1000:axis=1,a=f32",         "linrec:f32:1x5000:axis=1,a=f32",
    "linrec:f32:100x33:axis=1,a=f32",         "linrec:f32:100x5:axis=1,a=f32",
    "linrec:f32:30x70:axis=1,a=f32,in=140x2", "linrec:f32:40x1100:axis=0,a=f32",
    "linrec:f32:40x100:axis=0,a=f32",         "linrec:f32:40x300:axis=0,a=f32",
    "linrec:f32:300x5:axis=0,a=f32",          "linrec:f32:4x20x600:axis=1,a=f32",
    "linrec:f32:50x64:axis=1,a=f32,in=1x50",  "linrec:f32:20x30x8:axis=1,a=f32,in=1x20x600",
};

static const char *const ways[] = { "", ",exclusive", ",reverse", ",exclusive,reverse",
                                    ",order=serial" };

/* What a word's elements are: by their number, which grows along memory. */
typedef struct data {
    const char *name;
    void (*fill)(case_of *c, size_t i);
} data;

static double unit(size_t i)
{
    return (double)(i * UINT64_C(2654435761) % 65536) / 65536;
}

/* Each first factor is NaN, infinite or huge, and each first element -0: any way in which the
 * factor, or a state before the element, took part would show. */
static int is_first(const case_of *c, size_t i)
{
    tly_layout l;
    int64_t rest = (int64_t)i, position = 0;
    tly_layout_of(&c->d, &l);
    for (int k = l.rank - 1; k >= 0; k--) {
        if (k == l.axis)
            position = rest % l.sizes[k];
        rest /= l.sizes[k];
    }
    return position == (l.is_reversed ? l.sizes[l.axis] - 1 : 0);
}

static void fill_first(case_of *c, size_t i)
{
    static const float firsts[] = { NAN, INFINITY, -INFINITY, -1, 3e38f };
    const int first = is_first(c, i);
    c->x[i] = (float)unit(i) - .5f;
    c->a[i] = first ? firsts[i % COUNT(firsts)] : .5f + .5f * (float)unit(i + 7);
    if (!(c->d.flags & TALLY_IN_STRIDES) && first)
        c->x[i] = -0.0f;
}

static void fill_special(case_of *c, size_t i)
{
    static const float odd[] = { NAN, INFINITY, -INFINITY, 0, -0.0f, 1e-40f, 3e38f, -3e38f };
    c->x[i] = i % 97 == 13 ? odd[i / 97 % COUNT(odd)] : (float)unit(i) - .5f;
    c->a[i] = i % 89 == 7 ? odd[i / 89 % COUNT(odd)] : 1.2f * (float)unit(i + 3);
}

/* Products of neighbouring factors leave the range upwards and downwards, but the loop does not. */
static void fill_wide(case_of *c, size_t i)
{
    c->x[i] = i % 5 ? 1e-30f : 1;
    c->a[i] = i / 8 % 2 ? (i % 2 ? 1e25f : 1e-25f) : 1e-30f;
}

/* Long rows become infinite by factors between 1 and 2. */
static void fill_growing(case_of *c, size_t i)
{
    c->x[i] = (float)unit(i);
    c->a[i] = 1 + (float)unit(i + 1);
}

static const data kinds[] = { { "first", fill_first },
                              { "special", fill_special },
                              { "wide", fill_wide },
                              { "growing", fill_growing } };

static void run(tally_kernel *kernel, const char *word, const char *level, case_of *c)
{
    for (size_t k = 0; k < COUNT(kinds); k++) {
        const void *operands[TALLY_MAX_OPERANDS] = { c->a };
        tally_buffers buffers = TALLY_BUFFERS_INIT;
        tally_error error = TALLY_ERROR_INIT;
        tly_verdict verdict;
        char text[256];
        for (size_t i = 0; i < MOST; i++)
            kinds[k].fill(c, i);
        buffers.in = c->x;
        buffers.out = c->y;
        buffers.operand[0] = c->a;
        cr_assert_eq(tally_kernel_run_buffers(kernel, &buffers, NULL, &error), TALLY_OK, "%s",
                     error.message);
        tly_judge_buffers(&c->d, c->x, operands, c->y, 0, &verdict);
        tly_verdict_print(&c->d, &verdict, text, sizeof text);
        cr_expect_null(verdict.reason, "%s, %s, %s: %s", word, level, kinds[k].name, text);
    }
}

static void run_at_all_levels(tally_context *context, const char *word, case_of *c)
{
    for (size_t k = 0; k < COUNT(levels); k++) {
        tally_kernel_options options = TALLY_KERNEL_OPTIONS_INIT;
        tally_error error = TALLY_ERROR_INIT;
        tally_kernel *kernel = NULL;
        options.device = levels[k];
        const tally_status s = tally_kernel_create(context, &c->d, &options, &kernel, &error);
        if (s == TALLY_INVALID || s == TALLY_NO_GENERATOR ||
            (s == TALLY_UNSUPPORTED && strcmp(error.field, "device") == 0))
            continue; /* the machine, or the build, lacks it */
        cr_assert_eq(s, TALLY_OK, "%s, %s: %s", word, levels[k], error.message);
        run(kernel, word, levels[k], c);
        tally_kernel_destroy(&kernel);
    }
}

Test(recurrence, every_template_and_level, .timeout = 120)
{
    case_of *c = malloc(sizeof *c);
    tally_context *context = NULL;
    cr_assert_not_null(c);
    cr_assert_eq(tally_context_create(NULL, &context, NULL), TALLY_OK);
    for (size_t w = 0; w < COUNT(words) * COUNT(ways); w++) {
        char word[TALLY_WORD_MAX];
        snprintf(word, sizeof word, "%s%s", words[w / COUNT(ways)], ways[w % COUNT(ways)]);
        c->d = (tally_descriptor)TALLY_DESCRIPTOR_INIT;
        cr_assert_eq(tally_descriptor_parse(word, &c->d, NULL), TALLY_OK, "%s", word);
        run_at_all_levels(context, word, c);
    }
    tally_context_destroy(&context);
    free(c);
}

Test(recurrence, devices_have_no_kernels)
{
    tally_context *context = NULL;
    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    tally_kernel_options options = TALLY_KERNEL_OPTIONS_INIT;
    tally_error error = TALLY_ERROR_INIT;
    cr_assert_eq(tally_context_create(NULL, &context, NULL), TALLY_OK);
    cr_assert_eq(tally_descriptor_parse("linrec:f32:100:axis=0,coef=.5", &d, &error),
                 TALLY_INVALID);
    cr_assert_eq(tally_descriptor_parse("linrec:f32:100:axis=0,coef=0.5", &d, &error), TALLY_OK);
    options.profile = "nvidia-hopper";
    const tally_status s = tally_context_supports(context, &d, &options, &error);
    cr_expect(s == TALLY_UNSUPPORTED || s == TALLY_NO_GENERATOR || s == TALLY_INVALID, "%d", s);
    cr_expect(s != TALLY_UNSUPPORTED || strcmp(error.field, "op") == 0, "%s", error.field);
    tally_context_destroy(&context);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Linear recurrences, at each level of CPU that this machine runs and in every template that has
 * them: where a scan begins, the plain loop's bits, classes behind infinities and NaN, and factors
 * that leave the range of floats. The judge is that of random cases.
 */
#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tally/kernel.h>

#include "compare.h"
#include "recurrence.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

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

static void run(tally_kernel *kernel, const char *word, const char *level, tly_recurring *c)
{
    for (size_t k = 0; k < TLY_RECURRING_KINDS; k++) {
        const void *operands[TALLY_MAX_OPERANDS] = { c->a };
        tally_buffers buffers = TALLY_BUFFERS_INIT;
        tally_error error = TALLY_ERROR_INIT;
        tly_verdict verdict;
        char text[256];
        tly_recurring_fill(c, k);
        buffers.in = c->x;
        buffers.out = c->y;
        buffers.operand[0] = c->a;
        cr_assert_eq(tally_kernel_run_buffers(kernel, &buffers, NULL, &error), TALLY_OK, "%s",
                     error.message);
        tly_judge_buffers(&c->d, c->x, operands, c->y, 0, &verdict);
        tly_verdict_print(&c->d, &verdict, text, sizeof text);
        cr_expect_null(verdict.reason, "%s, %s, %s: %s", word, level, tly_recurring_kinds[k].name,
                       text);
    }
}

static void run_at_all_levels(tally_context *context, const char *word, tly_recurring *c)
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
    tly_recurring *c = malloc(sizeof *c);
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

Test(recurrence, numbers_begin_with_a_digit)
{
    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    cr_assert_eq(tally_descriptor_parse("linrec:f32:100:axis=0,coef=.5", &d, NULL), TALLY_INVALID);
    cr_assert_eq(tally_descriptor_parse("linrec:f32:100:axis=0,coef=0.5", &d, NULL), TALLY_OK);
}

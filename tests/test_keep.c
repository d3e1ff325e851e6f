/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans beside the library's own: those that the limits allow (TALLY_STAGE_CHOICES) are legal and
 * differ; those that combine in the same order (TALLY_STAGE_ORDER) have the same bits; and one of
 * these that is kept (tally_cache_keep) is what the next context finds.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tally.h>
#include <tally/cache.h>

#include "reference.h"

enum { MOST_CHOICES = 256, MOST_TEXT = 256, MOST_COUNT = 1 << 16 };

typedef struct choices {
    char line[MOST_CHOICES][MOST_TEXT];
    int count;
} choices;

static int take_line(void *user, const char *text, size_t bytes)
{
    choices *c = user;
    cr_assert(c->count < MOST_CHOICES && bytes > 1 && bytes < MOST_TEXT && text[bytes - 1] == '\n');
    snprintf(c->line[c->count++], MOST_TEXT, "%.*s", (int)bytes - 1, text);
    return 0;
}

typedef struct text {
    char bytes[1024];
} text;

static int append(void *user, const char *bytes, size_t count)
{
    text *t = user;
    cr_assert_lt(strlen(t->bytes) + count, sizeof t->bytes);
    strncat(t->bytes, bytes, count);
    return 0;
}

static tally_descriptor parse(const char *word)
{
    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    tally_error error = TALLY_ERROR_INIT;
    cr_assert_eq(tally_descriptor_parse(word, &d, &error), TALLY_OK, "%s", error.message);
    return d;
}

static text show(tally_context *context, const tally_descriptor *d, const char *plan,
                 tally_stage stage)
{
    const tally_kernel_options options = { .size = sizeof options, .plan = plan };
    tally_error error = TALLY_ERROR_INIT;
    text t = { { 0 } };
    cr_assert_eq(tally_inspect(context, d, &options, stage, append, &t, &error), TALLY_OK,
                 "'%s': %s", plan, error.message);
    return t;
}

/* ---- the same order, the same bits ---- */

static uint64_t draw(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 32;
}

/* Sums whose every rounding tells the order; products that leave the range for a while. */
static void fill(const tally_descriptor *d, void *in)
{
    const int product = tly_operations[d->op].family == TLY_PRODUCTS;
    uint64_t state = 11;
    for (int i = 0; i < MOST_COUNT; i++) {
        const uint32_t bits = (uint32_t)draw(&state);
        float value = 1 + ((float)(bits % 1000) - 500) * 1e-5f;
        if (!product) {
            value = ((float)(bits & 0xffff) - 32768) * (bits >> 16 & 7 ? 1 : 0x1p-9f);
        } else if (i % 700 == 350) {
            value = 0x1p90f;
        } else if (i % 700 == 400) {
            value = 0x1p-90f;
        }
        uint32_t word;
        memcpy(&word, &value, sizeof word);
        if (d->dtype == TALLY_BF16) {
            ((uint16_t *)in)[i] = (uint16_t)(word >> 16);
        } else {
            ((uint32_t *)in)[i] = word;
        }
    }
}

static const char *const words[] = {
    "cumsum:f32:9x5000:axis=1",
    "cumprod:f32:9x5000:axis=1",
    "cumprod:bf16:7x3000:axis=1",
    "cumsum:f32:900x12:axis=1",
    "cumsum:f32:70x300:axis=0",
    "cumprod:f32:700x70:axis=0",
    "cumsum:f32:3000x3:axis=0",
    "cumsum:f32:60x60:axis=1,in=1x60",
    "cumsum:f32:8000x2:axis=0",
    "sum:f32:9x5000:axes=1",
    "sum:f32:700x70:axes=0",
    "prod:f32:700x70:axes=0",
    "log_sum_exp:f32:9x900:axes=1",
    "sum:f32:9000x3:axes=0",
    "cumsum:f32:9x5000:axis=1,carry=in",
};

static int compare(tally_context *context, const tally_descriptor *d, const char *plan,
                   const void *in, const char *expected, char *out)
{
    const tally_kernel_options options = { .size = sizeof options, .plan = plan };
    tally_error error = TALLY_ERROR_INIT;
    tally_kernel *kernel = NULL;
    memset(out, 0, MOST_COUNT * 4);
    cr_assert_eq(tally_kernel_create(context, d, &options, &kernel, &error), TALLY_OK, "'%s': %s",
                 plan, error.message);
    cr_assert_eq(tally_kernel_run(kernel, in, out, NULL), TALLY_OK);
    tally_kernel_destroy(&kernel);
    return expected && memcmp(out, expected, MOST_COUNT * 4) != 0;
}

Test(keep, same_order_is_same_bits)
{
    const tally_context_options options = { .size = sizeof options, .cache_folder = "" };
    tally_context *context = NULL;
    int same = 0, other = 0, differ = 0;
    char *in = calloc(MOST_COUNT, 4), *out = calloc(MOST_COUNT, 4), *own = calloc(MOST_COUNT, 4);
    choices *c = malloc(sizeof *c);
    cr_assert(in && out && own && c);
    cr_assert_eq(tally_context_create(&options, &context, NULL), TALLY_OK);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const tally_descriptor d = parse(words[i]);
        const text order = show(context, &d, "", TALLY_STAGE_ORDER);
        const text plan = show(context, &d, "", TALLY_STAGE_PLAN);
        tally_error error = TALLY_ERROR_INIT;
        c->count = 0;
        cr_assert_eq(tally_inspect(context, &d, NULL, TALLY_STAGE_CHOICES, take_line, c, &error),
                     TALLY_OK, "%s", error.message);
        cr_expect_gt(c->count, 3, "%s", words[i]);
        fill(&d, in);
        compare(context, &d, "", in, NULL, own);
        for (int k = 0; k < c->count; k++) {
            const text its = show(context, &d, c->line[k], TALLY_STAGE_ORDER);
            cr_expect_str_neq(show(context, &d, c->line[k], TALLY_STAGE_PLAN).bytes, plan.bytes,
                              "%s %s: the same plan", words[i], c->line[k]);
            if (strcmp(its.bytes, order.bytes) != 0) {
                other++;
                /* Enough to see that the data tell orders apart. */
                differ += k % 4 == 0 && compare(context, &d, c->line[k], in, own, out);
                continue;
            }
            if (k % 2 != (int)i % 2) {
                continue; /* a test should not take long */
            }
            same++;
            cr_expect_eq(compare(context, &d, c->line[k], in, own, out), 0, "%s %s: other bits",
                         words[i], c->line[k]);
        }
    }
    cr_expect(same > 25 && other > 20 && differ > 3, "%d, %d, %d", same, other, differ);
    tally_context_destroy(&context);
    free(in);
    free(out);
    free(own);
    free(c);
}

/* A second change on a first one. */
Test(keep, choices_go_on)
{
    tally_context *context = NULL;
    const tally_descriptor d = parse("cumsum:i32:9x5000:axis=1");
    const tally_kernel_options options = { .size = sizeof options, .plan = "unroll=2" };
    choices *c = calloc(1, sizeof *c);
    cr_assert_eq(tally_context_create(NULL, &context, NULL), TALLY_OK);
    cr_assert_eq(tally_inspect(context, &d, &options, TALLY_STAGE_CHOICES, take_line, c, NULL),
                 TALLY_OK);
    cr_expect_gt(c->count, 3);
    for (int k = 0; k < c->count; k++) {
        cr_expect(strncmp(c->line[k], "unroll=2,", 9) == 0 && !strstr(c->line[k] + 9, "unroll"),
                  "%s", c->line[k]);
    }
    cr_expect_str_eq(show(context, &d, "unroll=2", TALLY_STAGE_ORDER).bytes, "exact\n");
    tally_context_destroy(&context);
    free(c);
}

/* ---- kept ---- */

typedef struct seen {
    int count, tuned;
} seen;

static int count_entry(void *user, const tally_cache_entry *entry)
{
    seen *s = user;
    s->count++;
    s->tuned += strstr(entry->device, " tuned") != NULL && !entry->fault;
    return 0;
}

static seen look(const char *folder)
{
    seen s = { 0, 0 };
    cr_assert_eq(tally_cache_visit(folder, count_entry, &s, NULL), TALLY_OK);
    return s;
}

/* Where a new context has the kernel without overrides from. */
static tally_stats create(const tally_context_options *options, const tally_descriptor *d)
{
    tally_context *context = NULL;
    tally_kernel *kernel = NULL;
    tally_stats stats = TALLY_STATS_INIT;
    cr_assert_eq(tally_context_create(options, &context, NULL), TALLY_OK);
    cr_assert_eq(tally_kernel_create(context, d, NULL, &kernel, NULL), TALLY_OK);
    float in[3 * 200], out[3 * 200];
    for (int i = 0; i < 3 * 200; i++) {
        in[i] = (float)(i % 7);
    }
    cr_assert_eq(tally_kernel_run(kernel, in, out, NULL), TALLY_OK);
    cr_expect_eq(out[199], 594);
    tally_context_stats(context, &stats);
    tally_kernel_destroy(&kernel);
    tally_context_destroy(&context);
    return stats;
}

Test(keep, kept_is_found)
{
    char folder[] = "/tmp/tally_keep_XXXXXX";
    tally_context_options with = { .size = sizeof with };
    tally_kernel_options options = { .size = sizeof options };
    tally_context *context = NULL;
    tally_error error = TALLY_ERROR_INIT;
    const tally_descriptor d = parse("cumsum:f32:3x200:axis=1");
    with.cache_folder = mkdtemp(folder);
    cr_assert(with.cache_folder);
    cr_assert_eq(tally_context_create(&with, &context, NULL), TALLY_OK);

    options.plan = "block=256";
    cr_expect_eq(tally_cache_keep(context, &d, &options, &error), TALLY_INVALID);
    cr_expect_str_eq(error.field, "plan");
    options.plan = "unroll=3";
    cr_expect_eq(tally_cache_keep(context, &d, &options, &error), TALLY_INVALID);
    cr_expect_eq(look(folder).count, 0, "what was refused is not stored");

    options.plan = "prefetch=512";
    cr_expect_eq(tally_cache_keep(context, &d, &options, &error), TALLY_OK, "%s", error.message);
    cr_expect(look(folder).count == 1 && look(folder).tuned == 1);
    tally_stats stats = create(&with, &d);
    cr_expect(stats.loaded == 1 && stats.compiled == 0, "%d made", (int)stats.compiled);

    options.plan = NULL;
    cr_expect_eq(tally_cache_keep(context, &d, &options, &error), TALLY_OK, "%s", error.message);
    cr_expect(look(folder).count == 1 && look(folder).tuned == 0, "the own plan again");
    cr_expect_eq(tally_cache_clear(folder, NULL, NULL), TALLY_OK);
    stats = create(&with, &d);
    cr_expect(stats.loaded == 0 && stats.compiled == 1);
    tally_context_destroy(&context);

    with.cache_folder = "";
    cr_assert_eq(tally_context_create(&with, &context, NULL), TALLY_OK);
    cr_expect_eq(tally_cache_keep(context, &d, &options, &error), TALLY_IO);
    tally_context_destroy(&context);
    tally_cache_clear(folder, NULL, NULL);
    rmdir(folder);
}

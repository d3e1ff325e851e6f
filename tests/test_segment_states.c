/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scans of segments along rows, each from a state of its own to one that it hands on, against a
 * plain loop of doubles, at each level of CPU that this machine runs. All numbers are integers that
 * every order computes exactly; some states are infinite, so that steps are computed once more.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tally.h>

#include "cuts.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Heads of short rows are marked once, those of long ones block by block. */
static const int64_t lengths[] = { 9000, 300 };

enum { ROWS = 3, ELEMENTS = ROWS * 9000, STATES = ROWS * TLY_MOST_CUTS };

/* ---- words ---- */

static double sum(double y, double u, double a)
{
    (void)a;
    return y + u;
}

static double product(double y, double u, double a)
{
    (void)a;
    return y * u;
}

static double larger(double y, double u, double a)
{
    (void)a;
    return u > y ? u : y;
}

static double recurrence(double y, double u, double a)
{
    return a * y + u;
}

static double sum_of_products(double y, double u, double a)
{
    return y + u * a;
}

static double constant(double y, double u, double a)
{
    (void)u;
    (void)a;
    return y;
}

typedef struct scan {
    const char *op, *options;
    double (*next)(double y, double u, double a);
    double start; /* without a state */
    int post;     /* added to a result */
    int odd;      /* elements are 1 and -1 */
} scan;

static const scan scans[] = {
    { "cumsum:f32", "", sum, 0, 0, 0 },
    { "cumsum:f64", "", sum, 0, 0, 0 },
    { "cumsum:i32", "", sum, 0, 0, 0 },
    { "cumsum:f32", ",map=0", constant, 0, 0, 0 },
    { "cumsum:f32", ",a=f32,map=x*a,post=y+1", sum_of_products, 0, 1, 0 },
    { "cumprod:f32", "", product, 1, 0, 1 },
    { "cummax:f32", "", larger, -INFINITY, 0, 0 },
    { "linrec:f32", ",a=f32", recurrence, 0, 0, 0 },
    { "linrec:i32", ",a=i32", recurrence, 0, 0, 0 },
};

static const char *const ways[] = { "", ",exclusive", ",reverse", ",exclusive,reverse" };
static const char *const levels[] = { "cpu:x86-64-v2", "cpu:x86-64-v3", "cpu:x86-64-v4" };

/* ---- numbers as they are stored ---- */

static void put(tally_dtype dtype, void *to, int64_t i, double v)
{
    if (dtype == TALLY_F64)
        ((double *)to)[i] = v;
    else if (dtype == TALLY_F32)
        ((float *)to)[i] = (float)v;
    else
        ((int32_t *)to)[i] = (int32_t)v;
}

static double get(tally_dtype dtype, const void *from, int64_t i)
{
    return dtype == TALLY_F64   ? ((const double *)from)[i]
           : dtype == TALLY_F32 ? (double)((const float *)from)[i]
                                : (double)((const int32_t *)from)[i];
}

/* ---- cases ---- */

typedef struct tensors {
    double in[ELEMENTS], a[ELEMENTS], before[STATES], out[ELEMENTS], after[STATES];
    double stored_in[ELEMENTS], stored_a[ELEMENTS], stored_out[ELEMENTS];
    double stored_before[STATES], stored_after[STATES]; /* room for any dtype */
    tly_cut cut;
} tensors;

static void fill(tensors *t, const scan *s, size_t n)
{
    uint32_t random = (uint32_t)n * 2654435761u + 1;
    for (int i = 0; i < ELEMENTS; i++) {
        random = random * 1664525u + 1013904223u;
        const int u = (int)(random >> 24) % 5 - 2;
        t->in[i] = s->odd ? 1 - 2 * (u & 1) : u;
        t->a[i] = (int)(random >> 16 & 255) % 3 - 1;
    }
    for (int i = 0; i < STATES; i++)
        t->before[i] = i % 11 == 5 && !strstr(s->op, "i32") ? INFINITY : i % 100 - 50;
}

/* What the word makes of one row. */
static void expect(tensors *t, const scan *s, int64_t row, const tally_descriptor *d,
                   int has_states)
{
    const int exclusive = (d->flags & TALLY_EXCLUSIVE) != 0;
    const tly_cut *c = &t->cut;
    for (int64_t k = 0; k < c->count; k++) {
        const int64_t first = c->at[k], count = c->at[k + 1] - first;
        double y = has_states ? t->before[row * c->count + k] : s->start;
        for (int64_t i = 0; i < count; i++) {
            const int64_t at = row * d->sizes[1] + first +
                               (d->flags & TALLY_REVERSE ? count - 1 - i : i);
            const int anew = i == 0 && !has_states && s->next == recurrence;
            const double next = anew ? t->in[at] : s->next(y, t->in[at], t->a[at]);
            t->out[at] = (exclusive ? y : next) + s->post;
            y = next;
        }
        t->after[row * c->count + k] = y;
    }
}

static void compare(tally_dtype dtype, const double *wanted, const void *made, int64_t count,
                    const char *what, const char *of)
{
    for (int64_t i = 0; i < count; i++) {
        const double w = wanted[i], m = get(dtype, made, i);
        cr_assert(w == m || (isnan(w) && isnan(m)), "%s: %s %lld is %g, wanted %g", what, of,
                  (long long)i, m, w);
    }
}

static void check(tally_context *context, tensors *t, const scan *s, const char *way,
                  const char *device, size_t n)
{
    const tally_kernel_options options = { .size = sizeof options, .device = device };
    const int64_t length = lengths[n / 3 % COUNT(lengths)];
    const int has_states = n % 4 > 0, in_place = n % 4 == 2, is_wanted = n % 4 != 3;
    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    tally_error error = TALLY_ERROR_INIT;
    tally_kernel *kernel = NULL;
    char word[TALLY_WORD_MAX], what[TALLY_WORD_MAX + 100];
    memset(&t->cut, 0, sizeof t->cut);
    tly_cuts[n % TLY_CUTS].make(&t->cut, length);
    snprintf(word, sizeof word, "%s:%dx%lld:axis=1%s%s,segments=i64/%lld%s%s", s->op, ROWS,
             (long long)length, way, s->options, (long long)t->cut.count,
             has_states || is_wanted ? ",carry=" : "",
             !has_states ? "out"
             : is_wanted ? "in+out"
                         : "in");
    snprintf(what, sizeof what, "%s, %s, %s", word, tly_cuts[n % TLY_CUTS].name, device);
    cr_assert_eq(tally_descriptor_parse(word, &d, &error), TALLY_OK, "%s: %s", word, error.message);
    const tally_dtype dtype = (tally_dtype)d.dtype;
    const int64_t states = ROWS * t->cut.count;
    fill(t, s, n);
    for (int64_t i = 0; i < ELEMENTS; i++) {
        put(dtype, t->stored_in, i, t->in[i]);
        put(dtype, t->stored_a, i, t->a[i]);
        put(dtype, t->stored_out, i, t->out[i] = 77);
    }
    void *after = in_place ? t->stored_before : t->stored_after;
    for (int64_t i = 0; i < states; i++)
        put(dtype, t->stored_before, i, t->before[i]);
    for (int64_t row = 0; row < ROWS; row++)
        expect(t, s, row, &d, has_states);
    const tally_buffers buffers = { .size = sizeof buffers,
                                    .in = t->stored_in,
                                    .out = t->stored_out,
                                    .operand = { d.operands[0].dtype ? t->stored_a : NULL },
                                    .offsets = t->cut.at,
                                    .carry_in = has_states ? t->stored_before : NULL,
                                    .carry_out = is_wanted ? after : NULL };
    cr_assert_eq(tally_kernel_create(context, &d, &options, &kernel, &error), TALLY_OK, "%s: %s",
                 what, error.message);
    const tally_status status = tally_kernel_run_buffers(kernel, &buffers, NULL, &error);
    tally_kernel_destroy(&kernel);
    if (status == TALLY_UNSUPPORTED && strcmp(error.field, "device") == 0)
        return; /* another machine's level */
    cr_assert_eq(status, TALLY_OK, "%s: %s", what, error.message);
    compare(dtype, t->out, t->stored_out, ROWS * length, what, "element");
    if (is_wanted)
        compare(dtype, t->after, after, states, what, "state");
}

Test(segment_states, go_in_and_out, .timeout = 120)
{
    tally_context *context = NULL;
    tensors *t = calloc(1, sizeof *t);
    cr_assert(t);
    cr_assert_eq(tally_context_create(NULL, &context, NULL), TALLY_OK);
    size_t n = 0;
    for (size_t l = 0; l < COUNT(levels); l++)
        for (size_t k = 0; k < COUNT(scans); k++)
            for (size_t w = 0; w < COUNT(ways); w++, n += 5)
                for (size_t more = 0; more < 5; more++)
                    check(context, t, &scans[k], ways[w], levels[l], n + more);
    tally_context_destroy(&context);
    free(t);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running indices of rows that threads share: however many threads there are, and whether carries
 * come from totals or from scans, the indices are those of a plain loop. Ties lie across the cuts,
 * NaNs in every chunk, and some chunks have nothing that beats what is before them.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tally/kernel.h>

#include "../runtime/cpu/cpu.h"
#include "random.h"
#include "required.h"
#include "tasks.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { CHUNK = 1024, CHUNKS = 9, LENGTH = CHUNKS * CHUNK + 37, LONG = 300001, ROWS = 3 };
enum { MOST = LONG, ELEMENT = 8, MOST_THREADS = 7 };

static const char *const levels[] = { "cpu:x86-64-v2", "cpu:x86-64-v3", "cpu:x86-64-v4" };
static const int32_t threads[] = { 1, 2, 3, MOST_THREADS };

static const char *const words[] = {
    "cumargmax:f32>i32:3x9253:axis=1",
    "cumargmax:f32:9253:axis=0,last",
    "cumargmin:f32>i32:9253:axis=0,reverse",
    "cumargmin:f64:3x9253:axis=1,reverse,last",
    "cumargmax:bf16>i32:9253:axis=0,nan=ignore",
    "cumargmin:f32:9253:axis=0,nan=ignore,last,reverse",
    "cumargmax:i8>i32:9253:axis=0,last",
    "cumargmin:u8:3x9253:axis=1",
    "cumargmax:i64>i32:9253:axis=0,reverse",
    "cumargmax:f32>i32:9253:axis=0,a=u8,reset=a",
    "cumargmin:f32:3x9253:axis=1,last,a=u8,reset=a",
    "cumargmax:f64>i32:9253:axis=0,reverse,a=u8,reset=a",
    "cumargmax:f32>i32:9253:axis=0,segments=i32/4",
    "cumargmin:i32:9253:axis=0,reverse,last,segments=i32/4",
};

typedef struct tensors {
    double number[MOST]; /* what the elements are */
    char in[MOST * ELEMENT], out[MOST * ELEMENT];
    uint8_t a[MOST];
    int32_t offsets[5];
    int64_t wanted[MOST];
} tensors;

/* ---- data ---- */

static double with_nans(tly_random *r, int64_t i)
{
    (void)i;
    return tly_random_one_in(r, CHUNK / 2) ? NAN : (double)tly_random_between(r, -3, 3);
}

static double ties(tly_random *r, int64_t i)
{
    (void)i;
    return (double)tly_random_between(r, -1, 1);
}

static double lowest(tly_random *r, int64_t i)
{
    (void)r;
    (void)i;
    return -INFINITY;
}

static double highest(tly_random *r, int64_t i)
{
    return -lowest(r, i);
}

static double ascending(tly_random *r, int64_t i)
{
    const int64_t step = i % LENGTH / 80;
    (void)r;
    return (double)step;
}

static double descending(tly_random *r, int64_t i)
{
    return 115 - ascending(r, i);
}

/* One value at the last and first elements of chunks, above or below all others. */
static double at_borders(tly_random *r, int64_t i)
{
    const int64_t chunk = (i % LENGTH + 1) / CHUNK, at = (i % LENGTH + 1) % CHUNK;
    const double extreme = i / LENGTH % 2 ? -9 : 9;
    (void)r;
    return at == chunk % 2 && chunk > 1 ? extreme : 0;
}

static double nearly_all_nan(tly_random *r, int64_t i)
{
    return tly_random_one_in(r, 3 * CHUNK) ? (double)(i % 3) : NAN;
}

static double (*const kinds[])(tly_random *, int64_t) = {
    with_nans, ties, lowest, highest, ascending, descending, at_borders, nearly_all_nan,
};

/* A number as an element, and what that stands for. */
static double put(const tally_descriptor *d, char *to, double x)
{
    const float single = (float)x;
    if (d->dtype == TALLY_F64) {
        memcpy(to, &x, sizeof x);
        return x;
    }
    if (d->dtype == TALLY_F32 || d->dtype == TALLY_BF16) { /* the upper half */
        const size_t skip = d->dtype == TALLY_BF16 ? 2 : 0;
        memcpy(to, (const char *)&single + skip, sizeof single - skip);
        return x;
    }
    const int64_t number = isnan(x) ? 0 : isinf(x) ? 0 : (int64_t)x;
    const int64_t least = d->dtype == TALLY_U8    ? 0
                          : d->dtype == TALLY_I8  ? INT8_MIN
                          : d->dtype == TALLY_I32 ? INT32_MIN
                                                  : INT64_MIN;
    const int64_t most = d->dtype == TALLY_U8 ? UINT8_MAX : -(least + 1);
    const int64_t element = isinf(x)               ? (x < 0 ? least : most)
                            : d->dtype == TALLY_U8 ? number + 9
                                                   : number;
    memcpy(to, &element, tally_dtype_bytes((tally_dtype)d->dtype));
    return (double)element;
}

static void fill(tensors *t, const tally_descriptor *d, int64_t count, size_t kind, uint64_t seed)
{
    const size_t bytes = tally_dtype_bytes((tally_dtype)d->dtype);
    tly_random r = tly_random_seed(seed, kind);
    for (int64_t i = 0; i < count; i++) {
        t->number[i] = put(d, t->in + (size_t)i * bytes, kinds[kind](&r, i));
        t->a[i] = (uint8_t)tly_random_one_in(&r, CHUNK);
    }
}

/* ---- the plain loop ---- */

static int beats(const tally_descriptor *d, double x, double best)
{
    const int ties = (d->flags & TALLY_LAST) != 0, ignores = (d->flags & TALLY_NAN_IGNORE) != 0;
    if (isnan(x) || isnan(best))
        return isnan(x) && isnan(best) ? ties : isnan(x) != ignores;
    return (ties && x == best) || (d->op == TALLY_CUMARGMAX ? x > best : x < best);
}

static int begins(const tally_descriptor *d, const tensors *t, int64_t row, int64_t i,
                  int64_t length)
{
    const int reverse = (d->flags & TALLY_REVERSE) != 0;
    int is = i == (reverse ? length - 1 : 0);
    if (d->operands[0].dtype != 0)
        is = is || t->a[row * length + i];
    for (int64_t s = 0; s < d->segments; s++)
        is = is || i == (reverse ? t->offsets[s + 1] - 1 : t->offsets[s]);
    return is;
}

static void loop(tensors *t, const tally_descriptor *d, int64_t rows, int64_t length)
{
    for (int64_t row = 0; row < rows; row++) {
        const double *x = t->number + row * length;
        int64_t best = 0;
        for (int64_t k = 0; k < length; k++) {
            const int64_t i = d->flags & TALLY_REVERSE ? length - 1 - k : k;
            if (begins(d, t, row, i, length) || beats(d, x[i], x[best]))
                best = i;
            t->wanted[row * length + i] = best;
        }
    }
}

/* ---- runs ---- */

static void compare(const tensors *t, const tally_descriptor *d, int64_t count, const char *what,
                    size_t kind)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t wide;
        int32_t narrow;
        memcpy(&wide, t->out + i * 8, sizeof wide);
        memcpy(&narrow, t->out + i * 4, sizeof narrow);
        const int64_t got = d->out_dtype == TALLY_I32 ? narrow : wide;
        cr_assert_eq(got, t->wanted[i], "%s, data %zu: element %lld is %lld, not %lld", what, kind,
                     (long long)i, (long long)got, (long long)t->wanted[i]);
    }
}

static tally_status call(void *user, const tly_args *args, const tly_task *task, int64_t *result,
                         tally_error *error)
{
    (void)error;
    *result = ((const tally_kernel *)user)->entry(args, task);
    return TALLY_OK;
}

static void run_tasks(tally_kernel *k, const tally_buffers *buffers, int32_t way)
{
    _Alignas(64) static char scratch[1 << 16];
    tly_pointers p;
    tly_args args;
    cr_assert_leq(k->scratch_bytes, sizeof scratch);
    cr_assert_eq(tly_buffers_take(buffers, &p, NULL), TALLY_OK);
    tly_pointers_place(&k->rules, &p);
    tly_prepared_complete(&k->prepared, &p, k->apart_flags, &args);
    cr_assert_eq(tly_tasks_run(k, &args, scratch, way, call, k, NULL), TALLY_OK);
}

static void check(tally_kernel *k, const tally_descriptor *d, tensors *t, const char *word,
                  uint64_t seed)
{
    const int64_t rows = d->rank > 1 ? ROWS : 1, length = d->sizes[d->rank - 1];
    const tally_buffers buffers = { .size = sizeof buffers,
                                    .in = t->in,
                                    .out = t->out,
                                    .operand = { t->a },
                                    .offsets = d->segments > 0 ? t->offsets : NULL };
    char what[TALLY_WORD_MAX + 100];
    for (size_t kind = 0; kind < COUNT(kinds); kind++) {
        fill(t, d, rows * length, kind, seed);
        loop(t, d, rows, length);
        for (size_t n = 0; n < COUNT(threads); n++) {
            const tally_run_options by = { .size = sizeof by, .threads = threads[n] };
            memset(t->out, 0x55, sizeof t->out);
            cr_assert_eq(tally_kernel_run_buffers(k, &buffers, &by, NULL), TALLY_OK);
            snprintf(what, sizeof what, "%s, %d threads", word, threads[n]);
            compare(t, d, rows * length, what, kind);
        }
        for (int32_t way = 2; way <= 3; way++) {
            memset(t->out, 0x55, sizeof t->out);
            run_tasks(k, &buffers, way);
            snprintf(what, sizeof what, "%s, way %d", word, way);
            compare(t, d, rows * length, what, kind);
        }
    }
}

/* A machine of many CPUs, on which small rows are worth several threads. */
static tally_context *open(void)
{
    const tally_context_options options = { .size = sizeof options, .threads = MOST_THREADS };
    tally_context *context = NULL;
    cr_assert_eq(tally_context_create(&options, &context, NULL), TALLY_OK);
    context->limits.cpus = MOST_THREADS;
    context->limits.chain = context->limits.split_rows = 64;
    return context;
}

static void check_word(tally_context *context, tensors *t, const char *word, const char *device,
                       const char *plan, uint64_t seed)
{
    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    tally_kernel *k = tly_require_kernel(context, word, device, plan);
    cr_assert_eq(tally_descriptor_parse(word, &d, NULL), TALLY_OK);
    cr_assert_gt(k->row_tiles, 1, "%s: rows are not cut", word);
    cr_assert(k->carry_bytes > 0 || d.segments > 0, "%s: chunks hand on nothing", word);
    if (tly_level_runs(k->level))
        check(k, &d, t, word, seed);
    tally_kernel_destroy(&k);
}

Test(running_chunks, any_cut_has_the_indices_of_the_loop, .timeout = 120)
{
    tensors *t = calloc(1, sizeof *t);
    tally_context *context = open();
    cr_assert(t);
    memcpy(t->offsets, (int32_t[]){ 0, 2000, 2001, 7001, LENGTH }, sizeof t->offsets);
    for (size_t l = 0; l < COUNT(levels); l++)
        for (size_t w = 0; w < COUNT(words); w++)
            check_word(context, t, words[w], levels[l], "template=linear,chunk=1024", w);
    check_word(context, t, "cumargmax:f32>i32:300001:axis=0", "cpu", NULL, 99);
    tally_context_destroy(&context);
    free(t);
}

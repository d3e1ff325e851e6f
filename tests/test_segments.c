/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reductions of segments that offsets cut: each is judged as a row of its own, at each level of CPU
 * that this machine runs. Also what is refused, and that threads change no bit.
 */
#include <criterion/criterion.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tally.h>

#include "compare.h"
#include "cuts.h"
#include "random.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static tally_context *context;

static void begin(void)
{
    tally_context_options options = TALLY_CONTEXT_OPTIONS_INIT;
    options.threads = 5;
    cr_assert_eq(tally_context_create(&options, &context, NULL), TALLY_OK);
}

static void end(void)
{
    tally_context_destroy(&context);
}

TestSuite(segments, .init = begin, .fini = end);

/* ---- runs ---- */

static tally_kernel *kernel_of(const tally_descriptor *d, const char *device, const char *word)
{
    tally_error error = TALLY_ERROR_INIT;
    tally_kernel *kernel = NULL;
    tally_kernel_options options = TALLY_KERNEL_OPTIONS_INIT;
    options.device = device;
    cr_assert_eq(tally_kernel_create(context, d, &options, &kernel, &error), TALLY_OK, "%s: %s: %s",
                 word, error.field, error.message);
    return kernel;
}

static tally_descriptor parsed(const char *word)
{
    tally_descriptor d;
    tally_error error = TALLY_ERROR_INIT;
    cr_assert_eq(tally_descriptor_parse(word, &d, &error), TALLY_OK, "%s: %s", word, error.message);
    if (!d.axes_given) /* the only one */
        d.axes = d.axes_given = 1;
    return d;
}

static void *offsets_of(const tly_cut *c, tally_dtype dtype)
{
    void *offsets = calloc((size_t)c->count + 1, sizeof(int64_t));
    cr_assert(offsets);
    for (int64_t i = 0; i <= c->count; i++)
        tly_bits_store(dtype, offsets, i, (uint64_t)c->at[i]);
    return offsets;
}

/* A segment as a word of its own. */
static tally_descriptor part_of(const tally_descriptor *d, const tly_cut *c, int64_t s)
{
    tally_descriptor part = *d;
    const int axis = __builtin_ctz(d->axes);
    int64_t sizes[TALLY_MAX_RANK], packed[TALLY_MAX_RANK] = { 0 }, stride = 1;
    memcpy(sizes, d->sizes, sizeof sizes);
    sizes[axis] = c->count;
    part.segments = part.segment_dtype = 0;
    part.sizes[axis] = c->at[s + 1] - c->at[s];
    for (int k = d->rank - 1; k >= 0; k--) {
        packed[k] = stride;
        stride *= sizes[k];
    }
    if (!(d->flags & TALLY_IN_STRIDES)) {
        stride = 1;
        for (int k = d->rank - 1; k >= 0; k--) {
            part.in_strides[k] = stride;
            stride *= d->sizes[k];
        }
    }
    part.in_offset += c->at[s] * part.in_strides[axis];
    part.out_offset = s * packed[axis];
    for (int k = 0, to = 0; k < d->rank; k++)
        if (k != axis)
            part.out_strides[to++] = packed[k];
    part.flags |= TALLY_IN_STRIDES | TALLY_OUT_STRIDES;
    return part;
}

/* From indices that count from the axis' start to those from the segment's. */
static void move_indices(const tally_descriptor *part, int64_t by, void *out)
{
    tly_layout l;
    const tally_dtype dtype = tly_reference_output(part);
    tly_layout_of(part, &l);
    for (int64_t row = 0; row < l.rows; row++) {
        int64_t in, at;
        tly_layout_row(&l, row, &in, &at);
        const int64_t index = (int64_t)tly_bits_load(dtype, out, at);
        tly_bits_store(dtype, out, at, (uint64_t)(index - by));
    }
}

static int is_index(const tally_descriptor *d)
{
    return tly_operations[d->op].family == TLY_INDICES;
}

static void expect_no_index(const tally_descriptor *part, const void *out, const char *what)
{
    const tally_dtype dtype = tly_reference_output(part);
    const uint64_t all = tally_dtype_bytes(dtype) == 8 ? UINT64_MAX : UINT32_MAX;
    tly_layout l;
    tally_descriptor some = *part;
    some.sizes[__builtin_ctz(part->axes)] = 1;
    tly_layout_of(&some, &l);
    for (int64_t row = 0; row < l.rows; row++) {
        int64_t in, at;
        tly_layout_row(&l, row, &in, &at);
        cr_expect_eq(tly_bits_load(dtype, out, at), all, "%s", what);
    }
}

static void judge(const tally_descriptor *d, const tly_cut *c, const void *in, void *out,
                  const char *what)
{
    for (int64_t s = 0; s < c->count; s++) {
        const tally_descriptor part = part_of(d, c, s);
        tly_verdict v;
        char text[256];
        if (is_index(d) && c->at[s] == c->at[s + 1]) {
            expect_no_index(&part, out, what);
            continue;
        }
        if (is_index(d))
            move_indices(&part, c->at[s], out);
        if (tly_judge(&part, in, out, 0, &v)) {
            tly_verdict_print(&part, &v, text, sizeof text);
            cr_assert_fail("%s: segment %lld of %lld to %lld: %s", what, (long long)s,
                           (long long)c->at[s], (long long)c->at[s + 1], text);
        }
    }
}

static void check(const char *word, const char *device, size_t which, int wide, uint64_t seed)
{
    tally_descriptor d = parsed(word);
    const int axis = __builtin_ctz(d.axes);
    static tly_cut c;
    tly_layout l;
    tly_random r = tly_random_seed(seed, which);
    char what[200];
    memset(&c, 0, sizeof c);
    tly_cuts[which].make(&c, d.sizes[axis]);
    snprintf(what, sizeof what, "%s on %s, %s", word, device, tly_cuts[which].name);
    tly_layout_of(&d, &l);
    const size_t bytes = tally_dtype_bytes((tally_dtype)d.dtype);
    const size_t to = tally_dtype_bytes(tly_reference_output(&d));
    const size_t results = (size_t)(l.rows * c.count);
    char *in = calloc((size_t)(l.in_high - l.in_low + 1) + 1, bytes),
         *out = malloc(results * to + 2);
    cr_assert(in && out);
    char *const origin = in - l.in_low * (int64_t)bytes;
    tly_random_fill(&r, &d, tly_random_data(&r, &d), origin);
    memset(out, 0x5a, results * to + 2);
    d.segments = c.count;
    d.segment_dtype = wide ? TALLY_I64 : TALLY_I32;
    void *offsets = offsets_of(&c, (tally_dtype)d.segment_dtype);
    tally_kernel *kernel = kernel_of(&d, device, what);
    tally_buffers buffers = TALLY_BUFFERS_INIT;
    tally_error error = TALLY_ERROR_INIT;
    buffers.in = origin;
    buffers.out = out;
    buffers.offsets = offsets;
    const tally_status status = tally_kernel_run_buffers(kernel, &buffers, NULL, &error);
    const int runs = status != TALLY_UNSUPPORTED || strcmp(error.field, "device") != 0;
    cr_assert(status == TALLY_OK || !runs, "%s: %s: %s", what, error.field, error.message);
    cr_expect(out[results * to] == 0x5a && out[results * to + 1] == 0x5a, "%s", what);
    if (runs)
        judge(&d, &c, origin, out, what);
    tally_kernel_destroy(&kernel);
    free(offsets);
    free(in);
    free(out);
}

static const char *const levels[] = { "cpu:x86-64-v2", "cpu:x86-64-v3", "cpu:x86-64-v4" };

/* ---- results ---- */

/* Rows, columns, a middle axis, one that runs backwards, one that lies apart, and short ones. */
static const char *const shapes[] = {
    "2003:axes=0",
    "5x700:axes=1",
    "700x40:axes=0",
    "300x3:axes=0",
    "2x150x33:axes=1",
    "900:axes=0,in=-1@899",
    "3x300:axes=1,in=900x3",
    "2x3x90:axes=2,in=1x2x6",
    "7x1:axes=1",
    "3x20x1x40:axes=1",
    "4x0:axes=1",
    "60x70:axes=0,in=70x-1@69",
};

static const char *const kinds[] = {
    "sum:f32",          "sum:f32>f64",    "sum:f64",        "sum:f16",         "sum:bf16",
    "sum:i32",          "sum:i8>i64",     "sum:u16>u64",    "prod:f32",        "prod:f64",
    "prod:f16",         "prod:i32",       "mean:f32",       "mean:i32",        "mean:i64",
    "mean:u32>f64",     "mean:f16",       "l1:f32",         "l2:f32",          "l2:f64",
    "l2:f16",           "sum_square:f32", "log_sum:f32",    "log_sum_exp:f32", "log_sum_exp:f64",
    "log_sum_exp:bf16", "max:f32",        "min:f64",        "max:f16",         "min:i8",
    "max:u64",          "max:bool",       "argmax:f32>i64", "argmin:f64>i32",  "argmax:u8>i64",
    "argmax:f16>i32",   "argmin:i64>i64",
};

Test(segments, reductions_are_those_of_rows, .timeout = 300)
{
    uint64_t seed = 1;
    for (size_t level = 0; level < COUNT(levels); level++) {
        for (size_t k = 0; k < COUNT(kinds); k++)
            for (size_t s = 0; s < COUNT(shapes); s++) {
                char word[120];
                const int serial = seed % 5 == 0;
                if ((k + s + level) % 5 > 0) { /* a share is enough: kernels take time */
                    seed++;
                    continue;
                }
                snprintf(word, sizeof word, "%s:%s,segments=i32/1%s", kinds[k], shapes[s],
                         serial ? ",order=serial" : "");
                check(word, levels[level], seed % TLY_CUTS, (int)(seed / 7 % 2), seed);
                seed++;
            }
    }
}

/* ---- threads ---- */

/* Whatever lengths the segments have, and however many threads share them. */
Test(segments, threads_change_no_bit)
{
    static const struct {
        const char *word;
        /* Elements of segments but the last; 0: nearly all are in one in the middle; below 0: every
         * other segment has -each, the others have 3. */
        int64_t each;
    } cases[] = {
        { "sum:f32:1500000:axes=0,segments=i32/1", -400000 },
        { "sum:f64:1500000:axes=0,segments=i64/1,map=x*x", -150000 },
        { "argmin:f32:2x700000:axes=1,segments=i32/1,last", -200000 },
        { "sum:f32:1500000:axes=0,segments=i32/1", 3 },
        { "sum:f32:1500000:axes=0,segments=i32/1", 0 },
        { "prod:f32:1500000:axes=0,segments=i64/1", 0 },
        { "l2:f32:1500000:axes=0,segments=i32/1", 0 },
        { "argmax:f32>i64:1500000:axes=0,segments=i32/1", 0 },
        { "mean:i32:1500000:axes=0,segments=i32/1", 0 },
        { "log_sum_exp:f32:3x500000:axes=1,segments=i32/1", 0 },
        { "max:f32:100000x20:axes=0,segments=i32/1", 0 },
        { "sum:f32:100000x20:axes=0,segments=i32/1", 700 },
        { "sum:f32:150000x12:axes=0,segments=i32/1", 0 },
    };
    for (size_t k = 0; k < COUNT(cases); k++) {
        tally_descriptor d = parsed(cases[k].word);
        const int64_t length = d.sizes[__builtin_ctz(d.axes)], each = cases[k].each;
        const int64_t count = each > 0   ? length / each
                              : each < 0 ? 2 * (length / (3 - each))
                                         : 1001;
        tly_layout l;
        tly_layout_of(&d, &l);
        const size_t bytes = (size_t)(l.rows * count) * tally_dtype_bytes(tly_reference_output(&d));
        void *in = malloc((size_t)(l.rows * length) * tally_dtype_bytes((tally_dtype)d.dtype));
        char *offsets = malloc((size_t)(count + 1) * 8), *one = malloc(bytes),
             *many = malloc(bytes);
        cr_assert(in && offsets && one && many);
        tly_random r = tly_random_seed(k, 5);
        tly_random_fill(&r, &d, TLY_DATA_SIGNED, in);
        for (int64_t i = 0; i <= count; i++) {
            const int64_t at = each > 0         ? i * each
                               : each < 0       ? i / 2 * (3 - each) + i % 2 * 3
                               : i <= count / 2 ? i
                                                : length - (count - i);
            tly_bits_store((tally_dtype)d.segment_dtype, offsets, i, (uint64_t)at);
        }
        d.segments = count;
        tally_kernel *kernel = kernel_of(&d, NULL, cases[k].word);
        for (int32_t threads = 1; threads <= 5; threads++) {
            tally_buffers buffers = TALLY_BUFFERS_INIT;
            tally_run_options options = TALLY_RUN_OPTIONS_INIT;
            tally_error error = TALLY_ERROR_INIT;
            options.threads = threads;
            buffers.in = in;
            buffers.out = threads == 1 ? one : many;
            buffers.offsets = offsets;
            memset(many, 0x5a, bytes);
            cr_assert_eq(tally_kernel_run_buffers(kernel, &buffers, &options, &error), TALLY_OK,
                         "%s", error.message);
            cr_expect(threads == 1 || memcmp(one, many, bytes) == 0, "%s, %d threads",
                      cases[k].word, (int)threads);
        }
        tally_kernel_destroy(&kernel);
        free(in);
        free(offsets);
        free(one);
        free(many);
    }
}

/* ---- refusals ---- */

Test(segments, offsets_are_checked_first)
{
    static const struct {
        int64_t at[4];
        const char *said; /* NULL: they are right */
    } cases[] = {
        { { 0, 3, 7, 10 }, NULL },
        { { 0, 0, 0, 0 }, NULL },
        { { 10, 10, 10, 10 }, NULL },
        { { 0, 7, 3, 10 }, "offset 2 is 3, below the 7 before it" },
        { { -1, 3, 7, 10 }, "offset 0 is -1, and not in [0, 10]" },
        { { 0, 3, 7, 11 }, "offset 3 is 11, and not in [0, 10]" },
        { { 3, 2, 7, 10 }, "offset 1 is 2, below the 3 before it" },
        { { 0, 3, INT32_MAX, INT32_MAX }, "offset 2 is 2147483647, and not in [0, 10]" },
        { { 0, INT32_MIN, 7, 10 }, "offset 1 is -2147483648, below the 0 before it" },
    };
    static const char *const words[] = { "sum:f32:10:axes=0,segments=i32/3",
                                         "max:f32:10x1:axes=0,segments=i64/3",
                                         "argmin:f32>i32:10x1:axes=0,segments=i32/3" };
    for (size_t w = 0; w < COUNT(words); w++)
        for (size_t k = 0; k < COUNT(cases); k++) {
            const tally_descriptor d = parsed(words[w]);
            const float in[10] = { 1, 2, 3 };
            int64_t offsets[4];
            char out[12], before[12];
            for (int i = 0; i < 4; i++)
                tly_bits_store((tally_dtype)d.segment_dtype, offsets, i, (uint64_t)cases[k].at[i]);
            tally_kernel *kernel = kernel_of(&d, NULL, words[w]);
            tally_buffers buffers = TALLY_BUFFERS_INIT;
            tally_error error = TALLY_ERROR_INIT;
            memset(out, 0x5a, sizeof out);
            memcpy(before, out, sizeof out);
            buffers.in = in;
            buffers.out = out;
            buffers.offsets = offsets;
            const tally_status status = tally_kernel_run_buffers(kernel, &buffers, NULL, &error);
            const int is_right = cases[k].said == NULL;
            cr_expect_eq(status, is_right ? TALLY_OK : TALLY_INVALID, "%s, case %zu: %s", words[w],
                         k, error.message);
            cr_expect(is_right || strcmp(error.field, "offsets") == 0, "%s", error.field);
            cr_expect(is_right || strcmp(error.message, cases[k].said) == 0, "%s", error.message);
            cr_expect((memcmp(out, before, sizeof out) == 0) == !is_right);
            tally_kernel_destroy(&kernel);
        }
}

Test(segments, where_offsets_may_lie)
{
    const tally_descriptor d = parsed("sum:i32:4:axes=0,segments=i32/2");
    _Alignas(8) int32_t memory[8] = { 1, 2, 3, 4, 0, 1, 4, 9 };
    int32_t out[2];
    tally_kernel *kernel = kernel_of(&d, NULL, "sum");
    const struct {
        void *offsets, *out;
        tally_status status;
    } cases[] = {
        { memory + 4, out, TALLY_OK },
        { (char *)(memory + 4) + 1, out, TALLY_INVALID },
        { NULL, out, TALLY_INVALID },
        { memory + 4, memory + 6, TALLY_INVALID },
        { memory + 4, memory + 3, TALLY_INVALID },
        { memory + 2, out, TALLY_INVALID }, /* 3, 4, 0 */
    };
    for (size_t k = 0; k < COUNT(cases); k++) {
        tally_buffers buffers = TALLY_BUFFERS_INIT;
        tally_error error = TALLY_ERROR_INIT;
        buffers.in = memory;
        buffers.out = cases[k].out;
        buffers.offsets = cases[k].offsets;
        const tally_status status = tally_kernel_run_buffers(kernel, &buffers, NULL, &error);
        cr_expect_eq(status, cases[k].status, "case %zu: %s", k, error.message);
        cr_expect(status == TALLY_OK || k == 4 || strcmp(error.field, "offsets") == 0,
                  "case %zu: %s", k, error.field);
    }
    cr_expect(out[0] == 1 && out[1] == 9);
    tally_kernel_destroy(&kernel);
}

/* No segment has no result, and then nothing is read. */
Test(segments, there_may_be_none)
{
    static const char *const words[] = { "sum:f32:5:axes=0,segments=i32/0",
                                         "argmax:f32:3x0:axes=1,segments=i64/0",
                                         "max:f32:0:axes=0,every=3" };
    for (size_t k = 0; k < COUNT(words); k++) {
        const tally_descriptor d = parsed(words[k]);
        tally_kernel *kernel = kernel_of(&d, NULL, words[k]);
        tally_buffers buffers = TALLY_BUFFERS_INIT;
        tally_error error = TALLY_ERROR_INIT;
        cr_expect_eq(tally_kernel_run_buffers(kernel, &buffers, NULL, &error), TALLY_OK, "%s: %s",
                     words[k], error.message);
        tally_kernel_destroy(&kernel);
    }
}

/* Indices of segments of one size count from the axis' start, too. */
Test(segments, indices_count_from_the_axis)
{
    static const struct {
        const char *word;
        int64_t wanted[4];
    } cases[] = {
        { "argmax:f32:8:axes=0,every=2", { 0, 3, 4, 7 } },
        { "argmin:f32:8:axes=0,every=3", { 1, 5, 6 } },
        { "argmax:f32:8:axes=0,every=8", { 4 } },
        { "argmax:f32:8x1:axes=0,every=4,last", { 3, 4 } },
    };
    const float in[8] = { 5, 1, 4, 5, 9, 2, 3, 8 };
    for (size_t k = 0; k < COUNT(cases); k++) {
        const tally_descriptor d = parsed(cases[k].word);
        tally_kernel *kernel = kernel_of(&d, NULL, cases[k].word);
        tally_buffers buffers = TALLY_BUFFERS_INIT;
        int64_t out[4] = { 0 };
        buffers.in = in;
        buffers.out = out;
        cr_assert_eq(tally_kernel_run_buffers(kernel, &buffers, NULL, NULL), TALLY_OK);
        cr_expect(memcmp(out, cases[k].wanted, sizeof out) == 0, "%s: %lld %lld %lld %lld",
                  cases[k].word, (long long)out[0], (long long)out[1], (long long)out[2],
                  (long long)out[3]);
        tally_kernel_destroy(&kernel);
    }
}

/* ---- neighbours ---- */

static void run_cut(const tally_kernel *kernel, const void *in, const void *offsets, void *out,
                    const char *word)
{
    tally_buffers buffers = TALLY_BUFFERS_INIT;
    tally_error error = TALLY_ERROR_INIT;
    buffers.in = in;
    buffers.out = out;
    buffers.offsets = offsets;
    cr_assert_eq(tally_kernel_run_buffers(kernel, &buffers, NULL, &error), TALLY_OK, "%s: %s", word,
                 error.message);
}

/* A segment has the same bits whether short ones are done with it at once or it is the only one. */
Test(segments, neighbours_change_no_bit)
{
    enum { COUNT_OF = 200, SIZE = 40000 };
    static const char *const words[] = {
        "sum:f32:40000:axes=0,segments=i32/1",     "sum:f16:40000:axes=0,segments=i32/1",
        "sum:bf16:40000:axes=0,segments=i32/1",    "mean:f32:40000:axes=0,segments=i32/1",
        "mean:f64:40000:axes=0,segments=i32/1",    "l1:f32:40000:axes=0,segments=i32/1",
        "l2:f32:40000:axes=0,segments=i32/1",      "sum_square:f64:40000:axes=0,segments=i32/1",
        "max:f32:40000:axes=0,segments=i32/1",     "sum:f32:40000:axes=0,segments=i32/1,map=x*x-1",
        "log_sum:f32:40000:axes=0,segments=i32/1",
    };
    for (size_t k = 0; k < COUNT(words); k++) {
        tally_descriptor d = parsed(words[k]), single = d;
        const size_t bytes = tally_dtype_bytes(tly_reference_output(&d));
        char *in = malloc(SIZE * tally_dtype_bytes((tally_dtype)d.dtype)), all[COUNT_OF * 8],
             one[8];
        int32_t offsets[COUNT_OF + 1] = { 0 };
        tly_random r = tly_random_seed(k, 9);
        cr_assert(in);
        tly_random_fill(&r, &d, k % 2 ? TLY_DATA_SIGNED : TLY_DATA_SPECIAL, in);
        for (int s = 0; s < COUNT_OF; s++) {
            /* By turns those of which several have few elements, and longer ones. */
            const int64_t some = s / 40 % 2 ? 90 : s / 20 % 2 ? 3 : 12;
            const int64_t most = tly_random_one_in(&r, some < 90 ? 60 : 8) ? 900 : some;
            offsets[s + 1] = offsets[s] + (int32_t)tly_random_between(&r, 0, most);
        }
        d.segments = COUNT_OF;
        tally_kernel *kernel = kernel_of(&d, NULL, words[k]);
        tally_kernel *alone = kernel_of(&single, NULL, words[k]);
        run_cut(kernel, in, offsets, all, words[k]);
        for (int s = 0; s < COUNT_OF; s++) {
            run_cut(alone, in, offsets + s, one, words[k]);
            cr_expect(memcmp(one, all + (size_t)s * bytes, bytes) == 0, "%s, %d elements", words[k],
                      (int)(offsets[s + 1] - offsets[s]));
        }
        tally_kernel_destroy(&kernel);
        tally_kernel_destroy(&alone);
        free(in);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Running kernels through the public API, with a generator that needs no LLVM. */
#include "fake.h"

#include "../runtime/descriptor/descriptor.h"
#include "../runtime/problem/canonicalise.h"

#include <criterion/criterion.h>
#include <stdio.h>

Test(kernel_run, runs_and_checks_regions)
{
    enum { ROWS = 3, N = 5, ALL = ROWS * N };
    static const struct {
        const char *word;
        int in, out; /* elements from the buffer's start */
        tally_status status;
        const char *field;
    } cases[] = {
        { "cumsum:i64:3x5:axis=1", 0, 15, TALLY_OK, "" },
        { "cumsum:i64:3x5:axis=1", 15, 0, TALLY_OK, "" },
        { "cumsum:i64:3x5:axis=1", 0, 14, TALLY_INVALID, "out" },
        { "cumsum:i64:3x5:axis=1", 14, 0, TALLY_INVALID, "out" },
        { "cumsum:i64:3x5:axis=1", 1, 0, TALLY_INVALID, "out" },
        { "cumsum:i64:3x5:axis=1", 4, 4, TALLY_OK, "" },
        { "cumsum:i64:3x5:axis=0,order=serial", 4, 4, TALLY_OK, "" },
        { "cumsum:i64:3x5:axis=1,in=5x1@2,out=5x1@2", 4, 4, TALLY_OK, "" },
        { "cumsum:i64:3x5:axis=1,in=-5x1@10,out=-5x1@10", 4, 4, TALLY_OK, "" },
        { "cumsum:i64:3x5:axis=1,in=5x1@1", 4, 4, TALLY_INVALID, "out" },
        { "cumsum:i64:3x5:axis=1,in=5x1@1", 4, 5, TALLY_INVALID, "out" },
        { "cumsum:i64:3x5:axis=1,in=5x-1@4", 4, 4, TALLY_INVALID, "out" },
        { "cumsum:i64:3x5:axis=1,in=0x1", 4, 4, TALLY_INVALID, "out" },
        { "cumsum:i64:3x5:axis=1,in=0x1", 0, 5, TALLY_OK, "" },
        { "cumsum:i64:3x5:axis=1,in=0x1", 0, 4, TALLY_INVALID, "out" },
        { "cumsum:i64:3x5:axis=1,in=0x0@30", 0, 0, TALLY_OK, "" },
        { "cumsum:i64:3x5:axis=1,in=0x0@14", 0, 0, TALLY_INVALID, "out" },
        { "cumsum:i64:3x5:axis=1,out=10x2", 15, 16, TALLY_INVALID, "out" }, /* interleaved */
        { "cumsum:i64:3x5:axis=1,out=5x1@-15", 0, 30, TALLY_OK, "" },
        { "cumsum:i64:3x5:axis=1,out=5x1@-15", 0, 29, TALLY_INVALID, "out" },
        { "cumsum:i64:0x5:axis=1", 0, 3, TALLY_OK, "" },
        { "cumsum:i64:3x0:axis=1", 0, 0, TALLY_OK, "" },
    };
    tally_context *context = fake_context(NULL);
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        int64_t buffer[64], before[64];
        for (int i = 0; i < 64; i++) {
            buffer[i] = before[i] = 1000 + i * i;
        }
        tally_error error = TALLY_ERROR_INIT;
        tally_kernel *kernel = fake_kernel(context, cases[c].word, &error);
        cr_assert_not_null(kernel, "%s: %s", cases[c].word, error.message);
        tally_status status = tally_kernel_run(kernel, buffer + cases[c].in, buffer + cases[c].out,
                                               &error);
        cr_assert_eq(status, cases[c].status, "case %zu, %s", c, cases[c].word);
        cr_assert_str_eq(error.field, cases[c].field, "case %zu", c);
        tally_descriptor d;
        cr_assert_eq(tally_descriptor_parse(cases[c].word, &d, NULL), TALLY_OK);
        tally_descriptor full;
        cr_assert_eq(tly_descriptor_resolve(&d, &full, NULL), TALLY_OK);
        if (status == TALLY_OK && !kernel->empty) {
            for (int r = 0; r < ROWS; r++) {
                for (int i = 0; i < N; i++) {
                    int64_t sum = 0;
                    for (int j = 0; j <= (full.axis == 1 ? i : r); j++) {
                        int row = full.axis == 1 ? r : j, column = full.axis == 1 ? j : i;
                        sum += before[cases[c].in + full.in_offset + row * full.in_strides[0] +
                                      column * full.in_strides[1]];
                    }
                    cr_assert_eq(buffer[cases[c].out + full.out_offset + r * full.out_strides[0] +
                                        i * full.out_strides[1]],
                                 sum, "case %zu at %d, %d", c, r, i);
                }
            }
        } else {
            cr_assert_arr_eq(buffer, before, sizeof buffer);
        }
        tally_kernel_destroy(&kernel);
    }
    cr_assert_eq(fake_faults, 0);
    tally_context_destroy(&context);
}

/* Steps that no element takes may exceed 64 bits: the sanitizer of undefined behaviour judges. */
Test(kernel_run, strides_at_the_end_of_64_bits)
{
    static const char *const far[] = {
        "cumsum:f32:2:axis=0,in=1152921504606846976",
        "cumsum:f32:2:axis=0,in=-1152921504606846976@1152921504606846976",
        "cumsum:f64:2x3:axis=0,in=500000000000000000x1",
        "cumsum:f32:4:axis=0,in=1@2305843009213693947",
        "cumsum:f32:4:axis=0,out=1@-2305843009213693952",
    };
    tally_context *context = fake_context(NULL);
    for (size_t i = 0; i < sizeof far / sizeof far[0]; i++) {
        tally_descriptor d;
        tally_kernel *kernel = NULL;
        tally_error error = TALLY_ERROR_INIT;
        cr_assert_eq(tally_descriptor_parse(far[i], &d, &error), TALLY_OK, "%s", error.message);
        cr_assert_eq(tally_kernel_create(context, &d, NULL, &kernel, &error), TALLY_OK, "%s: %s",
                     far[i], error.message);
        tally_kernel_destroy(&kernel);
    }
    tally_context_destroy(&context);
}

Test(kernel_run, bad_arguments_of_run)
{
    tally_context *context = fake_context(NULL);
    tally_kernel *kernel = fake_kernel(context, "cumsum:i64:5:axis=0", NULL);
    int64_t in[6] = { 1 }, out[6] = { 0 };
    const struct {
        const tally_kernel *kernel;
        const void *in;
        void *out;
        int threads;
        const char *field;
    } cases[] = {
        { kernel, NULL, out, 0, "in" },
        { kernel, in, NULL, 0, "out" },
        { kernel, (char *)in + 4, out, 0, "in" },
        { kernel, in, (char *)out + 1, 0, "out" },
        { kernel, (char *)in + 4, NULL, 0, "out" },
        { kernel, in, out, -1, "usage" },
        { NULL, in, out, 0, "usage" },
        { NULL, in, out, 1, "usage" },
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        tally_error error = TALLY_ERROR_INIT;
        cr_assert_eq(tally_kernel_run_threads(cases[c].kernel, cases[c].in, cases[c].out,
                                              cases[c].threads, &error),
                     TALLY_INVALID, "case %zu", c);
        cr_assert_str_eq(error.field, cases[c].field, "case %zu: %s", c, error.message);
        cr_assert_eq(out[0], 0);
    }
    tally_kernel_destroy(&kernel);
    kernel = fake_kernel(context, "cumsum:i64:5x0:axis=0", NULL);
    cr_assert_eq(tally_kernel_run(kernel, NULL, NULL, NULL), TALLY_OK);
    tally_kernel_destroy(&kernel);
    tally_context_destroy(&context);
}

/* What tally_kernel_run_buffers takes beside what the other ways to run take. */
Test(kernel_run, buffers)
{
    tally_context *context = fake_context(NULL);
    tally_kernel *kernel = fake_kernel(context, "cumsum:i64:5:axis=0", NULL);
    int64_t in[5] = { 1, 1, 1, 1, 1 }, out[5] = { 0 }, expected[5];
    int32_t used = -1;
    tally_buffers buffers = { .size = sizeof buffers, .in = in, .out = out };
    tally_run_options options = { .size = sizeof options, .threads_used = &used };
    tally_error error = TALLY_ERROR_INIT;
    cr_assert_eq(tally_kernel_run(kernel, in, expected, &error), TALLY_OK, "%s", error.message);
    cr_assert_eq(tally_kernel_run_buffers(kernel, &buffers, NULL, &error), TALLY_OK, "%s",
                 error.message);
    cr_expect(memcmp(out, expected, sizeof out) == 0);
    memset(out, 0, sizeof out);
    cr_assert_eq(tally_kernel_run_buffers(kernel, &buffers, &options, &error), TALLY_OK);
    cr_expect(memcmp(out, expected, sizeof out) == 0);
    cr_expect_eq(used, 1);
    memset(out, 0, sizeof out);
    cr_expect_eq(tally_kernel_check_buffers(kernel, &buffers, &error), TALLY_OK);
    cr_expect_eq(out[0], 0);
    const tally_buffers none = TALLY_BUFFERS_INIT, short_one = { .size = sizeof(size_t) },
                        unaligned = { .size = sizeof none, .in = (char *)in + 4, .out = out };
    const struct {
        const tally_kernel *kernel;
        const tally_buffers *buffers;
        int32_t threads;
        const char *field;
    } bad[] = {
        { kernel, NULL, 0, "usage" },
        { NULL, &buffers, 0, "usage" },
        { kernel, &none, 0, "in" },
        { kernel, &short_one, 0, "in" },
        { kernel, &unaligned, 0, "in" },
        { kernel, &buffers, -1, "usage" },
        { kernel, &(tally_buffers){ .size = 0 }, 0, "usage" },
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        options.threads = bad[k].threads;
        cr_expect_eq(tally_kernel_run_buffers(bad[k].kernel, bad[k].buffers, &options, &error),
                     TALLY_INVALID, "case %zu", k);
        cr_expect_str_eq(error.field, bad[k].field, "case %zu: %s", k, error.message);
        cr_expect_eq(out[0], 0);
        tally_error checked = TALLY_ERROR_INIT;
        if (bad[k].threads == 0) {
            cr_expect_eq(tally_kernel_check_buffers(bad[k].kernel, bad[k].buffers, &checked),
                         TALLY_INVALID, "case %zu", k);
            cr_expect_eq(memcmp(&checked, &error, sizeof error), 0, "case %zu: %s", k,
                         checked.message);
        }
    }
    tally_kernel_destroy(&kernel);
    tally_context_destroy(&context);
}

/* Threads and stores past the cache are decided by what a run touches of all tensors. */
Test(kernel_run, counts_the_bytes_of_operands)
{
    static const struct {
        const char *word;
        int64_t bytes;
    } cases[] = {
        { "cumsum:f32:20x30:axis=1", 4800 },
        { "cumsum:f32:20x30:axis=1,a=f32,map=x*a", 4800 + 2400 },
        { "cumsum:f32:20x30:axis=1,a=bool,map=where(a,x,0)", 4800 + 600 },
        { "cumsum:f32:20x30:axis=1,a=f32/none,map=x*a", 4800 },
        { "cumsum:f32:20x30:axis=1,a=f32/0,map=x*a", 4800 + 80 },
        { "cumsum:f32:20x30:axis=1,a=f32/1,b=f16/0,map=x*a+b", 4800 + 120 + 40 },
        { "cumsum:f32:20x30:axis=0,a=f32/1,b=f16/0,map=x*a+b", 4800 + 120 + 40 },
        { "cumsum:f32:20x30:axis=0,a=f32/1000x-2@100,map=x*a", 4800 + 2400 },
        { "cumsum:f32:20x30:axis=0,a=f32/1x1@0,map=x*a", 4800 + 4 * 49 }, /* one over the other */
        { "cumsum:f32:4x20x3:axis=1,a=f32,b=f32/0+2,post=y*a-b", 1920 + 960 + 48 },
        { "sum:f32:20x30:axes=1,a=f32,b=f32/0,map=x*a,post=y*b", 2400 + 2400 + 80 },
        { "sum:f32:20x30:axes=0+1,a=f32/1,b=f32/none,map=x*a,post=y*b", 2400 + 120 },
        { "sum:f32:4x20x30:axes=0+2,a=f32/0,map=x*a", 9600 + 16 },
        { "sum:f32:20x0:axes=1,a=f32,b=f32/0,map=x*a,post=y*b", 80 },
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        tally_descriptor d, full;
        tally_error error = TALLY_ERROR_INIT;
        tly_problem problem;
        tly_geometry geometry;
        tly_prepared prepared;
        memset(&problem, 0, sizeof problem);
        memset(&geometry, 0, sizeof geometry);
        memset(&prepared, 0, sizeof prepared);
        cr_assert(!tally_descriptor_parse(cases[c].word, &d, &error) &&
                      !tly_descriptor_resolve(&d, &full, &error),
                  "%s: %s", cases[c].word, error.message);
        tly_canonicalise_resolved(&full, 0, &problem, &geometry);
        const tly_launch launch = { .form = problem.form, .tile_lanes = 16, .record_bytes = 4 };
        tly_prepared_make(&prepared, &problem, &geometry, &launch, TLY_MOST_SCRATCH,
                          TLY_AHEAD_STREAM_BYTES);
        cr_expect_eq(prepared.bytes, cases[c].bytes, "%s: %lld", cases[c].word,
                     (long long)prepared.bytes);
    }
}

/* Operands that may not be read where they lie: nothing is written, not even in part. */
Test(kernel_run, operands_that_are_refused)
{
    enum { OUT = 64, END = OUT + 15 * 8, BYTES = 512, NONE = -1 };
    static const struct {
        const char *word;
        int a, b; /* bytes from the buffer's start */
        tally_status status;
        const char *field, *message;
    } cases[] = {
        { "a=i64,b=i32/1,map=x+a*b", 200, 40, TALLY_OK, "", "" },
        { "a=i64,b=i32/1,map=x+a*b", 200, 200, TALLY_OK, "", "" }, /* they may overlap, */
        { "a=i64,b=i32/1,map=x+a*b", 320, 320, TALLY_OK, "", "" }, /* the input, too */
        { "a=i64,b=i32/1,map=x+a*b", NONE, 40, TALLY_INVALID, "a", "a is NULL" },
        { "a=i64,b=i32/1,map=x+a*b", 200, NONE, TALLY_INVALID, "b", "b is NULL" },
        { "a=i64,b=i32/1,map=x+a*b", 204, 40, TALLY_INVALID, "a",
          "not aligned to its elements of 8" },
        { "a=i64,b=i32/1,map=x+a*b", 200, 42, TALLY_INVALID, "b",
          "not aligned to its elements of 4" },
        { "a=i64,b=i32/1,map=x+a*b", OUT, 40, TALLY_INVALID, "a", "a and the output overlap" },
        { "a=i64,b=i32/1,map=x+a*b", END - 8, 40, TALLY_INVALID, "a", "a and the output overlap" },
        { "a=i64,b=i32/1,map=x+a*b", END, OUT - 20, TALLY_OK, "", "" },
        { "a=i64,b=i32/1,map=x+a*b", END, OUT - 16, TALLY_INVALID, "b",
          "b and the output overlap" },
        { "a=i64,b=i32/1,map=x+a*b", END, END - 4, TALLY_INVALID, "b", "b and the output overlap" },
        { "a=i64,b=i32/1,post=y+a*b", END, END - 4, TALLY_INVALID, "b",
          "b and the output overlap" },
        { "a=i8/none,map=x+a", OUT - 1, 0, TALLY_OK, "", "" },
        { "a=i8/none,map=x+a", OUT, 0, TALLY_INVALID, "a", "a and the output overlap" },
        { "a=i8/none,map=x+a", END - 1, 0, TALLY_INVALID, "a", "a and the output overlap" },
        { "a=i8/none,map=x+a", END, 0, TALLY_OK, "", "" },
        { "a=i16/0x-1@4,map=x+a", END, 0, TALLY_OK, "", "" },
        { "a=i16/0x-1@3,map=x+a", END, 0, TALLY_INVALID, "a", "a and the output overlap" },
        { "a=i16/0x0@8,map=x+a", OUT - 16, 0, TALLY_INVALID, "a", "a and the output overlap" },
        { "out=10x2,a=i8/none,map=x+a", OUT + 8, 0, TALLY_INVALID, "a",
          "a and the output overlap" },
    };
    _Alignas(8) static char buffer[BYTES], before[BYTES];
    tally_context *context = fake_context(NULL);
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        for (int way = 0; way < 3; way++) { /* in place, out of place, on two threads */
            char word[120];
            tally_error error = TALLY_ERROR_INIT;
            const tally_run_options options = { .size = sizeof options, .threads = way };
            snprintf(word, sizeof word, "cumsum:i64:3x5:axis=1,%s", cases[c].word);
            const int is_in_place = way == 0 && strncmp(cases[c].word, "out=", 4) != 0;
            tally_kernel *kernel = fake_kernel(context, word, &error);
            cr_assert_not_null(kernel, "%s: %s", word, error.message);
            const tally_buffers buffers = {
                .size = sizeof buffers,
                .in = buffer + (is_in_place ? OUT : 320),
                .out = buffer + OUT,
                .operand = { cases[c].a == NONE ? NULL : buffer + cases[c].a,
                             cases[c].b == NONE ? NULL : buffer + cases[c].b },
            };
            memset(buffer, 1, BYTES);
            memset(before, 1, BYTES);
            cr_expect_eq(tally_kernel_run_buffers(kernel, &buffers, &options, &error),
                         cases[c].status, "case %zu, %s: %s", c, word, error.message);
            cr_expect_eq(tally_kernel_check_buffers(kernel, &buffers, NULL), cases[c].status,
                         "case %zu, %s", c, word);
            cr_expect_str_eq(error.field, cases[c].field, "case %zu, %s: %s", c, word, error.field);
            cr_expect_not_null(strstr(error.message, cases[c].message), "case %zu, %s: %s", c, word,
                               error.message);
            cr_expect_eq(memcmp(buffer, before, BYTES) == 0, cases[c].status != TALLY_OK,
                         "case %zu, %s", c, word);
            /* Functions without operands, and a struct that ends before them. */
            memset(buffer, 1, BYTES);
            tally_buffers old = buffers;
            old.size = offsetof(tally_buffers, operand);
            cr_expect_eq(tally_kernel_run(kernel, buffers.in, buffers.out, &error), TALLY_INVALID);
            cr_expect_str_eq(error.field, "a");
            cr_expect_eq(tally_kernel_run_buffers(kernel, &old, &options, &error), TALLY_INVALID);
            cr_expect_str_eq(error.field, "a");
            cr_expect_eq(memcmp(buffer, before, BYTES), 0, "case %zu, %s", c, word);
            tally_kernel_destroy(&kernel);
        }
    }
    tally_context_destroy(&context);
}

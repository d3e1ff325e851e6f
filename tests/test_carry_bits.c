/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a carry promises to the bit: scans in pieces are one scan where the order is the plain
 * loop's, of integers and of what compares, and where pieces end with chunks; and states that are
 * no ordinary numbers go on as the loop's would.
 */
#include "random.h"

#include <tally.h>

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static tally_context *context;

static void begin(void)
{
    tally_context_options options = TALLY_CONTEXT_OPTIONS_INIT;
    options.threads = 2;
    cr_assert_eq(tally_context_create(&options, &context, NULL), TALLY_OK);
}

static void end(void)
{
    tally_context_destroy(&context);
}

TestSuite(carry_bits, .init = begin, .fini = end);

static tally_kernel *kernel_of(const tally_descriptor *d)
{
    tally_error error = TALLY_ERROR_INIT;
    tally_kernel *kernel = NULL;
    cr_assert_eq(tally_kernel_create(context, d, NULL, &kernel, &error), TALLY_OK, "%s: %s",
                 error.field, error.message);
    return kernel;
}

static void run(const tally_descriptor *d, const void *in, void *out, const void *carry_in,
                void *carry_out)
{
    tally_error error = TALLY_ERROR_INIT;
    tally_kernel *kernel = kernel_of(d);
    tally_buffers buffers = TALLY_BUFFERS_INIT;
    buffers.in = in;
    buffers.out = out;
    buffers.carry_in = carry_in;
    buffers.carry_out = carry_out;
    cr_assert_eq(tally_kernel_run_buffers(kernel, &buffers, NULL, &error), TALLY_OK, "%s: %s",
                 error.field, error.message);
    tally_kernel_destroy(&kernel);
}

static tally_descriptor parsed(const char *word)
{
    tally_descriptor d;
    tally_error error = TALLY_ERROR_INIT;
    cr_assert_eq(tally_descriptor_parse(word, &d, &error), TALLY_OK, "%s: %s", word, error.message);
    return d;
}

/* Numbers whose products stay in range, of any dtype. */
static void fill(tly_random *r, tally_dtype dtype, void *to, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        const uint64_t bits = tly_random_next(r);
        const double near = 1 + (double)(int64_t)(bits >> 40) * 0x1p-30 - 0x1p-7;
        if (dtype == TALLY_F32)
            ((float *)to)[i] = (float)near;
        else if (dtype == TALLY_F64)
            ((double *)to)[i] = near;
        else if (dtype == TALLY_F16)
            ((uint16_t *)to)[i] = (uint16_t)(0x3bf0 + bits % 32); /* around 1 */
        else
            memcpy((char *)to + i * (int64_t)tally_dtype_bytes(dtype), &bits,
                   tally_dtype_bytes(dtype));
    }
}

/* Runs a packed word of sizes outer x axis x inner in pieces of `unit` positions or multiples, in
 * scan direction, and compares all bits with those of one run of a word with a carry. */
static void in_pieces(const char *word, int64_t unit, uint64_t seed)
{
    const tally_descriptor whole = parsed(word);
    const size_t each = tally_dtype_bytes((tally_dtype)whole.dtype);
    const size_t shown = whole.out_dtype ? tally_dtype_bytes((tally_dtype)whole.out_dtype) : each;
    const int64_t length = whole.sizes[whole.axis];
    int64_t inner = 1, count = 1;
    for (int32_t k = 0; k < whole.rank; k++) {
        inner *= k > whole.axis ? whole.sizes[k] : 1;
        count *= whole.sizes[k];
    }
    char *in = malloc((size_t)count * each), *one = malloc((size_t)count * shown);
    char *many = malloc((size_t)count * shown), *states = malloc((size_t)(count / length) * 16);
    tly_random r = tly_random_seed(seed, 1);
    cr_assert(in && one && many && states);
    fill(&r, (tally_dtype)whole.dtype, in, count);
    tally_descriptor at_once = whole;
    at_once.carry = TALLY_CARRY_IN;
    run(&at_once, in, one, NULL, NULL);
    int begun = 0;
    for (int64_t from = 0; from < length;) {
        tally_descriptor piece = whole;
        const int64_t left = length - from, most = (left + unit - 1) / unit;
        int64_t size = unit * tly_random_between(&r, 0, most < 9 ? most : 9);
        size = size < left ? size : left;
        const int64_t skipped = whole.flags & TALLY_REVERSE ? left - size : from;
        piece.carry = TALLY_CARRY_IN | TALLY_CARRY_OUT;
        piece.flags |= TALLY_IN_STRIDES | TALLY_OUT_STRIDES;
        piece.sizes[piece.axis] = size;
        for (int64_t k = whole.rank - 1, stride = 1; k >= 0; k--) {
            piece.in_strides[k] = piece.out_strides[k] = stride;
            stride *= whole.sizes[k];
        }
        piece.in_offset = piece.out_offset = skipped * inner;
        run(&piece, in, many, begun ? states : NULL, states);
        begun = 1;
        from += size;
    }
    cr_expect_eq(memcmp(one, many, (size_t)count * shown), 0, "%s in pieces of %lld", word,
                 (long long)unit);
    free(in);
    free(one);
    free(many);
    free(states);
}

Test(carry_bits, pieces_are_one_scan)
{
    static const char *const words[] = {
        "cumsum:f32:300x70:axis=0",
        "cumprod:f32:300x17:axis=0,exclusive",
        "cumsum:f64:40x9x33:axis=1,reverse",
        "cumsum:f16:500x17:axis=0",
        "cumprod:f32:37x23:axis=0,map=1-x*x",
        "cumlogsumexp:f32:100x40:axis=0",
        "cumsum:f32:7x4001:axis=1,order=serial",
        "cumprod:f64:5x333:axis=1,order=serial,reverse,exclusive",
        "cumlogsumexp:f32:3x500:axis=1,order=serial",
        "cumsum:i32:9x2047:axis=1",
        "cumprod:u32:64x33:axis=1,exclusive",
        "cumsum:i8>i64:3x70000:axis=1",
        "cummax:f32:5x1025:axis=1",
        "cummin:bf16:100x12:axis=1,reverse",
        "cummax:f32:4x300:axis=1,exclusive,nan=ignore",
        "cummin:i64:900:axis=0",
        "cumprod:bool>i32:4x100:axis=1",
        "linrec:f32:300x70:axis=0,coef=x",
        "linrec:f64:40x19:axis=0,coef=1-x,exclusive",
        "linrec:f32:5x333:axis=1,coef=x,order=serial,reverse",
        "linrec:u32:9x2047:axis=1,coef=x+1",
    };
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        for (uint64_t seed = 0; seed < 3; seed++)
            in_pieces(words[k], 1, 3 * k + seed);
}

/* Along rows of floats, where pieces end with chunks. */
Test(carry_bits, chunks_are_one_scan)
{
    static const char *const words[] = {
        "cumsum:f32:2x200000:axis=1",
        "cumprod:f32:200000:axis=0,exclusive",
        "cumsum:f64:100001:axis=0,reverse",
        "cumsum:f16:3x150000:axis=1",
        "cumsum:f32:150000:axis=0,post=y*2",
        "cumlogsumexp:f32:100000:axis=0",
        "linrec:f32:20x1000:axis=1,coef=x",
        "linrec:f16:777:axis=0,coef=1-x,exclusive",
        "linrec:f64:9x901:axis=1,reverse,coef=-x",
        "cumlogsumexp:f32:2307:axis=0,reset=x<0.994",
        "cumsum:f32:3x4000:axis=1,reset=x<0.994,reverse",
        "cumprod:f64:5000:axis=0,exclusive,reset=x<0.994",
        "cumsum:f32:3000x3:axis=0",
        "cumprod:f32:2x1000x5:axis=1,exclusive",
        "linrec:f64:901x11:axis=0,coef=-x",
        "linrec:f16:777x15:axis=0,coef=1-x,exclusive,reverse",
        "cumsum:f32:1000x7:axis=0,reset=x<0.994,reverse",
        "cumlogsumexp:f32:700x2:axis=0",
    };
    for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
        tally_descriptor d = parsed(words[k]);
        d.carry = TALLY_CARRY_OUT;
        tally_kernel *kernel = kernel_of(&d);
        const int64_t chunk = tally_kernel_chunk(kernel);
        tally_kernel_destroy(&kernel);
        cr_assert(chunk > 1 && chunk <= 65536, "%s: %lld", words[k], (long long)chunk);
        in_pieces(words[k], chunk, k);
    }
}

Test(carry_bits, tells_its_chunk)
{
    static const struct {
        const char *word;
        int64_t chunk;
    } cases[] = {
        { "cumsum:f32:30x40:axis=0,carry=out", 1 },
        { "cumsum:f32:300x3:axis=0,carry=out", 128 },
        { "cumsum:f32:300x3:axis=0,carry=out,order=serial", 1 },
        { "cumsum:i32:300x3:axis=0,carry=out", 1 },
        { "cumsum:f32:30x40:axis=1,carry=out,order=serial", 1 },
        { "cumsum:f32:30x40:axis=1,carry=out", 256 },
        { "cumsum:f32:3000:axis=0,reset=x,carry=in", 128 },
        { "cumsum:f32:3000:axis=0,reset=x,carry=in,order=serial", 1 },
        { "cumsum:i32:3000:axis=0,reset=x,carry=in", 1 },
        { "cumsum:i32:3000:axis=0,carry=in", 1 },
        { "cummax:f32:3000:axis=0,carry=in", 1 },
        { "cumsum:f32:0x5:axis=1,carry=in", 1 },
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const tally_descriptor d = parsed(cases[k].word);
        tally_kernel *kernel = kernel_of(&d);
        cr_expect_eq(tally_kernel_chunk(kernel), cases[k].chunk, "%s", cases[k].word);
        tally_kernel_destroy(&kernel);
    }
    cr_expect_eq(tally_kernel_chunk(NULL), 0);
}

/* By rows and by columns: the loop's results, from states of all kinds. */
Test(carry_bits, goes_on_from_any_state)
{
    static const char *const words[] = { "cumsum:f32:4:axis=0,carry=in+out",
                                         "cumsum:f32:4x1x1:axis=0,carry=in+out,order=serial" };
    static const float states[] = { NAN, INFINITY, -INFINITY, -0.0f, 0x1p-140f, 3e38f };
    for (size_t w = 0; w < 2; w++)
        for (size_t k = 0; k < sizeof states / sizeof *states; k++) {
            const tally_descriptor d = parsed(words[w]);
            const float in[4] = { -0.0f, 0x1p-149f, 1, -3e38f };
            float out[4], wanted = states[k], after;
            run(&d, in, out, &states[k], &after);
            for (int i = 0; i < 4; i++) {
                wanted += in[i];
                cr_expect(memcmp(&out[i], &wanted, sizeof wanted) == 0 ||
                              (isnan(out[i]) && isnan(wanted)),
                          "%s from %g, result %d: %g, not %g", words[w], states[k], i, out[i],
                          wanted);
            }
            cr_expect(memcmp(&after, &wanted, sizeof wanted) == 0 ||
                      (isnan(after) && isnan(wanted)));
        }
}

/* An f16 shows infinity where the state, an f32, is beyond f16's range; and comes back. */
Test(carry_bits, states_of_halves_are_single)
{
    const tally_descriptor d = parsed("cumsum:f16:2x3:axis=0,carry=in+out");
    const uint16_t in[6] = { 0x7bff, 0x3c00, 0x3c00, 0xfbff, 0x3c00, 0x3c00 }; /* 65504, 1, 1 */
    const float from[3] = { 65504, 0, 1e6f };
    uint16_t out[6];
    float after[3];
    run(&d, in, out, from, after);
    cr_expect_eq(out[0], 0x7c00);
    cr_expect_eq(out[3], 0x7bff);
    cr_expect_eq(out[2], 0x7c00);
    cr_expect(after[0] == 65504 && after[1] == 2 && after[2] == 1000002);
}

/* What no elements hand on: the state, or without one what the scan starts from. */
Test(carry_bits, nothing_hands_on_its_state)
{
    const float from[3] = { 5, NAN, -0.0f };
    float after[3] = { 9, 9, 9 };
    tally_descriptor d = parsed("cumsum:f32:3x0:axis=1,carry=in+out");
    run(&d, NULL, NULL, from, after);
    cr_expect(after[0] == 5 && isnan(after[1]) && after[2] == 0 && signbit(after[2]));
    run(&d, NULL, NULL, NULL, after);
    cr_expect(after[0] == 0 && signbit(after[0]));
    d = parsed("cumsum:f32:0x3:axis=0,exclusive,carry=out");
    run(&d, NULL, NULL, NULL, after);
    cr_expect(after[2] == 0 && !signbit(after[2]));
    d = parsed("cummax:f32:0x3:axis=0,carry=out");
    run(&d, NULL, NULL, NULL, after);
    cr_expect(isinf(after[1]) && after[1] < 0);
    d = parsed("cumprod:f32:0x3:axis=0,carry=out");
    run(&d, NULL, NULL, NULL, after);
    cr_expect_eq(after[1], 1);
}

/* The total of a piece falls below the range of what it is kept as, beside results that `post`
 * takes. */
Test(carry_bits, totals_stay_valid_beside_post)
{
    static const char *const words[] = { "cumprod:f32:100:axis=0,post=y*1,carry=in+out",
                                         "cumprod:f32:100:axis=0,carry=in+out" };
    for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
        const tally_descriptor d = parsed(words[k]);
        float in[100], out[100], after;
        for (int i = 0; i < 100; i++)
            in[i] = 0.5f;
        run(&d, in, out, NULL, &after);
        cr_expect_eq(after, 0x1p-100f, "%s: %g", words[k], after);
        cr_expect_eq(out[99], 0x1p-100f);
    }
}

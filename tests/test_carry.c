/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docs/semantics.md, section 6: scans that begin with states of a tensor and hand them on. Each
 * test is named after its line, and runs on every CPU level of this machine.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <tally.h>

enum { MOST_DEVICES = 8, MOST = 4096 };

/* ---- levels ---- */

static int find_levels(tally_device devices[MOST_DEVICES])
{
    size_t count = 0;
    tally_error error = TALLY_ERROR_INIT;
    int kept = 0;
    devices[0].size = sizeof devices[0];
    cr_assert_eq(tally_devices(devices, MOST_DEVICES, &count, &error), TALLY_OK);
    for (size_t i = 0; i < count && i < MOST_DEVICES; i++) {
        if (devices[i].runs_here && strncmp(devices[i].selector, "cpu:", 4) == 0) {
            devices[kept++] = devices[i];
        }
    }
    return kept;
}

/* Calls `test` with a context and each level. */
static void on_each(void (*test)(tally_context *context, const char *device))
{
    tally_device devices[MOST_DEVICES];
    tally_context *context = NULL;
    const int count = find_levels(devices);
    cr_assert_eq(tally_context_create(NULL, &context, NULL), TALLY_OK);
    cr_assert_gt(count, 0);
    for (int i = 0; i < count; i++) {
        test(context, devices[i].selector);
    }
    tally_context_destroy(&context);
}

static tally_kernel *make(tally_context *context, const char *device, const char *word)
{
    const tally_kernel_options options = { .size = sizeof options, .device = device };
    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    tally_error error = TALLY_ERROR_INIT;
    tally_kernel *kernel = NULL;
    cr_assert_eq(tally_descriptor_parse(word, &d, &error), TALLY_OK, "%s: %s", word, error.message);
    cr_assert_eq(tally_kernel_create(context, &d, &options, &kernel, &error), TALLY_OK, "%s: %s",
                 word, error.message);
    return kernel;
}

static void run_word(tally_context *context, const char *device, const char *word,
                     const tally_buffers *buffers)
{
    tally_error error = TALLY_ERROR_INIT;
    tally_kernel *kernel = make(context, device, word);
    cr_expect_eq(tally_kernel_run_buffers(kernel, buffers, NULL, &error), TALLY_OK, "%s: %s", word,
                 error.message);
    tally_kernel_destroy(&kernel);
}

/* ---- cases of f32 ---- */

typedef struct state_case {
    const char *word;
    float in[6];
    float before[2];
    int has_before;
    float out[6], after[2];
    int count, states; /* of elements, and numbers of states */
} state_case;

static const state_case *cases_now;
static size_t case_count;

static void check_cases(tally_context *context, const char *device)
{
    for (size_t i = 0; i < case_count; i++) {
        const state_case *c = &cases_now[i];
        float out[6] = { 0 }, after[2] = { 99, 99 };
        const tally_buffers buffers = { .size = sizeof buffers,
                                        .in = c->in,
                                        .out = out,
                                        .carry_in = c->has_before ? c->before : NULL,
                                        .carry_out = after };
        run_word(context, device, c->word, &buffers);
        cr_expect(memcmp(out, c->out, sizeof *out * (size_t)c->count) == 0,
                  "%s %s: %g %g %g, wanted %g %g %g", device, c->word, out[0], out[1], out[2],
                  c->out[0], c->out[1], c->out[2]);
        cr_expect(memcmp(after, c->after, sizeof *after * (size_t)c->states) == 0,
                  "%s %s: states %g %g, wanted %g %g", device, c->word, after[0], after[1],
                  c->after[0], c->after[1]);
    }
}

static void check(const state_case *cases, size_t count)
{
    cases_now = cases;
    case_count = count;
    on_each(check_cases);
}

#define CHECK(cases) check(cases, sizeof(cases) / sizeof *(cases))

Test(carry, line_6_1_where_it_enters)
{
    static const state_case cases[] = {
        { "cumsum:f32:3:axis=0,carry=in+out",
          { 1, 2, 3 },
          { 10 },
          1,
          { 11, 13, 16 },
          { 16 },
          3,
          1 },
        { "cumsum:f32:3:axis=0,exclusive,carry=in+out",
          { 1, 2, 3 },
          { 10 },
          1,
          { 10, 11, 13 },
          { 16 },
          3,
          1 },
        { "cumsum:f32:3:axis=0,reverse,carry=in+out",
          { 1, 2, 3 },
          { 10 },
          1,
          { 16, 15, 13 },
          { 16 },
          3,
          1 },
        { "cumprod:f32:3:axis=0,exclusive,reverse,carry=in+out",
          { 2, 3, 4 },
          { 10 },
          1,
          { 120, 40, 10 },
          { 240 },
          3,
          1 },
        { "cumsum:f32:2x2:axis=1,carry=in+out",
          { 1, 2, 3, 4 },
          { 10, 20 },
          1,
          { 11, 13, 23, 27 },
          { 13, 27 },
          4,
          2 },
        { "cumsum:f32:2x2:axis=0,carry=in+out",
          { 1, 2, 3, 4 },
          { 10, 20 },
          1,
          { 11, 22, 14, 26 },
          { 14, 26 },
          4,
          2 },
        { "cummax:f32:3:axis=0,carry=in+out", { 1, 9, 3 }, { 5 }, 1, { 5, 9, 9 }, { 9 }, 3, 1 },
        { "cummin:f32:3:axis=0,exclusive,carry=in+out",
          { 7, 2, 3 },
          { 5 },
          1,
          { 5, 5, 2 },
          { 2 },
          3,
          1 },
        { "cumsum:f32:3:axis=0,map=2*x,post=y-x,carry=in+out",
          { 1, 2, 3 },
          { 10 },
          1,
          { 11, 14, 19 },
          { 22 },
          3,
          1 },
        { "cumlogsumexp:f32:2:axis=0,carry=in+out",
          { 3, 3 },
          { -INFINITY, 0 },
          1,
          { 3, 3.6931472f },
          { 3, 2 },
          2,
          2 },
    };
    CHECK(cases);
}

Test(carry, line_6_2_what_is_handed_on)
{
    static const state_case cases[] = {
        { "cumsum:f32:3:axis=0,carry=out", { 1, 2, 3 }, { 0 }, 0, { 1, 3, 6 }, { 6 }, 3, 1 },
        { "cumsum:f32:3:axis=0,exclusive,carry=out",
          { 1, 2, 3 },
          { 0 },
          0,
          { 0, 1, 3 },
          { 6 },
          3,
          1 },
        { "cumsum:f32:3:axis=0,exclusive,reverse,carry=out",
          { 1, 2, 4 },
          { 0 },
          0,
          { 6, 4, 0 },
          { 7 },
          3,
          1 },
        { "cumsum:f32:1x2:axis=0,exclusive,carry=out",
          { 1, 2 },
          { 0 },
          0,
          { 0, 0 },
          { 1, 2 },
          2,
          2 },
    };
    CHECK(cases);
}

/* The pointer carry_in may be NULL, and an axis may have no elements. */
Test(carry, line_6_3_nothing)
{
    static const state_case cases[] = {
        { "cumsum:f32:2:axis=0,carry=in+out",
          { -0.f, -0.f },
          { 0 },
          0,
          { -0.f, -0.f },
          { -0.f },
          2,
          1 },
        { "cumsum:f32:0:axis=0,carry=in+out", { 0 }, { 7 }, 1, { 0 }, { 7 }, 0, 1 },
        { "cumsum:f32:0:axis=0,carry=in+out", { 0 }, { 0 }, 0, { 0 }, { -0.f }, 0, 1 },
        { "cumsum:f32:0x2:axis=0,exclusive,carry=out", { 0 }, { 0 }, 0, { 0 }, { 0, 0 }, 0, 2 },
        { "cumprod:f32:2x0:axis=1,carry=out", { 0 }, { 0 }, 0, { 0 }, { 1, 1 }, 0, 2 },
        { "cummax:f32:0:axis=0,carry=out", { 0 }, { 0 }, 0, { 0 }, { -INFINITY }, 0, 1 },
        { "cummin:f32:0:axis=0,carry=in+out", { 0 }, { 3 }, 1, { 0 }, { 3 }, 0, 1 },
        { "cumlogsumexp:f32:0:axis=0,carry=out", { 0 }, { 0 }, 0, { 0 }, { -INFINITY, 0 }, 0, 2 },
    };
    CHECK(cases);
}

Test(carry, line_6_4_shape_and_dtype)
{
    static const struct {
        const char *word;
        int32_t rank;
        int64_t sizes[TALLY_MAX_CARRY_RANK];
        tally_dtype dtype;
    } cases[] = {
        { "cumsum:f32:4x6:axis=1,carry=in", 2, { 4, 1 }, TALLY_F32 },
        { "cumsum:f16:4x6:axis=0,carry=out", 2, { 1, 6 }, TALLY_F32 },
        { "cumprod:bf16:4:axis=0,carry=in", 1, { 1 }, TALLY_F32 },
        { "cumsum:f32:4:axis=0,acc=f64,carry=in", 1, { 1 }, TALLY_F64 },
        { "cumsum:i8>i32:0x3:axis=0,carry=in", 2, { 1, 3 }, TALLY_I32 },
        { "cumsum:u8>u64:3x0:axis=0,carry=in", 2, { 1, 0 }, TALLY_U64 },
        { "cumsum:i32>f64:3:axis=0,map=x*0.5,carry=in", 1, { 1 }, TALLY_F64 },
        { "cummax:f16:4x6:axis=1,carry=in", 2, { 4, 1 }, TALLY_F16 },
        { "cummax:f16:4x6:axis=1,map=x*2,carry=in", 2, { 4, 1 }, TALLY_F32 },
        { "cummin:bf16:4x6:axis=1,reset=x,carry=in", 2, { 4, 1 }, TALLY_F32 },
        { "cummin:bool:4:axis=0,carry=in", 1, { 1 }, TALLY_BOOL },
        { "cumlogsumexp:bf16:4x6x8:axis=1,carry=in", 4, { 4, 1, 8, 2 }, TALLY_F32 },
        { "cumlogsumexp:f64:1x2x1x2x1x2x1x2:axis=7,carry=in",
          9,
          { 1, 2, 1, 2, 1, 2, 1, 1, 2 },
          TALLY_F64 },
        { "cumsum:f32:4x6:axis=1,every=4,carry=in", 2, { 4, 2 }, TALLY_F32 },
        { "cumsum:f32:4x6:axis=1,segments=i32/9,carry=in", 2, { 4, 9 }, TALLY_F32 },
        { "linrec:f16:4x6:axis=1,a=f16,carry=in", 2, { 4, 1 }, TALLY_F32 },
        { "cumsum:f32:?x6x?:axis=2,carry=out", 3, { TALLY_OPEN_SIZE, 6, 1 }, TALLY_F32 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tally_descriptor d = TALLY_DESCRIPTOR_INIT;
        tally_error error = TALLY_ERROR_INIT;
        int64_t sizes[TALLY_MAX_CARRY_RANK];
        int32_t rank = -1;
        tally_dtype dtype = TALLY_DTYPE_NONE;
        cr_assert_eq(tally_descriptor_parse(cases[i].word, &d, &error), TALLY_OK, "%s: %s",
                     cases[i].word, error.message);
        cr_expect_eq(tally_descriptor_carry(&d, &rank, sizes, &dtype, &error), TALLY_OK);
        cr_expect(rank == cases[i].rank && dtype == cases[i].dtype &&
                      memcmp(sizes, cases[i].sizes, sizeof sizes) == 0,
                  "%s: rank %d, dtype %s", cases[i].word, (int)rank, tally_dtype_name(dtype));
        cr_expect_eq(tally_descriptor_carry(&d, NULL, NULL, NULL, NULL), TALLY_OK);
    }
    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    tally_error error = TALLY_ERROR_INIT;
    int32_t rank = -1;
    cr_assert_eq(tally_descriptor_parse("cumsum:f32:4:axis=0", &d, &error), TALLY_OK);
    cr_expect_eq(tally_descriptor_carry(&d, &rank, NULL, NULL, &error), TALLY_INVALID);
    cr_expect_str_eq(error.field, "carry");
    cr_expect_eq(rank, -1);
    d.axis = 5;
    d.carry = TALLY_CARRY_IN;
    cr_expect_eq(tally_descriptor_carry(&d, &rank, NULL, NULL, &error), TALLY_INVALID);
    cr_expect_str_eq(error.field, "axis");
}

/* ---- chunks ---- */

/* Scans `length` elements along axis 1 of two rows, or along axis 0 of two columns, as a whole and
 * in pieces; `cuts` ends with the length. */
static void expect_same_bits(tally_context *context, const char *device, const char *format,
                             int along, const int *cuts, size_t element, const void *in)
{
    static char whole[2 * MOST * 8], joined[2 * MOST * 8], piece_in[2 * MOST * 8];
    static char piece_out[2 * MOST * 8];
    char state[64] = { 0 }, end[64] = { 0 }, word[200];
    int length = 0, from = 0;
    for (int k = 0; length < cuts[k]; k++) {
        length = cuts[k];
    }
    snprintf(word, sizeof word, format, along ? 2 : length, along ? length : 2);
    run_word(context, device, word,
             &(tally_buffers){
                 .size = sizeof(tally_buffers), .in = in, .out = whole, .carry_out = end });
    for (int k = 0; from < length; k++) {
        const int count = cuts[k] - from, rows = along ? 2 : 1;
        const size_t width = (size_t)count * element * (along ? 1 : 2);
        const size_t pitch = (size_t)length * element;
        const size_t first = (size_t)from * element * (along ? 1 : 2);
        for (int r = 0; r < rows; r++) {
            memcpy(piece_in + (size_t)r * width, (const char *)in + first + (size_t)r * pitch,
                   width);
        }
        snprintf(word, sizeof word, format, along ? 2 : count, along ? count : 2);
        run_word(context, device, word,
                 &(tally_buffers){ .size = sizeof(tally_buffers),
                                   .in = piece_in,
                                   .out = piece_out,
                                   .carry_in = k > 0 ? state : NULL,
                                   .carry_out = state });
        for (int r = 0; r < rows; r++) {
            memcpy(joined + first + (size_t)r * pitch, piece_out + (size_t)r * width, width);
        }
        from = cuts[k];
    }
    const size_t bytes = (size_t)length * 2 * element;
    cr_expect(memcmp(whole, joined, bytes) == 0, "%s: other bits: %s", device, word);
    cr_expect(memcmp(state, end, sizeof state) == 0, "%s: other states: %s", device, word);
}

static void check_chunks(tally_context *context, const char *device)
{
    static float reals[2 * MOST];
    static int32_t integers[2 * MOST];
    static const int cuts[] = { 1, 700, 701, 2500, MOST, 0 }, few[] = { 3, 4, 40, 0 };
    /* tally_kernel_chunk of few columns */
    static const int whole[] = { 128, 768, 896, 2560, MOST, 0 };
    for (int i = 0; i < 2 * MOST; i++) {
        reals[i] = sinf((float)i * 1.7f) + .5f;
        integers[i] = (int32_t)((uint32_t)i * 2654435761u);
    }
    expect_same_bits(context, device, "cumsum:f32:%dx%d:axis=1,order=serial,carry=in+out", 1, cuts,
                     4, reals);
    expect_same_bits(context, device, "cumsum:f32:%dx%d:axis=0,carry=in+out", 0, whole, 4, reals);
    expect_same_bits(context, device, "cumlogsumexp:f32:%dx%d:axis=0,carry=in+out", 0, whole, 4,
                     reals);
    expect_same_bits(context, device, "cumsum:i32:%dx%d:axis=1,carry=in+out", 1, cuts, 4, integers);
    expect_same_bits(context, device, "cumprod:i32:%dx%d:axis=0,exclusive,carry=in+out", 0, cuts, 4,
                     integers);
    expect_same_bits(context, device, "cummax:f32:%dx%d:axis=1,exclusive,carry=in+out", 1, cuts, 4,
                     reals);
    expect_same_bits(context, device, "cummin:i32:%dx%d:axis=0,carry=in+out", 0, few, 4, integers);
}

Test(carry, line_6_5_chunks_are_one_scan)
{
    on_each(check_chunks);
}

/* ---- pointers ---- */

static void refused(const tally_kernel *kernel, const void *in, void *out, const void *operand,
                    const void *before, void *after, const char *field)
{
    tally_error error = TALLY_ERROR_INIT;
    const tally_buffers buffers = { .size = sizeof buffers,
                                    .in = in,
                                    .out = out,
                                    .operand = { operand },
                                    .carry_in = before,
                                    .carry_out = after };
    cr_expect_eq(tally_kernel_run_buffers(kernel, &buffers, NULL, &error), TALLY_INVALID, "%s",
                 field);
    cr_expect_str_eq(error.field, field, "%s: %s", error.field, error.message);
}

static void check_pointers(tally_context *context, const char *device)
{
    float in[8] = { 1, 2, 3, 4, 5, 6, 7, 8 }, out[16] = { 0 }, a[2] = { 1, 1 };
    float before[4] = { 10, 20, 30, 40 }, after[4] = { 0 };
    char *const odd = (char *)before + 1;
    tally_kernel *both = make(context, device,
                              "cumsum:f32:2x4:axis=1,a=f32/0,map=x*a,carry=in+out");
    refused(both, in, out, a, before, NULL, "carry_out");
    refused(both, in, out, a, odd, after, "carry_in");
    refused(both, in, out, a, before, odd, "carry_out");
    refused(both, in, out, a, out + 7, after, "carry_in");
    refused(both, in, out, a, before, out + 7, "carry_out");
    refused(both, in, out + 1, a, before, out, "carry_out");
    refused(both, in, out, a, before, in + 7, "carry_out");
    refused(both, in, out, a, before, a + 1, "carry_out");
    refused(both, in, out, a, before, before + 1, "carry_out");
    refused(both, in, out, a, before + 1, before, "carry_out");
    refused(both, in, out, NULL, before, after, "a");
    refused(both, NULL, out, a, before, after, "in");
    cr_expect(out[0] == 0 && out[7] == 0 && after[0] == 0 && in[7] == 8 && a[1] == 1);
    const tally_buffers same = { .size = sizeof same,
                                 .in = in,
                                 .out = out,
                                 .operand = { a },
                                 .carry_in = before,
                                 .carry_out = before };
    cr_expect_eq(tally_kernel_run_buffers(both, &same, NULL, NULL), TALLY_OK);
    cr_expect(out[0] == 11 && out[7] == 46 && before[0] == 20 && before[1] == 46 &&
              before[2] == 30);
    /* Beside each other, in place, and states that lie where the operand or the input is read. */
    const tally_buffers beside = { .size = sizeof beside,
                                   .in = in,
                                   .out = in,
                                   .operand = { a },
                                   .carry_in = before + 2,
                                   .carry_out = before };
    cr_expect_eq(tally_kernel_run_buffers(both, &beside, NULL, NULL), TALLY_OK);
    cr_expect(in[0] == 31 && in[7] == 66 && before[0] == 40 && before[1] == 66);
    tally_kernel_destroy(&both);
    tally_kernel *only = make(context, device, "cumsum:f32:2x4:axis=1,carry=in");
    tally_error error = TALLY_ERROR_INIT;
    cr_expect_eq(tally_kernel_run(only, in, out, &error), TALLY_OK, "%s", error.message);
    tally_kernel_destroy(&only);
    only = make(context, device, "cumsum:f32:2x4:axis=1,carry=out");
    cr_expect_eq(tally_kernel_run(only, in, out, &error), TALLY_INVALID);
    cr_expect_str_eq(error.field, "carry_out");
    tally_kernel_destroy(&only);
}

/* A piece of no elements writes states alone: its output is nowhere, whatever lies at its pointer
 * and offset. The states that it makes still overlap nothing. */
static void check_empty_pointers(tally_context *context, const char *device)
{
    float bed[64];
    tally_kernel *none = make(context, device,
                              "cumsum:f32:0x8:axis=0,reverse,in=8x1@-8,out=8x1@-8,a=f32/1,map=x*a,"
                              "carry=in+out");
    for (int at = 8; at < 48; at++) {
        const tally_buffers buffers = { .size = sizeof buffers,
                                        .in = bed + at,
                                        .out = bed + at,
                                        .operand = { bed + 16 },
                                        .carry_in = bed + 24,
                                        .carry_out = bed + 32 };
        tally_error error = TALLY_ERROR_INIT;
        for (int i = 0; i < 64; i++)
            bed[i] = (float)i;
        cr_expect_eq(tally_kernel_check_buffers(none, &buffers, NULL), TALLY_OK);
        cr_expect_eq(tally_kernel_run_buffers(none, &buffers, NULL, &error), TALLY_OK,
                     "%s, out at %d: %s", device, at, error.message);
        for (int i = 0; i < 64; i++)
            cr_expect_eq(bed[i], (float)(i >= 32 && i < 40 ? i - 8 : i), "out at %d: %d", at, i);
    }
    refused(none, bed, bed, bed + 16, bed + 24, bed + 23, "carry_out");
    refused(none, bed, bed, bed + 16, bed + 24, bed + 25, "carry_out");
    tally_kernel_destroy(&none);
}

Test(carry, line_6_6_pointers)
{
    on_each(check_pointers);
    on_each(check_empty_pointers);
}

Test(carry, line_6_7_range)
{
    static const state_case cases[] = {
        { "cumsum:f32:2:axis=0,carry=in+out",
          { 3e38f, 3e38f },
          { -3e38f },
          1,
          { 0, 3e38f },
          { 3e38f },
          2,
          1 },
        { "cumprod:f32:4:axis=0,carry=in+out",
          { 1e10f, 1e10f, 1e10f, 1e8f },
          { 0 },
          1,
          { 0, 0, 0, 0 },
          { 0 },
          4,
          1 },
        { "cumprod:f32:6:axis=0,carry=in+out",
          { 0x1p40f, 0x1p40f, 0x1p40f, 0x1p40f, 0x1p40f, 1 },
          { 0x1p-100f },
          1,
          { 0x1p-60f, 0x1p-20f, 0x1p20f, 0x1p60f, 0x1p100f, 0x1p100f },
          { 0x1p100f },
          6,
          1 },
        { "cumlogsumexp:f32:2:axis=0,carry=in+out",
          { -1000, 0 },
          { 1000, 1 },
          1,
          { 1000, 1000 },
          { 1000, 1 },
          2,
          2 },
    };
    CHECK(cases);
}

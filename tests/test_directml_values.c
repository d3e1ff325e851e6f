/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of DirectML's descriptions: the examples of its documents, tensors with gaps and
 * broadcasts, and random descriptions, which are compared with words.
 */
#include "directml.h"

#include <stdio.h>

#include "splitmix.h"

static tally_context *context;

static void open_context(void)
{
    cr_assert_eq(tally_context_create(NULL, &context, NULL), TALLY_OK);
}

static void close_context(void)
{
    tally_context_destroy(&context);
}

TestSuite(directml_values, .init = open_context, .fini = close_context);

static void run(const given *g, const void *in, void *out)
{
    tally_error error = TALLY_ERROR_INIT;
    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    tally_kernel *kernel = NULL;
    cr_assert_eq(tally_descriptor_from_dml(&g->o, g->level, &d, &error), TALLY_OK, "%s: %s",
                 error.field, error.message);
    cr_assert_eq(tally_kernel_create(context, &d, NULL, &kernel, &error), TALLY_OK, "%s",
                 error.message);
    cr_assert_eq(tally_kernel_run(kernel, in, out, &error), TALLY_OK, "%s", error.message);
    tally_kernel_destroy(&kernel);
}

/* ---- the documents' examples ---- */

enum { SUMMATION = 105, PRODUCT = 145, ARGMIN = 137, ARGMAX = 138, REDUCE = 55, SUM = 10 };
#define UP 0, 0
#define UP_EXCLUSIVE 0, 1
#define DOWN 1, 0

/* Results of ARGMIN and ARGMAX are u32. */
typedef struct example {
    int32_t type, function, direction, exclusive;
    uint32_t axis_count, axes[2];
    uint32_t count, sizes[4], left[4]; /* sizes of input and output */
    float in[12], out[12];
} example;

#define A 4, { 1, 1, 3, 4 }, { 1, 1, 3, 4 }, { 2, 1, 3, 5, 3, 8, 7, 3, 9, 6, 2, 4 }
#define B(...) 2, { 3, 3 }, { __VA_ARGS__ }, { 1, 2, 3, 3, 0, 4, 2, 4, 2 }
#define C(...) 2, { 3, 3 }, { __VA_ARGS__ }, { 1, 2, 3, 3, 0, 4, 2, 5, 2 }
static const example examples[] = {
    { PRODUCT, 0, UP, 1, { 3 }, A, { 2, 2, 6, 30, 3, 24, 168, 504, 9, 54, 108, 432 } },
    { PRODUCT, 0, UP_EXCLUSIVE, 1, { 3 }, A, { 1, 2, 2, 6, 1, 3, 24, 168, 1, 9, 54, 108 } },
    { PRODUCT, 0, DOWN, 1, { 3 }, A, { 30, 15, 15, 5, 504, 168, 21, 3, 432, 48, 8, 4 } },
    { PRODUCT, 0, UP, 1, { 2 }, A, { 2, 1, 3, 5, 6, 8, 21, 15, 54, 48, 42, 60 } },
    { SUMMATION, 0, UP, 1, { 3 }, A, { 2, 3, 6, 11, 3, 11, 18, 21, 9, 15, 17, 21 } },
    { SUMMATION, 0, UP_EXCLUSIVE, 1, { 3 }, A, { 0, 2, 3, 6, 0, 3, 11, 18, 0, 9, 15, 17 } },
    { SUMMATION, 0, DOWN, 1, { 3 }, A, { 11, 9, 8, 5, 21, 18, 10, 3, 21, 12, 6, 4 } },
    { SUMMATION, 0, UP, 1, { 2 }, A, { 2, 1, 3, 5, 5, 9, 10, 8, 14, 15, 12, 12 } },
    { REDUCE, SUM, UP, 1, { 0 }, B(1, 3), { 6, 6, 9 } },
    { REDUCE, SUM, UP, 1, { 1 }, B(3, 1), { 6, 7, 8 } },
    { REDUCE, SUM, UP, 2, { 0, 1 }, B(1, 1), { 21 } },
    { ARGMAX, 0, UP, 1, { 0 }, C(1, 3), { 1, 2, 1 } },
    { ARGMAX, 0, UP, 1, { 1 }, C(3, 1), { 2, 2, 1 } },
    { ARGMAX, 0, UP, 2, { 0, 1 }, C(1, 1), { 7 } },
    { ARGMIN, 0, UP, 1, { 0 }, C(1, 3), { 0, 1, 2 } },
    { ARGMIN, 0, UP, 1, { 1 }, C(3, 1), { 0, 1, 0 } },
    { ARGMIN, 0, UP, 2, { 0, 1 }, C(1, 1), { 4 } },
    { ARGMAX, 0, UP, 1, { 0 }, 1, { 5 }, { 1 }, { 3, 2, 1, 2, 3 }, { 0 } },
    { ARGMAX, 0, DOWN, 1, { 0 }, 1, { 5 }, { 1 }, { 3, 2, 1, 2, 3 }, { 4 } },
    { ARGMIN, 0, UP, 1, { 0 }, 1, { 5 }, { 1 }, { 1, 2, 3, 2, 1 }, { 0 } },
    { ARGMIN, 0, DOWN, 1, { 0 }, 1, { 5 }, { 1 }, { 1, 2, 3, 2, 1 }, { 4 } },
    /* of Microsoft's own programs */
    { PRODUCT,
      0,
      UP,
      1,
      { 3 },
      4,
      { 1, 1, 1, 4 },
      { 1, 1, 1, 4 },
      { 2, 4, 8, 3 },
      { 2, 8, 64, 192 } },
    { REDUCE,
      SUM,
      UP,
      1,
      { 3 },
      4,
      { 1, 1, 3, 3 },
      { 1, 1, 3, 1 },
      { 1, 2, 3, 4, 5, 6, 7, 8, 9 },
      { 6, 15, 24 } },
};

static void set_example(given *g, const example *x)
{
    const int tells_index = x->type == ARGMIN || x->type == ARGMAX;
    memset(g, 0, sizeof *g);
    set_tensor(&g->in, DML_TENSOR_DATA_TYPE_FLOAT32, x->count, x->sizes);
    set_tensor(&g->out, tells_index ? DML_TENSOR_DATA_TYPE_UINT32 : DML_TENSOR_DATA_TYPE_FLOAT32,
               x->count, x->left);
    set_operator(g, x->type, x->function, x->axis_count, x->axes, x->direction, x->exclusive);
}

Test(directml_values, examples_of_the_documents)
{
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        const example *x = &examples[i];
        given g;
        union {
            float reals[12];
            uint32_t indices[12];
        } out;
        set_example(&g, x);
        const int tells_index = g.out.buffer.DataType == DML_TENSOR_DATA_TYPE_UINT32;
        run(&g, x->in, &out);
        for (size_t k = 0; k < g.out.buffer.TotalTensorSizeInBytes / 4; k++) {
            const float got = tells_index ? (float)out.indices[k] : out.reals[k];
            cr_expect_eq(got, x->out[k], "example %zu: %g and not %g at %zu", i, got, x->out[k], k);
        }
    }
}

Test(directml_values, scans_in_place)
{
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        const example *x = &examples[i];
        if (x->type != PRODUCT && x->type != SUMMATION) {
            continue;
        }
        given g;
        float both[12];
        set_example(&g, x);
        memcpy(both, x->in, sizeof both);
        run(&g, both, both);
        cr_expect(memcmp(both, x->out, g.out.buffer.TotalTensorSizeInBytes) == 0, "example %zu", i);
    }
}

/* ---- strides and alignments ---- */

/* One row for all, into rows of 5 with a gap, which stays as it was. */
Test(directml_values, broadcast_into_padded_rows)
{
    static const uint32_t sizes[] = { 1, 1, 3, 4 }, axis = 3;
    static const uint32_t row[] = { 0, 0, 0, 1 }, padded[] = { 15, 15, 5, 1 };
    static const uint32_t alignments[][2] = { { 0, 0 }, { 8, 1u << 30 } };
    static const int64_t in[] = { 2, 1, 3, 5 };
    static const int64_t wanted[] = { 2, 2, 6, 30, -7, 2, 2, 6, 30, -7, 2, 2, 6, 30, -7 };
    for (size_t i = 0; i < sizeof alignments / sizeof *alignments; i++) {
        int64_t out[15];
        given g;
        memset(&g, 0, sizeof g);
        set_tensor(&g.in, DML_TENSOR_DATA_TYPE_INT64, 4, sizes);
        set_tensor(&g.out, DML_TENSOR_DATA_TYPE_INT64, 4, sizes);
        set_strides(&g.in, row);
        set_strides(&g.out, padded);
        set_operator(&g, PRODUCT, 0, 1, &axis, UP);
        g.in.buffer.GuaranteedBaseOffsetAlignment = alignments[i][0];
        g.out.buffer.GuaranteedBaseOffsetAlignment = alignments[i][1];
        cr_expect_eq(g.in.buffer.TotalTensorSizeInBytes, 32);
        cr_expect_eq(g.out.buffer.TotalTensorSizeInBytes, 112);
        for (int k = 0; k < 15; k++) {
            out[k] = -7;
        }
        run(&g, in, out);
        cr_expect(memcmp(out, wanted, sizeof out) == 0, "%lld %lld %lld", (long long)out[3],
                  (long long)out[4], (long long)out[13]);
    }
}

/* All rows are one, and so are their results. */
Test(directml_values, everything_from_one_element)
{
    static const uint32_t sizes[] = { 3, 5 }, left[] = { 1, 5 }, axis = 0, none[] = { 0, 0 };
    const uint16_t in = 0x4000; /* 2 as a float of 16 bits */
    uint16_t out[6] = { 0, 0, 0, 0, 0, 0x1234 };
    given g;
    memset(&g, 0, sizeof g);
    set_tensor(&g.in, DML_TENSOR_DATA_TYPE_FLOAT16, 2, sizes);
    set_tensor(&g.out, DML_TENSOR_DATA_TYPE_FLOAT16, 2, left);
    set_strides(&g.in, none);
    set_operator(&g, REDUCE, DML_REDUCE_FUNCTION_MULTIPLY, 1, &axis, UP);
    cr_expect_eq(g.in.buffer.TotalTensorSizeInBytes, 4);
    run(&g, &in, out);
    for (int k = 0; k < 5; k++) {
        cr_expect_eq(out[k], 0x4800, "%x", out[k]); /* 8 */
    }
    cr_expect_eq(out[5], 0x1234);
}

/* ---- sizes in bytes ---- */

Test(directml_values, tensor_sizes)
{
    static const struct {
        int32_t type;
        uint32_t count, sizes[9], strides[9];
        int has_strides;
        uint64_t bytes;
    } cases[] = {
        { 1, 4, { 1, 1, 3, 4 }, { 0 }, 0, 48 },
        { 2, 1, { 3 }, { 0 }, 0, 8 },
        { 5, 1, { 1 }, { 0 }, 0, 4 },
        { 8, 2, { 3, 3 }, { 0 }, 0, 12 },
        { 11, 1, { 3 }, { 0 }, 0, 24 },
        { 9, 1, { 3 }, { 0 }, 0, 24 }, /* no operator takes it, but it has a size */
        { 1, 4, { 1, 1, 3, 4 }, { 15, 15, 5, 1 }, 1, 56 },
        { 1, 4, { 1, 1, 3, 4 }, { 0, 0, 0, 1 }, 1, 16 },
        { 5, 2, { 2, 3 }, { 0, 0 }, 1, 4 },
        { 4, 2, { 2, 2 }, { 10, 3 }, 1, 28 },
        { 1, 8, { 1, 1, 1, 1, 1, 1, 1, 2 }, { 9, 9, 9, 9, 9, 9, 9, 9 }, 1, 40 },
        { 5, 1, { UINT32_MAX }, { 0 }, 0, UINT64_C(4294967296) },
        { 10, 1, { UINT32_MAX }, { 0 }, 0, UINT64_C(34359738360) },
        { 5, 1, { 2 }, { UINT32_MAX - 1 }, 1, UINT64_C(4294967296) },
        { 5, 1, { 2 }, { UINT32_MAX }, 1, 0 },
        { 5, 2, { 65536, 65536 }, { 0 }, 0, 0 },
        { 5, 2, { 65536, 65536 }, { 0, 0 }, 1, 0 },
        { 1, 3, { UINT32_MAX, UINT32_MAX, UINT32_MAX }, { 0 }, 0, 0 },
        { 1, 2, { UINT32_MAX, 1 }, { UINT32_MAX, UINT32_MAX }, 1, 0 },
        { 1, 2, { 2, 0 }, { 0 }, 0, 0 },
        { 1, 2, { 2, 0 }, { 1, 1 }, 1, 0 },
        { 0, 1, { 3 }, { 0 }, 0, 0 },
        { -1, 1, { 3 }, { 0 }, 0, 0 },
        { 12, 1, { 3 }, { 0 }, 0, 0 },
        { 14, 1, { 3 }, { 0 }, 0, 0 },
        { 1, 0, { 3 }, { 0 }, 0, 0 },
        { 1, 9, { 1, 1, 1, 1, 1, 1, 1, 1, 1 }, { 0 }, 0, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint64_t got = tally_dml_buffer_tensor_size(
            cases[i].type, cases[i].count, cases[i].sizes,
            cases[i].has_strides ? cases[i].strides : NULL);
        cr_expect_eq(got, cases[i].bytes, "case %zu: %llu", i, (unsigned long long)got);
    }
    cr_expect_eq(tally_dml_buffer_tensor_size(1, 1, NULL, NULL), 0);
}

/* ---- random descriptions and their words ---- */

static uint32_t below(uint64_t *state, uint32_t bound)
{
    return (uint32_t)(tly_splitmix(state) % bound);
}

/* Each stride is beyond the reach of those before it, in a random order of dims. With `broadcasts`
 * some are 0. */
static void draw_strides(uint64_t *state, given_tensor *t, int broadcasts)
{
    const uint32_t count = t->buffer.DimensionCount;
    uint32_t order[8] = { 0, 1, 2, 3, 4, 5, 6, 7 }, strides[8], step = 1 + below(state, 3);
    for (uint32_t i = count - 1; i > 0; i--) {
        const uint32_t k = below(state, i + 1), last = order[i];
        order[i] = order[k];
        order[k] = last;
    }
    for (uint32_t i = 0; i < count; i++) {
        strides[order[i]] = step;
        step = step * t->sizes[order[i]] + below(state, 3);
    }
    for (uint32_t i = 0; i < count; i++) {
        strides[i] = broadcasts && below(state, 4) == 0 ? 0 : strides[i];
    }
    set_strides(t, strides);
}

static int append_numbers(char *text, const char *name, const uint32_t *numbers, uint32_t count)
{
    int at = sprintf(text, "%s", name);
    for (uint32_t i = 0; i < count; i++) {
        at += sprintf(text + at, "%s%u", i > 0 ? "x" : "", (unsigned)numbers[i]);
    }
    return at;
}

/* A description, and in `word` what it is. */
static void draw(uint64_t *state, given *g, char *word)
{
    static const struct {
        const char *name;
        int32_t type, function, tells_index, is_scan;
    } ops[] = { { "cumsum", SUMMATION, 0, 0, 1 }, { "cumprod", PRODUCT, 0, 0, 1 },
                { "max", REDUCE, 7, 0, 0 },       { "sum", REDUCE, SUM, 0, 0 },
                { "argmax", ARGMAX, 0, 1, 0 },    { "argmin", ARGMIN, 0, 1, 0 },
                { "argmin", REDUCE, 1, 1, 0 } };
    static const int32_t types[] = { 1, 2, 3, 6, 10, 11 }, index_types[] = { 3, 6, 10, 11 };
    const uint32_t op = below(state, sizeof ops / sizeof *ops), count = 1 + below(state, 8);
    const int32_t type = types[below(state, 6)];
    const int32_t out = ops[op].tells_index ? index_types[below(state, 4)] : type;
    const int32_t direction = ops[op].type == REDUCE ? 0 : (int32_t)below(state, 2);
    const int32_t exclusive = (int32_t)below(state, 2);
    uint32_t sizes[8], left[8], axes[8], axis_count = 0, kept = below(state, 1u << count);
    for (uint32_t i = 0; i < count; i++) {
        sizes[i] = left[i] = 1 + below(state, 4);
    }
    if (ops[op].is_scan) {
        axes[axis_count++] = below(state, count);
    }
    for (uint32_t i = 0; i < count && !ops[op].is_scan; i++) {
        if (kept >> i & 1) {
            axes[axis_count++] = i;
            left[i] = 1;
        }
    }
    memset(g, 0, sizeof *g);
    set_tensor(&g->in, type, count, sizes);
    set_tensor(&g->out, out, count, left);
    set_operator(g, ops[op].type, ops[op].function, axis_count, axes, direction, exclusive);
    g->in.buffer.GuaranteedBaseOffsetAlignment = below(state, 2) ? 8u << below(state, 20) : 0;

    int at = sprintf(word, "%s:%s>%s:", ops[op].name, element_dtypes[type], element_dtypes[out]);
    at += append_numbers(word + at, "", sizes, count);
    at += sprintf(word + at, ops[op].is_scan ? ":axis=" : ":keepdims,axes=");
    at += sprintf(word + at, axis_count == 0 ? "none" : "");
    for (uint32_t i = 0; i < axis_count; i++) {
        at += sprintf(word + at, "%s%u", i > 0 ? "+" : "", (unsigned)axes[i]);
    }
    at += sprintf(word + at, "%s", ops[op].is_scan && exclusive ? ",exclusive" : "");
    at += sprintf(word + at, "%s", !direction ? "" : ops[op].is_scan ? ",reverse" : ",last");
    if (below(state, 2)) {
        draw_strides(state, &g->in, 1);
        at += append_numbers(word + at, ",in=", g->in.strides, count);
    }
    if (below(state, 2)) {
        draw_strides(state, &g->out, 0);
        append_numbers(word + at, ",out=", g->out.strides, count);
    }
}

Test(directml_values, random_descriptions_are_words)
{
    uint64_t state = 20261127;
    for (int i = 0; i < 20000; i++) {
        tally_descriptor d = TALLY_DESCRIPTOR_INIT, by_word = TALLY_DESCRIPTOR_INIT;
        tally_error error = TALLY_ERROR_INIT;
        tally_extent in, out;
        char word[1000];
        given g;
        draw(&state, &g, word);
        cr_assert_eq(tally_descriptor_parse(word, &by_word, &error), TALLY_OK, "%s: %s", word,
                     error.message);
        cr_assert_eq(tally_descriptor_from_dml(&g.o, 0, &d, &error), TALLY_OK, "%s: %s: %s", word,
                     error.field, error.message);
        cr_expect(memcmp(&d, &by_word, sizeof d) == 0, "%s", word);
        cr_assert_eq(tally_descriptor_extent(&d, &in, &out, NULL), TALLY_OK);
        cr_expect(in.low == 0 && out.low == 0 &&
                      (uint64_t)(in.end + 3) / 4 * 4 == g.in.buffer.TotalTensorSizeInBytes &&
                      (uint64_t)(out.end + 3) / 4 * 4 == g.out.buffer.TotalTensorSizeInBytes,
                  "%s", word);
        cr_expect_eq(g.in.buffer.TotalTensorSizeInBytes,
                     tally_dml_buffer_tensor_size(g.in.buffer.DataType, g.in.buffer.DimensionCount,
                                                  g.in.sizes, g.in.buffer.Strides));
    }
}

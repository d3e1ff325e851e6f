/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tally/directml.h: each rule of docs/directml.md, and their order. What feature levels take is
 * asked in test_directml_levels.c; test_directml_values.c runs kernels.
 */
#include "directml.h"

#include <stdio.h>

/* ---- rules ---- */

/* A product of f32 along axis 3 of 1x2x3x4. */
static void set_product(given *g)
{
    static const uint32_t sizes[] = { 1, 2, 3, 4 }, axis = 3;
    memset(g, 0, sizeof *g);
    set_tensor(&g->in, DML_TENSOR_DATA_TYPE_FLOAT32, 4, sizes);
    set_tensor(&g->out, DML_TENSOR_DATA_TYPE_FLOAT32, 4, sizes);
    set_operator(g, DML_OPERATOR_CUMULATIVE_PRODUCT, 0, 1, &axis, 0, 0);
}

/* A sum of f32 over axes 3 and 1 of 1x2x3x4. */
static void set_sum(given *g)
{
    static const uint32_t sizes[] = { 1, 2, 3, 4 }, left[] = { 1, 1, 3, 1 }, axes[] = { 3, 1 };
    memset(g, 0, sizeof *g);
    set_tensor(&g->in, DML_TENSOR_DATA_TYPE_FLOAT32, 4, sizes);
    set_tensor(&g->out, DML_TENSOR_DATA_TYPE_FLOAT32, 4, left);
    set_operator(g, DML_OPERATOR_REDUCE, DML_REDUCE_FUNCTION_SUM, 2, axes, 0, 0);
}

static void set_argmax(given *g)
{
    set_sum(g);
    g->out.buffer.DataType = DML_TENSOR_DATA_TYPE_UINT32;
    set_operator(g, DML_OPERATOR_ARGMAX, 0, 2, (const uint32_t[]){ 3, 1 }, 0, 0);
}

/* The message holds `part`, and the descriptor stays as it was. */
static void refused(const given *g, tally_status status, const char *field, const char *part,
                    int line)
{
    tally_error error = TALLY_ERROR_INIT;
    tally_descriptor d, before;
    memset(&d, 0x5a, sizeof d);
    before = d;
    const tally_status s = tally_descriptor_from_dml(&g->o, g->level, &d, &error);
    cr_expect(s == status && error.status == status && strcmp(error.field, field) == 0 &&
                  strstr(error.message, part) != NULL,
              "line %d: %s: %s: %s", line, tally_status_name(s), error.field, error.message);
    cr_expect(memcmp(&d, &before, sizeof d) == 0, "line %d", line);
    cr_expect_eq(tally_descriptor_from_dml(&g->o, g->level, &d, NULL), status);
}

static void taken(const given *g, const char *word, int line)
{
    char text[TALLY_WORD_MAX];
    tally_error error = TALLY_ERROR_INIT;
    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    cr_assert_eq(tally_descriptor_from_dml(&g->o, g->level, &d, &error), TALLY_OK,
                 "line %d: %s: %s", line, error.field, error.message);
    cr_assert_eq(tally_descriptor_print(&d, text, sizeof text, NULL, NULL), TALLY_OK);
    cr_expect_str_eq(text, word, "line %d: %s", line, text);
}

/* From a right description one that is changed. */
#define REFUSED(set, change, status, field, part) \
    do { \
        set(&g); \
        change; \
        refused(&g, status, field, part, __LINE__); \
    } while (0)
#define TAKEN(set, change, word) \
    do { \
        set(&g); \
        change; \
        taken(&g, word, __LINE__); \
    } while (0)
#define NOTHING (void)0

Test(directml, right_descriptions)
{
    given g;
    TAKEN(set_product, NOTHING, "cumprod:f32:1x2x3x4:axis=3");
    TAKEN(set_product, g.as.product.AxisDirection = 1, "cumprod:f32:1x2x3x4:axis=3,reverse");
    TAKEN(set_product, g.as.product.HasExclusiveProduct = -1,
          "cumprod:f32:1x2x3x4:axis=3,exclusive");
    TAKEN(set_product, g.o.Type = DML_OPERATOR_CUMULATIVE_SUMMATION, "cumsum:f32:1x2x3x4:axis=3");
    TAKEN(set_sum, NOTHING, "sum:f32:1x2x3x4:axes=1+3,keepdims");
    TAKEN(set_sum, g.as.reduce.AxisCount = 0; g.as.reduce.Axes = NULL; g.out.sizes[1] = 2;
          g.out.sizes[3] = 4;
          g.out.buffer.TotalTensorSizeInBytes = 96, "sum:f32:1x2x3x4:axes=none,keepdims");
    TAKEN(set_argmax, NOTHING, "argmax:f32>u32:1x2x3x4:axes=1+3,keepdims");
    TAKEN(set_argmax, g.as.arg.AxisDirection = 1, "argmax:f32>u32:1x2x3x4:axes=1+3,keepdims,last");
    TAKEN(set_argmax, g.o.Type = DML_OPERATOR_ARGMIN, "argmin:f32>u32:1x2x3x4:axes=1+3,keepdims");
}

Test(directml, functions)
{
    static const char *const names[] = { "argmax", "argmin",  "mean",        "l1",
                                         "l2",     "log_sum", "log_sum_exp", "max",
                                         "min",    "prod",    "sum",         "sum_square" };
    given g;
    for (int32_t i = 0; i < 12; i++) {
        char word[100];
        set_sum(&g);
        g.as.reduce.Function = i;
        g.out.buffer.DataType = i < 2 ? DML_TENSOR_DATA_TYPE_UINT32 : DML_TENSOR_DATA_TYPE_FLOAT32;
        snprintf(word, sizeof word, "%s:f32%s:1x2x3x4:axes=1+3,keepdims", names[i],
                 i < 2 ? ">u32" : "");
        taken(&g, word, __LINE__);
    }
}

Test(directml, arguments)
{
    given g;
    tally_error error = TALLY_ERROR_INIT;
    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    set_product(&g);
    cr_expect_eq(tally_descriptor_from_dml(NULL, 0, &d, &error), TALLY_INVALID);
    cr_expect_str_eq(error.field, "usage");
    cr_expect_eq(tally_descriptor_from_dml(&g.o, 0, NULL, &error), TALLY_INVALID);
    cr_expect_str_eq(error.field, "usage");
    static const uint32_t wrong[] = { 1, 0x0fff, 0x1100, 0x2200, 0x5001, 0x6500, 0xffffffff };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        REFUSED(set_product, g.level = wrong[i], TALLY_INVALID, "usage", "feature level");
    }
}

Test(directml, rule_1_operators_and_tensors)
{
    given g;
    REFUSED(set_product, g.o.Type = 54, TALLY_UNSUPPORTED, "op", "Type 54");
    REFUSED(set_product, g.o.Type = -1, TALLY_UNSUPPORTED, "op", "Type -1");
    REFUSED(set_product, g.o.Desc = NULL, TALLY_INVALID, "op", "Desc");
    REFUSED(set_sum, g.as.reduce.Function = 12, TALLY_INVALID, "op", "Function 12");
    REFUSED(set_sum, g.as.reduce.Function = -1, TALLY_INVALID, "op", "Function -1");
    REFUSED(set_product, g.as.product.InputTensor = NULL, TALLY_INVALID, "in",
            "InputTensor is NULL");
    REFUSED(set_sum, g.as.reduce.OutputTensor = NULL, TALLY_INVALID, "out", "OutputTensor is NULL");
    REFUSED(set_argmax, g.out.tensor.Desc = NULL, TALLY_INVALID, "out", "OutputTensor: Desc");
    REFUSED(set_product, g.in.tensor.Type = 0, TALLY_INVALID, "in", "InputTensor: Type 0");
    REFUSED(set_product, g.out.tensor.Type = 2, TALLY_INVALID, "out", "OutputTensor: Type 2");
    REFUSED(set_product, g.in.buffer.DataType = 0, TALLY_INVALID, "dtype",
            "InputTensor: DataType 0");
    REFUSED(set_product, g.out.buffer.DataType = 14, TALLY_INVALID, "dtype",
            "OutputTensor: DataType 14");
    REFUSED(set_product, g.in.buffer.DataType = -1, TALLY_INVALID, "dtype", "DataType -1");
    REFUSED(set_product, g.in.buffer.DataType = 12, TALLY_UNSUPPORTED, "dtype", "UINT4");
    REFUSED(set_product, g.out.buffer.DataType = 13, TALLY_UNSUPPORTED, "dtype", "INT4");
    REFUSED(set_product, g.in.buffer.Flags = 1, TALLY_UNSUPPORTED, "in", "InputTensor: Flags");
    REFUSED(set_product, g.out.buffer.Flags = 1, TALLY_UNSUPPORTED, "out", "OWNED_BY_DML");
    REFUSED(set_product, g.out.buffer.Flags = 2, TALLY_INVALID, "out", "Flags 2");
}

Test(directml, rule_2_sizes)
{
    given g;
    REFUSED(set_product, g.in.buffer.DimensionCount = 0, TALLY_INVALID, "sizes",
            "InputTensor: DimensionCount 0");
    REFUSED(set_product, g.out.buffer.DimensionCount = 9, TALLY_INVALID, "sizes",
            "OutputTensor: DimensionCount 9");
    REFUSED(set_product, g.in.buffer.Sizes = NULL, TALLY_INVALID, "sizes", "Sizes is NULL");
    REFUSED(set_product, g.out.sizes[2] = 0, TALLY_INVALID, "sizes", "OutputTensor: Sizes[2] is 0");
    REFUSED(set_product, g.in.sizes[0] = g.in.sizes[1] = 65536, TALLY_INVALID, "sizes",
            "InputTensor: Sizes have more than 4294967295 elements");
    /* That a stride is 0 does not change their number. */
    REFUSED(set_product, set_strides(&g.in, (const uint32_t[]){ 0, 0, 0, 0 });
            g.in.sizes[0] = g.in.sizes[1] = 65536, TALLY_INVALID, "sizes", "InputTensor: Sizes");
    REFUSED(set_product, set_strides(&g.in, (const uint32_t[]){ 0, UINT32_MAX, 0, 0 }),
            TALLY_INVALID, "in", "InputTensor: Strides span");
    REFUSED(set_product, set_strides(&g.out, (const uint32_t[]){ 0, 0, UINT32_MAX, UINT32_MAX }),
            TALLY_INVALID, "out", "OutputTensor: Strides span");
    REFUSED(set_product, g.in.buffer.TotalTensorSizeInBytes = (4ull << 32) - 3, TALLY_INVALID, "in",
            "InputTensor: TotalTensorSizeInBytes 17179869181 is more");
    REFUSED(set_product, g.in.buffer.TotalTensorSizeInBytes = UINT64_MAX, TALLY_INVALID, "in",
            "InputTensor: TotalTensorSizeInBytes");
    TAKEN(set_product, g.in.buffer.TotalTensorSizeInBytes = (4ull << 32) - 4,
          "cumprod:f32:1x2x3x4:axis=3");
}

Test(directml, rule_3_bytes)
{
    given g;
    REFUSED(set_product, g.in.buffer.TotalTensorSizeInBytes = 95, TALLY_INVALID, "in",
            "InputTensor: TotalTensorSizeInBytes 95 is below 96");
    REFUSED(set_sum, g.out.buffer.TotalTensorSizeInBytes = 0, TALLY_INVALID, "out",
            "OutputTensor: TotalTensorSizeInBytes 0 is below 12");
    REFUSED(set_product, set_strides(&g.in, (const uint32_t[]){ 0, 100, 10, 2 });
            g.in.buffer.TotalTensorSizeInBytes = 507, TALLY_INVALID, "in", "507 is below 508");
    TAKEN(set_product, set_strides(&g.in, (const uint32_t[]){ 0, 100, 10, 2 }),
          "cumprod:f32:1x2x3x4:axis=3,in=0x100x10x2");
    TAKEN(set_product, g.in.buffer.TotalTensorSizeInBytes = 97, "cumprod:f32:1x2x3x4:axis=3");
}

Test(directml, rule_4_alignment)
{
    static const uint32_t right[] = { 0, 4, 8, 16, 32, 1u << 30, 1u << 31 };
    static const uint32_t wrong[] = { 1, 2, 3, 12, 24, 48, UINT32_MAX };
    given g;
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        TAKEN(set_product, g.in.buffer.GuaranteedBaseOffsetAlignment = right[i],
              "cumprod:f32:1x2x3x4:axis=3");
        REFUSED(set_product, g.in.buffer.GuaranteedBaseOffsetAlignment = wrong[i], TALLY_INVALID,
                "in", "InputTensor: GuaranteedBaseOffsetAlignment");
        REFUSED(set_sum, g.out.buffer.GuaranteedBaseOffsetAlignment = wrong[i], TALLY_INVALID,
                "out", "OutputTensor: GuaranteedBaseOffsetAlignment");
    }
    static const uint32_t sizes[] = { 4 }, axis = 0;
    for (int32_t type = 1; type <= 11; type++) { /* half an element, an element */
        if (type == DML_TENSOR_DATA_TYPE_FLOAT64 || element_bytes[type] == 1) {
            continue;
        }
        memset(&g, 0, sizeof g);
        set_tensor(&g.in, type, 1, sizes);
        set_tensor(&g.out, type, 1, (const uint32_t[]){ 1 });
        set_operator(&g, DML_OPERATOR_REDUCE, DML_REDUCE_FUNCTION_MAX, 1, &axis, 0, 0);
        g.in.buffer.GuaranteedBaseOffsetAlignment = element_bytes[type] / 2;
        refused(&g, TALLY_INVALID, "in", "GuaranteedBaseOffsetAlignment", __LINE__);
        g.in.buffer.GuaranteedBaseOffsetAlignment *= 2;
        cr_expect_eq(tally_descriptor_from_dml(&g.o, 0, &(tally_descriptor){ 0 }, NULL), TALLY_OK);
    }
}

Test(directml, rule_5_one_shape)
{
    given g;
    REFUSED(set_product, g.out.buffer.DataType = DML_TENSOR_DATA_TYPE_INT32, TALLY_INVALID, "dtype",
            "OutputTensor: DataType INT32 is not InputTensor's FLOAT32");
    REFUSED(set_product, g.out.buffer.DimensionCount = 3, TALLY_INVALID, "sizes",
            "OutputTensor: DimensionCount 3 is not InputTensor's 4");
    REFUSED(set_product, g.out.sizes[2] = 2, TALLY_INVALID, "sizes",
            "OutputTensor: Sizes[2] is 2 and not InputTensor's 3");
    REFUSED(set_sum, g.out.sizes[2] = 1, TALLY_INVALID, "sizes",
            "OutputTensor: Sizes[2] is 1 and not InputTensor's 3");
    REFUSED(set_sum, g.in.sizes[1] = 1; g.out.sizes[1] = 2;
            g.out.buffer.TotalTensorSizeInBytes = 24, TALLY_INVALID, "sizes",
            "OutputTensor: Sizes[1] is 2 and not 1");
}

Test(directml, rule_6_axes)
{
    given g;
    REFUSED(set_product, g.as.product.Axis = 4, TALLY_INVALID, "axis", "Axis 4");
    REFUSED(set_product, g.as.product.Axis = UINT32_MAX, TALLY_INVALID, "axis", "Axis 4294967295");
    REFUSED(set_product, g.as.product.AxisDirection = 2, TALLY_INVALID, "reverse",
            "AxisDirection 2");
    REFUSED(set_argmax, g.as.arg.AxisDirection = -1, TALLY_INVALID, "last", "AxisDirection -1");
    REFUSED(set_sum, g.axes[0] = 4, TALLY_INVALID, "axes", "Axes[0] 4");
    REFUSED(set_sum, g.axes[1] = 32 + 3, TALLY_INVALID, "axes", "Axes[1] 35");
    REFUSED(set_sum, g.axes[1] = 3, TALLY_INVALID, "axes", "Axes[1] 3 comes twice");
    REFUSED(set_sum, g.as.reduce.AxisCount = 5, TALLY_INVALID, "axes", "AxisCount 5");
    REFUSED(set_sum, g.as.reduce.AxisCount = UINT32_MAX, TALLY_INVALID, "axes", "AxisCount");
    REFUSED(set_argmax, g.as.arg.Axes = NULL, TALLY_INVALID, "axes", "Axes is NULL");
}

Test(directml, rule_7_addresses)
{
    given g;
    REFUSED(set_product, set_strides(&g.out, (const uint32_t[]){ 24, 12, 4, 0 }), TALLY_INVALID,
            "out", "OutputTensor: two output elements");
    REFUSED(set_product, set_strides(&g.out, (const uint32_t[]){ 24, 12, 3, 1 }), TALLY_INVALID,
            "out", "OutputTensor: two output elements");
    TAKEN(set_product, set_strides(&g.out, (const uint32_t[]){ 0, 1, 2, 6 }),
          "cumprod:f32:1x2x3x4:axis=3,out=0x1x2x6");
    TAKEN(set_product, set_strides(&g.in, (const uint32_t[]){ 0, 0, 0, 0 }),
          "cumprod:f32:1x2x3x4:axis=3,in=0x0x0x0");
    TAKEN(set_product, set_strides(&g.in, (const uint32_t[]){ 24, 12, 4, 1 });
          set_strides(&g.out, (const uint32_t[]){ 24, 12, 4, 1 }), "cumprod:f32:1x2x3x4:axis=3");
    /* Not a matter of addresses, but found where they are: an index beyond i32. */
    static const uint32_t many[] = { 65535, 65536 }, one[] = { 1, 1 }, axes[] = { 0, 1 };
    memset(&g, 0, sizeof g);
    set_tensor(&g.in, DML_TENSOR_DATA_TYPE_UINT8, 2, many);
    set_tensor(&g.out, DML_TENSOR_DATA_TYPE_INT32, 2, one);
    set_operator(&g, DML_OPERATOR_ARGMIN, 0, 2, axes, 0, 0);
    refused(&g, TALLY_INVALID, "dtype", "OutputTensor: the last of 4294901760", __LINE__);
    g.out.buffer.DataType = DML_TENSOR_DATA_TYPE_UINT32;
    taken(&g, "argmin:u8>u32:65535x65536:keepdims", __LINE__);
}

/* Faults are added from the last rule to the first: the first one is told. */
Test(directml, order_of_rules)
{
    given g;
    set_product(&g);
#define ALSO(change, field, part) \
    do { \
        change; \
        refused(&g, due, field, part, __LINE__); \
    } while (0)
    tally_status due = TALLY_INVALID;
    ALSO(set_strides(&g.out, (const uint32_t[]){ 0, 0, 0, 0 }), "out", "two output elements");
    ALSO(g.out.sizes[0] = 2, "sizes", "Sizes[0] is 2");
    ALSO(g.as.product.AxisDirection = 7, "reverse", "AxisDirection");
    ALSO(g.as.product.Axis = 9, "axis", "Axis 9");
    ALSO(g.out.buffer.DimensionCount = 5; g.out.sizes[4] = 1, "sizes", "DimensionCount 5 is not");
    due = TALLY_UNSUPPORTED;
    ALSO(g.in.buffer.DataType = g.out.buffer.DataType = DML_TENSOR_DATA_TYPE_FLOAT64;
         g.in.buffer.TotalTensorSizeInBytes = 192;
         g.out.buffer.TotalTensorSizeInBytes = 8, "dtype", "FLOAT64");
    ALSO(g.level = DML_FEATURE_LEVEL_3_0, "op", "level 3_0 has no CUMULATIVE_PRODUCT");
    due = TALLY_INVALID;
    ALSO(g.out.buffer.GuaranteedBaseOffsetAlignment = 4, "out", "Alignment");
    ALSO(g.in.buffer.GuaranteedBaseOffsetAlignment = 4, "in", "Alignment");
    ALSO(g.out.buffer.TotalTensorSizeInBytes = 1, "out", "below 8");
    ALSO(g.in.buffer.TotalTensorSizeInBytes = 1, "in", "below 192");
    ALSO(g.out.sizes[3] = 0, "sizes", "OutputTensor: Sizes[3]");
    ALSO(g.in.buffer.DimensionCount = 0, "sizes", "InputTensor: DimensionCount");
    due = TALLY_UNSUPPORTED;
    ALSO(g.out.buffer.Flags = 1, "out", "Flags");
    due = TALLY_INVALID;
    ALSO(g.out.buffer.DataType = 99, "dtype", "OutputTensor: DataType");
    ALSO(g.out.tensor.Type = 0, "out", "Type 0");
    ALSO(g.in.tensor.Type = 0, "in", "Type 0");
    due = TALLY_UNSUPPORTED;
    ALSO(g.o.Type = 1, "op", "Type 1");
    due = TALLY_INVALID;
    ALSO(g.level = 7, "usage", "0x7");
}

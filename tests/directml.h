/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the units on tally/directml.h share: a description with all that it points to, in one place,
 * so that a test changes the member that it is about.
 */
#ifndef TLY_TEST_DIRECTML_H
#define TLY_TEST_DIRECTML_H

#include <criterion/criterion.h>
#include <string.h>

#define TALLY_DML_NAMES
#include <tally.h>

typedef struct given_tensor {
    uint32_t sizes[9], strides[9];
    DML_BUFFER_TENSOR_DESC buffer;
    DML_TENSOR_DESC tensor;
} given_tensor;

typedef struct given {
    given_tensor in, out;
    uint32_t axes[9];
    union {
        DML_CUMULATIVE_SUMMATION_OPERATOR_DESC summation;
        DML_CUMULATIVE_PRODUCT_OPERATOR_DESC product;
        DML_REDUCE_OPERATOR_DESC reduce;
        DML_ARGMAX_OPERATOR_DESC arg; /* and ARGMIN */
    } as;
    DML_OPERATOR_DESC o;
    uint32_t level;
} given;

/* Of an element its dtype and bytes, by DirectML's number of its type. */
static const char *const element_dtypes[] = { "",    "f32", "f16", "u32", "u16", "u8",
                                              "i32", "i16", "i8",  "f64", "u64", "i64" };
static const uint32_t element_bytes[] = { 0, 4, 2, 4, 2, 1, 4, 2, 1, 8, 8, 8, 0, 0 };

/* A packed tensor of TotalTensorSizeInBytes as small as can be. */
static inline void set_tensor(given_tensor *t, int32_t type, uint32_t count, const uint32_t *sizes)
{
    uint64_t elements = 1;
    memset(t, 0, sizeof *t);
    for (uint32_t i = 0; i < count; i++) {
        t->sizes[i] = sizes[i];
        elements *= sizes[i];
    }
    t->buffer = (DML_BUFFER_TENSOR_DESC){
        .DataType = type,
        .DimensionCount = count,
        .Sizes = t->sizes,
        .TotalTensorSizeInBytes = (elements * element_bytes[type] + 3) / 4 * 4,
    };
    t->tensor = (DML_TENSOR_DESC){ DML_TENSOR_TYPE_BUFFER, &t->buffer };
}

/* Strides, and as many bytes as they need. */
static inline void set_strides(given_tensor *t, const uint32_t *strides)
{
    uint64_t last = 0;
    for (uint32_t i = 0; i < t->buffer.DimensionCount; i++) {
        t->strides[i] = strides[i];
        last += (uint64_t)(t->sizes[i] - 1) * strides[i];
    }
    t->buffer.Strides = t->strides;
    t->buffer.TotalTensorSizeInBytes = ((last + 1) * element_bytes[t->buffer.DataType] + 3) / 4 * 4;
}

/* `function` is of REDUCE alone. A scan has one axis. */
static inline void set_operator(given *g, int32_t type, int32_t function, uint32_t axis_count,
                                const uint32_t *axes, int32_t direction, int32_t exclusive)
{
    if (axis_count > 0) {
        memcpy(g->axes, axes, axis_count * sizeof *axes);
    }
    g->o = (DML_OPERATOR_DESC){ type, &g->as };
    switch (type) {
    case DML_OPERATOR_CUMULATIVE_SUMMATION:
        g->as.summation = (DML_CUMULATIVE_SUMMATION_OPERATOR_DESC){ &g->in.tensor, &g->out.tensor,
                                                                    axes[0], direction, exclusive };
        break;
    case DML_OPERATOR_CUMULATIVE_PRODUCT:
        g->as.product = (DML_CUMULATIVE_PRODUCT_OPERATOR_DESC){ &g->in.tensor, &g->out.tensor,
                                                                axes[0], direction, exclusive };
        break;
    case DML_OPERATOR_REDUCE:
        g->as.reduce = (DML_REDUCE_OPERATOR_DESC){ function, &g->in.tensor, &g->out.tensor,
                                                   axis_count, g->axes };
        break;
    default:
        g->as.arg = (DML_ARGMAX_OPERATOR_DESC){ &g->in.tensor, &g->out.tensor, axis_count, g->axes,
                                                direction };
    }
}

#endif

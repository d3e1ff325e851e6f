/* SPDX-License-Identifier: Apache-2.0 */
/* In the place of Microsoft's header: its guard, and its way of declaring; directml_names.c. */
#ifndef DIRECTML_H
#define DIRECTML_H

typedef enum DML_TENSOR_DATA_TYPE {
    DML_TENSOR_DATA_TYPE_UNKNOWN,
    DML_TENSOR_DATA_TYPE_FLOAT32
} DML_TENSOR_DATA_TYPE;

typedef enum DML_TENSOR_TYPE { DML_TENSOR_TYPE_INVALID, DML_TENSOR_TYPE_BUFFER } DML_TENSOR_TYPE;

typedef enum DML_TENSOR_FLAGS {
    DML_TENSOR_FLAG_NONE = 0,
    DML_TENSOR_FLAG_OWNED_BY_DML = 1
} DML_TENSOR_FLAGS;

typedef enum DML_OPERATOR_TYPE { DML_OPERATOR_CUMULATIVE_PRODUCT = 145 } DML_OPERATOR_TYPE;

typedef struct DML_BUFFER_TENSOR_DESC {
    DML_TENSOR_DATA_TYPE DataType;
    DML_TENSOR_FLAGS Flags;
    unsigned int DimensionCount;
    const unsigned int *Sizes;
    const unsigned int *Strides;
    uint64_t TotalTensorSizeInBytes;
    unsigned int GuaranteedBaseOffsetAlignment;
} DML_BUFFER_TENSOR_DESC;

typedef struct DML_TENSOR_DESC {
    DML_TENSOR_TYPE Type;
    const void *Desc;
} DML_TENSOR_DESC;

typedef struct DML_OPERATOR_DESC {
    DML_OPERATOR_TYPE Type;
    const void *Desc;
} DML_OPERATOR_DESC;

typedef struct DML_CUMULATIVE_PRODUCT_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor;
    const DML_TENSOR_DESC *OutputTensor;
    unsigned int Axis;
    int AxisDirection;
    int HasExclusiveProduct;
} DML_CUMULATIVE_PRODUCT_OPERATOR_DESC;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DirectML's descriptions of scans and reductions as descriptors of Tally: docs/directml.md.
 *
 * The structs have the members, the order and the padding of those in DirectML.h, and the constants
 * have its values. What a program fills for DirectML can therefore be read here. All names begin
 * with tally_dml_ or TALLY_DML_, so one C++ file can include this header and DirectML.h, in either
 * order.
 *
 * Where DirectML.h is missing, a program can keep DirectML's own names: it defines TALLY_DML_NAMES
 * before it includes this header. Then each type and constant has its DML_ name, too, unless
 * DirectML.h came first. DirectML.h must not follow. UINT and BOOL are left to the program.
 */
#ifndef TALLY_DIRECTML_H
#define TALLY_DIRECTML_H

#include <tally/descriptor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The constants, XX(name, value): DirectML's name is the one here behind a prefix. */

/** Types of elements; DML_TENSOR_DATA_TYPE_... */
#define TALLY_DML_DATA_TYPE_MAP(XX) \
    XX(UNKNOWN, 0) \
    XX(FLOAT32, 1) \
    XX(FLOAT16, 2) \
    XX(UINT32, 3) \
    XX(UINT16, 4) \
    XX(UINT8, 5) \
    XX(INT32, 6) \
    XX(INT16, 7) \
    XX(INT8, 8) \
    XX(FLOAT64, 9) \
    XX(UINT64, 10) \
    XX(INT64, 11) \
    XX(UINT4, 12) \
    XX(INT4, 13)

/** The operators that Tally computes; DML_OPERATOR_... */
#define TALLY_DML_OPERATOR_MAP(XX) \
    XX(REDUCE, 55) \
    XX(CUMULATIVE_SUMMATION, 105) \
    XX(ARGMIN, 137) \
    XX(ARGMAX, 138) \
    XX(CUMULATIVE_PRODUCT, 145)

/** The functions of REDUCE; DML_REDUCE_FUNCTION_... */
#define TALLY_DML_REDUCE_FUNCTION_MAP(XX) \
    XX(ARGMAX, 0) \
    XX(ARGMIN, 1) \
    XX(AVERAGE, 2) \
    XX(L1, 3) \
    XX(L2, 4) \
    XX(LOG_SUM, 5) \
    XX(LOG_SUM_EXP, 6) \
    XX(MAX, 7) \
    XX(MIN, 8) \
    XX(MULTIPLY, 9) \
    XX(SUM, 10) \
    XX(SUM_SQUARE, 11)

/** Directions; DML_AXIS_DIRECTION_... */
#define TALLY_DML_AXIS_DIRECTION_MAP(XX) \
    XX(INCREASING, 0) \
    XX(DECREASING, 1)

/** Feature levels; DML_FEATURE_LEVEL_... */
#define TALLY_DML_FEATURE_LEVEL_MAP(XX) \
    XX(1_0, 0x1000) \
    XX(2_0, 0x2000) \
    XX(2_1, 0x2100) \
    XX(3_0, 0x3000) \
    XX(3_1, 0x3100) \
    XX(4_0, 0x4000) \
    XX(4_1, 0x4100) \
    XX(5_0, 0x5000) \
    XX(5_1, 0x5100) \
    XX(5_2, 0x5200) \
    XX(6_0, 0x6000) \
    XX(6_1, 0x6100) \
    XX(6_2, 0x6200) \
    XX(6_3, 0x6300) \
    XX(6_4, 0x6400)

#define TALLY_DML_ENUMERATOR(name, value) TALLY_DML_##name = value,
#define TALLY_DML_FUNCTION_ENUMERATOR(name, value) TALLY_DML_REDUCE_##name = value,
#define TALLY_DML_LEVEL_ENUMERATOR(name, value) TALLY_DML_FEATURE_LEVEL_##name = value,

/** TALLY_DML_FLOAT32, ... */
typedef enum tally_dml_tensor_data_type {
    TALLY_DML_DATA_TYPE_MAP(TALLY_DML_ENUMERATOR)
} tally_dml_tensor_data_type;

/** TALLY_DML_REDUCE, ... */
typedef enum tally_dml_operator_type {
    TALLY_DML_OPERATOR_MAP(TALLY_DML_ENUMERATOR)
} tally_dml_operator_type;

/** TALLY_DML_REDUCE_ARGMAX, ... */
typedef enum tally_dml_reduce_function {
    TALLY_DML_REDUCE_FUNCTION_MAP(TALLY_DML_FUNCTION_ENUMERATOR)
} tally_dml_reduce_function;

/** TALLY_DML_INCREASING: scans go from the start of the axis to its end, and of equal elements
 *  ARGMIN and ARGMAX take the first. TALLY_DML_DECREASING: from its end, and the last. */
typedef enum tally_dml_axis_direction {
    TALLY_DML_AXIS_DIRECTION_MAP(TALLY_DML_ENUMERATOR)
} tally_dml_axis_direction;

/** TALLY_DML_FEATURE_LEVEL_1_0, ... */
typedef enum tally_dml_feature_level {
    TALLY_DML_FEATURE_LEVEL_MAP(TALLY_DML_LEVEL_ENUMERATOR)
} tally_dml_feature_level;

#undef TALLY_DML_ENUMERATOR
#undef TALLY_DML_FUNCTION_ENUMERATOR
#undef TALLY_DML_LEVEL_ENUMERATOR

enum {
    TALLY_DML_TENSOR_TYPE_BUFFER = 1,      /**< tally_dml_tensor_desc.Type */
    TALLY_DML_TENSOR_FLAG_NONE = 0,        /**< tally_dml_buffer_tensor_desc.Flags */
    TALLY_DML_TENSOR_FLAG_OWNED_BY_DML = 1 /**< unsupported: Tally owns no tensors */
};

/** DML_BUFFER_TENSOR_DESC: how a tensor lies in a buffer. */
typedef struct tally_dml_buffer_tensor_desc {
    int32_t DataType;        /**< a tally_dml_tensor_data_type */
    int32_t Flags;           /**< 0 */
    uint32_t DimensionCount; /**< 1 to 8 */
    const uint32_t *Sizes;   /**< in elements, one for each dimension; none may be 0 */
    const uint32_t *Strides; /**< in elements, one for each dimension; NULL: packed, row-major */
    uint64_t TotalTensorSizeInBytes;        /**< at least tally_dml_buffer_tensor_size */
    uint32_t GuaranteedBaseOffsetAlignment; /**< in bytes: 0, or a power of two that is not below
                                                 the size of an element; kernels ignore it */
} tally_dml_buffer_tensor_desc;

/** DML_TENSOR_DESC */
typedef struct tally_dml_tensor_desc {
    int32_t Type;     /**< TALLY_DML_TENSOR_TYPE_BUFFER */
    const void *Desc; /**< a tally_dml_buffer_tensor_desc */
} tally_dml_tensor_desc;

/** DML_OPERATOR_DESC */
typedef struct tally_dml_operator_desc {
    int32_t Type;     /**< a tally_dml_operator_type */
    const void *Desc; /**< the struct below for this operator */
} tally_dml_operator_desc;

/** DML_CUMULATIVE_SUMMATION_OPERATOR_DESC */
typedef struct tally_dml_cumulative_summation_operator_desc {
    const tally_dml_tensor_desc *InputTensor;
    const tally_dml_tensor_desc *OutputTensor;
    uint32_t Axis;
    int32_t AxisDirection;   /**< a tally_dml_axis_direction */
    int32_t HasExclusiveSum; /**< 0: y[i] includes x[i]; any other value: it does not */
} tally_dml_cumulative_summation_operator_desc;

/** DML_CUMULATIVE_PRODUCT_OPERATOR_DESC */
typedef struct tally_dml_cumulative_product_operator_desc {
    const tally_dml_tensor_desc *InputTensor;
    const tally_dml_tensor_desc *OutputTensor;
    uint32_t Axis;
    int32_t AxisDirection;       /**< a tally_dml_axis_direction */
    int32_t HasExclusiveProduct; /**< 0: y[i] includes x[i]; any other value: it does not */
} tally_dml_cumulative_product_operator_desc;

/** DML_REDUCE_OPERATOR_DESC */
typedef struct tally_dml_reduce_operator_desc {
    int32_t Function; /**< a tally_dml_reduce_function */
    const tally_dml_tensor_desc *InputTensor;
    const tally_dml_tensor_desc *OutputTensor;
    uint32_t AxisCount;
    const uint32_t *Axes; /**< AxisCount axes that are reduced, in any order; may be NULL if
                               AxisCount is 0, and then each element is reduced alone */
} tally_dml_reduce_operator_desc;

/** DML_ARGMIN_OPERATOR_DESC */
typedef struct tally_dml_argmin_operator_desc {
    const tally_dml_tensor_desc *InputTensor;
    const tally_dml_tensor_desc *OutputTensor;
    uint32_t AxisCount;
    const uint32_t *Axes;  /**< as in tally_dml_reduce_operator_desc */
    int32_t AxisDirection; /**< a tally_dml_axis_direction */
} tally_dml_argmin_operator_desc;

/** DML_ARGMAX_OPERATOR_DESC */
typedef tally_dml_argmin_operator_desc tally_dml_argmax_operator_desc;

/**
 * Reads a description of DirectML's into `*descriptor`, which is filled and normalised as by
 * tally_descriptor_parse. Nothing of the description is needed after the call.
 *
 * `level` is a tally_dml_feature_level, whose tables of data types and dimension counts hold; 0
 * stands for the newest. docs/directml.md has the tables.
 *
 * The result has the sizes of OutputTensor, so reductions have TALLY_KEEPDIMS. A kernel reads and
 * writes only within TotalTensorSizeInBytes of the pointers that a run gets.
 *
 * Returns TALLY_INVALID if the description breaks a rule of DirectML, or if Tally cannot prove that
 * the elements of OutputTensor have distinct addresses. Returns TALLY_UNSUPPORTED for operators
 * that are no scan or reduction, for what the level lacks, for tensors that DirectML owns and for
 * elements of 4 bits. error->field is a name of the word's grammar, and the message names the
 * member. An argument that is NULL, or a level that is none, has the field "usage". On failure
 * `*descriptor` is not changed. Thread-safe.
 */
TALLY_API tally_status tally_descriptor_from_dml(const tally_dml_operator_desc *operator_desc,
                                                 uint32_t level, tally_descriptor *descriptor,
                                                 tally_error *error);

/**
 * Returns the smallest TotalTensorSizeInBytes of a tensor: the bytes from its first element to its
 * last one, both included, rounded up to a multiple of 4. `sizes` and `strides` have
 * `dimension_count` elements; `strides` may be NULL for a packed tensor.
 *
 * Returns 0 if there is no such tensor: if the data type is unknown or has 4 bits, if the dimension
 * count is not in [1, 8], if `sizes` is NULL or one of them is 0, or if the tensor has or spans
 * more than 2^32 - 1 elements. Thread-safe.
 */
TALLY_API uint64_t tally_dml_buffer_tensor_size(int32_t data_type, uint32_t dimension_count,
                                                const uint32_t *sizes, const uint32_t *strides);

#ifdef __cplusplus
}
#endif
#endif

/* Outside of the guard above, so that a second inclusion can ask for the names. */
#if defined(TALLY_DML_NAMES) && !defined(DIRECTML_H) && !defined(TALLY_DML_NAMES_ARE_HERE)
#define TALLY_DML_NAMES_ARE_HERE

/* Integers, as in the structs: C++ converts no integer to an enumeration. */
typedef int32_t DML_TENSOR_DATA_TYPE, DML_TENSOR_TYPE, DML_TENSOR_FLAGS, DML_OPERATOR_TYPE;
typedef int32_t DML_REDUCE_FUNCTION, DML_AXIS_DIRECTION, DML_FEATURE_LEVEL;
typedef tally_dml_buffer_tensor_desc DML_BUFFER_TENSOR_DESC;
typedef tally_dml_tensor_desc DML_TENSOR_DESC;
typedef tally_dml_operator_desc DML_OPERATOR_DESC;
typedef tally_dml_cumulative_summation_operator_desc DML_CUMULATIVE_SUMMATION_OPERATOR_DESC;
typedef tally_dml_cumulative_product_operator_desc DML_CUMULATIVE_PRODUCT_OPERATOR_DESC;
typedef tally_dml_reduce_operator_desc DML_REDUCE_OPERATOR_DESC;
typedef tally_dml_argmin_operator_desc DML_ARGMIN_OPERATOR_DESC;
typedef tally_dml_argmax_operator_desc DML_ARGMAX_OPERATOR_DESC;

#define TALLY_DML_DATA_TYPE(name, value) DML_TENSOR_DATA_TYPE_##name = value,
#define TALLY_DML_OPERATOR(name, value) DML_OPERATOR_##name = value,
#define TALLY_DML_FUNCTION(name, value) DML_REDUCE_FUNCTION_##name = value,
#define TALLY_DML_DIRECTION(name, value) DML_AXIS_DIRECTION_##name = value,
#define TALLY_DML_LEVEL(name, value) DML_FEATURE_LEVEL_##name = value,
enum { TALLY_DML_DATA_TYPE_MAP(TALLY_DML_DATA_TYPE) };
enum { TALLY_DML_OPERATOR_MAP(TALLY_DML_OPERATOR) };
enum { TALLY_DML_REDUCE_FUNCTION_MAP(TALLY_DML_FUNCTION) };
enum { TALLY_DML_AXIS_DIRECTION_MAP(TALLY_DML_DIRECTION) };
enum { TALLY_DML_FEATURE_LEVEL_MAP(TALLY_DML_LEVEL) };
enum {
    DML_TENSOR_TYPE_BUFFER = TALLY_DML_TENSOR_TYPE_BUFFER,
    DML_TENSOR_FLAG_NONE = TALLY_DML_TENSOR_FLAG_NONE,
    DML_TENSOR_FLAG_OWNED_BY_DML = TALLY_DML_TENSOR_FLAG_OWNED_BY_DML
};
#undef TALLY_DML_DATA_TYPE
#undef TALLY_DML_OPERATOR
#undef TALLY_DML_FUNCTION
#undef TALLY_DML_DIRECTION
#undef TALLY_DML_LEVEL
#endif

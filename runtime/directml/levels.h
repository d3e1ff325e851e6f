/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What DirectML's documents say in tables: operators, data types, and at which feature level an
 * operator takes which data types and dimension counts.
 */
#ifndef TLY_DML_LEVELS_H
#define TLY_DML_LEVELS_H

#include <tally/directml.h>

/* A data type; `dtype` is 0 if Tally has no elements of it. */
typedef struct tly_dml_type {
    const char *name; /* FLOAT32 */
    uint8_t dtype;    /* tally_dtype */
} tly_dml_type;

enum { TLY_DML_TYPES = TALLY_DML_INT4 + 1 };
extern const tly_dml_type tly_dml_types[TLY_DML_TYPES];

/* Whether a number is a data type. */
static inline int tly_dml_is_type(int32_t type)
{
    return type > TALLY_DML_UNKNOWN && type < TLY_DML_TYPES;
}

/* Operators that share a table. */
typedef enum tly_dml_family {
    TLY_DML_SUMMATION,
    TLY_DML_PRODUCT,
    TLY_DML_MEANS,
    TLY_DML_SQUARES,
    TLY_DML_SUMS,
    TLY_DML_EXTREMES,
    TLY_DML_REDUCED_ARGS, /* of REDUCE */
    TLY_DML_ARGS,
} tly_dml_family;

/* A function of REDUCE, or another operator, whose `function` is this. */
#define TLY_DML_NO_FUNCTION (-1)
typedef struct tly_dml_operator {
    const char *name; /* CUMULATIVE_PRODUCT, or the function's: SUM */
    int32_t type, function;
    uint8_t op;     /* tally_op */
    uint8_t family; /* tly_dml_family */
} tly_dml_operator;

/* NULL: Tally has no such operator. */
const tly_dml_operator *tly_dml_find_operator(int32_t type, int32_t function);

/* Whether a number is a feature level. */
int tly_dml_is_level(uint32_t level);

/* The data types and dimension counts of two tensors, of which `input` and `output` are known, by
 * the table of a level (0: the newest). */
tally_status tly_dml_check_level(const tly_dml_operator *o, uint32_t level,
                                 const tally_dml_buffer_tensor_desc *input,
                                 const tally_dml_buffer_tensor_desc *output, tally_error *error);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of operators and dtypes, as tables: a new one is a row here. And what follows from
 * a descriptor by these tables alone.
 */
#include "descriptor.h"

#include <string.h>

#include "problem.h"

#define STRIDES (TALLY_IN_STRIDES | TALLY_OUT_STRIDES)
#define SCAN (TALLY_EXCLUSIVE | TALLY_REVERSE | STRIDES)
#define REDUCE (TALLY_KEEPDIMS | STRIDES)
#define PICK TALLY_NAN_IGNORE

const tly_op_facts tly_ops[TALLY_OP_COUNT] = {
    [TALLY_CUMSUM] = { "cumsum", 1, 0, SCAN, 1, 1 },
    [TALLY_CUMPROD] = { "cumprod", 1, 0, SCAN, 1, 1 },
    [TALLY_CUMMAX] = { "cummax", 1, 0, SCAN | PICK, 0, 0 },
    [TALLY_CUMMIN] = { "cummin", 1, 0, SCAN | PICK, 0, 0 },
    [TALLY_CUMLOGSUMEXP] = { "cumlogsumexp", 1, 0, SCAN, 0, 0 },
    [TALLY_SUM] = { "sum", 0, 0, REDUCE, 1, 1 },
    [TALLY_PROD] = { "prod", 0, 0, REDUCE, 1, 1 },
    [TALLY_MEAN] = { "mean", 0, 0, REDUCE, 1, 0 },
    [TALLY_L1] = { "l1", 0, 0, REDUCE, 1, 0 },
    [TALLY_L2] = { "l2", 0, 0, REDUCE, 1, 0 },
    [TALLY_SUM_SQUARE] = { "sum_square", 0, 0, REDUCE, 1, 1 },
    [TALLY_LOG_SUM] = { "log_sum", 0, 0, REDUCE, 0, 0 },
    [TALLY_LOG_SUM_EXP] = { "log_sum_exp", 0, 0, REDUCE, 0, 0 },
    [TALLY_MAX] = { "max", 0, 0, REDUCE | PICK, 0, 0 },
    [TALLY_MIN] = { "min", 0, 0, REDUCE | PICK, 0, 0 },
    [TALLY_ARGMAX] = { "argmax", 0, TALLY_I64, REDUCE | PICK | TALLY_LAST, 0, 0 },
    [TALLY_ARGMIN] = { "argmin", 0, TALLY_I64, REDUCE | PICK | TALLY_LAST, 0, 0 },
};

const tly_dtype_facts tly_dtypes[TALLY_DTYPE_COUNT] = {
    [TALLY_F64] = { "f64", 8, TALLY_F64, 1, 0 },
    [TALLY_F32] = { "f32", 4, TALLY_F32, 1, 0 },
    [TALLY_F16] = { "f16", 2, TALLY_F32, 1, 0 },
    [TALLY_BF16] = { "bf16", 2, TALLY_F32, 1, 0 },
    [TALLY_I64] = { "i64", 8, TALLY_I64, 0, INT64_MAX },
    [TALLY_I32] = { "i32", 4, TALLY_I32, 0, INT32_MAX },
    [TALLY_I16] = { "i16", 2, TALLY_I16, 0, INT16_MAX },
    [TALLY_I8] = { "i8", 1, TALLY_I8, 0, INT8_MAX },
    [TALLY_U64] = { "u64", 8, TALLY_U64, 0, UINT64_MAX },
    [TALLY_U32] = { "u32", 4, TALLY_U32, 0, UINT32_MAX },
    [TALLY_U16] = { "u16", 2, TALLY_U16, 0, UINT16_MAX },
    [TALLY_U8] = { "u8", 1, TALLY_U8, 0, UINT8_MAX },
    [TALLY_BOOL] = { "bool", 1, TALLY_BOOL, 0, 0 },
};

size_t tally_dtype_bytes(tally_dtype dtype)
{
    return (unsigned)dtype < TALLY_DTYPE_COUNT ? tly_dtypes[dtype].bytes : 0;
}

const char *tally_dtype_name(tally_dtype dtype)
{
    return (unsigned)dtype < TALLY_DTYPE_COUNT ? tly_dtypes[dtype].name : NULL;
}

const char *tally_op_name(tally_op op)
{
    return (unsigned)op < TALLY_OP_COUNT ? tly_ops[op].name : NULL;
}

/* A wider output's dtype is computed in; indices are told of what is compared in the input's. */
const tly_dtype_facts *tly_computed(const tally_descriptor *d)
{
    const int is_output = d->out_dtype != 0 && tly_ops[d->op].out_dtype == 0;
    return &tly_dtypes[is_output ? d->out_dtype : d->dtype];
}

tally_dtype tly_accumulator(const tally_descriptor *d)
{
    return d->acc == TALLY_F64 ? TALLY_F64 : (tally_dtype)tly_computed(d)->accumulator;
}

uint32_t tly_all_axes(int32_t rank)
{
    return (1u << rank) - 1;
}

void tly_descriptor_shorten(tally_descriptor *full)
{
    const tly_op_facts *op = &tly_ops[full->op];
    if (full->acc == tly_computed(full)->accumulator) {
        full->acc = 0;
    }
    if (full->out_dtype == (op->out_dtype != 0 ? op->out_dtype : full->dtype)) {
        full->out_dtype = 0;
    }
    if (!op->scan && full->axes == tly_all_axes(full->rank)) {
        full->axes = 0;
        full->axes_given = 0;
    }
    if (!(full->flags & TALLY_IN_STRIDES)) {
        memset(full->in_strides, 0, sizeof full->in_strides);
    }
    if (!(full->flags & TALLY_OUT_STRIDES)) {
        memset(full->out_strides, 0, sizeof full->out_strides);
    }
}

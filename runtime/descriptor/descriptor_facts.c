/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of operators and dtypes, as tables: a new one is a row here. And what follows from
 * a descriptor by these tables alone.
 */
#include "descriptor.h"
#include "stages.h"

#include <string.h>

#define STRIDES (TALLY_IN_STRIDES | TALLY_OUT_STRIDES)
#define SCAN (TALLY_EXCLUSIVE | TALLY_REVERSE | STRIDES)
#define REDUCE (TALLY_KEEPDIMS | STRIDES)
#define PICK TALLY_NAN_IGNORE
#define RUNNING_INDEX (TALLY_REVERSE | TALLY_LAST | PICK | STRIDES)

const tly_op_facts tly_ops[TALLY_OP_COUNT] = {
#define FACTS(...) __VA_ARGS__
#define OPERATOR(NAME, facts, kernel, code, about) [TALLY_##NAME] = { facts },
#include "operators.def"
#undef OPERATOR
#undef FACTS
};

/* Objects made ahead of time, which are freestanding, have no names of dtypes and operators. */
const tly_dtype_facts tly_dtypes[TALLY_DTYPE_COUNT] = {
#if __STDC_HOSTED__
#define FACTS(...) __VA_ARGS__
#else
#define FACTS(name, ...) NULL, __VA_ARGS__
#endif
#define DTYPE(NAME, facts, kernel, file) [TALLY_##NAME] = { facts },
#include "dtypes.def"
#undef DTYPE
#undef FACTS
};

size_t tally_dtype_bytes(tally_dtype dtype)
{
    return (unsigned)dtype < TALLY_DTYPE_COUNT ? tly_dtypes[dtype].bytes : 0;
}

#if __STDC_HOSTED__
const char *tally_dtype_name(tally_dtype dtype)
{
    return (unsigned)dtype < TALLY_DTYPE_COUNT ? tly_dtypes[dtype].name : NULL;
}

const char *tally_op_name(tally_op op)
{
    static const char *const names[TALLY_OP_COUNT] = {
#define NAMED(enumerator, name) [enumerator] = #name,
        TALLY_OP_MAP(NAMED)
#undef NAMED
    };
    return (unsigned)op < TALLY_OP_COUNT ? names[op] : NULL;
}
#endif

int32_t tally_op_is_scan(tally_op op)
{
    return (unsigned)op < TALLY_OP_COUNT && tly_ops[op].scan;
}

/* Whether an output with expressions only rounds what is computed in the input's dtype. */
static int is_narrower(const tally_descriptor *d)
{
    const tly_dtype_facts *in = &tly_dtypes[d->dtype], *out = &tly_dtypes[d->out_dtype];
    if (!tly_has_expressions(d) && !tly_ops[d->op].has_coef) {
        return 0;
    }
    return in->wide ? d->dtype == TALLY_F64 || !out->wide
                    : in->largest != 0 && !out->wide && out->bytes <= in->bytes;
}

/* A wider output's dtype is computed in; indices are told of what is compared in the input's. */
const tly_dtype_facts *tly_computed(const tally_descriptor *d)
{
    const int is_output = d->out_dtype != 0 && tly_ops[d->op].out_dtype == 0 && !is_narrower(d);
    return &tly_dtypes[is_output ? d->out_dtype : d->dtype];
}

tally_dtype tly_accumulator(const tally_descriptor *d)
{
    return d->acc == TALLY_F64 ? TALLY_F64 : (tally_dtype)tly_computed(d)->accumulator;
}

/* Integers in which elements are compared. Those of scans have 32 bits at least. So have those of
 * indices: each narrow dtype fits into an i32. */
static tally_dtype key_of(tally_dtype dtype, int scan, int indexed)
{
    const tally_dtype key = (tally_dtype)tly_dtypes[dtype].compared;
    if (tally_dtype_bytes(key) >= 4 || !(scan || indexed)) {
        return key;
    }
    return !indexed && (key == TALLY_U16 || key == TALLY_U8) ? TALLY_U32 : TALLY_I32;
}

int tly_dtype_fits(tally_dtype dtype, tally_dtype type)
{
    if (dtype == type) {
        return 1;
    }
    const tly_dtype_facts *from = &tly_dtypes[dtype], *to = &tly_dtypes[type];
    if (from->wide) { /* f16 and bf16 have values that the other one lacks */
        return type == TALLY_F64 || (type == TALLY_F32 && dtype != TALLY_F64);
    }
    return from->digits <= to->digits && from->has_sign <= to->has_sign;
}

int tly_type_is_integer(tally_dtype type)
{
    return !tly_dtypes[type].wide;
}

tally_dtype tly_expressions_type(const tally_descriptor *full)
{
    return full->acc == TALLY_BOOL ? TALLY_U8 : (tally_dtype)full->acc;
}

/* Whether integers are added exactly although the output is a float; `map` makes floats of them. */
static int is_mean_of_integers(const tally_descriptor *full)
{
    return tly_ops[full->op].computes == TLY_COMPUTES_EXACT && full->map[0] == 0 &&
           !tly_dtypes[full->dtype].wide && tly_dtypes[full->out_dtype].wide;
}

tally_dtype tly_problem_accumulator(const tally_descriptor *full)
{
    const tly_op_facts *op = &tly_ops[full->op];
    const tally_dtype acc = (tally_dtype)full->acc;
    const tally_dtype dtype = tly_has_expressions(full) ? tly_expressions_type(full)
                                                        : (tally_dtype)full->dtype;
    if (is_mean_of_integers(full)) {
        return tly_dtype_fits((tally_dtype)full->dtype, TALLY_U64) ? TALLY_U64 : TALLY_I64;
    }
    switch (op->computes) {
    case TLY_COMPUTES_WIDEST:
    case TLY_COMPUTES_EXACT:
        return acc == TALLY_I32 ? TALLY_I64 : acc == TALLY_U32 ? TALLY_U64 : acc;
    case TLY_COMPUTES_REALS:
        return tly_dtypes[dtype].largest != 0 ? TALLY_F64 : acc;
    case TLY_COMPUTES_KEYS:
    case TLY_COMPUTES_INDICES:
        return key_of(dtype, op->scan, op->computes == TLY_COMPUTES_INDICES);
    default:
        return acc;
    }
}

uint8_t tly_problem_after(const tally_descriptor *full)
{
    return is_mean_of_integers(full) ? TLY_STAGES_OF_REAL_MEAN : tly_ops[full->op].after;
}

int tly_tells_index(int op)
{
    return tly_ops[op].computes == TLY_COMPUTES_INDICES;
}

tly_sequence tly_sequence_of(const tally_descriptor *full)
{
    const int sequence = tly_ops[full->op].sequence;
    const int integers = tly_dtypes[full->out_dtype].largest != 0;
    return sequence == TLY_SEQUENCE_FLOATS && integers ? TLY_SEQUENCE_FREE : (tly_sequence)sequence;
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

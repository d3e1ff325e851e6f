/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What follows from a row of the table of operators, and the values that rows name.
 */
#include "operator.h"

#include <stddef.h>

#include "../../runtime/problem/gpu.h"

static const struct {
    uint8_t class;
    uint32_t wider, fused; /* bits by tally_dtype */
} dtypes[TALLY_DTYPE_COUNT] = {
#define KERNEL(...) __VA_ARGS__
#define DTYPE(NAME, facts, kernel, file) [TALLY_##NAME] = { kernel },
#include "../../runtime/descriptor/dtypes.def"
#undef DTYPE
#undef KERNEL
};

tly_class tly_class_of(tally_dtype dtype)
{
    return (tly_class)dtypes[dtype].class;
}

uint32_t tly_wider_of(tally_dtype dtype)
{
    return dtypes[dtype].wider;
}

uint32_t tly_fused_outputs(tally_dtype dtype)
{
    return dtypes[dtype].fused;
}

const tly_operator *tly_operator_of(const tly_problem *p)
{
    const tly_operator *o = tly_operator_find(p->op);
    const tally_dtype dtype = tly_element_dtype(p);
    const int wide = o != NULL && o->wide != 0 && tly_class_of(dtype) != TLY_FLOATING &&
                     tally_dtype_bytes(dtype) == 8;
    return wide ? tly_operator_find(o->wide) : o;
}

tally_dtype tly_index_dtype(const tly_problem *p)
{
    return p->counts_32 && tally_dtype_bytes((tally_dtype)p->acc) == 4 ? TALLY_I32 : TALLY_I64;
}

int tly_gpu_has_block(const tly_problem *p)
{
    return tly_reduces(p->form) || tly_tensors_of(p) > TLY_FIRST_OPERAND || p->segmented != 0 ||
           tly_has_index(p);
}

int tly_has_index(const tly_problem *p)
{
    const tly_operator *o = tly_operator_of(p);
    const int has = o->parts > 1 && o->part[1] == TLY_PART_INDEX;
    return has && (tly_reduces(p->form) || o->outputs == TLY_OUT_RUNNING);
}

unsigned tly_lane_bytes(const tly_problem *p)
{
    const unsigned bytes = (unsigned)tally_dtype_bytes((tally_dtype)p->acc);
    const unsigned stored = (unsigned)tly_element_bytes(p, TLY_OUT);
    return !tly_reduces(p->form) && tly_has_index(p) && stored > bytes ? stored : bytes;
}

unsigned tly_part_bytes(const tly_problem *p)
{
    const tly_operator *o = tly_operator_of(p);
    unsigned bytes = (unsigned)tally_dtype_bytes((tally_dtype)p->acc);
    for (unsigned i = 0; i < o->parts; i++)
        if (o->part[i] == TLY_PART_INDEX && bytes < tally_dtype_bytes(tly_index_dtype(p)))
            bytes = 8;
    return bytes;
}

int tly_results_are_states(const tly_problem *p)
{
    const tly_operator *o = tly_operator_of(p);
    return o->parts == 1 && !o->converts && p->before == 0 && p->after == 0;
}

int tly_is_plain(const tly_problem *p)
{
    return tly_results_are_states(p) && !tly_has_expression(p, TLY_EXPRESSION_POST);
}

int tly_is_of_reals(const tly_problem *p)
{
    return (p->after & 15) == TLY_STAGE_CAST;
}

kir_op tly_combines_by(const tly_problem *p)
{
    return (kir_op)tly_operator_of(p)->by[tly_class_of((tally_dtype)p->acc)];
}

int tly_multiplies_integers(const tly_problem *p)
{
    return tly_combines_by(p) == KIR_MUL && tly_class_of((tally_dtype)p->acc) != TLY_FLOATING;
}

int tly_is_wide_product(const tly_problem *p)
{
    return tly_multiplies_integers(p) && tally_dtype_bytes((tally_dtype)p->acc) == 8;
}

int tly_is_checked_as(const tly_problem *p, tly_range_check watch)
{
    return tly_class_of((tally_dtype)p->acc) == TLY_FLOATING && tly_operator_of(p)->check == watch;
}

/* Sums of elements that are narrower in exponents than the accumulator cannot leave its range, nor
 * can squares: 2^63 of the largest f16 are 2^79, of the largest f32 or bf16 2^191, and of their
 * squares 2^95 and 2^319. */
static int sums_stay(const tly_problem *p)
{
    const tally_dtype dtype = tly_element_dtype(p);
    return dtype == TALLY_F16 || (p->acc == TALLY_F64 && dtype != TALLY_F64);
}

int tly_keeps_range(const tly_problem *p)
{
    return tly_operator_of(p)->keeps && tly_class_of((tally_dtype)p->acc) == TLY_FLOATING &&
           !sums_stay(p);
}

unsigned tly_range_sides(const tly_problem *p)
{
    if (tly_is_checked_as(p, TLY_CHECK_PRODUCTS) || tly_is_checked_as(p, TLY_CHECK_LINEAR))
        return 2;
    return tly_is_checked_as(p, TLY_CHECK_SUMS) && !sums_stay(p);
}

/* Bits of floats. */
static const struct {
    uint64_t f64;
    uint32_t f32;
    uint16_t f16, bf16;
} values[TLY_VALUE_COUNT] = {
    [TLY_ZERO] = { 0, 0, 0, 0 },
    [TLY_MINUS_ZERO] = { UINT64_C(0x8000) << 48, 0x80000000, 0x8000, 0x8000 },
    [TLY_ONE] = { UINT64_C(0x3ff0) << 48, 0x3f800000, 0x3c00, 0x3f80 },
    [TLY_LEAST] = { UINT64_C(0xfff0) << 48, 0xff800000, 0xfc00, 0xff80 },
    [TLY_MOST] = { UINT64_C(0x7ff0) << 48, 0x7f800000, 0x7c00, 0x7f80 },
    [TLY_NAN] = { UINT64_C(0x7ff8) << 48, 0x7fc00000, 0x7e00, 0x7fc0 },
};

static uint64_t integer_bits(tly_value value, tally_dtype dtype)
{
    unsigned bits = dtype == TALLY_BOOL ? 1 : 8 * (unsigned)tally_dtype_bytes(dtype);
    uint64_t high = UINT64_C(1) << (bits - 1), all = high | (high - 1);
    int is_signed = tly_class_of(dtype) == TLY_SIGNED;
    switch (value) {
    case TLY_ONE:
        return 1;
    case TLY_LEAST:
        return is_signed ? high : 0;
    case TLY_MOST:
        return is_signed ? all - high : all;
    default:
        return 0;
    }
}

uint64_t tly_value_bits(tly_value value, tally_dtype dtype)
{
    switch (dtype) {
    case TALLY_F64:
        return values[value].f64;
    case TALLY_F32:
        return values[value].f32;
    case TALLY_F16:
        return values[value].f16;
    case TALLY_BF16:
        return values[value].bf16;
    default:
        return integer_bits(value, dtype);
    }
}

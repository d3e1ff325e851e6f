/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Floats beyond adding and multiplying: minimum and maximum, rounding, and what becomes an integer
 * and back. Of SPIR-V's own instructions only those are used whose result Vulkan fixes to the bit;
 * what it leaves open (NaN and zeros of FMin, floats that no integer is near) is made of
 * comparisons.
 */
#include <spirv/unified1/GLSL.std.450.h>

#include "lower.h"

static kir_type bits_of(kir_type type)
{
    return KIR_TYPE(type.kind == KIR_F32 ? KIR_I32 : KIR_I64, type.lanes);
}

/* ---- constants ---- */

static uint64_t bits_of_power(kir_type type, unsigned exponent)
{
    return type.kind == KIR_F32 ? (uint64_t)(127 + exponent) << 23
                                : (uint64_t)(1023 + exponent) << 52;
}

static tly_spv_value real(tly_spv_lowering *l, kir_type type, uint64_t bits)
{
    return (tly_spv_value){ .id = { tly_spv_constant(l, type, bits) } };
}

static tly_spv_value integer(tly_spv_lowering *l, kir_type type, uint64_t bits)
{
    tly_spv_value value = { 0 };
    if (tly_spv_paired(l, type)) {
        for (unsigned i = 0; i < 2u * type.lanes; i += 2) {
            value.id[i] = LITERAL(l, bits);
            value.id[i + 1] = LITERAL(l, bits >> 32);
        }
    } else {
        value.id[0] = tly_spv_constant(l, type, bits);
    }
    return value;
}

static tly_spv_value choose(tly_spv_lowering *l, kir_type type, uint32_t condition,
                            const tly_spv_value *yes, const tly_spv_value *no)
{
    tly_spv_value result = { 0 };
    tly_spv_select(l, type, condition, type.lanes, yes, no, &result);
    return result;
}

/* ---- minimum, maximum ---- */

/* x if it is on the wanted side of y, as integer bits; else y. */
static tly_spv_value nearer(tly_spv_lowering *l, kir_type type, const tly_spv_value *x,
                            const tly_spv_value *y, int least)
{
    uint32_t side = least ? tly_spv_compare(l, KIR_OLT, type, x, y)
                          : tly_spv_compare(l, KIR_OLT, type, y, x);
    tly_spv_value one = choose(l, type, side, x, y), bits = { 0 };
    tly_spv_bitcast(l, bits_of(type), type, &one, &bits);
    return bits;
}

/* As codegen/llvm/lower_ops.c does it: asked both ways round, only zeros and NaN differ. */
void tly_spv_lower_extremum(tly_spv_lowering *l, const kir_inst *inst, tly_spv_value *result)
{
    const int least = inst->op == KIR_MINIMUM || inst->op == KIR_MINIMUM_NUMBER;
    const int number = inst->op == KIR_MINIMUM_NUMBER || inst->op == KIR_MAXIMUM_NUMBER;
    const tly_spv_value *x = tly_spv_operand(l, inst, 0), *y = tly_spv_operand(l, inst, 1);
    kir_type type = inst->type;
    tly_spv_value one = nearer(l, type, x, y, least), other = nearer(l, type, y, x, least);
    tly_spv_value bits = { 0 }, both = { 0 };
    tly_spv_binary(l, least ? KIR_OR : KIR_AND, bits_of(type), &one, &other, &bits);
    tly_spv_bitcast(l, type, bits_of(type), &bits, &both);
    if (number) {
        uint32_t second = tly_spv_compare(l, KIR_UNO, type, y, y);
        uint32_t first = tly_spv_compare(l, KIR_UNO, type, x, x);
        both = choose(l, type, second, x, &both);
        *result = choose(l, type, first, y, &both);
        return;
    }
    tly_spv_value nan = real(l, type, type.kind == KIR_F32 ? 0x7fc00000 : UINT64_C(0x7ff8) << 48);
    *result = choose(l, type, tly_spv_compare(l, KIR_UNO, type, x, y), &nan, &both);
}

/* ---- rounding ---- */

void tly_spv_lower_round(tly_spv_lowering *l, const kir_inst *inst, tly_spv_value *result)
{
    uint32_t shape = tly_spv_type(l, inst->type), x = tly_spv_operand(l, inst, 0)->id[0];
    tly_spv_computes(l, inst->type);
    result->id[0] = tly_spv_glsl(
        &l->m, inst->op == KIR_ROUND ? GLSLstd450RoundEven : GLSLstd450Floor, shape, x);
}

/* ---- integers to floats ---- */

/* Every other word of a pair's parts, as a vector. */
static uint32_t half_of_pairs(tly_spv_lowering *l, const tly_spv_value *x, unsigned lanes,
                              unsigned half)
{
    uint32_t words[TLY_SPV_LANES];
    for (unsigned i = 0; i < lanes; i++) {
        words[i] = x->id[2 * i + half];
    }
    return tly_spv_uvec(l, words, lanes);
}

/* Both halves are exact; their sum rounds once. */
static void pairs_to_float(tly_spv_lowering *l, const kir_inst *inst, const tly_spv_value *x,
                           tly_spv_value *result)
{
    kir_type type = inst->type;
    uint32_t shape = tly_spv_type(l, type);
    uint32_t high = half_of_pairs(l, x, type.lanes, 1), low = half_of_pairs(l, x, type.lanes, 0);
    tly_spv_value scale = real(l, type, bits_of_power(type, 32)), scaled = { 0 };
    tly_spv_value upper = { .id = { inst->op == KIR_SITOFP ? OP(l, ConvertSToF, shape, high)
                                                           : OP(l, ConvertUToF, shape, high) } };
    tly_spv_value lower = { .id = { OP(l, ConvertUToF, shape, low) } };
    tly_spv_binary(l, KIR_MUL, type, &upper, &scale, &scaled);
    tly_spv_binary(l, KIR_ADD, type, &scaled, &lower, result);
}

void tly_spv_lower_to_float(tly_spv_lowering *l, const kir_inst *inst, tly_spv_value *result)
{
    const tly_spv_value *x = tly_spv_operand(l, inst, 0);
    tly_spv_computes(l, inst->type);
    if (tly_spv_paired(l, tly_spv_operand_type(l, inst, 0))) {
        pairs_to_float(l, inst, x, result);
        return;
    }
    uint32_t shape = tly_spv_type(l, inst->type);
    result->id[0] = inst->op == KIR_SITOFP ? OP(l, ConvertSToF, shape, x->id[0])
                                           : OP(l, ConvertUToF, shape, x->id[0]);
}

/* ---- floats to integers ---- */

/* Of f64 within the range of i64 or u64, and signs apart: a word above, what is left below. */
static tly_spv_value pairs_of(tly_spv_lowering *l, kir_type from, kir_type type,
                              const tly_spv_value *x)
{
    kir_type words = KIR_TYPE(KIR_I32, type.lanes);
    uint32_t uints = tly_spv_type(l, words), reals = tly_spv_type(l, from);
    tly_spv_value zero = real(l, from, 0), minus = { 0 }, scaled = { 0 }, back = { 0 },
                  rest = { 0 };
    tly_spv_value down = real(l, from, bits_of_power(from, 0) - (UINT64_C(32) << 52));
    tly_spv_value up = real(l, from, bits_of_power(from, 32)), high, low, result = { 0 };
    uint32_t below = tly_spv_compare(l, KIR_OLT, from, x, &zero);
    tly_spv_binary(l, KIR_SUB, from, &zero, x, &minus);
    tly_spv_value magnitude = choose(l, from, below, &minus, x);
    tly_spv_binary(l, KIR_MUL, from, &magnitude, &down, &scaled);
    high = (tly_spv_value){ .id = { OP(l, ConvertFToU, uints, scaled.id[0]) } };
    tly_spv_value whole = { .id = { OP(l, ConvertUToF, reals, high.id[0]) } };
    tly_spv_binary(l, KIR_MUL, from, &whole, &up, &back);
    tly_spv_binary(l, KIR_SUB, from, &magnitude, &back, &rest);
    low = (tly_spv_value){ .id = { OP(l, ConvertFToU, uints, rest.id[0]) } };
    for (unsigned i = 0; i < type.lanes; i++) {
        tly_spv_value one;
        tly_spv_lane(l, words, &low, i, &one);
        result.id[2 * i] = one.id[0];
        tly_spv_lane(l, words, &high, i, &one);
        result.id[2 * i + 1] = one.id[0];
    }
    tly_spv_value none = integer(l, type, 0), negative = { 0 };
    tly_spv_binary(l, KIR_SUB, type, &none, &result, &negative);
    return choose(l, type, below, &negative, &result);
}

/* What the range does not hold is not converted: SPIR-V says nothing of it. */
void tly_spv_lower_to_int(tly_spv_lowering *l, const kir_inst *inst, tly_spv_value *result)
{
    kir_type from = tly_spv_operand_type(l, inst, 0), type = inst->type;
    const int is_signed = inst->op == KIR_FPTOSI;
    const unsigned bits = kir_kind_bits((kir_kind)type.kind);
    const tly_spv_value *x = tly_spv_operand(l, inst, 0);
    tly_spv_value zero = real(l, from, 0),
                  most = real(l, from, bits_of_power(from, bits - (unsigned)is_signed));
    uint64_t sign = from.kind == KIR_F32 ? 0x80000000 : UINT64_C(1) << 63;
    tly_spv_value least = real(l, from, is_signed ? bits_of_power(from, bits - 1) | sign : 0);
    tly_spv_computes(l, from);
    uint32_t truth = tly_spv_vector(&l->m, tly_spv_bool(&l->m), type.lanes);
    uint32_t below = tly_spv_compare(l, KIR_OLE, from, x, &least);
    uint32_t above = tly_spv_compare(l, KIR_OLE, from, &most, x);
    uint32_t over = tly_spv_compare(l, KIR_OLT, from, &least, x);
    uint32_t under = tly_spv_compare(l, KIR_OLT, from, x, &most);
    uint32_t within = OP(l, LogicalAnd, truth, over, under);
    tly_spv_value safe = choose(l, from, within, x, &zero), whole = { 0 };
    if (tly_spv_paired(l, type)) {
        whole = pairs_of(l, from, type, &safe);
    } else {
        uint32_t shape = tly_spv_type(l, type);
        whole.id[0] = is_signed ? OP(l, ConvertFToS, shape, safe.id[0])
                                : OP(l, ConvertFToU, shape, safe.id[0]);
    }
    uint64_t greatest = UINT64_MAX >> (64 - bits + (unsigned)is_signed);
    tly_spv_value first = integer(l, type,
                                  is_signed ? kir_low_bits((kir_kind)type.kind, ~greatest) : 0);
    tly_spv_value last = integer(l, type, greatest);
    whole = choose(l, type, below, &first, &whole);
    *result = choose(l, type, above, &last, &whole);
}

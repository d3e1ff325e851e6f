/* SPDX-License-Identifier: Apache-2.0 */
/* What operations that compute ask for: constants, arguments, arithmetic, conversions, lanes; see
 * rules.c. */
#include "rules.h"

static const kir_type i64 = { KIR_I64, 1 }, i32 = { KIR_I32, 1 }, ptr = { KIR_PTR, 1 };

static int is_arithmetic_float(kir_type t)
{
    return t.kind == KIR_F32 || t.kind == KIR_F64;
}

const char *kir_rule_const(const struct kir_facts *f)
{
    if (f->type.kind >= KIR_PTR) {
        return "no constant is a ptr";
    }
    return kir_low_bits((kir_kind)f->type.kind, (uint64_t)f->inst->imm) == (uint64_t)f->inst->imm
               ? NULL
               : "a constant has no bits above its kind's";
}

const char *kir_rule_iota(const struct kir_facts *f)
{
    return kir_is_int(f->type) ? NULL : "iota is of integers";
}

static kir_place place_of(const struct kir_facts *f)
{
    return kir_arg_place((kir_arg)f->inst->imm, f->kernel->workgroup > 0);
}

const char *kir_rule_arg(const struct kir_facts *f)
{
    kir_place place = place_of(f);
    if (place.block == KIR_NOWHERE || (place.block == KIR_IN_BLOCK && place.type != 'p')) {
        return "kernels with a workgroup have other arguments than those without";
    }
    if (place.type == 'v') {
        return "an array argument is read with argv";
    }
    int narrow = place.type == 'w' || (place.type == 'l' && f->type.kind == KIR_I32);
    return kir_same_type(f->type, place.type == 'p' ? ptr
                                  : narrow          ? i32
                                                    : i64)
               ? NULL
               : "the result has the argument's type";
}

const char *kir_rule_argv(const struct kir_facts *f)
{
    if (place_of(f).type != 'v') {
        return "argv reads array arguments only";
    }
    return kir_same_type(f->type, i64) && kir_same_type(f->x[0], i64) ? NULL
                                                                      : "index and result are i64";
}

static int three_equal(const struct kir_facts *f)
{
    return kir_same_type(f->type, f->x[0]) && kir_same_type(f->type, f->x[1]);
}

const char *kir_rule_add(const struct kir_facts *f)
{
    if (!three_equal(f)) {
        return "operands and result have one type";
    }
    return kir_is_int(f->type) || is_arithmetic_float(f->type)
               ? NULL
               : "arithmetic is of i8 to i64, f32 and f64";
}

const char *kir_rule_udiv(const struct kir_facts *f)
{
    int narrow = f->kernel->workgroup > 0 && kir_same_type(f->type, i32);
    return three_equal(f) && (narrow || kir_same_type(f->type, i64))
               ? NULL
               : "udiv is of scalar i64; with a workgroup, also of scalar i32";
}

const char *kir_rule_bits(const struct kir_facts *f)
{
    if (!three_equal(f)) {
        return "operands and result have one type";
    }
    return kir_is_int(f->type) || f->type.kind == KIR_I1 ? NULL : "and, or, xor are of i1 to i64";
}

const char *kir_rule_int(const struct kir_facts *f)
{
    if (!three_equal(f)) {
        return "operands and result have one type";
    }
    return kir_is_int(f->type) ? NULL : "it is of i8 to i64";
}

const char *kir_rule_float(const struct kir_facts *f)
{
    int second = f->inst->operand_count < 2 || kir_same_type(f->type, f->x[1]);
    if (!kir_same_type(f->type, f->x[0]) || !second) {
        return "operands and result have one type";
    }
    return is_arithmetic_float(f->type) ? NULL : "it is of f32 and f64";
}

const char *kir_rule_cmp(const struct kir_facts *f)
{
    if (!kir_same_type(f->x[0], f->x[1])) {
        return "operands have one type";
    }
    if (f->type.kind != KIR_I1 || f->type.lanes != f->x[0].lanes) {
        return "the result is i1 of the operands' lanes";
    }
    if (f->inst->imm <= KIR_ULE) {
        return kir_is_int(f->x[0]) ? NULL : "this predicate compares i8 to i64";
    }
    return is_arithmetic_float(f->x[0]) ? NULL : "this predicate compares f32 and f64";
}

const char *kir_rule_select(const struct kir_facts *f)
{
    if (!kir_same_type(f->type, f->x[1]) || !kir_same_type(f->type, f->x[2])) {
        return "both choices and the result have one type";
    }
    return f->x[0].kind == KIR_I1 && (f->x[0].lanes == 1 || f->x[0].lanes == f->type.lanes)
               ? NULL
               : "the condition is i1 of one lane or of the result's lanes";
}

const char *kir_rule_extend(const struct kir_facts *f)
{
    if (f->type.lanes != f->x[0].lanes) {
        return "a conversion keeps the lanes";
    }
    return kir_is_int(f->type) && (kir_is_int(f->x[0]) || f->x[0].kind == KIR_I1) &&
                   f->type.kind > f->x[0].kind
               ? NULL
               : "it goes from an integer or i1 to a wider integer";
}

const char *kir_rule_trunc(const struct kir_facts *f)
{
    if (f->type.lanes != f->x[0].lanes) {
        return "a conversion keeps the lanes";
    }
    return kir_is_int(f->x[0]) && (kir_is_int(f->type) || f->type.kind == KIR_I1) &&
                   f->type.kind < f->x[0].kind
               ? NULL
               : "it goes from an integer to a narrower one or i1";
}

/* fpext and fptrunc are each other's mirror. */
static const char *float_step(kir_type narrow, kir_type wide)
{
    if (narrow.lanes != wide.lanes) {
        return "a conversion keeps the lanes";
    }
    return (narrow.kind == KIR_F16 && wide.kind == KIR_F32) ||
                   (narrow.kind == KIR_F32 && wide.kind == KIR_F64)
               ? NULL
               : "floats are converted between f16 and f32, f32 and f64";
}

const char *kir_rule_fpext(const struct kir_facts *f)
{
    return float_step(f->x[0], f->type);
}

const char *kir_rule_fptrunc(const struct kir_facts *f)
{
    return float_step(f->type, f->x[0]);
}

/* What a float and an integer must be for conversions between them: i64 to f32 has no lowering that
 * rounds once on devices without 64-bit integers, and nobody who needs it. */
static const char *number_step(kir_type integer, kir_type real)
{
    if (integer.lanes != real.lanes) {
        return "a conversion keeps the lanes";
    }
    return (integer.kind == KIR_I32 && is_arithmetic_float(real)) ||
                   (integer.kind == KIR_I64 && real.kind == KIR_F64)
               ? NULL
               : "numbers are converted between i32 and f32 or f64, i64 and f64";
}

const char *kir_rule_to_float(const struct kir_facts *f)
{
    return number_step(f->x[0], f->type);
}

const char *kir_rule_to_int(const struct kir_facts *f)
{
    return number_step(f->type, f->x[0]);
}

const char *kir_rule_bitcast(const struct kir_facts *f)
{
    if (f->type.kind >= KIR_PTR || f->x[0].kind >= KIR_PTR) {
        return "bitcast is not of ptr";
    }
    unsigned bits = kir_kind_bits((kir_kind)f->type.kind) * f->type.lanes;
    return bits == kir_kind_bits((kir_kind)f->x[0].kind) * f->x[0].lanes
               ? NULL
               : "bitcast keeps the total bits";
}

const char *kir_rule_flags(const struct kir_facts *f)
{
    return kir_same_type(f->type, i32) ? NULL : "flags are an i32";
}

const char *kir_rule_splat(const struct kir_facts *f)
{
    return f->x[0].lanes == 1 && f->x[0].kind == f->type.kind && f->type.kind < KIR_PTR
               ? NULL
               : "splat goes from a scalar, no ptr, to lanes of its kind";
}

const char *kir_rule_extract(const struct kir_facts *f)
{
    if (f->type.lanes != 1 || f->type.kind != f->x[0].kind) {
        return "the result is a scalar of the vector's kind";
    }
    return f->inst->imm >= 0 && f->inst->imm < f->x[0].lanes ? NULL : "the lane is in the vector";
}

const char *kir_rule_insert(const struct kir_facts *f)
{
    if (!kir_same_type(f->type, f->x[0]) || f->x[1].lanes != 1 || f->x[1].kind != f->type.kind) {
        return "a scalar goes into a vector of its kind, which is the result's type";
    }
    return f->inst->imm >= 0 && f->inst->imm < f->x[0].lanes ? NULL : "the lane is in the vector";
}

const char *kir_rule_shuffle(const struct kir_facts *f)
{
    if (!kir_same_type(f->x[0], f->x[1]) || f->x[0].kind != f->type.kind) {
        return "operands have one type and the result its kind";
    }
    if (f->type.kind >= KIR_PTR) {
        return "shuffle is not of ptr";
    }
    if (f->inst->imm < 0 || f->inst->imm > f->kernel->index_count - (int64_t)f->type.lanes) {
        return "its lanes are in the index pool";
    }
    const uint8_t *index = f->kernel->indices + f->inst->imm;
    for (unsigned i = 0; i < f->type.lanes; i++) {
        if (index[i] >= 2u * f->x[0].lanes) {
            return "every lane picked is one of the operands'";
        }
    }
    return NULL;
}

const char *kir_rule_permute(const struct kir_facts *f)
{
    const unsigned lanes = f->type.lanes, bits = kir_kind_bits((kir_kind)f->type.kind);
    if (!kir_same_type(f->type, f->x[0]) || !kir_same_type(f->type, f->x[1]) || bits < 32 ||
        f->type.kind >= KIR_PTR || lanes < 2 || (lanes & (lanes - 1)) != 0) {
        return "permute is of two vectors of 32 or 64 bits, and keeps their type";
    }
    return kir_same_type(f->x[2], KIR_TYPE(bits == 64 ? KIR_I64 : KIR_I32, lanes))
               ? NULL
               : "lane numbers are integers of as many bits and lanes";
}

const char *kir_rule_keep(const struct kir_facts *f)
{
    return kir_same_type(f->type, f->x[0]) && f->type.kind != KIR_I1
               ? NULL
               : "keep is of anything but i1, and keeps its type";
}

const char *kir_rule_any(const struct kir_facts *f)
{
    return kir_same_type(f->type, KIR_TYPE(KIR_I1, 1)) && f->x[0].kind == KIR_I1
               ? NULL
               : "any goes from lanes of i1 to i1";
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of kernel IR: names and facts of operations and arguments, from ops.def and args.def,
 * and of kinds, predicates and ids, from the tables here. Calls nothing, so that a backend can link
 * it alone.
 */
#include "internal.h"

#define COUNT_OF(table) (sizeof(table) / sizeof *(table))

static const struct {
    const char *text;
    int8_t operands, results;
    char immediate;
    uint8_t sort, targets;
} ops[] = {
#define KIR_OP(NAME, text, operands, results, immediate, sort, targets, rule) \
    [KIR_##NAME] = { text, operands, results, immediate, KIR_SORT_##sort, KIR_ON_##targets },
#include "ops.def"
#undef KIR_OP
};

static const struct {
    const char *text;
    uint8_t bits, bytes;
} kinds[KIR_KIND_COUNT] = {
    [KIR_NONE] = { "none", 0, 0 }, [KIR_I1] = { "i1", 1, 1 },      [KIR_I8] = { "i8", 8, 1 },
    [KIR_I16] = { "i16", 16, 2 },  [KIR_I32] = { "i32", 32, 4 },   [KIR_I64] = { "i64", 64, 8 },
    [KIR_F16] = { "f16", 16, 2 },  [KIR_F32] = { "f32", 32, 4 },   [KIR_F64] = { "f64", 64, 8 },
    [KIR_PTR] = { "ptr", 64, 8 },  [KIR_WPTR] = { "wptr", 32, 4 },
};

static const char *const ids[KIR_ID_COUNT] = {
    [KIR_ID_GROUP_X] = "group_x",   [KIR_ID_GROUP_Y] = "group_y", [KIR_ID_LOCAL] = "local",
    [KIR_ID_SUBGROUP] = "subgroup", [KIR_ID_LANE] = "lane",
};

static const char *const preds[KIR_PRED_COUNT] = {
    [KIR_EQ] = "eq",   [KIR_NE] = "ne",   [KIR_SLT] = "slt", [KIR_SLE] = "sle",
    [KIR_ULT] = "ult", [KIR_ULE] = "ule", [KIR_OEQ] = "oeq", [KIR_UNE] = "une",
    [KIR_OLT] = "olt", [KIR_OLE] = "ole", [KIR_UNO] = "uno",
};

const char *kir_op_text(kir_op op)
{
    return (size_t)op < COUNT_OF(ops) ? ops[op].text : "?";
}

int kir_op_operands(kir_op op)
{
    return (size_t)op < COUNT_OF(ops) ? ops[op].operands : 0;
}

int kir_op_immediate(kir_op op)
{
    return (size_t)op < COUNT_OF(ops) ? ops[op].immediate : 0;
}

int kir_op_results(kir_op op)
{
    return (size_t)op < COUNT_OF(ops) && ops[op].results != 's' ? ops[op].results : 0;
}

int kir_op_stores(kir_op op)
{
    return (size_t)op < COUNT_OF(ops) && ops[op].results == 's';
}

kir_sort kir_op_sort(kir_op op)
{
    return (size_t)op < COUNT_OF(ops) ? (kir_sort)ops[op].sort : KIR_SORT_PLAIN;
}

unsigned kir_op_targets(kir_op op)
{
    return (size_t)op < COUNT_OF(ops) ? ops[op].targets : 0;
}

const char *kir_kind_text(kir_kind kind)
{
    return (size_t)kind < COUNT_OF(kinds) ? kinds[kind].text : "?";
}

unsigned kir_kind_bits(kir_kind kind)
{
    return (size_t)kind < COUNT_OF(kinds) ? kinds[kind].bits : 0;
}

unsigned kir_kind_bytes(kir_kind kind)
{
    return (size_t)kind < COUNT_OF(kinds) ? kinds[kind].bytes : 0;
}

const char *kir_pred_text(kir_pred pred)
{
    return (size_t)pred < COUNT_OF(preds) ? preds[pred] : "?";
}

const char *kir_id_text(kir_id id)
{
    return (size_t)id < COUNT_OF(ids) ? ids[id] : "?";
}

const char *kir_fact_text(uint32_t fact)
{
    return fact == KIR_APART ? "apart" : fact == KIR_ADDRESSES ? "addresses" : "?";
}

uint64_t kir_low_bits(kir_kind kind, uint64_t bits)
{
    unsigned width = kir_kind_bits(kind);
    return width >= 64 ? bits : bits & ((UINT64_C(1) << width) - 1);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each operation asks of its operands, result and immediates: what all have in common here,
 * one function for a family in the other files of rules; ops.def says which operation asks which.
 * Messages are the rules themselves.
 */
#include "rules.h"

static const kir_type i64 = { KIR_I64, 1 }, i32 = { KIR_I32, 1 };

const char *kir_rule_none(const struct kir_facts *f)
{
    (void)f;
    return NULL;
}

const char *kir_rule_for(const struct kir_facts *f)
{
    kir_type type = f->kernel->workgroup > 0 && f->x[0].kind == KIR_I32 ? i32 : i64;
    for (int i = 0; i < 3; i++) {
        if (!kir_same_type(f->x[i], type)) {
            return "bounds and step are i64; with a workgroup, i64 or i32";
        }
    }
    if ((f->inst->flags & KIR_WHILE) != 0) {
        kir_type first = f->inst->operand_count > 3
                             ? f->kernel->types[f->kernel->operands[f->inst->operand_first + 3]]
                             : i64;
        return kir_same_type(first, KIR_TYPE(KIR_I1, 1))
                   ? NULL
                   : "while asks the first carried value, an i1";
    }
    return NULL;
}

const char *kir_rule_if(const struct kir_facts *f)
{
    return kir_same_type(f->x[0], KIR_TYPE(KIR_I1, 1)) ? NULL : "the condition is one i1";
}

const char *kir_rule_return(const struct kir_facts *f)
{
    return kir_same_type(f->x[0], i64) ? NULL : "a kernel returns i64";
}

static kir_rule *const rules[KIR_OP_COUNT] = {
#define KIR_OP(NAME, text, operands, results, immediate, sort, targets, rule) \
    [KIR_##NAME] = kir_rule_##rule,
#include "ops.def"
#undef KIR_OP
};

static unsigned flags_of(kir_op op)
{
    return op == KIR_STORE ? KIR_STREAM : op == KIR_FOR ? KIR_WHILE : 0;
}

static int type_exists(kir_type t)
{
    return t.kind > KIR_NONE && t.kind < KIR_KIND_COUNT && t.lanes >= 1 &&
           t.lanes <= (t.kind >= KIR_PTR ? 1 : KIR_MAX_LANES);
}

/* What an immediate may be, as far as its letter alone tells. */
static const char *immediate_broken(const kir_inst *inst)
{
    switch (kir_op_immediate((kir_op)inst->op)) {
    case 0:
        return inst->imm == 0 ? NULL : "it has no immediate";
    case 'a':
        return inst->imm >= 0 && inst->imm < KIR_ARG_COUNT ? NULL : "no such argument";
    case 'i':
        return inst->imm >= 0 && inst->imm < KIR_ID_COUNT ? NULL : "no such id";
    case 'n':
        return inst->imm >= 0 ? NULL : "a size is not negative";
    case 'p':
        return inst->imm >= 0 && inst->imm < KIR_PRED_COUNT ? NULL : "no such predicate";
    default:
        return NULL;
    }
}

const char *kir_rule_broken(const kir_kernel *k, const kir_inst *inst)
{
    const kir_op op = (kir_op)inst->op;
    kir_type none = { KIR_NONE, 0 };
    if (kir_op_results(op) == 1 || kir_op_stores(op) ? !type_exists(inst->type)
                                                     : !kir_same_type(inst->type, none)) {
        return "a type is a kind with 1 to 64 lanes (ptr: 1)";
    }
    if (inst->align != 0 && kir_op_immediate(op) != 'm') {
        return "only load and store have an align";
    }
    if ((inst->flags & ~flags_of(op)) != 0) {
        return "only stores have the flag stream, only for has while";
    }
    const char *broken = immediate_broken(inst);
    if (broken != NULL) {
        return broken;
    }
    struct kir_facts f = { .kernel = k, .inst = inst, .type = inst->type };
    for (uint32_t i = 0; i < 3 && i < inst->operand_count; i++) {
        f.x[i] = k->types[k->operands[inst->operand_first + i]];
    }
    return rules[op](&f);
}

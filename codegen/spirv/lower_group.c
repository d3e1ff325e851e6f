/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What invocations know of each other: ids, barriers, and a subgroup's values. Values of 64 bits
 * and truths are exchanged as words, since devices have other widths by extension only.
 */
#include "lower.h"

static uint32_t id_variable(tly_spv_lowering *l, kir_id id)
{
    static const struct {
        SpvBuiltIn builtin;
        const char *name;
        uint8_t lanes, subgroup;
    } rows[KIR_ID_COUNT] = {
        [KIR_ID_GROUP_X] = { SpvBuiltInWorkgroupId, "group", 3, 0 },
        [KIR_ID_LOCAL] = { SpvBuiltInLocalInvocationIndex, "local", 1, 0 },
        [KIR_ID_SUBGROUP] = { SpvBuiltInSubgroupId, "subgroup", 1, 1 },
        [KIR_ID_LANE] = { SpvBuiltInSubgroupLocalInvocationId, "lane", 1, 1 },
    };
    if (l->ids[id] == 0) {
        uint32_t type = tly_spv_vector(&l->m, U32(l), rows[id].lanes);
        l->ids[id] = tly_spv_variable(&l->m, SpvStorageClassInput, type, rows[id].name);
        tly_spv_decorate_with(&l->m, l->ids[id], SpvDecorationBuiltIn, (uint32_t)rows[id].builtin);
        if (rows[id].subgroup) {
            tly_spv_need(&l->m, SpvCapabilityGroupNonUniform);
        }
    }
    return l->ids[id];
}

void tly_spv_lower_id(tly_spv_lowering *l, const kir_inst *inst, tly_spv_value *result)
{
    int group = inst->imm == KIR_ID_GROUP_X || inst->imm == KIR_ID_GROUP_Y;
    uint32_t from = id_variable(l, group ? KIR_ID_GROUP_X : (kir_id)inst->imm);
    if (group) {
        uint32_t type = tly_spv_pointer(&l->m, SpvStorageClassInput, U32(l));
        from = OP(l, AccessChain, type, from, LITERAL(l, inst->imm == KIR_ID_GROUP_Y));
    }
    result->id[0] = WORD(l, Load, from);
}

void tly_spv_lower_barrier(tly_spv_lowering *l, const kir_inst *inst, tly_spv_value *result)
{
    (void)inst;
    (void)result;
    uint32_t scope = LITERAL(l, SpvScopeWorkgroup);
    uint32_t semantics = LITERAL(l, SpvMemorySemanticsAcquireReleaseMask |
                                        SpvMemorySemanticsWorkgroupMemoryMask);
    TLY_SPV_PUT(&l->m, TLY_SPV_BODY, SpvOpControlBarrier, scope, scope, semantics);
}

void tly_spv_lower_scan(tly_spv_lowering *l, const kir_inst *inst, tly_spv_value *result)
{
    if (inst->type.kind == KIR_I64) {
        tly_spv_fail(&l->m, "%s of i64: no capability tells whether a device has it",
                     kir_op_text((kir_op)inst->op));
        return;
    }
    SpvOp op = inst->op == KIR_SCAN_ADD ? SpvOpGroupNonUniformIAdd : SpvOpGroupNonUniformIMul;
    uint32_t x = tly_spv_operand(l, inst, 0)->id[0];
    tly_spv_need(&l->m, SpvCapabilityGroupNonUniform);
    tly_spv_need(&l->m, SpvCapabilityGroupNonUniformArithmetic);
    uint32_t id = TLY_SPV_OP(&l->m, op, U32(l), LITERAL(l, SpvScopeSubgroup),
                             SpvGroupOperationInclusiveScan, x);
    result->id[0] = inst->type.kind == KIR_I16 ? WORD(l, BitwiseAnd, id, LITERAL(l, 0xffff)) : id;
}

static uint32_t exchange(tly_spv_lowering *l, uint32_t type, uint32_t x, uint32_t lane)
{
    tly_spv_need(&l->m, SpvCapabilityGroupNonUniform);
    tly_spv_need(&l->m, SpvCapabilityGroupNonUniformShuffle);
    return OP(l, GroupNonUniformShuffle, type, LITERAL(l, SpvScopeSubgroup), x, lane);
}

void tly_spv_lower_from_lane(tly_spv_lowering *l, const kir_inst *inst, tly_spv_value *result)
{
    const tly_spv_value *x = tly_spv_operand(l, inst, 0);
    uint32_t lane = tly_spv_operand(l, inst, 1)->id[0], words[TLY_SPV_PARTS];
    kir_type type = inst->type;
    if (type.kind == KIR_I1) {
        uint32_t one = LITERAL(l, 1), none = LITERAL(l, 0), boolean = tly_spv_bool(&l->m);
        uint32_t word = exchange(l, U32(l), WORD(l, Select, x->id[0], one, none), lane);
        result->id[0] = OP(l, INotEqual, boolean, word, none);
    } else if (kir_kind_bits((kir_kind)type.kind) == 64) {
        unsigned count = tly_spv_to_words(l, type, x, words);
        for (unsigned i = 0; i < count; i++) {
            words[i] = exchange(l, U32(l), words[i], lane);
        }
        tly_spv_from_words(l, type, words, result);
    } else {
        result->id[0] = exchange(l, tly_spv_type(l, type), x->id[0], lane);
    }
}

void tly_spv_lower_ballot(tly_spv_lowering *l, const kir_inst *inst, tly_spv_value *result)
{
    uint32_t x = tly_spv_operand(l, inst, 0)->id[0];
    tly_spv_need(&l->m, SpvCapabilityGroupNonUniform);
    tly_spv_need(&l->m, SpvCapabilityGroupNonUniformBallot);
    result->id[0] = OP(l, GroupNonUniformBallot, tly_spv_vector(&l->m, U32(l), 4),
                       LITERAL(l, SpvScopeSubgroup), x);
}

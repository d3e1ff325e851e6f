/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel IR's shuffles as LLVM IR's, but for one that LLVM 19 makes a worse instruction of.
 */
#include <stdio.h>
#include <string.h>

#include "internal.h"

enum { MAX_LANES = 64, WHOLE = 512 }; /* the verifier's bound; bits of a vector */

/* Neighbouring lanes of two whole vectors of floats, of 512 bits. */
static int is_alignment(const tly_lowering *l, const kir_inst *inst)
{
    const uint8_t *index = l->kernel->indices + inst->imm;
    const unsigned lanes = inst->type.lanes, bits = kir_kind_bits((kir_kind)inst->type.kind);
    if (l->target->vector_bytes * 8 != WHOLE || lanes * bits != WHOLE || bits < 32 ||
        !kir_is_float(inst->type) || tly_operand_type(l, inst, 0).lanes != lanes) {
        return 0;
    }
    for (unsigned i = 1; i < lanes; i++) {
        if (index[i] != index[0] + i) {
            return 0;
        }
    }
    return index[0] > 0 && index[0] < lanes;
}

/* valignd is for integers, LLVM thinks: of floats, and of floats cast to them, it makes vpermt2ps,
 * which overwrites a vector that is copied before, and needs another for its indices. From L2, ns
 * an element, before in brackets: f32 rows of 65536 .083 (.085), of 128 .177 (.187), f16 rows of
 * 4096 .113 (.118), by four vectors a step .101 (.111); past the cache f32 rows of 4096 .93 of the
 * time (Zen 5). */
static LLVMValueRef align(const tly_lowering *l, const kir_inst *inst)
{
    static const char registers[] = "=v,v,v";
    const unsigned first = l->kernel->indices[inst->imm];
    LLVMTypeRef type = tly_lower_type(l, inst->type), types[2] = { type, type };
    LLVMTypeRef callee = LLVMFunctionType(type, types, 2, 0);
    LLVMValueRef both[2] = { tly_operand(l, inst, 0), tly_operand(l, inst, 1) };
    char code[40];
    snprintf(code, sizeof code, "valign%c $$%u, $1, $2, $0", inst->type.kind == KIR_F64 ? 'q' : 'd',
             first);
    /* Read only, but no const in LLVM 15's header. */
    LLVMValueRef instruction = LLVMGetInlineAsm(callee, code, strlen(code),
                                                (char *)(uintptr_t)registers, strlen(registers), 0,
                                                0, LLVMInlineAsmDialectATT, 0);
    return LLVMBuildCall2(l->builder, callee, instruction, both, 2, "");
}

/* One lane after another, by way of memory. */
static LLVMValueRef pick_lanes(const tly_lowering *l, LLVMValueRef *x, unsigned lanes,
                               kir_kind kind)
{
    LLVMValueRef mask[MAX_LANES * 2];
    for (unsigned i = 0; i < 2 * lanes; i++) {
        mask[i] = tly_lower_int(l, KIR_I32, i);
    }
    LLVMValueRef both = LLVMBuildShuffleVector(l->builder, x[0], x[1],
                                               LLVMConstVector(mask, 2 * lanes), "");
    LLVMValueRef result = LLVMGetPoison(LLVMTypeOf(x[0]));
    for (unsigned i = 0; i < lanes; i++) {
        LLVMValueRef from = LLVMBuildExtractElement(l->builder, x[2], mask[i], "");
        from = LLVMBuildAnd(l->builder, from, tly_lower_int(l, kind, 2 * lanes - 1), "");
        from = LLVMBuildExtractElement(l->builder, both, from, "");
        result = LLVMBuildInsertElement(l->builder, result, from, mask[i], "");
    }
    return result;
}

LLVMValueRef tly_lower_permute(tly_lowering *l, const kir_inst *inst)
{
    static const char *const names[] = { [KIR_I32] = "llvm.x86.avx512.vpermi2var.d.512",
                                         [KIR_I64] = "llvm.x86.avx512.vpermi2var.q.512",
                                         [KIR_F32] = "llvm.x86.avx512.vpermi2var.ps.512",
                                         [KIR_F64] = "llvm.x86.avx512.vpermi2var.pd.512" };
    const unsigned lanes = inst->type.lanes, bits = kir_kind_bits((kir_kind)inst->type.kind);
    LLVMValueRef x[] = { tly_operand(l, inst, 0), tly_operand(l, inst, 1),
                         tly_operand(l, inst, 2) };
    if (!l->target->has_permute || lanes * bits != WHOLE) {
        return pick_lanes(l, x, lanes, bits == 64 ? KIR_I64 : KIR_I32);
    }
    LLVMValueRef arguments[] = { x[0], x[2], x[1] };
    return tly_lower_intrinsic(l, names[inst->type.kind], NULL, 0, arguments, 3);
}

/* LLVM has no vector of one lane worth having, hence the detours for scalars. */
LLVMValueRef tly_lower_shuffle(tly_lowering *l, const kir_inst *inst)
{
    const uint8_t *index = l->kernel->indices + inst->imm;
    const unsigned lanes = tly_operand_type(l, inst, 0).lanes;
    LLVMValueRef x = tly_operand(l, inst, 0), y = tly_operand(l, inst, 1);
    if (inst->type.lanes == 1 || lanes == 1) {
        LLVMValueRef result = LLVMGetPoison(tly_lower_type(l, inst->type));
        for (unsigned i = 0; i < inst->type.lanes; i++) {
            LLVMValueRef from = index[i] < lanes ? x : y;
            if (lanes > 1) {
                from = LLVMBuildExtractElement(l->builder, from,
                                               tly_lower_int(l, KIR_I32, index[i] % lanes), "");
            }
            LLVMValueRef lane = tly_lower_int(l, KIR_I32, i);
            result = inst->type.lanes == 1
                         ? from
                         : LLVMBuildInsertElement(l->builder, result, from, lane, "");
        }
        return result;
    }
    if (is_alignment(l, inst))
        return align(l, inst);
    LLVMValueRef mask[MAX_LANES];
    for (unsigned i = 0; i < inst->type.lanes; i++) {
        mask[i] = tly_lower_int(l, KIR_I32, x == y ? index[i] % lanes : index[i]);
    }
    return LLVMBuildShuffleVector(l->builder, x, x == y ? LLVMGetPoison(LLVMTypeOf(x)) : y,
                                  LLVMConstVector(mask, inst->type.lanes), "");
}

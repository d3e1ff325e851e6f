/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flags of floating-point arithmetic: what a kernel met is read from the machine's own register, at
 * no cost to the loops between. Before the part of the kernel that looks at flags the host's flags
 * and modes are saved, and behind it they are put back; in between no exception traps, whatever the
 * host has asked for. Both wait for all arithmetic under way: a kernel that gets by without that
 * part does without them.
 *
 * LLVM does not know that arithmetic writes flags. It does not move arithmetic out of loops or
 * across the instructions below, which read and write a control register on which x86's vector
 * instructions depend; templates keep a loop between clearing and reading, which is all that keeps
 * RISC-V's in their places.
 */
#include <string.h>

#include "internal.h"

enum {
    MXCSR_FLAGS = 0x3f,
    MXCSR_OTHERS = 0x27,
    MXCSR_MASKS = 0x1f80,
    MXCSR_OVERFLOW_BIT = 3,
    FPSR_OVERFLOW_BIT = 2,
    FFLAGS_OVERFLOW_BIT = 2
};

static int has(const tly_lowering *l, kir_op op)
{
    for (uint32_t n = 0; n < l->kernel->inst_count; n++) {
        if (l->kernel->insts[n].op == op)
            return 1;
    }
    return 0;
}

/* Flags are written where they are cleared to be read; those that are only read stay the host's. */
static int writes_flags(const tly_lowering *l)
{
    return has(l, KIR_FLAGS) && has(l, KIR_CLEAR_FLAGS);
}

static int looks(const kir_inst *inst)
{
    return inst->op == KIR_FLAGS || inst->op == KIR_CLEAR_FLAGS;
}

/* The smallest branch of an `if` around all looks, which no loop is around; else the whole
 * kernel. */
static void find_part(tly_lowering *l)
{
    const kir_inst *insts = l->kernel->insts;
    uint32_t n = 0, first = 0, last = l->kernel->inst_count - 1;
    l->part_end = last;
    while (!looks(&insts[first]))
        first++;
    while (!looks(&insts[last]))
        last--;
    while (n < first) {
        const int branch = insts[n].op == KIR_IF || insts[n].op == KIR_ELSE;
        if (!branch && insts[n].op != KIR_FOR) {
            n++;
        } else if (insts[n].match < first) {
            n = insts[n].match;
        } else if (branch && insts[n].match > last) {
            l->part_begin = n++;
            l->part_end = insts[l->part_begin].match;
        } else {
            return;
        }
    }
}

int tly_lower_is_quiet(const tly_lowering *l, const kir_inst *inst)
{
    return inst->op == KIR_FPTRUNC && inst->type.kind == KIR_F16 &&
           tly_operand_type(l, inst, 0).kind == KIR_F32 &&
           tly_target_narrows_quietly(l->target, inst->type.lanes) && has(l, KIR_FLAGS);
}

/* 1: narrowing raises flags all the time, so they are to be cleared all the time. */
static int narrows(const tly_lowering *l)
{
    for (uint32_t n = 0; n < l->kernel->inst_count; n++) {
        const kir_inst *inst = &l->kernel->insts[n];
        if (inst->op == KIR_FPTRUNC && inst->type.kind == KIR_F16 && inst->type.lanes > 1 &&
            !tly_lower_is_quiet(l, inst))
            return 1;
    }
    return 0;
}

/* MXCSR goes by memory. */
static LLVMValueRef add_word(const tly_lowering *l, const char *name)
{
    return LLVMBuildAlloca(l->builder, l->scalars[KIR_I32], name);
}

static void mxcsr(const tly_lowering *l, const char *way, LLVMValueRef word)
{
    char name[32] = "llvm.x86.sse.";
    strcat(name, way);
    tly_lower_intrinsic(l, name, NULL, 0, &word, 1);
}

/* FPSR goes by its name. */
static LLVMValueRef fpsr(const tly_lowering *l, const char *way, LLVMValueRef value)
{
    LLVMMetadataRef name = LLVMMDStringInContext2(l->context, "fpsr", 4);
    LLVMMetadataRef node = LLVMMDNodeInContext2(l->context, &name, 1);
    LLVMValueRef arguments[2] = { LLVMMetadataAsValue(l->context, node), value };
    LLVMTypeRef type = l->scalars[KIR_I64];
    return tly_lower_intrinsic(l, way, &type, 1, arguments, value != NULL ? 2 : 1);
}

/* FFLAGS by an instruction that LLVM's IR has no other way to. */
static LLVMValueRef fflags(const tly_lowering *l, const char *text, const char *constraint,
                           LLVMTypeRef type, LLVMValueRef value)
{
    LLVMTypeRef word = l->scalars[KIR_I64];
    LLVMTypeRef callee = LLVMFunctionType(type, &word, value != NULL, 0);
    /* Read only, but no const in LLVM 15's header. */
    LLVMValueRef code = LLVMGetInlineAsm(callee, (char *)(uintptr_t)text, strlen(text),
                                         (char *)(uintptr_t)constraint, strlen(constraint), 1, 0,
                                         LLVMInlineAsmDialectATT, 0);
    return LLVMBuildCall2(l->builder, callee, code, &value, value != NULL, "");
}

static int in_memory(const tly_lowering *l)
{
    return l->arch->flags == TLY_MXCSR;
}

static LLVMValueRef read_flags(const tly_lowering *l)
{
    return l->arch->flags == TLY_FPSR ? fpsr(l, "llvm.read_volatile_register", NULL)
                                      : fflags(l, "frflags $0", "=r", l->scalars[KIR_I64], NULL);
}

static void write_flags(const tly_lowering *l, LLVMValueRef v)
{
    if (l->arch->flags == TLY_FPSR)
        fpsr(l, "llvm.write_register", v);
    else
        fflags(l, "fsflags $0", "r", LLVMVoidTypeInContext(l->context), v);
}

void tly_lower_begin_flags(tly_lowering *l)
{
    l->saved = l->clean = NULL;
    l->part_begin = l->part_end = TLY_NOWHERE;
    if (!writes_flags(l))
        return;
    find_part(l);
    if (in_memory(l)) {
        l->saved = add_word(l, "saved");
        l->clean = add_word(l, "clean");
    }
    if (l->part_begin == TLY_NOWHERE)
        tly_lower_save_flags(l);
}

void tly_lower_save_flags(tly_lowering *l)
{
    LLVMBuilderRef b = l->builder;
    if (!in_memory(l)) {
        l->saved = read_flags(l);
        l->clean = tly_lower_int(l, KIR_I64, 0);
        return;
    }
    mxcsr(l, "stmxcsr", l->saved);
    LLVMValueRef v = LLVMBuildLoad2(b, l->scalars[KIR_I32], l->saved, "");
    v = LLVMBuildAnd(b, v, tly_lower_int(l, KIR_I32, ~(uint32_t)MXCSR_FLAGS), "");
    v = LLVMBuildOr(b, v, tly_lower_int(l, KIR_I32, MXCSR_MASKS | MXCSR_OTHERS), "");
    LLVMBuildStore(b, v, l->clean);
    mxcsr(l, "ldmxcsr", l->clean);
}

void tly_lower_restore_flags(tly_lowering *l)
{
    if (in_memory(l))
        mxcsr(l, "ldmxcsr", l->saved);
    else
        write_flags(l, l->saved);
}

/* MXCSR is written only where a flag is raised: after that the first inexact result of all takes
 * 10 to 20 cycles more, rows of 128 f32 in L2 a third (Emerald Rapids). */
static void clear_mxcsr(const tly_lowering *l)
{
    LLVMBuilderRef b = l->builder;
    LLVMBasicBlockRef some = LLVMAppendBasicBlockInContext(l->context, l->function, "raised");
    LLVMBasicBlockRef none = LLVMAppendBasicBlockInContext(l->context, l->function, "clear");
    mxcsr(l, "stmxcsr", l->slot);
    LLVMValueRef word = LLVMBuildLoad2(b, l->scalars[KIR_I32], l->slot, "");
    const uint64_t both = KIR_OVERFLOWED | KIR_UNDERFLOWED;
    word = LLVMBuildAnd(b, word, tly_lower_int(l, KIR_I32, both << MXCSR_OVERFLOW_BIT), "");
    word = LLVMBuildICmp(b, LLVMIntNE, word, tly_lower_int(l, KIR_I32, 0), "");
    LLVMBuildCondBr(b, word, some, none);
    LLVMPositionBuilderAtEnd(b, some);
    mxcsr(l, "ldmxcsr", l->clean);
    LLVMBuildBr(b, none);
    LLVMPositionBuilderAtEnd(b, none);
}

LLVMValueRef tly_lower_clear_flags(tly_lowering *l, const kir_inst *inst)
{
    (void)inst;
    if (l->saved == NULL) /* nobody reads them */
        return NULL;
    if (!in_memory(l))
        write_flags(l, l->clean);
    else if (narrows(l))
        mxcsr(l, "ldmxcsr", l->clean);
    else
        clear_mxcsr(l);
    return NULL;
}

/* `v` shifted right, and of it the bits of `mask`. */
static LLVMValueRef bits(const tly_lowering *l, LLVMValueRef v, uint64_t shift, uint64_t mask)
{
    v = LLVMBuildLShr(l->builder, v, tly_lower_int(l, KIR_I32, shift), "");
    return LLVMBuildAnd(l->builder, v, tly_lower_int(l, KIR_I32, mask), "");
}

/* Underflow is the bit above overflow, on RISC-V the one below. */
LLVMValueRef tly_lower_flags(tly_lowering *l, const kir_inst *inst)
{
    LLVMTypeRef i32 = l->scalars[KIR_I32];
    const uint64_t both = KIR_OVERFLOWED | KIR_UNDERFLOWED;
    (void)inst;
    if (in_memory(l)) {
        mxcsr(l, "stmxcsr", l->slot);
        LLVMValueRef word = LLVMBuildLoad2(l->builder, i32, l->slot, "");
        return bits(l, word, MXCSR_OVERFLOW_BIT, both);
    }
    LLVMValueRef v = LLVMBuildTrunc(l->builder, read_flags(l), i32, "");
    return l->arch->flags == TLY_FPSR
               ? bits(l, v, FPSR_OVERFLOW_BIT, both)
               : LLVMBuildOr(l->builder, bits(l, v, FFLAGS_OVERFLOW_BIT, KIR_OVERFLOWED),
                             bits(l, v, 0, KIR_UNDERFLOWED), "");
}

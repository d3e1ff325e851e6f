/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel IR to LLVM IR, one pass over the flat instruction array: the function, its attributes, and
 * structure (loops, ifs, return). What computes is in lower_ops.c.
 *
 * A loop becomes a guard and a do-while, the form that code generation does best with, as no
 * pass runs that would rotate it. Guards that are known are left out.
 */
#include <stdlib.h>
#include <string.h>

#include "../../runtime/host/error.h"
#include "../../runtime/problem/abi.h"
#include "internal.h"

/* An open region. */
typedef struct frame {
    const kir_inst *open;
    const kir_inst *yield;      /* that ended the region being left */
    const kir_inst *then_yield; /* if: of the first region */
    LLVMBasicBlockRef before;   /* block that opened it */
    LLVMBasicBlockRef body;     /* for: loop header; if: else block */
    LLVMBasicBlockRef then_end; /* if: block that left the first region */
    LLVMBasicBlockRef after;
    LLVMValueRef guard; /* for: NULL where it is known to hold */
} frame;

static LLVMBasicBlockRef new_block(const tly_lowering *l, const char *name)
{
    return LLVMAppendBasicBlockInContext(l->context, l->function, name);
}

/* Goes on in `block`, moved to the end so that the text reads in order. */
static void enter(const tly_lowering *l, LLVMBasicBlockRef block)
{
    LLVMBasicBlockRef last = LLVMGetLastBasicBlock(l->function);
    if (last != block) {
        LLVMMoveBasicBlockAfter(block, last);
    }
    LLVMPositionBuilderAtEnd(l->builder, block);
}

static LLVMValueRef phi_of(const tly_lowering *l, kir_value number, const char *name)
{
    return LLVMBuildPhi(l->builder, tly_lower_type(l, l->kernel->types[number]), name);
}

/* Whether a loop takes a trip: i < hi, and of a while its first carried value as well. */
static LLVMValueRef takes_trip(tly_lowering *l, const kir_inst *loop, LLVMValueRef i,
                               const kir_inst *carried, unsigned first)
{
    LLVMValueRef below = LLVMBuildICmp(l->builder, LLVMIntSLT, i, tly_operand(l, loop, 1), "");
    if ((loop->flags & KIR_WHILE) == 0)
        return below;
    return LLVMBuildAnd(l->builder, below, tly_operand(l, carried, first), "");
}

static void open_for(tly_lowering *l, const kir_inst *inst, frame *f)
{
    LLVMValueRef lo = tly_operand(l, inst, 0);
    f->before = LLVMGetInsertBlock(l->builder);
    f->body = new_block(l, "loop");
    f->after = new_block(l, "after");
    LLVMValueRef guard = takes_trip(l, inst, lo, inst, 3);
    if (LLVMIsAConstantInt(guard) && LLVMConstIntGetZExtValue(guard)) {
        LLVMBuildBr(l->builder, f->body);
    } else {
        f->guard = guard;
        LLVMBuildCondBr(l->builder, guard, f->body, f->after);
    }
    enter(l, f->body);
    for (uint32_t i = 0; i <= inst->result_count; i++) {
        const kir_value number = inst->params_first + i;
        LLVMValueRef phi = phi_of(l, number, i == 0 ? "i" : "");
        LLVMValueRef first = i == 0 ? lo : tly_operand(l, inst, 2 + i);
        LLVMAddIncoming(phi, &first, &f->before, 1);
        l->values[number] = phi;
    }
}

static void close_for(tly_lowering *l, frame *f)
{
    const kir_inst *inst = f->open;
    LLVMBasicBlockRef latch = LLVMGetInsertBlock(l->builder);
    LLVMValueRef next = LLVMBuildAdd(l->builder, l->values[inst->params_first],
                                     tly_operand(l, inst, 2), "");
    /* What LLVM cannot see to be an induction variable it does not try to strength-reduce, which
     * took half of the compile time; base + index * scale addresses cost nothing instead. */
    next = tly_lower_opaque(l, next, l->arch->scalar_register);
    LLVMValueRef more = takes_trip(l, inst, next, f->yield, 0);
    LLVMBuildCondBr(l->builder, more, f->body, f->after);
    LLVMAddIncoming(l->values[inst->params_first], &next, &latch, 1);
    enter(l, f->after);
    for (uint32_t i = 0; i < inst->result_count; i++) {
        LLVMValueRef again = tly_operand(l, f->yield, i);
        LLVMAddIncoming(l->values[inst->params_first + 1 + i], &again, &latch, 1);
        if (f->guard == NULL) {
            l->values[inst->result_first + i] = again;
            continue;
        }
        LLVMValueRef phi = phi_of(l, inst->result_first + i, "");
        LLVMValueRef first = tly_operand(l, inst, 3 + i);
        LLVMAddIncoming(phi, &first, &f->before, 1);
        LLVMAddIncoming(phi, &again, &latch, 1);
        l->values[inst->result_first + i] = phi;
    }
}

static void open_if(tly_lowering *l, const kir_inst *inst, frame *f)
{
    LLVMBasicBlockRef yes = new_block(l, "then");
    const int has_else = l->kernel->insts[inst->match].op == KIR_ELSE;
    f->before = LLVMGetInsertBlock(l->builder);
    f->after = new_block(l, "after");
    f->body = has_else ? new_block(l, "else") : f->after;
    LLVMBuildCondBr(l->builder, tly_operand(l, inst, 0), yes, f->body);
    enter(l, yes);
}

static void open_else(tly_lowering *l, frame *f)
{
    f->then_end = LLVMGetInsertBlock(l->builder);
    f->then_yield = f->yield;
    LLVMBuildBr(l->builder, f->after);
    enter(l, f->body);
}

static void close_if(tly_lowering *l, frame *f)
{
    const kir_inst *inst = f->open;
    LLVMBasicBlockRef end = LLVMGetInsertBlock(l->builder);
    LLVMBuildBr(l->builder, f->after);
    enter(l, f->after);
    for (uint32_t i = 0; i < inst->result_count; i++) {
        LLVMValueRef phi = phi_of(l, inst->result_first + i, "");
        LLVMValueRef yes = tly_operand(l, f->then_yield, i), no = tly_operand(l, f->yield, i);
        LLVMAddIncoming(phi, &yes, &f->then_end, 1);
        LLVMAddIncoming(phi, &no, &end, 1);
        l->values[inst->result_first + i] = phi;
    }
}

static void lower_body(tly_lowering *l, frame *frames)
{
    frame *top = frames; /* the open region is top - 1 */
    for (uint32_t n = 0; n < l->kernel->inst_count && l->status == TALLY_OK; n++) {
        const kir_inst *inst = &l->kernel->insts[n];
        tly_lower_mark_line(l, inst);
        if (n == l->part_end) {
            tly_lower_restore_flags(l);
        }
        switch (inst->op) {
        case KIR_FOR:
        case KIR_IF:
            *top = (frame){ .open = inst };
            (inst->op == KIR_FOR ? open_for : open_if)(l, inst, top++);
            break;
        case KIR_ELSE:
            open_else(l, top - 1);
            break;
        case KIR_YIELD:
            top[-1].yield = inst;
            break;
        case KIR_END:
            top--;
            (top->open->op == KIR_FOR ? close_for : close_if)(l, top);
            break;
        case KIR_RETURN:
            LLVMBuildRet(l->builder, tly_operand(l, inst, 0));
            break;
        default: {
            LLVMValueRef value = tly_lower_op(l, inst);
            if (inst->result_count != 0) {
                l->values[inst->result_first] = value;
            }
        }
        }
        if (n == l->part_begin) {
            tly_lower_save_flags(l);
        }
    }
}

static LLVMAttributeRef attribute(const tly_lowering *l, const char *name, uint64_t value)
{
    return LLVMCreateEnumAttribute(l->context, LLVMGetEnumAttributeKindForName(name, strlen(name)),
                                   value);
}

/* Only the launch structs are said to be unaliased and constant: in and out may be one tensor. */
static void add_function(tly_lowering *l)
{
    LLVMTypeRef pointer = l->scalars[KIR_PTR], parameters[2] = { pointer, pointer };
    LLVMTypeRef type = LLVMFunctionType(l->scalars[KIR_I64], parameters, 2, 0);
    l->function = LLVMAddFunction(l->module, l->kernel->name, type);
    static const char *const function[] = { "nounwind" };
    static const char *const parameter[] = { "noalias", "nocapture", "readonly", "noundef" };
    const uint64_t bytes[2] = { sizeof(tly_args), sizeof(tly_task) };
    for (size_t i = 0; i < sizeof function / sizeof *function; i++) {
        LLVMAddAttributeAtIndex(l->function, LLVMAttributeFunctionIndex,
                                attribute(l, function[i], 0));
    }
    for (unsigned p = 0; p < 2; p++) {
        for (size_t i = 0; i < sizeof parameter / sizeof *parameter; i++) {
            LLVMAddAttributeAtIndex(l->function, p + 1, attribute(l, parameter[i], 0));
        }
        LLVMAddAttributeAtIndex(l->function, p + 1, attribute(l, "align", 8));
        LLVMAddAttributeAtIndex(l->function, p + 1, attribute(l, "dereferenceable", bytes[p]));
    }
    /* There is no C library to call: a loop that stores zeros must stay a loop. */
    LLVMAddAttributeAtIndex(l->function, LLVMAttributeFunctionIndex,
                            LLVMCreateStringAttribute(l->context, "no-builtins", 11, "", 0));
}

static void name_types(tly_lowering *l)
{
    LLVMContextRef c = l->context;
    for (int k = KIR_I1; k < KIR_KIND_COUNT; k++) {
        l->scalars[k] = l->integers[k] = LLVMIntTypeInContext(c, kir_kind_bits((kir_kind)k));
    }
    l->scalars[KIR_F16] = LLVMHalfTypeInContext(c);
    l->scalars[KIR_F32] = LLVMFloatTypeInContext(c);
    l->scalars[KIR_F64] = LLVMDoubleTypeInContext(c);
    l->scalars[KIR_PTR] = LLVMPointerTypeInContext(c, 0);
    l->nontemporal = LLVMGetMDKindIDInContext(c, "nontemporal", 11);
    l->invariant = LLVMGetMDKindIDInContext(c, "invariant.load", 14);
}

/* One slot for all instructions that need one, as none keeps anything there. */
static void add_slot(tly_lowering *l)
{
    size_t most = 0;
    for (uint32_t n = 0; n < l->kernel->inst_count; n++) {
        const size_t bytes = tly_lower_slot_bytes(l, &l->kernel->insts[n]);
        most = bytes > most ? bytes : most;
    }
    if (most != 0) {
        l->slot = LLVMBuildAlloca(l->builder, LLVMArrayType2(l->scalars[KIR_I8], most), "slot");
        LLVMSetAlignment(l->slot, 16);
    }
}

tally_status tly_lower(tly_lowering *l)
{
    const kir_kernel *kernel = l->kernel;
    size_t regions = 0;
    if (kernel->workgroup > 0) {
        return tly_fail(l->error, TALLY_INTERNAL, "kir",
                        "kernel %s: a kernel with a workgroup is not for CPUs", kernel->name);
    }
    for (uint32_t n = 0; n < kernel->inst_count; n++) {
        regions += kernel->insts[n].op == KIR_FOR || kernel->insts[n].op == KIR_IF;
    }
    frame *frames = malloc((regions + 1) * sizeof *frames);
    l->values = calloc((size_t)kernel->value_count + 1, sizeof *l->values);
    l->status = TALLY_OK;
    if (frames == NULL || l->values == NULL) {
        l->status = tly_out_of_memory(l->error, "lowering",
                                      kernel->value_count * sizeof *l->values);
    } else {
        name_types(l);
        add_function(l);
        l->builder = LLVMCreateBuilderInContext(l->context);
        LLVMPositionBuilderAtEnd(l->builder, new_block(l, "entry"));
        tly_lower_open_lines(l);
        add_slot(l);
        tly_lower_begin_flags(l);
        lower_body(l, frames);
        LLVMDisposeBuilder(l->builder);
    }
    free(l->values);
    free(frames);
    return l->status;
}

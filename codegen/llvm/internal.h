/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of libtally-llvm share: the state of one lowering, and the facts of an
 * architecture that LLVM's IR does not hide.
 */
#ifndef TLY_LLVM_INTERNAL_H
#define TLY_LLVM_INTERNAL_H

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>
#include <llvm/Config/llvm-config.h>

#if LLVM_VERSION_MAJOR < 17 /* Debian 12's own is 15 */
#define LLVMArrayType2(element, count) LLVMArrayType(element, (unsigned)(count))
#endif

#include "../kir/kir.h"
#include "../plan/target.h"

/* Where an architecture keeps the flags of floating-point arithmetic. */
typedef enum tly_flags { TLY_MXCSR, TLY_FPSR, TLY_FFLAGS } tly_flags;

/* An architecture, found by the first part of a target's triple. */
typedef struct tly_arch {
    const char *prefix;
    const char *least;           /* LLVM's CPU that every machine has at least */
    LLVMCodeModel model;         /* such that constants are reached without a GOT or pages */
    const char *scalar_register; /* constraints of an empty inline asm that keeps a value */
    const char *vector_register; /* floats, too */
    const char *fence;           /* intrinsic that orders non-temporal stores; NULL: a fence */
    tly_flags flags;
    int has_vectors; /* registers hold them: else each lane goes by itself */
    int has_minimum; /* minimum and maximum that know NaN and -0 are one instruction each */
    int extends;     /* a C function's int comes back as a whole register */
} tly_arch;

#define TLY_NOWHERE UINT32_MAX /* no instruction */

typedef struct tly_lowering {
    const kir_kernel *kernel;
    const tly_target *target;
    const tly_arch *arch;
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMBuilderRef builder;
    LLVMValueRef function;
    LLVMValueRef *values; /* by kernel IR value number */
    LLVMTypeRef scalars[KIR_KIND_COUNT];
    LLVMTypeRef integers[KIR_KIND_COUNT]; /* of the kind's width */
    unsigned nontemporal, invariant;      /* metadata kinds */
    LLVMValueRef slot;                    /* memory on the stack, if an instruction asks for it */
    LLVMValueRef saved, clean; /* the host's flags; none, as flags are cleared; or NULL */
    /* Instructions behind and before which the part lies that looks at flags; or TLY_NOWHERE. */
    uint32_t part_begin, part_end;
    int lines;             /* 1: instructions know their line in the kernel IR's text */
    LLVMMetadataRef scope; /* of these lines, or NULL */
    unsigned line;         /* of the instruction that is being lowered */
    tally_status status;   /* the first failure; what follows it is not looked at */
    tally_error *error;
} tly_lowering;

/* Adds the kernel as a function to l->module. l holds kernel, target, arch, context, module and
 * error; the rest is set up here. */
tally_status tly_lower(tly_lowering *l);

/* Lowers one instruction that is no structure; NULL for those without a result. Sets l->status. */
LLVMValueRef tly_lower_op(tly_lowering *l, const kir_inst *inst);

/* Bytes of l->slot that this instruction needs. */
size_t tly_lower_slot_bytes(const tly_lowering *l, const kir_inst *inst);

LLVMTypeRef tly_lower_type(const tly_lowering *l, kir_type type);

/* An integer as wide as `kind`; lanes start, start + step, ... of such; a scalar in every lane. */
LLVMValueRef tly_lower_int(const tly_lowering *l, kir_kind kind, uint64_t value);
LLVMValueRef tly_lower_ramp(const tly_lowering *l, kir_kind kind, unsigned lanes, uint64_t start,
                            uint64_t step);
LLVMValueRef tly_lower_splat(const tly_lowering *l, LLVMValueRef scalar, unsigned lanes);

/* A call of the intrinsic that `types` pick among those called `name`. */
LLVMValueRef tly_lower_intrinsic(const tly_lowering *l, const char *name, LLVMTypeRef *types,
                                 unsigned type_count, LLVMValueRef *arguments, unsigned count);

/* A vector of `lanes` lanes of `bits`, opaque to LLVM from here on. */
/* An empty inline asm that claims to make a new value of the old one. */
LLVMValueRef tly_lower_opaque(const tly_lowering *l, LLVMValueRef v, const char *constraint);
LLVMValueRef tly_lower_keep(const tly_lowering *l, LLVMValueRef v, unsigned lanes, unsigned bits);

/* Rows of lower_ops.c's table that live in lower_memory.c. */
LLVMValueRef tly_lower_ptradd(tly_lowering *l, const kir_inst *inst);
LLVMValueRef tly_lower_argument(tly_lowering *l, const kir_inst *inst);
LLVMValueRef tly_lower_load(tly_lowering *l, const kir_inst *inst);
LLVMValueRef tly_lower_store(tly_lowering *l, const kir_inst *inst);
LLVMValueRef tly_lower_masked_load(tly_lowering *l, const kir_inst *inst);
LLVMValueRef tly_lower_masked_store(tly_lowering *l, const kir_inst *inst);
LLVMValueRef tly_lower_prefetch(tly_lowering *l, const kir_inst *inst);
LLVMValueRef tly_lower_fence(tly_lowering *l, const kir_inst *inst);

/* The row that lives in lower_lanes.c. */
LLVMValueRef tly_lower_shuffle(tly_lowering *l, const kir_inst *inst);
LLVMValueRef tly_lower_permute(tly_lowering *l, const kir_inst *inst);

/* lower_lines.c: the function's scope; then, before each instruction is lowered, its line. Nothing
 * unless l->lines. */
void tly_lower_open_lines(tly_lowering *l);
void tly_lower_mark_line(tly_lowering *l, const kir_inst *inst);

/* lower_flags.c: at a kernel's start; then at both ends of the part that looks at flags, whose
 * first may be that start. */
void tly_lower_begin_flags(tly_lowering *l);
void tly_lower_save_flags(tly_lowering *l);
void tly_lower_restore_flags(tly_lowering *l);
LLVMValueRef tly_lower_clear_flags(tly_lowering *l, const kir_inst *inst);
LLVMValueRef tly_lower_flags(tly_lowering *l, const kir_inst *inst);
/* 1: an instruction that narrows to f16 raises no flags, as these are looked at. */
int tly_lower_is_quiet(const tly_lowering *l, const kir_inst *inst);

static inline kir_value tly_operand_number(const tly_lowering *l, const kir_inst *inst, unsigned i)
{
    return l->kernel->operands[inst->operand_first + i];
}

static inline LLVMValueRef tly_operand(const tly_lowering *l, const kir_inst *inst, unsigned i)
{
    return l->values[tly_operand_number(l, inst, i)];
}

static inline kir_type tly_operand_type(const tly_lowering *l, const kir_inst *inst, unsigned i)
{
    return l->kernel->types[tly_operand_number(l, inst, i)];
}

#endif

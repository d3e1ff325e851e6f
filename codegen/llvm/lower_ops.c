/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel IR's computing operations as LLVM IR, from one table. No fast-math flag is ever set, so
 * nothing is fused, reassociated or assumed of NaN and signed zero.
 */
#include <string.h>

#include "../../runtime/host/error.h"
#include "internal.h"

enum { MAX_LANES = 64 }; /* the verifier's bound */

/* ---- types and constants ---- */

LLVMTypeRef tly_lower_type(const tly_lowering *l, kir_type type)
{
    LLVMTypeRef scalar = l->scalars[type.kind];
    return type.lanes == 1 ? scalar : LLVMVectorType(scalar, type.lanes);
}

LLVMValueRef tly_lower_int(const tly_lowering *l, kir_kind kind, uint64_t value)
{
    return LLVMConstInt(l->integers[kind], value, 0);
}

LLVMValueRef tly_lower_ramp(const tly_lowering *l, kir_kind kind, unsigned lanes, uint64_t start,
                            uint64_t step)
{
    LLVMValueRef lane[MAX_LANES];
    for (unsigned i = 0; i < lanes; i++) {
        lane[i] = tly_lower_int(l, kind, start + i * step);
    }
    return lanes == 1 ? lane[0] : LLVMConstVector(lane, lanes);
}

static LLVMValueRef constant(tly_lowering *l, const kir_inst *inst)
{
    const kir_type type = inst->type;
    LLVMValueRef bits = tly_lower_ramp(l, type.kind, type.lanes, (uint64_t)inst->imm, 0);
    return kir_is_float(type) ? LLVMConstBitCast(bits, tly_lower_type(l, type)) : bits;
}

static LLVMValueRef iota(tly_lowering *l, const kir_inst *inst)
{
    return tly_lower_ramp(l, inst->type.kind, inst->type.lanes, 0, 1);
}

LLVMValueRef tly_lower_intrinsic(const tly_lowering *l, const char *name, LLVMTypeRef *types,
                                 unsigned type_count, LLVMValueRef *arguments, unsigned count)
{
    const unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMValueRef callee = LLVMGetIntrinsicDeclaration(l->module, id, types, type_count);
    return LLVMBuildCall2(l->builder, LLVMGlobalGetValueType(callee), callee, arguments, count, "");
}

/* ---- lanes ---- */

/* Shuffle with lane numbers from start on for `from` lanes, then poison up to `to`. */
static LLVMValueRef take(const tly_lowering *l, LLVMValueRef v, unsigned start, unsigned from,
                         unsigned to)
{
    LLVMTypeRef i32 = l->scalars[KIR_I32];
    LLVMValueRef mask[MAX_LANES];
    for (unsigned i = 0; i < to; i++) {
        mask[i] = i < from ? LLVMConstInt(i32, start + i, 0) : LLVMGetPoison(i32);
    }
    return LLVMBuildShuffleVector(l->builder, v, LLVMGetPoison(LLVMTypeOf(v)),
                                  LLVMConstVector(mask, to), "");
}

LLVMValueRef tly_lower_splat(const tly_lowering *l, LLVMValueRef scalar, unsigned lanes)
{
    LLVMTypeRef i32 = l->scalars[KIR_I32];
    LLVMTypeRef type = LLVMVectorType(LLVMTypeOf(scalar), lanes);
    LLVMValueRef one = LLVMBuildInsertElement(l->builder, LLVMGetPoison(type), scalar,
                                              LLVMConstInt(i32, 0, 0), "");
    return LLVMBuildShuffleVector(l->builder, one, LLVMGetPoison(type),
                                  LLVMConstNull(LLVMVectorType(i32, lanes)), "");
}

static LLVMValueRef splat(tly_lowering *l, const kir_inst *inst)
{
    LLVMValueRef scalar = tly_operand(l, inst, 0);
    return inst->type.lanes == 1 ? scalar : tly_lower_splat(l, scalar, inst->type.lanes);
}

static LLVMValueRef extract(tly_lowering *l, const kir_inst *inst)
{
    if (tly_operand_type(l, inst, 0).lanes == 1) {
        return tly_operand(l, inst, 0);
    }
    return LLVMBuildExtractElement(l->builder, tly_operand(l, inst, 0),
                                   tly_lower_int(l, KIR_I32, (uint64_t)inst->imm), "");
}

static LLVMValueRef insert(tly_lowering *l, const kir_inst *inst)
{
    if (inst->type.lanes == 1) {
        return tly_operand(l, inst, 1);
    }
    return LLVMBuildInsertElement(l->builder, tly_operand(l, inst, 0), tly_operand(l, inst, 1),
                                  tly_lower_int(l, KIR_I32, (uint64_t)inst->imm), "");
}

/* ---- arithmetic ---- */

/* LLVM's opcodes: of arithmetic for integers and for floats, of conversions the one. */
static const LLVMOpcode opcodes[KIR_OP_COUNT][2] = {
    [KIR_ADD] = { LLVMAdd, LLVMFAdd }, [KIR_SUB] = { LLVMSub, LLVMFSub },
    [KIR_MUL] = { LLVMMul, LLVMFMul }, [KIR_UDIV] = { LLVMUDiv },
    [KIR_AND] = { LLVMAnd },           [KIR_OR] = { LLVMOr },
    [KIR_XOR] = { LLVMXor },           [KIR_SHL] = { LLVMShl },
    [KIR_LSHR] = { LLVMLShr },         [KIR_ASHR] = { LLVMAShr },
    [KIR_ZEXT] = { LLVMZExt },         [KIR_SEXT] = { LLVMSExt },
    [KIR_TRUNC] = { LLVMTrunc },       [KIR_FPEXT] = { LLVMFPExt },
    [KIR_FPTRUNC] = { LLVMFPTrunc },   [KIR_BITCAST] = { LLVMBitCast },
    [KIR_ADDR] = { LLVMPtrToInt },     [KIR_SITOFP] = { LLVMSIToFP },
    [KIR_UITOFP] = { LLVMUIToFP },
};

/* LLVM's names of what is no instruction of its own. */
static const char *const intrinsics[KIR_OP_COUNT] = {
    [KIR_UMIN] = "llvm.umin",         [KIR_UMAX] = "llvm.umax",
    [KIR_SMIN] = "llvm.smin",         [KIR_SMAX] = "llvm.smax",
    [KIR_SQRT] = "llvm.sqrt",         [KIR_ROUND] = "llvm.roundeven",
    [KIR_FLOOR] = "llvm.floor",       [KIR_FPTOSI] = "llvm.fptosi.sat",
    [KIR_FPTOUI] = "llvm.fptoui.sat", [KIR_MINIMUM] = "llvm.minimum",
    [KIR_MAXIMUM] = "llvm.maximum",
};

static LLVMValueRef binary(tly_lowering *l, const kir_inst *inst)
{
    return LLVMBuildBinOp(l->builder, opcodes[inst->op][kir_is_float(inst->type)],
                          tly_operand(l, inst, 0), tly_operand(l, inst, 1), "");
}

/* LLVM 19 takes lanes of a quotient for 0 if, while it selects instructions, it finds both operands
 * to be 0, as of (a<a)/(a==x) with AVX-512's masks. So it is not told what it divides by, but for
 * numbers. The fence is no instruction. */
static LLVMValueRef divide(tly_lowering *l, const kir_inst *inst)
{
    LLVMValueRef divisor = tly_operand(l, inst, 1);
    LLVMTypeRef type = LLVMTypeOf(divisor);
    if (inst->type.lanes > 1 && !(LLVMIsConstant(divisor) && !LLVMIsNull(divisor))) {
        divisor = tly_lower_intrinsic(l, "llvm.arithmetic.fence", &type, 1, &divisor, 1);
    }
    return LLVMBuildFDiv(l->builder, tly_operand(l, inst, 0), divisor, "");
}

static LLVMValueRef intrinsic(tly_lowering *l, const kir_inst *inst)
{
    LLVMValueRef operands[2] = { NULL };
    for (uint32_t i = 0; i < inst->operand_count; i++) {
        operands[i] = tly_operand(l, inst, i);
    }
    LLVMTypeRef types[2] = { tly_lower_type(l, inst->type), LLVMTypeOf(operands[0]) };
    return tly_lower_intrinsic(l, intrinsics[inst->op], types, types[0] == types[1] ? 1 : 2,
                               operands, inst->operand_count);
}

/* x if it is on the wanted side of y; else y, of equal ones and where one is NaN, too: one
 * instruction of x86. */
static LLVMValueRef nearer(const tly_lowering *l, LLVMRealPredicate side, LLVMValueRef x,
                           LLVMValueRef y)
{
    return LLVMBuildSelect(l->builder, LLVMBuildFCmp(l->builder, side, x, y, ""), x, y, "");
}

static LLVMValueRef is_nan(const tly_lowering *l, LLVMValueRef x)
{
    return LLVMBuildFCmp(l->builder, LLVMRealUNO, x, x, "");
}

/* Asked both ways round, the answers differ in two cases: of zeros the bits of -0 are in one, so
 * that `or` gives the minimum and `and` the maximum; of a NaN and a number each is in one, and
 * `or` is a NaN. */
static LLVMValueRef extremum(tly_lowering *l, const kir_inst *inst)
{
    const int least = inst->op == KIR_MINIMUM || inst->op == KIR_MINIMUM_NUMBER;
    const int number = inst->op == KIR_MINIMUM_NUMBER || inst->op == KIR_MAXIMUM_NUMBER;
    if (!number && l->arch->has_minimum) {
        return intrinsic(l, inst);
    }
    LLVMValueRef x = tly_operand(l, inst, 0), y = tly_operand(l, inst, 1);
    const kir_kind kind = inst->type.kind == KIR_F32 ? KIR_I32 : KIR_I64;
    LLVMTypeRef type = LLVMTypeOf(x);
    LLVMTypeRef bits = tly_lower_type(l, KIR_TYPE(kind, inst->type.lanes));
    const LLVMRealPredicate side = least ? LLVMRealOLT : LLVMRealOGT;
    LLVMValueRef one = LLVMBuildBitCast(l->builder, nearer(l, side, x, y), bits, "");
    LLVMValueRef other = LLVMBuildBitCast(l->builder, nearer(l, side, y, x), bits, "");
    LLVMValueRef both = LLVMBuildBinOp(l->builder, least ? LLVMOr : LLVMAnd, one, other, "");
    both = LLVMBuildBitCast(l->builder, both, type, "");
    if (number) {
        both = LLVMBuildSelect(l->builder, is_nan(l, y), x, both, "");
        return LLVMBuildSelect(l->builder, is_nan(l, x), y, both, "");
    }
    if (least) {
        return both;
    }
    LLVMValueRef nan = LLVMConstBitCast(LLVMConstAllOnes(bits), type);
    LLVMValueRef unordered = LLVMBuildFCmp(l->builder, LLVMRealUNO, x, y, "");
    return LLVMBuildSelect(l->builder, unordered, nan, both, "");
}

static LLVMValueRef compare(tly_lowering *l, const kir_inst *inst)
{
    static const struct {
        LLVMIntPredicate integer;
        LLVMRealPredicate real;
    } predicates[KIR_PRED_COUNT] = {
        [KIR_EQ] = { .integer = LLVMIntEQ },   [KIR_NE] = { .integer = LLVMIntNE },
        [KIR_SLT] = { .integer = LLVMIntSLT }, [KIR_SLE] = { .integer = LLVMIntSLE },
        [KIR_ULT] = { .integer = LLVMIntULT }, [KIR_ULE] = { .integer = LLVMIntULE },
        [KIR_OEQ] = { .real = LLVMRealOEQ },   [KIR_UNE] = { .real = LLVMRealUNE },
        [KIR_OLT] = { .real = LLVMRealOLT },   [KIR_OLE] = { .real = LLVMRealOLE },
        [KIR_UNO] = { .real = LLVMRealUNO },
    };
    LLVMValueRef x = tly_operand(l, inst, 0), y = tly_operand(l, inst, 1);
    if (kir_is_float(tly_operand_type(l, inst, 0))) {
        return LLVMBuildFCmp(l->builder, predicates[inst->imm].real, x, y, "");
    }
    return LLVMBuildICmp(l->builder, predicates[inst->imm].integer, x, y, "");
}

static LLVMValueRef choose(tly_lowering *l, const kir_inst *inst)
{
    return LLVMBuildSelect(l->builder, tly_operand(l, inst, 0), tly_operand(l, inst, 1),
                           tly_operand(l, inst, 2), "");
}

/* As fptrunc, by the host's rounding, but with {sae}. */
static LLVMValueRef quiet_half(tly_lowering *l, const kir_inst *inst)
{
    enum { HOSTS_ROUNDING = 4, NO_FLAGS = 8 };
    LLVMTypeRef words = LLVMVectorType(l->scalars[KIR_I16], inst->type.lanes);
    LLVMValueRef arguments[4] = { tly_operand(l, inst, 0),
                                  tly_lower_int(l, KIR_I32, HOSTS_ROUNDING | NO_FLAGS),
                                  LLVMConstNull(words), tly_lower_int(l, KIR_I16, 0xffff) };
    LLVMValueRef v = tly_lower_intrinsic(l, "llvm.x86.avx512.mask.vcvtps2ph.512", NULL, 0,
                                         arguments, 4);
    return LLVMBuildBitCast(l->builder, v, tly_lower_type(l, inst->type), "");
}

static LLVMValueRef convert(tly_lowering *l, const kir_inst *inst)
{
    const int half = tly_operand_type(l, inst, 0).kind == KIR_F16 || inst->type.kind == KIR_F16;
    if (half && inst->op != KIR_BITCAST && !l->target->has_f16) {
        l->status = tly_fail(l->error, TALLY_INTERNAL, "dtype", "%s of f16 on %s, which lacks it",
                             kir_op_text((kir_op)inst->op), l->target->level);
        return NULL;
    }
    if (tly_lower_is_quiet(l, inst)) {
        return quiet_half(l, inst);
    }
    return LLVMBuildCast(l->builder, opcodes[inst->op][0], tly_operand(l, inst, 0),
                         tly_lower_type(l, inst->type), "");
}

/* ---- keep ---- */

/* An empty inline asm that claims to make a new value of the old one, and to matter where it
 * stands. */
LLVMValueRef tly_lower_opaque(const tly_lowering *l, LLVMValueRef v, const char *constraint)
{
    LLVMTypeRef type = LLVMTypeOf(v);
    LLVMTypeRef callee = LLVMFunctionType(type, &type, 1, 0);
    /* Read only, but no const in LLVM 15's header. */
    char *text = (char *)(uintptr_t)constraint;
    LLVMValueRef code = LLVMGetInlineAsm(callee, "", 0, text, strlen(text), 1, 0,
                                         LLVMInlineAsmDialectATT, 0);
    return LLVMBuildCall2(l->builder, callee, code, &v, 1, "");
}

/* In the register of its kind. */
static LLVMValueRef keep_scalar(const tly_lowering *l, LLVMValueRef v)
{
    const LLVMTypeKind kind = LLVMGetTypeKind(LLVMTypeOf(v));
    const int is_float = kind == LLVMFloatTypeKind || kind == LLVMDoubleTypeKind;
    return tly_lower_opaque(l, v, is_float ? l->arch->vector_register : l->arch->scalar_register);
}

static LLVMValueRef keep_each(const tly_lowering *l, LLVMValueRef v, unsigned lanes)
{
    for (unsigned i = 0; i < lanes; i++) {
        LLVMValueRef at = tly_lower_int(l, KIR_I32, i);
        LLVMValueRef lane = keep_scalar(l, LLVMBuildExtractElement(l->builder, v, at, ""));
        v = LLVMBuildInsertElement(l->builder, v, lane, at, "");
    }
    return v;
}

/* A vector of `lanes` lanes of `bits`, whole registers at a time. */
LLVMValueRef tly_lower_keep(const tly_lowering *l, LLVMValueRef v, unsigned lanes, unsigned bits)
{
    if (!l->arch->has_vectors) {
        return keep_each(l, v, lanes);
    }
    const unsigned widest = (unsigned)l->target->vector_bytes * 8;
    unsigned width = 128;
    while (width < lanes * bits && width < widest) {
        width *= 2;
    }
    const unsigned part = width / bits;
    if (part == lanes) {
        return tly_lower_opaque(l, v, l->arch->vector_register);
    }
    LLVMValueRef result = NULL;
    for (unsigned done = 0; done < lanes; done += part) {
        const unsigned count = lanes - done < part ? lanes - done : part;
        LLVMValueRef kept = tly_lower_opaque(l, take(l, v, done, count, part),
                                             l->arch->vector_register);
        kept = take(l, kept, 0, count, lanes); /* as wide as the result, at its start */
        LLVMValueRef mask[MAX_LANES];
        for (unsigned i = 0; i < lanes; i++) {
            const int from_kept = i >= done && i < done + count;
            mask[i] = tly_lower_int(l, KIR_I32, from_kept ? lanes + i - done : i);
        }
        result = result == NULL ? kept
                                : LLVMBuildShuffleVector(l->builder, result, kept,
                                                         LLVMConstVector(mask, lanes), "");
    }
    return result;
}

static LLVMValueRef keep(tly_lowering *l, const kir_inst *inst)
{
    LLVMValueRef v = tly_operand(l, inst, 0);
    const kir_type type = inst->type;
    if (type.kind == KIR_F16) { /* which has no register of its own on every level */
        const kir_type bits = KIR_TYPE(KIR_I16, type.lanes);
        v = LLVMBuildBitCast(l->builder, v, tly_lower_type(l, bits), "");
    }
    if (type.lanes > 1) {
        v = tly_lower_keep(l, v, type.lanes, kir_kind_bits((kir_kind)type.kind));
    } else {
        v = keep_scalar(l, v);
    }
    return type.kind == KIR_F16 ? LLVMBuildBitCast(l->builder, v, tly_lower_type(l, type), "") : v;
}

static LLVMValueRef any(tly_lowering *l, const kir_inst *inst)
{
    LLVMValueRef v = tly_operand(l, inst, 0);
    LLVMTypeRef type = LLVMTypeOf(v);
    return tly_operand_type(l, inst, 0).lanes == 1
               ? v
               : tly_lower_intrinsic(l, "llvm.vector.reduce.or", &type, 1, &v, 1);
}

/* ---- the table ---- */

static LLVMValueRef (*const emitters[KIR_OP_COUNT])(tly_lowering *, const kir_inst *) = {
    [KIR_CONST] = constant,
    [KIR_IOTA] = iota,
    [KIR_ARG] = tly_lower_argument,
    [KIR_ARGV] = tly_lower_argument,
    [KIR_ADD] = binary,
    [KIR_SUB] = binary,
    [KIR_MUL] = binary,
    [KIR_UDIV] = binary,
    [KIR_AND] = binary,
    [KIR_OR] = binary,
    [KIR_XOR] = binary,
    [KIR_SHL] = binary,
    [KIR_LSHR] = binary,
    [KIR_ASHR] = binary,
    [KIR_UMIN] = intrinsic,
    [KIR_UMAX] = intrinsic,
    [KIR_SMIN] = intrinsic,
    [KIR_SMAX] = intrinsic,
    [KIR_DIV] = divide,
    [KIR_SQRT] = intrinsic,
    [KIR_MINIMUM] = extremum,
    [KIR_MAXIMUM] = extremum,
    [KIR_MINIMUM_NUMBER] = extremum,
    [KIR_MAXIMUM_NUMBER] = extremum,
    [KIR_ROUND] = intrinsic,
    [KIR_FLOOR] = intrinsic,
    [KIR_CMP] = compare,
    [KIR_SELECT] = choose,
    [KIR_ZEXT] = convert,
    [KIR_SEXT] = convert,
    [KIR_TRUNC] = convert,
    [KIR_FPEXT] = convert,
    [KIR_FPTRUNC] = convert,
    [KIR_BITCAST] = convert,
    [KIR_SITOFP] = convert,
    [KIR_UITOFP] = convert,
    [KIR_FPTOSI] = intrinsic,
    [KIR_FPTOUI] = intrinsic,
    [KIR_PTRADD] = tly_lower_ptradd,
    [KIR_ADDR] = convert,
    [KIR_LOAD] = tly_lower_load,
    [KIR_STORE] = tly_lower_store,
    [KIR_MLOAD] = tly_lower_masked_load,
    [KIR_MSTORE] = tly_lower_masked_store,
    [KIR_PREFETCH] = tly_lower_prefetch,
    [KIR_PREFETCHW] = tly_lower_prefetch,
    [KIR_FENCE] = tly_lower_fence,
    [KIR_CLEAR_FLAGS] = tly_lower_clear_flags,
    [KIR_FLAGS] = tly_lower_flags,
    [KIR_SPLAT] = splat,
    [KIR_EXTRACT] = extract,
    [KIR_INSERT] = insert,
    [KIR_SHUFFLE] = tly_lower_shuffle,
    [KIR_PERMUTE] = tly_lower_permute,
    [KIR_KEEP] = keep,
    [KIR_ANY] = any,
};

LLVMValueRef tly_lower_op(tly_lowering *l, const kir_inst *inst)
{
    if (emitters[inst->op] == NULL) {
        l->status = tly_fail(l->error, TALLY_INTERNAL, "kir", "no lowering for %s",
                             kir_op_text((kir_op)inst->op));
        return NULL;
    }
    return emitters[inst->op](l, inst);
}

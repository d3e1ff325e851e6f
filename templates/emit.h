/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The vocabulary that templates write kernels in. Every word takes the context of the kernel that
 * is being built and emits one operation of kernel IR (docs/kir.md); what has no word here is called
 * by its name in kir.h, with c->b.
 */
#ifndef TLY_EMIT_H
#define TLY_EMIT_H

#include "../codegen/kir/kir.h"
#include "../codegen/plan/plan.h"

/* Everything a stage needs to know; made once a kernel. */
typedef struct tly_build {
    kir_builder *b;
    const tly_problem *p;
    const tly_target *t;
    const tly_plan *plan;
    unsigned lanes; /* accumulators a vector */
    kir_type acc;   /* one accumulator */
    kir_type vec;   /* `lanes` of them */
    unsigned acc_bytes,
        bytes[TLY_TENSOR_COUNT]; /* of an accumulator; of an element of each tensor */
    unsigned state_bytes;        /* one state, all its parts */
    /* Of reductions, the elements of an output: i64, and as an accumulator; 0: the launch's
     * arguments tell. */
    kir_value count, real_count;
} tly_build;

/* ---- constants and arguments ---- */

static inline kir_value imm(const tly_build *c, int64_t v) /* a scalar i64 */
{
    return kir_int(c->b, v);
}

static inline kir_value constant(const tly_build *c, kir_type type, uint64_t bits)
{
    return kir_const(c->b, type, bits);
}

/* The same bits in every lane of x's type. */
static inline kir_value like(const tly_build *c, kir_value x, uint64_t bits)
{
    return kir_const(c->b, kir_type_of(c->b, x), bits);
}

static inline kir_value i1(const tly_build *c, int holds) /* a scalar i1 */
{
    return kir_const(c->b, KIR_TYPE(KIR_I1, 1), holds != 0);
}

static inline kir_value arg(const tly_build *c, kir_arg which)
{
    return kir_get(c->b, which);
}

static inline kir_type type_of(const tly_build *c, kir_value v)
{
    return kir_type_of(c->b, v);
}

/* ---- arithmetic: x op y, lane by lane ---- */

static inline kir_value bin(const tly_build *c, kir_op op, kir_value x, kir_value y)
{
    return kir_bin(c->b, op, x, y);
}

#define EMIT_BIN(word, op) \
    static inline kir_value word(const tly_build *c, kir_value x, kir_value y) \
    { \
        return kir_bin(c->b, op, x, y); \
    }
EMIT_BIN(add, KIR_ADD)
EMIT_BIN(sub, KIR_SUB)
EMIT_BIN(mul, KIR_MUL)
EMIT_BIN(divide, KIR_DIV)
EMIT_BIN(udiv, KIR_UDIV)
EMIT_BIN(umin, KIR_UMIN)
EMIT_BIN(umax, KIR_UMAX)
EMIT_BIN(smax, KIR_SMAX)
EMIT_BIN(band, KIR_AND)
EMIT_BIN(bor, KIR_OR)
EMIT_BIN(bxor, KIR_XOR)
EMIT_BIN(shl, KIR_SHL)
EMIT_BIN(lshr, KIR_LSHR)
EMIT_BIN(ashr, KIR_ASHR)
#undef EMIT_BIN

/* ---- comparisons: an i1 a lane ---- */

static inline kir_value cmp(const tly_build *c, kir_pred pred, kir_value x, kir_value y)
{
    return kir_cmp(c->b, pred, x, y);
}

#define EMIT_CMP(word, pred) \
    static inline kir_value word(const tly_build *c, kir_value x, kir_value y) \
    { \
        return kir_cmp(c->b, pred, x, y); \
    }
EMIT_CMP(equal, KIR_EQ) /* integers */
EMIT_CMP(differ, KIR_NE)
EMIT_CMP(less, KIR_SLT)
EMIT_CMP(at_most, KIR_SLE)
EMIT_CMP(ult, KIR_ULT)
EMIT_CMP(ule, KIR_ULE)
EMIT_CMP(oeq, KIR_OEQ) /* floats */
EMIT_CMP(une, KIR_UNE)
EMIT_CMP(olt, KIR_OLT)
EMIT_CMP(ole, KIR_OLE)
EMIT_CMP(uno, KIR_UNO)
#undef EMIT_CMP

/* ---- choices, conversions, addresses ---- */

static inline kir_value choose(const tly_build *c, kir_value cond, kir_value yes, kir_value no)
{
    return kir_select(c->b, cond, yes, no);
}

static inline kir_value any(const tly_build *c, kir_value i1s) /* i1: some lane is true */
{
    return kir_any(c->b, i1s);
}

static inline kir_value convert(const tly_build *c, kir_op op, kir_type to, kir_value x)
{
    return kir_convert(c->b, op, to, x);
}

static inline kir_value bitcast(const tly_build *c, kir_type to, kir_value x)
{
    return kir_convert(c->b, KIR_BITCAST, to, x);
}

static inline kir_value ptradd(const tly_build *c, kir_value p, kir_value bytes)
{
    return kir_ptradd(c->b, p, bytes);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The vocabulary that templates write kernels in. Every word takes the context of the kernel that
 * is being built and emits one operation of kernel IR (docs/kir.md); what has no word here is
 * called by its name in kir.h, with c->b.
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
    int tensors;                 /* so many from TLY_IN on */
    /* Elements once they are loaded: the input's dtype, or the one that expressions have. */
    tally_dtype element;
    unsigned element_bytes;
    kir_value heads;      /* marks of position 0 (tly_heads_mark); 0: there are none */
    int is_mapped;        /* 1: elements go through `map` when they are loaded; 0: by tly_element */
    unsigned state_bytes; /* one state, all its parts */
    /* Of reductions, the elements of an output: i64, and as an accumulator; 0: the launch's
     * arguments tell. */
    kir_value count, real_count;
    kir_value from; /* of a segment that is an axis by itself, the position of its first element
                       along the whole axis; else 0 */
    /* Of several segments at once, whose real_count has a lane each: i1s, those without elements;
     * else 0. */
    kir_value nothing;
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

/* The integers of so many bytes. */
static inline kir_kind integer_of(unsigned bytes)
{
    return bytes == 8 ? KIR_I64 : bytes == 4 ? KIR_I32 : bytes == 2 ? KIR_I16 : KIR_I8;
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

/* That argument of a tensor that KIR_ARG_<IN_AXIS> is of the input. */
#define TLY_ARG(OF_IN, tensor) ((kir_arg)(KIR_ARG_##OF_IN + (tensor) * (KIR_ARG_OUT - KIR_ARG_IN)))

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
EMIT_BIN(smin, KIR_SMIN)
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

/* As many lanes of another kind. */
static inline kir_value to_kind(const tly_build *c, kir_op op, kir_kind kind, kir_value x)
{
    return kir_convert(c->b, op, KIR_TYPE(kind, kir_type_of(c->b, x).lanes), x);
}

static inline kir_value ptradd(const tly_build *c, kir_value p, kir_value bytes)
{
    return kir_ptradd(c->b, p, bytes);
}

/* ---- tuples: the parts of a state ---- */

static inline kir_value part(const tly_build *c, kir_value tuple, unsigned i)
{
    return kir_part(c->b, tuple, i);
}

static inline kir_value pair(const tly_build *c, kir_value first, kir_value second)
{
    return kir_tuple(c->b, 2, (kir_value[]){ first, second });
}

/* x joins `before`, in place of which 0 says that x is the first. */
static inline kir_value accumulate(const tly_build *c, kir_op op, kir_value before, kir_value x)
{
    return before != 0 ? kir_bin(c->b, op, before, x) : x;
}

/* ---- flags of arithmetic (kir_flags): i1s ---- */

static inline kir_value raised(const tly_build *c, kir_value flags) /* any of them */
{
    return differ(c, flags, like(c, flags, 0));
}

static inline kir_value met(const tly_build *c, kir_value flags, unsigned which)
{
    return raised(c, band(c, flags, like(c, flags, which)));
}

/* ---- loops and branches (stages/emit.c) ---- */

/* An open loop or branch. `state` names the template's variables that it changes, the first NULL
 * ends them:
 *   tly_region l = { .state = { &sum, &largest } };
 *   emit_for(c, &l, lo, hi, step);     the variables hold the values that this trip begins with
 *   sum = add(c, sum, l.i); ...        and at its end those that the next one begins with
 *   emit_end(c, &l);                   the variables hold the results
 * and of branches
 *   tly_region r = { .state = { &y } };
 *   emit_if(c, &r, cond);
 *   y = ...;                           what y becomes where cond holds
 *   emit_else(c, &r);                  may be left out: y stays what it was before
 *   y = ...;
 *   emit_end(c, &r);
 * Variables may be tuples; a variable that is set in both branches needs no value before. */
typedef struct tly_region {
    kir_value *state[KIR_MAX_CARRIED];
    kir_value i; /* a loop's index */
    unsigned count;
    int is_loop;
    kir_value before[KIR_MAX_CARRIED]; /* an open branch: the state's values at its start */
    union {
        kir_loop loop;
        kir_branch branch;
    };
} tly_region;

/* Adds `count` neighbours to the state, before the region begins. */
void emit_carry(tly_region *r, unsigned count, kir_value *variables);

/* for (i = lo; i < hi; i += step): i64, or on GPUs i32; step > 0. */
void emit_for(const tly_build *c, tly_region *r, kir_value lo, kir_value hi, kir_value step);
/* The same: no further trip once the first variable, an i1, is false. */
void emit_for_while(const tly_build *c, tly_region *r, kir_value lo, kir_value hi, kir_value step);
void emit_if(const tly_build *c, tly_region *r, kir_value cond);
void emit_unless(const tly_build *c, tly_region *r, kir_value cond);
void emit_else(const tly_build *c, tly_region *r);
void emit_end(const tly_build *c, tly_region *r);

#endif

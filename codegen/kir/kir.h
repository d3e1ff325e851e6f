/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel IR: typed SSA values, structured loops and ifs, a closed list of operations (ops.def).
 * Built by templates, verified, printed, parsed, interpreted, lowered. docs/kir.md is the manual.
 *
 * A kernel is one flat array of instructions in structured order: `for` and `if` open a region
 * that `end` closes (`else` between); `yield` ends each region with its results. Every
 * instruction's results are consecutive value numbers, given in order of appearance.
 */
#ifndef KIR_H
#define KIR_H

#include <stddef.h>
#include <stdint.h>

#include <tally/kernel.h>

#include "../../runtime/descriptor/tensors.h"
#include "../../runtime/problem/block.def"

typedef enum kir_op {
#define KIR_OP(NAME, text, operands, results, immediate, sort, targets, rule) KIR_##NAME,
#include "ops.def"
#undef KIR_OP
    KIR_OP_COUNT
} kir_op;

/* Scalar kinds. bf16 is no kind: it is i16, with integer code around it. */
typedef enum kir_kind {
    KIR_NONE = 0,
    KIR_I1,
    KIR_I8,
    KIR_I16,
    KIR_I32,
    KIR_I64,
    KIR_F16,
    KIR_F32,
    KIR_F64,
    KIR_PTR,
    KIR_WPTR, /* an address in workgroup memory: GPU */
    KIR_KIND_COUNT
} kir_kind;

/* A kind times lanes; 1 lane is a scalar; ptr is always scalar. Lanes: 1 to 64, any number. */
typedef struct kir_type {
    uint8_t kind;
    uint8_t lanes;
} kir_type;

#define KIR_TYPE(kind_, lanes_) ((kir_type){ (uint8_t)(kind_), (uint8_t)(lanes_) })

/* Of integers the first six, of floats the last five (ordered but une, uno). */
typedef enum kir_pred {
    KIR_EQ,
    KIR_NE,
    KIR_SLT,
    KIR_SLE,
    KIR_ULT,
    KIR_ULE,
    KIR_OEQ,
    KIR_UNE,
    KIR_OLT,
    KIR_OLE,
    KIR_UNO,
    KIR_PRED_COUNT
} kir_pred;

/* Built-in ids, i32. A subgroup's number and lane, not the local index, say who scans with whom. */
typedef enum kir_id {
    KIR_ID_GROUP_X,
    KIR_ID_GROUP_Y,
    KIR_ID_LOCAL,
    KIR_ID_SUBGROUP,
    KIR_ID_LANE,
    KIR_ID_COUNT
} kir_id;

/* Launch arguments by name: the fields of the parameter block (runtime/problem/block.def), and
 * of tly_task (args.def). Of push constants' dims there is an argument for each, behind that of
 * all. */
typedef enum kir_arg {
#define KIR_FIELD(NAME, name, of, member, cpu, push, block, meaning) KIR_ARG_##NAME,
#define KIR_DIMS(NAME, name, of, member, cpu, push, block, meaning) \
    KIR_ARG_##NAME, KIR_ARG_##NAME##0, KIR_ARG_##NAME##1,
#define KIR_TENSOR(T, t, member, is_written, home, meaning) \
    TLY_TENSOR_FIELDS(KIR_FIELD, KIR_DIMS, T, t, home)
#define KIR_TASK(NAME, name, type) KIR_ARG_##NAME,
    TLY_LAUNCH_FIELDS(KIR_FIELD, KIR_DIMS) TLY_TENSORS(KIR_TENSOR)
#include "args.def"
#undef KIR_TASK
#undef KIR_TENSOR
#undef KIR_DIMS
#undef KIR_FIELD
        KIR_ARG_COUNT
} kir_arg;

/* Where an argument lies, of kernels with a workgroup or without. */
typedef enum kir_block {
    KIR_NOWHERE,
    KIR_IN_ARGS,
    KIR_IN_TASK,
    KIR_IN_PUSH,
    KIR_IN_BLOCK, /* at the start of the scratch; all but addresses are loaded there (kir_get) */
    KIR_BLOCK_COUNT
} kir_block;

typedef struct kir_place {
    uint8_t block;
    char
        type; /* p: ptr, i: i64, v: i64s (argv), w: i32, l: i64 or the lower half, d: f64, f: f32 */
    uint16_t offset;
} kir_place;

kir_place kir_arg_place(kir_arg arg, int gpu);
/* The tensor whose base it is (tly_tensor_number), or -1. */
int kir_arg_tensor(kir_arg arg);

typedef uint32_t kir_value; /* 0 is no value */

/* Flags of instructions. */
enum {
    KIR_STREAM = 1, /* store: non-temporal, needs natural alignment of the whole vector */
    KIR_WHILE = 2   /* for: goes on only while the first carried value, an i1, is true */
};

typedef struct kir_inst {
    uint8_t op; /* kir_op */
    uint8_t flags;
    uint16_t align;         /* load, store: bytes the address is a multiple of, from 1 */
    kir_type type;          /* of the result; store, mstore: of the value; for, if: unused */
    uint32_t operand_first; /* in kir_kernel.operands */
    uint32_t operand_count;
    uint32_t result_first; /* value number; for: its results, see params_first */
    uint32_t result_count;
    uint32_t params_first; /* for: value number of the induction variable (i64); the carried
                               values inside follow it, result_count of them */
    uint32_t match;        /* for, else: its end; if: its else or end; end: its opener */
    int64_t imm;           /* see ops.def; shuffle: first index in kir_kernel.indices */
} kir_inst;

/* What the lowering of a kernel with a workgroup is told of its tensors: input and output are never
 * the same memory; pointers are addresses of the device, not places in storage buffers. */
enum { KIR_APART = 1, KIR_ADDRESSES = 2, KIR_FACTS = KIR_APART | KIR_ADDRESSES };

/* A finished kernel. Read-only; free with kir_free. */
typedef struct kir_kernel {
    char name[64];
    uint32_t workgroup; /* invocations of a workgroup; 0: a kernel for CPUs */
    uint32_t facts;     /* KIR_APART and KIR_ADDRESSES; 0 for CPUs */
    kir_inst *insts;
    uint32_t inst_count;
    uint32_t *operands; /* value numbers */
    uint32_t operand_count;
    uint8_t *indices; /* shuffle lanes */
    uint32_t index_count;
    kir_type *types;      /* by value number; [0] unused */
    uint32_t value_count; /* value numbers are below this */
} kir_kernel;

/* ---- building ---- */

/* A builder holds the first error (out of memory, or a fault such as a type mismatch, which is an
 * internal error naming the operation); after it every call returns 0 at once. */
typedef struct kir_builder kir_builder;

kir_builder *kir_begin(const char *name); /* NULL: out of memory */
/* A kernel for GPUs: the program of one of `workgroup` invocations. */
kir_builder *kir_begin_workgroup(const char *name, uint32_t workgroup);
void kir_declare(kir_builder *b, uint32_t facts);
/* Ends building, verifies, and hands the kernel out; frees the builder in any case. */
tally_status kir_finish(kir_builder *b, kir_kernel **kernel, tally_error *error);
void kir_free(kir_kernel *kernel);
kir_type kir_type_of(const kir_builder *b, kir_value v); /* of a tuple: of its first part */
uint32_t kir_workgroup_of(const kir_builder *b);         /* 0: a kernel for CPUs */

/* Up to four values under one handle, which no instruction sees: select, splat, extract,
 * insert, shuffle, keep, from_lane, and what loops and ifs carry and yield, take tuples, and
 * treat each part alike; all else given a tuple is a fault. A tuple of one part is that value. */
#define KIR_MAX_PARTS 4
kir_value kir_tuple(kir_builder *b, unsigned parts, const kir_value *v);
unsigned kir_parts(const kir_builder *b, kir_value v); /* of what is no tuple: 1 */
kir_value kir_part(kir_builder *b, kir_value v, unsigned i);

/* Splat of bits; equal ones are one value. */
kir_value kir_const(kir_builder *b, kir_type type, uint64_t bits);
kir_value kir_int(kir_builder *b, int64_t value); /* scalar i64 */
kir_value kir_iota(kir_builder *b, kir_type type);
kir_value kir_get(kir_builder *b, kir_arg arg);
kir_value kir_get_at(kir_builder *b, kir_arg arg, kir_value index); /* array arguments */
/* An argument that is read as i64 or, its lower half, as i32; always as one of the two. */
kir_value kir_get_as(kir_builder *b, kir_arg arg, kir_kind kind);
/* One dim of an argument that has several, of kernels with a workgroup. */
kir_value kir_get_dim(kir_builder *b, kir_arg arg, unsigned dim, kir_kind kind);
/* Two-operand arithmetic; folds scalar i64 and i32 constants, x + 0 and x * 1 of integers. */
kir_value kir_bin(kir_builder *b, kir_op op, kir_value x, kir_value y);
kir_value kir_unary(kir_builder *b, kir_op op, kir_value x); /* SQRT, ROUND, FLOOR */
kir_value kir_cmp(kir_builder *b, kir_pred pred, kir_value x, kir_value y);
kir_value kir_select(kir_builder *b, kir_value cond, kir_value yes, kir_value no);
kir_value kir_convert(kir_builder *b, kir_op op, kir_type to, kir_value x); /* ZEXT to FPTOUI */
kir_value kir_ptradd(kir_builder *b, kir_value p, kir_value bytes);
kir_value kir_addr(kir_builder *b, kir_value p);
kir_value kir_load(kir_builder *b, kir_type type, kir_value p, int64_t offset, unsigned align);
void kir_store(kir_builder *b, kir_value p, int64_t offset, kir_value v, unsigned align,
               unsigned flags);
kir_value kir_mload(kir_builder *b, kir_type type, kir_value p, int64_t offset, kir_value count,
                    kir_value other);
void kir_mstore(kir_builder *b, kir_value p, int64_t offset, kir_value count, kir_value v);
void kir_prefetch(kir_builder *b, kir_value p, int64_t offset);
void kir_prefetchw(kir_builder *b, kir_value p,
                   int64_t offset); /* a prefetch of what will be written */
void kir_fence(kir_builder *b);
/* What arithmetic met since flags were cleared, of what was computed in between by loops; a lane
 * that overflowed or underflowed (tiny and inexact) is enough. The host's flags stay as they
 * are. */
enum { KIR_OVERFLOWED = 1, KIR_UNDERFLOWED = 2 };
void kir_clear_flags(kir_builder *b);
kir_value kir_flags(kir_builder *b);                                   /* i32 */
kir_value kir_splat(kir_builder *b, kir_value scalar, unsigned lanes); /* lanes 1: itself */
kir_value kir_extract(kir_builder *b, kir_value v, unsigned lane);     /* of a scalar: itself */
kir_value kir_insert(kir_builder *b, kir_value v, kir_value scalar, unsigned lane);
kir_value kir_shuffle(kir_builder *b, kir_value x, kir_value y, const uint8_t *index,
                      unsigned lanes); /* result has `lanes` lanes; y may be x */
/* Lane i of the result is lane index[i] of x, then y, of 32 or 64 bits. `index`: integers of as
 * many bits and lanes, a power of two; those beyond both vectors begin again at x's first lane. */
kir_value kir_permute(kir_builder *b, kir_value x, kir_value y, kir_value index);
kir_value kir_keep(kir_builder *b, kir_value v);
kir_value kir_any(kir_builder *b, kir_value i1s); /* i1: some lane is true; of one: itself */
/* Of kernels with a workgroup. */
kir_value kir_get_id(kir_builder *b, kir_id id);
kir_value kir_shared(kir_builder *b, uint32_t bytes);
void kir_barrier(kir_builder *b);
kir_value kir_subgroup_scan(kir_builder *b, kir_op op, kir_value v); /* SCAN_ADD, SCAN_MUL */
kir_value kir_from_lane(kir_builder *b, kir_value v, kir_value lane);
kir_value kir_ballot(kir_builder *b, kir_value i1); /* i32x4, bit l that of lane l */
kir_value kir_atomic_add(kir_builder *b, kir_value p, int64_t offset, kir_value v);
kir_value kir_atomic_load(kir_builder *b, kir_value p, int64_t offset);
void kir_atomic_store(kir_builder *b, kir_value p, int64_t offset, kir_value v);
void kir_return(kir_builder *b, kir_value i64);

#define KIR_MAX_CARRIED 40 /* values, which may be tuples */
#define KIR_MAX_RESULTS (KIR_MAX_CARRIED * KIR_MAX_PARTS)

/* for (i = lo; i < hi; i += step), signed i64 (GPU: or i32, all three), step > 0, with carried
 * values.
 *   kir_loop l; kir_for(b, &l, lo, hi, step, n, initial);
 *   ... use l.i and l.carried[0..n) ...
 *   kir_for_end(b, &l, next);    then l.result[0..n) hold after the loop */
typedef struct kir_loop {
    uint32_t inst, count;
    uint8_t parts[KIR_MAX_CARRIED];
    kir_value i;
    kir_value carried[KIR_MAX_CARRIED];
    kir_value result[KIR_MAX_CARRIED];
} kir_loop;

void kir_for(kir_builder *b, kir_loop *loop, kir_value lo, kir_value hi, kir_value step,
             unsigned count, const kir_value *initial);
/* Right after kir_for: no further trip once the first carried value, an i1, is false. */
void kir_for_while(kir_builder *b, const kir_loop *loop);
void kir_for_end(kir_builder *b, kir_loop *loop, const kir_value *next);

/* if with results:
 *   kir_branch c; kir_if(b, &c, cond); ... kir_else(b, &c, n, values); ...
 *   kir_if_end(b, &c, n, values);   then c.result[0..n)
 * without else: kir_if; ...; kir_if_end(b, &c, 0, NULL). */
typedef struct kir_branch {
    uint32_t inst, count;
    int has_else;
    uint8_t parts[KIR_MAX_CARRIED];
    kir_value result[KIR_MAX_CARRIED];
} kir_branch;

void kir_if(kir_builder *b, kir_branch *branch, kir_value cond);
void kir_else(kir_builder *b, kir_branch *branch, unsigned count, const kir_value *values);
void kir_if_end(kir_builder *b, kir_branch *branch, unsigned count, const kir_value *values);

/* ---- a finished kernel ---- */

/* The tensors that it has addresses of: 1 << TLY_TENSOR_... (runtime/problem/abi.h). */
uint32_t kir_tensors(const kir_kernel *kernel);

tally_status kir_verify(const kir_kernel *kernel, tally_error *error);
tally_status kir_print(const kir_kernel *kernel, tally_write write, void *user);
/* print(parse(text)) is text for every text that print gave. Errors name the rule, and as their
 * position the character, from 1, where it is broken. */
tally_status kir_parse(const char *text, size_t bytes, kir_kernel **kernel, tally_error *error);

/* A kernel, and where the statement of each of its instructions begins in the text, from 0. */
typedef struct kir_source {
    kir_kernel *kernel;
    uint32_t *places;
} kir_source;

/* One to `most` kernels, one after the other, as a launch has them. On failure there are none. */
tally_status kir_parse_all(const char *text, size_t bytes, kir_source *sources, uint32_t most,
                           uint32_t *count, tally_error *error);
void kir_source_free(kir_source *source);

/* Memory of the host's that the interpreted kernel has at `at`. */
typedef struct kir_region {
    uint64_t at, bytes;
    char *memory;
    int writable;
} kir_region;

/* Limits for a kernel that is not trusted. An access outside of the regions is a fault, and so is
 * the end of the steps. Without limits, addresses are the host's. */
typedef struct kir_limits {
    const kir_region *regions;
    uint32_t count;
    uint64_t steps; /* instructions of an invocation that may yet be done; the rest on return */
    uint32_t fault; /* set on failure: the instruction */
} kir_limits;

/* Runs the kernel on host memory, one lane after another, with C's arithmetic: the judge between
 * backends. args and task as in runtime/problem/abi.h; `limits` may be NULL; *result is the
 * kernel's return value. TALLY_INTERNAL for what a kernel must not do, since templates do not. */
struct tly_args;
struct tly_task;
tally_status kir_interpret(const kir_kernel *kernel, const struct tly_args *args,
                           const struct tly_task *task, kir_limits *limits, int64_t *result,
                           tally_error *error);

/* One dispatch of a kernel with a workgroup. */
typedef struct kir_grid {
    const struct tly_push *push; /* with addresses of the host's, or of the regions */
    uint32_t groups_x, groups_y;
    uint32_t subgroup;  /* invocations of a subgroup, from 1 */
    kir_limits *limits; /* may be NULL */
} kir_grid;

tally_status kir_interpret_grid(const kir_kernel *kernel, const kir_grid *grid, tally_error *error);

/* Names and facts from the tables. */
const char *kir_op_text(kir_op op);
const char *kir_kind_text(kir_kind kind);
const char *kir_pred_text(kir_pred pred);
const char *kir_arg_text(kir_arg arg);
const char *kir_id_text(kir_id id);
const char *kir_fact_text(uint32_t fact); /* of one */
unsigned kir_kind_bits(kir_kind kind);    /* i1: 1; ptr: 64 */
static inline int kir_is_float(kir_type t)
{
    return t.kind >= KIR_F16 && t.kind <= KIR_F64;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of kernel IR share: the builder's insides, the facts about operations that more
 * than one file needs, and how a broken rule is carried to whoever reports it.
 */
#ifndef KIR_INTERNAL_H
#define KIR_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "../../runtime/host/error.h"
#include "kir.h"

/* Regions nest at most this deep: the walkers keep their stacks on the C stack. */
#define KIR_MAX_DEPTH 32
#define KIR_MAX_LANES 64
#define KIR_MAX_WORKGROUP 1024

/* ---- facts (tables.c) ---- */

/* See ops.def. */
typedef enum kir_sort {
    KIR_SORT_PLAIN,
    KIR_SORT_BINARY,
    KIR_SORT_UNARY,
    KIR_SORT_CONVERT,
    KIR_SORT_VARIES
} kir_sort;

enum { KIR_ON_CPU = 1, KIR_ON_GPU = 2, KIR_ON_BOTH = KIR_ON_CPU | KIR_ON_GPU };

int kir_op_operands(kir_op op);  /* -1: the count is in the instruction */
int kir_op_immediate(kir_op op); /* the letter of ops.def, 0 for none */
int kir_op_results(kir_op op);   /* 0, 1; -1: the count is in the instruction */
int kir_op_stores(kir_op op);    /* 1: without result, of the stored value's type */
kir_sort kir_op_sort(kir_op op);
unsigned kir_op_targets(kir_op op);     /* KIR_ON_CPU, KIR_ON_GPU or both, added */
unsigned kir_kind_bytes(kir_kind kind); /* in the interpreter's frame and, but for i1, in memory */

static inline unsigned kir_type_bytes(kir_type t)
{
    return kir_kind_bytes((kir_kind)t.kind) * t.lanes;
}

static inline int kir_same_type(kir_type a, kir_type b)
{
    return a.kind == b.kind && a.lanes == b.lanes;
}

static inline int kir_is_int(kir_type t) /* i1 is none */
{
    return t.kind >= KIR_I8 && t.kind <= KIR_I64;
}

/* The low bits of a constant that its kind has. */
uint64_t kir_low_bits(kir_kind kind, uint64_t bits);

/* ---- building ---- */

struct constant {
    kir_inst inst;
    uint32_t value;
    uint32_t next; /* in its hash chain; index + 1, 0 ends it */
};

struct value {
    kir_type type;
    uint32_t constant; /* index + 1 in constants; 0: computed */
};

/* An array that grows; `data` is NULL until the first element. */
struct pool {
    void *data;
    uint32_t count, capacity;
};

#define KIR_CHAINS 64

struct kir_builder {
    char name[64];
    uint32_t workgroup, facts;
    tally_status status; /* the first error, which makes every later call return at once */
    char fault[160];
    struct pool insts;     /* kir_inst: the body; constants are apart until kir_seal */
    struct pool operands;  /* uint32_t */
    struct pool indices;   /* uint8_t */
    struct pool values;    /* struct value; [0] unused */
    struct pool tuples;    /* tuple.c */
    struct pool constants; /* struct constant */
    uint32_t chains[KIR_CHAINS];
    /* Open regions. Serials tell whether the region in which an argument was first asked for is
     * still open, so that its value can be used again. [0] is the kernel's outermost level. */
    uint32_t depth, serials;
    struct {
        uint32_t inst, serial;
    } open[KIR_MAX_DEPTH + 1];
    struct {
        uint32_t value, depth, serial;
    } args[KIR_ARG_COUNT];
};

/* Room for `count` more elements of `size` bytes; NULL and the sticky error if there is none. The
 * elements count as added. */
void *kir_push(kir_builder *b, struct pool *pool, uint32_t count, size_t size);

/* Sets the sticky error unless there is one; returns 0, to be returned as a value in turn. */
kir_value kir_fault(kir_builder *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* 1 if building may go on. A builder that could not be had is as one that failed. */
static inline int kir_alive(const kir_builder *b)
{
    return b != NULL && b->status == TALLY_OK;
}

kir_value kir_new_value(kir_builder *b, kir_type type);

/* Appends an instruction without results and returns it (NULL: sticky error); the operands must be
 * values of this builder. The pointer holds until the next instruction. */
kir_inst *kir_append(kir_builder *b, kir_op op, kir_type type, uint32_t count,
                     const kir_value *operands);

/* Appends one with a single result of `type` and returns that. */
kir_value kir_emit(kir_builder *b, kir_op op, kir_type type, int64_t imm, uint32_t count,
                   const kir_value *operands);

kir_value kir_first_part(const kir_builder *b, kir_value v); /* of what is no tuple: itself */
/* The most parts of an operand; kir_emit where that is more than one (tuple.c). */
unsigned kir_parts_of(const kir_builder *b, uint32_t count, const kir_value *operands);
kir_value kir_emit_parts(kir_builder *b, kir_op op, kir_type type, int64_t imm, uint32_t count,
                         const kir_value *operands);

/* The parts of all values one after the other, KIR_MAX_RESULTS at most; returns how many, and how
 * many each value has. `op` is what wants them. And back. */
uint32_t kir_flatten(kir_builder *b, kir_op op, uint32_t count, const kir_value *values,
                     uint8_t *parts, kir_value *flat);
void kir_regroup(kir_builder *b, uint32_t count, const uint8_t *parts, const kir_value *flat,
                 kir_value *values);

/* Opens a region that instruction `inst` begins; closes the innermost. */
void kir_open(kir_builder *b, uint32_t inst);
void kir_close(kir_builder *b);

static inline kir_inst *kir_at(kir_builder *b, uint32_t inst)
{
    return (kir_inst *)b->insts.data + inst;
}

/* Puts the constants in front, numbers values in order of appearance and makes the kernel, not
 * verified. Frees nothing of the builder; NULL on the sticky error. */
kir_kernel *kir_seal(kir_builder *b);
void kir_builder_free(kir_builder *b);

/* ---- verifying ---- */

/* Where and how a rule is broken. */
struct kir_breach {
    uint32_t inst; /* inst_count: the kernel as a whole */
    char text[200];
};

/* TALLY_OK; TALLY_INTERNAL with *breach filled; TALLY_OUT_OF_MEMORY. */
tally_status kir_check(const kir_kernel *k, struct kir_breach *breach);

/* The rule of the operation that `inst` breaks, or NULL: kinds, lanes, immediates, alignment. Its
 * operands are known to exist; structure is the caller's (rules.c). */
const char *kir_rule_broken(const kir_kernel *k, const kir_inst *inst);

/* The rule on barriers that the kernel breaks, or NULL; *inst is where. Asks for a kernel that is
 * sound otherwise (uniform.c). TALLY_OUT_OF_MEMORY by *status. */
const char *kir_uniform_broken(const kir_kernel *k, uint32_t *inst, tally_status *status);

/* 1 if a kernel may be called so: a C identifier that fits kir_kernel.name. */
int kir_name_valid(const char *name);

/* ---- evaluating lanes (lanes.c) ---- */

/* Computes n lanes; returns 1, with *d unspecified, where C has no answer: division by zero, a
 * shift by the width or more. */
typedef int (*kir_lanes)(void *d, const void *x, const void *y, unsigned n);

kir_lanes kir_lanes_binary(kir_op op, kir_kind kind);      /* NULL: no such operation */
kir_lanes kir_lanes_compare(kir_pred pred, kir_kind kind); /* bytes 0 or 1 */
/* Conversions and operations of one operand (convert.c, beside the interpreter). */
void kir_lanes_convert(kir_op op, kir_type to, void *d, kir_type from, const void *x);

/* One lane of a frame slot as bits, and back. */
uint64_t kir_lane_get(unsigned bytes, const void *slot, unsigned lane);
void kir_lane_put(unsigned bytes, void *slot, unsigned lane, uint64_t bits);

#endif

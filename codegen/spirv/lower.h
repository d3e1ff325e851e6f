/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the lowering share: how kernel IR values are held, and the state of one run.
 *
 * i1 is a bool, f32 and f64 are floats, i32 a uint; i64 is one where the device has it and else a
 * pair of uints for each lane. i16 and f16 are uints with clean upper halves: 16 bits wide they
 * are in memory only, which asks least of a device. An i8 is one with clean upper bits, too, but
 * is only loaded, stored and converted, alone. Lanes are a vector, pairs one after another.
 */
#ifndef TLY_SPV_LOWER_H
#define TLY_SPV_LOWER_H

#include "../../runtime/problem/abi.h"
#include "../../runtime/problem/gpu.h"
#include "../kir/internal.h"
#include "module.h"
#include "spirv.h"

enum { TLY_SPV_LANES = 4, TLY_SPV_PARTS = 2 * TLY_SPV_LANES };

/* The parts of addresses. An offset of 0 is no offset. */
enum { TLY_SPV_OFFSET, TLY_SPV_LOW, TLY_SPV_HIGH, TLY_SPV_SHARED = TLY_SPV_LOW };

typedef struct tly_spv_value {
    uint32_t id[TLY_SPV_PARTS]; /* as many as tly_spv_parts says; constants have none until asked */
    uint64_t bits;              /* of a constant, in every lane */
    uint8_t constant;
    uint8_t root; /* ptr: the binding; wptr: none */
} tly_spv_value;

typedef struct tly_spv_lowering {
    tly_spv_module m;
    const kir_kernel *kernel;
    const tly_spirv_options *options;
    tly_spv_value *values;      /* by kernel IR value number */
    int pairs;                  /* i64 is two uints */
    unsigned widths;            /* of the floats computed with, 16, 32 and 64, added */
    uint32_t ids[KIR_ID_COUNT]; /* variables, made when asked for */
    uint32_t push;
    uint32_t blocks[5]; /* storage buffer types, by log2 of the element's bytes */
    uint32_t buffers[TLY_GPU_BINDINGS][5]; /* variables, by binding and element */
    uint32_t written;                      /* bindings that are stored to, as bits */
    uint32_t narrow[2]; /* address form: the types of pointers to blocks of 8 and 16 bits */
    uint32_t shared_count;
} tly_spv_lowering;

/* Adds the kernel as the module's function (lower.c). */
void tly_spv_lower_function(tly_spv_lowering *l);

/* ---- values (words.c) ---- */

/* The type of a lane or, of pairs, its words; and of a part. */
uint32_t tly_spv_scalar(tly_spv_lowering *l, kir_kind kind);
uint32_t tly_spv_type(tly_spv_lowering *l, kir_type type);
unsigned tly_spv_parts(const tly_spv_lowering *l, kir_type type);
uint32_t tly_spv_constant(tly_spv_lowering *l, kir_type type, uint64_t bits); /* not of pairs */

static inline int tly_spv_paired(const tly_spv_lowering *l, kir_type type)
{
    return l->pairs && type.kind == KIR_I64;
}

static inline int tly_spv_is_half(kir_type type)
{
    return type.kind == KIR_I16 || type.kind == KIR_F16;
}

/* One lane as a scalar value, and lanes as a value. Never in place. */
void tly_spv_lane(tly_spv_lowering *l, kir_type type, const tly_spv_value *value, unsigned lane,
                  tly_spv_value *result);
void tly_spv_compose(tly_spv_lowering *l, kir_type type, const tly_spv_value *lanes,
                     tly_spv_value *result);

/* Bits as 32-bit words, lowest first, and back; returns how many. Not of i1, nor of a lone half. */
unsigned tly_spv_to_words(tly_spv_lowering *l, kir_type type, const tly_spv_value *value,
                          uint32_t words[TLY_SPV_PARTS]);
void tly_spv_from_words(tly_spv_lowering *l, kir_type type, const uint32_t *words,
                        tly_spv_value *result);
uint32_t tly_spv_uvec(tly_spv_lowering *l, const uint32_t *words, unsigned count);
/* Words of a vector of `count`, or the scalar itself. */
void tly_spv_split(tly_spv_lowering *l, uint32_t uvec, unsigned count, uint32_t *words);
/* The two halves that share a word, and back. */
void tly_spv_unpack(tly_spv_lowering *l, uint32_t word, uint32_t halves[2]);
uint32_t tly_spv_pack(tly_spv_lowering *l, const uint32_t halves[2]);

/* An operand, ready for use; a constant is made here. */
const tly_spv_value *tly_spv_operand(tly_spv_lowering *l, const kir_inst *inst, unsigned i);
/* The same without making constants; their words need no 64-bit types. */
static inline const tly_spv_value *tly_spv_bare(const tly_spv_lowering *l, const kir_inst *inst,
                                                unsigned i)
{
    return &l->values[l->kernel->operands[inst->operand_first + i]];
}

static inline kir_type tly_spv_operand_type(const tly_spv_lowering *l, const kir_inst *inst,
                                            unsigned i)
{
    return l->kernel->types[l->kernel->operands[inst->operand_first + i]];
}

#define U32(l) tly_spv_uint(&(l)->m, 32)
#define LITERAL(l, value) tly_spv_u32(&(l)->m, (uint32_t)(value))
#define OP(l, op, type, ...) TLY_SPV_OP(&(l)->m, SpvOp##op, type, __VA_ARGS__)
/* On uints, with a uint for the result. */
#define WORD(l, op, ...) OP(l, op, U32(l), __VA_ARGS__)

/* ---- i64 without Int64 (pairs.c): x, y, out are low and high word ---- */

/* `shift`: the constant amount of a shift, or -1. */
void tly_spv_pair_binary(tly_spv_lowering *l, kir_op op, const uint32_t x[2], const uint32_t y[2],
                         int shift, uint32_t out[2]);
uint32_t tly_spv_pair_compare(tly_spv_lowering *l, kir_pred pred, const uint32_t x[2],
                              const uint32_t y[2]);
/* x + y of words; the high word of that, 0 or 1, comes behind. */
void tly_spv_add_carry(tly_spv_lowering *l, uint32_t x, uint32_t y, uint32_t out[2]);

/* ---- addresses (lower_address.c) ---- */

/* The type of 2^log2 bytes of memory, 1 to 16. */
uint32_t tly_spv_element(tly_spv_lowering *l, unsigned log2);
/* A pointer to such, `bytes` behind p. */
uint32_t tly_spv_pointer_to(tly_spv_lowering *l, const tly_spv_value *p, int64_t bytes,
                            unsigned log2);
/* So many bytes at once (lower_memory.c), as a uvec, or a uint of a lone half or byte. */
uint32_t tly_spv_load_piece(tly_spv_lowering *l, const tly_spv_value *p, int64_t bytes,
                            unsigned log2);
/* When all accesses are there: which bindings are only read, and which may be one memory. */
void tly_spv_decorate_buffers(tly_spv_lowering *l);
/* offset + bytes; an offset of 0 is none, and so is the result. */
uint32_t tly_spv_plus_bytes(tly_spv_lowering *l, uint32_t offset, int64_t bytes);

/* ---- instructions ---- */

/* Every operation but structure; *result is zero before, and its parts are set (lower_ops.c). */
void tly_spv_lower_op(tly_spv_lowering *l, const kir_inst *inst, tly_spv_value *result);

/* What loops need, too. */
void tly_spv_binary(tly_spv_lowering *l, kir_op op, kir_type type, const tly_spv_value *x,
                    const tly_spv_value *y, tly_spv_value *result);
uint32_t tly_spv_compare(tly_spv_lowering *l, kir_pred pred, kir_type type, const tly_spv_value *x,
                         const tly_spv_value *y);
void tly_spv_select(tly_spv_lowering *l, kir_type type, uint32_t condition, unsigned lanes,
                    const tly_spv_value *yes, const tly_spv_value *no, tly_spv_value *result);

/* Any value but i1 as another kind of the same total bits; a constant only by its words. */
void tly_spv_bitcast(tly_spv_lowering *l, kir_type to, kir_type from, const tly_spv_value *x,
                     tly_spv_value *result);

/* Arithmetic of that type is in the module, if it is of floats. */
static inline void tly_spv_computes(tly_spv_lowering *l, kir_type type)
{
    if (kir_is_float(type)) {
        l->widths |= kir_kind_bits((kir_kind)type.kind);
    }
}

/* Rows of the table that live in other files: conversions, floats, memory and addresses, groups. */
typedef void tly_spv_emitter(tly_spv_lowering *l, const kir_inst *inst, tly_spv_value *result);
tly_spv_emitter tly_spv_lower_zext, tly_spv_lower_sext, tly_spv_lower_trunc, tly_spv_lower_fconvert,
    tly_spv_lower_bitcast, tly_spv_lower_splat, tly_spv_lower_extract, tly_spv_lower_insert,
    tly_spv_lower_shuffle;
tly_spv_emitter tly_spv_lower_extremum, tly_spv_lower_round, tly_spv_lower_to_float,
    tly_spv_lower_to_int;
tly_spv_emitter tly_spv_lower_argument, tly_spv_lower_ptradd, tly_spv_lower_addr,
    tly_spv_lower_load, tly_spv_lower_store, tly_spv_lower_atomic, tly_spv_lower_shared;
tly_spv_emitter tly_spv_lower_id, tly_spv_lower_barrier, tly_spv_lower_scan,
    tly_spv_lower_from_lane, tly_spv_lower_ballot;

#endif

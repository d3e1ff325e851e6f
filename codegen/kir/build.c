/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The builder's core: pools that grow, the sticky error, values, constants and launch arguments.
 * Guarantees: every call is O(1) amortised; after the first error, or on a NULL builder, every
 * call returns 0 at once; equal constants are one value, and an argument is read once for each
 * region in which no earlier read of it is visible.
 */
#include "internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

kir_value kir_fault(kir_builder *b, const char *format, ...)
{
    if (kir_alive(b)) {
        b->status = TALLY_INTERNAL;
        va_list args;
        va_start(args, format);
        vsnprintf(b->fault, sizeof b->fault, format, args);
        va_end(args);
    }
    return 0;
}

void *kir_push(kir_builder *b, struct pool *pool, uint32_t count, size_t size)
{
    if (count > pool->capacity - pool->count) {
        uint64_t capacity = pool->capacity == 0 ? 128 : (uint64_t)pool->capacity * 2;
        while (capacity - pool->count < count) {
            capacity *= 2;
        }
        void *data = capacity <= INT32_MAX ? realloc(pool->data, (size_t)capacity * size) : NULL;
        if (data == NULL) {
            b->status = TALLY_OUT_OF_MEMORY;
            return NULL;
        }
        pool->data = data;
        pool->capacity = (uint32_t)capacity;
    }
    void *place = (char *)pool->data + (size_t)pool->count * size;
    pool->count += count;
    return place;
}

kir_builder *kir_begin(const char *name)
{
    return kir_begin_workgroup(name, 0);
}

void kir_declare(kir_builder *b, uint32_t facts)
{
    if (kir_alive(b)) {
        b->facts = facts;
    }
}

kir_builder *kir_begin_workgroup(const char *name, uint32_t workgroup)
{
    kir_builder *b = calloc(1, sizeof *b);
    if (b == NULL) {
        return NULL;
    }
    struct value *none = kir_push(b, &b->values, 1, sizeof *none);
    if (none == NULL) {
        free(b);
        return NULL;
    }
    *none = (struct value){ { 0, 0 }, 0 };
    b->workgroup = workgroup;
    if (kir_name_valid(name)) {
        memcpy(b->name, name, strlen(name) + 1);
    } else {
        kir_fault(b, "a kernel's name is a C identifier of at most 63 characters");
    }
    return b;
}

void kir_builder_free(kir_builder *b)
{
    if (b != NULL) {
        free(b->insts.data);
        free(b->operands.data);
        free(b->indices.data);
        free(b->values.data);
        free(b->tuples.data);
        free(b->constants.data);
        free(b);
    }
}

kir_type kir_type_of(const kir_builder *b, kir_value v)
{
    kir_value first = kir_first_part(b, v);
    if (b == NULL || first >= b->values.count) {
        return KIR_TYPE(KIR_NONE, 0);
    }
    return ((const struct value *)b->values.data)[first].type;
}

uint32_t kir_workgroup_of(const kir_builder *b)
{
    return b == NULL ? 0 : b->workgroup;
}

kir_value kir_new_value(kir_builder *b, kir_type type)
{
    struct value *value = kir_push(b, &b->values, 1, sizeof *value);
    if (value == NULL) {
        return 0;
    }
    *value = (struct value){ type, 0 };
    return b->values.count - 1;
}

kir_inst *kir_append(kir_builder *b, kir_op op, kir_type type, uint32_t count,
                     const kir_value *operands)
{
    if (!kir_alive(b)) {
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (operands[i] == 0 || operands[i] >= b->values.count) {
            kir_fault(b, "%s: operand %u is %s", kir_op_text(op), i,
                      kir_parts(b, operands[i]) > 1 ? "a tuple" : "no value");
            return NULL;
        }
    }
    uint32_t first = b->operands.count;
    uint32_t *copy = count > 0 ? kir_push(b, &b->operands, count, sizeof *copy) : NULL;
    kir_inst *inst = kir_alive(b) ? kir_push(b, &b->insts, 1, sizeof *inst) : NULL;
    if (inst == NULL) {
        return NULL;
    }
    if (count > 0) {
        memcpy(copy, operands, count * sizeof *copy);
    }
    *inst = (kir_inst){
        .op = (uint8_t)op, .type = type, .operand_first = first, .operand_count = count
    };
    return inst;
}

kir_value kir_emit(kir_builder *b, kir_op op, kir_type type, int64_t imm, uint32_t count,
                   const kir_value *operands)
{
    if (kir_alive(b) && kir_parts_of(b, count, operands) > 1) {
        return kir_emit_parts(b, op, type, imm, count, operands);
    }
    kir_inst *inst = kir_append(b, op, type, count, operands);
    if (inst == NULL) {
        return 0;
    }
    inst->imm = imm;
    inst->result_first = kir_new_value(b, type);
    inst->result_count = 1;
    return inst->result_first;
}

void kir_open(kir_builder *b, uint32_t inst)
{
    if (b->depth == KIR_MAX_DEPTH) {
        kir_fault(b, "regions nest deeper than %d", KIR_MAX_DEPTH);
        return;
    }
    b->depth++;
    b->open[b->depth].inst = inst;
    b->open[b->depth].serial = ++b->serials;
}

void kir_close(kir_builder *b)
{
    b->depth--;
}

/* ---- constants: kept apart, so that kir_seal can put them where they dominate everything ---- */

static uint32_t chain_of(kir_op op, kir_type type, uint64_t bits)
{
    uint64_t hash = bits ^ ((uint64_t)op << 16 | (uint64_t)type.kind << 8 | type.lanes);
    hash *= UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(hash >> 32) % KIR_CHAINS;
}

static kir_value constant(kir_builder *b, kir_op op, kir_type type, uint64_t bits)
{
    if (!kir_alive(b)) {
        return 0;
    }
    int64_t imm = (int64_t)kir_low_bits((kir_kind)type.kind, bits);
    uint32_t *chain = &b->chains[chain_of(op, type, (uint64_t)imm)];
    const struct constant *known = b->constants.data;
    for (uint32_t i = *chain; i != 0; i = known[i - 1].next) {
        const struct constant *c = &known[i - 1];
        if (c->inst.imm == imm && c->inst.op == op && kir_same_type(c->inst.type, type)) {
            return c->value;
        }
    }
    kir_value v = kir_new_value(b, type);
    struct constant *c = v != 0 ? kir_push(b, &b->constants, 1, sizeof *c) : NULL;
    if (c == NULL) {
        return 0;
    }
    *c = (struct constant){ { .op = (uint8_t)op, .type = type, .result_count = 1, .imm = imm },
                            v,
                            *chain };
    *chain = b->constants.count;
    ((struct value *)b->values.data)[v].constant = b->constants.count;
    return v;
}

kir_value kir_const(kir_builder *b, kir_type type, uint64_t bits)
{
    return constant(b, KIR_CONST, type, bits);
}

kir_value kir_int(kir_builder *b, int64_t value)
{
    return constant(b, KIR_CONST, KIR_TYPE(KIR_I64, 1), (uint64_t)value);
}

kir_value kir_iota(kir_builder *b, kir_type type)
{
    return constant(b, KIR_IOTA, type, 0);
}

/* ---- launch arguments: read where first asked for, so that a path that needs none reads none - */

static kir_place place_of(const kir_builder *b, kir_arg arg)
{
    return kir_arg_place(arg, kir_workgroup_of(b) > 0);
}

kir_value kir_get(kir_builder *b, kir_arg arg)
{
    char type = place_of(b, arg).type;
    return kir_get_as(b, arg,
                      type == 'p'   ? KIR_PTR
                      : type == 'w' ? KIR_I32
                      : type == 'd' ? KIR_F64
                      : type == 'f' ? KIR_F32
                                    : KIR_I64);
}

/* From the block at the start of the scratch. Addresses are arguments there, too: only these say
 * which tensor they are of. */
static kir_value load(kir_builder *b, kir_kind kind, unsigned offset)
{
    return kir_load(b, KIR_TYPE(kind, 1), kir_get(b, KIR_ARG_SCRATCH), offset, 4);
}

kir_value kir_get_dim(kir_builder *b, kir_arg arg, unsigned dim, kir_kind kind)
{
    kir_place place = place_of(b, arg);
    return place.block == KIR_IN_BLOCK
               ? load(b, kind, place.offset + dim * (place.type == 'w' ? 4 : 8))
               : kir_get_as(b, (kir_arg)(arg + 1 + dim), kind);
}

kir_value kir_get_as(kir_builder *b, kir_arg arg, kir_kind kind)
{
    if (!kir_alive(b)) {
        return 0;
    }
    kir_place place = place_of(b, arg);
    if (place.block == KIR_IN_BLOCK && place.type != 'p') {
        return load(b, kind, place.offset);
    }
    if ((unsigned)arg >= KIR_ARG_COUNT) {
        return kir_fault(b, "arg: no such argument");
    }
    uint32_t depth = b->args[arg].depth;
    if (b->args[arg].value != 0 && depth <= b->depth &&
        b->open[depth].serial == b->args[arg].serial) {
        return b->args[arg].value;
    }
    b->args[arg].value = kir_emit(b, KIR_ARG, KIR_TYPE(kind, 1), arg, 0, NULL);
    b->args[arg].depth = b->depth;
    b->args[arg].serial = b->open[b->depth].serial;
    return b->args[arg].value;
}

kir_value kir_get_at(kir_builder *b, kir_arg arg, kir_value index)
{
    return kir_emit(b, KIR_ARGV, KIR_TYPE(KIR_I64, 1), arg, 1, &index);
}

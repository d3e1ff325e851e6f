/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launch arguments and addresses. An address is a base and a 32-bit offset from it: in the buffer
 * form the base is the start of a binding and offsets wrap; in the address form it is two words, so
 * that no device needs 64-bit integers.
 */
#include "lower.h"

#include <stdio.h>

/* ---- launch arguments ---- */

static int is_pushed(kir_place place)
{
    return place.block == KIR_IN_PUSH;
}

/* tly_push, with 64 bits as two words. */
static uint32_t push_variable(tly_spv_lowering *l)
{
    tly_spv_module *m = &l->m;
    uint32_t members[KIR_ARG_COUNT], count = 0, word = U32(l), two = tly_spv_vector(m, word, 2);
    if (l->push != 0) {
        return l->push;
    }
    for (int arg = 0; arg < KIR_ARG_COUNT; arg++) {
        kir_place place = kir_arg_place((kir_arg)arg, 1);
        if (is_pushed(place)) {
            members[count++] = place.type == 'w' ? word : two;
        }
    }
    uint32_t type = tly_spv_declare(m, SpvOpTypeStruct, 0, count, members);
    tly_spv_name(m, type, "tly_push");
    tly_spv_decorate(m, type, SpvDecorationBlock);
    for (int arg = 0, i = 0; arg < KIR_ARG_COUNT; arg++) {
        kir_place place = kir_arg_place((kir_arg)arg, 1);
        if (is_pushed(place)) {
            TLY_SPV_PUT(m, TLY_SPV_DECORATIONS, SpvOpMemberDecorate, type, (uint32_t)i,
                        (uint32_t)SpvDecorationOffset, place.offset);
            tly_spv_put_text(m, TLY_SPV_NAMES, SpvOpMemberName, 2,
                             (uint32_t[]){ type, (uint32_t)i }, kir_arg_text((kir_arg)arg));
            i++;
        }
    }
    l->push = tly_spv_variable(m, SpvStorageClassPushConstant, type, "push");
    return l->push;
}

static uint32_t member_of(kir_arg arg)
{
    uint32_t member = 0;
    for (int before = 0; before < (int)arg; before++) {
        member += (uint32_t)is_pushed(kir_arg_place((kir_arg)before, 1));
    }
    return member;
}

/* Of `count` words. */
static uint32_t load_pushed(tly_spv_lowering *l, kir_arg arg, unsigned count)
{
    uint32_t push = push_variable(l), uvec = tly_spv_vector(&l->m, U32(l), count);
    uint32_t type = tly_spv_pointer(&l->m, SpvStorageClassPushConstant, uvec);
    uint32_t at = OP(l, AccessChain, type, push, LITERAL(l, member_of(arg)));
    return OP(l, Load, uvec, at);
}

/* Bindings are those of the tensors, and the scratch. */
static void set_address(const tly_spv_lowering *l, kir_arg arg, const uint32_t words[2],
                        tly_spv_value *result)
{
    result->root = (uint8_t)(arg == KIR_ARG_SCRATCH ? TLY_GPU_SCRATCH
                                                    : tly_gpu_binding_of(kir_arg_tensor(arg)));
    if (l->options->addresses) {
        result->id[TLY_SPV_LOW] = words[0];
        result->id[TLY_SPV_HIGH] = words[1];
    } else {
        result->id[TLY_SPV_OFFSET] = words[0];
    }
}

/* An address in the block at the start of the scratch: both of its words, or in the buffer form the
 * low one. */
static void load_from_block(tly_spv_lowering *l, kir_arg arg, tly_spv_value *result)
{
    tly_spv_value scratch = { .constant = 0 };
    uint32_t words[2];
    int64_t at = kir_arg_place(arg, 1).offset;
    tly_spv_split(l, load_pushed(l, KIR_ARG_SCRATCH, 2), 2, words);
    set_address(l, KIR_ARG_SCRATCH, words, &scratch);
    for (int i = 0; i < (l->options->addresses ? 2 : 1); i++) {
        words[i] = tly_spv_load_piece(l, &scratch, at + 4 * i, 2);
    }
    set_address(l, arg, words, result);
}

void tly_spv_lower_argument(tly_spv_lowering *l, const kir_inst *inst, tly_spv_value *result)
{
    kir_arg arg = (kir_arg)inst->imm;
    kir_place place = kir_arg_place(arg, 1);
    uint32_t words[2];
    if (!is_pushed(place)) {
        load_from_block(l, arg, result);
        return;
    }
    unsigned count = place.type == 'w' ? 1 : 2;
    uint32_t loaded = load_pushed(l, arg, count);
    if (inst->type.kind == KIR_I32) {
        result->id[0] = count == 1 ? loaded : WORD(l, CompositeExtract, loaded, 0);
        return;
    }
    tly_spv_split(l, loaded, count, words);
    if (inst->type.kind == KIR_I64) {
        tly_spv_from_words(l, inst->type, words, result);
        return;
    }
    set_address(l, arg, words, result);
}

/* ---- addresses ---- */

static uint32_t plus(tly_spv_lowering *l, uint32_t offset, uint32_t more)
{
    return offset == 0 ? more : WORD(l, IAdd, offset, more);
}

uint32_t tly_spv_plus_bytes(tly_spv_lowering *l, uint32_t offset, int64_t bytes)
{
    return (uint32_t)bytes == 0 ? offset : plus(l, offset, LITERAL(l, bytes));
}

/* A high word of 0 is none. */
static void add_to_base(tly_spv_lowering *l, tly_spv_value *p, const uint32_t words[2])
{
    uint32_t low[2], high = p->id[TLY_SPV_HIGH];
    tly_spv_add_carry(l, p->id[TLY_SPV_LOW], words[0], low);
    if (words[1] != 0) {
        high = WORD(l, IAdd, high, words[1]);
    }
    p->id[TLY_SPV_LOW] = low[0];
    p->id[TLY_SPV_HIGH] = WORD(l, IAdd, high, low[1]);
}

/* In the buffer form, from the binding's start. */
void tly_spv_lower_addr(tly_spv_lowering *l, const kir_inst *inst, tly_spv_value *result)
{
    tly_spv_value at = *tly_spv_bare(l, inst, 0);
    uint32_t offset = at.id[TLY_SPV_OFFSET];
    uint32_t words[2] = { offset != 0 ? offset : LITERAL(l, 0), LITERAL(l, 0) };
    if (l->options->addresses && offset != 0) {
        words[1] = OP(l, ShiftRightArithmetic, U32(l), offset, LITERAL(l, 31));
        add_to_base(l, &at, words);
    }
    if (l->options->addresses) {
        words[0] = at.id[TLY_SPV_LOW];
        words[1] = at.id[TLY_SPV_HIGH];
    }
    tly_spv_from_words(l, inst->type, words, result);
}

/* In the buffer form, the low half of 64 bits is all there is to add. */
void tly_spv_lower_ptradd(tly_spv_lowering *l, const kir_inst *inst, tly_spv_value *result)
{
    uint32_t words[TLY_SPV_PARTS] = { 0 };
    kir_type type = tly_spv_operand_type(l, inst, 1);
    const tly_spv_value *bytes = tly_spv_bare(l, inst, 1);
    *result = *tly_spv_bare(l, inst, 0);
    if (type.kind == KIR_I64 && !l->options->addresses && !l->pairs && !bytes->constant) {
        words[0] = WORD(l, UConvert, bytes->id[0]);
    } else {
        tly_spv_to_words(l, type, bytes, words);
    }
    if (type.kind == KIR_I64 && l->options->addresses) {
        add_to_base(l, result, words);
    } else {
        result->id[TLY_SPV_OFFSET] = plus(l, result->id[TLY_SPV_OFFSET], words[0]);
    }
}

/* ---- memory of buffers ---- */

uint32_t tly_spv_element(tly_spv_lowering *l, unsigned log2)
{
    return log2 < 2 ? tly_spv_uint(&l->m, 8u << log2)
                    : tly_spv_vector(&l->m, U32(l), 1u << (log2 - 2));
}

/* A struct of an array of elements without end. */
static uint32_t block(tly_spv_lowering *l, unsigned log2)
{
    static const char *const names[5] = { "u8s", "u16s", "u32s", "uvec2s", "uvec4s" };
    tly_spv_module *m = &l->m;
    uint32_t *made = &l->blocks[log2];
    if (*made == 0) {
        uint32_t array = TLY_SPV_DECLARE(m, SpvOpTypeRuntimeArray, 0, tly_spv_element(l, log2));
        tly_spv_decorate_with(m, array, SpvDecorationArrayStride, 1u << log2);
        *made = TLY_SPV_DECLARE(m, SpvOpTypeStruct, 0, array);
        tly_spv_decorate(m, *made, SpvDecorationBlock);
        TLY_SPV_PUT(m, TLY_SPV_DECORATIONS, SpvOpMemberDecorate, *made, 0,
                    (uint32_t)SpvDecorationOffset, 0);
        tly_spv_name(m, *made, names[log2]);
    }
    return *made;
}

static const char *name_of(unsigned binding)
{
    return binding == TLY_GPU_SCRATCH  ? "scratch"
           : binding < TLY_GPU_SCRATCH ? tly_tensor_name((int)binding)
                                       : tly_tensor_name((int)binding - 1);
}

/* A binding seen as an array of elements. */
static uint32_t buffer(tly_spv_lowering *l, unsigned binding, unsigned log2)
{
    static const char *const elements[5] = { "u8", "u16", "u32", "uvec2", "uvec4" };
    char name[24];
    tly_spv_module *m = &l->m;
    uint32_t *made = &l->buffers[binding][log2];
    if (*made == 0) {
        snprintf(name, sizeof name, "%s_%s", name_of(binding), elements[log2]);
        *made = tly_spv_variable(m, SpvStorageClassStorageBuffer, block(l, log2), name);
        tly_spv_decorate_with(m, *made, SpvDecorationDescriptorSet, 0);
        tly_spv_decorate_with(m, *made, SpvDecorationBinding, binding);
    }
    return *made;
}

/* Whether what a binding holds may change while the kernel runs: by its own stores, or by those of
 * the output where that is the same memory. Behind the scratch only the last binding is stored to,
 * if the word has a carry. Its states may replace those of the binding before. */
static int may_change(const tly_spv_lowering *l, unsigned binding)
{
    uint32_t by = 1u << binding;
    if (binding == TLY_IN && !l->options->apart) {
        by |= 1u << TLY_OUT;
    }
    if (binding > TLY_GPU_SCRATCH) {
        by |= 1u << (binding + 1);
    }
    return (l->written & by) != 0;
}

/* Memory without Aliased is nobody else's; Restrict says so to compilers that ask (docs/isa.md). */
void tly_spv_decorate_buffers(tly_spv_lowering *l)
{
    for (unsigned binding = 0; binding < TLY_GPU_BINDINGS; binding++) {
        for (unsigned log2 = 0; log2 < 5; log2++) {
            uint32_t id = l->buffers[binding][log2];
            if (id == 0) {
                continue;
            }
            if ((l->written & 1u << binding) == 0) {
                tly_spv_decorate(&l->m, id, SpvDecorationNonWritable);
            }
            int changes = may_change(l, binding);
            tly_spv_decorate(&l->m, id, changes ? SpvDecorationAliased : SpvDecorationRestrict);
        }
    }
}

static uint32_t in_buffer(tly_spv_lowering *l, const tly_spv_value *p, int64_t bytes, unsigned log2)
{
    uint32_t first = LITERAL(l, 0), all = buffer(l, p->root, log2);
    uint32_t type = tly_spv_pointer(&l->m, SpvStorageClassStorageBuffer, tly_spv_element(l, log2));
    uint32_t offset = tly_spv_plus_bytes(l, p->id[TLY_SPV_OFFSET], bytes);
    uint32_t index = WORD(l, ShiftRightLogical, offset, LITERAL(l, log2));
    return OP(l, AccessChain, type, all, first, index);
}

/* The validator takes a cast to a pointer to 8 or 16 bits for arithmetic on them, unless the
 * pointer is declared forward, which asks for a struct; so do the GLSL compilers. */
static uint32_t narrow_pointer(tly_spv_lowering *l, uint32_t two, unsigned log2)
{
    const SpvStorageClass storage = SpvStorageClassPhysicalStorageBuffer;
    uint32_t *made = &l->narrow[log2];
    if (*made == 0) {
        *made = tly_spv_id(&l->m);
        TLY_SPV_PUT(&l->m, TLY_SPV_GLOBALS, SpvOpTypeForwardPointer, *made, (uint32_t)storage);
        uint32_t all = block(l, log2);
        TLY_SPV_PUT(&l->m, TLY_SPV_GLOBALS, SpvOpTypePointer, *made, (uint32_t)storage, all);
    }
    uint32_t type = tly_spv_pointer(&l->m, storage, tly_spv_element(l, log2));
    uint32_t all = OP(l, Bitcast, *made, two), first = LITERAL(l, 0);
    return OP(l, AccessChain, type, all, first, first);
}

/* base + offset + bytes: offsets are signed, as positions may lie below the base, and a tensor so
 * addressed spans less than 2 GiB. */
static uint32_t by_address(tly_spv_lowering *l, const tly_spv_value *p, int64_t bytes,
                           unsigned log2)
{
    tly_spv_value at = *p;
    uint32_t offset = p->id[TLY_SPV_OFFSET];
    if (bytes >= 0 && bytes <= UINT32_MAX) {
        offset = tly_spv_plus_bytes(l, offset, bytes);
    } else {
        uint32_t words[2] = { LITERAL(l, bytes), 0 };
        words[1] = LITERAL(l, (uint64_t)bytes >> 32);
        add_to_base(l, &at, words);
    }
    if (offset != 0) {
        uint32_t sign = OP(l, ShiftRightArithmetic, U32(l), offset, LITERAL(l, 31));
        uint32_t words[2] = { offset, sign };
        add_to_base(l, &at, words);
    }
    uint32_t two = tly_spv_uvec(l, at.id + TLY_SPV_LOW, 2);
    if (log2 < 2) {
        return narrow_pointer(l, two, log2);
    }
    uint32_t to = tly_spv_pointer(&l->m, SpvStorageClassPhysicalStorageBuffer,
                                  tly_spv_element(l, log2));
    return OP(l, Bitcast, to, two);
}

uint32_t tly_spv_pointer_to(tly_spv_lowering *l, const tly_spv_value *p, int64_t bytes,
                            unsigned log2)
{
    return l->options->addresses ? by_address(l, p, bytes, log2) : in_buffer(l, p, bytes, log2);
}

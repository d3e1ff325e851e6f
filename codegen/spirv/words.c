/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How kernel IR values are made of SPIR-V ids: types, constants, lanes, and any value's bits as
 * 32-bit words and back, which is what memory, bitcasts and shuffles of wide values go by.
 */
#include "lower.h"

uint32_t tly_spv_scalar(tly_spv_lowering *l, kir_kind kind)
{
    switch (kind) {
    case KIR_I1:
        return tly_spv_bool(&l->m);
    case KIR_I8:
    case KIR_I16:
    case KIR_F16:
    case KIR_I32:
        return U32(l);
    case KIR_I64:
        return l->pairs ? U32(l) : tly_spv_uint(&l->m, 64);
    case KIR_F32:
    case KIR_F64:
        return tly_spv_float(&l->m, kir_kind_bits(kind));
    default:
        return tly_spv_fail(&l->m, "%s has no type", kir_kind_text(kind));
    }
}

uint32_t tly_spv_type(tly_spv_lowering *l, kir_type type)
{
    uint32_t scalar = tly_spv_scalar(l, (kir_kind)type.kind);
    return tly_spv_paired(l, type) ? scalar : tly_spv_vector(&l->m, scalar, type.lanes);
}

unsigned tly_spv_parts(const tly_spv_lowering *l, kir_type type)
{
    return tly_spv_paired(l, type) ? 2u * type.lanes : 1;
}

uint32_t tly_spv_constant(tly_spv_lowering *l, kir_type type, uint64_t bits)
{
    uint32_t scalar = tly_spv_scalar(l, (kir_kind)type.kind), id;
    if (type.kind == KIR_I1) {
        id = tly_spv_intern(&l->m, bits ? SpvOpConstantTrue : SpvOpConstantFalse, scalar, 0, NULL);
    } else {
        uint32_t words[2] = { (uint32_t)bits, (uint32_t)(bits >> 32) };
        unsigned count = kir_kind_bits((kir_kind)type.kind) == 64 ? 2 : 1;
        id = tly_spv_intern(&l->m, SpvOpConstant, scalar, count, words);
    }
    uint32_t lanes[TLY_SPV_LANES] = { id, id, id, id };
    return type.lanes == 1 ? id
                           : tly_spv_intern(&l->m, SpvOpConstantComposite, tly_spv_type(l, type),
                                            type.lanes, lanes);
}

const tly_spv_value *tly_spv_operand(tly_spv_lowering *l, const kir_inst *inst, unsigned i)
{
    uint32_t number = l->kernel->operands[inst->operand_first + i];
    tly_spv_value *value = &l->values[number];
    kir_type type = l->kernel->types[number];
    if (value->constant && value->id[0] == 0) {
        if (tly_spv_paired(l, type)) {
            tly_spv_to_words(l, type, value, value->id);
        } else {
            value->id[0] = tly_spv_constant(l, type, value->bits);
        }
    }
    return value;
}

/* ---- lanes ---- */

void tly_spv_lane(tly_spv_lowering *l, kir_type type, const tly_spv_value *value, unsigned lane,
                  tly_spv_value *result)
{
    *result = (tly_spv_value){ .id = { value->id[0] } };
    if (tly_spv_paired(l, type)) {
        result->id[0] = value->id[2 * lane];
        result->id[1] = value->id[2 * lane + 1];
    } else if (type.lanes > 1) {
        uint32_t scalar = tly_spv_scalar(l, (kir_kind)type.kind);
        result->id[0] = OP(l, CompositeExtract, scalar, value->id[0], lane);
    }
}

void tly_spv_compose(tly_spv_lowering *l, kir_type type, const tly_spv_value *lanes,
                     tly_spv_value *result)
{
    uint32_t ids[TLY_SPV_LANES];
    for (unsigned i = 0; i < type.lanes; i++) {
        ids[i] = lanes[i].id[0];
        if (tly_spv_paired(l, type)) {
            result->id[2 * i] = lanes[i].id[0];
            result->id[2 * i + 1] = lanes[i].id[1];
        }
    }
    if (!tly_spv_paired(l, type)) {
        result->id[0] = type.lanes == 1 ? ids[0]
                                        : tly_spv_op(&l->m, SpvOpCompositeConstruct,
                                                     tly_spv_type(l, type), type.lanes, ids);
    }
}

/* ---- words ---- */

uint32_t tly_spv_uvec(tly_spv_lowering *l, const uint32_t *words, unsigned count)
{
    uint32_t type = tly_spv_vector(&l->m, U32(l), count);
    return count == 1 ? words[0] : tly_spv_op(&l->m, SpvOpCompositeConstruct, type, count, words);
}

void tly_spv_split(tly_spv_lowering *l, uint32_t uvec, unsigned count, uint32_t *words)
{
    words[0] = uvec;
    for (unsigned i = 0; i < count && count > 1; i++) {
        words[i] = WORD(l, CompositeExtract, uvec, i);
    }
}

void tly_spv_unpack(tly_spv_lowering *l, uint32_t word, uint32_t halves[2])
{
    halves[0] = WORD(l, BitwiseAnd, word, LITERAL(l, 0xffff));
    halves[1] = WORD(l, ShiftRightLogical, word, LITERAL(l, 16));
}

uint32_t tly_spv_pack(tly_spv_lowering *l, const uint32_t halves[2])
{
    uint32_t high = WORD(l, ShiftLeftLogical, halves[1], LITERAL(l, 16));
    return WORD(l, BitwiseOr, halves[0], high);
}

/* Lanes whose words make one uvec: a bitcast is enough for these. */
static unsigned lanes_at_once(kir_type type)
{
    unsigned words = kir_kind_bits((kir_kind)type.kind) / 32;
    return words * type.lanes <= TLY_SPV_LANES ? type.lanes : 1;
}

static unsigned constant_words(tly_spv_lowering *l, kir_type type, uint64_t bits, uint32_t *words)
{
    unsigned width = kir_kind_bits((kir_kind)type.kind), count = width * type.lanes / 32;
    bits |= width == 16 ? bits << 16 : 0;
    for (unsigned i = 0; i < count; i++) {
        words[i] = LITERAL(l, width == 64 && i % 2 == 1 ? bits >> 32 : bits);
    }
    return count;
}

unsigned tly_spv_to_words(tly_spv_lowering *l, kir_type type, const tly_spv_value *value,
                          uint32_t words[TLY_SPV_PARTS])
{
    unsigned count = kir_type_bytes(type) / 4;
    if (value->constant) {
        return constant_words(l, type, value->bits, words);
    }
    if (tly_spv_paired(l, type)) {
        for (unsigned i = 0; i < count; i++) {
            words[i] = value->id[i];
        }
    } else if (tly_spv_is_half(type)) {
        uint32_t halves[TLY_SPV_LANES];
        tly_spv_split(l, value->id[0], type.lanes, halves);
        for (unsigned i = 0; i < count; i++) {
            words[i] = tly_spv_pack(l, halves + 2 * i);
        }
    } else if (type.kind == KIR_I32) {
        tly_spv_split(l, value->id[0], count, words);
    } else {
        unsigned lanes = lanes_at_once(type), each = count * lanes / type.lanes;
        uint32_t uvec = tly_spv_vector(&l->m, U32(l), each);
        for (unsigned i = 0; i < type.lanes; i += lanes) {
            tly_spv_value part = *value;
            if (lanes < type.lanes) {
                tly_spv_lane(l, type, value, i, &part);
            }
            uint32_t cast = OP(l, Bitcast, uvec, part.id[0]);
            tly_spv_split(l, cast, each, words + count / type.lanes * i);
        }
    }
    return count;
}

void tly_spv_from_words(tly_spv_lowering *l, kir_type type, const uint32_t *words,
                        tly_spv_value *result)
{
    unsigned count = kir_type_bytes(type) / 4;
    if (tly_spv_paired(l, type)) {
        for (unsigned i = 0; i < count; i++) {
            result->id[i] = words[i];
        }
    } else if (tly_spv_is_half(type)) {
        uint32_t halves[TLY_SPV_LANES] = { 0 };
        for (unsigned i = 0; i < count; i++) {
            tly_spv_unpack(l, words[i], halves + 2 * i);
        }
        result->id[0] = tly_spv_uvec(l, halves, type.lanes);
    } else if (type.kind == KIR_I32) {
        result->id[0] = tly_spv_uvec(l, words, count);
    } else {
        unsigned lanes = lanes_at_once(type), each = count * lanes / type.lanes;
        uint32_t part = tly_spv_type(l, KIR_TYPE(type.kind, lanes));
        tly_spv_value parts[TLY_SPV_LANES] = { 0 };
        for (unsigned i = 0; i < type.lanes; i += lanes) {
            uint32_t uvec = tly_spv_uvec(l, words + count / type.lanes * i, each);
            parts[i].id[0] = OP(l, Bitcast, part, uvec);
        }
        if (lanes == type.lanes) {
            result->id[0] = parts[0].id[0];
        } else {
            tly_spv_compose(l, type, parts, result);
        }
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads, stores and atomics. Memory is read and written as 4, 8 or 16 bytes at once, as many as the
 * alignment allows, and by one or two where there are kinds of these; that of the workgroup as
 * words.
 */
#include <stdio.h>

#include "lower.h"

enum { MAX_PIECES = 8 * TLY_SPV_LANES / 2 };

/* ---- memory of buffers ---- */

uint32_t tly_spv_load_piece(tly_spv_lowering *l, const tly_spv_value *p, int64_t bytes,
                            unsigned log2)
{
    uint32_t at = tly_spv_pointer_to(l, p, bytes, log2), type = tly_spv_element(l, log2);
    uint32_t id = l->options->addresses
                      ? OP(l, Load, type, at, SpvMemoryAccessAlignedMask, 1u << log2)
                      : OP(l, Load, type, at);
    return log2 < 2 ? WORD(l, UConvert, id) : id;
}

static void store_piece(tly_spv_lowering *l, const tly_spv_value *p, int64_t bytes, unsigned log2,
                        uint32_t id)
{
    uint32_t at = tly_spv_pointer_to(l, p, bytes, log2);
    l->written |= 1u << p->root;
    if (log2 < 2) {
        id = OP(l, UConvert, tly_spv_element(l, log2), id);
    }
    if (l->options->addresses) {
        TLY_SPV_PUT(&l->m, TLY_SPV_BODY, SpvOpStore, at, id, SpvMemoryAccessAlignedMask,
                    1u << log2);
    } else {
        TLY_SPV_PUT(&l->m, TLY_SPV_BODY, SpvOpStore, at, id);
    }
}

/* ---- memory of the workgroup: uints ---- */

void tly_spv_lower_shared(tly_spv_lowering *l, const kir_inst *inst, tly_spv_value *result)
{
    char name[24];
    if (inst->imm > INT32_MAX) {
        tly_spv_fail(&l->m, "%lld bytes of workgroup memory", (long long)inst->imm);
        return;
    }
    snprintf(name, sizeof name, "shared_%u", l->shared_count++);
    uint32_t words = LITERAL(l, (inst->imm + 3) / 4);
    uint32_t array = TLY_SPV_INTERN(&l->m, SpvOpTypeArray, 0, U32(l), words);
    result->id[TLY_SPV_SHARED] = tly_spv_variable(&l->m, SpvStorageClassWorkgroup, array, name);
}

static uint32_t in_shared(tly_spv_lowering *l, const tly_spv_value *p, int64_t bytes)
{
    uint32_t type = tly_spv_pointer(&l->m, SpvStorageClassWorkgroup, U32(l)), index;
    if (p->id[TLY_SPV_OFFSET] == 0) {
        index = LITERAL(l, bytes / 4);
    } else {
        uint32_t offset = tly_spv_plus_bytes(l, p->id[TLY_SPV_OFFSET], bytes);
        index = WORD(l, ShiftRightLogical, offset, LITERAL(l, 2));
    }
    return OP(l, AccessChain, type, p->id[TLY_SPV_SHARED], index);
}

/* ---- loads and stores ---- */

/* Cuts an access into pieces, each log2 of its bytes; 0 pieces if there is no way. */
static unsigned cut(tly_spv_lowering *l, const kir_inst *inst, uint8_t pieces[MAX_PIECES])
{
    int shared = tly_spv_operand_type(l, inst, 0).kind == KIR_WPTR;
    unsigned count = 0, most = shared ? 2 : 4;
    unsigned least = inst->type.kind == KIR_I8 ? 0 : tly_spv_is_half(inst->type) ? 1 : 2;
    unsigned left = kir_type_bytes(inst->type);
    if (inst->align < 1u << (shared ? 2 : least) || (shared && least < 2)) {
        tly_spv_fail(&l->m, "%s of %s by %u bytes%s", kir_op_text((kir_op)inst->op),
                     kir_kind_text((kir_kind)inst->type.kind), inst->align,
                     shared ? " in workgroup memory" : "");
        return 0;
    }
    while (most > least && 1u << most > inst->align) {
        most--;
    }
    for (; left > 0; left -= 1u << most) {
        while (1u << most > left) {
            most--;
        }
        pieces[count++] = (uint8_t)most;
    }
    return count;
}

/* A whole value as one uvec needs no words in between. */
static int at_once(const tly_spv_lowering *l, const kir_inst *inst, unsigned count)
{
    return count == 1 && !tly_spv_paired(l, inst->type) && !tly_spv_is_half(inst->type);
}

void tly_spv_lower_load(tly_spv_lowering *l, const kir_inst *inst, tly_spv_value *result)
{
    uint8_t pieces[MAX_PIECES];
    uint32_t parts[MAX_PIECES], words[TLY_SPV_LANES];
    kir_type type = inst->type;
    const tly_spv_value *p = tly_spv_bare(l, inst, 0);
    unsigned count = cut(l, inst, pieces), used = 0;
    int shared = tly_spv_operand_type(l, inst, 0).kind == KIR_WPTR;
    int64_t at = inst->imm;
    for (unsigned i = 0; i < count; i++) {
        unsigned log2 = pieces[i], each = log2 < 2 ? 1 : 1u << (log2 - 2);
        uint32_t id = shared ? WORD(l, Load, in_shared(l, p, at))
                             : tly_spv_load_piece(l, p, at, log2);
        at += INT64_C(1) << log2;
        if (at_once(l, inst, count)) {
            uint32_t shape = tly_spv_type(l, type);
            result->id[0] = type.kind == KIR_I32 || type.kind == KIR_I8 ? id
                                                                        : OP(l, Bitcast, shape, id);
            return;
        }
        tly_spv_split(l, id, each, words);
        for (unsigned j = 0; j < each; j++) {
            if (tly_spv_is_half(type) && log2 > 1) {
                tly_spv_unpack(l, words[j], parts + used);
                used += 2;
            } else {
                parts[used++] = words[j];
            }
        }
    }
    if (count > 0 && tly_spv_is_half(type)) {
        result->id[0] = tly_spv_uvec(l, parts, type.lanes);
    } else if (count > 0) {
        tly_spv_from_words(l, type, parts, result);
    }
}

void tly_spv_lower_store(tly_spv_lowering *l, const kir_inst *inst, tly_spv_value *result)
{
    (void)result;
    uint8_t pieces[MAX_PIECES];
    uint32_t parts[TLY_SPV_PARTS], words[TLY_SPV_LANES];
    kir_type type = inst->type;
    const tly_spv_value *p = tly_spv_bare(l, inst, 0), *value = tly_spv_operand(l, inst, 1);
    unsigned count = cut(l, inst, pieces), used = 0;
    int shared = tly_spv_operand_type(l, inst, 0).kind == KIR_WPTR;
    int64_t at = inst->imm;
    if (count == 0) {
        return;
    }
    if (at_once(l, inst, count) && !shared) {
        uint32_t shape = tly_spv_element(l, pieces[0]), id = value->id[0];
        int is_uint = type.kind == KIR_I32 || type.kind == KIR_I8;
        store_piece(l, p, at, pieces[0], is_uint ? id : OP(l, Bitcast, shape, id));
        return;
    }
    if (tly_spv_is_half(type)) {
        tly_spv_split(l, value->id[0], type.lanes, parts);
    } else {
        tly_spv_to_words(l, type, value, parts);
    }
    for (unsigned i = 0; i < count; i++) {
        unsigned log2 = pieces[i], each = log2 < 2 ? 1 : 1u << (log2 - 2);
        for (unsigned j = 0; j < each; j++) {
            int packed = tly_spv_is_half(type) && log2 > 1;
            words[j] = packed ? tly_spv_pack(l, parts + used) : parts[used];
            used += packed ? 2 : 1;
        }
        if (shared) {
            uint32_t to = in_shared(l, p, at);
            TLY_SPV_PUT(&l->m, TLY_SPV_BODY, SpvOpStore, to, words[0]);
        } else {
            store_piece(l, p, at, log2, tly_spv_uvec(l, words, each));
        }
        at += INT64_C(1) << log2;
    }
}

/* Relaxed, of one word each, seen by the whole device. */
void tly_spv_lower_atomic(tly_spv_lowering *l, const kir_inst *inst, tly_spv_value *result)
{
    const tly_spv_value *p = tly_spv_bare(l, inst, 0);
    uint32_t at = tly_spv_pointer_to(l, p, inst->imm, 2);
    uint32_t scope = LITERAL(l, SpvScopeDevice), relaxed = LITERAL(l, SpvMemorySemanticsMaskNone);
    uint32_t value = inst->operand_count > 1 ? tly_spv_operand(l, inst, 1)->id[0] : 0;
    l->written |= inst->op != KIR_ATOMIC_LOAD ? 1u << p->root : 0;
    if (inst->op == KIR_ATOMIC_STORE) {
        TLY_SPV_PUT(&l->m, TLY_SPV_BODY, SpvOpAtomicStore, at, scope, relaxed, value);
    } else if (inst->op == KIR_ATOMIC_ADD) {
        result->id[0] = WORD(l, AtomicIAdd, at, scope, relaxed, value);
    } else {
        result->id[0] = WORD(l, AtomicLoad, at, scope, relaxed);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call for each operation. Result types follow from the operands here; whether the operands
 * fit is the verifier's to say, once, at kir_finish. The only rewriting is of what address
 * arithmetic in templates leaves behind: scalar i64 constants, x + 0 and x * 1.
 */
#include "internal.h"

#include <string.h>

static const kir_inst *constant_of(const kir_builder *b, kir_value v)
{
    if (v == 0 || v >= b->values.count) {
        return NULL;
    }
    uint32_t index = ((const struct value *)b->values.data)[v].constant;
    return index == 0 ? NULL : &((const struct constant *)b->constants.data)[index - 1].inst;
}

/* x op neutral is x; commutes: neutral op x, too. */
static const struct {
    kir_op op;
    int64_t neutral;
    int commutes;
} neutrals[] = { { KIR_ADD, 0, 1 }, { KIR_SUB, 0, 0 }, { KIR_MUL, 1, 1 } };

static int is_neutral(const kir_inst *c, kir_type type, int64_t neutral)
{
    return c != NULL && c->op == KIR_CONST && kir_same_type(c->type, type) && c->imm == neutral;
}

/* The value that `x op y` comes down to, or 0. */
static kir_value folded(kir_builder *b, kir_op op, kir_value x, kir_value y)
{
    if (kir_parts(b, x) > 1 || kir_parts(b, y) > 1) {
        return 0;
    }
    const kir_inst *cx = constant_of(b, x), *cy = constant_of(b, y);
    kir_type type = kir_type_of(b, x);
    if (cx != NULL && cy != NULL && cx->op == KIR_CONST && cy->op == KIR_CONST && type.lanes == 1 &&
        (type.kind == KIR_I64 || type.kind == KIR_I32) && kir_same_type(cy->type, type)) {
        kir_lanes compute = kir_lanes_binary(op, (kir_kind)type.kind);
        uint64_t x_bits = (uint64_t)cx->imm, y_bits = (uint64_t)cy->imm;
        uint32_t half[2] = { (uint32_t)x_bits, (uint32_t)y_bits }, narrow;
        uint64_t wide;
        int narrows = type.kind == KIR_I32;
        void *result = narrows ? (void *)&narrow : (void *)&wide;
        if (compute != NULL && compute(result, narrows ? (void *)&half[0] : (void *)&x_bits,
                                       narrows ? (void *)&half[1] : (void *)&y_bits, 1) == 0) {
            return kir_const(b, type, narrows ? narrow : wide);
        }
    }
    if (!kir_is_int(type) || !kir_same_type(type, kir_type_of(b, y))) {
        return 0;
    }
    for (size_t i = 0; i < sizeof neutrals / sizeof *neutrals; i++) {
        if (neutrals[i].op == op) {
            if (is_neutral(cy, type, neutrals[i].neutral)) {
                return x;
            }
            if (neutrals[i].commutes && is_neutral(cx, type, neutrals[i].neutral)) {
                return y;
            }
        }
    }
    return 0;
}

kir_value kir_bin(kir_builder *b, kir_op op, kir_value x, kir_value y)
{
    if (!kir_alive(b)) {
        return 0;
    }
    if (kir_op_sort(op) != KIR_SORT_BINARY) {
        return kir_fault(b, "%s is no two-operand arithmetic", kir_op_text(op));
    }
    kir_value v = folded(b, op, x, y);
    kir_value operands[] = { x, y };
    return v != 0 ? v : kir_emit(b, op, kir_type_of(b, x), 0, 2, operands);
}

kir_value kir_unary(kir_builder *b, kir_op op, kir_value x)
{
    if (kir_op_sort(op) != KIR_SORT_UNARY) {
        return kir_fault(b, "%s is no arithmetic of one operand", kir_op_text(op));
    }
    return kir_emit(b, op, kir_type_of(b, x), 0, 1, &x);
}

kir_value kir_cmp(kir_builder *b, kir_pred pred, kir_value x, kir_value y)
{
    kir_value operands[] = { x, y };
    return kir_emit(b, KIR_CMP, KIR_TYPE(KIR_I1, kir_type_of(b, x).lanes), pred, 2, operands);
}

kir_value kir_select(kir_builder *b, kir_value cond, kir_value yes, kir_value no)
{
    kir_value operands[] = { cond, yes, no };
    return kir_emit(b, KIR_SELECT, kir_type_of(b, yes), 0, 3, operands);
}

kir_value kir_convert(kir_builder *b, kir_op op, kir_type to, kir_value x)
{
    if (kir_op_sort(op) != KIR_SORT_CONVERT) {
        return kir_fault(b, "%s is no conversion", kir_op_text(op));
    }
    return kir_emit(b, op, to, 0, 1, &x);
}

kir_value kir_ptradd(kir_builder *b, kir_value p, kir_value bytes)
{
    if (!kir_alive(b)) {
        return 0;
    }
    if (p != 0 && kir_parts(b, p) == 1 &&
        is_neutral(constant_of(b, bytes), kir_type_of(b, bytes), 0)) {
        return p;
    }
    kir_value operands[] = { p, bytes };
    return kir_emit(b, KIR_PTRADD, kir_type_of(b, p), 0, 2, operands);
}

kir_value kir_addr(kir_builder *b, kir_value p)
{
    return kir_emit(b, KIR_ADDR, KIR_TYPE(KIR_I64, 1), 0, 1, &p);
}

/* The instruction's field is narrower than the parameter: what does not fit is no alignment. */
static uint16_t narrow_align(unsigned align)
{
    return align > UINT16_MAX ? 0 : (uint16_t)align;
}

kir_value kir_load(kir_builder *b, kir_type type, kir_value p, int64_t offset, unsigned align)
{
    kir_value v = kir_emit(b, KIR_LOAD, type, offset, 1, &p);
    if (v != 0) {
        kir_at(b, b->insts.count - 1)->align = narrow_align(align);
    }
    return v;
}

void kir_store(kir_builder *b, kir_value p, int64_t offset, kir_value v, unsigned align,
               unsigned flags)
{
    kir_value operands[] = { p, v };
    kir_inst *inst = kir_append(b, KIR_STORE, kir_type_of(b, v), 2, operands);
    if (inst != NULL) {
        inst->imm = offset;
        inst->align = narrow_align(align);
        inst->flags = (uint8_t)flags;
    }
}

kir_value kir_mload(kir_builder *b, kir_type type, kir_value p, int64_t offset, kir_value count,
                    kir_value other)
{
    kir_value operands[] = { p, count, other };
    return kir_emit(b, KIR_MLOAD, type, offset, 3, operands);
}

void kir_mstore(kir_builder *b, kir_value p, int64_t offset, kir_value count, kir_value v)
{
    kir_value operands[] = { p, count, v };
    kir_inst *inst = kir_append(b, KIR_MSTORE, kir_type_of(b, v), 3, operands);
    if (inst != NULL) {
        inst->imm = offset;
    }
}

static void hint(kir_builder *b, kir_op op, kir_value p, int64_t offset)
{
    kir_inst *inst = kir_append(b, op, KIR_TYPE(KIR_NONE, 0), 1, &p);
    if (inst != NULL) {
        inst->imm = offset;
    }
}

void kir_prefetch(kir_builder *b, kir_value p, int64_t offset)
{
    hint(b, KIR_PREFETCH, p, offset);
}

void kir_prefetchw(kir_builder *b, kir_value p, int64_t offset)
{
    hint(b, KIR_PREFETCHW, p, offset);
}

void kir_fence(kir_builder *b)
{
    kir_append(b, KIR_FENCE, KIR_TYPE(KIR_NONE, 0), 0, NULL);
}

void kir_clear_flags(kir_builder *b)
{
    kir_append(b, KIR_CLEAR_FLAGS, KIR_TYPE(KIR_NONE, 0), 0, NULL);
}

kir_value kir_flags(kir_builder *b)
{
    return kir_emit(b, KIR_FLAGS, KIR_TYPE(KIR_I32, 1), 0, 0, NULL);
}

kir_value kir_splat(kir_builder *b, kir_value scalar, unsigned lanes)
{
    kir_type type = kir_type_of(b, scalar);
    if (lanes == 1 && type.lanes == 1) {
        return kir_alive(b) ? scalar : 0;
    }
    if (lanes > KIR_MAX_LANES) {
        return kir_fault(b, "splat: more than %d lanes", KIR_MAX_LANES);
    }
    return kir_emit(b, KIR_SPLAT, KIR_TYPE(type.kind, lanes), 0, 1, &scalar);
}

kir_value kir_extract(kir_builder *b, kir_value v, unsigned lane)
{
    kir_type type = kir_type_of(b, v);
    if (type.lanes == 1 && lane == 0) {
        return kir_alive(b) ? v : 0;
    }
    return kir_emit(b, KIR_EXTRACT, KIR_TYPE(type.kind, 1), lane, 1, &v);
}

kir_value kir_insert(kir_builder *b, kir_value v, kir_value scalar, unsigned lane)
{
    kir_value operands[] = { v, scalar };
    return kir_emit(b, KIR_INSERT, kir_type_of(b, v), lane, 2, operands);
}

kir_value kir_shuffle(kir_builder *b, kir_value x, kir_value y, const uint8_t *index,
                      unsigned lanes)
{
    if (!kir_alive(b)) {
        return 0;
    }
    if (lanes == 0 || lanes > KIR_MAX_LANES) {
        return kir_fault(b, "shuffle: lanes are 1 to %d", KIR_MAX_LANES);
    }
    uint32_t first = b->indices.count;
    uint8_t *copy = kir_push(b, &b->indices, lanes, sizeof *copy);
    if (copy == NULL) {
        return 0;
    }
    memcpy(copy, index, lanes);
    kir_value operands[] = { x, y };
    return kir_emit(b, KIR_SHUFFLE, KIR_TYPE(kir_type_of(b, x).kind, lanes), first, 2, operands);
}

kir_value kir_permute(kir_builder *b, kir_value x, kir_value y, kir_value index)
{
    kir_value operands[] = { x, y, index };
    return kir_emit(b, KIR_PERMUTE, kir_type_of(b, x), 0, 3, operands);
}

kir_value kir_keep(kir_builder *b, kir_value v)
{
    return kir_emit(b, KIR_KEEP, kir_type_of(b, v), 0, 1, &v);
}

kir_value kir_any(kir_builder *b, kir_value i1s)
{
    if (kir_type_of(b, i1s).lanes == 1 && kir_parts(b, i1s) == 1) {
        return kir_alive(b) ? i1s : 0;
    }
    return kir_emit(b, KIR_ANY, KIR_TYPE(KIR_I1, 1), 0, 1, &i1s);
}

void kir_return(kir_builder *b, kir_value i64)
{
    kir_append(b, KIR_RETURN, KIR_TYPE(KIR_NONE, 0), 1, &i64);
}

kir_value kir_get_id(kir_builder *b, kir_id id)
{
    return kir_emit(b, KIR_ID, KIR_TYPE(KIR_I32, 1), id, 0, NULL);
}

kir_value kir_shared(kir_builder *b, uint32_t bytes)
{
    return kir_emit(b, KIR_SHARED, KIR_TYPE(KIR_WPTR, 1), bytes, 0, NULL);
}

void kir_barrier(kir_builder *b)
{
    kir_append(b, KIR_BARRIER, KIR_TYPE(KIR_NONE, 0), 0, NULL);
}

kir_value kir_subgroup_scan(kir_builder *b, kir_op op, kir_value v)
{
    if (op != KIR_SCAN_ADD && op != KIR_SCAN_MUL) {
        return kir_fault(b, "%s is no scan of a subgroup", kir_op_text(op));
    }
    return kir_emit(b, op, kir_type_of(b, v), 0, 1, &v);
}

kir_value kir_from_lane(kir_builder *b, kir_value v, kir_value lane)
{
    kir_value operands[] = { v, lane };
    return kir_emit(b, KIR_FROM_LANE, kir_type_of(b, v), 0, 2, operands);
}

kir_value kir_ballot(kir_builder *b, kir_value i1)
{
    return kir_emit(b, KIR_BALLOT, KIR_TYPE(KIR_I32, 4), 0, 1, &i1);
}

kir_value kir_atomic_add(kir_builder *b, kir_value p, int64_t offset, kir_value v)
{
    kir_value operands[] = { p, v };
    return kir_emit(b, KIR_ATOMIC_ADD, KIR_TYPE(KIR_I32, 1), offset, 2, operands);
}

kir_value kir_atomic_load(kir_builder *b, kir_value p, int64_t offset)
{
    return kir_emit(b, KIR_ATOMIC_LOAD, KIR_TYPE(KIR_I32, 1), offset, 1, &p);
}

void kir_atomic_store(kir_builder *b, kir_value p, int64_t offset, kir_value v)
{
    kir_value operands[] = { p, v };
    kir_inst *inst = kir_append(b, KIR_ATOMIC_STORE, KIR_TYPE(KIR_I32, 1), 2, operands);
    if (inst != NULL) {
        inst->imm = offset;
    }
}

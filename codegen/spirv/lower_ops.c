/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arithmetic, comparison and choice, and the table of all operations but structure. Floats are
 * never contracted; 16-bit integers are computed in 32 bits and cut; 64-bit ones, where the device
 * has none, lane by lane in pairs.c.
 */
#include "lower.h"

typedef struct row {
    uint16_t integer, real, truth;
} row;

static const row arithmetic[KIR_OP_COUNT] = {
    [KIR_ADD] = { SpvOpIAdd, SpvOpFAdd, 0 },
    [KIR_SUB] = { SpvOpISub, SpvOpFSub, 0 },
    [KIR_MUL] = { SpvOpIMul, SpvOpFMul, 0 },
    [KIR_UDIV] = { SpvOpUDiv, 0, 0 },
    [KIR_AND] = { SpvOpBitwiseAnd, 0, SpvOpLogicalAnd },
    [KIR_OR] = { SpvOpBitwiseOr, 0, SpvOpLogicalOr },
    [KIR_XOR] = { SpvOpBitwiseXor, 0, SpvOpLogicalNotEqual },
    [KIR_SHL] = { SpvOpShiftLeftLogical, 0, 0 },
    [KIR_LSHR] = { SpvOpShiftRightLogical, 0, 0 },
    [KIR_ASHR] = { SpvOpShiftRightArithmetic, 0, 0 },
};

static const uint16_t comparisons[KIR_PRED_COUNT] = {
    [KIR_EQ] = SpvOpIEqual,        [KIR_NE] = SpvOpINotEqual,
    [KIR_SLT] = SpvOpSLessThan,    [KIR_SLE] = SpvOpSLessThanEqual,
    [KIR_ULT] = SpvOpULessThan,    [KIR_ULE] = SpvOpULessThanEqual,
    [KIR_OEQ] = SpvOpFOrdEqual,    [KIR_UNE] = SpvOpFUnordNotEqual,
    [KIR_OLT] = SpvOpFOrdLessThan, [KIR_OLE] = SpvOpFOrdLessThanEqual,
};

/* A half as a 32-bit number with its sign. */
static uint32_t signed_half(tly_spv_lowering *l, kir_type type, uint32_t id)
{
    uint32_t shape = tly_spv_type(l, type), sixteen = tly_spv_constant(l, type, 16);
    uint32_t high = OP(l, ShiftLeftLogical, shape, id, sixteen);
    return OP(l, ShiftRightArithmetic, shape, high, sixteen);
}

static uint32_t truth(tly_spv_lowering *l, unsigned lanes)
{
    return tly_spv_vector(&l->m, tly_spv_bool(&l->m), lanes);
}

/* ---- arithmetic ---- */

static void paired(tly_spv_lowering *l, kir_op op, kir_type type, const tly_spv_value *x,
                   const tly_spv_value *y, tly_spv_value *result)
{
    int shift = y->constant ? (int)(y->bits & 63) : -1;
    for (unsigned i = 0; i < 2u * type.lanes; i += 2) {
        tly_spv_pair_binary(l, op, x->id + i, y->id + i, shift, result->id + i);
    }
}

void tly_spv_binary(tly_spv_lowering *l, kir_op op, kir_type type, const tly_spv_value *x,
                    const tly_spv_value *y, tly_spv_value *result)
{
    if (tly_spv_paired(l, type) && op == KIR_UDIV) {
        tly_spv_fail(&l->m, "udiv of i64, which the device has no integers of");
        return;
    }
    if (tly_spv_paired(l, type)) {
        paired(l, op, type, x, y, result);
        return;
    }
    uint32_t shape = tly_spv_type(l, type), first = x->id[0];
    const row *row = &arithmetic[op];
    SpvOp code = (SpvOp)(type.kind == KIR_I1  ? row->truth
                         : kir_is_float(type) ? row->real
                                              : row->integer);
    tly_spv_computes(l, type);
    if (op == KIR_ASHR && type.kind == KIR_I16) {
        first = signed_half(l, type, first);
    }
    uint32_t id = TLY_SPV_OP(&l->m, code, shape, first, y->id[0]);
    if (kir_is_float(type)) {
        tly_spv_decorate(&l->m, id, SpvDecorationNoContraction);
    } else if (type.kind == KIR_I16 && op != KIR_LSHR && row->truth == 0) {
        uint32_t low = tly_spv_constant(l, type, 0xffff);
        id = OP(l, BitwiseAnd, shape, id, low);
    }
    result->id[0] = id;
}

static void binary(tly_spv_lowering *l, const kir_inst *inst, tly_spv_value *result)
{
    const tly_spv_value *x = tly_spv_operand(l, inst, 0);
    tly_spv_binary(l, (kir_op)inst->op, inst->type, x, tly_spv_operand(l, inst, 1), result);
}

static void extremum(tly_spv_lowering *l, const kir_inst *inst, tly_spv_value *result)
{
    const tly_spv_value *x = tly_spv_operand(l, inst, 0), *y = tly_spv_operand(l, inst, 1);
    kir_type type = inst->type;
    if (tly_spv_paired(l, type)) {
        paired(l, (kir_op)inst->op, type, x, y, result);
        return;
    }
    int least = inst->op == KIR_UMIN || inst->op == KIR_SMIN;
    int is_signed = inst->op == KIR_SMIN || inst->op == KIR_SMAX;
    uint32_t less = tly_spv_compare(l, is_signed ? KIR_SLT : KIR_ULT, type, x, y);
    tly_spv_select(l, type, less, type.lanes, least ? x : y, least ? y : x, result);
}

/* ---- comparison and choice ---- */

/* OpUnordered is for OpenCL. */
static uint32_t unordered(tly_spv_lowering *l, uint32_t shape, uint32_t x, uint32_t y)
{
    uint32_t first = OP(l, IsNan, shape, x);
    uint32_t second = x == y ? first : OP(l, IsNan, shape, y);
    return x == y ? first : OP(l, LogicalOr, shape, first, second);
}

uint32_t tly_spv_compare(tly_spv_lowering *l, kir_pred pred, kir_type type, const tly_spv_value *x,
                         const tly_spv_value *y)
{
    uint32_t shape = truth(l, type.lanes), first = x->id[0], second = y->id[0];
    tly_spv_computes(l, type);
    if (tly_spv_paired(l, type)) {
        uint32_t lanes[TLY_SPV_LANES];
        for (unsigned i = 0; i < type.lanes; i++) {
            lanes[i] = tly_spv_pair_compare(l, pred, x->id + 2 * i, y->id + 2 * i);
        }
        return type.lanes == 1
                   ? lanes[0]
                   : tly_spv_op(&l->m, SpvOpCompositeConstruct, shape, type.lanes, lanes);
    }
    if (pred == KIR_UNO) {
        return unordered(l, shape, first, second);
    }
    if (type.kind == KIR_I16 && (pred == KIR_SLT || pred == KIR_SLE)) {
        first = signed_half(l, type, first);
        second = signed_half(l, type, second);
    }
    return TLY_SPV_OP(&l->m, (SpvOp)comparisons[pred], shape, first, second);
}

static void compare(tly_spv_lowering *l, const kir_inst *inst, tly_spv_value *result)
{
    const tly_spv_value *x = tly_spv_operand(l, inst, 0);
    result->id[0] = tly_spv_compare(l, (kir_pred)inst->imm, tly_spv_operand_type(l, inst, 0), x,
                                    tly_spv_operand(l, inst, 1));
}

/* SPIR-V 1.3 wants a condition for each lane. */
void tly_spv_select(tly_spv_lowering *l, kir_type type, uint32_t condition, unsigned lanes,
                    const tly_spv_value *yes, const tly_spv_value *no, tly_spv_value *result)
{
    uint32_t shape = tly_spv_type(l, type), boolean = tly_spv_bool(&l->m);
    if (!tly_spv_paired(l, type)) {
        if (lanes < type.lanes) {
            uint32_t same[TLY_SPV_LANES] = { condition, condition, condition, condition };
            condition = tly_spv_op(&l->m, SpvOpCompositeConstruct, truth(l, type.lanes), type.lanes,
                                   same);
        }
        result->id[0] = OP(l, Select, shape, condition, yes->id[0], no->id[0]);
        return;
    }
    for (unsigned i = 0; i < type.lanes; i++) {
        uint32_t one = lanes == 1 ? condition : OP(l, CompositeExtract, boolean, condition, i);
        for (unsigned part = 2 * i; part < 2 * i + 2; part++) {
            result->id[part] = OP(l, Select, shape, one, yes->id[part], no->id[part]);
        }
    }
}

static void select(tly_spv_lowering *l, const kir_inst *inst, tly_spv_value *result)
{
    if (inst->type.kind >= KIR_PTR) {
        tly_spv_fail(&l->m, "select of a %s", kir_kind_text((kir_kind)inst->type.kind));
        return;
    }
    uint32_t condition = tly_spv_operand(l, inst, 0)->id[0];
    const tly_spv_value *yes = tly_spv_operand(l, inst, 1);
    tly_spv_select(l, inst->type, condition, tly_spv_operand_type(l, inst, 0).lanes, yes,
                   tly_spv_operand(l, inst, 2), result);
}

/* ---- constants ---- */

/* Made where it is first used: what nobody uses, such as what kernels return, asks for nothing. */
static void constant(tly_spv_lowering *l, const kir_inst *inst, tly_spv_value *result)
{
    (void)l;
    result->constant = 1;
    result->bits = (uint64_t)inst->imm;
}

static void iota(tly_spv_lowering *l, const kir_inst *inst, tly_spv_value *result)
{
    kir_type type = inst->type, scalar = KIR_TYPE(type.kind, 1);
    tly_spv_value lanes[TLY_SPV_LANES] = { 0 };
    for (unsigned i = 0; i < type.lanes; i++) {
        if (tly_spv_paired(l, type)) {
            lanes[i].id[0] = LITERAL(l, i);
            lanes[i].id[1] = LITERAL(l, 0);
        } else {
            lanes[i].id[0] = tly_spv_constant(l, scalar, i);
        }
    }
    tly_spv_compose(l, type, lanes, result);
}

/* ---- the table ---- */

static tly_spv_emitter *const emitters[KIR_OP_COUNT] = {
    [KIR_CONST] = constant,
    [KIR_IOTA] = iota,
    [KIR_ARG] = tly_spv_lower_argument,
    [KIR_ADD] = binary,
    [KIR_SUB] = binary,
    [KIR_MUL] = binary,
    [KIR_UDIV] = binary,
    [KIR_AND] = binary,
    [KIR_OR] = binary,
    [KIR_XOR] = binary,
    [KIR_SHL] = binary,
    [KIR_LSHR] = binary,
    [KIR_ASHR] = binary,
    [KIR_UMIN] = extremum,
    [KIR_UMAX] = extremum,
    [KIR_SMIN] = extremum,
    [KIR_SMAX] = extremum,
    [KIR_MINIMUM] = tly_spv_lower_extremum,
    [KIR_MAXIMUM] = tly_spv_lower_extremum,
    [KIR_MINIMUM_NUMBER] = tly_spv_lower_extremum,
    [KIR_MAXIMUM_NUMBER] = tly_spv_lower_extremum,
    [KIR_ROUND] = tly_spv_lower_round,
    [KIR_FLOOR] = tly_spv_lower_round,
    [KIR_CMP] = compare,
    [KIR_SELECT] = select,
    [KIR_ZEXT] = tly_spv_lower_zext,
    [KIR_SEXT] = tly_spv_lower_sext,
    [KIR_TRUNC] = tly_spv_lower_trunc,
    [KIR_FPEXT] = tly_spv_lower_fconvert,
    [KIR_FPTRUNC] = tly_spv_lower_fconvert,
    [KIR_BITCAST] = tly_spv_lower_bitcast,
    [KIR_SITOFP] = tly_spv_lower_to_float,
    [KIR_UITOFP] = tly_spv_lower_to_float,
    [KIR_FPTOSI] = tly_spv_lower_to_int,
    [KIR_FPTOUI] = tly_spv_lower_to_int,
    [KIR_PTRADD] = tly_spv_lower_ptradd,
    [KIR_ADDR] = tly_spv_lower_addr,
    [KIR_LOAD] = tly_spv_lower_load,
    [KIR_STORE] = tly_spv_lower_store,
    [KIR_SPLAT] = tly_spv_lower_splat,
    [KIR_EXTRACT] = tly_spv_lower_extract,
    [KIR_INSERT] = tly_spv_lower_insert,
    [KIR_SHUFFLE] = tly_spv_lower_shuffle,
    [KIR_ID] = tly_spv_lower_id,
    [KIR_SHARED] = tly_spv_lower_shared,
    [KIR_BARRIER] = tly_spv_lower_barrier,
    [KIR_SCAN_ADD] = tly_spv_lower_scan,
    [KIR_SCAN_MUL] = tly_spv_lower_scan,
    [KIR_FROM_LANE] = tly_spv_lower_from_lane,
    [KIR_BALLOT] = tly_spv_lower_ballot,
    [KIR_ATOMIC_ADD] = tly_spv_lower_atomic,
    [KIR_ATOMIC_LOAD] = tly_spv_lower_atomic,
    [KIR_ATOMIC_STORE] = tly_spv_lower_atomic,
};

void tly_spv_lower_op(tly_spv_lowering *l, const kir_inst *inst, tly_spv_value *result)
{
    if (emitters[inst->op] == NULL) {
        tly_spv_fail(&l->m, "no lowering for %s", kir_op_text((kir_op)inst->op));
        return;
    }
    emitters[inst->op](l, inst, result);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 64-bit integers as pairs of uints, for devices without Int64. Shifts expect amounts below 64 and
 * never shift a word by 32, which SPIR-V leaves undefined.
 */
#include "lower.h"

static uint32_t boolean(tly_spv_lowering *l, SpvOp op, uint32_t x, uint32_t y)
{
    return TLY_SPV_OP(&l->m, op, tly_spv_bool(&l->m), x, y);
}

static uint32_t choose(tly_spv_lowering *l, uint32_t condition, uint32_t yes, uint32_t no)
{
    return WORD(l, Select, condition, yes, no);
}

/* Two words, of an operation that gives them as a struct. */
static void two(tly_spv_lowering *l, SpvOp op, uint32_t x, uint32_t y, uint32_t out[2])
{
    uint32_t word = U32(l);
    uint32_t type = TLY_SPV_INTERN(&l->m, SpvOpTypeStruct, 0, word, word);
    uint32_t both = TLY_SPV_OP(&l->m, op, type, x, y);
    out[0] = WORD(l, CompositeExtract, both, 0);
    out[1] = WORD(l, CompositeExtract, both, 1);
}

void tly_spv_add_carry(tly_spv_lowering *l, uint32_t x, uint32_t y, uint32_t out[2])
{
    two(l, SpvOpIAddCarry, x, y, out);
}

static void add(tly_spv_lowering *l, const uint32_t x[2], const uint32_t y[2], uint32_t out[2])
{
    uint32_t low[2];
    tly_spv_add_carry(l, x[0], y[0], low);
    uint32_t high = WORD(l, IAdd, x[1], y[1]);
    out[0] = low[0];
    out[1] = WORD(l, IAdd, high, low[1]);
}

static void subtract(tly_spv_lowering *l, const uint32_t x[2], const uint32_t y[2], uint32_t out[2])
{
    uint32_t low[2];
    two(l, SpvOpISubBorrow, x[0], y[0], low);
    uint32_t high = WORD(l, ISub, x[1], y[1]);
    out[0] = low[0];
    out[1] = WORD(l, ISub, high, low[1]);
}

static void multiply(tly_spv_lowering *l, const uint32_t x[2], const uint32_t y[2], uint32_t out[2])
{
    uint32_t low[2];
    two(l, SpvOpUMulExtended, x[0], y[0], low);
    uint32_t first = WORD(l, IMul, x[0], y[1]);
    uint32_t second = WORD(l, IMul, x[1], y[0]);
    uint32_t cross = WORD(l, IAdd, first, second);
    out[0] = low[0];
    out[1] = WORD(l, IAdd, low[1], cross);
}

/* ---- shifts: `near` is the word that bits leave, `far` the one they enter ---- */

static SpvOp direction(kir_op op, int far)
{
    if (op == KIR_SHL) {
        return SpvOpShiftLeftLogical;
    }
    return op == KIR_ASHR && !far ? SpvOpShiftRightArithmetic : SpvOpShiftRightLogical;
}

static uint32_t shift(tly_spv_lowering *l, SpvOp op, uint32_t x, uint32_t amount)
{
    return TLY_SPV_OP(&l->m, op, U32(l), x, amount);
}

static uint32_t vacant(tly_spv_lowering *l, kir_op op, uint32_t near)
{
    return op == KIR_ASHR ? WORD(l, ShiftRightArithmetic, near, LITERAL(l, 31)) : LITERAL(l, 0);
}

static void shift_constant(tly_spv_lowering *l, kir_op op, uint32_t near, uint32_t far,
                           unsigned amount, uint32_t *near_out, uint32_t *far_out)
{
    SpvOp whole = direction(op, 0), logical = direction(op, 1);
    SpvOp back = op == KIR_SHL ? SpvOpShiftRightLogical : SpvOpShiftLeftLogical;
    *near_out = near;
    *far_out = far;
    if (amount >= 32) {
        *far_out = amount == 32 ? near : shift(l, whole, near, LITERAL(l, amount - 32));
        *near_out = vacant(l, op, near);
    } else if (amount > 0) {
        uint32_t kept = shift(l, logical, far, LITERAL(l, amount));
        uint32_t entered = shift(l, back, near, LITERAL(l, 32 - amount));
        *far_out = WORD(l, BitwiseOr, kept, entered);
        *near_out = shift(l, whole, near, LITERAL(l, amount));
    }
}

static void shift_any(tly_spv_lowering *l, kir_op op, uint32_t near, uint32_t far, uint32_t amount,
                      uint32_t *near_out, uint32_t *far_out)
{
    SpvOp whole = direction(op, 0), logical = direction(op, 1);
    SpvOp back = op == KIR_SHL ? SpvOpShiftRightLogical : SpvOpShiftLeftLogical;
    uint32_t below = WORD(l, BitwiseAnd, amount, LITERAL(l, 31));
    uint32_t rest = WORD(l, BitwiseXor, below, LITERAL(l, 31)); /* 31 - below */
    uint32_t large = boolean(l, SpvOpUGreaterThanEqual, amount, LITERAL(l, 32));
    uint32_t moved = shift(l, whole, near, below);
    uint32_t entered = shift(l, back, near, LITERAL(l, 1)); /* 32 - below in two steps */
    entered = shift(l, back, entered, rest);
    uint32_t kept = shift(l, logical, far, below);
    uint32_t joined = WORD(l, BitwiseOr, kept, entered);
    *far_out = choose(l, large, moved, joined);
    *near_out = choose(l, large, vacant(l, op, near), moved);
}

static void shift_pair(tly_spv_lowering *l, kir_op op, const uint32_t x[2], const uint32_t y[2],
                       int amount, uint32_t out[2])
{
    /* Left: bits leave the low word; right: the high one. */
    unsigned near = op == KIR_SHL ? 0 : 1, far = 1 - near;
    if (amount >= 0) {
        shift_constant(l, op, x[near], x[far], (unsigned)amount & 63, &out[near], &out[far]);
    } else {
        shift_any(l, op, x[near], x[far], y[0], &out[near], &out[far]);
    }
}

/* ---- the table ---- */

static const uint16_t wordwise[] = {
    [KIR_AND] = SpvOpBitwiseAnd,
    [KIR_OR] = SpvOpBitwiseOr,
    [KIR_XOR] = SpvOpBitwiseXor,
};

void tly_spv_pair_binary(tly_spv_lowering *l, kir_op op, const uint32_t x[2], const uint32_t y[2],
                         int amount, uint32_t out[2])
{
    switch (op) {
    case KIR_ADD:
        add(l, x, y, out);
        break;
    case KIR_SUB:
        subtract(l, x, y, out);
        break;
    case KIR_MUL:
        multiply(l, x, y, out);
        break;
    case KIR_SHL:
    case KIR_LSHR:
    case KIR_ASHR:
        shift_pair(l, op, x, y, amount, out);
        break;
    case KIR_UMIN:
    case KIR_UMAX:
    case KIR_SMIN:
    case KIR_SMAX: {
        int least = op == KIR_UMIN || op == KIR_SMIN;
        kir_pred less = op == KIR_UMIN || op == KIR_UMAX ? KIR_ULT : KIR_SLT;
        uint32_t first = tly_spv_pair_compare(l, less, least ? x : y, least ? y : x);
        out[0] = choose(l, first, x[0], y[0]);
        out[1] = choose(l, first, x[1], y[1]);
        break;
    }
    default:
        for (int i = 0; i < 2; i++) {
            out[i] = TLY_SPV_OP(&l->m, (SpvOp)wordwise[op], U32(l), x[i], y[i]);
        }
    }
}

uint32_t tly_spv_pair_compare(tly_spv_lowering *l, kir_pred pred, const uint32_t x[2],
                              const uint32_t y[2])
{
    static const struct {
        uint16_t high, low, join; /* of equality; else high decides unless equal, then low */
    } rows[] = {
        [KIR_EQ] = { SpvOpIEqual, SpvOpIEqual, SpvOpLogicalAnd },
        [KIR_NE] = { SpvOpINotEqual, SpvOpINotEqual, SpvOpLogicalOr },
        [KIR_SLT] = { SpvOpSLessThan, SpvOpULessThan, 0 },
        [KIR_SLE] = { SpvOpSLessThan, SpvOpULessThanEqual, 0 },
        [KIR_ULT] = { SpvOpULessThan, SpvOpULessThan, 0 },
        [KIR_ULE] = { SpvOpULessThan, SpvOpULessThanEqual, 0 },
    };
    uint32_t high = boolean(l, (SpvOp)rows[pred].high, x[1], y[1]);
    uint32_t low = boolean(l, (SpvOp)rows[pred].low, x[0], y[0]);
    if (rows[pred].join != 0) {
        return boolean(l, (SpvOp)rows[pred].join, high, low);
    }
    uint32_t equal = boolean(l, SpvOpIEqual, x[1], y[1]);
    low = boolean(l, SpvOpLogicalAnd, equal, low);
    return boolean(l, SpvOpLogicalOr, high, low);
}

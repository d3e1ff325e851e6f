/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conversions and lanes. 8- and 16-bit kinds are uints with clean upper bits here, so widening them
 * costs nothing and narrowing to them is a mask; what is no plain SPIR-V cast goes through words.
 */
#include "lower.h"

static uint32_t wide(tly_spv_lowering *l, kir_type type, const tly_spv_value *x, unsigned lane)
{
    tly_spv_value one;
    tly_spv_lane(l, type, x, lane, &one);
    return one.id[0];
}

/* i1 becomes 0 or `truth`. */
static void from_truth(tly_spv_lowering *l, const kir_inst *inst, uint64_t truth,
                       tly_spv_value *result)
{
    kir_type type = inst->type, narrow = type;
    uint32_t condition = tly_spv_operand(l, inst, 0)->id[0];
    if (tly_spv_paired(l, type)) {
        narrow.kind = KIR_I32;
    }
    tly_spv_value yes = { .id = { tly_spv_constant(l, narrow, truth) } };
    tly_spv_value no = { .id = { tly_spv_constant(l, narrow, 0) } }, words = { 0 };
    tly_spv_select(l, narrow, condition, type.lanes, &yes, &no, &words);
    *result = words;
    for (unsigned i = 0; i < type.lanes && tly_spv_paired(l, type); i++) {
        result->id[2 * i] = wide(l, narrow, &words, i);
        result->id[2 * i + 1] = truth == 1 ? LITERAL(l, 0) : result->id[2 * i];
    }
}

/* From 32 bits to 64. */
static void to_i64(tly_spv_lowering *l, kir_type type, uint32_t id, int is_signed,
                   tly_spv_value *result)
{
    if (!tly_spv_paired(l, type)) {
        uint32_t shape = tly_spv_type(l, type);
        result->id[0] = is_signed ? OP(l, SConvert, shape, id) : OP(l, UConvert, shape, id);
        return;
    }
    tly_spv_value words = { .id = { id } };
    for (unsigned i = 0; i < type.lanes; i++) {
        uint32_t low = wide(l, KIR_TYPE(KIR_I32, type.lanes), &words, i);
        uint32_t last = LITERAL(l, is_signed ? 31 : 0);
        result->id[2 * i] = low;
        result->id[2 * i + 1] = is_signed ? WORD(l, ShiftRightArithmetic, low, last) : last;
    }
}

void tly_spv_lower_zext(tly_spv_lowering *l, const kir_inst *inst, tly_spv_value *result)
{
    if (tly_spv_operand_type(l, inst, 0).kind == KIR_I1) {
        from_truth(l, inst, 1, result);
        return;
    }
    uint32_t id = tly_spv_operand(l, inst, 0)->id[0];
    if (inst->type.kind == KIR_I64) {
        to_i64(l, inst->type, id, 0, result);
    } else {
        result->id[0] = id; /* of i8 and i16 */
    }
}

void tly_spv_lower_sext(tly_spv_lowering *l, const kir_inst *inst, tly_spv_value *result)
{
    kir_type from = tly_spv_operand_type(l, inst, 0);
    if (from.kind == KIR_I1) {
        from_truth(l, inst, kir_low_bits((kir_kind)inst->type.kind, UINT64_MAX), result);
        return;
    }
    uint32_t id = tly_spv_operand(l, inst, 0)->id[0];
    if (from.kind != KIR_I32) {
        uint32_t shape = tly_spv_type(l, from);
        uint32_t unused = tly_spv_constant(l, from, 32 - kir_kind_bits((kir_kind)from.kind));
        id = OP(l, ShiftLeftLogical, shape, id, unused);
        id = OP(l, ShiftRightArithmetic, shape, id, unused);
    }
    if (inst->type.kind == KIR_I64) {
        to_i64(l, inst->type, id, 1, result);
    } else if (inst->type.kind == KIR_I16) {
        uint32_t shape = tly_spv_type(l, inst->type);
        result->id[0] = OP(l, BitwiseAnd, shape, id, tly_spv_constant(l, inst->type, 0xffff));
    } else {
        result->id[0] = id;
    }
}

void tly_spv_lower_trunc(tly_spv_lowering *l, const kir_inst *inst, tly_spv_value *result)
{
    kir_type from = tly_spv_operand_type(l, inst, 0), word = KIR_TYPE(KIR_I32, from.lanes);
    const tly_spv_value *x = tly_spv_operand(l, inst, 0);
    uint32_t id = x->id[0], shape = tly_spv_type(l, word);
    if (tly_spv_paired(l, from)) {
        uint32_t low[TLY_SPV_LANES];
        for (unsigned i = 0; i < from.lanes; i++) {
            low[i] = x->id[2 * i];
        }
        id = tly_spv_uvec(l, low, from.lanes);
    } else if (from.kind == KIR_I64) {
        id = OP(l, UConvert, shape, id);
    }
    if (inst->type.kind != KIR_I32) {
        uint64_t low = kir_low_bits((kir_kind)inst->type.kind, UINT64_MAX);
        id = OP(l, BitwiseAnd, shape, id, tly_spv_constant(l, word, low));
    }
    if (inst->type.kind == KIR_I1) {
        uint32_t none = tly_spv_constant(l, word, 0), truth = tly_spv_type(l, inst->type);
        id = OP(l, INotEqual, truth, id, none);
    }
    result->id[0] = id;
}

/* A lane of f16, bits in a uint with a clean upper half, to and from f32: the lower half of a
 * pair. */
static uint32_t half_to_single(tly_spv_lowering *l, uint32_t bits)
{
    uint32_t half = tly_spv_float(&l->m, 16), pair = tly_spv_vector(&l->m, half, 2);
    uint32_t halves = OP(l, Bitcast, pair, bits), low = OP(l, CompositeExtract, half, halves, 0);
    return OP(l, FConvert, tly_spv_float(&l->m, 32), low);
}

static uint32_t single_to_half(tly_spv_lowering *l, uint32_t single)
{
    uint32_t half = tly_spv_float(&l->m, 16), pair = tly_spv_vector(&l->m, half, 2);
    uint32_t zero = TLY_SPV_INTERN(&l->m, SpvOpConstant, half, 0);
    uint32_t low = OP(l, FConvert, half, single);
    uint32_t halves = OP(l, CompositeConstruct, pair, low, zero);
    return WORD(l, Bitcast, halves);
}

static void convert_halves(tly_spv_lowering *l, const kir_inst *inst, tly_spv_value *result)
{
    kir_type from = tly_spv_operand_type(l, inst, 0);
    const tly_spv_value *x = tly_spv_operand(l, inst, 0);
    tly_spv_value lanes[TLY_SPV_LANES] = { 0 };
    if (!l->options->caps->half_exact) {
        tly_spv_fail(&l->m, "%s of f16, which the device may convert inexactly",
                     kir_op_text((kir_op)inst->op));
        return;
    }
    l->widths |= 16 | 32;
    for (unsigned i = 0; i < from.lanes; i++) {
        uint32_t one = wide(l, from, x, i);
        lanes[i].id[0] = from.kind == KIR_F16 ? half_to_single(l, one) : single_to_half(l, one);
    }
    tly_spv_compose(l, inst->type, lanes, result);
}

void tly_spv_lower_fconvert(tly_spv_lowering *l, const kir_inst *inst, tly_spv_value *result)
{
    kir_type from = tly_spv_operand_type(l, inst, 0);
    if (from.kind == KIR_F16 || inst->type.kind == KIR_F16) {
        convert_halves(l, inst, result);
        return;
    }
    uint32_t shape = tly_spv_type(l, inst->type);
    l->widths |= 32 | 64;
    result->id[0] = OP(l, FConvert, shape, tly_spv_operand(l, inst, 0)->id[0]);
}

void tly_spv_bitcast(tly_spv_lowering *l, kir_type to, kir_type from, const tly_spv_value *x,
                     tly_spv_value *result)
{
    int paired = tly_spv_paired(l, from) || tly_spv_paired(l, to);
    if (!paired && !tly_spv_is_half(from) && !tly_spv_is_half(to)) {
        uint32_t shape = tly_spv_type(l, to);
        result->id[0] = OP(l, Bitcast, shape, x->id[0]);
        return;
    }
    uint32_t words[TLY_SPV_PARTS];
    tly_spv_to_words(l, from, x, words);
    tly_spv_from_words(l, to, words, result);
}

/* Kinds that are one in SPIR-V need no cast; i1 is of one kind only, as there is no i8. */
void tly_spv_lower_bitcast(tly_spv_lowering *l, const kir_inst *inst, tly_spv_value *result)
{
    kir_type from = tly_spv_operand_type(l, inst, 0), to = inst->type;
    int halves = tly_spv_is_half(from) && tly_spv_is_half(to);
    if (kir_same_type(from, to) || halves) {
        *result = *tly_spv_bare(l, inst, 0);
        return;
    }
    if (from.kind == KIR_I1 || to.kind == KIR_I1) {
        tly_spv_fail(&l->m, "bitcast of i1");
        return;
    }
    int plain = !tly_spv_paired(l, from) && !tly_spv_paired(l, to) && !tly_spv_is_half(from) &&
                !tly_spv_is_half(to); /* words of a constant are known without making it */
    tly_spv_bitcast(l, to, from, plain ? tly_spv_operand(l, inst, 0) : tly_spv_bare(l, inst, 0),
                    result);
}

/* ---- lanes ---- */

void tly_spv_lower_splat(tly_spv_lowering *l, const kir_inst *inst, tly_spv_value *result)
{
    const tly_spv_value *one = tly_spv_operand(l, inst, 0);
    tly_spv_value lanes[TLY_SPV_LANES];
    for (unsigned i = 0; i < inst->type.lanes; i++) {
        lanes[i] = *one;
    }
    tly_spv_compose(l, inst->type, lanes, result);
}

void tly_spv_lower_extract(tly_spv_lowering *l, const kir_inst *inst, tly_spv_value *result)
{
    tly_spv_lane(l, tly_spv_operand_type(l, inst, 0), tly_spv_operand(l, inst, 0),
                 (unsigned)inst->imm, result);
}

void tly_spv_lower_insert(tly_spv_lowering *l, const kir_inst *inst, tly_spv_value *result)
{
    unsigned lane = (unsigned)inst->imm;
    const tly_spv_value *vector = tly_spv_operand(l, inst, 0);
    const tly_spv_value *one = tly_spv_operand(l, inst, 1);
    if (tly_spv_paired(l, inst->type)) {
        *result = (tly_spv_value){ 0 };
        for (unsigned i = 0; i < 2u * inst->type.lanes; i++) {
            result->id[i] = i / 2 == lane ? one->id[i % 2] : vector->id[i];
        }
    } else if (inst->type.lanes == 1) {
        result->id[0] = one->id[0];
    } else {
        uint32_t shape = tly_spv_type(l, inst->type);
        result->id[0] = OP(l, CompositeInsert, shape, one->id[0], vector->id[0], lane);
    }
}

/* SPIR-V has no vector of one lane, hence the detour for scalars. */
void tly_spv_lower_shuffle(tly_spv_lowering *l, const kir_inst *inst, tly_spv_value *result)
{
    kir_type from = tly_spv_operand_type(l, inst, 0), to = inst->type;
    const uint8_t *index = l->kernel->indices + inst->imm;
    const tly_spv_value *x = tly_spv_operand(l, inst, 0), *y = tly_spv_operand(l, inst, 1);
    if (from.lanes > 1 && to.lanes > 1 && !tly_spv_paired(l, to)) {
        uint32_t operands[2 + TLY_SPV_LANES] = { x->id[0], y->id[0] };
        for (unsigned i = 0; i < to.lanes; i++) {
            operands[2 + i] = index[i];
        }
        result->id[0] = tly_spv_op(&l->m, SpvOpVectorShuffle, tly_spv_type(l, to), 2u + to.lanes,
                                   operands);
        return;
    }
    tly_spv_value lanes[TLY_SPV_LANES];
    for (unsigned i = 0; i < to.lanes; i++) {
        tly_spv_lane(l, from, index[i] < from.lanes ? x : y, index[i] % from.lanes, &lanes[i]);
    }
    tly_spv_compose(l, to, lanes, result);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one instruction does to the values of one invocation, and to memory; what a subgroup does
 * together is in interp_group.c.
 */
#include "interp.h"

#include <fenv.h>
#include <string.h>

#include "../../runtime/problem/abi.h"

static unsigned lane_bytes(kir_type t)
{
    return kir_kind_bytes((kir_kind)t.kind);
}

/* ---- values ---- */

static void run_const(struct kir_run *r, const kir_inst *inst)
{
    for (unsigned i = 0; i < inst->type.lanes; i++) {
        kir_lane_put(lane_bytes(inst->type), kir_run_result(r, inst), i, (uint64_t)inst->imm);
    }
}

static void run_iota(struct kir_run *r, const kir_inst *inst)
{
    for (unsigned i = 0; i < inst->type.lanes; i++) {
        kir_lane_put(lane_bytes(inst->type), kir_run_result(r, inst), i, i);
    }
}

/* Of memory that kernels are given; without limits its bounds are not known. */
static void *given(struct kir_run *r, uint64_t at, size_t bytes, int writes)
{
    const kir_limits *limits = r->m->limits;
    if (limits == NULL) {
        return (void *)(uintptr_t)at;
    }
    for (uint32_t i = 0; i < limits->count; i++) {
        const kir_region *region = &limits->regions[i];
        const uint64_t from = at - region->at;
        if (from <= region->bytes && bytes <= region->bytes - from) {
            if (writes && !region->writable) {
                r->fault = "it stores to memory that is only read";
                return NULL;
            }
            return region->memory + from;
        }
    }
    r->fault = "the address is outside of the memory that the kernel has";
    return NULL;
}

/* Where an argument lies; NULL, with the fault set, if the scratch has no block. */
static const char *argument(struct kir_run *r, kir_place place)
{
    uint64_t scratch;
    if (place.block != KIR_IN_BLOCK) {
        return r->m->blocks[place.block] + place.offset;
    }
    const kir_place at = kir_arg_place(KIR_ARG_SCRATCH, 1);
    memcpy(&scratch, r->m->blocks[at.block] + at.offset, sizeof scratch);
    return given(r, scratch + place.offset, sizeof scratch, 0);
}

static void run_arg(struct kir_run *r, const kir_inst *inst)
{
    int64_t index = 0;
    if (inst->op == KIR_ARGV) {
        index = kir_run_integer(r, inst, 0);
        if (index < 0 || index >= TLY_DIMS) {
            r->fault = "the index is outside the array";
            return;
        }
    }
    kir_place place = kir_arg_place((kir_arg)inst->imm, r->m->k->workgroup > 0);
    const char *from = argument(r, place);
    if (from != NULL) {
        memcpy(kir_run_result(r, inst), from + 8 * index, kir_type_bytes(inst->type));
    }
}

static void run_binary(struct kir_run *r, const kir_inst *inst)
{
    kir_lanes compute = kir_lanes_binary((kir_op)inst->op, (kir_kind)inst->type.kind);
    if (compute(kir_run_result(r, inst), kir_run_operand(r, inst, 0), kir_run_operand(r, inst, 1),
                inst->type.lanes) != 0) {
        r->fault = "a shift by the width or more, or a division by zero";
    }
}

static void run_cmp(struct kir_run *r, const kir_inst *inst)
{
    kir_kind kind = (kir_kind)kir_run_operand_type(r, inst, 0).kind;
    kir_lanes_compare((kir_pred)inst->imm, kind)(kir_run_result(r, inst),
                                                 kir_run_operand(r, inst, 0),
                                                 kir_run_operand(r, inst, 1), inst->type.lanes);
}

static void run_select(struct kir_run *r, const kir_inst *inst)
{
    const char *cond = kir_run_operand(r, inst, 0);
    unsigned bytes = lane_bytes(inst->type);
    unsigned stride = kir_run_operand_type(r, inst, 0).lanes == 1 ? 0 : 1;
    for (unsigned i = 0; i < inst->type.lanes; i++) {
        const void *from = kir_run_operand(r, inst, cond[i * stride] != 0 ? 1 : 2);
        kir_lane_put(bytes, kir_run_result(r, inst), i, kir_lane_get(bytes, from, i));
    }
}

static void run_convert(struct kir_run *r, const kir_inst *inst)
{
    kir_lanes_convert((kir_op)inst->op, inst->type, kir_run_result(r, inst),
                      kir_run_operand_type(r, inst, 0), kir_run_operand(r, inst, 0));
}

static void run_ptradd(struct kir_run *r, const kir_inst *inst)
{
    uint64_t sum = (uint64_t)kir_run_integer(r, inst, 0) + (uint64_t)kir_run_integer(r, inst, 1);
    kir_lane_put(lane_bytes(inst->type), kir_run_result(r, inst), 0, sum);
}

static void run_copy(struct kir_run *r, const kir_inst *inst)
{
    memcpy(kir_run_result(r, inst), kir_run_operand(r, inst, 0), kir_type_bytes(inst->type));
}

/* ---- memory ---- */

/* Where an access of `bytes` goes, whose address is a multiple of `align`; NULL, with the fault
 * set, if it may not. */
static void *address(struct kir_run *r, const kir_inst *inst, size_t bytes, unsigned align,
                     int writes)
{
    uint64_t at = (uint64_t)kir_run_integer(r, inst, 0) + (uint64_t)inst->imm;
    if (align != 0 && at % align != 0) {
        r->fault = "the address is no multiple of the align";
        return NULL;
    }
    if (kir_run_operand_type(r, inst, 0).kind != KIR_WPTR) {
        return given(r, at, bytes, writes);
    }
    if (at > r->m->shared_bytes || bytes > r->m->shared_bytes - at) {
        r->fault = "the address is outside of workgroup memory";
        return NULL;
    }
    return r->group->shared + at;
}

static void run_load(struct kir_run *r, const kir_inst *inst)
{
    const void *from = address(r, inst, kir_type_bytes(inst->type), inst->align, 0);
    if (from != NULL) {
        memcpy(kir_run_result(r, inst), from, kir_type_bytes(inst->type));
    }
}

static void run_store(struct kir_run *r, const kir_inst *inst)
{
    void *to = address(r, inst, kir_type_bytes(inst->type), inst->align, 1);
    if (to != NULL) {
        memcpy(to, kir_run_operand(r, inst, 1), kir_type_bytes(inst->type));
    }
}

/* Bytes of the lanes that a masked access touches. */
static size_t masked_bytes(const struct kir_run *r, const kir_inst *inst)
{
    int64_t count = kir_run_integer(r, inst, 1);
    count = count < 0 ? 0 : count > inst->type.lanes ? inst->type.lanes : count;
    return (size_t)count * lane_bytes(inst->type);
}

static void run_mload(struct kir_run *r, const kir_inst *inst)
{
    size_t bytes = masked_bytes(r, inst);
    memcpy(kir_run_result(r, inst), kir_run_operand(r, inst, 2), kir_type_bytes(inst->type));
    const void *from = bytes > 0 ? address(r, inst, bytes, 0, 0) : NULL;
    if (from != NULL) {
        memcpy(kir_run_result(r, inst), from, bytes);
    }
}

static void run_mstore(struct kir_run *r, const kir_inst *inst)
{
    size_t bytes = masked_bytes(r, inst);
    void *to = bytes > 0 ? address(r, inst, bytes, 0, 1) : NULL;
    if (to != NULL) {
        memcpy(to, kir_run_operand(r, inst, 2), bytes);
    }
}

static void run_nothing(struct kir_run *r, const kir_inst *inst)
{
    (void)r;
    (void)inst;
}

/* ---- flags ---- */

static void run_clear_flags(struct kir_run *r, const kir_inst *inst)
{
    (void)r;
    (void)inst;
    feclearexcept(FE_OVERFLOW | FE_UNDERFLOW);
}

static void run_flags(struct kir_run *r, const kir_inst *inst)
{
    int raised = fetestexcept(FE_OVERFLOW | FE_UNDERFLOW);
    int32_t flags = (raised & FE_OVERFLOW ? KIR_OVERFLOWED : 0) |
                    (raised & FE_UNDERFLOW ? KIR_UNDERFLOWED : 0);
    memcpy(kir_run_result(r, inst), &flags, sizeof flags);
}

/* ---- lanes ---- */

static void run_splat(struct kir_run *r, const kir_inst *inst)
{
    unsigned bytes = lane_bytes(inst->type);
    uint64_t bits = kir_lane_get(bytes, kir_run_operand(r, inst, 0), 0);
    for (unsigned i = 0; i < inst->type.lanes; i++) {
        kir_lane_put(bytes, kir_run_result(r, inst), i, bits);
    }
}

static void run_extract(struct kir_run *r, const kir_inst *inst)
{
    unsigned bytes = lane_bytes(inst->type);
    kir_lane_put(bytes, kir_run_result(r, inst), 0,
                 kir_lane_get(bytes, kir_run_operand(r, inst, 0), (unsigned)inst->imm));
}

static void run_insert(struct kir_run *r, const kir_inst *inst)
{
    unsigned bytes = lane_bytes(inst->type);
    run_copy(r, inst);
    kir_lane_put(bytes, kir_run_result(r, inst), (unsigned)inst->imm,
                 kir_lane_get(bytes, kir_run_operand(r, inst, 1), 0));
}

static void run_shuffle(struct kir_run *r, const kir_inst *inst)
{
    unsigned bytes = lane_bytes(inst->type), lanes = kir_run_operand_type(r, inst, 0).lanes;
    const uint8_t *index = r->m->k->indices + inst->imm;
    for (unsigned i = 0; i < inst->type.lanes; i++) {
        uint64_t bits = index[i] < lanes
                            ? kir_lane_get(bytes, kir_run_operand(r, inst, 0), index[i])
                            : kir_lane_get(bytes, kir_run_operand(r, inst, 1), index[i] - lanes);
        kir_lane_put(bytes, kir_run_result(r, inst), i, bits);
    }
}

static void run_permute(struct kir_run *r, const kir_inst *inst)
{
    const unsigned bytes = lane_bytes(inst->type), lanes = inst->type.lanes;
    for (unsigned i = 0; i < lanes; i++) {
        const uint64_t from = kir_lane_get(bytes, kir_run_operand(r, inst, 2), i) % (2 * lanes);
        const char *of = kir_run_operand(r, inst, from < lanes ? 0 : 1);
        kir_lane_put(bytes, kir_run_result(r, inst), i, kir_lane_get(bytes, of, from % lanes));
    }
}

static void run_any(struct kir_run *r, const kir_inst *inst)
{
    const kir_type type = kir_run_operand_type(r, inst, 0);
    uint64_t some = 0;
    for (unsigned i = 0; i < type.lanes; i++) {
        some |= kir_lane_get(lane_bytes(type), kir_run_operand(r, inst, 0), i);
    }
    kir_lane_put(lane_bytes(inst->type), kir_run_result(r, inst), 0, some & 1);
}

/* ---- places ---- */

static void run_id(struct kir_run *r, const kir_inst *inst)
{
    const uint32_t ids[KIR_ID_COUNT] = {
        [KIR_ID_GROUP_X] = r->group->x,
        [KIR_ID_GROUP_Y] = r->group->y,
        [KIR_ID_LOCAL] = r->team->number * r->m->subgroup + r->lane,
        [KIR_ID_SUBGROUP] = r->team->number,
        [KIR_ID_LANE] = r->lane,
    };
    memcpy(kir_run_result(r, inst), &ids[inst->imm], sizeof ids[0]);
}

static void run_shared(struct kir_run *r, const kir_inst *inst)
{
    memcpy(kir_run_result(r, inst), &r->m->shared_at[inst->result_first], sizeof(uint32_t));
}

/* Between two turns nobody else runs, so that any access is atomic. */
static void run_atomic(struct kir_run *r, const kir_inst *inst)
{
    const int writes = inst->op != KIR_ATOMIC_LOAD;
    char *at = address(r, inst, sizeof(uint32_t), sizeof(uint32_t), writes);
    uint32_t old, operand = 0;
    if (at == NULL) {
        return;
    }
    memcpy(&old, at, sizeof old);
    if (writes) {
        memcpy(&operand, kir_run_operand(r, inst, 1), sizeof operand);
    }
    uint32_t stored = inst->op == KIR_ATOMIC_STORE ? operand : old + operand;
    if (inst->op != KIR_ATOMIC_LOAD) {
        memcpy(at, &stored, sizeof stored);
    }
    if (inst->op != KIR_ATOMIC_STORE) {
        memcpy(kir_run_result(r, inst), &old, sizeof old);
    }
}

/* ---- the table ---- */

/* What computes lane by lane goes by its sort, the rest has a step each. */
static const kir_step sorts[] = {
    [KIR_SORT_BINARY] = run_binary,
    [KIR_SORT_UNARY] = run_convert,
    [KIR_SORT_CONVERT] = run_convert,
    [KIR_SORT_VARIES] = NULL,
};

static const kir_step steps[KIR_OP_COUNT] = {
    [KIR_CONST] = run_const,
    [KIR_IOTA] = run_iota,
    [KIR_ARG] = run_arg,
    [KIR_ARGV] = run_arg,
    [KIR_CMP] = run_cmp,
    [KIR_SELECT] = run_select,
    [KIR_PTRADD] = run_ptradd,
    [KIR_ADDR] = run_copy,
    [KIR_LOAD] = run_load,
    [KIR_STORE] = run_store,
    [KIR_MLOAD] = run_mload,
    [KIR_MSTORE] = run_mstore,
    [KIR_PREFETCH] = run_nothing,
    [KIR_PREFETCHW] = run_nothing,
    [KIR_FENCE] = run_nothing,
    [KIR_SPLAT] = run_splat,
    [KIR_EXTRACT] = run_extract,
    [KIR_INSERT] = run_insert,
    [KIR_SHUFFLE] = run_shuffle,
    [KIR_PERMUTE] = run_permute,
    [KIR_ANY] = run_any,
    [KIR_FLAGS] = run_flags,
    [KIR_CLEAR_FLAGS] = run_clear_flags,
    [KIR_KEEP] = run_copy,
    [KIR_RETURN] = run_nothing,
    [KIR_ID] = run_id,
    [KIR_SHARED] = run_shared,
    [KIR_ATOMIC_ADD] = run_atomic,
    [KIR_ATOMIC_LOAD] = run_atomic,
    [KIR_ATOMIC_STORE] = run_atomic,
};

kir_step kir_step_of(kir_op op)
{
    kir_step by_sort = sorts[kir_op_sort(op)];
    return by_sort != NULL ? by_sort : steps[op];
}

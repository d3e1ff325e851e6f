/*
 * The interpreter: runs a verified kernel on host memory, one instruction after another, one lane
 * after another. It is the judge between backends, so it is plain, and strict where they may
 * assume: it refuses a misaligned access, a shift beyond the width, a division by zero, a step
 * that is not positive, an argument index outside the array.
 * One allocation a run: a frame with a slot for each value.
 */
#include "internal.h"

#include <fenv.h>
#include <stdlib.h>
#include <string.h>

#include "../../runtime/abi.h"

struct run {
    const kir_kernel *k;
    const char *blocks[2]; /* args, task */
    uint32_t *slots;       /* frame offset by value number */
    char *frame;
    uint32_t at;       /* the instruction that runs; a step that jumps sets the one before */
    const char *fault; /* what it did wrong */
};

typedef void (*step)(struct run *r, const kir_inst *inst);

static const struct {
    uint8_t block; /* in run.blocks */
    uint16_t offset;
} places[] = {
#define A 0
#define T 1
#define P 2 /* of kernels that are not interpreted */
#define KIR_ARG(NAME, text, block, offset, type) [KIR_ARG_##NAME] = { block, offset },
#include "args.def"
#undef KIR_ARG
#undef P
#undef T
#undef A
};

static void *slot(const struct run *r, uint32_t value)
{
    return r->frame + r->slots[value];
}

static void *operand(const struct run *r, const kir_inst *inst, uint32_t i)
{
    return slot(r, r->k->operands[inst->operand_first + i]);
}

static kir_type operand_type(const struct run *r, const kir_inst *inst, uint32_t i)
{
    return r->k->types[r->k->operands[inst->operand_first + i]];
}

static void *result(const struct run *r, const kir_inst *inst)
{
    return slot(r, inst->result_first);
}

static int64_t integer(const struct run *r, const kir_inst *inst, uint32_t i)
{
    int64_t value;
    memcpy(&value, operand(r, inst, i), sizeof value);
    return value;
}

static void set_integer(void *slot_, int64_t value)
{
    memcpy(slot_, &value, sizeof value);
}

static unsigned lane_bytes(kir_type t)
{
    return kir_kind_bytes((kir_kind)t.kind);
}

/* ---- values ---- */

static void run_const(struct run *r, const kir_inst *inst)
{
    for (unsigned i = 0; i < inst->type.lanes; i++) {
        kir_lane_put(lane_bytes(inst->type), result(r, inst), i, (uint64_t)inst->imm);
    }
}

static void run_iota(struct run *r, const kir_inst *inst)
{
    for (unsigned i = 0; i < inst->type.lanes; i++) {
        kir_lane_put(lane_bytes(inst->type), result(r, inst), i, i);
    }
}

static void run_arg(struct run *r, const kir_inst *inst)
{
    int64_t index = 0;
    if (inst->op == KIR_ARGV) {
        index = integer(r, inst, 0);
        if (index < 0 || index >= TALLY_MAX_RANK - 1) {
            r->fault = "the index is outside the array";
            return;
        }
    }
    const char *block = r->blocks[places[inst->imm].block];
    memcpy(result(r, inst), block + places[inst->imm].offset + 8 * index, 8);
}

static void run_binary(struct run *r, const kir_inst *inst)
{
    kir_lanes compute = kir_lanes_binary((kir_op)inst->op, (kir_kind)inst->type.kind);
    if (compute(result(r, inst), operand(r, inst, 0), operand(r, inst, 1), inst->type.lanes) != 0) {
        r->fault = "a shift by the width or more, or a division by zero";
    }
}

static void run_cmp(struct run *r, const kir_inst *inst)
{
    kir_kind kind = (kir_kind)operand_type(r, inst, 0).kind;
    kir_lanes_compare((kir_pred)inst->imm, kind)(result(r, inst), operand(r, inst, 0),
                                                 operand(r, inst, 1), inst->type.lanes);
}

static void run_select(struct run *r, const kir_inst *inst)
{
    const char *cond = operand(r, inst, 0);
    unsigned bytes = lane_bytes(inst->type);
    unsigned stride = operand_type(r, inst, 0).lanes == 1 ? 0 : 1;
    for (unsigned i = 0; i < inst->type.lanes; i++) {
        const void *from = operand(r, inst, cond[i * stride] != 0 ? 1 : 2);
        kir_lane_put(bytes, result(r, inst), i, kir_lane_get(bytes, from, i));
    }
}

static void run_convert(struct run *r, const kir_inst *inst)
{
    kir_lanes_convert((kir_op)inst->op, inst->type, result(r, inst), operand_type(r, inst, 0),
                      operand(r, inst, 0));
}

static void run_ptradd(struct run *r, const kir_inst *inst)
{
    set_integer(result(r, inst),
                (int64_t)((uint64_t)integer(r, inst, 0) + (uint64_t)integer(r, inst, 1)));
}

static void run_copy(struct run *r, const kir_inst *inst)
{
    memcpy(result(r, inst), operand(r, inst, 0), kir_type_bytes(inst->type));
}

/* ---- memory ---- */

static void *address(struct run *r, const kir_inst *inst)
{
    uint64_t at = (uint64_t)integer(r, inst, 0) + (uint64_t)inst->imm;
    if (inst->align != 0 && at % inst->align != 0) {
        r->fault = "the address is no multiple of the align";
    }
    return (void *)(uintptr_t)at;
}

static void run_load(struct run *r, const kir_inst *inst)
{
    const void *from = address(r, inst);
    if (r->fault == NULL) {
        memcpy(result(r, inst), from, kir_type_bytes(inst->type));
    }
}

static void run_store(struct run *r, const kir_inst *inst)
{
    void *to = address(r, inst);
    if (r->fault == NULL) {
        memcpy(to, operand(r, inst, 1), kir_type_bytes(inst->type));
    }
}

/* Bytes of the lanes that a masked access touches. */
static size_t masked_bytes(const struct run *r, const kir_inst *inst)
{
    int64_t count = integer(r, inst, 1);
    count = count < 0 ? 0 : count > inst->type.lanes ? inst->type.lanes : count;
    return (size_t)count * lane_bytes(inst->type);
}

static void run_mload(struct run *r, const kir_inst *inst)
{
    size_t bytes = masked_bytes(r, inst);
    memcpy(result(r, inst), operand(r, inst, 2), kir_type_bytes(inst->type));
    if (bytes > 0) {
        memcpy(result(r, inst), address(r, inst), bytes);
    }
}

static void run_mstore(struct run *r, const kir_inst *inst)
{
    size_t bytes = masked_bytes(r, inst);
    if (bytes > 0) {
        memcpy(address(r, inst), operand(r, inst, 2), bytes);
    }
}

static void run_nothing(struct run *r, const kir_inst *inst)
{
    (void)r;
    (void)inst;
}

/* ---- flags ---- */

static void run_clear_flags(struct run *r, const kir_inst *inst)
{
    (void)r;
    (void)inst;
    feclearexcept(FE_OVERFLOW | FE_UNDERFLOW);
}

static void run_flags(struct run *r, const kir_inst *inst)
{
    int raised = fetestexcept(FE_OVERFLOW | FE_UNDERFLOW);
    int32_t flags = (raised & FE_OVERFLOW ? KIR_OVERFLOWED : 0) |
                    (raised & FE_UNDERFLOW ? KIR_UNDERFLOWED : 0);
    memcpy(result(r, inst), &flags, sizeof flags);
}

/* ---- lanes ---- */

static void run_splat(struct run *r, const kir_inst *inst)
{
    unsigned bytes = lane_bytes(inst->type);
    uint64_t bits = kir_lane_get(bytes, operand(r, inst, 0), 0);
    for (unsigned i = 0; i < inst->type.lanes; i++) {
        kir_lane_put(bytes, result(r, inst), i, bits);
    }
}

static void run_extract(struct run *r, const kir_inst *inst)
{
    unsigned bytes = lane_bytes(inst->type);
    kir_lane_put(bytes, result(r, inst), 0,
                 kir_lane_get(bytes, operand(r, inst, 0), (unsigned)inst->imm));
}

static void run_insert(struct run *r, const kir_inst *inst)
{
    unsigned bytes = lane_bytes(inst->type);
    run_copy(r, inst);
    kir_lane_put(bytes, result(r, inst), (unsigned)inst->imm,
                 kir_lane_get(bytes, operand(r, inst, 1), 0));
}

static void run_shuffle(struct run *r, const kir_inst *inst)
{
    unsigned bytes = lane_bytes(inst->type), lanes = operand_type(r, inst, 0).lanes;
    const uint8_t *index = r->k->indices + inst->imm;
    for (unsigned i = 0; i < inst->type.lanes; i++) {
        uint64_t bits = index[i] < lanes
                            ? kir_lane_get(bytes, operand(r, inst, 0), index[i])
                            : kir_lane_get(bytes, operand(r, inst, 1), index[i] - lanes);
        kir_lane_put(bytes, result(r, inst), i, bits);
    }
}

static void run_any(struct run *r, const kir_inst *inst)
{
    const kir_type type = operand_type(r, inst, 0);
    uint64_t some = 0;
    for (unsigned i = 0; i < type.lanes; i++) {
        some |= kir_lane_get(lane_bytes(type), operand(r, inst, 0), i);
    }
    kir_lane_put(lane_bytes(inst->type), result(r, inst), 0, some & 1);
}

/* ---- structure ---- */

/* Copies operands from `from` on to the values that follow `to`. */
static void assign(const struct run *r, const kir_inst *inst, uint32_t from, uint32_t to,
                   uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        memcpy(slot(r, to + i), operand(r, inst, from + i), kir_type_bytes(r->k->types[to + i]));
    }
}

static void run_for(struct run *r, const kir_inst *inst)
{
    if (integer(r, inst, 2) <= 0) {
        r->fault = "the step is not positive";
    } else if (integer(r, inst, 0) < integer(r, inst, 1)) {
        set_integer(slot(r, inst->params_first), integer(r, inst, 0));
        assign(r, inst, 3, inst->params_first + 1, inst->result_count);
    } else {
        assign(r, inst, 3, inst->result_first, inst->result_count);
        r->at = inst->match;
    }
}

static void run_if(struct run *r, const kir_inst *inst)
{
    if (*(const char *)operand(r, inst, 0) == 0) {
        r->at = inst->match;
    }
}

/* Every pass writes the results, which are unseen inside, and from them the next pass' carried
 * values: a yield may well permute those. */
static void run_yield(struct run *r, const kir_inst *inst)
{
    const kir_inst *insts = r->k->insts;
    uint32_t end = inst[1].op == KIR_ELSE ? inst[1].match : r->at + 1;
    const kir_inst *opener = &insts[insts[end].match];
    assign(r, inst, 0, opener->result_first, opener->result_count);
    r->at = end;
    if (opener->op == KIR_FOR) {
        void *i = slot(r, opener->params_first);
        int64_t next;
        memcpy(&next, i, sizeof next);
        if (!__builtin_add_overflow(next, integer(r, opener, 2), &next) &&
            next < integer(r, opener, 1)) {
            set_integer(i, next);
            for (uint32_t c = 0; c < opener->result_count; c++) {
                uint32_t from = opener->result_first + c, to = opener->params_first + 1 + c;
                memcpy(slot(r, to), slot(r, from), kir_type_bytes(r->k->types[to]));
            }
            r->at = insts[end].match;
        }
    }
}

static const step steps[KIR_OP_COUNT] = {
    [KIR_CONST] = run_const,      [KIR_IOTA] = run_iota,       [KIR_ARG] = run_arg,
    [KIR_ARGV] = run_arg,         [KIR_ADD] = run_binary,      [KIR_SUB] = run_binary,
    [KIR_MUL] = run_binary,       [KIR_UDIV] = run_binary,     [KIR_AND] = run_binary,
    [KIR_OR] = run_binary,        [KIR_XOR] = run_binary,      [KIR_SHL] = run_binary,
    [KIR_LSHR] = run_binary,      [KIR_ASHR] = run_binary,     [KIR_UMIN] = run_binary,
    [KIR_UMAX] = run_binary,      [KIR_CMP] = run_cmp,         [KIR_SELECT] = run_select,
    [KIR_ZEXT] = run_convert,     [KIR_SEXT] = run_convert,    [KIR_TRUNC] = run_convert,
    [KIR_FPEXT] = run_convert,    [KIR_FPTRUNC] = run_convert, [KIR_BITCAST] = run_convert,
    [KIR_PTRADD] = run_ptradd,    [KIR_ADDR] = run_copy,       [KIR_LOAD] = run_load,
    [KIR_STORE] = run_store,      [KIR_MLOAD] = run_mload,     [KIR_MSTORE] = run_mstore,
    [KIR_PREFETCH] = run_nothing, [KIR_FENCE] = run_nothing,   [KIR_SPLAT] = run_splat,
    [KIR_EXTRACT] = run_extract,  [KIR_INSERT] = run_insert,   [KIR_SHUFFLE] = run_shuffle,
    [KIR_ANY] = run_any,          [KIR_FLAGS] = run_flags,     [KIR_CLEAR_FLAGS] = run_clear_flags,
    [KIR_KEEP] = run_copy,        [KIR_FOR] = run_for,         [KIR_IF] = run_if,
    [KIR_ELSE] = run_nothing,     [KIR_YIELD] = run_yield,     [KIR_END] = run_nothing,
    [KIR_RETURN] = run_nothing,   [KIR_CLAIM] = run_nothing,
};

tally_status kir_interpret(const kir_kernel *kernel, const struct tly_args *args,
                           const struct tly_task *task, int64_t *result_, tally_error *error)
{
    if (kernel->workgroup > 0) {
        return tly_fail(error, TALLY_INTERNAL, "kir",
                        "kernel %s: kernels with a workgroup are not interpreted", kernel->name);
    }
    /* Offsets first, so that one allocation holds them and the slots, on multiples of 16 bytes. */
    size_t table = ((size_t)kernel->value_count * sizeof(uint32_t) + 15) & ~(size_t)15;
    size_t bytes = 0;
    for (uint32_t v = 0; v < kernel->value_count; v++) {
        bytes += (kir_type_bytes(kernel->types[v]) + 15u) & ~15u;
    }
    char *memory = bytes <= UINT32_MAX ? malloc(table + bytes + (bytes == 0)) : NULL;
    if (memory == NULL) {
        return tly_out_of_memory(error, "the interpreter's frame", table + bytes);
    }
    struct run r = { .k = kernel,
                     .blocks = { (const char *)args, (const char *)task },
                     .slots = (uint32_t *)(void *)memory,
                     .frame = memory + table };
    uint32_t used = 0;
    for (uint32_t v = 0; v < kernel->value_count; v++) {
        r.slots[v] = used;
        used += (kir_type_bytes(kernel->types[v]) + 15u) & ~15u;
    }
    for (; r.fault == NULL && r.at < kernel->inst_count; r.at++) {
        const kir_inst *inst = &kernel->insts[r.at];
        steps[inst->op](&r, inst);
    }
    tally_status status = TALLY_OK;
    if (r.fault != NULL) {
        status = tly_fail(error, TALLY_INTERNAL, "kir", "kernel %s, instruction %u: %s: %s",
                          kernel->name, r.at - 1, kir_op_text((kir_op)kernel->insts[r.at - 1].op),
                          r.fault);
    } else {
        *result_ = integer(&r, &kernel->insts[kernel->inst_count - 1], 0);
    }
    free(memory);
    return status;
}

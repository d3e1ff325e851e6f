/*
 * What each operation asks of its operands, result and immediates: one function for a family, one
 * row for an operation. Messages are the rules themselves.
 */
#include "rules.h"

static const kir_type i64 = { KIR_I64, 1 }, i32 = { KIR_I32, 1 }, ptr = { KIR_PTR, 1 },
                      wptr = { KIR_WPTR, 1 };

static int is_arithmetic_float(kir_type t)
{
    return t.kind == KIR_F32 || t.kind == KIR_F64;
}

/* What memory holds: no i1, no ptr. */
static int is_memory(kir_type t)
{
    return t.kind >= KIR_I8 && t.kind <= KIR_F64;
}

static const char *rule_const(const struct kir_facts *f)
{
    if (f->type.kind >= KIR_PTR) {
        return "no constant is a ptr";
    }
    return kir_low_bits((kir_kind)f->type.kind, (uint64_t)f->inst->imm) == (uint64_t)f->inst->imm
               ? NULL
               : "a constant has no bits above its kind's";
}

static const char *rule_iota(const struct kir_facts *f)
{
    return kir_is_int(f->type) ? NULL : "iota is of integers";
}

static const char *rule_arg(const struct kir_facts *f)
{
    int type = kir_arg_type((kir_arg)f->inst->imm);
    if (type == 'v') {
        return "an array argument is read with argv";
    }
    if (kir_arg_of_gpu((kir_arg)f->inst->imm) != (f->kernel->workgroup > 0)) {
        return "push arguments are of kernels with a workgroup, the others of those without";
    }
    int narrow = type == 'w' || (type == 'l' && f->type.kind == KIR_I32);
    return kir_same_type(f->type, type == 'p' ? ptr
                                  : narrow    ? i32
                                              : i64)
               ? NULL
               : "the result has the argument's type";
}

static const char *rule_argv(const struct kir_facts *f)
{
    if (kir_arg_type((kir_arg)f->inst->imm) != 'v') {
        return "argv reads array arguments only";
    }
    return kir_same_type(f->type, i64) && kir_same_type(f->x[0], i64) ? NULL
                                                                      : "index and result are i64";
}

static int three_equal(const struct kir_facts *f)
{
    return kir_same_type(f->type, f->x[0]) && kir_same_type(f->type, f->x[1]);
}

static const char *rule_add(const struct kir_facts *f)
{
    if (!three_equal(f)) {
        return "operands and result have one type";
    }
    return kir_is_int(f->type) || is_arithmetic_float(f->type)
               ? NULL
               : "arithmetic is of i8 to i64, f32 and f64";
}

static const char *rule_udiv(const struct kir_facts *f)
{
    int narrow = f->kernel->workgroup > 0;
    return three_equal(f) && kir_same_type(f->type, narrow ? i32 : i64)
               ? NULL
               : "udiv is of scalar i64; with a workgroup, of scalar i32";
}

static const char *rule_bits(const struct kir_facts *f)
{
    if (!three_equal(f)) {
        return "operands and result have one type";
    }
    return kir_is_int(f->type) || f->type.kind == KIR_I1 ? NULL : "and, or, xor are of i1 to i64";
}

static const char *rule_int(const struct kir_facts *f)
{
    if (!three_equal(f)) {
        return "operands and result have one type";
    }
    return kir_is_int(f->type) ? NULL : "it is of i8 to i64";
}

static const char *rule_cmp(const struct kir_facts *f)
{
    if (!kir_same_type(f->x[0], f->x[1])) {
        return "operands have one type";
    }
    if (f->type.kind != KIR_I1 || f->type.lanes != f->x[0].lanes) {
        return "the result is i1 of the operands' lanes";
    }
    if (f->inst->imm <= KIR_ULE) {
        return kir_is_int(f->x[0]) ? NULL : "this predicate compares i8 to i64";
    }
    return is_arithmetic_float(f->x[0]) ? NULL : "this predicate compares f32 and f64";
}

static const char *rule_select(const struct kir_facts *f)
{
    if (!kir_same_type(f->type, f->x[1]) || !kir_same_type(f->type, f->x[2])) {
        return "both choices and the result have one type";
    }
    return f->x[0].kind == KIR_I1 && (f->x[0].lanes == 1 || f->x[0].lanes == f->type.lanes)
               ? NULL
               : "the condition is i1 of one lane or of the result's lanes";
}

static const char *rule_extend(const struct kir_facts *f)
{
    if (f->type.lanes != f->x[0].lanes) {
        return "a conversion keeps the lanes";
    }
    return kir_is_int(f->type) && (kir_is_int(f->x[0]) || f->x[0].kind == KIR_I1) &&
                   f->type.kind > f->x[0].kind
               ? NULL
               : "it goes from an integer or i1 to a wider integer";
}

static const char *rule_trunc(const struct kir_facts *f)
{
    if (f->type.lanes != f->x[0].lanes) {
        return "a conversion keeps the lanes";
    }
    return kir_is_int(f->x[0]) && (kir_is_int(f->type) || f->type.kind == KIR_I1) &&
                   f->type.kind < f->x[0].kind
               ? NULL
               : "it goes from an integer to a narrower one or i1";
}

/* fpext and fptrunc are each other's mirror. */
static const char *float_step(kir_type narrow, kir_type wide)
{
    if (narrow.lanes != wide.lanes) {
        return "a conversion keeps the lanes";
    }
    return (narrow.kind == KIR_F16 && wide.kind == KIR_F32) ||
                   (narrow.kind == KIR_F32 && wide.kind == KIR_F64)
               ? NULL
               : "floats are converted between f16 and f32, f32 and f64";
}

static const char *rule_fpext(const struct kir_facts *f)
{
    return float_step(f->x[0], f->type);
}

static const char *rule_fptrunc(const struct kir_facts *f)
{
    return float_step(f->type, f->x[0]);
}

static const char *rule_bitcast(const struct kir_facts *f)
{
    if (f->type.kind >= KIR_PTR || f->x[0].kind >= KIR_PTR) {
        return "bitcast is not of ptr";
    }
    unsigned bits = kir_kind_bits((kir_kind)f->type.kind) * f->type.lanes;
    return bits == kir_kind_bits((kir_kind)f->x[0].kind) * f->x[0].lanes
               ? NULL
               : "bitcast keeps the total bits";
}

static const char *rule_ptradd(const struct kir_facts *f)
{
    if (kir_same_type(f->x[0], wptr) || f->kernel->workgroup > 0) {
        int fits = kir_same_type(f->x[1], i32) ||
                   (kir_same_type(f->x[1], i64) && kir_same_type(f->x[0], ptr));
        return f->x[0].kind >= KIR_PTR && kir_same_type(f->type, f->x[0]) && fits
                   ? NULL
                   : "with a workgroup, ptradd adds i32 or i64 to ptr, i32 to wptr";
    }
    return kir_same_type(f->type, ptr) && kir_same_type(f->x[0], ptr) && kir_same_type(f->x[1], i64)
               ? NULL
               : "ptradd adds i64 to ptr";
}

static const char *rule_addr(const struct kir_facts *f)
{
    return kir_same_type(f->type, i64) && kir_same_type(f->x[0], ptr) ? NULL
                                                                      : "addr goes from ptr to i64";
}

static int is_power_of_two(unsigned n)
{
    return n != 0 && (n & (n - 1)) == 0;
}

static const char *rule_memory(const struct kir_facts *f)
{
    if (!kir_same_type(f->x[0], ptr) && !kir_same_type(f->x[0], wptr)) {
        return "the address is a ptr";
    }
    if (!is_memory(f->type)) {
        return "memory holds i8 to i64 and floats";
    }
    return is_power_of_two(f->inst->align) ? NULL : "align is a power of two";
}

static const char *rule_store(const struct kir_facts *f)
{
    if (!kir_same_type(f->type, f->x[1])) {
        return "the instruction has the stored value's type";
    }
    if ((f->inst->flags & KIR_STREAM) != 0) {
        unsigned bytes = kir_type_bytes(f->type);
        if (!is_power_of_two(bytes) || f->inst->align < bytes) {
            return "a stream store is aligned to the whole value, a power of two bytes";
        }
    }
    return rule_memory(f);
}

static const char *rule_masked(const struct kir_facts *f)
{
    if (!kir_same_type(f->x[0], ptr)) {
        return "the address is a ptr";
    }
    if (!is_memory(f->type)) {
        return "memory holds i8 to i64 and floats";
    }
    if (!kir_same_type(f->x[1], i64)) {
        return "the count is i64";
    }
    return kir_same_type(f->type, f->x[2]) ? NULL : "the value has the instruction's type";
}

static const char *rule_prefetch(const struct kir_facts *f)
{
    return kir_same_type(f->x[0], ptr) ? NULL : "the address is a ptr";
}

static const char *rule_none(const struct kir_facts *f)
{
    (void)f;
    return NULL;
}

static const char *rule_flags(const struct kir_facts *f)
{
    return kir_same_type(f->type, i32) ? NULL : "flags are an i32";
}

static const char *rule_splat(const struct kir_facts *f)
{
    return f->x[0].lanes == 1 && f->x[0].kind == f->type.kind && f->type.kind < KIR_PTR
               ? NULL
               : "splat goes from a scalar, no ptr, to lanes of its kind";
}

static const char *rule_extract(const struct kir_facts *f)
{
    if (f->type.lanes != 1 || f->type.kind != f->x[0].kind) {
        return "the result is a scalar of the vector's kind";
    }
    return f->inst->imm >= 0 && f->inst->imm < f->x[0].lanes ? NULL : "the lane is in the vector";
}

static const char *rule_insert(const struct kir_facts *f)
{
    if (!kir_same_type(f->type, f->x[0]) || f->x[1].lanes != 1 || f->x[1].kind != f->type.kind) {
        return "a scalar goes into a vector of its kind, which is the result's type";
    }
    return f->inst->imm >= 0 && f->inst->imm < f->x[0].lanes ? NULL : "the lane is in the vector";
}

static const char *rule_shuffle(const struct kir_facts *f)
{
    if (!kir_same_type(f->x[0], f->x[1]) || f->x[0].kind != f->type.kind) {
        return "operands have one type and the result its kind";
    }
    if (f->type.kind >= KIR_PTR) {
        return "shuffle is not of ptr";
    }
    if (f->inst->imm < 0 || f->inst->imm > f->kernel->index_count - (int64_t)f->type.lanes) {
        return "its lanes are in the index pool";
    }
    const uint8_t *index = f->kernel->indices + f->inst->imm;
    for (unsigned i = 0; i < f->type.lanes; i++) {
        if (index[i] >= 2u * f->x[0].lanes) {
            return "every lane picked is one of the operands'";
        }
    }
    return NULL;
}

static const char *rule_keep(const struct kir_facts *f)
{
    return kir_same_type(f->type, f->x[0]) && f->type.kind != KIR_I1
               ? NULL
               : "keep is of anything but i1, and keeps its type";
}

static const char *rule_any(const struct kir_facts *f)
{
    return kir_same_type(f->type, KIR_TYPE(KIR_I1, 1)) && f->x[0].kind == KIR_I1
               ? NULL
               : "any goes from lanes of i1 to i1";
}

static const char *rule_for(const struct kir_facts *f)
{
    kir_type type = f->kernel->workgroup > 0 && f->x[0].kind == KIR_I32 ? i32 : i64;
    for (int i = 0; i < 3; i++) {
        if (!kir_same_type(f->x[i], type)) {
            return "bounds and step are i64; with a workgroup, i64 or i32";
        }
    }
    if ((f->inst->flags & KIR_WHILE) != 0) {
        int given = f->inst->operand_count > 3 && f->kernel->workgroup > 0;
        kir_type first = given ? f->kernel->types[f->kernel->operands[f->inst->operand_first + 3]]
                               : i64;
        return kir_same_type(first, KIR_TYPE(KIR_I1, 1))
                   ? NULL
                   : "while is of kernels with a workgroup, and asks the first carried value, an "
                     "i1";
    }
    return NULL;
}

static const char *rule_if(const struct kir_facts *f)
{
    return kir_same_type(f->x[0], KIR_TYPE(KIR_I1, 1)) ? NULL : "the condition is one i1";
}

static const char *rule_return(const struct kir_facts *f)
{
    return kir_same_type(f->x[0], i64) ? NULL : "a kernel returns i64";
}

static const struct {
    kir_rule check;
    uint8_t typed;   /* the instruction has a type */
    uint8_t aligned; /* ... an alignment */
    uint8_t flags;   /* ... these flags, perhaps */
} rules[KIR_OP_COUNT] = {
    [KIR_CONST] = { rule_const, 1, 0, 0 },
    [KIR_IOTA] = { rule_iota, 1, 0, 0 },
    [KIR_ARG] = { rule_arg, 1, 0, 0 },
    [KIR_ARGV] = { rule_argv, 1, 0, 0 },
    [KIR_ADD] = { rule_add, 1, 0, 0 },
    [KIR_SUB] = { rule_add, 1, 0, 0 },
    [KIR_MUL] = { rule_add, 1, 0, 0 },
    [KIR_UDIV] = { rule_udiv, 1, 0, 0 },
    [KIR_AND] = { rule_bits, 1, 0, 0 },
    [KIR_OR] = { rule_bits, 1, 0, 0 },
    [KIR_XOR] = { rule_bits, 1, 0, 0 },
    [KIR_SHL] = { rule_int, 1, 0, 0 },
    [KIR_LSHR] = { rule_int, 1, 0, 0 },
    [KIR_ASHR] = { rule_int, 1, 0, 0 },
    [KIR_UMIN] = { rule_int, 1, 0, 0 },
    [KIR_UMAX] = { rule_int, 1, 0, 0 },
    [KIR_CMP] = { rule_cmp, 1, 0, 0 },
    [KIR_SELECT] = { rule_select, 1, 0, 0 },
    [KIR_ZEXT] = { rule_extend, 1, 0, 0 },
    [KIR_SEXT] = { rule_extend, 1, 0, 0 },
    [KIR_TRUNC] = { rule_trunc, 1, 0, 0 },
    [KIR_FPEXT] = { rule_fpext, 1, 0, 0 },
    [KIR_FPTRUNC] = { rule_fptrunc, 1, 0, 0 },
    [KIR_BITCAST] = { rule_bitcast, 1, 0, 0 },
    [KIR_PTRADD] = { rule_ptradd, 1, 0, 0 },
    [KIR_ADDR] = { rule_addr, 1, 0, 0 },
    [KIR_LOAD] = { rule_memory, 1, 1, 0 },
    [KIR_STORE] = { rule_store, 1, 1, KIR_STREAM },
    [KIR_MLOAD] = { rule_masked, 1, 0, 0 },
    [KIR_MSTORE] = { rule_masked, 1, 0, 0 },
    [KIR_PREFETCH] = { rule_prefetch, 0, 0, 0 },
    [KIR_CLAIM] = { rule_prefetch, 0, 0, 0 },
    [KIR_FENCE] = { rule_none, 0, 0, 0 },
    [KIR_CLEAR_FLAGS] = { rule_none, 0, 0, 0 },
    [KIR_FLAGS] = { rule_flags, 1, 0, 0 },
    [KIR_SPLAT] = { rule_splat, 1, 0, 0 },
    [KIR_EXTRACT] = { rule_extract, 1, 0, 0 },
    [KIR_INSERT] = { rule_insert, 1, 0, 0 },
    [KIR_SHUFFLE] = { rule_shuffle, 1, 0, 0 },
    [KIR_KEEP] = { rule_keep, 1, 0, 0 },
    [KIR_ANY] = { rule_any, 1, 0, 0 },
    [KIR_ID] = { kir_rule_id, 1, 0, 0 },
    [KIR_SHARED] = { kir_rule_shared, 1, 0, 0 },
    [KIR_BARRIER] = { rule_none, 0, 0, 0 },
    [KIR_SCAN_ADD] = { kir_rule_subgroup_scan, 1, 0, 0 },
    [KIR_SCAN_MUL] = { kir_rule_subgroup_scan, 1, 0, 0 },
    [KIR_FROM_LANE] = { kir_rule_from_lane, 1, 0, 0 },
    [KIR_ATOMIC_ADD] = { kir_rule_atomic, 1, 0, 0 },
    [KIR_ATOMIC_LOAD] = { kir_rule_atomic, 1, 0, 0 },
    [KIR_ATOMIC_STORE] = { kir_rule_atomic, 1, 0, 0 },
    [KIR_FOR] = { rule_for, 0, 0, KIR_WHILE },
    [KIR_IF] = { rule_if, 0, 0, 0 },
    [KIR_ELSE] = { rule_none, 0, 0, 0 },
    [KIR_YIELD] = { rule_none, 0, 0, 0 },
    [KIR_END] = { rule_none, 0, 0, 0 },
    [KIR_RETURN] = { rule_return, 0, 0, 0 },
};

static int type_exists(kir_type t)
{
    return t.kind > KIR_NONE && t.kind < KIR_KIND_COUNT && t.lanes >= 1 &&
           t.lanes <= (t.kind >= KIR_PTR ? 1 : KIR_MAX_LANES);
}

/* What an immediate may be, as far as its letter alone tells. */
static const char *immediate_broken(const kir_inst *inst)
{
    switch (kir_op_immediate((kir_op)inst->op)) {
    case 0:
        return inst->imm == 0 ? NULL : "it has no immediate";
    case 'a':
        return inst->imm >= 0 && inst->imm < KIR_ARG_COUNT ? NULL : "no such argument";
    case 'i':
        return inst->imm >= 0 && inst->imm < KIR_ID_COUNT ? NULL : "no such id";
    case 'n':
        return inst->imm >= 0 ? NULL : "a size is not negative";
    case 'p':
        return inst->imm >= 0 && inst->imm < KIR_PRED_COUNT ? NULL : "no such predicate";
    default:
        return NULL;
    }
}

const char *kir_rule_broken(const kir_kernel *k, const kir_inst *inst)
{
    kir_type none = { KIR_NONE, 0 };
    if (rules[inst->op].typed ? !type_exists(inst->type) : !kir_same_type(inst->type, none)) {
        return "a type is a kind with 1 to 64 lanes (ptr: 1)";
    }
    if (inst->align != 0 && !rules[inst->op].aligned) {
        return "only load and store have an align";
    }
    if ((inst->flags & ~rules[inst->op].flags) != 0) {
        return "only stores have the flag stream, only for has while";
    }
    const char *broken = immediate_broken(inst);
    if (broken != NULL) {
        return broken;
    }
    struct kir_facts f = { .kernel = k, .inst = inst, .type = inst->type };
    for (uint32_t i = 0; i < 3 && i < inst->operand_count; i++) {
        f.x[i] = k->types[k->operands[inst->operand_first + i]];
    }
    return rules[inst->op].check(&f);
}

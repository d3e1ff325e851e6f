/*
 * Launch arguments, addresses, memory. An address is a base and a 32-bit offset from it: in the
 * buffer form the base is the start of a binding and offsets wrap; in the address form it is two
 * words, so that no device needs 64-bit integers. Memory is read and written as 2, 4, 8 or 16
 * bytes at once, as many as the alignment allows.
 */
#include <stdio.h>

#include "lower.h"

enum { MAX_PIECES = 8 * TLY_SPV_LANES / 2 };

/* ---- launch arguments ---- */

enum { PUSH_MEMBERS = KIR_ARG_COUNT - KIR_ARG_GPU_IN };

static const struct {
    const char *name;
    uint16_t offset;
    char type;
} push_members[PUSH_MEMBERS] = {
#define A(...)
#define T(...)
#define P(...) __VA_ARGS__
#define KIR_ARG(NAME, text, block, offset, type) \
    block([KIR_ARG_##NAME - KIR_ARG_GPU_IN] = { text, offset, type },)
#include "../kir/args.def"
#undef KIR_ARG
#undef P
#undef T
#undef A
};

/* tly_push, with 64 bits as two words. */
static uint32_t push_variable(tly_spv_lowering *l)
{
    tly_spv_module *m = &l->m;
    uint32_t members[PUSH_MEMBERS], word = U32(l), two = tly_spv_vector(m, word, 2);
    if (l->push != 0) {
        return l->push;
    }
    for (uint32_t i = 0; i < PUSH_MEMBERS; i++) {
        members[i] = push_members[i].type == 'w' ? word : two;
    }
    uint32_t type = tly_spv_declare(m, SpvOpTypeStruct, 0, PUSH_MEMBERS, members);
    tly_spv_name(m, type, "tly_push");
    tly_spv_decorate(m, type, SpvDecorationBlock);
    for (uint32_t i = 0; i < PUSH_MEMBERS; i++) {
        TLY_SPV_PUT(m, TLY_SPV_DECORATIONS, SpvOpMemberDecorate, type, i,
                    (uint32_t)SpvDecorationOffset, push_members[i].offset);
        tly_spv_put_text(m, TLY_SPV_NAMES, SpvOpMemberName, 2, (uint32_t[]){ type, i },
                         push_members[i].name);
    }
    l->push = tly_spv_variable(m, SpvStorageClassPushConstant, type, "push");
    return l->push;
}

void tly_spv_lower_argument(tly_spv_lowering *l, const kir_inst *inst, tly_spv_value *result)
{
    uint32_t member = (uint32_t)inst->imm - KIR_ARG_GPU_IN, words[2];
    unsigned count = push_members[member].type == 'w' ? 1 : 2;
    uint32_t push = push_variable(l), uvec = tly_spv_vector(&l->m, U32(l), count);
    uint32_t type = tly_spv_pointer(&l->m, SpvStorageClassPushConstant, uvec);
    uint32_t at = OP(l, AccessChain, type, push, LITERAL(l, member));
    uint32_t loaded = OP(l, Load, uvec, at);
    if (inst->type.kind == KIR_I32) {
        result->id[0] = count == 1 ? loaded : WORD(l, CompositeExtract, loaded, 0);
        return;
    }
    tly_spv_split(l, loaded, count, words);
    if (inst->type.kind == KIR_I64) {
        tly_spv_from_words(l, inst->type, words, result);
        return;
    }
    result->root = (uint8_t)member;
    if (l->options->addresses) {
        result->id[TLY_SPV_LOW] = words[0];
        result->id[TLY_SPV_HIGH] = words[1];
    } else {
        result->id[TLY_SPV_OFFSET] = words[0];
    }
}

/* ---- addresses ---- */

static uint32_t plus(tly_spv_lowering *l, uint32_t offset, uint32_t more)
{
    return offset == 0 ? more : WORD(l, IAdd, offset, more);
}

/* offset + bytes as a word; 0 where that is nothing. */
static uint32_t plus_bytes(tly_spv_lowering *l, uint32_t offset, int64_t bytes)
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

/* In the buffer form, the low half of 64 bits is all there is to add. */
void tly_spv_lower_ptradd(tly_spv_lowering *l, const kir_inst *inst, tly_spv_value *result)
{
    uint32_t words[TLY_SPV_PARTS];
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

static uint32_t element(tly_spv_lowering *l, unsigned log2)
{
    return log2 == 1 ? tly_spv_uint(&l->m, 16)
                     : tly_spv_vector(&l->m, U32(l), 1u << (log2 - 2));
}

/* A struct of an array of elements without end. */
static uint32_t block(tly_spv_lowering *l, unsigned log2)
{
    static const char *const names[4] = { "u16s", "u32s", "uvec2s", "uvec4s" };
    tly_spv_module *m = &l->m;
    uint32_t *made = &l->blocks[log2 - 1];
    if (*made == 0) {
        uint32_t array = TLY_SPV_DECLARE(m, SpvOpTypeRuntimeArray, 0, element(l, log2));
        tly_spv_decorate_with(m, array, SpvDecorationArrayStride, 1u << log2);
        *made = TLY_SPV_DECLARE(m, SpvOpTypeStruct, 0, array);
        tly_spv_decorate(m, *made, SpvDecorationBlock);
        TLY_SPV_PUT(m, TLY_SPV_DECORATIONS, SpvOpMemberDecorate, *made, 0,
                    (uint32_t)SpvDecorationOffset, 0);
        tly_spv_name(m, *made, names[log2 - 1]);
    }
    return *made;
}

/* A binding seen as an array of elements; in and out may be one memory. */
static uint32_t buffer(tly_spv_lowering *l, unsigned binding, unsigned log2)
{
    static const char *const names[3][4] = {
        { "in_u16", "in_u32", "in_uvec2", "in_uvec4" },
        { "out_u16", "out_u32", "out_uvec2", "out_uvec4" },
        { "scratch_u16", "scratch_u32", "scratch_uvec2", "scratch_uvec4" },
    };
    tly_spv_module *m = &l->m;
    uint32_t *made = &l->buffers[binding][log2 - 1];
    if (*made == 0) {
        *made = tly_spv_variable(m, SpvStorageClassStorageBuffer, block(l, log2),
                                 names[binding][log2 - 1]);
        tly_spv_decorate_with(m, *made, SpvDecorationDescriptorSet, 0);
        tly_spv_decorate_with(m, *made, SpvDecorationBinding, binding);
        tly_spv_decorate(m, *made, SpvDecorationAliased);
    }
    return *made;
}

static uint32_t in_buffer(tly_spv_lowering *l, const tly_spv_value *p, int64_t bytes,
                          unsigned log2)
{
    uint32_t first = LITERAL(l, 0), all = buffer(l, p->root, log2);
    uint32_t type = tly_spv_pointer(&l->m, SpvStorageClassStorageBuffer, element(l, log2));
    uint32_t offset = plus_bytes(l, p->id[TLY_SPV_OFFSET], bytes);
    uint32_t index = WORD(l, ShiftRightLogical, offset, LITERAL(l, log2));
    return OP(l, AccessChain, type, all, first, index);
}

/* The validator takes a cast to a pointer to 16 bits for arithmetic on them, unless the pointer is
 * declared forward, which asks for a struct; so do the GLSL compilers. */
static uint32_t half_pointer(tly_spv_lowering *l, uint32_t two)
{
    const uint32_t storage = SpvStorageClassPhysicalStorageBuffer;
    if (l->halves == 0) {
        l->halves = tly_spv_id(&l->m);
        TLY_SPV_PUT(&l->m, TLY_SPV_GLOBALS, SpvOpTypeForwardPointer, l->halves, storage);
        uint32_t all = block(l, 1);
        TLY_SPV_PUT(&l->m, TLY_SPV_GLOBALS, SpvOpTypePointer, l->halves, storage, all);
    }
    uint32_t type = tly_spv_pointer(&l->m, SpvStorageClassPhysicalStorageBuffer, element(l, 1));
    uint32_t all = OP(l, Bitcast, l->halves, two), first = LITERAL(l, 0);
    return OP(l, AccessChain, type, all, first, first);
}

/* base + offset + bytes: offsets are unsigned and, with positive bytes, below 2^32. */
static uint32_t by_address(tly_spv_lowering *l, const tly_spv_value *p, int64_t bytes,
                           unsigned log2)
{
    tly_spv_value at = *p;
    uint32_t offset = p->id[TLY_SPV_OFFSET];
    if (bytes >= 0 && bytes <= UINT32_MAX) {
        offset = plus_bytes(l, offset, bytes);
    } else {
        uint32_t words[2] = { LITERAL(l, bytes), 0 };
        words[1] = LITERAL(l, (uint64_t)bytes >> 32);
        add_to_base(l, &at, words);
    }
    if (offset != 0) {
        uint32_t words[2] = { offset, 0 };
        add_to_base(l, &at, words);
    }
    uint32_t two = tly_spv_uvec(l, at.id + TLY_SPV_LOW, 2);
    if (log2 == 1) {
        return half_pointer(l, two);
    }
    uint32_t to = tly_spv_pointer(&l->m, SpvStorageClassPhysicalStorageBuffer, element(l, log2));
    return OP(l, Bitcast, to, two);
}

static uint32_t pointer(tly_spv_lowering *l, const tly_spv_value *p, int64_t bytes, unsigned log2)
{
    return l->options->addresses ? by_address(l, p, bytes, log2) : in_buffer(l, p, bytes, log2);
}

/* `size` bytes at once, as a uvec, or a uint of a lone half. */
static uint32_t load_piece(tly_spv_lowering *l, const tly_spv_value *p, int64_t bytes,
                           unsigned log2)
{
    uint32_t at = pointer(l, p, bytes, log2), type = element(l, log2);
    uint32_t id = l->options->addresses
                      ? OP(l, Load, type, at, SpvMemoryAccessAlignedMask, 1u << log2)
                      : OP(l, Load, type, at);
    return log2 == 1 ? WORD(l, UConvert, id) : id;
}

static void store_piece(tly_spv_lowering *l, const tly_spv_value *p, int64_t bytes, unsigned log2,
                        uint32_t id)
{
    uint32_t at = pointer(l, p, bytes, log2);
    if (log2 == 1) {
        id = OP(l, UConvert, element(l, log2), id);
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
        uint32_t offset = plus_bytes(l, p->id[TLY_SPV_OFFSET], bytes);
        index = WORD(l, ShiftRightLogical, offset, LITERAL(l, 2));
    }
    return OP(l, AccessChain, type, p->id[TLY_SPV_SHARED], index);
}

/* ---- loads and stores ---- */

/* Cuts an access into pieces, each log2 of its bytes; 0 pieces if there is no way. */
static unsigned cut(tly_spv_lowering *l, const kir_inst *inst, uint8_t pieces[MAX_PIECES])
{
    int shared = tly_spv_operand_type(l, inst, 0).kind == KIR_WPTR;
    unsigned count = 0, least = tly_spv_is_half(inst->type) ? 1 : 2, most = shared ? 2 : 4;
    unsigned left = kir_type_bytes(inst->type);
    if (inst->align < 1u << (shared ? 2 : least) || (shared && least == 1)) {
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
        uint32_t id = shared ? WORD(l, Load, in_shared(l, p, at)) : load_piece(l, p, at, log2);
        at += INT64_C(1) << log2;
        if (at_once(l, inst, count)) {
            uint32_t shape = tly_spv_type(l, type);
            result->id[0] = type.kind == KIR_I32 ? id : OP(l, Bitcast, shape, id);
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
        uint32_t shape = element(l, pieces[0]), id = value->id[0];
        store_piece(l, p, at, pieces[0], type.kind == KIR_I32 ? id : OP(l, Bitcast, shape, id));
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
    uint32_t at = pointer(l, tly_spv_bare(l, inst, 0), inst->imm, 2);
    uint32_t scope = LITERAL(l, SpvScopeDevice), relaxed = LITERAL(l, SpvMemorySemanticsMaskNone);
    uint32_t value = inst->operand_count > 1 ? tly_spv_operand(l, inst, 1)->id[0] : 0;
    if (inst->op == KIR_ATOMIC_STORE) {
        TLY_SPV_PUT(&l->m, TLY_SPV_BODY, SpvOpAtomicStore, at, scope, relaxed, value);
    } else if (inst->op == KIR_ATOMIC_ADD) {
        result->id[0] = WORD(l, AtomicIAdd, at, scope, relaxed, value);
    } else {
        result->id[0] = WORD(l, AtomicLoad, at, scope, relaxed);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of launch arguments: text, and where each lies on either target. All offsets are the
 * compiler's, of the structs that runtime/problem/block.def makes.
 */
#include "internal.h"

#include "../../runtime/problem/gpu.h"

#define PLACE_NO(where, type, path) { 0 }
#define PLACE_I64(where, type, path) { where, 'i', offsetof(type, path) }
#define PLACE_PTR(where, type, path) { where, 'p', offsetof(type, path) }
#define PLACE_TASK(where, type, path) { KIR_IN_TASK, 'p', offsetof(tly_task, path) }
#define PLACE_W32(where, type, path) { where, 'w', offsetof(type, path) }
#define PLACE_L64(where, type, path) { where, 'l', offsetof(type, path) }
#define PLACE_F64(where, type, path) { where, 'd', offsetof(type, path) }
#define PLACE_F32(where, type, path) { where, 'f', offsetof(type, path) }

static const struct {
    const char *text;
    kir_place cpu, push, block;
} args[KIR_ARG_COUNT] = {
#define FIELD(NAME, name, of, member, in_cpu, in_push, in_block, meaning) \
    [KIR_ARG_##NAME] = { .text = #name, \
                         .cpu = PLACE_##in_cpu(KIR_IN_ARGS, tly_args, of member), \
                         .push = PLACE_##in_push(KIR_IN_PUSH, tly_push, of member), \
                         .block = PLACE_##in_block(KIR_IN_BLOCK, tly_gpu_block, of member) },
#define DIM(NAME, name, of, member, in_push, dim) \
    [KIR_ARG_##NAME##dim] = { .text = #name #dim, \
                              .push = PLACE_##in_push(KIR_IN_PUSH, tly_push, of member[dim]) },
#define DIMS(NAME, name, of, member, in_cpu, in_push, in_block, meaning) \
    [KIR_ARG_##NAME] = { .text = #name, \
                         .cpu = { KIR_IN_ARGS, 'v', offsetof(tly_args, of member) }, \
                         .block = PLACE_##in_block(KIR_IN_BLOCK, tly_gpu_block, of member) }, \
    DIM(NAME, name, of, member, in_push, 0) DIM(NAME, name, of, member, in_push, 1)
#define TENSOR(T, t, member, is_written, home, meaning) TLY_TENSOR_FIELDS(FIELD, DIMS, T, t, home)
#define KIR_TASK(NAME, name, type) \
    [KIR_ARG_##NAME] = { .text = #name, .cpu = { KIR_IN_TASK, type, offsetof(tly_task, name) } },
    TLY_LAUNCH_FIELDS(FIELD, DIMS) TLY_TENSORS(TENSOR)
#include "args.def"
};

const char *kir_arg_text(kir_arg arg)
{
    return (unsigned)arg < KIR_ARG_COUNT ? args[arg].text : "?";
}

kir_place kir_arg_place(kir_arg arg, int gpu)
{
    if ((unsigned)arg >= KIR_ARG_COUNT) {
        return (kir_place){ 0 };
    }
    return !gpu                                  ? args[arg].cpu
           : args[arg].push.block != KIR_NOWHERE ? args[arg].push
                                                 : args[arg].block;
}

int kir_arg_tensor(kir_arg arg)
{
    static const kir_arg bases[TLY_TENSOR_COUNT] = {
#define BASE(T, t, member, is_written, home, meaning) [TLY_##T] = KIR_ARG_##T,
        TLY_TENSORS(BASE)
    };
    for (int i = 0; i < TLY_TENSOR_COUNT; i++) {
        if (bases[i] == arg) {
            return i;
        }
    }
    return -1;
}

uint32_t kir_tensors(const kir_kernel *kernel)
{
    uint32_t tensors = 0;
    for (uint32_t i = 0; i < kernel->inst_count; i++) {
        const kir_inst *inst = &kernel->insts[i];
        int tensor = inst->op == KIR_ARG ? kir_arg_tensor((kir_arg)inst->imm) : -1;
        tensors |= tensor >= 0 ? 1u << tensor : 0;
    }
    return tensors;
}

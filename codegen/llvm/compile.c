/* SPDX-License-Identifier: Apache-2.0 */
/* libtally-llvm's only door: kernel IR in, a flat blob, text or an object (unit.c) out. */
#include <stdlib.h>

#include "../../runtime/host/error.h"
#include "../shared/native.h"
#include "../shared/reserve.h"
#include "flatten.h"
#include "internal.h"
#include "module.h"
#include "unit.h"

/* Values that quick code keeps lie in its frame, each at a place of its own. Beyond this LLVM
 * warns, and the kernel has no quick code. Of the kernels of tools/pack_words for x86-64-v4 none
 * took more than 11.6 KiB, nor in full than 1. */
static void bound_stack(const tly_module *m, LLVMValueRef function)
{
    static const char name[] = "warn-stack-size", bytes[] = "16384";
    LLVMAttributeRef bound = LLVMCreateStringAttribute(m->context, name, sizeof name - 1, bytes,
                                                       sizeof bytes - 1);
    LLVMAddAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, bound);
}

/* Leaves a verified module in m; to be ended in any case. */
static tally_status begin(tly_module *m, const kir_kernel *kernel, const tly_target *target,
                          tly_module_kind kind, int lines, tally_error *error)
{
    tally_status status = tly_module_begin(m, target, kind, error);
    if (status != TALLY_OK) {
        return status;
    }
    m->module = LLVMModuleCreateWithNameInContext(kernel->name, m->context);
    tly_module_set_target(m, target->triple);
    tly_lowering l = { .kernel = kernel,
                       .target = target,
                       .arch = m->arch,
                       .context = m->context,
                       .module = m->module,
                       .lines = lines,
                       .error = error };
    status = tly_lower(&l);
    if (status != TALLY_OK) {
        return status;
    }
    if (kind == TLY_MODULE_QUICK) {
        bound_stack(m, l.function);
    }
    return tly_module_verify(m, kernel->name, error);
}

static tally_status make(const kir_kernel *kernel, const tly_target *target, tly_module_kind kind,
                         unsigned char **code, size_t *code_bytes, tally_error *error)
{
    tly_module m = { 0 };
    LLVMMemoryBufferRef buffer;
    tally_status status = begin(&m, kernel, target, kind, 0, error);
    if (status == TALLY_OK) {
        status = tly_module_emit(&m, LLVMObjectFile, &buffer, error);
    }
    if (status == TALLY_OK) {
        status = tly_flatten((const unsigned char *)LLVMGetBufferStart(buffer),
                             LLVMGetBufferSize(buffer), code, code_bytes, error);
        LLVMDisposeMemoryBuffer(buffer);
    }
    tly_module_end(&m);
    return status;
}

static tally_status make_in_room(const kir_kernel *kernel, const tly_target *target,
                                 tly_module_kind kind, unsigned char **code, size_t *code_bytes,
                                 tally_error *error)
{
    tally_status status = tly_reserve_enter(TLY_LLVM_ROOM, error);
    if (status == TALLY_OK) {
        status = make(kernel, target, kind, code, code_bytes, error);
        tly_reserve_leave();
    }
    return status;
}

static tally_status compile(const kir_kernel *kernel, const tly_target *target,
                            unsigned char **code, size_t *code_bytes, tally_error *error)
{
    return make_in_room(kernel, target, TLY_MODULE_FULL, code, code_bytes, error);
}

static tally_status compile_quick(const kir_kernel *kernel, const tly_target *target,
                                  unsigned char **code, size_t *code_bytes, tally_error *error)
{
    return make_in_room(kernel, target, TLY_MODULE_QUICK, code, code_bytes, error);
}

static void release(unsigned char *code)
{
    free(code);
}

static tally_status write_stage(const kir_kernel *kernel, const tly_target *target,
                                tally_stage stage, tally_write write, void *user,
                                tally_error *error)
{
    tly_module m = { 0 };
    const int lines = stage == TALLY_STAGE_LLVM_LINES || stage == TALLY_STAGE_ASM_LINES;
    const int ir = stage == TALLY_STAGE_LLVM || stage == TALLY_STAGE_LLVM_LINES;
    tally_status status = begin(&m, kernel, target, TLY_MODULE_FULL, lines, error);
    if (status == TALLY_OK) {
        status = tly_module_write(&m, ir ? TALLY_FORMAT_LLVM : TALLY_FORMAT_ASSEMBLY, write, user,
                                  error);
    }
    tly_module_end(&m);
    return status;
}

static tally_status show(const kir_kernel *kernel, const tly_target *target, tally_stage stage,
                         tally_write write, void *user, tally_error *error)
{
    if (stage != TALLY_STAGE_LLVM && stage != TALLY_STAGE_ASM && stage != TALLY_STAGE_LLVM_LINES &&
        stage != TALLY_STAGE_ASM_LINES) {
        return tly_fail(error, TALLY_INTERNAL, "usage", "stage %d is not LLVM's", (int)stage);
    }
    tally_status status = tly_reserve_enter(TLY_LLVM_ROOM, error);
    if (status == TALLY_OK) {
        status = write_stage(kernel, target, stage, write, user, error);
        tly_reserve_leave();
    }
    return status;
}

TALLY_API const tly_native *tally_llvm_native(void);

const tly_native *tally_llvm_native(void)
{
    static const tly_native native = {
        .version = TLY_GENERATOR_VERSION,
        .compile = compile,
        .release = release,
        .show = show,
        .compile_quick = compile_quick,
        .unit_begin = tly_unit_begin,
        .unit_code = tly_unit_code,
        .unit_function = tly_unit_function,
        .unit_write = tly_unit_write,
        .unit_end = tly_unit_end,
    };
    return &native;
}

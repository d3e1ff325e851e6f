/* libtally-llvm's only door: kernel IR in, a flat blob, text or an object (unit.c) out. */
#include <stdlib.h>

#include "../../runtime/error.h"
#include "../native.h"
#include "../reserve.h"
#include "flatten.h"
#include "internal.h"
#include "module.h"
#include "unit.h"

/* Leaves a verified module in m; to be ended in any case. */
static tally_status begin(tly_module *m, const kir_kernel *kernel, const tly_target *target,
                          tally_error *error)
{
    tally_status status = tly_module_begin(m, target, 0, error);
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
                       .error = error };
    status = tly_lower(&l);
    return status == TALLY_OK ? tly_module_verify(m, kernel->name, error) : status;
}

static tally_status make(const kir_kernel *kernel, const tly_target *target, unsigned char **code,
                         size_t *code_bytes, tally_error *error)
{
    tly_module m = { 0 };
    LLVMMemoryBufferRef buffer;
    tally_status status = begin(&m, kernel, target, error);
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

static tally_status compile(const kir_kernel *kernel, const tly_target *target,
                            unsigned char **code, size_t *code_bytes, tally_error *error)
{
    tally_status status = tly_reserve_enter(TLY_LLVM_ROOM, error);
    if (status == TALLY_OK) {
        status = make(kernel, target, code, code_bytes, error);
        tly_reserve_leave();
    }
    return status;
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
    tally_status status = begin(&m, kernel, target, error);
    if (status == TALLY_OK) {
        const int ir = stage == TALLY_STAGE_LLVM;
        status = tly_module_write(&m, ir ? TALLY_FORMAT_LLVM : TALLY_FORMAT_ASSEMBLY, write, user,
                                  error);
    }
    tly_module_end(&m);
    return status;
}

static tally_status show(const kir_kernel *kernel, const tly_target *target, tally_stage stage,
                         tally_write write, void *user, tally_error *error)
{
    if (stage != TALLY_STAGE_LLVM && stage != TALLY_STAGE_ASM) {
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
        .unit_begin = tly_unit_begin,
        .unit_code = tly_unit_code,
        .unit_function = tly_unit_function,
        .unit_write = tly_unit_write,
        .unit_end = tly_unit_end,
    };
    return &native;
}

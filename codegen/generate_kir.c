/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel IR that comes from outside as text: read, lowered as kernels of templates are, and
 * interpreted. Such a kernel may do anything. What it does wrong is reported as a fault of the
 * text, with its place.
 */
#include "generate_kir.h"

#include <fenv.h>
#include <stdlib.h>

#include "../runtime/host/error.h"
#include "draft.h"
#include "kir/kir.h"
#ifdef TALLY_VULKAN
#include "generate_gpu.h"
#include "spirv/spirv.h"
#endif

enum { MOST_REGIONS = 16 };

typedef struct program {
    tly_kir face;
    kir_source source[TLY_GPU_PASSES];
} program;

static const program *of(const tly_kir *kir)
{
    return (const program *)kir;
}

tally_status tly_kir_read(const char *text, size_t bytes, tly_kir **kir, tally_error *error)
{
    program *p = calloc(1, sizeof *p);
    if (p == NULL)
        return tly_out_of_memory(error, "kernel IR", sizeof *p);
    tally_status s = kir_parse_all(text, bytes, p->source, TLY_GPU_PASSES, &p->face.count, error);
    for (uint32_t i = 0; i < p->face.count; i++)
        p->face.workgroup[i] = p->source[i].kernel->workgroup;
    if (s == TALLY_OK)
        *kir = &p->face;
    else
        free(p);
    return s;
}

void tly_kir_drop(tly_kir *kir)
{
    program *p = (program *)kir;
    for (uint32_t i = 0; p != NULL && i < p->face.count; i++)
        kir_source_free(&p->source[i]);
    free(p);
}

/* --- lowering -------------------------------------------------------------------------------- */

/* What templates never lead to is no fault of Tally's here. */
static tally_status not_ours(tally_status status, tally_error *error)
{
    if (status == TALLY_INTERNAL && error != NULL)
        error->status = TALLY_UNSUPPORTED;
    return status == TALLY_INTERNAL ? TALLY_UNSUPPORTED : status;
}

static tally_status show_native(const kir_kernel *kernel, const char *level, tally_stage stage,
                                tally_write write, void *user, tally_error *error)
{
    const tly_target *target = tly_target_find(level);
    const tly_native *native;
    if (target == NULL)
        return tly_fail(error, TALLY_INVALID, "device", "there is no CPU level '%s'", level);
    tally_status s = tly_native_need(&native, error);
    return s == TALLY_OK ? native->show(kernel, target, stage, write, user, error) : s;
}

#ifdef TALLY_VULKAN
/* What the device must have for one workgroup. */
static tally_status check_limits(const kir_kernel *kernel, const tly_caps *caps, tally_error *error)
{
    uint64_t shared = 0;
    for (uint32_t i = 0; i < kernel->inst_count; i++)
        shared += kernel->insts[i].op == KIR_SHARED ? (uint64_t)kernel->insts[i].imm : 0;
    if (kernel->workgroup > caps->invocations)
        return tly_fail(error, TALLY_UNSUPPORTED, "device",
                        "kernel %s has workgroups of %u, and the device's limit is %u",
                        kernel->name, kernel->workgroup, caps->invocations);
    if (shared > caps->shared_bytes)
        return tly_fail(error, TALLY_UNSUPPORTED, "device",
                        "kernel %s has %llu bytes of workgroup memory, and the device's limit is "
                        "%u",
                        kernel->name, (unsigned long long)shared, caps->shared_bytes);
    return TALLY_OK;
}

static tally_status show_spirv(const kir_kernel *kernel, const tly_caps *caps, tally_stage stage,
                               tally_write write, void *user, tally_error *error)
{
    uint32_t *words = NULL;
    size_t count = 0;
    tally_status s = check_limits(kernel, caps, error);
    if (s == TALLY_OK)
        s = tly_gpu_lower(kernel, caps, stage == TALLY_STAGE_SPVASM, &words, &count, error);
    if (s == TALLY_OK)
        s = stage == TALLY_STAGE_SPIRV
                ? tly_gpu_write_words(words, count, write, user)
                : tly_spirv_show(words, count, (kernel->facts & KIR_ADDRESSES) != 0, write, user,
                                 error);
    free(words);
    return s;
}
#else
static tally_status show_spirv(const kir_kernel *kernel, const tly_caps *caps, tally_stage stage,
                               tally_write write, void *user, tally_error *error)
{
    (void)kernel, (void)caps, (void)stage, (void)write, (void)user;
    return tly_fail(error, TALLY_NO_GENERATOR, "device",
                    "this libtally-codegen makes no Vulkan kernels");
}
#endif

static tally_status refuse_sort(const kir_kernel *kernel, tally_error *error)
{
    tly_fail(error, TALLY_UNSUPPORTED, "device", "kernel %s is for %s", kernel->name,
             kernel->workgroup > 0 ? "Vulkan devices: it has a workgroup"
                                   : "CPUs: it has no workgroup");
    tly_error_hint(error, kernel->workgroup > 0 ? "name a Vulkan device or a profile"
                                                : "name a CPU level, or no device");
    return TALLY_UNSUPPORTED;
}

tally_status tly_kir_show(const tly_kir *kir, const char *level, const tly_caps *caps,
                          tally_stage stage, tally_write write, void *user, tally_error *error)
{
    tally_status s = TALLY_OK;
    for (uint32_t i = 0; i < kir->count && s == TALLY_OK; i++) {
        const kir_kernel *kernel = of(kir)->source[i].kernel;
        if ((kernel->workgroup > 0) != (caps != NULL))
            s = refuse_sort(kernel, error);
        else if (stage == TALLY_STAGE_KIR)
            s = kir_print(kernel, write, user);
        else if (caps != NULL)
            s = not_ours(show_spirv(kernel, caps, stage, write, user, error), error);
        else
            s = not_ours(show_native(kernel, level, stage, write, user, error), error);
    }
    return s;
}

/* --- interpreting ---------------------------------------------------------------------------- */

static tally_status interpret(const kir_kernel *kernel, const tly_kir_call *call,
                              kir_limits *limits, tally_error *error)
{
    int64_t result;
    if (kernel->workgroup == 0)
        return kir_interpret(kernel, call->args, call->task, limits, &result, error);
    const kir_grid grid = { .push = call->push,
                            .groups_x = call->groups_x,
                            .groups_y = call->groups_y,
                            .subgroup = call->subgroup,
                            .limits = limits };
    return kir_interpret_grid(kernel, &grid, error);
}

tally_status tly_kir_call_kernel(const tly_kir *kir, const tly_kir_call *call, tally_error *error)
{
    const kir_source *source = &of(kir)->source[call->kernel];
    kir_region regions[MOST_REGIONS];
    kir_limits limits = { .regions = regions, .steps = *call->steps };
    fenv_t environment;
    for (; limits.count < call->memory_count && limits.count < MOST_REGIONS; limits.count++) {
        const tly_kir_memory *memory = &call->memory[limits.count];
        regions[limits.count] = (kir_region){ memory->at, memory->bytes, memory->data,
                                              memory->writable };
    }
    /* A kernel may ask for the flags that its arithmetic has raised; they are not the caller's. */
    fegetenv(&environment);
    fesetenv(FE_DFL_ENV);
    tally_status s = interpret(source->kernel, call, &limits, error);
    fesetenv(&environment);
    *call->steps = limits.steps;
    if (s != TALLY_INTERNAL)
        return s;
    if (error != NULL)
        error->status = TALLY_INVALID;
    tly_error_position(error, (int32_t)source->places[limits.fault] + 1);
    if (limits.steps == 0)
        tly_error_hint(error, "the kernel has no end, or needs more steps");
    return TALLY_INVALID;
}
